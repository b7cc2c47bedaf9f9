"""What warp.hds, block.hds, atomics.hds and memory.hds must compute."""

import numpy as np

from formats import from_double, to_double
from harness import Case, Output

LANES = np.arange(32)


def any_numbers(rng, shape, dtype):
    """Numbers of all sizes."""
    if dtype[0] in "iu":
        limits = np.iinfo(from_double(0, dtype).dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=limits.dtype, endpoint=True)
    return from_double(rng.standard_normal(shape) * 4, dtype)


def small_numbers(rng, shape, dtype, most=3):
    """Small integers: their sums are exact in every format and in any order."""
    low = 0 if dtype[0] == "u" else -most
    return from_double(rng.integers(low, most + 1, shape), dtype)


def exact(array, dtype):
    return Output(array if dtype[0] in "iu" else to_double(array, dtype))


# ---- warp.hds --------------------------------------------------------------------------------------------------------


def shuffles(dtype):
    def cases(rng):
        x = any_numbers(rng, 32, dtype)
        sources = [
            (LANES * 7 + 3) % 32,
            np.where(LANES >= 5, LANES - 5, LANES),
            np.where(LANES % 8 + 3 < 8, LANES + 3, LANES),
            LANES ^ 21,
            LANES // 8 * 8 + (LANES + 1) % 8,
            np.full(32, 9),
        ]
        yield Case("one warp", {}, {"x": x}, {"y": exact(np.stack([x[s] for s in sources]), dtype)})

    return cases


def mask(flags):
    return np.uint32(sum(1 << i for i, flag in enumerate(flags) if flag))


