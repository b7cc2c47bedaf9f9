"""Random run-time expressions: what the simulator computes is what Python's exact integers and correctly rounded floats say.

Each kernel reads operands from tensors, so that nothing is known while compiling, and stores one expression of one type:
integers of all widths (wrapping to their width, // and % rounding down, shifts, bits, comparisons, min, max, where,
conversions) and f32, f64, f16 and bf16 (+ - * / // %, min, max, comparisons, conversions). Signed sums that would leave
their type are not made. The emitted CUDA text of those without narrow floats is compiled as C++ for the host, and has to
give the same. Usage: check_expressions.py HDSC [--seed N] [--count N] [--cpp N]
"""

import argparse
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import finish, run  # noqa: E402

INTS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
BATCH = 40


def bounds(kind):
    bits = int(kind[1:])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "i" else (0, 2**bits - 1)


def f32_of(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def rounded(kind, x):
    if kind == "f64" or math.isnan(x) or math.isinf(x):
        return x
    if kind == "f32":
        return f32_of(x)
    if kind == "f16":
        try:
            return struct.unpack("e", struct.pack("e", x))[0]
        except OverflowError:
            return math.copysign(math.inf, x)
    digits, exponent = math.frexp(x)  # bf16: 8 bits, exponents of f32
    exponent = max(exponent, -125)
    unit = math.ldexp(1.0, exponent - 8)
    return f32_of(round(x / unit) * unit)


def floored(a, b):
    return divmod(a, b) if b and math.isfinite(a) else (a / b if b else math.nan, math.nan)


class Maker:
    """Expressions as pairs of text and value; None for the value where the language leaves it open."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.operands = []  # (kind, value)

    def below(self, n):
        return int(self.rng.random() * n)

    def pick(self, items):
        return items[self.below(len(items))]

    def value(self, kind):
        if kind in FLOATS:
            x = self.pick(
                [0.0, 1.0, -1.0, 0.1, 0.5, 2.5, -3.0, 7.0, 100.0, 1e-3, self.rng.random() * 200 - 100, self.below(50) - 25.0]
            )
            return rounded(kind, x)
        low, high = bounds(kind)
        return self.pick(
            [low, high, low + 1, high - 1, 0, 1, 2, 7, max(low, -3), low + int(self.rng.random() * (high - low)), self.below(100)]
        )

    def operand(self, kind):
        self.operands.append((kind, self.value(kind)))
        return f"a{len(self.operands) - 1}[0]", self.operands[-1][1]

    def make(self, kind, depth):
        if depth == 0 or self.rng.random() < 0.15:
            return self.operand(kind)
        return self.number(kind, depth - 1) if kind in FLOATS else self.integer(kind, depth - 1)

    def fits(self, kind, value):
        low, high = bounds(kind)
        return value if low <= value <= high else value & high if kind[0] == "u" else None

    def choice(self, kind, d):
        of = self.pick(INTS + FLOATS)
        (a, x), (b, y) = self.make(of, d), self.make(of, d)
        op, holds = self.pick([("<", x < y), ("<=", x <= y), ("==", x == y), ("!=", x != y), (">", x > y), (">=", x >= y)])
        (t, u), (f, v) = self.make(kind, d), self.make(kind, d)
        return f"({t} if {a} {op} {b} else {f})", u if holds else v

    def integer(self, kind, d):
        how = self.below(10)
        (a, x), bits = self.make(kind, d), int(kind[1:])
        if how == 0:
            return self.choice(kind, d)
        if how == 1:
            by = self.below(bits)
            return self.pick([(f"({a} >> {by})", x >> by), (f"({a} & {by})", x & by)])
        if how == 2:
            source = self.pick(INTS)
            b, y = self.make(source, d)
            low, high = bounds(kind)
            y &= 2**bits - 1
            return f"{kind}({b})", y - 2**bits if y > high else y
        if how == 3:
            return f"(~({a} | 0))", x ^ (2**bits - 1) if kind[0] == "u" else ~x
        b, y = self.make(kind, d)
        op, z = self.pick(
            [
                ("&", x & y),
                ("|", x | y),
                ("^", x ^ y),
                ("min", min(x, y)),
                ("max", max(x, y)),
                ("+", self.fits(kind, x + y)),
                ("-", self.fits(kind, x - y)),
                ("*", self.fits(kind, x * y)),
                ("//", y and self.fits(kind, x // y)),
                ("%", y and x % y if not (y == -1) else None),
            ]
        )
        if z is None or (op in ("//", "%") and y == 0):
            return a, x
        return (f"{op}({a}, {b})" if op in ("min", "max") else f"({a} {op} {b})"), z

    def number(self, kind, d):
        how = self.below(10)
        if how == 0:
            return self.choice(kind, d)
        if how == 1:
            b, y = self.make(self.pick(FLOATS), d)
            return f"{kind}({b})", rounded(kind, y)
        if how == 2:
            a, x = self.make(kind, d)
            return f"(-{a})", -x
        (a, x), (b, y) = self.make(kind, d), self.make(kind, d)
        if (
            not (math.isfinite(x) and math.isfinite(y))
            or max(abs(x), abs(y)) > 1e4
            or (y and abs(y) < 1e-4)
            or (x and abs(x) < 1e-4)
        ):
            return a, x  # doubles round sums and products of the others once
        op = self.pick(["+", "-", "*", "/", "//", "%", "min", "max"])
        if op in ("/", "//", "%") and y == 0 or (op in ("min", "max") and x == y):
            return a, x
        if op in ("//", "%"):
            q, r = floored(x, y)
            if kind != "f64" and (f32_of(r) != r or abs(q) > 2**23):
                return a, x  # the remainder is rounded, which Python's double is not
            z = q if op == "//" else r
        else:
            z = {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else 0, "min": min(x, y), "max": max(x, y)}[op]
        return (f"{op}({a}, {b})" if op in ("min", "max") else f"({a} {op} {b})"), rounded(kind, z)


def literal(kind, value):
    if kind in FLOATS:
        return f"{kind}({value!r})" if math.isfinite(value) else f"{kind}(float('{value}'))"
    return f"{kind}({value})" if -(2**63) < value < 2**63 else f"{kind}({value // 2} + {value - value // 2})"


def made(seed):
    """(what has the operands, type, text, value) of one expression."""
    maker = Maker(seed)
    kind = maker.pick(INTS + FLOATS)
    return maker, kind, *maker.make(kind, 3)


def program(seed):
    """A kernel and its test."""
    maker, kind, text, value = made(seed)
    params = [f"a{i}: {k}[1]" for i, (k, _) in enumerate(maker.operands)]
    lines = [
        "@hidet.script",
        f"def k{seed}({', '.join(params)}, result: {kind}[1]):",
        "    attrs.cuda.grid_dim = 1",
        "    attrs.cuda.block_dim = 1",
        f"    result[0] = {text}",
        "",
        "",
        "@test",
        f"def t{seed}():",
    ]
    for i, (k, v) in enumerate(maker.operands):
        lines += [f"    a{i} = zeros({k}, [1])", f"    a{i}[0] = {literal(k, v)}"]
    names = "".join(f"a{i}, " for i in range(len(maker.operands)))
    equal = "result[0] != result[0]" if value != value else f"result[0] == {literal(kind, value)}"
    lines += [f"    result = zeros({kind}, [1])", f"    k{seed}({names}result)", f"    assert {equal}", "", ""]
    return "\n".join(lines)


# ---- the emitted text as C++ for the host ------------------------------------------------------------------------------

SHIM = """#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define PAIR(T) static inline T min(T a, T b) { return b < a ? b : a; } static inline T max(T a, T b) { return a < b ? b : a; }
PAIR(int) PAIR(unsigned int) PAIR(long long) PAIR(unsigned long long)
"""
CTYPES = {
    "i8": "signed char",
    "u8": "unsigned char",
    "i16": "short",
    "u16": "unsigned short",
    "i32": "int",
    "u32": "unsigned int",
    "i64": "long long",
    "u64": "unsigned long long",
    "f32": "float",
    "f64": "double",
}


def c_literal(kind, value):
    if kind in FLOATS:
        if not math.isfinite(value):
            return "NAN" if value != value else "-INFINITY" if value < 0 else "INFINITY"
        return f"({CTYPES[kind]}){value.hex()}"
    return f"({CTYPES[kind]}){value % 2**64}ull"


def compare_as_cpp(hdsc, compiler, seeds):
    """The kernels without narrow floats, which need instructions of the device, called like functions."""
    chosen = [(s, *made(s)) for s in seeds]
    chosen = [c for c in chosen if all(k in CTYPES for k in [c[2], *(k for k, _ in c[1].operands)]) and "f16(" not in c[3]]
    calls = []
    for seed, maker, kind, _, value in chosen:
        args = [f"&a{i}" for i in range(len(maker.operands))]
        calls.append(
            "{"
            + " ".join(f"{CTYPES[k]} a{i} = {c_literal(k, v)};" for i, (k, v) in enumerate(maker.operands))
            + f" {CTYPES[kind]} r, w = {c_literal(kind, value)}; k{seed}({', '.join([*args, '&r'])}); "
            f'if (!(r == w || (r != r && w != w))) printf("{seed}\\n"); }}'
        )
    with tempfile.TemporaryDirectory() as folder:
        source, text = pathlib.Path(folder, "k.hds"), pathlib.Path(folder, "k.cu")
        source.write_text(HEAD + "".join(program(s[0]).split("@test")[0] for s in chosen), encoding="utf-8")
        subprocess.run([hdsc, source, "--emit=cu", "-o", text, "--arch=sm_80"], check=True, capture_output=True)
        lines = [line for line in text.read_text(encoding="utf-8").splitlines() if not line.startswith("#line")]
        whole = pathlib.Path(folder, "k.cpp")
        whole.write_text(SHIM + "\n".join(lines) + "\nint main()\n{\n" + "\n".join(calls) + "\n}\n", encoding="utf-8")
        program_path = pathlib.Path(folder, "k")
        subprocess.run(
            [compiler, "-w", "-O1", "-fwrapv", "-ffp-contract=off", "-D__restrict__=", whole, "-o", program_path], check=True
        )
        wrong = subprocess.run([program_path], check=True, capture_output=True, text=True).stdout.split()
    return [f"seed {seed}: the emitted text gives another value\n{program(int(seed))}" for seed in wrong], len(chosen)


HEAD = """from hidet.lang import attrs, bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from hidet.lang.testing import test, zeros


"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hdsc")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--cpp", type=int, default=600, help="so many of them also as C++ for the host, if there is a compiler")
    options = parser.parse_args()
    problems = []
    seeds = range(options.seed, options.seed + options.count)
    for first in range(0, len(seeds), BATCH):
        batch = seeds[first : first + BATCH]
        result = run(options.hdsc, HEAD + "".join(program(s) for s in batch), ["test"])
        if result.status and not result.diagnostics:
            problems.append(f"seeds {batch}: {result.text[-500:]}")
        problems += [f"seeds {batch}: line {d['line']}: {d['message']}" for d in result.diagnostics if d["severity"] == "error"]
    compiler, compared = shutil.which("g++") or shutil.which("clang++"), 0
    if compiler:
        wrong, compared = compare_as_cpp(options.hdsc, compiler, seeds[: options.cpp])
        problems += wrong
    sys.exit(finish(problems, len(seeds) + compared - len(problems)))


if __name__ == "__main__":
    main()
