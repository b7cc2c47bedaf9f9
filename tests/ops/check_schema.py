"""The table of operators ('hdsc ops --json') against the signatures in ops/, and results for given operands against a list.

Signatures are read here by Python's parser. Usage: check_schema.py HDSC"""

import ast
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish  # noqa: E402

HEAD = re.compile(r"^((?:@.*\n(?:[ )].*\n)*)+)def (\w+)(\[)?", re.MULTILINE)


def closing(text, at):
    """The index after the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += text[i] in "[(" and 1
        depth -= text[i] in "])" and 1
        if depth == 0:
            return i + 1
    raise ValueError(text[at:])


def signatures(path):
    """{name: (is elementwise, type parameters as texts, the function without them)} of the operators in the file."""
    text, found = path.read_text(encoding="utf-8"), {}
    for head in HEAD.finditer(text):
        if "hidet.script" in head[1] or "@test" in head[1] or head[2].startswith("_"):
            continue
        end = closing(text, head.end() - 1) if head[3] else head.end()
        types = text[head.end() : end - 1] if head[3] else ""
        stop = closing(text, end)
        colon = re.compile(r":[^\S\n]*(#.*)?\n").search(text, stop).start()
        function = ast.parse(f"def f{text[end:colon]}: pass").body[0]
        found[head[2]] = ("@elementwise" in head[1], split(types), function)
    for other, name in re.findall(r"^(\w+) = (\w+)(?:  #.*)?$", text, re.MULTILINE):
        if name in found:
            found[other] = found[name]
    return found


def split(types):
    """The type parameters, each as (name, bound, default)."""
    parts, depth, part = [], 0, ""
    for c in types:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    rows = []
    for p in [p.strip() for p in [*parts, part] if p.strip()]:
        name, _, default = p.partition(" = ")
        name, _, bound = name.partition(":")
        rows.append((name.strip(), bound.strip(), default.strip() or None))
    return rows


def same(text, node):
    """Whether the text is that expression."""
    if text is None or node is None:
        return text is None and node is None
    return ast.dump(ast.parse(f"x[{text}]")) == ast.dump(ast.parse(f"x[{ast.unparse(node)}]"))


def check_symbols(row, types, wrong):
    wanted = [(name.lstrip("*"), name.startswith("*"), default) for name, _, default in types]
    found = [(s["name"], s["kind"] == "axes", s["default"]) for s in row["symbols"]]
    if wanted != found:
        wrong(f"symbols are {found} instead of {wanted}")
    for s in row["symbols"]:
        if s["kind"] == "type" and not s["choices"]:
            wrong(f"{s['name']} may be no type")


def check_operand(p, of, default, is_elementwise, wrong):
    if is_elementwise:
        if p["type"] != "T[*S]":
            wrong(f"operand {p['name']} is {p['type']}")
        return
    if not same(p["type"], of.annotation) or not same(p["default"], default):
        wrong(f"operand {p['name']} is {p['type']} = {p['default']}")
    if of.annotation is None:
        return
    items = of.annotation.slice.elts if isinstance(of.annotation.slice, ast.Tuple) else [of.annotation.slice]
    axes = [(isinstance(i, ast.Starred), ast.unparse(i.value if isinstance(i, ast.Starred) else i)) for i in items]
    if [(a["is_many"], ast.unparse(ast.parse(a["extent"]))) for a in p["axes"]] != axes or not same(p["dtype"], of.annotation.value):
        wrong(f"operand {p['name']} has the elements {p['dtype']} and the axes {p['axes']}")


def check_attribute(p, of, default, wrong):
    if p["default"] is not None and not same(p["default"], default) or (default is None) != (p["default"] is None):
        wrong(f"attribute {p['name']} has the default {p['default']}")
    if p["declared"] != (of.annotation is not None) or (of.annotation is not None and not same(p["type"], of.annotation)):
        wrong(f"attribute {p['name']} has the type {p['type']}")
    if not p["kinds"] and not p["values"]:
        wrong(f"attribute {p['name']} takes nothing")
    if p["known_while_compiling"] and not p["declared"] and p["default"] != "None":
        wrong(f"attribute {p['name']} is known while compiling, and its definition does not say what it takes")


def check_params(row, function, is_elementwise, wrong):
    a = function.args
    plain = [*a.posonlyargs, *a.args]
    defaults = dict(zip([p.arg for p in reversed(plain)], reversed(a.defaults)))
    defaults |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None}
    known = {p.arg: p for p in [*plain, *a.kwonlyargs, *([a.vararg] if a.vararg else [])]}
    if is_elementwise:
        known.pop("m", None)  # what @elementwise(maths=True) gives
    rows = row["operands"] + row["attributes"]
    order = [p["name"] for p in sorted(rows, key=lambda p: p["position"])]
    if sorted(order) != sorted(known):
        wrong(f"parameters are {order} instead of {list(known)}")
        return
    for p in row["operands"]:
        check_operand(p, known[p["name"]], defaults.get(p["name"]), is_elementwise, wrong)
        if p["variadic"] != (a.vararg is not None and a.vararg.arg == p["name"]):
            wrong(f"operand {p['name']} is variadic, or not")
    for p in row["attributes"]:
        check_attribute(p, known[p["name"]], defaults.get(p["name"]), wrong)


def check_results(row, function, is_elementwise, wrong):
    returns = function.returns
    if is_elementwise:
        if len(row["results"]) != 1 or not row["results"][0]["type"].endswith("[*S]"):
            wrong(f"results are {row['results']}")
        return
    wanted = returns.elts if isinstance(returns, ast.Tuple) else [returns] if returns is not None else []
    if len(wanted) != len(row["results"]) or not all(same(r["type"], w) for r, w in zip(row["results"], wanted)):
        wrong(f"results are {[r['type'] for r in row['results']]}")


def check_row(row, signature):
    problems = []
    wrong = lambda text: problems.append(f"{row['file']}: {row['name']}: {text}\n")
    is_elementwise, types, function = signature
    if not is_elementwise:
        check_symbols(row, types, wrong)
    check_params(row, function, is_elementwise, wrong)
    check_results(row, function, is_elementwise, wrong)
    if (row["family"] == "elementwise") < is_elementwise or (row["family"] == "own kernels") != bool(row["templates"]):
        wrong(f"family {row['family']}, templates {row['templates']}")
    if row["family"] is None and row["why_no_entry"] is None:
        wrong("an operator with an entry has no family")
    return problems


# (file, operator, what is given, results)
RESULTS = [
    ("arithmetic", "add", ["x=f16[4, 1, 8]", "y=f16[3, 8]"], ["f16[4, 3, 8]"]),
    ("comparison", "less", ["x=f32[5]", "y=f32[5]"], ["bool[5]"]),
    ("activation", "gelu", ["x=bf16[2, 3]", 'approximate="tanh"'], ["bf16[2, 3]"]),
    ("softmax", "softmax", ["x=f32[4, 8]", "axis=0"], ["f32[4, 8]"]),
    ("softmax", "logsumexp", ["x=f64[4, 8]", "axis=0"], ["f64[8]"]),
    ("reduction", "sum", ["x=i8[4, 8]"], ["i64[4]"]),
    ("reduction", "mean", ["x=f16[2, 3, 4]", "axis=(0, 2)"], ["f16[3]"]),
    ("reduction", "max", ["x=f16[2, 3, 4]", "axis=None"], ["f16[]"]),
    ("reduction", "argmax", ["x=f32[2, 3]"], ["i32[2]"]),
    ("norm", "layer_norm", ["x=f16[2, 3, 4]", "w=f16[4]"], ["f16[2, 3, 4]"]),
    ("scan", "cumsum", ["x=f32[6, 7]", "dim=0"], ["f32[6, 7]"]),
    ("layout", "permute", ["x=u8[2, 3, 4]", "dims=(2, 0, 1)"], ["u8[4, 2, 3]"]),
    ("layout", "pad", ["x=f32[5, 6]", "pad=(1, 2)"], ["f32[5, 9]"]),
    ("layout", "split", ["x=f32[8]", "sections=(3, 5)"], ["f32[3]", "f32[5]"]),
    ("indexing", "embedding", ["input=i64[2, 5]", "weight=f16[100, 16]"], ["f16[2, 5, 16]"]),
    ("pooling", "max_pool2d", ["x=f32[1, 2, 8, 9]", "kernel_size=3", "stride=2"], ["f32[1, 2, 3, 4]"]),
    ("quantize", "quantize_per_tensor", ["x=f32[7]", "dtype=u8"], ["u8[7]"]),
    ("loss", "mse_loss", ["x=f16[3, 4]", "y=f16[3, 4]"], ["f16[]"]),
    ("sort", "topk", ["x=f32[3, 9]", "k=4"], ["f32[3, 4]", "i32[3, 4]"]),
]


def infer(hdsc, file, name, given):
    """(results as texts, or None, messages)."""
    command = [hdsc, "ops", "-I", TOP / "ops", TOP / f"ops/{file}.hds", name, "--json", *[f"--given={g}" for g in given]]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    rows = json.loads(done.stdout) if done.returncode == 0 else []
    results = rows[0].get("inferred") if rows else None
    return results and [f"{r['dtype']}{r['shape']}" for r in results], done.stderr


def check_results_of(hdsc, case):
    file, name, given, wanted = case
    found, messages = infer(hdsc, file, name, given)
    return [] if found == wanted else [f"{name} of {given} gives {found} instead of {wanted}\n{messages}"]


def table(hdsc, folder):
    command = [hdsc, "ops", "-I", TOP / "ops", folder, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def main():
    hdsc = sys.argv[1]
    rows = table(hdsc, TOP / "ops")
    by_file = {file: signatures(pathlib.Path(file)) for file in {row["file"] for row in rows}}
    problems = []
    for row in rows:
        signature = by_file[row["file"]].get(row["name"])
        problems += check_row(row, signature) if signature else [f"{row['file']}: no signature of {row['name']} was found\n"]
    known = {(row["file"], row["name"]) for row in rows}
    problems += [f"{f}: {n} is not in the table\n" for f, own in by_file.items() for n in own if (f, n) not in known]
    cases = each(lambda case: check_results_of(hdsc, case), RESULTS)
    problems += [problem for found in cases for problem in found]
    sys.exit(finish(problems, len(rows) + len(RESULTS) - len(problems)))


if __name__ == "__main__":
    main()
