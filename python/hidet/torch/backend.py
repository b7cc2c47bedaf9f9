"""The backend: PyTorch's graph, in ATen's operators, becomes graphs of ours, partition by partition.

What a partition reads of parameters and buffers is frozen: it is copied once, prepared, and checked for changes at each run. What
no operator of ours is there for stays with PyTorch."""

import functools
import logging
import operator
import os

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.schemas import OutputType
from torch._functorch.aot_autograd import make_boxed_func
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from hidet import _core, _eager, _runtime, _times, dtypes, ops
from hidet.graph.flow_graph import CompiledGraph, FlowGraph
from hidet.graph.pass_context import PassContext
from hidet.tensor import from_torch, symbol
from hidet.torch import aten, decompositions, operators, report, sizes
from hidet.torch.config import dynamo_config

log = logging.getLogger("hidet")
observers = []  # functions of each partitioned graph and what is left to PyTorch, [(operator, why)]
_MODES = {
    None: (0, None),
    "default": (0, False),
    "reduce-overhead": (0, True),
    "max-autotune": (2, True),
    "max-autotune-no-cudagraphs": (2, False),
}
_OPTIONS = {"can_handle", "search_space", "use_cuda_graph", "use_fp16"}
_LEFT = "can_handle leaves it"
_OPERAND = "its operand does"
_VIEW = "it makes a result that is a view"  # of an input, or of another result


def _settings(mode, options):
    """(CUDA graphs, float16) of torch.compile's mode and options, and of dynamo_config. False: types as the PassContext says."""
    if mode not in _MODES:
        raise ValueError(f"backend 'hidet' has no mode {mode!r}; modes are {', '.join(m for m in _MODES if m)}")
    unknown = set(options or ()) - _OPTIONS
    if unknown:
        raise ValueError(f"backend 'hidet' has no option {sorted(unknown)[0]!r}; options are {', '.join(sorted(_OPTIONS))}")
    options = options or {}
    if options.get("search_space", 0) not in (0, 1, 2):
        raise ValueError("search_space is 0, 1 or 2")
    can_handle = options.get("can_handle")
    if can_handle is not None and not callable(can_handle):
        raise ValueError(f"can_handle is a function of a node of torch.fx, not {can_handle!r}")
    graphs = options.get("use_cuda_graph", dynamo_config._cuda_graph if _MODES[mode][1] is None else _MODES[mode][1])
    return bool(graphs), bool(options.get("use_fp16", dynamo_config._fp16))


def compile_graph(gm, example_inputs, mode=None, options=None, **ignored):
    """What torch.compile calls. The result computes no gradients. Where settings change, the next run compiles again."""
    _settings(mode, options)
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    frozen = [_is_weight(n, x) for n, x in zip(placeholders, example_inputs)]
    _refuse_training(example_inputs, frozen)
    version, made = dynamo_config.version, {}
    context = PassContext.current().copy()  # programs are made at the first run, and again for other extents or weights
    with _times.step("PyTorch: AOTAutograd, partitions"):
        function = made[dynamo_config.state()] = _compile(gm, example_inputs, frozen, mode, options, context)

    def run(*args):
        nonlocal version, function
        if version != dynamo_config.version:
            version, function = dynamo_config.version, made.get(dynamo_config.state())
            if function is None:
                function = made[dynamo_config.state()] = _compile(gm, args, frozen, mode, options, context)
        return function(*args)

    return run


def _compile(gm, inputs, frozen, mode, options, context):
    graphs, fp16 = _settings(mode, options)
    can_handle = (options or {}).get("can_handle")
    if fp16:
        context = context.copy().set_precision("float16")
    elif context.precision is None and dynamo_config._tensor_core and _allows_tf32():
        context = context.copy().set_precision("tf32")
    if dynamo_config._print_graph:
        print(report.graph_table(gm))
    if dynamo_config._report:
        return report.checked(gm, lambda more: compile_traced(more, inputs, frozen, graphs, context, can_handle))
    return compile_traced(gm, inputs, frozen, graphs, context, can_handle)


