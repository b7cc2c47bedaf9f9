"""ATen's operators as operations of graphs: calls of ops/aten/core.hds."""

import json
import os

import torch

from hidet import _eager, dtypes, ops
from hidet.tensor import Tensor, symbol

_IGNORED = {"layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit"}
# Operands that are tensors of two types are cast to one.
_PROMOTED = {
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "where",
    "bitwise_and",
    "bitwise_or",
    "logical_and",
    "logical_or",
    "cat",
}
_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or"}


class Aten:
    """A function of ops/aten/core.hds, as an operation."""

    module, returns_list = "aten.core", False

    def __init__(self, name):
        self.name, self.alias, self.runners = name, f"aten_{name}", {}


def _read():
    with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), "aten.json"), encoding="utf-8") as file:
        return {name: Aten(name) for name in json.load(file)}


known = _read()


def operation_of(target):
    """The operation for an overload of ATen, or None."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return None
    return known.get(target._schema.name.removeprefix("aten::").lstrip("_"))


def _plain(value):
    """Lists are tuples; types are those of the language; what is no value of it is refused."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    if isinstance(value, torch.dtype):
        return dtypes.data_type(value)
    if value is None or isinstance(value, (bool, int, float, str, Tensor, dtypes.DataType)):
        return value
    raise TypeError(f"a {type(value).__name__}")


def _cast(x, dtype):
    if x.dtype == dtype:
        return x
    return node(ops.operation("cast"), [x], {"to": dtype}, [(x.shape, dtype)], x.device)[0]


def _promote(name, inputs, result):
    """Operands of arithmetic have the type of the result, those of comparisons the common one, as PyTorch promotes them."""
    first = 1 if name == "where" else 0
    tensors = [x for x in inputs[first:] if isinstance(x, Tensor)]
    if not tensors:
        return inputs
    common = result
    if name in _COMPARISONS:
        common = max((x.dtype for x in tensors), key=lambda t: ops._ORDER.index(t.name))
        if not common.is_float and any(isinstance(x, float) for x in inputs):
            common = dtypes.float32
    return inputs[:first] + [_cast(x, common) if isinstance(x, Tensor) else x for x in inputs[first:]]


def node(op, inputs, attributes, results, place):
    """A node of a graph with results of these extents and types."""
    operator = _eager.Operator(op, inputs, attributes)
    operator.outputs = [symbol(shape, dtype, place) for shape, dtype in results]
    for i, y in enumerate(operator.outputs):
        y._trace = (operator, i)
    return operator.outputs


def apply(target, args, kwargs, results, place):
    """The symbolic results of an overload; [results]: (extents, dtype) of each."""
    op = operation_of(target)
    args = [_plain(a) for a in args]
    attributes = {k: _plain(v) for k, v in kwargs.items() if k not in _IGNORED}
    if op.name == "cat":
        tensors = [x for x in args[0] if x.shape != (0,)]
        attributes.setdefault("dim", args[1] if len(args) > 1 else 0)
        args = tensors
    if op.name in _PROMOTED:
        args = _promote(op.name, args, results[0][1])
    results = (
        results[:1]
        if op.name in ("native_batch_norm_legit_no_training", "native_layer_norm", "max_pool2d_with_indices")
        else results
    )
    return node(op, args, attributes, results, place)
