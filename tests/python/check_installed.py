#!/usr/bin/env python3
"""The package as a wheel has it. Usage: check_installed.py CMAKE BUILD

Installs the component "python" into an empty folder, adds the sources, moves it, and uses it from there: libraries, operators and
the program are found by where they lie. Checks what is loaded by importing it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LAZY = {"numpy", "torch", "json", "ast", "inspect", "typing", "dataclasses", "ctypes", "hidet._core"}
USE = """
import sys
import hidet
loaded = {LAZY!r} & set(sys.modules)
assert not loaded, f"import hidet loads {{loaded}}"
text = open({saxpy!r}).read()
module = hidet.hds.loads(text)
x, y = hidet._core.Tensor((4,), 2, 32, 1, 0), hidet._core.Tensor((4,), 2, 32, 1, 0)
module.saxpy(2.0, x, y)
module = hidet.hds.loads("from activation import relu\\n")
assert hidet.__file__.startswith({folder!r}), hidet.__file__
maps = open("/proc/self/maps").read()
assert {folder!r} + "/hidet/lib/libhds.so.1" in maps, "libhds is another one"
"""


def run(*command, **kwargs):
    result = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout}{result.stderr}")
    return result.stdout


def install(cmake, build, folder):
    run(cmake, "--install", build, "--component", "python", "--prefix", folder)
    shutil.copytree(
        TOP / "python" / "hidet",
        os.path.join(folder, "hidet"),
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )


def versions():
    """The package, its project file and the compiler have one version."""
    found = {
        re.search(r"project\(hdsc VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text(encoding="utf-8"))[1],
        re.search(r'^version = "([\d.]+)"', (TOP / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1],
        re.search(r'__version__ = "([\d.]+)"', (TOP / "python/hidet/__init__.py").read_text(encoding="utf-8"))[1],
    }
    if len(found) != 1:
        sys.exit(f"versions differ: {found}")


def main():
    cmake, build = sys.argv[1:]
    versions()
    with tempfile.TemporaryDirectory() as scratch:
        first, folder = os.path.join(scratch, "first"), os.path.join(os.path.realpath(scratch), "moved")
        install(cmake, build, first)
        os.rename(first, folder)
        size = sum(p.stat().st_size for p in pathlib.Path(folder).rglob("*") if p.is_file())
        if size > 40e6:
            sys.exit(f"the package takes {size / 1e6:.1f} MB")
        environment = {**os.environ, "PYTHONPATH": folder, "HDS_CACHE": "off"}
        use = USE.format(LAZY=LAZY, saxpy=str(TOP / "examples/saxpy.hds"), folder=folder)
        run(sys.executable, "-c", use, env=environment, cwd=scratch)
        if "hdsc" not in run(sys.executable, "-m", "hidet", "--version", env=environment, cwd=scratch):
            sys.exit("python -m hidet is not hdsc")
        if "relu" not in run(sys.executable, "-m", "hidet", "ops", "relu", env=environment, cwd=scratch):
            sys.exit("hdsc of the package finds no operators")
    print("4 passed, 0 failed")


if __name__ == "__main__":
    main()