def _allows_tf32():
    """Whether PyTorch may compute products of float32 on tensor cores. Dynamo guards it."""
    try:
        return torch.get_float32_matmul_precision() != "highest"
    except RuntimeError:  # set by PyTorch's newer names, each backend for itself
        return torch.backends.cuda.matmul.fp32_precision == "tf32"


def _is_weight(node, value):
    if not isinstance(value, torch.Tensor):
        return False
    return isinstance(value, torch.nn.Parameter) or "_buffers_" in node.name or "_parameters_" in node.name


def _refuse_training(inputs, frozen):
    for i, (x, is_weight) in enumerate(zip(inputs, frozen)):
        if isinstance(x, torch.Tensor) and x.requires_grad and not is_weight and torch.is_grad_enabled():
            raise _core.Error(
                f"backend 'hidet' is for inference, and input {i} requires gradients: call the model under torch.no_grad()"
            )


def compile_traced(gm, example_inputs, frozen, graphs, context, can_handle=None):
    """A function of the graph's inputs, which returns a tuple. [context]: the PassContext that it is compiled with; [can_handle]:
    the user's function that says of a node whether it is compiled."""
    made, keeps_views = [], False

    def compiler(traced, inputs):
        if not keeps_views and _has_lost_view(traced.graph):
            raise _LostView
        mutated = _mutated()
        names = [n.name for n in traced.graph.nodes if n.op == "placeholder"]
        weights = {name for i, name in enumerate(names) if i < len(frozen) and frozen[i] and i not in mutated}
        fused = _partitioned(traced, weights, graphs, context, can_handle)
        made.append(_whole(fused) if len(inputs) == len(example_inputs) and _is_plain() else None)
        return make_boxed_func(fused.forward)

    def whole():
        table = decompositions.table_with_views() if keeps_views else decompositions.table()
        how = {"fw_compiler": compiler, "inference_compiler": compiler, "decompositions": table}
        with torch.no_grad():
            return aot_autograd(**how)(operators.kept_whole(gm), example_inputs)

    try:
        compiled = whole()
    except _LostView:
        keeps_views = True
        compiled = whole()
    if len(made) == 1 and made[0]:
        return made[0]

    def run(*args):
        with torch.no_grad():
            return compiled(*args)

    return run


def _is_plain():
    """Whether a graph neither writes to its inputs nor returns views: then it needs none of the wrappers of AOTAutograd, whose
    time grows with the number of weights."""
    metadata, own = _metadata(), (OutputType.non_alias, OutputType.unsafe_view_alias)
    return (
        metadata is not None
        and not metadata.mutated_inp_runtime_indices
        and not metadata.tokens
        and metadata.num_intermediate_bases == 0
        and all(o.output_type in own and issubclass(o.raw_type, torch.Tensor) for o in metadata.output_info)
    )


def _whole(fused):
    """For a graph that is one partition, whose results are those of the graph: its function of all arguments; or None."""
    calls = [n for n in fused.graph.nodes if n.op not in ("placeholder", "output")]
    placeholders = [n for n in fused.graph.nodes if n.op == "placeholder"]
    if not calls or calls[0].op != "call_module" or any(n.target is not operator.getitem for n in calls[1:]):
        return None
    results = next(n for n in fused.graph.nodes if n.op == "output").args[0]
    if not all(isinstance(r, torch.fx.Node) and r in calls for r in results):
        return None
    partition, operands = fused.get_submodule(calls[0].target), _picker([placeholders.index(a) for a in calls[0].args])
    picks = None if len(calls) == 1 else [r.args[1] for r in results]

    def run(*args):
        made = partition.results(operands(args))
        return (made,) * len(results) if picks is None else tuple([made[i] for i in picks])

    return run


class _LostView(Exception):
    """A result that is a view of an input was taken apart, so that AOTAutograd would not find it in the input's memory."""


def _has_lost_view(graph):
    metadata, output = _metadata(), next(n for n in reversed(graph.nodes) if n.op == "output")
    if metadata is None:
        return False
    results = output.args[0][metadata.num_mutated_inp_runtime_indices :]
    aliases = [r for r, o in zip(results, metadata.output_info) if o.output_type == OutputType.alias_of_input]
    return any(isinstance(r, torch.fx.Node) and r.op == "call_function" and not _is_view(r) for r in aliases)


