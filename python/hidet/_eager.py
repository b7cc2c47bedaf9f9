"""Operators at work: on tensors by programs of one operator, compiled once for each set of types and extents; on symbolic
tensors as nodes of a graph."""

from hidet import _core, _runtime, dtypes
from hidet._names import Absent
from hidet.lang.values import source_of
from hidet.tensor import Tensor, _allocate, _at, symbol


class Operator:
    """A use of an operator: what it takes and what comes out. Results of symbolic tensors have one as their trace."""

    __slots__ = ("attributes", "inputs", "op", "outputs")
    task = Absent()

    def __init__(self, op, inputs, attributes):
        self.op, self.inputs, self.attributes, self.outputs = op, inputs, attributes, []

    @property
    def name(self):
        """Its name in the library: matmul."""
        return self.op.name

    @property
    def title(self):
        """Its name in graphs: Matmul, BatchNorm."""
        return "".join(part.capitalize() for part in self.op.name.split("_"))

    def tensors(self):
        """The tensors that it takes."""
        return [x for x in _flat(self.inputs) if isinstance(x, Tensor)]

    def moved(self, now):
        """The operands with other tensors in the place of those with these ids."""

        def of(x):
            return [of(y) for y in x] if isinstance(x, list) else now.get(id(x), x)

        return [of(x) for x in self.inputs]

    def reforward(self, inputs, update_attributes=None):
        """The results of the same operator for other tensors."""
        given = iter(inputs)
        again = [next(given) if isinstance(x, Tensor) else x for x in self.inputs]
        return apply(self.op, again, {**self.attributes, **(update_attributes or {})})

    def call(self, names):
        """The call as a text; [names] says what a tensor is called there."""
        parts = [names(x) if isinstance(x, Tensor) else source_of(x).text for x in _flat(self.inputs)]
        while parts and parts[-1] == "None":
            parts.pop()
        parts += [f"{k}={source_of(v).text}" for k, v in self.attributes.items()]
        return f"{self.op.alias}({', '.join(parts)})"

    def __repr__(self):
        return f"<hidet.ops.{self.op.name} at {id(self):#x}>"


def _flat(values):
    return [y for x in values for y in (x if isinstance(x, (list, tuple)) and any(isinstance(t, Tensor) for t in x) else [x])]


def type_text(x, extents=None):
    """The type of a tensor in the language: f32[2, 3]. [extents] are texts, where they are not those of the tensor."""
    return f"{x.dtype.short_name}[{', '.join(map(str, extents or x.shape)) if x.shape else '()'}]"


def imports_of(operators, tensors):
    """The imports of a text with these operators, types and attributes."""
    names = {("hidet.lang", t.dtype.short_name, t.dtype.short_name) for t in tensors}
    for operator in operators:
        names.add((operator.op.module, operator.op.name, operator.op.alias))
        for value in [*operator.attributes.values(), *_flat(operator.inputs)]:
            if not isinstance(value, Tensor):
                names |= source_of(value).imports
    return [f"from {m} import {n}" + (f" as {a}" if a != n else "") for m, n, a in sorted(names)]


# ---- programs of one operator ---------------------------------------------------------------------------------------------


class Runner:
    """A program of one operator, for tensors of fixed extents. [traced]: nothing runs; what counts is what its results are."""

    __slots__ = ("count", "function", "outputs", "returns_all")

    def __init__(self, operator, traced):
        tensors = operator.tensors()
        names = {id(x): f"x{i}" for i, x in enumerate(tensors)}
        self.function, self.outputs = _compile(operator, tensors, names, traced)
        self.count = len(tensors)
        self.returns_all = operator.op.returns_list or len(self.outputs) > 1

    def results(self, place):
        """Memory for the results."""
        return [_allocate(shape, dtype, place) for shape, dtype in self.outputs]

    def symbols(self, place):
        """Symbolic results."""
        return [symbol(shape, dtype, place) for shape, dtype in self.outputs]

    def given(self, results):
        """What the operator returns."""
        return results if self.returns_all else results[0]


def _compile(operator, tensors, names, traced):
    unique = list({id(x): x for x in tensors}.values())
    parameters = ", ".join(f"{names[id(x)]}: {type_text(x)}" for x in unique)
    lines = [
        *imports_of([operator], tensors),
        "@hidet.graph",
        f"def {operator.name}_program({parameters}):",
        f"    return {operator.call(lambda x: names[id(x)])}",
    ]
    try:
        name = _runtime.own_name(f"{operator.name}_program")
        program = _runtime.compile(name, "\n".join(lines) + "\n", simulate=True if traced else None)
    except _core.CompilationError as error:
        raise refusal(operator, error) from None
    function = next(f for f in program.functions() if f.title == f"{operator.name}_program")
    return function, results_of(function.parameters, len(unique))


