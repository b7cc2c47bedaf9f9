"""Every name of Hidet that its documents and its last release have: it works, or says why it does not.

A name is looked up, and what it does is tested by its use here, or in the other files of this folder."""

import importlib
import inspect
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
from support import Case, torch_or_skip

import hidet
from hidet import _names

# By module or class, a class after a colon.
THERE = {
    "hidet": (
        "Tensor Operator FlowGraph Device device script script_module ops option cuda dtypes graph lang driver utils "
        "testing "
        "symbol empty zeros ones full randn randint asarray from_torch from_dlpack arange linspace symbol_like empty_like "
        "zeros_like ones_like full_like randn_like trace_from save_graph load_graph float8_e4m3 float8_e5m2 float16 bfloat16 "
        "float32 float64 tfloat32 int8 int16 int32 int64 uint8 uint16 uint32 uint64 boolean"
    ),
    "hidet:Tensor": (
        "shape dtype device storage layout trace op size nbytes __dlpack__ __dlpack_device__ __torch_function__ cpu cuda to "
        "astype numpy torch item tolist copy copy_ detach contiguous reshape view squeeze unsqueeze rearrange transpose expand "
        "sum mean masked_fill is_symbolic signature __getitem__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ "
        "__truediv__ __rtruediv__ __floordiv__ __mod__ __pow__ __neg__ __invert__ __lshift__ __rshift__ __and__ __or__ __xor__ "
        "__matmul__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__"
    ),
    "hidet:FlowGraph": "__call__ forward usage_count share_map dummy_inputs save load draw build cuda_graph latency",
    "hidet:Operator": "inputs attributes reforward",
    "hidet.graph": "FlowGraph PassContext optimize trace_from from_onnx save_graph load_graph register_rewrite_rule",
    "hidet.graph:CudaGraph": "run run_async __call__",
    "hidet.graph:CompiledGraph": "run run_async __call__",
    "hidet.graph:PassContext": "__enter__ __exit__",
    "hidet.graph.frontend": "from_onnx",
    "hidet.ops": "matmul conv2d add relu softmax",
    "hidet.driver": "build_ir_module",
    "hidet.utils": "benchmark_func benchmark assert_close",
    "hidet.utils.benchmark": "benchmark_func do_bench",
    "hidet.testing": (
        "check_unary check_binary check_ternary check_torch_unary check_torch_binary check_torch_ternary assert_torch_allclose"
    ),
    "hidet.lang": "attr attrs f16 f32 i32",
    "hidet.lang.cuda": "threadIdx blockIdx blockDim",
    "hidet.option": "context set_option get_option",
}
NEEDS_TORCH = {
    "hidet": "torch",
    "hidet.torch": "dynamo_config DynamoConfig explain",
    "hidet.graph.frontend.torch": "DynamoConfig dynamo_config",
    "hidet.torch:DynamoConfig": (
        "search_space set_search_space use_fp16 use_fp16_reduction use_attention parallel_k use_tensor_core use_cuda_graph "
        "print_input_graph dump_graph_ir correctness_report steal_weights reset"
    ),
}
REFUSED = {
    "hidet": (
        "Task Module nn symbol_var hip distributed onnx frontend ir save_task load_task save_compiled_graph load_compiled_graph"
    ),
    "hidet:Tensor": "hip hip_async vcuda_ cuda_ cpu_async cuda_async copy_async",
    "hidet:FlowGraph": "hip_graph vcuda_ cuda_",
    "hidet:Operator": "task",
    "hidet.graph": "forward_context GraphForwardInstrument",
    "hidet.testing": "models check_unary_dynamic check_binary_dynamic check_torch_binary_dynamic",
}
OPTIONS = (
    "search_space parallel_k hexcute_matmul bench_config parallel_build num_local_workers parallel_tune "
    "fix_gpu_frequency_for_tuning internal.dispatch_table.enabled_idt internal.dispatch_table.split_points "
    "internal.torch_api_use_example_input_shapes cuda.arch hip.arch cpu.arch cuda.cpu_arch cuda.build.ftz cuda.build.prec_div "
    "execution_mode cache_dir cache_operator runtime_check save_lower_ir debug_cache_tuning debug_enable_var_id "
    "debug_show_var_id debug_enable_flow_graph_draw debug_strict_broadcast_check debug_show_verbose_flow_graph "
    "compile_server.addr compile_server.port compile_server.enabled compile_server.username compile_server.password "
    "compile_server.repo_url compile_server.repo_version compile_server.num_workers"
)