def _metadata():
    """What AOTAutograd knows about the graph that is being compiled; or None."""
    context = torch._guards.TracingContext.try_get()
    return context.fw_metadata if context else None


def _mutated():
    metadata = _metadata()
    return set(metadata.mutated_inp_runtime_indices) if metadata else set()


# ---- partitions -----------------------------------------------------------------------------------------------------------


class _Support(OperatorSupportBase):
    def __init__(self, can_handle, place):
        super().__init__()
        self.can_handle, self.place = can_handle, place

    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and unsupported(node, self.can_handle, self.place) is None


def _device_of(graph):
    """The device of a graph's tensors: a GPU, where there are some on one."""
    values = [n.meta.get("val") for n in graph.nodes]
    devices = [v.device for v in values if isinstance(v, torch.Tensor)]
    return next((d for d in devices if d.type == "cuda"), torch.device("cpu"))


def unsupported(node, can_handle=None, place=None):
    """Why a node stays with PyTorch; None: it does not. [can_handle]: what a user says of nodes that need not stay; None: all.
    [place]: the device of the graph; None: that of the node."""
    if node.meta.get(_VIEW):
        return _VIEW
    if node.target is operator.getitem:
        source = node.args[0]
        why = unsupported(source, can_handle, place)
        if why:
            return why if why is _LEFT else _OPERAND
        is_missing = node.args[1] and aten.operation_of(source.target).name in aten.FIRST_ONLY
        return "only the first result is there" if is_missing else None
    why = aten.refusal(node.target, *torch.fx.node.map_arg((node.args, node.kwargs), lambda a: a.meta.get("val")))
    if why:
        return why
    values = node.meta.get("val")
    values = list(values) if isinstance(values, (tuple, list)) else [values]
    values = values[:1] if aten.operation_of(node.target).name in aten.FIRST_ONLY else values
    for value in [*(a.meta.get("val") for a in node.all_input_nodes), *values]:
        if isinstance(value, torch.Tensor) and not _has_type(value.dtype):
            return f"there are no tensors of {value.dtype}"
        if isinstance(value, torch.Tensor) and value.is_sparse:
            return "a tensor is sparse"
        if isinstance(value, torch.Tensor) and place is not None and value.device != place:
            return f"a tensor is on the device {value.device}, and the graph on {place}"
    return None if can_handle is None or can_handle(node) else _LEFT


def _has_type(dtype):
    try:
        dtypes.data_type(dtype)
    except TypeError:
        return False
    return True


def _is_same_view(n):
    """Whether as_strided gives its operand back: with other strides at most where extents are 1."""
    x, sizes, strides = n.args[0].meta["val"], *n.args[1:3]
    return (
        list(x.shape) == list(sizes)
        and all(m == 1 or s == t for m, s, t in zip(sizes, strides, x.stride(), strict=True))
        and (len(n.args) < 4 or n.args[3] in (None, x.storage_offset()))
    )


def _drop_idle(traced):
    """Views that are their operands, and tensors without elements among those that are joined, have no effect."""
    for n in traced.graph.nodes:
        if n.target is torch.ops.aten.as_strided.default and _is_same_view(n):
            n.replace_all_uses_with(n.args[0])
        if n.target is torch.ops.aten.cat.default and all(isinstance(m, int) for x in n.args[0] for m in x.meta["val"].shape):
            full = [x for x in n.args[0] if x.meta["val"].numel()]
            if full and len(full) < len(n.args[0]):
                n.args = (full, *n.args[1:])
    traced.graph.eliminate_dead_code()


def _is_view(node):
    if node.op != "call_function":
        return False
    maker = node.args[0] if node.target is operator.getitem else node
    return maker.op == "call_function" and getattr(maker.target, "is_view", False)


def _views_below(result, results):
    """The nodes that make a result of an input or of another result, if all of them are views; else none."""
    steps, count, node = [], 0, result
    while _is_view(node):
        steps.append(node)
        node = node.args[0]
        count = len(steps) if node.op == "placeholder" or node in results else count
    return steps[:count][::-1]


