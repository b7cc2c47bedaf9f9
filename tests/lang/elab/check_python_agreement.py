"""Compile-time evaluation agrees with Python.

Every expression of the tables below, and every combination that the generators make, is printed by hdsc (print at module
level is a note HDS0290) and by the Python that runs this script. Where Python raises an exception, hdsc must report an
error on that line. The programs further down are compared by all that they print.

Random programs (python_programs.py) are compared with Python 3.13, which the language follows. Where there is none, the
answers to the first 600 are in python_answers.json, made by

    python3.13 check_python_agreement.py --answers 0 600 > python_answers.json

and `--seed N --count N` compares any others: `check_python_agreement.py build/release/bin/hdsc --seed 5000 --count 20000`.
"""

import argparse
import contextlib
import io
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import python_programs  # noqa: E402
from compiler import finish, run  # noqa: E402

EXPRESSIONS = r"""
1 + 2
2 ** 100
2 ** -1
2 ** 0.5
0 ** 0
(-2) ** 3
-2 ** 2
7 / 2
-7 / 2
1 / 3
1e16
1e15
123456789012345678.0
1e22
1.0
0.1 + 0.2
1e-5
0.0001
1.5e300 * 1e10
-0.0
float("inf")
float("-inf")
float("nan")
float("1e3")
float(" 2.5 ")
float("abc")
float(True)
int("42")
int("-42")
int(" 42 ")
int("1_000")
int("0x1f", 16)
int("ff", 16)
int("101", 2)
int("z")
int("")
int(3.9)
int(-3.9)
int(True)
int()
float()
str()
bool()
bool("")
bool("a")
bool([])
bool([0])
bool(0.0)
bool(None)
True + True
True * 3
-True
+True
~True
not 1
not ""
not None
~5
~-1
+5
-5
1 == 1.0
1 == True
"1" == 1
None == None
[1, 2] == [1, 2]
[1, 2] == (1, 2)
(1, 2) < (1, 3)
(1, 2) < (1, 2, 0)
[1, 2] >= [1]
"a" < "b"
"abc" < "abd"
"Z" < "a"
"" < "a"
1 < 2 < 3
1 < 3 < 2
3 > 2 > 1
1 < 2 > 1
1 == 1 == 1
1 != 2 != 1
1 in [1, 2]
3 not in [1, 2]
"b" in "abc"
"" in "abc"
"d" in "abc"
1 in {1: 2}
2 in {1: 2}
3 in range(0, 10, 3)
4 in range(0, 10, 3)
9 in range(9, 0, -3)
None is None
1 is None
None is not None
"a" < 1
1 and 2
0 and 2
0 or 2
1 or 2
"" or "x"
[] or None
not (1 and 0)
1 if 2 else 3
1 if 0 else 3
5 & 3
5 | 3
5 ^ 3
True & False
True | False
True ^ True
True & 3
1 << 10
1 << 0
-8 >> 1
-1 >> 5
1 << -1
1 >> -1
5 // 0
5 % 0
5 / 0
5.0 // 0.0
5.0 % 0.0
divmod(7, 2)
divmod(-7, 2)
divmod(7.5, 2)
pow(2, 10)
pow(2, 10, 1000)
pow(2.0, 0.5)
abs(-5)
abs(5)
abs(-2.5)
abs(-0.0)
abs(True)
round(2.5)
round(3.5)
round(-2.5)
round(2.567, 2)
round(2.675, 2)
round(1234.5, -2)
round(1234, -2)
round(7)
round(True)
min(3, 1, 2)
max(3, 1, 2)
min([3, 1, 2])
max((3.5, 1))
max("abc")
min("b", "a")
min([])
min(1, 1.0)
max(1, 1.0)
max([1, 5, 3], key=lambda x: -x)
min([], default=7)
sum([1, 2, 3])
sum([])
sum([1.5, 2])
sum([[1], [2]], [])
sum([1, 2], 10)
sum((1, 2), start=3)
any([])
any([0, 1])
all([])
all([1, 0])
all(x > 0 for x in [1, 2])
any(x > 1 for x in [1, 2])
sorted([3, 1, 2])
sorted([3, 1, 2], reverse=True)
sorted(["b", "a"])
sorted(["bb", "a"], key=len)
sorted([(1, "b"), (1, "a")])
sorted([1, 2, 3, 4], key=lambda x: x % 2)
sorted([1, 2, 3, 4], key=lambda x: x % 2, reverse=True)
sorted("hello")
sorted({3: 1, 1: 2})
list(reversed([1, 2, 3]))
list(reversed(range(3)))
list(reversed("abc"))
list(range(5))
list(range(2, 5))
list(range(5, 2, -1))
list(range(0, 10, 3))
list(range(0))
list(range(5, 0))
range(5)
range(1, 5)
range(1, 5, 2)
len(range(10))
len(range(0, 10, 3))
len(range(10, 0, -3))
range(10)[3]
range(10)[-1]
range(10)[2:5]
range(10) == range(0, 10)
range(0) == range(5, 2)
range(1, 4, 2) == range(1, 5, 2)
list(enumerate("ab"))
list(enumerate("ab", 1))
list(enumerate(["x"], start=5))
list(zip([1, 2], "ab"))
list(zip([1, 2, 3], [4, 5]))
list(zip())
list(map(lambda x: x * 2, [1, 2]))
list(map(lambda x, y: x + y, [1, 2], [3, 4]))
list(filter(lambda x: x > 1, [1, 2, 3]))
list(filter(None, [0, 1, 2]))
list("abc")
tuple([1, 2])
tuple("ab")
tuple()
list()
dict()
dict(a=1, b=2)
dict([(1, 2), (3, 4)])
dict([[1, 2]])
dict({1: 2}, a=3)
sorted(set([1, 2, 1]))
set()
{1}
len({1, 1, 2})
len({1, 1.0, True})
len({"a": 1, "a": 2})
{"a": 1, "a": 2}
{1: "a", 2.5: "b", None: "c", (1, 2): "d"}
{**{1: 2}, 3: 4}
{**{1: 2}, 1: 4}
[*range(3), 10]
(*[1, 2], 3)
{*[1, 2], 2} == {1, 2}
[]
()
{}
(1,)
(1, 2)
[1, [2, [3]]]
[None, True, 1.0, "x", 'it\'s', "q\"q", 'b\'"']
"a\tb\nc\\d"
"\x00\x1f\x7f"
"\u00e9"
"é"
len("é")
"éa"[1]
"aéb"[::-1]
list("aé")
ord("é")
chr(233)
ord("a")
ord("ab")
ord("")
chr(97)
chr(0x1F600)
chr(-1)
"aé".center(6, "*")
f"{'é':>4}"
"a" "b"
"ab" + "cd"
"ab" * 3
3 * "ab"
"ab" * 0
"ab" * -1
[1, 2] * 2
2 * [1]
(1,) * 3
[1] + [2]
(1,) + (2, 3)
[1] + (2,)
"a" + 1
"abc"[0]
"abc"[-1]
"abc"[3]
"abc"[-4]
"abc"[1:]
"abc"[:-1]
"abc"[::2]
"abc"[::-1]
"abc"[5:]
"abc"[-100:100]
"abc"[2:1]
[1, 2, 3, 4][1:3]
[1, 2, 3, 4][::-1]
[1, 2, 3, 4][3:0:-2]
[1, 2, 3, 4][-1:-4:-1]
(1, 2, 3)[1:]
[1, 2, 3][True]
[1, 2, 3][1.0]
[1, 2, 3][None:2]
[1, 2][::0]
{1: 2}[1]
{1: 2}[3]
{1: 2}[1.0]
{(1, 2): 3}[1, 2]
bin(10)
bin(-10)
bin(0)
hex(255)
hex(-255)
oct(8)
hex(2 ** 100)
bin(True)
hex(1.5)
repr("a")
repr("it's")
repr(1.0)
repr([1, "a"])
str(1)
str(1.5)
str("a")
str([1, "a"])
str(None)
str((1,))
str({"a": "b"})
type(1) == int
type("a") == str
type(1.0) == float
type([]) == list
type(()) == tuple
type({}) == dict
type(True) == bool
type(set()) == set
isinstance(1, int)
isinstance(True, int)
isinstance(1, bool)
isinstance(1.0, (int, float))
isinstance("a", int)
isinstance([], list)
isinstance(lambda: 1, int)
hasattr("a", "upper")
hasattr("a", "nope")
getattr("abc", "upper")()
getattr("abc", "nope", 5)
getattr("abc", "nope")
callable(len)
(lambda: 1)()
(lambda x, y=2: x + y)(1)
(lambda *a: a)(1, 2, 3)
(lambda **k: k)(a=1)
(lambda a, *b, c=3, **d: (a, b, c, d))(1, 2, 3, c=4, e=5)
(lambda a, /, b: (a, b))(1, b=2)
(lambda a, /, b: (a, b))(a=1, b=2)
(lambda *, a: a)(a=1)
(lambda *, a: a)(1)
(lambda a: a)()
(lambda a: a)(1, 2)
(lambda a: a)(b=1)
(lambda a: a)(1, a=2)
(lambda x: (lambda y: x + y))(3)(4)
[x * x for x in range(5)]
[x for x in range(10) if x % 2]
[x for x in range(20) if x % 2 if x % 3]
[(x, y) for x in range(2) for y in range(3)]
[(x, y) for x in range(3) for y in range(x)]
[[y for y in range(x)] for x in range(3)]
{x: x * x for x in range(3)}
sorted({x % 3 for x in range(10)})
len({x % 3 for x in range(10)})
[a + b for a, b in [(1, 2), (3, 4)]]
[k for k in {"a": 1, "b": 2}]
[(k, v) for k, v in {"a": 1}.items()]
[c for c in "abc"]
[x for x, *rest in [(1, 2, 3)]]
[rest for x, *rest in [(1, 2, 3)]]
[f() for f in [lambda: 1, lambda: 2]]
[f() for f in [lambda: i for i in range(3)]]
[f() for f in [lambda i=i: i for i in range(3)]]
sum(x for x in range(5))
max(len(s) for s in ["a", "bbb"])
",".join(str(x) for x in range(3))
[y := 5, y + 1]
[(last := x) for x in range(3)]
1_000_000
0xFF
0o17
0b101
1e3
.5
5.
0xdead_beef
'single' "double"
r"\n"
'''tri
ple'''
not not 1
1 - -1
- - 1
2 + 3 * 4 ** 2 // 5 % 3
(2 + 3) * 4
1 if True else 2 if False else 3
"%%"
"a" if "a" in "abc" else "b"
"abc".upper()
"ABC".lower()
"hello world".title()
"it's a dog's".title()
"they're 3x".title()
"hELLO".capitalize()
"".capitalize()
"Hello".swapcase()
"  a b ".strip()
"  a ".lstrip()
"  a ".rstrip()
"xxaxx".strip("x")
"xyaxy".strip("yx")
"xxaxx".lstrip("x")
"xxaxx".rstrip("x")
"a b  c".split()
"".split()
"  ".split()
"a,b,,c".split(",")
"".split(",")
"a,b,c".split(",", 1)
"a b c d".split(None, 2)
"a b c d".split(maxsplit=1)
"a,b".split(sep=",")
"a,b,c".rsplit(",", 1)
"a b c".rsplit(None, 1)
"a b c".rsplit()
"a,b,c".rsplit(",")
"abc".split("")
"a\nb\r\nc\rd".splitlines()
"a\n\nb\n".splitlines()
"".splitlines()
"a\nb\n".splitlines(True)
"a-b-c".partition("-")
"abc".partition("-")
"a-b-c".rpartition("-")
"abc".rpartition("-")
"-".join(["a", "b"])
"-".join([])
"-".join("abc")
"-".join(("a",))
"".join(["a", "b"])
"-".join([1])
"aXbXc".replace("X", "--")
"aXbXc".replace("X", "--", 1)
"abc".replace("", "-")
"abc".replace("b", "")
"aaa".replace("aa", "b")
"abc".startswith("ab")
"abc".startswith("")
"abc".startswith(("x", "a"))
"abc".startswith("b", 1)
"abc".endswith("bc")
"abc".endswith(("x", "c"))
"abcabc".find("c")
"abcabc".find("x")
"abcabc".find("")
"abcabc".find("c", 3)
"abcabc".find("a", 1, 3)
"abcabc".find("c", -1)
"abcabc".rfind("c")
"abcabc".rfind("x")
"abcabc".rfind("")
"abcabc".index("b")
"abcabc".index("x")
"abcabc".rindex("b")
"abcabc".count("bc")
"aaaa".count("aa")
"abc".count("")
"abcabc".count("a", 1)
"123".isdigit()
"12a".isdigit()
"".isdigit()
"abc".isalpha()
"ab1".isalpha()
"ab1".isalnum()
"a b".isalnum()
"abc".islower()
"aBc".islower()
"ab1".islower()
"123".islower()
"ABC".isupper()
"AB1".isupper()
"123".isupper()
"".isupper()
"  ".isspace()
"".isspace()
"abc".isidentifier()
"1bc".isidentifier()
"12".isdecimal()
"12".isnumeric()
"abc".isascii()
"5".zfill(3)
"-5".zfill(4)
"+5".zfill(4)
"abc".zfill(2)
"ab".ljust(5)
"ab".ljust(5, ".")
"ab".rjust(5)
"ab".rjust(5, "0")
"ab".center(5)
"ab".center(6)
"abc".center(6)
"abc".center(7, "*")
"a".center(4, "*")
"ab".center(1)
"prefix_x".removeprefix("prefix_")
"x_suffix".removesuffix("_suffix")
"abc".removeprefix("x")
"abc".upper().lower().title()
"{} {}".format(1, 2)
"{0} {1} {0}".format("a", "b")
"{x} {y}".format(x=1, y=2)
"{:>5}|{:<5}|{:^5}".format(1, 2, 3)
"{{}}".format()
"{!r}".format("a")
"{0!r:>5}".format("a")
"{0[1]}".format([1, 2])
"{:{}}".format(5, 4)
"{}".format()
"{".format()
"}".format()
"{a}".format(b=1)
(5).bit_length()
(-5).bit_length()
(0).bit_length()
(2.0).is_integer()
(2.5).is_integer()
[1, 2, 3].index(2)
[1, 2, 3].index(5)
[1, 2, 1].count(1)
(1, 2, 1).index(2)
(1, 2, 1).count(1)
{"a": 1}.get("a")
{"a": 1}.get("b")
{"a": 1}.get("b", 5)
list({"a": 1, "b": 2}.keys())
list({"a": 1, "b": 2}.values())
list({"a": 1, "b": 2}.items())
{"a": 1} | {"b": 2}
{1: 2} == {1: 2}
{1: 2, 3: 4} == {3: 4, 1: 2}
{1: 2} != {1: 3}
{1, 2} == {2, 1}
{1, 2} | {3} == {1, 2, 3}
{1, 2} & {2, 3} == {2}
{1, 2} - {2}
{1, 2} ^ {2, 3} == {1, 3}
{1} <= {1, 2}
{1} < {1, 2}
{1, 2} >= {1}
{1, 2}.union({3}) == {1, 2, 3}
{1, 2}.intersection([2]) == {2}
{1, 2}.difference([2])
{1, 2}.issubset({1, 2, 3})
{1, 2}.issuperset({1})
{1}.isdisjoint({2})
f"{1}"
f"{1 + 1}"
f"{'a'}"
f"{'a'!r}"
f"{'a'!s}"
f"{1!r:>4}"
f"{1.5:.2f}"
f"{5:>{3 + 1}}"
f"{5:0{4}d}"
f"{{}}"
f"{[1, 2]}"
f"{1=}"
f"{1 + 1 = }"
f"{'a'=}"
f"{1.5=:.2f}"
f"{'a'=!s}"
f"a" "b" f"{1}"
f"{'x':*^5}"
f"{True}"
f"{None}"
f"{True:d}"
f"{True:5}"
f"{None:5}"
f"{(1, 2)}"
f"{ {1: 2}[1] }"
f"{lambda_ if (lambda_ := 3) else 0}"
f"{'nested ' + f'{1 + 1}'}"
f'{"a" if 1 else "b"}'
f"{3.0}"
f"{1e100}"
f"{-0.0}"
f"{1e-7}"
"""

