#!/usr/bin/env python3
"""The models that PyPI's onnx ships, beside its node tests. Usage: check_shipped.py HDSC [--every=N] [-j N]

Small ones, which PyTorch exported years ago, and simple graphs have inputs and outputs with them: `hdsc report` runs them on the
simulator and compares. Of nine whole networks, whose weights are made by nodes, the kernels of a run are counted. UNSUPPORTED has
what is refused, and with which words; operators of sets before the seventh may be, too."""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

import onnx

DATA = pathlib.Path(onnx.__file__).parent / "backend/test/data"
SMALL = ("simple", "pytorch-operator", "pytorch-converted")
UNSUPPORTED = {
    "test_expand_shape_model": "'shape' has to be known while compiling", "test_gradient_of": "operator 'Gradient'",
    "test_sequence_model8": "'SplitToSequence' along an axis whose extent is open", "test_strnorm_model": "STRING",
}  # fmt: skip


# The most launches of a run: convolutions, pools, what normalisation and concatenation leave, and the nodes that make weights.
MOST_LAUNCHES = {
    "bvlc_alexnet": 26, "densenet121": 335, "inception_v1": 143, "inception_v2": 147, "resnet50": 84, "shufflenet": 91,
    "squeezenet": 61, "vgg19": 41, "zfnet512": 25,
}  # fmt: skip


def is_old(path):
    return min(s.version for s in onnx.load(path / "model.onnx").opset_import) < 7


def report(hdsc, path):
    """What is wrong, or ""."""
    done = subprocess.run([hdsc, "report", path / "model.onnx"], capture_output=True, text=True, check=False)
    refusal = next((words for name, words in UNSUPPORTED.items() if path.name.startswith(name)), None)
    if refusal:
        return "" if done.returncode and refusal in done.stderr else f"{path.name}: it is not refused: {done.stderr[:300]}"
    if "of ai.onnx 6 is not supported" in done.stderr and is_old(path):
        return ""
    is_right = re.search(r"^0 of \d+ outputs? (is|are) too far from", done.stdout, re.MULTILINE)
    return "" if is_right else f"{path.name}: {done.stdout[-300:]}{done.stderr[:300]}"


def count_launches(hdsc, path):
    done = subprocess.run([hdsc, "graph", path, "--print=program"], capture_output=True, text=True, check=False)
    launches = done.stdout[done.stdout.rfind("@hidet.script") :].count(".launch(")
    most = MOST_LAUNCHES[path.stem.removeprefix("light_")]
    return "" if 0 < launches <= most else f"{path.name}: {launches} launches; at most {most} are expected {done.stderr[:500]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hdsc")
    parser.add_argument("--every", type=int, default=1, help="of the small ones, only each N-th")
    parser.add_argument("-j", type=int, default=1)
    args = parser.parse_args()
    small = [path for folder in SMALL for path in sorted((DATA / folder).iterdir())][:: args.every]
    networks = sorted((DATA / "light").glob("*.onnx"))
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        wrong = [*pool.map(lambda p: report(args.hdsc, p), small), *pool.map(lambda p: count_launches(args.hdsc, p), networks)]
    problems = [text for text in wrong if text]
    print("\n".join(problems))
    print(f"{len(small)} small models, {len(networks)} networks: {len(problems)} problems")
    return 1 if problems or not small or not networks else 0


if __name__ == "__main__":
    sys.exit(main())
