"""FlowGraph: operators between symbolic inputs and outputs."""

import json
import os
import shutil
import subprocess
import tempfile
import weakref

from hidet import _core, _eager, _runtime, _times, dtypes
from hidet._eager import _flat, results_of
from hidet._names import Absent
from hidet.device import device
from hidet.graph import rewriting, safetensors, text
from hidet.graph.pass_context import PassContext
from hidet.tensor import Tensor, _allocate, randint, randn, zeros


def hdsc(*arguments, **kwargs):
    """Runs the program hdsc of this package."""
    program = os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin", "hdsc")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, **kwargs)


def _ordered(outputs):
    """Operators behind the outputs, operands first; and the tensors that are results of none."""
    nodes, leaves, seen = [], {}, set()
    stack = [(y, False) for y in reversed(outputs)]
    while stack:
        x, is_done = stack.pop()
        node = x.op
        if node is None:
            leaves.setdefault(id(x), x)
        elif is_done:
            if id(node) not in seen:
                seen.add(id(node))
                nodes.append(node)
        elif id(node) not in seen:
            stack.append((x, True))
            stack += [(t, False) for t in reversed(node.tensors())]
    return nodes, list(leaves.values())


class FlowGraph:
    """Operators (`nodes`) between `inputs` and `outputs`; `constants` are the tensors with elements that they read. `sizes` are
    the names of sizes that are open, `extents` has those of inputs that depend on them: {id: numbers and texts}."""

    sizes, extents = (), {}
    hip_graph, vcuda_, cuda_ = Absent(), Absent(), Absent()

    def __init__(self, outputs, inputs=None):
        self.outputs = list(outputs)
        self.nodes, leaves = _ordered(self.outputs)
        symbols = [x for x in leaves if x.is_symbolic()]
        self.constants = [x for x in leaves if not x.is_symbolic()]
        if inputs is None and len(symbols) > 1:
            raise ValueError(f"the graph has {len(symbols)} inputs: 'inputs' says their order")
        self.inputs = list(symbols if inputs is None else inputs)
        missing = [x for x in symbols if all(x is not y for y in self.inputs)]
        if missing:
            raise ValueError(f"the outputs depend on {missing[0].signature()}, which is not among 'inputs'")
        self._compiled = None
        self.input_names = [f"x{i}" for i in range(len(self.inputs))]
        self.output_names = [f"out{i}" for i in range(len(self.outputs))]

    def with_outputs(self, outputs):
        """A graph with the same inputs."""
        made = FlowGraph(outputs, self.inputs)
        made.take_names(self)
        return made

    def take_names(self, other):
        """Names of inputs, outputs and open sizes are those of a graph with the same ones."""
        self.input_names, self.output_names = other.input_names, other.output_names
        self.sizes, self.extents = other.sizes, other.extents

    # ---- running

    def __call__(self, *inputs):
        """Runs the graph; of symbolic tensors it is a part of a larger one. One output is a tensor, several are a list."""
        is_part = any(isinstance(x, Tensor) and x.is_symbolic() for x in inputs)
        outputs = self._part(inputs) if is_part else self.forward(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def forward(self, inputs):
        """The outputs, a list."""
        if self._compiled is None:
            self._compiled = self.build()
        return self._compiled.run(list(inputs))

    def _part(self, inputs):
        check_inputs(self, inputs)
        return rewriting.substitute(self, {id(x): given for x, given in zip(self.inputs, inputs)})

    def build(self, space=0):
        """The compiled graph. Kernels are chosen by a model of costs (space 0); `hdsc tune` measures models in files."""
        if space not in (0, 1, 2):
            raise ValueError(f"spaces are 0, 1 and 2, not {space!r}")
        return CompiledGraph(self)

    def cuda_graph(self):
        """The compiled graph, whose launches are recorded once and repeated. On the simulator there is nothing to record."""
        return CudaGraph(self)

    def dummy_inputs(self):
        """Random inputs of the right types and extents."""
        return [dummy(x) for x in self.inputs]

    def latency(self, warmup=25, repeat=100, dummy_inputs=None, median=True):
        """Milliseconds of a run."""
        from hidet.utils import benchmark_func

        inputs = dummy_inputs or self.dummy_inputs()
        compiled = self.build()
        return benchmark_func(lambda: compiled.run(inputs), warmup=warmup, number=1, repeat=repeat, median=median)

    # ---- looking at it

    @property
    def program(self):
        """The graph as a function in Hidet Script."""
        return text.program(self)

    @property
    def share_map(self):
        """{index of an output: index of the input whose memory it has}: none, since each run makes new outputs."""
        return {}

    @property
    def usage_count(self):
        """{tensor: how many operators and outputs read it}."""
        counts = {}
        for x in [x for node in self.nodes for x in node.tensors()] + self.outputs:
            counts[x] = counts.get(x, 0) + 1
        return counts

    def __str__(self):
        rows = [(n.outputs, n.title, _flat(n.inputs), n.attributes) for n in self.nodes]
        return text.printed(self.inputs, self.constants, rows, self.outputs)

    __repr__ = __str__

    def draw(self, path):
        """Draws it: .svg and .html by Graphviz's dot; .dot is its text, .json the graph's, .hds the program's."""
        context = PassContext.current()
        with Files(rewriting.rewritten(self, context.python_rules())) as files:
            done = hdsc("graph", files.source, *files.options, *context.command_options(), "-o", os.path.abspath(path))
        if done.returncode:
            raise _core.Error(done.stderr.strip())

    # ---- files

    def save(self, path):
        """Writes the graph and its constants into one file, in the safetensors format."""
        names, nodes = text.program_names(self), []
        for node in self.nodes:
            inputs = [{"tensor": names[id(x)]} if isinstance(x, Tensor) else {"value": _to_json(x)} for x in _flat(node.inputs)]
            attributes = {k: _to_json(v) for k, v in node.attributes.items()}
            results = [{"dtype": y.dtype.name, "shape": y.shape, "device": str(y.device)} for y in node.outputs]
            names_of = {"operator": node.op.name, "module": node.op.module}
            nodes.append({**names_of, "inputs": inputs, "attributes": attributes, "results": results})
        graph = {
            "version": 1,
            "nodes": nodes,
            "outputs": [names[id(y)] for y in self.outputs],
            "names": [self.input_names, self.output_names],
            "inputs": [
                {"name": names[id(x)], "dtype": x.dtype.name, "shape": x.shape, "device": str(x.device)} for x in self.inputs
            ],
            "devices": {names[id(c)]: str(c.device) for c in self.constants},
        }
        safetensors.write(path, {names[id(c)]: c for c in self.constants}, {"hidet.graph": json.dumps(graph)})

    @staticmethod
    def load(path):
        """The graph of a file that save wrote. Files are data: nothing of them is executed."""
        tensors, metadata = safetensors.read(path)
        if "hidet.graph" not in metadata:
            raise ValueError(f"{path}: no graph of hidet")
        graph = json.loads(metadata["hidet.graph"])
        if graph.get("version") != 1:
            raise ValueError(f"{path}: a graph of version {graph.get('version')}, and this package reads version 1")
        try:
            return _read(graph, tensors)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"{path}: the graph is damaged: {error!r}") from None


