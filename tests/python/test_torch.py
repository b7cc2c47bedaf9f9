"""torch.compile(model, backend="hidet") on the simulator, compared with PyTorch."""

import copy
import re
import unittest

from support import TOP, Case, torch_or_skip

import hidet


def net(torch):
    """Convolution, batch norm, pooling, norm, softmax, a view and a sum of prefixes."""
    nn, f = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(3, 4, 3, padding=(1, 0), stride=(1, 2)), nn.BatchNorm2d(4)
            self.linear, self.norm = nn.Linear(4, 6), nn.LayerNorm(6)

        def forward(self, x):
            y = torch.relu(self.bn(self.conv(x))) + 1
            z = f.max_pool2d(y, 2)
            return torch.softmax(self.norm(self.linear(z.mean((2, 3)))), -1), y[:, 1:3], torch.cumsum(z, 1).flatten(1)

    torch.manual_seed(0)
    model = Net().eval()
    model.bn.running_mean.uniform_(-1, 1)
    return model


class Models(Case):
    def setUp(self):
        self.torch = torch_or_skip()
        self.torch._dynamo.reset()
        hidet.torch.dynamo_config.reset()
        self.addCleanup(hidet.torch.dynamo_config.reset)

    def compile(self, model, **kwargs):
        return self.torch.compile(model, backend="hidet", **kwargs)

    def check(self, model, *inputs, rtol=1e-4, atol=1e-5, **kwargs):
        with self.torch.no_grad():
            compiled = self.compile(model, **kwargs)
            actual, expected = compiled(*inputs), model(*inputs)
        self.torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol)
        return compiled

    def test_network(self):
        torch, model = self.torch, net(self.torch)
        x = torch.randn(1, 3, 8, 9)
        compiled = self.check(model, x)
        for again in (x, torch.randn(2, 3, 8, 9), x.transpose(2, 3).contiguous().transpose(2, 3)):
            with torch.no_grad():
                torch.testing.assert_close(compiled(again), model(again), rtol=1e-4, atol=1e-5)

    def test_weights_that_change(self):
        torch, model = self.torch, net(self.torch)
        x = torch.randn(1, 3, 8, 9)
        compiled = self.check(model, x)
        with torch.no_grad():
            model.linear.bias.add_(1)
            model.conv.weight.mul_(2)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)

    def test_attention(self):
        torch = self.torch

        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding, self.qkv = torch.nn.Embedding(11, 16), torch.nn.Linear(16, 48)
                self.out = torch.nn.Linear(16, 16)

            def forward(self, ids, mask):
                x = self.embedding(ids)
                q, k, v = self.qkv(x).view(2, 5, 3, 2, 8).permute(2, 0, 3, 1, 4)
                scores = (q @ k.transpose(-1, -2) / 8**0.5).masked_fill(~mask, float("-inf"))
                y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(2, 5, 16)
                return x + torch.nn.functional.gelu(self.out(y))

        ids, mask = torch.randint(0, 11, (2, 5)), torch.ones(5, 5, dtype=torch.bool).tril()
        self.check(Block().eval(), ids, mask)

    def test_what_stays_with_pytorch(self):
        torch = self.torch

        def f(x):
            y = torch.relu(x) * 2
            values, places = torch.linalg.eigh(y @ y.T)
            return values + 1, (x + y).sum(0)

        x = torch.randn(3, 3)
        with self.assertLogs("hidet", "WARNING") as logs:
            self.check(f, x, rtol=1e-3, atol=1e-4)
        self.assertEqual(len([line for line in logs.output if "eigh" in line]), 1)

    def test_types(self):
        torch = self.torch
        self.check(lambda x, y: (x + y, x > 1, x.to(torch.float16), (x * 2.5).sum()), torch.arange(5), torch.randn(5))
        self.check(lambda x: (None, x * 2, x), torch.randn(3))

    def test_in_place(self):
        torch = self.torch

        def f(x):
            x.add_(1)
            y = torch.zeros_like(x)
            y[0] = 2
            return x * 2 + y

        x = torch.randn(3, 2)
        mine = x.clone()
        with torch.no_grad():
            torch.testing.assert_close(self.compile(f)(mine), f(x))
        torch.testing.assert_close(mine, x)

    def test_modes_and_options(self):
        model, x = self.torch.nn.Linear(3, 2), self.torch.randn(4, 3)
        for mode in ("max-autotune", "reduce-overhead", "max-autotune-no-cudagraphs"):
            self.check(model, x, mode=mode)
        self.check(model, x, options={"use_fp16": True}, rtol=1e-2, atol=1e-2)
        for wrong in ({"mode": "fast"}, {"options": {"speed": 3}}, {"options": {"search_space": 7}}):
            with self.assertRaisesRegex(Exception, "has no mode|has no option|search_space is"):
                self.check(model, x, **wrong)
        with self.assertRaisesRegex(ValueError, "search spaces"):
            hidet.torch.dynamo_config.search_space(3)

    def test_training(self):
        torch = self.torch
        model, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
        torch.testing.assert_close(self.compile(model)(x), model(x))
        with self.assertRaisesRegex(Exception, "for inference, and input"):
            self.compile(torch.nn.Linear(3, 2))(x.clone().requires_grad_())

    def test_report(self):
        """An error in the weights that only our side has is marked."""
        from hidet.torch import report

        torch = self.torch
        one = torch.ones(3)
        self.assertEqual(report.error_of(one, one), 0)
        self.assertAlmostEqual(report.error_of(one + 1, one), 0.5)
        self.assertEqual(report.error_of(one * float("nan"), one), float("inf"))
        gm = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
        text = report._report(gm, {"input_1": one, "_0": one}, {"_0": one + 1})
        self.assertRegex(text, r"call_module +ReLU\(\) +float32 +5.0e-01 +<------")

    def test_operands_between_nodes(self):
        """Partitions of older PyTorch have operands behind nodes."""
        from hidet.torch import backend

        torch = self.torch
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        positive = graph.call_function(torch.ops.aten.relu.default, (x,))
        y = graph.placeholder("y")
        graph.output(graph.call_function(torch.ops.aten.add.Tensor, (positive, y)))
        partition = backend.Partition(torch.fx.GraphModule({}, graph), [False, False], False, False)
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        torch.testing.assert_close(partition(x, y), torch.relu(x) + y)

    def test_models_are_not_changed(self):
        torch, model = self.torch, net(self.torch)
        before = copy.deepcopy(model.state_dict())
        self.check(model, torch.randn(1, 3, 8, 9))
        self.assertTrue(all(torch.equal(v, before[k]) for k, v in model.state_dict().items()))


class Library(Case):
    def test_names(self):
        """What the package says of ops/aten is what is there."""
        torch_or_skip()
        from hidet.torch import aten

        text = (TOP / "ops" / "aten" / "core.hds").read_text(encoding="utf-8")
        self.assertEqual(
            sorted(aten.known), sorted(a or b for a, b in re.findall(r"^def ([a-z]\w*)|^([a-z]\w*) = ", text, re.MULTILINE))
        )


if __name__ == "__main__":
    unittest.main()