INTS = [-7, -2, -1, 0, 1, 2, 3, 7, 2**31, -(2**63)]
FLOATS = [-7.5, -2.0, -0.5, 0.0, 0.5, 1.0, 2.5, 3.0, 1e20]
INT_SPECS = [
    "",
    "5",
    "<5",
    ">5",
    "^5",
    "=5",
    "05",
    "+",
    "+5",
    " ",
    "-",
    "d",
    "5d",
    "x",
    "X",
    "#x",
    "#X",
    "#010x",
    "o",
    "#o",
    "b",
    "#b",
    "08b",
    ",",
    "_",
    "_x",
    "_b",
    "012,",
    ",d",
    "*^9",
    "0>5",
    "0<5",
    "c",
    "n",
    "e",
    ".2f",
    "10.3e",
    "g",
    "%",
    "+.1f",
    "s",
    ".2",
    "z",
    "5,d",
    "015,d",
    "#o",
    "=+7",
    "x<5x",
    ".0f",
    "5.1%",
]
FLOAT_SPECS = [
    "",
    "5",
    "<8",
    ">8",
    "^8",
    "=8",
    "08",
    "+",
    " ",
    "f",
    ".2f",
    "8.3f",
    "08.3f",
    "+.3f",
    ".0f",
    "e",
    ".2e",
    "E",
    "g",
    ".3g",
    "G",
    "%",
    ".1%",
    ".3",
    ".1",
    ",",
    ",.2f",
    "_.2f",
    "012,.1f",
    "*^12.2f",
    "d",
    "x",
    "s",
    ".10g",
    "#.3g",
    "#.0f",
    "+08.2f",
    "n",
    ".15g",
    ".17g",
    ".0e",
    "_",
]
STR_SPECS = ["", "5", "<5", ">5", "^5", "*^6", ".2", "5.2", ">5.1", "s", "5s", "=5", "d", "+", ",", "*<3s"]
SPEC_VALUES = {
    "int": [0, 1, -1, 42, -42, 255, 1234567, 2**62, True],
    "float": [
        0.0,
        -0.0,
        1.0,
        -1.5,
        3.14159265,
        1234567.891,
        1e20,
        1.5e-7,
        2.5,
        0.1,
        123456789.0,
        float("inf"),
        float("-inf"),
        float("nan"),
        1e16,
        99999.5,
    ],
    "str": ["", "a", "abc", "hello!"],
}


