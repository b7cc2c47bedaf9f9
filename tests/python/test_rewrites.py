"""Rewrite rules in Python and in files, and switches of the library's rewrites."""

import pathlib
import tempfile
import unittest

import numpy as np
from support import Case

import hidet
from hidet.graph import PassContext, SubgraphRewriteRule, register_rewrite_rule, unregister_rewrite_rule

RULE = """
from activation import relu
from arithmetic import maximum

from hidet.lang.rewrite import rewrite


@rewrite
def relu_by_maximum[T: dtype, *S](x: T[*S]):
    return maximum(x, 0.0), lambda: relu(x)
"""


def names(graph):
    return [n.name for n in graph.nodes]


class Rules(Case):
    def setUp(self):
        hidet.seed(3)
        self.a, self.w, self.c = hidet.randn([4, 8]), hidet.randn([8, 6]), hidet.randn([6])
        self.x = hidet.symbol_like(self.a)

    def check(self, graph, rule, expected_names):
        with PassContext() as context:
            context.add_rewrite_rules(rule)
            compiled = graph.build()
        self.assertEqual(names(compiled.graph), expected_names)
        np.testing.assert_allclose(compiled(self.a).numpy(), graph(self.a).numpy(), rtol=1e-4, atol=1e-5)

    def test_constants_fold(self):
        rule = SubgraphRewriteRule(
            lambda x, w, c: hidet.ops.matmul(x, w) / c,
            lambda x, w, c: hidet.ops.matmul(x, w / c),
            where=lambda x, w, c: not w.is_symbolic() and not c.is_symbolic(),
            name="quotient",
        )
        graph = hidet.trace_from(hidet.ops.relu(hidet.ops.matmul(self.x, self.w) / self.c))
        self.check(graph, rule, ["matmul", "relu"])
        self.assertEqual(names(graph), ["matmul", "divide", "relu"])  # the graph itself stays

    def test_operands_in_either_order_and_numbers(self):
        rule = SubgraphRewriteRule(lambda x: 2.0 * x + x, lambda x: x * 3.0)
        self.check(hidet.trace_from(hidet.ops.relu(self.x + self.x * 2.0)), rule, ["multiply", "relu"])
        self.check(hidet.trace_from(hidet.ops.relu(self.x * 2.5 + self.x)), rule, ["multiply", "add", "relu"])

    def test_several_results(self):
        """Two products of one tensor become one, whose parts are read."""

        def joined(x, w, v):
            y = hidet.ops.matmul(x, hidet.ops.concat(w, v, dim=1))
            return hidet.ops.split(y, (w.shape[1], v.shape[1]), dim=1)

        rule = SubgraphRewriteRule(
            lambda x, w, v: (hidet.ops.matmul(x, w), hidet.ops.matmul(x, v)),
            joined,
            where=lambda x, w, v: not w.is_symbolic() and not v.is_symbolic() and w is not v,
            name="joined",
        )
        v = hidet.randn([8, 3])
        y, z = hidet.ops.matmul(self.x, self.w), hidet.ops.matmul(hidet.ops.relu(self.x), v)
        apart = hidet.trace_from([y, z], [self.x])
        together = hidet.trace_from([hidet.ops.relu(hidet.ops.matmul(self.x, v)), y], [self.x])
        with PassContext() as context:
            context.add_rewrite_rules(rule)
            self.assertEqual(names(apart.build().graph), ["matmul", "relu", "matmul"])
            compiled = together.build()
        self.assertEqual(names(compiled.graph), ["matmul", "split", "relu"])
        for actual, wanted in zip(compiled(self.a), together(self.a), strict=True):
            np.testing.assert_allclose(actual.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)

    def test_results_that_read_each_other(self):
        """A product of a product is not joined with it: the new results would read themselves."""
        rule = SubgraphRewriteRule(
            lambda x, y, w, v: (hidet.ops.matmul(x, w), hidet.ops.matmul(y, v)),
            lambda x, y, w, v: (hidet.ops.matmul(x, w + v - v), hidet.ops.matmul(y, v)),
        )
        w = hidet.randn([8, 8])
        y = hidet.ops.matmul(self.x, w)
        self.check(hidet.trace_from(hidet.ops.matmul(hidet.ops.relu(y), w)), rule, ["matmul", "relu", "matmul"])

    def test_numbers_of_results(self):
        two = lambda x: (hidet.ops.relu(x), hidet.ops.sigmoid(x))  # noqa: E731
        graph = hidet.trace_from([hidet.ops.relu(self.x), hidet.ops.sigmoid(self.x)], [self.x])
        with PassContext() as context, self.assertRaisesRegex(TypeError, "'target' returns 2 tensors, not "):
            context.add_rewrite_rules(SubgraphRewriteRule(two, lambda x: x))
            graph.build()
        with self.assertRaisesRegex(TypeError, "'source' returns results of operators, not None"):
            SubgraphRewriteRule(lambda x: (), lambda x: ())

    def test_attributes(self):
        rule = SubgraphRewriteRule(
            lambda x, axis: hidet.ops.log(hidet.ops.softmax(x, axis=axis)),
            lambda x, axis: hidet.ops.log_softmax(x, axis=axis),
        )
        for axis in (0, 1, -1):
            self.check(hidet.trace_from(hidet.ops.log(hidet.ops.softmax(self.x, axis=axis))), rule, ["log_softmax"])
        last = SubgraphRewriteRule(lambda x: hidet.ops.softmax(x, axis=0), lambda x: hidet.ops.relu(x))
        self.check(hidet.trace_from(hidet.ops.softmax(self.x, axis=1)), last, ["softmax"])

    def test_what_others_read_stays(self):
        rule = SubgraphRewriteRule(lambda x: hidet.ops.relu(hidet.ops.exp(x)), lambda x: hidet.ops.exp(x))
        e = hidet.ops.exp(self.x)
        graph = hidet.trace_from([hidet.ops.relu(e), e + 1.0], inputs=[self.x])
        with PassContext() as context:
            context.add_rewrite_rules(rule)
            optimized = hidet.graph.optimize(graph)
        self.assertEqual(sorted(names(optimized)), ["add", "exp", "exp"])
        for got, expected in zip(optimized(self.a), graph(self.a)):
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-5)

    def test_registering(self):
        rule = register_rewrite_rule(SubgraphRewriteRule(lambda x: hidet.ops.exp(hidet.ops.log(x)), lambda x: x))
        self.addCleanup(lambda: rule in hidet.graph.rewriting.registered_rewrite_rules() and unregister_rewrite_rule(rule))
        graph = hidet.trace_from(hidet.ops.exp(hidet.ops.log(self.x)) * 2.0)
        self.assertEqual(names(graph.build().graph), ["multiply"])
        unregister_rewrite_rule(rule)
        self.assertEqual(names(graph.build().graph), ["log", "exp", "multiply"])
        with self.assertRaisesRegex(ValueError, "not registered"):
            unregister_rewrite_rule(rule)

    def test_misuse(self):
        relu, exp = hidet.ops.relu, hidet.ops.exp
        for source, target, message in (
            (lambda x: x, lambda x: x, "returns results of operators"),
            (lambda x, y: relu(x), lambda x, y: x, "does not use its parameter 'y'"),
            (lambda x: relu(x), lambda y: y, "other parameters than 'source': x"),
            (lambda x: hidet.ops.split(x, 2)[0], lambda x: x, "has several"),
        ):
            with self.assertRaisesRegex(TypeError, message):
                SubgraphRewriteRule(source, target)
        with self.assertRaisesRegex(AttributeError, "hidet.ops.operation"):
            SubgraphRewriteRule(lambda x: x.sum(), lambda x: x)
        graph = hidet.trace_from(relu(self.x))
        for target, kind, message in (
            (lambda x: x[:2], hidet.ArgumentError, r"puts float32\[2, 8\]\[cpu\] in the place of float32\[4, 8\]\[cpu\]"),
            (lambda x: 1.0, TypeError, "returns a tensor, not 1.0"),
            (lambda x: exp(relu(x)), hidet.Error, "do not end"),
        ):
            with PassContext() as context, self.assertRaisesRegex(kind, message):
                context.add_rewrite_rules(SubgraphRewriteRule(lambda x: relu(x), target, name="r"))
                graph.build()
        with PassContext() as context:
            for wrong, kind in (("none.hds", FileNotFoundError), ("rule.txt", ValueError), (3, TypeError)):
                with self.assertRaises(kind):
                    context.add_rewrite_rules(wrong)


