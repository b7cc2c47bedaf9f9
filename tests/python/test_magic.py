"""Magics of IPython, in a shell of it."""

import contextlib
import io
import unittest

import numpy as np
from support import Case

CELL = """
from hidet.lang import attrs, f32
from hidet.lang.cuda import threadIdx

K = 2


@hidet.script
def scaled(x: f32[32], y: f32[32]):
    attrs.cuda.grid_dim = 1
    attrs.cuda.block_dim = 32
    y[threadIdx.x] = x[threadIdx.x] * K
"""


class Magics(Case):
    @classmethod
    def setUpClass(cls):
        try:
            from IPython.core.interactiveshell import InteractiveShell
        except ImportError as error:
            raise unittest.SkipTest("IPython is not installed") from error
        cls.shell = InteractiveShell()
        cls.shell.run_line_magic("load_ext", "hidet")

    def run_cell(self, line, cell=CELL):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.shell.run_cell_magic("hds", line, cell)
        return out.getvalue(), err.getvalue()

    def test_functions_are_variables(self):
        self.run_cell("-D K=3")
        x, y = np.ones(32, "f"), np.zeros(32, "f")
        self.shell.user_ns["scaled"](x, y)
        self.assertEqual(y.tolist(), [3] * 32)

    def test_running(self):
        out, err = self.run_cell("--run x=ones y=out --profile")
        self.assertEqual(err, "")
        self.assertIn("cell.hds", out)
        self.assertRegex(out, r"y\[threadIdx.x\] = x\[threadIdx.x\]")

    def test_errors_are_texts(self):
        for line, cell, message in (
            ("", CELL.replace("* K", "* L"), r"cell.hds:12:.*error\[HDS"),
            ("--fast", CELL, "unknown option '--fast'"),
            ("-D K", CELL, "NAME=VALUE"),
            ("--run x=ones z=ones", CELL, "z"),
            ("'", CELL, "No closing quotation"),
        ):
            _, err = self.run_cell(line, cell)
            self.assertRegex(err, message)
            self.assertNotIn("Traceback", err)

    def test_mappings(self):
        picture = self.shell.run_line_magic("hds_mapping", "spatial(4, 8)")
        self.assertTrue(picture._repr_svg_().startswith("<svg"))
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertIsNone(self.shell.run_line_magic("hds_mapping", "spatial(4"))
        self.assertIn("error", err.getvalue())


if __name__ == "__main__":
    unittest.main()
