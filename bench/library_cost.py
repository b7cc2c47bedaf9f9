#!/usr/bin/env python3
"""What libhdsops costs to compile: kernels, bytes of CUDA text, and CPU seconds, part by part, as a Markdown table.

Usage: library_cost.py [--build build/release] [--arch sm_80,sm_90a] [--parts NAME,…] [--sample N] [--csv FILE]
       library_cost.py --whole [--build build/release] [--arch sm_80,sm_90a] [--parts NAME,…]

Text is counted of all entries. CPU time of NVRTC and ptxas is measured for a sample: of each part and architecture every N-th
kernel, as one text without the cache; the rest is taken to cost as much for each byte. --sample 0 compiles nothing. What
architectures share (docs/adr/0085) is counted for each.

--whole compiles each part for all architectures as the library's build does, but without the cache: CPU seconds of hdsc, its
worker processes and ptxas. That takes minutes. HDS_PTXAS=off tells what sharing saves.
"""

import argparse
import ctypes
import multiprocessing
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
ENTRY = re.compile(rb'^extern "C" __global__', re.MULTILINE)
PRODUCTS = ["f16", "f16_f32", "bf16", "bf16_f32", "f32", "tf32", "f64", "i8", "f8", "grouped"]
QUIET = ["-Wno-empty", "-Wno-local-memory", "-Wno-spills"]
CONVOLUTIONS = ["f16", "bf16", "f32", "tf32"]


def catalogue():
    """(part, file below ops/, options) of the operators in ops/library/catalogue.json."""
    printed = subprocess.run(["cmake", "-P", TOP / "src/ops/print_catalogue.cmake"], capture_output=True, check=True, text=True)
    for line in (printed.stdout + printed.stderr).splitlines():
        part, file, prefix, options, entries = line.split("|")
        yield part, file, [f"--prefix={prefix}", *(word for word in (options + "\t" + entries).split("\t") if word)]


def parts(archs):
    """(name, file, options, architectures) of all that src/ops/CMakeLists.txt compiles."""
    for name in PRODUCTS:
        own = ["sm_90a"] if name == "grouped" else ["sm_89", "sm_90a"] if name == "f8" else archs
        yield f"matmul {name}", f"matmul/library_{name}", [], own
    for name in CONVOLUTIONS:
        yield f"conv {name}", f"conv/library_{name}", [], archs
    for part, file, options in catalogue():
        yield part, file, options, archs


def split(text):
    """What all kernels share, and the kernels, without the host functions behind them."""
    text = text.split(b"\n#ifndef __CUDACC_RTC__\n\n", 1)[0]
    starts = [found.start() for found in ENTRY.finditer(text)]
    ends = starts[1:] + [len(text)]
    return (text[: starts[0]] if starts else text), [text[a:b] for a, b in zip(starts, ends)]


def nvrtc_library():
    """Where hdsc would find it: HDS_NVRTC, the CUDA Toolkit, the linker's path."""
    toolkits = sorted(pathlib.Path("/usr/local").glob("cuda*/lib*"))
    folders = [*os.environ.get("HDS_NVRTC", "").split(), *toolkits]
    found = [file for folder in folders for file in sorted(pathlib.Path(folder).glob("libnvrtc.so*"))]
    return str(found[0]) if found else "libnvrtc.so"


def nvrtc_seconds(text, arch, answers):
    """In a process of its own: CPU seconds of NVRTC for a text."""
    library = ctypes.CDLL(nvrtc_library())
    program = ctypes.c_void_p()
    options = [f"--gpu-architecture={arch}".encode()]
    library.nvrtcCreateProgram(ctypes.byref(program), text, b"sample.cu", 0, None, None)
    before = time.process_time()
    status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    answers.put((status, time.process_time() - before))


