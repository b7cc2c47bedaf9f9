"""Convolutions move few bytes, by few operations: counted by the simulator.

Those that are bound by memory:

For each layer of tests/ops/conv/counts.hds: the sectors of global memory, compared with images, weights and results; the passes
through shared memory, compared with those without bank conflicts; and the operations of threads for a result, which are more than
machine instructions (a product and its sum are four).

Inverted bottlenecks, which are one kernel: what it does, relative to the three that it replaces.

Transposed ones that are ordinary ones: the operations for a product.

Those by implicit GEMM, with all numbers known while compiling, and in libhdsops at run time: the operations for a product. Of
patches with channels first, sectors as well.

    check_conv_counts.py HDSC
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from compiler import TOP, each, finish  # noqa: E402

SMS = 8  # of the GPU that tiles are chosen for: these few images are many for it
FILE = TOP / "tests" / "ops" / "conv" / "counts.hds"

# entry; images, channels, extent, taps, stride; then at most: bytes and passes by what is needed, operations for a result
DEPTHWISE = [
    ("channels_last", (2, 32, 112, 3, 1), 1.15, 1.3, 75),
    ("channels_last", (2, 96, 56, 3, 2), 1.15, 1.8, 130),
    ("channels_last", (4, 384, 14, 3, 1), 1.15, 1.3, 75),
    ("channels_last", (4, 192, 14, 5, 1), 1.15, 1.4, 100),
    ("channels_last", (4, 960, 7, 3, 1), 1.15, 1.6, 90),
    ("with_bias", (4, 192, 14, 3, 1), 1.25, 1.3, 80),
    ("with_bias", (4, 192, 14, 7, 1), 1.25, 1.4, 120),
    ("channels_first", (2, 32, 112, 3, 1), 1.15, 1.7, 65),
    ("channels_first", (2, 96, 56, 3, 2), 1.15, 2.3, 120),
    ("channels_first", (2, 144, 28, 3, 1), 1.15, 2.8, 90),
    ("channels_first", (4, 384, 14, 3, 1), 1.15, 3.0, 105),
    ("channels_first", (4, 192, 14, 5, 1), 1.15, 1.7, 200),
    ("channels_first", (4, 960, 7, 3, 1), 1.15, 1.6, 125),
]
# type, layout; images, channels, extent, taps, stride, channels of the result; then at most operations for a product: known, open
PRODUCTS = [
    ("f16", "nhwc", (1, 64, 28, 3, 1, 64), 0.55, 0.70),
    ("f16", "nhwc", (1, 64, 28, 3, 2, 128), 0.66, 0.84),
    ("f16", "nhwc", (1, 3, 28, 7, 2, 64), 2.2, 7.7),
    ("f16", "nchw", (1, 3, 28, 7, 2, 64), 2.4, 8.1),
    ("f16", "nchw", (1, 64, 28, 3, 1, 64), 1.45, 2.12),
    ("f32", "nhwc", (1, 32, 28, 3, 1, 64), 10.1, 11.2),
    ("f32", "nchw", (1, 32, 28, 3, 1, 64), 9.6, 11.2),
]
# images, channels, extent, taps, channels of the result; then at most: sectors by those that are needed, operations for a product
PATCHES = [((1, 3, 96, 16, 64), 2.15, 1.6)]
# architecture; images, channels, extent, taps, stride, channels of the result; then at most operations for a product, launches
TRANSPOSED = [
    ("sm_80", (1, 64, 16, 4, 2, 64), 1.3, 5), ("sm_80", (1, 64, 16, 2, 2, 64), 1.2, 1), ("sm_90a", (1, 64, 16, 4, 2, 64), 0.15, 1),
    ("sm_90a", (1, 64, 16, 2, 2, 64), 0.52, 1),
]  # fmt: skip
# images, channels, hidden ones, those of the result, extent, stride; then at most sectors and operations, relative to three kernels
BOTTLENECKS = [((1, 32, 96, 32, 14, 1), 1.35, 1.35), ((1, 16, 64, 24, 14, 2), 0.7, 1.2)]


def counted(hdsc, file, entry, *arguments):
    """The totals of the simulator, and the launches."""
    with tempfile.TemporaryDirectory() as folder:
        command = [hdsc, "run", "-I", TOP / "ops", file, "--entry", entry, f"--sms={SMS}", "--no-races", "--profile=json"]
        command += ["x=ones", *([] if "w1=ones" in arguments else ["w=ones"]), f"y=out:{folder}/y.npy", *arguments]
        found = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if found.returncode != 0:
        raise RuntimeError(found.stderr)
    profile = json.loads(found.stdout)
    return profile["total"], sum(kernel["launches"] for kernel in profile["kernels"])


def defined(**values):
    return [f"-D{name}={value}" for name, value in values.items()]


def result_extent(extent, taps, stride):
    return (extent + taps // 2 * 2 - taps) // stride + 1


def check_narrow(hdsc, layer):
    entry, sizes, most_bytes, most_passes, most_operations = layer
    images, channels, extent, taps, stride = sizes
    out = result_extent(extent, taps, stride)
    results = images * channels * out * out
    needed = 2 * (images * channels * extent * extent + results + channels * taps * taps)
    more = ["b=ones"] if entry == "with_bias" else []
    total, launches = counted(hdsc, FILE, entry, *defined(**dict(zip("NCHks", sizes))), *more)
    have = {
        "bytes": (total["global"]["sectors"] * 32 / needed, most_bytes),
        "passes": (total["shared"]["wavefronts"] / max(total["shared"]["ideal_wavefronts"], 1), most_passes),
        "operations": (total["thread_instructions"] / results, most_operations),
        "launches": (launches, 1),
    }
    return "\n".join(f"{entry} {sizes}: {n:.3f} {what}, at most {most}" for what, (n, most) in have.items() if n > most)


def check_product(hdsc, layer):
    dtype, layout, sizes, most_known, most_open = layer
    images, channels, extent, taps, stride, outputs = sizes
    out = result_extent(extent, taps, stride)
    products = images * out * out * outputs * channels * taps * taps
    known = counted(hdsc, FILE, layout, "--arch=sm_80", *defined(T=dtype, **dict(zip("NCHksK", sizes))))[0]
    open_sizes = dict(N=images, G=1, C=channels, K=outputs, H=extent, W=extent, R=taps, S=taps, P=out, Q=out, BIAS=0)
    both = {f"{name}_{axis}": n for name, n in (("stride", stride), ("before", taps // 2), ("dilation", 1)) for axis in "hw"}
    given = [f"{name}={n}" for name, n in dict(open_sizes, **both, activation=0, sm_count=SMS).items()]
    file = TOP / f"ops/conv/library_{dtype}.hds"
    open_total = counted(hdsc, file, f"ops_conv_{dtype}_{layout}", "bias=ones", *given)[0]
    have = {"known": (known, most_known), "open": (open_total, most_open)}
    counts = {what: (total["thread_instructions"] / products, most) for what, (total, most) in have.items()}
    too_many = [(what, n, most) for what, (n, most) in counts.items() if n > most]
    return "\n".join(f"{dtype} {layout} {sizes}, {what}: {n:.3f} operations, at most {most}" for what, n, most in too_many)


def check_patches(hdsc, layer):
    """With channels first: rows of windows are copied in vectors."""
    sizes, most_sectors, most_operations = layer
    images, channels, extent, taps, outputs = sizes
    results, depth = images * (extent // taps) ** 2 * outputs, channels * taps**2
    total = counted(hdsc, FILE, "patches", "--arch=sm_80", *defined(**dict(zip("NCHkK", sizes))))[0]
    needed = 2 * (images * channels * extent**2 + depth * outputs + results) / 32
    have = {"sectors": (total["global"]["sectors"] / needed, most_sectors)}
    have["operations"] = (total["thread_instructions"] / (results * depth), most_operations)
    return "\n".join(f"patches {sizes}: {n:.3f} {what}, at most {most}" for what, (n, most) in have.items() if n > most)


def check_transposed(hdsc, layer):
    """All kernels."""
    arch, sizes, *most = layer
    images, channels, extent, taps, stride, outputs = sizes
    products = images * (extent * taps) ** 2 * channels * outputs
    total, launches = counted(hdsc, FILE, "transposed", f"--arch={arch}", *defined(**dict(zip("NCHksK", sizes))))
    found = zip(("operations", "launches"), (total["thread_instructions"] / products, launches), most)
    return "\n".join(f"transposed {arch} {sizes}: {n:.3f} {what}, at most {limit}" for what, n, limit in found if n > limit)


def check_bottleneck(hdsc, layer):
    sizes, most_sectors, most_operations = layer
    file, found = TOP / "bench" / "bottlenecks.hds", {}
    given = [f"{name}=ones" for name in ("w1", "w2", "w3", "b1", "b2", "b3", "r")]
    for entry in ("one", "three"):
        names = dict(zip(("N", "C", "E", "K", "H", "s"), sizes))
        found[entry] = counted(hdsc, file, entry, "--arch=sm_90a", *given, *defined(**names))
    (one, launches), (three, _) = found["one"], found["three"]
    have = {
        "sectors": (one["global"]["sectors"] / three["global"]["sectors"], most_sectors),
        "operations": (one["thread_instructions"] / three["thread_instructions"], most_operations),
        "launches": (launches, 1),
    }
    return "\n".join(f"bottleneck {sizes}: {n:.3f} {what}, at most {most}" for what, (n, most) in have.items() if n > most)


def main():
    hdsc = sys.argv[1]
    problems = [found for found in each(lambda layer: check_narrow(hdsc, layer), DEPTHWISE) if found]
    problems += [found for found in each(lambda layer: check_product(hdsc, layer), PRODUCTS) if found]
    problems += [found for found in each(lambda layer: check_patches(hdsc, layer), PATCHES) if found]
    problems += [found for found in each(lambda layer: check_bottleneck(hdsc, layer), BOTTLENECKS) if found]
    problems += [found for found in each(lambda layer: check_transposed(hdsc, layer), TRANSPOSED) if found]
    return finish(problems, len(DEPTHWISE + PRODUCTS + PATCHES + BOTTLENECKS + TRANSPOSED) - len(problems))


if __name__ == "__main__":
    sys.exit(main())