def _leave_views(graph):
    """Results that are views of inputs or of other results are made by PyTorch, by nodes of their own: AOTAutograd makes them
    again, from their strides where a size is open."""
    output = next(n for n in reversed(graph.nodes) if n.op == "output")
    results = [r for r in output.args[0] if isinstance(r, torch.fx.Node)]
    copies = {}
    for n in [n for result in results for n in _views_below(result, results)]:
        if n not in copies:
            with graph.inserting_before(output):
                copies[n] = graph.node_copy(n, lambda a: copies.get(a, a))
            copies[n].meta[_VIEW] = True
    output.args = (type(output.args[0])([copies.get(r, r) for r in output.args[0]]),)


def _partitioned(traced, weights, graphs, context, can_handle):
    _leave_views(traced.graph)
    _drop_idle(traced)
    left, place = {}, _device_of(traced.graph)
    for n in traced.graph.nodes:
        why = unsupported(n, can_handle, place) if n.op == "call_function" and not sizes.is_size(n) else None
        is_listed = n.target is operator.getitem and why in (_LEFT, _OPERAND)  # the operator is
        if why and why is not _VIEW and not is_listed:
            left.setdefault((str(n.target), why), n)
    for (target, why), _ in left.items():
        log.log(logging.INFO if why is _LEFT else logging.WARNING, "%s stays with PyTorch: %s", target, why)
    partitioner = CapabilityBasedPartitioner(traced, _Support(can_handle, place), allows_single_node_partition=True)
    fused = partitioner.fuse_partitions(partitioner.propose_partitions())
    for n in fused.graph.nodes:
        if n.op == "call_module":
            inner = fused.get_submodule(n.target)
            fixed = [a.op == "placeholder" and a.name in weights for a in n.args]
            setattr(fused, n.target, Partition(inner, fixed, graphs, _with_winograd(context, inner)))
    fused.recompile()
    for observer in observers:
        observer(fused, list(left))
    return fused


def _with_winograd(context, inner):
    """The context of a part of a graph: where types stay as they are, convolutions may use Winograd's algorithm, as cuDNN's may."""
    has_convolutions = any(n.target is torch.ops.aten.convolution.default for n in inner.graph.nodes)
    if context.precision is None and dynamo_config._winograd and has_convolutions:
        return context.copy().set_precision("winograd")
    return context


class Partition(torch.nn.Module):
    """A part of a graph. It is compiled at its first run, and again for changed weights. Sizes that PyTorch leaves open stay
    open; where one decides what is computed, each set of extents has a program (`reason` says why)."""

    def __init__(self, inner, fixed, graphs, context):
        super().__init__()
        self.__dict__["inner"] = inner  # no submodule: its code is only read
        self.fixed, self.graphs, self.context = fixed, graphs, context
        self.given = [i for i, f in enumerate(fixed) if not f]
        self.programs, self.is_refused = {}, False
        self.sizes, self.reason = sizes.open_sizes(inner, fixed)

    def forward(self, *args):
        return self.results(args)

    def results(self, args):
        """The results for a sequence of arguments."""
        if not self.is_refused:
            try:
                return self.compiled(args)
            except _core.CompilationError as error:
                log.warning("a partition stays with PyTorch, since it does not compile: %s", _first_message(error))
                self.is_refused = True
        with torch.no_grad():
            return self.inner(*args)

    def compiled(self, args):
        """The results by a program of ours."""
        program = self.programs.get(self._key(args))
        if program is None or program.is_stale(args):
            with _times.step("graph of our operators"):
                program = self._program(args)
            self.programs[self._key(args)] = program
            with _times.step("first run"):
                return program.run(args)
        return program.run(args)

    def _key(self, args):
        """What a program is for; Dynamo guards what is not open."""
        if self.sizes is None:
            return tuple([_form(args[i]) for i in self.given])
        return tuple([args[i] for i in self.sizes.scalars]) if self.sizes.scalars else ()

    def _program(self, args):
        if self.sizes is not None and self.sizes.names and self.context.python_rules():
            self.sizes, self.programs, self.reason = None, {}, "rules in Python read extents as numbers"
        if self.sizes is not None and self.sizes.names:
            try:
                return Program(self, args)
            except _core.CompilationError as error:
                self.sizes, self.programs, self.reason = None, {}, _first_message(error)
                log.info("a partition is compiled for each set of extents: %s", self.reason)
        return Program(self, args)


