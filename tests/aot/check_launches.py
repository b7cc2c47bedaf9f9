"""C text of compiled files: that C and C++ compilers take it without a word, and what a program launches with it.

Usage: check_launches.py HDSC BUILD CC CXX
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "graph"))
import safetensors  # noqa: E402
from compiler import TOP, each, finish  # noqa: E402

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
C_STANDARDS = ["c11", "c17"]
CPP_STANDARDS = ["c++11", "c++14", "c++17", "c++20"]
HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ["-I", str(TOP / "ops")]
RUNTIME, LIBHDS = "src/runtime/libhdsrt.a", "src/api/libhds.a"


def said(command, folder):
    """What the command complains about; empty if it is content."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    return f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}" if done.returncode else ""


def sources():
    """Everything with entries that C has the words for."""
    found = [*sorted(TOP.glob("examples/*.hds")), *sorted(TOP.glob("examples/models/*.hds")),
             *sorted(TOP.glob("tests/kernels/*.hds")), TOP / "tests/gpu/host.hds"]
    return [*found, HERE / "launches.hds", HERE / "strided.hds", HERE / "operators.hds", HERE / "many_elements.hds",
            HERE / "models.hds"]


class Compilers:
    def __init__(self, hdsc, build, cc, cxx):
        self.hdsc, self.build, self.cc, self.cxx = os.path.abspath(hdsc), pathlib.Path(build).resolve(), cc, cxx

    def translate(self, source, folder, archs):
        command = [self.hdsc, "-Wno-empty", *FOLDERS, str(source), "-o", "k.c", "-h", "k.h", "--prefix", "t_", "--arch", archs]
        return said(command, folder)

    def compile(self, folder):
        include = f"-I{TOP / 'include'}"
        pathlib.Path(folder, "k.cc").write_text('#include "k.h"\n#include "k.h"\n', encoding="utf-8")
        for standard in C_STANDARDS:
            problem = said([self.cc, f"-std={standard}", "-O2", *STRICT, include, "-c", "k.c", "-o", "k.o"], folder)
            if problem:
                return problem
        for standard in CPP_STANDARDS:
            problem = said([self.cxx, f"-std={standard}", *STRICT, include, "-c", "k.cc", "-o", "k.o"], folder)
            if problem:
                return problem
        return ""

    def check_text(self, source):
        needs_hopper = source.parent == HERE or "# hdsc: needs sm_90" in source.read_text(encoding="utf-8")
        archs = "sm_90" if needs_hopper else "sm_80,sm_90a"
        with tempfile.TemporaryDirectory() as folder:
            return self.translate(source, folder, archs) or self.compile(folder)

    def check_golden(self, header):
        """What the unit tests of the emitter hold for right."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "k.h").write_bytes(header.read_bytes())
            text = header.with_suffix(".c").read_text(encoding="utf-8")
            pathlib.Path(folder, "k.c").write_text(text.replace(f'#include "{header.name}"', '#include "k.h"'), encoding="utf-8")
            return self.compile(folder)

    def check_run(self, name, libraries, prepare=None, options=()):
        """NAME.c calls what NAME.hds became, by these options. prepare: makes the files that they need in a folder."""
        fake = self.build / "tests/fake_cuda"
        with tempfile.TemporaryDirectory() as folder:
            source = str(HERE / f"{name}.hds")
            if prepare:
                prepare(pathlib.Path(folder))
            command = [self.hdsc, *FOLDERS, source, "-o", f"{name}.o", "-h", f"{name}.h", "--arch", "sm_90", *options]
            problem = said(command, folder)
            build = [self.cc, "-std=c11", "-g", *STRICT, "-I.", f"-I{TOP / 'include'}", f"-I{TOP / 'tests/fake_cuda'}",
                     str(HERE / f"{name}.c"), f"{name}.o", *(str(self.build / library) for library in libraries),
                     str(fake / "libcuda.so.1"), f"-Wl,-rpath,{fake}", "-ldl", "-lpthread", "-lm", "-o", name]
            return problem or said(build, folder) or said([f"./{name}", source], folder)


def write_weights(folder):
    """The weights of embedded.hds as two shards, and others in one file."""
    ramp = lambda shape, first, step: ("F32", shape, [first + step * i for i in range(math.prod(shape))])
    safetensors.write(folder / "w.safetensors", {"w": ramp((8, 16), 1, 0.25)})
    safetensors.write(folder / "b.safetensors", {"b": ramp((8,), 0, 1)})
    weight_map = {name: f"{name}.safetensors" for name in "wb"}
    (folder / "index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}), encoding="utf-8")
    safetensors.write(folder / "other.safetensors", {"w": ramp((8, 16), 2, 0.5), "b": ramp((8,), 0, 1)})


def main():
    compilers = Compilers(*sys.argv[1:5])
    goldens = sorted(TOP.glob("tests/unit/cuda_emit/golden_c/*.h"))
    tasks = [lambda s=s: compilers.check_text(s) for s in sources()] + [
        lambda: compilers.check_run("launches", [RUNTIME]), lambda: compilers.check_run("operators", [RUNTIME]),
        lambda: compilers.check_run("many_elements", [RUNTIME]),
        lambda: compilers.check_run("models", [RUNTIME]),
        lambda: compilers.check_run("embedded", [RUNTIME], write_weights, ["--weights=index.json", "--embed-weights"]),
        lambda: compilers.check_run("strided", [LIBHDS, RUNTIME])]
    tasks += [lambda header=header: compilers.check_golden(header) for header in goldens]
    problems = [problem for problem in each(lambda task: task(), tasks) if problem]
    sys.exit(finish(problems, len(tasks) - len(problems)))


if __name__ == "__main__":
    main()
