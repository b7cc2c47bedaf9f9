#!/usr/bin/env python3
"""Compares the functions of ops/aten with PyTorch, on samples of PyTorch's own tests (OpInfo), on the simulator.

Usage: check_opinfo.py FOLDER [--only=REGEX] [--samples=N] [--calls=N] [--write=FILE]

FOLDER has the package, a build's folder python. Some N samples (default 4) of each operator that PyTorch tests, of f32, f16,
i64 and bool, are traced into ATen's operators, as torch.compile does it; of what is handed over to us, the first N different
calls (default 6) of each operator and type are run and compared. --only: of operators of ATen whose name matches. --write: the
table of docs/aten.md, in which what did not run stays, and reasons of what is wrong still. Exits with 77 where PyTorch is
missing, with 1 if less than 98 % are right."""

import collections
import datetime
import operator
import pathlib
import re
import sys
import warnings

import opinfo_page
import torch_arguments

TYPES = tuple(opinfo_page.TYPES)
BOUNDS = {"float16": {"rtol": 1e-2, "atol": 2e-3}, "float32": {"rtol": 2e-4, "atol": 2e-5}}
BATCH = 8


ARGUMENTS = torch_arguments.read(("--samples", {"type": int, "default": 4}), ("--calls", {"type": int, "default": 6}))
try:
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.utils import _pytree as pytree
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

from hidet.graph import PassContext  # noqa: E402
from hidet.torch import aten, backend, decompositions  # noqa: E402


class Call:
    """A call of an operator of ATen, with its operands and the results that PyTorch has."""

    def __init__(self, target, args, kwargs, expected):
        self.target, self.expected = target, expected
        self.leaves, self.form = pytree.tree_flatten((args, kwargs))
        self.leaves = [x.clone() if isinstance(x, torch.Tensor) else x for x in self.leaves]

    def key(self):
        parts = [(tuple(x.shape), x.dtype) if isinstance(x, torch.Tensor) else (type(x), x) for x in self.leaves]
        return str((self.target, parts, self.form))

    def tensors(self):
        return [x for x in self.leaves if isinstance(x, torch.Tensor)]

    def add_to(self, graph):
        """The call as nodes of a graph; returns those of its results."""
        leaves = []
        for x in self.leaves:
            if isinstance(x, torch.Tensor):
                node = graph.placeholder(f"x{len(graph.nodes)}")
                node.meta["val"] = x
                x = node
            leaves.append(x)
        args, kwargs = pytree.tree_unflatten(leaves, self.form)
        node = graph.call_function(self.target, args, kwargs)
        node.meta["val"] = self.expected
        if isinstance(self.expected, torch.Tensor):
            return [node]
        count = 1 if aten.operation_of(self.target).name in aten.FIRST_ONLY else len(self.expected)
        return [graph.call_function(operator.getitem, (node, i)) for i in range(count)]

    def results(self):
        """PyTorch's results, of those that are there."""
        return [self.expected] if isinstance(self.expected, torch.Tensor) else list(self.expected)


class Recorder(torch.fx.Interpreter):
    """Runs a traced sample and keeps the calls that are handed over to us."""

    def __init__(self, graph, keep):
        super().__init__(graph)
        self.keep = keep

    def run_node(self, n):
        if n.op != "call_function" or aten.operation_of(n.target) is None:
            return super().run_node(n)
        args, kwargs = pytree.tree_map(
            lambda x: x.clone() if isinstance(x, torch.Tensor) else x, self.fetch_args_kwargs_from_env(n)
        )
        result = super().run_node(n)
        self.keep(Call(n.target, args, kwargs, pytree.tree_map(lambda x: x.clone(), result)))
        return result


class Collection:
    """Different calls of each operator and type."""

    def __init__(self):
        self.calls, self.seen = collections.defaultdict(list), set()

    def add(self, call):
        types = [str(x.dtype).removeprefix("torch.") for x in [*call.tensors(), *call.results()]]
        kind = next((t for t in types if t in TYPES), None)
        name = aten.operation_of(call.target).name
        found = self.calls[name, kind]
        if kind is None or len(found) >= ARGUMENTS.calls or not re.search(ARGUMENTS.only, name):
            return
        if any(not isinstance(x, torch.Tensor) for x in call.results()) or call.key() in self.seen:
            return
        call.add_to(graph := torch.fx.Graph())
        node = next(n for n in graph.nodes if n.op == "call_function")
        if backend.unsupported(node) is None:
            self.seen.add(call.key())
            found.append(call)


def collect():
    """The calls behind all samples."""
    collection, table = Collection(), decompositions.table()
    for info in op_db:
        if info.name.startswith(("linalg", "fft", "jiterator", "_refs")):
            continue
        for name in TYPES:
            dtype = getattr(torch, name)
            if dtype in info.supported_dtypes("cpu"):
                record(info, dtype, collection, table)
    return collection.calls


