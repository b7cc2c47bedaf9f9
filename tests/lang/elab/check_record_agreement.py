"""Records of random methods do what Python's classes do.

A record is a Python class by its syntax, so the same text is run by hdsc (print at module level is a note HDS0290) and by the
Python that runs this script. Each program has two classes with random special methods, which write what was called into a log,
and functions that use records in expressions and statements. Where Python raises an exception, hdsc must report an error
within that function.

What differs by design (lang/reference.md, "Records") is given to Python by its classes here: records of a class without __eq__
cannot be compared, in-place methods may not return None, a length and items make a sequence, and __iter__ may return what
`for` takes. __getitem__ is not given several indices, which are arguments of their own here. Records are values, so that no
program changes one that has two names.

    check_record_agreement.py HDSC [--seed N] [--count PROGRAMS]
"""

import argparse
import builtins
import dataclasses
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from compiler import each, finish, run  # noqa: E402

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
              "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNARY = {"neg": "-", "pos": "+", "invert": "~"}
TESTS = 60

HEAD = """LOG = []


def num(v):
    return v.x if isinstance(v, R) or isinstance(v, S) else v if isinstance(v, int) else 7


def note(v):
    LOG.append(v)
    return v
"""


class Program:
    """The text of a program and where its functions stand."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.methods = {}
        self.lines = HEAD.split("\n")
        self.spans = []  # first and last line of each test
        for name in ("R", "S"):
            self.add_class(name)
        for number in range(TESTS):
            self.add_test(number)

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *choices):
        return self.random.choice(choices)

    # ---- classes

    def number(self, *names):
        terms = [f"{self.random.randint(-3, 3)} * num({name})" for name in names]
        return " + ".join([*terms, str(self.random.randint(-4, 4))])

    def value(self, *names):
        """What a method may return."""
        n = self.number(*names)
        return self.pick(f"R({n})", f"S({n})", f"R({n})", n, n, f"({n}, 1)", f'f"<{{{n}}}>"', f"{n} > 0")

    def truth(self, *names):
        n = self.number(*names)
        return self.pick(f"{n} > 0", f"({n}) % 2 == 0", f"{n} < 2", n, "True", "False", f"[{n}]", "()")

    def add_method(self, cls, name, params, *body):
        self.methods[cls].add(name)
        self.lines.append(f"    def __{name}__({', '.join(['self', *params])}):")
        if name != "len":  # Python may ask a length as a hint
            self.lines.append(f'        LOG.append(f"{cls}.{name}" + f" {{num(self)}}")')
        self.lines += [f"        {line}" for line in body]
        self.lines.append("")

    def add_augmented(self, cls, name):
        n = self.number("self", "o")
        bodies = [[f"self.x = {n}", "return self"], [f"return {self.value('self', 'o')}"], [f"self.x = {n}"]]
        self.add_method(cls, name, ["o"], *self.random.choices(bodies, [5, 4, 1])[0])

    def add_class(self, cls):
        self.methods[cls] = set()
        self.lines += ["", f"class {cls}:", "    x: int", "    n: object = None", ""]
        density = self.pick(0.2, 0.5, 0.8)
        for name in ARITHMETIC:
            for prefix in ("", "r"):
                if self.chance(density):
                    self.add_method(cls, prefix + name, ["o"], f"return {self.value('self', 'o')}")
            if self.chance(density):
                self.add_augmented(cls, "i" + name)
        for name in UNARY:
            if self.chance(density):
                self.add_method(cls, name, [], f"return {self.value('self')}")
        for name in COMPARISONS:
            if self.chance(density):
                self.add_method(cls, name, ["o"], f"return {self.truth('self', 'o')}")
        self.add_containers(cls)

    def add_containers(self, cls):
        items = f"[{self.number('self')}, num(self), {self.random.randint(0, 3)}]"
        choices = {
            "contains": (["v"], f"return {self.truth('self', 'v')}"),
            "len": ([], f"return {self.pick('num(self) % 4', '2', '3', '0')}"),
            "getitem": (["i"], f"return {self.value('self', 'i')}"),
            "setitem": (["i", "v"], f"self.x = {self.number('self', 'i', 'v')}"),
            "iter": ([], f"return {self.pick(items, 'range(num(self) % 5)', f'(({items[1:-1]}), 2)', 'dict([(1, 2), (3, 4)])')}"),
            "bool": ([], f"return {self.pick(self.truth('self'), f'{self.number(chr(115) + chr(101) + chr(108) + chr(102))} > 1')}"),
            "call": (["*a", "k=3"], f"return {self.number('self', 'k')} + len(a)"),
            "str": ([], f'return f"s{{{self.number("self")}}}"'),
            "repr": ([], f'return f"r{{{self.number("self")}}}"'),
            "enter": ([], f"return {self.value('self')}"),
            "exit": (["*a"], "return None"),
        }
        for name, (params, body) in choices.items():
            if self.chance(0.6):
                self.add_method(cls, name, params, body)

    # ---- tests

    def record(self):
        return f"{self.pick('R', 'R', 'S')}({self.random.randint(-3, 5)})"

    def operand(self):
        return self.pick("a", "b", "c", "a", "b", str(self.random.randint(-2, 4)), self.record())

    def plain(self):
        return self.pick("3", "0", "-1", "2.5", "'t'", "None", "True", "(1, 2)", "[1]")

    def any(self):
        return self.operand() if self.chance(0.75) else self.plain()

    def sequence(self, size=3):
        opened, closed = self.pick("[]", "[]", "()")
        return f"{opened}{', '.join(self.operand() for _ in range(size))},{closed}"

    def expression(self):
        make = self.pick(self.binary, self.binary, self.comparison, self.comparison, self.unary, self.membership, self.condition,
                         self.iteration, self.iteration, self.container, self.container, self.text, self.access, self.choice)
        return make()

    def binary(self):
        op = self.pick(*ARITHMETIC.values())
        left, right = self.any(), self.any()
        if op == "%" and left == "'t'":  # formats
            left = "a"
        if op == "**":  # of numbers it may be too large
            left = self.pick("a", "b")
        return f"{left} {op} {right}"

    def comparison(self):
        ops = [self.pick(*COMPARISONS.values()) for _ in range(self.pick(1, 1, 1, 2))]
        return self.any() + "".join(f" {op} {self.any()}" for op in ops)

    def unary(self):
        return self.pick(*UNARY.values()) + self.pick("a", "b", "c")

    def membership(self):
        container = self.pick("a", "b", "c", self.sequence(), self.sequence(), "range(3)")
        return f"{self.any()} {self.pick('in', 'not in')} {container}"

    def condition(self):
        r = self.pick("a", "b", "c")
        return self.pick(f"bool({r})", f"not {r}", f"{r} and {self.any()}", f"{r} or {self.any()}", f"1 if {r} else 2",
                         f"[i for i in range(2) if {r}]", f"len(list(filter(None, {self.sequence()})))", f"any({self.sequence()})",
                         f"all({self.sequence()})", f"{self.operand()} and not ({self.operand()} or {r})")

    def iteration(self):
        r = self.pick("a", "b", "c")
        return self.pick(f"[i for i in {r}]", f"list({r})", f"tuple({r})", f"[*{r}, 1]", f"len(set({r}))",
                         f"[(i, j) for i in {r} for j in {r}]",
                         f"{{i: 1 for i in {r}}}", f"list(zip({r}, {r}))", f"list(enumerate({r}))", f"list(map(num, {r}))",
                         f"max({r})", f"min({r})", f"sum({r}, 0)", f"sum(num(i) for i in {r})", f"any({r})", f"all({r})",
                         f"num(*{r})", f"len({r})", f"sorted({r}, key=num)")

    def container(self):
        items, other = self.sequence(), self.sequence()
        keys = ", ".join(self.record() + f": {k}" for k in range(3))
        elements = ", ".join(self.record() for _ in range(3))
        return self.pick(
            f"{items} == {other}", f"{items} != {other}", f"{items} {self.pick('<', '<=', '>', '>=')} {other}",
            f"{items}.index({self.any()})", f"{items}.count({self.any()})", f"{{{keys}}}[{self.record()}]", f"len({{{keys}}})",
            f"{{{keys}}}.get({self.record()}, 9)", f"{self.record()} in {{{keys}}}", f"len({{{elements}}})",
            f"{self.record()} in {{{elements}}}", f"len({{{elements}}}.union({{{self.record()}}}))",
            f"max({items})", f"min({items})", f"sorted([{self.operand()}, {self.operand()}])", f"[{items}] == [{other}]",
            f"{{1: {self.record()}}} == {{1: {self.record()}}}", f"max({self.any()}, {self.any()})", f"sum({items}, {self.operand()})")

    def text(self):
        r = self.pick("a", "b", "c")
        return self.pick(f"str({r})", f"repr({r})", f'f"{{{r}}}"', f'f"{{{r}!r}} {{{r}!s}}"', f'f"{{{r}:>9}}"', f"str([{r}, {r}])",
                         f"'{{}}'.format({r})", f"'-'.join([str({r}), repr({r})])", f"repr(({r}, {{1: {r}}}))")

    def access(self):
        r = self.pick("a", "b", "c")
        return self.pick(f"{r}[{self.operand()}]", f"{r}()", f"{r}(1, 2)", f"{r}(k={self.random.randint(0, 9)})",
                         f"hasattr({r}, '__add__')", f"isinstance({r}, R)")

    def choice(self):
        return f"{self.comparison()} if {self.operand()} else {self.binary()}"

    def statements(self):
        op = self.pick(*ARITHMETIC.values())
        target = self.pick("a", "b", "c.n", "xs[1]", "d['k']", "a", "b", "c", "a[1]", "t[0]")
        if op == "%" and target == "a[1]":  # of a text it formats
            op = "+"
        other = self.any() if op != "**" else self.operand()
        return self.pick(
            [f"{target} {op}= {other}"], [f"{target} {op}= {other}"],
            [f"{target} {op}= {other}", f"{target} {'-' if op == '%' else op}= {self.operand()}"],
            [f"xs[0], xs[1] = {self.pick('a', 'b', 'c')}"], ["xs[0], *rest = a", "xs.append(rest)"],
            [f"for i in {self.pick('a', 'b', 'c')}:", "    note(num(i))"],
            [f"if {self.pick('a', 'b', 'c')}:", "    note(1)", "else:", "    note(2)"],
            [f"with {self.pick('a', 'b', 'c')} as e:", "    note(num(e))"], [f"assert {self.pick('a', 'b', 'c')}"],
            [f"{self.pick('a', 'b')}[{self.random.randint(0, 3)}] = {self.any()}"],
            [f"xs.remove({self.any()})"], ["while a:", "    note(0)", "    break"],
            [f"keys = {{{self.record()}: 0}}", f"keys[{self.record()}] = 1", f"keys[{self.record()}] += 2",
             "note(list(keys.values()))"])

    def add_test(self, number):
        first = len(self.lines) + 3
        a, b, c = (self.record() for _ in range(3))
        body = [f"a = {a}", f"b = {b}", f"c = {c}"]
        if self.chance(0.4):
            body += [f"c.n = {self.record()}", f"xs = [{self.record()}, {self.record()}]", f"d = {{'k': {self.record()}}}",
                     f"t = ({self.record()}, 1)", *self.statements(),
                     "r = [a.x, b.x, c.x, num(c.n), [num(i) for i in xs], len(d), num(d['k'])]",
                     "r += [isinstance(a, R), isinstance(c.n, R), isinstance(xs[1], S)]"]
        else:
            body += [f"r = {self.expression()}"]
        self.lines += ["", "", f"def test_{number}():", "    LOG.clear()", *(f"    {line}" for line in body),
                       "    return str((r, LOG))", "", "", f"print(test_{number}())"]
        self.spans.append((first, len(self.lines)))

    def text_of_it(self):
        return "\n".join(self.lines) + "\n"


# ---- Python's side -----------------------------------------------------------------------------------------------------


def no_identity(self, other):
    if type(self) is not type(other) or self is other:
        return NotImplemented
    raise TypeError("records of a class without __eq__ cannot be compared")


def sequence_iterator(self):
    return iter([self[i] for i in range(len(self))])


def checked(method):
    def in_place(self, other):
        result = method(self, other)
        if result is None:
            raise TypeError("an in-place method returns nothing")
        return result
    return in_place


def record_class(function, name, *bases, **keywords):
    """What a class statement makes: a dataclass with the rules of records."""
    made = builtins.__build_class__(function, name, *bases, **keywords)
    own = vars(made)
    if "__iter__" in own:
        given = made.__iter__
        made.__iter__ = lambda self: iter(given(self))
    elif "__getitem__" in own:
        made.__iter__ = sequence_iterator if "__len__" in own else None
    if "__eq__" not in own:
        made.__eq__ = no_identity
    made.__hash__ = lambda self: 0
    if "__repr__" not in own:
        made.__repr__ = lambda self: f"{name}(…)"
    for method in ARITHMETIC:
        if f"__i{method}__" in own:
            setattr(made, f"__i{method}__", checked(own[f"__i{method}__"]))
    return dataclasses.dataclass(eq=False, repr=False)(made)


def python_answers(program):
    """What the tests print; None where one raises."""
    scope = {"__builtins__": {**vars(builtins), "__build_class__": record_class}, "__name__": "program"}
    answers = []
    text = program.text_of_it().replace("print(test_", "answer(lambda: test_")

    def answer(test):
        try:
            answers.append(test())
        except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, AssertionError):
            answers.append(None)

    scope["answer"] = answer
    exec(compile(text, "program", "exec"), scope)  # noqa: S102
    return answers


# ---- the comparison --------------------------------------------------------------------------------------------------


def compare(hdsc, seed):
    program = Program(seed)
    wanted = python_answers(program)
    result = run(hdsc, program.text_of_it(), ["-Wno-empty", "--error-limit=0"])
    shown, failed = {}, {}
    for d in result.diagnostics:
        (shown if d["code"] == "HDS0290" else failed)[d["line"]] = d["message"]
    problems = []
    for (first, last), answer in zip(program.spans, wanted):
        text = "\n".join(program.lines[first - 1:last])
        errors = [m for line, m in failed.items() if first <= line <= last]
        if answer is None and not errors:
            problems.append(f"seed {seed}: Python raises, hdsc gives {shown.get(last)}\n{text}")
        elif answer is not None and shown.get(last) != answer:
            problems.append(f"seed {seed}: Python gives {answer}, hdsc {shown.get(last)} {errors}\n{text}")
    outside = [f"line {line}: {m}" for line, m in failed.items() if not any(a <= line <= b for a, b in program.spans)]
    if outside:
        problems.append(f"seed {seed}: errors outside of the tests: {outside}")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hdsc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    problems = [p for found in each(lambda seed: compare(options.hdsc, seed), seeds) for p in found]
    sys.exit(finish(problems, options.count * TESTS - len(problems)))


if __name__ == "__main__":
    main()
