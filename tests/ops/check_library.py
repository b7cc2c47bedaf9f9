"""docs/ops.md has a row for each header of libhdsops' operators, and for no other. Usage: check_library.py"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402


def made():
    """The headers: the parts of the catalogue."""
    catalogue = json.loads((TOP / "ops/library/catalogue.json").read_text(encoding="utf-8"))
    return {part for parts in catalogue.values() for part in parts}


def documented():
    table = (TOP / "docs/ops.md").read_text(encoding="utf-8").split("| `hds/operators/….h` |")[1].split("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def main():
    headers, rows = made(), documented()
    problems = [f"docs/ops.md has no row for hds/operators/{name}.h\n" for name in sorted(headers - set(rows))]
    problems += [f"docs/ops.md has a row for hds/operators/{name}.h, which is not made\n" for name in sorted(set(rows) - headers)]
    problems += [f"docs/ops.md has {name} more than once\n" for name in sorted({n for n in rows if rows.count(n) > 1})]
    sys.exit(finish(problems, max(len(headers) - len(problems), 0)))


if __name__ == "__main__":
    main()
