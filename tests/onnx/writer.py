"""Small ONNX files without any package: messages are lists of (field, value), as src/onnx/onnx.proto numbers them.

    python writer.py NAME FILE       writes the model of that name
"""

import pathlib
import struct
import sys

FLOAT, INT64 = 1, 7


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def message(*fields):
    """Integers are varints, floats 32-bit, texts and bytes have a length."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def tensor(name, code, dims, values):
    raw = struct.pack(f"<{len(values)}{'f' if code == FLOAT else 'q'}", *values)
    return message(*[(1, d) for d in dims], (2, code), (8, name), (9, raw))


def external(name, dims, *pairs):
    return message(*[(1, d) for d in dims], (2, FLOAT), (8, name), (14, 1),
                   *[(13, message((1, key), (2, value))) for key, value in pairs])  # fmt: skip


def value(name, code, dims):
    shape = message(*[(1, message((1, d) if isinstance(d, int) else (2, d))) for d in dims])
    return message((1, name), (2, message((1, message((1, code), (2, shape))))))


def attribute(name, given):
    if isinstance(given, list):
        return message((1, name), *[(8, i) for i in given], (20, 7))
    if isinstance(given, float):
        return message((1, name), (2, given), (20, 1))
    if isinstance(given, str):
        return message((1, name), (4, given), (20, 3))
    return message((1, name), (6, given), (20, 5)) if isinstance(given, bytes) else message((1, name), (3, given), (20, 2))


def node(operator, inputs, outputs, name="", domain="", **attributes):
    return message(*[(1, i) for i in inputs], *[(2, o) for o in outputs], (3, name), (4, operator),
                   *[(5, attribute(k, v)) for k, v in attributes.items()], (7, domain))  # fmt: skip


def graph(nodes, inputs, outputs, tensors=(), name="model"):
    return message(*[(1, n) for n in nodes], (2, name), *[(5, t) for t in tensors], *[(11, i) for i in inputs],
                   *[(12, o) for o in outputs])  # fmt: skip


def model(g, version=17, functions=(), domains=()):
    sets = [message((1, ""), (2, version)), *[message((1, d), (2, 1)) for d in domains]]
    return message((1, 8), (2, "tests"), (7, g), *[(8, s) for s in sets], *[(25, f) for f in functions])


def weights(count, scale=0.1):
    return [scale * ((7 * k) % 11 - 5) for k in range(count)]


def net():
    """A convolution, and the shape arithmetic of exporters: its batch is open."""
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], "/conv1/Conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"], "/relu/Relu"),
        node("Shape", ["r"], ["s"]),
        node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "axes"], ["front"]),
        node("Concat", ["front", "rest"], ["shape"], axis=0),
        node("Reshape", ["r", "shape"], ["y"], "/flatten"),
    ]
    tensors = [tensor("w", FLOAT, [4, 3, 3, 3], weights(108)), tensor("b", FLOAT, [4], weights(4)),
               tensor("zero", INT64, [], [0]), tensor("axes", INT64, [1], [0]), tensor("rest", INT64, [1], [-1])]  # fmt: skip
    return model(graph(nodes, [value("x", FLOAT, ["batch", 3, 8, 8])], [value("y", FLOAT, ["batch", 256])], tensors, "net"))


def changed():
    """The network of net with other pads, another activation, a shape that is known, and another element of a weight."""
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], "/conv1/Conv", kernel_shape=[3, 3], pads=[0, 0, 0, 0]),
        node("Sigmoid", ["c"], ["r"], "/relu/Sigmoid"),
        node("Flatten", ["r"], ["y"], "/flatten"),
    ]
    tensors = [tensor("w", FLOAT, [4, 3, 3, 3], [*weights(107), 3.0]), tensor("b", FLOAT, [4], weights(4))]
    return model(graph(nodes, [value("x", FLOAT, ["batch", 3, 8, 8])], [value("y", FLOAT, ["batch", 144])], tensors, "net"))


def sums():
    """A model with test data: input_0 is the tensor that follows, output_0 what the model computes."""
    nodes = [node("Add", ["x", "w"], ["y"], "/add"), node("Neg", ["y"], ["z"], "/neg")]
    outputs = [value("z", FLOAT, ["n"]), value("y", FLOAT, ["n"])]
    return model(graph(nodes, [value("x", FLOAT, ["n"])], outputs, [tensor("w", FLOAT, [1], [0.5])], "sums"))


def missing():
    """Operators that there are not, of two domains and in a version that is too old."""
    nodes = [node("Relu", ["x"], ["a"]), node("Reluu", ["a"], ["b"], "first"), node("Magic", ["b"], ["c"], "second", "com.example"),
             node("TopK", ["c", "k"], ["y", "i"], "third")]  # fmt: skip
    return model(graph(nodes, [value("x", FLOAT, [4]), value("k", INT64, [1])], [value("y", FLOAT, [2])]), 9, domains=["com.example"])


def outside(location):
    g = graph([node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, [4])], [value("y", FLOAT, [4])],
              [external("w", [4], ("location", location))])  # fmt: skip
    return model(g)


def huge():
    g = graph([node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, [4])], [value("y", FLOAT, [4])],
              [message((1, 1 << 40), (1, 1 << 40), (2, FLOAT), (8, "w"), (9, b"1234"))])  # fmt: skip
    return model(g)


def forged():
    """A tensor with the fields by which the reader itself says where bytes are."""
    view = varint(1 << 3 | 1) + struct.pack("<Q", 1 << 40) + varint(2 << 3 | 1) + struct.pack("<Q", 16)
    g = graph([node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, [4])], [value("y", FLOAT, [4])],
              [message((1, 4), (2, FLOAT), (8, "w"), (1009, view), (1004, view))])  # fmt: skip
    return model(g)


def nested(depth=200000):
    """Attributes with graphs with nodes with attributes, far deeper than any stack."""
    inner = b""
    header = 0
    parts = []
    for _ in range(depth):
        body = varint(6 << 3 | 2) + varint(header)
        parts.append(body)
        header += len(body)
        for number in (5, 1):
            body = varint(number << 3 | 2) + varint(header)
            parts.append(body)
            header += len(body)
    inner = b"".join(reversed(parts))
    return message((7, inner))


def function():
    """A function of the model with an attribute, called twice; If with a condition that is known."""
    body = message((1, "Scaled"), (4, "a"), (4, "k"), (5, "out"), (6, "alpha"),
                   (7, message((1, "a"), (2, "b"), (4, "LeakyRelu"), (5, message((1, "alpha"), (20, 1), (21, "alpha"))))),
                   (7, node("Mul", ["b", "k"], ["out"])), (9, message((1, ""), (2, 17))), (10, "own"))  # fmt: skip
    then = graph([node("Add", ["s", "two"], ["t"])], [], [value("t", FLOAT, [3])], name="then")
    other = graph([node("Neg", ["s"], ["u"])], [], [value("u", FLOAT, [3])], name="else")
    nodes = [node("Scaled", ["x", "two"], ["r"], "", "own", alpha=0.5), node("Scaled", ["r", "two"], ["s"], "", "own", alpha=0.25),
             node("If", ["yes"], ["y"], "/choice", then_branch=then, else_branch=other)]  # fmt: skip
    tensors = [tensor("two", FLOAT, [], [2.0]), message((2, 9), (8, "yes"), (9, b"\1"))]
    return model(graph(nodes, [value("x", FLOAT, [3])], [value("y", FLOAT, [3])], tensors), 17, [body], ["own"])


def scalars():
    """A product whose epilogue adds a tensor without axes, and a mask of bool."""
    nodes = [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["s"]), node("Dropout", ["s"], ["y", "mask"])]
    values = [value("x", FLOAT, [4, 8]), value("w", FLOAT, [8, 8]), value("b", FLOAT, [])]
    return model(graph(nodes, values, [value("y", FLOAT, [4, 8]), value("mask", 9, [4, 8])]))


def typed():
    """Tensors whose elements are in the field of their type, packed or not, and some that have too few of them."""
    packed = lambda form, *v: struct.pack(f"<{len(v)}{form}", *v)
    ints = lambda *v: b"".join(varint(n) for n in v)
    tensors = [message((1, 2), (2, 1), (8, "float"), (4, packed("f", 1.5, -2.0))), message((1, 1), (2, 1), (8, "one"), (4, 0.25)),
               message((1, 2), (2, 10), (8, "half"), (5, ints(0x3E00, 0xC000))), message((1, 1), (2, 16), (8, "brain"), (5, 0x3FC0)),
               message((1, 3), (2, 9), (8, "flags"), (5, ints(1, 0, 1))), message((1, 2), (2, 3), (8, "bytes"), (5, ints(-1, 7))),
               message((1, 2), (2, 7), (8, "long"), (7, ints(-1, 1 << 40))),
               message((1, 1), (2, 11), (8, "double"), (10, packed("d", 0.1))),
               message((1, 1), (2, 12), (8, "word"), (11, 1 << 31)), message((1, 0), (2, 7), (8, "none")),
               message((1, 3), (2, 1), (8, "parts"), (4, packed("f", 1.0)), (4, packed("f", 2.0)), (4, 3.0))]  # fmt: skip
    types = {"float": (1, 2), "one": (1, 1), "half": (10, 2), "brain": (16, 1), "flags": (9, 3), "bytes": (3, 2), "long": (7, 2),
             "double": (11, 1), "word": (12, 1), "none": (7, 0), "parts": (1, 3)}  # fmt: skip
    nodes = [node("Identity", [n], [f"{n}_of"]) for n in types]
    return model(graph(nodes, [], [value(f"{n}_of", dtype, [count]) for n, (dtype, count) in types.items()], tensors))


MODELS = {"sums": sums, "input": lambda: tensor("x", FLOAT, [3], [1.0, 2.0, 3.0]),
          "output": lambda: tensor("z", FLOAT, [3], [-1.5, -2.5, -3.5]),
          "wrong": lambda: tensor("y", FLOAT, [3], [1.5, 2.5, 4.5]),
          "typed": typed, "changed": changed, "scalars": scalars, "net": net, "missing": missing, "huge": huge,
          "nested": nested, "forged": forged, "function": function,
          "above": lambda: outside("../w.bin"), "absolute": lambda: outside("/etc/hostname"), "link": lambda: outside("link.bin"),
          "beside": lambda: outside("w.bin"), "through": lambda: outside("folder/w.bin")}  # fmt: skip

if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_bytes(MODELS[sys.argv[1]]())
