"""What the assembler makes of convolutions on Hopper: no registers are spilled, wgmma instructions do not wait for each other, kernels
of single blocks start before their predecessor ends, and rings leave shared memory where sums are short.

    check_conv_kernels.py HDSC

Layers are those of tests/ops/conv/kernels.hds. Without NVRTC the last two are checked alone.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from compiler import TOP, finish  # noqa: E402

FILE = TOP / "tests" / "ops" / "conv" / "kernels.hds"
INCLUDE = ["-I", TOP / "ops", "-I", TOP / "bench", "-I", FILE.parent]
SHORT = re.compile(r"matmul\[.* K=(\d+), epilogue")  # of products
MOST_SHORT = 64 << 10  # bytes of shared memory of those whose sums have a step or two
ROW = re.compile(r" *(\d+) +(\d+) +(\d+) .*%.*?  (\w+\[.*)")


def called(hdsc, *arguments):
    done = subprocess.run([str(word) for word in (hdsc, *arguments)], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done


def problems_of_code(hdsc, folder):
    """Of the table that the assembler's account is, and its warnings."""
    log = called(hdsc, FILE, *INCLUDE, "--arch=sm_90a", "--resource-usage", "-o", pathlib.Path(folder, "kernels.so")).stderr
    rows = [ROW.match(line) for line in log.splitlines()]
    found = [f"a warning of the compiler: {line}" for line in log.splitlines() if "warning[" in line]
    rows = [row.groups() for row in rows if row]
    for registers, spilled, stack, kernel in rows:
        if int(spilled) + int(stack) > 0:
            found.append(f"{registers} registers, {spilled} bytes spilled, {stack} of stack: {kernel}")
    return found if len(rows) > 20 else [*found, f"the table has {len(rows)} kernels:\n{log}"]


def problems_of_launches(hdsc, folder):
    """Of the interface: which kernels start early, and their shared memory."""
    path = pathlib.Path(folder, "kernels.json")
    called(hdsc, FILE, *INCLUDE, "--arch=sm_90a", "-o", path)
    kernels = json.loads(path.read_text(encoding="utf-8"))["kernels"]
    late = [k for k in kernels if not k["dependent_launch"] and not k["cluster"] and "conv_gemm" not in k["name"]]
    found = [f"starts after its predecessor: {k['title']}" for k in late]
    for k in kernels:
        short, shared = SHORT.match(k["title"]), k["dynamic_shared_bytes"]
        if short and int(short[1]) <= 128 and shared > MOST_SHORT:
            found.append(f"{shared} bytes of shared memory for a sum of {short[1]}: {k['title']}")
    return found if len(kernels) > 20 else [*found, f"there are {len(kernels)} kernels"]


def main():
    hdsc = sys.argv[1]
    version = called(hdsc, "version").stdout
    with tempfile.TemporaryDirectory() as folder:
        found = problems_of_launches(hdsc, folder)
        if "NVRTC: " in version and "NVRTC: error" not in version:
            found += problems_of_code(hdsc, folder)
    return finish(found, 0 if found else 1)


if __name__ == "__main__":
    sys.exit(main())
