#!/usr/bin/env python3
"""Calls of operators on tensors without elements, against NumPy, on the simulator.

Usage: check_empty.py HDSC [PART OF A CASE]

A graph function has a call of each case as an output, of operands with the extents A, B and C, of which some are 0: known while
compiling, or open. A case is (text, function of NumPy); where it names extents after these, it is left out if they are below 2.
One whose text begins with "known:" is left out where extents are open.
"""

import pathlib
import re
import sys
import tempfile
import warnings

import numpy as np
from check_passes import hdsc

IMPORTS = """from hidet.lang import f16, f32, i32
from activation import relu, silu
from arithmetic import cast, maximum
from comparison import where
from conv import conv1d
from creation import arange, full, zeros
from functions import exp
from indexing import embedding, gather, index_select, one_hot, take
from layout import concat, expand, flip, pad, permute, repeat_interleave, roll, split, stack, tile, transpose, triu
from loss import mse_loss
from matmul import linear
from norm import layer_norm, rms_norm
from pooling import avg_pool1d, max_pool1d
from reduction import all, any, argmax, max, mean, min, norm, prod, std, sum, var
from scan import cumsum
from scatter import index_add
from softmax import log_softmax, logsumexp, softmax
from sort import sort, topk
"""
SHAPES = {"x": "f32[A, B, C]", "y": "f32[A, B, C]", "m": "f32[A, B]", "n": "f32[B, C]", "w": "f32[C, B]", "v": "f32[C]",
          "one": "f32[1, B, 1]", "whole": "f32[3, 4]", "at": "i32[A]", "i": "i32[A, B, C]"}  # fmt: skip


def top(x, axis=None, **more):
    return x.max(axis, initial=-np.inf, **more)


def least(x, axis=None, **more):
    return x.min(axis, initial=np.inf, **more)


