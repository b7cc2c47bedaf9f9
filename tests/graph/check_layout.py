#!/usr/bin/env python3
"""Random graphs of images with channels last and second on the simulator, against the same formulas in Python. Usage:
check_layout.py HDSC [N [SEED]]

With --layout=last all convolutions and poolings have channels last, whatever is between them, and results, inputs and outputs are
those of the model.
"""

import math
import random
import re
import struct
import sys

import seeds
from check_models import by_pixel, conv2d, flat, largest_of_four, shape_of
from check_passes import hdsc, read, write

IMPORTS = """from hidet.lang import f32
from activation import prelu, relu
from arithmetic import add, maximum, multiply
from conv import conv2d
from layout import concat, pad, permute, reshape
from norm import batch_norm, group_norm, instance_norm, layer_norm
from pooling import avg_pool2d, max_pool2d
from reduction import max, mean, sum
from resize import interpolate
from softmax import softmax
"""


def each(f, x, y):
    return [each(f, a, b) for a, b in zip(x, y)] if isinstance(x, list) else f(x, y)


def mean_of_four(x):
    pairs = lambda c: [[(a[j] + a[j + 1] + b[j] + b[j + 1]) / 4 for j in range(0, len(a) - 1, 2)] for a, b in zip(c[::2], c[1::2])]
    return [[pairs(channel) for channel in image] for image in x]


def twice(x):
    return [[[[v for v in row for _ in range(2)] for row in c for _ in range(2)] for c in image] for image in x]


def over_channels(f, x):
    """f(channels of a pixel) of each pixel: its channels again."""
    C, H, W = shape_of(x)[1:]
    done = [[[f([image[c][h][w] for c in range(C)]) for w in range(W)] for h in range(H)] for image in x]
    return [[[[done[b][h][w][c] for w in range(W)] for h in range(H)] for c in range(len(done[b][0][0]))] for b in range(len(x))]


def shares(v):
    powers = [math.exp(a - max(v)) for a in v]
    return [p / sum(powers) for p in powers]


def normal(v):
    average = sum(v) / len(v)
    return [(a - average) / math.sqrt(sum((b - average) ** 2 for b in v) / len(v) + 1e-5) for a in v]


