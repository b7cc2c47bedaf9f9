#!/usr/bin/env python3
"""Measures how fast the simulator runs kernels, and prints a Markdown table.

Usage: simulator.py [--build build/release] [--runs 3]
Times are CPU time of the process on one thread (-j 1), the least of --runs runs; the time of compiling, as a run of almost
no work shows it, is taken off.
"""

import argparse
import datetime
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compile_speed  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent


class Bench:
    def __init__(self, hdsc, runs):
        self.hdsc, self.runs = hdsc, runs

    def once(self, arguments):
        """CPU seconds and the output of -v."""
        before = os.times()
        done = subprocess.run([self.hdsc, "run", *arguments, "-v", "-j", "1"], capture_output=True, text=True, check=True)
        after = os.times()
        cpu = after.children_user - before.children_user + after.children_system - before.children_system
        return cpu, done.stderr

    def seconds(self, arguments):
        measured = [self.once(arguments) for _ in range(self.runs)]
        return min(cpu for cpu, _ in measured), measured[0][1]

    def run(self, file, entry, arguments, small, *flags):
        """Seconds of the work, thread instructions, simulated bytes, shadow bytes."""
        head = [str(file), "--entry", entry, *flags]
        start, _ = self.seconds([*head, *small])
        cpu, said = self.seconds([*head, *arguments])
        count = int(re.search(r"(\d+) thread instructions", said).group(1))
        memory = re.search(r"(\d+) bytes of simulated memory, (\d+) of shadow", said)
        return max(cpu - start, 1e-3), count, int(memory.group(1)), int(memory.group(2))


def rate(seconds, count):
    return f"{count / seconds / 1e6:,.0f} M/s"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build" / "release")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    bench = Bench(str(args.build / "bin" / "hdsc"), args.runs)
    kernels, matmul = TOP / "bench" / "simulator.hds", TOP / "examples" / "mma_matmul.hds"
    rows = []

    for name, dtype in (("integers", "i32"), ("floats", "f32"), ("divergent", "i32")):
        tensor = f"x=zeros:{dtype}[1024]"
        small = [tensor, "turns=1"]
        both = []
        for flags in ((), ("--no-checks",)):
            seconds, count, _, _ = bench.run(kernels, name, [tensor, "turns=40000"], small, *flags)
            both.append((seconds, count))
        rows.append((f"{name}: thread instructions a second, checked", rate(*both[0])))
        rows.append((f"{name}: … without checks", f"{rate(*both[1])}; checks cost {both[0][0] / both[1][0]:.2f} ×"))

    for n in (1 << 20, 1 << 22, 1 << 24):
        tensors = [f"x=zeros:f32[{n}]", f"y=empty:f32[{n}]"]
        empty = ["x=zeros:f32[256]", "y=empty:f32[256]"]
        seconds, count, simulated, shadow = bench.run(kernels, "copies", tensors, empty)
        free, _, _, _ = bench.run(kernels, "copies", tensors, empty, "--no-checks")
        rows.append((f"copies of {n:,} f32", f"{seconds:.2f} s, {rate(seconds, count)}; checks cost {seconds / free:.2f} ×; "
                     f"{shadow / simulated:.2f} bytes of shadow for each simulated one"))

    with tempfile.TemporaryDirectory():
        for m in (256, 512, 1024):
            work = [f"a=randn:f16[{m},{m}]", f"b=randn:f16[{m},{m}]"]
            small = ["a=zeros:f16[8,8]", "b=zeros:f16[8,8]"]
            checked, count, simulated, shadow = bench.run(matmul, "matmul_f16", work, small)
            free, _, _, _ = bench.run(matmul, "matmul_f16", work, small, "--no-checks")
            rows.append((f"mma_matmul of {m} × {m} × {m} f16", f"{checked:.2f} s checked, {free:.2f} s without: {checked / free:.1f} ×; "
                         f"{rate(checked, count)}; {shadow / simulated:.2f} bytes of shadow for each simulated one"))

    print(f"{datetime.date.today()}, {compile_speed.cpu()}\n")
    print("| what | measured |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
