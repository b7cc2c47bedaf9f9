#!/usr/bin/env python3
"""Conventions that can be checked: line lengths, unfinished words, links and paths that exist, a test for every pass."""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 140  # the formatter aims at 120; comments at the end of a line and strings may reach further
PAGE_WIDTH = 130
WIDE_PAGES = ("README.md",)  # shows output as it is printed
CODE = (".c", ".h", ".py", ".hds", ".hir", ".cmake", ".cuh", ".y", ".re")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# Files that pages name, but for placeholders such as tests/ops/NAME_test.hds.
FOLDERS = "bench|cmake|docs|editors|examples|include|lang|ops|python|src|stdlib|tests|tools"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./-]*\.(?:hds|hir|c|h|py|md|def|cuh|cmake|test|svg|csv)\b")
PLACEHOLDER = re.compile(r"/(X|NAME\w*|PASS)\.")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)]*)?\)")


def files():
    """Tracked and new files, or all but hidden and build folders where there is no git."""
    try:
        command = ["git", "-C", str(TOP), "ls-files", "-co", "--exclude-standard"]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [TOP / line for line in out.splitlines() if (TOP / line).is_file()]
    except (OSError, subprocess.CalledProcessError):
        return [p for p in TOP.rglob("*")
                if p.is_file() and not p.relative_to(TOP).parts[0].startswith((".git", "build"))]


def code_problems(path, text):
    name = path.relative_to(TOP)
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDTH:
            yield f"{name}:{number}: {len(line)} columns; {WIDTH} are allowed"
        if UNFINISHED.search(line) and path != pathlib.Path(__file__).resolve():
            yield f"{name}:{number}: an unfinished word"
        if line != line.rstrip() and path.suffix != ".py":
            yield f"{name}:{number}: blanks at the end of the line"


def page_problems(path, text):
    name = path.relative_to(TOP)
    wide = name.as_posix().startswith(WIDE_PAGES)
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > PAGE_WIDTH and not wide:
            yield f"{name}:{number}: {len(line)} columns; {PAGE_WIDTH} are allowed"
    yield from link_problems(path, text)
    for target in sorted(set(PATH.findall(text))):
        if not PLACEHOLDER.search(target) and not (TOP / target).exists() and not (path.parent / target).exists():
            yield f"{name}: there is no file '{target}'"


def link_problems(path, text):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    for target, _ in LINK.findall(prose):
        if "://" not in target and not target.startswith("mailto:") and not (path.parent / target).exists():
            yield f"{path.relative_to(TOP)}: the link to '{target}' leads nowhere"


def pass_problems():
    rows = re.findall(r'^IR_PASS\("([^"]+)"', (TOP / "src/ir/passes.def").read_text(encoding="utf-8"), re.MULTILINE)
    for name in sorted(set(rows)):
        if not any((TOP / "tests" / "ir" / name.replace("-", "_")).glob("*.hir")):
            yield f"tests/ir/{name}: no test of the pass"


def main():
    problems, passed = list(pass_problems()), 0
    for path in files():
        parts = path.relative_to(TOP).parts
        if path.suffix not in (*CODE, ".md") or "inputs" in parts or "corpus" in parts or "golden" in parts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found = list(page_problems(path, text) if path.suffix == ".md" else code_problems(path, text))
        problems += found
        passed += not found
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
