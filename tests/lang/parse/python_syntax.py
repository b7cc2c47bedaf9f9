"""Accepts and refuses what Python's syntax does: each snippet is given to our parser and to ruff's (Python 3.13).

Usage: python_syntax.py --ruff RUFF PARSER...    where `PARSER... FILE` parses a file, as 'hdsc --dump=ast' does.

A snippet of the language's own subset must be accepted by both, a broken one refused by both. What Python has and the
language has not must be accepted by ruff, and refused by us with HDS0015 (HDS0031 for names beyond ASCII) and nothing else.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ACCEPTED = r"""
a.b[c](d).e
x = y = z
a, *b = c
[a, (b, *c)] = d
a[i], b.c = d
x += 1; y -= 2; z **= 3; w //= 4; v @= 5; u <<= 1; t >>= 1; s &= 1; r |= 1; q ^= 1; p %= 1; o /= 1; n *= 1
x: int = 3
x: int
(x): int = 3
a.b: int
a[0]: int = 1
x = a if b else c
x = lambda: 0
x = lambda a, b=1, /, *c, d, **e: a
x = lambda *i, j: j
x = lambda *, a: a
x = lambda a,: a
x = not a in b
x = a < b <= c is not d not in e
x = -a ** -b
x = ~a + +b @ c
x = [i for i in range(3) if i if not i]
x = {a: b for a, b in c}
x = {a for a in b}
x = (a for (a, b), *c in d)
x = [a for a in b for c in d]
f(a for a in b)
f(a, *b, c=1, **d)
f(a, *b, c=1, *d, **e)
f(a=1, *b)
f(**a, b=1)
f((a for a in b), c)
f(a := 1)
f(a,)
x = (y := 1)
x = [y := 1, y]
x = a[1:2, ::3, ...]
x = a[b:=1]
x = a[*b, c]
x = a[b:c:d]
x = a[:]
x = ()
x = (1,)
x = 1,
x = {}
x = {**a, 'b': 1}
x = [*a, *b]
x = *a, *b
x = {*a, b}
x = f"{a!r:>{w}.{p}} {b=} {{}}"
x = f'{a["b"]}' f"{'c'}" 'd'
x = f"{f"{1}"}"
x = f'''{
a
}'''
x = rf"\{a}\d"
x = f"{a:%Y-%m}{b,}{*c, d}"
x = f"{lambda_}{(lambda: 1)()}"
x = rb'a' b"b"
x = u'a' R'b'
x = 0x_ff + 0o17 + 0b1 + 1_000 + 1.5e-3 + .5 + 1. + 2j + 0_0
x = 1if a else 2
x = (1
  + 2)
x = 1 + \
  2
if a: b
if a: b; c
if a:\n  b\nelif c:\n  d\nelse:\n  e
if (a := b) > 1: pass
if a := b: pass
while a: break\nelse: continue_
for i in 1, 2, 3: pass
for i, (j, *k) in a: pass\nelse: pass
for i, in a: pass
for a.b in c: pass
for a[i] in *b, c: pass
with a: pass
with a as b, c as (d, e): pass
with (a as b): pass
with (a as b, c as d,): pass
with (a, b): pass
with (a).b as c: pass
with (a, b) as c: pass
with (a): pass
with a() as b.c, d as e[0]: pass
def f(a, b: int = 1, /, c=2, *args: int, d, e=3, **kw: dict) -> int: pass
def f(*, a): pass
def f(a, /): pass
def f(*args: *Ts): pass
def f(a,): return
def f[T, U: int, *V, W: (int, str) = int](): pass
def f[T = int, *U = *V](): pass
class A: pass
class A(): pass
class A[T](B, metaclass=C): x: int = 1
@a\ndef f(): pass
@a.b(c)[d]\n@(lambda f: f)\nclass A: pass
@x if y else z\ndef f(): pass
def f():\n  "doc"\n  return *a, b
import a.b.c as d, e
from . import a
from .... import a
from ..b.c import (d as e, f,)
from a import *
assert a, b
pass; pass
match = 1
match.a = match[b]
print(match, type, case)
type = type(x)
_ = 1
global_ = nonlocal_ = 1
# comment only
x = "a" \
  "b"
