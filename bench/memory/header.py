"""What the C header of a compiled .hds file says about its functions, and what to call them with.

`parse` reads the header that `hdsc FILE.hds -o LIB.so` writes beside the library. `bind` gives the values of all parameters of a
function from the shapes of the tensors that it gets: open sizes and strides by their names, other scalars from a table.
"""

import ctypes
import math
import re
from dataclasses import dataclass

BITS = {"bool": 8, "i8": 8, "u8": 8, "f8e4m3": 8, "i16": 16, "u16": 16, "f16": 16, "bf16": 16, "i32": 32, "u32": 32,
        "f32": 32, "tf32": 32, "i64": 64, "u64": 64, "f64": 64}
C_TYPES = {"int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8, "int16_t": ctypes.c_int16, "uint16_t": ctypes.c_uint16,
           "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
           "float": ctypes.c_float, "double": ctypes.c_double, "bool": ctypes.c_bool}
PROTOTYPE = re.compile(r"^hdsrt_status (\w+)\(([^;{]*)\);", re.MULTILINE)
TYPE, WHERE = r"([a-z]+\d*(?:e\dm\d)?)(?:x(\d+))?", r"(?:, at a multiple of (\d+))?"
TENSOR = re.compile(TYPE + r"\[(.*?)\](?:, strides \[(.*?)\])?, (read|written)" + WHERE + "$")
NAME = re.compile(r"[A-Za-z_]\w*")
AMOUNT = re.compile(r"[\w\s()+*/%-]+")


class Mismatch(Exception):
    """A function does not take what the benchmark would give it."""


@dataclass
class Parameter:
    """A tensor has `dtype`, `lanes` (16-byte vectors of f16: 8), `shape` and `strides` (texts, C expressions); a scalar has its
    `dtype` alone. `ctype` is how it is passed."""

    name: str
    ctype: object
    dtype: str
    lanes: int = 1
    shape: tuple = None
    strides: tuple = None
    is_written: bool = False
    alignment: int = 16

    @property
    def is_tensor(self):
        return self.shape is not None


@dataclass
class Function:
    name: str
    parameters: list

    @property
    def tensors(self):
        return [p for p in self.parameters if p.is_tensor]


@dataclass
class Operand:
    """A contiguous tensor that a function is to get. A `dtype` of None means bytes, which go to a tensor of whatever type."""

    shape: tuple
    dtype: str = None
    is_output: bool = False


# ---- reading a header -------------------------------------------------------------------------------------------

def amounts(text):
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()


def parameter(name, c_type, said):
    """A parameter from its C type and the comment's words about it; None where it is of no kind that we know."""
    if "*" not in c_type:
        scalar = C_TYPES.get(c_type.strip())
        return scalar and Parameter(name, scalar, said.split(",")[0].split(" ")[0])
    found = TENSOR.match(said)
    if not found:
        return None
    dtype, lanes, shape, strides, use, alignment = found.groups()
    return Parameter(name, ctypes.c_void_p, dtype, int(lanes or 1), amounts(shape), None if strides is None else amounts(strides),
                     use == "written", int(alignment or 16))


def comment_above(text, position):
    """Name → words of the lines `//     name  words` that end the comment above the struct in front of a prototype."""
    lines, found = text[:position].split("\n"), {}
    at = len(lines) - 1
    while at >= 0 and not lines[at].startswith("//"):
        at -= 1
    while at >= 0 and lines[at].startswith("//"):
        row = re.match(r"//     (\w+) +(\S.*)$", lines[at])
        if row:
            found.setdefault(row.group(1), row.group(2))  # the last line about a name: the docstring comes earlier
        at -= 1
    return found


