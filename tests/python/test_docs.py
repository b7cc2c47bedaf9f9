"""Runs the Python examples of docs/python.md, in their order and in one program, in the repository's folder."""

import linecache
import os
import re
import unittest

from support import TOP, Case

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEEDS_TORCH = re.compile(r"\bimport torch\b|(?<![\w.])torch\.|\bhidet\.torch\.")


class Page(Case):
    def test_examples(self):
        page = TOP / "docs" / "python.md"
        text, names, count = page.read_text(encoding="utf-8"), {"__name__": "page"}, 0
        folder = os.getcwd()
        os.chdir(TOP)
        self.addCleanup(os.chdir, folder)
        for match in BLOCK.finditer(text):
            # Scripts are compiled from their source: each example is a file of its own.
            name = f"<example {count} of {page.name}>"
            linecache.cache[name] = (len(match[1]), None, match[1].splitlines(True), name)
            if NEEDS_TORCH.search(match[1]) and not self.has_torch():
                continue
            exec(compile(match[1], name, "exec"), names)
            count += 1
        self.assertGreater(count, 2)

    def has_torch(self):
        try:
            import torch
        except ImportError:
            return False
        torch._dynamo.reset()  # extents that other tests had would be open
        return True


if __name__ == "__main__":
    unittest.main()
