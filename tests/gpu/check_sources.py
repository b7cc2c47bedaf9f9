"""The kernels of this folder compile, without a warning: check_sources.py HDSC. That needs neither a GPU nor NVRTC."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish, run  # noqa: E402


def check(hdsc, path):
    result = run(hdsc, path.read_text(encoding="utf-8"), ["--arch=sm_90a"])
    return [] if result.status == 0 and not result.diagnostics else [f"{path.relative_to(TOP)}:\n{result.text}"]


def main():
    paths = sorted((TOP / "tests" / "gpu").rglob("*.hds"))
    results = each(lambda path: check(sys.argv[1], path), paths)
    sys.exit(finish([problem for found in results for problem in found], sum(not found for found in results)))


if __name__ == "__main__":
    main()
