#!/usr/bin/env python3
"""What convolutions have to reach, in one run: bench/conv.py, bench/depthwise.py and bench/conv_schedules.py --ranked.

    bench/conv_targets.py HDSC [--runtime=libhdsrt.so] [--libraries=FOLDER] [--only=PART,…] [--out=FOLDER]

--libraries: where conv_layers.so, depthwise_layers.so and ranked.so are, with their headers; what is missing is compiled for the
GPU that is there. --only: layers, depthwise or choice. --out: tables as CSV files, and summary.txt with a line for each target.
Whole models: bench/torch_models.py. Exit code: 1 if a result is wrong.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import conv_schedules

TOP = pathlib.Path(__file__).resolve().parents[1]
RANKS = 5  # schedules of which the choice should be the fastest


def libraries(hdsc, folder, gpu):
    """The libraries {part: path} in the folder, compiled if they are not there."""
    sources = {"layers": TOP / "bench/conv_layers.hds", "depthwise": TOP / "bench/depthwise_layers.hds"}
    sources["choice"] = folder / "ranked.hds"
    for source in sources.values():
        out = folder / f"{source.stem}.so"
        if out.exists():
            continue
        if source.parent == folder:
            source.write_text(conv_schedules.ranked_text(conv_schedules.SAMPLE, RANKS))
        where = ["-I", TOP / "ops", "-I", TOP / "bench", f"--gpu={gpu}", "-o", out, "-h", out.with_suffix(".h")]
        subprocess.run([hdsc, source, *where], check=True)
    return {part: folder / f"{source.stem}.so" for part, source in sources.items()}


def measure(part, lib, out):
    """(the lines of the summary of a part, what is wrong)"""
    import conv
    import depthwise
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    if part == "choice":
        line, problems = conv_schedules.run_ranked(lib, conv_schedules.SAMPLE, RANKS, torch, conv)
        return [line], problems
    of = conv if part == "layers" else depthwise
    return of.run(lib, ["*"], out / f"{part}.csv" if out else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc")
    parser.add_argument("--runtime")
    parser.add_argument("--libraries", type=pathlib.Path)
    parser.add_argument("--only", default="choice,depthwise,layers")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--gpu", default="native", help="compile the libraries for this GPU, measure nothing")
    options = parser.parse_args()
    lines, problems = [], []
    with tempfile.TemporaryDirectory() as temporary:
        found = libraries(options.hdsc, options.libraries or pathlib.Path(temporary), options.gpu)
        if options.gpu != "native":
            return 0
        from memory import library

        for part in options.only.split(","):
            began = time.monotonic()
            more, wrong = measure(part, library.Libraries([found[part]], options.runtime), options.out)
            lines += [f"{part}: {time.monotonic() - began:.0f} s", *more]
            problems += wrong
    text = "\n".join(lines + problems) + "\n"
    print(text)
    if options.out:
        (options.out / "summary.txt").write_text(text)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
