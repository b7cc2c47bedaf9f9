"""Random definitions of operators of the library compute what Python computes in f64, by as few instructions.

Each program has an operator of 1 to 30 nodes: operators of the library and nodes written by hand, over operands of rank 0 to 4
and of extents that are known or not, with values that are read several times and with several results. `composed` launches it,
and `separate` launches the operators that its results need, one by one. Both run on the simulator, which looks for races, and
are compared with reference.py. With --prove, `hdsc prove` compares them too.

The tolerance is found by experiment: how far results move if all values are rounded to the type of the elements. A program whose
results move far is not used.

    check_compositions.py HDSC [--seed N] [--count PROGRAMS] [--more SEED…] [--prove EVERY] [--report] [--most RATIO]
                          [--keep FOLDER]

--report prints kernels and thread instructions of both, and marks programs with more than 1.2 × those of `separate`; with --most
a program fails that has more than this many times the instructions. --keep writes the programs that fail, or with --report all, to
this folder.
"""

import argparse
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import reference as ref  # noqa: E402
from compiler import TOP, each, finish  # noqa: E402

LETTERS = "ijkl"
WITH_CONVOLUTIONS = 10000  # from this seed on programs have convolutions and weights of few bits, too
EPSILON = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
MOST = 2500  # elements of a value
SMS = 4  # of the GPU that schedules are chosen for: values as small as these keep it busy, so that the work decides
VARIANTS = 3  # the values in f64, and two rounded at random
MODULES = ("activation", "arithmetic", "conv", "functions", "indexing", "layout", "loss", "matmul", "norm", "pooling", "quantize",
           "reduction", "scan", "softmax", "sort")  # fmt: skip


@dataclass(frozen=True)
class Extent:
    """An axis: what it is called in the program, and how long it is."""

    text: str
    size: int


@dataclass
class Value:
    """An operand or a node: `launch` is the operator and its arguments, `written` what stands in the definition."""

    name: str
    dtype: str
    shape: tuple
    variants: list
    launch: str = ""
    written: str = ""
    sources: tuple = ()
    readers: int = 0

    @property
    def extents(self):
        return f"[{', '.join(e.text for e in self.shape)}]"

    @property
    def type(self):
        return f"{self.dtype}{self.extents if self.shape else '[()]'}"


