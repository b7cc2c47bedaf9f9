"""Entries against definitions: random operators on random arrays, as `hdsc run --entry` sees them, against an evaluation in Python.

Half are operators of the library with random shapes and values of their parameters. Half are definitions made by lot, of steps that use
the axes of `*S` in all ways: an entry is right, or refused with the help that says -D S=…, and right with that.
Usage: check_entries.py HDSC [--seed N] [--count N]"""

import argparse
import ast
import itertools
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish  # noqa: E402

FORMATS = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "b1": "?"}
NPY = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "bool": "b1"}


class Array:
    """Row by row, in Python's numbers."""

    def __init__(self, shape, values, dtype="f32"):
        self.shape, self.values, self.dtype = tuple(shape), list(values), dtype

    def at(self, index):
        k = 0
        for n, i in zip(self.shape, index):
            k = k * n + i
        return self.values[k]

    def __repr__(self):
        return f"{self.dtype}{list(self.shape)} {self.values}"


def indices(shape):
    return itertools.product(*[range(n) for n in shape])


def made(shape, element, dtype="f32"):
    return Array(shape, [element(i) for i in indices(shape)], dtype)


def drawn(rng, shape, dtype="f32", low=-2.0, high=2.0):
    size = math.prod(shape)
    if dtype.startswith("f"):
        return Array(shape, [rng.randrange(int(low * 64), int(high * 64)) / 64 for _ in range(size)], dtype)
    return Array(shape, [rng.randrange(int(low), int(high)) for _ in range(size)], dtype)


def write_npy(path, x):
    header = f"{{'descr': '{'|' if x.dtype == 'bool' else '<'}{NPY[x.dtype]}', 'fortran_order': False, 'shape': {x.shape!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = struct.pack(f"<{len(x.values)}{FORMATS[NPY[x.dtype]]}", *x.values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy(path):
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + size].decode())
    code = FORMATS[header["descr"][1:]]
    count = math.prod(header["shape"])
    return Array(header["shape"], struct.unpack(f"<{count}{code}", data[10 + size : 10 + size + count * struct.calcsize(code)]))


# ---- definitions made by lot -------------------------------------------------------------------------------------------


def along(x, i, axis):
    """The elements along the axis through i."""
    a = axis % len(x.shape)
    return [x.at((*i[:a], k, *i[a + 1 :])) for k in range(x.shape[a])]


def flat(shape, i):
    k = 0
    for n, j in zip(shape, i):
        k = k * n + j
    return k


NUMBER = 1.5  # the parameter t

# What a step does with x at i, in the language (with the axis as {a}) and in Python. A step by t is right for f32 alone.
STEPS = {
    "by_number": ("x[*i] * t", lambda x, i, a: x.at(i) * NUMBER),
    "share": (
        "f32(softmax(x, axis={a})[*i])",
        lambda x, i, a: math.exp(x.at(i)) / sum(math.exp(v) for v in along(x, i, a)),
    ),
    "scaled": ("0.5 * f32(x[*i]) + 0.25", lambda x, i, a: 0.5 * x.at(i) + 0.25),
    "centred": ("f32(x[*i]) - f32(mean(x, axis={a})[*_without(i, {a})])", lambda x, i, a: x.at(i) - sum(along(x, i, a)) / x.shape[a]),
    "below_top": ("f32(x[*i]) - f32(max(x, axis={a})[*_without(i, {a})])", lambda x, i, a: x.at(i) - max(along(x, i, a))),
    "by_index": ("f32(x[*i]) * f32(i[{a}] + 1)", lambda x, i, a: x.at(i) * (i[a] + 1)),
    "by_extent": ("f32(x[*i]) * f32(S[{a}])", lambda x, i, a: x.at(i) * x.shape[a]),
    "by_rank": ("f32(x[*i]) * f32(len(S))", lambda x, i, a: x.at(i) * len(x.shape)),
    "of_all": (
        "f32(x[*i]) - sum_of(f32(x[*split(k, S)]) for k in range(product_of_extents(S)))",
        lambda x, i, a: x.at(i) - sum(x.values),
    ),
    "numbered": ("f32(x[*i]) + f32(_flat(i, S) % 3)", lambda x, i, a: x.at(i) + flat(x.shape, i) % 3),
    "turned": (
        "f32(x[*[S[k] - 1 - j if k == {a} % len(S) else j for k, j in enumerate(i)]])",
        lambda x, i, a: x.at([x.shape[k] - 1 - j if k == a % len(i) else j for k, j in enumerate(i)]),
    ),
}

