"""Writes the .npy files that the tests of 'hdsc run' read, sound and broken ones, into a folder. No NumPy is needed."""

import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def header(descr, shape, fortran=False, version=1):
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    length = 2 if version == 1 else 4
    text += " " * (-(8 + length + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(length, "little") + text.encode()


def write(name, *parts):
    (folder / name).write_bytes(b"".join(parts))


def floats(values, order="<"):
    return struct.pack(f"{order}{len(values)}f", *values)


ramp = [float(i) for i in range(12)]
columns = [ramp[4 * i + j] for j in range(4) for i in range(3)]
write("ramp.npy", header("<f4", (3, 4)), floats(ramp))
write("columns.npy", header("<f4", (3, 4), fortran=True), floats(columns))
write("big.npy", header(">f4", (3, 4)), floats(ramp, ">"))
write("version3.npy", header("<f4", (3, 4), version=3), floats(ramp))
write("doubled.npy", header("<f4", (3, 4)), floats([2 * x for x in ramp]))
write("nearly.npy", header("<f8", (3, 4)), struct.pack("<12d", *[2 * x + (0.25 if x > 8 else 0) for x in ramp]))
write("bf16.npy", header("<V2", (4,)), struct.pack("<4H", 0x3F80, 0x4000, 0x4040, 0x4080))
write("flat.npy", header("<f4", (12,)), floats(ramp))
write("double.npy", header("<f8", (3, 4)), struct.pack("<12d", *ramp))
write("short.npy", header("<f4", (3, 4)), floats(ramp[:11]))
write("long.npy", header("<f4", (3, 4)), floats(ramp), b"\0")
write("huge.npy", header("<f4", (1 << 40, 1 << 40)), floats(ramp))
write("text.npy", header("<U3", (3, 4)), b"\0" * 144)
write("empty.npy")
write("garbage.npy", bytes(range(256)))
write("archive.npy", b"PK\x03\x04" + b"\0" * 100)
write("cut.npy", header("<f4", (3, 4))[:40])
