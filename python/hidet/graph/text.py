"""Texts of graphs: the program in Hidet Script that is compiled, and what is printed for readers."""

from hidet._eager import imports_of, type_text
from hidet.tensor import Tensor


def program_names(graph):
    """{id of a tensor: its name in the program}."""
    names = {id(x): f"x{i}" for i, x in enumerate(graph.inputs)}
    names.update((id(x), f"c{i}") for i, x in enumerate(graph.constants))
    for i, node in enumerate(graph.nodes):
        many = len(node.outputs) > 1
        names.update((id(y), f"t{i}[{k}]" if many else f"t{i}") for k, y in enumerate(node.outputs))
    return names


def program(graph, name="graph"):
    """The graph function."""
    names = program_names(graph)
    tensors = [*graph.inputs, *graph.constants]
    lines = imports_of(graph.nodes, tensors)
    if graph.constants:
        lines += ["from hidet.lang import weights", "WEIGHTS = weights()"]
    parameters = ", ".join(f"{names[id(x)]}: {type_text(x, graph.extents.get(id(x)))}" for x in graph.inputs)
    sizes = f"[{', '.join(f'{size}: int' for size in graph.sizes)}]" if graph.sizes else ""
    lines += ["", "", "@hidet.graph", f"def {name}{sizes}({parameters}):"]
    lines += [f'    {names[id(c)]} = WEIGHTS["{names[id(c)]}", {type_text(c)}]' for c in graph.constants]
    lines += [f"    t{i} = {node.call(lambda x: names[id(x)])}" for i, node in enumerate(graph.nodes)]
    lines += [f"    return {', '.join(names[id(y)] for y in graph.outputs)}"]
    return "\n".join(lines) + "\n"


class Names:
    """Names for readers: x, x_1, x_2, …"""

    def __init__(self):
        self.used, self.names = {}, {}

    def new(self, base):
        """The next name that begins with [base]."""
        count = self.used[base] = self.used.get(base, -1) + 1
        return f"{base}_{count}" if count else base

    def give(self, x, base):
        """A name for a tensor."""
        self.names[id(x)] = self.new(base)
        return self.names[id(x)]

    def of(self, value):
        """The name of a tensor, or the text of a number."""
        return self.names[id(value)] if isinstance(value, Tensor) else repr(value)


def printed(inputs, constants, rows, outputs):
    """As Hidet prints a graph. [rows]: (results, title, operands, attributes)."""
    names = Names()
    head = ", ".join(f"{names.give(x, 'x')}: {x.signature()}" for x in inputs)
    lines = [f"Graph({head}){{"]
    lines += [f"  {names.give(c, 'c')} = Constant({c.signature()})" for c in constants]
    for results, title, operands, attributes in rows:
        left = ", ".join(f"{names.give(y, 'x')}: {y.signature()}" for y in results)
        right = ", ".join([*(names.of(x) for x in operands if x is not None), *(f"{k}={v}" for k, v in attributes.items())])
        lines.append(f"  {left} = {title}({right})")
    return "\n".join([*lines, f"  return {', '.join(names.of(y) for y in outputs)}", "}"])
