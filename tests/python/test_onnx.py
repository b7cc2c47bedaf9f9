"""Models in ONNX files as graphs, compared with the reference implementation of ONNX."""

import pathlib
import tempfile
import unittest

import numpy as np
from support import Case

import hidet


def network(onnx):
    """Convolution, pooling, a reshape and a layer, with an open batch."""
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    random = np.random.default_rng(5)
    weights = {"w": (4, 3, 3, 3), "b": (4,), "fc": (64, 5)}
    constants = [onnx.numpy_helper.from_array(random.standard_normal(n).astype("f"), k) for k, n in weights.items()]
    constants.append(onnx.numpy_helper.from_array(np.array([0, -1], "i8"), "rows"))
    nodes = [
        make.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        make.make_node("Relu", ["c"], ["r"]),
        make.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        make.make_node("Reshape", ["p", "rows"], ["f"]),
        make.make_node("MatMul", ["f", "fc"], ["z"]),
        make.make_node("Clip", ["z"], ["l"]),
        make.make_node("Softmax", ["l"], ["y"], axis=-1),
    ]
    inputs = [make.make_tensor_value_info("x", kind, ["batch", 3, 8, 8])]
    outputs = [make.make_tensor_value_info("y", kind, ["batch", 5]), make.make_tensor_value_info("z", kind, ["batch", 5])]
    graph = make.make_graph(nodes, "net", inputs, outputs, constants)
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)


class Models(Case):
    @classmethod
    def setUpClass(cls):
        try:
            import onnx
            import onnx.reference
        except ImportError as error:
            raise unittest.SkipTest("the package onnx is not installed") from error
        cls.model = network(onnx)
        cls.x = np.random.default_rng(6).standard_normal((2, 3, 8, 8)).astype("f")
        cls.expected = onnx.reference.ReferenceEvaluator(cls.model).run(None, {"x": cls.x})

    def check(self, outputs):
        for got, expected in zip(outputs, self.expected):
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-5)

    def test_graph(self):
        graph = hidet.graph.from_onnx(self.model, sizes={"batch": 2})
        self.assertEqual((graph.input_names, graph.output_names), (["x"], ["y", "z"]))
        self.assertIn("Softmax", str(graph))
        self.check(graph(hidet.asarray(self.x)))
        optimized = hidet.graph.optimize(graph)
        self.assertLess(len(optimized.kernels), len(graph.nodes))
        self.assertEqual(optimized.output_names, ["y", "z"])
        self.check(optimized(hidet.asarray(self.x)))

    def test_part_of_a_graph(self):
        part = hidet.graph.from_onnx(self.model, sizes={"batch": 2}, device="cuda")
        x = hidet.symbol([2, 3, 8, 8], device="cuda")
        y, z = part(x * 0.5)
        graph = hidet.trace_from([y, z + 1.0])
        y, z = graph(hidet.asarray(2 * self.x).cuda())
        self.check([y, z - 1.0])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "net.onnx")
            path.write_bytes(self.model.SerializeToString())
            graph = hidet.graph.from_onnx(path, sizes={"batch": 2})
            graph.save(pathlib.Path(folder, "net.graph"))
            again = hidet.load_graph(pathlib.Path(folder, "net.graph"))
            self.assertEqual(str(again), str(graph))
            self.assertEqual(again.output_names, ["y", "z"])
            self.check(again(hidet.asarray(self.x)))
            path.write_bytes(b"no model")
            with self.assertRaisesRegex(hidet.CompilationError, "net.onnx"):
                hidet.graph.from_onnx(path)

    def test_misuse(self):
        with self.assertRaisesRegex(hidet.ArgumentError, r'sizes=\{"batch": 1\}'):
            hidet.graph.from_onnx(self.model)
        with self.assertRaisesRegex(ValueError, "0 or more"):
            hidet.graph.from_onnx(self.model, sizes={"batch": -1})
        with self.assertRaisesRegex(FileNotFoundError, "missing.onnx"):
            hidet.graph.from_onnx("missing.onnx")
        with self.assertRaisesRegex(TypeError, "a path or an onnx.ModelProto, not int"):
            hidet.graph.from_onnx(3)


if __name__ == "__main__":
    unittest.main()
