#!/usr/bin/env python3
"""Models that PyTorch exported, on the simulator, against what PyTorch computed. Usage: check_exported.py HDSC

The files are made by examples/onnx/export.py --small, in tests/onnx/exported: by both exporters of PyTorch, some with open sizes,
and beside each the tensors of a run."""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent / "exported"
# The most launches of a run, so that a rewrite that gets lost is noticed.
MOST_LAUNCHES = {"resnet50": 15, "mobilenet_v2": 12, "unet": 15, "bert": 29, "gpt2": 20, "vit": 17, "llama": 20}
# The same in f16, with known sizes and as the file has them if it has others: seven for each of two layers, and what stands around
# them. Masks of sizes that are open, or were, are made of ranges, which takes the rest of them.
MOST_LAUNCHES_IN_HALF = {
    "bert": (21, 25), "gpt2": (18, 20), "vit": (18,), "llama": (22, 24), "unet": (18,), "resnet50": (17,), "mobilenet_v2": (13,),
}  # fmt: skip
ONE_KERNEL_EACH = ("unet",)  # models each of whose launches is one kernel, on sm_80 in f32 and on sm_90a in f16
MOST_LAUNCHES_WITH_BOTTLENECKS = 9  # of MobileNetV2, of whose blocks two are bottlenecks
SIZES = {"bert": {"batch": 1, "length": 6}, "gpt2": {"length": 6}, "llama": {"length": 6}}


def tensors(folder, kind):
    for path in sorted(folder.glob(f"{kind}_*.pb")):
        t = onnx.TensorProto.FromString(path.read_bytes())
        yield t.name, numpy_helper.to_array(t)


def check(hdsc, path, folder):
    data, words = path.with_suffix("") / "test_data_set_0", []
    for name, array in tensors(data, "input"):
        np.save(folder / f"{name}.npy", array)
        words.append(f"{name}=@{folder / name}.npy")
    ((output, want),) = tensors(data, "output")
    words += [f"{output}=out:{folder / 'got.npy'}"]
    done = subprocess.run([hdsc, "run", path, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"{path.name}: {done.stderr[:2000]}"]
    problems, got = [], np.load(folder / "got.npy")
    if got.shape != want.shape or not np.allclose(got, want, rtol=1e-4, atol=1e-5):
        problems.append(f"{path.name}: differs by {np.abs(got - want).max() if got.shape == want.shape else got.shape}")
    name = path.name.split(".")[0]
    problems += check_launches(hdsc, path, [], MOST_LAUNCHES[name])
    if name == "mobilenet_v2":
        problems += check_bottlenecks(hdsc, path, words, want, folder)
    if name in ONE_KERNEL_EACH:
        problems += check_kernels(hdsc, path)
    for sizes, most in zip((SIZES.get(name, {}), {}), MOST_LAUNCHES_IN_HALF[name]):
        half = ["--precision=f16", *(f"-D{size}={n}" for size, n in sizes.items())]
        problems += check_launches(hdsc, path, half, most)
        done = subprocess.run([hdsc, "run", path, *words, *half, "--arch=sm_90a"], capture_output=True, text=True, check=False)
        got = np.load(folder / "got.npy")
        if done.returncode != 0 or not np.allclose(got, want, rtol=2e-2, atol=2e-2):
            problems.append(f"{path.name} in f16, {sizes}: differs by {np.abs(got - want).max()} {done.stderr[:1000]}")
    return problems


def check_bottlenecks(hdsc, path, words, want, folder):
    """With each inverted bottleneck as one kernel, in f16 on Hopper."""
    options = ["--precision=f16", "-Dbatch=1"]
    problems = check_launches(hdsc, path, options, MOST_LAUNCHES_WITH_BOTTLENECKS)
    done = subprocess.run([hdsc, "run", path, *words, *options, "--arch=sm_90a"], capture_output=True, text=True, check=False)
    got = np.load(folder / "got.npy")
    if done.returncode != 0 or not np.allclose(got, want, rtol=2e-2, atol=2e-2):
        problems.append(f"{path.name} with bottlenecks: differs by {np.abs(got - want).max()} {done.stderr[:1000]}")
    return problems


def check_launches(hdsc, path, options, most):
    words = [hdsc, "graph", path, "--print=program", *options]
    program = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    launches = len(re.findall(r"\.launch\(", program[program.rfind("@hidet.script") :]))
    if 0 < launches <= most:
        return []
    return [f"{path.name} {options}: {launches} launches; at most {most} are expected"]


def check_kernels(hdsc, path):
    """As many kernels as launches, with what runs at load."""
    problems = []
    for options in (["--arch=sm_80"], ["--arch=sm_90a", "--precision=f16"]):
        program = subprocess.run([hdsc, "graph", path, "--print=program", *options[1:]], capture_output=True, text=True, check=True)
        plan = subprocess.run([hdsc, path, "--dump=plan", *options], capture_output=True, text=True, check=True)
        launches = len(re.findall(r"\.launch\(", program.stdout))
        kernels = len(re.findall(r"^ *launch @", plan.stdout, re.MULTILINE))
        if kernels != launches:
            problems.append(f"{path.name} {options}: {kernels} kernels for {launches} launches")
    return problems


def main():
    files, problems = sorted(FOLDER.glob("*.onnx")), []
    with tempfile.TemporaryDirectory() as temporary:
        for path in files:
            problems += check(sys.argv[1], path, pathlib.Path(temporary))
    print("\n".join(problems))
    print(f"{len(files)} models, {len(problems)} problems")
    sys.exit(1 if problems or not files else 0)


if __name__ == "__main__":
    main()
