#!/usr/bin/env python3
"""Models of torchvision and transformers compiled by hidet beside PyTorch's own compiler: f16, one GPU, in one run.

    PYTHONPATH=build/release/python bench/torch_models.py [--budget=580] [--jobs=6] [--out=FILE] [MODEL[@BATCH]...]

Models have random weights; nothing is downloaded. A time is that of a call in µs, Dynamo's guards included, where many calls
follow each other; ours and PyTorch's alternate, and the median of the samples counts. first: seconds from torch.compile to the
first result, of a model that was not compiled before: each model and batch has a process of its own, with empty caches. error:
the largest difference from the model in f32, relative to the largest value; PyTorch's eager f16 has that of eager_error.

--jobs: so many models compile side by side, since max-autotune takes minutes and leaves most cores idle; their times to the
first result are not written then. What PyTorch's compiler measures to choose kernels has the GPU for itself by a lock, and
calls are measured one model after the other, when all of them are compiled.
--budget: after so many seconds the script ends; models that would not be measured by then are given up before. --out: a CSV
file, which is written after each measurement; what an earlier run has written there is not measured again, so several runs make
one table. --tiny: small layers and inputs, which also run without a GPU, on the simulator: to try the script, not to measure.
Exit code: 1 if a model of ours does not compile, or is wrong: beyond four times the error of eager f16.
"""

import argparse
import csv
import fcntl
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

START = time.perf_counter()

import hidet  # registers the backend
import torch
import torchvision
import transformers
from torchvision.models.resnet import BasicBlock, Bottleneck

