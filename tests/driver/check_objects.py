"""Objects of all examples: small, the same bytes wherever and however they are made, and needing libhdsrt and libc only.

Usage: check_objects.py HDSC. Needs NVRTC, a C compiler and nm.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish  # noqa: E402

ARCHS = (("sm_80", "sm_90a"), ("sm_90", "sm_90a"))  # the second pair for what needs sm_90
MOST_BESIDE_CODE = 16 << 10  # by kernel
LIBC = re.compile(r"(hdsrt_\w+|_GLOBAL_OFFSET_TABLE_|malloc|calloc|free|mem(cpy|set|move)|f?printf|puts|putchar|__stack_chk_fail|"
                  r"[a-z0-9]+f?)$")


def hdsc(program, folder, *arguments, **environment):
    """The machine code of a kernel is made once: a cache of its own keeps it."""
    environment = {**os.environ, "HDS_CACHE": "on", "HDS_CACHE_DIR": str(pathlib.Path(folder, "cache")), **environment}
    done = subprocess.run([program, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False,
                          timeout=600)
    if done.returncode:
        raise RuntimeError(f"hdsc {' '.join(arguments)}: {done.stderr}")


def archs_of(program, path, folder):
    try:
        hdsc(program, folder, "check", str(path), "--arch=sm_80")
        return ARCHS[0]
    except RuntimeError:
        return ARCHS[1]


def size_problems(program, path, folder, archs):
    code = 0
    for arch in archs:
        hdsc(program, folder, str(path), f"--arch={arch}", "-o", "k.cubin")
        code += pathlib.Path(folder, "k.cubin").stat().st_size
    beside = pathlib.Path(folder, "k.o").stat().st_size - code
    # Those that host functions launch have no function in the header.
    hdsc(program, folder, str(path), f"--arch={archs[0]}", "-o", "k.c")
    kernels = pathlib.Path(folder, "k.c").read_text(encoding="utf-8").count("hdsrt_kernel hds_kernel_")
    return [f"the object is {beside} bytes larger than its machine code"] if beside > kernels * MOST_BESIDE_CODE else []


def symbol_problems(folder):
    out = subprocess.run(["nm", "-P", "k.o"], cwd=folder, capture_output=True, text=True, check=True).stdout
    rows = [line.split()[:2] for line in out.splitlines()]
    header = pathlib.Path(folder, "k.h").read_text(encoding="utf-8")
    problems = [f"needs {name}" for name, kind in rows if kind == "U" and not LIBC.match(name)]
    return problems + [f"defines {name}, which is not in the header" for name, kind in rows
                       if kind in "TDBRVW" and not re.search(rf"\b{name}\(", header)]


def byte_problems(program, path, folder, archs):
    """Another folder, another time, other folders for temporary files, another number of processes."""
    other, arguments = pathlib.Path(folder, "other"), ["--arch=" + ",".join(archs), str(path)]
    (other / "tmp").mkdir(parents=True)
    problems = []
    for name in ("k.o", "k.so", "k.a", "k.c", "k.h"):
        kind = [] if name == "k.h" else ["-o", name]
        if kind:
            hdsc(program, folder, *kind, *arguments)
            hdsc(program, other, *kind, "-j1", *arguments, TMPDIR=str(other / "tmp"), SOURCE_DATE_EPOCH="1")
        if pathlib.Path(folder, name).read_bytes() != (other / name).read_bytes():
            problems.append(f"{name} differs from one run to the next")
        if folder.encode() in pathlib.Path(folder, name).read_bytes():
            problems.append(f"{name} holds the name of a folder")
    return problems


def check(program, path):
    with tempfile.TemporaryDirectory() as folder:
        try:
            archs = archs_of(program, path, folder)
            hdsc(program, folder, str(path), "--arch=" + ",".join(archs), "-o", "k.o")
            problems = size_problems(program, path, folder, archs) + symbol_problems(folder)
            problems += byte_problems(program, path, folder, archs)
        except RuntimeError as error:
            problems = [str(error)]
    return [f"{path.relative_to(TOP)}: {problem}" for problem in problems]


def main():
    program = os.path.abspath(sys.argv[1])
    examples = [path for path in sorted((TOP / "examples").rglob("*.hds")) if "@hidet.script" in path.read_text("utf-8")]
    results = each(lambda path: check(program, path), examples)
    sys.exit(finish([problem for found in results for problem in found], sum(not found for found in results)))


if __name__ == "__main__":
    main()
