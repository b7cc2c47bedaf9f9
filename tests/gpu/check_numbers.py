"""What mathematics.hds, conversions.hds and numbers.hds must compute."""

import math

import numpy as np

from formats import STORAGE, from_double, rounded, tiny, to_double, ulp, unit
from harness import Case, Output

U = unit("f32")

# ---- mathematics.hds -------------------------------------------------------------------------------------------------


def vectorized(function):
    return np.vectorize(function, otypes=[np.float64])


def lgamma(x):
    """log gamma of positive numbers by Stirling's series, in long double: math.lgamma is off by 40 ulp near 2."""
    x = np.asarray(x, np.longdouble)
    z, product = x + 24, np.prod([x + k for k in range(24)], 0)
    terms = ((12, 1, 1), (360, -1, 3), (1260, 1, 5), (1680, -1, 7), (1188, 1, 9), (360360, -691, 11))
    series = sum(np.longdouble(above) / (below * z**power) for below, above, power in terms)
    half_log_tau = np.log(2 * np.longdouble("3.14159265358979323846264338327950288")) / 2
    return ((z - 0.5) * np.log(z) - z + half_log_tau + series - np.log(product)).astype(np.float64)


# Name: reference, ulps for f32 and f64 (CUDA C++ Programming Guide), lowest and highest argument, and those for f16.
# CUDA counts from the correctly rounded result; None: the result is exact. 'log': of all sizes.
UNARY = {
    "exp": (np.exp, 2, 1, (-80, 80), (-9, 10)),
    "exp2": (np.exp2, 2, 1, (-120, 120), (-13, 15)),
    "exp10": (lambda x: 10.0**x, 2, 1, (-37, 37), (-4, 4.5)),
    "expm1": (np.expm1, 1, 1, (-20, 20), (-9, 10)),
    "log": (np.log, 1, 1, "log", "log"),
    "log2": (np.log2, 1, 1, "log", "log"),
    "log10": (np.log10, 2, 1, "log", "log"),
    "log1p": (np.log1p, 1, 1, "log", "log"),
    "sqrt": (np.sqrt, 0, 0, "log", "log"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2, 1, "log", "log"),
    "cbrt": (np.cbrt, 1, 1, (-1000, 1000), (-1000, 1000)),
    "sin": (np.sin, 2, 2, (-100, 100), (-100, 100)),
    "cos": (np.cos, 2, 2, (-100, 100), (-100, 100)),
    "tan": (np.tan, 4, 2, (-100, 100), (-100, 100)),
    "asin": (np.arcsin, 2, 2, (-1, 1), (-1, 1)),
    "acos": (np.arccos, 2, 2, (-1, 1), (-1, 1)),
    "atan": (np.arctan, 2, 2, (-100, 100), (-100, 100)),
    "sinh": (np.sinh, 3, 2, (-80, 80), (-10, 10)),
    "cosh": (np.cosh, 2, 1, (-80, 80), (-10, 10)),
    "tanh": (np.tanh, 2, 1, (-10, 10), (-10, 10)),
    "asinh": (np.arcsinh, 3, 3, (-1000, 1000), (-1000, 1000)),
    "acosh": (np.arccosh, 4, 3, (1, 1000), (1, 1000)),
    "atanh": (np.arctanh, 3, 2, (-1, 1), (-1, 1)),
    "erf": (vectorized(math.erf), 2, 2, (-5, 5), (-5, 5)),
    "erfc": (vectorized(math.erfc), 4, 5, (-5, 8), (-5, 2.5)),
    "tgamma": (vectorized(math.gamma), 5, 10, (0.1, 30), (0.1, 8)),
    "lgamma": (lgamma, 6, 4, (0.1, 1000), (0.1, 1000)),
    "floor": (np.floor, None, None, (-1000, 1000), (-1000, 1000)),
    "ceil": (np.ceil, None, None, (-1000, 1000), (-1000, 1000)),
    "trunc": (np.trunc, None, None, (-1000, 1000), (-1000, 1000)),
    "round": (np.rint, None, None, (-1000, 1000), (-1000, 1000)),
    "sign": (np.sign, None, None, (-2, 2), (-2, 2)),
    "abs": (np.abs, None, None, (-1000, 1000), (-1000, 1000)),
}


