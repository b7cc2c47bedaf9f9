#!/usr/bin/env python3
"""Checks operators on tensors of more than 2^32 elements: rows of the beginning, of the end and around 2^31 and 2^32 are compared with
PyTorch in f32, and so are whole results that have few elements for each row or column. Reductions of 2^31 elements and more to few
numbers are compared with f64, and integers exactly, and so are moves.

    bench/memory/huge.py --library ours.so huge.so --runtime libhdsrt.so

ours.so, huge.so: of bench/memory/ours.hds and huge.hds. Needs PyTorch and a GPU with 80 GB.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from memory import header, operators  # noqa: E402

M, N = 1_048_640, 4104  # 2^32 + 8.6 million elements
PART = 256


def parts():
    """The rows that are compared."""
    middles = [2**31 // N, 2**32 // N]
    return [(max(0, min(m - PART // 2, M - PART)), PART) for m in (0, *middles, M)]


class Checks:
    """Calls of functions, and what came of comparisons."""

    def __init__(self, torch, libraries):
        self.torch, self.libraries, self.problems, self.passed = torch, libraries, [], 0
        self.dtypes = {torch.float16: "f16", torch.float32: "f32", torch.int32: "i32", torch.int64: "i64", torch.int8: "i8",
                       torch.bool: "bool"}

    def call(self, name, *tensors):
        operands = [header.Operand(tuple(t.shape), self.dtypes[t.dtype], i == len(tensors) - 1) for i, t in enumerate(tensors)]
        addresses = [t.data_ptr() for t in tensors]
        self.libraries.call(name, operands, addresses, {"eps": operators.EPSILON})(self.torch.cuda.current_stream().cuda_stream)
        self.torch.cuda.synchronize()

    def compare(self, name, found, expected, rtol=2e-3, atol=2e-3):
        """Integers and bools are equal."""
        torch = self.torch
        if found.dtype.is_floating_point:
            is_right = torch.allclose(found.double(), expected.double(), rtol=rtol, atol=atol)
        else:
            is_right = torch.equal(found, expected.to(found.dtype))
        if is_right:
            self.passed += 1
        else:
            self.problems.append(f"{name}: off by {float((found.double() - expected.double()).abs().max())}")

    def reduce(self, name, x, dtype, expected, shape=(), **tolerances):
        """The function's result, of that shape, is what is expected."""
        torch = self.torch
        y = torch.full(shape, 77 if dtype != torch.bool else not bool(expected), dtype=dtype, device="cuda")
        self.call(name, x, y)
        self.compare(f"{name}, {list(x.shape)}", y, torch.as_tensor(expected, device="cuda"), **tolerances)


def by_parts(x, f, count=65536):
    """f of so many rows at a time, in f64, as a list."""
    return [f(x[i:i + count].double()) for i in range(0, len(x), count)]


def moments(torch, x):
    """(sum, mean, variance of a sample) of all elements, in f64."""
    total = sum(by_parts(x, torch.sum))
    mean = total / x.numel()
    return total, mean, sum(by_parts(x, lambda v: (v - mean).square().sum())) / (x.numel() - 1)


def check_floats(checks, x):
    """Sums of f32 differ in their order: a chain of a thread adds some 4000 elements. Results of f16 are rounded to 2^-11."""
    torch = checks.torch
    total, mean, variance = moments(torch, x)
    if x.dtype == torch.float32:
        checks.reduce("sum_of_all_f32", x, torch.float32, total, rtol=1e-5, atol=0)
        checks.reduce("mean_of_all_f32", x, torch.float32, mean, rtol=1e-5, atol=0)
        checks.reduce("var_of_all_f32", x, torch.float32, variance, rtol=1e-5, atol=0)
    else:
        checks.reduce("mean_of_all_f16", x, torch.float16, mean, rtol=1e-3, atol=1e-7)  # about 10^-5: sums cancel
        checks.reduce("var_of_all_f16", x, torch.float16, variance, rtol=1e-3, atol=0)


