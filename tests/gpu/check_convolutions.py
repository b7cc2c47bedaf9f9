#!/usr/bin/env python3
"""The convolutions of libhdsops on a GPU, against PyTorch's in f64: generated shapes, types, layouts, groups and activations.

    check_convolutions.py libhdsops.so [--runtime=libhdsrt.so] [--seed=N] [--count=N]

Operands are small whole numbers, whose sums are exact; results are rounded once, and activations are within the type's bound.
Exit code: 1 if one is wrong, 2 without a GPU.
"""

import argparse
import ctypes
import random
import sys

import torch
import torch.nn.functional as F


class Tensor(ctypes.Structure):
    """DLTensor, which hdsrt_tensor is."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Options(ctypes.Structure):
    """hds_conv_options"""

    _fields_ = [
        ("bytes", ctypes.c_size_t),
        ("layout", ctypes.c_int),
        ("stride", ctypes.c_int32 * 2),
        ("before", ctypes.c_int32 * 2),
        ("after", ctypes.c_int32 * 2),
        ("dilation", ctypes.c_int32 * 2),
        ("groups", ctypes.c_int32),
        ("bias", ctypes.POINTER(Tensor)),
        ("activation", ctypes.c_int),
        ("math", ctypes.c_int),
    ]


CODES = {torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.float32: (2, 32)}
BOUNDS = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5}
ACTIVATIONS = [lambda x: x, F.relu, F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.silu]


def described(x):
    """The tensor, which has to outlive this, as C has it."""
    code, bits = CODES[x.dtype]
    shape = (ctypes.c_int64 * x.dim())(*x.shape)
    return Tensor(x.data_ptr(), 2, 0, x.dim(), code, bits, 1, shape, None, 0)


def whole(numbers, shape, dtype):
    return torch.randint(-3, 4, shape, generator=numbers, device="cuda").to(dtype)


def last(x):
    """Of channels first: the same with channels last, contiguous."""
    return x.movedim(1, -1).contiguous()


class Case:
    def __init__(self, chosen, numbers):
        self.axes, self.transposed = chosen.choice([1, 2, 2, 2]), chosen.random() < 0.25
        self.dtype, self.tf32 = chosen.choice(list(CODES)), False
        if self.dtype == torch.float32 and not self.transposed:
            self.tf32 = chosen.random() < 0.5
        self.last = chosen.random() < 0.5
        self.groups = chosen.choice([1, 1, 1, 2, 3, 8])
        inputs, outputs = chosen.choice([1, 3, 8, 16, 20, 64]), chosen.choice([1, 4, 8, 16, 24, 64, 136])
        if chosen.random() < 0.2:  # depthwise
            self.groups, inputs, outputs = chosen.choice([8, 24, 64]), 1, 1
        inputs, outputs = inputs * self.groups, outputs * self.groups
        taps = [chosen.choice([1, 2, 3, 3, 5, 7]) for _ in range(self.axes)]
        self.stride = [chosen.choice([1, 1, 2, 3]) for _ in taps]
        self.dilation = [chosen.choice([1, 1, 2]) for _ in taps]
        self.before = [chosen.randint(0, r) for r in taps]
        self.after = [chosen.randint(0, r) for r in taps]
        if self.transposed:
            self.before = [min(b, d * (r - 1)) for b, d, r in zip(self.before, self.dilation, taps, strict=True)]
            self.after = self.before
        extents = [chosen.randint(d * (r - 1) + 1, d * (r - 1) + 40) for r, d in zip(taps, self.dilation, strict=True)]
        self.activation = chosen.choice([0, 0, 1, 2, 3, 4])
        self.x = whole(numbers, [chosen.choice([1, 2, 5]), inputs, *extents], self.dtype)
        weights = [inputs, outputs // self.groups] if self.transposed else [outputs, inputs // self.groups]
        self.w = whole(numbers, weights + taps, self.dtype)
        self.bias = whole(numbers, [outputs], self.dtype) if chosen.random() < 0.5 else None

    def __str__(self):
        kind = f"hds_conv{'_transpose' if self.transposed else ''}{self.axes}d"
        return (
            f"{kind} {self.dtype}{' tf32' if self.tf32 else ''} x {list(self.x.shape)} w {list(self.w.shape)} "
            f"groups {self.groups} stride {self.stride} padding {self.before}, {self.after} "
            f"dilation {self.dilation} activation {self.activation} "
            f"{'channels last' if self.last else 'channels first'} {'bias' if self.bias is not None else ''}"
        )

    def wanted(self):
        x, w, b = (None if t is None else t.double() for t in (self.x, self.w, self.bias))
        if self.transposed:
            call = F.conv_transpose1d if self.axes == 1 else F.conv_transpose2d
            y = call(x, w, b, stride=self.stride, padding=self.before, groups=self.groups, dilation=self.dilation)
        else:
            call = F.conv1d if self.axes == 1 else F.conv2d
            sides = [n for pair in zip(reversed(self.before), reversed(self.after), strict=True) for n in pair]
            y = call(F.pad(x, sides), w, b, stride=self.stride, groups=self.groups, dilation=self.dilation)
        return ACTIVATIONS[self.activation](y)

    def options(self, bias):
        pairs = (self.stride + [1], self.before + [0], self.after + [0], self.dilation + [1])
        numbers = [(ctypes.c_int32 * 2)(*n[:2]) for n in pairs]
        return Options(ctypes.sizeof(Options), int(self.last), *numbers, self.groups, bias, self.activation, int(self.tf32))

    def run(self, library):
        """What is wrong, or None."""
        wanted = self.wanted()
        x, w = (last(t) if self.last else t.contiguous() for t in (self.x, self.w))
        shape = (last(wanted) if self.last else wanted).shape
        y = torch.full(shape, float("nan"), dtype=self.dtype, device="cuda")
        bias = ctypes.pointer(described(self.bias)) if self.bias is not None else None
        entry = library[str(self).split()[0]]
        entry.argtypes = [ctypes.POINTER(Tensor)] * 3 + [ctypes.POINTER(Options), ctypes.c_void_p]
        operands = [described(t) for t in (x, w, y)]
        stream = torch.cuda.current_stream().cuda_stream
        if entry(*map(ctypes.byref, operands), ctypes.byref(self.options(bias)), stream):
            library.hdsrt_last_error.restype = ctypes.c_char_p
            return library.hdsrt_last_error().decode()
        torch.cuda.synchronize()
        got = (y.movedim(-1, 1) if self.last else y).double()
        wrong = ~((got - wanted).abs() <= BOUNDS[self.dtype] * wanted.abs().clamp(min=1))
        return f"{int(wrong.sum())} of {wrong.numel()} results are wrong" if wrong.any() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--runtime")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("there is no GPU", file=sys.stderr)
        return 2
    if args.runtime:
        ctypes.CDLL(args.runtime, mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(args.library)
    chosen, numbers = random.Random(args.seed), torch.Generator("cuda").manual_seed(args.seed)
    wrong = 0
    for i in range(args.count):
        case = Case(chosen, numbers)
        problem = case.run(library)
        if problem:
            wrong += 1
            print(f"{i}: {case}: {problem}")
    print(f"{args.count} convolutions, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