def arguments(rng, n, limits, dtype):
    if limits == "log":
        values = np.exp(rng.uniform(-9, 9, n))
    else:
        values = rng.uniform(*limits, n)
    values = to_double(from_double(values, dtype), dtype)
    return values if limits == "log" else np.clip(values, *limits)


LGAMMA_ERROR = 2e-17  # of the reference, where it cancels: around 1 and 2


def bound_of(reference, dtype, ulps):
    """Half an ulp more than documented; for f64 three, which the reference may be off; 16-bit types: one rounding."""
    if ulps is None or (ulps == 0 and dtype == "f64"):
        return np.zeros_like(reference)
    if dtype in ("f16", "bf16"):
        return 0.51 * ulp(reference, dtype)
    return (ulps + (3 if dtype == "f64" else 0.5 + 1e-6)) * ulp(reference, dtype)


def unary(dtype):
    def cases(rng):
        n = 20_000
        x, references, bounds = [], [], []
        for function, single, double, limits, limits_of_16 in UNARY.values():
            values = arguments(rng, n, limits_of_16 if dtype == "f16" else limits, dtype)
            with np.errstate(all="ignore"):
                reference = function(values)
            x.append(from_double(values, dtype))
            references.append(reference)
            bounds.append(bound_of(reference, dtype, double if dtype == "f64" else single))
            bounds[-1] += LGAMMA_ERROR if function is lgamma else 0
        yield Case(f"n={n}", {"n": n}, {"x": np.stack(x)}, {"y": Output(np.stack(references), np.stack(bounds))})

    return cases


def binary(dtype):
    """pow atan2 hypot fmod copysign fdim; fma; // and % of floats as in Python."""

    def cases(rng):
        n, u = 50_000, unit(dtype)
        a, b = (from_double(rng.standard_normal(n) * scale, dtype) for scale in (10, 3))
        x, y = to_double(a, dtype), to_double(b, dtype)
        more = 3 if dtype == "f64" else 0.5 + 1e-6
        ulps = (4 if dtype == "f32" else 2, 3 if dtype == "f32" else 2, 3 if dtype == "f32" else 2)
        rows = [
            np.abs(x) ** y,
            np.arctan2(x, y),
            np.hypot(x, y),
            np.fmod(x, y),
            np.copysign(x, y),
            np.maximum(x - y, 0),
        ]
        bounds = [(k + more) * ulp(r, dtype) for k, r in zip(ulps, rows, strict=False)] + [0 * x, 0 * x, u * rows[5]]
        quotient, rest = np.floor_divide(x, y), np.mod(x, y)
        fused = x * y + x
        of_reference = u * (np.abs(fused) + np.abs(x * y)) if dtype == "f64" else 0
        others = [u * np.abs(fused) * (1 + 2 * u) + of_reference, 0 * x, u * np.abs(y)]
        yield Case(f"n={n}", {"n": n}, {"a": a, "b": b}, {
            "y": Output(np.stack(rows), np.stack(bounds)),
            "z": Output(np.stack([fused, quotient, rest]), np.stack(others)),
        })  # fmt: skip

    return cases


