#!/usr/bin/env python3
"""Convolutions of ResNet's layers with one image, by several schedules of Hopper's kernel, in one run: f16, channels last.

    bench/conv_schedules.py HDSC [--runtime=libhdsrt.so] [--only=TEXT] [--cold] [--ahead=STEPS] [LAYER…]

For each layer a line: schedules and their times in µs, the fastest first; "model" is what conv2d launches, "cudnn" PyTorch's call
with cudnn.benchmark. A schedule is BM x BN, "s" before it for swapped operands, "k" and the number of blocks that share a tile's
sums; BM are pixels, or channels if operands are swapped. Operands stay in L2, and CUDA graphs alternate. Results are compared
with f32 arithmetic.
LAYER: batch, channels, extent, channels of the result, taps, stride, as in 1_64_56_64_3_1. --only: schedules whose name has TEXT.
--cold: operands that are not in L2, as weights of a large network. --ahead=4,16: also each schedule without parts that brings so
many steps of its weights into L2 while it waits for its predecessor ("a4"): whether that pays.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import schedules

LAYERS = [
    "1_64_56_64_3_1", "1_128_28_128_3_1", "1_256_14_256_3_1", "1_512_7_512_3_1",
    "1_64_56_128_3_2", "1_128_28_256_3_2", "1_256_14_512_3_2",
    "1_64_56_128_1_2", "1_128_28_256_1_2", "1_256_14_512_1_2",
]  # fmt: skip
TILES = [(64, 32, 9), (64, 64, 8), (128, 32, 8), (128, 64, 7), (64, 128, 7), (128, 128, 4)]  # BM, BN, slots of the ring
SWAPPED = [(64, 24, 9), (64, 56, 9), (64, 104, 7), (128, 56, 7)]


def all_schedules(ahead=()):
    """{name: the text of a Schedule}"""
    found = {}
    for is_swapped, tiles in ((False, TILES), (True, SWAPPED)):
        for BM, BN, stages in tiles:
            for parts in (1, 2, 4, 8):
                how = f"BM={BM}, BN={BN}, stages={stages}, warpgroups={BM // 64}, registers=0, group=8, epilogue_stages=0"
                name = f"{'s' * is_swapped}{BM}x{BN}" + (f"k{parts}" if parts > 1 else "")
                found[name] = f"Schedule({how}, parts={parts}, swap={is_swapped})"
            for steps in ahead:
                found[f"{'s' * is_swapped}{BM}x{BN}a{steps}"] = f"Schedule({how}, swap={is_swapped}, ahead={steps})"
    return found


def text_of(layers, names):
    """The module of all instances."""
    lines = ["from conv_layers import Layer", "from conv_schedules import chosen, forced"]
    lines += ["from matmul.schedules import Schedule", ""]
    for layer in layers:
        numbers = layer.replace("_", ", ")
        lines.append(f"by_model_{layer} = chosen[Layer({numbers})]")
        lines += [f"by_{name}_{layer} = forced[Layer({numbers}), {S}]" for name, S in names.items()]
    return "\n".join(lines) + "\n"


def measure(lib, text, names, torch, conv, total):
    """The line of a layer, and what is wrong with it."""
    layer = conv.Layer(f"conv_{text}")
    sets = layer.sets(total)
    shape = layer.batch, layer.result, layer.result, layer.outputs
    results = [torch.empty(shape, dtype=torch.float16, device="cuda") for _ in sets]
    symbols = {name: f"by_{name}_{text}" for name in ["model", *names]}
    times, problems = schedules.race(lib, symbols, sets, results, {"cudnn": layer.call}, layer.expected(*sets[0]))
    return f"{text:18} " + " ".join(f"{name}:{t:.2f}" for name, t in sorted(times.items(), key=lambda of: of[1])), problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc")
    parser.add_argument("--runtime")
    parser.add_argument("--only", default="")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--ahead", default="")
    parser.add_argument("layers", nargs="*")
    options = parser.parse_intermixed_args()
    import conv
    import torch
    from memory import library

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # of the comparison in f32
    ahead = [int(steps) for steps in options.ahead.split(",") if steps]
    layers, names = options.layers or LAYERS, {name: S for name, S in all_schedules(ahead).items() if options.only in name}
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        lib = library.Libraries([str(schedules.compiled(options.hdsc, text_of(layers, names), pathlib.Path(folder)))], options.runtime)
        print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}; µs")
        for text in layers:
            line, found = measure(lib, text, names, torch, conv, conv.COLD if options.cold else conv.WARM)
            print(line, flush=True)
            problems += found
    if problems:
        print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
