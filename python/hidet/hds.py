"""Files of Hidet Script.

module = hidet.hds.load("saxpy.hds")
module.saxpy(2.0, x, y)
"""

import os

from hidet import _core, _runtime


def _folders(folders):
    return tuple(os.fspath(f) for f in folders)


def _define_texts(defines):
    from hidet.lang.values import source_of

    return tuple(f"{name}={source_of(value).text}" for name, value in (defines or {}).items())


class Function(_core.Function):
    """A kernel, a host function or an operator of a compiled file. Calling it runs it: on the GPU where its tensors are there,
    on the simulator where they are in host memory. Arguments are given by position or name; sizes, which come last, may be left
    out where tensors tell them."""

    def __init__(self, function):
        self.__name__ = function.title
        self.__doc__ = function.doc
        self._parameters = [Parameter(*fields) for fields in function.parameters]

    @property
    def parameters(self):
        """Its parameters, each a Parameter."""
        return self._parameters

    def __repr__(self):
        return f"<{self.__name__}({', '.join(map(str, self.parameters))})>"


class Parameter:
    """A parameter: its kind is scalar, tensor, pointer or size; shape and strides are texts."""

    __slots__ = ("name", "kind", "dtype", "shape", "strides", "is_written")

    def __init__(self, *fields):
        for name, value in zip(self.__slots__, fields):
            setattr(self, name, value)

    def __str__(self):
        extents = f"[{', '.join(self.shape)}]" if self.shape is not None else ""
        return f"{self.name}: {'~' if self.kind == 'pointer' else ''}{self.dtype}{extents}"

    __repr__ = __str__


class Module:
    """A compiled file: its functions are attributes, and items by their titles, `module["relu[T=f16]"]`."""

    def __init__(self, program):
        self._program = program
        self._functions = {f.title: Function(f) for f in program.functions()}

    @property
    def functions(self):
        """All functions by title."""
        return dict(self._functions)

    @property
    def arch(self):
        """The architecture that it is compiled for."""
        return self._program.arch

    @property
    def origin(self):
        """Where its code came from: compiled, disk or memory."""
        return self._program.origin

    def source(self, kind="cuda"):
        """What was made of it: cuda, ptx or interface as text, cubin as bytes; None: it was not made."""
        data = self._program.text(["cuda", "ptx", "cubin", "interface"].index(kind))
        return data if data is None or kind == "cubin" else data.decode()

    def __getitem__(self, title):
        return self._functions[title]

    def __getattr__(self, name):
        found = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            raise AttributeError(
                f"the compiled file has no function {name!r}; it has {', '.join(self.__dict__.get('_functions', {}))}"
            )
        return found

    def __dir__(self):
        return [*super().__dir__(), *self._functions]

    def __repr__(self):
        return f"<module with {', '.join(self._functions)}>"


def load(path, *, defines=None, entries=(), include_dirs=(), arch=None, gpu=None, weights=None):
    """Compiles the file [path]. [defines] has values of module constants and type parameters, [entries] picks kernels and
    instances, "relu[f16, 1024]"; as the options -D and --entry of hdsc."""
    path = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        text = None  # the compiler reads the file, and says where it is no text
    return loads(
        text, name=path, defines=defines, entries=entries, include_dirs=include_dirs, arch=arch, gpu=gpu, weights=weights
    )


def loads(text, *, name="<text>", defines=None, entries=(), include_dirs=(), arch=None, gpu=None, weights=None):
    """Compiles a text; [name] is what messages call it, and its folder is searched for imports."""
    program = _runtime.compile(
        name,
        text,
        arch=arch,
        gpu=gpu,
        weights=weights,
        defines=_define_texts(defines),
        entries=tuple(entries),
        include_dirs=_folders(include_dirs),
    )
    _runtime.show_warnings(program)
    return Module(program)
