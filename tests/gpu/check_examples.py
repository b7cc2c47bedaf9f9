"""Runs every kernel of examples/ on the GPU that is there and compares it with float64.

    python3 tests/gpu/check_examples.py --hdsc build/release/bin/hdsc --out /tmp/results [--bench]

Shapes are ordinary, odd, prime, tiny, larger, and such that they stick out over tiles. The allowed errors follow from
the numerics that each example states; u is the error of one rounding to f32, 2 ** -24, and v that of one to the
output's type. They hold for any input, so that a wrong element cannot hide among the errors of the others.
"""

import math
import sys

import numpy as np

from device import Buffer, evaluate, storage_of
from formats import from_double, tiny, to_double, unit
from harness import Case, Output, parse_arguments, run_files

U = unit("f32")


def normal(rng, shape, dtype, scale=1.0):
    return from_double(scale * rng.standard_normal(shape), dtype)


def output_rounding(reference, dtype):
    """The last rounding, to the type of the output."""
    return unit(dtype) * np.abs(reference) + tiny(dtype)


# ---- elementwise -----------------------------------------------------------------------------------------------------

LENGTHS = (1, 7, 31, 256, 257, 1000, 4099, 65536, 1_000_003)


def vector_add(rng):
    for n in LENGTHS:
        a, b = normal(rng, n, "f32"), normal(rng, n, "f32")
        exact = a.astype(np.float64) + b
        yield Case(f"n={n}", {"n": n}, {"a": a, "b": b}, {"c": Output(exact, U * np.abs(exact))})


def saxpy_case(rng, n, sizes):
    """y = s · x + y, as one rounding or two."""
    s, x, y = float(np.float32(1.7)), normal(rng, n, "f32"), normal(rng, n, "f32")
    product = s * x.astype(np.float64)
    exact = product + y
    bound = U * (np.abs(product) + (1 + U) * np.abs(exact)) + tiny("f32")
    return Case(f"n={n}", sizes, {"x": x, "y": y}, {"y": Output(exact, bound)}, {"s": s})


def saxpy(rng):
    return [saxpy_case(rng, n, {"n": n}) for n in (*LENGTHS, 1056 * 256, 1056 * 256 * 3 + 5)]


def saxpy_4096(rng):
    return [saxpy_case(rng, 4096, {})]


erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(dtype):
    """1 + erf has an absolute error of 5u (2 ulp of erf, its argument, the sum), which x / 2 multiplies."""

    def cases(rng):
        for n in (1, 5, 8, 2047, 2048, 4099, 50_021):
            x = normal(rng, n, dtype, 3.0)
            value = to_double(x, dtype)
            exact = 0.5 * value * (1.0 + erf(value * 2**-0.5))
            bound = 4 * U * np.abs(value) + 3 * U * np.abs(exact) + output_rounding(exact, dtype)
            yield Case(f"n={n}", {"n": n}, {"x": x}, {"y": Output(exact, bound)})

    return cases


def silu(dtype):
    """Errors of exp (2 ulp), sum and quotient. Beyond exp's range the result is flushed: less than 1e-36 for f32."""

    def cases(rng):
        for n in (1, 3, 1024, 1025, 4099, 100_003):
            x = normal(rng, n, dtype, 10.0)
            value = to_double(x, dtype)
            exact = value / (1.0 + np.exp(-value))
            bound = 7 * unit(dtype) * np.abs(exact) + (1e-36 if dtype == "f32" else 1e-300)
            yield Case(f"n={n}", {"n": n}, {"x": x}, {"y": Output(exact, bound)})

    return cases


def square_i32(rng):
    for n in (1, 1023, 1024, 4099):
        x = rng.integers(-46340, 46341, n, dtype=np.int32)
        yield Case(f"n={n}", {"n": n}, {"x": x}, {"y": Output(x * x)})


