#!/usr/bin/env python3
"""The shell completions and the man page name every option that 'hdsc --help' names. Usage: check_completion.py HDSC"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
FILES = ("completions/hdsc.bash", "completions/hdsc.zsh", "completions/hdsc.fish", "docs/man/hdsc.1")


def main():
    text = subprocess.run([sys.argv[1], "--help"], capture_output=True, text=True, check=True).stdout
    options = sorted(set(re.findall(r"^\s+(?:-\w, )?--([a-z][a-z-]+)", text, re.MULTILINE)))
    commands = ("check", "run", "test", "prove", "bench", "tune", "mapping", "ops", "graph", "report", "cache", "explain")
    commands += ("version", "help")
    problems, passed = [], 0
    for file in FILES:
        content = (TOP / file).read_text(encoding="utf-8").replace("\\-", "-")
        for word in (*options, *commands):
            if word in content:
                passed += 1
            else:
                problems.append(f"{file} does not mention '{word}'")
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    sys.exit(1 if problems or not options else 0)


if __name__ == "__main__":
    main()