def quick(rng):
    """hidet.lang.fast within what its docstrings say."""
    n = 50_000
    turn = np.where(np.arange(n) % 2, 1.0, -1.0)

    def near_one(x):
        return (x >= 0.5) & (x <= 2)

    positive = np.exp(rng.uniform(-20, 20, n))
    table = [  # exp log sin cos rcp sqrt rsqrt log2 exp2 tanh sigmoid
        (np.exp, rng.uniform(-80, 80, n), lambda x, y: (2 + np.floor(np.abs(1.173 * x))) * ulp(y, "f32")),
        (np.log, positive, lambda x, y: np.where(near_one(x), 2.0**-21.41, 3 * ulp(y, "f32"))),
        (np.sin, rng.uniform(-np.pi, np.pi, n), lambda x, y: 2.0**-21.41 + 0 * y),
        (np.cos, rng.uniform(-np.pi, np.pi, n), lambda x, y: 2.0**-21.19 + 0 * y),
        (lambda x: 1 / x, positive * turn, lambda x, y: ulp(y, "f32")),
        (np.sqrt, positive, lambda x, y: 2.0**-23 * y),
        (lambda x: 1 / np.sqrt(x), positive, lambda x, y: 2.0**-22.9 * y),
        (np.log2, positive, lambda x, y: np.where(near_one(x), 2.0**-22, 2.0**-22 * np.abs(y))),
        (np.exp2, rng.uniform(-120, 120, n), lambda x, y: 2 * ulp(y, "f32")),
        (np.tanh, rng.uniform(-10, 10, n), lambda x, y: 2.0**-11 * np.abs(y)),
        (lambda x: 1 / (1 + np.exp(-x)), rng.uniform(-10, 10, n), lambda x, y: 2.0**-12 + 0 * y),
    ]
    x = [from_double(values, "f32") for _, values, _ in table]
    rows = [function(to_double(v, "f32")) for (function, _, _), v in zip(table, x, strict=True)]
    bounds = [bound(to_double(v, "f32"), y) for (_, _, bound), v, y in zip(table, x, rows, strict=True)]
    a, b = from_double(rng.standard_normal(n), "f32"), from_double(np.exp(rng.uniform(-5, 5, n)) * turn, "f32")
    dividend, divisor = to_double(a, "f32"), to_double(b, "f32")
    quotient, power = dividend / divisor, np.abs(divisor) ** dividend
    exponent = np.abs(dividend * np.log2(np.abs(divisor)))
    of_power = (2.0**-22 * (np.abs(dividend) + exponent) + exponent * U + 4 * U) * power
    outputs = {"y": Output(np.stack(rows), np.stack(bounds)),
               "z": Output(np.stack([quotient, power]), np.stack([2 * ulp(quotient, "f32"), of_power]))}  # fmt: skip
    yield Case(f"n={n}", {"n": n}, {"x": np.stack(x), "a": a, "b": b}, outputs)


def kinds(rng):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-40], np.float32)
    rows = np.array([np.isnan(x), np.isinf(x), np.isfinite(x), np.where(np.isnan(x), 0, 7)]).astype(np.int32)
    yield Case("special values", {}, {"x": x}, {"y": Output(rows)})


MATHEMATICS = {
    **{f"unary_{dtype}": unary(dtype) for dtype in ("f32", "f64", "f16", "bf16")},
    "binary_f32": binary("f32"), "binary_f64": binary("f64"), "quick": quick, "kinds": kinds,
}  # fmt: skip

# ---- conversions.hds -------------------------------------------------------------------------------------------------

SHORT = {"e4m3": "f8e4m3", "e5m2": "f8e5m2"}


def patterns(dtype):
    """Every number of a format of 8 or 16 bits, NaNs and infinities too."""
    bits = 8 * np.dtype(STORAGE[dtype]).itemsize
    return np.arange(2**bits).astype(f"u{bits // 8}").view(STORAGE[dtype])


def hard_numbers(rng, target):
    """Numbers at the ties of a format, a little beside them (by less than f32 can say), and of all sizes."""
    steps = np.sort(np.unique(np.abs(to_double(patterns(target), target)))) if target != "f32" else None
    if steps is None:
        steps = rng.standard_normal(20_000).astype(np.float32).astype(np.float64)
        middle = steps + 0.5 * ulp(steps, "f32")
    else:
        steps = steps[np.isfinite(steps)]
        middle = (steps[1:] + steps[:-1]) / 2
    beside = [middle * (1 + sign * step) for sign in (1, -1) for step in (2.0**-40, 2.0**-20)]
    any_size = rng.standard_normal(1000) * np.exp(rng.uniform(-30, 30, 1000))
    values = np.concatenate([steps, middle, *beside, any_size, [0.0, np.inf, np.nan, 1e300, 1e-300]])
    return np.concatenate([values, -values])


def narrow(source, target):
    """T(x) is one rounding to nearest even; fp8 saturates."""

    def cases(rng):
        if source in ("f32", "f64"):
            x = from_double(hard_numbers(rng, target), source)
        else:
            x = patterns(source)
        value = to_double(x, source)
        reference = rounded(value, target, saturate=target in SHORT.values()) if target != "f64" else value
        yield Case(f"n={x.size}", {"n": x.size}, {"x": x}, {"y": Output(reference)})

    return cases


