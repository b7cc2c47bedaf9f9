"""libhdsrt as programs get it: small, without symbols that are none of theirs, without dependences; its header in C and C++.

Usage: check_library.py BUILD CC CXX"""

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402

LIMIT = 100_000
# Of the archive, for models: linked only into programs that have some.
MODEL_MEMBERS, MODEL_LIMIT = ("graph_cache.c.o", "model.c.o", "stored.c.o"), 32_000
HEADER = TOP / "include" / "hds" / "runtime.h"
# What a program on any Linux has.
NEEDED = ("libc.so", "libdl.so", "libpthread.so", "ld-linux", "libm.so")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def stripped_bytes(library, work, *flags, without=()):
    copy = pathlib.Path(work, library.name)
    copy.write_bytes(library.read_bytes())
    if without:
        subprocess.run(["ar", "d", str(copy), *without], check=True)
    subprocess.run(["strip", *flags, str(copy)], check=True)
    return copy.stat().st_size


def declared():
    """The functions of the header."""
    return set(re.findall(r"HDSRT_API [^;(]*?\b(hdsrt_\w+)\(", HEADER.read_text(encoding="utf-8")))


def check_sizes(build, work):
    shared = stripped_bytes((build / "libhdsrt.so").resolve(), work)
    archive = stripped_bytes(build / "libhdsrt.a", work, "--strip-debug", without=MODEL_MEMBERS)
    models = stripped_bytes(build / "libhdsrt.a", work, "--strip-debug") - archive
    print(f"libhdsrt: {archive} bytes static, and {models} for models, {shared} shared")
    return [f"{name} has {size} bytes, more than {limit}"
            for name, size, limit in (("libhdsrt.a without models", archive, LIMIT), ("models in libhdsrt.a", models, MODEL_LIMIT),
                                      ("libhdsrt.so", shared, LIMIT)) if size > limit]


def check_symbols(build):
    dynamic = run("nm", "-D", "--defined-only", "--format=posix", str(build / "libhdsrt.so")).stdout
    exported = {line.split()[0] for line in dynamic.splitlines()}
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", str(build / "libhdsrt.so")).stdout)
    archive = run("nm", "--defined-only", "--extern-only", "--format=posix", str(build / "libhdsrt.a")).stdout
    inside = {line.split()[0] for line in archive.splitlines() if line and not line.endswith(":")}
    return [f"libhdsrt.so exports '{name}', which the header does not declare" for name in sorted(exported - declared())] + \
           [f"libhdsrt.so does not export '{name}'" for name in sorted(declared() - exported)] + \
           [f"libhdsrt.so needs {name}" for name in needed if not name.startswith(NEEDED)] + \
           [f"libhdsrt.a defines '{name}'" for name in sorted(inside) if not name.startswith("hdsrt_")]


# With DLPack's own header first its types are taken; this has what runtime.h needs of it.
DLPACK = """
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stdint.h>
typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
    void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape; int64_t *strides; uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
    DLTensor dl_tensor; void *manager_ctx; void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif
"""


def check_header(work, compilers):
    problems = []
    usual = "#include <hds/runtime.h>\nint main(void) { return hdsrt_abi() == HDSRT_ABI ? 0 : 1; }\n"
    for compiler, standards, suffix in compilers:
        for standard in standards:
            for what, text in (("alone", usual), ("after DLPack", DLPACK + usual)):
                source = pathlib.Path(work, "header" + suffix)
                source.write_text(text, encoding="utf-8")
                done = run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wundef", "-Werror",
                           "-fsyntax-only", f"-I{TOP / 'include'}", str(source))
                if done.returncode:
                    problems.append(f"runtime.h {what} as {standard}: {done.stderr}")
    return problems


def check_static_program(build, work, compiler):
    """A program that links the archive and never calls a GPU starts and says that there is no driver."""
    source, program = pathlib.Path(work, "program.c"), pathlib.Path(work, "program")
    source.write_text('#include <hds/runtime.h>\n#include <stdio.h>\nint main(void) {\n    int n;\n'
                      '    printf("%d %s\\n", hdsrt_device_count(&n), hdsrt_last_error());\n}\n', encoding="utf-8")
    done = run(compiler, f"-I{TOP / 'include'}", str(source), str(build / "libhdsrt.a"), "-lpthread", "-ldl", "-o", str(program))
    if done.returncode:
        return [f"a program does not link libhdsrt.a: {done.stderr}"]
    inside = run("nm", str(program)).stdout
    if "hdsrt_model_open" in inside or "hdsrt_launch" in inside:
        return ["a program has parts of libhdsrt.a that it does not call"]
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, env={"HDSRT_DRIVER": "/nowhere"})
    if not done.stdout.startswith("2 the CUDA driver (/nowhere) cannot be opened"):
        return [f"without a driver a program says: {done.stdout}{done.stderr}"]
    return []


def main():
    build = pathlib.Path(sys.argv[1], "src", "runtime")
    compilers = [(sys.argv[2], ("c11", "c17"), ".c"), (sys.argv[3], ("c++11", "c++17", "c++20"), ".cpp")]
    with tempfile.TemporaryDirectory() as work:
        problems = check_sizes(build, work) + check_symbols(build) + check_header(work, compilers) + \
            check_static_program(build, work, sys.argv[2])
    sys.exit(finish(problems, 4 + len(declared())))


if __name__ == "__main__":
    main()
