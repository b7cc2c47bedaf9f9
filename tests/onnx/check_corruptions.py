#!/usr/bin/env python3
"""Corrupted ONNX files are refused with a reason, or are models after all; nothing crashes. Usage: check_corruptions.py HDSC FUZZ

FUZZ is tests/fuzz's fuzz_onnx, which reads and prints each file and stops the process where something does not hold: 1,000
seeded corruptions in one run. Some of them go through hdsc as well, and so do, where PyPI's onnx is, models that PyTorch exported
with what bytes alone do not make: cycles, other ranks, huge extents, external data that is not there or elsewhere."""

import importlib.util
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from writer import MODELS  # noqa: E402

EXPORTED = pathlib.Path(__file__).resolve().parent / "exported"
COUNT, THROUGH_HDSC, OF_EACH = 1000, 60, 15
MOST_MEMORY = 1 << 20  # KiB, of any process: numbers in a file that it does not back make nothing larger
SEEDS = ("net", "function", "scalars", "missing", "beside")


def flip(r, data):
    for _ in range(r.randint(1, 8)):
        at = r.randrange(len(data))
        data[at] ^= 1 << r.randrange(8)


def cut(r, data):
    del data[r.randrange(len(data)) :]


def drop(r, data):
    at = r.randrange(len(data))
    del data[at : at + r.randint(1, 16)]


def repeat(r, data):
    at = r.randrange(len(data))
    data[at:at] = data[at : at + r.randint(1, 64)]


def huge(r, data):
    """Lengths, extents and numbers of types that are far too large."""
    at = r.randrange(len(data))
    data[at : at + r.randint(0, 4)] = r.choice((b"\xff\xff\xff\xff\x7f", b"\xff" * 9 + b"\x01", b"\x80" * 10, b"\xff\xff\x03"))


def swap(r, data):
    """Names for one another: cycles, inputs of other types and ranks."""
    a, b = r.randrange(len(data)), r.randrange(len(data))
    n = r.randint(1, 6)
    data[a : a + n], data[b : b + n] = data[b : b + n], data[a : a + n]


KINDS = (flip, cut, drop, repeat, huge, swap)


def corrupted(number):
    r = random.Random(number)
    data = bytearray(MODELS[SEEDS[number % len(SEEDS)]]())
    for _ in range(r.randint(1, 2)):
        r.choice(KINDS)(r, data)
        if not data:
            data = bytearray(b"\x08")
    return bytes(data)


def check(hdsc, path, wanted=""):
    """A reason why hdsc did wrong, or None. `wanted`: what its errors have to name."""
    done = subprocess.run([hdsc, "graph", path], capture_output=True, timeout=60, check=False)
    text = done.stderr.decode(errors="replace")
    is_refused = done.returncode == 1 and "error" in text and wanted in text
    if not is_refused and (wanted or done.returncode != 0):
        return f"{path.name}: exit code {done.returncode}, and {wanted!r} is not named: {text[:500]}"
    return None


def check_models(hdsc, folder):
    """Problems of exported models that are corrupted, and how many there were."""
    if not importlib.util.find_spec("onnx"):
        return [], 0
    import corrupt_models
    import onnx

    files, problems = sorted(EXPORTED.glob("*.onnx")), []
    for damage in corrupt_models.ALL:
        for number in range(OF_EACH):
            r = random.Random(f"{damage.__name__} {number}")
            inside = folder / f"{damage.__name__}_{number}" / "model"
            (inside / "folder").mkdir(parents=True)
            model = onnx.load(r.choice(files))
            wanted, path = damage(r, model, inside), inside / f"{damage.__name__}_{number}.onnx"
            path.write_bytes(model.SerializeToString())
            problems += [found] if (found := check(hdsc, path, wanted)) else []
    return problems, len(corrupt_models.ALL) * OF_EACH


def main():
    hdsc, fuzz = sys.argv[1:]
    problems = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        paths = [folder / f"{number}.onnx" for number in range(COUNT)]
        for number, path in enumerate(paths):
            path.write_bytes(corrupted(number))
        done = subprocess.run([fuzz, folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            problems.append(f"{fuzz}: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}")
        problems += [found for path in paths[:THROUGH_HDSC] if (found := check(hdsc, path))]
        found, models = check_models(hdsc, folder)
        problems += found
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    problems += [f"a process had {most >> 10} MiB"] if most > MOST_MEMORY else []
    print("\n".join(problems))
    print(f"{COUNT + THROUGH_HDSC + models - len(problems)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
