#!/usr/bin/env python3
"""Writes whole models as ONNX files, from torchvision and transformers with random weights; nothing is downloaded.

    export.py OUT                         all models, full size, by both exporters
    export.py OUT --small                 a few channels and layers each, some with open sizes: tests/onnx/exported
    export.py OUT bert gpt2 --by=dynamo   some of them, by one exporter

OUT/NAME.torchscript.onnx is by torch.onnx.export(dynamo=False), OUT/NAME.dynamo.onnx by dynamo=True. Beside each is
test_data_set_0 (input_0.pb, ..., output_0.pb) in OUT/NAME.EXPORTER, what PyTorch computes in f32. Needs torch, torchvision,
transformers, onnx and onnxscript.
"""

import argparse
import itertools
import pathlib
import shutil
import warnings

import numpy as np
import onnx
import torch
import torchvision
import transformers
from onnx import numpy_helper


class Model:
    """A module, its inputs by name, the names of its outputs, and its open sizes: of each input, axis -> name."""

    def __init__(self, module, inputs, outputs, sizes=None):
        self.module, self.inputs, self.outputs, self.sizes = module.eval(), inputs, outputs, sizes or {}


class Only(torch.nn.Module):
    """Calls a model of transformers with its inputs in order, and keeps one member of the result: files then have no cache."""

    def __init__(self, inner, member, *names, **constants):
        super().__init__()
        self.inner, self.member, self.names, self.constants = inner, member, names, constants

    def forward(self, *inputs):
        return getattr(self.inner(**dict(zip(self.names, inputs, strict=True)), **self.constants), self.member)


def image(size):
    return {"image": torch.randn(1, 3, size, size)}


def tokens(count, length):
    return {"input_ids": torch.randint(0, count, (1, length))}


def wide(small):
    """Small weights leave residuals as they are: what the layers compute would not be seen."""
    return {"initializer_range": 0.25} if small else {}


def with_mask(inputs, padding=0):
    """With the mask of a sequence whose last tokens are padding."""
    first = next(iter(inputs.values()))
    mask = torch.ones(first.shape[:2], dtype=torch.int64)
    mask[:, first.shape[1] - padding :] = 0
    return {**inputs, "attention_mask": mask}


def resnet50(small):
    if small:
        return Model(narrow_resnet(), image(32), ["scores"], {"image": {0: "batch"}})
    return Model(torchvision.models.resnet50(weights=None), image(224), ["scores"])


def narrow_resnet():
    """ResNet has its numbers of channels in its code: two stages with an eighth of them."""
    block, planes = torchvision.models.resnet.Bottleneck, [8, 16]
    net = torchvision.models.ResNet(block, [1, 1, 1, 1], num_classes=10, width_per_group=8)
    net.inplanes = 8
    net.conv1, net.bn1 = torch.nn.Conv2d(3, 8, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(8)
    net.layer1 = net._make_layer(block, planes[0], 1)
    net.layer2 = net._make_layer(block, planes[1], 2, stride=2)
    net.layer3 = net.layer4 = torch.nn.Identity()
    net.fc = torch.nn.Linear(planes[1] * 4, 10)
    return net


def mobilenet_v2(small):
    if not small:
        return Model(torchvision.models.mobilenet_v2(weights=None), image(224), ["scores"])
    settings = [[1, 8, 1, 1], [3, 8, 2, 2]]
    net = torchvision.models.MobileNetV2(num_classes=10, width_mult=1.0, inverted_residual_setting=settings)
    # the head has 1280 channels, whatever the width is
    net.features[-1] = torchvision.ops.Conv2dNormActivation(8, 16, 1, activation_layer=torch.nn.ReLU6)
    net.classifier[1] = torch.nn.Linear(16, 10)
    return Model(net, image(32), ["scores"], {"image": {0: "batch"}})


class UNet(torch.nn.Module):
    """Two convolutions a step, pooling down, transposed convolutions up, as in Ronneberger et al. 2015, with padding."""

    def __init__(self, width, depth):
        super().__init__()
        counts = [3] + [width << d for d in range(depth + 1)]
        self.down = torch.nn.ModuleList(self.double(n, m) for n, m in itertools.pairwise(counts))
        self.up = torch.nn.ModuleList(torch.nn.ConvTranspose2d(width << d + 1, width << d, 2, 2) for d in range(depth))
        self.join = torch.nn.ModuleList(self.double(width << d + 1, width << d) for d in range(depth))
        self.head = torch.nn.Conv2d(width, 2, 1)

    @staticmethod
    def double(n, m):
        parts = []
        for before in (n, m):
            parts += [torch.nn.Conv2d(before, m, 3, padding=1, bias=False), torch.nn.BatchNorm2d(m), torch.nn.ReLU()]
        return torch.nn.Sequential(*parts)

    def forward(self, x):
        kept = []
        for i, step in enumerate(self.down):
            x = step(torch.nn.functional.max_pool2d(x, 2) if i else x)
            kept.append(x)
        kept.pop()
        for up, join in zip(reversed(self.up), reversed(self.join), strict=True):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.head(x)


def unet(small):
    return Model(UNet(2 if small else 64, 2 if small else 4), image(16 if small else 256), ["mask"])


def bert(small):
    size = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
            "max_position_embeddings": 8} if small else {}  # fmt: skip
    config = transformers.BertConfig(**size, **wide(small))
    inputs = with_mask(tokens(config.vocab_size, 6 if small else 128), padding=2)
    net = Only(transformers.BertModel(config), "last_hidden_state", *inputs)
    return Model(net, inputs, ["hidden"], {name: {0: "batch", 1: "length"} for name in inputs} if small else {})


