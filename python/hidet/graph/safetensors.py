"""Files of tensors in the safetensors format."""

import json
import math
import os
import struct

from hidet import dtypes
from hidet.tensor import _from_bytes, device

_NAMES = {
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "boolean": "BOOL",
    "float8_e4m3": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
_TYPES = {v: k for k, v in _NAMES.items()}
_LARGEST_HEADER = 100_000_000


def write(path, tensors, metadata=None):
    """Writes tensors by name, and texts by name."""
    header, at = ({"__metadata__": metadata} if metadata else {}), 0
    for name, x in tensors.items():
        header[name] = {"dtype": _NAMES[x.dtype.name], "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for x in tensors.values():
            file.write(x.cpu().contiguous()._bytes())


def _header(file, path):
    start = file.read(8)
    size = struct.unpack("<Q", start)[0] if len(start) == 8 else -1
    if not 0 < size <= _LARGEST_HEADER:
        raise ValueError(f"{path}: no safetensors file")
    text = file.read(size)
    if len(text) != size or text[:1] != b"{":
        raise ValueError(f"{path}: no safetensors file")
    try:
        return json.loads(text), 8 + size
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: the header is damaged: {error}") from None


def _entry(entry, size):
    """(type, extents, first byte, last byte) of a tensor. [size]: bytes of all of them."""
    kind, shape = dtypes.data_type(_TYPES[entry["dtype"]]), tuple(entry["shape"])
    first, last = entry["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in (*shape, first, last)):
        raise ValueError("extents and offsets are numbers from 0")
    if last > size or last - first != math.prod(shape) * kind.nbytes:
        raise ValueError("the bytes of its elements are others than the file has")
    return kind, shape, first, last


def read(path, place="cpu"):
    """(tensors by name, texts by name) of a file."""
    with open(path, "rb") as file:
        header, begin = _header(file, path)
        size = os.fstat(file.fileno()).st_size - begin
        metadata = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            try:
                kind, shape, first, last = _entry(entry, size)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}: tensor {name!r} is damaged: {error}") from None
            file.seek(begin + first)
            tensors[name] = _from_bytes(file.read(last - first), shape, kind, device(place))
    return tensors, metadata
