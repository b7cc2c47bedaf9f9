"""Rewrite rules in Python: where a graph has what a rule looks for, that is replaced by what the rule's function makes of it.

def source(x, w, c):
    return hidet.ops.matmul(x, w) / c

def target(x, w, c):
    return hidet.ops.matmul(x, w / c)

rule = hidet.graph.SubgraphRewriteRule(source, target, where=lambda x, w, c: not w.is_symbolic())
hidet.graph.register_rewrite_rule(rule)

The parameters of `source` stand for any tensor, number or attribute. Rules may be written in the language, too, where `hdsc test`
checks them: a file of them is taken wherever a rule is."""

import inspect
import itertools
import os

from hidet import _core
from hidet._eager import Operator, _flat, clone
from hidet.tensor import Tensor

MOST_REWRITES = 1000
_COMMUTATIVE = {"add", "multiply", "maximum", "minimum", "equal", "not_equal", "mul"}
_registered = []


class Wildcard:
    """Stands for a tensor, a number or an attribute; or, with a [use], for the result of an operator."""

    __slots__ = ("name", "use")
    __hash__ = object.__hash__

    def __init__(self, name, use=None):
        self.name, self.use = name, use

    def _recorded(self, op, inputs, attributes):
        """What an operator on this one is: called by hidet._eager.apply."""
        if op.returns_list:
            raise TypeError(
                f"a pattern has operators with one result, and {op.name} has several: write the rule in the language"
            )
        return Wildcard(None, Operator(op, inputs, attributes))

    def __getattr__(self, name):
        raise AttributeError(
            f"a parameter of a pattern has no {name!r}, since it stands for any tensor: "
            "call operators by hidet.ops.operation(name)"
        )

    def __repr__(self):
        return self.name or f"{self.use.name}(…)"


def _add_operators():
    from hidet.tensor import BINARY_OPERATORS

    def forward(name):
        def method(self, other):
            from hidet import ops

            return ops.operation(name)(self, other)

        return method

    def backward(name):
        def method(self, other):
            from hidet import ops

            return ops.operation(name)(other, self)

        return method

    for short, name in BINARY_OPERATORS.items():
        setattr(Wildcard, f"__{short}__", forward(name))
        setattr(Wildcard, f"__r{short}__", backward(name))
    Wildcard.__neg__ = lambda self: Wildcard.__mul__(self, -1.0)


_add_operators()


# ---- matching -------------------------------------------------------------------------------------------------------------


def _same(a, b):
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return a is b
    return type(a) is type(b) and a == b


def _attributes(op, given):
    """With the defaults of those that are not given; only what is given, where the defaults are not known."""
    from hidet import ops

    defaults = {name: ops._python_value(text) for name, text in getattr(op, "attributes", ()) if text is not None}
    return {**defaults, **given}


def _matches(pattern, value, bound):
    """{name: value} for each way in which [pattern] is [value]."""
    if not isinstance(pattern, Wildcard):
        if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)) and len(pattern) == len(value):
            yield from _all_match(pattern, value, bound)
        elif _same(pattern, value):
            yield bound
    elif pattern.use is None:
        if pattern.name not in bound:
            yield {**bound, pattern.name: value}
        elif _same(bound[pattern.name], value):
            yield bound
    elif isinstance(value, Tensor) and value.op is not None and value.op.op.name == pattern.use.name:
        yield from _uses_match(pattern.use, value.op, bound)


def _all_match(patterns, values, bound):
    if not patterns:
        yield bound
        return
    for more in _matches(patterns[0], values[0], bound):
        yield from _all_match(patterns[1:], values[1:], more)


def _trimmed(operands):
    operands = _flat(operands)
    while operands and operands[-1] is None:
        operands.pop()
    return operands


def _uses_match(use, node, bound):
    wanted, there = _attributes(use.op, use.attributes), _attributes(node.op, node.attributes)
    operands, given = _trimmed(use.inputs), _trimmed(node.inputs)
    if wanted.keys() != there.keys() or len(operands) != len(given) or len(node.outputs) != 1:
        return
    names = list(wanted)
    orders = [given, given[::-1]] if use.name in _COMMUTATIVE and len(given) == 2 else [given]
    for order in orders:
        yield from _all_match([*operands, *(wanted[n] for n in names)], [*order, *(there[n] for n in names)], bound)


# ---- rules ----------------------------------------------------------------------------------------------------------------


