"""Models of one node of the domain com.microsoft, with what NumPy says that it gives. The functions are written from the
specification of the operators (ContribOperators.md of ONNX Runtime).

Each case is (name, operator, inputs, attributes, outputs): inputs are arrays, None where one is left out; `outputs` is a list of
arrays, None where nothing is said of a result. A name that ends with "constant" has total_sequence_length in the file, one that
ends with "weights" a weight with its scales and zero points, one that begins with "qlinear" all scales and zero points.
"""

import math

import numpy as np
import onnx
from onnx import helper, numpy_helper

RANDOM = np.random.default_rng(11)
B, L, P, H, G, D = 2, 5, 3, 4, 2, 16
WIDTH = H * D


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


# ---- the operators in NumPy ----------------------------------------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def heads(x, n):
    return x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)


def flat(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attended(q, k, v, bias=0.0, scale=None, softcap=0.0, sink=None):
    """Heads [B, H, M, E] of q [B, H, M, D], k and v [B, G, N, ·]."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) * (1 / math.sqrt(q.shape[3]) if scale is None else scale)
    scores = np.tanh(scores / softcap) * softcap if softcap else scores
    scores = scores + bias
    if sink is not None:
        more = np.broadcast_to(sink.reshape(1, -1, 1, 1), (*scores.shape[:3], 1))
        return softmax(np.concatenate([scores, more], 3))[..., :-1] @ v
    return softmax(scores) @ v


def causal_bias(m, n):
    return np.where(np.arange(n)[None] <= np.arange(m)[:, None] + n - m, 0, -np.inf)


def padding_bias(mask, n, filled=-10000.0):
    """[B, N], [B, M, N], [B] of lengths, or [2 · B]: ends and starts."""
    if mask.ndim == 1:
        ends, starts = mask[:B], mask[B:] if mask.size == 2 * B else np.zeros(B)
        seen = (np.arange(n)[None] < ends[:, None]) & (np.arange(n)[None] >= starts[:, None])
        return np.where(seen[:, None, None], 0, filled)
    return np.where(mask[:, None, None] if mask.ndim == 2 else mask[:, None], 0, filled)


def rotated(x, cos, sin, positions, interleaved=False):
    """x: [B, H, L, D]; the first 2 · cos.shape[1] elements of a head are turned, by rows of the tables."""
    c, s = cos[positions][:, None], sin[positions][:, None]
    half, y = cos.shape[1], x.copy()
    u, v = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else (slice(0, half), slice(half, 2 * half))
    y[..., u], y[..., v] = x[..., u] * c - x[..., v] * s, x[..., v] * c + x[..., u] * s
    return y


def layer_norm(x, gamma, beta, epsilon=1e-12):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * gamma + beta


def rms_norm(x, gamma, epsilon=1e-6):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * gamma


def erf(x):
    return np.vectorize(math.erf)(x)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


# ---- cases ---------------------------------------------------------------------------------------------------------------------


def cases_of_attention():
    x, w, b = normal(B, L, 12), normal(12, 3 * WIDTH) / 3, normal(3 * WIDTH)
    q, k, v = (heads(part, H) for part in np.split(x @ w + b, 3, axis=2))
    how, bias = {"num_heads": H}, normal(B, H, L, L)
    made = lambda **more: flat(attended(q, k, v, **more))
    yield "attention", "Attention", [x, w, b], how, [made()]
    yield "attention_causal", "Attention", [x, w, b], {**how, "unidirectional": 1}, [made(bias=causal_bias(L, L))]
    masks = {
        "keys": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32), "lengths": np.array([3, 5], np.int32),
        "ranges": np.array([4, 5, 1, 2], np.int32), "pairs": (RANDOM.random((B, L, L)) > 0.3).astype(np.int32),
    }  # fmt: skip
    for name, mask in masks.items():
        yield f"attention_mask_of_{name}", "Attention", [x, w, b, mask], how, [made(bias=padding_bias(mask, L))]
    yield "attention_bias", "Attention", [x, w, b, None, None, bias], {**how, "scale": 0.25}, [made(bias=bias, scale=0.25)]
    past = normal(2, B, H, P, D)
    k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    want = flat(attended(q, k, v, causal_bias(L, L + P)))
    yield "attention_past", "Attention", [x, w, b, None, past], {**how, "unidirectional": 1}, [want, np.stack([k, v])]
    w, b = normal(12, 2 * WIDTH + 16) / 3, normal(2 * WIDTH + 16)
    q, k, v = (heads(part, H) for part in np.split(x @ w + b, [WIDTH, 2 * WIDTH], axis=2))
    sizes = {"qkv_hidden_sizes": [WIDTH, WIDTH, 16]}
    yield "attention_narrow_values", "Attention", [x, w, b], {**how, **sizes}, [flat(attended(q, k, v))]


def cases_of_multi_head_attention():
    n, how = 7, {"num_heads": H}
    q, k, v, b = normal(B, L, WIDTH), normal(B, n, WIDTH), normal(B, n, WIDTH), normal(3 * WIDTH)
    name, made = "MultiHeadAttention", lambda q, k, v, *more: flat(attended(heads(q, H), heads(k, H), heads(v, H), *more))
    yield "multi_head", name, [q, k, v], how, [made(q, k, v)]
    parts = np.split(b, 3)
    yield "multi_head_bias", name, [q, k, v, b], how, [made(*(x + y for x, y in zip((q, k, v), parts)))]
    mask = np.array([[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0, 0]], np.int32)
    yield "multi_head_mask", name, [q, k, v, None, mask], how, [made(q, k, v, padding_bias(mask, n))]
    added = normal(1, H, L, n)
    yield "multi_head_added", name, [q, k, v, None, None, added], how, [made(q, k, v, added)]
    packed = normal(B, L, H, 3, D)
    want = flat(attended(*(packed[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3))))
    yield "multi_head_packed", name, [packed], how, [want]
    pair = normal(B, n, H, 2, D)
    yield "multi_head_packed_keys", name, [q, pair], how, [flat(attended(heads(q, H), *(pair[:, :, :, i].transpose(0, 2, 1, 3)
                                                                                      for i in range(2))))]  # fmt: skip
    yield "multi_head_cross", name, [q, heads(k, H), heads(v, H)], how, [made(q, k, v)]
    past_k, past_v, k, v = normal(B, H, P, D), normal(B, H, P, D), normal(B, L, WIDTH), normal(B, L, WIDTH)
    whole = np.concatenate([past_k, heads(k, H)], 2), np.concatenate([past_v, heads(v, H)], 2)
    inputs = [q, k, v, None, None, None, past_k, past_v]
    yield "multi_head_past", name, inputs, how, [flat(attended(heads(q, H), *whole)), *whole]
    want = flat(attended(heads(q, H), *whole, causal_bias(L, L + P)))
    yield "multi_head_causal", name, inputs, {**how, "unidirectional": 1}, [want, *whole]


def group_query(q, k, v, first, past=None, tables=None, window=0, length=0, **how):
    """The output and the caches; first[b] is the number of the first query of an image."""
    q, k, v = heads(q, H), heads(k, G), heads(v, G)
    m = q.shape[2]
    positions = np.arange(m)[None] + np.array(first)[:, None]
    if tables is not None:
        q, k = (rotated(x, *tables, positions, how.pop(f"interleaved_{i}", False)) for i, x in enumerate((q, k)))
    if past is not None:
        caches = []
        for old, new in zip(past, (k, v)):
            whole = np.zeros((B, G, length, D), np.float32)
            whole[:, :, : old.shape[2]] = old
            for b in range(B):
                whole[b, :, first[b] : first[b] + m] = new[b]
            caches.append(whole)
        k, v = caches
    j, i = np.arange(k.shape[2]), positions[:, None, :, None]
    seen = (j <= i) & (j > i - window) if window else j <= i
    return [flat(attended(q, k, v, np.where(seen, 0, -np.inf), **how)), k, v]


def cases_of_group_query_attention():
    q, k, v = normal(B, L, WIDTH), normal(B, L, G * D), normal(B, L, G * D)
    name, how = "GroupQueryAttention", {"num_heads": H, "kv_num_heads": G}
    last, total = np.full(B, L - 1, np.int32), np.array(L, np.int32)
    tables = normal(16, D // 2), normal(16, D // 2)
    prompt = [None, None, last, total]
    yield "group_query", name, [q, k, v, *prompt], how, group_query(q, k, v, [0, 0])
    packed = [np.concatenate([q, k, v], 2), None, None, *prompt]
    yield "group_query_packed", name, packed, how, group_query(q, k, v, [0, 0])
    inputs, rotary = [q, k, v, *prompt, *tables], {**how, "do_rotary": 1}
    yield "group_query_rotary", name, inputs, rotary, group_query(q, k, v, [0, 0], tables=tables)
    want = group_query(q, k, v, [0, 0], tables=tables, interleaved_0=True, interleaved_1=True)
    yield "group_query_interleaved", name, inputs, {**rotary, "rotary_interleaved": 1}, want
    yield "group_query_softcap", name, [q, k, v, *prompt], {**how, "softcap": 2.0}, group_query(q, k, v, [0, 0], softcap=2.0)
    yield "group_query_window", name, [q, k, v, *prompt], {**how, "local_window_size": 2}, group_query(q, k, v, [0, 0], window=2)
    smooth = group_query(q, k, v, [0, 0], sink=np.zeros(H))
    yield "group_query_smooth", name, [q, k, v, *prompt], {**how, "smooth_softmax": 1}, smooth
    sink = normal(H)
    inputs = [q, k, v, *prompt, None, None, None, None, sink]
    yield "group_query_sink", name, inputs, how, group_query(q, k, v, [0, 0], sink=sink)
    past = normal(B, G, P, D), normal(B, G, P, D)
    step = [x[:, :1] for x in (q, k, v)]
    inputs = [*step, *past, np.full(B, P, np.int32), np.array(P + 1, np.int32), *tables]
    want = group_query(*step, [P, P], past, tables, length=P + 1)
    yield "group_query_step", name, inputs, rotary, want
    past = normal(B, G, 2 * P, D), normal(B, G, 2 * P, D)  # one buffer for past and present, of images of several lengths
    inputs = [*step, *past, np.array([3, 1], np.int32), np.array(4, np.int32), *tables]
    want = group_query(*step, [3, 1], past, tables, length=2 * P)
    yield "group_query_buffer_constant", name, inputs, rotary, want


def cases_of_norms():
    x, skip, bias, gamma, beta = normal(B, L, 12), normal(B, L, 12), normal(12), normal(12), normal(12)
    total = x + skip + bias
    outputs = [layer_norm(total, gamma, beta), None, None, total]
    yield "skip_layer_norm", "SkipLayerNormalization", [x, skip, gamma, beta, bias], {}, outputs
    outputs = [rms_norm(total, gamma), None, None, total]
    yield "skip_rms_norm", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], {"epsilon": 1e-6}, outputs
    ids, segments = RANDOM.integers(0, 9, (B, L), np.int32), RANDOM.integers(0, 2, (B, L), np.int32)
    words, places, kinds = normal(9, 12), normal(8, 12), normal(2, 12)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    total = words[ids] + places[:L] + kinds[segments]
    inputs = [ids, segments, words, places, kinds, gamma, beta]
    outputs = [layer_norm(total, gamma, beta), mask.sum(1).astype(np.int32), total]
    yield "embedding", "EmbedLayerNormalization", [*inputs, mask], {}, outputs
    total = words[ids] + places[:L]
    yield "embedding_of_words", "EmbedLayerNormalization", [ids, None, words, places, None, gamma, beta], {}, [
        layer_norm(total, gamma, beta), np.zeros(B, np.int32)]  # fmt: skip


def cases_of_elements():
    x, b = normal(B, L, 12), normal(12)
    yield "bias_gelu", "BiasGelu", [x, b], {}, [gelu(x + b)]
    yield "quick_gelu", "QuickGelu", [x], {"alpha": 1.5}, [x / (1 + np.exp(-1.5 * x))]
    u = x + b
    yield "fast_gelu", "FastGelu", [x, b], {}, [0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))]
    a, c = normal(3, 2, 4, 5), normal(3, 2, 6, 5)
    yield "fused_matmul", "FusedMatMul", [a, c], {"transB": 1, "alpha": 0.5}, [0.5 * (a @ c.swapaxes(2, 3))]
    a = normal(4, 3, 2, 5)  # the axis of rows is the first one
    yield "fused_matmul_moved", "FusedMatMul", [a, c], {"transBatchA": 1, "transB": 1}, [
        a.transpose(1, 2, 0, 3) @ c.swapaxes(2, 3)]  # fmt: skip
    x, cos, sin = normal(B, L, WIDTH), normal(16, D // 2), normal(16, D // 2)
    at = RANDOM.integers(0, 16, (B, L))
    yield "rotary", "RotaryEmbedding", [x, at, cos, sin], {}, [flat(rotated(heads(x, H), cos, sin, at))]
    at = np.array([3])
    yield "rotary_offset", "RotaryEmbedding", [x, at, cos, sin], {"interleaved": 1}, [
        flat(rotated(heads(x, H), cos, sin, np.arange(L)[None] + at, True))]  # fmt: skip


# ---- quantised numbers ---------------------------------------------------------------------------------------------------------


def any_bytes(dtype, *shape):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return RANDOM.integers(low, high, shape, dtype=dtype, endpoint=True)


def number(q, scale, zero=None):
    return (q.astype(np.float32) - np.float32(0 if zero is None else zero)) * scale


def quantised(y, scale, zero, dtype):
    rounded = np.rint(y.astype(np.float32) / scale) + np.float32(zero)
    return np.clip(rounded, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


def scalar(dtype, v):
    return np.array(v, dtype)


def cases_of_quantised_elements(dtype=np.uint8):
    sa, sb, sy = (scalar(np.float32, s) for s in (0.05, 0.03, 0.07))
    za, zb, zy = (scalar(dtype, z) for z in (12, 100, 7))
    a, b = any_bytes(dtype, 2, 3, 40), any_bytes(dtype, 3, 1)
    fa, fb, how = number(a, sa, za), number(b, sb, zb), [a, sa, za, b, sb, zb, sy, zy]
    kind = np.dtype(dtype).name
    c = any_bytes(dtype, 2, 3, 40)
    want = quantised(fa + number(c, sb, zb), sy, zy, dtype)
    yield f"qlinear_add_{kind}", "QLinearAdd", [a, sa, za, c, sb, zb, sy, zy], {}, [want]
    yield f"qlinear_add_broadcast_{kind}", "QLinearAdd", how, {}, [quantised(fa + fb, sy, zy, dtype)]
    yield f"qlinear_mul_{kind}", "QLinearMul", how, {}, [quantised(fa * fb, sy, zy, dtype)]
    one = scalar(np.float32, 1 / 128)
    want = quantised(1 / (1 + np.exp(-fa)), one, zy, dtype)
    yield f"qlinear_sigmoid_{kind}", "QLinearSigmoid", [a, sa, za, one, zy], {}, [want]
    want = quantised(np.where(fa < 0, 0.2 * fa, fa), sy, zy, dtype)
    yield f"qlinear_leaky_relu_{kind}", "QLinearLeakyRelu", [a, sa, za, sy, zy], {"alpha": 0.2}, [want]
    condition = RANDOM.random((2, 3, 40)) > 0.5
    want = quantised(np.where(condition, fa, fb), sy, zy, dtype)
    yield f"qlinear_where_{kind}", "QLinearWhere", [condition, *how], {}, [want]
    c = any_bytes(dtype, 2, 5, 40)
    want = quantised(np.concatenate([fa, number(c, sb, zb)], 1), sy, zy, dtype)
    yield f"qlinear_concat_{kind}", "QLinearConcat", [sy, zy, a, sa, za, c, sb, zb], {"axis": 1}, [want]
    want = quantised(softmax(fa), one, zy, dtype)
    yield f"qlinear_softmax_{kind}", "QLinearSoftmax", [a, sa, za, one, zy], {"axis": -1, "opset": 13}, [want]
    want = quantised(softmax(fa.reshape(2, -1)).reshape(fa.shape), one, zy, dtype)
    yield f"qlinear_softmax_rows_{kind}", "QLinearSoftmax", [a, sa, za, one, zy], {"axis": 1, "opset": 12}, [want]
    yield f"qlinear_add_no_zeros_{kind}", "QLinearAdd", [a, sa, None, b, sb, None, sy], {}, [
        quantised(number(a, sa) + number(b, sb), sy, 0, dtype)]  # fmt: skip


def cases_of_quantised_pools():
    s, t, z, u = scalar(np.float32, 0.05), scalar(np.float32, 0.0437), scalar(np.uint8, 9), scalar(np.uint8, 30)
    x = any_bytes(np.uint8, 2, 3, 6, 8)
    f, last = number(x, s, z), x.transpose(0, 2, 3, 1).copy()
    want = quantised(f.mean((2, 3), keepdims=True), t, u, np.uint8)
    name = "QLinearGlobalAveragePool"
    yield "qlinear_global_pool", name, [x, s, z, t, u], {}, [want]
    yield "qlinear_global_pool_last", name, [last, s, z, t, u], {"channels_last": 1}, [want.transpose(0, 2, 3, 1)]
    want = quantised(f.reshape(2, 3, 3, 2, 4, 2).mean((3, 5)), t, u, np.uint8)
    name, how = "QLinearAveragePool", {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield "qlinear_pool", name, [x, s, z, t, u], how, [want]
    yield "qlinear_pool_last", name, [last, s, z, t, u], {**how, "channels_last": 1}, [want.transpose(0, 2, 3, 1)]


def cases_of_quantised_products():
    a, b, bias = any_bytes(np.uint8, 2, 5, 24), any_bytes(np.int8, 24, 16), normal(16)
    sa, sb = scalar(np.float32, 0.02), RANDOM.uniform(0.01, 0.05, 16).astype(np.float32)
    za, zb = scalar(np.uint8, 100), any_bytes(np.int8, 16)
    want = (a.astype(np.int32) - za) @ (b.astype(np.int32) - zb) * (sa * sb) + bias
    yield "integer_to_float", "MatMulIntegerToFloat", [a, b, sa, sb, za, zb, bias], {}, [want.astype(np.float32)]
    x = normal(5, 24)
    scale = (max(x.max(), 0) - min(x.min(), 0)) / np.float32(255)
    zero = np.clip(np.rint(-min(x.min(), 0) / scale), 0, 255)
    q = np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.int32) - int(zero)
    want = q @ (b.astype(np.int32) - zb) * (scale * sb) + bias
    yield "dynamic_product", "DynamicQuantizeMatMul", [x, b, sb, zb, bias], {}, [want.astype(np.float32)]
    c, one = RANDOM.integers(-999, 999, 16, np.int32), scalar(np.float32, 0.03)
    sy, zy = scalar(np.float32, 0.5), scalar(np.uint8, 99)
    a, zb = a[0], scalar(np.int8, 3)
    total = ((a.astype(np.int32) - za) @ (b.astype(np.int32) - zb) + c) * (sa * one * np.float32(0.5))
    inputs, how = [a, sa, za, b.T.copy(), one, zb, c], {"alpha": 0.5, "transB": 1}
    yield "qgemm", "QGemm", [*inputs, sy, zy], how, [quantised(total, sy, zy, np.uint8)]
    yield "qgemm_float", "QGemm", inputs, how, [total.astype(np.float32)]


def packed_bits(q, bits):
    """Rows of numbers as bytes, the lowest bits first."""
    if bits == 8:
        return q
    q = np.concatenate([q, np.zeros((*q.shape[:-1], q.shape[-1] % 2), np.uint8)], -1)
    return q[..., 0::2] | q[..., 1::2] << 4


def cases_of_few_bits():
    N, block = 24, 16
    for bits in (4, 8):
        for K, zeros in ((64, None), (40, "packed"), (48, "floats")):
            blocks = -(-K // block)
            q = RANDOM.integers(0, 2**bits, (N, blocks, block)).astype(np.uint8)
            scales, z = RANDOM.uniform(0.01, 0.1, (N, blocks)).astype(np.float32), np.full((N, blocks), 2 ** (bits - 1), np.uint8)
            given = None
            if zeros:
                z = RANDOM.integers(0, 2**bits, (N, blocks)).astype(np.uint8)
                given = packed_bits(z, bits) if zeros == "packed" else z.astype(np.float32)
            w = ((q.astype(np.float32) - z[..., None]) * scales[..., None]).reshape(N, -1)[:, :K]
            how = {"K": K, "N": N, "block_size": block, "bits": bits}
            for a, bias in ((normal(2, 3, K), normal(N)), (normal(1, K), None), (normal(3, 4, K), normal(N))):
                name = f"bits_{bits}_{K}_{a.size // K}_weights"
                want = a @ w.T + (0 if bias is None else bias)
                yield name, "MatMulNBits", [a, packed_bits(q, bits), scales, given, None, bias], how, [want.astype(np.float32)]


def cases():
    for group in (cases_of_attention, cases_of_multi_head_attention, cases_of_group_query_attention, cases_of_norms,
                  cases_of_elements, cases_of_quantised_elements, lambda: cases_of_quantised_elements(np.int8),
                  cases_of_quantised_pools, cases_of_quantised_products, cases_of_few_bits):  # fmt: skip
        yield from group()


def model_of(name, operator, inputs, attributes, outputs):
    """A model with inputs x0, x1, … and outputs o0, o1, …, without those that are left out; and its inputs by name."""
    given = {f"x{k}": x for k, x in enumerate(inputs) if x is not None}
    held = (6,) if name.endswith("constant") else (1, 2, 3) if name.endswith("weights") else ()
    constants = [f"x{k}" for k in held if f"x{k}" in given]
    if name.startswith("qlinear"):
        constants = [n for n, x in given.items() if x.ndim == 0]
    names = [f"o{k}" if y is not None else "" for k, y in enumerate(outputs)]
    node = helper.make_node(operator, [f"x{k}" if f"x{k}" in given else "" for k in range(len(inputs))], names,
                            domain="com.microsoft", **attributes)  # fmt: skip
    value = lambda n, x: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    type_of = lambda y: onnx.TensorProto.FLOAT if y.dtype.kind == "f" else helper.np_dtype_to_tensor_dtype(y.dtype)
    results = [helper.make_tensor_value_info(n, type_of(y), y.shape) for n, y in zip(names, outputs) if n]
    graph = helper.make_graph([node], name, [value(n, x) for n, x in given.items() if n not in constants], results,
                              [numpy_helper.from_array(given[n], n) for n in constants])  # fmt: skip
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8), {n: x for n, x in given.items() if n not in constants}
