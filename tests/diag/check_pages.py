"""Every message has a page, its Wrong block gives exactly that message, and its Right block compiles without it.

A block may begin with '# flags: …'. Where no source text can bring a message about (a full disk), the Wrong block is a
```text block that shows the message, and is not run.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, blocks, each, finish, run  # noqa: E402

ROW = re.compile(r'^DIAG\((HDS\d{4}), "([^"]+)", (\w+),', re.MULTILINE)


def section(page_blocks, heading):
    return [b for b in page_blocks if b.heading == heading]


def quiet(code, block):
    """An example need not have a kernel. A command stands first."""
    return block.flags if code == "HDS0496" else [*block.flags, "-Wno-empty"]


def check_wrong(hdsc, code, wrong):
    if wrong.info == "text":
        return []
    result = run(hdsc, wrong.text, quiet(code, wrong))
    got = result.codes()
    return [] if got == [code] else [f"the Wrong block gives {', '.join(got) or 'nothing'}\n{result.text}"]


def check_right(hdsc, code, right):
    result = run(hdsc, right.text, quiet(code, right))
    if code in result.codes() or result.codes("error"):
        return [f"the Right block gives {', '.join(result.codes())}\n{result.text}"]
    return []


def check_page(hdsc, code, slug):
    path = TOP / "lang" / "diagnostics" / f"{code}.md"
    if not path.exists():
        return [f"{code}: there is no page lang/diagnostics/{code}.md"]
    page = path.read_text(encoding="utf-8")
    problems = []
    if page.splitlines()[0] != f"# {code}: {slug}":
        problems.append(f"the title is not '# {code}: {slug}'")
    found = blocks(page)
    wrong, right = section(found, "Wrong"), section(found, "Right")
    if len(wrong) != 1 or wrong[0].info not in ("python", "text"):
        problems.append("there must be one ```python (or ```text) block under '## Wrong'")
    else:
        problems += check_wrong(hdsc, code, wrong[0])
    if wrong and wrong[0].info == "python" and (len(right) != 1 or right[0].info != "python"):
        problems.append("there must be one ```python block under '## Right'")
    for block in right:
        problems += check_right(hdsc, code, block) if block.info == "python" else []
    return [f"{code}: {problem}" for problem in problems]


def main():
    hdsc = sys.argv[1]
    rows = ROW.findall((TOP / "src" / "diag" / "diag.def").read_text(encoding="utf-8"))
    pages = {p.stem for p in (TOP / "lang" / "diagnostics").glob("HDS*.md")}
    results = each(lambda row: check_page(hdsc, row[0], row[1]), rows)
    problems = [problem for found in results for problem in found]
    problems += [f"{code}: a page without a row in diag.def" for code in sorted(pages - {row[0] for row in rows})]
    sys.exit(finish(problems, sum(not found for found in results)))


if __name__ == "__main__":
    main()
