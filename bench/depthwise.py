#!/usr/bin/env python3
"""Depthwise convolutions beside PyTorch's by cuDNN and a copy of the same bytes: f16, in one run.

    hdsc -I ops bench/depthwise_layers.hds --gpu=native -o depthwise_layers.so -h depthwise_layers.h
    bench/depthwise.py --library=depthwise_layers.so [--runtime=libhdsrt.so] [--out=FILE] [NAME…]

Each row is measured in one run: CUDA graphs of launches, ours, PyTorch's (cudnn.benchmark) and copies alternating, over buffer
sets that together are larger than L2; the median of the samples. The copy reads and writes half of the bytes of image, weights
and result each. Names have batch, channels, extent of images, taps and stride; nhwc: channels last; nchw: channels first; relu6:
channels last, with bias and ReLU6, which PyTorch runs as calls of their own. --out: a CSV file. Results are compared with f32
arithmetic first. Exit code: 1 if one is wrong.
"""

import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch
import torch.nn.functional as F

import products
from memory import library

TOTAL = 96 << 20  # bytes of all sets, beyond L2
# Groups by the beginning of names: the least shares of the copy and of PyTorch that are wanted.
TARGETS = {group: (0.85, 1.3) for group in ("nhwc_32", "nhwc_1_", "relu6_32", "nchw_32")}
COLUMNS = ["case", "bytes", "ours", "torch", "copy", "of_copy", "of_torch"]


class Layer:
    def __init__(self, name):
        self.kind, *numbers = name.split("_")
        self.batch, self.channels, self.extent, self.taps, self.stride = map(int, numbers)
        self.result = (self.extent - self.taps % 2) // self.stride + 1

    def shaped(self, count, channels, extent):
        return (count, channels, extent, extent) if self.kind == "nchw" else (count, extent, extent, channels)

    def operands(self, seed):
        """x, w, and a bias where there is one, as they are stored."""
        shapes = [self.shaped(self.batch, self.channels, self.extent), self.shaped(self.channels, 1, self.taps)]
        shapes += [(self.channels,)] if self.kind == "relu6" else []
        generator = torch.Generator("cuda").manual_seed(seed)
        scale = [1, 1 / self.taps, 1]
        return [torch.randn(s, generator=generator, device="cuda").mul(f).half() for s, f in zip(shapes, scale)]

    def bytes(self):
        elements = self.batch * self.channels * (self.extent**2 + self.result**2) + self.channels * self.taps**2
        return 2 * elements

    def seen(self, t):
        """With channels second, as PyTorch has them: a view."""
        return t if self.kind == "nchw" or t.dim() < 4 else t.permute(0, 3, 1, 2)

    def call(self, x, w, b=None):
        y = F.conv2d(self.seen(x), self.seen(w), b, stride=self.stride, padding=self.taps // 2, groups=self.channels)
        return F.relu6(y) if self.kind == "relu6" else y


def measure(lib, name):
    layer = Layer(name)
    sets = [layer.operands(seed) for seed in range(max(2, min(64, TOTAL // layer.bytes())))]
    shape = layer.shaped(layer.batch, layer.channels, layer.result)
    results = [torch.empty(shape, dtype=torch.float16, device="cuda") for _ in sets]
    ours = [products.ours(lib, name, t, y) for t, y in zip(sets, results)]
    results[0].fill_(float("nan"))
    ours[0](torch.cuda.current_stream().cuda_stream)
    expected = layer.call(*(t.float() for t in sets[0]))
    error = products.off_by(layer.seen(results[0]), expected)
    halves = [torch.empty(2, layer.bytes() // 2, dtype=torch.uint8, device="cuda") for _ in sets]
    functions = {
        "ours": ours,
        "torch": [lambda s, t=t: layer.call(*t) for t in sets],
        "copy": [lambda s, h=h: h[0].copy_(h[1]) for h in halves],
    }
    repeats = max(1, 128 // len(sets))
    graphs = {which: products.graph_of(calls * repeats) for which, calls in functions.items()}
    times = products.time_of(graphs, len(sets) * repeats)
    row = {"case": name, "bytes": layer.bytes()} | {which: f"{t:.2f}" for which, t in times.items()}
    row |= {f"of_{which}": f"{times[which] / times['ours']:.3f}" for which in ("copy", "torch")}
    return row, error


def summary(rows):
    """A line for each group of which there are rows: shares of the copy and of PyTorch."""
    for group, targets in TARGETS.items():
        found = [row for row in rows if row["case"].startswith(group)]
        for column, target in zip(("of_copy", "of_torch"), targets):
            values = {row["case"]: float(row[column]) for row in found}
            if values:
                slowest, mean = min(values, key=values.get), statistics.geometric_mean(values.values())
                below = f"{sum(v < target for v in values.values())} of {len(values)} below"
                least = f"least {values[slowest]:.3f} (target {target}) of {slowest}"
                yield f"{group:10} {column} geomean {mean:.3f}, {least}, {below}"


def run(lib, patterns, out=None):
    """Measures what the library has of these names. Returns the lines of the summary, and what is wrong."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # of the comparison in f32
    rows, problems = [], []
    print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}; µs, and shares of the copy and PyTorch")
    print(f"{'':28} {'ours':>9} {'torch':>9} {'copy':>9} {'of copy':>8} {'of torch':>9}")
    for name in lib.matching(patterns):
        row, error = measure(lib, name)
        rows.append(row)
        times = " ".join(f"{row[which]:>9}" for which in ("ours", "torch", "copy"))
        print(f"{name:28} {times} {row['of_copy']:>8} {row['of_torch']:>9}", flush=True)
        if not error < 0.01:
            problems.append(f"{name}: off by {error:.3g}")
    products.finish(rows, COLUMNS, out, [])
    return list(summary(rows)), problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--runtime")
    parser.add_argument("--out")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    lines, problems = run(library.Libraries([options.library], options.runtime), options.names or ["*"], options.out)
    print("\n".join(lines))
    return products.finish([], COLUMNS, None, problems)


if __name__ == "__main__":
    sys.exit(main())
