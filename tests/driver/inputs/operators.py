"""What 'hdsc ops --json' says of operators.hds."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    rows = json.load(file)
ops = {o["name"]: o for o in rows}
assert list(ops) == ["largest", "joined", "threshold", "powers", "weighed", "summed", "of_pages", "thinned"], list(ops)

largest = ops["largest"]
assert largest["symbols"] == [
    {"name": "T", "kind": "type", "default": None, "choices": ["f16", "f32"], "is_any": False},
    {"name": "S", "kind": "axes", "default": None},
    {"name": "N", "kind": "extent", "default": None, "least": 0},
], largest["symbols"]
(x,) = largest["operands"]
assert (x["name"], x["dtype"], x["type"]) == ("x", "T", "T[*S, N]"), x
assert x["axes"] == [{"extent": "S", "is_many": True}, {"extent": "N", "is_many": False}], x
assert [(r["name"], r["dtype"]) for r in largest["results"]] == [("out0", "T"), ("out1", "i32")], largest["results"]

(xs,) = ops["joined"]["operands"]
assert xs["variadic"] and xs["dtype"] is None and ops["joined"]["family"] is None, ops["joined"]

(bound,) = ops["threshold"]["attributes"]
wanted = {"name": "threshold", "position": 1, "type": "f32", "kinds": ["float"], "values": None, "dtype": "f32", "default": "0.5"}
assert bound == wanted | {"known_while_compiling": False, "declared": False}, bound
assert ops["threshold"]["family"] == "elementwise", ops["threshold"]["family"]

w, axis = ops["weighed"]["operands"][1], ops["weighed"]["attributes"][0]
assert w["optional"] and w["default"] == "None" and w["axes"] == [{"extent": "R", "is_many": True}], w
assert (axis["kinds"], axis["default"], axis["known_while_compiling"], axis["declared"]) == (["int"], "-1", True, True), axis
assert ops["summed"]["why_no_entry"].startswith("it has 3 operands"), ops["summed"]["why_no_entry"]