def soft(x, axis):
    p = np.exp(x - top(x, axis, keepdims=True))
    return p / p.sum(axis, keepdims=True)


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def rms_norm(x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def norm(x, axis):
    return np.sqrt((x * x).sum(axis))


def added(base, at, rows):
    out = base.copy()
    np.add.at(out, at, rows)
    return out


def windows(x, f):
    return f(np.lib.stride_tricks.sliding_window_view(x, 2, 2), -1)


REDUCTIONS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "max": top, "min": least, "norm": norm}
CASES = [
    ("relu(x) + y", lambda o: np.maximum(o.x, 0) + o.y),
    ("x * one - 1", lambda o: o.x * o.one - 1),
    ("silu(x + v)", lambda o: (o.x + o.v) / (1 + np.exp(-(o.x + o.v)))),
    ("maximum(x, y)", lambda o: np.maximum(o.x, o.y)),
    ("where(x > y, x, one)", lambda o: np.where(o.x > o.y, o.x, o.one)),
    ("cast(cast(x, f16), f32)", lambda o: o.x.astype(np.float16)),
    *[(f"{name}(x, axis={axis}) + 1", lambda o, f=f, axis=axis: f(o.x, axis) + 1)
      for name, f in REDUCTIONS.items() for axis in (0, 1, 2, (0, 2), None)],
    ("any(x > 0, axis=1)", lambda o: (o.x > 0).any(1)),
    ("all(x > 0, axis=1)", lambda o: (o.x > 0).all(1)),
    ("sum(i, axis=2)", lambda o: o.i.sum(2)),
    ("max(i, axis=1)", lambda o: o.i.max(1, initial=-(2**31))),
    ("var(x, axis=-1, correction=0)", lambda o: o.x.var(-1)),
    ("std(x, axis=0, correction=0)", lambda o: o.x.std(0)),
    ("argmax(x, axis=1)", lambda o: o.x.argmax(1), "B"),
    ("mse_loss(x, y)", lambda o: ((o.x - o.y) ** 2).mean()),
    ("softmax(x)", lambda o: soft(o.x, -1)),
    ("softmax(x, axis=1)", lambda o: soft(o.x, 1)),
    ("log_softmax(x)", lambda o: np.log(soft(o.x, -1))),
    ("logsumexp(x)", lambda o: np.log(np.exp(o.x).sum(-1))),
    ("layer_norm(x)", lambda o: layer_norm(o.x)),
    ("rms_norm(x)", lambda o: rms_norm(o.x)),
    ("cumsum(x, dim=1)", lambda o: o.x.cumsum(1)),
    ("permute(x, (2, 0, 1))", lambda o: o.x.transpose(2, 0, 1)),
    ("transpose(x, 1, 2) + 1", lambda o: o.x.transpose(0, 2, 1) + 1),
    ("x.reshape(A * B, C)", lambda o: o.x.reshape(o.A * o.B, o.C)),
    ("x.reshape(A * B * C) * 2", lambda o: o.x.reshape(-1) * 2),
    ("known:x.flatten(1)", lambda o: o.x.reshape(o.A, o.B * o.C)),
    ("concat(x, y, dim=0)", lambda o: np.concatenate((o.x, o.y), 0)),
    ("concat(relu(x), y, x, dim=2)", lambda o: np.concatenate((np.maximum(o.x, 0), o.y, o.x), 2)),
    ("concat(n, whole[:, :1].T @ zeros((3, C)), dim=0)", lambda o: np.concatenate((o.n, np.zeros((1, o.C))), 0)),
    ("stack(x, y, dim=1)", lambda o: np.stack((o.x, o.y), 1)),
    ("pad(x, (1, 1), value=0.5)", lambda o: np.pad(o.x, ((0, 0), (0, 0), (1, 1)), constant_values=0.5)),
    ("pad(x, (0, 0, 0, 0, 2, 0)) + 1", lambda o: np.pad(o.x, ((2, 0), (0, 0), (0, 0))) + 1),
    ("known:x[:, :, 1:]", lambda o: o.x[:, :, 1:]),
    ("known:x[:, 5:, ::2]", lambda o: o.x[:, 5:, ::2]),
    ("known:x[..., None, :0]", lambda o: o.x[..., None, :0]),
    ("whole[:, 2:2]", lambda o: o.whole[:, 2:2]),
    ("max(whole[3:], axis=0)", lambda o: np.full(4, -np.inf)),
    ("split(whole, (0, 2, 1), dim=0)[0]", lambda o: o.whole[:0]),
    ("split(whole, (0, 2, 1), dim=0)[1]", lambda o: o.whole[:2]),
    ("flip(x, dims=(0, 2))", lambda o: o.x[::-1, :, ::-1]),
    ("roll(x, 1, 1)", lambda o: np.roll(o.x, 1, 1)),
    ("tile(x, (2, 1, 2))", lambda o: np.tile(o.x, (2, 1, 2))),
    ("tile(whole, (0, 2))", lambda o: np.tile(o.whole, (0, 2))),
    ("repeat_interleave(m, 2, 1)", lambda o: o.m.repeat(2, 1)),
    ("expand(one, (A, B, C)) + 1", lambda o: np.broadcast_to(o.one, (o.A, o.B, o.C)) + 1),
    ("triu(x)", lambda o: np.triu(o.x)),
    ("arange(A)", lambda o: np.arange(o.A)),
    ("full((A, 2), 1.5)", lambda o: np.full((o.A, 2), 1.5)),
    ("embedding(at, whole)", lambda o: o.whole[o.at]),
    ("take(whole, at, axis=1)", lambda o: o.whole[:, o.at]),
    ("index_select(whole, at, dim=0) * 2", lambda o: o.whole[o.at] * 2),
    ("gather(whole, i.reshape(A * B, C), dim=0)",
     lambda o: np.take_along_axis(o.whole[:, : o.C], o.i.reshape(o.A * o.B, o.C), 0)),
    ("one_hot(at, 3)", lambda o: np.eye(3)[o.at]),
    ("index_add(whole, at, full((A, 4), 1.0))", lambda o: added(o.whole, o.at, np.ones((o.A, 4)))),
    ("n @ w", lambda o: o.n @ o.w),
    ("relu(x @ w)", lambda o: np.maximum(o.x @ o.w, 0)),
    ("linear(x, n)", lambda o: o.x @ o.n.T),
    ("linear(m, w, v) + 1", lambda o: o.m @ o.w.T + o.v + 1),
    ("m.T @ m", lambda o: o.m.T @ o.m),
    ("softmax(x @ transpose(y, 1, 2)) @ y", lambda o: soft(o.x @ o.y.transpose(0, 2, 1), -1) @ o.y),
    ("conv1d(x, full((2, B, 1), 0.5))", lambda o: np.repeat(0.5 * o.x.sum(1, keepdims=True), 2, 1), "C"),
    ("max_pool1d(x, kernel_size=2, stride=1)", lambda o: windows(o.x, np.max), "C"),
    ("avg_pool1d(x, kernel_size=2, stride=1)", lambda o: windows(o.x, np.mean), "C"),
    ("sort(x)[0]", lambda o: np.sort(o.x)),
    ("known:topk(whole, 0)[0]", lambda o: o.whole[:, :0]),
]  # fmt: skip