def literal(value):
    return f"float('{value}')" if value != value or value in (float("inf"), float("-inf")) else f"({value!r})"


def generated():
    for a, b in itertools.product(INTS, INTS):
        yield from (f"({a}) {op} ({b})" for op in ("//", "%", "/", "<", "==", "&", "|", "^", "-", "+"))
        yield f"divmod({a}, {b})"
        yield f"({a}) * ({b})"
        if -3 <= b <= 3 and abs(a) < 2**40:
            yield f"({a}) ** ({b})"
        if 0 <= b <= 7:
            yield from (f"({a}) {op} ({b})" for op in ("<<", ">>"))
    for a, b in itertools.product(FLOATS, FLOATS + [2, -3]):
        yield from (f"({a}) {op} ({b})" for op in ("//", "%", "/", "*", "-", "<", ">=", "=="))
    for kind, specs in (("int", INT_SPECS), ("float", FLOAT_SPECS), ("str", STR_SPECS)):
        for value, spec in itertools.product(SPEC_VALUES[kind], specs):
            yield f"'{{:{spec}}}'.format({literal(value)})"
    for start, stop, step in itertools.product([None, -5, -2, 0, 1, 3, 9], [None, -5, -1, 0, 2, 9], [None, -2, -1, 1, 3]):
        bounds = ":".join("" if part is None else str(part) for part in (start, stop, step))
        yield f"'abcde'[{bounds}]"
        if step is not None and start is not None and stop is not None:
            yield f"list(range({start}, {stop}, {step}))"
    for value in (
        0.1,
        1 / 3,
        1e15,
        1e16,
        1e17,
        123456.789,
        5e-324,
        1.7976931348623157e308,
        1e-4,
        1e-5,
        2**53 + 0.0,
        100.0,
        1e21,
        1e5,
    ):
        yield f"repr({value!r})"
        yield f"repr(-{value!r})"
        yield f"round({value!r}, 2)"


