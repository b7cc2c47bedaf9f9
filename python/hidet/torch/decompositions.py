"""Operators of ATen in terms of others: what PyTorch's own rules leave whole, and there is no function in ops/aten for."""

import functools
from math import prod

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from hidet.torch import aten, operators  # noqa: F401 operators: torch.ops.hidet

_aten = torch.ops.aten


@functools.cache
def table():
    """{overload: function} of what is taken apart for us."""
    found = {k: v for k, v in core_aten_decompositions().items() if aten.operation_of(k) is None or aten.is_other(k)}
    found.update(get_decompositions([_aten._native_batch_norm_legit]))
    return {**found, **_own()}


def table_with_views():
    """The same, without the views of which only the elements are left there."""
    return {k: v for k, v in table().items() if k is not _aten.as_strided.default}


def _own():
    return {
        _aten.__lshift__.Scalar: _aten.bitwise_left_shift.Tensor_Scalar,
        _aten.__lshift__.Tensor: _aten.bitwise_left_shift.Tensor,
        _aten.__rshift__.Scalar: _aten.bitwise_right_shift.Tensor_Scalar,
        _aten.__rshift__.Tensor: _aten.bitwise_right_shift.Tensor,
        _aten._trilinear.default: _trilinear,
        _aten.as_strided.default: _as_strided,
        _aten.histc.default: _histc,
        _aten._embedding_bag.default: _embedding_bag,
        _aten._embedding_bag_forward_only.default: _embedding_bag,
        _aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    }


def _trilinear(a, b, c, expand1, expand2, expand3, sumdim, unroll_dim=1):
    """The sum of a · b · c along axes; each is repeated along others."""

    def repeated(x, axes):
        return functools.reduce(torch.unsqueeze, sorted(axes), x)

    product = repeated(a, expand1) * repeated(b, expand2) * repeated(c, expand3)
    return product.sum(sumdim) if sumdim else product


def _is_row_by_row(size, stride):
    """Whether the elements lie without gaps, the last axis first. An axis with one element has any stride."""
    expected = 1
    for n, step in zip(reversed(size), reversed(stride), strict=True):
        if n != 1 and step != expected:
            return False
        expected *= n
    return True


def _as_strided(x, size, stride, storage_offset=None):
    """Elements by their places in memory, where that is the whole of a tensor's. PyTorch also keeps strides of channels last by
    it where images have one element: that is a view."""
    offset = x.storage_offset() if storage_offset is None else storage_offset
    is_whole = x.is_contiguous() and x.storage_offset() == 0 and x.untyped_storage().nbytes() == x.numel() * x.element_size()
    if not is_whole:
        return NotImplemented
    if offset == 0 and prod(size) == x.numel() and _is_row_by_row(size, stride):
        return x.view(size)
    if not all(isinstance(n, int) for n in (*x.shape, *size, *stride, offset)):
        return NotImplemented
    places = torch.full([1] * len(size), offset, dtype=torch.long, device=x.device)
    for d, (n, step) in enumerate(zip(size, stride, strict=True)):
        places = places + (torch.arange(n, device=x.device) * step).view([n if i == d else 1 for i in range(len(size))])
    return x.reshape(-1)[places]


def _histc(x, bins=100, min=0, max=0):
    """How many elements are in each of equal parts of an interval, which is known."""
    if not min < max:
        return NotImplemented
    x = x.flatten()
    place = ((x - min) * (bins / (max - min))).floor().clamp(0, bins - 1).long()
    return x.new_zeros(bins).index_add(0, place, ((x >= min) & (x <= max)).to(x.dtype))


def _embedding_bag(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, scales=None, include_last_offset=False, padding_idx=-1
):
    """Sums (mode 0) or means (1) of rows between offsets; the other results are those that gradients need, without elements."""
    if mode not in (0, 1):
        return NotImplemented
    offsets = offsets[:-1] if include_last_offset else offsets
    count, places = offsets.shape[0], torch.arange(indices.shape[0], device=indices.device)
    bag = (places[:, None] >= offsets[None, :]).sum(1) - 1
    rows = weight[indices] if scales is None else weight[indices] * scales[:, None]
    read = torch.ones_like(indices) if padding_idx < 0 else (indices != padding_idx).to(indices.dtype)
    sums = weight.new_zeros(count, weight.shape[1]).index_add(0, bag, rows * read[:, None].to(rows.dtype))
    sizes = torch.zeros_like(offsets).index_add(0, bag, read.to(offsets.dtype))
    result = sums if mode == 0 else sums / sizes.clamp(min=1)[:, None].to(sums.dtype)
    return result, bag, sizes, torch.zeros_like(offsets)


def _encoder_layer(
    x, width, heads, qkv_w, qkv_b, out_w, out_b, use_gelu, norm_first, eps, w1, b1, w2, b2, up_w, up_b, down_w, down_b, mask=None,
    mask_type=None,
):  # fmt: skip
    """torch.nn.TransformerEncoderLayer for inference. [mask]: what is hidden: of queries and keys (mask_type 0), of keys (1), or
    of both for each batch (2)."""
    linear, norm = torch.nn.functional.linear, torch.nn.functional.layer_norm
    if mask is not None:
        shown = ~mask if mask.dtype == torch.bool else mask == 0
        mask = shown[:, None, None, :] if mask_type == 1 else shown

    def attention(x):
        batch, length = x.shape[:2]
        parts = linear(x, qkv_w, qkv_b).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
        made = torch.ops.hidet.scaled_dot_product_attention(*parts, mask)
        return linear(made.transpose(1, 2).reshape(batch, length, width), out_w, out_b)

    def feed(x):
        y = linear(x, up_w, up_b)
        return linear(torch.nn.functional.gelu(y) if use_gelu else torch.relu(y), down_w, down_b)

    if norm_first:
        x = x + attention(norm(x, (width,), w1, b1, eps))
        return x + feed(norm(x, (width,), w2, b2, eps))
    x = norm(x + attention(x), (width,), w1, b1, eps)
    return norm(x + feed(x), (width,), w2, b2, eps)
