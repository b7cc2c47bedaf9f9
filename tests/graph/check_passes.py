#!/usr/bin/env python3
"""Random graphs before and after each pass, on the simulator, against the same formulas in Python. Usage: check_passes.py HDSC [N [SEED]]

A graph is lowered after none of the passes, after the first one, after the first two, and so on. All these programs give what Python
gives, and fusion takes no more launches than the graph has nodes that are no views.
"""

import math
import pathlib
import random
import re
import struct
import subprocess
import sys

import seeds
from check_models import flat, shape_of

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PASSES = re.findall(r'^FG_PASS\("([^"]*)"', (TOP / "src/graph/passes/passes.def").read_text(), re.MULTILINE)
IMPORTS = """from hidet.lang import f32
from activation import relu
from arithmetic import add, cast, maximum, multiply, subtract
from layout import permute, reshape, transpose
from matmul import linear, matmul
from reduction import max, sum
from softmax import softmax
"""


# ---- matrices as lists of rows -------------------------------------------------------------------------------------------

def rows_of(values, n):
    return [values[i : i + n] for i in range(0, len(values), n)]


def turned(x):
    return [list(column) for column in zip(*x)]


def product(a, b):
    return [[math.fsum(p * q for p, q in zip(row, column)) for column in zip(*b)] for row in a]


def each(f, *matrices):
    return [[f(*values) for values in zip(*rows)] for rows in zip(*matrices)]


def softmax(x):
    powers = [[math.exp(v - max(row)) for v in row] for row in x]
    return [[v / sum(row) for v in row] for row in powers]


def column(f):
    return lambda x: [[f(row)] for row in x]


# ---- random graphs ---------------------------------------------------------------------------------------------------------

# How the language calls an operator of {0} (and {1}), and what Python computes.
UNARY = [
    ("relu({0})", lambda x: each(lambda v: max(v, 0.0), x)),
    ("multiply({0}, 0.5)", lambda x: each(lambda v: v * 0.5, x)),
    ("add({0}, 0)", lambda x: x),
    ("multiply({0}, 1.0)", lambda x: x),
    ("cast({0}, f32)", lambda x: x),
    ("softmax({0})", softmax),
    ("transpose({0}, 0, 1)", turned),
    ("permute({0}, (1, 0))", turned),
    ("permute(permute({0}, (1, 0)), dims=(-1, 0))", lambda x: x),
]
BINARY = [
    ("add({0}, {1})", lambda x, y: each(lambda a, b: a + b, x, y)),
    ("subtract({0}, {1})", lambda x, y: each(lambda a, b: a - b, x, y)),
    ("maximum({0}, {1})", lambda x, y: each(max, x, y)),
]
PER_ROW = [
    ("reshape(sum({0}, axis=-1), shape=({2}, 1))", column(math.fsum)),
    ("reshape(max({0}, axis=-1), shape=({2}, 1))", column(max)),
]
PRODUCTS = [
    ("multiply(matmul({0}, {1}), 0.125)", lambda x, y: each(lambda v: v / 8, product(x, y)), False),
    ("multiply(linear({0}, {1}), 0.125)", lambda x, y: each(lambda v: v / 8, product(x, turned(y))), True),
    ("multiply(matmul({0}, {1}, transpose_b=True), 0.125)", lambda x, y: each(lambda v: v / 8, product(x, turned(y))), True),
    ("multiply(matmul({0}, transpose({1}, 0, 1)), 0.125)", lambda x, y: each(lambda v: v / 8, product(x, turned(y))), True),
]


