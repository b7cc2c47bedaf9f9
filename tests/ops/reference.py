"""What operators of the library compute, in Python and f64: the oracle of check_compositions.py.

Array(shape, data) is a row-major array. Functions here are named as the operators, take arrays, and say what their docstrings in
ops/ say, by the plainest means.
"""

import itertools
import math
from dataclasses import dataclass


@dataclass
class Array:
    shape: tuple
    data: list

    def __getitem__(self, index):
        offset = 0
        for i, n in zip(index, self.shape):
            offset = offset * n + i
        return self.data[offset]


def filled(shape, f):
    """The array of f((i, j, …))."""
    return Array(tuple(shape), [f(i) for i in itertools.product(*[range(n) for n in shape])])


def aligned(x, index):
    """The element of a broadcast operand for that of the result."""
    return x[tuple(0 if n == 1 else i for i, n in zip(index[len(index) - len(x.shape):], x.shape))]


def sigmoid(v):
    return 1.0 / (1.0 + math.exp(-v)) if v > -700 else 0.0


UNARY = {
    "activation.relu": lambda v: max(v, 0.0),
    "activation.sigmoid": sigmoid,
    "activation.silu": lambda v: v * sigmoid(v),
    "activation.gelu": lambda v: 0.5 * v * (1.0 + math.erf(v * math.sqrt(0.5))),
    "activation.hardswish": lambda v: v * min(max(v + 3.0, 0.0), 6.0) / 6.0,
    "arithmetic.abs": abs,
    "arithmetic.negative": lambda v: -v,
    "arithmetic.square": lambda v: v * v,
    "functions.tanh": math.tanh,
    "functions.sin": math.sin,
    "functions.exp": lambda v: math.exp(v) if v < 8.0 else math.inf,
}

BINARY = {
    "arithmetic.add": lambda a, b: a + b,
    "arithmetic.subtract": lambda a, b: a - b,
    "arithmetic.multiply": lambda a, b: a * b,
    "arithmetic.divide": lambda a, b: a / b if abs(b) > 0.1 else math.inf,
    "arithmetic.maximum": max,
    "arithmetic.minimum": min,
}


def elementwise(f, shape, *operands):
    return filled(shape, lambda i: f(*[aligned(x, i) for x in operands]))


def line(x, axes, rest):
    """The elements of x along these axes, row by row; `rest` are the other indices."""
    found = []
    for k in itertools.product(*[range(x.shape[a]) for a in axes]):
        digits, others = iter(k), iter(rest)
        found.append(x[tuple(next(digits) if a in axes else next(others) for a in range(len(x.shape)))])
    return found


def reduced(f, x, axes):
    rest = [n for a, n in enumerate(x.shape) if a not in axes]
    return filled(rest, lambda i: f(line(x, axes, i)))


def along(f, x, axes):
    """f(element, its line) for each element."""
    lines = {}

    def element(i):
        rest = tuple(k for a, k in enumerate(i) if a not in axes)
        if rest not in lines:
            lines[rest] = line(x, axes, rest)
        return f(x[i], lines[rest])

    return filled(x.shape, element)


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    middle = mean(values)
    return mean([(v - middle) ** 2 for v in values])


def logsumexp(values):
    top = max(values)
    return top + math.log(math.fsum(math.exp(v - top) for v in values))


REDUCTIONS = {
    "reduction.sum": math.fsum,
    "reduction.mean": mean,
    "reduction.max": max,
    "reduction.min": min,
    "reduction.norm": lambda values: math.sqrt(math.fsum(v * v for v in values)),
}

SCANS = {
    "softmax.softmax": lambda v, values: math.exp(v - logsumexp(values)),
    "softmax.softmin": lambda v, values: math.exp(-v - logsumexp([-u for u in values])),
    "softmax.log_softmax": lambda v, values: v - logsumexp(values),
}

NORMS = {
    "norm.layer_norm": lambda v, values: (v - mean(values)) / math.sqrt(variance(values) + 1e-5),
    "norm.rms_norm": lambda v, values: v / math.sqrt(mean([u * u for u in values]) + 1e-6),
}

LOSSES = {
    "loss.mse_loss": lambda a, b: (a - b) ** 2,
    "loss.l1_loss": lambda a, b: abs(a - b),
}


def cosine(pairs):
    ab, aa, bb = [math.fsum(f(p) for p in pairs) for f in (lambda p: p[0] * p[1], lambda p: p[0] ** 2, lambda p: p[1] ** 2)]
    return ab / (max(math.sqrt(aa), 1e-8) * max(math.sqrt(bb), 1e-8))


# ---- operators that have kernels of their own ------------------------------------------------------------------------


def by_lines(f, x, axis, n):
    """Each line along the axis becomes f(line), of n elements."""
    found = {}

    def element(i):
        rest = (*i[:axis], *i[axis + 1:])
        if rest not in found:
            found[rest] = f(line(x, [axis], rest))
        return found[rest][i[axis]]

    return filled([*x.shape[:axis], n, *x.shape[axis + 1:]], element)


def ordered(x, axis, falls, n):
    """The n first elements of each sorted line."""
    return by_lines(lambda values: sorted(values, reverse=falls)[:n], x, axis, n)


def cumsum(x, axis, excludes, turns):
    def sums(values):
        values = values[::-1] if turns else values
        found = list(itertools.accumulate(values, initial=0.0))
        found = found[:-1] if excludes else found[1:]
        return found[::-1] if turns else found

    return by_lines(sums, x, axis, x.shape[axis])


def pooled(f, x, size, step):
    """f of the windows of `size` elements along each axis behind the first two, `step` apart."""
    extents = [(n - size) // step + 1 for n in x.shape[2:]]

    def element(i):
        windows = [range(k * step, k * step + size) for k in i[2:]]
        return f([x[(*i[:2], *at)] for at in itertools.product(*windows)])

    return filled([*x.shape[:2], *extents], element)


def convolved(x, w, step, pad, groups):
    """Sums of the windows of images [B, C, *L] times w, [K, C / groups, *taps], `step` apart, with `pad` zeros around images."""
    taps, of_group = w.shape[2:], w.shape[0] // groups
    extents = [(n + 2 * pad - t) // step + 1 for n, t in zip(x.shape[2:], taps)]

    def element(i):
        first, total = i[1] // of_group * w.shape[1], 0.0
        for c in range(w.shape[1]):
            for t in itertools.product(*[range(n) for n in taps]):
                at = [p * step - pad + k for p, k in zip(i[2:], t)]
                if all(0 <= a < n for a, n in zip(at, x.shape[2:])):
                    total += x[(i[0], first + c, *at)] * w[(i[1], c, *t)]
        return total

    return filled([x.shape[0], w.shape[0], *extents], element)


def group_norm(x, groups, w, b):
    count = x.shape[1] // groups
    inner = math.prod(x.shape[2:])
    of_group = Array((x.shape[0], groups, count * inner), x.data)
    normal = Array(x.shape, along(NORMS["norm.layer_norm"], of_group, [2]).data)
    return filled(x.shape, lambda i: normal[i] * (w[i[1],] if w else 1.0) + (b[i[1],] if b else 0.0))
