#!/usr/bin/env python3
"""The example models on the simulator against the same formulas in Python's floats. Usage: check_models.py HDSC"""

import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = TOP / "examples/models"


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


def check(hdsc, name, model, shapes, defines, arch):
    rng = random.Random(f"{name} {defines}")
    operands = {key: normal(rng, *s, scale=1.0 if len(s) == 1 or key == "x" else s[-1] ** -0.5) for key, s in shapes.items()}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for key, value in operands.items():
            write(folder / f"{key}.npy", value)
        words = [hdsc, "run", MODELS / f"{name}.hds", "-I", TOP / "ops", f"--arch={arch}", *(f"-D{d}" for d in defines)]
        words += [f"{key}=@{folder / key}.npy" for key in operands] + [f"out=out:{folder / 'out.npy'}"]
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
    for S, N, F in ((16, 64, 128), (9, 32, 48)):
        shapes = dict(x=(1, S, N), norm1=(N,), wq=(N, N), wk=(N, N), wv=(N, N), wo=(N, N), norm2=(N,))
        shapes.update(gate=(F, N), up=(F, N), down=(N, F))
        cases.append(("transformer_block", transformer_block, shapes, [f"S={S}", f"N={N}", f"F={F}"]))
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
