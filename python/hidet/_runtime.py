"""The compiler of the process, and where kernels run."""

import os
import threading
import warnings

from hidet import _core, _progress, _times, option

_lock = threading.Lock()
_compiler = None
_gpus = None
_LISTS = ("defines", "entries", "include_dirs", "warnings", "rewrites")
DEFAULT_ARCH = "sm_80"  # of the simulator


class CompilationWarning(UserWarning):
    """What the compiler warns of: performance, mostly."""


class Diagnostic:
    """A message of the compiler or the simulator. Lines and columns count from 1; 0: it has no place."""

    __slots__ = ("code", "severity", "message", "file", "line", "column", "end_line", "end_column", "rendered")

    def __init__(self, *fields):
        for name, value in zip(self.__slots__, fields):
            setattr(self, name, value)

    def __repr__(self):
        return f"<{self.severity} {self.code} at {self.file}:{self.line}:{self.column}: {self.message}>"


def gpu_count():
    """The number of GPUs."""
    global _gpus
    if _gpus is None:
        _gpus = _core.device_count()
    return _gpus


def simulates():
    """Whether kernels run on the simulator."""
    wanted = option.get_option("simulate")
    return gpu_count() == 0 if wanted is None else bool(wanted)


def compiler():
    """The compiler of this process."""
    global _compiler
    with _lock:
        if _compiler is None:
            workers = option.get_option("num_local_workers") or int(os.environ.get("HIDET_NUM_WORKERS") or 0)
            _compiler = _core.Compiler(option.get_option("cache_dir"), None, workers)
        return _compiler


def _forget_compiler():
    """In the child of a fork: threads and processes of the compiler are the parent's."""
    global _compiler, _lock
    _lock = threading.Lock()
    if _compiler is not None:
        _kept_by_parent.append(_compiler)
        _compiler = None


_kept_by_parent = []


def _register_fork():
    os.register_at_fork(after_in_child=_forget_compiler)


_register_fork()


def raise_errors(program):
    """The exception for a program with errors, with all of its messages."""
    diagnostics = [Diagnostic(*fields) for fields in program.diagnostics]
    error = _core.CompilationError("\n" + "".join(d.rendered for d in diagnostics).rstrip())
    error.diagnostics = diagnostics
    raise error


def show_warnings(program):
    """Warnings of the compiler are Python's, at the author's line."""
    if not option.get_option("warnings"):
        return
    for fields in program.diagnostics:
        d = Diagnostic(*fields)
        if d.severity == "warning":
            warnings.warn_explicit(f"[{d.code}] {d.message}", CompilationWarning, d.file or "<hidet>", d.line or 1)


def own_name(name):
    """What a text of the package is called, which is no module's name. It is in a folder that there is not: the user's files are
    none of its imports."""
    return f"<hidet>/{name}.hds"


def compile(name, text, *, title=None, simulate=None, arch=None, gpu=None, **options):
    """The program of a source, a text or, where it is None, the file [name]. Errors are a CompilationError.
    [title]: what the line of progress begins with; None: the name of the file."""
    is_simulated = simulates() if simulate is None else simulate
    arch = arch or option.get_option("arch") or (None if gpu_count() and not is_simulated else DEFAULT_ARCH)
    gpu = gpu or option.get_option("gpu")
    lists = {k: tuple(v) for k, v in options.items() if k in _LISTS and v}
    rest = {k: v for k, v in options.items() if k not in _LISTS}
    with _times.step("compiler: cache, interface"), _progress.line(title or os.path.basename(name)) as line:
        with _times.stages(line) as progress:
            program = compiler().compile(name, text, arch=arch, gpu=gpu, no_code=is_simulated, progress=progress, **lists, **rest)
    if program.status:
        raise_errors(program)
    return program