class SubgraphRewriteRule:
    """Replaces `source(…)` by `target(…)`, functions with the same parameters, where `where(…)` is true. Both return a tensor,
    or as many of them. What others read of the replaced operators stays. Results have the extents and types of what they
    replace."""

    def __init__(self, source, target, where=None, name=None):
        self.name = name or getattr(source, "__name__", "rule")
        self.target, self.where = target, where
        self.parameters = list(inspect.signature(source).parameters)
        for function, what in ((target, "target"), (where, "where")):
            if function is not None and list(inspect.signature(function).parameters) != self.parameters:
                raise TypeError(
                    f"rule '{self.name}': '{what}' has other parameters than 'source': {', '.join(self.parameters)}"
                )
        given = source(*map(Wildcard, self.parameters))
        self.patterns = list(given) if isinstance(given, (tuple, list)) else [given]
        for pattern in self.patterns or [None]:
            if not isinstance(pattern, Wildcard) or pattern.use is None:
                raise TypeError(f"rule '{self.name}': 'source' returns results of operators, not {pattern!r}")
        missing = [p for p in self.parameters if p not in _names_in(self.patterns)]
        if missing:
            raise TypeError(f"rule '{self.name}': 'source' does not use its parameter '{missing[0]}'")

    def replacements(self, y, graph):
        """[(tensor, what replaces it)] where the first result is [y]; None: the rule does not fit, or declines by returning
        None."""
        for old, bound in self._found([y], graph, _matches(self.patterns[0], y, {})):
            values = [bound[p] for p in self.parameters]
            if len(old) > 1 and _reads(values, old) or self.where is not None and not self.where(*values):
                continue
            made = self.target(*values)
            if made is not None:
                return self._checked(old, made)
        return None

    def _found(self, old, graph, ways):
        """(the results that the rule replaces, what its parameters are) for each way."""
        for bound in ways:
            if len(old) == len(self.patterns):
                yield old, bound
                continue
            others = [x for node in graph.nodes for x in node.outputs if all(x is not z for z in old)]
            for x in others:
                yield from self._found([*old, x], graph, _matches(self.patterns[len(old)], x, bound))

    def _checked(self, old, made):
        new = list(made) if isinstance(made, (tuple, list)) else [made]
        if len(new) != len(old) or not all(isinstance(x, Tensor) for x in new):
            what = "a tensor" if len(old) == 1 else f"{len(old)} tensors"
            raise TypeError(f"rule '{self.name}': 'target' returns {what}, not {made!r}")
        for x, y in zip(new, old, strict=True):
            if (x.shape, x.dtype, x.device) != (y.shape, y.dtype, y.device):
                raise _core.ArgumentError(f"rule '{self.name}' puts {x.signature()} in the place of {y.signature()}")
        return list(zip(old, new, strict=True))

    def __repr__(self):
        return f"<rewrite rule '{self.name}'>"


def _reads(values, old):
    """Whether a value is computed from what shall be replaced: then the new results would read themselves."""
    stack, seen = [x for x in _flat(values) if isinstance(x, Tensor)], set()
    while stack:
        x = stack.pop()
        if any(x is y for y in old):
            return True
        if id(x) not in seen:
            seen.add(id(x))
            stack += x.op.tensors() if x.op is not None else []
    return False


def _names_in(pattern):
    if isinstance(pattern, (list, tuple)):
        return set(itertools.chain.from_iterable(map(_names_in, pattern)))
    if not isinstance(pattern, Wildcard):
        return set()
    return {pattern.name} if pattern.use is None else _names_in([*pattern.use.inputs, *pattern.use.attributes.values()])


def check_rule(rule):
    """The rule; a file of them by its absolute path."""
    if isinstance(rule, SubgraphRewriteRule):
        return rule
    try:
        path = os.path.abspath(os.fspath(rule))
    except TypeError:
        raise TypeError(f"a rule is a SubgraphRewriteRule or the path of a .hds file, not {rule!r}") from None
    if not path.endswith(".hds"):
        raise ValueError(f"a file of rewrites is a .hds file, not {path!r}")
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path!r}")
    return path


def register_rewrite_rule(rule):
    """Applies a rule to all graphs of the process from now on. Returns it, as it is taken back by unregister_rewrite_rule."""
    rule = check_rule(rule)
    _registered.append(rule)
    return rule


def unregister_rewrite_rule(rule):
    """Takes back register_rewrite_rule."""
    rule = check_rule(rule)
    if rule not in _registered:
        raise ValueError(f"{rule!r} is not registered")
    _registered.remove(rule)


def registered_rewrite_rules():
    """The registered rules, in their order."""
    return tuple(_registered)


# ---- graphs ---------------------------------------------------------------------------------------------------------------


def rewritten(graph, rules):
    """The graph with rules applied until none fits: [graph] itself, where none does."""
    if not rules:
        return graph
    for _ in range(MOST_REWRITES):
        made, rule = next(_places(graph, rules), (None, None))
        if made is None:
            return graph
        graph = graph.with_outputs(substitute(graph, {id(old): new for old, new in made}))
    raise _core.Error(f"graph rewrites do not end: after {MOST_REWRITES} of them, rule '{rule.name}' still fits")


def _places(graph, rules):
    for node in graph.nodes:
        for rule in rules:
            made = rule.replacements(node.outputs[0], graph) if len(node.outputs) == 1 else None
            if made is not None and any(new is not old for old, new in made):
                yield made, rule


def substitute(graph, now):
    """The outputs of a graph in which other tensors stand in the place of those with these ids, a list."""
    now = dict(now)
    for node in graph.nodes:
        if any(id(x) in now for x in node.tensors()) and id(node.outputs[0]) not in now:
            now.update(zip(map(id, node.outputs), clone(node, now)))
    return [now.get(id(y), y) for y in graph.outputs]
