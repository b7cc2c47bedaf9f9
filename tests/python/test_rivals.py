"""`hdsc bench --against=torch`: ONNX files in torch, compared with ONNX's reference."""

import importlib.util
import json
import pathlib
import tempfile
import unittest

import numpy as np
from support import TOP, torch_or_skip

EXPORTED = TOP / "tests" / "onnx" / "exported"


def rivals():
    spec = importlib.util.spec_from_file_location("rivals", TOP / "src" / "driver" / "rivals.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Torch(unittest.TestCase):
    def setUp(self):
        torch_or_skip()
        try:
            import onnx
        except ImportError as error:
            raise unittest.SkipTest("onnx is not installed") from error
        self.onnx = onnx

    def array(self, path):
        with open(path, "rb") as file:
            return self.onnx.numpy_helper.to_array(self.onnx.TensorProto.FromString(file.read()))

    def check(self, name):
        """The data that the model was exported with, through the files of a request."""
        data = EXPORTED / name / "test_data_set_0"
        with tempfile.TemporaryDirectory() as folder:
            inputs = sorted(data.glob("input_*.pb"))
            paths = [str(pathlib.Path(folder, f"{i}.npy")) for i in range(len(inputs))]
            for path, source in zip(paths, inputs):
                np.save(path, self.array(source))
            request = {"rival": "torch", "mode": "", "model": str(EXPORTED / f"{name}.onnx"), "inputs": paths, "outputs": folder,
                       "types": ["f32"] * len(paths), "answer": f"{folder}/answer.json", "device": "cpu", "precision": "f32",
                       "samples": 3, "min_seconds": 0, "warm_up_seconds": 0}
            pathlib.Path(folder, "request.json").write_text(json.dumps(request), encoding="utf-8")
            rivals().main(f"{folder}/request.json")
            answer = json.loads(pathlib.Path(folder, "answer.json").read_text(encoding="utf-8"))
            self.assertNotIn("why", answer)
            for path, source in zip(answer["outputs"], sorted(data.glob("output_*.pb"))):
                np.testing.assert_allclose(np.load(path), self.array(source), rtol=1e-4, atol=1e-5)

    def test_exported(self):
        for name in ("bert.dynamo", "gpt2.torchscript", "llama.dynamo", "mobilenet_v2.torchscript", "unet.dynamo", "vit.torchscript"):
            with self.subTest(name):
                self.check(name)

    def test_precision(self):
        """Numbers of the file are narrowed, and the graph is one that torch.compile takes whole."""
        import torch

        graph = rivals().Graph(torch, str(EXPORTED / "mobilenet_v2.dynamo.onnx"), torch.bfloat16)
        x = torch.randn([d.dim_value for d in graph.graph.input[0].type.tensor_type.shape.dim])
        with torch.inference_mode():
            results = graph.prepare([x.bfloat16()])
            compiled = torch.compile(graph.__call__, backend="eager", fullgraph=True, dynamic=False)
            self.assertEqual(results[0].dtype, torch.bfloat16)
            self.assertTrue(torch.equal(compiled(x.bfloat16())[0], results[0]))

    def test_unsupported(self):
        import torch

        module = rivals()
        model = self.onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
            g (float[4] x) => (float[4] y) { y = Bernoulli(x) }""")
        with tempfile.TemporaryDirectory() as folder:
            self.onnx.save(model, f"{folder}/m.onnx")
            with self.assertRaisesRegex(module.Refusal, "no counterpart in torch is known of Bernoulli"):
                module.Graph(torch, f"{folder}/m.onnx", torch.float32)
