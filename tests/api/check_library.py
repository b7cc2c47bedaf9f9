#!/usr/bin/env python3
"""What libhds shows to those who link it. Usage: check_library.py BUILD

Both libraries show the functions of hds.h, model.h and graph.h and nothing else, need only libhdsrt and the C library, and their
headers compile by themselves as C and C++.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests"))
from compiler import finish  # noqa: E402

INCLUDE = TOP / "include"
NEEDED = re.compile(r"lib(hdsrt|c|m|dl|pthread)\.so|ld-linux")
LANGUAGES = [("cc", "-std=c11"), ("cc", "-std=c17"), ("c++", "-std=c++11"), ("c++", "-std=c++20")]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror"]
USES = [
    "#include <hds/hds.h>\n",
    "#include <hds/runtime.h>\n#include <hds/hds.h>\n",
    "#include <hds/runtime.h>\n",
    "#include <hds/model.h>\n",
    "#include <hds/graph.h>\n",
]
PROGRAM = """
#include <hds/hds.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    hds_compiler *compiler = NULL;
    hds_compiler_options options = HDS_COMPILER_OPTIONS_INIT;
    hds_compile_options how = HDS_COMPILE_OPTIONS_INIT;
    hds_program *program = NULL;
    const hds_source source = {"bad.hds", "x = y", 0};
    hds_argument number = hds_int(3), real = hds_float(0.5), address = hds_pointer(NULL), tensor = hds_tensor(NULL);
    options.cache_dir = "";
    how.arch = "sm_80";
    if (hds_abi() != HDS_ABI || hdsrt_abi() != HDSRT_ABI || hds_compiler_new(&options, &compiler) != HDS_OK)
        return 1;
    hds_status status = hds_compile(compiler, &source, &how, &program);
    const hds_diagnostic *d = hds_program_diagnostic(program, 0);
    printf("%s %s %d", hds_status_text(status), d ? d->code : "-", (int)(number.kind + real.kind + address.kind + tensor.kind));
    hds_program_release(program);
    hds_compiler_release(compiler);
    return 0;
}
"""
ANSWER = re.compile(r"errors in the source.* HDS\d+ 6$")


def output(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def declared():
    text = "".join((INCLUDE / "hds" / name).read_text(encoding="utf-8") for name in ("hds.h", "model.h", "graph.h"))
    return set(re.findall(r"^HDSRT_API [^(;]*?(hds_\w+)\(", text, re.MULTILINE))


def listed():
    lines = (INCLUDE / "hds" / "symbols.txt").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def shown(*command):
    names = {line.split()[0].split("@")[0] for line in output("nm", "--format=posix", "--defined-only", *command).splitlines()
             if line and not line.endswith(":")}
    return names - {"HDS_1"}


def difference(what, found, expected):
    return [f"{what} does not have '{name}'" for name in sorted(expected - found)] + \
           [f"{what} has '{name}' beside them" for name in sorted(found - expected)]


def check_symbols(folder):
    expected, shared = declared(), folder / "libhds.so"
    problems = difference("include/hds/symbols.txt", listed(), expected)
    problems += difference("libhds.so", shown("-D", shared), expected)
    problems += difference("libhds.a", shown("-g", folder / "libhds.a"), expected)
    dynamic = output("readelf", "-d", shared)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    problems += [f"libhds.so needs {name}" for name in needed if not NEEDED.match(name)]
    if "[libhds.so.1]" not in dynamic or "TEXTREL" in dynamic:
        problems.append("libhds.so has another soname than libhds.so.1, or text relocations")
    return problems


def check_headers(work):
    problems = []
    for compiler, standard in LANGUAGES:
        for number, text in enumerate(USES):
            source = pathlib.Path(work, f"use{number}.{'c' if compiler == 'cc' else 'cpp'}")
            source.write_text(text + "int main(void) { return 0; }\n" if compiler == "cc" else text + "int main() { return 0; }\n",
                              encoding="utf-8")
            done = subprocess.run([compiler, standard, *WARNINGS, f"-I{INCLUDE}", "-c", source, "-o", f"{source}.o"],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                problems.append(f"{compiler} {standard} does not take use {number} of the headers:\n{done.stderr}")
    return problems


def check_programs(work, build):
    """The same program in C and C++, with both libraries."""
    problems, api, runtime = [], build / "src" / "api", build / "src" / "runtime"
    shared = [f"-L{api}", f"-L{runtime}", "-lhds", "-lhdsrt", f"-Wl,-rpath,{api}:{runtime}"]
    static = [api / "libhds.a", runtime / "libhdsrt.a", "-lm", "-ldl", "-lpthread"]
    for compiler, standard in (LANGUAGES[0], LANGUAGES[2]):
        for kind, libraries in (("shared", shared), ("static", static)):
            source = pathlib.Path(work, f"program.{'c' if compiler == 'cc' else 'cpp'}")
            source.write_text(PROGRAM, encoding="utf-8")
            program = pathlib.Path(work, "program")
            output(compiler, standard, *WARNINGS, f"-I{INCLUDE}", source, "-o", program, *libraries)
            answer = output(program)
            if not ANSWER.match(answer):
                problems.append(f"{compiler} {standard}, {kind}: the program says '{answer}'")
    # In a shared library of the user's, too.
    output("cc", "-shared", "-fPIC", "-Wl,-z,defs", f"-I{INCLUDE}", "-o", pathlib.Path(work, "user.so"),
           pathlib.Path(work, "program.c"), *static)
    return problems


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        problems = check_symbols(build / "src" / "api") + check_headers(work) + check_programs(work, build)
    sys.exit(finish(problems, 3 - min(len(problems), 3)))


if __name__ == "__main__":
    main()
