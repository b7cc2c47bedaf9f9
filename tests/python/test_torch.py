"""torch.compile(model, backend="hidet") on the simulator, compared with PyTorch."""

import contextlib
import copy
import importlib
import io
import pathlib
import re
import tempfile
import unittest
from unittest import mock

from support import TOP, Case, torch_or_skip

import hidet
from hidet import _runtime, _times
from hidet.graph import PassContext, SubgraphRewriteRule


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

    def test_inputs_as_they_lie(self):
        """Dense tensors in another order of axes are not copied: the graph begins with their order."""
        torch = self.torch
        x, seen = torch.randn(2, 3, 4, 5), []
        dense = hidet.torch.backend._dense
        self.addCleanup(setattr, hidet.torch.backend, "_dense", dense)
        hidet.torch.backend._dense = lambda x, order: seen.append((x.data_ptr(), dense(x, order))) or seen[-1][1]
        compiled = self.check(lambda x: x.relu().sum(1), x.to(memory_format=torch.channels_last))
        for other in (x, x.transpose(1, 3), x.permute(3, 0, 1, 2)):
            torch.testing.assert_close(compiled(other), other.relu().sum(1), rtol=1e-4, atol=1e-5)
        self.assertTrue(all(address == given.data_ptr() for address, given in seen))

    def test_weights_that_change(self):
        torch, model = self.torch, net(self.torch)
        x = torch.randn(1, 3, 8, 9)
        compiled = self.check(model, x)
        with torch.no_grad():
            model.linear.bias.add_(1)
            model.conv.weight.mul_(2)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)
            model.linear.weight.data = torch.ones(6, 4)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)

    def test_what_changes_weights(self):
        """By functions of libtorch and by what Python shows; places say which arguments are weights."""
        torch, backend = self.torch, importlib.import_module("hidet.torch.backend")
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).eval()
        other = copy.deepcopy(model)
        linear, norm = model

        def given():
            return (torch.ones(1), linear.weight, 3, linear.bias, norm.running_mean)

        def assign_twice():
            linear.bias.data = torch.ones(4)
            linear.bias.data = torch.ones(4)  # may lie where the first one did

        def replace():
            linear.bias = torch.nn.Parameter(linear.bias.detach().clone())

        changes = [
            lambda: linear.weight.add_(1),
            lambda: norm.running_mean[1:2].zero_(),  # a view
            assign_twice,
            lambda: model.load_state_dict(other.state_dict()),
            lambda: model.load_state_dict(other.state_dict(), assign=True),
            lambda: model.half().float(),
            lambda: torch.utils.swap_tensors(linear.bias, torch.nn.Parameter(torch.zeros(4))),
            lambda: torch.nn.init.ones_(linear.bias),
            replace,
        ]
        self.assertTrue(backend._readers(), "this version of PyTorch has none of the functions by which weights are checked")
        makers = [backend._Weights, backend._weights]
        with torch.no_grad():
            for maker in makers:
                for i, change in enumerate(changes):
                    weights = maker([1, 3, 4], given())
                    self.assertFalse(weights.changed(given()))
                    self.assertFalse(weights.changed(list(given())))
                    change()
                    self.assertTrue(weights.changed(given()), (maker, i))
                    self.assertFalse(maker([1, 3, 4], given()).changed(given()))
                self.assertFalse(maker([], given()).changed(given()))
        weights = backend._weights([1], given())
        alias = (None, linear.weight.detach())
        self.assertFalse(weights.changed(alias))
        with torch.no_grad():
            alias[1].add_(1)
        self.assertTrue(weights.changed(alias))
        self.assertTrue(weights.changed(given()))
        weights = backend._weights([1], given())
        self.assertRaises(IndexError, weights.changed, [1])
        self.assertRaises(AttributeError, weights.changed, [1, "no tensor"])

    def test_weights_without_counters(self):
        torch, backend = self.torch, importlib.import_module("hidet.torch.backend")
        with torch.inference_mode():
            given = [torch.ones(3)]
            for maker in (backend._Weights, backend._weights):
                weights = maker([0], given)
                self.assertFalse(weights.changed(given))
                self.assertTrue(weights.changed([torch.ones(3)]))

    def test_no_wrappers(self):
        """A graph that writes to no input and returns no views runs without the wrappers of AOTAutograd."""
        import traceback
        from unittest import mock

        from hidet.torch import backend

        frames, results = [], backend.Partition.results

        def seen(partition, args):
            frames.extend(frame.filename for frame in traceback.extract_stack())
            return results(partition, args)

        with mock.patch.object(backend.Partition, "results", seen):
            self.check(lambda x: x.relu() + 1, self.torch.randn(3))
        self.assertTrue(frames)
        self.assertFalse([name for name in frames if "_aot_autograd" in name])

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

    def test_fused_attention(self):
        """What scaled_dot_product_attention is on CPUs, and on GPUs, where PyTorch chooses one of several."""
        torch = self.torch
        attention = torch.nn.functional.scaled_dot_product_attention
        q, k, v, mask = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8), torch.randn(4, 5)
        mask[1, 2:] = mask[2] = float("-inf")
        with self.assertNoLogs("hidet", "WARNING"):
            self.check(lambda q, k, v: attention(q, k, v, scale=0.3), q, k, v)
            self.check(lambda q, k, v, m: attention(q, k, v, m), q, k, v, mask)
            self.check(lambda q, k, v, m: attention(q, k, v, m > 0), q, k, v, mask)
            self.check(lambda q: attention(q, q, q, is_causal=True), k)
        if torch.cuda.is_available():
            from torch.nn.attention import SDPBackend, sdpa_kernel

            q, k, v, mask = (x.cuda().half() for x in (q, k, v, mask))
            for backend in SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION:
                with sdpa_kernel([backend]), self.assertNoLogs("hidet", "WARNING"):
                    self.check(lambda q, k, v: attention(q, k, v, scale=0.3), q, k, v, rtol=5e-3, atol=5e-3)

    def test_attention_is_kept_whole(self):
        """PyTorch takes it apart in another way on each device: our backend sees one operator."""
        torch = self.torch
        q, mask = torch.randn(1, 2, 4, 8), torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()
        attention = torch.nn.functional.scaled_dot_product_attention
        for f, x in (
            (lambda q, m: attention(q, q, q, attn_mask=m), (q, mask)),
            (lambda q, m: attention(q, q[:, :1], q[:, :1], enable_gqa=True), (q, mask)),
        ):
            found = hidet.torch.explain(f, x)
            torch.testing.assert_close(found.result, f(*x), rtol=1e-4, atol=1e-5)
            self.assertIn("scaled_dot_product_attention", str(found))
            torch._dynamo.reset()

    def test_inference_mode(self):
        """Weights made in inference mode do not count their changes."""
        torch = self.torch
        with torch.inference_mode():
            self.check(net(torch), torch.randn(1, 3, 8, 9))

    def test_pooled_channels_last(self):
        """PyTorch keeps strides of channels last by as_strided where the last extents are 1."""
        torch = self.torch
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()).eval()
        model = model.to(memory_format=torch.channels_last)
        with self.assertNoLogs("hidet", "WARNING"):
            self.check(model, torch.randn(1, 3, 6, 6).to(memory_format=torch.channels_last))
            compiled = torch.compile(model, backend="hidet", dynamic=True)
            for batch in (2, 3):
                x = torch.randn(batch, 3, 6, 6).to(memory_format=torch.channels_last)
                with torch.no_grad():
                    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)

    def test_indices(self):
        """Indices beside slices, values written at them, and what is of their type."""
        torch = self.torch
        x, i, j = torch.randn(4, 5, 6), torch.tensor([[0, 2], [-1, 1]]), torch.tensor([1, -2])

        def read(x, i, j):
            gathered = x.gather(2, i.unsqueeze(0).abs())
            return x[i], x[:, i], x[:, i, j], x[i, :, j], x[0, j], torch.take(x, i), gathered, x[..., None]

        def written(x, i, j):
            a, b, places = x.clone(), x.clone(), i.unsqueeze(0).abs()
            a[:, i, j] = 7.0
            b[j] += 1
            filled = x.index_fill(2, j, -1), x.scatter(0, places, 3.0), x.scatter_add(0, places, x)
            return a, b, x.index_add(1, j.abs(), x[:, :2]), filled, x.roll((1, 2), (0, 2))

        self.check(read, x, i, j)
        self.check(written, x, i, j)

    def test_images(self):
        torch, f = self.torch, self.torch.nn.functional

        def resized(x):
            places = f.affine_grid(torch.tensor([[[1.0, 0.2, 0], [0, 0.8, 0.1]]]), [1, 4, 5, 5], align_corners=False)
            return (
                f.interpolate(x, scale_factor=1.5, mode="nearest"),
                f.interpolate(x, size=(5, 9), mode="bilinear", align_corners=True),
                f.pad(x, (1, 2, 0, 1), mode="reflect"),
                f.grid_sample(x, places, align_corners=False),
                f.grid_sample(x, places, mode="bicubic", padding_mode="border", align_corners=True),
                f.unfold(x, 3, padding=1),
                f.pixel_shuffle(x, 2),
                f.group_norm(x, 2),
                *f.max_pool2d(x, 3, 2, return_indices=True),
            )

        self.check(resized, torch.randn(1, 4, 6, 7))

    def test_orders_and_reductions(self):
        torch = self.torch

        def f(x):
            y = torch.cat([x[:, :0], x], 1)  # what has no elements is left out
            parts = y.max(1), y.min(0, keepdim=True), y.sort(0, descending=True), y.topk(2, 1), y.cummax(1), y.median(1)
            return parts, y.prod(0), y.var(1), y.std((0, 1)), y.logsumexp((0, 1)), y.argmax(), y.norm(), torch.aminmax(y, dim=0)

        self.check(f, torch.randn(5, 7))

    def test_no_elements(self):
        torch = self.torch
        x, none = torch.randn(2, 0, 4), torch.empty(0, dtype=torch.long)
        linear = torch.nn.functional.linear
        with self.assertNoLogs("hidet", "WARNING"):
            self.check(lambda x: (x.sum(1) + 1, x.prod(1), x.amax(2), x.relu() * 2, x.softmax(-1)), x)
            self.check(lambda x: torch.stack([x, x]).view(0, 8), x)
            self.check(lambda x: (torch.cat([x, x]) + 1, torch.cat([x, x[:0]]).sum()), torch.empty(0))
            self.check(lambda a, b: (a @ b, a.T @ a, linear(a, b.T, torch.ones(3))), torch.randn(4, 0), torch.randn(0, 3))
            self.check(lambda w, i: (w[i], w.index_select(0, i) * 2, w[5:], w[:, 2:2].sum(1)), torch.randn(5, 7), none)
            self.check(lambda w: (w[5:], w[:, 7:] * 2, w[2:2].sum(0), w[5:, 1:3].T), torch.randn(5, 7))

    def test_modes(self):
        """The values that occur most, the smallest of several, and the last places of them."""
        torch = self.torch
        nans = torch.tensor([[1, float("nan"), float("nan"), 2, float("nan")], [0.0, -0.0, 1, 1, 1], [5, 4, 3, 2, 1]])
        self.check(lambda x, y: (x.mode(1), x.mode(0, keepdim=True), x[0, 0].mode(), y.mode()), torch.randint(0, 4, (3, 7)), nans)

    def test_casts(self):
        torch = self.torch
        cast, divide = torch.ops.prims.convert_element_type, torch.ops.aten.true_divide
        self.check(lambda x: (cast(x, torch.float16), cast(x, torch.bool), divide(x, 3)), torch.arange(5))
        self.check(lambda x: (x.isposinf(), x.isneginf(), ~x), torch.tensor([True, False]))

    def test_assertions(self):
        """They are PyTorch's, as other arithmetic on sizes, and nothing is said of them."""
        torch = self.torch

        def f(x):
            assert x.max().item() <= 8
            return x + 1

        with self.assertNoLogs("hidet", "WARNING"), torch._dynamo.config.patch(capture_scalar_outputs=True):
            compiled = self.check(f, torch.tensor([3, 5]), fullgraph=True)
            self.assertRaises((AssertionError, RuntimeError), compiled, torch.tensor([3, 9]))

    def test_types_of_results(self):
        """Numbers, integers and booleans as PyTorch promotes them."""
        torch = self.torch
        i, b = torch.arange(1, 6), torch.tensor([True, False, True, True, False])
        self.check(lambda i, b: (i.exp(), i / 2, i > 1.5, i.sum(), b.sum(), b + b, b * b, i & 3, b ^ True, i % 2, ~b), i, b)
        self.check(lambda i, b: (i.sqrt() + i, torch.where(b, i, 0.5), i.logical_and(b), b.cumsum(0), i.fmod(2)), i, b)
        self.check(lambda i, b: (i.masked_fill(b, 9), i.clamp(2), i.fmod(2), torch.fmax(b, ~b), b.sign()), i, b)

    def test_partitions_that_do_not_compile(self):
        """They stay with PyTorch, with a warning."""
        from unittest import mock

        from hidet import _core
        from hidet.torch import backend

        error = _core.CompilationError("no")
        error.diagnostics = []
        with mock.patch.object(backend, "Program", side_effect=error), self.assertLogs("hidet", "WARNING") as logs:
            self.check(lambda x: x * 2, self.torch.randn(3))
        self.assertIn("does not compile: no", logs.output[0])

    def test_what_stays_with_pytorch(self):
        torch = self.torch

        def f(x):
            y = torch.relu(x) * 2
            values, places = torch.linalg.eigh(y @ y.T)
            return values + 1, (x + y).sum(0)

        x = torch.randn(3, 3)
        with self.assertLogs("hidet", "WARNING") as logs:
            self.check(f, x, rtol=1e-3, atol=1e-4)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("eigh", logs.output[0])

    def test_number_that_is_a_size(self):
        """A size beside integers is that of each run, not the first one's."""
        torch = self.torch
        f = lambda x: (x + x.shape[0], x == x.shape[0], x // x.shape[0])  # noqa: E731
        compiled = self.compile(f, dynamic=True)
        for n in (4, 7):
            x = torch.arange(n * 3, dtype=torch.int16).reshape(n, 3)
            torch.testing.assert_close(compiled(x), f(x))

    def test_ranges_by_fractions(self):
        torch = self.torch

        def f(x):
            of = [(0.5, 5, 1.5), (-1.5, 4, 2), (5, 0, -1.5), (2.7, 8, 1), (0, 3, 0.5)]
            return [torch.arange(*r, dtype=t) + x.to(t) for r in of for t in (torch.int64, torch.uint8, torch.float32)]

        self.check(f, torch.ones(()))

    def test_signs_of_nan(self):
        torch = self.torch
        x = torch.tensor([torch.nan, -2.0, -0.0, torch.inf])
        self.check(lambda x: (x.sign(), x.sgn(), torch.heaviside(x, x * 0 + 3)), x)

    def test_overload_that_is_not_there(self):
        """A view of another type stays with PyTorch, and nothing around it."""
        torch = self.torch
        with self.assertLogs("hidet", "WARNING") as logs:
            self.check(lambda x: (x * 2).view(torch.int32) ^ 1, torch.randn(3, 4))
        why = "aten.view.dtype stays with PyTorch: this overload is not there"
        self.assertEqual([record.getMessage() for record in logs.records], [why])

    def test_mixed_devices(self):
        """What has tensors of another device than the graph stays with PyTorch. (There is no GPU: tensors without elements.)"""
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        from hidet.torch import backend

        torch, mode = self.torch, FakeTensorMode()
        graph = torch.fx.Graph()
        host, gpu = graph.placeholder("host"), graph.placeholder("gpu")
        aten = torch.ops.aten
        nodes = [graph.call_function(aten.relu.default, (x,)) for x in (host, gpu)]
        nodes.append(graph.call_function(aten.mul.Tensor, (nodes[1], host)))
        for n, place in zip([host, gpu, *nodes], ("cpu", "cuda:0", "cpu", "cuda:0", "cuda:0")):
            n.meta["val"] = FakeTensor(mode, torch.empty([], device="meta"), torch.device(place))
        place = backend._device_of(graph)
        self.assertEqual(str(place), "cuda:0")
        why = "a tensor is on the device cpu, and the graph on cuda:0"
        self.assertEqual([backend.unsupported(n, None, place) for n in nodes], [why, None, why])

    def test_autocast(self):
        torch = self.torch
        model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)).eval()
        compiled, x = self.compile(model), torch.randn(3, 8)
        for dtype in (torch.bfloat16, torch.float16):
            with torch.no_grad(), torch.autocast("cpu", dtype):
                actual, expected = compiled(x), model(x)
            self.assertEqual(actual.dtype, dtype)
            torch.testing.assert_close(actual, expected, rtol=3e-2, atol=3e-2)
        with torch.no_grad():
            self.assertEqual(compiled(x).dtype, torch.float32)

    def test_what_is_taken_apart(self):
        """Operators that PyTorch's rules leave whole: none stays with PyTorch."""
        torch, F = self.torch, self.torch.nn.functional
        m, n, i, x = torch.randn(4, 6), torch.randn(4, 5), torch.randint(0, 4, (4, 6)), torch.randn(2, 3, 5, 5)
        bags = torch.tensor([0, 2, 2, 5])
        with self.assertNoLogs("hidet", "WARNING"):
            self.check(lambda i: (i << 1, i >> 1, i << i % 3), i)
            self.check(torch.nn.Bilinear(6, 5, 3), m, n)
            self.check(lambda m: torch.as_strided(m, (3, 2, 2), (6, 2, 1), 1) + 1, m)
            self.check(lambda m: torch.histc(m, 5, -1, 1), m)
            self.check(lambda i: F.one_hot(i[0], 6), i)
            self.check(torch.nn.InstanceNorm2d(3, affine=True).eval(), x)
            for mode in ("sum", "mean"):
                self.check(torch.nn.EmbeddingBag(4, 3, mode=mode).eval(), i)
                self.check(torch.nn.EmbeddingBag(4, 3, mode=mode, padding_idx=1).eval(), i.flatten()[:9], bags)
            self.check(lambda i, w, s: F.embedding_bag(i, w, per_sample_weights=s, mode="sum"), i, n, m)

    def test_encoder_layers(self):
        """PyTorch's own operator for them."""
        torch = self.torch
        x, hidden = torch.randn(2, 5, 8), torch.zeros(2, 5, dtype=torch.bool)
        hidden[1, 3:] = True
        for norm_first, activation in ((False, "relu"), (True, "gelu")):
            options = {"batch_first": True, "norm_first": norm_first, "activation": activation}
            layer = torch.nn.TransformerEncoderLayer(8, 2, 12, **options).eval()
            causal = torch.nn.Transformer.generate_square_subsequent_mask(5)
            with self.assertNoLogs("hidet", "WARNING"):
                self.check(layer, x)
                self.check(lambda x, m, layer=layer: layer(x, src_key_padding_mask=m), x, hidden)
                self.check(lambda x, m, layer=layer: layer(x, src_mask=m), x, causal)

    def test_types(self):
        torch = self.torch
        self.check(lambda x, y: (x + y, x > 1, x.to(torch.float16), (x * 2.5).sum()), torch.arange(5), torch.randn(5))
        self.check(lambda x: (None, x * 2, x), torch.randn(3))

    def test_numbers_in_16_bits(self):
        """A number that is compared with elements, or divides them, is one of their type; in sums and products it is as it is."""
        from torch import nn

        torch = self.torch

        def f(x):
            rests = x % 0.7, torch.fmod(x, 0.7), torch.remainder(0.7, x)
            return x == 0.7, x > 0.7, 0.7 >= x, *rests, nn.functional.hardshrink(x, 0.7), x * 0.7 + 0.1

        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            self.check(f, torch.tensor([0.7, 1.4, -0.7, 0.35, 0.6], dtype=dtype), rtol=1e-2, atol=2e-3)

    def test_whole_numbers_of_few_bits(self):
        """A number beside integers is one of their type. Sums have the type that is asked for, conditions on u8 are u8."""
        torch = self.torch

        def numbers(x):
            parts = x + 300, 300 - x, x * 257, x // -1, x % -3, torch.fmod(x, 300), 1000 // (x | 1)
            return *parts, x == -1, x < 1000, 300 > x, x & 300, x ^ -1

        def reductions(x):
            y, small = x.reshape(2, -1), torch.int16
            sums = y.sum((1,), dtype=torch.int32), y.prod(1, dtype=small), y.cumsum(0, dtype=small), y.cumprod(0, dtype=small)
            return *sums, y.nansum(1, dtype=small), y.sum(1), y.any(), y.all(1), y.any(0, keepdim=True), x.dot(x)

        for dtype in (torch.uint8, torch.int8, torch.int16):
            x = torch.tensor([0, 3, 100, 127] if dtype == torch.int8 else [0, 3, 200, 255], dtype=dtype)
            self.check(numbers, x)
            self.check(reductions, x)
        self.check(lambda x: x.to(torch.uint8), torch.tensor([-3.7, -1.0, 0.0, 2.9, 255.5]))

        def differences(x):
            return x.index_add(0, torch.tensor([0]), x[:1], alpha=-1), x + torch.scalar_tensor(-5, dtype=x.dtype)

        with self.assertNoLogs("hidet", "WARNING"):
            self.check(differences, torch.tensor([3, 200], dtype=torch.uint8))

    def test_order_in_memory(self):
        """Results lie in memory as PyTorch's do: views of them, which PyTorch makes, are valid for that order alone."""
        torch = self.torch
        images = torch.randn(2, 4, 3, 5).to(memory_format=torch.channels_last)

        def rows(x):
            y = x + 1
            return y, y.permute(0, 2, 3, 1).view(-1, 4)

        def in_place(x):
            x.permute(0, 2, 3, 1).view(-1, 4).add_(1)
            return x * 2

        def with_gaps(x):
            y = (x * 2)[:, :, 1:]
            return y, y.permute(0, 2, 3, 1).view(2, -1, 4)

        def strided(x):
            y = x * 2
            return y, torch.as_strided(y, (4, 2), (1, 4))

        def columns(x):
            y = x[0, 0].t() + 1
            return y, y.t().view(-1)

        for f in (rows, in_place, with_gaps, strided, columns):
            for dynamic in (False, True):
                torch._dynamo.reset()
                x, y = images.clone(), images.clone()
                actual, expected = self.compile(f, dynamic=dynamic)(x), f(y)
                torch.testing.assert_close((actual, x), (expected, y), check_stride=f is not with_gaps)
        self.check(lambda x: torch.linalg.svdvals(torch.as_strided(x[0].mT + 1, (5, 6), (6, 1))), images.contiguous())

    def test_inputs_that_overlap(self):
        """One is changed in place and returned: the result is the input's memory."""
        torch = self.torch

        def f(x, y):
            return x + 1, y.mul_(2), x * y

        first, second = torch.randn(5, 4), torch.empty(5, 4)
        second.copy_(first)
        actual, expected = self.compile(f)(first[:3], first[1:4]), f(second[:3], second[1:4])
        torch.testing.assert_close((*actual, first), (*expected, second))
        self.assertEqual(actual[1].data_ptr(), first[1:].data_ptr())

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
        partition = backend.Partition(torch.fx.GraphModule({}, graph), [False, False], False, PassContext())
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        torch.testing.assert_close(partition(x, y), torch.relu(x) + y)

    def test_models_are_not_changed(self):
        torch, model = self.torch, net(self.torch)
        before = copy.deepcopy(model.state_dict())
        self.check(model, torch.randn(1, 3, 8, 9))
        self.assertTrue(all(torch.equal(v, before[k]) for k, v in model.state_dict().items()))


