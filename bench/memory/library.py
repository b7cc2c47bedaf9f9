"""Libraries that hdsc made, and calls of their functions that are ready to be repeated: everything but the stream is fixed."""

import ctypes
import fnmatch
import pathlib

from memory import header


class Failed(Exception):
    """A function gave an error back."""


class Libraries:
    """Functions of some libraries, by name; of equal names the first one. Beside each library is its header, of the same name
    with the ending .h. [runtime]: libhdsrt.so, where the loader does not find it by itself."""

    def __init__(self, paths, runtime=None):
        self.functions, self.images = {}, {}
        if runtime:
            ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
        for path in map(pathlib.Path, paths):
            image = ctypes.CDLL(str(path.resolve()))
            for name, function in header.parse(path.with_suffix(".h").read_text(encoding="utf-8")).items():
                if self.functions.setdefault(name, function) is function:
                    self.images[name] = image

    def matching(self, patterns):
        return [n for n in self.functions if any(fnmatch.fnmatchcase(n, p) for p in patterns)]

    def call(self, name, operands, addresses, scalars):
        """A function of a stream. [operands]: what the tensors are (header.Operand); [addresses]: where they lie."""
        function = self.functions[name]
        values = header.bind(function, operands, scalars)
        for p, value in zip(function.parameters, values):
            if p.is_tensor and addresses[value.operand] % p.alignment:
                raise header.Mismatch(f"'{p.name}' has to lie at a multiple of {p.alignment}")
        arguments = [addresses[v.operand] if isinstance(v, header.Slot) else v for v in values]
        return prepared(self.images[name], function, arguments)


def prepared(image, function, arguments):
    # Another object of ctypes each time, so that argument types of one do not change those of others.
    entry = image[function.name]
    entry.argtypes = [*(p.ctype for p in function.parameters), ctypes.c_void_p]
    entry.restype = ctypes.c_int
    kept = [p.ctype(a) for p, a in zip(function.parameters, arguments)]
    error = image.hdsrt_last_error
    error.restype = ctypes.c_char_p

    def call(stream):
        if entry(*kept, stream):
            raise Failed((error() or b"no text").decode("utf-8", "replace"))

    return call
