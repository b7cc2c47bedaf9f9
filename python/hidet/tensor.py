"""Tensors: arrays of the host or of a GPU, and symbolic ones, which stand for results of a graph."""

import math
import operator as _python
import struct

from hidet import _core, dtypes
from hidet._names import Absent
from hidet.device import CUDA, HOST, Device, device, is_simulated, of_code

_FORMATS = {
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "boolean": "?",
}


class Tensor(_core.Tensor):
    """An array. `storage` is None of symbolic tensors, which have a `trace`: (operator, index), or None for inputs."""

    __slots__ = ("_place", "_trace")

    # ---- what it is

    @property
    def dtype(self):
        """The type of its elements."""
        return dtypes.of_code(self._type)

    @property
    def device(self):
        """Where it is."""
        place = getattr(self, "_place", None)
        return place if place is not None else of_code(*self._device)

    @property
    def trace(self):
        """(operator, index) of a symbolic tensor; None: it is an input, or has elements."""
        return getattr(self, "_trace", None)

    @property
    def op(self):
        """The operator whose result a symbolic tensor is, or None."""
        return self.trace[0] if self.trace else None

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self):
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self):
        """The bytes of its elements."""
        return self.size * self.dtype.nbytes

    @property
    def layout(self):
        """Where its elements lie, as a layout of the language, which scripts may refer to."""
        from hidet import lang

        plain = self.is_symbolic() or self._is_contiguous
        return lang.row_major(*self.shape) if plain else lang.strided_layout(list(self.shape), strides=list(self._strides))

    def is_symbolic(self):
        """Whether it has no elements."""
        return self.storage is None

    def signature(self):
        """As graphs print it: float32[2, 3][cuda]."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}][{self.device.kind}]"

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __repr__(self):
        head = f"Tensor(shape={self.shape}, dtype='{self.dtype}', device='{self.device}')"
        if self.is_symbolic():
            return f"{head}\nfrom {self.trace}" if self.trace else head
        return f"{head}\n{_elements_text(self)}"

    __str__ = __repr__
    __hash__ = object.__hash__

    # ---- its elements

    def numpy(self):
        """A NumPy array that shares the memory of a tensor of the host."""
        import numpy as np

        self._need_elements("numpy()")
        if self._device[0] == CUDA:
            raise ValueError("the tensor is on a GPU: x.cpu().numpy()")
        if self.dtype.name not in _FORMATS:
            return _extended_numpy(np, self)
        return np.from_dlpack(self)

    def torch(self):
        """A PyTorch tensor that shares the memory."""
        import torch

        self._need_elements("torch()")
        return torch.from_dlpack(self)

    def tolist(self):
        """The elements as nested lists of numbers."""
        self._need_elements("tolist()")
        numbers = _numbers(self)
        return _nested(numbers, self.shape)

    def item(self):
        """The only element, as a number."""
        if self.size != 1:
            raise ValueError(f"item() is for tensors of one element, and this one has {self.size}")
        self._need_elements("item()")
        return _numbers(self)[0]

    def __bool__(self):
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        if not self.dtype.is_int:
            raise TypeError(f"a tensor of {self.dtype} is no index")
        return int(self.item())

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def _need_elements(self, what):
        if self.is_symbolic():
            raise ValueError(f"{what}: a symbolic tensor has no elements")

    # ---- other places and types

    def to(self, dtype=None, device=None):
        """The tensor with another type, on another device; itself, where nothing changes."""
        if isinstance(dtype, (str, Device)) and (isinstance(dtype, Device) or str(dtype).split(":")[0] in ("cpu", "cuda")):
            dtype, device = None, dtype
        moved = self if device is None else _to_device(self, device)
        return moved if dtype is None else moved.astype(dtype)

    def cpu(self):
        """The tensor in host memory."""
        return _to_device(self, "cpu")

    def cuda(self, index=None):
        """The tensor on a GPU."""
        return _to_device(self, "cuda" if index is None else f"cuda:{index}")

    def astype(self, dtype):
        """The tensor with elements of another type."""
        from hidet import ops

        wanted = dtypes.data_type(dtype)
        if wanted.name == "boolean" and self.dtype.name != "boolean":
            return ops.not_equal(self, 0)
        return self if wanted == self.dtype else ops.cast(self, wanted)

    def copy(self):
        """A copy, which lies row by row."""
        if self.is_symbolic():
            return self
        out = _allocate(self.shape, self.dtype, self.device)
        out._copy_bytes(self.contiguous())
        return out

    clone = copy

    def copy_(self, source):
        """Takes over the elements of a tensor of the same extents and type."""
        if tuple(source.shape) != self.shape or source.dtype != self.dtype:
            raise ValueError(f"copy_ of {source.signature()} to {self.signature()}")
        self._copy_bytes(source.contiguous())
        return self

    def detach(self):
        """Itself: there are no gradients here."""
        return self

    def contiguous(self):
        """Itself, where elements lie row by row, else a copy."""
        return self if self.is_symbolic() or self._is_contiguous else self._plain()

    def _plain(self):
        """The elements row by row, at an address that kernels take."""
        if self._is_plain:
            return self
        if self._device[0] == HOST:
            return _at(self._gathered(), getattr(self, "_place", None))
        from hidet import _eager

        return _eager.gathered(self)

    # ---- other extents

    def reshape(self, *shape):
        """The elements in other extents, one of which may be -1. Shares the memory, where elements lie row by row."""
        from hidet import ops

        return ops.reshape(self, _extents(shape))

    view = reshape

    def flatten(self, start_dim=0, end_dim=-1):
        """Axes from start_dim to end_dim as one."""
        from hidet import ops

        return ops.flatten(self, start_dim, end_dim)

    def squeeze(self, dims=None):
        """Without axes of extent 1: all, or these."""
        from hidet import ops

        return ops.squeeze(self, dims)

    def unsqueeze(self, dims):
        """With new axes of extent 1."""
        from hidet import ops

        return ops.unsqueeze(self, dims)

    def permute(self, *dims):
        """With axes in another order."""
        from hidet import ops

        return ops.permute(self, _extents(dims))

    def transpose(self, dim0, dim1):
        """With two axes swapped."""
        from hidet import ops

        return ops.transpose(self, dim0, dim1)

    @property
    def T(self):
        """With axes in the opposite order."""
        from hidet import ops

        return ops.permute(self, tuple(reversed(range(self.ndim))))

    def rearrange(self, plan):
        """With axes in another order and put together: each entry of [plan] lists the axes that become one. [[1], [0]] is the
        transposed matrix, [[0, 1]] its elements in one row; an entry without axes is an axis of extent 1."""
        axes = [d + self.ndim if d < 0 else d for entry in plan for d in entry]
        if sorted(axes) != list(range(self.ndim)):
            raise ValueError(f"rearrange: {plan} does not name each of {self.ndim} axes once")
        return self.permute(axes).reshape([math.prod(self.shape[d] for d in entry) for entry in plan])

    def expand(self, *shape):
        """Axes of extent 1 repeated; -1 leaves an axis as it is."""
        from hidet import ops

        return ops.expand(self, _extents(shape))

    # ---- reductions and the like

    def sum(self, dims=None, keep_dim=False):
        """The sum along axes; along all, where dims is None."""
        return _reduce("sum", self, dims, keep_dim)

    def mean(self, dims=None, keep_dim=False):
        """The mean along axes."""
        return _reduce("mean", self, dims, keep_dim)

    def max(self, dims=None, keep_dim=False):
        """The maximum along axes."""
        return _reduce("max", self, dims, keep_dim)

    def min(self, dims=None, keep_dim=False):
        """The minimum along axes."""
        return _reduce("min", self, dims, keep_dim)

    def masked_fill(self, mask, value):
        """[value] where the mask is true."""
        from hidet import ops

        return ops.masked_fill(self, mask, value)

    def __getitem__(self, index):
        from hidet import _indexing

        return _indexing.get(self, index)

    def __setitem__(self, index, value):
        from hidet import _indexing

        _indexing.set(self, index, value)

    # Names of Hidet's class, which say what takes their place.
    hip, hip_async, vcuda_, cuda_ = Absent(), Absent(), Absent(), Absent()
    cpu_async, cuda_async, copy_async = Absent(), Absent(), Absent()

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """PyTorch's functions take hidet's tensors as PyTorch's."""

        def converted(value):
            if isinstance(value, Tensor):
                return value.torch()
            return type(value)(map(converted, value)) if isinstance(value, (list, tuple)) else value

        return function(*converted(args), **{k: converted(v) for k, v in (kwargs or {}).items()})


