"""The operators of the library, made from their schema: `hidet.ops.softmax(x, axis=1)`.

On tensors they run at once; on symbolic tensors they make nodes of a graph. `help(hidet.ops.softmax)` and `dir(hidet.ops)` show
them. Errors are hidet.ArgumentErrors at the caller's line."""

import json
import math
import os

from hidet import _core, _eager
from hidet._names import nearest
from hidet.tensor import Tensor, _at, asarray


def _is_foreign(value):
    return hasattr(value, "__dlpack__") and not isinstance(value, Tensor)


class Operation:
    """An operator of the library."""

    def __init__(self, name, module, operands, attributes, symbols, doc):
        self.name, self.module = name, module
        self.alias = f"hidet_{name}"  # in texts, where parameters have names, too
        self.operands, self.attributes, self.symbols = operands, attributes, symbols
        self.returns_list = name in ("split", "chunk")
        self.runners, self._fast = {}, {}
        self.__name__ = self.__qualname__ = name
        self.__module__ = "hidet.ops"
        self.__doc__ = f"{doc}\n\n{self.signature_text()}"

    def signature_text(self):
        """The signature in Python."""
        parts = [f"*{n}" if many else f"{n}=None" if optional else n for n, optional, many in self.operands]
        parts += [n if default is None else f"{n}={_python_text(default)}" for n, default in self.attributes]
        return f"{self.name}({', '.join(parts)})"

    @property
    def __signature__(self):
        import inspect

        kinds, parts = inspect.Parameter, []
        is_named = any(many for _, _, many in self.operands)
        for name, optional, many in self.operands:
            kind = kinds.VAR_POSITIONAL if many else kinds.POSITIONAL_OR_KEYWORD
            parts.append(kinds(name, kind, default=None if optional else kinds.empty))
        for name, default in self.attributes:
            value = kinds.empty if default is None else _python_value(default)
            parts.append(kinds(name, kinds.KEYWORD_ONLY if is_named else kinds.POSITIONAL_OR_KEYWORD, default=value))
        optional = [p for p in parts if p.default is not kinds.empty or p.kind is not kinds.POSITIONAL_OR_KEYWORD]
        required = [p for p in parts if p not in optional]

        return inspect.Signature(required + optional)

    def __call__(self, *args, **kwargs):
        """Calls with types, extents and attributes that were seen before take the short way."""
        key = tuple([a._key if type(a) is Tensor else (a, type(a)) for a in args])
        if kwargs:
            key += tuple([(k, v, type(v)) for k, v in kwargs.items()])
        try:
            runner = self._fast.get(key)
        except TypeError:  # a list among them
            return self._call(args, kwargs)
        if runner is None:
            return self._first_call(key, args, kwargs)
        first = args[0]
        place = getattr(first, "_place", None)
        if place is None:
            results = [Tensor(shape, dtype.code, dtype.bits, *first._device) for shape, dtype in runner.outputs]
        else:
            results = runner.results(place)
        tensors = args if runner.count == len(args) else [a for a in args if type(a) is Tensor]
        runner.function(*tensors, *results)
        return results if runner.returns_all else results[0]

    def _first_call(self, key, args, kwargs):
        result = self._call(args, kwargs)
        first = result[0] if isinstance(result, list) else result
        tensors = [a for a in args if type(a) is Tensor]
        is_plain = tensors and args[0] is tensors[0] and all(a._is_plain and a.storage is not None for a in tensors)
        is_plain = is_plain and len({id(a) for a in tensors}) == len(tensors) == len(
            {id(a) for a in (*args, *kwargs.values()) if hasattr(a, "__dlpack__")}
        )
        if is_plain and first.size:
            self._fast[key] = _eager.runner_of(_eager.Operator(self, *self._bind(args, kwargs)))
        return result

    def _call(self, args, kwargs):
        inputs, attributes = self._bind(args, kwargs)
        return _eager.apply(self, inputs, attributes)

    def _bind(self, args, kwargs):
        """Operands in their order, and attributes by name."""
        args, kwargs = list(args), dict(kwargs)
        inputs = []
        for name, optional, many in self.operands:
            if many:
                is_list = args and isinstance(args[0], (list, tuple))
                inputs += args.pop(0) if is_list else args
                args = args if is_list else []
            elif args:
                inputs.append(args.pop(0))
            elif name in kwargs:
                inputs.append(kwargs.pop(name))
            elif optional:
                inputs.append(None)
            else:
                raise TypeError(f"{self.name}: argument {name!r} is missing: {self.signature_text()}")
        attributes = {}
        for name, default in self.attributes:
            if args:
                if name in kwargs:
                    raise TypeError(f"{self.name}: argument {name!r} is given twice")
                attributes[name] = args.pop(0)
            elif name in kwargs:
                attributes[name] = kwargs.pop(name)
            elif default is None:
                raise TypeError(f"{self.name}: argument {name!r} is missing: {self.signature_text()}")
        if args or kwargs:
            what = f"{len(args)} arguments too many" if args else f"no argument {next(iter(kwargs))!r}"
            raise TypeError(f"{self.name}: {what}: {self.signature_text()}")
        return [asarray(x) if _is_foreign(x) else x for x in inputs], {k: _attribute(v) for k, v in attributes.items()}

    def __repr__(self):
        return f"<operator {self.signature_text()}>"


