"""Writes the CHECK lines of golden tests anew: update.py HDSC FILE...

For files that dump the IR and check all of it. What stands above the first CHECK line stays; below it comes each function
of the dump, line by line. The diff is then to be read: a golden file says what the compiler does, not what is right.
"""

import pathlib
import re
import shlex
import subprocess
import sys

FUNCTION = re.compile(r"(?:public )?(?:kernel|device|host) @([^(]+)\(")


def checks(dump):
    lines, inside, first = [], None, True  # inside: a signature's attributes (False), a body (True)
    for line in dump.split("\n"):
        opened = FUNCTION.match(line)
        text = line.strip()
        if opened:
            lines += ["#"] * bool(lines) + [f"# CHECK-LABEL: @{opened.group(1)}("]
            inside, first = False, True
        elif line == "{" and inside is not None:
            inside = first = True
        elif line == "}":
            inside = None
        elif text and (inside or (inside is False and not line.startswith("        "))):
            lines.append(("# CHECK:       " if first else "# CHECK-NEXT:  ") + text)
            first = False
    return lines


def update(hdsc, path):
    text = path.read_text()
    command = re.search(r"# RUN: %hdsc %s (--dump=hir.*?) \| FileCheck %s$", text, re.MULTILINE)
    if not command:
        sys.exit(f"{path}: no RUN line that dumps the IR")
    dump = subprocess.run([hdsc, path, *shlex.split(command.group(1))], capture_output=True, text=True, check=True).stdout
    source = text.split("\n# CHECK", 1)[0].rstrip("\n")
    path.write_text(source + "\n\n\n" + "\n".join(checks(dump)) + "\n")


def main():
    for name in sys.argv[2:]:
        update(sys.argv[1], pathlib.Path(name))


if __name__ == "__main__":
    main()
