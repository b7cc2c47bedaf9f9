"""The names of Hidet Script, for Python code and editors: `from hidet.lang import attrs, f32`.

Scripts are compiled from their source text, so these objects are only what a script's names refer to. Modules of the library
are modules here: `from hidet.lang.cuda import threadIdx`.
"""

import json
import sys
import types

from hidet.lang.values import Value


def _read_names():
    import os

    with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), "lang.json"), encoding="utf-8") as file:
        return json.load(file)


def _value(module, name):
    from hidet import dtypes

    if module in ("hidet.lang", "hidet.lang.types"):
        known = dtypes._by_name.get(name)
        if known is not None:
            return known
    if module == "hidet.lang" and name in ("script", "script_module"):
        import hidet

        return getattr(hidet, name)
    return Value(name, frozenset({(module, name, name)}))


class _Library(types.ModuleType):
    """A module of the library."""

    def __init__(self, name, names):
        super().__init__(name, f"{name}: names of Hidet Script.")
        self.__dict__["__all__"] = names

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.__dict__["__all__"]:
            raise AttributeError(f"module {self.__name__!r} has no name {name!r}")
        value = self.__dict__[name] = _value(self.__name__, name)
        return value


_names = _read_names()
__all__ = _names.pop("hidet.lang")
for _module, _own in _names.items():
    _library = sys.modules.setdefault(_module, _Library(_module, _own))
    globals()[_module.rpartition(".")[2]] = _library
_in_language = frozenset(__all__)


def __getattr__(name):
    if name not in _in_language:
        raise AttributeError(f"module 'hidet.lang' has no name {name!r}")
    value = globals()[name] = _value("hidet.lang", name)
    return value
