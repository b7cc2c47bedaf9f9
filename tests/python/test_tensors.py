"""Tensors and operators, compared with NumPy."""

import inspect
import operator
import unittest

import numpy as np
from support import Case, torch_or_skip

import hidet

RNG = np.random.default_rng(7)


def random(shape, dtype="f"):
    if np.dtype(dtype).kind == "f":
        return RNG.standard_normal(shape).astype(dtype)
    return RNG.integers(0, 2 if dtype == "?" else 7, shape).astype(dtype)


class Making(Case):
    def test_creation(self):
        for made, expected in (
            (hidet.zeros([2, 3]), np.zeros((2, 3), "f")),
            (hidet.ones([3], "int64"), np.ones(3, "q")),
            (hidet.full([2], 2.5), np.full(2, 2.5, "f")),
            (hidet.full((1, 2), True), np.full((1, 2), True)),
            (hidet.arange(5), np.arange(5)),
            (hidet.arange(1, 2, 0.25), np.arange(1, 2, 0.25, "f")),
            (hidet.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype="f")),
            (hidet.asarray([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]])),
            (hidet.asarray([1.5, 2]), np.array([1.5, 2], "f")),
            (hidet.asarray([True, False]), np.array([True, False])),
            (hidet.asarray(3.5), np.array(3.5, "f")),
            (hidet.zeros_like(hidet.ones([4], "float16")), np.zeros(4, "e")),
            (hidet.full_like(hidet.ones([2]), 7), np.full(2, 7, "f")),
            (hidet.empty([0, 3]), np.zeros((0, 3), "f")),
        ):
            self.assertEqual(made.numpy().dtype, expected.dtype)
            np.testing.assert_array_equal(made.numpy(), expected)

    def test_random(self):
        hidet.seed(3)
        first, more = hidet.randn([1000], mean=2.0, stddev=0.5), hidet.randint(3, 9, [500])
        hidet.seed(3)
        np.testing.assert_array_equal(first.numpy(), hidet.randn([1000], mean=2.0, stddev=0.5).numpy())
        self.assertAlmostEqual(float(first.numpy().mean()), 2.0, delta=0.1)
        self.assertEqual((min(more.tolist()), max(more.tolist())), (3, 8))

    def test_sharing(self):
        a = random((2, 3))
        x = hidet.asarray(a)
        a[0, 0] = 42
        self.assertEqual(x[0, 0].item(), 42)
        x.numpy()[1, 1] = 43
        self.assertEqual(a[1, 1], 43)
        np.testing.assert_array_equal(np.from_dlpack(x), a)
        fixed = a.copy()
        fixed.flags.writeable = False
        self.assertFalse(hidet.asarray(fixed).numpy().flags.writeable)

    def test_rows_of_different_extents(self):
        with self.assertRaisesRegex(ValueError, "different extents"):
            hidet.asarray([[1, 2], [3]])

    def test_types(self):
        self.assertIs(hidet.float32, hidet.lang.f32)
        for name in ("float32", "f32", np.float32, np.dtype("f"), hidet.float32, float):
            self.assertIs(hidet.dtypes.data_type(name), hidet.float32)
        with self.assertRaisesRegex(TypeError, "no element type"):
            hidet.dtypes.data_type("f33")
        x = hidet.asarray([1.5, -2.25, 300.0])
        np.testing.assert_array_equal(x.astype("float16").numpy(), np.array([1.5, -2.25, 300], "e"))
        self.assertEqual(x.astype("bfloat16").tolist(), [1.5, -2.25, 300.0])
        self.assertEqual(x.astype("int32").tolist(), [1, -2, 300])
        self.assertEqual(x.to("bool").tolist(), [True] * 3)

    def test_devices(self):
        x = hidet.ones([2], device="cuda")
        self.assertEqual((str(x.device), str(x.cpu().device), str(x.cpu().cuda().device)), ("cuda:0", "cpu", "cuda:0"))
        self.assertEqual(str((x + x).device), "cuda:0")
        with self.assertRaisesRegex(hidet.ArgumentError, "different devices: cpu, cuda:0"):
            x + hidet.ones([2])
        with self.assertRaisesRegex(ValueError, "unknown device 'tpu'"):
            hidet.ones([2], device="tpu")

    def test_printing(self):
        x = hidet.asarray(np.array([[-0.89, 0.02, -0.7], [0.31, -0.16, -0.97]], "f")).cuda()
        self.assertEqual(
            str(x), "Tensor(shape=(2, 3), dtype='float32', device='cuda:0')\n[[-0.89  0.02 -0.7 ]\n [ 0.31 -0.16 -0.97]]"
        )

    def test_torch(self):
        torch = torch_or_skip()
        t = torch.arange(6.0).reshape(2, 3)
        x = hidet.from_torch(t)
        t[0, 0] = 9
        self.assertEqual(x.tolist(), t.tolist())
        self.assertEqual((x + 1).torch().tolist(), (t + 1).tolist())
        self.assertEqual(hidet.asarray(t.to(torch.bfloat16)).tolist(), t.tolist())
        self.assertEqual(torch.add(x, t).tolist(), (t + t).tolist())
        self.assertEqual(hidet.ops.relu(t.T).tolist(), t.T.tolist())
        with self.assertRaises(TypeError):
            hidet.from_torch([1.0])


