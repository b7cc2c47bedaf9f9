#!/usr/bin/env python3
"""Measures how compiling many kernels at once scales with -j, and prints a Markdown table.

Usage: parallel.py [--hdsc build/release/bin/hdsc] [--kernels 64] [--runs 3] [--kind object] [--threads NVRTC]

Each kernel is a file of its own, a variant of examples/tiled_matmul.hds that was never compiled before: the cache of hdsc is
off, and NVRTC has one of its own. Times are medians of --runs rounds of every -j. --threads=libnvrtc.so also
measures whether that library lets the threads of a process compile at the same time, against as many processes: a thread
waits for a lock where its time is neither on a core nor in the queue for one, so the answer does not depend on what else the
machine does.
"""

import argparse
import concurrent.futures
import ctypes
import datetime
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE = TOP / "examples" / "tiled_matmul.hds"
REPEATS = 6  # compilations by each thread or process


def cores():
    return len(os.sched_getaffinity(0))


def write_kernels(folder, count):
    """Files that cost about the same, no two of them alike, nor like any of another call."""
    text, salt = EXAMPLE.read_text(encoding="utf-8"), time.time_ns() % 10**9
    names = []
    for i in range(count):
        variant = text.replace("tiled_matmul", f"matmul_{i}").replace("init=0.0", f"init={salt}.{i:03}")
        names.append(f"kernel_{i}.hds")
        pathlib.Path(folder, names[-1]).write_text(variant, encoding="utf-8")
    return names


def counts():
    """1, 2, 4 … and all cores."""
    return sorted({min(2**i, cores()) for i in range(16)})


# ---- hdsc -------------------------------------------------------------------------------------------------------

def seconds(command, folder):
    environment = {**os.environ, "HDS_CACHE": "off", "CUDA_CACHE_DISABLE": "1"}
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def scaling(hdsc, kernels, runs, kind):
    with tempfile.TemporaryDirectory() as folder:
        times = {jobs: [] for jobs in counts()}
        for _ in range(runs):
            for jobs, rows in times.items():
                names = write_kernels(folder, kernels)
                rows.append(seconds([hdsc, f"--emit={kind}", f"-j{jobs}", *names], folder))
    return {jobs: statistics.median(rows) for jobs, rows in times.items()}


# ---- NVRTC ------------------------------------------------------------------------------------------------------

class Nvrtc:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def compile(self, text):
        program, option = ctypes.c_void_p(), (ctypes.c_char_p * 1)(b"--gpu-architecture=sm_80")
        assert self.library.nvrtcCreateProgram(ctypes.byref(program), text, b"k.cu", 0, None, None) == 0
        assert self.library.nvrtcCompileProgram(program, 1, option) == 0
        self.library.nvrtcDestroyProgram(ctypes.byref(program))


def thread_times():
    """Nanoseconds of this thread on a core, and waiting for one (Linux, Documentation/scheduler/sched-stats)."""
    run, wait, _ = pathlib.Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
    return int(run), int(wait)


def blocked_share(path, text):
    """The share of the time that it wanted to run in which this thread did not even queue for a core."""
    nvrtc = Nvrtc(path)
    nvrtc.compile(text)
    run, wait = thread_times()
    start = time.perf_counter_ns()
    for _ in range(REPEATS):
        nvrtc.compile(text)
    wall = time.perf_counter_ns() - start
    more_run, more_wait = thread_times()
    busy = more_run - run
    return 1 - busy / max(1, wall - (more_wait - wait))


def lock_rows(hdsc, path):
    text = subprocess.run([hdsc, str(EXAMPLE), "--emit=cu", "-o", "-"], check=True, capture_output=True).stdout
    rows = []
    for name, pool in (("threads", concurrent.futures.ThreadPoolExecutor), ("processes", concurrent.futures.ProcessPoolExecutor)):
        for count in counts():
            with pool(count) as workers:
                shares = list(workers.map(blocked_share, [path] * count, [text] * count))
            rows.append((name, count, statistics.mean(shares)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hdsc", type=os.path.abspath, default=TOP / "build" / "release" / "bin" / "hdsc")
    parser.add_argument("--kernels", type=int, default=64)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--kind", default="object")
    parser.add_argument("--threads", metavar="NVRTC")
    args = parser.parse_args()
    times = scaling(str(args.hdsc), args.kernels, args.runs, args.kind)
    print(f"{datetime.date.today()}, {cores()} cores, {args.kernels} kernels, --emit={args.kind}\n")
    print("| -j | time | times as fast as -j 1 | of what so many cores can give |\n|---|---|---|---|")
    for jobs, took in times.items():
        ratio = times[1] / took
        print(f"| {jobs} | {took:.2f} s | {ratio:.2f} | {100 * ratio / jobs:.0f} % |")
    if args.threads:
        print("\n| NVRTC in | at a time | of their time waiting for a lock |\n|---|---|---|")
        for name, count, share in lock_rows(str(args.hdsc), args.threads):
            print(f"| {name} | {count} | {100 * share:.0f} % |")


if __name__ == "__main__":
    sys.exit(main())