class Model:
    """A graph function as text, with the values of its tensors."""

    def __init__(self, rng, size):
        self.rng, self.lines, self.values, self.inputs = rng, [], {}, {}
        for name, shape in (("x", (6, 8)), ("y", (6, 8)), ("w", (8, 8))):
            flat = [struct.unpack("<f", struct.pack("<f", rng.uniform(-1, 1)))[0] for _ in range(shape[0] * shape[1])]
            self.inputs[name] = self.values[name] = rows_of(flat, shape[1])
        while len(self.lines) < size:
            self.add(*self.step())

    def pick(self, wanted=lambda shape: True):
        """One of the tensors, rather a late one."""
        names = [name for name, x in self.values.items() if wanted(shape_of(x))]
        return names[-1 - min(int(self.rng.expovariate(0.5)), len(names) - 1)] if names else None

    def add(self, text, value, *names):
        name = f"v{len(self.lines)}"
        self.lines.append(f"    {name} = {text.format(*(list(names) + ['', ''])[:2], len(self.values[names[0]]))}")
        self.values[name] = value(*(self.values[n] for n in names))

    def step(self):
        kind, x = self.rng.random(), self.pick()
        M, N = shape_of(self.values[x])
        if kind < 0.2 and N > 1:
            return *self.rng.choice(PER_ROW), x
        if kind < 0.5:
            return *self.rng.choice(BINARY), x, self.pick(lambda s: s == (M, N))
        if kind < 0.7:
            text, value, is_turned = self.rng.choice(PRODUCTS)
            y = self.pick(lambda s: s[1 if is_turned else 0] == N)
            if y:
                return text, value, x, y
        if kind < 0.78:
            columns = self.rng.choice([n for n in range(1, M * N + 1) if M * N % n == 0])
            text = f"reshape({{0}}, shape=({M * N // columns}, {columns}))"
            return text, lambda v: rows_of([e for row in v for e in row], columns), x
        return *self.rng.choice(UNARY), x

    def results(self):
        """Those that nothing reads, and one that is read."""
        made = [f"v{k}" for k in range(len(self.lines))]
        words = " ".join(line.split("=", 1)[1] for line in self.lines).replace("(", " ").replace(")", " ").replace(",", " ").split()
        unread = [name for name in made if name not in words]
        return unread + [n for n in self.rng.sample(made, 1) if n not in unread]

    def text(self, results):
        kinds = ", ".join(f"{name}: f32[{len(x)}, {len(x[0])}]" for name, x in self.inputs.items())
        body = "\n".join(self.lines)
        return f"{IMPORTS}\n\n@hidet.graph\ndef model({kinds}):\n{body}\n    return {', '.join(results)}\n"


# ---- running ---------------------------------------------------------------------------------------------------------------

def write(path, x):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape_of(x)}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    values = flat(x)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))


def read(path):
    data = path.read_bytes()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def hdsc(*words):
    result = subprocess.run([sys.argv[1], *map(str, words), "-I", str(TOP / "ops")], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr)
    return result.stdout


def run(folder, program, model, results):
    (folder / "program.hds").write_text(program)
    outs = ["out"] if len(results) == 1 else [f"out{k}" for k in range(len(results))]
    words = [f"{name}=@{folder / name}.npy" for name in model.inputs] + [f"{o}=out:{folder / o}.npy" for o in outs]
    hdsc("run", folder / "program.hds", "--entry=model", *words)
    for name, out in zip(results, outs, strict=True):
        wanted = [v for row in model.values[name] for v in row]
        worst = max(abs(a - b) / (1 + abs(b)) for a, b in zip(read(folder / f"{out}.npy"), wanted, strict=True))
        if not worst < 1e-4:
            raise RuntimeError(f"{name} is off by {worst}")


def check(folder, seed):
    rng = random.Random(seed)
    model = Model(rng, rng.randrange(5, 14))
    results = model.results()
    (folder / "model.hds").write_text(model.text(results))
    for name, x in model.inputs.items():
        write(folder / f"{name}.npy", x)
    known, launches = set(), []
    for count in range(len(PASSES) + 1):
        program = hdsc("graph", folder / "model.hds", f"--passes={','.join(PASSES[:count])}", "--print=program")
        launches.append(program.count(".launch("))
        if program not in known:
            run(folder, program, model, results)
        known.add(program)
    if launches != sorted(launches, reverse=True):
        raise RuntimeError(f"launches after each pass: {launches}")
    if hdsc("graph", folder / "model.hds", "--print=program") != program:
        raise RuntimeError("the passes one by one give another program than all of them")
    return launches[0], launches[-1]


def main():
    launches, failed = seeds.run(check)
    before, after = (sum(counts) for counts in zip(*launches)) if launches else (0, 0)
    print(f"{len(launches)} passed, {failed} failed; {before} launches before the passes, {after} after them")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