x = a.\
b
if a:\n\tb\n\tc
if a:\n    b\n  # odd comment\n    c
x = [\n1,\n\n# c\n2\n]
x = ...
x = a if b else c if d else e
x = yes = no = None
return_ = not not a
x = a or b and not c
x = *a,
x[:, None] = 1
del_ = True
""".strip("\n")

REFUSED = r"""
x = 
x = = 1
x = 1 2
x y
f(
f(a b)
f(a=1, b)
f(**a, *b)
f(**a, b)
f(a for a in b, c)
f(a=1, a=2)
f(1=2)
f(a.b=2)
x = [a for]
x = [a b]
x = [*a for a in b]
x = {a: b, c}
x = {**a for a in b}
x = (a as b)
x = a if b
x = a not b
x = a + not b
x = -not a
x = a + lambda: b
x = lambda a, a: 1
x = lambda a=1, b: 1
x = lambda *: 1
x := 1
x = y := 1
(a + b) = 1
f() = 1
1 = x
None = 1
True += 1
"a" = 1
a + 1 += 2
(a, b) += 1
a, b: int
[a]: int
*a = b
x = *a
x = (*a)
a if b else c = d
[a for a in b] = c
x = a[]
x = a[b c]
if a
if a = b: pass
if a:\nb
if a:
else: pass
if a: pass\nelse if b: pass
if a: if b: pass
for i: pass
for 1 in a: pass
for f() in a: pass
for i in: pass
while: pass
with: pass
with a as 1: pass
with a as f(): pass
def f: pass
def f(: pass
def f(a, a): pass
def f(a=1, b): pass
def f(*): pass
def f(*, **a): pass
def f(/, a): pass
def f(a, /, b, /): pass
def f(*a, *b): pass
def f(**a, b): pass
def f(a) -> : pass
def f[](): pass
def f[T, T](): pass
def f[T = int, U](): pass
def 1(): pass
class: pass
class A(: pass
@a
@a\nx = 1
import
import a as
import a.b as c.d
from a import
from a import b,
from a import (b
from a import ()
from import a
return return
assert
pass pass
a b: c
x = "abc
x = '''abc
x = "a" b"b"
x = b"é"
x = "\x4"
x = "\u12"
x = f"{"
x = f"{}"
x = f"}"
x = f"{a!x}"
x = f"{a b}"
x = f"{a!}"
x = 012
x = 1__0
x = 1_
x = 0x
x = 0b2
x = 1abc
x = (1]
x = 1)
x = [1
x = }
x = a ? b
x = $a
x = a!
x = a \ b
x++
  x = 1
if a:\n    b\n  c
if a:\n\tb\n        c
x = 1\n  y = 2
else: pass
elif a: pass
except: pass
a <> b
a && b
!a
print a
def f():
lambda
not
x = a.
x = a.1
x = .
x = for
class = 1
a.class
f(def)
x = “a”
""".strip("\n")

UNSUPPORTED = r"""
größe = αβ
try: a\nexcept b: c
try: a\nexcept (b, c) as d: e\nelse: f\nfinally: g
try: a\nexcept* b: c
try: a\nfinally: b
raise
raise a
raise a from b
del a, b[0]
global_a = 1\ndef f():\n  global a, b
def f():\n  def g():\n    nonlocal a\n  a = 1
def f(): yield
def f(): x = yield a, b
def f(): yield from a
def f(): return (yield)
async def f(): pass
async def f(): await a
async def f():\n  async for a in b: pass
async def f():\n  async with a as b: pass
async def f(): return [a async for a in b]
type X = int
type X[T] = list[T]
match a:\n  case 1: pass
match a, b:\n  case [1, *c] if d:\n    pass\n  case {"a": b, **c}:\n    pass\n  case _: pass
def f[**P](): pass
""".strip("\n")


def snippets(text):
    """One a line; '\\n' separates lines and '\\t' is a tab, and lines that are not complete go on with the next."""
    whole = []
    for line in text.split("\n"):
        continues = whole and (whole[-1].endswith("\\") or whole[-1].count("'''") == 1 and "{" in whole[-1]
                               or (line[:1] == " " and whole[-1].startswith("x = (1")))
        if continues:
            whole[-1] += "\n" + line
        else:
            whole.append(line)
    return [s.replace("\\n", "\n").replace("\\t", "\t") + "\n" for s in whole]


def ruff_refuses(ruff, folder):
    command = [ruff, "check", "--isolated", "--no-cache", "--extension", "hds:python", "--target-version", "py313", "--select",
               "E9", "--output-format", "concise", str(folder)]
    out = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return {int(n) for n in re.findall(r"(\d+)\.hds:\d+:\d+: .*[Ss]yntax|\b(\d+)\.hds:\d+", out) for n in n if n}


def our_codes(parser, path):
    done = subprocess.run([*parser, str(path)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return ["crash"]
    return re.findall(r"error\[(\w+)\]", done.stderr)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--ruff", required=True)
    arguments.add_argument("parser", nargs="+")
    args = arguments.parse_args()
    cases = [(s, kind) for kind, text in (("accepted", ACCEPTED), ("refused", REFUSED), ("unsupported", UNSUPPORTED))
             for s in snippets(text)]
    problems = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for i, (text, _) in enumerate(cases):
            (folder / f"{i}.hds").write_text(text, encoding="utf-8")
        refused = ruff_refuses(args.ruff, folder)
        for i, (text, kind) in enumerate(cases):
            codes = our_codes(args.parser, folder / f"{i}.hds")
            ours = {"accepted": not codes, "refused": bool(codes) and "crash" not in codes and "HDS0015" not in codes,
                    "unsupported": set(codes) in ({"HDS0015"}, {"HDS0031"})}[kind]
            theirs = (i in refused) == (kind == "refused")
            if not ours or not theirs:
                problems += 1
                print(f"should be {kind}; we: {codes or 'accept'}, ruff: {'refuses' if i in refused else 'accepts'}\n{text}")
    print(f"{len(cases)} snippets, {problems} problems")
    sys.exit(problems != 0)


if __name__ == "__main__":
    main()
