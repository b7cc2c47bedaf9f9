"""Operators on random operands, beside functions of NumPy or PyTorch that compute the same."""

from hidet import _runtime
from hidet.tensor import asarray, from_torch
from hidet.utils import assert_close


def _devices(device):
    """auto: the GPU, or the host where there is none; all: both."""
    if device == "auto":
        return ["cuda" if _runtime.gpu_count() else "cpu"]
    return ["cpu", "cuda"] if device == "all" else [device]


def _check(shapes, numpy_op, hidet_op, device, dtype, atol, rtol, last=lambda x: x):
    import numpy as np

    arrays = [np.array(np.random.standard_normal(shape)).astype(dtype) for shape in shapes]
    arrays[-1] = last(arrays[-1])
    for place in _devices(device):
        assert_close(hidet_op(*[asarray(a).to(device=place) for a in arrays]), numpy_op(*arrays), rtol, atol)


def check_unary(shape, numpy_op, hidet_op, device="auto", dtype="float32", atol=0.0, rtol=0.0):
    """AssertionError, where an operator of a tensor differs from NumPy's. [device]: cpu, cuda, all, or auto: the GPU, if there is
    one."""
    _check([shape], numpy_op, hidet_op, device, dtype, atol, rtol)


def check_binary(a_shape, b_shape, numpy_op, hidet_op, device="auto", dtype="float32", atol=0.0, rtol=0.0):
    """As check_unary, of two tensors."""
    _check([a_shape, b_shape], numpy_op, hidet_op, device, dtype, atol, rtol)


def check_ternary(a_shape, b_shape, c_shape, numpy_op, hidet_op, device="auto", dtype="float32", atol=0.0, rtol=0.0):
    """As check_unary, of three tensors, the last of which has no negative elements."""
    _check([a_shape, b_shape, c_shape], numpy_op, hidet_op, device, dtype, atol, rtol, abs)


def assert_torch_allclose(hidet_result, torch_result, atol=0.0, rtol=0.0):
    """As hidet.utils.assert_close, of a tensor and one of PyTorch."""
    assert_close(hidet_result, torch_result, rtol, atol)


def _check_torch(shapes, torch_func, hidet_func, device, dtype, atol, rtol):
    import torch

    kind = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    tensors = [torch.randn(shape).to(kind) for shape in shapes]
    for place in _devices(device):
        moved = [x.to(place) if torch.cuda.is_available() else x for x in tensors]
        ours = [from_torch(x.clone()).to(device=place) for x in moved]
        assert_torch_allclose(hidet_func(*ours), torch_func(*moved), atol, rtol)
        for mine, theirs in zip(ours, moved):  # which functions may change in place
            assert_torch_allclose(mine, theirs, atol, rtol)


def check_torch_unary(shape, torch_func, hidet_func, device="auto", dtype="float32", atol=0.0, rtol=0.0):
    """AssertionError, where a function of a tensor differs from PyTorch's, or leaves another operand."""
    _check_torch([shape], torch_func, hidet_func, device, dtype, atol, rtol)


def check_torch_binary(a_shape, b_shape, torch_func, hidet_func, device="auto", dtype="float32", atol=0.0, rtol=0.0):
    """As check_torch_unary, of two tensors."""
    _check_torch([a_shape, b_shape], torch_func, hidet_func, device, dtype, atol, rtol)


def check_torch_ternary(a_shape, b_shape, c_shape, torch_func, hidet_func, device="auto", dtype="float32", atol=0.0, rtol=0.0):
    """As check_torch_unary, of three tensors."""
    _check_torch([a_shape, b_shape, c_shape], torch_func, hidet_func, device, dtype, atol, rtol)
