"""The corpus of proofs, tests/sim/prove: each file says in its docstring the command, on a line that begins with
'hdsc prove', and behind 'verdict:' what must come out: equal or different.

Different means that hdsc names an output element that is not as it should be, or a fault in the kernel itself. Usage:
check_prove.py HDSC [FILE…]
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish  # noqa: E402

FOLDER = TOP / "tests" / "sim" / "prove"
COMMAND = re.compile(r"^ *hdsc prove ((?:.*\\\n)*.*)$", re.MULTILINE)
VERDICT = re.compile(r"^ *verdict: *(\w+)(.*)$", re.MULTILINE)
DIFFERENT = {"HDS0670", "HDS0671"}


def cases(path):
    """(words of the command, verdict, what must be in the messages) of each command of a file's docstring."""
    docstring = path.read_text(encoding="utf-8").split('"""')[1]
    commands = [(m.start(), shlex.split(m[1].replace("\\\n", " "))) for m in COMMAND.finditer(docstring)]
    found = []
    for number, (start, words) in enumerate(commands):
        end = commands[number + 1][0] if number + 1 < len(commands) else len(docstring)
        verdict = VERDICT.search(docstring, start, end)
        found.append((path, words, verdict[1] if verdict else None))
    return found


def codes_of(text):
    try:
        start = text.index('{"diagnostics"') if '{"diagnostics"' in text else text.index("{")
        return {d["code"] for d in json.JSONDecoder().raw_decode(text[start:])[0]["diagnostics"] if d["severity"] == "error"}
    except ValueError:
        return set()


def check(hdsc, case):
    path, words, verdict = case
    name = f"{path.name}: hdsc prove {shlex.join(words)}"
    if verdict not in ("equal", "different"):
        return [f"{name}: no verdict is said, or another than 'equal' and 'different'"]
    command = [hdsc, "prove", "--diagnostics=json", *words]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False, timeout=600)
    codes = codes_of(done.stderr)
    if verdict == "equal" and (done.returncode != 0 or not done.stdout.startswith("equal: ")):
        return [f"{name}: it should be equal\n{done.stdout}{done.stderr}"]
    if verdict == "different" and (done.returncode != 1 or not codes & DIFFERENT):
        return [f"{name}: it should be different\n{done.stdout}{done.stderr}"]
    return []


def main():
    hdsc = os.path.abspath(sys.argv[1])
    files = [pathlib.Path(p).resolve() for p in sys.argv[2:]] or sorted(FOLDER.glob("*.hds"))
    chosen = [case for path in files for case in cases(path)]
    results = each(lambda case: check(hdsc, case), chosen)
    problems = [problem for found in results for problem in found]
    by_verdict = [verdict for _, _, verdict in chosen]
    for verdict in ("equal", "different"):
        if len(sys.argv) == 2 and by_verdict.count(verdict) < 12:
            problems.append(f"there are {by_verdict.count(verdict)} proofs that come out {verdict}; 12 are promised")
    sys.exit(finish(problems, sum(not found for found in results)))


if __name__ == "__main__":
    main()
