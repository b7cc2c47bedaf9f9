#!/usr/bin/env python3
"""Products with bias that have few tiles, by several schedules of ops/matmul/hopper.hds, beside cuBLAS, in one run: f16.

    bench/few_products.py HDSC [--runtime=libhdsrt.so] [--only=TEXT] [--out=FILE] [M_N_K…]
    bench/few_products.py HDSC --simulate [--only=TEXT] [M_N_K…]

For each product a line of times in µs: "model" is what the library launches, "cublas" PyTorch's F.linear. Operands stay in L2, and
CUDA graphs alternate. Results are compared with f32 arithmetic. --only: schedules whose name has TEXT. --out: a CSV file, of the
columns of docs/results/2026-11-28-h200-few.csv. A schedule that cannot compute a product has no time.
--simulate: no times; one small product by each schedule on the simulator, compared with NumPy. Needs no GPU.
Exit code: 1 if a result is wrong.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import schedules

# Products of BERT, ViT, ResNet-50 and MobileNetV2 with one input.
SHAPES = [
    "128_768_3072", "128_3072_768", "128_2304_768", "128_768_768", "197_768_3072", "197_3072_768", "197_2304_768", "197_768_768",
    "196_1024_256", "196_256_1024", "49_2048_512", "49_512_2048", "196_64_384", "49_160_960",
]  # fmt: skip
SMALL = ["40_128_320"]
NAMES = [
    "64x64_12_1", "64x32_14_1", "128x128_5_2", "64x128_8_2", "64x64_8_0_k2", "64x64_8_0_k4", "64x64_8_0_k8", "64x32_12_0_k2",
    "64x32_12_0_k4", "64x16_20_0_s", "64x16_20_0_k2_s", "64x32_16_0_s", "64x32_16_0_k2_s", "64x64_10_0_s", "64x64_10_0_k2_s",
    "128x64_7_0_k4",
]  # fmt: skip
WARM = 4  # sets of operands, which together stay in L2


def text_of(shapes, names):
    """The module of all instances."""
    lines = ["from few_products import chosen, forced", ""]
    for shape in shapes:
        sizes = shape.replace("_", ", ")
        lines.append(f"by_model_{shape} = chosen[{sizes}]")
        lines += [f'by_{name}_{shape} = forced[{sizes}, "{name}"]' for name in names]
    return "\n".join(lines) + "\n"


def symbols_of(shape, names):
    return {name: f"by_{name}_{shape}" for name in ["model", *names]}


def sizes_of(shape):
    return map(int, shape.split("_"))


# ---- on the GPU ------------------------------------------------------------------------------------------------------


def measure(lib, shape, names):
    """{name: µs}, and what is wrong."""
    import products
    import torch
    import torch.nn.functional as F

    M, N, K = sizes_of(shape)
    sets = [products.operands([(M, K), (N, K), (N,)], seed) for seed in range(WARM)]
    results = [torch.empty((M, N), dtype=torch.float16, device="cuda") for _ in sets]
    expected = F.linear(*[t.float() for t in sets[0]])
    return schedules.race(lib, symbols_of(shape, names), sets, results, {"cublas": F.linear}, expected)


def measure_all(options, shapes, names):
    import products
    import torch
    from memory import library

    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    rows, problems = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = schedules.compiled(options.hdsc, text_of(shapes, names), pathlib.Path(folder))
        lib = library.Libraries([str(path)], options.runtime)
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; µs")
        for shape in shapes:
            times, found = measure(lib, shape, names)
            problems += found
            rows.append({**dict(zip("mnk", sizes_of(shape))), **{name: f"{t:.2f}" for name, t in times.items()}})
            shown = sorted(times.items(), key=lambda of: of[1])
            print(f"{shape:14} " + " ".join(f"{name}:{t:.2f}" for name, t in shown), flush=True)
    return products.finish(rows, ["m", "n", "k", "cublas", "model", *names], options.out, problems)


# ---- on the simulator --------------------------------------------------------------------------------------------------


def simulate(hdsc, shape, names, folder):
    """What is wrong."""
    import numpy as np

    M, N, K = sizes_of(shape)
    numbers, problems = np.random.default_rng(0), []
    tensors = {name: numbers.normal(size=size).astype(np.float16) for name, size in {"x": (M, K), "w": (N, K), "b": (N,)}.items()}
    for name, array in tensors.items():
        np.save(folder / f"{name}.npy", array)
    x, w, b = (t.astype(np.float64) for t in tensors.values())
    expected, command = x @ w.T + b, [hdsc, "run", *schedules.module_of(text_of([shape], names), folder), "--gpu=h200"]
    for name, symbol in symbols_of(shape, names).items():
        words = [f"{t}=@{folder / t}.npy" for t in tensors]
        subprocess.run([*command, "--entry", symbol, *words, f"y=out:{folder / 'y.npy'}"], check=True, stdout=subprocess.DEVNULL)
        error = (np.abs(np.load(folder / "y.npy") - expected) / (np.abs(expected) + np.abs(expected).mean())).max()
        print(f"{shape:14} {name}: largest error {error:.1e}", flush=True)
        problems += [] if error < 0.01 else [f"{symbol}: off by {error:.3g}"]
    return problems


def simulate_all(options, shapes, names):
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in shapes:
            problems += simulate(options.hdsc, shape, names, pathlib.Path(folder))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc")
    parser.add_argument("--runtime")
    parser.add_argument("--only", default="")
    parser.add_argument("--out")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("shapes", nargs="*")
    options = parser.parse_intermixed_args()
    names = [name for name in NAMES if options.only in name]
    if options.simulate:
        return simulate_all(options, options.shapes or SMALL, names)
    return measure_all(options, options.shapes or SHAPES, names)


if __name__ == "__main__":
    sys.exit(main())