def sampled(text, arch, every):
    """CPU seconds for the whole text, from every [every]-th kernel."""
    shared, kernels = split(text)
    sample = kernels[every // 2 :: every] or kernels[:1]
    answers = multiprocessing.Queue()
    process = multiprocessing.Process(target=nvrtc_seconds, args=(shared + b"".join(sample), arch, answers))
    process.start()
    process.join()
    status, seconds = answers.get() if not process.exitcode else (-1, 0.0)
    if status:
        sys.exit(f"NVRTC refuses a sample ({status})")
    return seconds * sum(map(len, kernels)) / max(sum(map(len, sample)), 1)


def measure(hdsc, row, every):
    """(architecture, kernels, bytes, seconds of the front end, seconds of NVRTC) for each architecture of a part."""
    _, file, options, archs = row
    for arch in archs:
        with tempfile.NamedTemporaryFile(suffix=".cu") as made:
            command = [hdsc, TOP / f"ops/{file}.hds", "-I", TOP / "ops", *options, f"--arch={arch}", "-o", made.name, *QUIET]
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            front = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            text = pathlib.Path(made.name).read_bytes()
        kernels, size = len(ENTRY.findall(text)), sum(map(len, split(text)[1]))
        yield arch, kernels, size, front, sampled(text, arch, every) if every and kernels else 0.0


def compiled(hdsc, row):
    """CPU seconds, user and system, of all processes that make the object of a part."""
    _, file, options, archs = row
    with tempfile.TemporaryDirectory() as folder:
        command = [hdsc, TOP / f"ops/{file}.hds", "-I", TOP / "ops", *options, f"--arch={','.join(archs)}", "-o", f"{folder}/k.o"]
        process = subprocess.Popen([*command, "-h", f"{folder}/k.h", "--no-cache", *QUIET], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"hdsc refuses {file} ({process.returncode})")
    return usage.ru_utime, usage.ru_stime


def compile_whole(hdsc, rows):
    print("| part | user, CPU s | system, CPU s |\n|---|---|---|")
    total = [0.0, 0.0]
    for row in rows:
        seconds = compiled(hdsc, row)
        total = [a + b for a, b in zip(total, seconds)]
        print(f"| {row[0]} | {seconds[0]:.1f} | {seconds[1]:.1f} |", flush=True)
    print(f"| all | {total[0]:.1f} | {total[1]:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--arch", default="sm_80,sm_90a")
    parser.add_argument("--parts", default="")
    parser.add_argument("--sample", type=int, default=10)
    parser.add_argument("--csv", help="also writes the rows to this file")
    parser.add_argument("--whole", action="store_true", help="compiles all of it")
    options = parser.parse_args()
    os.environ["CUDA_CACHE_DISABLE"] = "1"  # where there is a driver, NVRTC keeps what it made by itself
    hdsc = TOP / options.build / "bin/hdsc"
    asked, totals, lines = [p for p in options.parts.split(",") if p], {}, ["part,arch,kernels,bytes,front_s,nvrtc_s"]
    if options.whole:
        return compile_whole(hdsc, [row for row in parts(options.arch.split(",")) if not asked or row[0] in asked])
    print("| part | architecture | kernels | kB of text | front end, CPU s | NVRTC, CPU s |\n|---|---|---|---|---|---|")
    for row in parts(options.arch.split(",")):
        if asked and row[0] not in asked:
            continue
        for arch, *numbers in measure(hdsc, row, options.sample):
            lines.append(",".join([row[0], arch, *[f"{n:.2f}" if isinstance(n, float) else str(n) for n in numbers]]))
            show(row[0], arch, numbers)
            totals[arch] = [a + b for a, b in zip(totals.get(arch, [0] * 4), numbers)]
    for arch, numbers in totals.items():
        show("all", arch, numbers)
    if options.csv:
        pathlib.Path(options.csv).write_text("\n".join(lines) + "\n", encoding="utf-8")


def show(name, arch, numbers):
    kernels, size, front, nvrtc = numbers
    print(f"| {name} | {arch} | {kernels} | {size / 1000:.0f} | {front:.1f} | {nvrtc:.1f} |", flush=True)


if __name__ == "__main__":
    main()
