#!/usr/bin/env python3
"""Convolutions beside PyTorch's by cuDNN, channels last, in one run: layers of ResNet-18 and 50, a U-Net and a ViT.

    hdsc -I ops bench/conv_layers.hds --gpu=native -o conv_layers.so -h conv_layers.h
    bench/conv.py --library=conv_layers.so [--runtime=libhdsrt.so] [--out=FILE] [NAME…]

Each row is measured in one run: CUDA graphs of launches, ours and PyTorch's (cudnn.benchmark) alternating, the median of the
samples. Cold: over buffer sets that together are larger than L2; warm, of one image: over sets that stay there, as weights and
images of one network do. Names have batch, channels, extent of images, channels of the result, taps and stride, and a type
that is not f16; relu: with bias and ReLU; block: with a residual as well. NAME may be a pattern. 8-bit integers are beside
functions of cuDNN that are older than its graphs (bench/cudnn.py), 8-bit floats beside PyTorch's bf16. Then there are
geometric means by group, and targets.
--out: a CSV file. Results are compared with f32 arithmetic first. Exit code: 1 if one is wrong.
"""

import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch
import torch.nn.functional as F

import cudnn
import products
from memory import library

WARM, COLD = 16 << 20, 96 << 20  # bytes of all sets: in L2, and beyond it
COLUMNS = ["case", "gflop", "ours", "torch", "ratio", "ours_warm", "torch_warm", "ratio_warm"]
TYPES = {
    **{"bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32, "winograd": torch.float32},
    **{"i8": torch.int8, "f8": torch.float8_e4m3fn},
}
RATES = {"f32": 40e12, "winograd": 60e12, "tf32": 300e12, "i8": 1000e12, "f8": 1000e12}  # operations in a second, about
RESULTS = {"i8": torch.int32, "f8": torch.bfloat16}
ERRORS = {"f32": 1e-4, "winograd": 1e-4, "f8": 0.03}  # 0.01 of others
CHECKED = 4  # images that are compared
GRAPH = 2e-3  # seconds of a graph, about

# Of groups: whether names are in it, the geometric mean and the least ratio that are wanted; with one image operands are in L2.
TARGETS = {
    "batch 1": (lambda n: n.batch == 1 and not n.type, 1.5, 1.2),
    "batch 32": (lambda n: n.batch == 32 and not n.type, 1.02, 0.95),
    "batch 128": (lambda n: n.batch == 128 and not n.type, 1.02, 0.95),
    **{type: (lambda n, type=type: n.type == type, 0.95, 0.95) for type in ("bf16", "f32", "tf32", "winograd", "i8", "f8")},
}


class Layer:
    def __init__(self, name):
        _, *words = name.split("_")
        numbers = [int(w) for w in words if w.isdigit()]
        self.batch, self.inputs, self.extent, self.outputs, self.taps, self.stride = numbers
        self.type = next((w for w in words if w in TYPES), "")
        self.kind = next((w for w in words if w in ("relu", "block")), "")
        self.padding = self.taps // 2 * (self.taps % 2)
        self.result = (self.extent + 2 * self.padding - self.taps) // self.stride + 1
        self.operations = 2 * self.batch * self.result**2 * self.outputs * self.inputs * self.taps**2
        self.dtype = TYPES.get(self.type, torch.float16)
        self.result_dtype = RESULTS.get(self.type, self.dtype)

    def operands(self, seed):
        """x, w, and bias and residual where there are, stored with channels last."""
        n = self
        shapes = [(n.batch, n.extent, n.extent, n.inputs), (n.outputs, n.taps, n.taps, n.inputs)]
        shapes += [(n.outputs,)] if n.kind else []
        shapes += [(n.batch, n.result, n.result, n.outputs)] if n.kind == "block" else []
        generator = torch.Generator("cuda").manual_seed(seed)
        if n.dtype == torch.int8:
            return [torch.randint(-9, 10, s, generator=generator, device="cuda", dtype=n.dtype) for s in shapes]
        scales = [1, 0.05, 1, 1]
        return [torch.randn(s, generator=generator, device="cuda").mul_(f).to(n.dtype) for s, f in zip(shapes, scales)]

    def expected(self, x, w, b=None, r=None):
        """In f32, by PyTorch's own kernels."""
        x, w = (t.float().permute(0, 3, 1, 2) for t in (x, w))
        y = F.conv2d(x, w, None if b is None else b.float(), stride=self.stride, padding=self.padding)
        y = y if r is None else y + r.float().permute(0, 3, 1, 2)
        return (y.relu() if self.kind else y).permute(0, 2, 3, 1)

    def call(self, x, w, b=None, r=None):
        """What PyTorch has for it: a call of cuDNN, on views of the same memory."""
        x, w = x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2)
        how = [self.stride] * 2, [self.padding] * 2, [1, 1], 1
        if self.kind == "relu":
            return torch.cudnn_convolution_relu(x, w, b, *how)
        if self.kind == "block":
            return torch.cudnn_convolution_add_relu(x, w, r.permute(0, 3, 1, 2), 1.0, b, *how)
        return F.conv2d(x, w, stride=self.stride, padding=self.padding)

    def bytes(self):
        images = self.batch * (self.extent**2 * self.inputs + self.result**2 * self.outputs)
        return (images + self.outputs * self.taps**2 * self.inputs) * self.dtype.itemsize

    def sets(self, total):
        count = max(1 if total == WARM else 2, min(64, total // self.bytes()))
        return [self.operands(seed) for seed in range(count)]

    def results(self, sets):
        shape = (self.batch, self.result, self.result, self.outputs)
        return [torch.empty(shape, dtype=self.result_dtype, device="cuda") for _ in sets]

    def peers(self, sets):
        """The calls beside ours: functions of a stream."""
        if self.type == "i8":
            own, floats = cudnn.Library(), [torch.empty(y.shape, device="cuda") for y in self.results(sets)]
            return [own.convolution(*t, y, self.stride, self.padding) for t, y in zip(sets, floats)]
        if self.type == "f8":
            sets = [[t.bfloat16() for t in operands] for operands in sets]
        return [lambda s, t=t: self.call(*t) for t in sets]


def error_of(layer, operands, result):
    """Of some images, the last one among them."""
    some = sorted({*range(min(CHECKED, layer.batch)), layer.batch - 1})
    x, w, *more = operands
    more = [t if t.dim() == 1 else t[some] for t in more]
    torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = False  # of the comparison
    expected = layer.expected(x[some], w, *more)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, layer.type == "tf32"
    return products.off_by(result[some], expected)


def time_both(lib, name, layer, total):
    sets = layer.sets(total)
    results = layer.results(sets)
    ours = [products.ours(lib, name, t, y) for t, y in zip(sets, results)]
    results[0].fill_(-7 if layer.type == "i8" else float("nan"))
    ours[0](torch.cuda.current_stream().cuda_stream)
    error = error_of(layer, sets[0], results[0])
    functions = {"ours": ours}
    try:
        functions["torch"] = layer.peers(sets)
    except cudnn.Failed as failure:
        print(f"{name}: {failure}", file=sys.stderr)
    seconds = max(layer.operations / RATES.get(layer.type, 600e12), layer.bytes() / 4e12, 3e-6)
    repeats = max(1, min(512, int(GRAPH / seconds)) // len(sets))
    graphs = {which: products.graph_of(calls * repeats) for which, calls in functions.items()}
    return products.time_of(graphs, len(sets) * repeats), error


def measure(lib, name):
    layer = Layer(name)
    row, worst = {"case": name, "gflop": f"{layer.operations * 1e-9:.3f}"}, 0
    for suffix, total in [("", COLD)] + [("_warm", WARM)] * (layer.batch == 1):
        times, error = time_both(lib, name, layer, total)
        worst = max(worst, error)
        row |= {which + suffix: f"{t:.2f}" for which, t in times.items()}
        if "torch" in times:
            row["ratio" + suffix] = f"{times['torch'] / times['ours']:.3f}"
    return row, worst


def shown(row):
    cells = [f"{row.get(column, ''):>{width}}" for column, width in zip(COLUMNS[2:], (10, 8, 6, 11, 8, 6))]
    return f"{row['case']:34} {' '.join(cells)}"


def summary(rows):
    """A line for each group of which there are rows."""
    for group, (is_in, mean, least) in TARGETS.items():
        column = "ratio_warm" if group == "batch 1" else "ratio"
        found = {row["case"]: float(row[column]) for row in rows if is_in(Layer(row["case"])) and column in row}
        if found:
            slowest = min(found, key=found.get)
            of_all = statistics.geometric_mean(found.values())
            below = sum(r < least for r in found.values())
            text = f"{group:10} geomean {of_all:.3f} (target {mean}), least {found[slowest]:.3f} (target {least}) of {slowest}, "
            yield text + f"{below} of {len(found)} below"


def run(lib, patterns, out=None):
    """Measures what the library has of these names. Returns the lines of the summary, and what is wrong."""
    rows, problems = [], []
    print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}; µs, and how many times as fast as PyTorch")
    print(f"{'':34} {'cold: ours':>10} {'torch':>8} {'ratio':>6} {'warm: ours':>11} {'torch':>8} {'ratio':>6}")
    for name in lib.matching(patterns):
        row, error = measure(lib, name)
        rows.append(row)
        print(shown(row), flush=True)
        if not error < ERRORS.get(Layer(name).type, 0.01):
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
    lines, problems = run(library.Libraries([options.library], options.runtime), options.names or ["conv_*"], options.out)
    print("\n".join(lines))
    return products.finish([], COLUMNS, None, problems)


if __name__ == "__main__":
    sys.exit(main())
