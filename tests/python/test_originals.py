"""Programs of Hidet's documents, unmodified, on the simulator. Downloads have a stand-in: a small model with random weights."""

import contextlib
import io
import os
import pathlib
import runpy
import unittest

from support import Case, torch_or_skip

HERE = pathlib.Path(__file__).resolve().parent / "originals"


def residual_net(torch):
    """Layers of ResNet-18 in small."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n)
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.bn1(self.conv1(x))
            y += x
            return self.relu(y)

    torch.manual_seed(1)
    head = nn.Sequential(nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(4, 10))
    stem = nn.Sequential(nn.Conv2d(3, 4, 7, 32, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
    return nn.Sequential(stem, nn.MaxPool2d(3, 2, 1), Block(4), head).eval()


class Programs(Case):
    def run_program(self, name):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            runpy.run_path(os.path.join(HERE, name), run_name="__main__")
        return out.getvalue()

    def test_quick_start(self):
        text = self.run_program("quick_start.py")
        self.assertIn("Tensor(shape=(2, 3), dtype='float32', device='cuda:0')\n[[", text)
        self.assertIn("x_1: float32[2, 2][cuda] = FusedMatmulAdd(x, c, c_1, fused_graph=FlowGraph(Matmul, Add))", text)

    def test_custom_operator(self):
        torch_or_skip()
        from hidet.testing import cuda_on_host

        with cuda_on_host():
            self.run_program("custom_operator.py")

    def run_model(self, name):
        """With the small model in place of the download."""
        torch = torch_or_skip()
        import hidet
        from hidet.testing import cuda_on_host

        torch._dynamo.reset()
        self.addCleanup(hidet.torch.dynamo_config.reset)
        load = torch.hub.load
        torch.hub.load = lambda *args, **kwargs: residual_net(torch)
        try:
            with cuda_on_host():
                return self.run_program(name)
        finally:
            torch.hub.load = load

    def test_resnet50(self):
        self.assertRegex(self.run_model("resnet50.py"), r"eager: \d+\.\d+\nhidet: \d+\.\d+\n")

    def test_quick_start_model(self):
        self.assertRegex(self.run_model("quick_start_model.py"), r"eager: \d+\.\d{3} ms\n +hidet: \d+\.\d{3} ms\n")

    def test_backend_tutorial(self):
        self.run_model("backend_tutorial.py")

    def test_every_program_has_a_test(self):
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
        for path in HERE.glob("*.py"):
            self.assertIn(f'"{path.name}"', text)

    def test_optimize_pytorch(self):
        text = self.run_model("optimize_pytorch.py")
        self.assertRegex(text, r"\n\d+ +call_\w+ +(operator.iadd|add_) +float32 +\d\.\de[-+]\d\d\n")
        self.assertRegex(text, r"opcode +name +target +args +kwargs\n")
        self.assertNotIn("<------", text.partition("opcode")[0])


if __name__ == "__main__":
    unittest.main()
