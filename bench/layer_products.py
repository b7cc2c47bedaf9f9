#!/usr/bin/env python3
"""Schedules of products inside of a transformer's layers: norm, Q/K/V, attention, projection, norm, GELU, product, in f16.

    bench/layer_products.py HDSC [--runtime=libhdsrt.so] [--out=FILE] [COLUMNS_ROWS…]
    bench/layer_products.py --instances COLUMNS_ROWS

A graph has 12 layers with weights of their own, which do not fit L2. One of the four products at a time has another schedule of
ops/matmul/hopper.hds than the model of cost chooses. For each product a line: schedules, and the µs of a layer more than with the
choice. Before that: the time of a layer, and how much less it is without one of the kernels. Results are compared with f32
arithmetic. --out: a CSV file. --instances: prints the module of a layer's kernels. Exit code: 1 if a result is wrong.
"""

import argparse
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import schedules

LAYERS = 12
SIZES = [f"768_{rows}" for rows in (16, 32, 50, 128, 197, 256, 384, 512)]
SIZES += [f"1024_{rows}" for rows in (16, 50, 128, 197, 256, 512)]
# The products: function in layer_products.hds, columns of the result and k by those of the layer, operand, residual, result.
PRODUCTS = {
    "qkv": ("finished", 3, 1, "h", None, "qkv"), "proj": ("added", 1, 1, "o", "x", "x2"),
    "up": ("activated", 4, 1, "h2", None, "f"), "down": ("added", 1, 4, "f", "x2", "x"),
}  # fmt: skip
NAMES = [
    "128x256_3_4", "128x128t_6_1", "128x128_5_2", "128x96_7_3", "192x64_6_1", "128x64_8_1", "64x128_8_2", "64x64_12_1",
    "64x32_14_1", "64x64_8_0_k2", "64x64_8_0_k4", "64x64_8_0_k8", "64x32_12_0_k2", "64x32_12_0_k4", "128x64_7_0_k4", "64x16_20_0_s",
    "64x16_20_0_k2_s", "64x32_16_0_k2_s",
]  # fmt: skip
WIDTHS = {"x": 1, "h": 1, "qkv": 3, "o": 1, "x2": 1, "h2": 1, "f": 4}  # of tensors between kernels
ORDER = ("norm1", "qkv", "attention", "proj", "norm2", "up", "down")


