#!/usr/bin/env python3
"""Models of torchvision and transformers compiled by hidet beside PyTorch's own compiler: f16, one GPU, in one run.

    PYTHONPATH=build/release/python bench/torch_models.py [--budget=580] [--out=FILE] [MODEL...]

Models have random weights; nothing is downloaded. A time is that of a call in µs, Dynamo's guards included, where many calls
follow each other; ours and PyTorch's alternate, and the median of the samples counts. first: seconds from torch.compile to the
first result, of a model that was not compiled before: caches are empty at the beginning. error: the largest difference from the
model in f32, relative to the largest value; PyTorch's eager f16 has that of eager_error.

All models are measured against the first mode of --against, batch by batch, then against the next one. --budget: after so many
seconds the script ends, whatever it is doing. --out: a CSV file, which is written after each measurement; what an earlier run
has written there is not measured again, so several runs make one table. --tiny: small layers and inputs, which also run without
a GPU, on the simulator: to try the script, not to measure.
Exit code: 1 if a model of ours does not compile, or is wrong: beyond four times the error of eager f16.
"""

import argparse
import csv
import math
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time

START = time.perf_counter()
CACHES = tempfile.mkdtemp(prefix="torch_models-")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(CACHES, "inductor")

import hidet  # registers the backend
import torch
import torchvision
import transformers
from torchvision.models.resnet import BasicBlock, Bottleneck

COLUMNS = ["model", "batch", "against", "eager", "ours", "peer", "speedup", "first", "first_peer", "error", "eager_error"]
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
BATCHES = "1,8,64"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


# ---- models ---------------------------------------------------------------------------------------------------------------


def settle(model, size):
    """Results that are neither zero nor beyond f16: heads with weights, and batch norms with the statistics of a batch."""
    for m in model.modules():
        if isinstance(m, torch.nn.Linear) and not m.weight.any():
            torch.nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.momentum = 1.0
    with torch.no_grad():
        model.train()(torch.randn(2, 3, size, size))


def vision(name, tiny):
    """[tiny]: a function that makes a smaller model of the kind."""

    def build(batch, is_tiny):
        model = tiny() if is_tiny else getattr(torchvision.models, name)(weights=None)
        size = 64 if is_tiny else 224
        settle(model, size)
        last = torch.channels_last
        return model.to(memory_format=last), [torch.randn(batch, 3, size, size).to(memory_format=last)]

    return build


class Hidden(torch.nn.Module):
    """The last hidden state of a model of transformers."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x).last_hidden_state


def text(model, config, tiny, **options):
    """[tiny]: options of the configuration for a smaller model."""

    def build(batch, is_tiny):
        made = config(**options, **(tiny if is_tiny else {}))
        return Hidden(model(made)), [torch.randint(0, made.vocab_size, (batch, 16 if is_tiny else 128))]

    return build


def small_resnet(block):
    return torchvision.models.ResNet(block, [1, 1, 1, 1], num_classes=10)


def small_vit():
    return torchvision.models.VisionTransformer(64, 16, num_layers=1, num_heads=2, hidden_dim=32, mlp_dim=64)


SMALL_BERT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 96}
SMALL_GPT2 = {"n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 96}
MODELS = {
    "resnet50": vision("resnet50", lambda: small_resnet(Bottleneck)),
    "bert": text(transformers.BertModel, transformers.BertConfig, SMALL_BERT),
    "gpt2": text(transformers.GPT2Model, transformers.GPT2Config, SMALL_GPT2, use_cache=False),
    "vit_b_16": vision("vit_b_16", small_vit),
    "resnet18": vision("resnet18", lambda: small_resnet(BasicBlock)),
    "mobilenet_v2": vision("mobilenet_v2", lambda: torchvision.models.mobilenet_v2(weights=None, width_mult=0.25)),
}


# ---- measurements -----------------------------------------------------------------------------------------------------------


def seconds(function, count):
    wait()
    start = time.perf_counter()
    for _ in range(count):
        function()
    wait()
    return (time.perf_counter() - start) / count


def microseconds(functions, rounds=15):
    """The median of each function's samples, of about 20 ms each; they alternate."""
    rounds = rounds if DEVICE == "cuda" else 1
    calls = [max(3 if DEVICE == "cuda" else 1, int(0.02 / seconds(f, 5 if DEVICE == "cuda" else 1))) for f in functions]
    samples = [[] for _ in functions]
    for _ in range(rounds):
        for function, count, sample in zip(functions, calls, samples, strict=True):
            sample.append(seconds(function, count))
    return [1e6 * statistics.median(sample) for sample in samples]


def compiled(model, inputs, **options):
    """(a function of no arguments, its first result, how many seconds that took)"""
    start = time.perf_counter()
    made = torch.compile(model, **options)
    result = made(*inputs)
    wait()
    return lambda: made(*inputs), result, time.perf_counter() - start


def cast(x):
    return x.half() if x.is_floating_point() else x