class Arithmetic(Case):
    def test_operators(self):
        binary = [
            operator.add,
            operator.sub,
            operator.mul,
            operator.truediv,
            operator.eq,
            operator.ne,
            operator.lt,
            operator.le,
            operator.gt,
            operator.ge,
        ]
        a, b = random((3, 4)), random((4,))
        for f in binary:
            got = f(hidet.asarray(a), hidet.asarray(b)).numpy()
            np.testing.assert_allclose(got, f(a, b), rtol=1e-6, err_msg=f.__name__)
            self.assertEqual(got.dtype, f(a, b).dtype)
            np.testing.assert_allclose(f(hidet.asarray(a), 2).numpy(), f(a, np.float32(2)), rtol=1e-6)
            np.testing.assert_allclose(f(0.5, hidet.asarray(a)).numpy(), f(np.float32(0.5), a), rtol=1e-6)

    def test_integers(self):
        a, b = np.array([7, -7, 5], "i"), np.array([2, 2, -3], "i")
        x, y = hidet.asarray(a), hidet.asarray(b)
        for f in (operator.add, operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor):
            np.testing.assert_array_equal(f(x, y).numpy(), f(a, b), err_msg=f.__name__)
        np.testing.assert_array_equal((x << 2).numpy(), a << 2)
        np.testing.assert_allclose((x / y).numpy(), (a / b).astype("f"))
        np.testing.assert_array_equal((~x).numpy(), ~a)
        np.testing.assert_array_equal((x * 1.5).numpy(), (a * 1.5).astype("f"))

    def test_mixed_types(self):
        x, y = hidet.asarray(random((3,), "e")), hidet.asarray(random((3,), "f"))
        self.assertEqual((x + y).dtype.name, "float32")
        self.assertEqual((x + hidet.ones([3], "int32")).dtype.name, "float16")

    def test_masks(self):
        a = random((2, 3))
        x = hidet.asarray(a)
        np.testing.assert_array_equal(((x > 0) & (x < 1)).numpy(), (a > 0) & (a < 1))
        np.testing.assert_array_equal(hidet.ops.where(x > 0, x, x * 0).numpy(), np.where(a > 0, a, 0))
        np.testing.assert_array_equal((~(x > 0)).numpy(), ~(a > 0))

    def test_reductions(self):
        a = random((2, 3, 4))
        x = hidet.asarray(a)
        np.testing.assert_allclose(x.sum().numpy(), a.sum(), rtol=1e-5)
        np.testing.assert_allclose(x.mean([0, 2], keep_dim=True).numpy(), a.mean((0, 2), keepdims=True), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(x.max(-1).numpy(), a.max(-1))

    def test_products(self):
        a, b = random((2, 3, 4)), random((4, 5))
        np.testing.assert_allclose((hidet.asarray(a) @ hidet.asarray(b)).numpy(), a @ b, rtol=1e-5, atol=1e-5)


class Operators(Case):
    def test_attributes(self):
        a = random((3, 4))
        x = hidet.asarray(a)
        e = np.exp(a - a.max(0))
        for got in (hidet.ops.softmax(x, 0), hidet.ops.softmax(x, axis=0), hidet.ops.softmax(x, axis=0)):
            np.testing.assert_allclose(got.numpy(), e / e.sum(0), rtol=1e-5)

    def test_short_way(self):
        """The second call of the same types is the same; other extents, tensors that are views and one tensor twice are, too."""
        f = hidet.ops.add
        for n in (3, 3, 4, 3):
            a, b = random((2, n)), random((2, n))
            np.testing.assert_allclose(f(hidet.asarray(a), hidet.asarray(b)).numpy(), a + b)
        a = random((4, 6))
        x = hidet.asarray(a)
        for _ in range(2):
            np.testing.assert_allclose(f(x, x).numpy(), a + a)
            np.testing.assert_allclose(f(x[:, 1:4], x[:, ::2]).numpy(), a[:, 1:4] + a[:, ::2])
            np.testing.assert_allclose(f(x[1], x[2]).numpy(), a[1] + a[2])

    def test_lists(self):
        a = random((4, 2))
        x = hidet.asarray(a)
        np.testing.assert_array_equal(hidet.ops.concat([x, x], 1).numpy(), np.concatenate([a, a], 1))
        np.testing.assert_array_equal(hidet.ops.stack(x, x).numpy(), np.stack([a, a]))
        parts = hidet.ops.split(x, 2, dim=0)
        self.assertEqual([p.shape for p in parts], [(2, 2), (2, 2)])
        values, places = hidet.ops.topk(x, 2, dim=0)
        np.testing.assert_array_equal(values.numpy(), np.sort(a, 0)[::-1][:2])
        self.assertEqual(places.shape, (2, 2))

    def test_layers(self):
        x, w, b = random((1, 3, 8, 8)), random((4, 3, 3, 3)), random((4,))
        y = hidet.ops.conv2d(hidet.asarray(x), hidet.asarray(w), hidet.asarray(b), padding=1, stride=(2, 2)).numpy()
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
        expected = np.einsum("bchwij,kcij->bkhw", windows, w) + b[:, None, None]
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
        x = random((4, 8))
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        np.testing.assert_allclose(
            hidet.ops.layer_norm(hidet.asarray(x)).numpy(), (x - mean) / np.sqrt(var + 1e-5), rtol=1e-4, atol=1e-5
        )

    def test_errors_name_operands(self):
        x = hidet.ones([2, 3])
        with self.assertRaisesRegex(
            hidet.ArgumentError, r"matmul\(float32\[2, 3\]\[cpu\], float32\[2, 3\]\[cpu\]\): .*equal extents"
        ):
            hidet.ops.matmul(x, x)
        for call in (
            lambda: hidet.ops.matmul(x),
            lambda: hidet.ops.relu(x, 1),
            lambda: hidet.ops.softmax(x, axes=1),
            lambda: hidet.ops.topk(x),
        ):
            with self.assertRaisesRegex(TypeError, r": \w+\(x|: matmul\(a, b"):
                call()
        with self.assertRaisesRegex(AttributeError, "no operator 'no_such'"):
            hidet.ops.no_such  # noqa: B018
        with self.assertRaisesRegex(hidet.ArgumentError, "a tensor is expected"):
            hidet.ops.add(1, 2)

    def test_schema(self):
        self.assertGreater(len([n for n in dir(hidet.ops) if isinstance(getattr(hidet.ops, n), type(hidet.ops.add))]), 280)
        for name in dir(hidet.ops):
            made = getattr(hidet.ops, name)
            if isinstance(made, type(hidet.ops.add)):
                self.assertTrue(inspect.signature(made).parameters, name)
                self.assertTrue(made.__doc__.strip(), name)
        self.assertEqual(str(inspect.signature(hidet.ops.softmax)), "(x, axis=-1)")


class Extents(Case):
    def setUp(self):
        self.a = random((4, 3, 5))
        self.x = hidet.asarray(self.a)

    def test_indexing(self):
        for index in (
            0,
            -1,
            slice(1, 3),
            slice(None, None, 2),
            (0, 1),
            (0, 1, 2),
            (..., 1),
            (slice(None), 2),
            (None, 0),
            (1, ..., None),
            (slice(3, 1),),
            (slice(None, None, -1), 0),
            (slice(-2, None), slice(None), slice(4, 0, -2)),
        ):
            got = self.x[index]
            np.testing.assert_array_equal(got.numpy(), self.a[index], err_msg=str(index))

    def test_tensor_as_index(self):
        i = np.array([[2, 0], [1, 1]])
        np.testing.assert_array_equal(self.x[hidet.asarray(i)].numpy(), self.a[i])
        np.testing.assert_array_equal(self.x[:, i].numpy(), self.a[:, i])
        np.testing.assert_array_equal(self.x[1:, 0, [3, 1]].numpy(), self.a[1:, 0, [3, 1]])

    def test_wrong_indices(self):
        for index, kind in (
            (4, IndexError),
            ((0, 0, 0, 0), IndexError),
            ("x", TypeError),
            (1.0, TypeError),
            ((..., ...), IndexError),
        ):
            with self.assertRaises(kind):
                self.x[index]

    def test_assignment(self):
        self.x[1, 2] = 7
        self.x[0] = hidet.ones([3, 5])
        self.assertEqual(self.x[1, 2].tolist(), [7] * 5)
        np.testing.assert_array_equal(self.a[0], 1)

    def test_views_share_memory(self):
        self.x[1:].reshape(3, 15)[0, 0] = 5
        self.assertEqual(self.a[1, 0, 0], 5)

    def test_reshaping(self):
        x, a = self.x, self.a
        self.assertEqual(x.reshape(2, -1).shape, (2, 30))
        self.assertEqual(x.flatten(1).shape, (4, 15))
        self.assertEqual(x.unsqueeze(0).shape, (1, 4, 3, 5))
        self.assertEqual(x.unsqueeze([0, -1]).squeeze().shape, (4, 3, 5))
        np.testing.assert_array_equal(x.permute(2, 0, 1).numpy(), a.transpose(2, 0, 1))
        np.testing.assert_array_equal(x.transpose(0, 1).numpy(), a.swapaxes(0, 1))
        np.testing.assert_array_equal(x[0].T.numpy(), a[0].T)
        np.testing.assert_array_equal(x[:1].expand(2, -1, -1).numpy(), np.broadcast_to(a[:1], (2, 3, 5)))
        with self.assertRaisesRegex(hidet.ArgumentError, "60 elements"):
            x.reshape(7, -1)

    def test_scalars(self):
        one = hidet.asarray([2.5])
        self.assertEqual((one.item(), float(one), bool(one), int(one)), (2.5, 2.5, True, 2))
        with self.assertRaisesRegex(ValueError, "one element"):
            self.x.item()


if __name__ == "__main__":
    unittest.main()
