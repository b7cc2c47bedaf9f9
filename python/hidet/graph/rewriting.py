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
    """Replaces `source(…)` by `target(…)`, functions with the same parameters, where `where(…)` is true. What others read of the
    replaced operators stays. The result has the extents and the type of what it replaces."""

    def __init__(self, source, target, where=None, name=None):
        self.name = name or getattr(source, "__name__", "rule")
        self.target, self.where = target, where
        self.parameters = list(inspect.signature(source).parameters)
        for function, what in ((target, "target"), (where, "where")):
            if function is not None and list(inspect.signature(function).parameters) != self.parameters:
                raise TypeError(
                    f"rule '{self.name}': '{what}' has other parameters than 'source': {', '.join(self.parameters)}"
                )
        self.pattern = source(*map(Wildcard, self.parameters))
        if not isinstance(self.pattern, Wildcard) or self.pattern.use is None:
            raise TypeError(f"rule '{self.name}': 'source' returns the result of one operator, not {self.pattern!r}")
        missing = [p for p in self.parameters if p not in _names_in(self.pattern)]
        if missing:
            raise TypeError(f"rule '{self.name}': 'source' does not use its parameter '{missing[0]}'")

    def replacement(self, y):
        """What replaces a symbolic tensor; None: the rule does not fit, or declines by returning None."""
        for bound in _matches(self.pattern, y, {}):
            values = [bound[p] for p in self.parameters]
            if self.where is not None and not self.where(*values):
                continue
            made = self.target(*values)
            if made is not None:
                self._check(made, y)
                return made
        return None

    def _check(self, made, y):
        if not isinstance(made, Tensor):
            raise TypeError(f"rule '{self.name}': 'target' returns a tensor, not {made!r}")
        if (made.shape, made.dtype, made.device) != (y.shape, y.dtype, y.device):
            raise _core.ArgumentError(f"rule '{self.name}' puts {made.signature()} in the place of {y.signature()}")

    def __repr__(self):
        return f"<rewrite rule '{self.name}'>"


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
        old, new, rule = next(_places(graph, rules), (None, None, None))
        if old is None:
            return graph
        graph = graph.with_outputs(substitute(graph, {id(old): new}))
    raise _core.Error(f"graph rewrites do not end: after {MOST_REWRITES} of them, rule '{rule.name}' still fits")


def _places(graph, rules):
    for node in graph.nodes:
        for rule in rules:
            made = rule.replacement(node.outputs[0]) if len(node.outputs) == 1 else None
            if made is not None and made is not node.outputs[0]:
                yield node.outputs[0], made, rule


def substitute(graph, now):
    """The outputs of a graph in which other tensors stand in the place of those with these ids, a list."""
    now = dict(now)
    for node in graph.nodes:
        if any(id(x) in now for x in node.tensors()) and id(node.outputs[0]) not in now:
            now.update(zip(map(id, node.outputs), clone(node, now)))
    return [now.get(id(y), y) for y in graph.outputs]
