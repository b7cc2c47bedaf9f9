"""Symbolic tensors and graphs, compared with the operators one by one."""

import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
from support import Case

import hidet
from hidet import _runtime


def block(x, w, b, scale):
    """Two layers with a residual, of which one constant is folded."""
    y = hidet.ops.relu(hidet.ops.linear(x, w, b) * scale)
    return hidet.ops.softmax(y + x, axis=-1)


class Tracing(Case):
    def setUp(self):
        hidet.seed(11)
        self.a = hidet.randn([4, 8])
        self.w, self.b, self.s = hidet.randn([8, 8]), hidet.randn([8]), hidet.randn([8])
        self.x = hidet.symbol_like(self.a)
        self.y = block(self.x, self.w, self.b, self.s)
        self.expected = block(self.a, self.w, self.b, self.s).numpy()

    def test_symbols(self):
        self.assertIsNone(self.x.trace)
        self.assertIsNone(self.x.storage)
        op, index = self.y.trace
        self.assertEqual((op.name, index, self.y.shape, self.y.dtype.name), ("softmax", 0, (4, 8), "float32"))
        self.assertRegex(
            str(self.y), r"^Tensor\(shape=\(4, 8\), dtype='float32', device='cpu'\)\nfrom \(<hidet.ops.softmax at 0x\w+>, 0\)$"
        )
        self.assertEqual(str(self.x), "Tensor(shape=(4, 8), dtype='float32', device='cpu')")
        for use in (self.y.numpy, self.y.tolist, lambda: float(self.y)):
            with self.assertRaises(ValueError):
                use()

    def test_symbols_need_no_code(self):
        """Where kernels run on a GPU, recording compiles none."""
        with (
            mock.patch.object(_runtime, "simulates", return_value=False),
            mock.patch.object(_runtime, "compile", wraps=_runtime.compile) as compile,
        ):
            y = hidet.ops.tanh(hidet.symbol([3, 77]))
        self.assertEqual(y.shape, (3, 77))
        self.assertEqual([call.kwargs["simulate"] for call in compile.call_args_list], [True])

    def test_running(self):
        graph = hidet.trace_from(self.y)
        self.assertEqual([n.title for n in graph.nodes], ["Linear", "Multiply", "Relu", "Add", "Softmax"])
        np.testing.assert_allclose(graph(self.a).numpy(), self.expected, rtol=1e-5, atol=1e-6)
        optimized = hidet.graph.optimize(graph)
        np.testing.assert_allclose(optimized(self.a).numpy(), self.expected, rtol=1e-5, atol=1e-6)
        recorded = optimized.cuda_graph()
        (out,) = recorded.run([self.a])
        np.testing.assert_allclose(out.numpy(), self.expected, rtol=1e-5, atol=1e-6)
        self.assertIs(recorded.run([self.a])[0], out)

    def test_no_elements(self):
        x = hidet.zeros([2, 0, 4])
        self.assertEqual((x.tolist(), (x + 1).shape), ([[], []], (2, 0, 4)))
        np.testing.assert_array_equal(hidet.ops.max(x, axis=1).numpy(), np.full((2, 4), -np.inf))
        np.testing.assert_array_equal(hidet.ops.matmul(hidet.ones([3, 0]), hidet.ones([0, 2])).numpy(), np.zeros((3, 2)))
        graph = hidet.trace_from(hidet.ops.sum(hidet.symbol([2, 0, 4]) * 2, axis=1) + 1)
        for g in (graph, hidet.graph.optimize(graph)):
            np.testing.assert_array_equal(g(x).numpy(), np.ones((2, 4)))

    def test_optimizing(self):
        optimized = hidet.graph.optimize(hidet.trace_from(self.y))
        self.assertLess(len(optimized.kernels), 5)
        self.assertIn("fused_graph=FlowGraph(", str(optimized))

    def test_kernels_of_one_launch(self):
        """Products that one launch computes side by side are a kernel each, before and after others."""
        x, w, v = hidet.symbol([8, 32]), hidet.randn([32, 32]), hidet.randn([32, 32])
        y = hidet.ops.softmax(x)
        outputs = [hidet.ops.matmul(y, w), hidet.ops.softmax(hidet.ops.matmul(y, v))]
        optimized = hidet.graph.optimize(hidet.trace_from(outputs))
        self.assertIn("launch_together(", optimized.lowered)
        names = [k.name for k in optimized.kernels]
        self.assertEqual([n for n in names if "matmul" in n], ["fused_matmul", "fused_matmul"])
        self.assertEqual([k.joined for k in optimized.kernels], [None, 1, 1, None])
        self.assertEqual(str(optimized).count("FusedMatmul("), 2)

    def test_precision(self):
        with hidet.graph.PassContext() as context:
            context.set_precision("float16")
            optimized = hidet.graph.optimize(hidet.trace_from(self.y))
        self.assertIn("f16", optimized.lowered)
        self.assertTrue(optimized.loaded)  # weights are cast once
        np.testing.assert_allclose(optimized(self.a).numpy(), self.expected, rtol=2e-2, atol=2e-2)
        with self.assertRaises(ValueError):
            hidet.graph.PassContext().set_precision("float12")

    def test_printing(self):
        x = hidet.symbol([2, 3], device="cuda")
        w, b = hidet.randn([3, 2], device="cuda"), hidet.randn([2], device="cuda")
        graph = hidet.trace_from(hidet.ops.matmul(x, w) + b)
        self.assertEqual(
            str(graph),
            "Graph(x: float32[2, 3][cuda]){\n"
            "  c = Constant(float32[3, 2][cuda])\n"
            "  c_1 = Constant(float32[2][cuda])\n"
            "  x_1: float32[2, 2][cuda] = Matmul(x, c)\n"
            "  x_2: float32[2, 2][cuda] = Add(x_1, c_1)\n"
            "  return x_2\n}",
        )
        self.assertEqual(
            str(hidet.graph.optimize(graph)).splitlines()[3],
            "  x_1: float32[2, 2][cuda] = FusedMatmulAdd(x, c, c_1, fused_graph=FlowGraph(Matmul, Add))",
        )

    def test_files(self):
        graph = hidet.trace_from(self.y)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "graph.hidet")
            graph.save(path)
            again = hidet.load_graph(path)
            graph.draw(pathlib.Path(folder, "graph.dot"))
            self.assertIn("digraph", pathlib.Path(folder, "graph.dot").read_text(encoding="utf-8"))
            path.write_bytes(b"no graph at all")
            with self.assertRaisesRegex(ValueError, "no safetensors file"):
                hidet.load_graph(path)
        self.assertEqual(str(again), str(graph))
        np.testing.assert_array_equal(again(self.a).numpy(), graph(self.a).numpy())

    def test_damaged_files(self):
        """Whatever a file has, it is read as data, and what does not fit is a ValueError with the file's name."""
        graph = hidet.trace_from(self.y)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "graph.hidet")
            graph.save(path)
            data = path.read_bytes()
            size = struct.unpack("<Q", data[:8])[0]
            header, tail = json.loads(data[8 : 8 + size]), data[8 + size :]

            def refused(change, message):
                changed = json.loads(json.dumps(header))
                inner = json.loads(changed["__metadata__"]["hidet.graph"])
                change(changed, inner)
                changed["__metadata__"]["hidet.graph"] = json.dumps(inner)
                text = json.dumps(changed).encode()
                path.write_bytes(struct.pack("<Q", len(text)) + text + tail)
                with self.assertRaisesRegex(ValueError, f"graph.hidet: .*{message}"):
                    hidet.load_graph(path)

            name = next(n for n in header if n != "__metadata__")
            refused(lambda h, g: h[name].update(data_offsets=[0, 1 << 60]), "damaged: the bytes of its elements")
            refused(lambda h, g: h[name].update(data_offsets=[-4, 0]), "damaged: extents and offsets")
            refused(lambda h, g: h[name].update(shape=[1 << 40]), "damaged: the bytes of its elements")
            refused(lambda h, g: h[name].update(dtype="F7"), "damaged: 'F7'")
            refused(lambda h, g: h[name].pop("shape"), "damaged: 'shape'")
            refused(lambda h, g: g["nodes"][0].update(module="x import y\nfrom z"), "graph is damaged: .*no name")
            refused(lambda h, g: g["nodes"][0]["attributes"].update({"a=1)\nimport b\nf(": 1}), "graph is damaged: .*no name")
            refused(lambda h, g: g["nodes"][0].update(inputs=[{"tensor": "t9"}]), "graph is damaged: .*t9")
            refused(lambda h, g: g.pop("outputs"), "graph is damaged: .*outputs")
            path.write_bytes(struct.pack("<Q", 100_000) + b"{" + b"[" * 99_999)
            with self.assertRaisesRegex(ValueError, "header is damaged"):
                hidet.load_graph(path)
            path.write_bytes(pickle.dumps(graph.output_names))
            with self.assertRaisesRegex(ValueError, "no safetensors file"):
                hidet.load_graph(path)
            with self.assertRaisesRegex(hidet.CompilationError, "HDS0003"):
                hidet.hds.load(path)

    def test_programs_of_other_processes(self):
        """A graph is one program with whatever constants, which another process finds on disk, with warnings about it, too."""
        ask = "import hidet\nw, x = hidet.randn([4, 3]), hidet.symbol([2, 4])\n"
        ask += "made = hidet.trace_from(hidet.ops.relu(x @ w)).build()\na = hidet.randn([2, 4])\n"
        ask += "assert abs(made(a).numpy() - hidet.ops.relu(a @ w).numpy()).max() < 1e-5\nprint(made.program.origin)"
        package = str(pathlib.Path(hidet.__file__).resolve().parent.parent)
        with tempfile.TemporaryDirectory() as folder:
            # Files of the user's are not what the package imports.
            for name in ("activation", "matmul"):
                pathlib.Path(folder, f"{name}.hds").write_text("A = 1\n", encoding="utf-8")
            clean = {k: v for k, v in os.environ.items() if k != "HDS_CACHE"}
            for expected in ("compiled", "disk"):
                done = subprocess.run(
                    [sys.executable, "-c", ask],
                    env={**clean, "HDS_CACHE_DIR": os.path.join(folder, "cache"), "PYTHONPATH": package},
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual((done.stdout.strip(), done.stderr), (expected, ""))

    def test_several_inputs_and_outputs(self):
        x, y = hidet.symbol([3, 2]), hidet.symbol([3, 2])
        z = x - y
        with self.assertRaisesRegex(ValueError, "2 inputs"):
            hidet.trace_from(z)
        with self.assertRaisesRegex(ValueError, "not among 'inputs'"):
            hidet.trace_from(z, inputs=[x])
        graph = hidet.trace_from([z, z * 2, x[:, 1]], inputs=[y, x])
        a, b = hidet.randn([3, 2]), hidet.randn([3, 2])
        outputs = graph(a, b)
        for got, expected in zip(outputs, (b - a, (b - a) * 2, b[:, 1])):
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-6)
        self.assertEqual(graph.usage_count[z], 2)

    def test_lists_and_reshapes(self):
        x = hidet.symbol([4, 6])
        first, second = hidet.ops.split(x, 3, dim=1)
        graph = hidet.trace_from(hidet.ops.concat([second, first], dim=1).reshape(2, 12).sum(1, keep_dim=True))
        a = hidet.randn([4, 6])
        n = a.numpy()
        np.testing.assert_allclose(
            graph(a).numpy(), np.concatenate([n[:, 3:], n[:, :3]], 1).reshape(2, 12).sum(1, keepdims=True), rtol=1e-5, atol=1e-6
        )

    def test_wrong_inputs(self):
        graph = hidet.trace_from(self.y)
        with self.assertRaisesRegex(hidet.ArgumentError, "has 1 inputs, and 2"):
            graph(self.a, self.a)
        with self.assertRaisesRegex(
            hidet.ArgumentError, r"input 0 is float32\[3, 8\]\[cpu\], and the graph takes float32\[4, 8\]\[cpu\]"
        ):
            graph(hidet.randn([3, 8]))
        with self.assertRaisesRegex(ValueError, "symbolic"):
            hidet.trace_from(self.a)

    def test_latency(self):
        self.assertGreater(hidet.trace_from(self.y).latency(warmup=1, repeat=2), 0)


