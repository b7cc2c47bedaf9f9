"""Scripts in Python files: closures, functions that call each other, messages at the lines of this file."""

import inspect
import math
import unittest

import numpy as np
from support import Case

import hidet
from hidet.lang import attrs, f16, f32, i32, repeat, spatial
from hidet.lang.cuda import blockDim, blockIdx, threadIdx

BLOCK = 64
THREADS = spatial(4, 8) * repeat(2, 1)


class Config:
    """Of which a script asks attributes only."""

    factor = 3
    name = "config"


def halved(x):
    return x * 0.5


tripled = lambda x: x * 3.0  # noqa: E731


def line_of(text):
    """The line of this file that has [text]."""
    with open(__file__, encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if text in line and "line_of" not in line)


def naive_matmul(m, n, k, dtype=f32):
    with hidet.script_module() as module:

        @hidet.script
        def matmul(a: dtype[m, k], b: dtype[k, n], c: dtype[m, n]):
            attrs.cuda.grid_dim = ((m + 31) // 32, (n + 31) // 32)
            attrs.cuda.block_dim = (32, 32)
            i = threadIdx.x + blockIdx.x * blockDim.x
            j = threadIdx.y + blockIdx.y * blockDim.y
            if i < m and j < n:
                total = f32(0.0)
                for p in range(k):
                    total += f32(a[i, p]) * f32(b[p, j])
                c[i, j] = dtype(total)

    return module


class Closures(Case):
    def test_sizes(self):
        rng = np.random.default_rng(1)
        for m, n, k in ((3, 5, 4), (1, 1, 1), (33, 2, 7)):
            a, b, c = rng.random((m, k), "f"), rng.random((k, n), "f"), np.zeros((m, n), "f")
            naive_matmul(m, n, k).build()(a, b, c)
            np.testing.assert_allclose(c, a @ b, rtol=1e-6)

    def test_types(self):
        a, b, c = np.ones((2, 3), "e"), np.ones((3, 2), "e"), np.zeros((2, 2), "e")
        naive_matmul(2, 2, 3, f16).build()(a, b, c)
        np.testing.assert_array_equal(c, 3)

    def test_equal_content_is_compiled_once(self):
        naive_matmul(5, 6, 7).build()
        self.assertEqual(naive_matmul(5, 6, 7).build().origin, "memory")

    def test_values(self):
        offsets, table, label = (1, 2, 3), {"a": 10, "b": [20.0, math.inf]}, "text"

        @hidet.script
        def kernel(y: f32[8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            y[0] = offsets[0] + len(offsets)
            y[1] = table["a"]
            y[2] = table["b"][0]
            y[3] = table["b"][1]
            y[4] = len(label)
            y[5] = Config.factor
            y[6] = math.pi
            y[7] = BLOCK

        y = np.zeros(8, "f")
        kernel(y)
        np.testing.assert_array_equal(y, np.array([4, 10, 20, np.inf, 4, 3, math.pi, 64], "f"))

    def test_mapping(self):
        @hidet.script
        def kernel(y: i32[8, 8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            for i, j in THREADS.on(threadIdx.x):
                y[i, j] = threadIdx.x

        y = np.zeros((8, 8), "i")
        kernel(y)
        np.testing.assert_array_equal(y, np.repeat(np.arange(32).reshape(4, 8), 2, axis=0))


class Functions(Case):
    def test_helpers(self):
        @hidet.script
        def plus_one(x: f32) -> f32:
            return x + 1.0

        @hidet.script
        def kernel(y: f32[1]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            y[0] = tripled(halved(plus_one(y[0])))

        y = np.ones(1, "f")
        kernel(y)
        self.assertEqual(y[0], 3.0)

    def test_host_function(self):
        n = 100
        with hidet.script_module() as module:

            @hidet.script
            def double(x: f32[n], y: f32[n]):
                attrs.cuda.grid_dim = (n + BLOCK - 1) // BLOCK
                attrs.cuda.block_dim = BLOCK
                i = blockIdx.x * BLOCK + threadIdx.x
                if i < n:
                    y[i] = x[i] + x[i]

            @hidet.script
            def launch(x: f32[n], y: f32[n]):
                attrs.func_kind = "public"
                double(x, y)

        compiled = module.build()
        x, y = np.arange(n, dtype="f"), np.zeros(n, "f")
        compiled(x, y)
        np.testing.assert_array_equal(y, 2 * x)
        compiled.double(y, x)
        np.testing.assert_array_equal(x, 2 * y)

    def test_driver(self):
        f = hidet.driver.build_ir_module(naive_matmul(2, 2, 2).ir_module())
        c = np.zeros((2, 2), "f")
        f(np.eye(2, dtype="f"), np.eye(2, dtype="f"), c)
        np.testing.assert_array_equal(c, np.eye(2))


class Errors(Case):
    def check(self, build, code, text):
        with self.assertRaises(hidet.CompilationError) as caught:
            build()
        first = caught.exception.diagnostics[0]
        self.assertEqual((first.code, first.file), (code, __file__))
        with open(__file__, encoding="utf-8") as file:
            line = file.read().splitlines()[first.line - 1]
        self.assertEqual(line[first.column - 1 : first.end_column - 1], text)

    def test_name(self):
        @hidet.script
        def kernel(y: f32[1]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            y[0] = undefinedName  # noqa: F821

        self.check(kernel.build, "HDS0130", "undefinedName")

    def test_without_a_file(self):
        """As of `python -c`: there is no text to compile."""
        names = {}
        exec("import hidet\n@hidet.script\ndef kernel():\n    pass\n", names)
        with self.assertRaisesRegex(hidet.Error, "the source of 'kernel' is not there.*compile a text by hidet.hds.loads"):
            names["kernel"]()

    def test_line_of_the_simulator(self):
        @hidet.script
        def kernel(y: f32[4]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 8
            y[threadIdx.x] = 1.0  # out of bounds

        with self.assertRaises(hidet.SimulationError) as caught:
            kernel(np.zeros(4, "f"))
        self.assertEqual(caught.exception.diagnostics[0].line, line_of("# out of bounds"))

    def test_object_of_python(self):
        thing = object()

        @hidet.script
        def kernel(y: f32[1]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            y[0] = thing

        with self.assertRaisesRegex(hidet.Error, rf"{inspect.getsourcefile(Errors)}:\d+: 'thing' is of Python's type object"):
            kernel.build()

    def test_names_of_the_language(self):
        with self.assertRaises(ImportError):
            from hidet.lang import no_such_name  # noqa: F401
        with self.assertRaises(ImportError):
            from hidet.lang.cuda import no_such_name  # noqa: F401, F811
        import hidet.lang.warp

        self.assertIn("warp_sum", hidet.lang.warp.__all__)


if __name__ == "__main__":
    unittest.main()
