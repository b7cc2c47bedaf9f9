"""Files of Hidet Script from Python: loading, calling, errors."""

import ctypes
import os
import pathlib
import signal
import tempfile
import threading
import unittest

import numpy as np
from support import TOP, Case

import hidet

SAXPY = (TOP / "examples" / "saxpy.hds").read_text(encoding="utf-8")
PARTS = '''from hidet.lang import attrs, f16, f32, i32
from hidet.lang.cuda import blockIdx, threadIdx

STEP = 1


@hidet.script
def shift[T: dtype, n: int](x: T[n], y: T[n], by: i32):
    """y = x + by * STEP"""
    attrs.cuda.grid_dim = n
    attrs.cuda.block_dim = 1
    y[blockIdx.x] = x[blockIdx.x] + T(by * STEP)


shift_f32 = shift[f32]


@hidet.script
def twice[n: int](x: f32[n], y: f32[n]):
    shift(x, y, 1)
    shift(y, y, 1) if False else None
'''
RACE = """from hidet.lang import attrs, f32, shared_tensor
from hidet.lang.cuda import threadIdx


@hidet.script
def race(x: f32[64]):
    attrs.cuda.grid_dim = 1
    attrs.cuda.block_dim = 64
    s = shared_tensor(f32, [64])
    s[threadIdx.x] = x[threadIdx.x]
    x[threadIdx.x] = s[63 - threadIdx.x]
"""


SUMS = """from hidet.lang import f32
from matmul import linear


@hidet.graph
def sums[N: int, K: int](x: f32[N, K], w: f32[5, K]):
    return linear(x, w) + 1, x.sum(0), x.max(1), x * 2
"""


class ExchangeTable(ctypes.Structure):
    """DLPackExchangeAPI of dlpack.h 1.3."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        *((name, ctypes.c_void_p) for name in ("previous", "allocate", "from_object", "to_object")),
        ("borrow", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    ]


def type_with_table(borrow, current_stream):
    """A type whose objects say by a C table what they are. The functions are kept by the type."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    functions = [
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_int32))(borrow),
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))(current_stream),
    ]
    table = ExchangeTable(1, 3, None, None, None, None, *(ctypes.cast(f, ctypes.c_void_p) for f in functions))
    capsule = make(ctypes.addressof(table), b"dlpack_exchange_api", None)
    return type("Far", (), {"__dlpack_c_exchange_api__": capsule, "kept": (functions, table)})


class Loading(Case):
    def test_file(self):
        module = hidet.hds.load(TOP / "examples" / "saxpy.hds")
        x, y = np.arange(5, dtype="f"), np.ones(5, "f")
        module.saxpy(2.0, x, y)
        np.testing.assert_array_equal(y, 2 * np.arange(5) + 1)
        self.assertEqual([p.name for p in module.saxpy.parameters][:3], ["s", "x", "y"])
        self.assertEqual((module.saxpy.name, module.saxpy.__name__, module.saxpy.plan), ("saxpy", "saxpy", None))
        with self.assertRaisesRegex(TypeError, "a Function is expected"):
            hidet._core.Function(module)
        self.assertIn("__global__", module.source("cuda"))
        self.assertIsNone(module.source("cubin"))

    def test_missing_file(self):
        with self.assertRaises(FileNotFoundError):
            hidet.hds.load("/nonexistent/kernel.hds")

    def test_defines_and_instances(self):
        source = PARTS.split("\n\n\n@hidet.script\ndef twice")[0] + "\n"
        module = hidet.hds.loads(source, name="parts.hds", defines={"STEP": 10}, entries=["shift[f32]", "shift[f16]"])
        x, y = np.arange(3, dtype="f"), np.zeros(3, "f")
        module["shift[T=f32]"](x, y, 2)
        np.testing.assert_array_equal(y, x + 20)
        h, g = x.astype(np.float16), np.zeros(3, np.float16)
        module["shift[T=f16]"](h, g, by=-1)
        np.testing.assert_array_equal(g, x - 10)
        self.assertEqual(module["shift[T=f16]"].__doc__, "y = x + by * STEP")

    def test_open_sizes_of_0(self):
        module = hidet.hds.loads(SUMS, name="sums.hds")
        for n, k in ((0, 3), (3, 0), (0, 0), (2, 3)):
            x, w = np.ones((n, k), "f"), np.ones((5, k), "f")
            expected = [x @ w.T + 1, x.sum(0), x.max(1, initial=-np.inf), x * 2]
            results = [np.full_like(y, 7) for y in expected]
            module.sums(x, w, *results)
            for y, z in zip(results, expected):
                np.testing.assert_array_equal(y, z)

    def test_imports_of_the_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "one.hds").write_text("VALUE = 7\n", encoding="utf-8")
            text = "from one import VALUE\n" + SAXPY.replace("s * x[i]", "s * x[i] * VALUE")
            pathlib.Path(folder, "two.hds").write_text(text, encoding="utf-8")
            module = hidet.hds.load(os.path.join(folder, "two.hds"))
        self.assertTrue(module.functions)

    def test_second_time_is_from_memory(self):
        text = SAXPY + "\n# the same text twice\n"
        self.assertIn(hidet.hds.loads(text).origin, ("compiled", "disk"))
        self.assertEqual(hidet.hds.loads(text).origin, "memory")