HEAD = '''from reduction import max, mean

from hidet.lang import compute, f32, i64, operator
from hidet.lang import sum as sum_of
from hidet.lang.partial_reduction import product_of_extents
from hidet.lang.plan import split
from softmax import softmax


def _without(i, axis: int):
    return [j for k, j in enumerate(i) if k != axis % len(i)]


def _flat(i, shape):
    k = i64(0)
    for n, j in zip(shape, i):
        k = k * n + j
    return k
'''


def own_definition(rng, number):
    """(the name, text, evaluation, least rank)."""
    chosen = [(rng.choice(list(STEPS)), rng.choice([0, -1, -1, 1, -2])) for _ in range(rng.choice([1, 1, 2]))]
    text, value = "", "x"
    for k, (step, axis) in enumerate(chosen):
        name = f"_step{number}_{k}"
        decorator = rng.choice(["", "@operator\n"])
        element = STEPS[step][0].format(a=axis)
        text += f"\n\n{decorator}def {name}[T: dtype, *S](x: T[*S], t: f32) -> T[*S]:\n"
        text += f"    return compute([*S], lambda *i: {element if step == 'by_number' else f'T({element})'})\n"
        value = f"{name}({value}, t=t)"
    text += f"\n\n@operator\ndef own{number}[T: dtype, *S](x: T[*S], t: f32) -> T[*S]:\n    return {value}\n"

    def evaluate(x):
        for step, axis in chosen:
            x = made(x.shape, lambda i, x=x, step=step, axis=axis: STEPS[step][1](x, i, axis), x.dtype)
        return x

    return f"own{number}", text, evaluate, 2 if any(axis in (1, -2) for _, axis in chosen) else 1


# ---- operators of the library ------------------------------------------------------------------------------------------


def shape_of(rng, least=1, most=3):
    return [rng.choice([1, 2, 3, 4, 5, 7]) for _ in range(rng.randint(least, most))]


def broadcast(rng):
    """Two shapes that meet, and where they do."""
    whole = shape_of(rng, 1, 4)
    one = [n if rng.random() < 0.7 else 1 for n in whole]
    two = [n if a != 1 or n == 1 else 1 if rng.random() < 0.5 else n for n, a in zip(whole, one)]
    two = two[rng.randint(0, len(two) - 1) :] if rng.random() < 0.4 else two
    rank = max(len(one), len(two))
    padded = [[1] * (rank - len(s)) + s for s in (one, two)]
    return one, two, [max(a, b) for a, b in zip(*padded)]


def read_at(x, i):
    own = i[len(i) - len(x.shape) :]
    return x.at([0 if n == 1 else j for n, j in zip(x.shape, own)])


def case_binary(rng):
    one, two, whole = broadcast(rng)
    x, y = drawn(rng, one), drawn(rng, two)
    name, f = rng.choice([("add", lambda a, b: a + b), ("multiply", lambda a, b: a * b), ("maximum", max)])
    return "arithmetic", name, [], dict(x=x, y=y), dict(out=made(whole, lambda i: f(read_at(x, i), read_at(y, i))))


def case_clamp(rng):
    x, low, high = drawn(rng, shape_of(rng)), rng.randrange(-8, 0) / 8, rng.randrange(0, 8) / 8
    given = dict(x=x, low=low, high=high)
    return "arithmetic", "clamp", ["low=f32", "high=f32"], given, dict(out=made(x.shape, lambda i: min(max(x.at(i), low), high)))


def case_threshold(rng):
    x, value = drawn(rng, shape_of(rng)), rng.randrange(-8, 8) / 4
    kept = lambda v: v if v > 0.25 else value
    given = dict(x=x, threshold=0.25, value=value)
    return "activation", "threshold", ["threshold=f32", "value=f32"], given, dict(out=made(x.shape, lambda i: kept(x.at(i))))


def reduced(x, axes, f):
    """f of the elements along the axes, for each index of the others."""
    kept = [a for a in range(len(x.shape)) if a not in axes]

    def element(i):
        full = lambda k: [k[axes.index(a)] if a in axes else i[kept.index(a)] for a in range(len(x.shape))]
        return f([x.at(full(k)) for k in indices([x.shape[a] for a in axes])])

    return made([x.shape[a] for a in kept], element, x.dtype)


def case_reduction(rng):
    x = drawn(rng, shape_of(rng, 2, 3), rng.choice(["f32", "f64"]))
    rank = len(x.shape)
    last = [rank - 2, rank - 1]
    axis, axes = rng.choice([("None", [*range(rank)]), ("-1", last[1:]), ("0", [0]), ("-2", last[:1]), ("(-1, -2)", last)])
    name, f = rng.choice([("sum", sum), ("max", max), ("mean", lambda v: sum(v) / len(v)), ("prod", math.prod)])
    return "reduction", name, [f"axis={axis}"], dict(x=x), dict(out=reduced(x, axes, f))


