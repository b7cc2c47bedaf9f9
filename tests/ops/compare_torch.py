"""Random cases of operators of ops/ against PyTorch, torchvision and the reference implementation of onnx.

Usage: compare_torch.py HDSC [--seed N] [--count N] [--only FAMILY]

Needs the packages torch, torchvision and onnx, so it is run by hand; what they say of small cases is in tests/ops/*_test.hds.
Each case becomes a test in the language with the numbers that they give, run on the simulator.
"""

import argparse
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
import torch.nn.functional as F
import torchvision
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
IMPORTS = """from hidet.lang import boolean, f16, f32, f64, i8, i32, i64, inf, nan, u8
from hidet.lang.testing import assert_close, assert_equal, dynamic, empty, tensor, test
"""
randint, choice = random.randint, random.choice


def number(v):
    if isinstance(v, (bool, int)):
        return str(v)
    return repr(v) if math.isfinite(v) else "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"


def nested(v):
    return "[" + ", ".join(nested(x) for x in v) + "]" if isinstance(v, list) else number(v)


def literal(x, dtype="f64"):
    return f"tensor({nested(x.tolist())}, {dtype})"


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def result(shape):
    """Memory whose first extent beyond the channels is known at run time alone, now and then."""
    k = randint(0, len(shape) - 1)
    return f"empty(f64, [{', '.join(f'dynamic({n})' if a == k else str(n) for a, n in enumerate(shape))}])"


def plain(op, operands, options, definition, expected, dtype="f64", near="rtol=1e-7, atol=1e-7"):
    """A case with one result: a launch, and the definition, which takes `definition` as options as well."""
    lines = [f"x{k} = {x}" for k, x in enumerate(operands)]
    names = ", ".join(f"x{k}" for k in range(len(operands)))
    lines += [f"e = {literal(expected)}", f"y = {result(expected.shape)}"]
    lines += [f"{op}.launch({names}, into=y, {options})", f"assert_close(y, e, {near})"]
    lines += [f"assert_close({op}({names}, {options}{definition}), e, {near})"]
    return lines


# ---- families: (modules, a function that makes the lines of a case, or None) ------------------------------------------


def grid_case():
    dims, corners = randint(2, 3), choice((True, False))
    mode = choice(("bilinear", "nearest", "bicubic") if dims == 2 else ("bilinear", "nearest"))
    padding = choice(("zeros", "border", "reflection"))
    x = normal(2, 2, *[randint(1, 4) for _ in range(dims)])
    grid = torch.rand(2, *[randint(1, 3) for _ in range(dims)], dims, dtype=torch.float64) * 4 - 2
    e = F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=corners)
    options = f"mode='{mode}', padding_mode='{padding}', align_corners={corners}"
    return plain("grid_sample", [literal(x), literal(grid)], options, "", e)


def affine_case():
    dims, corners = randint(2, 3), choice((True, False))
    theta, extents = normal(2, dims, dims + 1), [randint(1, 5) for _ in range(dims)]
    e = F.affine_grid(theta, [2, 3, *extents], align_corners=corners)
    return plain("affine_grid", [literal(theta)], f"align_corners={corners}", f", size=(2, 3, {', '.join(map(str, extents))})", e)


def regions_case():
    x, count = normal(2, 2, randint(1, 6), randint(1, 6)), randint(1, 4)
    boxes = torch.rand(count, 5, dtype=torch.float64) * 8 - 1.5
    boxes[:, 3:] = torch.maximum(boxes[:, 1:3], boxes[:, 3:])
    boxes[:, 0] = torch.randint(0, 2, (count,))
    size, scale, ratio, aligned = (randint(1, 4), randint(1, 4)), choice((1.0, 0.5, 0.75)), randint(-1, 3), choice((True, False))
    e = torchvision.ops.roi_align(x, boxes, size, scale, ratio, aligned)
    options = f"output_size={size}, spatial_scale={scale}, sampling_ratio={ratio}, aligned={aligned}"
    return plain("roi_align", [literal(x), literal(boxes)], options, "", e)