def to_integer(source, target, limit):
    """Truncation, within the target's range."""

    def cases(rng):
        if source in ("f32", "f64"):
            x = from_double(np.concatenate([rng.uniform(-limit, limit, 50_000), rng.uniform(-3, 3, 1000)]), source)
            x = np.abs(x) if target[0] == "u" else x
        else:
            x = patterns(source)
            x = x[np.abs(to_double(x, source)) < limit]
        value = np.trunc(to_double(x, source)).astype(np.int64).astype(STORAGE[target])
        yield Case(f"n={x.size}", {"n": x.size}, {"x": x}, {"y": Output(value)})

    return cases


def integers(rng, source):
    info = np.iinfo(STORAGE[source])
    some = rng.integers(info.min, info.max, 20_000, dtype=info.dtype, endpoint=True)
    small = (some >> np.minimum(rng.integers(0, 64, some.size), info.bits - 1).astype(info.dtype)).astype(info.dtype)
    ties = np.array(
        [2**k + d for k in range(info.bits - 1) for d in (-1, 0, 1, 2 ** max(k - 11, 0), 2 ** max(k - 24, 0))], object
    )
    ties = np.array([t for t in ties if info.min <= t <= info.max], info.dtype)
    return np.concatenate([some, small, ties, ties + ties // 2])


def from_integer(source, target):
    def cases(rng):
        x = integers(rng, source)
        reference = rounded(x.astype(np.longdouble), target)
        yield Case(f"n={x.size}", {"n": x.size}, {"x": x}, {"y": Output(reference)})

    return cases


def wrapping(source, target):
    def cases(rng):
        x = integers(rng, source)
        yield Case(f"n={x.size}", {"n": x.size}, {"x": x}, {"y": Output(x.astype(STORAGE[target]))})

    return cases


def packed_fp8(dtype):
    def cases(rng):
        value = to_double(patterns("f16"), "f16")
        reference = Output(rounded(value, dtype, saturate=True))
        outputs = {"y": reference, "z": reference, "halves": reference}
        yield Case("all f16", {}, {"x": from_double(value, "f32")}, outputs)

    return cases


def roundings(rng):
    n = 50_000
    x = from_double(rng.standard_normal(n) * np.exp(rng.uniform(-12, 9, n)), "f32")
    x[:8] = [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1e20, -1e20]
    x[np.abs(x) > 60_000] = 7.25
    x[6:9] = [3e9, -3e9, np.nan]  # to_int saturates; the others are asked for less
    value = to_double(x, "f32")
    with np.errstate(invalid="ignore"):
        whole = [np.rint(value), np.trunc(value), np.floor(value), np.ceil(value)]
        saturated = [
            np.nan_to_num(np.clip(w, -(2.0**31), 2.0**31 - 1)).astype(np.int64).astype(np.int32) for w in whole
        ]
        long = np.nan_to_num(np.rint(value), nan=-(2.0**63)).astype(np.int64)
    positive = (
        np.where(np.isnan(value), np.nan, np.maximum(value, 0)),
        np.where(np.isnan(value), np.nan, np.maximum(-value, 0)),
    )
    outputs = {
        "halves": Output(np.stack([directed(value, "f16", mode) for mode in ("rn", "rz", "rm", "rp")])),
        "brains": Output(np.stack([directed(value, "bf16", mode) for mode in ("rn", "rz")])),
        "tensor": Output(rounded(value, "tf32", mode="rna")),
        "ints": Output(np.stack(saturated)),
        "long": Output(long),
        "pairs": Output(np.stack([rounded(value, "f16"), rounded(-value, "f16")])),
        "relu": Output(np.stack([rounded(p, "bf16") for p in positive])),
        "parts": Output(np.nan_to_num(np.clip(value, 0, 1))),
    }
    yield Case(f"n={n}", {"n": n}, {"x": x}, outputs)


def directed(value, dtype, mode):
    """Beyond the largest number, a rounding towards zero stays there."""
    result = rounded(value, dtype, mode=mode)
    largest = rounded(value, dtype, saturate=True, mode=mode)
    stays = {"rn": False, "rz": True, "rm": value > 0, "rp": value < 0}[mode]
    return np.where(np.isinf(result) & np.isfinite(value) & stays, largest, result)


def to_f32_with(rng):
    x, k = hard_numbers(rng, "f32"), integers(rng, "i64")
    x = x[np.isfinite(x) & (np.abs(x) < 1e38)]
    n = min(x.size, k.size)
    x, k = rng.permutation(x)[:n], rng.permutation(k)[:n]
    modes = ("rn", "rz", "rm", "rp")
    long = k.astype(np.longdouble)
    outputs = {
        "y": Output(np.stack([rounded(x, "f32", mode=mode) for mode in modes])),
        "z": Output(np.stack([rounded(long, "f32", mode=mode) for mode in modes])),
    }
    yield Case(f"n={n}", {"n": n}, {"x": x, "k": k}, outputs)


def bytes_of(rng):
    n = 5000
    x, f = rng.integers(-400, 400, (4, n), dtype=np.int32), from_double(rng.standard_normal(n) * 40, "f32")
    quantized = np.clip(np.rint(f * np.float32(2.5)), -128, 127).astype(np.int8)
    outputs = {
        "signed": Output(np.clip(x.T, -128, 127).astype(np.int8)),
        "unsigned": Output(np.clip(x.T, 0, 255).astype(np.uint8)),
        "quantized": Output(quantized),
    }
    yield Case(f"n={n}", {"n": n}, {"x": x, "f": f}, outputs)


def conversion_checks():
    """By the names of the kernels: f16_to_e4m3 and so on."""
    floats = (
        "f16_e4m3 f16_e5m2 bf16_e4m3 bf16_e5m2 f32_e4m3 f32_e5m2 e4m3_f16 e5m2_f16 e4m3_bf16 e5m2_bf16 e4m3_f32 "
        "e5m2_f32 f16_f32 f16_bf16 bf16_f16 bf16_f32 f32_f16 f32_bf16 f64_f16 f64_bf16 f64_f32"
    )
    for pair in floats.split():
        source, target = pair.split("_")
        yield f"{source}_to_{target}", narrow(SHORT.get(source, source), SHORT.get(target, target))
    for source, target, limit in (
        ("f32", "i32", 2.0**31 - 128),
        ("f32", "i64", 2.0**62),
        ("f32", "u8", 255.0),
        ("f64", "i32", 2.0**31 - 1),
        ("f16", "i16", 32768.0),
        ("bf16", "i32", 2.0**31),
    ):
        yield f"{source}_to_{target}", to_integer(source, target, limit)
    for source, target in (("i32", "f16"), ("i32", "bf16"), ("i64", "f32"), ("u64", "f32")):
        yield f"{source}_to_{target}", from_integer(source, target)
    for source, target in (("i64", "i8"), ("i32", "u16"), ("i8", "u32")):
        yield f"{source}_to_{target}", wrapping(source, target)


CONVERSIONS = {
    **dict(conversion_checks()),
    "packed_e4m3": packed_fp8("f8e4m3"), "packed_e5m2": packed_fp8("f8e5m2"), "roundings": roundings,
    "to_f32_with": to_f32_with, "bytes_of": bytes_of,
}  # fmt: skip

# ---- numbers.hds -----------------------------------------------------------------------------------------------------


def division(dtype):
    def cases(rng):
        info = np.iinfo(STORAGE[dtype])
        n = 20_000
        x = rng.integers(info.min, info.max, n, dtype=info.dtype, endpoint=True)
        y = rng.integers(info.min, info.max, n, dtype=info.dtype, endpoint=True) >> (np.arange(n) % info.bits).astype(
            info.dtype
        )
        y = np.where((y == 0) | (y == -1 if info.min else False), 3, y).astype(info.dtype)
        constants = (7, 16, -5, -8) if info.min else (7, 16)
        rows = [f(x, info.dtype.type(c)) for c in constants for f in (np.floor_divide, np.mod)]
        rows += [np.zeros_like(x)] * (8 - len(rows))
        outputs = {"q": Output(x // y), "r": Output(x % y), "by_constants": Output(np.stack(rows))}
        yield Case(f"n={n}", {"n": n}, {"x": x, "y": y}, outputs)

    return cases


def promotion(rng):
    n = 10_000
    a = rng.integers(-(2**31), 2**31, n).astype(np.int32)
    b = rng.integers(0, 2**32, n).astype(np.uint32)
    b[::7] = 0
    a[::5] %= 10
    b[1::5] = a[1::5].view(np.uint32)  # equal bits, other numbers
    c, d = rng.integers(-11, 12, n).astype(np.int8), rng.integers(0, 256, n).astype(np.uint8)
    e = rng.integers(0, 2**64, n, dtype=np.uint64)
    f, g = from_double(rng.standard_normal(n) * 8, "f16"), from_double(rng.standard_normal(n) * 8, "bf16")
    wa, wb, wc, wd = (v.astype(np.int64) for v in (a, b, c, d))
    x, y = to_double(f, "f16"), to_double(g, "bf16")
    flags = [wa < wb, (wc < wd) & (wd < 200), ((wa >= -5) & ~(wa > 5)) | (wb == 0), wd == wc]
    real = np.stack([x + y, 2 * x, wa + 0.5, x + 1.0])
    of_real = np.stack([U * np.abs(x + y), 0 * x, U * (2 * np.abs(wa) + 1), 2.0**-11 * np.abs(x + 1.0) + tiny("f16")])
    outputs = {
        "wide": Output(np.stack([wa + wb, wa * wb, wa - wb, wa << 20])),
        "narrow": Output(np.stack([wc * wc, wc + wd, wd - 2 * wc, wa >> 3]).astype(np.int32)),
        "unsigned": Output(np.stack([e + b, (b * np.uint32(3) + np.uint32(1)).astype(np.uint64)])),
        "real": Output(real, of_real),
        "flags": Output(np.stack(flags).astype(np.int32)),
    }
    yield Case(f"n={n}", {"n": n}, {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "g": g}, outputs)


def signed(value, bits):
    value %= 2**bits
    return value - 2**bits if value >> (bits - 1) else value


def bits_of(x, y, s, w):
    """Row by row what bits.hds computes from one number of each kind, in Python's integers."""
    word, long = 2**32, 2**64
    both = x + y * word
    small = [
        x.bit_count(), w.bit_count(), 32 - x.bit_length(), 64 - w.bit_length(), (x & -x).bit_length(),
        (w & -w).bit_length(), signed(s >> 5, 9), (s * signed(y, 32)) >> 32,
    ]  # fmt: skip
    field = 2**11 - 1
    eight = [(x >> 8 * k) & 255 for k in range(4)] + [(y >> 8 * k) & 255 for k in range(4)]
    words = [
        int(f"{x:032b}"[::-1], 2), (x >> 3) & 0xFFF, (y & ~(field << 7)) | (x & field) << 7,
        eight[5] | eight[1] << 8 | eight[7] << 16 | eight[3] << 24, (x & y) | s % word,
        (both << 13 >> 32) % word, (both >> 13) % word, ((x << 9) | (x >> 23)) % word, x * y >> 32,
        (7 + abs(s - 1000)) % word, (5 + sum(p * q for p, q in zip(eight[:4], eight[4:], strict=True))) % word,
    ]  # fmt: skip
    wide = [int(f"{w:064b}"[::-1], 2), w * (w ^ 12345) >> 64, (w >> 10) % 2**40]
    return small, words, [v % long for v in wide]


def of_bits(rng):
    n = 2000
    x, y = (rng.integers(0, 2**32, n).astype(np.uint32) >> (rng.integers(0, 32, n)).astype(np.uint32) for _ in range(2))
    s = rng.integers(-(2**31), 2**31, n).astype(np.int32)
    w = rng.integers(0, 2**64, n, dtype=np.uint64) >> rng.integers(0, 64, n).astype(np.uint64)
    x[0], w[0] = 0, 0
    rows = [bits_of(int(a), int(b), int(c), int(d)) for a, b, c, d in zip(x, y, s, w, strict=True)]
    small, words, wide = (
        np.array([r[k] for r in rows], dtype).T for k, dtype in ((0, np.int64), (1, np.uint64), (2, np.uint64))
    )
    outputs = {"small": Output(small.astype(np.int32)), "words": Output(words.astype(np.uint32)), "wide": Output(wide)}
    yield Case(f"n={n}", {"n": n}, {"x": x, "y": y, "s": s, "w": w}, outputs)


NUMBERS = {
    **{f"division_{dtype}": division(dtype) for dtype in ("i8", "i16", "i32", "i64", "u8", "u32", "u64")},
    "promotion": promotion, "of_bits": of_bits,
}  # fmt: skip