def case_variance(rng):
    x, correction = drawn(rng, [*shape_of(rng, 0, 2), 5]), rng.randint(0, 2)

    def variance(v):
        middle = sum(v) / len(v)
        return sum((e - middle) ** 2 for e in v) / (len(v) - correction)

    given = dict(x=x, correction=correction)
    return "reduction", "var", ["correction=i32"], given, dict(out=reduced(x, [len(x.shape) - 1], variance))


def case_softmax(rng):
    x = drawn(rng, shape_of(rng, 1, 4), rng.choice(["f32", "f64"]))
    axis = rng.choice(["-1", "0"])
    share = lambda i: math.exp(x.at(i)) / sum(math.exp(v) for v in along(x, i, int(axis)))
    return "softmax", "softmax", [f"axis={axis}"], dict(x=x), dict(out=made(x.shape, share, x.dtype))


def case_scan(rng):
    x = drawn(rng, shape_of(rng, 1, 4))
    return "scan", "cumsum", [], dict(x=x), dict(out=made(x.shape, lambda i: sum(along(x, i, -1)[: i[-1] + 1])))


def case_layer_norm(rng):
    x, eps = drawn(rng, [*shape_of(rng, 0, 3), 6]), rng.choice([1e-5, 0.5])
    w = drawn(rng, [6])
    b = drawn(rng, [6]) if rng.random() < 0.5 else None

    def element(i):
        row = along(x, i, -1)
        middle = sum(row) / 6
        scale = (sum((v - middle) ** 2 for v in row) / 6 + eps) ** -0.5
        return (x.at(i) - middle) * scale * w.at([i[-1]]) + (b.at([i[-1]]) if b else 0.0)

    given = dict(x=x, w=w, eps=eps) | (dict(b=b) if b else {})
    return "norm", "layer_norm", [], given, dict(out=made(x.shape, element))


def case_topk(rng):
    x = drawn(rng, [*shape_of(rng, 0, 2), rng.choice([5, 70])])
    n, largest = x.shape[-1], rng.random() < 0.5
    k = rng.randint(1, 5)
    order = lambda i: sorted(range(n), key=lambda c: (-1 if largest else 1) * x.at((*i[:-1], c)))[i[-1]]
    shape = (*x.shape[:-1], k)
    results = dict(out0=made(shape, lambda i: x.at((*i[:-1], order(i)))), out1=made(shape, order, "i32"))
    return "library/sort_entries", "topk" if largest else "bottomk", [], dict(x=x), results


def case_kth(rng):
    x = drawn(rng, [*shape_of(rng, 0, 2), 9])
    k = rng.randint(1, 9)
    return "library/sort_entries", "kthvalue", [], dict(x=x, k=k), dict(out0=reduced(x, [len(x.shape) - 1], lambda v: sorted(v)[k - 1]))


def case_one_hot(rng):
    x, n = drawn(rng, shape_of(rng), "i64", 0, 4), rng.choice([4, 6])
    wanted = made([*x.shape, n], lambda i: float(x.at(i[:-1]) == i[-1]))
    return "library/indexing_entries", "one_hot", ["T=f32"], dict(x=x), dict(out=wanted)


def case_masked_fill(rng):
    x, value = drawn(rng, shape_of(rng)), rng.randrange(-8, 8) / 4
    mask = drawn(rng, x.shape, "bool", 0, 2)
    given = dict(x=x, mask=mask, value=value)
    return "library/indexing_entries", "masked_fill", [], given, dict(out=made(x.shape, lambda i: value if mask.at(i) else x.at(i)))


def case_where(rng):
    x, y = [drawn(rng, shape) for shape in [shape_of(rng)] * 2]
    condition = drawn(rng, x.shape, "bool", 0, 2)
    given = dict(condition=condition, x=x, y=y)
    wanted = made(x.shape, lambda i: x.at(i) if condition.at(i) else y.at(i))
    return "library/indexing_entries", "where", [], given, dict(out=wanted)


def case_gate(rng):
    x = drawn(rng, [*shape_of(rng, 0, 3), rng.choice([2, 6, 8])])
    half = x.shape[-1] // 2
    gates = dict(swiglu=lambda v: v / (1 + math.exp(-v)), reglu=lambda v: max(v, 0), tanhglu=math.tanh, bilinear_glu=lambda v: v)
    name = rng.choice(list(gates))
    element = lambda i: x.at(i) * gates[name](x.at((*i[:-1], i[-1] + half)))
    return "library/activation_entries", name, [], dict(x=x), dict(out=made([*x.shape[:-1], half], element))


