#!/usr/bin/env python3
"""Random graphs of many families of operators, with several results, views, weights and open sizes, against NumPy in f64.

Usage: check_random.py HDSC [N [SEED]]

Each graph runs on the simulator, with all its checks: as it is written (program.hds: no passes, no rewrites), compiled with its
weights as parameters, and with its weights in a file. The last one runs by its launch plans: its temporaries live and share memory
as there, and what a kernel does before it waits must not meet what others do with the same bytes. In every other graph, the first
extent B is open and two sizes run; in every fourth one B is 0, open or known; every third is for sm_90a, whose kernels overlap.
"""

import random
import re
import sys
import warnings

import numpy as np
import safetensors
import seeds
from check_passes import hdsc

IMPORTS = """from hidet.lang import boolean, f16, f32, i32, i64, weights
from activation import gelu, relu, sigmoid, silu, tanh
from arithmetic import abs, add, cast, clamp, divide, maximum, minimum, multiply, subtract
from comparison import where
from conv import conv2d
from functions import exp, sqrt
from indexing import embedding
from layout import concat, flip, pad, permute, reshape, stack, transpose
from matmul import linear, matmul
from norm import batch_norm, layer_norm, rms_norm
from pooling import avg_pool2d, max_pool2d
from reduction import argmax, max, mean, min, sum
from scan import cumsum
from softmax import log_softmax, softmax
"""


# ---- what NumPy computes ---------------------------------------------------------------------------------------------------

def top(x, axis, **more):
    return x.max(axis, initial=-np.inf, **more)


def least(x, axis):
    return x.min(axis, initial=np.inf)


def softmax(x, axis):
    e = np.exp(x - top(x, axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def layer_norm(x, w, b):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def rms_norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def windows(x, size, stride):
    """[n, c, p, q, size, size] of [n, c, h, w]"""
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))[:, :, ::stride, ::stride]


def conv2d(x, w, b, stride, padding, groups):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    patches = np.split(windows(x, w.shape[2], stride), groups, axis=1)
    parts = [np.einsum("ncpqrs,kcrs->nkpq", p, k) for p, k in zip(patches, np.split(w, groups))]
    return np.concatenate(parts, 1) + b[:, None, None]


def batch_norm(x, mean, variance, w, b):
    column = lambda v: v[:, None, None]
    return (x - column(mean)) / np.sqrt(column(variance) + 1e-5) * column(w) + column(b)


# Text, and a function of the operand. They keep shapes.
UNARY = [
    ("relu({0})", lambda x: np.maximum(x, 0)),
    ("gelu({0}, approximate='tanh')", gelu_tanh),
    ("silu({0})", lambda x: x * sigmoid(x)),
    ("tanh({0})", np.tanh),
    ("sigmoid({0})", sigmoid),
    ("exp(-abs({0}))", lambda x: np.exp(-np.abs(x))),
    ("sqrt(abs({0}) + 1)", lambda x: np.sqrt(np.abs(x) + 1)),
    ("clamp({0}, -0.5, 0.75)", lambda x: np.clip(x, -0.5, 0.75)),
    ("({0} * 0.5 + 1.0)", lambda x: x * 0.5 + 1),
    ("(1 - {0}) * 1", lambda x: 1 - x),
    ("{0} + 0", lambda x: x),
    ("cast({0}, f32)", lambda x: x),
    ("cumsum({0}, dim=-1) * 0.25", lambda x: np.cumsum(x, -1) * 0.25),
    ("flip({0}, dims=(-1,))", lambda x: x[..., ::-1]),
    ("softmax({0})", lambda x: softmax(x, -1)),
    ("softmax({0}, axis=1)", lambda x: softmax(x, 1)),
    ("log_softmax({0})", lambda x: np.log(softmax(x, -1))),
]
BINARY = [
    ("{0} + {1}", np.add),
    ("{0} - {1}", np.subtract),
    ("{0} * {1} * 0.5", lambda x, y: x * y * 0.5),
    ("{0} / (abs({1}) + 1)", lambda x, y: x / (np.abs(y) + 1)),
    ("maximum({0}, {1})", np.maximum),
    ("where({0} > {1}, {0} * 2, {1})", lambda x, y: np.where(x > y, x * 2, y)),
]
REDUCTIONS = [("sum", np.sum), ("mean", np.mean), ("max", top), ("min", least)]