def _first_message(error):
    messages = [f"{d.message} [{d.code}]" for d in error.diagnostics if d.severity == "error"]
    return messages[0] if messages else str(error)


def _order(x):
    """The axes as they lie in memory, the last one side by side, where that is another order; else None."""
    order = tuple(sorted(range(x.dim()), key=lambda i: (-x.stride(i), i)))
    is_other = not x.is_contiguous() and order != tuple(range(x.dim())) and 0 not in x.stride()
    return order if is_other else None


def _dense_order(x):
    """The same, where no element is missing between others; else None."""
    order = _order(x)
    return order if order and x.permute(order).is_contiguous() else None


def _form(x):
    """What a program is compiled for: extents, their order in memory and type of a tensor; a number."""
    return (*x.shape, x.dtype, _dense_order(x)) if isinstance(x, torch.Tensor) else x


def _picker(places):
    """A function of a sequence: its elements at these places, in the time of one call for many."""
    return operator.itemgetter(*places) if len(places) > 1 else lambda args: [args[i] for i in places]


@functools.cache
def _readers():
    """Of libtorch: (the address of the function that says how often a tensor was changed in place, that of the one that says
    where its elements are, where its own tensor is in an object of Python); None: this version of PyTorch has other ones."""
    import ctypes

    try:
        library = ctypes.CDLL("libtorch_cpu.so", mode=os.RTLD_NOLOAD)
        found = library._ZNK2at10TensorBase8_versionEv, library.aoti_torch_get_data_ptr
        with torch.inference_mode(False), torch.no_grad():
            probes = [torch.zeros(2), torch.nn.Parameter(torch.zeros(2)), torch.zeros(2, 2)[1]]
            readers = (*(ctypes.cast(f, ctypes.c_void_p).value for f in found), _offset(ctypes, probes))
            return readers if readers[2] and all(_tells_changes(readers, x) for x in probes) else None
    except (OSError, AttributeError, TypeError, ValueError, _core.Error):
        return None


def _offset(ctypes, probes):
    """Where the address that `_cdata` says is in objects of tensors, behind what each object of Python has; 0: nowhere."""
    for offset in range(object.__basicsize__, torch._C.TensorBase.__basicsize__ - 7, 8):
        if all(ctypes.c_void_p.from_address(id(x) + offset).value == x._cdata for x in probes):
            return offset
    return 0


def _tells_changes(readers, x):
    """Whether changes in place and of the memory are noticed, and nothing else is."""
    weights = _counted([0], [x], readers)
    as_before = not weights.changed([x])
    x.add_(1)
    in_place = weights.changed([x])
    weights = _counted([0], [x], readers)
    as_before = as_before and not weights.changed([x])
    x.data = torch.zeros(2)
    return as_before and in_place and weights.changed([x])


def _counted(places, args, readers):
    """These arguments as they are now. What is kept shares their memory and their numbers of changes, and has the numbers also
    where a weight is given other memory."""
    kept = tuple([args[i].detach() for i in places])
    counters = tuple([0 if x.is_inference() else x._cdata for x in kept])
    return _core.Weights(tuple(places), args, kept, counters, readers)


class _Weights:
    """Frozen tensors among arguments, by what PyTorch shows of them in Python. Tensors of torch.inference_mode do not count their
    changes."""

    def __init__(self, places, args):
        self.picked = _picker(places)
        self.counted = _picker([i for i in places if not args[i].is_inference()])
        self.kept = [args[i].detach() for i in places]  # no other weight takes their addresses
        self.state = self.read(args)

    def read(self, args):
        """What changes where one does: numbers of changes only grow."""
        return list(map(torch.Tensor.data_ptr, self.picked(args))), sum(map(_version, self.counted(args)))

    def changed(self, args):
        return self.read(args) != self.state


_version = operator.attrgetter("_version")


def _weights(places, args):
    """The frozen tensors among arguments, with a method that says whether one was changed."""
    readers = _readers()
    return _counted(places, args, readers) if readers else _Weights(places, args)


