"""ATen's operators as operations of graphs: calls of functions of ops/aten."""

import json
import os

import torch

from hidet import _eager, dtypes, ops
from hidet.tensor import Tensor

_IGNORED = {"layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit"}
# Their operands are cast to the type of the result, as those of elementwise functions.
_CAST = {
    *("cat", "stack", "sum", "prod", "cumsum", "cumprod", "nansum", "copy", "masked_fill", "fill", "lerp", "logsumexp"),
    *("floor_divide", "rsub"),
}
_LOGICAL = {"logical_and", "logical_or", "logical_xor", "logical_not"}
# Numbers beside their operands are rounded to the operands' type, where others compute with them as they are.
_ROUNDED = {"eq", "ne", "lt", "le", "gt", "ge", "remainder", "fmod", "hardshrink"}
# Whole numbers beside tensors of integers are of the tensors' type, modulo 2 to the power of its bits.
_WRAPPED = {
    *("add", "sub", "rsub", "mul", "div", "floor_divide", "remainder", "fmod", "eq", "ne", "lt", "le", "gt", "ge"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
}
_UNCAST = {"to_copy", "clone", "full_like", "ones_like", "zeros_like", "fill"}
_MADE = {"arange", "full", "zeros", "ones", "empty", "eye", "scalar_tensor"}
_PRODUCTS = {"addr", "mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "convolution"}
_FLOATS = {"avg_pool1d", "avg_pool2d", "avg_pool3d"}
_PRIMS = {"convert_element_type"}  # others of this namespace have parameters of their own
_NUMBERS = {"mode", "cummax", "cummin", "sort", "argsort", "topk", "index_add", "scatter_add", "scatter_reduce", "addr"}
# Of these operators the first result alone is there.
FIRST_ONLY = {
    "native_batch_norm_legit_no_training",
    "native_layer_norm",
    "native_group_norm",
    "fused_rms_norm",
    "log_sigmoid_forward",
    "scaled_dot_product_cudnn_attention",
    "scaled_dot_product_efficient_attention",
    "scaled_dot_product_flash_attention",
    "scaled_dot_product_flash_attention_for_cpu",
    "scaled_dot_product_fused_attention_overrideable",
}
# Overloads that do something else than the others.
_OTHER = {
    *("scatter.reduce", "scatter.value_reduce", "arange.default", "round.decimals", "view.dtype"),
    *("mm.dtype", "bmm.dtype", "addmm.dtype", "baddbmm.dtype"),
}


class Aten:
    """A function of ops/aten, as an operation."""

    returns_list = False

    def __init__(self, name, module):
        self.name, self.module, self.alias, self.runners = name, module, f"aten_{name}", {}

    def __call__(self, *operands, **attributes):
        return _eager.apply(self, list(operands), attributes)


def _read():
    with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), "aten.json"), encoding="utf-8") as file:
        return {name: Aten(name, module) for name, module in json.load(file).items()}


known = _read()