ATEN = """from hidet.lang import f32, i64, u8, u64
from aten.core import add, addmm, addmv, addr, baddbmm, slice, sub
from aten.indices import gather
from aten.reductions import kthvalue


@hidet.graph
def sums(c: f32[3, 3], a: f32[3, 3], x: f32[3], y: f32[3]):
    products = addmm(c, a, a, beta=0), baddbmm(c, a, a, beta=0.0), addr(c, x, y, beta=0), addr(x, x, y, beta=2, alpha=3)
    return *products, addmv(c[0], a, x, beta=0, alpha=2)


@hidet.graph
def differences(x: u64[4], y: u64[4]):
    return add(x, y, alpha=-3), sub(x, y, alpha=-3)


@hidet.graph
def places(x: f32[5]):
    return kthvalue(x, 2)


@hidet.graph
def nothing(x: f32[2, 5], at: u8[0], places: i64[2, 0]):
    return gather(x, 0, at), gather(x, 1, places), slice(x, 1, 5, 9), slice(x, 0, 2, 9)
"""


class Aten(Case):
    """Functions of ops/aten, compared with NumPy; tests/python/test_torch.py compares them with PyTorch."""

    @classmethod
    def setUpClass(cls):
        cls.module = hidet.hds.loads(ATEN, name="aten.hds")

    def test_summands_that_are_not_read(self):
        rng = np.random.default_rng(1)
        c, (a, (x, y)) = np.full((3, 3), np.nan, "f"), (rng.random((3, 3), "f"), rng.random((2, 3), "f"))
        results = [np.empty((3, 3), "f") for _ in range(4)] + [np.empty(3, "f")]
        self.module.sums(c, a, x, y, *results)
        for got, expected in zip(results, (a @ a, a @ a, np.outer(x, y), 2 * x + 3 * np.outer(x, y), 2 * (a @ x))):
            np.testing.assert_allclose(got, expected, rtol=1e-5)

    def test_negative_factors_of_unsigned_numbers(self):
        x, y = np.arange(4, dtype="Q") + 20, np.arange(4, dtype="Q")
        results = [np.empty(4, "Q") for _ in range(2)]
        self.module.differences(x, y, *results)
        np.testing.assert_array_equal(results[0], x - 3 * y)
        np.testing.assert_array_equal(results[1], x + 3 * y)

    def test_one_place(self):
        x, value, place = np.array([3, 1, 2, 5, 4], "f"), np.empty((), "f"), np.empty((), "q")
        self.module.places(x, value, place)
        self.assertEqual((value, place), (2, 2))

    def test_indices_without_elements(self):
        x, at, places = np.ones((2, 5), "f"), np.empty(0, "B"), np.empty((2, 0), "q")
        self.module.nothing(x, at, places, np.empty(0, "f"), *(np.empty(n, "f") for n in ((2, 0), (2, 0), (0, 5))))


if __name__ == "__main__":
    unittest.main()