def bias_activation(rng):
    for m, n in ((1, 1), (3, 255), (2, 256), (17, 257), (65, 1031)):
        x, bias = normal(rng, (m, n), "f32"), normal(rng, n, "f32")
        exact = np.maximum(x.astype(np.float64) + bias, 0.0)
        yield Case(f"{m}x{n}", {"M": m, "N": n}, {"x": x, "bias": bias}, {"y": Output(exact, U * exact)})


# ---- movement --------------------------------------------------------------------------------------------------------


def transpose(dtype):
    def cases(rng):
        for m, n in ((1, 1), (1, 100), (31, 33), (32, 32), (64, 96), (129, 257), (1000, 999), (2048, 1024)):
            x = normal(rng, (m, n), dtype)
            yield Case(f"{m}x{n}", {"M": m, "N": n}, {"x": x}, {"y": Output(to_double(x, dtype).T)})

    return cases


def histogram(rng):
    for n in (1, 255, 256 * 64, 256 * 64 + 1, 1_000_003):
        skewed = np.minimum(rng.geometric(0.05, n) - 1, 255).astype(np.uint8)
        for kind, data in (("even", rng.integers(0, 256, n, dtype=np.uint8)), ("skewed", skewed)):
            before = rng.integers(0, 10, 256, dtype=np.int32)
            counts = before + np.bincount(data, minlength=256).astype(np.int32)
            yield Case(f"n={n} {kind}", {"n": n}, {"data": data, "counts": before}, {"counts": Output(counts)})


# ---- reductions ------------------------------------------------------------------------------------------------------

ROWS = ((1, 1), (3, 31), (5, 255), (7, 256), (2, 257), (33, 1000), (4, 65_537))


