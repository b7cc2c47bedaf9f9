#!/usr/bin/env python3
"""Expressions of the interface document mean what Python makes of them. Usage: check_expressions.py EXPRESSIONS [COUNT]

Random expressions are evaluated here, along Python's own syntax tree, and by EXPRESSIONS (tests/tools/expressions.c). Where an
integer leaves 64 bits, the answer has to be an overflow.
"""

import ast
import operator
import random
import subprocess
import sys

LIMIT = 1 << 63
SIGNS = ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "/"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
NUMBERS = [0, 1, 2, 3, 7, 31, 64, 255, 65536, 2**31 - 1, 2**31, 2**62, 2**63 - 1]
NAMES = ["n", "m", "k", "x"]
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Invert: operator.invert, ast.Not: operator.not_,
}
FUNCTIONS = {"min": min, "max": max, "int": int, "bool": bool, "float": float}


class Trouble(Exception):
    """What cannot be computed; its text is the answer."""


def fit(value):
    if isinstance(value, int) and not -LIMIT <= value < LIMIT:
        raise Trouble("overflow")
    return value


def left_shift(a, b):
    if isinstance(a, float) or isinstance(b, float):
        raise Trouble("float")
    if b < 0:
        raise Trouble("shift")
    if a and b > 64:
        raise Trouble("overflow")
    return a << b if a else 0


def apply(function, *operands):
    try:
        return fit(function(*operands))
    except ZeroDivisionError:
        raise Trouble("zero") from None
    except TypeError:
        raise Trouble("float") from None
    except OverflowError:
        raise Trouble("overflow") from None
    except ValueError as error:
        raise Trouble("shift" if "shift" in str(error) else "float") from None


def evaluate(node, values):
    sub = lambda child: evaluate(child, values)  # noqa: E731
    match node:
        case ast.Constant(value=value):
            return fit(value)
        case ast.Name(id=name):
            return values[name]
        case ast.BinOp(left=left, op=ast.LShift(), right=right):
            return apply(left_shift, sub(left), sub(right))
        case ast.BinOp(left=left, op=op, right=right):
            return apply(OPERATORS[type(op)], sub(left), sub(right))
        case ast.UnaryOp(op=op, operand=operand):
            return apply(OPERATORS[type(op)], sub(operand))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return OPERATORS[type(op)](sub(left), sub(right))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return sub(body) if sub(test) else sub(orelse)
        case ast.BoolOp(op=op, values=operands):
            value = sub(operands[0])
            for operand in operands[1:]:
                value = sub(operand) if bool(value) == isinstance(op, ast.And) else value
            return value
        case ast.Call(func=ast.Name(id=name), args=args):
            return apply(FUNCTIONS[name], *[sub(arg) for arg in args])
    raise AssertionError(ast.dump(node))


def expected(tree, values):
    try:
        value = evaluate(tree, values)
    except Trouble as trouble:
        return str(trouble)
    return "float" if isinstance(value, float) else str(int(value))


def expression(rng, depth):
    """A text, fully or hardly bracketed."""
    if depth == 0:
        return rng.choice([*NAMES, *NAMES, str(rng.choice(NUMBERS)), rng.choice(["1.5", "1e-05", "0.1", "2.0"])])
    sub = lambda: expression(rng, rng.randrange(depth))  # noqa: E731
    kind = rng.randrange(12)
    if kind < 5:
        return f"{sub()} {rng.choice(SIGNS)} {sub()}"
    if kind == 5:
        return f"({sub()} {rng.choice(SIGNS)} {sub()})"
    if kind == 6:
        return f"({sub()}) {rng.choice(COMPARISONS)} ({sub()})"
    if kind == 7:
        return f"({sub()} if {sub()} else {sub()})"
    if kind == 8:
        return f"{rng.choice(['min', 'max'])}({', '.join(sub() for _ in range(rng.randrange(2, 4)))})"
    if kind == 9:
        return f"({sub()} {rng.choice(['and', 'or'])} {sub()})"
    if kind == 10:
        return rng.choice(["-({})", "~({})", "(not {})", "-{}", "not ({})"]).format(sub())
    return f"{rng.choice(['int', 'bool', 'float'])}({sub()})"


def is_chained(tree):
    return any(isinstance(node, ast.Compare) and len(node.ops) > 1 for node in ast.walk(tree))


def case(rng):
    """Text, tree and values; the text is an expression in Python, too."""
    while True:
        text = expression(rng, rng.randrange(1, 6))
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError:
            continue
        if not is_chained(tree):
            break
    values = {name: rng.choice([*NUMBERS, -1, -5, -2**63, rng.randrange(1, 5000)]) for name in NAMES[:3]}
    values["x"] = rng.choice([0.5, -2.0, 1e10, 3.0])
    return text, tree, values


def main():
    tool, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    rng = random.Random(1)
    cases = [case(rng) for _ in range(count)]
    lines = ["\t".join([text, *(f"{name}={value}" for name, value in values.items())]) for text, _, values in cases]
    answers = subprocess.run([tool], input="\n".join(lines) + "\n", capture_output=True, text=True,
                             check=True).stdout.splitlines()
    failed = 0
    for (text, tree, values), answer in zip(cases, answers, strict=True):
        right = expected(tree, values)
        if answer != right:
            failed += 1
            print(f"{text}  with {values}: {answer}, expected {right}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
