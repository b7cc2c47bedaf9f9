"""Graphs of operators: traced from symbolic tensors, optimized, compiled, saved.

x = hidet.symbol([2, 3])
graph = hidet.trace_from(hidet.ops.relu(x) + 1)
graph(hidet.randn([2, 3]))
"""

from hidet._eager import Operator
from hidet.graph.flow_graph import CompiledGraph, CudaGraph, FlowGraph, load_graph, save_graph, trace_from
from hidet.graph.optimized import OptimizedGraph, optimize
from hidet.graph.pass_context import PassContext

__all__ = [
    "CompiledGraph",
    "CudaGraph",
    "FlowGraph",
    "Operator",
    "OptimizedGraph",
    "PassContext",
    "load_graph",
    "optimize",
    "save_graph",
    "trace_from",
]
