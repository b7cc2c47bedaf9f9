#!/usr/bin/env python3
"""Convolutions of ResNet's layers beside PyTorch's by cuDNN: f16, channels last, cudnn.benchmark, in one run.

    hdsc -I ops bench/conv_layers.hds --gpu=native -o conv_layers.so -h conv_layers.h
    bench/conv.py --library=conv_layers.so [--runtime=libhdsrt.so] [--out=FILE] [NAME…]

Each row is measured in one run: CUDA graphs of launches, ours and PyTorch's alternating, the median of the samples. Cold: over buffer
sets that together are larger than L2; warm: over sets that stay there, as weights and images of one network do. Names have batch,
channels, extent of images, channels of the result, taps and stride; relu: with bias and ReLU; block: with a residual as well.
--out: a CSV file. Results are compared with f32 arithmetic first. Exit code: 1 if one is wrong.
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

WARM, COLD = 16 << 20, 96 << 20  # bytes of all sets: in L2, and beyond it
COLUMNS = ["case", "gflop", "ours", "torch", "ratio", "ours_warm", "torch_warm", "ratio_warm"]


class Layer:
    def __init__(self, name):
        _, *numbers = name.split("_")
        self.kind = numbers.pop() if not numbers[-1].isdigit() else ""
        self.batch, self.inputs, self.extent, self.outputs, self.taps, self.stride = map(int, numbers)
        self.result = (self.extent - self.taps % 2) // self.stride + 1
        self.operations = 2 * self.batch * self.result**2 * self.outputs * self.inputs * self.taps**2

    def operands(self, seed):
        """x, w, and bias and residual where there are, stored with channels last."""
        n = self
        shapes = [(n.batch, n.extent, n.extent, n.inputs), (n.outputs, n.taps, n.taps, n.inputs)]
        shapes += [(n.outputs,)] if n.kind else []
        shapes += [(n.batch, n.result, n.result, n.outputs)] if n.kind == "block" else []
        generator = torch.Generator("cuda").manual_seed(seed)
        return [torch.randn(s, generator=generator, device="cuda").mul(0.05 if k == 1 else 1).half() for k, s in enumerate(shapes)]

    def expected(self, x, w, b=None, r=None):
        """In f32, by PyTorch's own kernels."""
        x, w = (t.float().permute(0, 3, 1, 2) for t in (x, w))
        y = F.conv2d(x, w, None if b is None else b.float(), stride=self.stride, padding=self.taps // 2)
        y = y if r is None else y + r.float().permute(0, 3, 1, 2)
        return (y.relu() if self.kind else y).permute(0, 2, 3, 1)

    def call(self, x, w, b=None, r=None):
        """What PyTorch has for it: a call of cuDNN, on views of the same memory."""
        x, w = x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2)
        how = [self.stride] * 2, [self.taps // 2] * 2, [1, 1], 1
        if self.kind == "relu":
            return torch.cudnn_convolution_relu(x, w, b, *how)
        if self.kind == "block":
            return torch.cudnn_convolution_add_relu(x, w, r.permute(0, 3, 1, 2), 1.0, b, *how)
        return F.conv2d(x, w, stride=self.stride, padding=self.taps // 2)

    def sets(self, total):
        first = self.operands(0)
        size = sum(t.numel() for t in first) * 2 + self.batch * self.result**2 * self.outputs * 2
        count = max(1 if total == WARM else 2, min(64, total // size))
        return [first] + [self.operands(seed) for seed in range(1, count)]


def time_both(lib, name, layer, total):
    sets = layer.sets(total)
    shape = (layer.batch, layer.result, layer.result, layer.outputs)
    results = [torch.empty(shape, dtype=torch.float16, device="cuda") for _ in sets]
    ours = [products.ours(lib, name, t, y) for t, y in zip(sets, results)]
    results[0].fill_(float("nan"))
    ours[0](torch.cuda.current_stream().cuda_stream)
    expected = layer.expected(*sets[0])
    error = products.off_by(results[0], expected)
    functions = {"ours": ours, "torch": [lambda s, t=t: layer.call(*t) for t in sets]}
    repeats = max(1, 64 // len(sets), int(2e-4 * 600e12 / layer.operations / len(sets)))
    repeats = min(repeats, max(1, 512 // len(sets)))
    graphs = {which: products.graph_of(calls * repeats) for which, calls in functions.items()}
    return products.time_of(graphs, len(sets) * repeats), error


def measure(lib, name):
    layer = Layer(name)
    row, worst = {"case": name, "gflop": f"{layer.operations * 1e-9:.3f}"}, 0
    for suffix, total in ("", COLD), ("_warm", WARM):
        times, error = time_both(lib, name, layer, total)
        worst = max(worst, error)
        row |= {which + suffix: f"{t:.2f}" for which, t in times.items()}
        row["ratio" + suffix] = f"{times['torch'] / times['ours']:.3f}"
    return row, worst


def mean(rows, column):
    return statistics.geometric_mean(float(row[column]) for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--runtime")
    parser.add_argument("--out")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # of the comparison in f32
    lib = library.Libraries([options.library], options.runtime)
    rows, problems = [], []
    print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}; µs, and how many times as fast as PyTorch")
    print(f"{'':34} {'cold: ours':>10} {'torch':>8} {'ratio':>6}  {'warm: ours':>10} {'torch':>8} {'ratio':>6}")
    for name in options.names or lib.functions:
        row, error = measure(lib, name)
        rows.append(row)
        cells = f"{row['ours']:>10} {row['torch']:>8} {row['ratio']:>6}  {row['ours_warm']:>10} {row['torch_warm']:>8} "
        print(f"{name:34} {cells}{row['ratio_warm']:>6}", flush=True)
        if not error < 0.01:
            problems.append(f"{name}: off by {error:.3g}")
    print(f"geometric means: cold {mean(rows, 'ratio'):.3f}, warm {mean(rows, 'ratio_warm'):.3f}")
    return products.finish(rows, COLUMNS, options.out, problems)


if __name__ == "__main__":
    sys.exit(main())
