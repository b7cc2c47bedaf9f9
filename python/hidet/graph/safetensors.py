"""Files of tensors in the safetensors format."""

import json
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
    return json.loads(text), 8 + size


def read(path, place="cpu"):
    """(tensors by name, texts by name) of a file."""
    with open(path, "rb") as file:
        header, begin = _header(file, path)
        metadata = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            file.seek(begin + first)
            data = file.read(last - first)
            kind = dtypes.data_type(_TYPES[entry["dtype"]])
            tensors[name] = _from_bytes(data, tuple(entry["shape"]), kind, device(place))
    return tensors, metadata
