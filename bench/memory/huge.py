#!/usr/bin/env python3
"""Checks operators on tensors of more than 2^32 elements: rows of the beginning, of the end and around 2^31 and 2^32 are compared with
PyTorch in f32, and so are whole results that have no more than one element for each row or column.

    bench/memory/huge.py --library ours.so --runtime libhdsrt.so

ours.so: of bench/memory/ours.hds. Needs PyTorch and a GPU with 64 GB.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--runtime")
    args = parser.parse_args()
    import torch
    from memory.library import Libraries

    torch.cuda.init()
    generator = torch.Generator("cuda").manual_seed(7)
    x = torch.empty(M, N, dtype=torch.float16, device="cuda")
    for i in range(0, M, 65536):
        x[i:i + 65536].normal_(generator=generator)
    libraries, problems, passed = Libraries([args.library], args.runtime), [], 0

    def call(name, *tensors, **scalars):
        dtypes = {torch.float16: "f16", torch.float32: "f32", torch.int32: "i32"}
        operands = [header.Operand(tuple(t.shape), dtypes[t.dtype], i == len(tensors) - 1) for i, t in enumerate(tensors)]
        libraries.call(name, operands, [t.data_ptr() for t in tensors], {"eps": operators.EPSILON, **scalars})(
            torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()

    def compare(name, found, expected):
        nonlocal passed
        if torch.allclose(found.float(), expected.float(), rtol=2e-3, atol=2e-3):
            passed += 1
        else:
            problems.append(f"{name}: off by {float((found.float() - expected.float()).abs().max())}")

    y = torch.empty_like(x)
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
        compare(name, row.to(torch.int64), expected.to(torch.int64)) if dtype == torch.int32 else compare(name, row, expected)
    column = torch.empty(N, dtype=torch.float16, device="cuda")
    call("column_max_f16", x, column)
    compare("column_max_f16", column, torch.stack([x[i:i + 65536].amax(0) for i in range(0, M, 65536)]).amax(0))
    for problem in problems:
        print(f"failed: {problem}")
    print(f"{passed} passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
