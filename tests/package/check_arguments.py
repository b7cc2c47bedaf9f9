"""What hds_add_kernels and hds_add_tests say of calls that make no sense. Usage: check_arguments.py HDSC"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from package import TOP, finish

# A call, and what its message has to say.
CASES = (
    ("hds_add_kernels(app SOURCES missing.hds)", "'missing.hds' does not exist"),
    ("hds_add_kernels(app)", "no SOURCES"),
    ("hds_add_kernels(app SOURCES)", "no value after SOURCES"),
    ("hds_add_kernels(app SOURCES k.hds PREFIX)", "no value after PREFIX"),
    ("hds_add_kernels(app k.hds)", "unexpected arguments 'k.hds'"),
    ("hds_add_kernels(app SOURCES k.c)", "'k.c' is no .hds file"),
    ("hds_add_kernels(app SOURCES k.hds ARCH 90)", "'ARCH' is no .hds file, and no argument that there is"),
    ("hds_add_kernels(app SOURCES k.hds ARCHS ninety)", "not 'ninety'"),
    ("hds_add_kernels(app SOURCES k.hds ARCHS 80,90)", "not '80,90'"),
    ("hds_add_kernels(app SOURCES k.hds DEFINES BM)", "NAME=VALUE, not 'BM'"),
    ("hds_add_kernels(app SOURCES k.hds PREFIX a-b)", "not 'a-b'"),
    ("hds_add_kernels(app SOURCES k.hds RUNTIME dynamic)", "shared, static or none, not 'dynamic'"),
    ("hds_add_kernels(app SOURCES k.hds OPTIONS -o x.c)", "'-o' cannot stand in OPTIONS"),
    ("hds_add_kernels(app SOURCES k.hds OPTIONS --arch=sm_90)", "'--arch=sm_90' cannot stand in OPTIONS"),
    ("hds_add_kernels(app SOURCES k.hds below/k.hds)", "there is another 'k.hds' in this target"),
    ("add_library(other ALIAS app)\nhds_add_kernels(other SOURCES k.hds)", "'other' is another name of 'app'"),
    ("add_library(headers INTERFACE)\nhds_add_kernels(headers SOURCES k.hds)", "'headers' is no library or executable"),
    ("add_subdirectory(below)\nhds_add_kernels(lower SOURCES k.hds)", "'lower' belongs to"),
    ("hds_add_tests()", "no SOURCES"),
    ("hds_add_tests(SOURCES k.hds DEVICE gpu)", "DEVICE is simulator or cuda, not 'gpu'"),
    ("hds_add_tests(SOURCES k.hds x.hds)", "'x.hds' does not exist"),
)

PROJECT = """cmake_minimum_required(VERSION 3.21)
project(arguments LANGUAGES C)
enable_testing()
add_executable(hds::hdsc IMPORTED)
set_target_properties(hds::hdsc PROPERTIES IMPORTED_LOCATION "{hdsc}")
add_library(hds::rt INTERFACE IMPORTED)
add_library(hds::rt_static INTERFACE IMPORTED)
include("{top}/cmake/HdsKernels.cmake")
add_library(app STATIC main.c)
include(call.cmake)
"""


def said(folder, call):
    """What CMake says to a project with this call, in one line."""
    (folder / "call.cmake").write_text(call + "\n", encoding="utf-8")
    done = subprocess.run(["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja"], capture_output=True, text=True,
                          check=False)
    return done.returncode, re.sub(r"\s+", " ", done.stderr)


def main():
    problems, passed = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "below").mkdir()
        (folder / "CMakeLists.txt").write_text(PROJECT.format(hdsc=sys.argv[1], top=TOP), encoding="utf-8")
        (folder / "below" / "CMakeLists.txt").write_text("add_library(lower STATIC ../main.c)\n", encoding="utf-8")
        (folder / "main.c").write_text("int main(void)\n{\n    return 0;\n}\n", encoding="utf-8")
        for path in ("k.hds", "below/k.hds"):
            (folder / path).write_text("x = 1\n", encoding="utf-8")
        code, text = said(folder, "hds_add_kernels(app SOURCES k.hds ARCHS 80 sm_90a native)\nhds_add_tests(SOURCES k.hds)")
        if code:
            problems.append(f"a call that is right: {text}")
        for call, expected in CASES:
            code, text = said(folder, call)
            if code and expected in text:
                passed += 1
            else:
                problems.append(f"{call}\n    expected: {expected}\n    CMake says: {text or 'nothing'}")
    sys.exit(finish(problems, passed))


if __name__ == "__main__":
    main()
