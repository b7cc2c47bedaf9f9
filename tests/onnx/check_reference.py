#!/usr/bin/env python3
"""Operators of ONNX in cases that the node tests lack, on the simulator, against the package's reference evaluator.

Usage: check_reference.py HDSC [--match=TEXT]

Outputs whose extent depends on elements have a count beside them, NAME_count: that many are compared."""

import subprocess
import sys

import each_case
import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RANDOM = np.random.default_rng(5)


class Case:
    """A graph: nodes as (operator, inputs, outputs, attributes), inputs and constants by name, and its outputs.

    counted    {output: axis} of those with a count
    error      what is reported instead
    wanted     the outputs, where the evaluator cannot say them
    opened     {input: extents} with names of those that are open
    """

    def __init__(self, name, nodes, inputs, outputs, constants=None, counted=None, error="", wanted=None, opened=None):
        self.name, self.nodes, self.inputs, self.outputs, self.opened = name, nodes, inputs, outputs, opened or {}
        self.constants, self.counted, self.error, self.wanted = constants or {}, counted or {}, error, wanted

    def model(self):
        nodes = [helper.make_node(kind, takes, gives, **how) for kind, takes, gives, how in self.nodes]
        extents = lambda n, x: self.opened.get(n, x.shape)
        value = lambda n, x: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), extents(n, x))
        results = [helper.make_empty_tensor_value_info(n) for n in self.outputs]
        graph = helper.make_graph(nodes, "main", [value(n, x) for n, x in self.inputs.items()], results,
                                  [numpy_helper.from_array(x, n) for n, x in self.constants.items()])  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)

    def typed(self, wanted):
        """The model with the types of its outputs, for hdsc."""
        model = self.model()
        for output, y in zip(model.graph.output, wanted):
            output.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(y.dtype)
        return model


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def number(dtype, v):
    return np.array([v], dtype)


# ---- boxes -------------------------------------------------------------------------------------------------------------------


def boxes_at(*corners):
    return np.array([[[y, x, y + 1, x + 1] for y, x in corners]], np.float32)


def suppression(name, boxes, scores, most=None, iou=None, score=None, **how):
    given = {"most": None if most is None else number(np.int64, most), "iou": None if iou is None else number(np.float32, iou),
             "score": None if score is None else number(np.float32, score)}  # fmt: skip
    constants = {key: x for key, x in given.items() if x is not None}
    names = ["boxes", "scores", *[key if key in constants else "" for key in given]]
    node = ("NonMaxSuppression", names, ["y"], how)
    return Case(f"boxes_{name}", [node], {"boxes": boxes, "scores": scores}, ["y"], constants, {"y": 0})


def cases_of_boxes():
    corners = [(0, 0), (0, 0.1), (0, 2), (0, 2.05), (3, 3), (3.5, 3)]
    boxes, scores = boxes_at(*corners), np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], np.float32)
    yield suppression("all_below_score", boxes, scores, 6, 0.5, 0.99)
    yield suppression("none_wanted", boxes, scores, 0, 0.5)
    left_out = suppression("most_left_out", boxes, scores)
    left_out.wanted = [np.zeros((0, 3), np.int64)]
    yield left_out
    yield suppression("no_score_threshold", boxes, scores - 1, 6, 0.5)
    yield suppression("all_overlap", np.repeat(boxes[:, :1], 6, 1), scores, 6, 0.5, 0.0)
    yield suppression("all_equal_scores", boxes, np.full_like(scores, 0.5), 6, 0.5, 0.5 - 2**-20)
    yield suppression("at_score_threshold", boxes, np.full_like(scores, 0.5), 6, 0.5, 0.5)
    yield suppression("threshold_one", boxes, scores, 6, 1.0, 0.0)
    yield suppression("threshold_zero", boxes, scores, 6, 0.0, 0.0)
    yield suppression("one_of_each", np.concatenate([boxes, boxes[:, ::-1]]), RANDOM.random((2, 3, 6)).astype(np.float32), 1, 0.5)
    count = 70  # more than two rounds of 32
    sides = RANDOM.uniform(0.5, 2, (2, count, 4)).astype(np.float32)
    sides[..., :2] = RANDOM.uniform(0, 6, (2, count, 2))
    many = RANDOM.random((2, 2, count)).astype(np.float32)
    yield suppression("centres", sides, many, 40, 0.3, 0.2, center_point_box=1)
    ends = np.concatenate([sides[..., 2:] + sides[..., :2], sides[..., :2]], 2)
    yield suppression("flipped", ends, many, 100, 0.4, 0.1)