class Files(Case):
    def test_rules_of_a_file(self):
        x = hidet.symbol([4, 8])
        graph = hidet.trace_from(hidet.ops.maximum(x, 0.0))
        with tempfile.TemporaryDirectory() as folder, PassContext() as context:
            path = pathlib.Path(folder, "rules.hds")
            path.write_text(RULE, encoding="utf-8")
            context.add_rewrite_rules(path)
            optimized = hidet.graph.optimize(graph)
            self.assertIn("relu(", optimized.lowered)
            a = hidet.randn([4, 8])
            np.testing.assert_array_equal(optimized(a).numpy(), np.maximum(a.numpy(), 0))
        self.assertNotIn("relu(", hidet.graph.optimize(graph).lowered)

    def test_switches(self):
        x = hidet.symbol([4, 8])
        graph = hidet.trace_from(x * hidet.ops.sigmoid(x))

        def lowered(**switches):
            with PassContext() as context:
                for name, value in switches.items():
                    getattr(context, name)(*value)
                return hidet.graph.optimize(graph).lowered, graph.build()

        for switches, is_silu in (({}, True), ({"disable_rewrites": ["is_silu"]}, False), ({"disable_rewrites": []}, False)):
            text, compiled = lowered(**switches)
            self.assertEqual("silu" in text, is_silu)
            a = hidet.randn([4, 8])
            np.testing.assert_allclose(compiled(a).numpy(), a.numpy() / (1 + np.exp(-a.numpy())), rtol=1e-5)
        with self.assertRaisesRegex(ValueError, "list-rewrites"):
            PassContext().disable_rewrites("is silu")
        with PassContext() as context, self.assertRaisesRegex(hidet.CompilationError, "is_sillu"):
            context.disable_rewrites("is_sillu")
            graph.build()

    def test_layouts(self):
        x, w = hidet.symbol([1, 4, 6, 6]), hidet.randn([4, 4, 3, 3])
        graph = hidet.trace_from(hidet.ops.conv2d(x, w))
        with PassContext() as context:
            context.set_layout("last")
            a = hidet.randn([1, 4, 6, 6])
            np.testing.assert_allclose(graph.build()(a).numpy(), graph(a).numpy(), rtol=1e-4, atol=1e-5)
            with self.assertRaisesRegex(ValueError, "'auto', 'keep' or 'last'"):
                context.set_layout("NHWC")


if __name__ == "__main__":
    unittest.main()
