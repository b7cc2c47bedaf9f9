"""Every ```python block of lang/reference.md and docs/*.md compiles, with 'hdsc check', without error or warning.

'```python error HDS0123' must give exactly that code; '```python fragment' is not a whole file and is skipped.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, blocks, each, finish, run  # noqa: E402


def check(hdsc, path, block):
    words = block.info.split()
    expected = [words[2]] if words[1:2] == ["error"] and len(words) == 3 else []
    result = run(hdsc, block.text, [*block.flags, "-Wno-empty"])
    if result.codes() == expected and (result.status == 0) == (not expected or expected == result.codes("warning")):
        return []
    wanted = expected[0] if expected else "no message"
    return [f"{path.relative_to(TOP)}:{block.line}: expected {wanted}, got {', '.join(result.codes()) or 'nothing'}\n"
            f"{result.text}"]


def main():
    hdsc = sys.argv[1]
    pages = [p for p in [TOP / "lang" / "reference.md", TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
             if p.exists() and p.name != "python.md"]  # tests/python/test_docs.py runs that page
    work = [(page, block) for page in pages for block in blocks(page.read_text(encoding="utf-8"))
            if block.info.split()[:1] == ["python"] and block.info.split()[1:] != ["fragment"]]
    results = each(lambda item: check(hdsc, *item), work)
    sys.exit(finish([problem for found in results for problem in found], sum(not found for found in results)))


if __name__ == "__main__":
    main()
