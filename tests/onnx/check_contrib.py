#!/usr/bin/env python3
"""Operators of com.microsoft on the simulator, against NumPy (contrib.py). Usage: check_contrib.py HDSC [--match=TEXT]"""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import contrib  # noqa: E402
import each_case  # noqa: E402

# The most launches of a run: weights of few bits are dequantised in the kernel, or for many rows at load, and quantised numbers
# inside of the kernel. A bias is an epilogue.
MOST_LAUNCHES = {"qlinear_add_uint8": 1, "qlinear_softmax_uint8": 1, "bits_4_40_1_weights": 1, "bits_8_64_6_weights": 1,
                 "bits_4_48_12_weights": 1}  # fmt: skip


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


def bytes_read(hdsc, folder, inputs):
    """By file of the lines that read."""
    words = [f"{key}=@{key}.npy" for key in inputs]
    command = [hdsc, "run", "model.onnx", *words, "o0=out:o0.npy", "--profile=json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    found = {}
    for line in json.loads(done.stdout)["lines"]:
        name = pathlib.Path(line["file"]).name
        found[name] = found.get(name, 0) + line["global"]["bytes"]
    return found


def check_traffic(hdsc, rows, folder):
    """Of a product with few rows each weight is read once, in 4 bits, and each group's scale and zero point once, or by tensor
    cores, from 5 rows on, by several threads.
    """
    K, N, block = 1024, 64, 128
    random, blocks = np.random.default_rng(1), K // block
    q = random.integers(0, 16, (N, blocks, block)).astype(np.uint8)
    scales = random.uniform(0.01, 0.1, (N, blocks)).astype(np.float16)
    a, zeros = random.standard_normal((rows, K)).astype(np.float16), contrib.packed_bits(np.full((N, blocks), 8, np.uint8), 4)
    inputs, how = [a, contrib.packed_bits(q, 4), scales, zeros], {"K": K, "N": N, "block_size": block, "bits": 4}
    model, given = contrib.model_of("traffic_weights", "MatMulNBits", inputs, how, [np.zeros((rows, N), np.float32)])
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    onnx.save(model, folder / "model.onnx")
    np.save(folder / "x0.npy", a)
    found = bytes_read(hdsc, folder, given)
    weights, groups = N * K // 2, N * blocks * 2 + N * blocks // 2
    wanted = {"packed.hds": (weights, weights), "matmul.hds": (groups, groups)}
    if rows > 4:
        wanted = {"matmul.hds": (weights + groups, weights + 5 * groups)}
    return [f"traffic of {rows} rows: {name} reads {found.get(name, 0)} bytes, not {least} to {most}"
            for name, (least, most) in wanted.items() if not least <= found.get(name, 0) <= most]  # fmt: skip


def main():
    args = each_case.arguments()
    cases = [case for case in contrib.cases() if args.match in case[0]]
    return each_case.finish(each_case.run(check, args.hdsc, cases), each_case.run(check_traffic, args.hdsc, (1, 3, 8)))


if __name__ == "__main__":
    sys.exit(main())
