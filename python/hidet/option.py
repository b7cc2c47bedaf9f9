"""Options of the process.

with hidet.option.context():
    hidet.option.simulate(True)
    …
"""

import contextlib
import os
import warnings

_DEFAULTS = {
    "simulate": None,  # None: where there is no GPU
    "arch": None,  # "sm_90a"; None: that of the GPU, sm_80 on the simulator
    "gpu": None,  # "h200": schedules are chosen for it
    "cache_dir": None,
    "num_local_workers": 0,  # processes that run NVRTC; 0: HIDET_NUM_WORKERS, else one for each core
    "warnings": True,
    "progress": None,  # a line about long work; None: HIDET_PROGRESS, else where standard error is a terminal
}
_by_costs = "kernels are chosen by the compiler's model of costs; 'hdsc tune' measures"
_no_tuning = "nothing is measured while a program runs; 'hdsc tune' has options of its own"
_no_server = "compiling takes seconds and runs in this process and its workers"
# Options of Hidet that change nothing here, with their defaults and the reason.
_WITHOUT_EFFECT = {
    "search_space": (0, _by_costs),
    "parallel_k": ("disabled", "the compiler splits sums by its model of costs"),
    "hexcute_matmul": ("enable", "products have one family of kernels, chosen by type and architecture"),
    "bench_config": ((3, 10, 3), _no_tuning),
    "parallel_tune": ((-1, 1.5, 32), _no_tuning),
    "fix_gpu_frequency_for_tuning": (False, _no_tuning),
    "parallel_build": (True, "NVRTC always runs in several processes: num_local_workers says how many"),
    "cache_operator": (True, "programs are kept always; cache_dir('') keeps nothing on disk"),
    "execution_mode": ("interpreter", "operators on tensors run at once, and those on symbolic tensors make graphs"),
    "runtime_check": (False, "arguments are checked at each call; the simulator checks each access"),
    "save_lower_ir": (False, "graph.draw('program.hds') and module.source('cuda') show what is made"),
    "debug_cache_tuning": (False, _no_tuning),
    "debug_show_var_id": (False, "the text of a program has one name for each variable"),
    "debug_enable_var_id": (False, "the text of a program has one name for each variable"),
    "debug_show_verbose_flow_graph": (False, "print(graph) and graph.program show all of it"),
    "debug_enable_flow_graph_draw": (False, "graph.draw(path) draws"),
    "debug_strict_broadcast_check": (False, "extents are checked always"),
    "cpu.arch": ("auto", "there is no code for CPUs: host tensors are for the simulator"),
    "cuda.cpu_arch": ("auto", "host code is not compiled for a CPU"),
    "hip.arch": ("auto", "there is no AMD target"),
    "cuda.build.ftz": (False, "f32 keeps numbers below the normal ones, as NumPy does"),
    "cuda.build.prec_div": (True, "f32 division rounds exactly; the module hidet.lang.fast has approximate functions"),
    "compile_server.addr": ("", _no_server),
    "compile_server.port": (3281, _no_server),
    "compile_server.enabled": (False, _no_server),
    "compile_server.username": ("", _no_server),
    "compile_server.password": ("", _no_server),
    "compile_server.repo_url": ("", _no_server),
    "compile_server.repo_version": ("", _no_server),
    "compile_server.num_workers": (0, _no_server),
    "internal.dispatch_table.enabled_idt": (True, _no_tuning),
    "internal.dispatch_table.split_points": ((), _no_tuning),
    "internal.torch_api_use_example_input_shapes": (False, "each set of extents is compiled at its first run"),
}
_OTHER_NAMES = {"cuda.arch": "arch"}
_values = dict(_DEFAULTS)


class OptionWarning(UserWarning):
    """An option that changes nothing was set."""


def _known(name):
    name = _OTHER_NAMES.get(name, name)
    if name not in _DEFAULTS and name not in _WITHOUT_EFFECT:
        import difflib

        near = difflib.get_close_matches(str(name), [*_DEFAULTS, *_WITHOUT_EFFECT], 1)
        hint = f"did you mean {near[0]!r}?" if near else f"options: {', '.join(sorted(_DEFAULTS))}"
        raise KeyError(f"there is no option {name!r}; {hint}")
    return name


def set_option(name, value):
    """Sets the option [name]. Options of Hidet that change nothing here are kept, and warned of with the reason."""
    name = _known(name)
    if name in _WITHOUT_EFFECT and value != _WITHOUT_EFFECT[name][0]:
        warnings.warn(f"the option {name!r} changes nothing: {_WITHOUT_EFFECT[name][1]}", OptionWarning, stacklevel=_depth())
    _values[name] = value


def _depth():
    """Of the first frame outside of this file, as warnings count."""
    import sys

    depth, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals is globals():
        depth, frame = depth + 1, frame.f_back
    return depth


def get_option(name):
    """The value of the option [name]."""
    name = _known(name)
    return _values[name] if name in _values else _WITHOUT_EFFECT[name][0]


class _Group:
    """Options with a prefix: hidet.option.cuda.arch("sm_90a")."""

    def __init__(self, prefix):
        self._prefix = prefix

    def __getattr__(self, name):
        full = f"{self._prefix}.{name}"
        names = [*_WITHOUT_EFFECT, *_OTHER_NAMES]
        if full in names:
            return lambda *value: set_option(full, value[0] if len(value) == 1 else value)
        if any(n.startswith(f"{full}.") for n in names):
            return _Group(full)
        raise AttributeError(f"there is no option {full!r}")


def __getattr__(name):
    if name.startswith("get_"):
        return lambda: get_option(name.removeprefix("get_"))
    if name in _WITHOUT_EFFECT:
        return lambda *value: set_option(name, True if not value else value[0] if len(value) == 1 else value)
    if any(n.startswith(f"{name}.") for n in [*_WITHOUT_EFFECT, *_OTHER_NAMES]):
        return _Group(name)
    raise AttributeError(f"module 'hidet.option' has no attribute {name!r}")


@contextlib.contextmanager
def context():
    """Options that are set inside are as before behind it."""
    saved = dict(_values)
    try:
        yield
    finally:
        _values.clear()
        _values.update(saved)


def simulate(enabled=True):
    """Whether kernels run on the simulator: None, where there is no GPU."""
    set_option("simulate", enabled)


def arch(name):
    """The architecture that is compiled for: "sm_90a"."""
    set_option("arch", name)


def cache_dir(path):
    """The folder of the cache; read before the first compilation. "" keeps nothing on disk."""
    set_option("cache_dir", os.fspath(path))


def num_local_workers(count):
    """How many processes run NVRTC; read before the first compilation."""
    set_option("num_local_workers", count)


def progress(enabled=True):
    """Whether a line on standard error says how far compiling is; None: as HIDET_PROGRESS says, else on a terminal."""
    set_option("progress", enabled)