PROGRAMS = r"""
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(15))
---
def f(a, b=2, *rest, c, d=4, **more):
    return (a, b, rest, c, d, more)
print(f(1, c=3))
print(f(1, 2, 3, 4, c=5, e=6))
print(f(*[1, 2], **{"c": 3, "z": 4}))
---
def counter():
    n = 0
    values = []
    while True:
        n += 1
        if n % 2:
            continue
        if n > 10:
            break
        values.append(n)
    return values
print(counter())
---
def search(items, x):
    for i, item in enumerate(items):
        if item == x:
            return i
    else:
        return -1
print(search([3, 4, 5], 4), search([], 1))
---
def loop_else(n):
    for i in range(n):
        if i == 3:
            break
    else:
        return "no break"
    return "break"
print(loop_else(2), loop_else(9))
---
def while_else(n):
    while n:
        n -= 1
        if n == 5:
            break
    else:
        return "else"
    return "broke"
print(while_else(3), while_else(8))
---
def make_adders():
    return [lambda x, k=k: x + k for k in range(3)]
print([f(10) for f in make_adders()])
---
def late():
    fs = []
    for k in range(3):
        fs.append(lambda: k)
    return [f() for f in fs]
print(late())
---
def outer(x):
    def inner(y):
        return x * y
    x = 10
    return inner(3)
print(outer(2))
---
def shadow(x):
    def inner():
        x = 5
        return x
    inner()
    return x
print(shadow(1))
---
a = [1, 2]
b = a
b.append(3)
print(a)
a = a + [4]
print(a, b)
---
def change(items):
    items.append(1)
    items = []
    items.append(2)
    return items
l = []
print(change(l), l)
---
a, b = 1, 2
a, b = b, a
print(a, b)
x = y = 5
print(x, y)
first, *rest = [1, 2, 3]
*init, last = "abc"
(p, q), r = (1, 2), 3
h, *m, t = range(5)
print(first, rest, init, last, p, q, r, h, m, t)
---
x = [1, 2, 3]
i = 0
i, x[i] = 1, 9
print(i, x)
x[-1] = 7
x += [5]
print(x)
d = {}
d["a"] = 1
d["a"] += 4
print(d)
---
x = [3, 1, 2]
x.sort()
print(x)
x.sort(reverse=True)
print(x)
x.insert(0, 7)
x.insert(100, 8)
x.insert(-1, 6)
print(x, x.pop(), x.pop(0), x)
x.reverse()
x.extend([1])
x.extend(x)
print(x)
x.remove(1)
x.clear()
print(x)
---
d = {"a": 1, "b": 2}
print(d.pop("a"), d.pop("zz", 5), d, d.setdefault("q", 3), d)
d.update({"b": 5}, z=1)
print(d, len(d), "b" in d, list(d))
for k, v in d.items():
    print(k, v)
---
s = {1, 2}
s.add(2)
s.add(3)
s.discard(9)
s.remove(1)
print(sorted(s), len(s), 2 in s)
---
def classify(n):
    if n < 0:
        return "neg"
    elif n == 0:
        return "zero"
    elif n < 10:
        return "small"
    return "big"
print([classify(n) for n in (-1, 0, 5, 50)])
---
def sieve(n):
    composite = set()
    primes = []
    for i in range(2, n):
        if i not in composite:
            primes.append(i)
            for j in range(i * i, n, i):
                composite.add(j)
    return primes
print(sieve(60))
---
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a
print(gcd(48, 36), gcd(17, 5))
---
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
print([collatz(n) for n in range(1, 20)])
---
def matmul(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))] for i in range(len(a))]
print(matmul([[1, 2], [3, 4]], [[5, 6], [7, 8]]))
---
def quick(items):
    if len(items) <= 1:
        return items
    pivot, *rest = items
    return quick([x for x in rest if x < pivot]) + [pivot] + quick([x for x in rest if x >= pivot])
print(quick([3, 6, 1, 8, 2, 9, 2]))
---
x = 5
x += 1
x -= 2
x *= 7
x //= 2
x %= 9
x **= 2
x <<= 3
x >>= 1
x |= 1
x &= 0xFF
x ^= 0x0F
print(x)
y = 5
y /= 2
print(y)
t = (1,)
t += (2,)
print(t)
s = "a"
s += "b"
s *= 3
print(s)
---
def log():
    trace = []
    def note(x):
        trace.append(x)
        return x
    note(1) < note(2) < note(0) < note(9)
    note(0) and note(5)
    note(1) or note(6)
    note(7) if note(0) else note(8)
    [note(10), note(11)][note(0)]
    return trace
print(log())
---
def apply(f, *args, **kwargs):
    return f(*args, **kwargs)
print(apply(lambda a, b=2: a * b, 4), apply(max, 1, 5, 3), apply(sorted, [2, 1], reverse=True))
---
def compose(*fs):
    def run(x):
        for f in reversed(fs):
            x = f(x)
        return x
    return run
print(compose(lambda x: x + 1, lambda x: x * 2)(5))
---
if 1 < 2:
    z = "then"
else:
    z = "else"
print(z)
for i in range(3):
    pass
print(i)
---
n = 0
for i in [1, 2, 3]:
    for j in "ab":
        if j == "b":
            continue
        n += i
print(n)
---
print(1, 2, sep="-")
print("a", "b", sep="")
print()
print("x", [1, "y"], ("z",), {"k": "v"})
print("100%", "%d")
---
def nothing():
    pass
print(nothing())
def early(x):
    if x:
        return
    return 5
print(early(1), early(0))
---
grid = [[0] * 3 for _ in range(2)]
grid[0][1] = 5
print(grid)
alias = [[0] * 2] * 2
alias[0][0] = 1
print(alias)
---
def power_set(items):
    result = [[]]
    for item in items:
        result += [subset + [item] for subset in result]
    return result
print(power_set([1, 2, 3]))
---
def default_is_shared(x, acc=[]):
    acc.append(x)
    return acc
print(default_is_shared(1), default_is_shared(2))
---
def hanoi(n, a="A", b="B", c="C"):
    if n == 0:
        return []
    return hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
print(hanoi(3))
---
def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)
print(deep(100))
---
words = "the quick brown fox jumps over the lazy dog the end".split()
counts = {}
for w in words:
    counts[w] = counts.get(w, 0) + 1
print(sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:3])
---
x = 1
def reader():
    return x
x = 2
print(reader())
---
def f(n):
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        for j in range(i):
            if j > 3:
                break
            total += i * j
    return total
print(f(10))
---
t = ((1, 2), [3, {"a": (4,)}])
(a, b), [c, d] = t
print(a, b, c, d["a"][0])
---
print([i for i in range(3)], [j for j in range(2) for i in range(2)])
i = 7
print([i for i in range(3)], i)
---
def kw(*, a=1, b):
    return a - b
print(kw(b=5), kw(a=2, b=1))
"""