class Model:
    """A graph function as text, with the values of its tensors for each size of B."""

    def __init__(self, seed):
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        some = 0 if seed % 4 > 1 else 3
        self.sizes = (some, 5) if seed % 2 else (some,)
        self.lines, self.shapes, self.values, self.inputs, self.weights = [], {}, {}, {}, {}
        self.input("x", ("B", 6, 8))
        self.input("y", ("B", 6, 8))
        self.input("image", ("B", 4, 6, 5))
        self.input("words", ("B", 6), integers=7)
        steps = self.rng.randrange(5, 14)
        while len(self.lines) < steps:
            self.rng.choice(STEPS)(self)

    # ---- tensors ----

    def extents(self, shape, size):
        return [size if e == "B" else e for e in shape]

    def input(self, name, shape, integers=0):
        self.shapes[name] = shape
        self.inputs[name] = []
        for size in self.sizes:
            extents = self.extents(shape, size)
            value = self.numbers.integers(0, integers, extents) if integers else self.numbers.uniform(-1, 1, extents)
            self.inputs[name].append(value.astype(np.int32 if integers else np.float32))
        self.values[name] = [v if integers else v.astype(np.float64) for v in self.inputs[name]]

    def weight(self, *shape, low=-0.5):
        """The text of a weight of its own, and its value."""
        name = f"w{len(self.weights)}"
        self.weights[name] = self.numbers.uniform(low, 0.5 if low < 0 else low + 1, shape).astype(np.float32)
        return f'W["{name}"]', self.weights[name].astype(np.float64)

    def pick(self, wanted=lambda shape: True):
        """One of the tensors of numbers, rather a late one; None: there is none."""
        names = [n for n, shape in self.shapes.items() if n != "words" and not n.startswith("at") and wanted(shape)]
        return names[-1 - min(int(self.rng.expovariate(0.4)), len(names) - 1)] if names else None

    def add(self, text, shape, function, *names, prefix="v"):
        name = f"{prefix}{len(self.lines)}"
        self.lines.append(f"    {name} = {text.format(*names)}")
        self.shapes[name] = shape
        self.values[name] = [function(*operands) for operands in zip(*(self.values[n] for n in names))]

    # ---- steps: each adds a line if it finds operands ----

    def unary(self):
        x = self.pick(lambda s: len(s) > 1)
        text, function = self.rng.choice(UNARY)
        self.add(text, self.shapes[x], function, x)

    def binary(self):
        x = self.pick()
        y = self.pick(lambda s: s == self.shapes[x])
        text, function = self.rng.choice(BINARY)
        self.add(text, self.shapes[x], function, x, y)

    def broadcast(self):
        x = self.pick()
        text, value = self.weight(self.shapes[x][-1] if self.shapes[x][-1] != "B" else 1)
        operator, function = self.rng.choice(BINARY)
        self.add(operator.replace("{1}", text), self.shapes[x], lambda v: function(v, value), x)

    def reduction(self):
        x = self.pick(lambda s: len(s) > 1)
        shape, axis = self.shapes[x], self.rng.randrange(1, len(self.shapes[x]))
        name, function = self.rng.choice(REDUCTIONS)
        rest = shape[:axis] + shape[axis + 1 :]
        self.add(f"{name}({{0}}, axis={axis})", rest, lambda v: function(v, axis), x)

    def centred(self):
        """A reduction whose result meets its operand again."""
        x = self.pick(lambda s: len(s) > 1)
        shape = ", ".join(map(str, (*self.shapes[x][:-1], 1)))
        name, function = self.rng.choice(REDUCTIONS)
        text = f"{{0}} - reshape({name}({{0}}, axis=-1), ({shape}))"
        self.add(text, self.shapes[x], lambda v: v - function(v, -1)[..., None], x)

    def norm(self):
        x = self.pick(lambda s: len(s) > 1 and s[-1] != "B")
        columns = self.shapes[x][-1]
        w, scale = self.weight(columns, low=0.5)
        b, bias = self.weight(columns)
        if self.rng.random() < 0.5:
            self.add(f"layer_norm({{0}}, {w}, {b})", self.shapes[x], lambda v: layer_norm(v, scale, bias), x)
        else:
            self.add(f"rms_norm({{0}}, {w})", self.shapes[x], lambda v: rms_norm(v, scale), x)

    def product(self):
        x = self.pick(lambda s: len(s) in (2, 3) and s[-1] != "B")
        if not x:
            return
        K, N = self.shapes[x][-1], self.rng.choice((4, 8, 16))
        shape = (*self.shapes[x][:-1], N)
        w, value = self.weight(N, K)
        b, bias = self.weight(N)
        kind = self.rng.randrange(3)
        if kind == 0:
            self.add(f"linear({{0}}, {w}, {b})", shape, lambda v: v @ value.T + bias, x)
        elif kind == 1:
            self.add(f"{{0}} @ {w}.T", shape, lambda v: v @ value.T, x)
        else:
            self.add(f"relu({{0}} @ transpose({w}, 0, 1) + {b})", shape, lambda v: np.maximum(v @ value.T + bias, 0), x)

    def scores(self):
        """Batched products of two tensors, as in attention."""
        x = self.pick(lambda s: len(s) == 3 and s[0] == "B" and "B" not in s[1:])
        y = x and self.pick(lambda s: s == self.shapes[x])
        if not y:
            return
        B, M, _ = self.shapes[x]
        self.add("softmax({0} @ transpose({1}, 1, 2) * 0.25) @ {1}", self.shapes[x],
                 lambda v, w: softmax(v @ w.transpose(0, 2, 1) * 0.25, -1) @ w, x, y)  # fmt: skip

    def convolution(self):
        x = self.pick(lambda s: len(s) == 4 and s[0] == "B" and "B" not in s[1:] and s[2] >= 3 and s[3] >= 3)
        if not x:
            return
        B, C, H, Wd = self.shapes[x]
        size, stride, padding, K = self.rng.choice((1, 3)), self.rng.choice((1, 2)), self.rng.choice((0, 1)), 4
        groups = 2 if C % 2 == 0 and self.rng.random() < 0.3 else 1
        w, value = self.weight(K, C // groups, size, size)
        b, bias = self.weight(K)
        out = lambda e: (e + 2 * padding - size) // stride + 1
        text = f"conv2d({{0}}, {w}, {b}, stride={stride}, padding={padding}, groups={groups})"
        self.add(text, (B, K, out(H), out(Wd)), lambda v: conv2d(v, value, bias, stride, padding, groups), x)

    def channels(self):
        """Batch norm, or a window."""
        x = self.pick(lambda s: len(s) == 4 and s[0] == "B" and "B" not in s[1:] and s[2] >= 2 and s[3] >= 2)
        if not x:
            return
        B, C, H, Wd = self.shapes[x]
        kind = self.rng.randrange(3)
        if kind == 0:
            (m, mean), (v, variance), (w, scale), (b, bias) = (self.weight(C, low=low) for low in (-0.5, 0.5, 0.5, -0.5))
            self.add(f"batch_norm({{0}}, {m}, {v}, {w}, {b})", self.shapes[x], lambda a: batch_norm(a, mean, variance, scale, bias), x)
            return
        name, function = (("max_pool2d", np.max), ("avg_pool2d", np.mean))[kind - 1]
        self.add(f"{name}({{0}}, kernel_size=2)", (B, C, H // 2, Wd // 2), lambda a: function(windows(a, 2, 2), (-2, -1)), x)

    def turned(self):
        x = self.pick(lambda s: len(s) > 1)
        order = list(range(len(self.shapes[x])))
        if self.rng.random() < 0.5:
            rest = order[1:]
            self.rng.shuffle(rest)
            order[1:] = rest  # the first axis, which may be open, stays
        else:
            order[-1], order[-2] = order[-2], order[-1]
        self.add(f"permute({{0}}, {tuple(order)})", tuple(self.shapes[x][d] for d in order), lambda v: v.transpose(order), x)

    def reshaped(self):
        x = self.pick(lambda s: len(s) > 2 and s[0] == "B" and "B" not in s[1:])
        if not x:
            return
        count = int(np.prod(self.shapes[x][1:]))
        columns = self.rng.choice([n for n in range(2, count + 1) if count % n == 0])
        shape = ("B", count // columns, columns) if self.rng.random() < 0.7 else ("B", count)
        text = f"reshape({{0}}, ({', '.join(map(str, shape))}))"
        self.add(text, shape, lambda v: v.reshape(v.shape[0], *shape[1:]), x)

    def sliced(self):
        x = self.pick(lambda s: len(s) > 1 and s[-1] != "B" and s[-1] > 2)
        n = self.shapes[x][-1]
        start, step = self.rng.randrange(n - 1), self.rng.choice((1, 1, 2))
        extent = len(range(start, n, step))
        self.add(f"{{0}}[..., {start}:{n}:{step}]", (*self.shapes[x][:-1], extent), lambda v: v[..., start:n:step], x)

    def joined(self):
        x = self.pick(lambda s: len(s) > 1 and s[-1] != "B")
        shape = self.shapes[x]
        y = self.pick(lambda s: s[:-1] == shape[:-1] and s[-1] != "B")
        joint = (*shape[:-1], shape[-1] + self.shapes[y][-1])
        self.add("concat({0}, {1}, dim=-1)", joint, lambda v, w: np.concatenate((v, w), -1), x, y)

    def narrowed(self):
        x = self.pick()
        self.add("cast(cast({0}, f16), f32)", self.shapes[x], lambda v: v.astype(np.float16).astype(np.float64), x)

    def looked_up(self):
        w, table = self.weight(7, 8)
        self.add(f"embedding({{0}}, {w})", ("B", 6, 8), lambda at: table[at], "words")

    # ---- text ----

    def results(self):
        """Those that nothing reads, and one that is read."""
        made = [line.split("=")[0].strip() for line in self.lines]
        read = set(" ".join(line.split("=", 1)[1] for line in self.lines).translate(str.maketrans("()[],*+-/.", " " * 10)).split())
        unread = [name for name in made if name not in read]
        return unread + [n for n in self.rng.sample(made, 1) if n not in unread]

    def text(self, results, has_file):
        """The weights are in a file, or parameters."""
        typed = lambda name, shape: f"{'i32' if name == 'words' else 'f32'}[{', '.join(map(str, shape))}]"
        shapes = {name: self.shapes[name] for name in self.inputs}
        if not has_file:
            shapes |= {name: value.shape for name, value in self.weights.items()}
        parameters = ", ".join(f"{name}: {typed(name, shape)}" for name, shape in shapes.items())
        size = "B: int" if len(self.sizes) > 1 else f"B: int = {self.sizes[0]}"
        file = 'W = weights("weights.safetensors")\n' if has_file and self.weights else ""
        body = "\n".join(self.lines)
        if not has_file:
            body = re.sub(r'W\["(w\d+)"\]', r"\1", body)
        return f"{IMPORTS}\n{file}\n\n@hidet.graph\ndef model[{size}]({parameters}):\n{body}\n    return {', '.join(results)}\n"


STEPS = [
    Model.unary, Model.unary, Model.unary, Model.binary, Model.binary, Model.broadcast, Model.reduction, Model.centred, Model.norm,
    Model.product, Model.product, Model.scores, Model.convolution, Model.channels, Model.turned, Model.reshaped, Model.sliced,
    Model.joined, Model.narrowed, Model.looked_up,
]  # fmt: skip


# ---- running ---------------------------------------------------------------------------------------------------------------

def compare(folder, model, results, k, what):
    tolerance = 2e-2 if any("f16" in line for line in model.lines) else 2e-4
    for number, name in enumerate(results):
        wanted, got = model.values[name][k], np.load(folder / f"out{number}.npy")
        if got.shape != wanted.shape:
            raise RuntimeError(f"{name} has the shape {got.shape}, not {wanted.shape}, {what}")
        is_same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))  # infinities and NaN, too
        worst = np.max(np.where(is_same, 0, np.abs(got - wanted) / (1 + np.abs(wanted))), initial=0)
        if not worst < tolerance:
            raise RuntimeError(f"{name} is off by {worst}, {what}, B = {model.sizes[k]}")


def check(folder, seed):
    model = Model(seed)
    results = model.results()
    (folder / "model.hds").write_text(model.text(results, True))
    (folder / "parameters.hds").write_text(model.text(results, False))
    program = hdsc("graph", folder / "parameters.hds", "--passes=", "--rewrites=none", "--print=program")
    (folder / "program.hds").write_text(program)
    tensors = {name: ("F32", value.shape, value.ravel().tolist()) for name, value in model.weights.items()}
    safetensors.write(folder / "weights.safetensors", tensors)
    for name, value in model.weights.items():
        np.save(folder / f"{name}.npy", value)
    arch = "--arch=sm_90a" if seed % 3 == 0 else "--arch=sm_80"
    outs = [f"{'out' if len(results) == 1 else f'out{k}'}=out:{folder / f'out{k}.npy'}" for k in range(len(results))]
    for k in range(len(model.sizes)):
        for name, values in model.inputs.items():
            np.save(folder / f"{name}.npy", values[k])
        given = lambda names: [f"{name}=@{folder / name}.npy" for name in names]
        every = model.inputs | model.weights
        for file, names in (("program", every), ("parameters", every), ("model", model.inputs)):
            how = ["--plan"] if file == "model" else []
            hdsc("run", folder / f"{file}.hds", "--entry=model", arch, *how, *given(names), *outs)
            compare(folder, model, results, k, f"{file}.hds")


def main():
    np.seterr(all="ignore")  # of tensors without elements
    warnings.simplefilter("ignore")
    passed, failed = seeds.run(check, "parameters.hds")
    print(f"{len(passed)} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
