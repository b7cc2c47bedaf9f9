#!/usr/bin/env python3
"""Measures how fast hdsc compiles models, without NVRTC, and prints a Markdown table.

Usage: compile_models.py [--build build/release] [--against HDSC] [--runs 9] [--instructions] [MODEL ...]

CPU time is that of the process, user and system, the least of --runs runs: other processes can only add to it. With --against,
both programs run by turns, and the last column is the ratio of the new one to the other one. --instructions counts those of one
run by callgrind, which does not depend on what else the machine does. MODEL are models to compile, with --precision=f16 for
sm_90a and as they are for sm_80; by default those of examples/models. A generated ONNX model of 5,000 nodes is read, rewritten
and lowered. The passes over graphs alone are measured by graph_passes of the same folder.

With --warm, each model is compiled to a shared library whose product the cache has, with --weights=random for .hds files. That
needs NVRTC and a C compiler.
"""

import argparse
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests" / "onnx"))

from check_memory import layers, peak

NODES = 5000
KINDS = {
    "f32, sm_80": ["--arch=sm_80"],
    "f16, sm_90a": ["--arch=sm_90a", "--precision=f16"],
}


def cpu_ms(command, **settings):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def instructions(command):
    """In millions, with those of the libraries."""
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"Collected : (\d+)", text).group(1)) / 1e6


def row(name, programs, arguments, args):
    commands = [[program, *arguments] for program in programs]
    times = [
        min(column)
        for column in zip(*[[cpu_ms(c) for c in commands] for _ in range(args.runs)])
    ]
    cells = [name, f"{times[0]:.0f} ms", f"{peak(commands[0]) / 2**20:.0f} MiB"]
    if len(times) > 1:
        cells += [f"{times[1]:.0f} ms", f"{times[0] / times[1]:.2f}"]
    if args.instructions:
        counts = [instructions(c) for c in commands]
        cells += [f"{counts[0]:.0f} M", *[f"{counts[0] / n:.2f}" for n in counts[1:]]]
    return f"| {' | '.join(cells)} |"


def warm_row(name, programs, arguments, args):
    """Of programs with caches of their own, which a run before has filled."""
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for i, program in enumerate(programs):
            out = pathlib.Path(folder, str(i))
            out.mkdir()
            command = [program, *arguments, "-o", str(out / "model.so"), "--cache-dir", str(out / "cache")]
            subprocess.run(command, check=True)
            runs.append(command)
        rows = [[cpu_ms(c) for c in runs] for _ in range(args.runs)]
    times = [min(column) for column in zip(*rows, strict=True)]
    cells = [name, f"{times[0]:.0f} ms", "", *[f"{t:.0f} ms | {times[0] / t:.3f}" for t in times[1:]]]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build" / "release")
    parser.add_argument("--against", metavar="HDSC")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--warm", action="store_true")
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        default=sorted((TOP / "examples" / "models").glob("*.hds")),
    )
    args = parser.parse_args()
    programs = [str(args.build / "bin" / "hdsc")] + (
        [args.against] if args.against else []
    )
    head = ["model", "CPU time", "memory"] + (
        ["other CPU time", "ratio"] if args.against else []
    )
    if args.instructions:
        head += ["instructions"] + (["ratio"] if args.against else [])
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for model in args.models if args.warm else []:
        for kind, options in KINDS.items():
            words = [str(model), *options]
            if pathlib.Path(model).suffix == ".hds":
                words.append("--weights=random")
            name = f"{pathlib.Path(model).stem}, {kind}, to model.so, warm"
            print(warm_row(name, programs, words, args), flush=True)
    if args.warm:
        return
    for model in args.models:
        for kind, options in KINDS.items():
            words = [str(model), "--emit=cu", "-o", "/dev/null", *options]
            print(
                row(
                    f"{pathlib.Path(model).stem}, {kind}, to CUDA text",
                    programs,
                    words,
                    args,
                ),
                flush=True,
            )
    with tempfile.TemporaryDirectory() as folder:
        path = str(layers(pathlib.Path(folder, "layers.onnx"), NODES // 5))
        print(
            row(
                f"{NODES:,} nodes of ONNX, lowered",
                programs,
                ["graph", path, "--print=program", "-o", "/dev/null"],
                args,
            )
        )


if __name__ == "__main__":
    main()
