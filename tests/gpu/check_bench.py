"""hdsc bench on a real GPU: its numbers are plausible, its methods agree, and it repeats itself.

Usage: check_bench.py --hdsc HDSC --out FOLDER

Writes bench_*.json and bench.md (the tables) to FOLDER."""

import argparse
import json
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SAXPY = ["examples/saxpy.hds", "--entry", "saxpy", "s=2"]
MATMUL = ["examples/mma_matmul.hds", "--entry", "matmul_f16", "M=4096", "N=4096", "K=4096", "--flops=2*M*N*K"]
RUNS = {
    "saxpy": [*SAXPY, "n=1000000,16777216,134217728", "--flops=2*n"],
    "saxpy_again": [*SAXPY, "n=1000000,16777216,134217728", "--flops=2*n"],
    "saxpy_flush": [*SAXPY, "n=16777216,134217728", "--method=flush"],
    "small": [*SAXPY, "n=1000,100000"],
    "small_graph": [*SAXPY, "n=1000,100000", "--graph"],
    "transpose": ["examples/transpose.hds", "--entry", "transpose_f16", "M=8192", "N=4096,8192"],
    "softmax": ["examples/softmax_rows.hds", "--entry", "softmax_f16_4096", "M=8192"],
    "matmul": MATMUL,
    "operator": ["tests/ops/own/gate.hds", "--entry", "gated_shares", "x=randn:f16[8192,4096]", "scale=0.5"],
    "operator_graph": ["tests/ops/own/gate.hds", "--entry", "gated_shares_f32", "S=64,8192", "N=4096", "scale=0.5", "--graph"],
    "two_stages": ["tests/gpu/host.hds", "--entry", "centred", "n=1000000,134217728"],
    "plain": ["tests/gpu/dependent.hds", "--entry", "plain", "n=131072,1048576", "--graph"],
    "early": ["tests/gpu/dependent.hds", "--entry", "early", "n=131072,1048576", "--graph"],
}


def check_rows(document):
    """What no measurement can be."""
    peak, ops = document["machine"]["peak_bytes_per_second"], document["kernel"]["peak_flop_per_second"]
    for row in document["rows"]:
        name, seconds = row["sizes"], row["seconds"]
        large = row["bytes"] > 4 * document["machine"]["l2_bytes"]
        if not 0 < seconds["q1"] <= seconds["median"] <= seconds["q3"]:
            yield f"{name}: times {seconds}"
        if large and row["bytes_per_second"] > peak:
            yield f"{name}: {row['bytes_per_second'] * 1e-9:.0f} GB/s are more than the memory has"
        if row["flop_per_second"] and ops and row["flop_per_second"] > ops:
            yield f"{name}: {row['flop_per_second'] * 1e-12:.0f} TFLOP/s are more than there are"
        # Where L2 helps, a kernel that reads more than it writes gains more.
        if row["of_copy"] is None or not 0 < row["of_copy"] < (1.3 if large else 1.6):
            yield f"{name}: {row['of_copy']} of a copy"
        if large and (seconds["q3"] - seconds["q1"]) / seconds["median"] > 0.1:
            yield f"{name}: the quartiles are {seconds['q1']} and {seconds['q3']}"


def median(document, **sizes):
    return next(r["seconds"]["median"] for r in document["rows"] if sizes.items() <= r["sizes"].items())


def check_together(found):
    large = {"n": "134217728"}
    again = median(found["saxpy_again"], **large) / median(found["saxpy"], **large)
    flush = median(found["saxpy_flush"], **large) / median(found["saxpy"], **large)
    graph = median(found["small_graph"], n="1000") / median(found["small"], n="1000")
    yield None if 0.97 < again < 1.03 else f"the same again takes {again:.3f} times as long"
    yield None if 0.97 < flush < 1.10 else f"flush reads {flush:.3f} times what rotate reads"
    yield None if graph < 1.05 else f"in a graph a small kernel takes {graph:.3f} times as long"
    best = max(r["of_copy"] for r in found["saxpy"]["rows"])
    yield None if best > 0.85 else f"saxpy reaches {best:.3f} of a copy"
    for n in ("131072", "1048576"):
        ratio = median(found["early"], n=n) / median(found["plain"], n=n)
        print(f"dependent launch, n={n}: {ratio:.3f} times the time of a plain one")
        yield None if ratio < 1.05 else f"a dependent launch takes {ratio:.3f} times as long"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hdsc", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    hdsc, found, tables, problems = str(pathlib.Path(args.hdsc).resolve()), {}, [], []
    for name, words in RUNS.items():
        path = args.out.resolve() / f"bench_{name}.json"
        done = subprocess.run([hdsc, "bench", *words, f"--json={path}"], cwd=TOP, capture_output=True, text=True, check=False)
        tables.append(f"## {name}\n\n```\n$ hdsc bench {' '.join(words)}\n{done.stdout}{done.stderr}```\n")
        print(tables[-1], flush=True)
        if done.returncode:
            problems.append(f"{name}: exit code {done.returncode}")
            continue
        found[name] = json.loads(path.read_text(encoding="utf-8"))
        problems += [f"{name}: {problem}" for problem in check_rows(found[name])]
    (args.out / "bench.md").write_text("\n".join(tables), encoding="utf-8")
    if len(found) == len(RUNS):
        problems += [problem for problem in check_together(found) if problem]
        compared = subprocess.run([hdsc, "bench", "--compare", *(str(args.out / f"bench_{n}.json") for n in ("saxpy", "saxpy_again")),
                                   "--fail-below=0.9"], capture_output=True, text=True, check=False)
        print(compared.stdout)
        problems += [f"--compare: exit code {compared.returncode}"] if compared.returncode else []
    for problem in problems:
        print(f"failed: {problem}")
    print(f"{len(found)} runs, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
