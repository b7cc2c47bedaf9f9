#!/usr/bin/env python3
"""Inverted bottlenecks of MobileNetV2 as one kernel and as three, beside cuDNN's convolutions, in one run: f16, channels last.

    bench/bottlenecks.py HDSC [--runtime=libhdsrt.so] [--out=FILE] [BLOCK…]

For each block a line of times in µs: "one", "three", and "torch", PyTorch's calls with cudnn.benchmark. Operands stay in L2, and CUDA
graphs alternate. Results are compared with f32 arithmetic. --out: a CSV file. BLOCK: images, channels, hidden ones, those of the
result, extent, stride, as in 1_64_384_64_14_1. Exit code: 1 if a result is wrong.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import schedules

BLOCKS = [
    "1_16_96_24_112_2", "1_24_144_24_56_1", "1_24_144_32_56_2", "1_32_192_32_28_1", "1_32_192_64_28_2", "1_64_384_64_14_1",
    "1_64_384_96_14_1", "1_96_576_96_14_1", "1_96_576_160_14_2", "1_160_960_160_7_1", "1_160_960_320_7_1",
]  # fmt: skip
WARM = 4  # sets of operands, which together stay in L2


def text_of(blocks):
    """The module of all instances."""
    lines = ["from bottlenecks import one, three", ""]
    lines += [f"{name}_{block} = {name}[{block.replace('_', ', ')}]" for block in blocks for name in ("one", "three")]
    return "\n".join(lines) + "\n"


def torch_call(stride):
    """block(x, w1, w2, w3, b1, b2, b3, r) by PyTorch, on tensors with channels last."""
    import torch.nn.functional as F

    def call(x, w1, w2, w3, b1, b2, b3, r):
        seen = [t.permute(0, 3, 1, 2) for t in (x, w1, w2, w3)]
        h = F.relu6(F.conv2d(seen[0], seen[1], b1))
        z = F.relu6(F.conv2d(h, seen[2], b2, stride=stride, padding=1, groups=b2.shape[0]))
        return F.conv2d(z, seen[3], b3).permute(0, 2, 3, 1) + r

    return call


def measure(lib, block):
    """{name: µs}, and what is wrong."""
    import torch

    N, C, E, K, H, stride = map(int, block.split("_"))
    m = (H - 1) // stride + 1
    shapes = [(N, H, H, C), (E, 1, 1, C), (E, 3, 3, 1), (K, 1, 1, E), (E,), (E,), (K,), (N, m, m, K)]
    scales = [1, C**-0.5, 1 / 3, E**-0.5, 1, 1, 1, 1]

    def operands(seed):
        generator = torch.Generator("cuda").manual_seed(seed)
        pairs = zip(shapes, scales, strict=True)
        return [torch.randn(shape, generator=generator, device="cuda").mul(scale).half() for shape, scale in pairs]

    sets, call = [operands(seed) for seed in range(WARM)], torch_call(stride)
    results = [torch.empty((N, m, m, K), dtype=torch.float16, device="cuda") for _ in sets]
    symbols = {name: f"{name}_{block}" for name in ("one", "three")}
    return schedules.race(lib, symbols, sets, results, {"torch": call}, call(*[t.float() for t in sets[0]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc")
    parser.add_argument("--runtime")
    parser.add_argument("--out")
    parser.add_argument("blocks", nargs="*")
    options = parser.parse_intermixed_args()
    import products
    import torch
    from memory import library

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # of the comparison in f32
    blocks, rows, problems = options.blocks or BLOCKS, [], []
    with tempfile.TemporaryDirectory() as folder:
        lib = library.Libraries([str(schedules.compiled(options.hdsc, text_of(blocks), pathlib.Path(folder)))], options.runtime)
        print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}; µs")
        for block in blocks:
            times, found = measure(lib, block)
            problems += found
            rows.append({"block": block, **{name: f"{t:.2f}" for name, t in times.items()}})
            print(f"{block:18} " + " ".join(f"{name}:{t:.2f}" for name, t in times.items()), flush=True)
    return products.finish(rows, ["block", "one", "three", "torch"], options.out, problems)


if __name__ == "__main__":
    sys.exit(main())