def normal_groups(x, groups):
    """The channels of a group by themselves, of each image."""
    C, H, W = shape_of(x)[1:]
    n = C // groups
    done = [[normal(flat(image[g * n : (g + 1) * n])) for g in range(groups)] for image in x]
    at = lambda b, c, h: done[b][c // n][((c % n) * H + h) * W :][:W]
    return [[[at(b, c, h) for h in range(H)] for c in range(C)] for b in range(len(x))]


def bordered(x):
    """A column before each row, and two rows below, like those at the edge."""
    grown = lambda rows: [[row[0], *row] for row in [*rows, rows[-1], rows[-1]]]
    return [[grown(c) for c in image] for image in x]


def excited(x):
    """Each channel times its mean."""
    means = [[math.fsum(flat(c)) / len(flat(c)) for c in image] for image in x]
    return [[[[v * means[b][n] for v in row] for row in c] for n, c in enumerate(image)] for b, image in enumerate(x)]


# How the language calls an operator of {0}, an image of B={1}, C={2}, and what Python computes.
UNARY = [
    ("relu({0})", lambda x: by_pixel(lambda c, v: max(v, 0.0), x)),
    ("multiply({0}, 0.5)", lambda x: by_pixel(lambda c, v: v / 2, x)),
    ("softmax({0}, axis=1)", lambda x: over_channels(shares, x)),
    ("permute(relu(permute({0}, (0, 2, 3, 1))), (0, 3, 1, 2))", lambda x: by_pixel(lambda c, v: max(v, 0.0), x)),
    ("permute(layer_norm(permute({0}, dims=(0, 2, 3, 1))), dims=(0, 3, 1, 2))", lambda x: over_channels(normal, x)),
    ("multiply({0}, reshape(mean({0}, axis=(2, 3)), shape=({1}, {2}, 1, 1)))", excited),
    ("concat({0}, multiply({0}, 0.5), dim=1)", lambda x: over_channels(lambda v: v + [a / 2 for a in v], x)),
    ("instance_norm({0})", lambda x: normal_groups(x, shape_of(x)[1])),
    ("group_norm({0}, num_groups=1)", lambda x: normal_groups(x, 1)),
    ("group_norm({0}, num_groups={2} // 2 if {2} % 2 == 0 else 1)", lambda x: normal_groups(x, (shape_of(x)[1] + 1) // 2)),
    ("softmax({0})", lambda x: [[[shares(row) for row in c] for c in image] for image in x]),
]
SMALLER = [
    ("max_pool2d({0}, kernel_size=2)", largest_of_four),
    ("avg_pool2d({0}, kernel_size=2)", mean_of_four),
]


class Model:
    """A graph function as text, with the values of its tensors."""

    def __init__(self, rng, size):
        self.rng, self.lines, self.values, self.parameters = rng, [], {}, {}
        self.values["x"] = self.parameter("x", rng.randrange(1, 3), rng.choice([1, 2, 4]), 6, 7)
        while len(self.lines) < size:
            self.step()

    def parameter(self, name, *shape):
        def numbers(*rest):
            if not rest:
                return struct.unpack("<f", struct.pack("<f", self.rng.uniform(-1, 1)))[0]
            return [numbers(*rest[1:]) for _ in range(rest[0])]

        self.parameters[name] = numbers(*shape)
        return self.parameters[name]

    def pick(self, wanted=lambda shape: True):
        """One of the tensors, rather a late one."""
        names = [name for name, x in self.values.items() if wanted(shape_of(x))]
        return names[-1 - min(int(self.rng.expovariate(0.6)), len(names) - 1)] if names else None

    def add(self, text, value):
        name = f"v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        self.values[name] = value

    def convolution(self, x):
        C, K = shape_of(self.values[x])[1], self.rng.choice([2, 4, 4, 8])
        groups = self.rng.choice([1, 1, 2]) if C % 2 == 0 else 1
        taps, stride = self.rng.choice([1, 3]), self.rng.choice([1, 1, 2])
        w = self.parameter(f"w{len(self.lines)}", K, C // groups, taps, taps)
        b = self.parameter(f"b{len(self.lines)}", K) if self.rng.random() < 0.5 else None
        w = self.parameters[f"w{len(self.lines)}"] = [[[[v / 2 for v in row] for row in c] for c in k] for k in w]
        given = f", b{len(self.lines)}" if b else ""
        layout = self.rng.choice(["", ", layout='NCHW'"])
        text = f"conv2d({x}, w{len(self.lines)}{given}, stride={stride}, padding={taps // 2}, groups={groups}{layout})"
        self.add(text, conv2d(self.values[x], w, b, stride, taps // 2, groups))

    def by_channel(self, x):
        """With parameters that have an element for each channel, or for each element of an image."""
        n, (B, C, H, W) = len(self.lines), shape_of(self.values[x])
        p, kind = self.parameter(f"p{n}", C), self.rng.randrange(4)
        if kind == 0:
            v = [abs(a) + 0.5 for a in self.parameter(f"q{n}", C)]
            self.parameters[f"q{n}"] = v
            value = by_pixel(lambda c, a: (a - p[c]) / math.sqrt(v[c] + 1e-5), self.values[x])
            self.add(f"batch_norm({x}, p{n}, q{n})", value)
        elif kind == 1:
            self.add(f"prelu({x}, p{n})", by_pixel(lambda c, a: a if a >= 0 else a * p[c], self.values[x]))
        elif kind == 2:
            self.add(f"add({x}, reshape(p{n}, shape=({C}, 1, 1)))", by_pixel(lambda c, a: a + p[c], self.values[x]))
        else:
            q = self.parameter(f"p{n}", *self.rng.choice([(H, W), (C, H, W)]))
            whole = q if len(shape_of(q)) == 3 else [q] * C
            self.add(f"multiply(p{n}, {x})", each(lambda a, b: a * b, self.values[x], [whole] * B))

    def step(self):
        kind, x = self.rng.random(), self.pick(lambda s: s[1] <= 8)
        B, C, H, W = shape_of(self.values[x])
        if kind < 0.35:
            self.convolution(x)
        elif kind < 0.5:
            if self.rng.random() < 0.4:
                y = self.pick(lambda s: (s[0], s[2], s[3]) == (B, H, W) and s[1] <= 8)
                joined = [a + b for a, b in zip(self.values[x], self.values[y])]
                self.add(f"concat({x}, {y}, dim=1)", joined)
                return
            y = self.pick(lambda s: s == (B, C, H, W))
            self.add(f"add({x}, {y})", each(lambda a, b: a + b, self.values[x], self.values[y]))
        elif kind < 0.65:
            self.by_channel(x)
        elif kind < 0.75 and H > 1 and W > 1:
            text, value = self.rng.choice(SMALLER)
            self.add(text.format(x), value(self.values[x]))
        elif kind < 0.8 and 0 < H * W <= 20 and self.rng.random() < 0.5:
            self.add(f"pad({x}, {self.rng.choice(['', 'pad='])}(1, 0, 0, 2), mode='replicate')", bordered(self.values[x]))
        elif kind < 0.8 and H < 4 and W < 4:
            self.add(f"interpolate({x}, scale_factor=2.0)", twice(self.values[x]))
        else:
            text, value = self.rng.choice(UNARY)
            self.add(text.format(x, B, C), value(self.values[x]))

    def results(self):
        """Those that nothing reads, and one that is read."""
        made = [f"v{k}" for k in range(len(self.lines))]
        words = set(re.findall(r"\bv\d+\b", " ".join(line.split("=", 1)[1] for line in self.lines)))
        unread = [name for name in made if name not in words]
        return unread + [n for n in self.rng.sample(made, 1) if n not in unread]

    def text(self, results):
        operands = {"x": self.values["x"], **self.parameters}
        kinds = ", ".join(f"{name}: f32[{', '.join(map(str, shape_of(x)))}]" for name, x in operands.items())
        body = "\n".join(self.lines)
        return f"{IMPORTS}\n\n@hidet.graph\ndef model({kinds}):\n{body}\n    return {', '.join(results)}\n"


def compare(folder, file, model, results, *options):
    outs = ["out"] if len(results) == 1 else [f"out{k}" for k in range(len(results))]
    words = [f"{name}=@{folder / name}.npy" for name in model.parameters] + [f"{o}=out:{folder / o}.npy" for o in outs]
    hdsc("run", file, "--entry=model", *options, *words)
    for name, out in zip(results, outs, strict=True):
        wanted = flat(model.values[name])
        worst = max(abs(a - b) / (1 + abs(b)) for a, b in zip(read(folder / f"{out}.npy"), wanted, strict=True))
        if not worst < 1e-4:
            raise RuntimeError(f"{name} is off by {worst} with {options}")


def check(folder, seed):
    rng = random.Random(seed)
    model = Model(rng, rng.randrange(4, 10))
    results, file = model.results(), folder / "model.hds"
    file.write_text(model.text(results))
    for name, x in model.parameters.items():
        write(folder / f"{name}.npy", x)
    text = hdsc("graph", file, "--passes=layout", "--layout=last")
    wrong = [line for line in text.splitlines() if re.search(r"(conv2d|pool2d|interpolate)\(", line) and "NHWC" not in line]
    if wrong:
        raise RuntimeError(f"channels are not last: {wrong}")
    (folder / "turned.hds").write_text(text)
    compare(folder, folder / "turned.hds", model, results, "--layout=keep", "--rewrites=none")
    compare(folder, file, model, results, "--layout=last")
    program = hdsc("graph", file, "--print=program", "--layout=last")
    return len(re.findall(r"\bpermute\(", program)), text.count("conv2d(") + text.count("pool2d(")


def main():
    counts, failed = seeds.run(check)
    turned, nodes = (sum(numbers) for numbers in zip(*counts)) if counts else (0, 0)
    print(f"{len(counts)} passed, {failed} failed; {nodes} convolutions and poolings, {turned} permutations in programs")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
