"""The public names of hidet, by the module that has them."""

MODULES = {"cuda", "driver", "dtypes", "graph", "hds", "lang", "ops", "option", "testing", "torch", "utils"}

_BY_MODULE = {
    "_core": "Error ArgumentError DeviceError ToolchainError CompilationError SimulationError",
    "_magic": "load_ipython_extension",
    "_runtime": "CompilationWarning Diagnostic",
    "scripts": "script script_module",
    "device": "Device device",
    "graph": "FlowGraph Operator trace_from save_graph load_graph",
    "tensor": (
        "Tensor symbol symbol_like empty zeros ones full randn randint arange linspace empty_like zeros_like ones_like full_like "
        "randn_like asarray array from_torch from_dlpack seed"
    ),
    "dtypes": (
        "DataType float16 float32 float64 bfloat16 tfloat32 float8_e4m3 float8_e5m2 int8 int16 int32 int64 uint8 uint16 "
        "uint32 uint64 boolean"
    ),
}

FUNCTIONS = {name: module for module, names in _BY_MODULE.items() for name in names.split()}

_one_memory = "tensors are in host memory or on a GPU: x.cpu(), x.cuda(); to save a GPU's memory, compile with host tensors"
_in_order = "copies are made in the order of the default stream: x.cpu(), x.cuda(), x.copy()"
_single_nodes = "graph.draw('g.hds') writes a file; 'hdsc report' compares its tensors with f64, 'hdsc bench' measures its kernels"
# Names of Hidet that there are not, and what takes their place. Before a dot: the module or class.
ABSENT = {
    "Task": "operators are written in the language, under @operator in a .hds file: docs/ops.md",
    "Module": "models are written in PyTorch, or as graph functions of the language: docs/models.md",
    "nn": "models are written in PyTorch, or as graph functions of the language: docs/models.md",
    "symbol_var": "graphs of Python have fixed extents; graph functions in .hds files may have open sizes: docs/models.md",
    "hip": "there is no AMD target",
    "distributed": "a program runs on one GPU",
    "onnx": "hidet.graph.from_onnx reads ONNX files",
    "frontend": "hidet.graph.from_onnx reads ONNX files, and torch.compile(model, backend='hidet') compiles PyTorch's models",
    "save_task": "operators are files in the language, which need no saving: docs/ops.md",
    "load_task": "hidet.hds.load compiles a file of operators",
    "save_compiled_graph": "graph.save writes a graph, and what was compiled is found in the cache: docs/cache.md",
    "load_compiled_graph": "hidet.load_graph(path).build() finds what was compiled in the cache: docs/cache.md",
    "ir": "the compiler is hdsc: module.source('cuda') shows what it makes",
    "Tensor.hip": "there is no AMD target",
    "Tensor.hip_async": "there is no AMD target",
    "Tensor.vcuda_": _one_memory,
    "Tensor.cuda_": _one_memory,
    "Tensor.cpu_async": _in_order,
    "Tensor.cuda_async": _in_order,
    "Tensor.copy_async": _in_order,
    "Operator.task": "operators are written in the language: 'hdsc ops NAME' says where",
    "FlowGraph.hip_graph": "there is no AMD target",
    "FlowGraph.vcuda_": _one_memory,
    "FlowGraph.cuda_": _one_memory,
    "graph.forward_context": _single_nodes,
    "graph.GraphForwardInstrument": _single_nodes,
    "testing.models": "models are those of torchvision and transformers, with random weights: tests/python/check_models.py",
    "testing.check_unary_dynamic": "graphs of Python have fixed extents: graph functions in .hds files may have open sizes",
    "testing.check_binary_dynamic": "graphs of Python have fixed extents: graph functions in .hds files may have open sizes",
    "testing.check_torch_binary_dynamic": "torch.compile(f, backend='hidet', dynamic=True) has open sizes",
}


def nearest(name, names):
    """"; did you mean 'x'?", where one of the names is like it, or ""."""
    import difflib

    found = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def absent(where, name, names=()):
    """The AttributeError about a name that a module of hidet has not; [names]: those that it has."""
    reason = ABSENT.get(f"{where}.{name}" if where else name)
    whole = f"hidet.{where}" if where else "hidet"
    if reason:
        return AttributeError(f"there is no {whole}.{name}: {reason}")
    return AttributeError(f"module {whole!r} has no attribute {name!r}{nearest(name, names)}")


class Absent:
    """A name that Hidet's class has and ours has not."""

    __slots__ = ("message",)

    def __set_name__(self, owner, name):
        self.message = f"there is no {owner.__name__}.{name}: {ABSENT[f'{owner.__name__}.{name}']}"

    def __get__(self, instance, owner=None):
        raise AttributeError(self.message)
