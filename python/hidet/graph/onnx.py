"""Models in ONNX files as graphs, read by the compiler."""

import ast
import json
import os
import tempfile

from hidet import _core, _eager, dtypes, ops
from hidet.device import device as _device
from hidet.graph import safetensors
from hidet.graph.flow_graph import FlowGraph, hdsc
from hidet.tensor import Tensor, symbol

_WORDS = {"inf": float("inf"), "-inf": -float("inf"), "nan": float("nan")}


def from_onnx(model, sizes=None, device="cpu"):
    """The graph of a model: the path of a file, or an onnx.ModelProto. [sizes] has a value for each open dimension by its name:
    {"batch": 1}. Its inputs and outputs are in the order of the file; `input_names` and `output_names` say which they are."""
    with tempfile.TemporaryDirectory(prefix="hidet-") as folder:
        path = _file_of(model, folder)
        text = os.path.join(folder, "graph.json")
        _run(["graph", path, *(f"-D{name}={_size(name, n)}" for name, n in (sizes or {}).items()), "-o", text])
        with open(text, encoding="utf-8") as file:
            graph = json.load(file)
        _refuse_open(graph, path)
        weights = {}
        if any("weight" in entry for entry in graph["inputs"]):
            _run([path, "--emit=graph", "-o", os.path.join(folder, "weights.hds")])
            weights, _ = safetensors.read(os.path.join(folder, "weights.safetensors"))
    return _Reader(graph, weights, _device(device)).graph()


def _file_of(model, folder):
    if hasattr(model, "SerializeToString"):
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        return path
    try:
        path = os.fspath(model)
    except TypeError:
        raise TypeError(f"from_onnx takes a path or an onnx.ModelProto, not {type(model).__name__}") from None
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path!r}")
    return path


def _size(name, n):
    n = n.__index__()
    if n < 0:
        raise ValueError(f"the size '{name}' is 0 or more, not {n}")
    return n


def _run(arguments):
    done = hdsc(*arguments)
    if done.returncode:
        raise _core.CompilationError("\n" + done.stderr.strip())


def _refuse_open(graph, path):
    if graph.get("sizes"):
        missing = ", ".join(f'"{name}": 1' for name in graph["sizes"])
        raise _core.ArgumentError(f"{path}: a graph has fixed extents: from_onnx({path!r}, sizes={{{missing}}})")


class _LibraryOperation:
    """An operator of a module of the library that hidet.ops does not show."""

    returns_list = False

    def __init__(self, name, module):
        self.name, self.module, self.alias, self.runners = name, module, f"hidet_{name}", {}


_operations = {}


def operation_of(name, module):
    """The operator of that name in a module of the library."""
    if name in ops._rows and ops.operation(name).module == module:
        return ops.operation(name)
    return _operations.setdefault((module, name), _LibraryOperation(name, module))


class _Reader:
    """Makes a graph of what `hdsc graph -o graph.json` writes."""

    def __init__(self, graph, weights, place):
        self.read, self.place = graph, place
        self.types = [(tuple(t["shape"]), dtypes.data_type(t["dtype"])) for t in graph["tensors"]]
        self.tensors, self.inputs, self.names = {}, [], []
        for entry in graph["inputs"]:
            if "weight" in entry:
                x = weights[entry["weight"]].to(device=place)
            else:
                x = symbol(*self.types[entry["tensor"]], place)
                self.inputs.append(x)
                self.names.append(entry["name"])
            self.tensors[entry["tensor"]] = x

    def graph(self):
        for entry in self.read["nodes"]:
            self._add(entry)
        found = [entry if isinstance(entry, dict) else {"tensor": entry} for entry in self.read["outputs"]]
        made = FlowGraph([self.tensors[entry["tensor"]] for entry in found], self.inputs)
        made.input_names = self.names
        made.output_names = [entry.get("name", f"out{i}") for i, entry in enumerate(found)]
        return made

    def _value(self, entry):
        return self.tensors[entry["tensor"]] if "tensor" in entry else _value(entry["value"])

    def _add(self, entry):
        op = operation_of(entry["operator"], entry["module"])
        inputs = [self._value(x) for x in entry["inputs"]]
        attributes = {x["name"]: self._value(x) for x in entry["options"]}
        by_name = {name for name, x in attributes.items() if isinstance(x, Tensor)}
        for name, _, _ in getattr(op, "operands", ())[len(inputs) :] if by_name else ():
            inputs.append(attributes.pop(name, None))
        made = _eager.node(op, inputs, attributes, [self.types[t] for t in entry["outputs"]], self.place)
        self.tensors.update(zip(entry["outputs"], made))


def _value(text):
    if text in _WORDS:
        return _WORDS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return dtypes.data_type(text)
