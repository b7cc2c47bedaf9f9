#!/usr/bin/env python3
"""Holds the sources to src/LAYERS: a module includes itself and what its row names, and the rows make no cycle.

A folder of a module may have a row, as typecheck/eval: it may include what the module may, the module's top folder, and what
its own row names. A file belongs to the longest row that its path begins with."""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z_]+/[^"]+)"', re.MULTILINE)


def layers():
    rows = {}
    for line in (TOP / "src" / "LAYERS").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(":")
            rows[name.strip()] = rest.split()
    return rows


def row_of(rows, path):
    """The row that [path], relative to src, is under; None: it is no file of a module."""
    folders = [str(p) for p in pathlib.PurePosixPath(path).parents]
    return next((folder for folder in folders if folder in rows), None)


def allowed_in(rows, module):
    top = module.split("/")[0]
    return {module, top, *rows[top], *rows[module]} if module else set()


def row_problems(rows):
    seen, problems = [], []
    for name, allowed in rows.items():
        problems += [f"LAYERS: {name} names {other}, which does not stand above it" for other in allowed
                     if other not in seen]
        seen.append(name)
    return problems + folder_problems(rows)


def folder_problems(rows):
    """Each folder of src has a row, and so do all folders of a module that has a row for one of them."""
    tops = ["", *(name.split("/")[0] for name in rows if "/" in name)]
    folders = {str(p.relative_to(TOP / "src")) for top in tops for p in (TOP / "src" / top).iterdir() if p.is_dir()}
    return ([f"LAYERS: no row for src/{name}" for name in sorted(folders - set(rows))]
            + [f"LAYERS: there is no src/{name}" for name in rows if not (TOP / "src" / name).is_dir()])


def file_problems(rows, path):
    module = row_of(rows, path.relative_to(TOP / "src").as_posix())
    allowed = allowed_in(rows, module)
    text = path.read_text(encoding="utf-8")
    others = (row_of(rows, include) for include in INCLUDE.findall(text))
    return [f"{path.relative_to(TOP)}: {module} may not include {other}" for other in others
            if other and other not in allowed]


def main():
    rows = layers()
    files = [p for p in sorted((TOP / "src").rglob("*")) if p.suffix in (".c", ".h", ".def", ".inc")]
    problems = row_problems(rows)
    for path in files:
        problems += file_problems(rows, path)
    for problem in problems:
        print(problem)
    print(f"{len(files)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
