"""Every example compiles to the kinds of output that are named, without a warning: check_examples.py HDSC cu ptx cubin

Without NVRTC, the outputs that need it are skipped, with a message.

An example may say '# hdsc: needs sm_90' (an architecture from which on it compiles) or '# hdsc: flags …'.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish  # noqa: E402

ARCHS = ("sm_80", "sm_89", "sm_90a")


def number(arch):
    return int(re.sub(r"\D", "", arch))


def directives(path):
    text = path.read_text(encoding="utf-8")
    needs = re.search(r"^# hdsc: needs (sm_\w+)", text, re.MULTILINE)
    flags = re.search(r"^# hdsc: flags (.*)", text, re.MULTILINE)
    return needs.group(1) if needs else None, shlex.split(flags.group(1)) if flags else []


def is_possible(arch, needs):
    if needs is None:
        return True
    return arch == needs if needs.endswith("a") else number(arch) >= number(needs)


def compile_to(hdsc, path, arch, flags, kind):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, f"out.{kind}")
        command = [hdsc, "-I", str(TOP / "ops"), str(path), f"--arch={arch}", "-o", str(out), "-Wno-empty", *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        good = done.returncode == 0 and not done.stderr and out.exists() and out.stat().st_size > 0
    return [] if good else [f"{path.relative_to(TOP)} for {arch} as {kind}: exit code {done.returncode}\n{done.stderr}"]


def main():
    hdsc = sys.argv[1]
    version = subprocess.run([hdsc, "version"], capture_output=True, text=True, check=False).stdout
    kinds = sys.argv[2:]
    if "NVRTC: error" in version and kinds != ["cu"]:
        print("NVRTC was not found: only CUDA text is made")
        kinds = ["cu"]
    work = []
    for path in sorted((TOP / "examples").rglob("*.hds")):
        needs, flags = directives(path)
        work += [(path, arch, flags, kind) for arch in ARCHS if is_possible(arch, needs) for kind in kinds]
    results = each(lambda item: compile_to(hdsc, *item), work)
    sys.exit(finish([problem for found in results for problem in found], sum(not found for found in results)))


if __name__ == "__main__":
    main()