def owner_of(path):
    module, _, name = path.partition(":")
    module = importlib.import_module(module)
    return getattr(module, name) if name else module


def names_of(table):
    return [(path, name) for path, names in table.items() for name in names.split()]


class Names(Case):
    def test_there(self):
        for path, name in names_of(THERE):
            with self.subTest(path=path, name=name):
                self.assertTrue(hasattr(owner_of(path), name) or name in getattr(owner_of(path), "__slots__", ()))

    def test_there_with_torch(self):
        torch_or_skip()
        for path, name in names_of(NEEDS_TORCH):
            with self.subTest(path=path, name=name):
                self.assertTrue(hasattr(owner_of(path), name))
        from hidet.graph.frontend.torch import DynamoConfig

        self.assertIs(DynamoConfig, hidet.torch.DynamoConfig)

    def test_refused(self):
        """An AttributeError that names what takes their place."""
        for path, name in names_of(REFUSED):
            refused = self.assertRaisesRegex(AttributeError, rf"there is no [\w.]*{name}: .{{15}}")
            with self.subTest(path=path, name=name), refused:
                getattr(owner_of(path), name)
        for value, name in ((hidet.ones([1]), "vcuda_"), (hidet.trace_from(-hidet.symbol([1])), "hip_graph")):
            with self.assertRaisesRegex(AttributeError, f"there is no {type(value).__name__}.{name}: "):
                getattr(value, name)
        listed = {f"{path.rpartition(':')[2].removeprefix('hidet')}.{name}".lstrip(".") for path, name in names_of(REFUSED)}
        self.assertEqual(listed, set(_names.ABSENT))

    def test_unknown(self):
        for module in (hidet, hidet.graph, hidet.testing):
            with self.assertRaisesRegex(AttributeError, f"module '{module.__name__}' has no attribute 'nonsense'"):
                module.nonsense  # noqa: B018
        for module, name, meant in ((hidet, "zeroes", "zeros"), (hidet, "op", "ops"), (hidet.ops, "softmx", "softmax")):
            with self.assertRaisesRegex(AttributeError, f"'{name}'; did you mean '{meant}'?"):
                getattr(module, name)

    def test_options(self):
        """Each is read; without a warning only those that work are set (test_options.py)."""
        for name in OPTIONS.split():
            hidet.option.get_option(name)
        setters = [name for name in OPTIONS.split() if "." not in name]
        self.assertTrue(all(callable(getattr(hidet.option, name)) for name in setters))

    def test_modes(self):
        torch_or_skip()
        from hidet.torch.backend import _settings

        graphs = {None: True, "default": False, "reduce-overhead": True, "max-autotune": True}
        graphs["max-autotune-no-cudagraphs"] = False
        for mode, expected in graphs.items():
            self.assertEqual(_settings(mode, None)[0], expected)
        with self.assertRaisesRegex(ValueError, "no mode 'fast'; modes are default, "):
            _settings("fast", None)
        with self.assertRaisesRegex(ValueError, "no option 'fast'; options are "):
            _settings(None, {"fast": True})

    def test_stubs_know_them(self):
        names = {name for path, name in names_of(THERE) if path == "hidet"}
        self.assertEqual(names - {*_names.MODULES, *_names.FUNCTIONS}, set())


class Tensors(Case):
    def test_layout(self):
        x = hidet.zeros([2, 3])
        self.assertEqual(str(x.layout), "row_major(2, 3)")
        self.assertEqual(str(x.T.layout), "row_major(3, 2)")
        part = hidet.zeros([4, 6])[:, ::2]
        self.assertEqual(str(part.layout), "strided_layout([4, 3], strides=[6, 2])")
        text = "from hidet.lang import row_major, static_assert, strided_layout\n"
        text += f"static_assert({x.layout}(1, 2) == 5)\nstatic_assert({part.layout}(1, 2) == 10)\n"
        hidet.hds.loads(text, name="layouts.hds")

    def test_rearrange(self):
        a = np.arange(24, dtype="f").reshape(2, 3, 4)
        x = hidet.asarray(a)
        for plan, expected in (
            ([[1], [0], [2]], a.transpose(1, 0, 2)),
            ([[0, 1], [2]], a.reshape(6, 4)),
            ([[2, 0], [], [-2]], a.transpose(2, 0, 1).reshape(8, 1, 3)),
        ):
            np.testing.assert_array_equal(x.rearrange(plan).numpy(), expected)
        for plan in ([[0], [1]], [[0], [1], [1]], [[0], [1], [3]]):
            with self.assertRaisesRegex(ValueError, "does not name each of 3 axes once"):
                x.rearrange(plan)