class Switches(Case):
    """What each setting of dynamo_config changes."""

    def setUp(self):
        self.torch = torch_or_skip()
        self.torch._dynamo.reset()
        self.config = hidet.torch.dynamo_config.reset()
        self.addCleanup(self.config.reset)
        self.model = self.torch.nn.Sequential(self.torch.nn.Linear(16, 8), self.torch.nn.ReLU()).eval()
        self.x = self.torch.randn(4, 16)

    def program(self):
        self.torch._dynamo.reset()
        explained = hidet.torch.explain(self.model, self.x)
        self.torch.testing.assert_close(explained.result, self.model(self.x).detach(), rtol=1e-2, atol=1e-2)
        return explained.parts[0].program

    def printed(self):
        with contextlib.redirect_stdout(io.StringIO()) as out, self.torch.no_grad():
            self.torch.compile(self.model, backend="hidet")(self.x)
        return out.getvalue()

    def test_precision(self):
        exact = self.program()
        self.assertNotIn("f16", exact)
        self.config.use_fp16()
        self.assertIn("-> f16[", self.program())
        self.config.use_fp16(False)
        self.assertEqual(self.program(), exact)

    def test_tensor_cores(self):
        """They are used where PyTorch's setting allows it, unless ours forbids it."""
        exact = self.program()
        self.config.use_tensor_core(True)
        self.assertEqual(self.program(), exact)
        before = self.torch.get_float32_matmul_precision()
        self.addCleanup(self.torch.set_float32_matmul_precision, before)
        self.torch.set_float32_matmul_precision("high")
        self.assertIn("tf32", self.program())
        self.config.use_tensor_core(False)
        self.assertEqual(self.program(), exact)

    def test_winograd(self):
        """Convolutions of float32 may use it, as PyTorch's may, unless the setting forbids it; what computes otherwise does not."""
        self.assertNotIn("winograd", self.program())
        self.model = self.torch.nn.Sequential(self.torch.nn.Conv2d(16, 64, 3, padding=1), self.torch.nn.ReLU()).eval()
        self.x = self.torch.randn(1, 16, 16, 8)
        self.assertIn("winograd", self.program())
        with PassContext() as context:
            context.set_precision("bfloat16")
            self.assertNotIn("winograd", self.program())
        self.config.use_winograd(False)
        self.assertNotIn("winograd", self.program())
        with PassContext() as context:
            context.set_precision("winograd")
            self.assertIn("winograd", self.program())

    def test_those_that_change_nothing(self):
        exact = self.program()
        for setting in (
            lambda: self.config.search_space(2),
            lambda: self.config.set_search_space(1),
            lambda: self.config.parallel_k("search"),
            self.config.use_fp16_reduction,
            lambda: self.config.use_attention(False),
            self.config.steal_weights,
        ):
            setting()
            self.assertEqual(self.program(), exact)

    def test_graphs(self):
        from hidet.torch.backend import _settings

        for flag in (False, True):
            self.config.use_cuda_graph(flag)
            self.assertEqual(_settings(None, None), (flag, False))
            self.assertEqual(_settings("max-autotune", None), (True, False))
            self.assertEqual(_settings("max-autotune", {"use_cuda_graph": False}), (False, False))

    def test_tables(self):
        self.assertEqual(self.printed(), "")
        self.config.print_input_graph()
        self.assertRegex(self.printed(), r"(?m)^opcode +name +target +args +kwargs$")
        self.config.print_input_graph(False)
        self.config.correctness_report()
        text = self.printed()
        self.assertRegex(text, r"kind +operator +dtype +error +attention")
        self.assertRegex(text, r"torch\.nn\.functional\.linear +float32 +\d\.\de-\d\d")
        self.assertNotIn("<---", text)

    def test_reset(self):
        state = self.config.state()
        self.config.use_fp16()
        self.config.correctness_report()
        self.assertNotEqual(self.config.state(), state)
        self.assertEqual(self.config.reset().state(), state)


