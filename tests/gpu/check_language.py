"""What matrices.hds, language.hds and large.hds must compute."""

import numpy as np

from device import Buffer
from formats import from_double, rounded, to_double, unit
from harness import Case, Output, Special

U = unit("f32")

# ---- matrices.hds ----------------------------------------------------------------------------------------------------

# The error of a sum of products, in units of the sum of their sizes. The tensor cores add in groups and truncate; fp8
# may be accumulated with fewer bits.
SUMS = {"f32": 2.0**-22, "f16": 2.0**-10, "f64": 2.0**-50}
SUM_OF_FP8 = 2.0**-12


def multiply(left, right, result, m, k):
    def cases(rng):
        a, b, c = (matrix(rng, shape, dtype) for shape, dtype in (((m, k), left), ((k, 8), right), ((m, 8), result)))
        if result == "i32":
            exact = Output((a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.int32))
        else:
            x, y, z = to_double(a, left), to_double(b, right), to_double(c, result)
            size = np.abs(x) @ np.abs(y) + np.abs(z)
            exact = Output(x @ y + z, (SUM_OF_FP8 if left[:2] == "f8" else SUMS[result]) * size)
        yield Case(f"{m}x8x{k}", {}, {"a": a, "b": b, "c": c}, {"d": exact})

    return cases


def matrix(rng, shape, dtype):
    if dtype in ("i8", "u8"):
        info = np.iinfo(dtype.replace("i", "int") if dtype[0] == "i" else "uint8")
        return rng.integers(info.min, info.max, shape, dtype=info.dtype, endpoint=True)
    if dtype == "i32":
        return rng.integers(-(10**6), 10**6, shape, dtype=np.int32)
    return from_double(rng.standard_normal(shape), dtype)


def saturating(rng):
    a, b = matrix(rng, (16, 32), "i8"), matrix(rng, (32, 8), "i8")
    edges = np.array([-(2**31) + 1000, 2**31 - 1000, 0])
    c = edges[rng.integers(0, 3, (16, 8))].astype(np.int32)
    exact = np.clip(a.astype(np.int64) @ b.astype(np.int64) + c, -(2**31), 2**31 - 1)
    yield Case("16x8x32", {}, {"a": a, "b": b, "c": c}, {"d": Output(exact.astype(np.int32))})


def load_matrices(dtype):
    def cases(rng):
        x = matrix(rng, (32, 64), dtype)
        value = to_double(x, dtype)
        y = [value[16:32, 32:48], value[0:16, 48:64].T, value[16:32, 16:32], value[0:16, 0:16].T, value[16:32, 32:48]]
        z = [value[16:32, 8:16], value[8:16, 32:48].T]
        yield Case("one warp", {}, {"x": x}, {"y": Output(np.stack(y)), "z": Output(np.stack(z))})

    return cases


def load_bytes(rng):
    x = matrix(rng, (16, 64), "i8")
    outputs = {"y": Output(x[:, 32:64]), "z": Output(x[:, 0:32].T), "w": Output(x[8:16, 32:64].T)}
    yield Case("one warp", {}, {"x": x}, outputs)


def store_results(rng):
    c = matrix(rng, (16, 16), "f32")
    yield Case("one warp", {}, {"c": c}, {"y": Output(rounded(c, "f16"))})