def _read(graph, tensors):
    """The graph of what save wrote."""
    found = {name: x.to(device=graph["devices"][name]) for name, x in tensors.items()}
    inputs = [symbol_of(entry) for entry in graph["inputs"]]
    found.update((entry["name"], x) for entry, x in zip(graph["inputs"], inputs))
    for i, node in enumerate(graph["nodes"]):
        results = _read_node(node, found)
        found.update({f"t{i}": results[0]} if len(results) == 1 else {f"t{i}[{k}]": y for k, y in enumerate(results)})
    made = FlowGraph([found[name] for name in graph["outputs"]], inputs)
    made.input_names, made.output_names = graph["names"]
    return made


def _read_node(node, found):
    """The results of a node; [found]: tensors by name."""
    from hidet.graph.onnx import operation_of

    for name in (node["operator"], *node["module"].split("."), *node["attributes"]):
        if not name.isidentifier():  # they are part of the program's text
            raise ValueError(f"{name!r} is no name")
    op = operation_of(node["operator"], node["module"])
    operands = [found[x["tensor"]] if "tensor" in x else _from_json(x["value"]) for x in node["inputs"]]
    attributes = {k: _from_json(v) for k, v in node["attributes"].items()}
    types = [(tuple(y["shape"]), dtypes.data_type(y["dtype"])) for y in node["results"]]
    return _eager.node(op, operands, attributes, types, device(node["results"][0]["device"]))