class OpenSizes(Case):
    """Sizes that PyTorch leaves open: how many programs there are for many extents."""

    def setUp(self):
        self.torch = torch_or_skip()
        self.torch._dynamo.reset()
        hidet.torch.dynamo_config.reset()

    def programs(self, model, shapes, mark=None, **kwargs):
        """How many programs are compiled for inputs of these shapes; results are PyTorch's."""
        from unittest import mock

        from hidet.torch import backend

        torch, compiled = self.torch, self.torch.compile(model, backend="hidet", **kwargs)
        with mock.patch.object(backend, "CompiledGraph", wraps=backend.CompiledGraph) as made, torch.no_grad():
            for shape in shapes:
                x = torch.randn(shape)
                for axis in mark or ():
                    torch._dynamo.mark_dynamic(x, axis)
                torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)
        return made.call_count

    def attention(self):
        torch = self.torch

        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.qkv = torch.nn.LayerNorm(16), torch.nn.Linear(16, 48)

            def forward(self, x):
                q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
                y = (q @ k.transpose(-1, -2) / 8**0.5).softmax(-1) @ v
                y = x + y.transpose(1, 2).reshape(*x.shape)
                return y[:, 1:], torch.cat([x, y], 1).mean(1)

        return Block().eval()

    def test_plain_sizes(self):
        """What has a minimum or a remainder is told by the expression, not by the letters of its text."""
        import types

        import sympy
        from torch.utils._sympy.functions import FloorDiv, PythonMod

        from hidet.torch import sizes

        m, n = sympy.symbols("m s0", integer=True, positive=True)
        is_plain = lambda e: sizes._is_plain(types.SimpleNamespace(node=types.SimpleNamespace(expr=e)))
        for expression in (m, m + 2 * n - 1, FloorDiv(m, 3), n**2):
            self.assertTrue(is_plain(expression), expression)
        for expression in (sympy.Min(m, n), sympy.Max(n, 3) + 1, PythonMod(n, 4), n * sympy.Mod(m, n)):
            self.assertFalse(is_plain(expression), expression)

    def test_batch_and_length(self):
        shapes = [(2, 5, 16), (3, 7, 16), (2, 9, 16), (4, 5, 16)]
        self.assertEqual(self.programs(self.attention(), shapes, dynamic=True), 1)
        self.torch._dynamo.reset()
        self.assertEqual(self.programs(self.attention(), shapes[:2], dynamic=False), 2)

    def test_marked_axes(self):
        torch = self.torch
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)).eval()
        self.assertEqual(self.programs(model, [(2, 3, 6, 7), (3, 3, 6, 7), (5, 3, 6, 7)], mark=(0,)), 1)

    def test_several_results(self):
        def f(x):
            return *x.topk(2, 1), x.sort(0)[0], x.sum(1) * x.shape[0], x[-1]

        self.assertEqual(self.programs(f, [(4, 6), (5, 7), (7, 5)], dynamic=True), 1)

    def test_views(self):
        """Results that are views of inputs, of weights or of other results are views, with their strides."""
        torch = self.torch
        linear = torch.nn.Linear(5, 5).eval()

        def of_results(x):
            y = x.mul_(2) + 1
            return y.t(), y[1:], y, y[:, : x.shape[0]], x.t()[1:].unsqueeze(0).expand(x.shape[0], -1, -1)

        for of in (
            lambda x: (x[:, : x.shape[0] - 1], x * 2),
            lambda x: (x.t().unflatten(1, (x.shape[0], 1)), x.split(2, 1)[1], x * 2),
            lambda x: (linear.weight[: x.shape[0]].t(), linear(x)),
            of_results,
        ):
            torch._dynamo.reset()
            compiled = torch.compile(of, backend="hidet", dynamic=True)
            for extent in (3, 4):
                x = torch.randn(extent, 5)
                mine = x.clone()
                with torch.no_grad():
                    wanted, found = of(x), compiled(mine)
                torch.testing.assert_close((mine, *found), (x, *wanted))
                self.assertEqual([y.stride() for y in found], [y.stride() for y in wanted])
                self.assertEqual(*[[y._is_view() for y in results] for results in (found, wanted)])

    def test_numbers_and_sizes(self):
        """A number that is no extent has a program of its own for each value."""
        torch = self.torch
        compiled = torch.compile(lambda x, n: x * n + x.shape[0], backend="hidet", dynamic=True)
        for extent, n in ((3, 2), (4, 5), (5, 0.5)):
            x = torch.randn(extent)
            torch.testing.assert_close(compiled(x, n), x * n + extent)

    def test_sizes_that_decide(self):
        """Where a size decides what is computed, each set of extents has a program, and explain says why."""

        def f(x):
            return x.chunk(2, 0)[0] + 1

        with self.assertLogs("hidet", "INFO") as logs:
            self.assertEqual(self.programs(f, [(4, 6), (6, 6), (4, 6)], mark=(0,)), 3)
        self.assertEqual(len([line for line in logs.output if "for each set of extents: " in line]), 1)
        explanation = hidet.torch.explain(f, self.torch.randn(4, 6), dynamic=True)
        (why,) = explanation.specialized
        self.assertRegex(why, r"\[HDS\d{4}\]$")
        self.assertIn(f"compiled for each set of extents: {why}", str(explanation))

    def test_rules_in_python(self):
        """They see extents as numbers, so sizes do not stay open."""
        from hidet.graph import SubgraphRewriteRule, register_rewrite_rule, unregister_rewrite_rule

        relu, mul = map(hidet.torch.operation, ("relu", "mul"))
        rule = SubgraphRewriteRule(lambda x: relu(x), lambda x: mul(x, 1.0 * x.shape[0]))
        compiled = self.torch.compile(lambda x: x.relu(), backend="hidet", dynamic=True)
        self.addCleanup(unregister_rewrite_rule, register_rewrite_rule(rule))
        for extent in (3, 5):
            x = self.torch.ones(extent)
            self.torch.testing.assert_close(compiled(x), x * extent)

    def test_open_program(self):
        explanation = hidet.torch.explain(self.attention(), self.torch.randn(2, 5, 16), dynamic=True)
        self.assertEqual(explanation.specialized, [])
        (part,) = explanation.parts
        self.assertRegex(part.graph.program, r"def graph\[s\d+: int, s\d+: int\]\(x0: f32\[s\d+, s\d+, 16\]\)")