def python_value(expression):
    """What print(repr(expression)) prints, or None where it raises."""
    try:
        return repr(eval(expression, {}))  # noqa: S307
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, NameError):
        return None


def python_output(program):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})  # noqa: S102
    return out.getvalue().split("\n")[:-1]


def compare_expressions(hdsc, expressions):
    """All in one file: a print on each line, and errors where Python raises."""
    lines, starts = [], {}
    for e in expressions:
        starts[len(lines) + 1] = e
        lines += f"print(repr({e}))".split("\n")
    result = run(hdsc, "\n".join(lines) + "\n", ["-Wno-empty", "--error-limit=0"])
    shown, failed = {}, {}
    for d in result.diagnostics:
        (shown if d["code"] == "HDS0290" else failed).setdefault(d["line"], d["message"])
    for line, e in starts.items():
        wanted = python_value(e)
        if wanted is None:
            if line not in failed:
                yield f"{e}: Python raises, hdsc gives {shown.get(line)}"
        elif shown.get(line) != wanted:
            yield f"{e}: Python gives {wanted}, hdsc {shown.get(line, failed.get(line, 'nothing'))}"


def compare_program(hdsc, program):
    result = run(hdsc, program, ["-Wno-empty"])
    shown = [d["message"] for d in result.diagnostics if d["code"] == "HDS0290"]
    other = [d["message"] for d in result.diagnostics if d["code"] != "HDS0290"]
    wanted = python_output(program)
    if shown != wanted or other:
        yield f"program {program!r}:\n  Python: {wanted}\n  hdsc:   {shown} {other}"


