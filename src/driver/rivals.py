"""What `hdsc bench --against` runs: an ONNX model in another program, on inputs from files: rivals.py REQUEST.json

The request: {"rival": "torch", "mode": "max-autotune", "model": path, "inputs": [path of .npy], "types": ["f32"],
"outputs": folder, "answer": path, "device": "cuda" or "cpu", "precision": "f32", "samples": 25, "min_seconds": 0.3,
"warm_up_seconds": 0.1}.

The answer: {"title": …, "how": …, "outputs": [path of .npy], "seconds": {"median", "q1", "q3", "count"} or null}, or
{"why": a sentence}. Outputs are in the order of the model, inputs in the order of those that are no weights.
"""

import json
import os
import statistics
import sys
import time


class Refusal(Exception):
    """The rival cannot run the model here."""


def module(name):
    try:
        return __import__(name)
    except ModuleNotFoundError as error:
        raise Refusal(f"{sys.executable} has no package '{error.name}'") from error


def read_inputs(request):
    numpy = module("numpy")
    arrays = [numpy.load(path) for path in request["inputs"]]
    bad = [t for a, t in zip(arrays, request["types"]) if a.dtype.kind == "V" and t != "bf16"]
    if bad:
        raise Refusal(f"inputs of type {bad[0]} have no counterpart in NumPy")
    return arrays


def write_outputs(request, arrays):
    numpy = module("numpy")
    paths = [os.path.join(request["outputs"], f"output_{i}.npy") for i in range(len(arrays))]
    for path, array in zip(paths, arrays):
        numpy.save(path, numpy.ascontiguousarray(array))
    return paths


def measure(request, run):
    """The seconds of run(count): calls one behind the other, of which a sample has as many as take a millisecond."""
    end = time.perf_counter() + request["warm_up_seconds"]
    run(1)
    while time.perf_counter() < end:
        run(1)
    start = time.perf_counter()
    run(10)
    count = max(1, int(0.001 / max((time.perf_counter() - start) / 10, 1e-7)))
    samples, end = [], time.perf_counter() + request["min_seconds"]
    while len(samples) < request["samples"] or time.perf_counter() < end:
        start = time.perf_counter()
        run(count)
        samples.append((time.perf_counter() - start) / count)
    quarters = statistics.quantiles(samples, n=4) if len(samples) > 1 else samples * 3
    return {"median": statistics.median(samples), "q1": quarters[0], "q3": quarters[2], "count": len(samples)}


# ---- onnxruntime ---------------------------------------------------------------------------------------------------


def run_onnxruntime(request):
    ort, arrays = module("onnxruntime"), read_inputs(request)
    on_gpu = request["device"] == "cuda"
    provider = "CUDAExecutionProvider" if on_gpu else "CPUExecutionProvider"
    if provider not in ort.get_available_providers():
        raise Refusal(f"this onnxruntime has no {provider}")
    options = {"enable_cuda_graph": "1"} if on_gpu else {}
    session = ort.InferenceSession(request["model"], providers=[(provider, options)])
    names = [i.name for i in session.get_inputs()]
    if len(names) != len(arrays):
        raise Refusal(f"it takes {len(names)} inputs, and there are {len(arrays)}")
    note = "" if request["precision"] == "f32" else ", in the types of the file"
    answer = {"title": f"onnxruntime {ort.__version__}", "how": ("CUDA graph" if on_gpu else "CPU") + note, "seconds": None}
    if not on_gpu:
        answer["outputs"] = write_outputs(request, session.run(None, dict(zip(names, arrays))))
        return answer
    binding, kept = session.io_binding(), [ort.OrtValue.ortvalue_from_numpy(a, "cuda", 0) for a in arrays]
    for name, value in zip(names, kept):
        binding.bind_ortvalue_input(name, value)
    shapes = [r.shape for r in session_results(ort, request, names, arrays)]
    for result, shape in zip(session.get_outputs(), shapes):
        value = ort.OrtValue.ortvalue_from_shape_and_type(list(shape), numpy_type(result.type), "cuda", 0)
        binding.bind_ortvalue_output(result.name, value)

    def run(count):
        for _ in range(count):
            session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    answer["seconds"] = measure(request, run)
    answer["outputs"] = write_outputs(request, binding.copy_outputs_to_cpu())
    return answer


