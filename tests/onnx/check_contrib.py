#!/usr/bin/env python3
"""Operators of com.microsoft on the simulator, against NumPy (contrib.py). Usage: check_contrib.py HDSC [--match=TEXT]"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import contrib  # noqa: E402


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