class Contexts(Case):
    """What a PassContext says reaches models that PyTorch compiles inside of it."""

    def setUp(self):
        self.torch = torch_or_skip()
        self.torch._dynamo.reset()
        self.addCleanup(hidet.torch.dynamo_config.reset)

    def test_rules(self):
        """Also for programs that are made behind it, for weights that change."""
        torch = self.torch
        ops = hidet.ops
        rule = SubgraphRewriteRule(lambda x: ops.relu(x), lambda x: ops.maximum(x, -1.0))  # no equal one, so that it is seen
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
        inside, outside, x = torch.compile(model, backend="hidet"), torch.compile(model, backend="hidet"), torch.randn(3, 4)
        bounded = lambda: model[0](x).clamp(min=-1.0)  # noqa: E731
        with torch.no_grad():
            with PassContext() as context:
                context.add_rewrite_rules(rule)
                torch.testing.assert_close(inside(x), bounded(), rtol=1e-4, atol=1e-5)
                context.rules.clear()  # what was compiled keeps what it was compiled with
            model[0].weight.mul_(2)
            torch.testing.assert_close(inside(x), bounded(), rtol=1e-4, atol=1e-5)
            torch._dynamo.reset()
            torch.testing.assert_close(outside(x), model(x), rtol=1e-4, atol=1e-5)

    def test_rules_of_aten(self):
        """Attributes that a pattern leaves out are left out in the model."""
        torch, gelu = self.torch, hidet.torch.operation("gelu")
        rule = SubgraphRewriteRule(lambda x: gelu(x), lambda x: hidet.ops.relu(x))
        model = lambda x: torch.nn.functional.gelu(torch.nn.functional.gelu(x), approximate="tanh")  # noqa: E731
        x = torch.randn(8)
        with PassContext() as context, torch.no_grad():
            context.add_rewrite_rules(rule)
            found = torch.compile(model, backend="hidet")(x)
        torch.testing.assert_close(found, torch.nn.functional.gelu(x.relu(), approximate="tanh"), rtol=1e-4, atol=1e-5)
        with self.assertRaisesRegex(AttributeError, "no operator 'gello'"):
            hidet.torch.operation("gello")

    def test_settings(self):
        torch = self.torch
        model, x = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.SiLU()).eval(), torch.randn(8, 16)

        def program(**options):
            torch._dynamo.reset()
            (part,) = hidet.torch.explain(model, x, options=options).parts
            return part.program

        self.assertIn("silu", program())
        with PassContext() as context:
            context.set_precision("bfloat16").disable_rewrites("is_silu")
            self.assertIn("bf16", program())
            self.assertRegex(program(use_fp16=True), r"\bf16\[")
            self.assertNotIn("bf16", program(use_fp16=True))
            self.assertEqual(context.precision, "bf16")
        self.assertNotIn("bf16", program())

    def test_copies(self):
        context = PassContext().set_precision("float16").set_layout("last").disable_rewrites()
        copied = context.copy()
        context.set_precision().enable_rewrites("is_silu")
        self.assertEqual(copied.compile_options(), {"precision": "f16", "layout": "last", "rewrites": ["none"]})


