"""Convolutions that are bound by memory move few bytes, by few operations: counted by the simulator.

For each layer of tests/ops/conv/counts.hds: the sectors of global memory, compared with images, weights and results; the passes
through shared memory, compared with those without bank conflicts; and the operations of threads for a result, which are more than
machine instructions (a product and its sum are four).

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
    ("channels_last", (4, 192, 14, 5, 1), 1.15, 1.4, 190),
    ("channels_last", (4, 960, 7, 3, 1), 1.15, 1.6, 90),
    ("channels_first", (2, 32, 112, 3, 1), 1.15, 1.7, 65),
    ("channels_first", (2, 96, 56, 3, 2), 1.15, 2.3, 120),
    ("channels_first", (2, 144, 28, 3, 1), 1.15, 2.8, 90),
    ("channels_first", (4, 384, 14, 3, 1), 1.15, 3.0, 105),
    ("channels_first", (4, 192, 14, 5, 1), 1.15, 1.7, 190),
    ("channels_first", (4, 960, 7, 3, 1), 1.15, 1.6, 125),
]


def counted(hdsc, entry, sizes):
    """The totals of the simulator, and the launches."""
    with tempfile.TemporaryDirectory() as folder:
        command = [hdsc, "run", "-I", TOP / "ops", FILE, "--entry", entry, f"--sms={SMS}", "--no-races", "--profile=json"]
        for name, value in zip("NCHks", sizes):
            command += ["-D", f"{name}={value}"]
        command += ["x=ones", "w=ones", f"y=out:{folder}/y.npy"]
        found = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if found.returncode != 0:
        raise RuntimeError(found.stderr)
    profile = json.loads(found.stdout)
    return profile["total"], sum(kernel["launches"] for kernel in profile["kernels"])


def check(hdsc, layer):
    entry, sizes, most_bytes, most_passes, most_operations = layer
    images, channels, extent, taps, stride = sizes
    out = (extent + taps // 2 * 2 - taps) // stride + 1
    results = images * channels * out * out
    needed = 2 * (images * channels * extent * extent + results + channels * taps * taps)
    total, launches = counted(hdsc, entry, sizes)
    have = {
        "bytes": (total["global"]["sectors"] * 32 / needed, most_bytes),
        "passes": (total["shared"]["wavefronts"] / max(total["shared"]["ideal_wavefronts"], 1), most_passes),
        "operations": (total["thread_instructions"] / results, most_operations),
        "launches": (launches, 1),
    }
    return "\n".join(f"{entry} {sizes}: {n:.3f} {what}, at most {most}" for what, (n, most) in have.items() if n > most)


def main():
    problems = [found for found in each(lambda layer: check(sys.argv[1], layer), DEPTHWISE) if found]
    return finish(problems, len(DEPTHWISE) - len(problems))


if __name__ == "__main__":
    sys.exit(main())
