#!/usr/bin/env python3
"""Random products and convolutions of quantised numbers as ONNX says them, on the simulator. Usage: check_quantized.py HDSC

Integers have to be those of NumPy, and requantised numbers those of f32 arithmetic that rounds ties to even. Some models are
compiled, too: their products are mma.sync of bytes, and zero points and scales take no kernels of their own.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from onnx import TensorProto, checker, helper, numpy_helper, save

FLOAT = np.float32
BYTES = (np.int8, np.uint8)


def any_bytes(rng, T, shape):
    info = np.iinfo(T)
    return rng.integers(info.min, info.max + 1, shape).astype(T)


def requantized(total, scale, zero, T):
    """As in f32: one rounding of the sum, one of the product, then to the nearest integer."""
    info = np.iinfo(T)
    return np.clip(np.rint(total.astype(FLOAT) * scale) + FLOAT(zero), info.min, info.max).astype(T)


class Case:
    """A model with one node. `given`: tensors of the run, by name; `held`: those of the file."""

    def __init__(self, name, operator, names, tensors, held, want, **attributes):
        self.name, self.want, self.operator = name, want, operator
        self.inputs = {n: tensors[n] for n in names if n and n not in held}
        held = [numpy_helper.from_array(np.asarray(tensors[n]), n) for n in names if n in held]
        node = helper.make_node(operator, names, ["y"], **attributes)
        code = lambda a: helper.np_dtype_to_tensor_dtype(np.asarray(a).dtype)
        values = [helper.make_tensor_value_info(n, code(a), np.shape(a)) for n, a in self.inputs.items()]
        result = helper.make_tensor_value_info("y", code(want), want.shape)
        graph = helper.make_graph([node], "g", values, [result], held)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        checker.check_model(self.model)


def product_case(rng, number):
    T, U = BYTES[rng.integers(2)], BYTES[rng.integers(2)]
    M, N, K = (int(n) for n in rng.choice([1, 3, 16, 33, 48], 3))
    lead = (2,) if rng.integers(3) == 0 else ()
    a, b = any_bytes(rng, T, (*lead, M, K)), any_bytes(rng, U, (K, N))
    za = any_bytes(rng, T, ()) if rng.integers(3) else T(0)
    zb = [U(0), any_bytes(rng, U, ()), any_bytes(rng, U, (N,))][rng.integers(3)]
    total = (a.astype(np.int32) - np.int32(za)) @ (b.astype(np.int32) - zb.astype(np.int32))
    held = {"b", "b_zero"} | ({"a_zero"} if rng.integers(2) else set())
    tensors = dict(a=a, b=b, a_zero=np.asarray(za), b_zero=np.asarray(zb))
    if rng.integers(2):
        return Case(f"MatMulInteger {number}", "MatMulInteger", ["a", "b", "a_zero", "b_zero"], tensors, held, total)
    C = T
    z, sa, sy = any_bytes(rng, C, ()), FLOAT(rng.uniform(0.01, 0.1)), FLOAT(rng.uniform(0.5, 3.0))
    sb = rng.uniform(0.01, 0.1, (N,) if rng.integers(2) else ()).astype(FLOAT)
    tensors |= dict(a_scale=sa, b_scale=sb, y_scale=sy, y_zero=z)
    names = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"]
    want = requantized(total, sa * sb / sy, z, C)
    held |= {"a_scale", "b_scale", "y_scale", "y_zero"}
    return Case(f"QLinearMatMul {number}", "QLinearMatMul", names, tensors, held, want)


def convolution(x, w, strides, pads, dilations, group):
    """Sums of products in i64, elements outside of the image being 0."""
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    (_, C, H, W), (K, _, R, S) = x.shape, w.shape
    P, Q = (H - (R - 1) * dilations[0] - 1) // strides[0] + 1, (W - (S - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.zeros((x.shape[0], K, P, Q), np.int64)
    for g in range(group):
        channels, outputs = slice(g * C // group, (g + 1) * C // group), slice(g * K // group, (g + 1) * K // group)
        for r in range(R):
            for s in range(S):
                top, left = r * dilations[0], s * dilations[1]
                part = x[:, channels, top : top + (P - 1) * strides[0] + 1 : strides[0],
                         left : left + (Q - 1) * strides[1] + 1 : strides[1]]  # fmt: skip
                y[:, outputs] += np.einsum("ncpq,kc->nkpq", part, w[outputs, :, r, s].astype(np.int64))
    return y


def convolution_case(rng, number):
    T, U = BYTES[rng.integers(2)], BYTES[rng.integers(2)]
    group = int(rng.choice([1, 1, 1, 2, 4]))
    C, K = (group * int(n) for n in rng.choice([1, 3, 4, 16], 2))
    n, taps = rng.integers(5, 9, 2), [int(t) for t in rng.choice([1, 2, 3], 2)]
    how = dict(strides=[int(s) for s in rng.integers(1, 3, 2)], pads=[int(p) for p in rng.integers(0, 2, 4) * (max(taps) > 1)],
               dilations=[int(d) for d in rng.integers(1, 3, 2)], group=group)  # fmt: skip
    x, w = any_bytes(rng, T, (int(rng.integers(1, 3)), C, *n)), any_bytes(rng, U, (K, C // group, *taps))
    zx = any_bytes(rng, T, ()) if rng.integers(3) else T(0)
    zw = [U(0), U(0), any_bytes(rng, U, ()), any_bytes(rng, U, (K,))][rng.integers(4)]
    total = convolution(x - np.int32(zx), w - zw.astype(np.int32).reshape(-1, 1, 1, 1), **how)
    held = {"w", "w_zero"} | ({"x_zero"} if rng.integers(2) else set())
    tensors = dict(x=x, w=w, x_zero=np.asarray(zx), w_zero=np.asarray(zw))
    if rng.integers(3) == 0:
        names = ["x", "w", "x_zero", "w_zero"]
        return Case(f"ConvInteger {number}", "ConvInteger", names, tensors, held, total.astype(np.int32), **how)
    z, sx, sy = any_bytes(rng, T, ()), FLOAT(rng.uniform(0.01, 0.1)), FLOAT(rng.uniform(0.5, 3.0))
    sw = rng.uniform(0.01, 0.1, (K,) if rng.integers(2) else ()).astype(FLOAT)
    b = rng.integers(-9999, 9999, K).astype(np.int32)
    tensors |= dict(x_scale=sx, w_scale=sw, y_scale=sy, y_zero=z, b=b)
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"] + ["b"] * int(rng.integers(2))
    total = total + b.reshape(-1, 1, 1) if "b" in names else total
    scale = (sx * sw / sy).reshape(-1, 1, 1)
    held |= {"x_scale", "w_scale", "y_scale", "y_zero", "b"}
    return Case(f"QLinearConv {number}", "QLinearConv", names, tensors, held, requantized(total, scale, z, T), **how)


def dequantised_model(rng, operator, padding):
    """What exporters write: a layer in f32 between QuantizeLinear and DequantizeLinear, with weights dequantised by channels."""
    K, sx, sy, zx, zy = 24, FLOAT(0.03), FLOAT(0.8), 117, 128
    is_conv = operator == "Conv"
    x = rng.standard_normal((1, 16, 9, 9) if is_conv else (40, 64)).astype(FLOAT)
    w, sw = any_bytes(rng, np.int8, (K, 16, 3, 3) if is_conv else (64, K)), rng.uniform(0.001, 0.01, K).astype(FLOAT)
    b = rng.standard_normal((K,)).astype(FLOAT)
    held = dict(sx=sx, zx=np.uint8(zx), w=w, sw=sw, zw=np.zeros(K, np.int8), b=b, sy=sy, zy=np.uint8(zy))
    n = helper.make_node
    nodes = [n("QuantizeLinear", ["x", "sx", "zx"], ["q"]), n("DequantizeLinear", ["q", "sx", "zx"], ["d"]),
             n("DequantizeLinear", ["w", "sw", "zw"], ["v"], axis=0 if is_conv else 1)]  # fmt: skip
    if is_conv:
        nodes.append(n("Conv", ["d", "v", "b"], ["s"], pads=[padding] * 4))
    else:
        nodes += [n("MatMul", ["d", "v"], ["m"]), n("Add", ["m", "b"], ["s"])]
    nodes.append(n("QuantizeLinear", ["s", "sy", "zy"], ["y"]))
    q = np.clip(np.rint(x / sx) + zx, 0, 255).astype(np.int64) - zx
    total = convolution(q, w, [1, 1], [padding] * 4, [1, 1], 1) if is_conv else q @ w.astype(np.int64)
    beside = (lambda v: v.reshape(-1, 1, 1)) if is_conv else lambda v: v
    real = total * beside(sw).astype(np.float64) * sx + beside(b)
    want = np.clip(np.rint(real / sy) + zy, 0, 255).astype(np.uint8)
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", TensorProto.FLOAT, x.shape)], [value("y", TensorProto.UINT8, want.shape)]
    weights = [numpy_helper.from_array(np.asarray(a), name) for name, a in held.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), x, want


def problems_of_dequantised(hdsc, operator, model, x, want):
    """A kernel quantises x, another one is the layer, of bytes; at ties, f32 may round to the other side."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        save(model, folder / "m.onnx")
        np.save(folder / "x.npy", x)
        run = call(hdsc, "run", folder / "m.onnx", f"x=@{folder / 'x.npy'}", f"y=out:{folder / 'y.npy'}")
        if run.returncode:
            return [f"{operator} between QuantizeLinear: {run.stderr[:1500]}"]
        off = np.abs(np.load(folder / "y.npy").astype(int) - want)
        problems = [f"{operator} between QuantizeLinear: {np.count_nonzero(off)} of {off.size} elements differ"] * (
            int(off.max() > 1 or np.count_nonzero(off) > off.size // 200)
        )
        program = call(hdsc, "graph", folder / "m.onnx", "--print=program").stdout
        launches = len(re.findall(r"\.launch\(", program[program.rfind("@hidet.script") :]))
        text = call(hdsc, folder / "m.onnx", "--emit=cu", "--arch=sm_80", "-o", "-").stdout
        problems += [f"{operator} between QuantizeLinear: {launches} kernels in a run"] * (launches != 2)
        is_of_bytes = ".s32.u8.s8" in text or ".s32.s8.u8" in text
        return problems + [f"{operator} between QuantizeLinear: no product of bytes"] * (not is_of_bytes)


def call(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)


def problem_of(hdsc, case):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        save(case.model, folder / "m.onnx")
        words = []
        for key, array in case.inputs.items():
            np.save(folder / f"{key}.npy", array)
            words.append(f"{key}=@{folder / key}.npy")
        for arch in ("sm_80", "sm_90a"):
            run = call(hdsc, "run", folder / "m.onnx", f"--arch={arch}", "-j", 1, *words, f"y=out:{folder / 'y.npy'}")
            if run.returncode:
                return f"{case.name} for {arch}: {run.stderr[:1500]}"
            got = np.load(folder / "y.npy")
            if got.shape != case.want.shape or not np.array_equal(got, case.want):
                return f"{case.name} for {arch}: {np.count_nonzero(got != case.want)} of {got.size} elements differ"
    return ""


def held_product(rng):
    """As exporters write them: all but the left operand is in the file, and the weights have no zero point."""
    M, N, K = 64, 48, 96
    tensors = dict(a=any_bytes(rng, np.uint8, (M, K)), a_zero=np.uint8(7), b=any_bytes(rng, np.int8, (K, N)), b_zero=np.int8(0),
                   a_scale=FLOAT(0.01), b_scale=rng.uniform(0.01, 0.1, N).astype(FLOAT), y_scale=FLOAT(0.5),
                   y_zero=np.uint8(3))  # fmt: skip
    names = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"]
    total = (tensors["a"].astype(np.int32) - 7) @ tensors["b"].astype(np.int32)
    want = requantized(total, tensors["a_scale"] * tensors["b_scale"] / tensors["y_scale"], 3, np.uint8)
    return Case("the product of a file", "QLinearMatMul", names, tensors, set(names[1:]), want)


def held_convolution(rng):
    """The same of a convolution whose image has a zero point and is padded."""
    C, K, how = 16, 24, dict(strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1)
    tensors = dict(x=any_bytes(rng, np.uint8, (1, C, 10, 10)), x_zero=np.uint8(9), w=any_bytes(rng, np.int8, (K, C, 3, 3)),
                   w_zero=np.int8(0), x_scale=FLOAT(0.01), w_scale=rng.uniform(0.01, 0.1, K).astype(FLOAT), y_scale=FLOAT(0.5),
                   y_zero=np.uint8(3), b=rng.integers(-999, 999, K).astype(np.int32))  # fmt: skip
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"]
    total = convolution(tensors["x"] - np.int32(9), tensors["w"], **how) + tensors["b"].reshape(-1, 1, 1)
    scale = (tensors["x_scale"] * tensors["w_scale"] / tensors["y_scale"]).reshape(-1, 1, 1)
    want = requantized(total, scale, 3, np.uint8)
    return Case("the convolution of a file", "QLinearConv", names, tensors, set(names[1:]), want, **how)


def problems_of_kernels(hdsc, case, instructions):
    """The run is one kernel, by one of these instructions."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "m.onnx"
        save(case.model, path)
        program = call(hdsc, "graph", path, "--print=program").stdout
        launches = len(re.findall(r"\.launch\(", program[program.rfind("@hidet.script") :]))
        problems = [f"{case.name}: {launches} kernels in a run"] * (launches != 1)
        for arch, instruction in instructions.items():
            text = call(hdsc, path, "--emit=cu", f"--arch={arch}", "-o", "-").stdout
            problems += [f"{case.name} for {arch}: no {instruction}"] * (instruction not in text)
    return problems


def main():
    hdsc, rng = sys.argv[1], np.random.default_rng(24)
    cases = [product_case(rng, k) for k in range(24)] + [convolution_case(rng, k) for k in range(24)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [p for p in pool.map(lambda case: problem_of(hdsc, case), cases) if p]
    for held, types in ((held_product(rng), "u8.s8"), (held_convolution(rng), "s8.u8")):
        problems += [p for p in [problem_of(hdsc, held)] if p]
        problems += problems_of_kernels(hdsc, held, {"sm_80": f"mma.sync.aligned.m16n8k32.row.col.s32.{types}.s32"})
    for operator, padding in (("MatMul", 0), ("Conv", 0), ("Conv", 1)):
        problems += problems_of_dequantised(hdsc, operator, *dequantised_model(rng, operator, padding))
    print("\n".join(problems) or f"{len(cases)} models, all equal")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