def _reduce(name, x, dims, keep_dim):
    from hidet import ops

    return ops.reduced(name, x, dims, keep_dim)


BINARY_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "matmul": "matmul",
}


def _add_operators():
    compared = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}

    def forward(name):
        # Of equal types these need no thought.
        found = []
        is_direct = name not in ("divide", "bitwise_and", "bitwise_or", "bitwise_xor")

        def method(self, other):
            if is_direct and found and type(other) is Tensor and self._type == other._type:
                return found[0](self, other)
            from hidet import ops

            found[:] = [ops.operation(name)]
            return ops.binary(name, self, other)

        return method

    def backward(name):
        def method(self, other):
            from hidet import ops

            return ops.binary(name, other, self)

        return method

    def unary(name):
        def method(self):
            from hidet import ops

            return getattr(ops, name)(self)

        return method

    for short, name in {**BINARY_OPERATORS, **compared}.items():
        setattr(Tensor, f"__{short}__", forward(name))
    for short, name in BINARY_OPERATORS.items():
        setattr(Tensor, f"__r{short}__", backward(name))
    Tensor.__neg__, Tensor.__abs__ = unary("negative"), unary("abs")
    Tensor.__invert__ = lambda self: unary("logical_not" if self.dtype.name == "boolean" else "bitwise_not")(self)


