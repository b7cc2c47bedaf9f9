#!/usr/bin/env python3
"""Every external symbol of a module's archive bears one of its prefixes. Usage: check_symbols.py BUILD"""

import pathlib
import subprocess
import sys

PREFIXES = {
    "runtime": ("hdsrt_",),
    "base": ("arena_", "str_", "vec_", "map_", "sym_", "file_", "checked_", "hash_"),
    "cache": ("cache_",),
    "diag": ("diag_", "src_"),
    "target": ("dt_", "arch_", "gpu_"),
    "taskmap": ("tm_",),
    "frontend": ("lex_", "parse_", "ast_", "mod_", "kept_"),
    "ir": ("ir_",),
    "typecheck": ("tc_",),
    "cuda_emit": ("cu_",),
    "toolchain": ("tool_",),
    "remarks": ("remark_",),
    "weights": ("wt_",),
    "onnx": ("onnx_",),
    "pipeline": ("pl_",),
    "tensor": ("ten_",),
    "device": ("dev_",),
    "testing": ("test_",),
    "prove": ("prove_",),
    "jit": ("jit_",),
    "planned": ("planned_",),
    "api": ("api_", "hds_"),
    "measure": ("ms_",),
    "ops": ("ops_", "hds_"),
}
# Libraries of programs bear their own names.
ARCHIVES = {"runtime": "libhdsrt.a"}
# What the sanitizers and the coverage of fuzzing put into every object.
INSTRUMENTED = ("__asan", "__ubsan", "__odr_asan", "__sanitizer", "__tsan", "__start_", "__stop_", "asan.", "_ZTI")


def symbols(archive):
    out = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", str(archive)], capture_output=True,
                         text=True, check=True).stdout
    return [line.split()[0] for line in out.splitlines() if line and not line.endswith(":")]


def main():
    build = pathlib.Path(sys.argv[1])
    problems, passed = [], 0
    for module, prefixes in PREFIXES.items():
        archive = build / "src" / module / ARCHIVES.get(module, f"libhds_{module}.a")
        if not archive.exists():
            problems.append(f"there is no {archive.name} in {build}")
            continue
        for symbol in symbols(archive):
            if symbol.startswith((*prefixes, *INSTRUMENTED)):
                passed += 1
            else:
                problems.append(f"{archive.name}: '{symbol}' has none of the prefixes {', '.join(prefixes)}")
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