class Arguments(Case):
    def setUp(self):
        self.module = hidet.hds.loads(SAXPY, name="saxpy.hds")
        self.x, self.y = np.arange(6, dtype="f"), np.zeros(6, "f")

    def check_error(self, kind, text, *args, **kwargs):
        before = self.y.copy()
        with self.assertRaisesRegex(kind, text):
            self.module.saxpy(*args, **kwargs)
        np.testing.assert_array_equal(self.y, before)

    def test_numbers(self):
        for s in (3, True, np.float32(0.5), np.int64(2), np.float64(-1)):
            self.y[:] = 1
            self.module.saxpy(s, self.x, self.y)
            np.testing.assert_array_equal(self.y, float(s) * self.x + 1)

    def test_the_stream_of_a_library(self):
        """It is asked for once for all tensors of the library, and not for tensors in host memory."""
        asked = []

        def borrow(tensor, out):
            out[2] = tensor.device_type  # DLTensor: an address, the device's type, its number, …
            return 0

        Far = type_with_table(borrow, lambda kind, number, stream: asked.append((kind, number)) or 0)
        for device_type, expected in ((2, [(2, 0)]), (1, [])):
            asked.clear()
            x, y = Far(), Far()
            x.device_type = y.device_type = device_type
            self.check_error(hidet.Error, "saxpy", 1.0, x, y)
            self.assertEqual(asked, expected)

    def test_names(self):
        self.module.saxpy(1.0, y=self.y, x=self.x)
        np.testing.assert_array_equal(self.y, self.x)

    def test_size(self):
        self.module.saxpy(1.0, self.x, self.y, 6)
        self.check_error(hidet.ArgumentError, "has extent 6", 1.0, self.x, self.y, 7)

    def test_wrong_ones(self):
        x, y = self.x, self.y
        self.check_error(hidet.ArgumentError, "'y' has extent 5", 1.0, x, y[:5])
        self.check_error(hidet.ArgumentError, "'x' is of f64, and it has to be of f32", 1.0, x.astype("d"), y)
        self.check_error(hidet.ArgumentError, "overlap", 1.0, y, y)
        self.check_error(TypeError, "'x' is a str", 1.0, "x", y)
        self.check_error(TypeError, "takes 4 arguments, and 5", 1.0, x, y, 6, 6)
        self.check_error(TypeError, "'x' is missing", 1.0, y=y, n=6)
        self.check_error(TypeError, "unknown, or given twice", 1.0, x, y, z=3)
        self.check_error(TypeError, "unknown, or given twice", 1.0, x, y, s=3)
        self.check_error(OverflowError, "64 bits", 1.0, x, y, -(2**70))
        self.check_error(hidet.ArgumentError, "3 arguments|takes", 1.0)
        self.assertTrue(issubclass(hidet.ArgumentError, ValueError))

    def test_strides(self):
        wide = np.zeros((6, 2), "f")
        self.check_error(hidet.ArgumentError, "contiguous|gaps|stride", 1.0, self.x, wide[:, 0])

    def test_read_only(self):
        fixed = self.x.copy()
        fixed.flags.writeable = False
        self.module.saxpy(1.0, fixed, self.y)
        np.testing.assert_array_equal(self.y, fixed)
        with self.assertRaisesRegex(hidet.ArgumentError, "read-only"):
            self.module.saxpy(1.0, self.x, fixed)

    def test_threads(self):
        results = [np.zeros(6, "f") for _ in range(8)]

        def work(i):
            self.module.saxpy(float(i), self.x, results[i])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for i, y in enumerate(results):
            np.testing.assert_array_equal(y, i * self.x)