def symbol_of(entry):
    """A symbolic input, as a file describes it."""
    from hidet.tensor import symbol

    return symbol(entry["shape"], entry["dtype"], entry["device"])


def _to_json(value):
    if isinstance(value, (list, tuple)):
        return {"tuple": [_to_json(v) for v in value]}
    return {"dtype": value.name} if isinstance(value, dtypes.DataType) else value


def _from_json(value):
    if isinstance(value, dict) and "tuple" in value:
        return tuple(map(_from_json, value["tuple"]))
    return dtypes.data_type(value["dtype"]) if isinstance(value, dict) else value


def dummy(x):
    """Random elements for a symbolic tensor."""
    if x.dtype.is_float:
        return randn(x.shape, x.dtype, device=x.device)
    if x.dtype.name == "boolean":
        return zeros(x.shape, x.dtype, x.device)
    return randint(0, 2, x.shape, x.dtype, x.device)


def trace_from(tensor, inputs=None):
    """The graph that a symbolic tensor, or a list of them, is computed by. [inputs] says the order of several inputs."""
    outputs = list(tensor) if isinstance(tensor, (list, tuple)) else [tensor]
    if any(not x.is_symbolic() for x in outputs):
        raise ValueError("trace_from takes symbolic tensors: results of operators on hidet.symbol(…)")
    return FlowGraph(outputs, [inputs] if isinstance(inputs, Tensor) else inputs)


def save_graph(graph, path):
    """graph.save(path)"""
    graph.save(path)


def load_graph(path):
    """FlowGraph.load(path)"""
    return FlowGraph.load(path)


def check_inputs(graph, inputs):
    """Their number, extents and types."""
    expected = graph.inputs
    if len(inputs) != len(expected):
        raise _core.ArgumentError(f"the graph has {len(expected)} inputs, and {len(inputs)} are given")
    for i, (given, x) in enumerate(zip(inputs, expected)):
        if isinstance(given, Tensor) and (given.shape != x.shape or given._type != x._type):
            raise _core.ArgumentError(f"input {i} is {given.signature()}, and the graph takes {x.signature()}")


# ---- compiled graphs ------------------------------------------------------------------------------------------------------


class Files:
    """The program of a graph and its constants in a folder of their own, as long as they are needed."""

    def __init__(self, graph):
        folder = tempfile.mkdtemp(prefix="hidet-")
        self._remove = weakref.finalize(self, shutil.rmtree, folder, True)
        self.source = os.path.join(folder, "graph.hds")
        self.weights = os.path.join(folder, "constants.safetensors") if graph.constants else None
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(text.program(graph))
        if self.weights:
            names = text.program_names(graph)
            safetensors.write(self.weights, {names[id(c)]: c for c in graph.constants})

    @property
    def options(self):
        """Of hdsc."""
        return [f"--weights={self.weights}"] if self.weights else []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._remove()


