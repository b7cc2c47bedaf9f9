"""Corruptions of exported models that keep the format: each gives what hdsc has to say, by name of a node or tensor; "": it may
take the model as well."""

import os

import onnx


def _node(r, m, least=1):
    return r.choice([n for n in m.graph.node if len(n.input) >= least and n.input[0]])


def cycle(r, m, folder):
    """A node reads what is computed of it."""
    n = _node(r, m)
    n.input[0] = n.output[0]
    return n.output[0]


def long_cycle(r, m, folder):
    """The first of two nodes that follow one another reads the result of the second."""
    makers = {y: n for n in m.graph.node for y in n.output}
    second = r.choice([n for n in m.graph.node if any(x in makers for x in n.input)])
    first = makers[next(x for x in second.input if x in makers)]
    if not first.input:
        first.input.append("")
    first.input[0] = second.output[0]
    return second.output[0]


def missing_input(r, m, folder):
    _node(r, m).input[0] = "nowhere"
    return "nowhere"


def two_makers(r, m, folder):
    n = r.choice(m.graph.node)
    m.graph.node.append(n)
    return n.output[0]


def other_rank(r, m, folder):
    """An input of one more axis, or of none."""
    i = r.choice(m.graph.input).type.tensor_type.shape
    if r.random() < 0.5:
        i.dim.add().dim_value = 3
    else:
        del i.dim[:]
    return ""


def other_rank_of_weight(r, m, folder):
    t = r.choice(m.graph.initializer)
    dims = [*t.dims, 1] if r.random() < 0.5 else list(t.dims)[1:]
    del t.dims[:]
    t.dims.extend(dims)
    return ""


def huge_weight(r, m, folder):
    """Extents that the file does not back, and whose product overflows."""
    t = r.choice([t for t in m.graph.initializer if len(t.dims)])
    t.dims[r.randrange(len(t.dims))] = r.choice((2**31, 2**40, 2**62, 2**63 - 1, -1))
    return t.name


def huge_input(r, m, folder):
    d = r.choice(r.choice([i for i in m.graph.input if i.type.tensor_type.shape.dim]).type.tensor_type.shape.dim)
    d.dim_value = r.choice((2**40, 2**62, 2**63 - 1, -5))
    return ""


def other_type(r, m, folder):
    r.choice(m.graph.input).type.tensor_type.elem_type = r.choice((0, 8, 99, 7, 1))
    return ""


def no_attributes(r, m, folder):
    n = r.choice([n for n in m.graph.node if n.attribute])
    del n.attribute[:]
    return ""


def no_operator(r, m, folder):
    n = r.choice(m.graph.node)
    n.op_type = n.op_type + "X"
    return n.op_type


def _moved(r, m, location, more=()):
    """A weight is external data; returns its name."""
    t = r.choice([t for t in m.graph.initializer if t.raw_data])
    count = len(t.raw_data)
    t.ClearField("raw_data")
    t.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), *more):
        t.external_data.add(key=key, value=str(value).replace("COUNT", str(count)))
    return t.name


def no_file(r, m, folder):
    return _moved(r, m, r.choice(("nowhere.bin", "folder/nowhere.bin", "model.zip/weights.bin", "")))


def above(r, m, folder):
    (folder.parent / "secret.bin").write_bytes(bytes(1 << 20))
    return _moved(r, m, r.choice(("../secret.bin", "folder/../../secret.bin", str(folder.parent / "secret.bin"), "/etc/passwd", "..")))


def link(r, m, folder):
    """To a file inside, to one outside, and through a folder."""
    (folder.parent / "secret.bin").write_bytes(bytes(1 << 20))
    (folder / "weights.bin").write_bytes(bytes(1 << 20))
    for name, target in (("in.bin", "weights.bin"), ("out.bin", folder.parent / "secret.bin"), ("up", folder.parent), ("same", ".")):
        os.symlink(target, folder / name)
    return _moved(r, m, r.choice(("in.bin", "out.bin", "up/secret.bin", "same/weights.bin")))


def no_regular_file(r, m, folder):
    """A pipe that nobody writes, a folder, a second name."""
    os.mkfifo(folder / "pipe")
    (folder / "one.bin").write_bytes(bytes(1 << 20))
    os.link(folder / "one.bin", folder / "two.bin")
    return _moved(r, m, r.choice(("pipe", ".", "two.bin", "/dev/zero")))


def beyond(r, m, folder):
    """Ranges that are not in the file."""
    (folder / "weights.bin").write_bytes(bytes(r.choice((0, 3, 16))))
    places = ((), (("offset", 2**40),), (("offset", 2**63 - 1),), (("offset", 17), ("length", "COUNT")), (("offset", "-4"),),
              (("offset", 2**64),), (("length", "-1"),), (("length", 1),), (("offset", "0x0"),))  # fmt: skip
    return _moved(r, m, "weights.bin", r.choice(places))


ALL = (cycle, long_cycle, missing_input, two_makers, other_rank, other_rank_of_weight, huge_weight, huge_input, other_type, no_attributes,
       no_operator, no_file, above, link, no_regular_file, beyond)  # fmt: skip
