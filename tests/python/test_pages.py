"""The table of docs/aten.md: writing it again keeps what was not run, and reasons that were written by hand."""

import unittest

from opinfo_page import MARK, counts_of, page, reasons_of

OLD = f"""# Page

{MARK}
9 of 12 calls of 3 operators are right (75.0 %), on 2026-01-02 with PyTorch 2.15.0.

| operator | f32 | f16 | i64 | bool |
|---|---|---|---|---|
| `abs` | 2/2 | 2/2 |  |  |
| `gather` | 2/2 |  | 1/2 | 1/2 |
| `softmax` |  | 1/2 |  |  |

What is not right:

- `_softmax.default`, float16, 1 of them: a long story about rounding that somebody has found out and has written down by hand,
  in two lines: so.
- `gather.default`, int64 and bool, 1 of each: an index without elements.
"""


class Pages(unittest.TestCase):
    def test_reading(self):
        self.assertEqual(counts_of(OLD)["gather", "bool"], (1, 2))
        self.assertEqual(len(counts_of(OLD)), 6)
        reasons = reasons_of(OLD)
        self.assertEqual(reasons["gather.default", "bool"], (1, "an index without elements."))
        self.assertRegex(reasons["_softmax.default", "float16"][1], "^a long story .* by hand, in two lines: so.$")

    def test_nothing_new(self):
        """All ran again, with the same results."""
        wrong = {key: (count, "Mismatched elements") for key, (count, _) in reasons_of(OLD).items()}
        self.assertEqual(page(OLD, counts_of(OLD), wrong, "on 2026-01-02 with PyTorch 2.15.0"), OLD)

    def test_a_part(self):
        """What is right now is no longer listed, what is newly wrong is, and the rest stays."""
        counts = {("gather", "int64"): (2, 2), ("gather", "bool"): (1, 2), ("abs", "float16"): (1, 2)}
        wrong = {("gather.default", "bool"): (1, "Mismatched"), ("abs.default", "float16"): (1, "Mismatched")}
        new = page(OLD, counts, wrong, "on 2026-02-03 with PyTorch 2.16.0")
        self.assertIn("9 of 12 calls of 3 operators are right (75.0 %), on 2026-01-02 with PyTorch 2.15.0.", new)
        self.assertIn("Those of `abs`, `gather` ran later, on 2026-02-03 with PyTorch 2.16.0.", " ".join(new.split()))
        self.assertIn("| `gather` | 2/2 |  | 2/2 | 1/2 |", new)
        self.assertIn("- `gather.default`, bool, 1 of them: an index without elements.\n", new)
        self.assertIn("- `abs.default`, float16, 1 of them: Mismatched\n", new)
        self.assertIn("in two lines: so.\n", new)

    def test_all_right(self):
        counts = {key: (n, n) for key, (_, n) in counts_of(OLD).items()}
        new = page(OLD, counts, {}, "on 2026-02-03 with PyTorch 2.16.0")
        self.assertIn("12 of 12 calls of 3 operators are right (100.0 %), on 2026-02-03", new)
        self.assertNotIn("not right", new)


if __name__ == "__main__":
    unittest.main()