def results_of(parameters, inputs):
    """(extents, type) of each result that a program's parameters name, behind those of [inputs] operands. Extents that are open are
    texts."""
    results = [p for p in parameters[inputs:] if p[1] != "size"]
    return [(tuple(int(n) if n.isdigit() else n for n in p[3]), dtypes.data_type(p[2])) for p in results]


def refusal(operator, error):
    """What the compiler said of an operator's operands, without the text that was compiled."""
    first = next(d for d in error.diagnostics if d.severity == "error")
    operands = [x.signature() if isinstance(x, Tensor) else repr(x) for x in _flat(operator.inputs)]
    operands += [f"{k}={v!r}" for k, v in operator.attributes.items()]
    made = _core.ArgumentError(f"{operator.name}({', '.join(operands)}): {first.message} [{first.code}]")
    made.diagnostics = error.diagnostics
    return made


def place_of(operator, tensors):
    """The device of all tensors."""
    places = {x.device for x in tensors}
    if len(places) > 1:
        raise _core.ArgumentError(f"{operator.name}: tensors are on different devices: {', '.join(sorted(map(str, places)))}")
    return places.pop()


def node(op, inputs, attributes, results, place):
    """The symbolic results of an operator, whose extents and types are known: [(extents, dtype)]."""
    operator = Operator(op, inputs, attributes)
    operator.outputs = [symbol(shape, dtype, place) for shape, dtype in results]
    for i, y in enumerate(operator.outputs):
        y._trace = (operator, i)
    return operator.outputs


def clone(operator, now):
    """The results of the same operator, with other tensors of the same extents and types as operands."""
    results = [(y.shape, y.dtype) for y in operator.outputs]
    return node(operator.op, operator.moved(now), operator.attributes, results, operator.outputs[0].device)


def apply(op, inputs, attributes):
    """The results of an operator: one tensor, or a list of several."""
    operator = Operator(op, inputs, attributes)
    for x in _flat([*inputs, *attributes.values()]):
        if hasattr(x, "_recorded"):  # a pattern's
            return x._recorded(op, inputs, attributes)
    tensors = operator.tensors()
    if not tensors:
        raise _core.ArgumentError(f"{op.name}: a tensor is expected")
    place = place_of(operator, tensors)
    if any(x.is_symbolic() for x in tensors):
        return _record(operator, place)
    plain = [x._plain() for x in tensors]
    if any(a is not b for a, b in zip(plain, tensors)):
        return operator.reforward(plain)
    runner = runner_of(operator)
    results = runner.results(place)
    run(runner, tensors, results)
    return runner.given(results)


def run(runner, tensors, results):
    """Runs a program. One tensor that is given twice is one parameter."""
    if any(r.size == 0 for r in results):
        return
    unique = tensors if len(tensors) == 1 else list({id(x): x for x in tensors}.values())
    runner.function(*unique, *results)


def runner_of(operator, traced=False):
    """The program for an operator's types and extents, from the cache of the operator. [traced]: without machine code."""
    traced = traced and not _runtime.simulates()
    seen = {}
    key = [traced]
    for x in _flat(operator.inputs):
        if isinstance(x, Tensor):
            key += [x.shape, x._type, seen.setdefault(id(x), len(seen))]
        else:
            key += [x, type(x)]
    key = (tuple(map(_hashable, key)), tuple((k, _hashable(v), type(v)) for k, v in operator.attributes.items()))
    found = operator.op.runners.get(key)
    if found is None:
        found = operator.op.runners[key] = Runner(operator, traced)
    return found


def _hashable(value):
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def _record(operator, place):
    runner = runner_of(operator, traced=True)
    results = runner.symbols(place)
    operator.outputs = results
    for i, result in enumerate(results):
        result._trace = (operator, i)
    return runner.given(results)


# ---- strided tensors of a GPU ---------------------------------------------------------------------------------------------

_GATHER = """from hidet.lang import compute, operator


@operator
def gathered[T: dtype, *S](x: T[*S]) -> T[*S]:
    return compute([*S], lambda *i: x[*i])
"""
_gatherers = {}


def gathered(x):
    """A copy of a tensor on a GPU, row by row."""
    dtype = x.dtype
    function = _gatherers.get(dtype)
    if function is None:
        program = _runtime.compile(_runtime.own_name("gathered"), _GATHER, defines=(f"T={dtype.short_name}",))
        function = _gatherers[dtype] = next(f for f in program.functions() if f.title == "gathered")
    out = _at(_allocate(x.shape, dtype, x.device), getattr(x, "_place", None))
    function(x, out)
    return out
