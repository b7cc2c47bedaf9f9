"""Every .hds file of the repository is a syntactically valid Python 3.13 file, says ruff's parser.

Files under an inputs/ folder, and those that say 'not Python' in a comment, are there to be refused.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402


def is_python(path):
    parts = path.relative_to(TOP).parts
    if "inputs" in parts or parts[0].startswith(("build", ".")):
        return False
    return b"not Python" not in path.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ruff", required=True)
    args = parser.parse_args()
    files = sorted(p for p in TOP.rglob("*.hds") if is_python(p))
    command = [args.ruff, "check", "--isolated", "--no-cache", "--extension", "hds:python", "--target-version", "py313",
               "--select", "E9", "--output-format", "concise"]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    problems = [line for line in done.stdout.splitlines() if ".hds:" in line]
    if done.returncode and not problems:
        problems = [done.stdout + done.stderr]
    sys.exit(finish(problems, len(files) - len(problems)))


if __name__ == "__main__":
    main()