def record(info, dtype, collection, table):
    try:
        samples = list(info.sample_inputs("cpu", dtype, requires_grad=False))
        for sample in samples[:: max(1, len(samples) // ARGUMENTS.samples)]:
            leaves, form = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
            at = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

            def function(*tensors, leaves=leaves, form=form, at=at):
                again = list(leaves)
                for i, x in zip(at, tensors):
                    again[i] = x
                first, args, kwargs = pytree.tree_unflatten(again, form)
                return info.op(first, *args, **kwargs)

            tensors = [leaves[i] for i in at]
            traced = make_fx(function, decomposition_table=table)(*tensors)
            Recorder(traced, collection.add).run(*[x.clone() for x in tensors])
    except Exception:  # noqa: BLE001 what PyTorch itself cannot sample or trace says nothing about us
        return


def ran(calls):
    """The results of calls in one graph, a list for each call."""
    graph, outputs, counts, given = torch.fx.Graph(), [], [], []
    for call in calls:
        made = call.add_to(graph)
        outputs, counts = outputs + made, counts + [len(made)]
        given += call.tensors()
    graph.output(tuple(outputs))
    module = torch.fx.GraphModule({}, graph)
    results = list(backend.Partition(module, [False] * len(given), False, PassContext()).compiled(given))
    return [[results.pop(0) for _ in range(n)] for n in counts]


def in_f32(call):
    """The results for operands of f32, in f16: PyTorch's own arithmetic of f16 is coarser than ours in some operators."""
    leaves = [x.float() if isinstance(x, torch.Tensor) and x.dtype == torch.float16 else x for x in call.leaves]
    args, kwargs = pytree.tree_unflatten([torch.float32 if x is torch.float16 else x for x in leaves], call.form)
    results = call.target(*args, **kwargs)
    results = [results] if isinstance(results, torch.Tensor) else results
    return [x.half() if x.dtype == torch.float32 else x for x in results]


def places_of(call, places):
    """The elements at places that sort, topk and kthvalue give: equal elements are in any order."""
    args, kwargs = pytree.tree_unflatten(call.leaves, call.form)
    at = {"sort": 1, "topk": 2, "kthvalue": 2}[aten.operation_of(call.target).name]
    dim = kwargs.get("dim", args[at] if len(args) > at and call.target._overloadname != "stable" else -1)
    if not args[0].ndim:
        return args[0]
    is_kept = places.ndim == args[0].ndim
    return torch.take_along_dim(args[0], places if is_kept else places.unsqueeze(dim), dim)


def differs(call, results, expected):
    for mine, theirs in zip(results, expected):
        if "empty" in str(call.target):  # what is there is not said
            mine = torch.empty_like(mine).copy_(theirs) if mine.shape == theirs.shape else mine
        is_place = aten.operation_of(call.target).name in ("sort", "topk", "kthvalue") and mine is results[1]
        if is_place and mine.dtype == theirs.dtype:
            mine, theirs = places_of(call, mine), places_of(call, theirs)
        bounds = BOUNDS.get(str(mine.dtype).removeprefix("torch."), {"rtol": 0, "atol": 0})
        try:
            torch.testing.assert_close(mine, theirs, equal_nan=True, check_stride=False, **bounds)
        except AssertionError as error:
            return " ".join(str(error).split())[:160]
    return None


def difference(call, results):
    """What is wrong with the results; None: nothing."""
    why = differs(call, results, call.results())
    if why and any(x.dtype == torch.float16 for x in call.tensors()):
        return differs(call, results, in_f32(call)) and why
    return why


def reason(error):
    """The message of an exception in one line."""
    text = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return next((line for line in text if "error" in line), text[0]).strip()[:160]


def outcome(calls):
    """What is wrong with each call."""
    try:
        return [difference(call, results) for call, results in zip(calls, ran(calls))]
    except Exception as error:  # noqa: BLE001 any failure counts
        return [reason(error)] if len(calls) == 1 else [w for call in calls for w in outcome([call])]


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    counts, wrong = {}, {}
    with torch.no_grad():
        for (name, kind), calls in sorted(collect().items(), key=str):
            found = [w for i in range(0, len(calls), BATCH) for w in outcome(calls[i : i + BATCH])]
            if calls:
                counts[name, kind] = (found.count(None), len(found))
            for call, why in zip(calls, found):
                if why:
                    key = str(call.target).removeprefix("aten."), kind
                    wrong[key] = (wrong.get(key, (0, ""))[0] + 1, why.rsplit(":: ", 1)[-1][:90])
                    print(f"{call.target} {kind}: {why}", flush=True)
    right, total = (sum(c[i] for c in counts.values()) for i in (0, 1))
    print(f"{right} of {total} calls are right; never called:", *sorted(set(aten.known) - {name for name, _ in counts}))
    if ARGUMENTS.write:
        path = pathlib.Path(ARGUMENTS.write)
        when = f"on {datetime.date.today()} with PyTorch {torch.__version__.partition('+')[0]}"
        path.write_text(opinfo_page.page(path.read_text(encoding="utf-8"), counts, wrong, when), encoding="utf-8")
    return 0 if right >= 0.98 * total else 1


if __name__ == "__main__":
    sys.exit(main())
