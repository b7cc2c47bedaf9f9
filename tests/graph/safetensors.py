#!/usr/bin/env python3
"""Writes safetensors files for tests. Usage: safetensors.py FILE [NAME=TYPE:SHAPE[:VALUE]]...

TYPE is F16, F32 or I8, SHAPE is '2,3' or ''. Elements are VALUE, or random numbers that depend on NAME alone.
"""

import json
import math
import random
import struct
import sys

FORMATS = {"F16": "e", "F32": "f", "I8": "b"}


def write(path, tensors):
    """[tensors]: name -> (type, shape, elements, row by row)."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        bytes_ = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def parse(word):
    """(name, tensor) of an argument."""
    name, _, rest = word.partition("=")
    dtype, sizes, *value = rest.split(":")
    shape = [int(n) for n in sizes.split(",") if n]
    rng = random.Random(name)
    count = math.prod(shape)
    one = (lambda: int(value[0]) if dtype == "I8" else float(value[0])) if value else lambda: rng.gauss(0, 0.25)
    return name, (dtype, shape, [one() for _ in range(count)])


def main():
    write(sys.argv[1], dict(parse(word) for word in sys.argv[2:]))


if __name__ == "__main__":
    main()
