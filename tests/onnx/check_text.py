#!/usr/bin/env python3
"""Models as text (.onnxtxt) against PyPI's onnx. Usage: check_text.py HDSC [--every=N]

The models of the package's node tests, printed by onnx.printer, and the texts below: what onnx.parser makes of a text and
what hdsc reads of it are the same graph function with the same weights, or are refused for the same reason. Of each text, one
with a mistake is refused by both, here with line and column."""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import node_cases
import onnx.parser
import onnx.printer

import onnx

TEXTS = {
    "grammar": """# What a graph can have
< ir_version: 8, opset_import: ["" : 18, "local" : 1, "com.example.deep" : 1], producer_name: "by \\"hand\\"",
  metadata_props: ["a": "b", "c": "d"], model_version: 3, doc_string: "two
lines" >
graph_of_all (float[N, 4] x, int64[2] "a name/with.all" = {-1, 9223372036854775807}, double d, float[?, 3] q)
=> (float[N] y, int8[2] o)
<float[2, 2] w = {1, -2.5, 3e-3, inf}, float f = {nan}, uint64[1] u = {18446744073709551615}, bool[2] b = {1, 0}, float[N] seen,
 float16[2] half = {15872, 48128}, int8[2] i = {-128, 127}, complex64[1] c = {1.5, -2}, int64[0] none = {}, float deep = {-1e-45}>
{
   [the_first] a, b2 = local.two <alpha = 0.5, axes = [1, 2]> (x, w)  # a function
   k = Foo <n: int = 3, r: float = 2, e: ints = [],
      s = "t\\\\\\"", l = ["a", "b"], fs: floats = [1, 2.5], t = float[2] {1, 2}> (a, , b2)
   m = com.example.deep.Bar ("", k, "a name/with.all")
   , last = Split (m) <axis = -1>
   o = Optional <type = seq(map(int64, optional(int8[2])))> ()
   y = If (d) <then_branch = g () => (float[N] i2) { i2 = Identity(a) }, 
      else_branch = h () => (j) <float[1] v = {2}> { j = Add(a, v) }>
}
< domain: "local", opset_import: ["" : 18], doc_string: "a function" >
two <alpha, beta: float = 1.5, gamma = [1, 2]> (p, float[N] w) => (q, r) <float[M] inside>
{
   q = LeakyRelu <alpha: float = @alpha> (p)
   r = Identity (w)
}
""",
    "untyped": """<opset_import: ["" : 18]> g (x, seq(float[N]) s) => (y) { y = Relu(x) }""",
    "rankless": """<opset_import: ["" : 18]> g (float16[] x) => (y) { y = Relu(x) }""",
    "short": """<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }""",
    "words": """<opset_import: ["" : 18]> infinity (float[2] nano, float[2] _) => (y)
        { y = Clip(nano, _) <min = -infinity, max = inf, e = 1.e+3, i = -0> }""",
}
# What stands in place of what, and where the mistake is.
WRONG = [
    ("short", "y = Relu", "y Relu", "line 1, column 77: expected '=', found 'Relu'"),
    ("short", "=> (float", "= (float", "line 1, column 57: expected '=>', found '='"),
    ("short", "float[N] x", "floaty[N] x", "line 1, column 51: expected ')', found '['"),
    ("short", "(x) }", "(x)", "line 1, column 86: expected '=', found the end"),
    ("short", "[\"\": 21]", "[21]", "line 1, column 33: expected a text in quotes, found '2'"),
    ("short", "ir_version", "version",
     "line 1, column 2: expected a property of models, such as 'opset_import', found 'version'"),
    ("short", "float[N] y", "float[N y", "line 1, column 69: expected ']', found 'y'"),
    ("grammar", "{-1, 9223372036854775807}", "{-1, 9223372036854775808}",
     "line 5, column 64: the number does not fit into 64 bits"),
    ("grammar", "e: ints = []", "e = []", "line 11, column 43: an empty list needs a type, as in 'axes: ints = []'"),
    ("grammar", "n: int = 3", "n: int = 3.5", "line 11, column 22: expected the type 'int', found 'float'"),
    ("grammar", "n: int = 3", "n: many = 3",
     "line 11, column 16: expected a type of attributes, such as 'int' or 'floats', found 'many'"),
    ("grammar", "float f = {nan}", "float f = {non}", "line 7, column 51: expected a number or a text in quotes, found 'non'"),
    ("grammar", "float[2, 2] w =", "float[2, K] w =",
     "line 7, column 2: a tensor with elements needs a type of elements and known extents"),
    ("grammar", "\"a function\"", "\"a function", "line 19, column 57: the quotes are not closed"),
]  # fmt: skip


def outcome(hdsc, folder, model):
    """What hdsc makes of the model in [folder]: the text, or the error, and the bytes of the weights."""
    for old in folder.glob("out.*"):
        old.unlink()
    done = subprocess.run([hdsc, model, "--emit=graph", "-o", "out.hds"], cwd=folder, capture_output=True, text=True, check=False)
    made = {p.name: p.read_bytes() for p in folder.glob("out.*")}
    return done.returncode, done.stderr.replace(model, "MODEL"), made


def difference(hdsc, folder, name, text):
    """What is wrong, or ""."""
    (folder / "model.onnxtxt").write_text(text)
    (folder / "model.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    read, wanted = outcome(hdsc, folder, "model.onnxtxt"), outcome(hdsc, folder, "model.onnx")
    return "" if read == wanted else f"{name}: {read} instead of {wanted}\n{text[:2000]}"


def printed_cases(every, rng):
    cases = list(node_cases.collect().values())
    for case in rng.sample(cases, len(cases) // every):
        text = onnx.printer.to_text(case.model)
        try:
            onnx.parser.parse_model(text)
        except onnx.parser.ParseError:
            continue  # names that the printer does not put in quotes, and what the package cannot read
        yield case.name, text


def check_wrong(hdsc, folder, base, old, new, where):
    text = TEXTS[base].replace(old, new, 1)
    assert text != TEXTS[base], (base, old)
    (folder / "model.onnxtxt").write_text(text)
    code, error, _ = outcome(hdsc, folder, "model.onnxtxt")
    try:
        onnx.parser.parse_model(text)
        return f"{new}: onnx.parser takes it"
    except (onnx.parser.ParseError, RuntimeError, ValueError, IndexError):
        wanted = f"error[HDS0860]: the ONNX file 'MODEL' cannot be read: {where}\n"
        return "" if code == 1 and wanted in error else f"{new}: {error} instead of {wanted}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hdsc", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--every", type=int, default=1, help="only each N-th of the node tests")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        found = [difference(args.hdsc, folder, name, text) for name, text in TEXTS.items()]
        found += [difference(args.hdsc, folder, *case) for case in printed_cases(args.every, random.Random(1))]
        found += [check_wrong(args.hdsc, folder, *row) for row in WRONG]
    faults = [f for f in found if f]
    print("\n".join(faults))
    print(re.sub(r"\s+", " ", f"{len(found) - len(faults)} passed, {len(faults)} failed"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