def table():
    """The expressions: one a line, where a line that opens a triple quote goes on."""
    text, e = EXPRESSIONS.strip("\n").split("\n"), None
    for line in text:
        e = line if e is None else e + "\n" + line
        if e.count("'''") % 2 == 0:
            yield e
            e = None


# ---- random programs ---------------------------------------------------------------------------------------------------

STORED = pathlib.Path(__file__).with_name("python_answers.json")
BATCH = 100
OLDEST = (3, 13)  # the Python that the language follows; 3.11 adds floats without compensation, for instance


def answers_here(seeds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {seed: python_programs.answer(python_programs.program(seed)) for seed in seeds}


def newer_python():
    """A Python that is new enough to be asked, or None."""
    for name in ("python3.13", "python3.14"):
        found = shutil.which(name)
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    return None


def answers(seeds):
    """What Python 3.13 makes of the programs: asked, where there is one, and else as it was stored."""
    if sys.version_info >= OLDEST:
        return answers_here(seeds)
    python = newer_python()
    if python:
        command = [python, __file__, "--answers", str(seeds[0]), str(len(seeds))]
        text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    else:
        text = STORED.read_text(encoding="utf-8")
    stored = {int(seed): answer for seed, answer in json.loads(text).items()}
    if not set(seeds) <= set(stored):
        sys.exit("these programs need Python 3.13: only the answers to the first ones are stored")
    return {seed: stored[seed] for seed in seeds}


def differs(wanted, raises, found):
    """Notes are sorted by location, which is one; what follows an error is no longer compared."""
    shown = [line for d in found if d["code"] == "HDS0290" for line in d["message"].split("\n")]
    errors = [d for d in found if d["severity"] == "error"]
    if bool(errors) != raises:
        return f"Python {'raises' if raises else 'does not raise'}, hdsc reports {errors[:1]}"
    compared = shown[: len(wanted)] if raises else shown
    first = next((i for i, (a, b) in enumerate(zip(compared, wanted)) if a != b), min(len(compared), len(wanted)))
    return None if compared == wanted else f"Python prints {wanted[first : first + 1]}, hdsc {compared[first : first + 1]}"


def compare_programs(hdsc, seeds, known):
    lines, ranges = [], []
    for seed in seeds:
        text = python_programs.program(seed).split("\n")
        ranges.append((seed, len(lines) + 1, len(lines) + len(text)))
        lines += text if known[seed] else [""] * len(text)
    result = run(hdsc, "\n".join(lines) + "\n", ["-Wno-empty", "--error-limit=0"])
    for seed, first, last in ranges:
        if known[seed]:
            wanted, raises = known[seed]
            difference = differs(wanted, raises, [d for d in result.diagnostics if first <= d["line"] <= last])
            if difference:
                yield f"program {seed}: {difference}\n{python_programs.program(seed)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hdsc", nargs="?")
    parser.add_argument("--seed", type=int, default=0, help="of the first random program")
    parser.add_argument("--count", type=int, default=600, help="of random programs")
    parser.add_argument("--answers", type=int, nargs=2, metavar=("SEED", "COUNT"), help="print what this Python makes of them")
    options = parser.parse_args()
    if options.answers:
        first, count = options.answers
        rows = [
            f'"{seed}":{json.dumps(a, separators=(",", ":"))}' for seed, a in answers_here(range(first, first + count)).items()
        ]
        print("{" + ",\n".join(rows) + "}")
        return
    hdsc = options.hdsc
    expressions = [*table(), *dict.fromkeys(generated())]
    problems = list(compare_expressions(hdsc, expressions))
    programs = [p.strip("\n") + "\n" for p in PROGRAMS.split("---\n")]
    for program in programs:
        problems += compare_program(hdsc, program)
    seeds = range(options.seed, options.seed + options.count)
    known = answers(seeds)
    for first in range(0, len(seeds), BATCH):
        problems += compare_programs(hdsc, seeds[first : first + BATCH], known)
    sys.exit(finish(problems, len(expressions) + len(programs) + len(seeds) - len(problems)))


if __name__ == "__main__":
    main()
