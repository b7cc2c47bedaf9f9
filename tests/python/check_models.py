#!/usr/bin/env python3
"""Compiles models of torchvision and transformers with torch.compile(backend="hidet") on the simulator and compares with PyTorch.

Usage: check_models.py FOLDER [--only=REGEX] [--trace] [--write=FILE]

FOLDER has the package, a build's folder python. Models have random weights and, where they have a choice, few and small layers;
images have 32 × 32 or 64 × 64 pixels, texts 8 tokens. A model is whole if Dynamo makes one graph of it and all of that graph is
ours. --trace: shows what would stay with PyTorch, without running anything of ours. --write: the lists of docs/aten.md. Exits
with 77 where a package is missing, with 1 if a model differs."""

import logging
import re
import sys
import textwrap
import time
import warnings

import torch_arguments

ARGUMENTS = torch_arguments.read(("--trace", {"action": "store_true"}))
try:
    import torch
    import torchvision
    import transformers
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

from hidet.torch import backend  # noqa: E402

# ---- torchvision ----------------------------------------------------------------------------------------------------------

# As they are, with 10 classes; the number is the extent of the image.
VISION = {
    "alexnet": 64,
    "squeezenet1_0": 64,
    "squeezenet1_1": 64,
    "vgg11": 32,
    "vgg11_bn": 32,
    "resnet18": 32,
    "resnet34": 32,
    "resnet50": 32,
    "resnext50_32x4d": 32,
    "wide_resnet50_2": 32,
    "densenet121": 32,
    "googlenet": 32,
    "inception_v3": 75,
    "mobilenet_v2": 32,
    "mobilenet_v3_small": 32,
    "mobilenet_v3_large": 32,
    "mnasnet0_5": 32,
    "mnasnet1_0": 32,
    "shufflenet_v2_x0_5": 32,
    "shufflenet_v2_x1_0": 32,
    "efficientnet_b0": 32,
    "efficientnet_v2_s": 32,
    "regnet_x_400mf": 32,
    "regnet_y_400mf": 32,
}


def vision(name, extent):
    """A model of torchvision and an image."""
    more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, num_classes=10, **more), (torch.randn(1, 3, extent, extent),)


def small_vision():
    """Models whose layers can be chosen."""
    from torchvision.models import convnext, maxvit, swin_transformer, vision_transformer

    blocks = [convnext.CNBlockConfig(16, 32, 1), convnext.CNBlockConfig(32, None, 1)]
    swin = {"patch_size": [4, 4], "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": [4, 4]}
    swin["num_classes"] = 10
    window = swin_transformer
    image = (torch.randn(1, 3, 32, 32),)
    return {
        "convnext": lambda: (convnext.ConvNeXt(blocks, num_classes=10), image),
        "vit": lambda: (vision_transformer.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), image),
        "swin": lambda: (window.SwinTransformer(**swin), image),
        "swin_v2": lambda: (
            window.SwinTransformer(
                **swin, block=window.SwinTransformerBlockV2, downsample_layer=window.PatchMergingV2
            ),
            image,
        ),
        "maxvit": lambda: (
            maxvit.MaxVit((32, 32), 16, 4, [16, 32], [1, 1], 16, 0.0, num_classes=10),
            image,
        ),
    }


# ---- transformers ---------------------------------------------------------------------------------------------------------