def first_numbers(positions, shape, kept):
    """The least number, among the other axes', of the elements at these positions, for each index of the axis `kept` of three."""
    found = [[] for _ in range(shape[kept])]
    for p in positions:
        index = [p // (shape[1] * shape[2]), p // shape[2] % shape[1], p % shape[2]]
        a, b = (axis for axis in range(3) if axis != kept)
        found[index[kept]].append(index[a] * shape[b] + index[b])
    return [min(numbers) for numbers in found]


def check_indices(checks, x):
    """The largest and the smallest elements are beyond the first 2^32, adjacent and apart, and once more further on.
    Two rows apart from each other, with and without whole 16-byte vectors; two columns."""
    torch, flat = checks.torch, x.view(-1)
    near = (0, 1, 513, N)
    top, low = [2**32 + 12345 + d for d in near], [2**32 + 6_000_000 + d for d in near]
    for value, positions in ((100, top), (-100, low)):
        for p in positions:
            flat[p] = flat[p + 2_000_000] = value
    checks.reduce("max_of_all_f16", x, torch.float16, 100.0, rtol=0, atol=0)
    checks.reduce("argmax_of_all_f16", x, torch.int64, top[0])
    checks.reduce("argmax_of_vector_f16", flat, torch.int64, top[0])
    for last in (N, 513):
        v = x.view(-1, 2, last)
        means = sum(by_parts(v, lambda part: part.sum((0, 2)), 2**28 // last)) / (x.numel() // 2)
        checks.reduce("mean_around_f16", v, torch.float16, means, (2,), rtol=1e-3, atol=1e-7)
        checks.reduce("argmin_around_f16", v, torch.int64, first_numbers(low, v.shape, 1), (2,))
    v = x.view(M, N // 2, 2)
    checks.reduce("argmax_of_columns_f16", v, torch.int64, first_numbers(top, v.shape, 2), (2,))


def check_conditions(checks, x):
    """Counts are exact; one element among all is enough for a condition."""
    torch, flags = checks.torch, x > 0
    checks.reduce("sum_of_all_bool", flags, torch.int64, sum(int(flags[i:i + 65536].sum()) for i in range(0, M, 65536)))
    for value, name in ((False, "any_of_all"), (True, "all_of_all")):
        flags.fill_(value)
        checks.reduce(name, flags, torch.bool, value)
        flags.view(-1)[2**32 + 77] = not value
        checks.reduce(name, flags, torch.bool, not value)


def check_tall_columns(checks):
    """Sixteen columns of more than 2^31 bytes, in 16-byte vectors: 34 GB."""
    torch = checks.torch
    x = torch.empty(65600, 32768, 16, dtype=torch.int8, device="cuda")
    parts = [x[i:i + 512] for i in range(0, len(x), 512)]
    generator = torch.Generator("cuda").manual_seed(8)
    expected = sum(part.random_(-128, 128, generator=generator).sum((0, 1), dtype=torch.int64) for part in parts)
    checks.reduce("sum_of_columns_i8", x, torch.int64, expected, (16,))


def check_layer_norm(checks, x, y):
    """Of two rows of more than 2^31 elements each."""
    half = M // 2
    y.fill_(float("nan"))
    checks.call("layer_norm_of_two_f16", x.view(2, half, N), y.view(2, half, N))
    of_rows = [moments(checks.torch, x[i:i + half]) for i in (0, half)]
    for first, count in parts():
        _, mean, variance = of_rows[first // half]
        expected = (x[first:first + count].double() - mean) / (variance + operators.EPSILON).sqrt()
        checks.compare(f"layer_norm_of_two_f16, rows from {first}", y[first:first + count], expected)


def check_moves(checks, x, y, generator):
    """Elements are the same."""
    torch, flat = checks.torch, y.view(-1)
    exactly = dict(rtol=0, atol=0)
    y.fill_(float("nan"))
    checks.call("one_above_the_other_f16", x[:M // 2], x[M // 2:], y)
    for first, count in parts():
        checks.compare(f"one_above_the_other_f16, rows from {first}", y[first:first + count], x[first:first + count], **exactly)
    y.fill_(float("nan"))
    checks.call("rolled_f16", x, y)
    for first, count in parts():
        begin = first * N
        indices = (torch.arange(begin, begin + count * N, device="cuda") - 12345) % x.numel()
        checks.compare(f"rolled_f16, from {begin}", flat[begin:begin + count * N], x.view(-1)[indices], **exactly)
    at = torch.randint(x.numel(), (1_000_003,), device="cuda", generator=generator)
    taken = torch.empty(at.shape, dtype=x.dtype, device="cuda")
    checks.call("taken_f16", x, at, taken)
    checks.compare("taken_f16", taken, x.view(-1)[at], **exactly)
    few = torch.empty(M, 8, dtype=x.dtype, device="cuda")
    checks.call("first_eight_f16", x, few)
    checks.compare("first_eight_f16", few, torch.cat([x[i:i + 65536].topk(8).values for i in range(0, M, 65536)]), **exactly)


def check_rows(checks, x, y, generator):
    """Operators along rows of x, and along columns; y is memory for as many elements."""
    torch, call, compare = checks.torch, checks.call, checks.compare
    weight, bias = (torch.randn(N, dtype=torch.float16, device="cuda", generator=generator) for _ in range(2))
    wide = {
        "softmax_f16": ((x, y), lambda v, i: torch.softmax(v, -1)),
        "layer_norm_f16": ((x, weight, bias, y), lambda v, i: operators.layer_norm(v, weight.float(), bias.float())),
        "bias_gelu_add_f16": ((x, bias, x, y), lambda v, i: operators.bias_gelu_add(v, bias.float(), v)),
        "cumsum_f16": ((x, y), lambda v, i: torch.cumsum(v, -1).half()),
    }
    for name, (tensors, meaning) in wide.items():
        y.fill_(float("nan"))
        call(name, *tensors)
        for first, count in parts():
            tolerance = 64 if name.startswith("cumsum") else 1  # sums are some hundreds, rounded to f16
            compare(f"{name}, rows from {first}", y[first:first + count] / tolerance,
                    meaning(x[first:first + count].float(), first) / tolerance)
    turned = y.view(-1)[:M * N].view(N, M)
    call("transpose_f16", x, turned)
    for first, count in parts():
        compare(f"transpose_f16, columns from {first}", turned[:, first:first + count].t(), x[first:first + count])
    for name, dtype, meaning in (("row_max_f16", torch.float16, lambda v: v.amax(-1)),
                                 ("argmax_f16", torch.int32, operators.first_argmax)):
        row = torch.empty(M, dtype=dtype, device="cuda")
        call(name, x, row)
        expected = torch.cat([meaning(x[i:i + 65536].float()) for i in range(0, M, 65536)])
        compare(name, row, expected)
    column = torch.empty(N, dtype=torch.float16, device="cuda")
    call("column_max_f16", x, column)
    compare("column_max_f16", column, torch.stack([x[i:i + 65536].amax(0) for i in range(0, M, 65536)]).amax(0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, nargs="+")
    parser.add_argument("--runtime")
    args = parser.parse_args()
    import torch
    from memory.library import Libraries

    torch.cuda.init()
    generator = torch.Generator("cuda").manual_seed(7)
    x = torch.empty(M, N, dtype=torch.float16, device="cuda")
    for i in range(0, M, 65536):
        x[i:i + 65536].normal_(generator=generator)
    y = torch.empty_like(x)
    checks = Checks(torch, Libraries(args.library, args.runtime))
    check_rows(checks, x, y, generator)
    check_moves(checks, x, y, generator)
    check_layer_norm(checks, x, y)
    del y
    check_conditions(checks, x)
    check_floats(checks, x)
    check_floats(checks, x.float().add_(0.5))
    check_indices(checks, x)
    del x
    check_tall_columns(checks)
    for problem in checks.problems:
        print(f"failed: {problem}")
    print(f"{checks.passed} passed, {len(checks.problems)} failed")
    sys.exit(1 if checks.problems else 0)


if __name__ == "__main__":
    main()