def gpt2(small):
    size = {"vocab_size": 20, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 8} if small else {}
    config = transformers.GPT2Config(**size, **wide(small), bos_token_id=None, eos_token_id=None)
    inputs = with_mask(tokens(config.vocab_size, 6 if small else 128))
    net = Only(transformers.GPT2LMHeadModel(config), "logits", *inputs, use_cache=False)
    return Model(net, inputs, ["logits"], {name: {1: "length"} for name in inputs} if small else {})


def vit(small):
    if not small:
        return Model(torchvision.models.vit_b_16(weights=None), image(224), ["scores"])
    net = torchvision.models.VisionTransformer(16, 8, 2, 2, 16, 32, num_classes=10)
    torch.nn.init.normal_(net.heads.head.weight)
    return Model(net, image(16), ["scores"])


def llama(small):
    """One decoder layer with rotary embeddings, grouped heads, RMS norm and SwiGLU, behind the embeddings."""
    size = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2} if small else {
            "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "num_key_value_heads": 8}  # fmt: skip
    size |= {"vocab_size": 8, "num_hidden_layers": 1, "max_position_embeddings": 256, **wide(small)}
    config = transformers.LlamaConfig(**size)
    inputs = with_mask({"inputs_embeds": torch.randn(1, 6 if small else 128, config.hidden_size)})
    net = Only(transformers.LlamaModel(config), "last_hidden_state", *inputs, use_cache=False)
    return Model(net, inputs, ["hidden"], {name: {1: "length"} for name in inputs} if small else {})


MODELS = {make.__name__: make for make in (resnet50, mobilenet_v2, unet, bert, gpt2, vit, llama)}


def randomize(module):
    """Norms have random scales and statistics, and biases are not all the same zeros, which exporters would merge."""
    for name, value in module.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.uniform_(value, -0.2, 0.2)
    for part in module.modules():
        if hasattr(part, "running_mean") and part.running_mean is not None:
            torch.nn.init.uniform_(part.running_mean, -0.5, 0.5)
            torch.nn.init.uniform_(part.running_var, 0.5, 1.5)
        if "Norm" in type(part).__name__ and getattr(part, "weight", None) is not None:
            torch.nn.init.uniform_(part.weight, 0.5, 1.5)


def write_data(folder, model, expected):
    folder.mkdir(parents=True, exist_ok=True)
    for kind, names, tensors in (("input", model.inputs, model.inputs.values()), ("output", model.outputs, [expected])):
        for i, (name, tensor) in enumerate(zip(names, tensors, strict=True)):
            message = numpy_helper.from_array(np.ascontiguousarray(tensor), name)
            (folder / f"{kind}_{i}.pb").write_bytes(message.SerializeToString())


def plain(path):
    """Without what exporters say of source lines: half of a small file, and the paths of this machine."""
    model = onnx.load(path)
    for owner in [*model.graph.node, *(n for f in model.functions for n in f.node)]:
        del owner.metadata_props[:]
        owner.doc_string = ""
    for value in [model.graph, *model.graph.input, *model.graph.output, *model.graph.value_info, *model.graph.initializer]:
        value.doc_string = ""
        if hasattr(value, "metadata_props"):
            del value.metadata_props[:]
    del model.graph.value_info[:]
    del model.metadata_props[:]
    onnx.save(model, path)


def export(name, exporter, small, out):
    torch.manual_seed(0)
    model = MODELS[name](small)
    randomize(model.module)
    inputs = tuple(model.inputs.values())
    with torch.no_grad():
        expected = model.module(*inputs)
    path = out / f"{name}.{exporter}.onnx"
    names = {"input_names": list(model.inputs), "output_names": model.outputs}
    if exporter == "dynamo":
        shapes = tuple({a: torch.export.Dim(s, min=1) for a, s in model.sizes.get(n, {}).items()} for n in model.inputs)
        names["dynamic_shapes"] = shapes if model.sizes else None
        if any(isinstance(part, Only) for part in model.module.modules()) and names["dynamic_shapes"]:
            names["dynamic_shapes"] = (shapes,)  # forward has *inputs
    else:
        names["dynamic_axes"] = model.sizes
    torch.onnx.export(model.module, inputs, path, dynamo=exporter == "dynamo", external_data=not small, verbose=False, **names)
    if small:
        plain(path)
    shutil.rmtree(out / f"{name}.{exporter}", ignore_errors=True)
    write_data(out / f"{name}.{exporter}" / "test_data_set_0", model, expected.numpy())
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=list(MODELS), help=", ".join(MODELS))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--by", choices=["torchscript", "dynamo"])
    arguments = parser.parse_args()
    unknown = [name for name in arguments.models if name not in MODELS]
    if unknown:
        parser.error(f"there is no model {unknown[0]}")
    warnings.simplefilter("ignore")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.models:
        for exporter in [arguments.by] if arguments.by else ["torchscript", "dynamo"]:
            export(name, exporter, arguments.small, arguments.out)


if __name__ == "__main__":
    main()
