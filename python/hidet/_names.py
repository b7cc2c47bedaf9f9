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

# Names of Hidet that there are not, and what takes their place.
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
}
