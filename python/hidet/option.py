"""Options of the process.

with hidet.option.context():
    hidet.option.simulate(True)
    …
"""

import contextlib
import os

_DEFAULTS = {
    "simulate": None,  # None: where there is no GPU
    "arch": None,  # "sm_90a"; None: that of the GPU, sm_80 on the simulator
    "gpu": None,  # "h200": schedules are chosen for it
    "cache_dir": None,
    "num_local_workers": 0,  # processes that run NVRTC; 0: one for each core
    "warnings": True,
}
_values = dict(_DEFAULTS)


def set_option(name, value):
    """Sets the option [name]."""
    if name not in _DEFAULTS:
        raise KeyError(f"there is no option {name!r}; options: {', '.join(sorted(_DEFAULTS))}")
    _values[name] = value


def get_option(name):
    """The value of the option [name]."""
    if name not in _DEFAULTS:
        raise KeyError(f"there is no option {name!r}; options: {', '.join(sorted(_DEFAULTS))}")
    return _values[name]


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