def case_pixel_shuffle(rng):
    r, c = rng.choice([1, 2, 3]), rng.choice([1, 2])
    x = drawn(rng, [2, r * r * c, 2, 3])
    element = lambda i: x.at((i[0], i[1] * r * r + i[2] % r * r + i[3] % r, i[2] // r, i[3] // r))
    return "library/pixels_entries", "pixel_shuffle", [], dict(x=x), dict(out=made([2, c, 2 * r, 3 * r], element))


def case_unfold(rng):
    x = drawn(rng, [2, 2, 5, 6])
    K, L, s, p, d = rng.choice([1, 2, 3]), rng.choice([1, 2]), rng.choice([1, 2]), rng.choice([0, 1]), rng.choice([1, 2])
    down, across = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k in ((5, K), (6, L))]

    def element(i):
        c, spot = divmod(i[1], K * L)
        h, w = i[2] // across * s + spot // L * d - p, i[2] % across * s + spot % L * d - p
        return x.at((i[0], c, h, w)) if 0 <= h < 5 and 0 <= w < 6 else 0.0

    given = dict(x=x, kernel_height=K, kernel_width=L, stride=s, padding=p, dilation=d)
    return "library/pixels_entries", "unfold", [], given, dict(out=made([2, 2 * K * L, down * across], element))


CASES = [value for name, value in sorted(globals().items()) if name.startswith("case_")]


# ---- running ----------------------------------------------------------------------------------------------------------


def differs(found, wanted):
    if found.shape != wanted.shape:
        return f"has shape {list(found.shape)} instead of {list(wanted.shape)}"
    for i, (a, b) in enumerate(zip(found.values, wanted.values)):
        if abs(a - b) > 1e-4 + 1e-4 * abs(b):
            return f"element {i} is {a} instead of {b}"
    return None


def run_entry(hdsc, folder, path, entry, defines, given, results):
    """None, "refused", or what is wrong."""
    words = []
    for name, value in given.items():
        if isinstance(value, Array):
            write_npy(folder / f"{name}.npy", value)
        words.append(f"{name}=@{folder}/{name}.npy" if isinstance(value, Array) else f"{name}={value}")
    for name, value in results.items():
        words += [f"{name}=empty:{value.dtype}[{','.join(map(str, value.shape))}]"] if value.shape else []
        words.append(f"{name}=out:{folder}/{name}.npy")
    command = [hdsc, "run", "-I", TOP / "ops", path, "--entry", entry, *[f"-D{d}" for d in defines], *words]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=120)
    if done.returncode:
        is_refused = "depends on the number of axes" in done.stderr or "dimensions, and this has" in done.stderr
        return "refused" if is_refused else f"{command}: {done.stderr}"
    problems = [(name, differs(read_npy(folder / f"{name}.npy"), wanted)) for name, wanted in results.items()]
    wrong = [f"{name} {text}" for name, text in problems if text]
    return f"{' '.join(map(str, command))}: {'; '.join(wrong)}; {given}" if wrong else None


def check_library(hdsc, seed):
    rng = random.Random(seed)
    file, entry, defines, given, results = CASES[seed % len(CASES)](rng)
    with tempfile.TemporaryDirectory() as folder:
        found = run_entry(hdsc, pathlib.Path(folder), TOP / f"ops/{file}.hds", entry, defines, given, results)
    return [f"seed {seed}: {file} {entry} {defines}: {found}\n"] if found else []


def check_own(hdsc, seed):
    rng = random.Random(seed)
    name, text, evaluate, least = own_definition(rng, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "own.hds")
        path.write_text(HEAD + text, encoding="utf-8")
        x = drawn(rng, shape_of(rng, least, 4))
        results = dict(out=evaluate(x))
        found = run_entry(hdsc, pathlib.Path(folder), path, name, [], dict(x=x, t=NUMBER), results)
        if found == "refused":
            found = run_entry(hdsc, pathlib.Path(folder), path, name, [f"S={len(x.shape)}"], dict(x=x, t=NUMBER), results)
    return [f"seed {seed}: {found}\n{text}"] if found else []


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("hdsc", type=os.path.abspath)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--count", type=int, default=80)
    a = arguments.parse_args()
    seeds = range(a.seed, a.seed + a.count)
    results = each(lambda s: check_library(a.hdsc, s // 2) if s % 2 else check_own(a.hdsc, s // 2), seeds)
    problems = [problem for found in results for problem in found]
    sys.exit(finish(problems, a.count - len(problems)))


if __name__ == "__main__":
    main()
