#!/usr/bin/env python3
"""The example models on the simulator against the same formulas in Python's floats. Usage: check_models.py HDSC"""

import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import safetensors  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = TOP / "examples/models"
HERE = TOP / "tests/graph"


# ---- tensors as nested lists, f16 in files --------------------------------------------------------------------------------

def flat(x):
    return [v for row in x for v in flat(row)] if isinstance(x, list) else [x]


def shape_of(x):
    return (len(x), *shape_of(x[0])) if isinstance(x, list) else ()


def write(path, x):
    header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': {shape_of(x)}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    values = flat(x)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}e", *values))


def read(path):
    data = path.read_bytes()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return list(struct.unpack(f"<{(len(data) - begin) // 2}e", data[begin:]))


def rounded(v):
    return struct.unpack("<e", struct.pack("<e", v))[0]


def normal(rng, *shape, scale=1.0):
    if not shape:
        return rounded(rng.gauss(0, scale))
    return [normal(rng, *shape[1:], scale=scale) for _ in range(shape[0])]


# ---- operators of matrices -------------------------------------------------------------------------------------------------

def matmul(a, b):
    columns = list(zip(*b))
    return [[math.fsum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def linear(x, w, b=None):
    y = matmul(x, [list(column) for column in zip(*w)])
    return y if b is None else [[v + c for v, c in zip(row, b)] for row in y]


def each(f, *matrices):
    return [[f(*values) for values in zip(*rows)] for rows in zip(*matrices)]


def softmax(x):
    powers = [[math.exp(v - max(row)) for v in row] for row in x]
    return [[v / sum(row) for v in row] for row in powers]


def rms_norm(x, w):
    scales = [1 / math.sqrt(sum(v * v for v in row) / len(row) + 1e-6) for row in x]
    return [[v * s * g for v, g in zip(row, w)] for row, s in zip(x, scales)]


def silu(v):
    return v / (1 + math.exp(-v))


# ---- operators of images: [B][C][H][W] ---------------------------------------------------------------------------------------

def conv2d(x, w, b=None, stride=1, padding=0, groups=1):
    H, W, C, K = len(x[0][0]), len(x[0][0][0]), len(w[0]), len(w)

    def element(image, k, p, q):
        first = k // (K // groups) * C
        total = b[k] if b else 0.0
        for c in range(C):
            for r, row in enumerate(w[k][c]):
                for s, v in enumerate(row):
                    h, u = p * stride - padding + r, q * stride - padding + s
                    if 0 <= h < H and 0 <= u < W:
                        total += v * image[first + c][h][u]
        return total

    P, Q = ((n + 2 * padding - t) // stride + 1 for n, t in ((H, len(w[0][0])), (W, len(w[0][0][0]))))
    return [[[[element(image, k, p, q) for q in range(Q)] for p in range(P)] for k in range(K)] for image in x]


def by_pixel(f, *images):
    """f(channel, *elements) of each."""
    each_row = lambda c, *rows: [f(c, *values) for values in zip(*rows)]
    each_channel = lambda c, *channels: [each_row(c, *rows) for rows in zip(*channels)]
    return [[each_channel(c, *channels) for c, channels in enumerate(zip(*one))] for one in zip(*images)]


def largest_of_four(x):
    pairs = lambda channel: [[max(a[j], a[j + 1], b[j], b[j + 1]) for j in range(0, len(a) - 1, 2)]
                             for a, b in zip(channel[::2], channel[1::2])]
    return [[pairs(channel) for channel in image] for image in x]


# ---- models ------------------------------------------------------------------------------------------------------------------

def mlp(x, w1, b1, w2, b2, w3, b3):
    for w, b in ((w1, b1), (w2, b2)):
        x = each(lambda v: max(v, 0.0), linear(x, w, b))
    return softmax(linear(x, w3, b3))


def transformer_block(x, norm1, wq, wk, wv, wo, norm2, gate, up, down, heads=4):
    (x,) = x
    normed = rms_norm(x, norm1)
    q, k, v = (linear(normed, w) for w in (wq, wk, wv))
    size = len(q[0]) // heads
    parts = []
    for h in range(heads):
        cut = [[row[h * size : (h + 1) * size] for row in m] for m in (q, k, v)]
        scores = each(lambda s: s * size**-0.5, linear(cut[0], cut[1]))
        parts.append(matmul(softmax(scores), cut[2]))
    joined = [sum(rows, []) for rows in zip(*parts)]
    x = each(lambda a, b: a + b, x, linear(joined, wo))
    normed = rms_norm(x, norm2)
    hidden = each(lambda g, u: silu(g) * u, linear(normed, gate), linear(normed, up))
    return [each(lambda a, b: a + b, x, linear(hidden, down))]


def conv_net(image, stem, mean, var, gamma, beta, w1, b1, w2, b2, depthwise, pointwise, b3, fc, b4):
    relu, relu6 = (lambda c, v: max(v, 0.0)), (lambda c, v: min(max(v, 0.0), 6.0))
    normed = lambda c, v: max((v - mean[c]) / math.sqrt(var[c] + 1e-5) * gamma[c] + beta[c], 0.0)
    x = by_pixel(normed, conv2d(image, stem, stride=2, padding=1))
    y = conv2d(by_pixel(relu, conv2d(x, w1, b1, padding=1)), w2, b2, padding=1)
    x = largest_of_four(by_pixel(lambda c, a, b: max(a + b, 0.0), x, y))
    x = by_pixel(relu6, conv2d(x, depthwise, padding=1, groups=len(depthwise)))
    x = by_pixel(relu6, conv2d(x, pointwise, b3))
    means = [[sum(flat(channel)) / len(flat(channel)) for channel in one] for one in x]
    return linear(means, fc, b4)


def channels_second(x):
    """[B][H][W][C] as [B][C][H][W]."""
    return [[[[v[c] for v in row] for row in image] for c in range(len(image[0][0]))] for image in x]


def channels_last(*operands):
    return conv_net(*[channels_second(x) if len(shape_of(x)) == 4 else x for x in operands])


def prepared(x, scale, a, bias, b):
    y = each(lambda v, s, c: max(s * (v + c), 0.0), linear(x, a), [scale] * len(x), [bias] * len(x))
    return each(lambda p, q: p + q, y, linear(x, b))


def known_mask(x, bias):
    def attention(q, k):
        """Row i of an image sees the rows from i - 3 on."""
        scores = each(lambda v: v / math.sqrt(len(k[0])), matmul(q, list(zip(*k))))
        seen = [[v if i <= j + 3 else -math.inf for j, v in enumerate(row)] for i, row in enumerate(scores)]
        return matmul(softmax(seen), k)

    return [attention([[a + b for a, b in zip(row, bias)] for row in attention(image, image)], image) for image in x]


# Models whose operands, but for the first, are weights: their names and types in the file.
WEIGHTS = {
    "mlp": {"w1": ("layers.0.weight", "F16"), "b1": ("layers.0.bias", "F16"), "w2": ("layers.1.weight", "F16"),
            "b2": ("layers.1.bias", "F16"), "w3": ("head.weight", "F16"), "b3": ("head.bias", "F16")},
    "transformer_block": {key: (key, "F16") for key in ("norm1", "wq", "wk", "wv", "wo", "norm2", "gate", "up", "down")},
    "known_mask": {"bias": ("bias", "F16")},
    "prepared": {"scale": ("norm.scale", "F32"), "a": ("a.weight", "F32"), "bias": ("a.bias", "F32"), "b": ("b.weight", "F16")},
}  # fmt: skip


def write_operands(folder, name, operands):
    """The words for them on the command line."""
    stored = {key: value for key, value in operands.items() if key in WEIGHTS.get(name, {})}
    words = [f"{key}=@{folder / key}.npy" for key in operands if key not in stored]
    for key, value in operands.items():
        write(folder / f"{key}.npy", value)
    if stored:
        tensors = {WEIGHTS[name][key][0]: (WEIGHTS[name][key][1], shape_of(value), flat(value)) for key, value in stored.items()}
        safetensors.write(folder / "w.safetensors", tensors)
        words.append(f"--weights={folder / 'w.safetensors'}")
    return words


def check(hdsc, name, model, shapes, defines, arch):
    rng = random.Random(f"{name} {defines}")
    fan_in = lambda key, s: 1 if len(s) == 1 or key in ("x", "image") else math.prod(s[1:])
    operands = {key: normal(rng, *s, scale=fan_in(key, s) ** -0.5) for key, s in shapes.items()}
    if "var" in operands:
        operands["var"] = [rounded(0.5 + abs(v)) for v in operands["var"]]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        given = write_operands(folder, name, operands)
        path = next(parent / f"{name}.hds" for parent in (MODELS, HERE) if (parent / f"{name}.hds").exists())
        words = [hdsc, "run", path, "-I", TOP / "ops", f"--arch={arch}", *(f"-D{d}" for d in defines)]
        words += given + [f"out=out:{folder / 'out.npy'}"]
        result = subprocess.run([str(w) for w in words], capture_output=True, text=True)
        if result.returncode:
            return result.stderr
        have = read(folder / "out.npy")
    wanted = flat(model(*operands.values()))
    worst = max(abs(a - b) / (1 + abs(b)) for a, b in zip(have, wanted, strict=True))
    return None if worst < 0.02 else f"off by {worst}"


def main():
    cases = [("mlp", mlp, dict(x=(B, 784), w1=(512, 784), b1=(512,), w2=(512, 512), b2=(512,), w3=(16, 512), b3=(16,)), [f"B={B}"])
             for B in (1, 5)]
    cases += [("prepared", prepared, dict(x=(B, 48), scale=(32,), a=(32, 48), bias=(32,), b=(32, 48)), [f"B={B}"]) for B in (1, 6)]
    cases.append(("known_mask", known_mask, dict(x=(2, 32, 16), bias=(16,)), []))
    for S, N, F in ((16, 64, 128), (9, 32, 48)):
        shapes = dict(x=(1, S, N), norm1=(N,), wq=(N, N), wk=(N, N), wv=(N, N), wo=(N, N), norm2=(N,))
        shapes.update(gate=(F, N), up=(F, N), down=(N, F))
        sizes = [f"S={S}", f"N={N}", f"F={F}"]
        cases += [(name, transformer_block, shapes, sizes) for name in ("transformer_block", "block_parameters")]
    for B, S, C in ((1, 16, 8), (2, 11, 5)):
        shapes = dict(image=(B, 3, S, S), stem=(C, 3, 3, 3), mean=(C,), var=(C,), gamma=(C,), beta=(C,), w1=(C, C, 3, 3), b1=(C,))
        shapes.update(w2=(C, C, 3, 3), b2=(C,), depthwise=(C, 1, 3, 3), pointwise=(2 * C, C, 1, 1), b3=(2 * C,))
        cases.append(("conv_net", conv_net, dict(shapes, fc=(10, 2 * C), b4=(10,)), [f"B={B}", f"S={S}", f"C={C}"]))
        last = {key: (n[0], *n[2:], n[1]) if len(n) == 4 else n for key, n in cases[-1][2].items()}
        cases.append(("channels_last", channels_last, last, cases[-1][3]))
    failed = 0
    for name, model, shapes, defines in cases:
        for arch in ("sm_80", "sm_90a"):
            problem = check(sys.argv[1], name, model, shapes, defines, arch)
            failed += problem is not None
            if problem:
                print(f"{name} {defines} {arch}: {problem}")
    print(f"{2 * len(cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
