#!/usr/bin/env python3
"""What calls from Python cost, in microseconds of the host. Usage: PYTHONPATH=build/release/python bench/python_calls.py

What is ours of a call without the launch; on a GPU also with it: a kernel with three tensors of PyTorch, an operator on two
tensors, a compiled model beside PyTorch's own. torch.empty says how fast the machine is."""

import time
from unittest import mock

import torch

import hidet
from hidet import _core

MODEL = _core.Model
ADD = """
from hidet.lang import attrs, f32
from hidet.lang.cuda import blockIdx, threadIdx


@hidet.script
def add[n: int](x: f32[n], y: f32[n], z: f32[n]):
    attrs.cuda.grid_dim = (n + 1023) // 1024
    attrs.cuda.block_dim = 32
    for i in range(threadIdx.x + 1024 * blockIdx.x, min(n, 1024 * blockIdx.x + 1024), 32):
        z[i] = x[i] + y[i]
"""


def microseconds(function, count=500):
    """The best mean of many short rounds, which what else runs on the machine leaves alone."""
    function()
    best = float("inf")
    for _ in range(100):
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
    empty = [torch.ones(0, device="cuda") for _ in range(3)]
    show("the same without elements, for which the driver launches nothing", lambda: kernel(*empty))
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


def nothing(*ignored):
    """Takes the place of a launch."""


class Idle:
    """A model that does nothing."""

    def __init__(self, *arguments):
        self.parameters = MODEL(*arguments).parameters

    __call__ = nothing


def own_shares():
    """What is ours of a call, without the launch: programs that do nothing take their place."""
    from hidet.torch import backend

    a, b = hidet.ones([1024]), hidet.ones([1024])
    hidet.ops.add(a, b)
    hidet.ops.add(a, b)
    kept = {key: runner.function for key, runner in hidet.ops.add._fast.items()}
    for runner in hidet.ops.add._fast.values():
        runner.function = nothing
    show("hidet.ops.add(a, b), without the launch", lambda: hidet.ops.add(a, b))
    show("a + b, without the launch", lambda: a + b)
    for key, function in kept.items():
        hidet.ops.add._fast[key].function = function
    handed, compile_graph = [], backend.compile_graph

    def compiler(graph, inputs, **kwargs):
        function = compile_graph(graph, inputs, **kwargs)
        return lambda *given: handed.__setitem__(slice(None), (function, given)) or function(*given)

    for layers in (1, 10, 50, 200):
        torch._dynamo.reset()
        model = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(layers)), torch.nn.ReLU()).eval()
        with torch.no_grad(), mock.patch.object(_core, "Model", Idle):
            torch.compile(model, backend=compiler)(torch.ones(1, 16))
            function, given = handed
            show(f"compiled model of {2 * layers} weights, without guards and launch", lambda: function(*given))


def on_host():
    """A wrong extent is refused after the arguments were read; most of the time goes into the exception."""
    x, y, z = (torch.ones(1024) for _ in range(3))
    kernel = hidet.hds.loads(ADD).add

    def refused(*arguments):
        try:
            kernel(*arguments)
        except hidet.ArgumentError:
            pass

    show("three tensors of PyTorch are read and refused", lambda: refused(x, y, z, 7))
    numpy = [t.numpy() for t in (x, y, z)]
    show("three arrays of NumPy are read and refused", lambda: refused(*numpy, 7))


def main():
    show("torch.empty(4)", lambda: torch.empty(4))
    own_shares()
    if hidet.cuda.available():
        on_gpu()
    else:
        on_host()


if __name__ == "__main__":
    main()