def _attribute(value):
    """Lists are tuples, and types are those of the language."""
    if isinstance(value, list):
        return tuple(map(_attribute, value))
    if isinstance(value, Tensor):
        return value.item()
    return value


def _python_value(text):
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _python_text(text):
    return text


def _read():
    with open(os.path.join(os.path.dirname(__file__), "ops.json"), encoding="utf-8") as file:
        return {row[0]: row for row in json.load(file)}


_rows = _read()
_made = {}


def operation(name):
    """The operator of that name."""
    found = _made.get(name)
    if found is None:
        row = _rows.get(name)
        if row is None:
            raise AttributeError(f"there is no operator {name!r}")
        found = _made[name] = Operation(*row)
    return found


def __getattr__(name):
    if name.startswith("__") or name not in _rows:
        raise AttributeError(f"module 'hidet.ops' has no operator {name!r}{nearest(name, _rows)}")
    return operation(name)  # kept there: names such as all and sum are Python's in this file


def __dir__():
    return sorted({*(n for n in globals() if not n.startswith("_")), *_rows})


# ---- operators of Python --------------------------------------------------------------------------------------------------

_ORDER = [
    "boolean",
    "uint8",
    "int8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float8_e4m3",
    "float8_e5m2",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


def _common(x, y):
    """The type that two tensors are cast to, as in PyTorch."""
    a, b = x.dtype, y.dtype
    if a == b:
        return a
    if {a.name, b.name} == {"float16", "bfloat16"}:
        from hidet import dtypes

        return dtypes.float32
    return max(a, b, key=lambda t: _ORDER.index(t.name))


def binary(name, x, y):
    """x and y are tensors or numbers; tensors of two types are cast to the wider one."""
    for value in (x, y):
        if not isinstance(value, (Tensor, int, float)) and not _is_foreign(value):
            return NotImplemented
    x, y = (asarray(v) if _is_foreign(v) else v for v in (x, y))
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        common = _common(x, y)
        x, y = x.astype(common), y.astype(common)
    elif name == "divide" or any(isinstance(v, float) for v in (x, y)):
        x, y = (v.astype("float32") if isinstance(v, Tensor) and not v.dtype.is_float else v for v in (x, y))
    if name == "divide" and not x_is_float(x, y):
        x, y = (v.astype("float32") if isinstance(v, Tensor) else v for v in (x, y))
    if x_is_boolean(x, y) and name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        name = f"logical_{name.rpartition('_')[2]}"
    return operation(name)(x, y)


def x_is_float(x, y):
    """Whether an operand that is a tensor has floats."""
    return any(isinstance(v, Tensor) and v.dtype.is_float for v in (x, y))


def x_is_boolean(x, y):
    """Whether all operands that are tensors are boolean."""
    return all(v.dtype.name == "boolean" for v in (x, y) if isinstance(v, Tensor))


# ---- extents --------------------------------------------------------------------------------------------------------------


def _resolved(x, shape):
    """Extents with -1 replaced."""
    shape = tuple(int(n) for n in shape)
    if shape.count(-1) > 1:
        raise _core.ArgumentError(f"reshape: one extent may be -1, not {shape.count(-1)} of {shape}")
    known = math.prod(n for n in shape if n != -1)
    if -1 in shape and known and x.size % known == 0:
        shape = tuple(x.size // known if n == -1 else n for n in shape)
    if math.prod(shape) != x.size or any(n < 0 for n in shape):
        raise _core.ArgumentError(
            f"reshape: {x.signature()} has {x.size} elements, and extents {shape} are for {math.prod(shape)}"
        )
    return shape


def _row_major(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def reshape(x, shape):
    """The elements in other extents, one of which may be -1. Of a tensor whose elements lie row by row the memory is shared."""
    x = asarray(x) if _is_foreign(x) else x
    shape = _resolved(x, shape)
    if x.is_symbolic():
        return x if shape == x.shape else operation("reshape")(x, shape)
    x = x.contiguous()
    dtype = x.dtype
    return _at(x._view(shape, _row_major(shape), 0, dtype.code, dtype.bits), getattr(x, "_place", None))


def flatten(x, start_dim=0, end_dim=-1):
    """Axes from start_dim to end_dim as one."""
    start, end = start_dim % max(x.ndim, 1), end_dim % max(x.ndim, 1)
    return reshape(x, (*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


def squeeze(x, dims=None):
    """Without axes of extent 1: all, or these."""
    dims = range(x.ndim) if dims is None else [d % x.ndim for d in ([dims] if isinstance(dims, int) else dims)]
    return reshape(x, tuple(n for d, n in enumerate(x.shape) if d not in dims or n != 1))


def unsqueeze(x, dims):
    """With new axes of extent 1, at these places of the result."""
    dims = [dims] if isinstance(dims, int) else list(dims)
    rank = x.ndim + len(dims)
    places, old = {d % rank for d in dims}, iter(x.shape)
    return reshape(x, tuple(1 if d in places else next(old) for d in range(rank)))


def reduced(name, x, dims=None, keep_dim=False):
    """A reduction along axes, along all where dims is None."""
    dims = tuple(range(x.ndim)) if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    dims = tuple(d % x.ndim for d in dims)
    if not dims:
        return x
    made = operation(name)(x, axis=dims if len(dims) > 1 else dims[0])
    return reshape(made, tuple(1 if d in dims else n for d, n in enumerate(x.shape))) if keep_dim else made
