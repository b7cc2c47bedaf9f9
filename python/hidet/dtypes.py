"""Element types. They are values of Hidet Script as well: hidet.float32 is hidet.lang.f32."""

from hidet.lang.values import Value, source_of

_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6  # DLPack's codes


class DataType(Value):
    """A type of elements."""

    __slots__ = ("name", "short_name", "code", "bits")

    def __init__(self, name, short_name, code, bits):
        super().__init__(short_name, frozenset({("hidet.lang", short_name, short_name)}))
        self.name, self.short_name, self.code, self.bits = name, short_name, code, bits

    @property
    def nbytes(self):
        """The bytes of an element."""
        if self.bits % 8:
            raise TypeError(f"{self.name} takes less than a byte")
        return self.bits // 8

    @property
    def is_float(self):
        """Whether it is a type of floating-point numbers."""
        return self.code not in (_INT, _UINT, _BOOL)

    @property
    def is_int(self):
        """Whether it is a type of integers."""
        return self.code in (_INT, _UINT)

    def __repr__(self):
        return self.name

    __str__ = __repr__

    def __reduce__(self):
        return (data_type, (self.name,))


def _types():
    rows = [
        DataType(f"{word}{bits}", f"{letter}{bits}", code, bits)
        for word, letter, code in (("int", "i", _INT), ("uint", "u", _UINT))
        for bits in (8, 16, 32, 64)
    ]
    rows += [DataType(f"float{bits}", f"f{bits}", _FLOAT, bits) for bits in (16, 32, 64)]
    rows += [DataType("bfloat16", "bf16", _BFLOAT, 16), DataType("boolean", "boolean", _BOOL, 8)]
    # DLPack's codes from version 1.1 on.
    rows += [DataType("float8_e4m3", "f8e4m3", 10, 8), DataType("float8_e5m2", "f8e5m2", 12, 8)]
    return rows + [DataType("tfloat32", "tf32", _FLOAT, 32)]


# Made below; for type checkers.
bfloat16: DataType
boolean: DataType
float16: DataType
float32: DataType
float64: DataType
float8_e4m3: DataType
float8_e5m2: DataType
int8: DataType
int16: DataType
int32: DataType
int64: DataType
tfloat32: DataType
uint8: DataType
uint16: DataType
uint32: DataType
uint64: DataType

_all = _types()
_by_name = {**{t.name: t for t in _all}, **{t.short_name: t for t in _all}}
_by_code = {t.code | t.bits << 8: t for t in reversed(_all) if t.name != "tfloat32"}
_by_name["bool"] = _by_name["boolean"]
globals().update({t.name: t for t in _all})


def data_type(value):
    """The type that [value] names: "float32", "f32", a NumPy or PyTorch dtype, float, int or bool."""
    if isinstance(value, DataType):
        return value
    if value in (float, int, bool):
        return _by_name[{float: "float32", int: "int64", bool: "boolean"}[value]]
    name = value if isinstance(value, str) else getattr(value, "__name__", None) or getattr(value, "name", None) or str(value)
    name = name.removeprefix("torch.")
    found = _by_name.get(name) or _by_name.get(
        {"bool_": "boolean", "float8_e4m3fn": "float8_e4m3", "half": "float16", "double": "float64", "long": "int64"}.get(name)
    )
    if found is None:
        raise TypeError(f"{value!r} is no element type; types are {', '.join(t.name for t in _all)}")
    return found


def of_code(code):
    """The type with DLPack's code and bits."""
    found = _by_code.get(code)
    if found is None:
        raise TypeError(f"elements of DLPack's code {code & 255} with {code >> 8} bits have no type here")
    return found


__all__ = ["DataType", "data_type", "of_code", "source_of", *(t.name for t in _all)]