def measure(name, batch, mode, is_tiny):
    """A row of the table, without what PyTorch's compiler refuses to do."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    with torch.inference_mode(False):  # weights that count their changes
        model, inputs = MODELS[name](batch, is_tiny)
    model, inputs = model.eval().to(DEVICE), [x.to(DEVICE) for x in inputs]
    exact = model(*inputs)
    model, inputs = model.half(), [cast(x) for x in inputs]
    scale = exact.abs().max()

    def error(y):
        return ((y.float() - exact).abs().max() / scale).item()

    row = {"model": name, "batch": batch, "against": mode, "eager_error": error(model(*inputs))}
    ours, result, row["first"] = compiled(model, inputs, backend="hidet", mode="max-autotune")
    row["error"] = error(result)
    functions = [lambda: model(*inputs), ours]
    try:
        peer, _, row["first_peer"] = compiled(model, inputs, mode=mode)
        functions.append(peer)
    except Exception as problem:  # noqa: BLE001 ours is measured all the same
        print(f"{name} {batch} {mode}: {type(problem).__name__}: {str(problem)[:400]}", file=sys.stderr, flush=True)
    row.update(zip(("eager", "ours", "peer"), microseconds(functions), strict=False))
    if "peer" in row:
        row["speedup"] = row["peer"] / row["ours"]
    return row


# ---- the table --------------------------------------------------------------------------------------------------------------


def key(row):
    return row["model"], int(row["batch"]), row["against"]


class Table:
    """Rows, in a file as soon as they are there."""

    def __init__(self, path):
        self.path, self.rows, self.compiled = path, [], set()
        self.open = threading.Lock()
        if path and os.path.exists(path):
            with open(path, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def add(self, row):
        with self.open:
            self._write(row)

    def _write(self, row):
        if key(row)[:2] in self.compiled:  # by this process, so it was found in the cache
            del row["first"]
        self.compiled.add(key(row)[:2])
        self.rows.append({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()})
        print(*(f"{k} {v}" for k, v in self.rows[-1].items()), flush=True)
        if self.path:
            with open(f"{self.path}.new", "w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(self.rows)
            os.replace(f"{self.path}.new", self.path)

    def summary(self):
        """The geometric mean of the speedups over each mode, and the least one."""
        lines = []
        for mode in dict.fromkeys(r["against"] for r in self.rows):
            found = [(float(r["speedup"]), r) for r in self.rows if r["against"] == mode and r.get("speedup")]
            if found:
                mean = math.exp(statistics.fmean(math.log(s) for s, _ in found))
                least, r = min(found, key=lambda f: f[0])
                lines.append(f"{mode}: {mean:.3f} over {len(found)}, least {least:.3f} ({r['model']}, batch {r['batch']})")
        return "\n".join(lines)


def end(table, wanted, wrong):
    """Says what was measured, and ends the process with all of its threads: what these measure meanwhile is no row."""
    table.open.acquire()
    missing = [" ".join(map(str, w)) for w in wanted if w not in map(key, table.rows)]
    print(table.summary())
    if missing:
        print(f"{len(missing)} of {len(wanted)} not measured:", "; ".join(missing))
    if wrong:
        print("wrong:", ", ".join(wrong), file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    shutil.rmtree(CACHES, ignore_errors=True)
    os._exit(1 if wrong else 0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[*MODELS, []], help="of " + " ".join(MODELS))
    parser.add_argument("--batch", default=BATCHES, help=BATCHES)
    parser.add_argument("--against", default="reduce-overhead,max-autotune", help="modes of PyTorch's compiler")
    parser.add_argument("--budget", type=float, default=3600, help="seconds for all of it")
    parser.add_argument("--tiny", action="store_true", help="small models")
    parser.add_argument("--out", help="a CSV file")
    args = parser.parse_args()
    args.against = args.against.split(",")
    unknown = [mode for mode in args.against if mode not in MODES]
    if unknown:
        parser.error(f"PyTorch's compiler has no mode {unknown[0]!r}: {', '.join(MODES)}")
    if DEVICE == "cpu" and not args.tiny:
        parser.error("there is no GPU: --tiny tries the script on the simulator")
    return args


def main():
    args = arguments()
    hidet.option.cache_dir(os.path.join(CACHES, "hidet"))
    names, batches = args.models or list(MODELS), [int(b) for b in args.batch.split(",")]
    wanted = [(name, batch, mode) for mode in args.against for batch in batches for name in names]
    table, wrong = Table(args.out), []
    timer = threading.Timer(START + args.budget - time.perf_counter(), end, (table, wanted, wrong))
    timer.daemon = True
    timer.start()
    with torch.inference_mode():
        for name, batch, mode in wanted:
            if (name, batch, mode) in map(key, table.rows):
                continue
            try:
                row = measure(name, batch, mode, args.tiny)
            except Exception as problem:  # noqa: BLE001 the other models are measured all the same
                print(f"{name} {batch}: {type(problem).__name__}: {problem}", file=sys.stderr, flush=True)
                wrong.append(name)
                continue
            if not row["error"] <= 4 * row["eager_error"]:
                wrong.append(name)
            table.add(row)
    timer.cancel()
    end(table, wanted, wrong)


if __name__ == "__main__":
    main()
