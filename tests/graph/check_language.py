#!/usr/bin/env python3
"""Random graph functions: the text of each is run by Python, on nested lists, and by hdsc, as a graph. Usage: check_language.py HDSC

Elements are small integers in f32, so that both give the same numbers. Some functions have sizes that stay open; what needs their
values is refused with a sentence that says so, and is not counted.
"""

import itertools
import operator
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

MOST = 1 << 20  # elements stay below, so that sums of them are exact


class Tensor:
    """Extents and the elements row by row, with the operators and methods of a graph's tensor."""

    def __init__(self, shape, values):
        self.shape, self.values = tuple(shape), list(values)

    rank = property(lambda self: len(self.shape))

    def at(self, index):
        n = 0
        for i, extent in zip(index, self.shape):
            n = n * extent + i
        return self.values[n]

    def made(self, shape, element):
        return Tensor(shape, [element(*i) for i in itertools.product(*map(range, shape))])

    def each(self, f, other=None, is_reflected=False):
        if not isinstance(other, Tensor):
            value = lambda v: f(v) if other is None else f(other, v) if is_reflected else f(v, other)
            return Tensor(self.shape, map(value, self.values))
        rank = max(self.rank, other.rank)
        extents = [[1] * (rank - x.rank) + list(x.shape) for x in (self, other)]
        element = lambda x, i: x.at([0 if n == 1 else k for n, k in zip(x.shape, i[rank - x.rank :])])
        return self.made([max(*pair) for pair in zip(*extents)], lambda *i: f(element(self, i), element(other, i)))

    def __getitem__(self, index):
        items = list(index) if isinstance(index, tuple) else [index]
        used = sum(i is not None and i is not ... for i in items)
        dots = items.index(...) if ... in [i for i in items if not isinstance(i, Tensor)] else len(items)
        items[dots : dots + 1] = [slice(None)] * (self.rank - used)
        shape, sources = [], []  # a source gives the index along an axis of self
        for i in items:
            axis = len(sources)
            if i is None:
                shape.append(1)
            elif isinstance(i, slice):
                steps = range(*i.indices(self.shape[axis]))
                sources.append(lambda at, k=len(shape), steps=steps: steps[at[k]])
                shape.append(len(steps))
            elif isinstance(i, Tensor):
                sources.append(lambda at, k=len(shape), i=i: int(i.at(at[k : k + i.rank])))
                shape.extend(i.shape)
            else:
                sources.append(lambda at, i=i, n=self.shape[axis]: i % n)
        return self.made(shape, lambda *at: self.at([source(at) for source in sources]))

    def reshape(self, *shape):
        known = 1
        for n in shape:
            known *= n if n >= 0 else 1
        return Tensor([len(self.values) // known if n < 0 else n for n in shape], self.values)

    def permute(self, *dims):
        index = lambda i: [i[dims.index(k)] for k in range(self.rank)]
        return self.made([self.shape[d] for d in dims], lambda *i: self.at(index(i)))

    T = property(lambda self: self.permute(*reversed(range(self.rank))))

    def flatten(self):
        return Tensor([len(self.values)], self.values)

    def unsqueeze(self, dim):
        at = dim % (self.rank + 1)
        return Tensor([*self.shape[:at], 1, *self.shape[at:]], self.values)

    def squeeze(self):
        return Tensor([n for n in self.shape if n != 1], self.values)

    def expand(self, *size):
        new = len(size) - self.rank
        return self.made(size, lambda *i: self.at([0 if n == 1 else k for n, k in zip(self.shape, i[new:])]))

    def reduced(self, f, axis, keepdims):
        axis %= self.rank
        rest = [1 if k == axis else n for k, n in enumerate(self.shape)]
        row = lambda i: [self.at([j if k == axis else i[k] for k in range(self.rank)]) for j in range(self.shape[axis])]
        y = self.made(rest, lambda *i: f(row(i)))
        return y if keepdims else Tensor([n for k, n in enumerate(self.shape) if k != axis], y.values)

    def sum(self, axis, keepdims=False):
        return self.reduced(sum, axis, keepdims)

    def max(self, axis, keepdims=False):
        return self.reduced(max, axis, keepdims)

    def min(self, axis, keepdims=False):
        return self.reduced(min, axis, keepdims)

    def to(self, dtype):
        return Tensor(self.shape, map(float, self.values))

    def __neg__(self):
        return self.each(operator.neg)

    def __abs__(self):
        return self.each(abs)


def add_operators():
    for name in ("add", "sub", "mul", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge"):
        f = getattr(operator, name)
        setattr(Tensor, f"__{name}__", lambda self, other, f=f: self.each(f, other))
        setattr(Tensor, f"__r{name}__", lambda self, other, f=f: self.each(f, other, True))


# ---- random text -----------------------------------------------------------------------------------------------------------

def factors(rng, n):
    """Extents whose product is n, of which one may be written as -1."""
    extents = []
    for p in (2, 3, 5, 7):
        while n % p == 0:
            n //= p
            extents.insert(rng.randrange(len(extents) + 1), p)
    while len(extents) > 1 and rng.random() < 0.6:
        k = rng.randrange(len(extents) - 1)
        extents[k : k + 2] = [extents[k] * extents[k + 1]]
    extents = (extents or [1])[:5] if len(extents) < 6 else [n]
    if rng.random() < 0.5:
        extents[rng.randrange(len(extents))] = -1
    return extents


def brackets(rng, x):
    items = []
    for n in x.shape:
        kind = rng.choice(("all", "all", "part", "steps", "back", "number"))
        if kind == "number" and n > 0:
            items.append(str(rng.randrange(-n, n)))
        elif kind == "part":
            a = rng.randrange(n)
            items.append(rng.choice((f"{a}:", f":{a + 1}", f"{a}:{rng.randrange(a + 1, n + 1)}", f"{a - n}:")))
        else:
            items.append({"steps": f"::{rng.randrange(1, 4)}", "back": "::-1"}.get(kind, ":"))
    while items and items[-1] == ":" and rng.random() < 0.5:
        items.pop()
    if rng.random() < 0.3:
        items.insert(rng.randrange(len(items) + 1), "None")
    elif rng.random() < 0.3 or not items:
        items.append("...")
    return f"[{', '.join(items)}]"


def statement(rng, values):
    """The right side of an assignment, from names of tensors to a tensor."""
    name, x = rng.choice(list(values.items()))
    number = rng.choice((2, 3, 5))
    forms = [f"{name} {rng.choice(('+', '-', '*'))} {number}", f"{number} {rng.choice('-*')} {name}", f"{name} // {number}",
             f"{name} % {number}", f"-{name}", f"abs({name})", f"({name} {rng.choice(('<', '<=', '==', '!=', '>'))} {number}).to(f32)"]
    others = [n for n, y in values.items() if all(a == b or 1 in (a, b) for a, b in zip(x.shape[::-1], y.shape[::-1]))]
    forms += [f"{name} {rng.choice(('+', '-'))} {rng.choice(others)}" for _ in range(4)]
    if x.rank:
        axis = rng.randrange(-x.rank, x.rank)
        dims = rng.sample(range(x.rank), x.rank)
        forms += [name + brackets(rng, x) for _ in range(4)]
        forms += [f"{name}.{rng.choice(('sum', 'max', 'min'))}({axis}, keepdims={rng.random() < 0.5})"] * 2
        forms += [f"{name}.reshape({', '.join(map(str, factors(rng, len(x.values))))})", f"{name}.permute({', '.join(map(str, dims))})",
                  f"{name}.T", f"{name}.flatten()", f"{name}.unsqueeze({axis})", f"{name}.squeeze()"]
        if x.shape[0] >= 3:
            forms.append(f"{name}[k]")
        if 1 in x.shape and x.rank < 4:
            forms.append(f"{name}.expand({', '.join(str(2 if n == 1 else n) for n in x.shape)})")
    return rng.choice(forms)


def program(rng, is_open, count=10):
    """(text, operands, results)"""
    shapes = dict(x=(4, 6), y=(6,), z=(2, 1, 6))
    values = {name: Tensor(s, [float(rng.randrange(-4, 5)) for _ in range(len(list(itertools.product(*map(range, s)))))])
              for name, s in shapes.items()}
    k = Tensor((2, 2), [rng.randrange(3) for _ in range(4)])
    operands, lines = dict(values, k=k), []
    while len(lines) < count:
        right = statement(rng, values)
        y = eval(right, dict(f32=None, k=k, abs=abs), values)
        if not y.values or y.rank > 5 or len(y.values) > 500 or max(map(abs, y.values)) > MOST:
            continue
        values[f"v{len(lines)}"] = y
        lines.append(f"    v{len(lines)} = {right}")
    results = {name: values[name] for name in values if name[0] == "v"}
    extents = {4: "M", 6: "N"} if is_open else {}
    types = ", ".join(f"{name}: f32[{', '.join(str(extents.get(n, n)) for n in s)}]" for name, s in shapes.items())
    sizes = "[M: int, N: int]" if is_open else ""
    returned = ", ".join(f'"{name}_": {name}' for name in results)
    text = f"from hidet.lang import f32, i32\n\n\n@hidet.graph\ndef model{sizes}({types}, k: i32[2, 2]):\n"
    return text + "\n".join(lines) + f"\n    return {{{returned}}}\n", operands, results


# ---- both --------------------------------------------------------------------------------------------------------------------

def write(path, x, code):
    header = f"{{'descr': '<{code}4', 'fortran_order': False, 'shape': {x.shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = struct.pack(f"<{len(x.values)}{code}", *x.values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read(path):
    data = path.read_bytes()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    shape = data[10:begin].decode().split("'shape': ")[1].split("}")[0].rstrip().rstrip(",")
    return eval(shape), list(struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:]))


REFUSED = "-D gives open sizes values"


def check(hdsc, seed, folder, is_open):
    """None, or what is wrong."""
    text, operands, results = program(random.Random(seed), is_open, 3 if is_open else 10)
    (folder / "model.hds").write_text(text)
    words = [hdsc, "run", folder / "model.hds"]
    for name, x in operands.items():
        write(folder / f"{name}.npy", x, "i" if name == "k" else "f")
        words.append(f"{name}=@{folder / name}.npy")
    words += [f"{name}_=out:{folder / name}_.npy" for name in results]
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if result.returncode:
        return f"{text}\n{result.stderr}"
    for name, x in results.items():
        shape, values = read(folder / f"{name}_.npy")
        if shape != x.shape or values != x.values:
            return f"{text}\n{name}: {shape} {values}\nexpected {x.shape} {x.values}"
    return None


def main():
    add_operators()
    first, count = (int(v) for v in (sys.argv[2:4] or (0, 12)))
    failed = refused = 0
    for seed in range(first, first + 2 * count):
        with tempfile.TemporaryDirectory() as folder:
            problem = check(sys.argv[1], seed, pathlib.Path(folder), seed % 2 == 1)
        is_refused = problem is not None and seed % 2 == 1 and REFUSED in problem
        refused += is_refused
        failed += problem is not None and not is_refused
        if problem and not is_refused:
            print(f"seed {seed}:\n{problem}")
    print(f"{2 * count - failed - refused} passed, {refused} refused, {failed} failed")
    sys.exit(1 if failed or refused > 0.8 * count else 0)


if __name__ == "__main__":
    main()
