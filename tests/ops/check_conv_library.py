"""The convolutions of libhdsops (ops/conv/library.hds) on the simulator, against NumPy in f64: generated shapes, all of whose
numbers the kernels get at run time.

Operands are whole numbers, whose sums are exact, unless an activation is applied.
Usage: check_conv_library.py HDSC [--seed N] [--count N]
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
from math import erf, sqrt

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from compiler import TOP, each, finish  # noqa: E402

NONE, RELU, GELU, GELU_TANH, SILU = range(5)
ACTIVATIONS = {
    NONE: lambda x: x,
    RELU: lambda x: np.maximum(x, 0),
    GELU: lambda x: 0.5 * x * (1 + np.vectorize(erf, otypes=[float])(x / sqrt(2))),
    GELU_TANH: lambda x: 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))),
    SILU: lambda x: x / (1 + np.exp(-x)),
}
PRIMES = (2, 3, 5, 7, 11, 13)
TOLERANCE = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-5, "tf32": 2e-5}


class Case:
    """A convolution, or a transposed one: of x [N, G · C, H, W]."""

    def __init__(self, rng, kind, is_last, is_transposed):
        self.kind, self.is_last, self.is_transposed, self.seed = kind, is_last, is_transposed, rng.randrange(1 << 30)
        self.G, self.C, self.K = self.channels(rng)
        self.N = rng.choice([0, 1, 1, 2, 3])
        self.taps = [rng.choice([1, 1, 2, 3, 5]) for _ in range(2)]
        self.stride, self.dilation = ([rng.choice([1, 1, 2, 3]) for _ in range(2)] for _ in range(2))
        self.before, self.after = ([rng.randrange(4) for _ in range(2)] for _ in range(2))
        spans = [d * (k - 1) + 1 for k, d in zip(self.taps, self.dilation)]
        edges = [b + a for b, a in zip(self.before, self.after)]
        if is_transposed:
            self.image = [rng.choice([1, 4, *PRIMES]) for _ in range(2)]
            least = [(n - 1) * s - e + m for n, s, e, m in zip(self.image, self.stride, edges, spans)]
            more = [rng.randrange(max(s, d)) for s, d in zip(self.stride, self.dilation)]
            self.result = [m + o for m, o in zip(least, more)]
            for a in range(2):
                if self.result[a] < 1:  # less padding
                    self.result[a] += edges[a]
                    self.before[a] = self.after[a] = 0
        else:
            # Windows may be larger than the image, if that has enough padding.
            self.image = [max(m - e, 1) + rng.choice([0, 0, 1, 4, 9]) for m, e in zip(spans, edges)]
            rests = [n + e - m for n, e, m in zip(self.image, edges, spans)]
            self.result = [rest // s + 1 for rest, s in zip(rests, self.stride)]
        self.activation, self.has_bias = rng.choice([NONE, RELU, *range(5)]), rng.random() < 0.7

    @staticmethod
    def channels(rng):
        """Groups, and channels of each: depthwise with and without multiplier, narrow groups, vectors, odd numbers, one group."""
        kind = rng.randrange(6)
        if kind == 0:
            return rng.choice(PRIMES), 1, rng.choice([1, 1, 2])
        if kind == 1:
            return rng.choice([2, 3]), rng.choice([2, 5, 9]), rng.choice([1, 4, 9])
        if kind == 2:
            return 2, 8, 16
        if kind == 3:
            return 1, rng.choice([1, 3, 13, 21]), rng.choice([1, 7, 33])
        return 1, 8 * rng.randrange(1, 6), 8 * rng.randrange(1, 10)

    def __repr__(self):
        return f"{'transposed ' if self.is_transposed else ''}{vars(self)}"

    def entry(self):
        middle = "transpose_" if self.is_transposed else ""
        return f"ops_conv_{middle}{self.kind}_{'nhwc' if self.is_last else 'nchw'}"

    def sizes(self):
        names = dict(N=self.N, G=self.G, C=self.C, K=self.K, BIAS=self.G * self.K if self.has_bias else 0)
        names.update(zip("HWRSPQ", [*self.image, *self.taps, *self.result]), activation=self.activation)
        for name, values in (("stride", self.stride), ("before", self.before), ("dilation", self.dilation)):
            names.update({f"{name}_h": values[0], f"{name}_w": values[1]})
        return names if self.is_transposed else dict(names, sm_count=4)

    def operands(self):
        """x, w and bias in f64, channels first; small enough that activations of their sums are not all linear."""
        rng = np.random.default_rng(self.seed)
        inner = (self.K if self.is_transposed else self.C, *self.taps)
        outer = self.G * (self.C if self.is_transposed else self.K)
        scale = 1.0 if self.activation in (NONE, RELU) else 0.125
        x = rng.integers(-2, 3, (self.N, self.G * self.C, *self.image)) * scale
        return x, rng.integers(-2, 3, (outer, *inner)) * scale, rng.integers(-4, 5, self.G * self.K) * scale

    def expected(self, x, w, bias):
        y = np.zeros((self.N, self.G, self.K, *self.result))
        x = x.reshape(self.N, self.G, self.C, *self.image)
        w = w.reshape(self.G, -1, *w.shape[1:])
        big, small = (y, x) if self.is_transposed else (x, y)
        for p in np.ndindex(*small.shape[3:]):
            for t in np.ndindex(*self.taps):
                i = tuple(a * s - b + c * d for a, s, b, c, d in zip(p, self.stride, self.before, t, self.dilation))
                if all(0 <= a < n for a, n in zip(i, big.shape[3:])):
                    if self.is_transposed:
                        y[:, :, :, i[0], i[1]] += np.einsum("ngc,gck->ngk", x[:, :, :, p[0], p[1]], w[..., t[0], t[1]])
                    else:
                        y[:, :, :, p[0], p[1]] += np.einsum("ngc,gkc->ngk", x[:, :, :, i[0], i[1]], w[..., t[0], t[1]])
        y = y.reshape(self.N, self.G * self.K, *self.result)
        return ACTIVATIONS[self.activation](y + (bias.reshape(1, -1, 1, 1) if self.has_bias else 0))


def to_bits(values, kind):
    """For a file: bf16 as its bits; the values are those of bf16."""
    if kind == "bf16":
        return (values.astype("f4").view("u4") >> 16).astype("u2")
    return values.astype("f2" if kind == "f16" else "f4")


def from_bits(values, kind):
    if kind == "bf16":
        return (values.view("u2").astype("u4") << 16).view("f4").astype("f8")
    return values.astype("f8")


def run(hdsc, case, folder):
    x, w, bias = case.operands()
    last = (lambda t: np.moveaxis(t, 1, -1)) if case.is_last else lambda t: t
    given = dict(x=last(x), w=last(w), bias=bias[: len(bias) if case.has_bias else 0])
    command = [hdsc, "run", "-I", TOP / "ops", TOP / f"ops/conv/library_{case.kind}.hds", "--entry", case.entry()]
    for name, values in given.items():
        np.save(f"{folder}/{name}.npy", np.ascontiguousarray(to_bits(values, case.kind)))
        command.append(f"{name}=@{folder}/{name}.npy")
    command += [f"y=out:{folder}/y.npy"] + [f"{name}={value}" for name, value in case.sizes().items()]
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if found.returncode != 0:
        return None, found.stderr + found.stdout
    y = from_bits(np.load(f"{folder}/y.npy"), case.kind)
    return (np.moveaxis(y, -1, 1) if case.is_last else y), case.expected(x, w, bias)


def check(hdsc, case):
    with tempfile.TemporaryDirectory() as folder:
        y, wanted = run(hdsc, case, folder)
    if y is None:
        return f"{case}: {wanted}"
    if y.shape != wanted.shape:
        return f"{case}: has the shape {y.shape}, expected {wanted.shape}"
    is_exact = case.activation in (NONE, RELU)
    least = 0 if is_exact else TOLERANCE[case.kind]
    wrong = ~(np.abs(y - rounded(wanted, case.kind)) <= least * (1 + np.abs(wanted)))
    return f"{case}: {wrong.sum()} of {wrong.size} elements are wrong" if wrong.any() else ""


def rounded(values, kind):
    """To the type of the result, ties to even."""
    if kind == "bf16":
        bits = values.astype("f4").view("u4").astype("u8")
        return (((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("u4") << 16).view("f4").astype("f8")
    return values.astype("f2" if kind == "f16" else "f4").astype("f8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hdsc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=56)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    entries = [(kind, last, is_transposed) for kind in TOLERANCE for last in (False, True) for is_transposed in (False, True)]
    entries = [entry for entry in entries if entry[0] != "tf32" or not entry[2]]
    cases = [Case(rng, *entries[n % len(entries)]) for n in range(given.count)]
    problems = [found for found in each(lambda case: check(given.hdsc, case), cases) if found]
    return finish(problems, len(cases) - len(problems))


if __name__ == "__main__":
    sys.exit(main())