class Program:
    """A compiled partition, for inputs of fixed extents, or with sizes that are open."""

    def __init__(self, partition, args):
        self.given = [i for i in partition.given if isinstance(args[i], torch.Tensor)]
        self.orders = [_dense_order(args[i]) for i in self.given]
        self.weights = _weights([i for i, f in enumerate(partition.fixed) if f], args)
        self.sizes = partition.sizes if partition.sizes is not None and partition.sizes.names else None
        tracer = _Tracer(partition.inner, args, partition.fixed, self.sizes)
        outputs = tracer.outputs()
        self.is_single = not isinstance(outputs, (tuple, list))
        graph = FlowGraph([outputs] if self.is_single else list(outputs), tracer.inputs)
        if self.sizes:
            graph.sizes, graph.extents = self.sizes.names, tracer.extents
            self.shapes_of = self.sizes.shapes_of(tracer.result_extents())
        with partition.context:
            self.compiled = CompiledGraph(graph, no_graphs=not partition.graphs)
        if dynamo_config._dump:
            report.dump(self.compiled.graph, dynamo_config._dump)
        self.model, self.inner = self.compiled._model, partition.inner
        self.types = [getattr(torch, "bool" if d.name == "boolean" else d.name) for _, d in self.compiled.results]
        self.places = [o and tuple(map(o.index, range(len(o)))) for o in tracer.result_orders]
        self.has_places = any(self.places)
        self.fixed_results = (
            None
            if self.sizes
            else [(shape, _strides(shape), t) for (shape, _), t in zip(self.compiled.results, self.types, strict=True)]
        )
        self.new = _allocator(next((a.device for a in args if isinstance(a, torch.Tensor)), torch.device("cpu")))

    def is_stale(self, args):
        """Whether a weight was changed since they were frozen."""
        return self.weights.changed(args)

    def run(self, args):
        """New tensors of PyTorch."""
        numbers, results = (), self.fixed_results
        if results is None:
            numbers = self.sizes.values(args)
            if 0 in numbers:  # there are no programs for tensors without elements
                with torch.no_grad():
                    return self.inner(*args)
            results = [(n, _strides(n), t) for n, t in zip(self.shapes_of(*numbers), self.types, strict=True)]
        new = self.new
        outputs = [new(*result) for result in results]
        self.model(*[_dense(args[i], order) for i, order in zip(self.given, self.orders)], *outputs, *numbers)
        if self.has_places:
            outputs = [x if axes is None else x.permute(axes) for x, axes in zip(outputs, self.places)]
        return outputs[0] if self.is_single else outputs


def _strides(shape):
    strides, count = [], 1
    for n in reversed(shape):
        strides.append(count)
        count *= n
    return tuple(reversed(strides))


def _allocator(device):
    """A function of extents, strides and type: new memory. What PyTorch's own compiler calls takes a quarter of the time."""
    found = getattr(torch._C._dynamo.guards, f"_empty_strided_{device.type}", None)
    if found is not None and (device.type == "cpu" or torch.cuda.device_count() == 1):
        return found
    return lambda shape, strides, dtype: torch.empty(shape, dtype=dtype, device=device)


def _dense(x, order):
    x = (x if order is None else x.permute(order)).contiguous()
    return x if x.data_ptr() % 16 == 0 else x.clone(memory_format=torch.contiguous_format)


def _is_known(value):
    """Whether a result as PyTorch traced it, tensors without elements, has no open extents, so that it need not be computed."""
    values = value if isinstance(value, (tuple, list)) else [value]
    return all(isinstance(x, torch.Tensor) and all(isinstance(n, int) for n in x.shape) for x in values)


