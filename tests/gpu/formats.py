"""Number formats as numpy arrays: those that numpy lacks are arrays of their bits. All values pass through float64."""

import numpy as np

STORAGE = {
    "bool": np.uint8,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": np.uint16,
    "tf32": np.uint32,
    "f8e4m3": np.uint8,
    "f8e5m2": np.uint8,
    **{f"{kind[0]}{bits}": np.dtype(f"{kind}{bits}").type for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}

# Bits of precision (the hidden one counted), exponent of the smallest normal number, largest finite number.
FLOATS = {
    "f64": (53, -1022, float(np.finfo(np.float64).max)),
    "f32": (24, -126, float(np.finfo(np.float32).max)),
    "tf32": (11, -126, float.fromhex("0x1.ffcp127")),
    "bf16": (8, -126, float.fromhex("0x1.fep127")),
    "f16": (11, -14, 65504.0),
    "f8e4m3": (4, -6, 448.0),
    "f8e5m2": (3, -14, 57344.0),
}


def unit(dtype):
    """The relative error of one rounding."""
    return 2.0 ** -FLOATS[dtype][0]


def tiny(dtype):
    """Half the distance of the smallest numbers: the absolute error of one rounding down there."""
    precision, lowest, _ = FLOATS[dtype]
    return 2.0 ** (lowest - precision)


def _fp8_table(exponent_bits, mantissa_bits):
    """The value of each byte."""
    bias, values = 2 ** (exponent_bits - 1) - 1, []
    for bits in range(128):
        exponent, mantissa = bits >> mantissa_bits, bits & (2**mantissa_bits - 1)
        fraction = mantissa / 2**mantissa_bits
        values.append((1 + fraction) * 2.0 ** (exponent - bias) if exponent else fraction * 2.0 ** (1 - bias))
    if exponent_bits == 4:
        values[127] = np.nan
    else:
        values[124:] = [np.inf, np.nan, np.nan, np.nan]
    return np.array(values + [-v for v in values])


TABLES = {"f8e4m3": _fp8_table(4, 3), "f8e5m2": _fp8_table(5, 2)}


def to_double(array, dtype):
    if dtype in TABLES:
        return TABLES[dtype][array]
    if dtype == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if dtype == "tf32":
        array = (array & np.uint32(0xFFFFE000)).view(np.float32)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return array.astype(np.float64)


ROUNDINGS = {
    "rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil,
    "rna": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}  # fmt: skip


def ulp(values, dtype):
    """The distance of the format's numbers around each value."""
    precision, lowest, _ = FLOATS[dtype]
    return np.ldexp(np.ones_like(values), np.maximum(np.frexp(values)[1] - 1, lowest) - precision + 1)


def rounded(values, dtype, saturate=False, mode="rn"):
    """Values (float64, or longer) rounded to the format; beyond its largest number, infinity or that number."""
    values = np.asarray(values)
    values = values if values.dtype == np.longdouble else values.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        quantum = ulp(values, dtype)
        result = np.where(np.isfinite(values), ROUNDINGS[mode](values / quantum) * quantum, values).astype(np.float64)
        beyond = np.abs(result) > FLOATS[dtype][2]
    return np.where(beyond, np.copysign(FLOATS[dtype][2] if saturate else np.inf, result), result)


def from_double(values, dtype, saturate=False):
    """Arrays as the GPU has them, rounded to nearest even. NaN is the format's NaN with all bits set, or near it."""
    if dtype not in FLOATS:
        return np.asarray(values).astype(STORAGE[dtype])
    exact = rounded(values, dtype, saturate or dtype == "f8e4m3")
    if dtype in ("f64", "f32", "f16"):
        with np.errstate(invalid="ignore"):
            return exact.astype(STORAGE[dtype])
    if dtype == "bf16":
        return (exact.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if dtype == "tf32":
        return exact.astype(np.float32).view(np.uint32)
    half = TABLES[dtype][:128]
    order = np.nan_to_num(half, nan=np.finfo(np.float64).max, posinf=1e300)
    bits = np.searchsorted(order, np.abs(np.nan_to_num(exact, nan=0.0, posinf=1e300, neginf=-1e300))).astype(np.uint8)
    bits = np.where(np.isnan(exact), np.uint8(127), bits)
    return np.where(np.signbit(exact), bits | np.uint8(128), bits).astype(np.uint8)
