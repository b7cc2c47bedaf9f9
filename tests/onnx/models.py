"""Small models of the kinds that exporters write, built with onnx.helper: what ResNet, MobileNetV2, a U-Net, BERT and GPT-2 look
like in a file, with random weights and a few channels.

    models.py FOLDER       writes them
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Nodes and initialisers of a model, as they come; values have numbers."""

    def __init__(self, seed):
        self.nodes, self.tensors, self.count = [], [], 0
        self.random = np.random.default_rng(seed)

    def name(self, stem):
        self.count += 1
        return f"{stem}_{self.count}"

    def constant(self, array, stem="c"):
        name = self.name(stem)
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64), "ints")

    def scalar(self, value):
        return self.constant(np.array(value, np.float32), "scalar")

    def weight(self, *shape):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        return self.constant((self.random.standard_normal(shape) / fan_in**0.5).astype(np.float32), "weight")

    def vector(self, n, low=0.5, high=1.5):
        return self.constant(self.random.uniform(low, high, n).astype(np.float32), "vector")

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [self.name(kind) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"/{kind}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def model(self, name, inputs, outputs, version=17):
        types = {np.float32: TensorProto.FLOAT, np.int64: TensorProto.INT64}
        values = [helper.make_tensor_value_info(n, types[t], shape) for n, t, shape in inputs]
        results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in outputs]
        graph = helper.make_graph(self.nodes, name, values, results, self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
        onnx.checker.check_model(model)
        return model


def conv(b, x, channels, wanted, kernel=3, stride=1, group=1):
    """Convolution and batch norm, which exporters fold, or leave."""
    y = b.op("Conv", x, b.weight(wanted, channels // group, kernel, kernel), kernel_shape=[kernel, kernel], group=group,
             pads=[kernel // 2] * 4, strides=[stride, stride])  # fmt: skip
    return b.op("BatchNormalization", y, b.vector(wanted), b.vector(wanted, -0.5, 0.5), b.vector(wanted, -0.5, 0.5), b.vector(wanted))


def resnet():
    b = Builder(1)
    x = b.op("Relu", conv(b, "image", 3, 8, 7, 2))
    x, channels = b.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]), 8
    for wanted, stride in ((8, 1), (16, 2)):
        y = b.op("Relu", conv(b, x, channels, wanted, 3, stride))
        y = conv(b, y, wanted, wanted)
        skip = x if stride == 1 else conv(b, x, channels, wanted, 1, stride)
        x, channels = b.op("Relu", b.op("Add", y, skip)), wanted
    x = b.op("Flatten", b.op("GlobalAveragePool", x), axis=1)
    y = b.op("Gemm", x, b.weight(10, channels), b.vector(10), transB=1)
    b.nodes[-1].output[0] = "scores"
    return b.model("resnet", [("image", np.float32, ["batch", 3, 32, 32])], [("scores", ["batch", 10])])


def mobilenet():
    b = Builder(2)
    clip = lambda v: b.op("Clip", v, b.scalar(0.0), b.scalar(6.0))
    x = clip(conv(b, "image", 3, 8, 3, 2))
    for stride in (1, 2):
        y = clip(conv(b, x, 8, 24, 1))
        y = clip(conv(b, y, 24, 24, 3, stride, 24))
        y = conv(b, y, 24, 8, 1)
        x = b.op("Add", x, y) if stride == 1 else y
    x = b.op("ReduceMean", x, axes=[2, 3], keepdims=0)
    b.op("MatMul", x, b.weight(8, 10))
    b.nodes[-1].output[0] = "scores"
    return b.model("mobilenet", [("image", np.float32, [1, 3, 32, 32])], [("scores", [1, 10])])


def unet():
    """Down, up by Resize and by ConvTranspose, and Concat with what was there."""
    b = Builder(3)
    a = b.op("Relu", conv(b, "image", 3, 8))
    c = b.op("Relu", conv(b, b.op("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2]), 8, 16))
    up = b.op("Resize", c, "", b.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    d = b.op("Relu", conv(b, b.op("Concat", a, up, axis=1), 24, 8))
    e = b.op("ConvTranspose", c, b.weight(16, 8, 2, 2), b.vector(8), kernel_shape=[2, 2], strides=[2, 2])
    b.op("Sigmoid", b.op("Conv", b.op("Add", d, e), b.weight(1, 8, 1, 1), kernel_shape=[1, 1]))
    b.nodes[-1].output[0] = "mask"
    return b.model("unet", [("image", np.float32, [1, 3, 16, 16])], [("mask", [1, 1, 16, 16])])


def layer_norm(b, x, width):
    """As exporters for opset 16 and older write it."""
    centred = b.op("Sub", x, b.op("ReduceMean", x, axes=[-1], keepdims=1))
    square = b.op("ReduceMean", b.op("Pow", centred, b.scalar(2.0)), axes=[-1], keepdims=1)
    y = b.op("Div", centred, b.op("Sqrt", b.op("Add", square, b.scalar(1e-5))))
    return b.op("Add", b.op("Mul", y, b.vector(width)), b.vector(width, -0.5, 0.5))


def gelu(b, x):
    inner = b.op("Erf", b.op("Div", x, b.scalar(2**0.5)))
    return b.op("Mul", b.op("Mul", x, b.op("Add", inner, b.scalar(1.0))), b.scalar(0.5))


def linear(b, x, n, m):
    return b.op("Add", b.op("MatMul", x, b.weight(n, m)), b.vector(m, -0.5, 0.5))


def in_heads(b, x, like, heads, width, order):
    """The reshape that exporters make of view(x.shape[0], x.shape[1], heads, width / heads)."""
    shape = b.op("Shape", like)
    parts = [b.op("Unsqueeze", b.op("Gather", shape, b.constant(np.array(k, np.int64)), axis=0), b.ints(0)) for k in (0, 1)]
    wanted = b.op("Concat", *parts, b.ints(heads), b.ints(width // heads), axis=0)
    return b.op("Transpose", b.op("Reshape", x, wanted), perm=order)


def transformer_layer(b, x, width, heads, mask):
    q, k, v = (linear(b, x, width, width) for _ in range(3))
    q, v = in_heads(b, q, x, heads, width, [0, 2, 1, 3]), in_heads(b, v, x, heads, width, [0, 2, 1, 3])
    k = in_heads(b, k, x, heads, width, [0, 2, 3, 1])
    scores = b.op("Div", b.op("MatMul", q, k), b.scalar((width / heads) ** 0.5))
    shares = b.op("Softmax", b.op("Add", scores, mask), axis=-1)
    y = b.op("Transpose", b.op("MatMul", shares, v), perm=[0, 2, 1, 3])
    y = b.op("Reshape", y, b.ints(0, 0, width))
    x = layer_norm(b, b.op("Add", x, linear(b, y, width, width)), width)
    y = linear(b, gelu(b, linear(b, x, width, 2 * width)), 2 * width, width)
    return layer_norm(b, b.op("Add", x, y), width)


def bert():
    b, width = Builder(4), 32
    words = b.op("Gather", b.weight(30, width), "ids")
    length = b.op("Unsqueeze", b.op("Gather", b.op("Shape", "ids"), b.constant(np.array(1, np.int64)), axis=0), b.ints(0))
    positions = b.op("Slice", b.weight(12, width), b.ints(0), length, b.ints(0))
    x = layer_norm(b, b.op("Add", words, positions), width)
    keep = b.op("Unsqueeze", b.op("Cast", "attention_mask", to=TensorProto.FLOAT), b.ints(1, 2))
    mask = b.op("Mul", b.op("Sub", b.scalar(1.0), keep), b.scalar(-10000.0))
    for _ in range(2):
        x = transformer_layer(b, x, width, 4, mask)
    b.op("Tanh", linear(b, b.op("Gather", x, b.constant(np.array(0, np.int64)), axis=1), width, width))
    b.nodes[-1].output[0] = "pooled"
    ids = [("ids", np.int64, ["batch", "length"]), ("attention_mask", np.int64, ["batch", "length"])]
    return b.model("bert", ids, [("pooled", ["batch", width])])


def gpt():
    """A causal mask that is made of shapes, by Trilu and Where, and the embedding again as the head."""
    b, width = Builder(5), 16
    table = b.weight(20, width)
    x = b.op("Gather", table, "ids")
    n = b.op("Gather", b.op("Shape", "ids"), b.constant(np.array(1, np.int64)), axis=0)
    size = b.op("Unsqueeze", n, b.ints(0))
    ones = b.op("ConstantOfShape", b.op("Concat", size, size, axis=0), value=numpy_helper.from_array(np.array([1], np.float32)))
    allowed = b.op("Cast", b.op("Trilu", ones, upper=0), to=TensorProto.BOOL)
    mask = b.op("Where", allowed, b.scalar(0.0), b.scalar(-1e9))
    for _ in range(2):
        x = transformer_layer(b, x, width, 2, mask)
    b.op("MatMul", x, b.op("Transpose", table, perm=[1, 0]))
    b.nodes[-1].output[0] = "scores"
    return b.model("gpt", [("ids", np.int64, [1, 6])], [("scores", [1, 6, 20])])


MODELS = {"resnet": resnet, "mobilenet": mobilenet, "unet": unet, "bert": bert, "gpt": gpt}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for key, make in MODELS.items():
        onnx.save(make(), folder / f"{key}.onnx")
