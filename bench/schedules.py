"""What the benchmarks by schedule share: a module of instances, compiled, and calls of each in one run, graphs alternating."""

import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[1]


def module_of(text, folder):
    """The text as a file of the folder, and hdsc's options for it."""
    path = folder / "instances.hds"
    path.write_text(text)
    return ["-I", TOP / "ops", "-I", TOP / "bench", path]


def compiled(hdsc, text, folder):
    """The path of the library that the text becomes, for the GPU that is there."""
    out = folder / "instances.so"
    subprocess.run([hdsc, *module_of(text, folder), "--gpu=native", "-o", out, "-h", folder / "instances.h"], check=True)
    return out


def race(lib, names, sets, results, theirs, expected):
    """{name: µs of a call}, and what is wrong. A schedule that cannot compute this writes nothing and has no time.

    names: {shown: function of the library}; theirs: {shown: the call of a set of operands}; expected: of the first set, in f32.
    """
    import products
    import torch

    functions, problems = {}, []
    for name, symbol in names.items():
        calls = [products.ours(lib, symbol, t, y) for t, y in zip(sets, results)]
        results[0].fill_(float("nan"))
        calls[0](torch.cuda.current_stream().cuda_stream)
        if results[0].isnan().all():
            continue
        error = products.off_by(results[0], expected)
        problems += [] if error < 0.01 else [f"{symbol}: off by {error:.3g}"]
        functions[name] = calls
    for name, call in theirs.items():
        functions[name] = [lambda s, t=t, call=call: call(*t) for t in sets]
    repeats = max(1, 64 // len(sets))
    graphs = {name: products.graph_of(calls * repeats) for name, calls in functions.items()}
    return products.time_of(graphs, len(sets) * repeats), problems