def depth(n):
    """Additions that a term of a row passes through: those of its thread, then two butterflies."""
    return -(-n // 256) + 10


def sums(dtype, prepare):
    def cases(rng):
        for m, n in ROWS:
            x = normal(rng, (m, n), dtype)
            terms = prepare(to_double(x, dtype))
            bound = depth(n) * U * np.abs(terms).sum(1) + tiny("f32")
            yield Case(f"{m}x{n}", {"M": m, "N": n}, {"x": x}, {"y": Output(terms.sum(1), bound)})

    return cases


def max_rows(rng):
    for m, n in ROWS:
        x = normal(rng, (m, n), "f16") - np.float16(3)
        yield Case(f"{m}x{n}", {"M": m, "N": n}, {"x": x}, {"y": Output(x.max(1).astype(np.float64))})


def softmax(dtype, n):
    """exp(d) has 2 + 1.2|d| ulp (each 2u), the difference d itself |d|·u; the sum has the mean of its terms' errors."""

    def cases(rng):
        for m in (1, 3, 4, 5, 127, 1001):
            x = normal(rng, (m, n), dtype, 4.0)
            value = to_double(x, dtype)
            distance = value.max(1, keepdims=True) - value
            terms = np.exp(-distance)
            exact = terms / terms.sum(1, keepdims=True)
            of_exp = 2 * (2 + 1.2 * distance) + distance
            of_sum = (exact * of_exp).sum(1, keepdims=True) + n / 32 + 5
            bound = U * (of_exp + of_sum + 3) * exact + 2.0**-125 + output_rounding(exact, dtype)
            yield Case(f"{m}x{n}", {"M": m}, {"x": x}, {"y": Output(exact, bound)})

    return cases


# ---- products --------------------------------------------------------------------------------------------------------


def product_case(rng, m, n, k, dtype, names):
    a, b = normal(rng, (m, k), dtype), normal(rng, (k, n), dtype)
    x, y = to_double(a, dtype), to_double(b, dtype)
    exact, size = x @ y, np.abs(x) @ np.abs(y)
    bound = (k + 1) * U * size + (output_rounding(exact, dtype) if dtype != "f32" else tiny("f32"))
    sizes = dict(zip(names, (m, n, k), strict=True))
    return Case(f"{m}x{n}x{k}", sizes, {"a": a, "b": b}, {"c": Output(exact, bound)})


def products(shapes, dtype, names):
    return lambda rng: (product_case(rng, m, n, k, dtype, names) for m, n, k in shapes)


ANY = (
    (1, 1, 1),
    (3, 5, 7),
    (31, 33, 17),
    (128, 128, 128),
    (127, 129, 65),
    (257, 131, 511),
    (64, 1000, 3),
    (512, 640, 1024),
)
BY_EIGHT = ((1, 8, 8), (7, 8, 16), (128, 128, 32), (128, 128, 96), (129, 136, 40), (200, 72, 1000), (511, 264, 64),
            (1024, 1032, 1016), (64, 4096, 256))  # fmt: skip


def conv(dtype, filter_size, stride, padding):
    def cases(rng):
        for n, c, h, w, k in (
            (1, 1, 7, 7, 1),
            (2, 3, 13, 17, 5),
            (1, 4, 32, 32, 8),
            (3, 2, 31, 9, 3),
            (1, 16, 56, 57, 4),
        ):
            x, f = normal(rng, (n, c, h, w), dtype), normal(rng, (k, c, filter_size, filter_size), dtype)
            exact, size = convolve(to_double(x, dtype), to_double(f, dtype), stride, padding)
            terms = c * filter_size * filter_size
            bound = (terms + 1) * U * size + (output_rounding(exact, dtype) if dtype != "f32" else tiny("f32"))
            sizes = {"N": n, "C": c, "H": h, "W": w, "K": k}
            yield Case(f"{n}x{c}x{h}x{w} to {k}", sizes, {"x": x, "w": f}, {"y": Output(exact, bound)})

    return cases


def convolve(x, f, stride, padding):
    """The convolution, and that of the absolute values."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, f.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    pairs = ((windows, f), (np.abs(windows), np.abs(f)))
    return [np.einsum("ncpqrs,kcrs->nkpq", a, b, optimize=True) for a, b in pairs]


# ---- all of it -------------------------------------------------------------------------------------------------------

FILES = {
    "examples/vector_add.hds": {"vector_add": vector_add},
    "examples/saxpy.hds": {"saxpy": saxpy, "saxpy_4096": saxpy_4096},
    "examples/elementwise.hds": {
        "gelu_f16": gelu("f16"), "gelu_bf16": gelu("bf16"), "silu_f32": silu("f32"), "silu_f64": silu("f64"),
        "square_i32": square_i32,
    },
    "examples/two_modules/main.hds": {"bias_activation": bias_activation},
    "examples/transpose.hds": {"transpose_f32": transpose("f32"), "transpose_f16": transpose("f16")},
    "examples/histogram.hds": {"histogram": histogram},
    "examples/block_reduction.hds": {
        "sum_rows": sums("f32", lambda x: x), "max_rows": max_rows, "sum_of_squares": sums("f16", np.square),
    },
    "examples/softmax_rows.hds": {
        "softmax_f32_1000": softmax("f32", 1000), "softmax_f16_4096": softmax("f16", 4096),
        "softmax_bf16_128": softmax("bf16", 128),
    },
    "examples/blog_matmul.hds": {"matmul": products(ANY, "f32", ("m_size", "n_size", "k_size"))},
    "examples/tiled_matmul.hds": {"tiled_matmul": products(ANY, "f32", "MNK")},
    "examples/mma_matmul.hds": {
        "matmul_f16": products(BY_EIGHT, "f16", "MNK"), "matmul_bf16": products(BY_EIGHT, "bf16", "MNK"),
    },
    "examples/conv2d.hds": {"conv3x3": conv("f32", 3, 1, 1), "conv7x7_half": conv("f16", 7, 2, 3)},
}  # fmt: skip


# ---- times -----------------------------------------------------------------------------------------------------------
#
# File, kernel, sizes, what one launch moves or computes. Sizes are several times those of the L2 cache.

BENCHES = (
    ("vector_add", "vector_add", {"n": 2**27}, "bytes", 12 * 2**27),
    ("saxpy", "saxpy", {"n": 2**27}, "bytes", 12 * 2**27),
    ("elementwise", "gelu_f16", {"n": 2**28}, "bytes", 4 * 2**28),
    ("elementwise", "silu_f32", {"n": 2**27}, "bytes", 8 * 2**27),
    ("transpose", "transpose_f32", {"M": 8192, "N": 16384}, "bytes", 8 * 2**27),
    ("transpose", "transpose_f16", {"M": 16384, "N": 16384}, "bytes", 4 * 2**28),
    ("softmax_rows", "softmax_f16_4096", {"M": 2**16}, "bytes", 4 * 2**28),
    ("softmax_rows", "softmax_f32_1000", {"M": 2**17}, "bytes", 8000 * 2**17),
    ("softmax_rows", "softmax_bf16_128", {"M": 2**21}, "bytes", 4 * 2**28),
    ("block_reduction", "sum_rows", {"M": 2**14, "N": 2**14}, "bytes", 4 * 2**28),
    ("block_reduction", "max_rows", {"M": 2**14, "N": 2**15}, "bytes", 2 * 2**29),
    ("histogram", "histogram", {"n": 2**30}, "bytes", 2**30),
    ("tiled_matmul", "tiled_matmul", {"M": 4096, "N": 4096, "K": 4096}, "operations", 2 * 4096**3),
    ("mma_matmul", "matmul_f16", {"M": 8192, "N": 8192, "K": 8192}, "operations", 2 * 8192**3),
    ("mma_matmul", "matmul_bf16", {"M": 4096, "N": 4096, "K": 4096}, "operations", 2 * 4096**3),
)


def fill_randomly(device, buffer, dtype):
    """The same 16 MiB of random numbers over and over: uploading all would take longer than all the rest."""
    rng = np.random.default_rng(1)
    count = min(2**24 // np.dtype(buffer.dtype).itemsize, buffer.size // np.dtype(buffer.dtype).itemsize)
    is_float = dtype in ("f16", "bf16", "f32", "f64")
    device.upload(
        buffer.at, normal(rng, count, dtype) if is_float else rng.integers(0, 256, count).astype(buffer.dtype)
    )
    done = count * np.dtype(buffer.dtype).itemsize
    while done < buffer.size:
        step = min(done, buffer.size - done)
        device.copy(buffer.at + done, buffer.at, step)
        done += step


def time_kernel(device, kernel, sizes):
    buffers = {}
    for p in kernel.parameters("tensor"):
        buffers[p["name"]] = Buffer(device, [evaluate(extent, sizes) for extent in p["shape"]], storage_of(p))
        fill_randomly(device, buffers[p["name"]], p["dtype"])
    scalars = {p["name"]: 1.5 for p in kernel.parameters("scalar")}
    values = {**sizes, **scalars, **{name: b.at for name, b in buffers.items()}}
    time = device.time_us(lambda: kernel.launch(values))
    for b in buffers.values():
        b.free()
    return time


def time_of_copy(device, size):
    a, b = Buffer(device, (size,), np.uint8), Buffer(device, (size,), np.uint8)
    time = device.time_us(lambda: device.copy(b.at, a.at, size))
    a.free()
    b.free()
    return time


def bench(device, loaded):
    copy = 2 * 2**30 / time_of_copy(device, 2**30)
    lines = [
        f"A copy of 1 GiB on the device: {copy / 1e6:.2f} TB/s, bytes read and written.",
        "",
        "| file | kernel | sizes | µs | | of the copy | registers |",
        "|---|---|---|---|---|---|---|",
    ]
    for file, name, sizes, what, amount in BENCHES:
        kernels = loaded.get(f"examples/{file}.hds", {})
        if name not in kernels:
            continue
        time = time_kernel(device, kernels[name], sizes)
        rate, share = f"{amount / time / 1e6:.2f} T{'B/s' if what == 'bytes' else 'FLOP/s'}", ""
        if what == "bytes":
            share = f"{100 * amount / time / copy:.0f} %"
        text = ", ".join(f"{k}={v}" for k, v in sizes.items())
        lines.append(
            f"| {file} | {name} | {text} | {time:.0f} | {rate} | {share} | {kernels[name].attribute('registers')} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_files(parse_arguments(__doc__), FILES, "examples", bench))
