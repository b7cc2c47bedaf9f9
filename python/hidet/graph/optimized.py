"""hidet.graph.optimize: the graph with its operators joined into kernels."""

import re

from hidet import _core
from hidet.graph import rewriting, text
from hidet.graph.flow_graph import Files, FlowGraph, hdsc
from hidet.graph.pass_context import PassContext
from hidet.tensor import symbol

_DEFINITION = re.compile(r"^def (\w+)\(.*\n((?:    .*\n)+)", re.MULTILINE)
_CALL = re.compile(r"^    [\w, ]+ = (\w+)\(", re.MULTILINE)
_LAUNCH = re.compile(r"^\s+(?:lambda: )?(\w+)\.launch\((.*), into=(\w+|\([\w, ]+\))\),?(?:  # lines? ([\d, ]+))?")
_TENSOR = re.compile(r"^\s+(\w+) = (?:tensor|as_tensor_pointer)\((?:\w+(?: \+ \d+)?, )?(\w+), \[([\d, ]*)\]")


def _title(name):
    return "".join(part.capitalize() for part in name.split("_"))


class Kernel:
    """A kernel of an optimized graph: its name, the operators that it consists of, the operands and the results by name, and the
    lines of `graph.program` that it computes. Kernels that one launch computes side by side have the first one's number among
    the graph's kernels as `joined`; None: it has a launch of its own."""

    __slots__ = ("joined", "lines", "name", "operands", "operators", "results")

    def __init__(self, name, operators, operands, results, lines, joined=None):
        self.name, self.operators, self.operands, self.results, self.lines = name, operators, operands, results, lines
        self.joined = joined

    def __repr__(self):
        return f"{', '.join(self.results)} = {self.name}({', '.join(self.operands)})"


class OptimizedGraph(FlowGraph):
    """A graph as it is compiled: `kernels` are those of a run, `loaded` those that run once, `lowered` is the program."""

    def __init__(self, graph):
        self._context = PassContext.current()
        graph = rewriting.rewritten(graph, self._context.python_rules())
        super().__init__(graph.outputs, graph.inputs)
        self.take_names(graph)
        with Files(self) as files:
            done = hdsc("graph", files.source, *files.options, *self._context.command_options(), "--print=program")
        if done.returncode:
            raise _core.Error(done.stderr.strip())
        self.lowered = done.stdout
        operators = {name: _CALL.findall(body) for name, body in _DEFINITION.findall(self.lowered)}
        self.kernels = self._launches("graph", operators)
        self.loaded = self._launches("graph_load", operators)

    def _body(self, name):
        found = re.search(rf"^def {name}\(.*\n((?:    .*\n|\n(?=    ))+)", self.lowered, re.MULTILINE)
        return found[1].splitlines() if found else []

    def _launches(self, name, operators):
        kernels, joined = [], None
        for line in self._body(name):
            found = _LAUNCH.match(line)
            if found:
                name, operands, results = found[1], found[2].split(", "), found[3].strip("()").split(", ")
                lines = [int(n) for n in (found[4] or "").split(",") if n.strip()]
                kernels.append(Kernel(name, operators.get(name, [name]), operands, results, lines, joined))
            elif line.strip() in ("launch_together(", ")"):
                joined = len(kernels) if joined is None else None
        return kernels

    def build(self, space=0):
        """The compiled graph."""
        with self._context:
            return super().build(space)

    def __str__(self):
        tensors = {f"x{i}": x for i, x in enumerate(self.inputs)}
        tensors.update((f"c{i}", c) for i, c in enumerate(self.constants))
        outputs = ["out"] if len(self.outputs) == 1 else [f"out{i}" for i in range(len(self.outputs))]
        tensors.update(zip(outputs, self.outputs))
        place = self.inputs[0].device if self.inputs else "cpu"
        for line in self._body("graph"):
            found = _TENSOR.match(line)
            if found:
                tensors[found[1]] = symbol([int(n) for n in found[3].split(",") if n.strip()], found[2], place)
        prepared = sorted({x for k in self.kernels for x in k.operands if x.startswith("prepared")})
        rows = [
            (
                [tensors[y] for y in k.results if y in tensors],
                _title(k.name),
                [tensors.get(x) for x in k.operands if x in tensors],
                {
                    **({"prepared": sum(x in prepared for x in k.operands)} if any(x in prepared for x in k.operands) else {}),
                    **({"fused_graph": f"FlowGraph({', '.join(map(_title, k.operators))})"} if len(k.operators) > 1 else {}),
                },
            )
            for k in self.kernels
        ]
        used = {x for k in self.kernels for x in k.operands}
        constants = [c for i, c in enumerate(self.constants) if f"c{i}" in used]
        return text.printed(self.inputs, constants, rows, self.outputs)

    __repr__ = __str__


def optimize(graph):
    """The graph with rewrites applied and operators joined into kernels, as the compiler does it; see PassContext for options."""
    return OptimizedGraph(graph)
