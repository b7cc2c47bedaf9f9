#!/usr/bin/env python3
"""Attention beside PyTorch's flash attention and cuDNN's, in one run: CUDA graphs of launches, alternating, medians.

    hdsc -I ops bench/sdpa.hds --gpu=native -o sdpa.so -h sdpa.h
    bench/sdpa.py --library=sdpa.so [--runtime=libhdsrt.so] [NAME…]

A name says whether all keys are seen or causal ones, then batch, heads, rows and extent of heads. Results are compared with f32
arithmetic first. Exit code: 1 if one is wrong.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import products
from memory import library

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
SETS = 4


def theirs(backend, tensors, causal):
    def call(_stream):
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(*tensors, is_causal=causal)

    return call


def measure(lib, name):
    kind, *extents = name.split("_")
    causal, shape = kind == "causal", [int(n) for n in extents]
    generator = torch.Generator("cuda").manual_seed(1)
    sets = [[torch.randn(shape, generator=generator, device="cuda").half() for _ in range(3)] for _ in range(SETS)]
    results = [torch.empty_like(tensors[0]) for tensors in sets]
    functions = {"ours": [products.ours(lib, name, t, y) for t, y in zip(sets, results)]}
    for backend, kind in BACKENDS.items():
        functions[backend] = [theirs(kind, t, causal) for t in sets]
    results[0].fill_(float("nan"))
    functions["ours"][0](torch.cuda.current_stream().cuda_stream)
    part = [t[:1, :2].float() for t in sets[0]]
    expected = F.scaled_dot_product_attention(*part, is_causal=causal)
    error = (results[0][:1, :2].float() - expected).abs().max().item()
    operations = 4 * shape[0] * shape[1] * shape[2] ** 2 * shape[3] // (2 if causal else 1)
    repeats = max(1, int(2e-4 * 600e12 / operations / SETS))
    graphs = {which: products.graph_of(calls * repeats) for which, calls in functions.items()}
    return products.time_of(graphs, SETS * repeats), operations, error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--runtime")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    lib = library.Libraries([options.library], options.runtime)
    is_wrong = False
    print(f"{torch.cuda.get_device_name()}; µs (TFLOP/s), and how many times as fast as PyTorch")
    for name in options.names or lib.functions:
        times, operations, error = measure(lib, name)
        is_wrong = is_wrong or not error < 0.01
        rate = operations / times["ours"] * 1e-6
        ratios = ", ".join(f"{which} {t:.2f} ({t / times['ours']:.3f})" for which, t in times.items() if which != "ours")
        print(f"{name:22} {times['ours']:9.2f} ({rate:5.1f})  {ratios}; off by {error:.2g}", flush=True)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
