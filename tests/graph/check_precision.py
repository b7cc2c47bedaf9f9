#!/usr/bin/env python3
"""Random f32 graphs with --precision on the simulator, against the same formulas in Python. Usage: check_precision.py HDSC [N [SEED]]

Products have 16-bit operands in the program, or math="tf32"; parameters keep their types; with a pattern the operator that it names
stays f32.
"""

import random
import re
import sys

import seeds
from check_passes import Model, hdsc, read, write

TOLERANCES = {"f16": 8e-3, "bf16": 6e-2, "tf32": 8e-3}  # of the largest value in the graph
PRODUCT = re.compile(r"\b(?:linear|matmul)\((\w+), (\w+)")


def check_program(program, precision):
    """Operands of products are what the precision says, and parameters of the program are f32."""
    for body in re.findall(r"@operator\n(def .*?)(?=\n\n|\Z)", program, re.DOTALL):
        types = dict(re.findall(r"(\w+): (\w+)\[", body))
        products = PRODUCT.findall(body)
        for names in products:
            if precision == "tf32" and "math='tf32'" not in body:
                raise RuntimeError(f"a product is not in tf32:\n{body}")
            wrong = [n for n in names if n in types and types[n] != ("f32" if precision == "tf32" else precision)]
            if wrong:
                raise RuntimeError(f"a product reads {wrong}:\n{body}")
    parameters = re.search(r"^def model\((.*)\):$", program, re.MULTILINE).group(1)
    if re.findall(r": (?!f32)\w+\[", parameters):
        raise RuntimeError(f"parameters are not f32: {parameters}")


def check_softmax(folder, precision):
    """Where a pattern says so, softmax reads and gives f32."""
    text = hdsc("graph", folder / "model.hds", "--passes=precision", f"--precision={precision},softmax=f32")
    wrong = [line for line in text.splitlines() if " = softmax(" in line and "# f32" not in line]
    if wrong:
        raise RuntimeError(f"softmax is not in f32: {wrong}")


def check(folder, seed):
    precision = list(TOLERANCES)[seed % len(TOLERANCES)]
    rng = random.Random(seed)
    model = Model(rng, rng.randrange(5, 14))
    results = model.results()
    (folder / "model.hds").write_text(model.text(results))
    for name, x in model.inputs.items():
        write(folder / f"{name}.npy", x)
    check_program(hdsc("graph", folder / "model.hds", "--print=program", "--rewrites=none", f"--precision={precision}"), precision)
    check_softmax(folder, precision)
    outs = ["out"] if len(results) == 1 else [f"out{k}" for k in range(len(results))]
    words = [f"{name}=@{folder / name}.npy" for name in model.inputs] + [f"{o}=out:{folder / o}.npy" for o in outs]
    hdsc("run", folder / "model.hds", "--entry=model", f"--precision={precision}", *words)
    largest = max(abs(v) for x in model.values.values() for row in x for v in row)
    for name, out in zip(results, outs, strict=True):
        wanted = [v for row in model.values[name] for v in row]
        worst = max(abs(a - b) for a, b in zip(read(folder / f"{out}.npy"), wanted, strict=True))
        if not worst < TOLERANCES[precision] * max(largest, 1):
            raise RuntimeError(f"{precision}: {name} is off by {worst}, the largest value is {largest}")


def main():
    passed, failed = seeds.run(check)
    print(f"{len(passed)} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