# ---- different elements ------------------------------------------------------------------------------------------------------


def unique(name, x, **how):
    counted = {"y": how.get("axis", 0) % x.ndim, "first": 0, "counts": 0}
    nodes = [("Unique", ["x"], ["y", "first", "inverse", "counts"], how)]
    return Case(f"unique_{name}", nodes, {"x": x}, ["y", "first", "inverse", "counts"], counted=counted)


def cases_of_unique():
    x = RANDOM.integers(-2, 3, (3, 4, 2))
    yield unique("all_axes", x)
    for axis in (0, 1, 2, -1):
        yield unique(f"axis_{axis}", RANDOM.integers(0, 2, (4, 5, 2)).astype(np.float32), axis=axis)
    yield unique("unsorted_last", x.reshape(-1), sorted=0)
    yield unique("unsorted_axis", RANDOM.integers(0, 2, (9, 2)).astype(np.int32), axis=0, sorted=0)
    yield unique("one_value", np.full(40, 2.5, np.float32))
    yield unique("all_different", RANDOM.permutation(50).astype(np.int64), sorted=0)
    yield unique("zeros_of_both_signs", np.array([0.0, -0.0, 1.0, -0.0], np.float32))
    yield unique("bytes", RANDOM.integers(0, 9, 300, np.uint8))


# ---- what follows elements that are counted ----------------------------------------------------------------------------------


def cases_of_first_elements():
    """TopK and Slice along the axis with the count: detectors keep the best of what was not suppressed. K is more than there are,
    too, where ONNX has no result."""
    x, k = np.array([3, 0, -2, 0, np.inf, -np.inf, np.nan, 5, 0, 5], np.float32), {"k": number(np.int64, 4)}
    kept = ("Compress", ["x", "c"], ["t"], {"axis": 0})
    top = lambda **how: [kept, ("TopK", ["t", "k"], ["y", "at"], how), ("Gather", ["t", "at"], ["again"], {})]
    names, counted = ["y", "at", "again"], {"y": 0, "at": 0, "again": 0}
    condition = np.array([1, 0, 1, 0, 1, 1, 0, 1, 1, 1], bool)
    yield Case("top_largest", top(), {"x": x, "c": condition}, names, k, counted)
    yield Case("top_smallest", top(largest=0), {"x": x, "c": condition}, names, k, counted)
    few = condition & (np.arange(10) < 5)  # three of them
    wanted = [np.array([np.inf, 3, -2], np.float32), np.array([2, 0, 1]), np.array([np.inf, 3, -2], np.float32)]
    yield Case("top_of_few", top(), {"x": x, "c": few}, names, k, counted, wanted=wanted)
    last = np.arange(10) > 5  # NaN is the largest
    wanted = [np.array([0, 5, 5, np.nan], np.float32), np.array([2, 1, 3, 0]), np.array([0, 5, 5, np.nan], np.float32)]
    yield Case("top_smallest_nan", top(largest=0), {"x": x, "c": last}, names, k, counted, wanted=wanted)
    bytes_of = RANDOM.integers(0, 3, 10, np.uint8)
    yield Case("top_bytes", top(), {"x": bytes_of, "c": condition}, names, k, counted)
    y, rows = floats(10, 6), [kept, ("TopK", ["t", "k"], ["y", "at"], {"axis": 1})]
    yield Case("top_of_rows", rows, {"x": y, "c": condition}, ["y", "at"], k, {"y": 0, "at": 0})
    ends = {"zero": number(np.int64, 0), "one": number(np.int64, 1), "four": number(np.int64, 4)}
    for name, end in (("some", "four"), ("all", "most")):
        nodes = [kept, ("Slice", ["t", "zero", end, "zero"], ["y"], {})]
        yield Case(f"slice_{name}", nodes, {"x": y, "c": condition}, ["y"], {**ends, "most": number(np.int64, 2**40)}, {"y": 0})
    nodes = [kept, ("Slice", ["t", "zero", "four", "zero"], ["y"], {})]
    yield Case("slice_of_few", nodes, {"x": y, "c": few}, ["y"], ends, {"y": 0})
    nodes = [kept, ("Slice", ["t", "one", "four", "zero"], ["y"], {})]
    refused = "'Slice' of a tensor whose extent depends on elements"
    yield Case("slice_inside", nodes, {"x": y, "c": few}, ["y"], ends, error=refused)


