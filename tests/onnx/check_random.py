#!/usr/bin/env python3
"""Random graphs of ONNX's operators on the simulator, against the package's reference evaluator.

Usage: check_random.py HDSC [N [SEED]]

A graph has some inputs, values that several nodes share, and several outputs. A node is drawn by its operator, with any operands
that are there, and is kept if the evaluator computes it without a problem. In every other graph the first extent of the inputs is
open: then it is drawn for two sizes, and both run. Every fifth graph runs in f16 (--precision), and is compared with f32.

What jumps (comparisons, rounding, positions of the largest) is drawn for operands that are exact in f32 only: numbers of few
bits. Some of the evaluator's operators have faults, of extents above all: such cases are not drawn.
"""

import pathlib
import random
import subprocess
import sys
import warnings

import numpy as np
from onnx.reference import ReferenceEvaluator

import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "graph"))
import seeds

OPSET = 22
FLOATS, INTEGERS = (np.float32,), (np.int32, np.int64, np.uint8, np.int8)
MOST_ELEMENTS = 3000


class Value:
    """A tensor of the graph: its arrays, one for each size, and whether all of them are exact."""

    def __init__(self, name, arrays, exact):
        self.name, self.arrays, self.exact = name, arrays, exact

    @property
    def shape(self):
        return self.arrays[0].shape

    @property
    def rank(self):
        return self.arrays[0].ndim

    @property
    def dtype(self):
        return self.arrays[0].dtype.type

    @property
    def is_float(self):
        return self.dtype in FLOATS

    @property
    def is_fixed(self):
        """Whether its extents are the same for all sizes."""
        return all(x.shape == self.shape for x in self.arrays)


def on_grid(x):
    """Whether floats are few bits, such that sums and products of some of them are exact in f32."""
    return bool(np.all(np.isfinite(x)) and np.all(x * 64 == np.round(x * 64)) and np.all(np.abs(x) < 2**11))