def votes(rng):
    for label, x in (("mixed", rng.integers(-500, 500, 32, dtype=np.int32)), ("all", np.arange(1, 33, dtype=np.int32))):
        rows = np.zeros((8, 32), np.uint32)
        rows[0] = mask(x > 0)
        rows[1], rows[2], rows[3], rows[4] = 1, (x > 0).all(), 1, 0
        rows[5] = [mask(x % 4 == v % 4) for v in x]
        rows[6] = np.bitwise_or.reduce(np.uint32(1) << (LANES // 3).astype(np.uint32))
        rows[7] = np.bitwise_xor.reduce(x.view(np.uint32))
        yield Case(label, {}, {"x": x}, {"y": Output(rows)})


def butterfly(x, width=32):
    """What warp_reduce adds, in its order: along the last axis, groups of `width`."""
    lanes, distance = np.arange(x.shape[-1]), width // 2
    while distance:
        x = x + x[..., lanes ^ distance]
        distance //= 2
    return x


def scan(x, width=32):
    """What warp_scan adds, in its order."""
    lanes, distance = np.arange(x.shape[-1]), 1
    while distance < width:
        x = np.where(lanes % width >= distance, x[..., np.maximum(lanes - distance, 0)] + x, x)
        distance *= 2
    return x


def warp_reductions(rng):
    x, y = rng.integers(-(10**7), 10**7, 32, dtype=np.int32), any_numbers(rng, 32, "f32")
    sums = np.stack([np.full(32, x.sum()), np.full(32, x.min()), np.full(32, x.max()), np.cumsum(x)]).astype(np.int32)
    rows = [butterfly(y), np.full(32, y.max()), np.full(32, y.min()), butterfly(y, 4), scan(y, 16), y]
    yield Case("one warp", {}, {"x": x, "y": y}, {"sums": Output(sums), "floats": exact(np.stack(rows), "f32")})


WARP = {
    **{f"shuffles_{dtype}": shuffles(dtype) for dtype in ("i32", "i64", "f64", "f16", "u8")},
    "votes": votes,
    "reductions": warp_reductions,
}

# ---- block.hds -------------------------------------------------------------------------------------------------------


def block_reductions(dtype, threads):
    def cases(rng):
        x = small_numbers(rng, threads, dtype, 1000) if dtype[0] == "i" else any_numbers(rng, threads, dtype)
        zeros = np.zeros(32 - threads // 32, x.dtype)
        sums = butterfly(x.reshape(-1, 32))[:, 0]
        total = butterfly(np.concatenate([sums, zeros]))[0]
        inside = scan(x.reshape(-1, 32))
        before = scan(np.concatenate([inside[:, 31], zeros]))
        scanned = np.concatenate([inside[:1], before[: threads // 32 - 1, None] + inside[1:]]).reshape(-1)
        rows = [np.full(threads, v) for v in (total, x.max(), x.min())] + [scanned, np.full(threads, np.abs(x).max())]
        yield Case(f"{threads} threads", {}, {"x": x}, {"y": exact(np.stack(rows).astype(x.dtype), dtype)})

    return cases


def three_dimensions(rng):
    x = rng.integers(-100, 100, (4, 4, 16), dtype=np.int32)
    yield Case("16x4x4", {}, {"x": x}, {"y": Output(np.cumsum(x).reshape(x.shape).astype(np.int32))})


def block_votes(rng):
    some = rng.integers(-500, 500, 256, dtype=np.int32)
    for label, x in (("some", some), ("all", np.abs(some) + 1), ("none", -np.abs(some))):
        yes = x > 0
        rows = [np.full(256, v, np.uint32) for v in (yes.all(), yes.any(), yes.sum(), 1)]
        yield Case(label, {}, {"x": x}, {"y": Output(np.stack(rows))})


def handing_over(rng):
    x = rng.integers(-500, 500, 128, dtype=np.int32)
    late = np.arange(64, 128)
    yield Case("4 warps", {}, {"x": x}, {"y": Output(np.concatenate([x[:64], 3 * x[127 - late] + x[late]]))})


def through_global_memory(rng):
    x, y = small_numbers(rng, 256, "f32", 100), small_numbers(rng, 256, "f32", 100)
    z = np.stack([np.full(256, y[0] + x[0]), x[::-1]])
    yield Case("256 threads", {}, {"x": x, "y": y}, {"y": exact(x, "f32"), "z": exact(z, "f32")})


BLOCK = {
    "reduce_f32_1024": block_reductions("f32", 1024),
    "reduce_i32_96": block_reductions("i32", 96),
    "reduce_f64_32": block_reductions("f64", 32),
    "block_of_three_dimensions": three_dimensions,
    "votes": block_votes,
    "handing_over": handing_over,
    "through_global_memory": through_global_memory,
}

# ---- atomics.hds -----------------------------------------------------------------------------------------------------


def adds(dtype):
    def cases(rng):
        for n in (1, 300, 700):
            x = small_numbers(rng, n, dtype)
            if dtype in ("i32", "u32", "i64", "u64"):
                x = any_numbers(rng, n, dtype)
            before = small_numbers(rng, 13, dtype)
            values = [int(v) for v in to_int(x, dtype)]
            after = [int(v) + sum(values) for v in to_int(before, dtype)[:12]] + [int(to_int(before, dtype)[12]) + n]
            olds = to_int(before, dtype)[12] + np.arange(n)
            yield Case(f"n={n}", {"n": n}, {"x": x, "total": before},
                       {"total": integers(after, dtype), "olds": integers(olds, dtype, in_any_order=True)},
                       repeatable=False)  # fmt: skip

    return cases


def to_int(array, dtype):
    return array if dtype[0] in "iu" else to_double(array, dtype).astype(np.int64)


def integers(values, dtype, in_any_order=False):
    """Integers of any size as an output of a type: wrapped if it is one of integers."""
    if dtype[0] not in "iu":
        return Output(np.array([float(v) for v in values]), in_any_order=in_any_order)
    bits = int(dtype[1:])
    unsigned = np.array([int(v) % 2**bits for v in values], np.uint64)
    return Output(unsigned.astype(from_double(0, dtype).dtype), in_any_order=in_any_order)


def shared_adds(dtype):
    def cases(rng):
        x = small_numbers(rng, 512, dtype)
        value = to_int(x, dtype)
        sums = [value[:256][k::4].sum() for k in range(4)] + [value[256:][k::4].sum() for k in range(4)]
        yield Case("256 threads", {}, {"x": x}, {"y": integers(sums, dtype)})

    return cases


def others(dtype):
    def cases(rng):
        for n in (1, 256, 1000):
            x, y = any_numbers(rng, n, dtype), any_numbers(rng, 12, dtype)
            after = y.copy()
            reduce = (np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
            for k, function in enumerate(reduce):
                after[k] = function.reduce(np.append(x, y[k]))
                after[5 + k] = function.reduce(np.append(x, y[5 + k]))
            after[10] = 0
            after[11:] = integers([int(y[10]) + int(y[11])], dtype).reference
            yield Case(f"n={n}", {"n": n}, {"x": x, "y": y}, {"y": Output(after)})

    return cases


def lock_and_counters(rng):
    for n in (1, 77, 1000):
        product = np.float32(0)
        for _ in range(n):
            product = np.float32(product * np.float32(0.5) + np.float32(1))
        wheel = 3
        for _ in range(n):
            wheel = wheel - 1 if wheel else 6
        inputs = {
            "state": np.zeros(2, np.int32),
            "wheel": np.array([4, 3], np.uint32),
            "product": np.zeros(1, np.float32),
        }
        outputs = {
            "state": Output(np.array([0, n])),
            "wheel": Output(np.array([(4 + n) % 10, wheel])),
            "product": Output(np.float64(product)),
            "order": Output((4 + np.arange(n)) % 10, in_any_order=True),
        }
        yield Case(f"{n} blocks", {"n": n}, inputs, outputs, repeatable=False)


def pairs(rng):
    for n in (1, 100):
        halves, brains = small_numbers(rng, 2 * n, "f16"), small_numbers(rng, 2 * n, "bf16", 1)
        floats = small_numbers(rng, 4 * n, "f32", 1000)
        start = {
            "h": from_double([1, 2], "f16"),
            "b": from_double([-1, 3], "bf16"),
            "f": from_double([1, 2, 3, 4], "f32"),
        }
        inputs = {"halves": halves, "brains": brains, "floats": floats, **start}
        outputs = {
            "h": Output(to_double(start["h"], "f16") + to_double(halves, "f16").reshape(-1, 2).sum(0)),
            "b": Output(to_double(start["b"], "bf16") + to_double(brains, "bf16").reshape(-1, 2).sum(0)),
            "f": Output(to_double(start["f"], "f32") + to_double(floats, "f32").reshape(-1, 4).sum(0)),
        }
        yield Case(f"n={n}", {"n": n}, inputs, outputs)


ATOMICS = {
    **{f"adds_{dtype}": adds(dtype) for dtype in ("i32", "u32", "i64", "u64", "f32", "f64", "f16")},
    **{f"shared_adds_{dtype}": shared_adds(dtype) for dtype in ("i32", "u64", "f32", "f64", "f16")},
    "others_i32": others("i32"), "others_u32_shared": others("u32"), "others_i64_shared": others("i64"),
    "others_u64": others("u64"), "lock_and_counters": lock_and_counters, "pairs": pairs,
}  # fmt: skip

# ---- memory.hds ------------------------------------------------------------------------------------------------------


def copies(dtype, lanes):
    def cases(rng):
        x = any_numbers(rng, (14, 64 * lanes), dtype)
        yield Case(f"{lanes} lanes", {}, {"x": x}, {"y": exact(x, dtype)})

    return cases


def messages(rng):
    for n in (1, 2, 1000):
        data = rng.integers(-(10**6), 10**6, n, dtype=np.int32)
        inputs = {"ticket": np.zeros(1, np.uint32), "flags": np.zeros(n, np.uint32), "data": data}
        outputs = {"ticket": Output(np.array([n])), "flags": Output(np.ones(n, np.uint32)),
                   "y": Output(np.cumsum(data).astype(np.int32))}  # fmt: skip
        yield Case(f"{n} blocks", {"n": n}, inputs, outputs)


def tiles(dtype):
    def cases(rng):
        for m, n in ((1, 8), (64, 64), (65, 72), (130, 200), (63, 8)):
            x = any_numbers(rng, (m, n), dtype)
            yield Case(f"{m}x{n}", {"M": m, "N": n}, {"x": x}, {"y": exact(x, dtype)})

    return cases


def chunks(rng):
    x = any_numbers(rng, (3, 256), "f32")
    y = x.copy()
    index = np.arange(256)
    y[2] = np.where(index % 4 < index // 4 % 5, x[2], 0)
    yield Case("64 threads", {}, {"x": x}, {"y": exact(y, "f32")})


COPIES = (("f16", 1), ("f16", 2), ("bf16", 4), ("f16", 8), ("i32", 1), ("f32", 2), ("f32", 4), ("f64", 1), ("i64", 2))
MEMORY = {
    **{f"copies_{dtype}_{lanes}": copies(dtype, lanes) for dtype, lanes in COPIES},
    "messages": messages, "tiles_f16": tiles("f16"), "tiles_f32": tiles("f32"), "chunks": chunks,
}  # fmt: skip