def is_fitting(name, rows, columns, k):
    """Whether a schedule is worth a try: not too many blocks, nor too few, and some steps for each part of k."""
    tall, wide = map(int, re.match(r"(\d+)x(\d+)", name).groups())
    split = re.search(r"_k(\d)", name)
    parts, swapped = int(split[1]) if split else 1, name.endswith("_s")
    tiles = -(-(columns if swapped else rows) // tall) * -(-(rows if swapped else columns) // wide)
    fills = tiles * parts <= 160 and k // 64 // parts >= 3 if split else 18 <= tiles <= 320
    return fills and (rows <= 64 if swapped else rows > tall // 2)


def names_of(width, rows):
    found = {}
    for product, (_, n, k, *_) in PRODUCTS.items():
        found[product] = ["model"] + [name for name in NAMES if is_fitting(name, rows, n * width, k * width)]
    return found


def text_of(width, rows):
    """The module of all instances."""
    lines = ["from layer_products import activated, added, attended, finished, normed", ""]
    lines += [f"norm = normed[{rows}, {width}]", f"attend = attended[{rows}, {width // 64}]"]
    for product, names in names_of(width, rows).items():
        function, n, k = PRODUCTS[product][:3]
        lines += [f'{product}_{name} = {function}[{rows}, {n * width}, {k * width}, "{name}"]' for name in names]
    return "\n".join(lines) + "\n"


class Layers:
    """The kernels of LAYERS layers, ready to be called, and what is wrong with them."""

    def __init__(self, lib, width, rows):
        import products
        import torch

        half = lambda *shape: torch.randn(shape, device="cuda").half()
        self.tensors = {n: half(rows, w * width) for n, w in WIDTHS.items()}
        heads = [half(1, width // 64, rows, 64) for _ in range(3)]
        scale, bias = torch.ones(width, device="cuda"), torch.zeros(width, device="cuda")
        self.kept = [heads, scale, bias]
        self.calls, self.problems = {}, []
        for product, (_, n, k, x, r, y) in PRODUCTS.items():
            weights = [[half(k * width, n * width).mul_(0.02), half(n * width).mul_(0.1)] for _ in range(LAYERS)]
            self.kept.append(weights)
            residual = [] if r is None else [self.tensors[r]]
            operands = [[self.tensors[x], *weights[layer], *residual] for layer in range(LAYERS)]
            for name in names_of(width, rows)[product]:
                symbol = f"{product}_{name}"
                self.calls[product, name] = [products.ours(lib, symbol, t, self.tensors[y]) for t in operands]
                self.check(lib, symbol, operands[0])
        of_norm = lambda x, y: [products.ours(lib, "norm", [self.tensors[x], scale, bias], self.tensors[y])] * LAYERS
        self.calls["norm1", ""], self.calls["norm2", ""] = of_norm("x", "h"), of_norm("x2", "h2")
        self.calls["attention", ""] = [products.ours(lib, "attend", heads, self.tensors["o"])] * LAYERS

    def check(self, lib, symbol, operands):
        import products
        import torch

        x, w, b, *r = [t.float() for t in operands]
        expected = x @ w + b
        expected = torch.nn.functional.gelu(expected) if symbol.startswith("up") else sum(r, expected)
        result = torch.full(expected.shape, float("nan"), dtype=torch.float16, device="cuda")
        products.ours(lib, symbol, operands, result)(torch.cuda.current_stream().cuda_stream)
        error = products.off_by(result, expected)
        self.problems += [] if error < 0.02 else [f"{symbol}: off by {error:.3g}"]

    def graph(self, without=None, **names):
        """Of all layers but one kernel, with these schedules."""
        import products

        steps = [(step, names.get(step, "model" if step in PRODUCTS else "")) for step in ORDER if step != without]
        return products.graph_of([self.calls[step][layer] for layer in range(LAYERS) for step in steps])


def measure(options, size):
    """Rows of the table, and what is wrong."""
    import products
    from memory import library

    width, rows = map(int, size.split("_"))
    with tempfile.TemporaryDirectory() as folder:
        path = schedules.compiled(options.hdsc, text_of(width, rows), pathlib.Path(folder))
        layers = Layers(library.Libraries([str(path)], options.runtime), width, rows)
        graphs = {("layer", ""): layers.graph()}
        graphs.update((("without", step), layers.graph(without=step)) for step in ORDER)
        graphs.update(((p, name), layers.graph(**{p: name})) for p, name in layers.calls if p in PRODUCTS and name != "model")
        times = products.time_of(graphs, LAYERS)
    base = times.pop(("layer", ""))
    print(f"{size}: {base:.2f} µs a layer; less without: " + " ".join(f"{n}:{base - times['without', n]:.2f}" for n in ORDER))
    for product in PRODUCTS:
        found = sorted((t - base, name) for (of, name), t in times.items() if of == product)
        print(f"    {product}: " + " ".join(f"{name}:{t:+.2f}" for t, name in found), flush=True)
    row = lambda of, name, t: {"columns": width, "rows": rows, "kernel": of, "schedule": name, "us": f"{t:.2f}"}
    return [row("layer", "", base)] + [row(of, name, t - base) for (of, name), t in times.items()], layers.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc", nargs="?")
    parser.add_argument("--runtime")
    parser.add_argument("--out")
    parser.add_argument("--instances")
    parser.add_argument("sizes", nargs="*")
    options = parser.parse_intermixed_args()
    if options.instances:
        print(text_of(*map(int, options.instances.split("_"))), end="")
        return 0
    import products

    rows, problems = [], []
    for size in options.sizes or SIZES:
        of_size, wrong = measure(options, size)
        rows += of_size
        problems += wrong
    return products.finish(rows, ["columns", "rows", "kernel", "schedule", "us"], options.out, problems)


if __name__ == "__main__":
    sys.exit(main())
