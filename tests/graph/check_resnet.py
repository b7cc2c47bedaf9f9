#!/usr/bin/env python3
"""examples/models/resnet18.hds with few channels and small images, on the simulator, against Python's floats. Usage:
check_resnet.py HDSC"""

import array
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

from check_models import MODELS, TOP, by_pixel, conv2d, flat, linear

K, CLASSES, EXTENT = 3, 5, 40
TOLERANCES = {"f32": 1e-5, "f16": 5e-3, "bf16": 4e-2}  # of the largest logit
CHANNELS = [K * 2**n for n in range(4)]


def names():
    """The weights of ResNet-18 and their extents, as torchvision names them."""
    found = {"conv1.weight": (CHANNELS[0], 3, 7, 7)}

    def norm(prefix, count):
        found.update({f"{prefix}.{what}": (count,) for what in ("weight", "bias", "running_mean", "running_var")})

    norm("bn1", CHANNELS[0])
    before = CHANNELS[0]
    for layer, count in enumerate(CHANNELS, start=1):
        for block in range(2):
            of = f"layer{layer}.{block}"
            found[f"{of}.conv1.weight"], found[f"{of}.conv2.weight"] = (count, before, 3, 3), (count, count, 3, 3)
            norm(f"{of}.bn1", count)
            norm(f"{of}.bn2", count)
            if block == 0 and layer > 1:
                found[f"{of}.downsample.0.weight"] = (count, before, 1, 1)
                norm(f"{of}.downsample.1", count)
            before = count
    return {**found, "fc.weight": (CLASSES, before), "fc.bias": (CLASSES,)}


def nested(values, shape):
    if not shape:
        return values[0]
    step = len(values) // shape[0]
    return [nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def numbers(rng, name, shape):
    width, middle = (math.sqrt(3 / math.prod(shape[1:])), 0.0) if len(shape) > 1 else (0.3, 1.0 if "var" in name else 0.5)
    return array.array("f", [middle + width * rng.uniform(-1, 1) for _ in range(math.prod(shape))])


def write_safetensors(path, tensors):
    header, begin = {}, 0
    for name, (shape, values) in tensors.items():
        end = begin + 4 * len(values)
        header[name], begin = dict(dtype="F32", shape=shape, data_offsets=[begin, end]), end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for _, values in tensors.values()))


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


def read_npy(path):
    data = path.read_bytes()
    values = array.array("f")
    values.frombytes(data[10 + struct.unpack("<H", data[8:10])[0] :])
    return list(values)


# ---- the model ---------------------------------------------------------------------------------------------------------------

def normed(x, w, of, f=lambda v: v):
    mean, var, scale, shift = (w[f"{of}.{what}"] for what in ("running_mean", "running_var", "weight", "bias"))
    return by_pixel(lambda c, v: f((v - mean[c]) / math.sqrt(var[c] + 1e-5) * scale[c] + shift[c]), x)


def relu(v):
    return max(v, 0.0)


def max_pool(x):
    """Windows of 3, 2 apart, with a padding of 1."""
    n = len(x[0][0])
    window = lambda i: range(max(2 * i - 1, 0), min(2 * i + 2, n))
    m = range((n + 1) // 2)
    pooled = lambda c: [[max(c[h][w] for h in window(i) for w in window(j)) for j in m] for i in m]
    return [[pooled(channel) for channel in image] for image in x]


def resnet18(image, w):
    x = max_pool(normed(conv2d(image, w["conv1.weight"], stride=2, padding=3), w, "bn1", relu))
    for layer in range(1, 5):
        for block in range(2):
            of, stride = f"layer{layer}.{block}", 2 if block == 0 and layer > 1 else 1
            y = normed(conv2d(x, w[f"{of}.conv1.weight"], stride=stride, padding=1), w, f"{of}.bn1", relu)
            y = normed(conv2d(y, w[f"{of}.conv2.weight"], padding=1), w, f"{of}.bn2")
            if stride == 2:
                x = normed(conv2d(x, w[f"{of}.downsample.0.weight"], stride=2), w, f"{of}.downsample.1")
            x = by_pixel(lambda c, a, b: relu(a + b), x, y)
    means = [[math.fsum(flat(channel)) / len(flat(channel)) for channel in one] for one in x]
    return linear(means, w["fc.weight"], w["fc.bias"])


def run(folder, precision):
    """The logits of a run that computes in this type."""
    words = [sys.argv[1], "run", MODELS / "resnet18.hds", "-I", TOP / "ops", f"--weights={folder / 'weights.safetensors'}",
             f"--precision={precision}", "-DB=2", f"-DS={EXTENT}", f"-DCHANNELS={K}", f"-DCLASSES={CLASSES}",
             f"image=@{folder / 'image.npy'}", f"out=out:{folder / 'out.npy'}"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return read_npy(folder / "out.npy")


def main():
    rng = random.Random(18)
    tensors = {name: (shape, numbers(rng, name, shape)) for name, shape in names().items()}
    shape = (2, 3, EXTENT, EXTENT)
    image = array.array("f", [rng.gauss(0, 1) for _ in range(math.prod(shape))])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_safetensors(folder / "weights.safetensors", tensors)
        write_npy(folder / "image.npy", shape, image)
        have = {precision: run(folder, precision) for precision in TOLERANCES}
    wanted = flat(resnet18(nested(image.tolist(), shape), {k: nested(v.tolist(), s) for k, (s, v) in tensors.items()}))
    largest, failed = max(map(abs, wanted)), False
    for precision, tolerance in TOLERANCES.items():
        worst = max(abs(a - b) for a, b in zip(have[precision], wanted, strict=True)) / largest
        failed |= not worst < tolerance
        print(f"{precision}: off by {worst:.1e} of the largest")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
