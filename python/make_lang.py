#!/usr/bin/env python3
"""Usage: make_lang.py SOURCES FILE. Writes the names of each module of hidet.lang, as JSON: {module: [names]}.

They are the public definitions of the standard library's files, the names of Hidet (src/typecheck/eval/original.def), and
NATIVE, which the compiler itself has."""

import json
import pathlib
import re
import sys

DEFINED = re.compile(r"^(?:def|class) ([a-zA-Z]\w*)|^([a-zA-Z]\w*) = ", re.MULTILINE)
IMPORTED = re.compile(r"^from [\w.]+ import ([^(\n]+|\([^)]*\))", re.MULTILINE)
ORIGINAL = re.compile(r'^ORIGINAL\("([\w.]+)", "(\w+)"', re.MULTILINE)

VECTORS = [f"{t}x{n}" for t in ("f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32") for n in (2, 4, 8)]
TYPES = """
    i8 i16 i32 i64 u8 u16 u32 u64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 i4 i2 i1 u4 u2 u1 int4b int2b int1b uint4b
    uint2b uint1b f16 bf16 tf32 f32 f64 f8e4m3 f8e5m2 float16 bfloat16 tfloat32 float32 float64 float8_e4m3 float8_e5m2
    boolean complex64 c64 void void_p byte_p float32x2 float16x2 bfloat16x2 float32x4
"""
NATIVE = """
    vectorize dtype layout mapping function global_ shared register generic thread warp warpgroup block cluster gpu
    tensor shared_tensor register_tensor as_tensor_pointer tensor_pointer dynamic_shared_memory tensor_map im2col_map
    cast bitcast view address deref inf nan pi static_assert assume printf comment has_arch gpu_property grid static_range meta
    threadIdx blockIdx blockDim gridDim this_cluster attrs attr at_least script instruction test ptx cuda asm ref_u32
    references assign compute with_handler perform analyze operator launch_once graph weights reduce strided
"""
MAPPINGS = """
    spatial repeat row_spatial col_spatial row_repeat col_repeat spatial_map repeat_map auto_map predicated_auto_map chain
"""
LAYOUTS = "row_major column_major strided_layout local_layout"
CUDA = "threadIdx blockIdx blockDim gridDim this_cluster dynamic_shared_memory"


def names_of(path):
    text = path.read_text(encoding="utf-8")
    found = {a or b for a, b in DEFINED.findall(text)}
    for names in IMPORTED.findall(text):
        found.update(n.split(" as ")[-1].strip() for n in names.strip("()\n ").split(",") if n.strip())
    return {n for n in found if n.isidentifier() and not n.startswith("_")}


def main():
    top, out = pathlib.Path(sys.argv[1]), sys.argv[2]
    modules = {f"hidet.lang.{p.stem}": names_of(p) for p in (top / "stdlib").glob("*/*.hds")}
    native = {*NATIVE.split(), *TYPES.split(), *VECTORS, *MAPPINGS.split(), *LAYOUTS.split()}
    modules["hidet.lang"] = modules.pop("hidet.lang.lang") | native
    modules["hidet.lang.types"] = {*TYPES.split(), *VECTORS}
    modules["hidet.lang.mapping"] = set(MAPPINGS.split())
    modules["hidet.lang.layout"] = set(LAYOUTS.split())
    modules["hidet.lang.cuda"] |= set(CUDA.split())
    for module, name in ORIGINAL.findall((top / "src/typecheck/eval/original.def").read_text(encoding="utf-8")):
        modules[module].add(name)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({m: sorted(n) for m, n in sorted(modules.items())}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
