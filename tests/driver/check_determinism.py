"""Same input, same bytes: every example compiled several times gives one text, whatever the addresses of its memory.

The system's address space randomisation moves every run's memory; malloc is told to fill memory and to choose other addresses; and
a shared compilation of two architectures gives what two compilations give. Entries that go through the passes one by one give
what they give together, as they are lowered where their IR is asked for.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish  # noqa: E402

ENVIRONMENTS = ({}, {"MALLOC_PERTURB_": "165"}, {"MALLOC_MMAP_THRESHOLD_": "4096", "MALLOC_TOP_PAD_": "1048576"})
DUMPS = ("--emit=cu", "--emit=hir", "--dump=all")


def texts(hdsc, path, flag):
    found = set()
    for extra in ENVIRONMENTS:
        done = subprocess.run([hdsc, flag, *(["-o", "-"] if "emit" in flag else []), "--arch=sm_90a", str(path)],
                              env={**os.environ, **extra}, capture_output=True, check=False, timeout=600)
        found.add((done.returncode, done.stdout, done.stderr))
    return found


def check(hdsc, path, flag):
    found = texts(hdsc, path, flag)
    return [] if len(found) == 1 else [f"{path.relative_to(TOP)} with {flag}: {len(found)} different results"]


def cuda_text(hdsc, path, folder, *flags):
    output = pathlib.Path(folder, "out.cu")
    output.unlink(missing_ok=True)
    done = subprocess.run([hdsc, "--emit=cu", "-o", str(output), "--arch=sm_90a", "-I", str(TOP / "ops"), str(path), *flags],
                          capture_output=True, check=False, timeout=600)
    return done.returncode, done.stderr, output.read_bytes() if output.exists() else b""


def check_by_entry(hdsc, path):
    with tempfile.TemporaryDirectory() as folder:
        by_entry, together = cuda_text(hdsc, path, folder), cuda_text(hdsc, path, folder, "--dump=hir")
    return [] if by_entry == together else [f"{path.relative_to(TOP)}: entries one by one, and together, give different texts"]


def main():
    hdsc = sys.argv[1]
    entries = [*sorted((TOP / "examples").rglob("*.hds")), TOP / "ops" / "softmax.hds", TOP / "ops" / "rope.hds",
               TOP / "tests" / "driver" / "inputs" / "launched.hds"]
    work = [(path, flag) for path in sorted((TOP / "examples").rglob("*.hds")) for flag in DUMPS]
    results = each(lambda item: check(hdsc, *item), work) + each(lambda path: check_by_entry(hdsc, path), entries)
    sys.exit(finish([problem for found in results for problem in found], sum(not found for found in results)))


if __name__ == "__main__":
    main()
