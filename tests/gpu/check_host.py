"""What 'hdsc -o x.cu' makes, through nvcc: every example without a warning, and host functions called from Python.

    python3 tests/gpu/check_host.py --hdsc build/release/bin/hdsc --arch sm_90a

Host functions are called in a shared library, with addresses of device memory, as any C program would.
"""

import ctypes
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from device import Buffer, Device
from formats import from_double, tiny, to_double, unit
from harness import TOP, Output, Row, compare, each_at_once, parse_arguments, report

U = unit("f32")
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


def make_library(hdsc, arch, path, folder):
    """The shared library of a file, or what went wrong."""
    stem = pathlib.Path(folder, path.stem if path.stem != "main" else path.parent.name)
    code = arch.removeprefix("sm_")
    text, library = stem.with_suffix(".cu"), stem.with_suffix(".so")
    for command in (
        [hdsc, str(path), f"--arch={arch}", "-o", str(text)],
        [NVCC, "-shared", "-Xcompiler=-fPIC,-Wall,-Werror", "-Werror=all-warnings",
         f"-gencode=arch=compute_{code},code=sm_{code}", "-o", str(library), str(text)],
    ):  # fmt: skip
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode or done.stderr:
            return f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return library


def call(device, function, tensors, numbers, dtypes, expected, row):
    """Calls function(tensors…, numbers…, stream) and compares what `expected` names."""
    outputs = {name: Output(*expected[name]) for name in expected}
    buffers = []
    for name, content in tensors.items():
        shape = content.shape if name not in outputs else outputs[name].reference.shape
        dtype = from_double(0, dtypes[name]).dtype
        buffers.append(Buffer(device, shape, dtype, None if name in outputs else content))
    status = function(*(ctypes.c_void_p(b.at) for b in buffers), *(ctypes.c_int(n) for n in numbers), None)
    device.synchronize()
    if status:
        row.problems.append(f"returned the CUDA error {status}")
    for name, buffer in zip(tensors, buffers, strict=True):
        if not buffer.guards_are_intact():
            row.problems.append(f"wrote outside of '{name}'")
        if name in outputs:
            row.problems += compare(name, buffer.get(), dtypes[name], outputs[name], row)
        buffer.free()
    row.cases.append("x".join(str(n) for n in numbers))


def check_linear_relu(device, library, rng):
    """max(x · w + bias, 0): the epilogue and its bias came to the kernel as captures."""
    row = Row("examples/mma_matmul.hds", "linear_relu (host)")
    for m, n, k in ((1, 8, 8), (65, 72, 40), (128, 64, 256), (300, 520, 1000)):
        x, w, bias = (from_double(rng.standard_normal(shape), "f16") for shape in ((m, k), (k, n), n))
        a, b, c = (to_double(v, "f16") for v in (x, w, bias))
        exact = np.maximum(a @ b + c, 0)
        size = np.abs(a) @ np.abs(b) + np.abs(c)
        bound = (k + 2) * U * size + unit("f16") * exact + tiny("f16")
        tensors = {"x": x, "w": w, "bias": bias, "y": x}
        dtypes = dict.fromkeys(tensors, "f16")
        call(device, library.linear_relu, tensors, (m, n, k), dtypes, {"y": (exact, bound)}, row)
    return row


def check_centred(device, library, rng):
    """Three launches and two tensors that live as long as the call."""
    row = Row("tests/gpu/host.hds", "centred (host)")
    for n in (1, 256, 1000, 65_536):
        x = from_double(rng.standard_normal(n) + 5, "f32")
        value = to_double(x, "f32")
        exact = value - value.mean()
        bound = 25 * U * np.abs(value).mean() + 2 * U * np.abs(exact)
        call(device, library.centred, {"x": x, "y": x}, (n,), {"x": "f32", "y": "f32"}, {"y": (exact, bound)}, row)
    return row


def check_blocks_of(library):
    row = Row("tests/gpu/host.hds", "blocks_of (host)")
    for n in (1, 256, 257, 10**6):
        row.cases.append(str(n))
        if library.blocks_of(n) != -(-n // 256):
            row.problems.append(f"blocks_of({n}) is {library.blocks_of(n)}")
    return row


def main():
    args = parse_arguments(__doc__)
    arch = "sm_90a" if args.arch == "native" else args.arch
    paths = [*sorted((TOP / "examples").glob("*.hds")), TOP / "examples/two_modules/main.hds",
             *sorted((TOP / "tests/gpu").glob("*.hds"))]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        made = dict(
            zip(paths, each_at_once(lambda path: make_library(args.hdsc, arch, path, folder), paths), strict=True)
        )
        rows = [Row(str(path.relative_to(TOP)), "(nvcc)", problems=[result] if isinstance(result, str) else [])
                for path, result in made.items()]  # fmt: skip
        if not args.compile_only:
            device, rng = Device(), np.random.default_rng(2026)
            of_examples, of_tests = made[TOP / "examples/mma_matmul.hds"], made[TOP / "tests/gpu/host.hds"]
            if not isinstance(of_examples, str):
                rows.append(check_linear_relu(device, ctypes.CDLL(str(of_examples)), rng))
            if not isinstance(of_tests, str):
                library = ctypes.CDLL(str(of_tests))
                rows += [check_centred(device, library, rng), check_blocks_of(library)]
    return report(rows, args.out, "host")


if __name__ == "__main__":
    sys.exit(main())