class Graph:
    """What is drawn: inputs, constants, nodes, and all values."""

    def __init__(self, rng):
        self.rng, self.np = rng, np.random.default_rng(rng.getrandbits(32))
        self.is_half = rng.random() < 0.2
        self.sizes = (1,) if self.is_half or rng.random() < 0.5 else rng.sample((2, 3, 5), 2)
        self.inputs, self.constants, self.nodes, self.values = [], {}, [], []
        self.shapes_of = {}  # names of inputs to extents, with "N"

    # ---- operands -----------------------------------------------------------------------------------------------------------

    def array(self, shape, dtype):
        if dtype is np.bool_:
            return self.np.integers(0, 2, shape).astype(bool)
        if dtype in FLOATS:
            return (self.np.integers(-12, 13, shape) / 4).astype(dtype)
        low = 0 if np.issubdtype(dtype, np.unsignedinteger) else -9
        return self.np.integers(low, 10, shape).astype(dtype)

    def add_input(self, shape, dtype):
        name = f"x{len(self.inputs)}"
        arrays = [self.array([n if e == "N" else e for e in shape], dtype) for n in self.sizes]
        self.inputs.append(Value(name, arrays, True))
        self.shapes_of[name] = shape
        self.values.append(self.inputs[-1])

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return Value(name, [self.constants[name]] * len(self.sizes), True)

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def pick(self, wanted=lambda v: True):
        """Any value; the last ones more often."""
        found = [v for v in self.values if wanted(v)]
        return self.rng.choice(found[-4:] if self.rng.random() < 0.6 else found) if found else None

    def floats(self, rank=0, exact=False):
        return self.pick(lambda v: v.is_float and v.rank >= rank and (v.exact or not exact))

    def weight(self, *shape):
        return self.constant(self.array(shape, np.float32))

    def like(self, x, wanted=lambda v: True):
        """A value that is broadcast with x: of the same type."""

        def fits(v):
            if v.dtype is not x.dtype or not wanted(v):
                return False
            try:
                return all(np.broadcast(a, b).size <= MOST_ELEMENTS for a, b in zip(v.arrays, x.arrays))
            except ValueError:
                return False

        other = self.pick(fits)
        if other is None or self.rng.random() < 0.3:
            tail = x.shape[self.rng.randint(0, x.rank) :] if x.is_fixed else ()
            tail = [n if self.rng.random() < 0.8 else 1 for n in tail]
            other = self.constant(self.array(tail, x.dtype))
        return other

    # ---- nodes --------------------------------------------------------------------------------------------------------------

    def draw(self):
        """Adds a node of any operator. False: it cannot be."""
        kind = self.rng.choice(list(DRAWS))
        drawn = DRAWS[kind](self)
        return drawn is not None and self.add(*drawn)

    def add(self, op, operands, how=None, count=1, keeps_exact=True, may_jump=False, around=(), before=()):
        """Adds a node. [around]: what its graphs read; [before]: nodes whose results are operands by their names."""
        if operands[0] is None:
            return False
        given = [x for x in operands if isinstance(x, Value)] + list(around)
        if may_jump and not all(x.exact for x in given):
            return False
        names = ["" if x is None else x if isinstance(x, str) else x.name for x in operands]
        outputs = [f"t{len(self.nodes)}_{k}" for k in range(count)]
        node = helper.make_node(op, names, outputs, name=f"n{len(self.nodes)}", **(how or {}))
        results = [self.evaluate([*before, node], given, k) for k in range(len(self.sizes))]
        if any(r is None for r in results):
            return False
        self.nodes += [*before, node]
        for k, name in enumerate(outputs):
            arrays = [r[k] for r in results]
            exact = all(x.exact for x in given) and keeps_exact and all(on_grid(a) for a in arrays if a.dtype == np.float32)
            self.values.append(Value(name, arrays, exact))
        return True

    def evaluate(self, nodes, operands, size):
        """The outputs of the last node, or None where they are of no use."""
        value = lambda n, x: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        given = {x.name: x.arrays[size] for x in operands}
        graph = helper.make_graph(
            nodes,
            "g",
            [value(n, x) for n, x in given.items()],
            [helper.make_empty_tensor_value_info(n) for n in nodes[-1].output],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        try:
            outputs = [np.asarray(y) for y in ReferenceEvaluator(model).run(None, given)]
        except Exception:  # noqa: BLE001 (whatever the evaluator does not take)
            return None
        for y in outputs:
            if y.size == 0 or y.size > MOST_ELEMENTS or y.ndim > 6:
                return None
            if y.dtype == np.float32 and not (np.all(np.isfinite(y)) and np.all(np.abs(y) < 1e4)):
                return None
        return outputs

    # ---- the file -----------------------------------------------------------------------------------------------------------

    def read(self):
        inner = [node for n in self.nodes for a in n.attribute if a.g.node for node in a.g.node]
        return {name for node in [*self.nodes, *inner] for name in node.input}

    def outputs(self):
        """What nothing reads, and some of the others."""
        read = self.read()
        made = [v for v in self.values if v not in self.inputs]
        return [v for v in made if v.name not in read or self.rng.random() < 0.15]

    def model(self, outputs):
        def value(v):
            shape = self.shapes_of.get(v.name, [None] * v.rank)
            return helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(v.arrays[0].dtype), shape)

        read = self.read()
        graph = helper.make_graph(
            self.nodes,
            "main",
            [value(v) for v in self.inputs],
            [value(v) for v in outputs],
            [numpy_helper.from_array(x, n) for n, x in self.constants.items() if n in read],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


# ---- operators ---------------------------------------------------------------------------------------------------------------

DRAWS = {}


def drawn(*names):
    """Registers a function of (graph, name) for these operators."""

    def register(f):
        for name in names:
            DRAWS[name] = lambda g, name=name: f(g, name)
        return f

    return register


@drawn("Abs", "Neg", "Relu", "Identity")
def exact_of_one(g, name):
    return name, [g.floats()]


@drawn("Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Sin", "Cos", "Atan", "HardSwish", "Mish", "Selu", "Elu", "Celu", "Gelu",
       "LeakyRelu", "HardSigmoid", "Asinh", "Swish")  # fmt: skip
def smooth(g, name):
    how = (
        {"alpha": g.rng.choice([0.5, 1.5, 0.125])}
        if name in ("Elu", "Celu", "LeakyRelu", "HardSigmoid") and g.rng.random() < 0.6
        else {}
    )
    if name == "Gelu" and g.rng.random() < 0.5:
        how = {"approximate": "tanh"}
    return ("Tanh" if name == "Swish" else name), [g.floats()], how, 1, False


@drawn("Floor", "Ceil", "Round", "Sign", "ThresholdedRelu", "Shrink", "IsNaN", "IsInf")
def jumping(g, name):
    return name, [g.floats(exact=True)], {}, 1, True, True


@drawn("Sqrt", "Reciprocal", "Log")
def of_positive(g, name):
    x = g.floats()
    if x is None or not g.add("Abs", [x]) or not g.add("Add", [g.values[-1], g.constant(np.float32(0.5))]):
        return None
    return name, [g.values[-1]], {}, 1, False


@drawn("Exp")
def exp(g, name):
    x = g.floats()
    if x is None or not g.add("Clip", [x, g.constant(np.float32(-4)), g.constant(np.float32(3))]):
        return None
    return name, [g.values[-1]], {}, 1, False


@drawn("Clip")
def clip(g, name):
    x = g.pick(lambda v: v.dtype in (np.float32, np.int32, np.int64, np.int8))
    if x is None:
        return None
    low, high = [g.constant(np.array(n, x.dtype)) for n in (-2, 3)]
    return name, [x, g.rng.choice([low, None]), g.rng.choice([high, None])]


@drawn("Add", "Sub", "Mul", "Add", "Mul")
def arithmetic(g, name):
    x = g.pick(lambda v: v.is_float or v.dtype in (np.int32, np.int64))
    y = None if x is None else g.like(x)
    return None if y is None else (name, g.rng.sample([x, y], 2))


@drawn("Div")
def divide(g, name):
    x = g.floats()
    y = None if x is None else g.like(x)
    if y is None or not g.add("Abs", [y]) or not g.add("Add", [g.values[-1], g.constant(np.float32(0.75))]):
        return None
    return name, [x, g.values[-1]], {}, 1, False


@drawn("Pow")
def power(g, name):
    x = g.floats()
    p = g.constant(np.float32(g.rng.choice([2, 3, 1, 0])) if g.rng.random() < 0.6 else np.array(2, np.int64))
    return name, [x, p]


@drawn("Min", "Max", "Sum", "Mean")
def of_many(g, name):
    x = g.floats() if name in ("Sum", "Mean") else g.pick(lambda v: v.dtype in (np.float32, np.int32, np.int64))
    if x is None:
        return None
    return (name, [x] + [g.like(x) for _ in range(g.rng.randint(0, 2))], {}, 1, name != "Mean")


@drawn("Mod")
def modulo(g, name):
    x = g.pick(lambda v: v.dtype in INTEGERS)
    if x is None:
        return None
    return (
        name,
        [x, g.constant(np.array(g.rng.choice([3, 5, 7]) * (1 if x.dtype is np.uint8 else g.rng.choice([1, -1])), x.dtype))],
        {"fmod": g.rng.randint(0, 1)},
    )


@drawn("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def compare(g, name):
    """Of what does not follow from open sizes alone, which is no tensor."""
    x = g.pick(lambda v: v.exact and v.dtype is not np.bool_ and (len(g.sizes) == 1 or v.dtype is not np.int64))
    y = None if x is None else g.like(x, lambda v: v.exact)
    return None if y is None else (name, [x, y], {}, 1, True, True)


@drawn("And", "Or", "Xor")
def logic(g, name):
    x = g.pick(lambda v: v.dtype is np.bool_)
    return None if x is None else (name, [x, g.like(x)])


@drawn("Not")
def negate(g, name):
    return name, [g.pick(lambda v: v.dtype is np.bool_)]


@drawn("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
def bits(g, name):
    x = g.pick(lambda v: v.dtype in INTEGERS)
    return None if x is None else (name, [x] + ([] if name == "BitwiseNot" else [g.like(x)]))


@drawn("Where", "Where")
def where(g, name):
    c = g.pick(lambda v: v.dtype is np.bool_)
    x = g.pick(lambda v: v.dtype is not np.bool_)
    return None if c is None or x is None else (name, [c, x, g.like(x)])


@drawn("PRelu")
def prelu(g, name):
    x = g.floats()
    return None if x is None else (name, [x, g.like(x)])


@drawn("Cast")
def cast(g, name):
    x = g.pick(lambda v: v.exact)
    to = g.rng.choice([np.float32, np.int32, np.int64, np.bool_, np.int8])
    if x is None or (to is np.int8 and any(np.abs(a.astype(np.float64)).max() > 100 for a in x.arrays)):
        return None
    return (name, [x], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(to))}, 1, True, True)


# ---- shapes ------------------------------------------------------------------------------------------------------------------


@drawn("Transpose", "Transpose")
def transpose(g, name):
    x = g.pick(lambda v: v.rank > 1)
    return None if x is None else (name, [x], {} if g.rng.random() < 0.2 else {"perm": g.rng.sample(range(x.rank), x.rank)})


@drawn("Reshape", "Reshape")
def reshape(g, name):
    x = g.pick(lambda v: v.rank > 0)
    if x is None:
        return None
    choice = g.rng.random()
    if choice < 0.3:
        return name, [x, g.ints(-1)]
    if choice < 0.6 and x.rank > 1:
        at = g.rng.randrange(x.rank - 1)
        if not all(a.shape[k] == n for a in x.arrays for k, n in enumerate(x.shape) if k > at + 1):
            return None
        return name, [x, g.ints(*[0] * at, -1, *x.shape[at + 2 :])]
    sizes = [n for n in (2, 3, 4, 6, 8) if all(a.size % n == 0 for a in x.arrays)]
    if not sizes:
        return None
    n = g.rng.choice(sizes)
    return name, [x, g.ints(*g.rng.choice([(-1, n), (n, -1), (1, -1, n)]))]


@drawn("Reshape_of_shape")
def reshape_of_shape(g, name):
    """[x.shape[0], -1] as exporters say it."""
    x = g.pick(lambda v: v.rank > 1)
    if (
        x is None
        or not g.add("Shape", [x])
        or not g.add("Gather", [g.values[-1], g.constant(np.array(0, np.int64))], {"axis": 0})
        or not g.add("Unsqueeze", [g.values[-1], g.ints(0)])
        or not g.add("Concat", [g.values[-1], g.ints(-1)], {"axis": 0})
    ):
        return None
    return "Reshape", [x, g.values[-1]]


@drawn("Flatten")
def flatten(g, name):
    x = g.pick()
    return name, [x], {"axis": g.rng.randint(-x.rank, x.rank)}


@drawn("Unsqueeze")
def unsqueeze(g, name):
    x = g.pick(lambda v: v.rank < 5)
    return None if x is None else (name, [x, g.ints(g.rng.randint(-x.rank - 1, x.rank))])


@drawn("Squeeze")
def squeeze(g, name):
    x = g.pick(lambda v: 1 in v.shape and v.is_fixed)
    return None if x is None else (name, [x, g.ints(x.shape.index(1))])


@drawn("Concat", "Concat")
def concat(g, name):
    x = g.pick(lambda v: v.rank > 0)
    if x is None:
        return None
    axis = g.rng.randrange(x.rank)
    fits = lambda v: (
        v.dtype is x.dtype
        and v.rank == x.rank
        and all(n == m or k == axis for a, b in zip(v.arrays, x.arrays) for k, (n, m) in enumerate(zip(a.shape, b.shape)))
    )
    parts = [x] + [g.pick(fits) for _ in range(g.rng.randint(0, 2))]
    return (name, g.rng.sample(parts, len(parts)), {"axis": axis - g.rng.choice([0, x.rank])})


@drawn("Split")
def split(g, name):
    x = g.pick(lambda v: v.rank > 0)
    if x is None:
        return None
    axis = g.rng.randrange(x.rank)
    n = x.shape[axis]
    if n < 2 or not all(a.shape[axis] == n for a in x.arrays):
        return None
    if g.rng.random() < 0.5:
        return name, [x], {"axis": axis, "num_outputs": 2}, 2
    first = g.rng.randint(1, n - 1)
    return name, [x, g.ints(first, n - first)], {"axis": axis}, 2


@drawn("Slice", "Slice")
def slice_of(g, name):
    x = g.pick(lambda v: v.rank > 0)
    if x is None:
        return None
    axes = g.rng.sample(range(x.rank), g.rng.randint(1, min(2, x.rank)))
    starts, ends, steps = [], [], []
    for axis in axes:
        step = g.rng.choice([1, 1, 1, 2, -1, -2])
        if not all(a.shape[axis] == x.shape[axis] for a in x.arrays):  # of open extents what has no clamped ends
            starts.append(0)
            ends.append(2**31 - 1)
            steps.append(1)
            continue
        starts.append(g.rng.choice([0, 1, -2, 3]) if step > 0 else g.rng.choice([-1, 9, 2]))
        ends.append(g.rng.choice([2**31 - 1, -1, 4]) if step > 0 else g.rng.choice([-(2**31), 0, -9]))
        steps.append(step)
    return name, [x, g.ints(*starts), g.ints(*ends), g.ints(*axes), g.ints(*steps)]


@drawn("Gather")
def gather(g, name):
    x = g.pick(lambda v: v.rank > 0)
    if x is None:
        return None
    axis = g.rng.randrange(x.rank)
    n = min(a.shape[axis] for a in x.arrays)
    shape = g.rng.choice([(), (1,), (3,), (2, 2)])
    low = -n if x.is_fixed else 0
    return (name, [x, g.constant(g.np.integers(low, n, shape).astype(g.rng.choice([np.int64, np.int32])))], {"axis": axis})


@drawn("GatherElements")
def gather_elements(g, name):
    x = g.pick(lambda v: v.rank > 0 and v.is_fixed)
    if x is None:
        return None
    axis = g.rng.randrange(x.rank)
    shape = list(x.shape)
    shape[axis] = g.rng.randint(1, 4)
    return (name, [x, g.constant(g.np.integers(-x.shape[axis], x.shape[axis], shape))], {"axis": axis})


@drawn("GatherND")
def gather_nd(g, name):
    x = g.pick(lambda v: v.rank > 1 and v.is_fixed)
    if x is None:
        return None
    index = np.stack([g.np.integers(-n, n, (3,)) for n in x.shape[: g.rng.randint(1, x.rank)]], -1)
    return name, [x, g.constant(index.astype(np.int64))]


@drawn("ScatterElements")
def scatter_elements(g, name):
    x = g.pick(lambda v: v.rank > 0 and v.is_fixed and v.dtype in (np.float32, np.int64, np.int32))
    if x is None:
        return None
    axis, how = g.rng.randrange(x.rank), g.rng.choice(["none", "add", "max", "mul"])
    shape = list(x.shape)
    shape[axis] = g.rng.randint(1, shape[axis])
    order = np.argsort(g.np.random(x.shape), axis)  # no two updates of one element
    index = np.take(order, range(shape[axis]), axis)
    return (name, [x, g.constant(index.astype(np.int64)), g.constant(g.array(shape, x.dtype))], {"axis": axis, "reduction": how})


@drawn("ScatterND")
def scatter_nd(g, name):
    x = g.pick(lambda v: v.rank > 0 and v.is_fixed and v.dtype in (np.float32, np.int64, np.int32))
    if x is None:
        return None
    rows = min(2, x.shape[0])
    index = g.np.permutation(x.shape[0])[:rows].reshape(rows, 1).astype(np.int64)
    return (
        name,
        [x, g.constant(index), g.constant(g.array((rows, *x.shape[1:]), x.dtype))],
        {"reduction": g.rng.choice(["none", "add"])},
    )


@drawn("Expand")
def expand(g, name):
    x = g.pick(lambda v: v.rank < 5)
    if x is None:
        return None
    shape = [g.rng.choice([2, 3]) if g.rng.random() < 0.4 else 1 for _ in range(x.rank + g.rng.randint(0, 1))] or [2]
    return name, [x, g.ints(*shape)]


@drawn("Tile")
def tile(g, name):
    x = g.pick(lambda v: v.rank > 0)
    return None if x is None else (name, [x, g.ints(*[g.rng.choice([1, 1, 2]) for _ in x.shape])])


@drawn("Pad", "Pad")
def pad(g, name):
    x = g.pick(lambda v: v.rank > 0 and v.dtype in (np.float32, np.int32, np.int64))
    if x is None:
        return None
    mode = g.rng.choice(["constant", "constant", "edge", "reflect", "wrap"])
    if mode == "reflect" and min(n for a in x.arrays for n in a.shape) < 2:
        return None
    low = -1 if mode == "constant" else 0
    pads = [g.rng.choice([0, 0, 1, low]) for _ in range(2 * x.rank)]
    value = [g.constant(np.array(2, x.dtype))] if mode == "constant" and g.rng.random() < 0.5 else []
    return name, [x, g.ints(*pads), *value], {"mode": mode}


@drawn("DepthToSpace", "SpaceToDepth")
def blocks(g, name):
    x = g.floats(4)
    how = {"blocksize": 2}
    if x is None or x.rank != 4:
        return None
    if name == "DepthToSpace":
        how["mode"] = g.rng.choice(["DCR", "CRD"])
    return name, [x], how


@drawn("Trilu")
def trilu(g, name):
    x = g.pick(lambda v: v.rank > 1 and v.dtype is not np.bool_)
    return (
        None if x is None else (name, [x, g.constant(np.array(g.rng.randint(-1, 2), np.int64))], {"upper": g.rng.randint(0, 1)})
    )


@drawn("CumSum")
def cumsum(g, name):
    x = g.pick(lambda v: v.rank > 0 and v.dtype in (np.float32, np.int64, np.int32))
    if x is None:
        return None
    axis = g.constant(np.array(g.rng.randrange(-x.rank, x.rank), np.int64))
    return (name, [x, axis], {"exclusive": g.rng.randint(0, 1), "reverse": g.rng.randint(0, 1)})


@drawn("Resize")
def resize(g, name):
    x = g.pick(lambda v: v.is_float and v.rank == 4)
    if x is None:
        return None
    mode = g.rng.choice(["linear", "cubic"])
    scales = g.constant(np.array([1, 1, g.rng.choice([2, 0.5, 1.5]), g.rng.choice([2, 1, 3])], np.float32))
    how = {"mode": mode, "coordinate_transformation_mode": g.rng.choice(["half_pixel", "asymmetric"])}
    return name, [x, None, scales], how, 1, False


@drawn("OneHot")
def one_hot(g, name):
    x = g.pick(lambda v: v.dtype in (np.int64, np.int32) and v.rank < 4)
    return (
        None
        if x is None
        else (
            name,
            [x, g.constant(np.array(5, np.int64)), g.constant(np.array([-1, 2], np.float32))],
            {"axis": g.rng.choice([-1, 0])},
        )
    )


@drawn("Shape", "Size")
def extents(g, name):
    how = {"start": 1} if name == "Shape" and g.rng.random() < 0.3 else {}
    return name, [g.pick(lambda v: v.rank > 1)], how


@drawn("ConstantOfShape")
def constant_of_shape(g, name):
    x = g.pick(lambda v: 0 < v.rank < 4)
    if x is None or not g.add("Shape", [x]):
        return None
    return (name, [g.values[-1]], {"value": numpy_helper.from_array(np.array([3], g.rng.choice([np.float32, np.int64])))})


# ---- reductions --------------------------------------------------------------------------------------------------------------


@drawn(
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceProd",
    "ReduceLogSumExp",
)
def reduce(g, name):
    x = g.floats()
    if name in ("ReduceSum", "ReduceMax", "ReduceMin") and g.rng.random() < 0.2:
        x = g.pick(lambda v: v.dtype in (np.int32, np.int64)) or x
    if x is None:
        return None
    axes = g.rng.sample(range(x.rank), g.rng.randint(0, x.rank))
    axes = [a - g.rng.choice([0, x.rank]) for a in axes]
    how = {"keepdims": g.rng.randint(0, 1), "noop_with_empty_axes": g.rng.randint(0, 1)}
    if not axes and how["noop_with_empty_axes"]:
        how["noop_with_empty_axes"] = 0
    inexact = name in ("ReduceMean", "ReduceL2", "ReduceLogSumExp")
    return name, [x] + ([g.ints(*axes)] if axes else []), how, 1, not inexact


@drawn("ArgMax", "ArgMin")
def arg(g, name):
    x = g.floats(1, exact=True)
    if x is None:
        return None
    how = {"axis": g.rng.randrange(-x.rank, x.rank), "keepdims": g.rng.randint(0, 1), "select_last_index": g.rng.randint(0, 1)}
    return name, [x], how, 1, True, True


@drawn("TopK")
def top(g, name):
    x = g.floats(1, exact=True)
    if x is None:
        return None
    axis = g.rng.randrange(x.rank)
    k = g.constant(np.array([g.rng.randint(1, min(a.shape[axis] for a in x.arrays))], np.int64))
    return name, [x, k], {"axis": axis, "largest": g.rng.randint(0, 1)}, 2, True, True


@drawn("Softmax", "LogSoftmax", "Hardmax")
def softmax(g, name):
    x = g.floats(1, exact=name == "Hardmax")
    if x is None:
        return None
    return (name, [x], {"axis": g.rng.randrange(-x.rank, x.rank)}, 1, name == "Hardmax", name == "Hardmax")


@drawn("LayerNormalization")
def layer_norm(g, name):
    x = g.floats(1)
    if x is None or not x.is_fixed:
        return None
    axis = g.rng.randrange(max(0, x.rank - 2), x.rank)
    scale = g.weight(*x.shape[axis:])
    return (
        name,
        [x, scale] + ([g.weight(*x.shape[axis:])] if g.rng.random() < 0.6 else []),
        {"axis": axis, "epsilon": 0.125},
        1,
        False,
    )


@drawn("LpNormalization")
def lp(g, name):
    x = g.floats(1)
    if x is None or not g.add("Abs", [x]) or not g.add("Add", [g.values[-1], g.constant(np.float32(0.125))]):
        return None
    return (name, [g.values[-1]], {"axis": g.rng.randrange(-x.rank, x.rank), "p": g.rng.randint(1, 2)}, 1, False)


@drawn("InstanceNormalization", "GroupNormalization", "BatchNormalization")
def channel_norm(g, name):
    x = g.floats(3)
    if x is None or not all(a.shape[1] == x.shape[1] for a in x.arrays):
        return None
    c = x.shape[1]
    params = [g.weight(c), g.weight(c)]
    if name == "BatchNormalization":
        params += [g.weight(c), g.constant(np.abs(g.array((c,), np.float32)) + np.float32(0.5))]
    how = {"epsilon": 0.125}
    if name == "GroupNormalization":
        how["num_groups"] = g.rng.choice([n for n in (1, 2, 3, c) if c % n == 0])
    return name, [x, *params], how, 1, False


# ---- products ----------------------------------------------------------------------------------------------------------------


@drawn("MatMul", "MatMul")
def matmul(g, name):
    x = g.floats(1)
    if x is None or not all(a.shape[-1] == x.shape[-1] for a in x.arrays):
        return None
    k, n = x.shape[-1], g.rng.randint(1, 9)
    y = g.pick(lambda v: v.is_float and v.rank > 0 and (v.shape[-2] if v.rank > 1 else v.shape[-1]) == k)
    if y is None or g.rng.random() < 0.5:
        y = g.weight(*g.rng.choice([(k, n), (k,), (1, k, n)]))
    return name, [x, y]


@drawn("Gemm")
def gemm(g, name):
    x = g.pick(lambda v: v.is_float and v.rank == 2)
    if x is None:
        return None
    ta, tb, n = g.rng.randint(0, 1), g.rng.randint(0, 1), g.rng.randint(1, 9)
    k = x.shape[0 if ta else 1]
    c = [g.weight(*g.rng.choice([(n,), (1, n), (), (1,)]))] if g.rng.random() < 0.7 else []
    how = {"transA": ta, "transB": tb, "alpha": g.rng.choice([1.0, 0.5]), "beta": g.rng.choice([1.0, 0.25])}
    return name, [x, g.weight(*((n, k) if tb else (k, n))), *c], how


@drawn("Einsum")
def einsum(g, name):
    x = g.pick(lambda v: v.is_float and v.rank == 3)
    if x is None:
        return None
    equation = g.rng.choice(["bij,bjk->bik", "bij,bkj->bik", "bij,jk->bki", "bij->bji", "bij->bj"])
    if "," not in equation:
        return name, [x], {"equation": equation}
    n = {"b": x.shape[0], "i": x.shape[1], "j": x.shape[2], "k": g.rng.randint(1, 5)}
    if "b" in equation.split(",")[1].split("-")[0] and not x.is_fixed:
        return None
    return (name, [x, g.weight(*[n[c] for c in equation.split(",")[1].split("-")[0]])], {"equation": equation})


@drawn("Conv", "Conv", "ConvTranspose")
def conv(g, name):
    x = g.pick(lambda v: v.is_float and v.rank in (3, 4, 5))
    if x is None or not all(a.shape[1] == x.shape[1] for a in x.arrays):
        return None
    c, d = x.shape[1], x.rank - 2
    group = g.rng.choice([n for n in (1, 1, 2, 3, c) if c % n == 0])
    out = group * g.rng.randint(1, 3)
    kernel = [g.rng.choice([1, 2, 3]) for _ in range(d)]
    how = {
        "group": group,
        "strides": [g.rng.choice([1, 2]) for _ in range(d)],
        "dilations": [g.rng.choice([1, 1, 2]) for _ in range(d)],
    }
    how["pads"] = [g.rng.choice([0, 1]) for _ in range(2 * d)]
    w = g.weight(*((out, c // group) if name == "Conv" else (c, out // group)), *kernel)
    return name, [x, w] + ([g.weight(out)] if g.rng.random() < 0.6 and (name == "Conv" or group == 1) else []), how


@drawn("MaxPool", "AveragePool")
def pool(g, name):
    x = g.pick(lambda v: v.is_float and v.rank in (3, 4))
    if x is None:
        return None
    d = x.rank - 2
    how = {"kernel_shape": [g.rng.choice([2, 3]) for _ in range(d)], "strides": [g.rng.choice([1, 2]) for _ in range(d)],
           "pads": [g.rng.choice([0, 1])] * 2 * d}  # fmt: skip
    if name == "AveragePool":
        how["count_include_pad"] = g.rng.randint(0, 1)
    return name, [x], how, 1, name == "MaxPool"


@drawn("GlobalAveragePool", "GlobalMaxPool")
def global_pool(g, name):
    x = g.pick(lambda v: v.is_float and v.rank == 4)  # the evaluator's results have the wrong rank for others
    return name, [x], {}, 1, name == "GlobalMaxPool"


# ---- control flow, sequences -------------------------------------------------------------------------------------------------


def body(g, name, nodes, inputs, outputs):
    value = lambda n, dtype: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)
    return helper.make_graph(nodes, name, [value(*v) for v in inputs], [value(*v) for v in outputs])


@drawn("If")
def branches(g, name):
    """Of a condition that follows from shapes or is a constant; branches read values around them."""
    x = g.floats()
    if x is None:
        return None
    y, k = g.like(x), len(g.nodes)
    parts = [body(g, n, [helper.make_node(op, [x.name, y.name], [f"b{k}_{n}"])], [], [(f"b{k}_{n}", np.float32)])
             for n, op in (("yes", "Add"), ("no", "Sub"))]  # fmt: skip
    condition, how = (g.constant(np.array(g.rng.random() < 0.5)), {"then_branch": parts[0], "else_branch": parts[1]})
    return name, [condition], how, 1, True, False, [x, y]


@drawn("Loop")
def loop(g, name):
    """A state. (What is stacked, the evaluator joins along an axis that is there.)"""
    x = g.floats()
    if x is None:
        return None
    k = len(g.nodes)
    i, on, have, more, half = [f"l{k}_{n}" for n in ("i", "on", "have", "more", "half")]
    nodes = [helper.make_node("Cast", [i], [f"{i}f"], to=1), helper.make_node("Mul", [x.name, f"{i}f"], [half]),
             helper.make_node("Add", [have, half], [more]), helper.make_node("Identity", [on], [f"{on}_out"])]  # fmt: skip
    inputs, outputs = ([(i, np.int64), (on, np.bool_), (have, np.float32)], [(f"{on}_out", np.bool_), (more, np.float32)])
    turns, goes = (g.constant(np.array(g.rng.randint(1, 3), np.int64)), g.constant(np.array(True)))
    return (name, [turns, goes, x], {"body": body(g, "turn", nodes, inputs, outputs)}, 1, True, False, [x])


@drawn("Scan")
def scan(g, name):
    """Sums along the first axis."""
    x = g.pick(lambda v: v.is_float and v.rank > 1 and v.is_fixed)
    if x is None:
        return None
    k = len(g.nodes)
    have, row, more = [f"s{k}_{n}" for n in ("have", "row", "more")]
    nodes = [helper.make_node("Add", [have, row], [more]), helper.make_node("Identity", [more], [f"{more}_out"])]
    inner = body(g, "step", nodes, [(have, np.float32), (row, np.float32)], [(more, np.float32), (f"{more}_out", np.float32)])
    start = g.constant(g.array(x.shape[1:], np.float32))
    return name, [start, x], {"body": inner, "num_scan_inputs": 1}, 2


@drawn("Sequence")
def sequence(g, name):
    """Parts of a tensor, and one of them, or all again in another order of axes."""
    x = g.pick(lambda v: v.rank > 0)
    if x is None:
        return None
    axis, k = g.rng.randrange(x.rank), len(g.nodes)
    if x.shape[axis] < 2 or not all(a.shape[axis] == x.shape[axis] for a in x.arrays):
        return None
    at = g.constant(np.array(g.rng.randrange(-x.shape[axis], x.shape[axis]), np.int64))
    inner = helper.make_node("SplitToSequence", [x.name], [f"q{k}"], axis=axis, keepdims=g.rng.randint(0, 1))
    return "SequenceAt", [f"q{k}", at], {}, 1, True, False, [x], [inner]


# ---- patterns that rewrites look for -----------------------------------------------------------------------------------------


def chain(g, *steps):
    """Nodes one behind the other, ($: the last value). The last value, or None."""
    x = None
    for op, operands, *how in steps:
        given = [g.values[-1] if v == "$" else v for v in operands]
        if not g.add(op, given, *how):
            return None
        x = g.values[-1]
    return x


@drawn("gelu", "silu", "rms")
def decomposed(g, name):
    x = g.floats(1)
    f = lambda n: g.constant(np.float32(n))
    if x is None:
        return None
    if name == "gelu":
        if (
            chain(
                g,
                ("Div", [x, f(np.sqrt(2))], {}, 1, False),
                ("Erf", ["$"], {}, 1, False),
                ("Add", ["$", f(1)]),
                ("Mul", [x, "$"]),
            )
            is None
        ):
            return None
        return "Mul", [g.values[-1], f(0.5)]
    if name == "silu":
        return None if chain(g, ("Sigmoid", [x], {}, 1, False)) is None else ("Mul", [x, g.values[-1]])
    if (
        chain(
            g,
            ("Mul", [x, x]),
            ("ReduceMean", ["$", g.ints(-1)], {"keepdims": 1}, 1, False),
            ("Add", ["$", f(0.125)]),
            ("Sqrt", ["$"], {}, 1, False),
            ("Div", [x, "$"], {}, 1, False),
        )
        is None
    ):
        return None
    return "Mul", [g.values[-1], g.weight(x.shape[-1]) if x.is_fixed else f(0.5)]


@drawn("attention", "attention")
def attention(g, name):
    """Scores of rows among one another, masked in some way."""
    x = g.pick(lambda v: v.is_float and v.rank in (3, 4) and all(a.shape[-1] == v.shape[-1] for a in v.arrays))
    if x is None:
        return None
    d, perm = x.shape[-1], [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    f = lambda n: g.constant(np.float32(n))
    q = chain(g, ("MatMul", [x, g.weight(d, d)]), ("Mul", ["$", f(0.0625)]))
    k = q and chain(g, ("MatMul", [x, g.weight(d, d)]), ("Transpose", ["$"], {"perm": perm}))
    s = k and chain(g, ("MatMul", [q, k]), ("Mul", ["$", f(0.125)]))
    if s is None:
        return None
    kind = g.rng.choice(["none", "added", "filled", "scaled"])
    if kind == "added":
        s = chain(g, ("Add", [s, g.like(s)]))
    elif kind == "scaled":
        s = chain(g, ("Div", [s, f(3)], {}, 1, False))
    elif kind == "filled":
        if not g.add("Greater", [g.like(s, lambda v: v.exact), f(-1)], {}, 1, True, True):
            return None
        s = chain(g, ("Where", [g.values[-1], s, f(-1e3)]))
    p = s and chain(g, ("Softmax", [s], {"axis": -1}, 1, False))
    return None if p is None else ("MatMul", [p, x])


@drawn("quantized")
def quantized(g, name):
    x = g.floats(exact=True)
    if x is None:
        return None
    how = [
        g.constant(np.float32(g.rng.choice([0.5, 0.25, 1]))),
        g.constant(np.array(g.rng.choice([0, 3]), g.rng.choice([np.int8, np.uint8]))),
    ]
    return None if not g.add("QuantizeLinear", [x, *how], {}, 1, True, True) else ("DequantizeLinear", [g.values[-1], *how])


# ---- running -----------------------------------------------------------------------------------------------------------------


def draw(seed):
    rng = random.Random(seed)
    g = Graph(rng)
    first = "N" if len(g.sizes) > 1 else rng.choice([1, 2, 3])
    pool = [[first, 6], [first, 4, 6], [first, 4, 6, 6], [first, 3, 8], [first], [2, 1, 8], [], [6], [first, 4, 1]]
    for _ in range(rng.randint(1, 3)):
        g.add_input(rng.choice(pool), rng.choice([np.float32] * 5 + [np.int64, np.int32, np.bool_, np.uint8]))
    if not any(v.is_float for v in g.inputs):
        g.add_input(rng.choice(pool[:4]), np.float32)
    wanted, tries = rng.randint(3, 25), 0
    while len(g.nodes) < wanted and tries < 4 * wanted:
        g.draw()
        tries += 1
    return g


def agree(name, got, want, is_half):
    part = 4e-2 if is_half else 1e-3
    bound = {"rtol": part, "atol": part * max(1.0, float(np.abs(want).max())) if want.dtype == np.float32 else 0}
    if got.shape != want.shape or got.dtype != want.dtype:
        raise RuntimeError(f"{name} is {got.dtype}{list(got.shape)} and not {want.dtype}{list(want.shape)}")
    ok = np.allclose(got, want, **bound) if want.dtype == np.float32 else is_half or np.array_equal(got, want)
    if not ok:
        raise RuntimeError(f"{name} is\n{got}\nand not\n{want}")


def check(folder, seed):
    """Whether it ran in f16, and how many nodes it has."""
    g = draw(seed)
    outputs = g.outputs()
    if not outputs:
        return g
    onnx.save(g.model(outputs), folder / "model.onnx")
    (folder / "model.txt").write_text(onnx.printer.to_text(g.model(outputs)))
    for k in range(len(g.sizes)):
        words = ["--precision=f16"] if g.is_half else []
        for v in g.inputs:
            np.save(folder / f"{v.name}.npy", v.arrays[k])
            words.append(f"{v.name}=@{v.name}.npy")
        words += [f"{v.name}=out:{v.name}.npy" for v in outputs]
        words += ["--plan"] if seed % 3 == 0 else []
        done = subprocess.run(
            [sys.argv[1], "run", "model.onnx", "--arch=sm_90a" if seed % 2 else "--arch=sm_80", *words],
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"N={g.sizes[k]}: {done.stderr[:2500]}")
        for v in outputs:
            agree(f"N={g.sizes[k]}: {v.name}", np.load(folder / f"{v.name}.npy"), v.arrays[k], g.is_half)
    return g


def main():
    warnings.simplefilter("ignore")
    graphs, failed = seeds.run(check, "model.txt")
    nodes = [node.op_type for g in graphs for node in g.nodes]
    print(f"{len(graphs)} graphs of {len(nodes)} nodes, {len(set(nodes))} operators: {failed} failed")
    return 1 if failed or not graphs else 0


if __name__ == "__main__":
    sys.exit(main())
