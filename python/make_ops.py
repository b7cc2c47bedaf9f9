#!/usr/bin/env python3
"""Usage: make_ops.py HDSC OPS FILE ATEN. Writes into FILE what hidet.ops has to know of each operator, from the schema
of the operators in the folder OPS.

[name, module, operands, attributes, symbols, doc] with operands [name, is optional, is variadic], attributes
[name, default or null] and the names of type parameters. Operators of files that are there for libhdsops alone
(…_entries) are left out. ATEN gets the module of each function of OPS/aten by its name."""

import json
import pathlib
import re
import subprocess
import sys


def row(op):
    operands = [[x["name"], x["optional"], x["variadic"]] for x in op["operands"]]
    attributes = [[x["name"], x["default"]] for x in op["attributes"]]
    return [op["name"], op["module"], operands, attributes, [x["name"] for x in op["symbols"]], op["doc"] or ""]


def main():
    hdsc, folder, path, aten = sys.argv[1:]
    out = subprocess.run([hdsc, "ops", "--json", "-I", folder, folder], capture_output=True, text=True, check=True).stdout
    rows = [row(op) for op in json.loads(out) if not op["module"].endswith("_entries")]
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in sorted(rows)) + "\n]\n")
    names = {}
    for file in sorted(pathlib.Path(folder, "aten").glob("*.hds")):
        found = re.findall(r"^def ([a-z]\w*)|^([a-z]\w*) = ", file.read_text(encoding="utf-8"), re.MULTILINE)
        names |= {a or b: f"aten.{file.stem}" for a, b in found}
    pathlib.Path(aten).write_text(json.dumps(names, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