def operation_of(target):
    """The operation for an overload of ATen, or of our own operators (operators.py), or None."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    name = target._schema.name.partition("::")[2].lstrip("_")
    is_ours = target.namespace in ("aten", "hidet") or (target.namespace == "prims" and name in _PRIMS)
    return known.get(name) if is_ours else None


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
    return _eager.node(ops.operation("cast"), [x], {"to": dtype}, [(x.shape, dtype)], x.device)[0]


def _common(fakes):
    """The type that PyTorch compares operands in, tensors without elements and numbers."""
    return dtypes.data_type(torch.result_type(*fakes) if len(fakes) == 2 else fakes[0].dtype)


def _promote(name, inputs, fakes, result):
    """Operands of elementwise functions have the type of the result; those of comparisons the common one."""
    first = 1 if name == "where" else 0
    given = [a for a in fakes[first:] if isinstance(a, (torch.Tensor, int, float))]
    if name in _LOGICAL:
        result = dtypes.boolean
    elif result == dtypes.boolean and name not in ("where", "masked_fill", "cat", "stack"):
        result = _common(given[:2])
    keep = 1 if name == "masked_fill" else None
    return [
        _cast(x, result) if isinstance(x, Tensor) and i >= first and i != keep else _cast_number(x, result, name)
        for i, x in enumerate(inputs)
    ]


def _cast_number(x, dtype, name):
    """A number beside tensors of [dtype], operands of the operator [name]. Sizes that are open stay as they are."""
    if type(x) not in (int, float):
        return x
    if dtype == dtypes.boolean:
        return bool(x)
    if name in _ROUNDED if isinstance(x, float) else name in _WRAPPED and not dtype.is_float:
        wide = torch.tensor(x, dtype=torch.float64 if isinstance(x, float) else torch.int64)
        return wide.to(getattr(torch, dtype.name)).item()
    return x


def _listed(name, args, attributes):
    """Operands of operators that take lists of tensors, one by one."""
    if name in ("cat", "stack"):
        attributes.setdefault("dim", args[1] if len(args) > 1 else 0)
        return [x for x in args[0] if name == "stack" or x.shape != (0,)] or list(args[0])
    if name in ("index", "unsafe_index"):
        return [args[0], *args[1]]
    if name in ("index_put", "unsafe_index_put"):
        if len(args) > 3:
            attributes["accumulate"] = args[3]
        return [args[0], args[2], *args[1]]
    return args


def _tensors_first(target, args, kwargs):
    """Tensors that are passed by name are operands: with what stands before them, by position."""
    args, kwargs = list(args), dict(kwargs)
    while any(isinstance(v, Tensor) for v in kwargs.values()):
        parameter = target._schema.arguments[len(args)]
        args.append(kwargs.pop(parameter.name, parameter.default_value))
    return args, kwargs


def apply(target, args, kwargs, fakes, results, place):
    """The symbolic results of an overload; [results]: (extents, dtype) of those that are read; [fakes]: operands as PyTorch has
    them."""
    op = operation_of(target)
    args, kwargs = _tensors_first(target, args, kwargs)
    if len(results) == 1 and op.name.endswith("_with_indices"):
        op = known[op.name.removesuffix("_with_indices")]
    args = [_plain(a) for a in args]
    attributes = {k: _plain(v) for k, v in kwargs.items() if k not in _IGNORED}
    args = _listed(op.name, args, attributes)
    if op.name in _MADE:
        attributes["dtype"] = results[0][1]
    if op.name not in _UNCAST and (op.name in _CAST or torch.Tag.pointwise in target.tags):
        args = _promote(op.name, args, fakes, results[0][1])
    return _eager.node(op, args, attributes, results[:1] if op.name in FIRST_ONLY else results, place)


def is_other(target):
    """Whether an overload does something else than the function of its name."""
    return f"{operation_of(target).name}.{target._overloadname}" in _OTHER


def _dropout(target, args, kwargs):
    names = [a.name for a in target._schema.arguments]
    return {**dict(zip(names, args)), **kwargs}.get("dropout_p", 0)


def has_first_alone(target):
    """Whether there is a function for the first result alone, of an operator with several."""
    name = operation_of(target).name
    return name in FIRST_ONLY or name.endswith("_with_indices")


def refusal(target, args, kwargs):
    """Why an overload is not taken with these operands, tensors without elements and other values; or None."""
    if operation_of(target) is None:
        return "there is no such operator"
    if is_other(target):
        return "this overload is not there"
    name = operation_of(target).name
    if name in ("index", "unsafe_index", "index_put", "unsafe_index_put"):
        if any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1]):
            return "extents of its result depend on elements"
        if args[0].dtype == torch.bool and len(args) > 3 and args[3]:
            return "it is not there for bool"
    if name in _PRODUCTS and not args[0].dtype.is_floating_point:
        return "there are no products of integers"
    if name in _FLOATS and not args[0].dtype.is_floating_point or name in _NUMBERS and args[0].dtype == torch.bool:
        return f"it is not there for {str(args[0].dtype).removeprefix('torch.')}"
    if name.startswith("replication_pad") and min(args[1]) < 0:
        return "a padding is negative"
    if kwargs.get("generator") is not None:
        return "it takes a generator"
    if name.startswith("scaled_dot_product") and _dropout(target, args, kwargs):
        return "it has dropout"
    return None
