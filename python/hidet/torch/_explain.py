"""What became of a model: which operators of ATen are in which kernel, and which stay with PyTorch."""

import html

from hidet import _times
from hidet.graph import optimize
from hidet.torch import backend, report


class Explanation:
    """What a model became. `str` of it is a text, notebooks show a page, and save writes one of them. `times` are the steps to
    the first result, [(step, seconds)]."""

    def __init__(self, graphs, result, times):
        self.graphs, self.result, self.times = graphs, result, times

    @property
    def parts(self):
        """The parts that we compile, in their order."""
        return [part for graph in self.graphs for part in graph.parts]

    @property
    def left(self):
        """[(operator, why)] of what stays with PyTorch."""
        return [row for graph in self.graphs for row in graph.left]

    @property
    def specialized(self):
        """Why parts are compiled for each set of extents, where PyTorch leaves sizes open."""
        return [why for graph in self.graphs for why in graph.specialized]

    def _steps(self):
        """What a table has of `times`."""
        rows = [*self.times, ("in all", sum(seconds for _, seconds in self.times))]
        return [(step, f"{seconds:.2f}") for step, seconds in rows]

    def __str__(self):
        graphs = list(map(str, self.graphs)) or ["no graph was handed over: PyTorch ran the model by itself"]
        return "\n\n".join([*graphs, report.table(["step to the first result", "seconds"], self._steps())])

    def _repr_html_(self):
        rows = "".join(f"<tr><td>{html.escape(step)}</td><td>{seconds}</td></tr>" for step, seconds in self._steps())
        graphs = [graph.html(f"Graph {i}") for i, graph in enumerate(self.graphs)]
        return "\n".join([*graphs, f"<h2>First result</h2><table><tr><th>step</th><th>seconds</th></tr>{rows}</table>"])

    def save(self, path):
        """Writes the page, or for other extensions than .html the text."""
        is_page = str(path).endswith(".html")
        text = f"<!DOCTYPE html><meta charset=utf-8><title>hidet</title>\n{self._repr_html_()}\n" if is_page else f"{self}\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class _Graph:
    """One graph of PyTorch: its parts, and what is left to PyTorch."""

    def __init__(self, fused, left):
        self._partitions = [fused.get_submodule(n.target) for n in fused.graph.nodes if n.op == "call_module"]
        self.left = [(target, why) for target, why in left]
        self.parts, self.specialized = [], []

    def read(self):
        """The parts, once they are compiled."""
        for partition in self._partitions:
            self.specialized += [partition.reason] if partition.reason else []
            self.parts += [Part(program.compiled.graph, partition.context) for program in partition.programs.values()]

    def _title(self):
        nodes, kernels = (sum(len(getattr(part, name)) for part in self.parts) for name in ("nodes", "kernels"))
        left = f", {len(self.left)} kinds of operators stay with PyTorch" if self.left else ""
        return f"{nodes} operators of ATen are {kernels} kernels in {len(self.parts)} parts{left}"

    def __str__(self):
        lines = [self._title(), *(f"  {target} stays with PyTorch: {why}" for target, why in self.left)]
        lines += [f"  a part is compiled for each set of extents: {why}" for why in self.specialized]
        return "\n\n".join(["\n".join(lines), *map(str, self.parts)])

    def html(self, title):
        """A part of a page."""
        left = "".join(f"<li><code>{html.escape(t)}</code> stays with PyTorch: {html.escape(w)}</li>" for t, w in self.left)
        left += "".join(f"<li>a part is compiled for each set of extents: {html.escape(w)}</li>" for w in self.specialized)
        parts = "".join(part.html() for part in self.parts)
        return f"<h2>{title}</h2><p>{self._title()}</p><ul>{left}</ul>{parts}"


class Part:
    """A program: `nodes` are ATen's operators, `kernels` the launches of a run, `loaded` those that run once, on weights."""

    def __init__(self, graph, context):
        with context:
            optimized = optimize(graph)
        self.graph, self.nodes, self.program = graph, graph.nodes, optimized.lowered
        self.kernels, self.loaded = optimized.kernels, optimized.loaded
        self._lines = graph.program.splitlines()

    def origin(self, kernel):
        """ATen's operators that a kernel computes, by name."""
        calls = [self._lines[n - 1].partition("aten_")[2] for n in kernel.lines if n <= len(self._lines)]
        return [call.partition("(")[0] for call in calls if call]

    def rows(self):
        """[(kernel, ATen's operators, operands, results)]"""
        kernels = [(k, " (once)") for k in self.loaded] + [(k, "") for k in self.kernels]
        return [
            (f"{k.name}{when}", ", ".join(self.origin(k)), ", ".join(k.operands), ", ".join(k.results)) for k, when in kernels
        ]

    def __str__(self):
        table = report.table(["kernel", "computes", "reads", "writes"], self.rows())
        return f"{table}\n\n{self.graph}\n\n{self.program}"

    def html(self):
        """A part of a page."""
        head = "".join(f"<th>{name}</th>" for name in ("kernel", "computes", "reads", "writes"))
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(x)}</td>" for x in row) + "</tr>" for row in self.rows())
        folded = "".join(
            f"<details><summary>{title}</summary><pre>{html.escape(str(text))}</pre></details>"
            for title, text in (("operators of ATen", self.graph), ("program", self.program))
        )
        return f"<table><tr>{head}</tr>{rows}</table>{folded}"


def explain(model, inputs, mode=None, options=None, dynamic=None):
    """Compiles a model as `torch.compile(model, backend="hidet")` does, runs it once, and says what became of it. [inputs] is a
    tuple of its arguments, or its only one; [dynamic] is torch.compile's."""
    import torch

    graphs = []

    def seen(fused, left):
        graphs.append(_Graph(fused, left))

    def compiler(gm, example_inputs, **kwargs):
        return backend.compile_graph(gm, example_inputs, mode=mode, options=options)

    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    backend.observers.append(seen)
    try:
        with torch.no_grad(), _times.measured() as times, _times.step("PyTorch: Dynamo, its code"):
            result = torch.compile(model, backend=compiler, dynamic=dynamic)(*inputs)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
    finally:
        backend.observers.remove(seen)
    for graph in graphs:
        graph.read()
    return Explanation(graphs, result, times.steps)