# Extents A, B and C, and whether they are open.
RUNS = [((0, 2, 3), False), ((2, 0, 3), False), ((2, 3, 0), False), ((2, 0, 3), True), ((0, 0, 0), True)]


class Operands:
    """The extents A, B and C, and the operands as NumPy computes with them; `arrays` are those of the model."""

    def __init__(self, extents):
        self.A, self.B, self.C = extents
        self.arrays, rng = {}, np.random.default_rng(7)
        for name, text in SHAPES.items():
            dtype, shape = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
            shape = [int(e) if e.isdigit() else getattr(self, e) for e in shape.split(", ")]
            value = rng.uniform(-1, 1, shape) if dtype == "f32" else rng.integers(0, 3, shape)
            self.arrays[name] = value.astype({"f32": np.float32, "i32": np.int32}[dtype])
            setattr(self, name, self.arrays[name].astype(np.float64) if dtype == "f32" else self.arrays[name])


def run(folder, extents, is_open, part):
    """(how many cases there are, what is wrong)"""
    o = Operands(extents)
    is_possible = lambda text, extents: not (is_open and text.startswith("known:")) and all(getattr(o, e) > 1 for e in extents)
    cases = [case for case in CASES if part in case[0] and is_possible(case[0], case[2:])]
    sizes = ", ".join(f"{e}: int" if is_open else f"{e}: int = {getattr(o, e)}" for e in "ABC")
    lines = "".join(f"        {text.removeprefix('known:')},\n" for text, *_ in cases)
    parameters = ", ".join(f"{name}: {type}" for name, type in SHAPES.items())
    text = f"{IMPORTS}\n\n@hidet.graph\ndef model[{sizes}]({parameters}):\n    return (\n{lines}    )\n"
    (folder / "model.hds").write_text(text)
    for name, value in o.arrays.items():
        np.save(folder / f"{name}.npy", value)
    outs = [f"{'out' if len(cases) == 1 else f'out{k}'}=out:{folder / f'out{k}.npy'}" for k in range(len(cases))]
    hdsc("run", folder / "model.hds", *(f"{name}=@{folder / name}.npy" for name in o.arrays), *outs)
    wrong = []
    for k, case in enumerate(cases):
        got, wanted = np.load(folder / f"out{k}.npy"), np.asarray(case[1](o))
        if got.shape != wanted.shape or not np.allclose(got, wanted, 1e-3, 1e-3, equal_nan=True):
            wrong.append(f"{case[0]}: {got.shape} {got.ravel()[:4]}, not {wanted.shape} {wanted.ravel()[:4]}")
    return len(cases), wrong


def main():
    passed, failed = 0, 0
    warnings.simplefilter("ignore")  # of NumPy: means without elements
    for extents, is_open in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                count, wrong = run(pathlib.Path(folder), extents, is_open, sys.argv[2] if len(sys.argv) > 2 else "")
            except RuntimeError as error:
                count, wrong = 1, [str(error)]
        for text in wrong:
            print(f"{'open' if is_open else 'known'} extents {extents}: {text}", flush=True)
        passed, failed = passed + count - len(wrong), failed + len(wrong)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
