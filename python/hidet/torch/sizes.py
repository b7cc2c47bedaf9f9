"""Sizes that stay open: what PyTorch calls SymInts, as type parameters of a program."""

import math

import torch

try:
    import sympy
    from torch.utils._sympy.functions import CleanDiv, FloorDiv
    from torch.utils._sympy.printers import PythonPrinter

    # Of expressions that are what they say for all sizes: no minimum, no maximum, no remainder.
    _PLAIN = (sympy.Symbol, sympy.Number, sympy.Add, sympy.Mul, sympy.Pow, FloorDiv, CleanDiv)
except ImportError:  # older versions of PyTorch
    PythonPrinter = None


class OpenSize(int):
    """An expression over open sizes. As a number it is what it was at the first run, as a text what is compiled."""

    def __new__(cls, number, text):
        made = super().__new__(cls, number)
        made.text = text
        return made

    def __repr__(self):
        return self.text

    __str__ = __repr__


def text_of(size):
    """The text of an extent, which Python and the language read alike; None: it is a number. ValueError: it has no text."""
    if not isinstance(size, torch.SymInt):
        return None
    expression = size.node.expr
    if expression.is_number:
        return None
    if PythonPrinter is None:
        raise ValueError("this version of PyTorch does not say what its sizes are")
    return PythonPrinter().doprint(expression)


def _is_plain(size):
    return all(isinstance(part, _PLAIN) for part in sympy.preorder_traversal(size.node.expr))


def _names(size):
    return {str(s) for s in size.node.expr.free_symbols} if isinstance(size, torch.SymInt) else set()


class OpenSizes:
    """The open sizes of a partition. `names`: type parameters; `extents`: {index of an input: its extents as numbers and texts};
    `numbers`: {index of an input that is a size: its text}; `scalars`: indices of inputs that are other numbers."""

    def __init__(self, placeholders, fixed):
        self.extents, self.numbers, self.scalars, self._places = {}, {}, [], {}
        used = set()
        for i, (value, is_fixed) in enumerate(zip(placeholders, fixed, strict=True)):
            if isinstance(value, torch.Tensor):
                texts = [text_of(n) for n in value.shape]
                if is_fixed and any(texts):
                    raise ValueError("extents of a weight are open")
                self.extents[i] = tuple(int(n) if t is None else t for n, t in zip(value.shape, texts, strict=True))
                for d, n in enumerate(value.shape):
                    used |= _names(n)
                    if texts[d] and len(_names(n)) == 1 and texts[d] in _names(n):
                        self._places.setdefault(texts[d], (i, d))
            elif isinstance(value, torch.SymInt) and text_of(value):
                self.numbers[i] = text_of(value)
                used |= _names(value)
                if self.numbers[i] in _names(value):
                    self._places[self.numbers[i]] = (i, None)
            else:
                self.scalars.append(i)
        self.names = sorted(used)
        missing = used - set(self._places)
        if missing:
            raise ValueError(f"no input says what the size {min(missing)} is")

    def values(self, args):
        """The sizes of a run, in the order of the names."""
        return [args[i] if d is None else args[i].shape[d] for i, d in map(self._places.__getitem__, self.names)]

    def number(self, i, value):
        """An input that is a number: a size that is open, or itself."""
        return OpenSize(value, self.numbers[i]) if i in self.numbers else value

    def shapes_of(self, extents):
        """A function of the sizes, in the order of the names: these extents, a tuple for each tensor."""
        texts = ["(" + "".join(f"{text_of(n) or int(n)}, " for n in shape) + ")" for shape in extents]
        return eval(f"lambda {', '.join(self.names)}: ({''.join(f'{t}, ' for t in texts)})", {"math": math})


def open_sizes(inner, fixed):
    """(the open sizes of a partition, why there are none), one of which is None. A partition is a graph of PyTorch, whose
    placeholders have tensors without elements."""
    values = [n.meta.get("val") for n in inner.graph.nodes if n.op == "placeholder"]
    if any(v is None for v in values):
        return None, "its extents are not known before"
    try:
        return OpenSizes(values, fixed), None
    except ValueError as error:
        return None, str(error)


def length_of(node, result):
    """How many elements a slice has, as an attribute of it, where that is open and sure; [result]: those of the first run."""
    axis = node.args[1] if len(node.args) > 1 else 0
    size = node.meta["val"].shape[axis]
    text = text_of(size)
    is_sure = text and _is_plain(size) and (len(node.args) < 5 or node.args[4] == 1)
    return {"length": OpenSize(result.shape[axis], text)} if is_sure else {}


def is_size(node):
    """Whether a node computes a size, or asserts something of one or of an element, which PyTorch does between partitions."""
    is_assertion = node.target in (torch.ops.aten._assert_scalar.default, torch.ops.aten._assert_async.msg)
    return is_assertion or isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool, torch.SymFloat))
