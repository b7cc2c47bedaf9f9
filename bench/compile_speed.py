#!/usr/bin/env python3
"""Measures how fast hdsc compiles, and prints a Markdown table.

Usage: compile_speed.py [--build build/release] [--runs 15]
Times are medians over --runs runs; the compared programs alternate, in one run on one machine.
"""

import argparse
import datetime
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent


LIMIT_BYTES = 8 << 30


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))


def cpu():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = re.search(r"^model name\s*: (.*)", text, re.MULTILINE)
        return f"{model.group(1) if model else 'unknown CPU'}, {text.count('processor' + chr(9))} cores"
    except OSError:
        return "unknown CPU"


def wall_ms(command, runs):
    """The median; None if the program fails, as it does when memory is short."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit_memory,
                              check=False)
        if done.returncode:
            return None
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def stage_times(command, runs):
    """Medians of the rows of --time-report, in milliseconds, by name."""
    rows = {}
    for _ in range(runs):
        report = subprocess.run([*command, "--time-report"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                check=True).stderr
        seen = {}
        for us, name in re.findall(r"^\s*(\d+)\s+[\d.]+%\s+(?:[\d.]+\s+)?(.*)$", report, re.MULTILINE):
            seen[name.strip()] = seen.get(name.strip(), 0) + int(us)
        for name, us in seen.items():
            rows.setdefault(name, []).append(us / 1000)
    return {name: statistics.median(times) for name, times in rows.items()}


def peak_mib(command):
    """Most memory of one run. A fresh process counts its own children only."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, "
            "stderr=subprocess.DEVNULL, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    out = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True).stdout
    return int(out) / 1024


def ptx_rows(hdsc, example, runs):
    command = [hdsc, str(example), "--arch=sm_80", "-o", "/dev/null", "--emit=ptx"]
    times = stage_times(command, runs)
    ours = times["total"] - times["NVRTC"] - times["open NVRTC"]
    return [
        (f"{example.name} to PTX, whole run", f"{times['total']:.1f} ms"),
        ("… of it NVRTC compiling", f"{times['NVRTC']:.1f} ms"),
        ("… of it opening NVRTC", f"{times['open NVRTC']:.1f} ms"),
        ("… of it hdsc", f"{ours:.1f} ms ({100 * ours / times['NVRTC']:.1f} % of NVRTC's time)"),
    ]


def stage_row(hdsc, example, runs):
    times = stage_times([hdsc, "check", str(example)], runs)
    parts = ", ".join(f"{name} {times[name]:.1f}" for name in ("elaborate", "passes", "emit"))
    return (f"{example.name}: front end, IR, emission", f"{times['total']:.1f} ms ({parts})")


def generated_rows(hdsc, folder, runs):
    rows = []
    for lines in (1000, 10000, 100000):
        path = pathlib.Path(folder, f"generated_{lines}.hds")
        text = subprocess.run([sys.executable, str(TOP / "bench" / "generate.py"), str(lines)], capture_output=True,
                              check=True).stdout
        path.write_bytes(text)
        command = [hdsc, str(path), "--emit=cu", "-o", "/dev/null"]
        ms = wall_ms(command, max(3, runs * 1000 // lines))
        count = text.count(b"\n")
        if ms is None:
            rows.append((f"{count:,} generated lines to CUDA text", f"needs more than {LIMIT_BYTES >> 30} GiB"))
            continue
        rows.append((f"{count:,} generated lines to CUDA text",
                     f"{ms:.0f} ms ({count / ms:.0f} lines/ms), {peak_mib(command):.0f} MiB"))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build" / "release")
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    hdsc = str(args.build / "bin" / "hdsc")
    blog, mma = TOP / "examples" / "blog_matmul.hds", TOP / "examples" / "mma_matmul.hds"
    version = subprocess.run([hdsc, "version"], capture_output=True, text=True, check=True).stdout
    nvrtc = re.search(r"^NVRTC: ([\d.]+), ", version, re.MULTILINE)

    rows = [("hdsc --version, whole process", f"{wall_ms([hdsc, '--version'], args.runs):.2f} ms"),
            (f"hdsc check {blog.name}, whole process", f"{wall_ms([hdsc, 'check', str(blog)], args.runs):.2f} ms"),
            stage_row(hdsc, blog, args.runs), stage_row(hdsc, mma, args.runs)]
    if nvrtc:
        rows += ptx_rows(hdsc, blog, args.runs) + ptx_rows(hdsc, mma, args.runs)
    with tempfile.TemporaryDirectory() as folder:
        rows += generated_rows(hdsc, folder, args.runs)
    rows += [(f"most memory, {mma.name} to CUDA text", f"{peak_mib([hdsc, 'check', str(mma)]):.1f} MiB"),
             ("size of the program, stripped", f"{stripped_mib(hdsc):.2f} MiB")]

    print(f"{datetime.date.today()}, {cpu()}" + (f", NVRTC {nvrtc.group(1)}" if nvrtc else "") + "\n")
    print("| what | measured |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")


def stripped_mib(hdsc):
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "-o", copy.name, hdsc], check=True)
        return pathlib.Path(copy.name).stat().st_size / 2**20


if __name__ == "__main__":
    main()
