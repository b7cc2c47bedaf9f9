#!/usr/bin/env python3
"""Holds the sources to src/LAYERS: a module includes itself and what its row names, and the rows make no cycle."""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z_]+)/[^"]+"', re.MULTILINE)


def layers():
    rows = {}
    for line in (TOP / "src" / "LAYERS").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(":")
            rows[name.strip()] = rest.split()
    return rows


def row_problems(rows):
    seen, problems = [], []
    for name, allowed in rows.items():
        problems += [f"LAYERS: {name} names {other}, which does not stand above it" for other in allowed
                     if other not in seen]
        seen.append(name)
    folders = {p.name for p in (TOP / "src").iterdir() if p.is_dir()}
    return problems + [f"LAYERS: no row for src/{name}" for name in sorted(folders - set(rows))]


def file_problems(rows, path):
    module = path.relative_to(TOP / "src").parts[0]
    allowed = {module, *rows.get(module, [])}
    text = path.read_text(encoding="utf-8")
    return [f"{path.relative_to(TOP)}: {module} may not include {other}" for other in INCLUDE.findall(text)
            if other in rows and other not in allowed]


def main():
    rows = layers()
    files = [p for p in sorted((TOP / "src").rglob("*")) if p.suffix in (".c", ".h", ".def")]
    problems = row_problems(rows)
    for path in files:
        problems += file_problems(rows, path)
    for problem in problems:
        print(problem)
    print(f"{len(files)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
