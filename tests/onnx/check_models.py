#!/usr/bin/env python3
"""Models as exporters write them, on the simulator, against the package's reference evaluator. Usage: check_models.py HDSC

Each runs with its open sizes, if it has some, and with sizes that -D gives; its text with safetensors gives the same bits."""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from models import MODELS  # noqa: E402

SIZES = {"batch": 2, "length": 5}
# The most launches of a run, so that a rewrite that gets lost is noticed.
MOST_LAUNCHES = {"resnet": 9, "mobilenet": 9, "unet": 8, "bert": 35, "gpt": 27}
# The same in f16: 7 for each of two layers, and the embeddings, the mask and the pooled row.
MOST_LAUNCHES_IN_HALF = {"bert": 18}


def inputs_of(model):
    random = np.random.default_rng(0)
    for value in model.graph.input:
        t = value.type.tensor_type
        shape = [SIZES[d.dim_param] if d.dim_param else d.dim_value for d in t.shape.dim]
        if t.elem_type == onnx.TensorProto.FLOAT:
            yield value.name, random.standard_normal(shape).astype(np.float32)
        else:
            yield value.name, random.integers(0, 2 if "mask" in value.name else 10, shape)


def run(hdsc, *words, cwd):
    return subprocess.run([hdsc, *words], capture_output=True, text=True, cwd=cwd, check=False)


def check(hdsc, name, folder):
    model = MODELS[name]()
    onnx.save(model, folder / f"{name}.onnx")
    inputs, output = dict(inputs_of(model)), model.graph.output[0].name
    want = ReferenceEvaluator(model).run(None, inputs)[0]
    words = []
    for key, array in inputs.items():
        np.save(folder / f"{key}.npy", array)
        words.append(f"{key}=@{key}.npy")
    sizes = [w for k, n in SIZES.items() if any(d.dim_param == k for v in model.graph.input for d in v.type.tensor_type.shape.dim)
             for w in ("-D", f"{k}={n}")]  # fmt: skip
    problems = []
    for what in ([], sizes) if sizes else ([],):
        done = run(hdsc, "run", f"{name}.onnx", *what, *words, f"{output}=out:got.npy", cwd=folder)
        if done.returncode != 0:
            problems.append(f"{name} {what}: {done.stderr[:2000]}")
            continue
        got = np.load(folder / "got.npy")
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-3, atol=1e-4):
            problems.append(f"{name} {what}: differs by {np.abs(got - want).max() if got.shape == want.shape else got.shape}")
    done = run(hdsc, f"{name}.onnx", "--emit=graph", "-o", f"{name}.hds", cwd=folder)
    again = run(hdsc, "run", f"{name}.hds", *sizes, *words, f"{output}=out", "--expect", f"{output}=@got.npy:rtol=0,atol=0", cwd=folder)
    if done.returncode != 0 or again.returncode != 0:
        problems.append(f"{name}: its text gives something else: {done.stderr[:500]}{again.stderr[:500]}")
    problems += check_launches(hdsc, name, folder, sizes, MOST_LAUNCHES[name])
    if name in MOST_LAUNCHES_IN_HALF:
        half = ["--precision=f16", f"{output}=out:half.npy"]
        done = run(hdsc, "run", f"{name}.onnx", *sizes, *words, *half, cwd=folder)
        if done.returncode != 0 or not np.allclose(np.load(folder / "half.npy"), want, rtol=1e-2, atol=1e-2):
            problems.append(f"{name} in f16 differs: {done.stderr[:500]}")
        problems += check_launches(hdsc, name, folder, [*sizes, "--precision=f16"], MOST_LAUNCHES_IN_HALF[name])
    return problems


def check_launches(hdsc, name, folder, options, most):
    program = run(hdsc, "graph", f"{name}.onnx", *options, "--print=program", cwd=folder).stdout
    launches = len(re.findall(r"\.launch\(", program[program.rfind("@hidet.script") :]))
    if 0 < launches <= most:
        return []
    return [f"{name} {options}: {launches} launches; at most {most} are expected"]


def main():
    problems, passed = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in MODELS:
            found = check(sys.argv[1], name, pathlib.Path(temporary))
            problems += found
            passed += not found
    print("\n".join(problems))
    print(f"{passed} passed, {len(MODELS) - passed} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
