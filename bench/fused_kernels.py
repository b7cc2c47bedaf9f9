#!/usr/bin/env python3
"""Measures how fast a file with many small fused kernels compiles, and prints a Markdown table.

Usage: fused_kernels.py [--build build/release] [--kernels 100] [--workers 1,2,16] [--runs 5] [--arch sm_90a]
--build is a build folder or an installed prefix (cmake --install build/release --prefix build/gpu). What is needed of it:
hdsc; and for the last rows libhds.so and hds-worker, which are left out where they are not there. Times are medians over
--runs runs; the compared commands alternate. Nothing is read from or written to the usual cache. Needs NVRTC, no GPU.
"""

import argparse
import ctypes
import itertools
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from compile_speed import TOP, cpu  # noqa: E402

HEAD = '''"""Generated: small fused kernels with static sizes."""

from activation import {names}
from arithmetic import add, multiply

from hidet.lang import attrs, f32, operator
'''
KERNEL = '''

@operator
def fused_{i}(x: {t}, r: {t}, b: f32[{width}]) -> {t}:
    return {outer}(add(multiply({inner}(x), r), b))


def launch_{i}(x: {t}, r: {t}, b: f32[{width}], y: {t}):
    attrs.func_kind = "public"
    fused_{i}.launch(x, r, b, into=y)
'''
ACTIVATIONS = ["gelu", "hardsigmoid", "hardswish", "mish", "relu", "relu6", "sigmoid", "silu", "softplus", "softsign"]


def source(count):
    pairs = itertools.cycle(itertools.product(ACTIVATIONS, repeat=2))
    text = HEAD.format(names=", ".join(ACTIVATIONS))
    for i, (outer, inner) in zip(range(count), pairs):
        width = 128 * (1 + i % 16)
        text += KERNEL.format(i=i, outer=outer, inner=inner, width=width, t=f"f32[{64 + i}, {width}]")
    return text


