"""Options of the process, those of Hidet that change nothing, and names that there are not."""

import inspect
import unittest
import warnings

from support import Case

import hidet


class Options(Case):
    def setUp(self):
        context = hidet.option.context()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def test_effective_ones(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", hidet.option.OptionWarning)
            hidet.option.cuda.arch("sm_90a")
            self.assertEqual(hidet.option.get_option("arch"), "sm_90a")
            self.assertEqual(hidet.option.get_option("cuda.arch"), "sm_90a")
            self.assertEqual(hidet.hds.loads("A = 1\n", name="arch.hds").arch, "sm_90a")
            hidet.option.search_space(0)  # the default

    def test_those_that_change_nothing_say_why(self):
        for set_it, name, value in (
            (lambda: hidet.option.search_space(2), "search_space", 2),
            (lambda: hidet.option.parallel_k("search"), "parallel_k", "search"),
            (lambda: hidet.option.bench_config(1, 2, 3), "bench_config", (1, 2, 3)),
            (lambda: hidet.option.save_lower_ir(), "save_lower_ir", True),
            (lambda: hidet.option.compile_server.port(1), "compile_server.port", 1),
            (lambda: hidet.option.cuda.build.ftz(True), "cuda.build.ftz", True),
            (lambda: hidet.option.internal.dispatch_table.split_points([1]), "internal.dispatch_table.split_points", [1]),
        ):
            with self.assertWarnsRegex(hidet.option.OptionWarning, f"'{name}' changes nothing: ") as caught:
                set_it()
            self.assertEqual(caught.filename, __file__)
            self.assertEqual(hidet.option.get_option(name), value)
        self.assertEqual(hidet.option.get_parallel_k(), "search")
        with hidet.option.context(), self.assertWarns(hidet.option.OptionWarning):
            hidet.option.parallel_k(2)
        self.assertEqual(hidet.option.get_parallel_k(), "search")

    def test_unknown_ones(self):
        with self.assertRaisesRegex(KeyError, "did you mean 'parallel_k'"):
            hidet.option.set_option("paralel_k", 1)
        for wrong in (lambda: hidet.option.paralel_k, lambda: hidet.option.cuda.flags, lambda: hidet.option.get_flags()):
            with self.assertRaises((AttributeError, KeyError)):
                wrong()

    def test_absent_names(self):
        for name in ("nn", "hip", "distributed", "Task", "frontend", "save_task", "load_compiled_graph"):
            with self.assertRaisesRegex(AttributeError, f"there is no hidet.{name}: "):
                getattr(hidet, name)
        with self.assertRaisesRegex(AttributeError, "no attribute 'randm'"):
            hidet.randm  # noqa: B018


class Settings(Case):
    """Every setting of the original's dynamo_config is there."""

    def test_names(self):
        try:
            from hidet.torch import dynamo_config
        except ImportError as error:
            raise unittest.SkipTest("PyTorch is not installed") from error
        names = (
            "search_space use_fp16 use_fp16_reduction use_attention parallel_k use_tensor_core use_cuda_graph print_input_graph "
            "dump_graph_ir correctness_report steal_weights reset use_winograd"
        ).split()
        for name in names:
            self.assertTrue(inspect.getdoc(getattr(dynamo_config, name)), name)


if __name__ == "__main__":
    unittest.main()
