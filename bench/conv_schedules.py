#!/usr/bin/env python3
"""Convolutions of ResNet's layers with one image, by several schedules of Hopper's kernel, in one run: f16, channels last.

    bench/conv_schedules.py HDSC [--runtime=libhdsrt.so] [--only=TEXT] [LAYER…]

For each layer a line: schedules and their times in µs, the fastest first; "model" is what conv2d launches, "cudnn" PyTorch's call
with cudnn.benchmark. A schedule is BM x BN, "s" before it for swapped operands, "k" and the number of blocks that share a tile's
sums; BM are pixels, or channels if operands are swapped. Operands stay in L2, and CUDA graphs alternate. Results are compared
with f32 arithmetic.
LAYER: batch, channels, extent, channels of the result, taps, stride, as in 1_64_56_64_3_1. --only: schedules whose name has TEXT.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[1]
LAYERS = [
    "1_64_56_64_3_1", "1_128_28_128_3_1", "1_256_14_256_3_1", "1_512_7_512_3_1",
    "1_64_56_128_3_2", "1_128_28_256_3_2", "1_256_14_512_3_2",
    "1_64_56_128_1_2", "1_128_28_256_1_2", "1_256_14_512_1_2",
]  # fmt: skip
TILES = [(64, 32, 9), (64, 64, 8), (128, 32, 8), (128, 64, 7), (64, 128, 7), (128, 128, 4)]  # BM, BN, slots of the ring
SWAPPED = [(64, 24, 9), (64, 56, 9), (64, 104, 7), (128, 56, 7)]


def schedules():
    """{name: the text of a Schedule}"""
    found = {}
    for is_swapped, tiles in ((False, TILES), (True, SWAPPED)):
        for BM, BN, stages in tiles:
            for parts in (1, 2, 4, 8):
                how = f"BM={BM}, BN={BN}, stages={stages}, warpgroups={BM // 64}, registers=0, group=8, epilogue_stages=0"
                name = f"{'s' * is_swapped}{BM}x{BN}" + (f"k{parts}" if parts > 1 else "")
                found[name] = f"Schedule({how}, parts={parts}, swap={is_swapped})"
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


def compiled(hdsc, layers, names, folder):
    (folder / "instances.hds").write_text(text_of(layers, names))
    out = folder / "instances.so"
    command = [hdsc, "-I", TOP / "ops", "-I", TOP / "bench", folder / "instances.hds", "--gpu=native", "-o", out]
    subprocess.run([*command, "-h", folder / "instances.h"], check=True)
    return out


def measure(lib, text, names, torch, conv, products):
    """The line of a layer, and what is wrong with it."""
    layer, problems = conv.Layer(f"conv_{text}"), []
    sets = layer.sets(conv.WARM)
    shape = layer.batch, layer.result, layer.result, layer.outputs
    results = [torch.empty(shape, dtype=torch.float16, device="cuda") for _ in sets]
    functions, expected = {}, layer.expected(*sets[0])
    for name in ["model", *names]:
        calls = [products.ours(lib, f"by_{name}_{text}", t, y) for t, y in zip(sets, results)]
        results[0].fill_(float("nan"))
        calls[0](torch.cuda.current_stream().cuda_stream)
        error = products.off_by(results[0], expected)
        problems += [] if error < 0.01 else [f"{text}, {name}: off by {error:.3g}"]
        functions[name] = calls
    functions["cudnn"] = [lambda s, t=t: layer.call(*t) for t in sets]
    repeats = max(1, 64 // len(sets))
    graphs = {name: products.graph_of(calls * repeats) for name, calls in functions.items()}
    times = products.time_of(graphs, len(sets) * repeats)
    return f"{text:18} " + " ".join(f"{name}:{t:.2f}" for name, t in sorted(times.items(), key=lambda of: of[1])), problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc")
    parser.add_argument("--runtime")
    parser.add_argument("--only", default="")
    parser.add_argument("layers", nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, str(TOP / "bench"))
    import conv
    import products
    import torch
    from memory import library

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # of the comparison in f32
    layers, names = options.layers or LAYERS, {name: S for name, S in schedules().items() if options.only in name}
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        lib = library.Libraries([str(compiled(options.hdsc, layers, names, pathlib.Path(folder)))], options.runtime)
        print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}; µs")
        for text in layers:
            line, found = measure(lib, text, names, torch, conv, products)
            print(line, flush=True)
            problems += found
    if problems:
        print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