def cases_of_counted():
    x = (RANDOM.random((3, 5)) < 0.4) * floats(3, 5)
    zeros = np.zeros((2, 3), np.float32)
    at = ("NonZero", ["x"], ["at"], {})
    yield Case("nonzero_none", [at], {"x": zeros}, ["at"], counted={"at": 1})
    yield Case("nonzero_all", [at], {"x": zeros + 1}, ["at"], counted={"at": 1})
    rows = ("Transpose", ["at"], ["rows"], {"perm": [1, 0]})
    nodes = [at, rows, ("GatherND", ["x", "rows"], ["found"], {}), ("Mul", ["found", "two"], ["y"], {})]
    yield Case("nonzero_elements", nodes, {"x": x}, ["y", "rows"], {"two": np.float32(2)}, {"y": 0, "rows": 0})
    nodes = [("Slice", ["x", "none", "one"], ["row"], {}), ("NonZero", ["row"], ["at"], {}),
             ("Transpose", ["at"], ["pairs"], {}), ("Reshape", ["pairs", "shape"], ["y"], {})]  # fmt: skip
    shapes = {"none": number(np.int64, 0), "one": number(np.int64, 1), "shape": np.array([-1, 1, 2])}
    yield Case("nonzero_reshaped", nodes, {"x": x}, ["y"], shapes, {"y": 0})
    shapes = {**shapes, "shape": np.array([2, -1])}
    yield Case("nonzero_mixed", nodes, {"x": x}, ["y"], shapes, error="'Reshape' of a tensor whose extent depends on elements")
    nodes = [at, ("ReduceMean", ["at"], ["y"], {})]
    yield Case("nonzero_mean", nodes, {"x": x}, ["y"], error="'ReduceMean' of a tensor whose extent depends on elements")
    found = [at, rows, ("GatherND", ["x", "rows"], ["found"], {})]
    for kind in ("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"):
        yield Case(f"nonzero_{kind}", [*found, (kind, ["found"], ["y"], {"keepdims": 0})], {"x": x}, ["y"])
    axes = {"first": number(np.int64, 0), "last": number(np.int64, -1)}
    yield Case("nonzero_max_of_rows", [at, rows, ("ReduceMax", ["rows", "last"], ["y"], {})], {"x": x}, ["y"], axes, {"y": 0})
    nodes = [at, ("ReduceMax", ["at", "first"], ["y"], {"keepdims": 0}), ("ReduceMin", ["at", "last"], ["z"], {})]
    yield Case("nonzero_extremes", nodes, {"x": x}, ["y", "z"], axes, {"y": 0})
    shape = [at, ("Shape", ["at"], ["s"], {}), ("Size", ["at"], ["n"], {}), ("Shape", ["at"], ["few"], {"start": 1})]
    nodes = [*shape, ("Add", ["few", "first"], ["t"], {}), ("Shape", ["at"], ["rank"], {"end": 1})]
    yield Case("nonzero_shape", nodes, {"x": x}, ["s", "n", "t", "rank"], axes)
    yield Case("nonzero_shape_of_none", nodes, {"x": zeros}, ["s", "n", "t", "rank"], axes)
    nodes = [at, ("Concat", ["at", "at"], ["y"], {"axis": 1})]
    yield Case("nonzero_concat", nodes, {"x": x}, ["y"], error="'Concat' of a tensor whose extent depends on elements")
    yield from cases_of_first_elements()
    condition = RANDOM.random(5) < 0.5
    nodes = [("Compress", ["x", "c"], ["t"], {"axis": 1}), ("Slice", ["t", "one", "two", "zero"], ["u"], {}),
             ("Unsqueeze", ["u", "zero"], ["v"], {}), ("Cast", ["v"], ["y"], {"to": 11})]  # fmt: skip
    ints = {"zero": number(np.int64, 0), "one": number(np.int64, 1), "two": number(np.int64, 3)}
    yield Case("compress_then", nodes, {"x": x, "c": condition}, ["y"], ints, {"y": 2})
    yield Case("compress_flat", [("Compress", ["x", "c"], ["y"], {})], {"x": x, "c": condition}, ["y"], counted={"y": 0})
    # Boxes, classes and scores of a detector: [image, class, box] of each, and by those the box and the score.
    boxes, scores = boxes_at((0, 0), (0, 0.1), (2, 2), (5, 5)), RANDOM.random((1, 2, 4)).astype(np.float32)
    limits = {"most": number(np.int64, 3), "iou": number(np.float32, 0.5), "last": number(np.int64, 2), "flat": np.array([4, 4])}
    nodes = [("NonMaxSuppression", ["boxes", "scores", "most", "iou"], ["at"], {}), ("GatherND", ["scores", "at"], ["score"], {}),
             ("Gather", ["at", "last"], ["column"], {"axis": 1}), ("Squeeze", ["column", "axis"], ["box"], {}),
             ("Squeeze", ["boxes", "front"], ["plain"], {}), ("Gather", ["plain", "box"], ["found"], {"axis": 0}),
             ("Unsqueeze", ["score", "axis"], ["row"], {}), ("Concat", ["found", "row"], ["y"], {"axis": 1})]  # fmt: skip
    constants = {**limits, "axis": number(np.int64, 1), "front": number(np.int64, 0)}
    del constants["flat"]
    yield Case("detector", nodes, {"boxes": boxes, "scores": scores}, ["y", "box"], constants, {"y": 0, "box": 0})