COLUMNS = ["model", "batch", "against", "eager", "ours", "peer", "speedup", "first", "first_peer", "error", "eager_error"]
MODES = ("none", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
BATCHES = "1,8,64"
MEASURING = 4  # seconds that the calls of one model take
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


def measure(name, batch, modes, is_tiny, wait_for_turn):
    """Rows of the table, one for each mode, without what PyTorch's compiler refuses to do."""
    torch.manual_seed(0)
    with torch.inference_mode(False):  # weights that count their changes
        model, inputs = MODELS[name](batch, is_tiny)
    model, inputs = model.eval().to(DEVICE), [x.to(DEVICE) for x in inputs]
    exact = model(*inputs)
    model, inputs = model.half(), [cast(x) for x in inputs]
    scale = exact.abs().max()

    def error(y):
        return ((y.float() - exact).abs().max() / scale).item()

    common = {"model": name, "batch": batch, "eager_error": error(model(*inputs))}
    ours, result, common["first"] = compiled(model, inputs, backend="hidet", mode="max-autotune")
    common["error"] = error(result)
    functions, rows = [lambda: model(*inputs), ours], []
    for mode in modes:
        rows.append({**common, "against": mode})
        if mode == "none":
            continue
        try:
            peer, _, rows[-1]["first_peer"] = compiled(model, inputs, mode=mode)
            functions.append(peer)
        except Exception as problem:  # noqa: BLE001 ours is measured all the same
            print(f"{name} {batch} {mode}: {type(problem).__name__}: {str(problem)[:400]}", file=sys.stderr, flush=True)
    wait_for_turn()
    eager, ours, *peers = microseconds(functions)
    for row in rows:
        row.update(eager=eager, ours=ours)
        if "first_peer" in row:
            row["peer"] = peers.pop(0)
            row["speedup"] = row["peer"] / row["ours"]
    return rows


# ---- processes of their own -------------------------------------------------------------------------------------------------


def choose_alone(path):
    """PyTorch's compiler loads candidates, and measures them while this process holds the lock of the file at [path]."""
    from torch._inductor.runtime.benchmarking import benchmarker

    def locked(method):
        def call(candidate, *args, **options):
            candidate()
            torch.cuda.synchronize()
            with open(path, "w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                return method(candidate, *args, **options)

        return call

    benchmarker.benchmark_gpu = locked(benchmarker.benchmark_gpu)


def child(task):
    """Measures one model with one batch; its rows are the last line of the output, as JSON."""

    def wait_for_turn():
        print("compiled", flush=True)
        sys.stdin.readline()

    hidet.option.cache_dir(os.path.join(task["caches"], "hidet"))
    if task["lock"]:
        choose_alone(task["lock"])
    with torch.inference_mode():
        rows = measure(task["model"], task["batch"], task["modes"], task["tiny"], wait_for_turn)
    print(json.dumps(rows), flush=True)
    os._exit(0)


def descendants(pid):
    """Processes that a process has started, those that these have started, and so on."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except OSError:  # it has ended
        pass
    return [*found, *(p for child in found for p in descendants(child))]


class Job:
    """A child that measures a model with one batch. [lock]: a path, where several compile side by side."""

    def __init__(self, name, batch, modes, tiny, caches, lock):
        self.name, self.lock = name, lock
        mine = tempfile.mkdtemp(dir=caches)
        task = {"model": name, "batch": batch, "modes": modes, "tiny": tiny, "caches": mine, "lock": lock}
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": os.path.join(mine, "inductor")}
        if lock:  # by default each model would have as many compile processes as there are cores
            environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")
        command = [sys.executable, __file__, f"--child={json.dumps(task)}"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True)
        self.is_compiled, self.given_up = False, False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        self.is_compiled = any(line == "compiled\n" for line in self.process.stdout)

    def compiled(self, deadline):
        """Waits until the model is compiled. False: it failed and said why, or it is given up at [deadline]."""
        self.reader.join(max(0, deadline - time.perf_counter()))
        self.given_up = self.reader.is_alive()
        if self.given_up:
            self.kill()
        return self.is_compiled

    def kill(self):
        """Ends it, and the processes that compile for it, which have sessions of their own."""
        for pid in [*descendants(self.process.pid), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def rows(self):
        """Lets it measure. None: it failed."""
        out, _ = self.process.communicate("go\n")
        if self.process.returncode:
            return None
        rows = json.loads(out.splitlines()[-1])
        for row in rows if self.lock else ():
            row.pop("first", None)
            row.pop("first_peer", None)
        return rows


# ---- the table --------------------------------------------------------------------------------------------------------------


def key(row):
    return row["model"], int(row["batch"]), row["against"]


class Table:
    """Rows, in a file as soon as they are there."""

    def __init__(self, path):
        self.path, self.rows = path, []
        self.open = threading.Lock()
        if path and os.path.exists(path):
            with open(path, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def add(self, row):
        with self.open:
            self._write(row)

    def _write(self, row):
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


class Run:
    """[wanted]: (model, batch, mode) of all rows. Models that do not compile or have wrong results are in [wrong]."""

    def __init__(self, args, wanted):
        self.args, self.wanted, self.wrong = args, wanted, []
        self.table, self.jobs = Table(args.out), []
        self.caches = tempfile.mkdtemp(prefix="torch_models-")

    def groups(self):
        """Lists of (model, batch, modes) that compile side by side."""
        modes = {}
        for name, batch, mode in self.wanted:
            if (name, batch, mode) not in map(key, self.table.rows):
                modes.setdefault((name, batch), []).append(mode)
        missing = [(name, batch, m) for (name, batch), m in modes.items()]
        return [missing[i : i + self.args.jobs] for i in range(0, len(missing), self.args.jobs)]

    def measure(self):
        lock = os.path.join(self.caches, "lock") if self.args.jobs > 1 else None
        for group in self.groups():
            self.jobs = [Job(*g, self.args.tiny, self.caches, lock) for g in group]
            deadline = START + self.args.budget - MEASURING * len(group)
            for job in [j for j in self.jobs if j.compiled(deadline)]:
                self.add(job)
            failed = [j.name for j in self.jobs if not j.given_up and j.process.wait()]
            self.wrong += [name for name in dict.fromkeys(failed) if name not in self.wrong]

    def add(self, job):
        for row in job.rows() or ():
            if not row["error"] <= 4 * row["eager_error"] and job.name not in self.wrong:
                self.wrong.append(job.name)
            self.table.add(row)

    def end(self):
        """Says what was measured, and ends the process with all of its threads and children."""
        self.table.open.acquire()
        for job in self.jobs:
            job.kill()
        missing = [" ".join(map(str, w)) for w in self.wanted if w not in map(key, self.table.rows)]
        print(self.table.summary())
        if missing:
            print(f"{len(missing)} of {len(self.wanted)} not measured:", "; ".join(missing))
        if self.wrong:
            print("wrong:", ", ".join(self.wrong), file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        shutil.rmtree(self.caches, ignore_errors=True)
        os._exit(1 if self.wrong else 0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL[@BATCH]", help="of " + " ".join(MODELS))
    parser.add_argument("--batch", default=BATCHES, help=f"of models that do not name theirs: {BATCHES}")
    parser.add_argument("--against", default="reduce-overhead,max-autotune", help="modes of PyTorch's compiler; none: no peer")
    parser.add_argument("--budget", type=float, default=3600, help="seconds for all of it")
    parser.add_argument("--jobs", type=int, default=1, help="models that compile side by side")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--tiny", action="store_true", help="small models")
    parser.add_argument("--out", help="a CSV file")
    args = parser.parse_args()
    args.against = args.against.split(",")
    unknown = [m for m in args.models if m.partition("@")[0] not in MODELS]
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}: {', '.join(MODELS)}")
    unknown = [mode for mode in args.against if mode not in MODES]
    if unknown:
        parser.error(f"PyTorch's compiler has no mode {unknown[0]!r}: {', '.join(MODES)}")
    if DEVICE == "cpu" and not args.tiny and not args.child:
        parser.error("there is no GPU: --tiny tries the script on the simulator")
    return args


def models(args):
    """(name, batch) of all that was asked for; the first batch of all models comes first."""
    names = args.models or list(MODELS)
    batches = [batch for name in names for batch in name.partition("@")[2].split(",") if batch]
    batches = dict.fromkeys([*args.batch.split(","), *batches])
    found = []
    for batch in batches:
        for name, _, own in (n.partition("@") for n in names):
            if batch in (own or args.batch).split(","):
                found.append((name, int(batch)))
    return found


def main():
    args = arguments()
    if args.child:
        child(args.child)
    run = Run(args, [(name, batch, mode) for name, batch in models(args) for mode in args.against])
    timer = threading.Timer(START + args.budget - time.perf_counter(), run.end)
    timer.daemon = True
    timer.start()
    run.measure()
    timer.cancel()
    run.end()


if __name__ == "__main__":
    main()
