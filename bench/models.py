#!/usr/bin/env python3
"""Models as graph functions beside PyTorch, eager and compiled (max-autotune), in CUDA graphs.

    hdsc examples/models/mlp.hds -D B=64 --gpu=native -o mlp_64.so -h mlp_64.h
    hdsc examples/models/transformer_block.hds -D B=8 -D S=512 -D N=1024 -D F=4096 -D H=16 --gpu=native -o block_8.so -h block_8.h
    bench/models.py mlp_64.so block_8.so [--runtime=libhdsrt.so] [--out=FILE]

A library has one model; its operands are those that its header names. Results are compared with f32 arithmetic first. Exit code:
1 if one is wrong.
"""

import argparse
import csv
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch
import torch.nn.functional as F

import products
from memory import library


def mlp(x, w1, b1, w2, b2, w3, b3):
    return torch.softmax(F.linear(F.relu(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)), w3, b3), dim=-1)


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


# Function of the library: (shapes of operands for B, PyTorch's function)
MODELS = {
    "mlp": (lambda B: [(B, 784), (512, 784), (512,), (512, 512), (512,), (16, 512), (16,)], mlp),
    "transformer_block": (block_operands, transformer_block),
}


HEADS = 16


def batch_of(path):
    return int(path.stem.rpartition("_")[2])


def measure(path, runtime):
    lib = library.Libraries([path], runtime)
    name = next(n for n in lib.functions if n in MODELS)
    shapes, theirs = MODELS[name]
    tensors = products.operands(shapes(batch_of(path)), 1)
    result = torch.empty_like(theirs(*tensors))
    call = products.ours(lib, name, tensors, result)
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