def as_stored(dtype, v):
    """The number nearest to v that the type has."""
    if dtype == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", v))[0]
        return struct.unpack("<f", struct.pack("<I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))[0]
    code = {"f32": "<f", "f16": "<e", "i32": "<i", "i8": "b"}[dtype]
    return struct.unpack(code, struct.pack(code, v))[0]


class Program:
    """A random definition."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype = self.random.choices(["f32", "f16", "bf16"], [6, 1, 1])[0]
        self.arch = self.random.choice(["sm_80", "sm_90a"])
        self.operands, self.nodes, self.own = [], [], []
        self.pool = [self.extent(name) for name in "ABC"]
        self.new_operand(self.shape(self.random.choices([1, 2, 3, 4], [1, 5, 3, 1])[0]))
        wanted = self.random.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30])
        tries = 0
        while not self.nodes or (tries < 20 * wanted and len(self.nodes) < wanted):
            self.random.choice(MAKERS + LATER_MAKERS if seed >= WITH_CONVOLUTIONS else MAKERS)(self)
            tries += 1
        sinks = [v for v in self.nodes if v.readers == 0]
        self.results = sinks[-self.random.choice([1, 1, 2, 3, 4]):]
        inner = [v for v in self.nodes if v.readers > 0]
        if inner and self.chance(0.3):
            self.results.append(self.random.choice(inner))

    def chance(self, probability):
        return self.random.random() < probability

    def extent(self, name):
        size = self.random.choices([1, self.random.randint(2, 9), self.random.randint(10, 40), self.random.choice([8, 16, 32])],
                                   [2, 10, 10, 5])[0]  # fmt: skip
        return Extent(name if self.chance(0.5) else str(size), size)

    def shape(self, rank):
        shape = [self.random.choice(self.pool) for _ in range(rank)]
        while self.count(shape) > MOST:
            largest = max(shape, key=lambda e: e.size)
            size = self.random.randint(1, 4)
            shape[shape.index(largest)] = Extent(str(size), size)
        return tuple(shape)

    def count(self, shape):
        product = 1
        for e in shape:
            product *= e.size
        return product

    # ---- values

    def new_operand(self, shape, below=None, integers="i32"):
        dtype = self.dtype if below is None else integers
        sizes = [e.size for e in shape]
        if below is None:
            exact = ref.filled(sizes, lambda i: as_stored(dtype, self.random.gauss(0.0, 1.0)))
        else:
            exact = ref.filled(sizes, lambda i: self.random.randrange(below))
        others = [exact if below else self.rounded(exact) for _ in range(VARIANTS - 1)]
        value = Value(f"x{len(self.operands)}", dtype, tuple(shape), [exact, *others])
        self.operands.append(value)
        return value

    def values(self):
        return [v for v in self.operands if v.dtype == self.dtype] + self.nodes

    def pick(self, accept=lambda v: True):
        """A value, rather one that nothing reads yet, or a late one; None if none is accepted."""
        found = [v for v in self.values() if accept(v)]
        if not found:
            return None
        fresh = [v for v in found if v.readers == 0]
        return self.random.choice(fresh if fresh and self.chance(0.6) else found[-3:] if self.chance(0.5) else found)

    def of_shape(self, shape):
        """A value of this shape, or a new operand."""
        found = self.pick(lambda v: v.shape == tuple(shape)) if self.chance(0.7) else None
        return found or self.new_operand(shape)

    def rounded(self, array):
        return ref.Array(array.shape, [v * (1.0 + self.random.uniform(-1, 1) * EPSILON[self.dtype]) for v in array.data])

    def add(self, shape, operands, f, launch, written):
        """Adds the node f(operands…), unless its values are too large or depend on how others are rounded."""
        if self.count(shape) > MOST or any(v is None for v in operands):
            return
        found = []
        for number in range(VARIANTS):
            array = f(*[v.variants[number] for v in operands])
            if not all(abs(v) < 500.0 for v in array.data):
                return
            found.append(array if number == 0 else self.rounded(array))
        value = Value(f"v{len(self.nodes)}", self.dtype, tuple(shape), found, launch, written, tuple(operands))
        limit = 2e-3 if self.dtype == "f32" else 8 * EPSILON[self.dtype]
        if tolerance(self.dtype, value) > limit * max([1.0] + [abs(v) for v in found[0].data]):
            return
        for v in operands:
            v.readers += 1
        self.nodes.append(value)

    def call(self, name, shape, operands, f, how=""):
        """Adds a node of an operator of the library."""
        if any(v is None for v in operands):
            return
        given = ", ".join(v.name for v in operands)
        self.add(shape, operands, f, f"{name}.launch({given}, into=%s{how})", f"{name}({given}{how})")

    def by_hand(self, shape, operands, f, element, axes=None):
        """Adds compute(shape, lambda …: element): {0} is the first operand, {wide(…)} a number of the type of sums."""
        if any(v is None for v in operands):
            return
        params = ", ".join(LETTERS[: len(shape)])
        text = f"compute([{', '.join(e.text for e in shape)}], lambda{' ' if params else ''}{params}: %s)"
        element = element if self.dtype == "f32" else f"{self.dtype}({element})"
        name, before = f"own{len(self.own)}", len(self.nodes)
        given = ", ".join(v.name for v in operands)
        written = text % element.format(*[v.name for v in operands])
        if self.chance(0.3):
            written = f"{name}({given})"
        self.add(shape, operands, f, f"{name}.launch({given}, into=%s)", written)
        if len(self.nodes) > before:
            inside = text % element.format(*[f"a{k}" for k in range(len(operands))])
            self.own.append((name, [(f"a{k}", v) for k, v in enumerate(operands)], inside))

    def at(self, operand, index):
        """The text of an element, in the type of sums."""
        text = f"{{{operand}}}[{', '.join(index) or '*()'}]"
        return text if self.dtype == "f32" else f"f32({text})"

    # ---- operators of the library

    def unary(self):
        x, name = self.pick(), self.random.choice(list(ref.UNARY))
        self.call(name, x.shape, [x], lambda a: ref.elementwise(ref.UNARY[name], a.shape, a))

    def binary(self):
        x, name = self.pick(), self.random.choice(list(ref.BINARY))
        shape = x.shape[self.random.choice([0, 0, 0, self.random.randint(0, len(x.shape))]):]
        if self.chance(0.15):
            shape = tuple(Extent("1", 1) if self.chance(0.4) else e for e in shape)
        operands = [x, self.of_shape(shape)]
        if self.chance(0.3):
            operands.reverse()
        self.call(name, x.shape, operands, lambda a, b: ref.elementwise(ref.BINARY[name], [e.size for e in x.shape], a, b))

    def scaled(self):
        x, name, by = self.pick(), self.random.choice(["arithmetic.add", "arithmetic.multiply"]), self.random.choice([0.5, -2.0])
        self.call(name, x.shape, [x], lambda a: ref.elementwise(lambda v: ref.BINARY[name](v, by), a.shape, a), f", y={by}")

    def along_axis(self):
        x, name = self.pick(lambda v: v.shape), self.random.choice(list(ref.SCANS))
        if x:
            axis = self.random.choice([-1, self.random.randrange(len(x.shape))])
            f = lambda a: ref.along(ref.SCANS[name], a, [axis % len(a.shape)])  # noqa: E731
            self.call(name, x.shape, [x], f, "" if axis == -1 else f", axis={axis}")

    def normalized(self):
        x, name = self.pick(lambda v: v.shape), self.random.choice(list(ref.NORMS))
        if not x:
            return
        count = self.random.choice([1, 1, 1, min(2, len(x.shape))])
        axes = list(range(len(x.shape) - count, len(x.shape)))
        most = 2 if name == "norm.layer_norm" else 1
        weights = [self.of_shape(x.shape[axes[0]:]) for _ in range(self.random.randint(0, most))]

        def norm(a, w=None, b=None):
            y = ref.along(ref.NORMS[name], a, axes)
            y = y if w is None else ref.elementwise(lambda v, u: v * u, y.shape, y, w)
            return y if b is None else ref.elementwise(lambda v, u: v + u, y.shape, y, b)

        self.call(name, x.shape, [x, *weights], norm, "" if weights or count == 1 else f", axes={count}")

    def reduction(self):
        x, name = self.pick(lambda v: v.shape), self.random.choice([*ref.REDUCTIONS, "reduction.var", "softmax.logsumexp"])
        if not x:
            return
        rank = len(x.shape)
        count = 1 if name == "softmax.logsumexp" else self.random.choice([1, 1, 1, self.random.randint(1, rank)])
        axes = sorted(self.random.sample(range(rank), count))
        how = f", axis={axes[0]}" if count == 1 else f", axis={tuple(axes)}"
        if name == "reduction.var":
            f, how = ref.variance, how + ", correction=0"
        else:
            f = ref.REDUCTIONS.get(name, ref.logsumexp)
        self.call(name, [e for a, e in enumerate(x.shape) if a not in axes], [x], lambda a: ref.reduced(f, a, axes), how)

    def permuted(self):
        x = self.pick(lambda v: len(v.shape) > 1)
        if x:
            dims = self.random.sample(range(len(x.shape)), len(x.shape))
            shape = [x.shape[d] for d in dims]
            back = [dims.index(a) for a in range(len(dims))]
            f = lambda a: ref.filled([e.size for e in shape], lambda i: a[tuple(i[b] for b in back)])  # noqa: E731
            self.call("layout.permute", shape, [x], f, f", dims={tuple(dims)}")

    def moved(self):
        x = self.pick(lambda v: v.shape)
        if x:
            axis = self.random.randrange(len(x.shape))
            by, n = self.random.randint(1, 3), x.shape[axis].size
            flips = self.chance(0.5)
            source = (lambda k: n - 1 - k) if flips else (lambda k: (k - by) % n)
            f = lambda a: ref.filled(a.shape, lambda i: a[(*i[:axis], source(i[axis]), *i[axis + 1:])])  # noqa: E731
            if flips:
                self.call("layout.flip", x.shape, [x], f, f", dims=({axis},)")
            elif by < n:
                self.call("layout.roll", x.shape, [x], f, f", shifts={by}, dims={axis}")

    def joined(self):
        x = self.pick(lambda v: len(v.shape) > 0 and v.shape[0].text.isdigit())
        if x:
            n = 2 * x.shape[0].size
            y = self.of_shape(x.shape)
            f = lambda a, b: ref.Array((n, *a.shape[1:]), a.data + b.data)  # noqa: E731
            self.call("layout.concat", [Extent(str(n), n), *x.shape[1:]], [x, y], f)

    def loss(self):
        x, name = self.pick(lambda v: v.shape), self.random.choice(list(ref.LOSSES))
        if x:
            how = self.random.choice(["none", "mean", "sum"])
            y = self.of_shape(x.shape)
            each_loss = lambda a, b: ref.elementwise(ref.LOSSES[name], a.shape, a, b)  # noqa: E731
            total = ref.mean if how == "mean" else ref.REDUCTIONS["reduction.sum"]
            f = each_loss if how == "none" else lambda a, b: ref.Array((), [total(each_loss(a, b).data)])
            self.call(name, x.shape if how == "none" else (), [x, y], f, f', reduction="{how}"')

    def class_loss(self):
        x = self.pick(lambda v: len(v.shape) > 1)
        if x:
            target, how = self.new_operand(x.shape[:-1], x.shape[-1].size), self.random.choice(["none", "mean", "sum"])

            def f(a, t):
                losses = ref.reduced(ref.logsumexp, a, [len(a.shape) - 1])
                losses = ref.filled(t.shape, lambda i: losses[i] - a[(*i, t[i])])
                return losses if how == "none" else ref.Array((), [sum(losses.data) / (len(losses.data) if how == "mean" else 1)])

            self.call("loss.cross_entropy", x.shape[:-1] if how == "none" else (), [x, target], f, f', reduction="{how}"')

    def cosine(self):
        x = self.pick(lambda v: len(v.shape) > 1)
        if x:
            y = self.of_shape(x.shape)
            pairs = lambda a, b: ref.Array(a.shape, list(zip(a.data, b.data)))  # noqa: E731
            f = lambda a, b: ref.reduced(ref.cosine, pairs(a, b), [len(a.shape) - 1])  # noqa: E731
            self.call("loss.cosine_similarity", x.shape[:-1], [x, y], f)

    def rows(self):
        table = self.pick(lambda v: len(v.shape) == 2)
        if table:
            index = self.new_operand(self.shape(self.random.randint(1, 2)), table.shape[0].size)
            shape = [*index.shape, table.shape[1]]
            f = lambda t, w: ref.filled([e.size for e in shape], lambda i: w[(t[i[:-1]], i[-1])])  # noqa: E731
            self.call("indexing.embedding", shape, [index, table], f)

    # ---- operators of the library that have kernels of their own

    def matrices(self):
        """A product of matrices or batches of them, with broadcast axes, or of a vector."""
        x = self.pick(lambda v: v.shape)
        if not x:
            return
        is_vector, left, right = len(x.shape) == 1, self.chance(0.3), self.chance(0.5)
        left = left and not is_vector
        K, batch, rows = x.shape[-2 if left else -1], x.shape[:-2], [] if is_vector else [x.shape[-1 if left else -2]]
        N = self.random.choice(self.pool)
        matrix = (N, K) if right else (K, N)
        y = self.of_shape(self.random.choice([matrix, matrix, (*batch, *matrix)]) if self.chance(0.9) else (K,))
        columns = [N] if len(y.shape) > 1 else []
        shape = [*batch, *rows, *columns]
        how = (", transpose_a=True" if left else "") + (", transpose_b=True" if right and columns else "")

        def f(a, b):
            def element(i):
                z = i[: len(batch)]
                row, column = i[len(batch)] if rows else 0, i[-1] if columns else 0
                own = [(k,) if is_vector else (*z, k, row) if left else (*z, row, k) for k in range(K.size)]
                outer = z[len(batch) - len(y.shape) + 2:] if columns else ()
                others = [(k,) if not columns else (*outer, column, k) if right else (*outer, k, column) for k in range(K.size)]
                return sum(a[p] * b[q] for p, q in zip(own, others))

            return ref.filled([e.size for e in shape], element)

        self.call("matmul.matmul", shape, [x, y], f, how)

    def linear(self):
        x = self.pick(lambda v: v.shape)
        if x:
            N, K = self.random.choice(self.pool), x.shape[-1]
            operands = [x, self.of_shape((N, K))] + ([self.of_shape((N,))] if self.chance(0.5) else [])
            shape = [*x.shape[:-1], N]

            def f(a, w, b=None):
                return ref.filled([e.size for e in shape], lambda i: (b[i[-1:]] if b else 0.0) + sum(
                    a[(*i[:-1], k)] * w[i[-1], k] for k in range(K.size)))

            self.call("matmul.linear", shape, operands, f)

    def narrow(self):
        """A product with weights of 8 bits that have a scale for each row or column, mostly of few rows."""
        x = self.pick(lambda v: v.shape and (self.count(v.shape[:-1]) <= 8 or self.chance(0.3)))
        if not x:
            return
        N, K, axis = self.random.choice(self.pool), x.shape[-1], self.random.randrange(2)
        turned = self.chance(0.5)
        shape = (K, N) if turned else (N, K)
        if self.count(shape) > MOST:
            return
        q, scales = self.new_operand(shape, 16, "i8"), self.of_shape((shape[axis],))
        before = len(self.nodes)
        self.call("quantize.dequantize_per_channel", shape, [q, scales],
                  lambda a, s: ref.filled(a.shape, lambda i: a[i] * s[i[axis],]), f", axis={axis}, dtype={self.dtype}")
        if len(self.nodes) == before:
            return
        w = self.nodes[-1]
        out = [*x.shape[:-1], N]
        f = lambda a, b: ref.filled([e.size for e in out], lambda i: sum(  # noqa: E731
            a[(*i[:-1], k)] * b[(k, i[-1]) if turned else (i[-1], k)] for k in range(K.size)))
        self.call("matmul.matmul", out, [x, w], f, "" if turned else ", transpose_b=True")

    def convolved(self):
        """A convolution of one or two axes, with groups, a stride or padding; its image may be a node."""
        rank = self.random.choice([1, 2])
        x = self.pick(lambda v: len(v.shape) == rank + 2 and all(e.text.isdigit() for e in v.shape[1:]))
        if not x or self.chance(0.3):
            sizes = [self.random.randint(1, 6), *[self.random.randint(3, 6 if rank == 2 else 12) for _ in range(rank)]]
            x = self.new_operand([self.random.choice(self.pool), *[Extent(str(n), n) for n in sizes]])
        C, least = x.shape[1].size, min(e.size for e in x.shape[2:])
        groups = self.random.choice([g for g in range(1, C + 1) if C % g == 0])
        K, taps = groups * self.random.randint(1, 4), self.random.randint(1, min(3, least))
        step, pad = self.random.randint(1, 2), self.random.randint(0, taps // 2)
        if self.count(x.shape) > MOST:
            return
        w = self.of_shape([Extent(str(n), n) for n in (K, C // groups, *[taps] * rank)])
        after = [(e.size + 2 * pad - taps) // step + 1 for e in x.shape[2:]]
        shape = [x.shape[0], Extent(str(K), K), *[Extent(str(n), n) for n in after]]
        self.call("conv.convolution", shape, [x, w], lambda a, b: ref.convolved(a, b, step, pad, groups),
                  f', stride={step}, padding={pad}, groups={groups}, layout="NC{"HW"[2 - rank:]}"')

    def first_of_two(self, name, shape, x, f, how):
        """Adds a node of an operator that gives values and their indices."""
        at = f"tensor(i32, [{', '.join(e.text for e in shape)}])"
        self.add(shape, [x], f, f"{name}.launch({x.name}, into=(%s, {at}){how})", f"{name}({x.name}{how})[0]")

    def sorted(self):
        x = self.pick(lambda v: v.shape)
        if x:
            axis, falls = self.random.randrange(len(x.shape)), self.chance(0.5)
            n = x.shape[axis]
            if self.chance(0.5):
                how = f", descending={falls}, dim={axis}"
                self.first_of_two("sort.sort", x.shape, x, lambda a: ref.ordered(a, axis, falls, n.size), how)
            else:
                k = self.random.randint(1, min(n.size, 8))
                shape = [*x.shape[:axis], Extent(str(k), k), *x.shape[axis + 1:]]
                how = f", k={k}, largest={falls}, dim={axis}"
                self.first_of_two("sort.topk", shape, x, lambda a: ref.ordered(a, axis, falls, k), how)

    def scanned(self):
        x = self.pick(lambda v: v.shape)
        if x:
            axis, excludes, turns = self.random.randrange(len(x.shape)), self.chance(0.3), self.chance(0.3)
            how = (", exclusive=True" if excludes else "") + (", reverse=True" if turns else "") + f", dim={axis}"
            f = lambda a: ref.cumsum(a, axis, excludes, turns)  # noqa: E731
            self.call("scan.cumsum", x.shape, [x], f, how)

    def pooled(self):
        rank = self.random.choice([1, 2])
        x = self.pick(lambda v: len(v.shape) == rank + 2 and all(e.text.isdigit() for e in v.shape[2:]))
        if not x:
            sizes = [self.random.randint(3, 6 if rank == 2 else 12) for _ in range(rank)]
            x = self.new_operand([*self.shape(2), *[Extent(str(n), n) for n in sizes]])
        least = min(e.size for e in x.shape[2:])
        if least < 2 or self.count(x.shape) > MOST:
            return
        size = self.random.randint(2, min(3, least))
        step = self.random.randint(1, size)
        after = [(e.size - size) // step + 1 for e in x.shape[2:]]
        name, f = self.random.choice([("max_pool", max), ("avg_pool", ref.mean)])
        shape = [*x.shape[:2], *[Extent(str(n), n) for n in after]]
        pool = lambda a: ref.pooled(f, a, size, step)  # noqa: E731
        self.call(f"pooling.{name}{rank}d", shape, [x], pool, f", kernel_size={size}, stride={step}")

    def grouped(self):
        x = self.pick(lambda v: len(v.shape) > 1)
        if x:
            C = x.shape[1]
            groups = self.random.choice([g for g in range(1, C.size + 1) if C.size % g == 0])
            weights = [self.of_shape((C,)) for _ in range(self.random.choice([0, 2]))]
            f = lambda a, w=None, b=None: ref.group_norm(a, groups, w, b)  # noqa: E731
            self.call("norm.group_norm", x.shape, [x, *weights], f, f", num_groups={groups}")

    def selected(self):
        x = self.pick(lambda v: v.shape)
        if x:
            axis, count = self.random.randrange(len(x.shape)), self.random.choice(self.pool)
            index = self.new_operand((count,), x.shape[axis].size)
            shape = [*x.shape[:axis], count, *x.shape[axis + 1:]]
            f = lambda a, t: ref.filled(  # noqa: E731
                [e.size for e in shape], lambda i: a[(*i[:axis], t[i[axis],], *i[axis + 1:])])
            self.call("indexing.index_select", shape, [x, index], f, f", dim={axis}")

    # ---- nodes by hand

    def spread(self):
        """An element for each row, or column, to all of its elements."""
        x = self.pick(lambda v: len(v.shape) > 1)
        if not x:
            return
        axes = sorted(self.random.sample(range(len(x.shape)), self.random.randint(0, len(x.shape) - 1)))
        y = self.pick(lambda v: v.shape == tuple(x.shape[a] for a in axes))
        op, f = self.random.choice([("-", lambda a, b: a - b), ("*", lambda a, b: a * b), ("+", lambda a, b: a + b)])
        own = LETTERS[: len(x.shape)]
        g = lambda a, b: ref.filled(a.shape, lambda i: f(a[i], b[tuple(i[c] for c in axes)]))  # noqa: E731
        self.by_hand(x.shape, [x, y], g, f"{self.at(0, own)} {op} {self.at(1, [own[a] for a in axes])}")

    def turned(self):
        """A matrix and its transpose, or the elements from the last one on."""
        x = self.pick(lambda v: len(v.shape) == 2)
        if x and x.shape[0] == x.shape[1]:
            f = lambda a: ref.filled(a.shape, lambda i: a[i] + a[i[1], i[0]])  # noqa: E731
            self.by_hand(x.shape, [x], f, f"{self.at(0, 'ij')} + {self.at(0, 'ji')}")
        elif x:
            n = x.shape[0]
            f = lambda a: ref.filled(a.shape, lambda i: a[i] - 0.5 * a[n.size - 1 - i[0], i[1]])  # noqa: E731
            self.by_hand(x.shape, [x], f, f"{self.at(0, 'ij')} - 0.5 * {self.at(0, [f'{n.text} - 1 - i', 'j'])}")

    def dot(self):
        """The sum of products of lines."""
        x = self.pick(lambda v: v.shape)
        if x:
            y, axis = self.of_shape(x.shape), self.random.randrange(len(x.shape))
            others = LETTERS[: len(x.shape) - 1]
            index = [*others[:axis], "t", *others[axis:]]
            f = lambda a, b: ref.reduced(  # noqa: E731
                lambda pairs: sum(p * q for p, q in pairs), ref.Array(a.shape, list(zip(a.data, b.data))), [axis])
            shape = [e for a, e in enumerate(x.shape) if a != axis]
            self.by_hand(shape, [x, y], f, f"sum({self.at(0, index)} * {self.at(1, index)} for t in range({x.shape[axis].text}))")

    def product(self):
        """A product of matrices."""
        x = self.pick(lambda v: len(v.shape) == 2)
        if x:
            other = self.random.choice(self.pool)
            y, n = self.of_shape((x.shape[1], other)), x.shape[1]
            f = lambda a, b: ref.filled(  # noqa: E731
                [a.shape[0], b.shape[1]], lambda i: sum(a[i[0], k] * b[k, i[1]] for k in range(n.size)))
            text = f"sum({self.at(0, 'it')} * {self.at(1, 'tj')} for t in range({n.text}))"
            self.by_hand([x.shape[0], other], [x, y], f, text)

    def outer(self):
        """All products of two vectors."""
        x, y = self.pick(lambda v: len(v.shape) == 1), self.pick(lambda v: len(v.shape) == 1)
        if x and y:
            f = lambda a, b: ref.filled([a.shape[0], b.shape[0]], lambda i: a[i[0],] * b[i[1],])  # noqa: E731
            self.by_hand([x.shape[0], y.shape[0]], [x, y], f, f"{self.at(0, 'i')} * {self.at(1, 'j')}")

    def span(self):
        """Two reductions in one element."""
        x = self.pick(lambda v: len(v.shape) == 2)
        if x:
            axis = self.random.randrange(2)
            line = f"{self.at(0, 'ti' if axis == 0 else 'it')} for t in range({x.shape[axis].text})"
            f = lambda a: ref.reduced(lambda values: max(values) - min(values), a, [axis])  # noqa: E731
            self.by_hand([x.shape[1 - axis]], [x], f, f"max({line}) - min({line})")

    # ---- the text

    def needed(self):
        """The nodes that the results are computed from, and these."""
        names = {v.name for v in self.results}
        for v in reversed(self.nodes):
            if v.name in names:
                names.update(of.name for of in v.sources)
        return [v for v in self.nodes if v.name in names]

    def text(self):
        names = sorted({e.text for v in [*self.operands, *self.nodes] for e in v.shape if not e.text.isdigit()})
        sizes = f"[{', '.join(f'{n}: int' for n in names)}]" if names else ""
        lines = ["from hidet.lang import compute, f16, bf16, f32, i32, i8, operator, tensor", ""]
        lines += [f"import {m}" for m in MODULES]
        for name, operands, inside in self.own:
            used = sorted({e.text for _, v in operands for e in v.shape if not e.text.isdigit()})
            own_sizes = f"[{', '.join(f'{n}: int' for n in used)}]" if used else ""
            lines += ["", "", "@operator", f"def {name}{own_sizes}({', '.join(f'{a}: {v.type}' for a, v in operands)}):"]
            lines.append(f"    return {inside}")
        operands = ", ".join(f"{v.name}: {v.type}" for v in self.operands)
        lines += ["", "", "@operator", f"def definition{sizes}({operands}):"]
        lines += [f"    {v.name} = {v.written}" for v in self.nodes]
        lines.append(f"    return {', '.join(v.name for v in self.results)}")
        outputs = [f"y{k}" for k in range(len(self.results))]
        params = ", ".join([operands] + [f"{y}: {v.type}" for y, v in zip(outputs, self.results)])
        lines += ["", "", "@hidet.script", f"def composed{sizes}({params}):"]
        into = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
        lines.append(f"    definition.launch({', '.join(v.name for v in self.operands)}, into={into})")
        lines += ["", "", "@hidet.script", f"def separate{sizes}({params}):"]
        for v in self.needed():
            names = [y for y, of in zip(outputs, self.results) if of is v]
            lines.append(f"    {v.name} = {names[0]}" if names else f"    {v.name} = tensor({v.dtype}, {v.extents})")
            lines.append(f"    {v.launch % v.name}")
        return "\n".join(lines) + "\n"


MAKERS = (
    [Program.unary] * 4 + [Program.binary] * 5 + [Program.scaled] * 2 + [Program.along_axis] * 3 + [Program.normalized] * 3
    + [Program.reduction] * 4 + [Program.permuted, Program.moved, Program.joined, Program.loss, Program.class_loss]
    + [Program.cosine, Program.rows, Program.turned, Program.dot, Program.product, Program.outer, Program.span]
    + [Program.spread] * 5 + [Program.matrices] * 2 + [Program.linear] * 2 + [Program.sorted] + [Program.scanned, Program.pooled]
    + [Program.grouped, Program.selected]
)  # fmt: skip


LATER_MAKERS = [Program.narrow] * 4 + [Program.convolved] * 3


def tolerance(dtype, value):
    """How far elements may be off: some times as far as they move if all values are rounded, and a unit of the last digit."""
    exact, *others = value.variants
    moved = max([0.0] + [abs(a - b) for other in others for a, b in zip(exact.data, other.data)])
    return 16.0 * moved + 2.0 * EPSILON[dtype] * max([0.0] + [abs(v) for v in exact.data]) + 1e-6


# ---- runs ------------------------------------------------------------------------------------------------------------


def save(path, dtype, array):
    """Writes a .npy file; bf16 are two bytes each, as hdsc reads and writes them."""
    code = {"f32": "<f4", "f16": "<f2", "i32": "<i4", "i8": "|i1", "bf16": "<V2"}[dtype]
    if dtype == "bf16":
        data = b"".join(struct.pack("<f", v)[2:] for v in array.data)
    else:
        data = struct.pack(f"<{len(array.data)}{ {'f32': 'f', 'f16': 'e', 'i32': 'i', 'i8': 'b'}[dtype]}", *array.data)
    shape = f"({', '.join(map(str, array.shape))}{',' if len(array.shape) == 1 else ''})"
    head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def read(path, dtype):
    """The elements of a .npy file."""
    content = path.read_bytes()
    data = content[10 + struct.unpack("<H", content[8:10])[0]:]
    if dtype == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[k:k + 2])[0] for k in range(0, len(data), 2)]
    size = 4 if dtype == "f32" else 2
    return list(struct.unpack(f"<{len(data) // size}{'f' if dtype == 'f32' else 'e'}", data))


def run_entry(hdsc, program, folder, entry):
    """(what is wrong, or None; kernels, thread instructions)."""
    given = [f"{v.name}=@{v.name}.npy" for v in program.operands]
    outputs = [f"y{k}=out:{entry}{k}.npy" for k in range(len(program.results))]
    command = [hdsc, "run", "-I", str(TOP / "ops"), f"--arch={program.arch}", f"--sms={SMS}", "-j1", "program.hds",
               f"--entry={entry}", "--profile=json", *given, *outputs]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        return f"{entry}: not done after 300 s", 0, 0
    if done.returncode != 0:
        return f"{entry}: exit status {done.returncode}\n{done.stderr[:3000]}", 0, 0
    profile = json.loads(done.stdout[done.stdout.index("{"):])
    kernels = sum(k["launches"] for k in profile["kernels"])
    instructions = profile["total"]["thread_instructions"]
    for k, value in enumerate(program.results):
        found, limit = read(folder / f"{entry}{k}.npy", program.dtype), tolerance(program.dtype, value)
        for index, (have, wanted) in enumerate(zip(found, value.variants[0].data)):
            if not abs(have - wanted) <= limit:
                message = f"{entry}: y{k} ({value.name}), element {index}: {have}, not {wanted} ± {limit:.2g}"
                return message, kernels, instructions
    return None, kernels, instructions


def prove(hdsc, folder, program):
    """What is wrong, or None; indices are 0, weights of few bits are not: products of zeros would be divisors."""
    sizes = {e.text: e.size for v in [*program.operands, *program.nodes] for e in v.shape if not e.text.isdigit()}
    given = [f"--arg={name}={size}" for name, size in sorted(sizes.items())]
    given += [f"--arg={v.name}={'0..0' if v.dtype == 'i32' else '1..100'}" for v in program.operands if v.dtype in ("i32", "i8")]
    command = [hdsc, "prove", "-I", str(TOP / "ops"), f"--arch={program.arch}", "program.hds:composed", "--against", ":separate"]
    done = subprocess.run(command + given, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    return None if done.returncode == 0 else f"prove: exit status {done.returncode}\n{done.stdout}{done.stderr[:3000]}"


def check(options, seed):
    """(what is wrong, what there is to report)."""
    program = Program(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "program.hds").write_text(program.text(), encoding="utf-8")
        for v in program.operands:
            save(folder / f"{v.name}.npy", v.dtype, v.variants[0])
        wrong, kernels, instructions = run_entry(options.hdsc, program, folder, "composed")
        apart_wrong, apart_kernels, apart = run_entry(options.hdsc, program, folder, "separate")
        wrong = wrong or apart_wrong
        if not wrong and options.prove and seed % options.prove == 0:
            wrong = prove(options.hdsc, folder, program)
    ratio = instructions / max(apart, 1)
    if not wrong and options.most and ratio > options.most:
        wrong = f"{instructions} instructions for {apart} one by one: {ratio:.2f} times as many"
    if options.keep and (wrong or options.report):
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / f"{seed}.hds").write_text(program.text(), encoding="utf-8")
    report = f"{seed}: {program.dtype}, {len(program.nodes)} nodes, {kernels} kernels for {apart_kernels}, "
    report += f"{instructions} instructions for {apart}: {ratio:.2f}{' !' if ratio > 1.2 else ''}"
    return (f"seed {seed}: {wrong}" if wrong else None), report


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("hdsc", type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--more", type=int, nargs="*", default=[])
    parser.add_argument("--prove", type=int, default=0)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--most", type=float)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    seeds = [*range(options.seed, options.seed + options.count), *options.more]
    found = each(lambda seed: check(options, seed), seeds)
    if options.report:
        print("\n".join(report for _, report in found))
    problems = [wrong for wrong, _ in found if wrong]
    sys.exit(finish(problems, len(found) - len(problems)))


if __name__ == "__main__":
    main()
