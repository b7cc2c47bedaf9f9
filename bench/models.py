#!/usr/bin/env python3
"""Models as graph functions beside PyTorch, eager and compiled (max-autotune), in CUDA graphs.

    hdsc examples/models/mlp.hds -D B=64 --gpu=native -o mlp_64.so -h mlp_64.h
    hdsc examples/models/transformer_block.hds -D B=8 -D S=512 -D N=1024 -D F=4096 -D H=16 --gpu=native -o block_8.so -h block_8.h
    bench/models.py mlp_64.so block_8.so [--runtime=libhdsrt.so] [--out=FILE]

A library has one model; its operands are those that its header names. What depends on weights alone is computed once, before.
Results are compared with f32 arithmetic first. Exit code: 1 if one is wrong.
"""

import argparse
import csv
import inspect
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch
import torch.nn.functional as F

import products
from memory import library


def mlp(x, layers_0_weight, layers_0_bias, layers_1_weight, layers_1_bias, head_weight, head_bias):
    x = F.relu(F.linear(F.relu(F.linear(x, layers_0_weight, layers_0_bias)), layers_1_weight, layers_1_bias))
    return torch.softmax(F.linear(x, head_weight, head_bias), dim=-1)


def transformer_block(x, norm1, wq, wk, wv, wo, norm2, gate, up, down):
    B, S, N = x.shape
    y = F.rms_norm(x, (N,), norm1, 1e-6)
    q, k, v = [F.linear(y, w).view(B, S, HEADS, N // HEADS).transpose(1, 2) for w in (wq, wk, wv)]
    y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, S, N)
    x = x + F.linear(y, wo)
    y = F.rms_norm(x, (N,), norm2, 1e-6)
    return x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)


def block_operands(B, S=512, N=1024, FF=4096):
    return [(B, S, N), (N,), (N, N), (N, N), (N, N), (N, N), (N,), (FF, N), (FF, N), (N, FF)]


# Function of the library: (shapes of operands for B, PyTorch's function, whose parameters are named as the library's)
MODELS = {
    "mlp": (lambda B: [(B, 784), (512, 784), (512,), (512, 512), (512,), (16, 512), (16,)], mlp),
    "transformer_block": (block_operands, transformer_block),
    "block_parameters": (block_operands, transformer_block),
}


HEADS = 16


def batch_of(path):
    return int(path.stem.rpartition("_")[2])


def prepared(lib, name, tensors):
    """[tensors] with those that the model's load function computes, which is called."""
    load = lib.functions.get(f"{name}_load")
    if load is None:
        return tensors
    empty = lambda p: torch.empty([int(n) for n in p.shape], dtype=torch.float16, device="cuda")
    tensors = {**tensors, **{p.name: empty(p) for p in load.tensors if p.is_written}}
    addresses = [tensors[p.name].data_ptr() for p in load.parameters]
    library.prepared(lib.images[load.name], load, addresses)(torch.cuda.current_stream().cuda_stream)
    return tensors


def measure(path, runtime):
    lib = library.Libraries([path], runtime)
    name = next(n for n in lib.functions if n in MODELS)
    shapes, theirs = MODELS[name]
    tensors = products.operands(shapes(batch_of(path)), 1)
    result = torch.empty_like(theirs(*tensors))
    named = prepared(lib, name, {**dict(zip(inspect.signature(theirs).parameters, tensors)), "out": result})
    function = lib.functions[name]
    call = library.prepared(lib.images[name], function, [named[p.name].data_ptr() for p in function.parameters])
    call(torch.cuda.current_stream().cuda_stream)
    expected = theirs(*[t.float() for t in tensors])
    error = (result.float() - expected).abs().max().item()
    fast = torch.compile(theirs, mode="max-autotune-no-cudagraphs", dynamic=False)
    functions = {"ours": [call], "torch": [lambda s: theirs(*tensors)], "compiled": [lambda s: fast(*tensors)]}
    repeats = 50
    graphs = {which: products.graph_of(calls * repeats) for which, calls in functions.items()}
    return products.time_of(graphs, repeats), error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", type=pathlib.Path)
    parser.add_argument("--runtime")
    parser.add_argument("--out")
    options = parser.parse_args()
    rows, wrong = [], False
    print(f"{torch.cuda.get_device_name()}; µs, and how many times as fast as PyTorch")
    for path in options.libraries:
        times, error = measure(path, options.runtime)
        wrong = wrong or not error < 0.01
        rows.append({"model": path.stem, **{which: f"{t:.2f}" for which, t in times.items()}})
        ratios = ", ".join(f"{which} {t:.2f} ({t / times['ours']:.3f})" for which, t in times.items() if which != "ours")
        print(f"{path.stem:12} {times['ours']:8.2f}  {ratios}; off by {error:.2g}", flush=True)
    if options.out:
        with open(options.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["model", "ours", "torch", "compiled"])
            writer.writeheader()
            writer.writerows(rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
