"""Timing and comparisons."""

from hidet.utils import benchmark
from hidet.utils.benchmark import benchmark_func, do_bench

__all__ = ["assert_close", "benchmark", "benchmark_func", "do_bench"]


def assert_close(actual, expected, rtol=1e-5, atol=1e-5, err_msg=""):
    """AssertionError, where extents differ or |actual - expected| > atol + rtol · |expected| anywhere. Tensors of any library,
    lists and numbers are taken."""
    import numpy as np

    a, e = _numbers(actual), _numbers(expected)
    if a.shape != e.shape:
        raise AssertionError(f"extents differ: {a.shape} and {e.shape}")
    np.testing.assert_allclose(a, e, rtol=rtol, atol=atol, err_msg=err_msg)


def _numbers(x):
    """An array of NumPy; types that it has not are f32."""
    import numpy as np

    from hidet.tensor import asarray

    x = asarray(x, device="cpu")
    return np.array(x.tolist(), "f").reshape(x.shape) if x.dtype.name.startswith(("bfloat", "float8")) else x.numpy()