TEXT = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 48,
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "head_dim": 16,
    "use_cache": False,
}
IMAGE = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "image_size": 32,
    "patch_size": 8,
}
PAIR = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "use_cache": False,
}
T5 = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 1, "num_heads": 2, "vocab_size": 64, "use_cache": False}
# Models of stages have the extents of layers stage by stage.
NO_LAYERS = {"hidden_size": None, "num_hidden_layers": None, "num_attention_heads": None, "intermediate_size": None}
STAGES = {**NO_LAYERS, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4, "patch_size": 4}
# The name of the model without "Model": what is changed in the configuration, and what else it takes.
ENCODERS = {
    "Albert": {"embedding_size": 16},
    "Bert": {},
    "Camembert": {},
    "ConvBert": {"embedding_size": 32},
    "Data2VecText": {},
    "Deberta": {},
    "DebertaV2": {},
    "DistilBert": {"dim": 32, "n_heads": 2, "n_layers": 1, "hidden_dim": 48},
    "Electra": {"embedding_size": 16},
    "Ernie": {},
    "Esm": {},
    "FNet": {},
    "IBert": {},
    "LayoutLM": {},
    "MPNet": {},
    "MegatronBert": {},
    "MobileBert": {"embedding_size": 16, "intra_bottleneck_size": 32, "true_hidden_size": 32},
    "ModernBert": {},
    "Nystromformer": {},
    "RemBert": {"input_embedding_size": 16, "output_embedding_size": 32},
    "Roberta": {},
    "RobertaPreLayerNorm": {},
    "RoCBert": {"enable_pronunciation": False, "enable_shape": False},
    "RoFormer": {},
    "SqueezeBert": {"embedding_size": 32, "q_groups": 1, "k_groups": 1, "v_groups": 1},
    "XLMRoberta": {},
    "XLM": {"emb_dim": 32, "n_layers": 1, "n_heads": 2},
    "Yoso": {},
}
DECODERS = {
    "Apertus": {},
    "Arcee": {},
    "BioGpt": {},
    "BitNet": {},
    "Bloom": {"n_layer": 1, "n_head": 2},
    "CTRL": {"n_embd": 32, "n_layer": 1, "n_head": 2, "dff": 48},
    "CodeGen": {"n_embd": 32, "n_layer": 1, "n_head": 4, "rotary_dim": 4, "n_positions": 64},
    "Cohere": {},
    "Cohere2": {},
    "DiffLlama": {"num_key_value_heads": 2},
    "Falcon": {"head_dim": None},
    "GPT2": {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64},
    "GPTBigCode": {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64},
    "GPTJ": {"n_embd": 32, "n_layer": 1, "n_head": 2, "rotary_dim": 8, "n_positions": 64},
    "GPTNeo": {"num_layers": 1, "num_heads": 2, "attention_types": [[["global"], 1]]},
    "GPTNeoX": {},
    "Gemma": {},
    "Gemma2": {},
    "Gemma3Text": {},
    "Glm": {},
    "Granite": {},
    "Helium": {},
    "Llama": {},
    "Mistral": {},
    "Mpt": {"d_model": 32, "n_layers": 1, "n_heads": 2, "max_seq_len": 64},
    "Nemotron": {},
    "OPT": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "Olmo": {},
    "Olmo2": {},
    "OpenAIGPT": {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64},
    "Persimmon": {},
    "Phi": {},
    "Phi3": {},
    "Qwen2": {},
    "Qwen3": {},
    "SmolLM3": {},
    "StableLm": {},
    "Starcoder2": {},
    "XGLM": {"d_model": 32, "num_layers": 1, "attention_heads": 2, "ffn_dim": 48},
}
PAIRS = {
    **{name: PAIR for name in ("Bart", "BlenderbotSmall", "MBart", "Marian", "PLBart", "Pegasus")},
    **{name: T5 for name in ("T5", "MT5")},
}
IMAGES = {
    "Beit": {},
    "CLIPVision": {},
    "DeiT": {},
    "Dinov2": {},
    "SiglipVision": {},
    "ViT": {},
    "ViTMSN": {},
    "Yolos": {"image_size": [32, 32]},
    "Swin": STAGES,
    "Swinv2": STAGES,
    "ConvNext": {**NO_LAYERS, "hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    "ConvNextV2": {**NO_LAYERS, "hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    "ResNet": {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]},
    "MobileNetV1": {"image_size": 32},
    "MobileNetV2": {"image_size": 32},
    "PoolFormer": {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1]},
    "Segformer": {"hidden_sizes": [16, 32], "depths": [1, 1], "num_encoder_blocks": 2, "num_attention_heads": [1, 2]},
}


def transformer(name, config, inputs):
    """A model of transformers."""
    made = getattr(transformers, f"{name}Config")(**config)
    return getattr(transformers, f"{name}Model")(made), inputs


