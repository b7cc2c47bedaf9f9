"""Operators of our own that PyTorch keeps whole where it would take its own apart, differently on each device."""

import torch

_ATTENTION = (
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor"
)
_library = torch.library.Library("hidet", "FRAGMENT")
_library.define(_ATTENTION)


@torch.library.impl(_library, "scaled_dot_product_attention", "CompositeExplicitAutograd")
def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


@torch.library.register_fake("hidet::scaled_dot_product_attention", lib=_library)
def _attention_fake(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


def _has_equal_batches(n):
    """Whether q, k and v are of equal batches, so that nothing of them repeats but heads."""
    shapes = [a.meta["example_value"].shape for a in n.args[:3]]
    end = -3 if n.kwargs.get("enable_gqa") else -2
    return shapes[1][:-2] == shapes[2][:-2] and all(s[:end] == shapes[0][:end] for s in shapes)


def kept_whole(gm):
    """Changes a graph that Dynamo traced: attention becomes the operator above, which does the same."""
    for n in gm.graph.nodes:
        if n.target is torch.nn.functional.scaled_dot_product_attention and len(n.args) >= 3 and _has_equal_batches(n):
            n.target = torch.ops.hidet.scaled_dot_product_attention.default
    gm.recompile()
    return gm