def session_results(ort, request, names, arrays):
    """Of a run without a CUDA graph, which needs to know where outputs are."""
    session = ort.InferenceSession(request["model"], providers=["CUDAExecutionProvider"])
    return session.run(None, dict(zip(names, arrays)))


def numpy_type(text):
    """tensor(float16)"""
    name = text[len("tensor("):-1]
    return {"float": "float32", "double": "float64"}.get(name, name)


# ---- torch: an interpreter of the graph, which torch.compile traces ------------------------------------------------


def table(torch):
    """operator: (function of the node's attributes and operands, the positions of operands that are lists of numbers)"""
    functional = torch.nn.functional

    def unary(f):
        return (lambda a, x: f(x)), ()

    def fold(f):
        def run(a, x, *more):
            for y in more:
                x = f(x, y)
            return x

        return run, ()

    def pairs(a, rank):
        pads = a.get("pads", [0] * 2 * rank)
        if a.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or pads[:rank] != pads[rank:]:
            raise Refusal("pads that differ at both ends are not supported")
        return pads[:rank]

    def conv(a, x, w, b=None):
        rank = w.dim() - 2
        f = (functional.conv1d, functional.conv2d, functional.conv3d)[rank - 1]
        return f(x, w, b, a.get("strides", 1), pairs(a, rank), a.get("dilations", 1), a.get("group", 1))

    def conv_transpose(a, x, w, b=None):
        rank = w.dim() - 2
        if "output_shape" in a:
            raise Refusal("ConvTranspose with output_shape is not supported")
        f = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)[rank - 1]
        more = a.get("output_padding", 0), a.get("group", 1), a.get("dilations", 1)
        return f(x, w, b, a.get("strides", 1), pairs(a, rank), *more)

    def pool(name):
        def run(a, x):
            rank = x.dim() - 2
            f = getattr(functional, f"{name}{rank}d")
            more = {"count_include_pad": bool(a.get("count_include_pad", 0))} if name == "avg_pool" else {}
            more["ceil_mode"] = bool(a.get("ceil_mode", 0))
            return f(x, a["kernel_shape"], a.get("strides", [1] * rank), pairs(a, rank), **more)

        return run, ()

    def gemm(a, x, y, c=None):
        x, y = x.t() if a.get("transA") else x, y.t() if a.get("transB") else y
        product = a.get("alpha", 1.0) * (x @ y)
        return product if c is None else product + a.get("beta", 1.0) * c

    def batch_norm(a, x, scale, bias, mean, variance):
        return functional.batch_norm(x, mean, variance, scale, bias, False, 0.0, a.get("epsilon", 1e-5))

    def layer_norm(a, x, scale, bias=None):
        axis = a.get("axis", -1) % x.dim()
        return functional.layer_norm(x, x.shape[axis:], scale, bias, a.get("epsilon", 1e-5))

    def reshape(a, x, shape):
        return x.reshape([x.shape[i] if n == 0 and not a.get("allowzero") else n for i, n in enumerate(shape)])

    def reduce(f):
        def run(a, x, axes=None):
            axes = axes if axes is not None else a.get("axes")
            return f(x, axes if axes else list(range(x.dim())), keepdim=bool(a.get("keepdims", 1)))

        return run, (1,)

    def slices(a, x, starts=None, ends=None, axes=None, steps=None):
        starts, ends = starts if starts is not None else a["starts"], ends if ends is not None else a["ends"]
        axes = axes if axes is not None else a.get("axes", range(len(starts)))
        for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts)):
            if step < 1:
                raise Refusal("slices that step backwards are not supported")
            key, extent = [slice(None)] * x.dim(), x.shape[axis]
            key[axis] = slice(*(max(-extent, min(bound, extent)) for bound in (start, end)), step)
            x = x[tuple(key)]
        return x

    def split(a, x, sizes=None):
        axis, sizes = a.get("axis", 0), sizes or a.get("split")
        return torch.split(x, sizes if sizes else -(-x.shape[axis] // a["outputs"]), axis)

    def squeeze(a, x, axes=None):
        axes = axes if axes is not None else a.get("axes")
        return x.squeeze(tuple(axes)) if axes is not None else x.squeeze()

    def unsqueeze(a, x, axes=None):
        axes = axes if axes is not None else a["axes"]
        rank = x.dim() + len(axes)
        for axis in sorted(n % rank for n in axes):
            x = x.unsqueeze(axis)
        return x

    def gather(a, x, index):
        axis = a.get("axis", 0) % x.dim()
        index = wrapped(index, x.shape[axis])
        return x.index_select(axis, index.reshape(-1)).reshape(x.shape[:axis] + index.shape + x.shape[axis + 1:])

    def wrapped(index, extent):
        return torch.where(index < 0, index + extent, index)

    def gather_elements(a, x, index):
        axis = a.get("axis", 0)
        return torch.gather(x, axis, wrapped(index, x.shape[axis]))

    def gather_nd(a, x, index):
        if a.get("batch_dims", 0):
            raise Refusal("GatherND with batch_dims is not supported")
        return x[tuple(wrapped(i, n) for i, n in zip(index.unbind(-1), x.shape))]

    def mod(a, x, y):
        return torch.fmod(x, y) if a.get("fmod") else torch.remainder(x, y)

    def trilu(a, x, k=(0,)):
        return (torch.triu if a.get("upper", 1) else torch.tril)(x, k if isinstance(k, int) else k[0])

    def pad(a, x, pads=None, value=None, axes=None):
        pads, value = pads if pads is not None else a["pads"], value.item() if value is not None else a.get("value", 0.0)
        if a.get("mode", "constant") != "constant" or axes is not None:
            raise Refusal("Pad with modes or axes is not supported")
        rank = x.dim()
        return functional.pad(x, [p for i in reversed(range(rank)) for p in (pads[i], pads[i + rank])], value=float(value))

    def clip(a, x, low=None, high=None):
        low, high = low if low is not None else a.get("min"), high if high is not None else a.get("max")
        x = x if low is None else torch.maximum(x, torch.as_tensor(low, dtype=x.dtype, device=x.device))
        return x if high is None else torch.minimum(x, torch.as_tensor(high, dtype=x.dtype, device=x.device))

    def cast(a, x):
        return x.to(getattr(torch, {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
                                    11: "float64", 16: "bfloat16"}[a["to"]]))

    def div(a, x, y):
        return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")

    def flatten(a, x):
        axis = a.get("axis", 1)
        return x.reshape(-1 if axis == 0 else int(torch.tensor(x.shape[:axis]).prod()), -1) if axis != 1 else x.flatten(1)

    def concat(a, *xs):
        return torch.cat(xs, a["axis"])

    plain = ("relu", "sigmoid", "tanh", "erf", "sqrt", "exp", "log", "neg", "abs", "reciprocal", "floor", "ceil", "sin", "cos",
             "round", "sign")
    return {
        **{name.capitalize(): unary(getattr(torch, name)) for name in plain},
        **{name: unary(getattr(functional, name.lower())) for name in ("Softplus", "Mish", "Softsign")},
        "Add": ((lambda a, x, y: x + y), ()), "Sub": ((lambda a, x, y: x - y), ()), "Mul": ((lambda a, x, y: x * y), ()),
        "Div": (div, ()), "Pow": ((lambda a, x, y: x ** y), ()), "MatMul": ((lambda a, x, y: x @ y), ()), "Gemm": (gemm, ()),
        "Min": fold(torch.minimum), "Max": fold(torch.maximum), "Sum": fold(torch.add), "Not": unary(torch.logical_not),
        "And": ((lambda a, x, y: x & y), ()), "Or": ((lambda a, x, y: x | y), ()), "Equal": ((lambda a, x, y: x == y), ()),
        "Less": ((lambda a, x, y: x < y), ()), "Greater": ((lambda a, x, y: x > y), ()),
        "LessOrEqual": ((lambda a, x, y: x <= y), ()), "GreaterOrEqual": ((lambda a, x, y: x >= y), ()),
        "Where": ((lambda a, c, x, y: torch.where(c, x, y)), ()), "Cast": (cast, ()), "Identity": unary(lambda x: x),
        "Dropout": ((lambda a, x, *more: x), ()), "Conv": (conv, ()), "BatchNormalization": (batch_norm, ()),
        "LayerNormalization": (layer_norm, ()), "MaxPool": pool("max_pool"), "AveragePool": pool("avg_pool"),
        "GlobalAveragePool": unary(lambda x: x.mean(tuple(range(2, x.dim())), keepdim=True)),
        "Softmax": ((lambda a, x: functional.softmax(x, a.get("axis", -1))), ()),
        "LogSoftmax": ((lambda a, x: functional.log_softmax(x, a.get("axis", -1))), ()),
        "Gelu": ((lambda a, x: functional.gelu(x, approximate=a.get("approximate", "none"))), ()),
        "LeakyRelu": ((lambda a, x: functional.leaky_relu(x, a.get("alpha", 0.01))), ()),
        "Elu": ((lambda a, x: functional.elu(x, a.get("alpha", 1.0))), ()), "HardSwish": unary(functional.hardswish),
        "HardSigmoid": ((lambda a, x: torch.clamp(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1)), ()),
        "Clip": (clip, ()), "Flatten": (flatten, ()), "Reshape": (reshape, (1,)), "Concat": (concat, ()),
        "Transpose": ((lambda a, x: x.permute(a.get("perm", list(range(x.dim()))[::-1]))), ()),
        "ConvTranspose": (conv_transpose, ()), "GatherElements": (gather_elements, ()), "GatherND": (gather_nd, ()),
        "IsNaN": unary(torch.isnan), "Mod": (mod, ()), "Trilu": (trilu, (1,)), "Pad": (pad, (1,)),
        "Tile": ((lambda a, x, n: x.repeat(n)), (1,)), "CumSum": ((lambda a, x, n: torch.cumsum(x, n)), (1,)),
        "Einsum": ((lambda a, *xs: torch.einsum(a["equation"], *xs)), ()),
        "Split": (split, (1,)), "Slice": (slices, (1, 2, 3, 4)), "Squeeze": (squeeze, (1,)), "Unsqueeze": (unsqueeze, (1,)),
        "Gather": (gather, ()), "Expand": ((lambda a, x, s: x.broadcast_to(torch.broadcast_shapes(x.shape, s))), (1,)),
        "ReduceMean": reduce(torch.mean), "ReduceSum": reduce(torch.sum), "ReduceMax": reduce(torch.amax),
        "ReduceMin": reduce(torch.amin), "Shape": ((lambda a, x: torch.tensor(x.shape[a.get("start", 0):a.get("end")])), ()),
        "ConstantOfShape": ((lambda a, s: torch.full(s, a["value"].item() if "value" in a else 0.0,
                                                     dtype=a["value"].dtype if "value" in a else None)), (0,)),
        "Range": ((lambda a, x, y, z: torch.arange(x.item(), y.item(), z.item())), ()),
    }


class Graph:
    """The nodes of an ONNX file that depend on its inputs; what does not is computed once, as shapes are known."""

    def __init__(self, torch, model, precision):
        onnx = module("onnx")
        self.torch, self.graph, self.numpy = torch, onnx.load(model).graph, onnx.numpy_helper
        self.helper, self.operators, self.steps, self.precision = onnx.helper, table(torch), [], precision
        known = {i.name: self.tensor(i) for i in self.graph.initializer}
        self.fixed_outputs = {}
        self.inputs = [i.name for i in self.graph.input if i.name not in known]
        self.outputs = [o.name for o in self.graph.output]
        self.known = {name: self.narrow(value) for name, value in known.items()}
        missing = sorted({n.op_type for n in self.graph.node} - set(self.operators) - {"Constant"})
        if missing:
            raise Refusal(f"no counterpart in torch is known of {', '.join(missing)}")

    def tensor(self, proto):
        return self.torch.from_numpy(self.numpy.to_array(proto).copy())

    def narrow(self, x):
        return x.to(self.precision) if x.dtype == self.torch.float32 else x

    def attributes(self, node):
        found = {a.name: self.helper.get_attribute_value(a) for a in node.attribute}
        found = {k: self.tensor(v) if k == "value" else v.decode() if isinstance(v, bytes) else v for k, v in found.items()}
        return {**found, "outputs": len(node.output)}

    def prepare(self, arrays):
        """Runs all nodes once, and keeps those that depend on the inputs, with their known operands."""
        values = dict(self.known)
        values.update(zip(self.inputs, arrays))
        fixed = set(self.known)
        for node in self.graph.node:
            attributes = self.attributes(node)
            if node.op_type == "Constant":
                fixed.add(node.output[0])
                values[node.output[0]] = self.constant(attributes)
                continue
            function, lists = self.operators[node.op_type]
            operands = [values[n].tolist() if i in lists and n else values[n] if n else None for i, n in enumerate(node.input)]
            results = function(attributes, *operands)
            results = results if isinstance(results, (tuple, list)) else (results,)
            values.update(zip(node.output, results))
            if node.op_type == "Shape" or all(n in fixed or not n for n in node.input):
                fixed.update(node.output)
                continue
            sources = [x if n in fixed or not n or i in lists else n for i, (n, x) in enumerate(zip(node.input, operands))]
            self.steps.append((function, attributes, sources, list(node.output)))
        self.fixed_outputs = {name: values[name] for name in self.outputs if name in fixed}
        return [values[name] for name in self.outputs]

    def constant(self, attributes):
        value = next(v for k, v in attributes.items() if k.startswith("value"))
        return self.narrow(value if self.torch.is_tensor(value) else self.torch.tensor(value))

    def to(self, device):
        """Known operands that are numbers go there; those of steps that stay lists are no tensors."""
        for _, _, sources, _ in self.steps:
            sources[:] = [x.to(device) if self.torch.is_tensor(x) else x for x in sources]

    def __call__(self, *arrays):
        values = {**self.fixed_outputs, **dict(zip(self.inputs, arrays))}
        for function, attributes, sources, names in self.steps:
            results = function(attributes, *[values[x] if isinstance(x, str) else x for x in sources])
            values.update(zip(names, results if isinstance(results, (tuple, list)) else (results,)))
        return tuple(values[name] for name in self.outputs)


def torch_inputs(torch, request, precision):
    for array, name in zip(read_inputs(request), request["types"]):
        x = torch.from_numpy(array.view("<i2").copy()).view(torch.bfloat16) if name == "bf16" else torch.from_numpy(array)
        yield x.to(precision) if x.dtype == torch.float32 else x


def run_torch(request):
    torch = module("torch")
    on_gpu, mode = request["device"] == "cuda", request["mode"] or "max-autotune"
    if on_gpu and not torch.cuda.is_available():
        raise Refusal("this torch sees no GPU")
    precision = {"f16": torch.float16, "bf16": torch.bfloat16}.get(request["precision"], torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = request["precision"] == "tf32"
    graph, arrays = Graph(torch, request["model"], precision), list(torch_inputs(torch, request, precision))
    if len(graph.inputs) != len(arrays):
        raise Refusal(f"the file has {len(graph.inputs)} inputs, and there are {len(arrays)}")
    title = f"torch {torch.__version__}"
    with torch.inference_mode():
        results = graph.prepare(arrays)
        if not on_gpu:
            return {"title": title, "how": "CPU, eager", "seconds": None, "outputs": write_torch(torch, request, results)}
        graph.to("cuda")
        arrays = [x.cuda() for x in arrays]
        compiled = graph.__call__ if mode == "eager" else torch.compile(graph.__call__, mode=mode, dynamic=False)

        def run(count):
            for _ in range(count):
                compiled(*arrays)
            torch.cuda.synchronize()

        seconds, results = measure(request, run), compiled(*arrays)
        how = "eager" if mode == "eager" else f"torch.compile, {mode}"
        return {"title": title, "how": how, "seconds": seconds, "outputs": write_torch(torch, request, results)}


def write_torch(torch, request, results):
    widened = [r.float() if r.dtype in (torch.bfloat16, torch.float16) else r for r in results]
    return write_outputs(request, [r.cpu().numpy() for r in widened])


def main(path):
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    try:
        answer = {"onnxruntime": run_onnxruntime, "torch": run_torch}[request["rival"]](request)
    except Refusal as refusal:
        answer = {"why": str(refusal)}
    except Exception as error:  # whatever goes wrong in another program is an answer
        answer = {"why": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no message'}"}
    with open(request["answer"], "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main(sys.argv[1])