# ---- images ------------------------------------------------------------------------------------------------------------------


def deformed(name, x, w, windows, groups=1, masked=False, biased=False, scale=1.0, **how):
    r, s = w.shape[2:]
    inputs = {"x": x, "w": w, "offset": scale * floats(x.shape[0], groups * r * s * 2, *windows)}
    names = ["x", "w", "offset", "b" if biased else "", "mask" if masked else ""]
    inputs |= {"b": floats(w.shape[0])} if biased else {}
    inputs |= {"mask": floats(x.shape[0], groups * r * s, *windows)} if masked else {}
    return Case(f"deform_{name}", [("DeformConv", names, ["y"], {**how, "offset_group": groups})], inputs, ["y"])


def cases_of_images():
    x = floats(2, 4, 6, 7)
    yield deformed("strided", x, floats(4, 4, 3, 3), (3, 3), masked=True, biased=True, strides=[2, 3], pads=[1, 1, 1, 2])
    yield deformed("dilated", x, floats(6, 2, 2, 3), (6, 5), 2, dilations=[2, 1], pads=[1, 0, 1, 0], group=2)
    yield deformed("far", x, floats(1, 4, 1, 1), (6, 7), 4, masked=True, scale=6.0)
    for way in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for mode in ("linear", "cubic"):
            how = {"mode": mode, "antialias": 1, "coordinate_transformation_mode": way, "exclude_outside": int(mode == "cubic")}
            scales = {"scales": np.array([0.4, 1.6], np.float32)}
            yield Case(f"resize_{way}_{mode}", [("Resize", ["x", "", "scales"], ["y"], {**how, "axes": [2, 3]})], {"x": x}, ["y"],
                       scales)  # fmt: skip
    crop = {"roi": np.array([0.1, 0.2, 0.9, 1.3], np.float32), "sizes": np.array([3, 4])}
    how = {"mode": "linear", "antialias": 1, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    yield Case("resize_crop", [("Resize", ["x", "roi", "", "sizes"], ["y"], {**how, "axes": [2, 3]})], {"x": x}, ["y"], crop)
    for padding in ("zeros", "reflection"):
        grid = RANDOM.uniform(-1.2, 1.2, (2, 3, 2, 2)).astype(np.float32)
        how = {"mode": "cubic", "padding_mode": padding, "align_corners": 1}
        yield Case(f"sample_{padding}", [("GridSample", ["x", "grid"], ["y"], how)], {"x": x, "grid": grid}, ["y"])
    volume, grid = floats(1, 2, 3, 4, 3), RANDOM.uniform(-1.1, 1.1, (1, 2, 2, 2, 3)).astype(np.float32)
    yield Case("sample_volume", [("GridSample", ["x", "grid"], ["y"], {"mode": "cubic"})], {"x": volume, "grid": grid}, ["y"])
    for n in (1, 3, 4):
        yield Case(f"det_{n}", [("Det", ["x"], ["y"], {})], {"x": floats(2, 3, n, n)}, ["y"])
    yield Case("det_large", [("Det", ["x"], ["y"], {})], {"x": floats(5, 5)}, ["y"], error="matrices of up to 4 rows")
    spectrum = floats(2, 5, 3, 2)
    how = {"inverse": 1, "onesided": 1}
    for n in (None, 9, 6):
        constants = {"axis": np.int64(1)} | ({} if n is None else {"n": np.int64(n)})
        yield Case(f"dft_{n}", [("DFT", ["x", "" if n is None else "n", "axis"], ["y"], how)], {"x": spectrum}, ["y"], constants)


# ---- sequences ---------------------------------------------------------------------------------------------------------------


def cases_of_shapes():
    """Padding as torch.onnx writes it: the numbers of PyTorch, the last axis first, are turned by slices and transpositions."""
    x = floats(2, 3, 4, 5)
    constants = {"given": np.array([1, 2, 0, 3]), "rest": number(np.int64, 4), "pairs": np.array([-1, 2]),
                 "flat": number(np.int64, -1), "end": number(np.int64, -(2**63) + 1), "axis": number(np.int64, 0),
                 "step": number(np.int64, -1)}  # fmt: skip
    nodes = [("ConstantOfShape", ["rest"], ["none"], {"value": numpy_helper.from_array(number(np.int64, 0))}),
             ("Concat", ["given", "none"], ["all"], {"axis": 0}), ("Reshape", ["all", "pairs"], ["by_axis"], {}),
             ("Slice", ["by_axis", "step", "end", "axis", "step"], ["turned"], {}),
             ("Transpose", ["turned"], ["sides"], {"perm": [1, 0]}), ("Reshape", ["sides", "flat"], ["listed"], {}),
             ("Cast", ["listed"], ["pads"], {"to": 7})]  # fmt: skip
    for mode in ("constant", "edge"):
        yield Case(f"padded_{mode}", [*nodes, ("Pad", ["x", "pads"], ["y"], {"mode": mode})], {"x": x}, ["y"], constants)
    extents = {"extents": np.arange(12).reshape(2, 3, 2) % 3 + 1, "from": np.array([0, 1]), "to": np.array([2, 9]),
               "axes": np.array([0, -1]), "one": number(np.int64, 1), "flat": number(np.int64, -1)}  # fmt: skip
    nodes = [("Slice", ["extents", "from", "to", "axes"], ["some"], {}),
             ("Transpose", ["some"], ["other"], {"perm": [1, 2, 0]}), ("Transpose", ["extents"], ["back"], {}),
             ("Slice", ["other", "one", "to_all", "one_axis"], ["none"], {}),
             ("Slice", ["back", "one", "two", "axis"], ["rows"], {}), ("Reshape", ["other", "flat"], ["shape"], {}),
             ("Expand", ["x", "shape"], ["y"], {}), ("Shape", ["none"], ["z"], {}),
             ("Identity", ["rows"], ["u"], {})]  # fmt: skip
    more = {"to_all": number(np.int64, 5), "one_axis": number(np.int64, 1), "two": number(np.int64, 2)}
    more = {**extents, **more, "axis": number(np.int64, 0)}
    yield Case("constants_moved", nodes, {"x": floats(1)}, ["y", "z", "u"], more)


def cases_of_sequences():
    x, y = floats(5, 4), floats(2, 4)
    k = {f"n{n}": np.array(n, np.int64) for n in (0, 1, 2)} | {"last": np.array(-1, np.int64), "sizes": np.array([3, 2])}
    listed, whole = ("SequenceConstruct", ["x", "y"], ["s"], {}), lambda s: ("ConcatFromSequence", [s], ["z"], {"axis": 0})
    steps = [listed, ("SequenceInsert", ["s", "y", "n1"], ["t"], {}), ("SequenceErase", ["t", "n0"], ["u"], {}),
             ("SequenceInsert", ["u", "x"], ["v"], {}), whole("v"), ("SequenceLength", ["v"], ["n"], {}),
             ("SequenceAt", ["v", "last"], ["w"], {})]  # fmt: skip
    yield Case("sequence_changed", steps, {"x": x, "y": y}, ["z", "n", "w"], k)
    empty = [("SequenceEmpty", [], ["s"], {}), ("SequenceInsert", ["s", "x"], ["t"], {}), whole("t")]
    yield Case("sequence_empty", empty, {"x": x}, ["z"], k)
    for name, split, how in (("ones", "", {}), ("rows", "", {"keepdims": 0}), ("twos", "n2", {}), ("sizes", "sizes", {}),
                             ("columns", "n2", {"axis": -1})):  # fmt: skip
        steps = [("SplitToSequence", ["x", split], ["s"], how), ("SequenceAt", ["s", "n1"], ["y"], {}),
                 ("SequenceLength", ["s"], ["n"], {})]  # fmt: skip
        yield Case(f"sequence_split_{name}", steps, {"x": x}, ["y", "n"], k)
    rows = [("SplitToSequence", ["x"], ["s"], {"keepdims": 0}), ("ConcatFromSequence", ["s"], ["z"], {"axis": 1, "new_axis": 1})]
    yield Case("sequence_stacked", rows, {"x": x}, ["z"], k)
    outside = [listed, ("SequenceAt", ["s", "n2"], ["z"], {})]
    refused = "position 2 is outside of a sequence of 2"
    yield Case("sequence_outside", outside, {"x": x, "y": y}, ["z"], k, error=refused, wanted=[y])
    f32_of = lambda name: helper.make_tensor_value_info(name, 1, None)
    body = helper.make_graph([helper.make_node("Add", ["e", "f"], ["g"])], "body", [f32_of("e"), f32_of("f")], [f32_of("g")])
    row = floats(4)
    mapped = [listed, ("SequenceMap", ["s", "row"], ["t"], {"body": body}), whole("t")]
    yield Case("sequence_mapped", mapped, {"x": x, "y": y}, ["z"], {"row": row}, wanted=[np.concatenate([x, y]) + row])
    of_sequence = lambda name: helper.make_tensor_sequence_value_info(name, 1, None)
    flag, step = [helper.make_tensor_value_info(name, code, ()) for name, code in (("goes", 9), ("i", 7))]
    inner = [helper.make_node("Identity", ["goes"], ["on"]), helper.make_node("Gather", ["x", "i"], ["row"], axis=0),
             helper.make_node("SequenceInsert", ["have", "row"], ["more"])]  # fmt: skip
    body = helper.make_graph(inner, "body", [step, flag, of_sequence("have")],
                             [helper.make_tensor_value_info("on", 9, ()), of_sequence("more")])  # fmt: skip
    loop = [("SequenceEmpty", [], ["s"], {}), ("Loop", ["n2", "", "s"], ["t"], {"body": body}),
            ("ConcatFromSequence", ["t"], ["z"], {"axis": 0, "new_axis": 1})]  # fmt: skip
    yield Case("sequence_of_loop", loop, {"x": x}, ["z"], k, wanted=[x[:2]])
    inner = [helper.make_node("Identity", ["goes"], ["on"]), helper.make_node("Add", ["e", "e"], ["f"]),
             helper.make_node("Greater", ["f", "e"], ["g"])]  # fmt: skip
    outputs = [helper.make_tensor_value_info("on", 9, ()), f32_of("f"), helper.make_tensor_value_info("g", 9, None)]
    body = helper.make_graph(inner, "body", [step, flag, f32_of("e")], outputs)
    loop = ("Loop", ["none", "", "x"], ["y", "z"], {"body": body})
    body = helper.make_graph(inner[1:], "body", [f32_of("e"), f32_of("v")], outputs[1:])
    scan = ("Scan", ["start", "x"], ["y", "z"], {"body": body, "num_scan_inputs": 1})
    nothing = [row, np.zeros((0, 4), bool)]
    yield Case("scan_of_no_step", [scan], {"x": np.zeros((0, 4), np.float32)}, ["y", "z"], {"start": row}, wanted=nothing)
    yield Case("loop_of_no_step", [loop], {"x": x}, ["y", "z"], {"none": np.array(0)}, wanted=[x, np.zeros((0, *x.shape), bool)])
    has = [("Optional", ["x"], ["o"], {}), ("OptionalHasElement", ["o"], ["has"], {}), ("OptionalGetElement", ["o"], ["z"], {})]
    yield Case("optional", has, {"x": x}, ["has", "z"], wanted=[np.array(True), x])


# ---- numbers, scalars, open sizes ----------------------------------------------------------------------------------------------


def cases_of_numbers():
    minus, scalar = {"c": np.array(-7, np.int64)}, np.array(2, np.float32)
    x = np.arange(6)
    yield Case("negative_factor", [("Mul", ["x", "c"], ["y"], {})], {"x": x}, ["y"], minus)
    yield Case("negative_first", [("Sub", ["c", "x"], ["y"], {})], {"x": x}, ["y"], minus)
    for kind in ("ThresholdedRelu", "Shrink"):
        yield Case(f"scalar_{kind}", [(kind, ["x"], ["y"], {})], {"x": scalar}, ["y"], wanted=[scalar])
    where = ("Where", ["c", "x", "y"], ["z"], {})
    yield Case("scalar_Where", [where], {"c": np.array(True), "x": scalar}, ["z"], {"y": np.array(3, np.float32)})
    image, opened = floats(1, 3, 4, 6), {"x": [1, 3, "H", "W"]}
    for name, scales, how in (("twice", (2, 2), {"mode": "linear"}), ("parts", (0.5, 1.5), {"mode": "cubic"})):
        scales = {"s": np.array((1, 1, *scales), np.float32)}
        yield Case(f"open_resize_{name}", [("Resize", ["x", "", "s"], ["y"], how)], {"x": image}, ["y"], scales, opened=opened)
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    for kind in ("MaxPool", "AveragePool"):
        yield Case(f"open_{kind}", [(kind, ["x"], ["y"], window)], {"x": image}, ["y"], opened=opened)
    large = np.array([-2e4, -100, -1, 0, 1, 30, 89, 2e4], np.float32)
    yield Case("large_softplus", [("Softplus", ["x"], ["y"], {})], {"x": large}, ["y"])
    yield Case("open_hardmax", [("Hardmax", ["x"], ["y"], {"axis": 2})], {"x": image}, ["y"], opened=opened)


# ---- attributes that are none --------------------------------------------------------------------------------------------------


def cases_of_texts():
    x, bits = floats(1, 4, 4, 4), RANDOM.integers(0, 9, 5, np.uint8)
    for kind, inputs, how in (
        ("Conv", {"x": x, "w": floats(4, 4, 3, 3)}, {"auto_pad": "SAME"}),
        ("MaxPool", {"x": x}, {"auto_pad": "", "kernel_shape": [2, 2]}),
        ("BitShift", {"x": bits, "y": bits}, {"direction": "left"}), ("DepthToSpace", {"x": x}, {"blocksize": 2, "mode": "CDR"}),
    ):  # fmt: skip
        key, value = next((key, value) for key, value in how.items() if isinstance(value, str))
        nodes, refused = [(kind, list(inputs), ["z"], how)], f"'{kind}' with {key} '{value}'"
        yield Case(f"text_{kind}", nodes, inputs, ["z"], error=refused, wanted=[next(iter(inputs.values()))])


# ---- running -----------------------------------------------------------------------------------------------------------------


def trimmed(got, count, axis):
    return np.take(got, np.arange(int(count[0])), axis)


def check(hdsc, case, folder):
    """What is wrong, a line each."""
    wanted = case.wanted or ReferenceEvaluator(case.model()).run(None, case.inputs)
    onnx.save(case.typed(wanted), folder / "model.onnx")
    words = []
    for key, array in case.inputs.items():
        np.save(folder / f"{key}.npy", array)
        words.append(f"{key}=@{key}.npy")
    names = [*case.outputs, *[f"{key}_count" for key in case.counted]]
    words += [f"{key}=out:{key}.npy" for key in ([] if case.error else names)]
    done = subprocess.run([hdsc, "run", "model.onnx", *words], capture_output=True, text=True, cwd=folder, check=False)
    if case.error:
        return [] if case.error in done.stderr else [f"{case.name}: it is not reported: {done.stderr[:500]}"]
    if done.returncode != 0:
        return [f"{case.name}: {done.stderr[:1500]}"]
    problems = []
    for key, want in zip(case.outputs, wanted):
        got = np.load(folder / f"{key}.npy")
        if key in case.counted:
            got = trimmed(got, np.load(folder / f"{key}_count.npy"), case.counted[key])
        if got.shape != want.shape or got.dtype != want.dtype or not np.allclose(got, want, rtol=1e-4, atol=1e-5, equal_nan=True):
            problems.append(f"{case.name}: {key} is\n{got}\nnot\n{want}")
    return problems


def main():
    args = each_case.arguments()
    groups = (cases_of_boxes, cases_of_unique, cases_of_counted, cases_of_images, cases_of_shapes, cases_of_sequences, cases_of_numbers,
              cases_of_texts)  # fmt: skip
    cases = [case for group in groups for case in group()]
    return each_case.finish(each_case.run(check, args.hdsc, [case for case in cases if args.match in case.name]))


if __name__ == "__main__":
    sys.exit(main())