class CompiledGraph:
    """A graph at work: one program, with constants and what depends on them alone computed once."""

    def __init__(self, graph, no_graphs=True):
        context = PassContext.current()
        self.graph = graph = rewriting.rewritten(graph, context.python_rules())
        self.device = graph_device(graph)
        simulated = _runtime.simulates() or self.device.kind == "cpu"
        try:
            # The constants' types are in the text, and their elements are not looked at: equal graphs are one program, which is
            # found on disk by another process.
            self.program = _runtime.compile(
                _runtime.own_name("graph"),
                text.program(graph),
                title=f"a graph of {len(graph.nodes)} operators",
                simulate=simulated,
                **context.compile_options(),
            )
        except _core.CompilationError as error:
            raise _graph_refusal(graph, error) from None
        with _times.step("weights to a file"):
            files = Files(graph)
        with files, _times.step("weights to the device, preparing them"):
            self._model = _core.Model(self.program, "graph", files.weights, simulated, no_graphs)
        self.results = results_of(self._model.parameters, len(graph.inputs))

    def run(self, inputs):
        """The outputs, a list of new tensors."""
        check_inputs(self.graph, inputs)
        outputs = [_allocate(shape, dtype, self.device) for shape, dtype in self.results]
        self._model(*[x._plain() if isinstance(x, Tensor) else x for x in inputs], *outputs)
        return outputs

    def run_async(self, inputs, stream=None, output_to_torch_tensor=False):
        """As run, which does not wait for a GPU either. With output_to_torch_tensor the outputs are PyTorch's tensors."""
        return _given(lambda: self.run(inputs), stream, output_to_torch_tensor)

    def __call__(self, *inputs):
        outputs = self.run(list(inputs))
        return outputs[0] if len(outputs) == 1 else outputs

    def source(self, kind="cuda"):
        """What was made of it: cuda, ptx or interface, as text; None: it was not made."""
        data = self.program.text(["cuda", "ptx", "cubin", "interface"].index(kind))
        return data if data is None or kind == "cubin" else data.decode()


def _graph_refusal(graph, error):
    """What the compiler said, with the line of the graph that it is about."""
    first = next(d for d in error.diagnostics if d.severity == "error")
    lines = text.program(graph).splitlines()
    is_here = os.path.basename(first.file or "") == "graph.hds" and 0 < first.line <= len(lines)
    made = _core.CompilationError(
        f"{lines[first.line - 1].strip()}: {first.message} [{first.code}]" if is_here else first.rendered
    )
    made.diagnostics = error.diagnostics
    return made


def graph_device(graph):
    """The device of all tensors of a graph."""
    places = {x.device for x in [*graph.inputs, *graph.constants]}
    if len(places) > 1:
        raise _core.ArgumentError(f"tensors of the graph are on different devices: {', '.join(sorted(map(str, places)))}")
    return places.pop() if places else device("cpu")


def _given(run, stream, is_torch):
    """What run_async returns."""
    if stream is not None:
        raise _core.ArgumentError(
            "graphs run on the default stream: for another one give tensors of PyTorch, under 'with torch.cuda.stream(stream)', "
            "to compiled_graph.run"
        )
    outputs = run()
    return [y.torch() for y in outputs] if is_torch else outputs


class CudaGraph:
    """A compiled graph with outputs of its own, which each run overwrites."""

    def __init__(self, graph):
        self._compiled = CompiledGraph(graph, no_graphs=False)
        self.inputs = graph.dummy_inputs()
        self.outputs = [_allocate(shape, dtype, self._compiled.device) for shape, dtype in self._compiled.results]

    def run(self, inputs=None):
        """The outputs, a list; of the inputs of the last run, where none are given."""
        if inputs is not None:
            check_inputs(self._compiled.graph, inputs)
            self.inputs = list(inputs)
        self._compiled._model(*[x._plain() for x in self.inputs], *self.outputs)
        return self.outputs

    def run_async(self, inputs=None, stream=None, output_to_torch_tensor=False):
        """As run, which does not wait for a GPU either. With output_to_torch_tensor the outputs are PyTorch's tensors."""
        return _given(lambda: self.run(inputs), stream, output_to_torch_tensor)

    def __call__(self, *inputs):
        outputs = self.run(list(inputs))
        return outputs[0] if len(outputs) == 1 else outputs
