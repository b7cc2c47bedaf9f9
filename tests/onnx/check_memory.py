#!/usr/bin/env python3
"""Reading a model needs little more memory than its file has bytes, in whatever way weights are in it. Usage:

    check_memory.py HDSC

Compared is the most memory that was resident, with that of the same model whose weights have a few elements. The files are
sparse: weights are zeros that are on no disk. Two have more than 2 GiB, inside of the file and as external data. What a node
needs is the same in small and in large models."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from writer import FLOAT, external, graph, message, model, node, value, varint
from writer import tensor as full_tensor

MOST = 1.2  # times the file
TOLERANCE = 4 << 20
LAYERS, SIDE = 8, 1536
GROWTH, MOST_GROWTH = 100, 1.2
RAW, FLOATS = 9, 4  # fields of a tensor


class Bytes:
    """That many zeros in a message, which are not written."""

    def __init__(self, count):
        self.count = count


def nest(number, parts):
    """A field with a message whose pieces are bytes and Bytes."""
    length = sum(p.count if isinstance(p, Bytes) else len(p) for p in parts)
    return [varint(number << 3 | 2) + varint(length), *parts]


def tensor(name, side, field):
    head = message((1, side), (1, side), (2, FLOAT), (8, name)) + varint(field << 3 | 2) + varint(side * side * 4)
    return nest(5, [head, Bytes(side * side * 4)])


def chain(names, side):
    """Products, one behind the other."""
    nodes = [node("MatMul", [f"t{i}", name], [f"t{i + 1}"]) for i, name in enumerate(names)]
    return graph(nodes, [value("t0", FLOAT, [2, side])], [value(f"t{len(names)}", FLOAT, [2, side])])


def write(path, pieces):
    with open(path, "wb") as f:
        for piece in pieces:
            f.seek(piece.count, os.SEEK_CUR) if isinstance(piece, Bytes) else f.write(piece)
        f.truncate()
    return path


def inline(path, side, field, layers=LAYERS):
    names = [f"w{i}" for i in range(layers)]
    pieces = [piece for name in names for piece in tensor(name, side, field)]
    return write(path, [message((1, 8), (8, message((1, ""), (2, 17)))), *nest(7, [chain(names, side), *pieces])])


def outside(path, side, layers):
    """Weights in model.bin, each beyond the one before."""
    each = side * side * 4
    write(path.with_suffix(".bin"), [Bytes(each * layers)])
    names = [f"w{i}" for i in range(layers)]
    places = [external(name, [side, side], ("location", path.with_suffix(".bin").name), ("offset", str(i * each)),
                       ("length", str(each))) for i, name in enumerate(names)]  # fmt: skip
    path.write_bytes(model(chain(names, side) + message(*[(5, p) for p in places])))
    return path


def layers(path, count):
    """That many products, sums and activations with residuals: five nodes each."""
    nodes, tensors = [], []
    for i in range(count):
        tensors += [(5, full_tensor(f"w{i}", FLOAT, [8, 8], [0.125] * 64)), (5, full_tensor(f"b{i}", FLOAT, [8], [0.5] * 8))]
        nodes += [node("MatMul", [f"t{i}", f"w{i}"], [f"m{i}"], f"/{i}/MatMul"), node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
                  node("Relu", [f"a{i}"], [f"r{i}"]), node("Add", [f"r{i}", f"t{i}"], [f"s{i}"]),
                  node("Tanh", [f"s{i}"], [f"t{i + 1}"])]  # fmt: skip
    g = graph(nodes, [value("t0", FLOAT, [4, 8])], [value(f"t{count}", FLOAT, [4, 8])])
    path.write_bytes(model(g + message(*tensors)))
    return path


def check_growth(hdsc, folder):
    """Both halves of a model that is twice as large as another one need the same."""
    sizes = [peak([hdsc, "graph", layers(folder / f"layers{n}.onnx", n)]) for n in (GROWTH, 2 * GROWTH, 4 * GROWTH)]
    first, second = (sizes[1] - sizes[0]) / (5 * GROWTH), (sizes[2] - sizes[1]) / (10 * GROWTH)
    print(f"{first / 1024:.0f} KiB a node of the first {10 * GROWTH}, {second / 1024:.0f} KiB of the next ones")
    return [] if second < MOST_GROWTH * first else [f"a node of larger models needs {second / first:.2f} times as much"]


def peak(command):
    """Bytes, or the exit code and messages where it fails."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    messages = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command}: exit code {process.returncode}: {messages[:1000]}")
    return usage.ru_maxrss * 1024


def check(commands, path, small, most):
    """[most]: bytes."""
    problems = []
    for name, command in commands.items():
        used = peak(command(path)) - peak(command(small))
        if used > most + TOLERANCE:
            problems.append(f"{name} {path.name}: {used / 2**20:.0f} MiB, more than {most / 2**20:.0f}")
        print(f"{name} {path.name}: {used / 2**20:.0f} MiB, and {path.stat().st_size / 2**20:.0f} in the file")
    return problems


def main():
    hdsc = sys.argv[1]
    commands = {"graph": lambda path: [hdsc, "graph", path], "check": lambda path: [hdsc, "check", path],
                "--emit=graph": lambda path: [hdsc, path, "--emit=graph", "-o", path.with_suffix(".hds")]}  # fmt: skip
    looks = {"graph": commands["graph"]}
    problems, count = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for field, kind in ((RAW, "raw"), (FLOATS, "floats")):
            path, small = inline(folder / f"{kind}.onnx", SIDE, field), inline(folder / f"{kind}_small.onnx", 8, field)
            problems += check(commands, path, small, MOST * path.stat().st_size)
            count += len(commands)
        small = inline(folder / "small.onnx", 8, RAW, 3)
        for path in (inline(folder / "huge.onnx", 15360, RAW, 3), outside(folder / "external.onnx", 15360, 3)):
            problems += check(looks, path, small, 0)
            count += 1
        problems += check_growth(hdsc, folder)
        count += 1
    print("\n".join(problems))
    print(f"{count - len(problems)} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
