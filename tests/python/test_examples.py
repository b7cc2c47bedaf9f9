"""Programs of examples/python, on the simulator: what they print is true."""

import contextlib
import io
import pathlib
import re
import runpy
import sys
import tempfile
import unittest
from unittest import mock

from support import TOP, Case, torch_or_skip


def run_example(name, *arguments):
    """What a program prints."""
    path, out = str(TOP / "examples" / "python" / name), io.StringIO()
    with mock.patch.object(sys, "argv", [path, *arguments]), contextlib.redirect_stdout(out):
        runpy.run_path(path, run_name="__main__")
    return out.getvalue()


class OptimizeBert(Case):
    def setUp(self):
        torch = torch_or_skip()
        torch._dynamo.reset()
        self.addCleanup(torch._dynamo.reset)

    def test_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertLogs("hidet", "WARNING") as logs:
                text = run_example("optimize_bert.py", folder)
            self.assertEqual([line for line in logs.output if "optimize_bert.gelu" not in line], [])
            (picture, *_) = pathlib.Path(folder).glob("encoder.[sd]*")
            self.assertIn("fused_matmul_add_gelu", picture.read_text(encoding="utf-8"))
        start, gelu, switches, products, norm, parts, profile, _ = text.split("\n== ")
        differences = re.findall(r"difference from PyTorch: (\S+?),?\s", text)
        self.assertEqual(len(differences), 4)
        self.assertLess(max(map(float, differences)), 1e-5)
        self.assertLess(float(re.search("of the FlowGraph: (.*)", start)[1]), 1e-5)
        self.check_gelu(gelu)
        rows = [tuple(map(int, row)) for row in re.findall(r": (\d+) kernels, and (\d+) that", switches)]
        self.assertEqual([loaded for _, loaded in rows], [1, 0, 1, 0])
        self.assertLess(rows[0][0] + 3, rows[2][0])
        self.assertLess(rows[2][0], rows[3][0])
        self.check_products(products)
        layer_norm, batch_norm = map(int, re.findall(r"(\d+) kernels", norm))
        self.assertEqual(layer_norm, batch_norm + 1)
        self.assertEqual(
            re.findall(r" is fused_matmul_add(?:_\d+)?(.*)", norm), [" + fused_layer_norm_tanh", "_tanh", "_batch_norm_tanh"]
        )
        self.assertIn("2 parts with", parts)
        self.assertIn("\n  optimize_bert.gelu.default: there is no such operator\n", parts)
        self.assertIn("\n  aten._softmax.default: can_handle leaves it\n", parts)
        self.assertNotIn("getitem", parts)
        self.assertRegex(profile, r"\nfused_matmul_add_gelu +\S+ [kM] ")

    def check_gelu(self, text):
        """The rules compute the approximation, and without one it is none."""
        rows = re.findall(r"gelu\(y1, approximate='(\w+)'\), difference from GELU (\S+), from its approximation (\S+)", text)
        self.assertEqual([row[0] for row in rows], ["none", "tanh", "tanh"])
        for kind, *differences in rows:
            near, far = map(float, differences if kind == "none" else differences[::-1])
            self.assertLess(near, 1e-6)
            self.assertGreater(far, 2e-6)

    def check_products(self, text):
        """f16 has two products fewer than f32, since three are one."""
        rows = [tuple(map(int, row)) for row in re.findall(r": (\d+) products, (\d+) of them", text)]
        self.assertEqual(rows, [(rows[0][0], 3), (rows[0][0], 3), (rows[0][0] - 2, 0)])
        self.assertIn("with weights of 32 x 96", text)


if __name__ == "__main__":
    unittest.main()