def cpu_seconds():
    """Of all processes that have been waited for, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_of(command, environment):
    """Of the whole process, of NVRTC, as --time-report has it (0 from the cache), and of CPU time."""
    start, cpu_before = time.perf_counter(), cpu_seconds()
    done = subprocess.run([*command, "--time-report"], env=environment, capture_output=True, text=True, check=False)
    total = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    # us, share, MiB where that is known, stage
    found = re.search(r"^\s*(\d+)\s+[\d.]+%\s+(?:[\d.]+\s+)?NVRTC and ptxas$", done.stderr, re.MULTILINE)
    return total, int(found.group(1)) / 1e6 if found else 0.0, cpu_seconds() - cpu_before


def median_of(runs, column):
    return statistics.median(run[column] for run in runs)


def ratio(one, other):
    """As text; a stage that the report does not show took no time."""
    return f"{one / other:.1f} ×" if other else "no time to compare: is NVRTC in the report of hdsc --time-report?"


# ---- libhds ----------------------------------------------------------------------------------------------------------


class Source(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("text", ctypes.c_char_p), ("text_bytes", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("arch", ctypes.c_char_p), ("defines", ctypes.c_void_p),
                ("define_count", ctypes.c_size_t), ("entries", ctypes.c_void_p), ("entry_count", ctypes.c_size_t),
                ("include_dirs", ctypes.POINTER(ctypes.c_char_p)), ("include_dir_count", ctypes.c_size_t)]


def compile_in_process(library, path, arch):
    """Seconds of hds_compile in this process, with a new compiler: from the disk where that has it."""
    hds = ctypes.CDLL(library)
    hds.hds_last_error.restype = ctypes.c_char_p
    compiler, program = ctypes.c_void_p(), ctypes.c_void_p()
    folders = (ctypes.c_char_p * 1)(str(TOP / "ops").encode())
    options = Options(ctypes.sizeof(Options), arch.encode(), None, 0, None, 0, folders, 1)
    if hds.hds_compiler_new(None, ctypes.byref(compiler)):
        sys.exit(f"hds_compiler_new: {hds.hds_last_error().decode()}")
    start = time.perf_counter()
    status = hds.hds_compile(compiler, ctypes.byref(Source(str(path).encode(), None, 0)), ctypes.byref(options),
                             ctypes.byref(program))
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"hds_compile, status {status}: {hds.hds_last_error().decode()}")
    hds.hds_compiler_release(compiler)
    return seconds


def installed(build, *patterns):
    """The first file of a build folder, or of an installed prefix, that is there; None."""
    found = (path for pattern in patterns for path in sorted(build.glob(pattern)))
    return next(found, None)


def library_times(build, path, arch, runs, folder):
    """Cold, then from the disk; each in a process of its own. As text, what keeps it from being measured."""
    library = installed(build, "src/api/libhds.so", "lib*/libhds.so", "lib*/*/libhds.so")
    worker = installed(build, "libexec/hds/hds-worker", "lib*/hds/hds-worker")
    if not library:
        return "there is no libhds.so"
    environment = {**os.environ, "HDS_CACHE_DIR": f"{folder}/library"}
    if worker:
        environment["HDS_WORKER"] = str(worker)
    command = [sys.executable, __file__, "--in-process", str(library), "--arch", arch, str(path)]
    times = []
    for _ in range(1 + runs):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        times.append(float(done.stdout))
    return times[0], statistics.median(times[1:])


# ---- all of it -------------------------------------------------------------------------------------------------------


def rows_of(args, folder):
    hdsc, path = str(args.build / "bin" / "hdsc"), pathlib.Path(folder, "fused.hds")
    path.write_text(source(args.kernels), encoding="utf-8")
    common = [hdsc, str(path), "-I", str(TOP / "ops"), f"--arch={args.arch}"]
    off, kept = {**os.environ, "HDS_CACHE": "off"}, {**os.environ, "HDS_CACHE_DIR": f"{folder}/cache"}
    cubin = [*common, "--emit=cubin", "-o", f"{folder}/out.cubin"]
    commands = {"text": ([*common, "--emit=cu", "-o", "/dev/null"], off),
                # An option of the user's has all kernels compiled as one text.
                "whole": ([*cubin, "--nvrtc-option=--diag-suppress=177"], off),
                "kept": (cubin, kept)}
    commands |= {n: ([*cubin, f"-j{n}"], off) for n in args.workers}
    seconds_of(*commands["kept"])
    times = {name: [] for name in commands}
    for _ in range(args.runs):
        for name, (command, environment) in commands.items():
            times[name].append(seconds_of(command, environment))
    total, nvrtc, used = ({name: median_of(runs, i) for name, runs in times.items()} for i in range(3))
    rows = [("front end, to CUDA text", f"{total['text']:.2f} s, CPU {used['text']:.2f} s"),
            ("NVRTC, all kernels as one text", f"{nvrtc['whole']:.2f} s, CPU of all {used['whole']:.2f} s")]
    first = args.workers[0]
    for n in args.workers:
        rows.append((f"NVRTC, batches, {n} process{'es' if n > 1 else ''}",
                     f"{nvrtc[n]:.2f} s; against one text {ratio(nvrtc['whole'], nvrtc[n])}, against {first} "
                     f"process{'es' if first > 1 else ''} {ratio(nvrtc[first], nvrtc[n])}; CPU of all {used[n]:.2f} s"))
    rows.append(("hdsc, from the cache, whole process", f"{1000 * total['kept']:.0f} ms"))
    found = library_times(args.build, path, args.arch, args.runs, folder)
    if isinstance(found, str):
        return [*rows, ("hds_compile", f"not measured: {found}")]
    return [*rows, ("hds_compile, cold", f"{found[0]:.2f} s"), ("hds_compile, from the disk", f"{1000 * found[1]:.1f} ms")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build" / "release")
    parser.add_argument("--kernels", type=int, default=100)
    parser.add_argument("--workers", default=f"1,2,{os.cpu_count()}",
                        type=lambda text: list(dict.fromkeys(int(n) for n in text.split(","))))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--in-process", help=argparse.SUPPRESS)
    parser.add_argument("source", nargs="?", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.in_process:
        print(compile_in_process(args.in_process, args.source, args.arch))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(args, folder)
    print(f"{args.kernels} kernels for {args.arch}, {cpu()}\n\n| what | measured |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
