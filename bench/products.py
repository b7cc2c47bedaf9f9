#!/usr/bin/env python3
"""Products as operators, beside PyTorch: plain ones, with epilogues derived from definitions or written by hand, and blocks.

    hdsc -I ops bench/products.hds --gpu=native -o products.so -h products.h
    bench/products.py --library=products.so [--runtime=libhdsrt.so] [--compiled] [--out=FILE]

Each row is measured in one run: CUDA graphs of launches over buffer sets that together are larger than L2, ours and PyTorch's
alternating, the median of the samples. --compiled also measures torch.compile (max-autotune). --out: a CSV file.
Results are compared with f32 arithmetic first. Exit code: 1 if one is wrong.
"""

import argparse
import csv
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch
import torch.nn.functional as F

from memory import library

SETS, SAMPLES = 4, 15


def linear(x, w, *b):
    return F.linear(x, w, *b)


def attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) * 0.125, dim=-1) @ v


# Name: (shapes of operands, PyTorch's function, floating-point operations, what it is compared with beside PyTorch)
SQUARE = [(4096, 4096), (4096, 4096)]
CASES = {
    **{f"square_{n}": ([(n, n), (n, n)], linear, 2 * n**3, None) for n in (1024, 2048, 4096, 8192)},
    "few_rows": ([(16, 4096), (4096, 4096)], linear, 2 * 16 * 4096**2, None),
    "bias": (SQUARE + [(4096,)], linear, 2 * 4096**3, "written_bias"),
    "bias_relu": (SQUARE + [(4096,)], lambda x, w, b: F.relu(F.linear(x, w, b)), 2 * 4096**3, None),
    "bias_gelu": (SQUARE + [(4096,)], lambda x, w, b: F.gelu(F.linear(x, w, b)), 2 * 4096**3, "written_bias_gelu"),
    "residual": (SQUARE + [(4096,), (4096, 4096)], lambda x, w, b, r: F.linear(x, w, b) + r, 2 * 4096**3, "written_residual"),
    "gated": (SQUARE + [(4096, 4096)], lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u), 4 * 4096**3, None),
    "feed_forward": (
        [(2048, 1024), (4096, 1024), (4096,), (1024, 4096), (1024,)],
        lambda x, w, b, v, c: x + F.linear(F.gelu(F.linear(x, w, b)), v, c),
        4 * 2048 * 4096 * 1024,
        None,
    ),
    "attention": ([(64, 512, 64)] * 3, attention, 4 * 64 * 512 * 512 * 64, None),
}


def operands(shapes, seed):
    generator = torch.Generator("cuda").manual_seed(seed)
    return [torch.randn(s, generator=generator, device="cuda").mul(0.05 if k else 1.0).half() for k, s in enumerate(shapes)]


def ours(lib, name, tensors, result):
    function = lib.functions[name]
    return library.prepared(lib.images[name], function, [t.data_ptr() for t in [*tensors, result]])


def graph_of(calls):
    """A CUDA graph of all calls, each a function of a stream."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls:
            call(stream.cuda_stream)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for call in calls:
            call(stream.cuda_stream)
    return graph


def time_of(graphs, count):
    """Medians in µs of a call, graphs alternating."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = {name: [] for name in graphs}
    for sample in range(SAMPLES + 2):
        for name, graph in graphs.items():
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if sample >= 2:
                times[name].append(begin.elapsed_time(end) * 1000 / count)
    return {name: statistics.median(t) for name, t in times.items()}


def measure(lib, name, compiled):
    shapes, theirs, flops, written = CASES[name]
    small = sum(torch.Size(s).numel() for s in shapes) * 2 < 64 << 20
    sets = [operands(shapes, seed) for seed in range(SETS * (4 if small else 1))]
    results = [torch.empty_like(theirs(*tensors)) for tensors in sets]
    repeats = max(1, int(2e-4 * 600e12 / flops / len(sets)))

    functions = {"ours": [ours(lib, name, t, y) for t, y in zip(sets, results)]}
    if written:
        functions["written"] = [ours(lib, written, t, y) for t, y in zip(sets, results)]
    functions["torch"] = [lambda s, t=t: theirs(*t) for t in sets]
    if compiled:
        fast = torch.compile(theirs, mode="max-autotune-no-cudagraphs", dynamic=False)
        functions["compiled"] = [lambda s, t=t: fast(*t) for t in sets]
    wrong = []
    for which in [k for k in functions if k in ("ours", "written")]:
        results[0].fill_(float("nan"))
        functions[which][0](torch.cuda.current_stream().cuda_stream)
        expected = theirs(*[t.float() for t in sets[0]])
        error = off_by(results[0], expected)
        if not error < 0.01:
            wrong.append(f"{name}, {which}: off by {error:.3g}")
    graphs = {which: graph_of(calls * repeats) for which, calls in functions.items()}
    return time_of(graphs, len(sets) * repeats), wrong


def off_by(result, expected):
    """The largest error, relative to the value and the mean of all."""
    return ((result.float() - expected).abs() / (expected.abs() + expected.abs().mean())).max().item()


def finish(rows, columns, out, problems):
    """Writes the rows to the CSV file [out], if one is asked for, and the problems to standard error. Returns the exit code."""
    if out:
        with open(out, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--runtime")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("names", nargs="*", default=list(CASES))
    options = parser.parse_intermixed_args()
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    lib = library.Libraries([options.library], options.runtime)
    rows, problems = [], []
    print(f"{torch.cuda.get_device_name()}; µs, and how many times as fast as PyTorch")
    for name in options.names or CASES:
        times, wrong = measure(lib, name, options.compiled)
        problems += wrong
        rows.append({"case": name, **{which: f"{t:.2f}" for which, t in times.items()}})
        ratios = ", ".join(f"{which} {t:.2f} ({t / times['ours']:.3f})" for which, t in times.items() if which != "ours")
        print(f"{name:16} {times['ours']:9.2f}  {ratios}", flush=True)
    return finish(rows, ["case", "ours", "written", "torch", "compiled"], options.out, problems)


if __name__ == "__main__":
    sys.exit(main())