MMAS = {
    "mma_f16": ("f16", "f16", "f32", 16, 16),
    "mma_f16_k8": ("f16", "f16", "f32", 16, 8),
    "mma_f16_f16": ("f16", "f16", "f16", 16, 16),
    "mma_f16_f16_k8": ("f16", "f16", "f16", 16, 8),
    "mma_bf16": ("bf16", "bf16", "f32", 16, 16),
    "mma_bf16_k8": ("bf16", "bf16", "f32", 16, 8),
    "mma_tf32": ("tf32", "tf32", "f32", 16, 8),
    "mma_tf32_k4": ("tf32", "tf32", "f32", 16, 4),
    "mma_i8": ("i8", "i8", "i32", 16, 32),
    "mma_u8_i8": ("u8", "i8", "i32", 16, 32),
    "mma_i8_u8_k16": ("i8", "u8", "i32", 16, 16),
    "mma_u8_m8": ("u8", "u8", "i32", 8, 16),
    "mma_e4m3": ("f8e4m3", "f8e4m3", "f32", 16, 32),
    "mma_e4m3_e5m2": ("f8e4m3", "f8e5m2", "f32", 16, 32),
    "mma_e5m2_e4m3": ("f8e5m2", "f8e4m3", "f32", 16, 32),
    "mma_e5m2": ("f8e5m2", "f8e5m2", "f32", 16, 32),
    "mma_f64": ("f64", "f64", "f64", 8, 4),
}
MATRICES = {
    **{name: multiply(*types_and_shape) for name, types_and_shape in MMAS.items()},
    "saturating": saturating,
    "load_matrices_f16": load_matrices("f16"),
    "load_matrices_bf16_swizzled": load_matrices("bf16"),
    "load_bytes": load_bytes,
    "store_results": store_results,
}

# ---- language.hds ----------------------------------------------------------------------------------------------------


def records(rng):
    x = from_double(rng.standard_normal(128), "f32")
    v = to_double(x, "f32")
    first, second = v[0], v[1]
    rows = np.stack([
        2 * v + first,
        v + 2 * (2 + first),
        3 * (3 * v + first - second) + first - second,
        sum((turn + 1) * np.roll(v, -turn) for turn in range(3)),
    ])  # fmt: skip
    bound = 16 * U * (10 * np.abs(v).max() + 4)
    yield Case("128 threads", {}, {"x": x}, {"y": Output(rows, bound), "uses": Output(np.array([6]))})


def collatz(n):
    steps = 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def searched(x):
    found = -1
    for k in range(x % 50, -1, -3):
        if k % 7 == 3:
            return k
        if k % 2 == 0:
            found -= 1
    return found


def swapped(x):
    p, q = (x + 1, x) if x % 2 == 0 else (x, x + 1)
    return p - 2 * q + min(p, 100)


def control(rng):
    for n in (1, 63, 1000):
        x = rng.integers(1, 5000, n).astype(np.int32)
        numbers = [int(v) for v in x]
        rows = [
            [collatz(v) for v in numbers],
            [fibonacci(v % 12) for v in numbers],
            [searched(v) for v in numbers],
            [sum(a * 10 + b for a in range(v % 5) for b in range(3)) for v in numbers],
            [swapped(v) for v in numbers],
            [sum(numbers[(i + d) % n] * w for d, w in ((0, 1), (1, 10), (2, 100))) for i in range(n)],
        ]
        yield Case(f"n={n}", {"n": n}, {"x": x}, {"y": Output(np.array(rows, np.int32))})


def reduce_both(dtype, m, n):
    def cases(rng):
        if dtype == "i32":
            x = rng.integers(-1000, 1000, (m, n)).astype(np.int32)
        else:
            x = from_double(rng.standard_normal((m, n)), dtype)
        v = x.astype(np.int64) if dtype == "i32" else to_double(x, dtype)
        outputs = {}
        for name, axis in (("rows", 1), ("columns", 0)):
            values = np.stack([v.sum(axis), v.max(axis), v.min(axis)])
            bound = np.zeros(values.shape)
            if dtype != "i32":
                bound[0] = 20 * unit(dtype) * np.abs(v).sum(axis)
            outputs[name] = Output(values.astype(np.int32) if dtype == "i32" else values, bound)
        yield Case(f"{m}x{n}", {}, {"x": x}, outputs)

    return cases


def arithmetic(rng):
    x = from_double(rng.standard_normal((16, 16)), "f32")
    v = to_double(x, "f32")
    first = 2 * v - v * v + 1
    second = np.concatenate([first[:, :8], v[:, :8] / 4], 1)
    bound = 4 * U * (2 * np.abs(v) + v * v + 1)
    bounds = np.stack([bound, np.concatenate([bound[:, :8], 0 * v[:, :8]], 1), 0 * v])
    outputs = {"y": Output(np.stack([first, second, np.maximum(v, 0)]), bounds), "z": Output(rounded(v, "f16"))}
    yield Case("16x16", {}, {"x": x}, outputs)


