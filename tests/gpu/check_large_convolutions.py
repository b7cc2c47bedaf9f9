#!/usr/bin/env python3
"""Convolutions of images with more than 2^31 elements on a GPU: the first and the last image, and those around element 2^31,
compared with PyTorch in f64.

    check_large_convolutions.py HDSC [--runtime=libhdsrt.so] [--library=large_convolutions.so]

Needs 20 GB of GPU memory. Exit code: 1 if a result is wrong, 2 without a GPU.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "bench"))

import torch
import torch.nn.functional as F
from memory import library

SOURCE = TOP / "tests" / "gpu" / "large_convolutions.hds"
CALLS = {
    "depthwise": lambda x, w: F.conv2d(x, w, padding=1, groups=x.shape[1]),
    "dense": lambda x, w: F.conv2d(x, w, padding=1),
    "pointwise": F.conv2d,
    "of_planes": lambda x, w: F.conv2d(x, w, padding=1),
    "first": lambda x, w: F.conv2d(x, w, stride=2, padding=3),
    "larger": lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
}


def numbers(shape, seed):
    """Small whole numbers, whose sums are exact in f32, without a tensor of another type that is as large."""
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.empty(shape, dtype=torch.float16, device="cuda").random_(-2, 3, generator=generator)


def check(lib, name):
    """What is wrong."""
    shapes = [tuple(map(int, p.shape)) for p in lib.functions[name].tensors]
    x, w = numbers(shapes[0], 1), numbers(shapes[1], 2)
    y = torch.full(shapes[2], float("nan"), dtype=torch.float16, device="cuda")
    call = library.prepared(lib.images[name], lib.functions[name], [t.data_ptr() for t in (x, w, y)])
    call(torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    is_first = name == "of_planes"
    seen = lambda t: t if is_first else t.permute(0, 3, 1, 2)
    middle = 2**31 // y[0].numel()
    problems = []
    for n in sorted({0, middle - 1, middle, len(y) - 1}):
        wanted = CALLS[name](seen(x[n : n + 1]).double(), seen(w).double()).half()
        wrong = int((seen(y[n : n + 1]) != wanted).sum())
        if wrong:
            problems.append(f"{name}: {wrong} of {wanted.numel()} elements of image {n} are wrong")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc")
    parser.add_argument("--runtime")
    parser.add_argument("--library")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("there is no GPU", file=sys.stderr)
        return 2
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        path = options.library or f"{folder}/large_convolutions.so"
        if not options.library:
            out = ["-o", path, "-h", f"{folder}/large_convolutions.h"]
            subprocess.run([options.hdsc, "-I", TOP / "ops", SOURCE, "--gpu=native", *out], check=True)
        lib = library.Libraries([path], options.runtime)
        for name in CALLS:
            found = check(lib, name)
            problems += found
            print(f"{name}: {'wrong' if found else 'right'}", flush=True)
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