def fold_case():
    size, window = (randint(1, 6), randint(1, 6)), (randint(1, 3), randint(1, 3))
    dilation, padding, stride = [(randint(a, b), randint(a, b)) for a, b in ((1, 2), (0, 2), (1, 3))]
    counts = [(size[a] + 2 * padding[a] - dilation[a] * (window[a] - 1) - 1) // stride[a] + 1 for a in range(2)]
    if min(counts) < 1:
        return None
    x = normal(2, randint(1, 3) * window[0] * window[1], counts[0] * counts[1])
    e = F.fold(x, size, window, dilation, padding, stride)
    options = f"kernel_size={window}, dilation={dilation}, padding={padding}, stride={stride}"
    return plain("fold", [literal(x)], options, f", output_size={size}", e)


def unpool_case():
    dims, window = randint(1, 3), randint(1, 3)
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[dims - 1]
    unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[dims - 1]
    x = normal(2, 2, *[randint(window, 6) for _ in range(dims)])
    y, at = pool(x, window, return_indices=True)
    e = unpool(y, at, window, output_size=x.shape[2:])
    size = f", output_size=({', '.join(str(n) for n in x.shape[2:])},)"
    return plain(f"max_unpool{dims}d", [literal(y), literal(at, "i64")], f"kernel_size={window}", size, e)


def interpolate_case():
    mode, corners, antialias = choice(("bilinear", "bicubic")), choice((True, False)), choice((True, True, False))
    size = (randint(1, 8), randint(2, 8))  # torch repeats the first row of results that are one element wide
    x = normal(1, 2, randint(1, 12), randint(1, 12))
    e = F.interpolate(x, size, mode=mode, align_corners=corners, antialias=antialias)
    options = f"mode='{mode}', align_corners={corners}, antialias={antialias}"
    return plain("interpolate", [literal(x)], options, f", size={size}", e)


def onnx_run(op, inputs, **attributes):
    node = helper.make_node(op, [name for name, value in inputs], ["y"], **attributes)
    given = [(name, value) for name, value in inputs if name]
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), None) for n, v in given]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    return torch.tensor(ReferenceEvaluator(model).run(None, dict(given))[0])


WAYS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")