_add_operators()


# ---- elements -------------------------------------------------------------------------------------------------------------


def _numbers(x):
    data = x.cpu().contiguous()._bytes()
    name = x.dtype.name
    if name in _FORMATS:
        return struct.unpack(f"={x.size}{_FORMATS[name]}", data)
    if name == "bfloat16":
        words = struct.unpack(f"={x.size}H", data)
        return struct.unpack(f"={x.size}f", struct.pack(f"={x.size}I", *(w << 16 for w in words)))
    return _numbers(x.cpu().astype("float32"))


def _nested(numbers, shape):
    if not shape:
        return numbers[0]
    step = math.prod(shape[1:])
    return [_nested(numbers[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _elements_text(x):
    try:
        import numpy as np
    except ImportError:
        return str(x.tolist())
    host = x.cpu()
    array = host.numpy() if host.dtype.name in _FORMATS else np.array(host.tolist(), "f").reshape(x.shape)
    return np.array2string(array, precision=2, suppress_small=True)


def _extended_numpy(np, x):
    try:
        import ml_dtypes
    except ImportError as error:
        raise TypeError(f"NumPy has no {x.dtype} without the package ml_dtypes: x.astype('float32').numpy()") from error
    names = {"bfloat16": "bfloat16", "float8_e4m3": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
    bits = {8: 1, 16: 1}[x.dtype.bits]
    words = np.from_dlpack(x._view(x.shape, x._strides, 0, bits, x.dtype.bits))
    return words.view(getattr(ml_dtypes, names[x.dtype.name]))


# ---- making tensors -------------------------------------------------------------------------------------------------------


def _extents(shape):
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return tuple(_python.index(n) for n in shape)


def _at(tensor, place):
    if place is not None:
        tensor._place = place
    return tensor


def _allocate(shape, dtype, place):
    """Without contents; [place] is a Device."""
    if place.kind == "cuda" and not is_simulated(place):
        if place.id != _core.current_device():
            _core.use_device(place.id)
        return Tensor(shape, dtype.code, dtype.bits, CUDA, place.id)
    made = Tensor(shape, dtype.code, dtype.bits, HOST, 0)
    return _at(made, place) if place.kind == "cuda" else made


def _to_device(x, place):
    place = device(place)
    if x.device == place:
        return x
    if x.is_symbolic():
        return symbol(x.shape, x.dtype, place)
    out = _allocate(x.shape, x.dtype, place)
    out._copy_bytes(x.contiguous())
    return out


def _from_bytes(data, shape, dtype, place):
    host = Tensor(shape, dtype.code, dtype.bits, HOST, 0)
    host._set_bytes(data)
    return _to_device(host, place)


def _packed(numbers, dtype):
    if dtype.name in _FORMATS:
        kind = bool if dtype.name == "boolean" else float if dtype.is_float else int
        return struct.pack(f"={len(numbers)}{_FORMATS[dtype.name]}", *map(kind, numbers))
    raise TypeError(f"tensors of {dtype} are made by astype")


def symbol(shape, dtype="float32", device="cpu"):
    """A symbolic tensor: an input of a graph."""
    kind, place = dtypes.data_type(dtype), _as_device(device)
    is_gpu = place.kind == "cuda" and not is_simulated(place)
    made = Tensor(_extents((tuple(shape),)), kind.code, kind.bits, CUDA if is_gpu else HOST, place.id if is_gpu else 0, True)
    return _at(made, place) if place.kind == "cuda" and not is_gpu else made


def _as_device(value):
    return device(value)


def symbol_like(data, shape=None, dtype=None, device=None):
    """A symbolic tensor with the extents, type and device of another one, or with these."""
    return symbol(data.shape if shape is None else shape, dtype or data.dtype, device or data.device)


def empty(shape, dtype="float32", device="cpu"):
    """A tensor without contents."""
    return _allocate(_extents((tuple(shape),)), dtypes.data_type(dtype), _as_device(device))


def full(shape, fill_value, dtype=None, device="cpu"):
    """A tensor of one value."""
    shape = _extents((tuple(shape),))
    if dtype is None:
        dtype = "boolean" if isinstance(fill_value, bool) else "int64" if isinstance(fill_value, int) else "float32"
    kind = dtypes.data_type(dtype)
    if kind.name not in _FORMATS:
        return full(shape, fill_value, "float32", device).astype(kind)
    return _from_bytes(_packed([fill_value], kind) * math.prod(shape), shape, kind, _as_device(device))


def zeros(shape, dtype="float32", device="cpu"):
    """A tensor of zeros."""
    return full(shape, 0, dtype, device)


def ones(shape, dtype="float32", device="cpu"):
    """A tensor of ones."""
    return full(shape, 1, dtype, device)


_generator = None


def seed(value):
    """Starts the random numbers of randn and randint anew."""
    global _generator
    import random

    _generator = random.Random(value)


def _random():
    if _generator is None:
        seed(None)
    return _generator


def randn(shape, dtype="float32", mean=0.0, stddev=1.0, device="cpu"):
    """Random numbers with a normal distribution."""
    shape, kind = _extents((tuple(shape),)), dtypes.data_type(dtype)
    count = math.prod(shape)
    try:
        import numpy as np
    except ImportError:
        data = struct.pack(f"={count}f", *(_random().gauss(mean, stddev) for _ in range(count)))
    else:
        numbers = np.random.default_rng(_random().getrandbits(63)).normal(mean, stddev, count)
        data = numbers.astype("f").tobytes()
    return _from_bytes(data, shape, dtypes.data_type("float32"), _as_device(device)).astype(kind)


def randint(low, high=None, shape=(), dtype="int32", device="cpu"):
    """Random integers from low to below high, or from 0 to below low."""
    low, high = (0, low) if high is None else (low, high)
    shape = _extents((tuple(shape),))
    numbers = [_random().randrange(low, high) for _ in range(math.prod(shape))]
    return _from_bytes(_packed(numbers, dtypes.data_type(dtype)), shape, dtypes.data_type(dtype), _as_device(device))


def arange(start, end=None, step=1, dtype=None, device="cpu"):
    """start, start + step, … before end; from 0, where end is not given."""
    start, end = (0, start) if end is None else (start, end)
    numbers = [start + i * step for i in range(max(0, math.ceil((end - start) / step)))]
    kind = dtypes.data_type(dtype or ("int64" if all(isinstance(n, int) for n in (start, step, end)) else "float32"))
    return _from_bytes(_packed(numbers, kind), (len(numbers),), kind, _as_device(device))


def linspace(start, stop, num=50, dtype="float32", device="cpu"):
    """[num] numbers from start to stop, both included."""
    numbers = [start + (stop - start) * i / max(num - 1, 1) for i in range(num)]
    kind = dtypes.data_type(dtype)
    return _from_bytes(_packed(numbers, kind), (num,), kind, _as_device(device))


def _like(function):
    def make(data, shape=None, dtype=None, device=None):
        return function(data.shape if shape is None else shape, dtype=dtype or data.dtype, device=device or data.device)

    make.__name__ = make.__qualname__ = f"{function.__name__}_like"
    make.__doc__ = f"As {function.__name__}, with the extents, type and device of another tensor."
    return make


empty_like, zeros_like, ones_like, randn_like = map(_like, (empty, zeros, ones, randn))


def full_like(data, fill_value, shape=None, dtype=None, device=None):
    """As full, with the extents, type and device of another tensor."""
    return full(data.shape if shape is None else shape, fill_value, dtype or data.dtype, device or data.device)


def from_dlpack(array):
    """A tensor that shares the memory of an array of any library."""
    return _core.from_dlpack(Tensor, array)


def from_torch(tensor):
    """A tensor that shares the memory of PyTorch's."""
    if not hasattr(tensor, "detach") or not hasattr(tensor, "__dlpack__"):
        raise TypeError(f"a PyTorch tensor is expected, not a {type(tensor).__name__}")
    return _core.from_dlpack(Tensor, tensor.detach())


def _from_numpy(array, dtype):
    """Shares the memory, where NumPy's type is one of ours."""
    import numpy as np

    if array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        kind = dtypes.data_type(array.dtype)
        words = _core.from_dlpack(Tensor, array.view(f"u{array.dtype.itemsize}"))
        return words._view(words.shape, words._strides, 0, kind.code, kind.bits)
    array = np.asarray(array, dtype)
    return _core.from_dlpack(Tensor, array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("=")))


def asarray(obj, dtype=None, device=None):
    """A tensor of numbers, nested lists, a NumPy array or a tensor of any library. Memory is shared, where that is possible."""
    kind = dtype and dtypes.data_type(dtype)
    if isinstance(obj, Tensor):
        made = obj
    elif type(obj).__module__.partition(".")[0] == "numpy":
        import numpy as np

        made = _from_numpy(np.asarray(obj), None)
    elif hasattr(obj, "__dlpack__"):
        made = from_dlpack(obj.detach() if hasattr(obj, "detach") else obj)
    else:
        made = _from_lists(obj, kind)
    made = made if device is None else _to_device(made, device)
    return made if kind is None else made.astype(kind)


array = asarray


def _shape_of(obj):
    if not isinstance(obj, (list, tuple)):
        return ()
    shapes = {_shape_of(x) for x in obj}
    if len(shapes) > 1:
        raise ValueError(f"rows of different extents: {sorted(shapes)}")
    return (len(obj), *(shapes.pop() if shapes else ()))


def _flat(obj):
    return [n for x in obj for n in _flat(x)] if isinstance(obj, (list, tuple)) else [obj]


def _from_lists(obj, kind):
    shape, numbers = _shape_of(obj), _flat(obj)
    if kind is None or kind.name not in _FORMATS:
        is_bool = numbers and all(isinstance(n, bool) for n in numbers)
        is_int = numbers and all(isinstance(n, int) for n in numbers)
        kind = dtypes.data_type("boolean" if is_bool else "int64" if is_int else "float32")
    return _from_bytes(_packed(numbers, kind), shape, kind, _as_device("cpu"))