class _Tracer(torch.fx.Interpreter):
    """Makes the graph: PyTorch says extents and types of each result, by tensors without elements."""

    def __init__(self, inner, args, fixed, open_sizes=None):
        super().__init__(inner, garbage_collect_values=False)
        self.args_given, self.values, self.inputs, self.symbols = args, [], [], {}
        self.sizes, self.extents = open_sizes, {}  # extents of inputs that have open ones
        self.result_orders = []
        self.placeholders = [n for n in inner.graph.nodes if n.op == "placeholder"]  # other nodes may stand between them
        self.place = "cuda" if any(isinstance(a, torch.Tensor) and a.is_cuda for a in args) else "cpu"
        for i, (a, is_fixed) in enumerate(zip(args, fixed, strict=True)):
            if not isinstance(a, torch.Tensor):
                self.values.append(open_sizes.number(i, a) if open_sizes else a)
            elif is_fixed:
                self.values.append(_frozen(a))
            else:
                self.values.append(self._input(i, a))

    def _input(self, i, x):
        """A symbol for a tensor as it lies in memory, with the tensor's axes."""
        order = _dense_order(x)
        axes = order or range(x.dim())
        made = symbol(tuple(x.shape[d] for d in axes), dtypes.data_type(x.dtype), self.place)
        self.inputs.append(made)
        if self.sizes:
            self.extents[id(made)] = tuple(self.sizes.extents[i][d] for d in axes)
        if order is None:
            return made
        dims = tuple(map(order.index, range(x.dim())))
        return _eager.node(ops.permute, [made], {"dims": dims}, [(tuple(x.shape), made.dtype)], self.place)[0]

    def outputs(self):
        """Symbolic results."""
        traced = [n.meta.get("val") for n in self.placeholders]
        if all(_is_known(n.meta.get("val")) for n in self.module.graph.nodes if n.op in ("placeholder", "call_function")):
            return self.run(*traced)
        with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
            fake = [mode.from_tensor(a.detach()) if isinstance(a, torch.Tensor) else a for a in self.args_given]
            return self.run(*fake)

    def result_extents(self):
        """Extents of the results in the order of memory, as PyTorch traced them: some may be open."""
        (output,) = (n for n in self.module.graph.nodes if n.op == "output")
        values = torch.fx.node.map_arg(output.args[0], lambda n: n.meta["val"].shape)
        shapes = values if isinstance(output.args[0], (tuple, list)) else [values]
        return [s if o is None else tuple([s[d] for d in o]) for s, o in zip(shapes, self.result_orders, strict=True)]

    def run_node(self, n):
        result = n.meta["val"] if n.op == "call_function" and _is_known(n.meta.get("val")) else super().run_node(n)
        if n.op == "placeholder":
            self.symbols[n] = self.values[self.placeholders.index(n)]
        elif n.op == "call_function":
            self.symbols[n] = self._apply(n, result)
        elif n.op == "output":
            return torch.fx.node.map_arg(n.args[0], self._as_traced)
        return result

    def _as_traced(self, n):
        """A result as it lies in memory in PyTorch, whose views of it depend on that."""
        made, order = self.symbols[n], _order(self.env[n])
        self.result_orders.append(order)
        if order is None:
            return made
        extents = tuple([made.shape[d] for d in order])
        return _eager.node(ops.permute, [made], {"dims": order}, [(extents, made.dtype)], self.place)[0]

    def _apply(self, n, result):
        if aten.operation_of(n.target) is None:  # getitem
            return self.symbols[n.args[0]][n.args[1]]
        fakes, _ = self.fetch_args_kwargs_from_env(n)
        args = torch.fx.node.map_arg(n.args, lambda a: self.symbols[a])
        kwargs = torch.fx.node.map_arg(n.kwargs, lambda a: self.symbols[a])
        many = isinstance(result, (tuple, list))
        is_first = many and aten.has_first_alone(n.target) and all(u.args[1] == 0 for u in n.users)
        read = result[:1] if is_first else result if many else [result]
        shapes = [(tuple(r.shape), dtypes.data_type(r.dtype)) for r in read]
        if self.sizes and n.target is torch.ops.aten.slice.Tensor:
            kwargs = {**kwargs, **sizes.length_of(n, result)}
        made = aten.apply(n.target, args, kwargs, fakes, shapes, self.place)
        return made if many else made[0]


def _frozen(x):
    """A tensor of ours with the elements of a weight, in host or GPU memory as the weight is."""
    made = from_torch(x.detach().contiguous())
    if made.device.kind == "cpu" or not _runtime.simulates():
        return made
    return made.cpu()