def through_layout(rng):
    x = from_double(rng.standard_normal((32, 64)), "f32")
    y = np.concatenate([x[:, :32] + np.float32(1), x[:, 32:] + np.float32(2)], 1)
    yield Case("32x64", {}, {"x": x}, {"y": Output(to_double(y, "f32")), "z": Output(to_double(x, "f32").T)})


def wide_copy(dtype, n):
    def cases(rng):
        for m in (1, 3, 4, 5, 9):
            x = matrix(rng, (m, n), dtype)
            yield Case(f"{m}x{n}", {"m": m}, {"x": x}, {"y": Output(x if dtype == "u8" else to_double(x, dtype))})

    return cases


def scalars(rng):
    values = {"a": 1.5, "b": -(2**40) - 1, "c": True, "d": 200, "e": 1e-300, "float": -7, "threadIdx_x": 11}
    y = np.array([1.5, values["b"], 1.0, 200.0, 1e-300, -7.0, 11.0, 1.5 * values["b"]])
    yield Case("one thread", {}, {}, {"y": Output(y)}, values)


def five_dimensions(rng):
    for a, b, c in ((1, 1, 1), (3, 5, 7), (17, 2, 33)):
        x = from_double(rng.standard_normal((a, b, 3, c, 2)), "f32")
        yield Case(f"{a}x{b}x3x{c}x2", {"a": a, "b": b, "c": c}, {"x": x},
                   {"y": Output(to_double(x, "f32").transpose(4, 3, 2, 1, 0))})  # fmt: skip


WIDE = "f16_1024 f16_1000 f16_1004 f16_1001 f32_96 f32_131 f64_66 u8_1040 u8_1037".split()
LAYOUTS = ("rows", "columns", "swizzle", "xor", "blocks", "stride")
LANGUAGE = {
    "records": records,
    "control": control,
    "arithmetic": arithmetic,
    "scalars": scalars,
    "five_dimensions": five_dimensions,
    "reduce_fragment": reduce_both("f32", 16, 8),
    "reduce_warps": reduce_both("f32", 64, 16),
    "reduce_columns": reduce_both("i32", 48, 40),
    "reduce_one_row": reduce_both("f32", 1, 768),
    "reduce_f16": reduce_both("f16", 16, 32),
    **{f"through_{layout}": through_layout for layout in LAYOUTS},
    **{f"wide_{kind}": wide_copy(kind.split("_")[0], int(kind.split("_")[1])) for kind in WIDE},
}

# ---- large.hds -------------------------------------------------------------------------------------------------------


def large(shape, sizes, expected):
    """Looks at the beginning, around 2^31, at the end, and in between: a megabyte at each offset."""

    def run(device, kernel, row):
        total = int(np.prod(shape, dtype=np.int64))
        buffer = Buffer(device, (total,), np.uint8)
        kernel.launch({**sizes, "y": buffer.at})
        device.synchronize()
        length = 2**20
        for start in (0, 2**30 - length // 2, 2**31 - length // 2, 2**31 + 2**18, total - length):
            got = device.download(buffer.at + start, (length,), np.uint8)
            wrong = got != expected(np.arange(start, start + length))
            if wrong.any():
                row.problems.append(
                    f"{int(wrong.sum())} elements after {start} are wrong, first {start + int(wrong.argmax())}"
                )
        if not buffer.guards_are_intact():
            row.problems.append("wrote outside of 'y'")
        row.cases.append("x".join(str(extent) for extent in shape))
        buffer.free()

    return Special(run)


LARGE = {
    "large_vector": large((2**31 + 2**22 + 77,), {"n": 2**31 + 2**22 + 77}, lambda at: at % 251),
    "large_matrix": large(
        (70_001, 40_003), {"m": 70_001, "n": 40_003}, lambda at: (at // 40_003 * 7 + at % 40_003) % 256
    ),
    "large_constant": large((65_536, 40_000), {}, lambda at: (at // 40_000 * 3 + at % 40_000) % 256),
}