class Errors(Case):
    def test_source(self):
        with self.assertRaises(hidet.CompilationError) as caught:
            hidet.hds.loads(SAXPY.replace("x[i]", "z[i]"), name="bad.hds")
        first = caught.exception.diagnostics[0]
        self.assertEqual((first.code, first.file, first.severity), ("HDS0130", "bad.hds", "error"))
        line = SAXPY.replace("x[i]", "z[i]").splitlines()[first.line - 1]
        self.assertEqual(line[first.column - 1 : first.end_column - 1], "z")
        self.assertIn("bad.hds:", str(caught.exception))

    def test_simulator(self):
        module = hidet.hds.loads(RACE, name="race.hds")
        with self.assertRaises(hidet.SimulationError) as caught:
            module.race(np.zeros(64, "f"))
        self.assertIn("race.hds:11", str(caught.exception))
        self.assertEqual(caught.exception.diagnostics[0].code, "HDS0604")

    def test_no_gpu(self):
        """Code for a GPU can be made without one; running it there cannot."""
        if not self.has_nvrtc():
            self.skipTest("NVRTC is not installed")
        with hidet.option.context():
            hidet.option.simulate(False)
            module = hidet.hds.loads(SAXPY + "# for a GPU\n", arch="sm_80")
        self.assertGreater(len(module.source("cubin")), 100)
        self.assertIn(".entry saxpy", module.source("ptx"))


TITLES = """from hidet.lang import attrs, f32, launch_together
from hidet.lang.cuda import blockIdx, threadIdx


@hidet.script
def mapped[M: int, F: object](x: f32[M, 32], y: f32[M, 32]):
    attrs.cuda.grid_dim = M
    attrs.cuda.block_dim = 32
    y[blockIdx.x, threadIdx.x] = F(x[blockIdx.x, threadIdx.x])


@hidet.script
def copied[M: int](x: f32[M, 32], y: f32[M, 32]):
    attrs.cuda.grid_dim = 1, M
    attrs.cuda.block_dim = 32
    y[blockIdx.y, threadIdx.x] = x[blockIdx.y, threadIdx.x]


@hidet.script
def all_three(x: f32[4, 32], a: f32[4, 32], b: f32[4, 32], c: f32[4, 32]):
    attrs.func_kind = "public"
    launch_together(lambda: mapped(x, a, F=lambda v: 2.0 * v), lambda: copied(x, b))
    mapped(x, c, F=lambda v: v + 1.0)
"""


class Titles(Case):
    """Kernels of one title, of which one is joined into another kernel before the program is done."""

    def test_instances_for_lambdas(self):
        module = hidet.hds.loads(TITLES, name="titles.hds")
        self.assertIn("mapped[M=4, F=a lambda] and 1 more", module.functions)
        x = np.arange(128, dtype="f").reshape(4, 32)
        a, b, c = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        module.all_three(x, a, b, c)
        for actual, expected in ((a, 2 * x), (b, x), (c, x + 1)):
            np.testing.assert_array_equal(actual, expected)


ENDLESS = """from hidet.lang import attrs, f32


@hidet.script
def endless(y: f32[4]):
    attrs.cuda.grid_dim = 1
    attrs.cuda.block_dim = 1
    y[0] = 1.0
    while y[0] > 0.0:
        y[0] += 1.0
"""


class Interrupts(Case):
    """Ctrl-C, again and again until it has an effect."""

    def interrupting(self, function, handler=signal.default_int_handler):
        before = signal.signal(signal.SIGINT, handler)
        is_done = threading.Event()

        def interrupt():
            while not is_done.wait(0.02):
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        try:
            thread.start()
            function()
        finally:
            while not is_done.is_set() or thread.is_alive():
                try:
                    is_done.set()
                    thread.join()
                except KeyboardInterrupt:
                    pass
            signal.signal(signal.SIGINT, before)

    def test_simulations_end(self):
        endless = hidet.hds.loads(ENDLESS, name="endless.hds").endless
        y = np.zeros(4, "f")
        with self.assertRaises(KeyboardInterrupt):
            self.interrupting(lambda: endless(y))
        self.assertEqual(y.tolist(), [0] * 4)
        with self.assertRaises(KeyboardInterrupt):  # also where the program's own handler raises nothing
            self.interrupting(lambda: endless(y), lambda number, frame: None)
        x = np.ones(4, "f")
        hidet.hds.loads(SAXPY).saxpy(2.0, x, y)
        self.assertEqual(y.tolist(), [2] * 4)


if __name__ == "__main__":
    unittest.main()
