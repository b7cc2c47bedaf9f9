"""hidet: kernels in Hidet Script, tensors, operators and graphs, compiled by hdsc.

Nothing is loaded before it is used: neither NumPy nor PyTorch nor the compiler.
"""

import sys as _sys

if "t" in getattr(_sys, "abiflags", ""):
    raise ImportError("hidet is for Python with the GIL: this is a free-threaded build")

from hidet._names import FUNCTIONS as _FUNCTIONS
from hidet._names import MODULES as _MODULES
from hidet._names import absent as _absent

__version__ = "0.1.0"


def __getattr__(name):
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"hidet.{name}")
    if name in _FUNCTIONS:
        value = getattr(importlib.import_module(f"hidet.{_FUNCTIONS[name]}"), name)
        globals()[name] = value
        return value
    raise _absent("", name, [*_MODULES, *_FUNCTIONS])


def __dir__():
    return sorted({*globals(), *_MODULES, *_FUNCTIONS})
