"""Brackets of tensors: numbers, slices, `...`, None, and one tensor of indices. Views share the memory."""

from hidet import _core
from hidet.tensor import Tensor, _at, asarray


def _items(x, index):
    """One item for each axis, and None for new ones."""
    items = list(index) if isinstance(index, tuple) else [index]
    taken = sum(i is not None and i is not Ellipsis for i in items)
    if taken > x.ndim:
        raise IndexError(f"{taken} indices for a tensor with {x.ndim} axes")
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has one '...' at most")
    at = dots[0] if dots else len(items)
    items[at : at + bool(dots)] = [slice(None)] * (x.ndim - taken)
    return items


def _number(i, extent, axis):
    i = i.__index__()
    if not -extent <= i < extent:
        raise IndexError(f"index {i} is outside of axis {axis}, whose extent is {extent}")
    return i % extent


def _view_of(x, items):
    """(extents, strides, first) of a view by numbers and slices."""
    shape, strides, first, axis = [], [], 0, 0
    steps = x._strides
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, step = x.shape[axis], steps[axis]
        if isinstance(item, slice):
            start, stop, by = item.indices(extent)
            shape.append(len(range(start, stop, by)))
            strides.append(step * by)
            first += start * step if shape[-1] else 0
        else:
            first += _number(item, extent, axis) * step
        axis += 1
    return tuple(shape), tuple(strides), first


def _is_index(item):
    return not isinstance(item, slice) and item is not None and hasattr(item, "__index__") and not isinstance(item, Tensor)


def get(x, index):
    """x[index]"""
    items = _items(x, index)
    tensors = [k for k, i in enumerate(items) if isinstance(i, Tensor) or hasattr(i, "__dlpack__") or isinstance(i, list)]
    if tensors:
        return _taken(x, items, tensors)
    if not all(i is None or isinstance(i, slice) or _is_index(i) for i in items):
        raise TypeError("indices are integers, slices, '...', None and one tensor of integers")
    if x.is_symbolic():
        return _symbolic(x, items)
    shape, strides, first = _view_of(x, items)
    dtype = x.dtype
    made = _at(x._view(shape, strides, first, dtype.code, dtype.bits), getattr(x, "_place", None))
    # Kernels know no strides below 0.
    return made._plain() if any(s < 0 for s in strides) else made


def _taken(x, items, tensors):
    from hidet import ops

    if len(tensors) > 1:
        raise TypeError("one index may be a tensor")
    at = tensors[0]
    indices = items[at] if isinstance(items[at], Tensor) else asarray(items[at])
    if indices.dtype.name == "boolean":
        raise TypeError(
            "a mask selects a number of elements that its values decide: hidet.ops.masked_select has a bound for it"
        )
    items[at] = slice(None)
    rest = get(x, tuple(items))
    # Axes that numbers took are gone, and new ones are there.
    axis = sum(i is None or isinstance(i, slice) for i in items[:at])
    place = x.device
    return ops.operation("take")(rest, indices if indices.device == place else indices.to(device=place), axis=axis)


def _symbolic(x, items):
    from hidet import ops

    kept = [i for i in items if i is not None]
    bounds = [
        i.indices(n) if isinstance(i, slice) else (_number(i, n, d), _number(i, n, d) + 1, 1)
        for d, (i, n) in enumerate(zip(kept, x.shape))
    ]
    if any(i.step is not None and i.step < 0 for i in kept if isinstance(i, slice)):
        raise IndexError("slices of symbolic tensors have steps above 0: hidet.ops.flip turns an axis")
    whole = all(b == (0, n, 1) for b, n in zip(bounds, x.shape))
    start, stop, step = (tuple(b[k] for b in bounds) for k in range(3))
    made = x if whole else ops.operation("slice")(x, start, stop, step)
    shape, axis = [], 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        if isinstance(item, slice):
            shape.append(made.shape[axis])
        axis += 1
    return ops.reshape(made, tuple(shape))


def set(x, index, value):
    """x[index] = value, of tensors in host memory."""
    if x.is_symbolic():
        raise _core.ArgumentError("elements of a symbolic tensor cannot be assigned")
    target = get(x, index)
    if target._data and target.storage is not x.storage:
        raise TypeError("elements are assigned by numbers and slices with steps above 0")
    if x._device[0] != 1:
        raise TypeError("elements of a tensor on a GPU cannot be assigned: hidet.ops.where and index_put make new tensors")
    array = target.numpy()
    array[...] = value.numpy() if isinstance(value, Tensor) else value
