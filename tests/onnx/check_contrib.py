#!/usr/bin/env python3
"""Operators of com.microsoft on the simulator, against NumPy (contrib.py). Usage: check_contrib.py HDSC [--match=TEXT]"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import contrib  # noqa: E402

# The most launches of a run: weights of few bits are dequantised at load, and quantised numbers inside of the kernel.
MOST_LAUNCHES = {"qlinear_add_uint8": 1, "qlinear_softmax_uint8": 1, "bits_4_40_2_weights": 1, "bits_8_64_3_weights": 1}


def count_launches(hdsc, folder):
    command = [hdsc, "graph", "model.onnx", "--print=program"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    return len(re.findall(r"\.launch\(", done.stdout[done.stdout.rfind("@hidet.script") :]))


def check(hdsc, case, folder):
    """What is wrong with a case, a line each."""
    name, outputs = case[0], case[4]
    model, inputs = contrib.model_of(*case)
    onnx.save(model, folder / "model.onnx")
    words = []
    for key, array in inputs.items():
        np.save(folder / f"{key}.npy", array)
        words.append(f"{key}=@{key}.npy")
    wanted = {f"o{k}": y for k, y in enumerate(outputs) if y is not None}
    words += [f"{key}=out:{key}.npy" for key in wanted]
    done = subprocess.run([hdsc, "run", "model.onnx", *words], capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode != 0:
        return [f"{name}: {done.stderr[:1500]}"]
    problems = []
    most = MOST_LAUNCHES.get(name)
    if most and (launches := count_launches(hdsc, folder)) != most:
        problems.append(f"{name}: {launches} launches, not {most}")
    for key, want in wanted.items():
        got = np.load(folder / f"{key}.npy")
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-4, atol=1e-5):
            difference = np.abs(got - want).max() if got.shape == want.shape else f"{got.shape}, not {want.shape}"
            problems.append(f"{name}: {key} differs: {difference}")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hdsc")
    parser.add_argument("--match", default="")
    args = parser.parse_args()
    passed, failed = 0, 0
    for case in contrib.cases():
        if args.match not in case[0]:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            problems = check(args.hdsc, case, pathlib.Path(temporary))
        print("\n".join(problems)) if problems else None
        passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
