"""Values of Hidet Script that Python code handles: names of the library, and expressions of them.

They stand for what the compiler makes of them: `f32[m, 4]`, `spatial(4, 8) * repeat(2, 1)`. A script that refers to one gets its
text and the imports that the text needs.
"""


class Source:
    """A text of the language and its imports: (module, name, as)."""

    __slots__ = ("text", "imports")

    def __init__(self, text, imports=frozenset()):
        self.text, self.imports = text, imports


def _join(parts, separator=", "):
    return separator.join(p.text for p in parts), frozenset().union(*(p.imports for p in parts))


def _tuple_of(items):
    text, imports = _join(items)
    return Source(f"({text},)" if len(items) == 1 else f"({text})", imports)


def _float_text(value):
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def _container(value):
    if isinstance(value, tuple):
        return _tuple_of([source_of(v) for v in value])
    if isinstance(value, list):
        text, imports = _join([source_of(v) for v in value])
        return Source(f"[{text}]", imports)
    if isinstance(value, (set, frozenset)):
        text, imports = _join([source_of(v) for v in sorted(value)])
        return Source(f"{{{text}}}" if value else "set()", imports)
    items = [(source_of(k), source_of(v)) for k, v in value.items()]
    imports = frozenset().union(*(k.imports | v.imports for k, v in items))
    return Source("{" + ", ".join(f"{k.text}: {v.text}" for k, v in items) + "}", imports)


def source_of(value):
    """The text of a value that is known while compiling; TypeError: it has none."""
    if isinstance(value, Value):
        return Source(value._text, value._imports)
    if value is None or isinstance(value, (bool, int, str)):
        return Source(repr(value))
    if isinstance(value, float):
        return Source(_float_text(value))
    if isinstance(value, (tuple, list, set, frozenset, dict)):
        return _container(value)
    if type(value).__name__ in ("TypeVar", "TypeVarTuple"):
        return Source(value.__name__)
    if value in (float, int):
        return Source(value.__name__)
    if type(value).__module__.split(".")[0] in ("numpy", "torch"):
        return _foreign(value)
    raise TypeError(f"a {type(value).__name__} is no value of Hidet Script")


def _foreign(value):
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return source_of(value.item())
    if type(value).__name__ == "dtype" or isinstance(value, type):
        from hidet import dtypes

        return source_of(dtypes.data_type(value))
    if type(value).__name__ == "Size":
        return source_of(tuple(value))
    raise TypeError(f"a {type(value).__name__} is no value of Hidet Script")


def _argument(value):
    if isinstance(value, slice):
        raise TypeError("slices are written inside scripts only")
    return source_of(value)


class Value:
    """A name or an expression."""

    __slots__ = ("_text", "_imports")

    def __init__(self, text, imports=frozenset()):
        self._text, self._imports = text, imports

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Value(f"{self._text}.{name}", self._imports)

    def __call__(self, *args, **kwargs):
        parts = [_argument(a) for a in args]
        parts += [Source(f"{k}={s.text}", s.imports) for k, s in ((k, _argument(v)) for k, v in kwargs.items())]
        text, imports = _join(parts) if parts else ("", frozenset())
        return Value(f"{self._text}({text})", self._imports | imports)

    def __getitem__(self, index):
        parts = [_argument(i) for i in (index if isinstance(index, tuple) else (index,))]
        text, imports = _join(parts)
        return Value(f"{self._text}[{text}]", self._imports | imports)

    def __invert__(self):
        return Value(f"~{self._text}", self._imports)

    def __neg__(self):
        return Value(f"-{self._text}", self._imports)

    def __eq__(self, other):
        return isinstance(other, Value) and self._text == other._text

    def __hash__(self):
        return hash(self._text)

    def __bool__(self):
        return True

    def __iter__(self):
        raise TypeError(f"{self._text} is known while a script is compiled, and not in Python")

    def __repr__(self):
        return self._text


def _binary(symbol, left, right):
    a, b = source_of(left), source_of(right)
    return Value(f"({a.text} {symbol} {b.text})", a.imports | b.imports)


def _add_operators():
    names = {
        "add": "+",
        "sub": "-",
        "mul": "*",
        "truediv": "/",
        "floordiv": "//",
        "mod": "%",
        "pow": "**",
        "lshift": "<<",
        "rshift": ">>",
        "and": "&",
        "or": "|",
        "xor": "^",
        "matmul": "@",
    }
    for name, symbol in names.items():
        setattr(Value, f"__{name}__", lambda a, b, symbol=symbol: _binary(symbol, a, b))
        setattr(Value, f"__r{name}__", lambda a, b, symbol=symbol: _binary(symbol, b, a))


_add_operators()