def parse(text):
    """Name → Function of all functions that take tensors as addresses. Others are omitted."""
    functions = {}
    for found in PROTOTYPE.finditer(text):
        name, arguments = found.group(1), [a.strip() for a in " ".join(found.group(2).split()).split(",")]
        is_flat = arguments[-1] == "hdsrt_stream stream" and "hdsrt_tensor" not in found.group(2)
        if not is_flat or arguments[0].startswith("const " + name.removesuffix("_call") + "_args"):
            continue
        said, parameters = comment_above(text, found.start()), []
        for argument in arguments[:-1]:
            c_type, own = re.match(r"(.*?)(\w+)$", argument).groups()
            parameters.append(parameter(own, c_type, said.get(own, "")))
        if all(parameters):
            functions[name] = Function(name, parameters)
    return functions


# ---- values of parameters ---------------------------------------------------------------------------------------

def value_of(amount, sizes):
    """What an amount comes to, or None where a name is unknown or it is more than arithmetic."""
    if not AMOUNT.fullmatch(amount) or not all(name in sizes for name in NAME.findall(amount)):
        return None
    return eval(amount.replace("/", "//"), {"__builtins__": {}}, dict(sizes))  # noqa: S307 - of names, numbers and + - * / % ( )


def solve(amount, extent, sizes, who):
    """Learns a size from `n`, `8 * n` or `n * 8` being `extent`; other amounts are compared at the end."""
    found = re.fullmatch(r"(?:(\d+) \* )?([A-Za-z_]\w*)(?: \* (\d+))?", amount)
    if not found:
        return
    factor, name = int(found.group(1) or 1) * int(found.group(3) or 1), found.group(2)
    if extent % factor:
        raise Mismatch(f"{who} is {amount}, and {extent} is no multiple of {factor}")
    if sizes.setdefault(name, extent // factor) != extent // factor:
        raise Mismatch(f"{who}: {name} would be {sizes[name]} and {extent // factor}")


def fitted(p, operand):
    """The operand's extents as the parameter counts them: axes merged from the front, the last one in vectors."""
    if operand.dtype not in (None, p.dtype):
        raise Mismatch(f"'{p.name}' holds {p.dtype}, not {operand.dtype}")
    if p.is_written != operand.is_output:
        raise Mismatch(f"'{p.name}' is {'written' if p.is_written else 'read'} only: inputs come first, then the output")
    shape = list(operand.shape)
    unit = p.lanes * (BITS[p.dtype] // 8 if operand.dtype is None else 1)
    rank = len(p.shape)
    if len(shape) < rank:
        raise Mismatch(f"'{p.name}' has {rank} axes, not {len(shape)}")
    if rank == 0:
        return []
    shape = [math.prod(shape[:len(shape) - rank + 1]), *shape[len(shape) - rank + 1:]]
    if shape[-1] % unit:
        raise Mismatch(f"'{p.name}' has {shape[-1]} elements along its last axis, no multiple of {unit}")
    return [*shape[:-1], shape[-1] // unit]


def bind(function, operands, scalars=None):
    """The arguments of a call, by parameter: for tensors the number of the operand (as `Slot`), for scalars their values."""
    if len(function.tensors) != len(operands):
        raise Mismatch(f"it takes {len(function.tensors)} tensors, not {len(operands)}")
    sizes, compared = {}, []
    for p, operand in zip(function.tensors, operands):
        shape = fitted(p, operand)
        steps = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        rows = [*zip(p.shape, shape), *zip(p.strides or (), steps)]
        for amount, extent in rows:
            who = f"'{p.name}', of which an extent or stride"
            solve(amount, extent, sizes, who)
            compared.append((amount, extent, who))
    for amount, extent, who in compared:
        value = value_of(amount, sizes)
        if value is not None and value != extent:
            raise Mismatch(f"{who} is {amount} = {value}, not {extent}")
    known, values, slot = {**(scalars or {}), **sizes}, [], 0
    for p in function.parameters:
        if p.is_tensor:
            values.append(Slot(slot))
            slot += 1
        elif p.name in known:
            values.append(known[p.name])
        else:
            raise Mismatch(f"nothing says what '{p.name}' is (--set {p.name}=…)")
    return values


@dataclass(frozen=True)
class Slot:
    """The position of the operand of this number."""

    operand: int