class Graphs(Case):
    def test_runs_that_do_not_wait(self):
        x = hidet.symbol([3])
        graph = hidet.trace_from(x + 1)
        self.assertEqual(graph.share_map, {})
        for compiled in (graph.build(), graph.cuda_graph()):
            (y,) = compiled.run_async([hidet.ones([3])])
            self.assertEqual(y.tolist(), [2, 2, 2])
            with self.assertRaisesRegex(hidet.ArgumentError, "on the default stream: .*torch.cuda.stream"):
                compiled.run_async([hidet.ones([3])], stream=1)

    def test_outputs_of_pytorch(self):
        torch = torch_or_skip()
        (y,) = hidet.trace_from(hidet.symbol([2]) * 3).cuda_graph().run_async([hidet.ones([2])], output_to_torch_tensor=True)
        self.assertTrue(torch.equal(y, torch.full([2], 3.0)))


class Checks(Case):
    def test_numpy(self):
        for device in ("auto", "cpu", "all"):
            hidet.testing.check_unary([2, 3], np.abs, hidet.ops.abs, device=device)
        hidet.testing.check_unary([], lambda x: x * x, lambda x: x * x, dtype="float16")
        hidet.testing.check_binary([2, 3], [3, 4], np.matmul, hidet.ops.matmul, atol=1e-5, rtol=1e-5)
        bounds = {"rtol": 1e-5, "atol": 1e-6}
        hidet.testing.check_ternary([4], [4], [4], lambda a, b, c: a * b + c**0.5, lambda a, b, c: a * b + c**0.5, **bounds)
        with self.assertRaisesRegex(AssertionError, "Mismatched elements"):
            hidet.testing.check_unary([8], np.abs, lambda x: x, device="cpu")
        with self.assertRaisesRegex(AssertionError, "extents differ"):
            hidet.testing.check_unary([8], np.abs, lambda x: hidet.ops.abs(x)[:4])

    def test_torch(self):
        torch = torch_or_skip()
        hidet.testing.check_torch_unary([5], torch.tanh, hidet.ops.tanh, atol=1e-6, rtol=1e-6)
        hidet.testing.check_torch_binary([2, 3], [3], torch.add, lambda a, b: a + b)
        hidet.testing.check_torch_ternary([3], [3], [3], torch.addcmul, lambda a, b, c: a + b * c, atol=1e-6, rtol=1e-6)
        hidet.testing.assert_torch_allclose(hidet.ones([2]), torch.ones(2))

    def test_closeness(self):
        hidet.utils.assert_close(hidet.ones([2], "bfloat16"), [1, 1])
        hidet.utils.assert_close([1.0, 2.0], np.array([1.0, 2.00001]))
        for wrong in ([1.0, 3.0], [[1.0, 2.0]], 1.0):
            with self.assertRaises(AssertionError):
                hidet.utils.assert_close([1.0, 2.0], wrong)

    def test_benches(self):
        """With a clock of our own: 1, 2, 3, … ms a call."""
        from hidet.utils import benchmark

        ticks = itertools.accumulate(x for n in itertools.count(1) for x in (1.0, 1e-3 * n))
        with mock.patch.object(benchmark.time, "perf_counter", lambda: next(ticks)):
            calls = []
            found = benchmark.do_bench(lambda: calls.append(0), warmup=3, rep=5, percentiles=(0, 0.5, 1))
        self.assertEqual([round(t, 6) for t in found], [2, 4, 6])
        self.assertEqual(len(calls), 1 + 1 + 3 + 5)

    def test_parameters(self):
        for function, names in (
            (hidet.utils.benchmark_func, "run_func args warmup number repeat median"),
            (hidet.utils.benchmark.do_bench, "fn warmup rep percentiles"),
            (hidet.FlowGraph.latency, "self warmup repeat dummy_inputs median"),
            (hidet.randn, "shape dtype mean stddev device"),
        ):
            self.assertEqual(list(inspect.signature(function).parameters), names.split())


class Commands(Case):
    def test_cache(self):
        folder = str(pathlib.Path(hidet.__file__).resolve().parent.parent)
        with tempfile.TemporaryDirectory() as cache:
            env = {**os.environ, "PYTHONPATH": folder, "HDS_CACHE_DIR": cache}
            env.pop("HDS_CACHE", None)  # which may say that there is none
            for arguments in (["cache", "status"], ["cache", "clear"], ["bench", "--help"]):
                command = [sys.executable, "-m", "hidet", *arguments]
                done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
