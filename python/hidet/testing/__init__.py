"""For tests: operators beside NumPy and PyTorch, and PyTorch programs for a GPU where there is none."""

from hidet._names import absent as _absent
from hidet.testing.checks import (
    assert_torch_allclose,
    check_binary,
    check_ternary,
    check_torch_binary,
    check_torch_ternary,
    check_torch_unary,
    check_unary,
)
from hidet.testing.simulated import cuda_on_host

__all__ = [
    "assert_torch_allclose",
    "check_binary",
    "check_ternary",
    "check_torch_binary",
    "check_torch_ternary",
    "check_torch_unary",
    "check_unary",
    "cuda_on_host",
]


def __getattr__(name):
    raise _absent("testing", name)
