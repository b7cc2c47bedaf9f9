"""Checks what --emit=json says of interface.hds, evaluating its texts as a launcher would."""

import json
import sys


def evaluate(expr, names):
    return expr if isinstance(expr, int) else eval(expr, {}, names)  # noqa: S307, the texts are ours


def expected_grid(n, m, k):
    return [min(64, (n + 31) // 32 - k), m * (n - 1), (3 if n > k and m < 7 else n % 5) << 1]


with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
assert list(document) == ["compiler", "arch", "source", "kernels", "functions"]
first, second = document["kernels"]

assert first["name"] == "everything" and second["name"] == "generic_f16"
assert second["title"] == "generic[T=f16]" and second["doc"] is None
assert first["doc"].startswith('Says "hello".')
assert [p["name"] for p in first["parameters"]] == ["s", "x", "y", "p", "flag", "k", "n", "m"]
kinds = ["scalar", "tensor", "tensor", "pointer", "scalar", "scalar", "size", "size"]
assert [p["kind"] for p in first["parameters"]] == kinds
assert [p["dtype"] for p in first["parameters"]] == ["f32", "f32", "f32", "u8", "bool", "i32", "i32", "i64"]
x, y = first["parameters"][1:3]
assert (x["written"], y["written"]) == (False, True)
assert x["alignment"] == 16 and x["shape"][0] == "n"
assert first["block"] == [32, 1, 1] and second["block"] == [8, 8, 1] and second["grid"] == [1, 1, 1]
assert first["cluster"] is None and first["min_blocks"] == 2 and second["min_blocks"] is None
assert first["dependent_launch"] is False
assert first["assumptions"] == [] and first["tensor_maps"] == []
assert first["static_shared_bytes"] + evaluate(first["dynamic_shared_bytes"], {"k": 5}) == 1024 + 20
assert second["parameters"][0]["shape"] == [64]
for n in (1, 2, 31, 33, 1000, 4096):
    for m in (0, 1, 6, 7, 2**33):
        for k in (-3, 0, 40):
            names = {"n": n, "m": m, "k": k}
            assert [evaluate(expr, names) for expr in first["grid"]] == expected_grid(**names), names
            assert evaluate(x["shape"][1], names) == 2 * m + 1