class Explanations(Case):
    def setUp(self):
        self.torch = torch_or_skip()
        self.torch._dynamo.reset()
        self.addCleanup(hidet.torch.dynamo_config.reset)

    def test_kernels(self):
        torch = self.torch
        model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.LayerNorm(4)).eval()
        x = torch.randn(2, 8)
        explanation = hidet.torch.explain(model, x)
        torch.testing.assert_close(explanation.result, model(x), rtol=1e-4, atol=1e-5)
        (part,) = explanation.parts
        self.assertEqual([part.origin(k) for k in part.kernels], [["addmm", "relu"], ["native_layer_norm"]])
        self.assertIn("def fused_linear_relu(", part.program)
        self.assertRegex(str(explanation), r"(?m)^fused_linear_relu +addmm, relu +x0, c1, c0 +t3$")
        self.assertEqual(explanation.left, [])

    def test_times(self):
        """Steps to the first result, also where a program is made anew; nothing is measured where nobody asks."""
        torch = self.torch
        x = torch.randn(3, 5)
        with mock.patch.dict("os.environ", HDS_CACHE="off"), mock.patch.object(_runtime, "_compiler", None):
            explanation = hidet.torch.explain(lambda x: torch.sin(x) * 3.5, x)
        steps = [step for step, seconds in explanation.times if seconds >= 0]
        expected = ["PyTorch: Dynamo, its code", "PyTorch: AOTAutograd, partitions", "graph of our operators",
                    "compiler: cache, interface", "front end: the graph", "front end: kernels", "weights to a file",
                    "weights to the device, preparing them", "first run"]  # fmt: skip
        self.assertEqual(steps, expected)
        self.assertRegex(str(explanation), r"step to the first result +seconds\n(.+\n)+in all +\d")
        self.assertEqual(_times._asked, [])

    def test_pooled_channels_last(self):
        """PyTorch keeps strides of channels last by as_strided where the last extents are 1: nothing is gathered."""
        torch = self.torch
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()).eval()
        x = torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last)
        with mock.patch.object(_runtime, "compile", wraps=_runtime.compile) as compile:
            explanation = hidet.torch.explain(model.to(memory_format=torch.channels_last), x)
        self.assertEqual(compile.call_count, 1)
        torch.testing.assert_close(explanation.result, model(x), rtol=1e-4, atol=1e-5)
        (part,) = explanation.parts
        self.assertEqual([op for k in part.kernels for op in part.origin(k)], ["convolution", "mean"])

    def test_what_stays(self):
        torch = self.torch
        with self.assertLogs("hidet", "WARNING"):
            explanation = hidet.torch.explain(lambda x: torch.linalg.eigh((x @ x.T).relu())[0] + 1, (torch.randn(3, 3),))
        self.assertEqual([part.origin(k) for part in explanation.parts for k in part.kernels], [["mm", "relu"], ["add"]])
        self.assertRegex(str(explanation), "linalg_eigh.default stays with PyTorch: there is no such operator")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.html")
            explanation.save(path)
            self.assertRegex(path.read_text(encoding="utf-8"), "<td>fused_matmul_relu</td><td>mm, relu</td>")

    def test_can_handle(self):
        """What the user's function leaves stays with PyTorch, as results of an operator do that it leaves."""
        torch, aten = self.torch, self.torch.ops.aten
        model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)).eval()
        x, taken, asked = torch.randn(2, 8), {aten.t.default, aten.addmm.default}, set()

        def can_handle(node):
            asked.add(node.target)
            return node.target in taken

        with self.assertNoLogs("hidet", "WARNING"):
            explanation = hidet.torch.explain(model, x, options={"can_handle": can_handle})
        torch.testing.assert_close(explanation.result, model(x), rtol=1e-4, atol=1e-5)
        self.assertEqual([part.origin(k) for part in explanation.parts for k in part.kernels], [["addmm"], ["addmm"]])
        left = [(target, why) for target, why in explanation.left if "layer_norm" in target]
        self.assertEqual(left, [("aten.native_layer_norm.default", "can_handle leaves it")])
        self.assertEqual(asked, {*taken, aten.native_layer_norm.default})
        with self.assertRaisesRegex(Exception, "can_handle is a function of a node of torch.fx, not 3"):
            hidet.torch.explain(model, x, options={"can_handle": 3})

    def test_dumps(self):
        torch = self.torch
        with tempfile.TemporaryDirectory() as folder:
            hidet.torch.dynamo_config.dump_graph_ir(folder)
            for n in (2, 3):
                torch.compile(lambda x: x + 1, backend="hidet", dynamic=False)(torch.ones(n))
            names = sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*.*"))
            self.assertEqual(names, ["part0/graph.txt", "part0/program.hds", "part1/graph.txt", "part1/program.hds"])
            self.assertIn("aten_add", pathlib.Path(folder, "part0", "program.hds").read_text(encoding="utf-8"))


class Library(Case):
    def test_names(self):
        """What the package says of ops/aten is what is there."""
        operators = torch_or_skip().ops
        from hidet.torch import aten

        names = []
        for file in (TOP / "ops" / "aten").glob("*.hds"):
            found = re.findall(r"^def ([a-z]\w*)|^([a-z]\w*) = ", file.read_text(encoding="utf-8"), re.MULTILINE)
            names += [a or b for a, b in found]
        self.assertEqual(sorted(aten.known), sorted(names))
        for name in names:
            place = operators.prims if name in aten._PRIMS else operators.aten
            packets = (getattr(place, n, None) for n in (name, f"_{name}"))
            self.assertTrue(any(packets), f"PyTorch has no operator {name}")


if __name__ == "__main__":
    unittest.main()
