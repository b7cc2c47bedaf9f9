"""The backend node tests of PyPI's onnx, as folders that hdsc runs: model.onnx, in_K.npy, out_K.npy.

Inputs and outputs are renamed i0, i1, … and o0, o1, …. Inputs that an operator needs while compiling, as the shape of Reshape, are
made initialisers: a compiler whose programs have fixed shapes cannot take them later. Element types that NumPy does not have are
written as unsigned integers of their size, which is how hdsc reads them.
"""

import re
import shutil
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

# Operands that have to be known while compiling, by operator.
KNOWN = {
    "AffineGrid": (1,), "GRU": (4,), "LSTM": (4,), "RNN": (4,), "CenterCropPad": (1,), "CastLike": (1,), "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "CumProd": (1,), "CumSum": (1,), "DFT": (1, 2), "Dropout": (1, 2), "Expand": (1,), "HammingWindow": (0,), "HannWindow": (0,),
    "BlackmanWindow": (0,), "If": (0,), "Loop": (0, 1), "MaxUnpool": (2,), "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1,), "Pad": (1, 2, 3), "Range": (0, 1, 2), "Reshape": (1,), "Resize": (1, 2, 3), "ReverseSequence": (1,),
    "STFT": (1, 3), "Slice": (1, 2, 3, 4), "Split": (1,), "SplitToSequence": (1,), "Squeeze": (1,), "Tile": (1,), "TopK": (1,),
    "Trilu": (1,), "Unsqueeze": (1,), "Upsample": (1,), "NonMaxSuppression": (2, 3, 4),
}  # fmt: skip
# Outputs whose extent depends on elements, by operator: they have as many elements as there can be, and NAME_count.
COUNTED = {"Compress": (0,), "NonMaxSuppression": (0,), "NonZero": (0,), "Unique": (0, 1, 3)}
REDUCTION = re.compile("Reduce[A-Z]")
NPY_BITS = {TensorProto.BFLOAT16: np.uint16, TensorProto.FLOAT8E4M3FN: np.uint8, TensorProto.FLOAT8E5M2: np.uint8}


def collect():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None)}


def _base_name(name):
    return re.sub(r"_expanded.*", "", name)


def _known_inputs(case, cases):
    """The numbers of the graph's inputs that are made initialisers: those of the case that an expanded one comes from."""
    graph = cases.get(_base_name(case.name), case).model.graph
    if len(graph.node) != 1:
        graph = case.model.graph
    names, found = [i.name for i in graph.input], set()
    for node in graph.node:
        wanted = (1,) if REDUCTION.match(node.op_type) else KNOWN.get(node.op_type, ())
        found |= {names.index(node.input[k]) for k in wanted if k < len(node.input) and node.input[k] in names}
    return found


def counted_outputs(case):
    """The numbers of outputs with a count."""
    nodes = case.model.graph.node
    return COUNTED.get(nodes[0].op_type, ()) if len(nodes) == 1 else ()


def as_tensor(value):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value))


def _as_array(tensor):
    """The elements, or their bits."""
    if tensor.data_type in NPY_BITS:
        return numpy_helper.to_array(tensor).view(NPY_BITS[tensor.data_type])
    return numpy_helper.to_array(tensor)


def _replaced(node, names):
    node.input[:] = [names.get(n, n) for n in node.input]
    node.output[:] = [names.get(n, n) for n in node.output]
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                _replaced(inner, names)
            for output in attribute.g.output:
                output.name = names.get(output.name, output.name)


def write(case, cases, folder):
    """Writes the folder. The reason why not, or None."""
    graph = case.model.graph
    kinds = {v.name: v.type.WhichOneof("value") for v in [*graph.input, *graph.output]}
    if any(kind != "tensor_type" for kind in kinds.values()):
        return "sequences, maps and optional values are no inputs and outputs"
    if len(case.data_sets) == 0:
        return "it has no data"
    inputs, outputs = case.data_sets[0]
    names = {v.name: f"o{k}" for k, v in enumerate(graph.output)}
    names.update({v.name: f"i{k}" for k, v in enumerate(graph.input)})
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    if len(set(names.values())) != len(graph.input) + len(graph.output):
        return "an output is an input"
    for node in model.graph.node:
        _replaced(node, names)
    for value in [*model.graph.input, *model.graph.output]:
        value.name = names[value.name]
    known = _known_inputs(case, cases)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for k in sorted(known, reverse=True):
        if k < len(inputs) and inputs[k] is not None:
            tensor = as_tensor(inputs[k])
            tensor.name = f"i{k}"
            model.graph.initializer.append(tensor)
            del model.graph.input[k]
    onnx.save(model, folder / "model.onnx")
    for stem, values, skipped in (("in", inputs, known), ("out", outputs, ())):
        for k, value in enumerate(values):
            if k not in skipped and value is not None:
                tensor = as_tensor(value)
                if tensor.data_type == TensorProto.STRING:
                    return "strings"
                np.save(folder / f"{stem}_{k}.npy", _as_array(tensor))
    types = " ".join(str(as_tensor(v).data_type) for v in outputs)
    (folder / "types.txt").write_text(types + "\n", encoding="utf-8")
    return None