def transformer_models():
    """{name: a function that makes (model, inputs)}."""
    ids = torch.randint(3, 60, (1, 8))
    text, pair = {"input_ids": ids}, {"input_ids": ids, "decoder_input_ids": ids}
    image = {"pixel_values": torch.randn(1, 3, 32, 32)}
    found = {}
    kinds = ((TEXT, text, ENCODERS), (TEXT, text, DECODERS), ({}, pair, PAIRS), (IMAGE, image, IMAGES))
    for base, inputs, names in kinds:
        for name, more in names.items():
            config = {k: v for k, v in {**base, **more}.items() if v is not None}
            found[name] = lambda name=name, config=config, inputs=inputs: transformer(name, config, inputs)
    return found


# ---- running them -----------------------------------------------------------------------------------------------------------


class Left(logging.Handler):
    """Collects what stays with PyTorch."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def tensors_of(result):
    """The tensors of floats of a result."""
    leaves = torch.utils._pytree.tree_leaves(dict(result) if isinstance(result, dict) else result)
    return [x for x in leaves if isinstance(x, torch.Tensor)]


def call(model, inputs):
    return tensors_of(model(**inputs) if isinstance(inputs, dict) else model(*inputs))


def checked(make):
    """(verdict, remarks) of a model."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    left = Left()
    logging.getLogger("hidet").handlers[:] = [left]
    model, inputs = make()
    model = model.float().eval()
    expected = call(model, inputs)
    try:
        actual = call(torch.compile(model, backend="hidet", fullgraph=True), inputs)
    except torch._dynamo.exc.Unsupported as error:
        left.lines.append("Dynamo breaks the graph: " + str(error).splitlines()[0])
        torch._dynamo.reset()
        actual = call(torch.compile(model, backend="hidet"), inputs)
    for mine, theirs in zip(actual, expected):
        bound = 1e-3 * max(1.0, theirs.abs().max().item()) if theirs.is_floating_point() else 0
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=bound, equal_nan=True)
    return ("partly" if left.lines else "whole"), sorted(set(left.lines))


def models():
    found = {name: lambda name=name, n=n: vision(name, n) for name, n in VISION.items()}
    return {"torchvision": {**found, **small_vision()}, "transformers": transformer_models()}


def short(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {next((x for x in lines if 'error[' in x), lines[0])}"[:200]


def page(rows):
    """The part of docs about the models of one package."""
    whole = [name for name, verdict, _ in rows if verdict == "whole"]
    partly = sum(verdict == "partly" for _, verdict, _ in rows)
    lines = [f"{len(whole)} of {len(rows)} models are compiled whole and agree, {partly} with parts that stay with PyTorch."]
    lines += ["", *textwrap.wrap(f"Whole: {', '.join(whole)}.", 125), ""]
    if len(whole) < len(rows):
        lines += ["| model | result | reasons |", "|---|---|---|"]
    for name, verdict, why in rows:
        if verdict != "whole":
            # The operator says enough: the log has the rest.
            reasons = "; ".join(line.replace(" stays with PyTorch: there is no such operator", "") for line in why)
            lines.append(f"| {name} | {verdict} | {textwrap.shorten(reasons, 90, placeholder=' …')} |")
    return "\n".join(lines) + "\n"


def write(path, package, text):
    """Writes the part between the marks of a package."""
    first, last = f"<!-- check_models.py: {package} -->\n", f"<!-- end of {package} -->\n"
    with open(path, encoding="utf-8") as file:
        head, rest = file.read().split(first)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + first + "\n" + text + "\n" + last + rest.split(last)[1])


def timed(name, make):
    """The verdict on a model, which is printed, too."""
    start = time.monotonic()
    try:
        with torch.no_grad():
            verdict, why = checked(make)
    except Exception as error:  # noqa: BLE001 any failure is listed
        verdict, why = "fails", [short(error)]
    print(f"{name}: {verdict} ({time.monotonic() - start:.1f} s)", *why, sep="\n    ", flush=True)
    return verdict, why


def main():
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    logging.getLogger("hidet").propagate = False
    if ARGUMENTS.trace:
        backend.Partition.forward = lambda self, *args: self.inner(*args)
    failed = False
    for package, made in models().items():
        rows = []
        for name, make in made.items():
            if re.search(ARGUMENTS.only, name):
                rows.append((name, *timed(name, make)))
        if rows:
            print(f"{package}: {page(rows).splitlines()[0]}")
        if rows and ARGUMENTS.write:
            write(ARGUMENTS.write, package, page(rows))
        failed = failed or any(verdict == "fails" for _, verdict, _ in rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
