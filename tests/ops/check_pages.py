"""docs/operators.md is what 'hdsc ops --markdown' says of ops/. Usage: check_pages.py HDSC [--write]"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402

PAGE = TOP / "docs/operators.md"


def main():
    done = subprocess.run([sys.argv[1], "ops", "--markdown", "ops"], cwd=TOP, capture_output=True, text=True, check=False)
    problems = [done.stderr] if done.returncode else []
    if not problems and "--write" in sys.argv:
        PAGE.write_text(done.stdout, encoding="utf-8")
    if not problems and PAGE.read_text(encoding="utf-8") != done.stdout:
        problems = ["docs/operators.md is out of date; make it anew with tests/ops/check_pages.py HDSC --write\n"]
    sys.exit(finish(problems, 1 - len(problems)))


if __name__ == "__main__":
    main()
