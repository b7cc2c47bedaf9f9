#!/usr/bin/env python3
"""Models of torchvision and transformers compiled by hidet beside PyTorch's own compiler: f16, one GPU, in one run.

    PYTHONPATH=build/release/python bench/torch_models.py [--batch=1,8,64] [--against=reduce-overhead,max-autotune]
                                                          [--seconds=60] [--out=FILE] [MODEL...]

Models have random weights; nothing is downloaded. A time is that of a call, Dynamo's guards included, where many calls follow
each other; ours and PyTorch's alternate, and the median of the samples counts. first: seconds from torch.compile to the first result.
error: the largest difference from the model in f32, relative to the largest value; PyTorch's eager f16 has that of eager_error.
--seconds: a compilation of PyTorch's that would begin later than this is left out. --out: a CSV file.
Exit code: 1 if a model of ours does not compile whole, or is wrong: beyond four times the error of eager f16.
"""

import argparse
import csv
import statistics
import sys
import time

import hidet  # registers the backend
import torch
import torchvision
import transformers

COLUMNS = ["model", "batch", "eager", "ours", "first", "error", "eager_error"]


def settle(model):
    """Results that are neither zero nor beyond f16: heads with weights, and batch norms with the statistics of a batch."""
    for m in model.modules():
        if isinstance(m, torch.nn.Linear) and not m.weight.any():
            torch.nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.momentum = 1.0
    with torch.no_grad():
        model.train()(torch.randn(2, 3, 224, 224))


def vision(name):
    def build(batch):
        model, x = getattr(torchvision.models, name)(weights=None), torch.randn(batch, 3, 224, 224)
        settle(model)
        return model.to(memory_format=torch.channels_last), [x.to(memory_format=torch.channels_last)]

    return build


class Hidden(torch.nn.Module):
    """The last hidden state of a model of transformers."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x).last_hidden_state


def text(model, config, length=128, **options):
    def build(batch):
        made = config(**options)
        return Hidden(model(made)), [torch.randint(0, made.vocab_size, (batch, length))]

    return build


MODELS = {
    "resnet18": vision("resnet18"),
    "resnet50": vision("resnet50"),
    "mobilenet_v2": vision("mobilenet_v2"),
    "bert": text(transformers.BertModel, transformers.BertConfig),
    "gpt2": text(transformers.GPT2Model, transformers.GPT2Config, use_cache=False),
    "vit_b_16": vision("vit_b_16"),
}


def microseconds(functions, rounds=15):
    """The median of each function's samples, of about 20 ms each; they alternate."""
    counts = []
    for function in functions:
        for _ in range(5):
            function()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(5):
            function()
        torch.cuda.synchronize()
        counts.append(max(3, int(0.02 / ((time.perf_counter() - start) / 5))))
    samples = [[] for _ in functions]
    for _ in range(rounds):
        for function, count, sample in zip(functions, counts, samples, strict=True):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                function()
            torch.cuda.synchronize()
            sample.append((time.perf_counter() - start) / count)
    return [1e6 * statistics.median(sample) for sample in samples]


def cast(x):
    return x.half() if x.is_floating_point() else x


def measure(name, batch, against, deadline):
    torch.manual_seed(0)
    with torch.inference_mode(False):  # weights that count their changes
        model, inputs = MODELS[name](batch)
    model, inputs = model.eval().cuda(), [x.cuda() for x in inputs]
    exact = model(*inputs)
    model, inputs = model.half(), [cast(x) for x in inputs]
    scale = exact.abs().max()

    def error(y):
        return ((y.float() - exact).abs().max() / scale).item()

    row = {"model": name, "batch": batch, "eager_error": error(model(*inputs))}
    torch._dynamo.reset()
    start = time.perf_counter()
    ours = torch.compile(model, backend="hidet", mode="max-autotune")
    row["error"] = error(ours(*inputs))
    row["first"] = time.perf_counter() - start
    columns, functions = ["eager", "ours"], [lambda: model(*inputs), lambda: ours(*inputs)]
    for mode in against:
        if time.perf_counter() > deadline:
            break
        start = time.perf_counter()
        peer = torch.compile(model, mode=mode)
        peer(*inputs)
        row[f"first_{mode}"] = time.perf_counter() - start
        columns.append(mode)
        functions.append(lambda peer=peer: peer(*inputs))
    row.update(zip(columns, microseconds(functions), strict=True))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of " + " ".join(MODELS))
    parser.add_argument("--batch", default="1")
    parser.add_argument("--against", default="reduce-overhead")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--out")
    args = parser.parse_args()
    against = [mode for mode in args.against.split(",") if mode]
    deadline = time.perf_counter() + args.seconds
    columns = COLUMNS + [f"{before}{mode}" for mode in against for before in ("", "first_")]
    rows, wrong = [], []
    with torch.inference_mode():
        for batch in map(int, args.batch.split(",")):
            for name in args.models or MODELS:
                try:
                    row = measure(name, batch, against, deadline)
                except Exception as problem:  # the other models are measured all the same
                    print(f"{name} {batch}: {type(problem).__name__}: {problem}", file=sys.stderr)
                    wrong.append(name)
                    continue
                rows.append(row)
                print(*(f"{key} {value:.4g}" if isinstance(value, float) else value for key, value in row.items()), flush=True)
                if not row["error"] <= 4 * row["eager_error"]:
                    wrong.append(name)
                if args.out:
                    with open(args.out, "w", newline="") as file:
                        writer = csv.DictWriter(file, columns)
                        writer.writeheader()
                        writer.writerows(rows)
    if wrong:
        sys.exit("wrong: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
