"""Compositions that models are made of execute as few instructions, and move as few bytes, as what one writes by hand.

Counted by the simulator, for tests/ops/composed/fused.hds, with sizes that are known while compiling: at most 1.05 × those of the
kernel by hand, and one kernel. Of masks that are repeated, by hand is the kernel whose mask has all elements; the bytes are those
of the elements that rows read.
Norms of groups with channels last, as their own schedule has them, are counted by instructions for each element.

    check_fused.py HDSC
"""

import json
import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from compiler import TOP, each, finish

FILE = TOP / "tests" / "ops" / "composed" / "fused.hds"
MOST = 1.05
ROWS, COLUMNS = "32,1024", "1024"
# composition, its operands; by hand, its operands
PAIRS = [
    ("residual_layer_norm", {"x": ROWS, "r": ROWS, "w": COLUMNS, "b": COLUMNS}, "residual_layer_norm_by_hand", None),
    ("sum_rms_norm", {"x": ROWS, "r": ROWS, "w": COLUMNS}, "sum_rms_norm_by_hand", None),
    ("masked_softmax", {"x": ROWS, "mask": ROWS}, "masked_softmax_by_hand", None),
    ("mask_of_queries", {"x": "1,2,16,1024", "mask": "16,1024"}, "masked_softmax_by_hand", {"x": ROWS, "mask": ROWS}),
    ("mask_of_keys", {"x": "2,4,4,1024", "mask": "2,1,1,1024"}, "masked_softmax_by_hand", {"x": ROWS, "mask": ROWS}),
    ("bias_gelu", {"x": ROWS, "b": COLUMNS}, "bias_gelu_by_hand", None),
    ("swiglu", {"gate": ROWS, "up": ROWS}, "swiglu_by_hand", None),
    ("dropout_residual", {"x": ROWS, "r": ROWS}, "dropout_residual_by_hand", None),
]
# compositions that are one kernel, too; operands of other types than f32 say so
ALONE = [
    ("scores_of_one", {"x": "1,4,8,64", "scale": ""}),
    ("norm_of_one", {"x": "1,8,64", "r": "1,8,64", "w": "64", "b": "64"}),
    ("norm_of_one", {"x": "1,8,33", "r": "1,8,33", "w": "33", "b": "33"}),
    ("norm_of_embeddings", {"table": "16,64", "at": "i32:8", "place": "8,64", "w": "64"}),
    ("norm_of_rolled", {"x": "2,4,64", "r": "2,4,64", "w": "64"}),
]
# norms, instructions for each element at most: moments of many channels are merged once for each group
NORMS = [("norm_of_groups", {"x": "2,8,8,1280", "w": "1280", "b": "1280"}, 200)]


def counted(hdsc, entry, operands, dtype="f32", sizes=(), out=None):
    """(launches, instructions of threads, bytes of global memory). out: the extents of the result that a kernel writes."""
    command = [hdsc, "run", "-I", TOP / "ops", FILE, "--entry", entry, "--arch=sm_90a", "--no-races", "-j1", "--profile=json"]
    command += [f"-D{name}={value}" for name, value in sizes]
    for name, shape in operands.items():
        command.append(f"{name}=zeros:i32[{shape[4:]}]" if shape.startswith("i32:") else f"{name}=randn:{dtype}[{shape}]")
    command += [f"out=zeros:{dtype}[{out}]"] if out else []
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise RuntimeError(f"{entry}: {found.stderr}")
    profile = json.loads(found.stdout[found.stdout.index("{"):])
    total = profile["total"]
    return sum(kernel["launches"] for kernel in profile["kernels"]), total["thread_instructions"], total["global"]["bytes"]


def sizes_of(entry, operands):
    """The extents of x, by the names that they have."""
    names = "BHSN" if entry in ("mask_of_queries", "mask_of_keys") else "MN"
    return list(zip(names, next(iter(operands.values())).split(",")))


def check_pair(hdsc, pair):
    (composed, operands, by_hand, others), dtype = pair
    others = others or operands
    is_kernel = by_hand.partition("_by_hand")[0] in ("bias_gelu", "swiglu", "dropout_residual")
    launches, *have = counted(hdsc, composed, operands, dtype, sizes_of(composed, operands))
    _, *wanted = counted(hdsc, by_hand, others, dtype, sizes_of(by_hand, others), ROWS if is_kernel else None)
    problems = [f"{composed}, {dtype}: {launches} kernels"] if launches != 1 else []
    for what, n, least in zip(("instructions", "bytes"), have, wanted):
        if n > MOST * least:
            problems.append(f"{composed}, {dtype}: {n} {what}, {least} by hand: {n / least:.3f} times as many")
    return "\n".join(problems)


def check_alone(hdsc, entry, operands):
    launches = counted(hdsc, entry, operands)[0]
    return f"{entry} {operands}: {launches} kernels" if launches != 1 else ""


def check_norm(hdsc, entry, operands, most):
    elements = math.prod(int(n) for n in operands["x"].split(","))
    each_one = counted(hdsc, entry, operands, "f16", zip("BHWC", operands["x"].split(",")), operands["x"])[1] / elements
    return f"{entry} {operands}: {each_one:.0f} instructions for each element, {most} at most" if each_one > most else ""


def main():
    hdsc = sys.argv[1]
    pairs = [(pair, dtype) for pair in PAIRS for dtype in ("f16", "f32")]
    found = each(lambda pair: check_pair(hdsc, pair), pairs) + each(lambda one: check_alone(hdsc, *one), ALONE)
    found += each(lambda norm: check_norm(hdsc, *norm), NORMS)
    problems = [problem for problem in found if problem]
    return finish(problems, len(found) - len(problems))


if __name__ == "__main__":
    sys.exit(main())
