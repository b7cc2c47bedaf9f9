"""Tables about the graphs of PyTorch: what they are, and how far our results are from PyTorch's."""

import os

import torch

_BOUNDS = {torch.float64: 1e-10, torch.float32: 5e-5, torch.float16: 1e-1, torch.bfloat16: 1e-1}
_MARK = "<------"


def table(head, rows):
    """Columns as wide as their widest text."""
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, ["-" * w for w in widths], *rows]
    return "\n".join("  ".join(str(x).ljust(w) for x, w in zip(line, widths)).rstrip() for line in lines)


def graph_table(gm):
    """The nodes of a graph."""
    rows = [[n.op, n.name, _name(n.target), str(n.args), str(dict(n.kwargs))] for n in gm.graph.nodes]
    return table(["opcode", "name", "target", "args", "kwargs"], rows)


def dump(graph, folder):
    """Writes a graph of ours into a new folder part0, part1, … of [folder]."""
    number = 0
    while True:
        path = os.path.join(folder, f"part{number}")
        try:
            os.makedirs(path)
            break
        except FileExistsError:
            number += 1
    for name, text in (("graph.txt", f"{graph}\n"), ("program.hds", graph.program)):
        with open(os.path.join(path, name), "w", encoding="utf-8") as file:
            file.write(text)


def _name(target):
    return target if isinstance(target, str) else str(target)


def _operator(gm, n):
    if n.op == "call_module":
        return str(gm.get_submodule(n.target))
    if n.op != "call_function":
        return n.target if n.op == "call_method" else ""
    module = getattr(n.target, "__module__", None) or ""
    module = {"_operator": "operator", "torch._C._nn": "torch.nn.functional"}.get(module, module) or "torch"
    return f"{module}.{getattr(n.target, '__name__', n.target)}"


def error_of(actual, expected):
    """The largest |actual - expected| / (|expected| + 1): the harmonic mean of the absolute and the relative error."""
    if expected.numel() == 0:
        return 0.0
    a, e = actual.double(), expected.double()
    wrong = (a - e).abs() / (e.abs() + 1)
    return float(torch.where((a == e) | (a.isnan() & e.isnan()), 0.0, wrong.nan_to_num(nan=float("inf"))).max())


class _All(torch.fx.Interpreter):
    """Every result by its node."""

    def run_node(self, n):
        result = super().run_node(n)
        self.results = getattr(self, "results", {})
        if n.op != "output":
            self.results[n.name] = result.detach().clone() if isinstance(result, torch.Tensor) else result
        return result


def _with_all_outputs(gm, names):
    """A copy of a graph that returns what these nodes give, before later ones change it in place."""
    graph, values, kept = torch.fx.Graph(), {}, {}
    for n in gm.graph.nodes:
        if n.op == "output":
            continue
        values[n] = graph.node_copy(n, lambda a: values[a])
        if n.name in names:
            kept[n.name] = graph.call_method("clone", (values[n],))
    graph.output(tuple(kept[name] for name in names))
    return torch.fx.GraphModule(gm, graph)


def checked(gm, compile_more):
    """A function that prints the report at each run and returns PyTorch's results."""
    nodes = [n for n in gm.graph.nodes if n.op in ("call_function", "call_method", "call_module")]

    def run(*args):
        interpreter = _All(gm)
        with torch.no_grad():
            expected = interpreter.run(*[a.clone() if isinstance(a, torch.Tensor) else a for a in args])
            names = [n.name for n in nodes if isinstance(interpreter.results.get(n.name), torch.Tensor)]
            actual = dict(zip(names, compile_more(_with_all_outputs(gm, names))(*args)))
        print(_report(gm, interpreter.results, actual))
        return expected

    return run


def _report(gm, expected, actual):
    rows, last = [], ["", "", ""]
    for i, n in enumerate(gm.graph.nodes):
        value = expected.get(n.name)
        if n.op == "output":
            rows.append([i, n.op, "", *last])
            continue
        if not isinstance(value, torch.Tensor):
            continue
        error = error_of(actual[n.name], value) if n.name in actual else 0.0
        mark = _MARK if error > _BOUNDS.get(value.dtype, 1e-8) else ""
        last = [str(value.dtype).removeprefix("torch."), f"{error:.1e}", mark]
        rows.append([i, n.op, _operator(gm, n), *last])
    return table(["", "kind", "operator", "dtype", "error", "attention"], rows)
