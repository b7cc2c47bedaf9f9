"""`torch.compile(model, backend="hidet")`, and its settings, `hidet.torch.dynamo_config`.

PyTorch finds the backend by an entry point of the package; importing this module registers it as well.
"""

from hidet.torch.config import DynamoConfig, dynamo_config


def hidet_backend(gm, example_inputs, **kwargs):
    """The backend: what PyTorch's compiler calls with each graph that it has traced."""
    from hidet.torch import backend

    return backend.compile_graph(gm, example_inputs, **kwargs)


def explain(model, inputs, *, mode=None, options=None, dynamic=None):
    """What becomes of a model: which operators are in which kernel, the program, and what stays with PyTorch. Printed it is a
    text, in a notebook a page, and `save("page.html")` writes one."""
    from hidet.torch import _explain

    return _explain.explain(model, inputs, mode, options, dynamic)


def operation(name):
    """ATen's operator of that name, as `hidet.ops.operation` has those of the library: for rewrite rules of models that PyTorch
    compiles, whose graphs have nodes such as `hidet.torch.operation("gelu")(x)`."""
    from hidet.torch import aten

    if name not in aten.known:
        raise AttributeError(f"ops/aten has no operator {name!r}")
    return aten.known[name]


def register():
    """Makes the backend known to PyTorch in this process."""
    from torch._dynamo.backends.registry import _BACKENDS, register_backend

    if _BACKENDS.get("hidet") is None:
        register_backend(hidet_backend, name="hidet")


register()

__all__ = ["DynamoConfig", "dynamo_config", "explain", "hidet_backend", "operation", "register"]
