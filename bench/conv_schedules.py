#!/usr/bin/env python3
"""Convolutions of ResNet's layers with one image, by several schedules of Hopper's kernel, in one run: f16, channels last.

    bench/conv_schedules.py HDSC [--runtime=libhdsrt.so] [--only=TEXT] [--cold] [--ahead=STEPS] [--ranked=N] [LAYER…]
    bench/conv_schedules.py HDSC --products [--runtime=libhdsrt.so] [--only=TEXT] [LAYER…]
    bench/conv_schedules.py HDSC --halos [--runtime=libhdsrt.so] [--only=TEXT] [LAYER…]

For each layer a line: schedules and their times in µs, the fastest first; "model" is what conv2d launches, "cudnn" PyTorch's call
with cudnn.benchmark. A schedule is BM x BN, "s" before it for swapped operands, "k" and the number of blocks that share a tile's
sums; BM are pixels, or channels if operands are swapped. Operands stay in L2, and CUDA graphs alternate. Results are compared
with f32 arithmetic.
LAYER: batch, channels, extent, channels of the result, taps, stride, as in 1_64_56_64_3_1. --only: schedules whose name has TEXT.
--cold: operands that are not in L2, as weights of a large network. --ahead=4,16: also each schedule without parts that brings so
many steps of its weights into L2 while it waits for its predecessor ("a4"): whether that pays. --ranked=6: instead of these, the
six schedules that the model of cost has first, r0 to r5; r0 is its choice, and the line ends with its speed relative to the
fastest. --products: 1 x 1 layers with many images by schedules of ops/matmul/hopper.hds, "b" and blocks of an SM, "t" ping-pong,
"e" and epilogue tiles, "g" and warpgroups that are not one for 64 rows; operands are not in L2. --halos: schedules of
ops/conv/conv_halo.hds, "halo" and the height of windows, "k" with weights that stay in shared memory, "t" ping-pong, and slots of
the ring, beside the four that the model has first among those of conv_hopper.hds, r0 to r3; operands are not in L2.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import schedules

LAYERS = [
    "1_64_56_64_3_1", "1_128_28_128_3_1", "1_256_14_256_3_1", "1_512_7_512_3_1",
    "1_64_56_128_3_2", "1_128_28_256_3_2", "1_256_14_512_3_2",
    "1_64_56_128_1_2", "1_128_28_256_1_2", "1_256_14_512_1_2",
]  # fmt: skip
SAMPLE = [
    "1_64_56_64_3_1", "1_256_14_256_3_1", "1_512_7_512_3_1", "1_128_28_256_3_2", "32_64_56_64_3_1", "32_256_14_256_3_1",
    "32_512_7_512_3_1", "128_128_28_128_3_1",
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


# Of products: BM, BN, slots of the ring, epilogue tiles, and more.
PRODUCTS = [
    (64, 64, 12, 1, {}), (64, 64, 5, 1, dict(resident=2)), (128, 64, 8, 1, {}), (128, 64, 4, 1, dict(resident=2)),
    (128, 64, 8, 1, dict(split="pingpong")), (192, 64, 6, 1, {}), (192, 64, 3, 1, dict(resident=2)), (256, 64, 4, 1, {}),
    (64, 128, 8, 2, {}), (64, 128, 8, 1, {}), (64, 128, 7, 2, dict(cluster=2)), (128, 64, 8, 1, dict(cluster=2)),
    (128, 128, 5, 2, {}), (128, 128, 6, 1, {}), (128, 128, 6, 1, dict(split="pingpong")), (192, 128, 3, 0, dict(parts=2)),
    (128, 96, 8, 0, dict(swap=True)), (128, 48, 8, 0, dict(swap=True)), (64, 104, 8, 0, dict(swap=True)),
    (256, 128, 4, 1, dict(warpgroups=2, registers=232)),
]  # fmt: skip
POINTWISE = ["32_64_56_64_1_1", "32_1024_14_256_1_1", "32_2048_7_512_1_1", "128_2048_7_512_1_1"]


def product_schedules():
    """As all_schedules, of products."""
    found = {}
    for BM, BN, stages, epilogue_stages, more in PRODUCTS:
        how = dict(BM=BM, BN=BN, stages=stages, epilogue_stages=epilogue_stages, warpgroups=BM // 64, registers=0) | more
        if more.get("split") == "pingpong":
            how["registers"] = 232
        marks = {"resident": "b", "cluster": "x", "parts": "k", "warpgroups": "g"}
        name = f"{'s' * how.get('swap', False)}{BM}x{BN}{'t' * (how.get('split') == 'pingpong')}e{epilogue_stages}"
        name += "".join(f"{mark}{more[key]}" for key, mark in marks.items() if key in more)
        found[name] = f"Schedule({', '.join(f'{key}={value!r}' for key, value in how.items())})"
    return found


# Of windows with halos: BM, BN, slots of the ring, height of windows, whether weights stay, and more.
HALOS = [
    (128, 64, 5, 8, True, dict(split="pingpong")), (128, 64, 5, 16, True, dict(split="pingpong")),
    (192, 64, 3, 8, True, dict(split="pingpong")), (256, 64, 2, 16, True, dict(split="pingpong")),
    (64, 64, 8, 8, True, dict(split="pingpong")), (128, 64, 6, 8, True, {}), (192, 64, 4, 8, True, {}),
    (256, 64, 3, 16, True, {}), (64, 64, 3, 8, True, dict(resident=2)), (128, 64, 3, 8, True, {}),
    (128, 128, 2, 8, True, dict(split="pingpong")), (64, 128, 4, 8, True, dict(split="pingpong")), (128, 128, 3, 8, True, {}),
    (128, 64, 4, 8, False, dict(split="pingpong")), (128, 64, 4, 8, False, {}), (128, 128, 3, 8, False, {}),
    (256, 64, 3, 16, False, {}), (256, 128, 2, 16, False, dict(warpgroups=2, registers=232)),
]  # fmt: skip
CHANNELS_64 = [
    "32_64_56_64_3_1", "128_64_56_64_3_1", "1_64_256_64_3_1", "8_64_256_64_3_1", "32_64_56_128_3_1", "32_128_56_64_3_1",
    "32_128_28_128_3_1", "1_64_56_64_3_1",
]  # fmt: skip


RIVALS = 4  # schedules of conv_hopper.hds beside them


def halo_schedules():
    """As all_schedules, of windows with halos."""
    found = {}
    for BM, BN, stages, height, keeps, more in HALOS:
        how = dict(BM=BM, BN=BN, stages=stages, epilogue_stages=1, warpgroups=BM // 64, registers=0, group=8) | more
        if "split" in more:
            how |= dict(warpgroups=2, registers=232)
        name = f"halo{height}{'k' * keeps}_{BM}x{BN}{'t' * ('split' in more)}_{stages}{'b2' * ('resident' in more)}"
        found[name] = f"Halo(Schedule({', '.join(f'{key}={value!r}' for key, value in how.items())}), {height}, {keeps})"
    return found


def text_of(layers, names):
    """The module of all instances."""
    lines = ["from conv.conv_halo import Halo", "from conv_layers import Layer", "from conv_schedules import chosen, forced"]
    lines += ["from matmul.schedules import Schedule", ""]
    for layer in layers:
        numbers = layer.replace("_", ", ")
        lines.append(f"by_model_{layer} = chosen[Layer({numbers})]")
        lines += [f"by_{name}_{layer} = forced[Layer({numbers}), {S}]" for name, S in names.items()]
    return "\n".join(lines) + "\n"


def ranked_text(layers, count):
    """The module of the instances of --ranked."""
    lines = ["from conv_layers import Layer", "from conv_schedules import ranked", ""]
    lines += [f"by_r{n}_{layer} = ranked[Layer({layer.replace('_', ', ')}), {n}]" for layer in layers for n in range(count)]
    return "\n".join(lines) + "\n"


def measure(lib, text, names, torch, conv, total):
    """({schedule: µs} of a layer, and what is wrong with it)"""
    layer = conv.Layer(f"conv_{text}")
    sets = layer.sets(total)
    symbols = {name: f"by_{name}_{text}" for name in names}
    expected = layer.expected(*sets[0])
    return schedules.race(lib, symbols, sets, layer.results(sets), {"cudnn": layer.call}, expected)


def shown(text, times):
    return f"{text:18} " + " ".join(f"{name}:{t:.2f}" for name, t in sorted(times.items(), key=lambda of: of[1]))


def run_ranked(lib, layers, count, torch, conv, total=None):
    """The lines of --ranked, the summary as the last one, and what is wrong. Operands of one image stay in L2."""
    shares, problems = [], []
    for text in layers:
        at = total or (conv.WARM if text.startswith("1_") else conv.COLD)
        times, found = measure(lib, text, [f"r{n}" for n in range(count)], torch, conv, at)
        problems += found
        shares.append(min(t for name, t in times.items() if name != "cudnn") / times["r0"])
        print(f"{shown(text, times)}  {shares[-1]:.3f}", flush=True)
    mean = statistics.geometric_mean(shares)
    return f"choice     geomean {mean:.3f} of the fastest of {count} (target 0.97), least {min(shares):.3f}", problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc")
    parser.add_argument("--runtime")
    parser.add_argument("--only", default="")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--ahead", default="")
    parser.add_argument("--ranked", type=int)
    parser.add_argument("--products", action="store_true")
    parser.add_argument("--halos", action="store_true")
    parser.add_argument("layers", nargs="*")
    options = parser.parse_intermixed_args()
    import conv
    import torch
    from memory import library

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # of the comparison in f32
    ahead = [int(steps) for steps in options.ahead.split(",") if steps]
    usual = SAMPLE if options.ranked else POINTWISE if options.products else CHANNELS_64 if options.halos else LAYERS
    layers = options.layers or usual
    of_all = product_schedules() if options.products else halo_schedules() if options.halos else all_schedules(ahead)
    names = {name: S for name, S in of_all.items() if options.only in name}
    text = ranked_text(layers, options.ranked) if options.ranked else text_of(layers, names)
    text += ranked_text(layers, RIVALS) if options.halos else ""
    with tempfile.TemporaryDirectory() as folder:
        lib = library.Libraries([str(schedules.compiled(options.hdsc, text, pathlib.Path(folder)))], options.runtime)
    print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}; µs")
    problems, total = [], conv.COLD if options.cold or options.products or options.halos else conv.WARM
    rivals = [f"r{n}" for n in range(RIVALS)] if options.halos else []
    if options.ranked:
        line, problems = run_ranked(lib, layers, options.ranked, torch, conv, conv.COLD if options.cold else None)
        print(line)
    for layer in layers if not options.ranked else []:
        times, found = measure(lib, layer, ["model", *names, *rivals], torch, conv, total)
        print(shown(layer, times), flush=True)
        problems += found
    if problems:
        print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
