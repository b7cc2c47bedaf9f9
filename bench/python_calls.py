#!/usr/bin/env python3
"""What calls from Python cost, in microseconds of the host. Usage: PYTHONPATH=build/release/python bench/python_calls.py

On a GPU: a kernel with three tensors of PyTorch, an operator on two tensors, a compiled model beside PyTorch's own. Without one:
what a call does before the launch. torch.empty says how fast the machine is."""

import time

import torch

import hidet

ADD = """
from hidet.lang import attrs, f32
from hidet.lang.cuda import threadIdx


@hidet.script
def add[n: int](x: f32[n], y: f32[n], z: f32[n]):
    attrs.cuda.grid_dim = 1
    attrs.cuda.block_dim = 32
    for i in range(threadIdx.x, n, 32):
        z[i] = x[i] + y[i]
"""


def microseconds(function, count=5000):
    """The best mean of several rounds."""
    function()
    best = float("inf")
    for _ in range(7):
        hidet.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            function()
        best = min(best, (time.perf_counter() - start) / count)
        hidet.cuda.synchronize()
    return 1e6 * best


def show(what, function):
    print(f"{what:60} {microseconds(function):8.2f}")


def on_gpu():
    x, y, z = (torch.ones(1024, device="cuda") for _ in range(3))
    kernel = hidet.hds.loads(ADD).add
    show("kernel with three tensors of PyTorch", lambda: kernel(x, y, z))
    a, b = hidet.from_torch(x), hidet.from_torch(y)
    show("hidet.ops.add(a, b)", lambda: hidet.ops.add(a, b))
    show("a + b", lambda: a + b)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 64), torch.nn.ReLU()).cuda().eval()
    row = x.reshape(1, 1024)
    with torch.no_grad():
        compiled = torch.compile(model, backend="hidet", mode="reduce-overhead")
        torch.testing.assert_close(compiled(row), model(row), rtol=1e-4, atol=1e-4)
        show("compiled model, Dynamo's guards included", lambda: compiled(row))
        show("the same in PyTorch", lambda: model(row))


def on_host():
    """A wrong extent is refused after the arguments were read."""
    x, y, z = (torch.ones(1024) for _ in range(3))
    kernel = hidet.hds.loads(ADD).add

    def refused():
        try:
            kernel(x, y, z, 7)
        except hidet.ArgumentError:
            pass

    show("three tensors of PyTorch are read and refused", refused)


def main():
    show("torch.empty(4)", lambda: torch.empty(4))
    if hidet.cuda.available():
        on_gpu()
    else:
        on_host()


if __name__ == "__main__":
    main()