def resize_case():
    way, mode, rank = choice(WAYS), choice(("nearest", "linear", "cubic")), randint(1, 2)
    rounding = choice(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    outside, antialias = mode == "cubic" and choice((True, False)), mode != "nearest" and choice((True, False))
    x, size = normal(1, 1, *[randint(2, 5) for _ in range(rank)]), [randint(2, 6) for _ in range(rank)]
    starts, ends = [choice((-0.25, 0.0, 0.1)) for _ in range(rank)], [choice((0.7, 1.0, 1.3)) for _ in range(rank)]
    scales = [choice((1.5, 2.0, 0.75)) for _ in range(rank)]
    is_scaled = way == "half_pixel_symmetric"
    inputs = [("x", x.numpy()), ("roi", np.array([0.0, 0.0, *starts, 1.0, 1.0, *ends]))]
    inputs += [("s", np.array([1, 1, *scales], dtype=np.float32))] if is_scaled else [("", None), ("z", np.array([1, 1, *size]))]
    names = dict(coordinate_transformation_mode=way, mode=mode, nearest_mode=rounding)
    e = onnx_run("Resize", inputs, exclude_outside=int(outside), extrapolation_value=-3.0, antialias=int(antialias), **names)
    if min(e.shape) < 1:
        return None
    options = ", ".join(f"{k}='{v}'" for k, v in names.items()) + f", exclude_outside={outside}, extrapolation_value=-3.0"
    options += f", antialias={antialias}"
    options += f", scales=({', '.join(map(str, scales))},)" if is_scaled else ""
    options += f", roi=({', '.join(map(str, starts + ends))})" if way == "tf_crop_and_resize" else ""
    definition = "" if is_scaled else f", size=({', '.join(map(str, size))},)"
    return plain("resize", [literal(x)], options, definition, e, near="rtol=1e-5, atol=1e-5")


def padded(x, n, fill):
    return torch.cat([x, torch.full((n - len(x), *x.shape[1:]), fill, dtype=x.dtype)])


def selection_case():
    shape, T = [randint(1, 5) for _ in range(randint(1, 3))], choice(("f16", "f32", "f64", "i8", "i32", "i64", "u8"))
    x = torch.randint(0 if T == "u8" else -3, 4, shape).double()
    if T[0] == "f":
        x[torch.rand(shape) < 0.1] = float("inf")
        x.view(-1)[randint(0, x.numel() - 1)] = float("nan")  # torch has several in any order
    x = x if T[0] == "f" else x.long()
    mask, n = torch.rand(shape) < 0.5, x.numel()
    chosen = torch.masked_select(x, mask)
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    return [
        f"x, m, count = {literal(x, T)}, {literal(mask, 'boolean')}, empty(i64, [1])",
        f"at, y = empty(i64, [{n}, {len(shape)}]), empty({T}, [{n}])",
        "nonzero.launch(x, into=(at, count))",
        f"assert_equal(at, {literal(torch.nonzero_static(x, size=n), 'i64')})",
        f"assert count[0] == {len(torch.nonzero(x))}",
        "masked_select.launch(x, m, into=(y, count), fill_value=5)",
        f"assert_equal(y, {literal(padded(chosen, n, 5), T)})",
        f"assert count[0] == {len(chosen)}",
        f"inverse, counts = empty(i32, x.shape), empty(i64, [{n}])",
        "unique.launch(x, into=(y, inverse, counts, count), fill_value=5)",
        f"assert_equal(y, {literal(padded(values, n, 5), T)})",
        f"assert_equal(counts, {literal(padded(counts, n, 0), 'i64')})",
        f"assert_equal(inverse, {literal(inverse, 'i64')})",
        f"assert count[0] == {len(values)}",
    ]


def detection_case():
    n, threshold = randint(1, 80), choice((0.1, 0.3, 0.5, 0.7))
    boxes = torch.rand(n, 4, dtype=torch.float64) * choice((4, 20))
    boxes[:, 2:] = boxes[:, :2] + torch.rand(n, 2, dtype=torch.float64) * 8
    boxes, scores = torch.round(boxes * 4) / 4, torch.round(torch.rand(n, dtype=torch.float64) * 8) / 8
    classes = torch.randint(0, 3, (n,))
    kept = torchvision.ops.nms(boxes, scores, threshold)
    members = [(classes == k).nonzero()[:, 0] for k in range(3)]
    of_classes = [c[torchvision.ops.nms(boxes[c], scores[c], threshold)] for c in members]
    of_classes = torch.tensor(sorted(torch.cat(of_classes).tolist(), key=lambda i: (-scores[i].item(), i)))
    return [
        f"b, s, c = {literal(boxes)}, {literal(scores)}, {literal(classes, 'i32')}",
        f"keep, count = empty(i64, [{n}]), empty(i64, [1])",
        f"nms.launch(b, s, into=(keep, count), iou_threshold={threshold})",
        f"assert_equal(keep, {literal(padded(kept, n, -1), 'i64')})",
        f"assert count[0] == {len(kept)}",
        f"batched_nms.launch(b, s, c, into=(keep, count), iou_threshold={threshold})",
        f"assert_equal(keep, {literal(padded(of_classes, n, -1), 'i64')})",
        f"assert count[0] == {len(of_classes)}",
    ]


FAMILIES = {
    "grid_sample": ("from resize import grid_sample", grid_case),
    "affine_grid": ("from sampling import affine_grid", affine_case),
    "roi_align": ("from sampling import roi_align", regions_case),
    "fold": ("from pixels import fold", fold_case),
    "max_unpool": ("from unpooling import max_unpool1d, max_unpool2d, max_unpool3d", unpool_case),
    "interpolate": ("from resize import interpolate", interpolate_case),
    "resize": ("from resize_onnx import resize", resize_case),
    "selection": ("from selection import masked_select, nonzero, unique", selection_case),
    "detection": ("from detection import batched_nms, nms", detection_case),
}


def run(hdsc, family, seed, count):
    """Whether all cases of a family pass."""
    random.seed(seed)
    torch.manual_seed(seed)
    imports, case = FAMILIES[family]
    lines = [IMPORTS + imports]
    for number_of in range(count):
        body = case()
        if body is not None:
            lines.append("\n\n@test\ndef case_%d():\n%s" % (number_of, "\n".join("    " + line for line in body)))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{family}_test.hds"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = subprocess.run([hdsc, "test", path, "-I", TOP / "ops"], capture_output=True, text=True, check=False)
    print(f"{family}, seed {seed}: {(done.stdout.strip().splitlines() or ['nothing'])[-1]}")
    if done.returncode:
        print(done.stdout + done.stderr)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hdsc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--only", choices=FAMILIES)
    given = parser.parse_args()
    passed = [run(given.hdsc, family, given.seed, given.count) for family in ([given.only] if given.only else FAMILIES)]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
