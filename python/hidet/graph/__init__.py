"""Graphs of operators: traced from symbolic tensors, optimized, compiled, saved.

x = hidet.symbol([2, 3])
graph = hidet.trace_from(hidet.ops.relu(x) + 1)
graph(hidet.randn([2, 3]))
"""

from hidet._eager import Operator
from hidet._names import absent as _absent
from hidet.graph.flow_graph import CompiledGraph, CudaGraph, FlowGraph, load_graph, save_graph, trace_from
from hidet.graph.onnx import from_onnx
from hidet.graph.optimized import OptimizedGraph, optimize
from hidet.graph.pass_context import PassContext
from hidet.graph.rewriting import SubgraphRewriteRule, register_rewrite_rule, unregister_rewrite_rule

__all__ = [
    "CompiledGraph",
    "CudaGraph",
    "FlowGraph",
    "Operator",
    "OptimizedGraph",
    "PassContext",
    "SubgraphRewriteRule",
    "from_onnx",
    "load_graph",
    "optimize",
    "register_rewrite_rule",
    "save_graph",
    "trace_from",
    "unregister_rewrite_rule",
]


def __getattr__(name):
    if name == "frontend":  # which has PyTorch's part: it is loaded by its full name
        import importlib

        return importlib.import_module("hidet.graph.frontend")
    raise _absent("graph", name)
