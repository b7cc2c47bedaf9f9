"""Products that are found before the front end runs: objects, libraries and models, and each change after which they are not.

Usage: check_products.py HDSC. Needs NVRTC and a C compiler.
"""

import json
import os
import pathlib
import struct
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "graph"), str(TESTS / "onnx")]
import safetensors
import writer
from check_cache import expect, run_checks


def build(box, *args, **settings):
    """The bytes of the output and of its header, and what was said."""
    output = box.folder / args[args.index("-o") + 1]
    done = box.run(*args, "--arch=sm_90", **settings)
    if done.returncode:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    return output.read_bytes(), output.with_suffix(".h").read_bytes(), done.stderr


def is_hit(box, *args, **settings):
    """Whether a product is found. Then it is what the front end makes, which always runs for a manifest."""
    *found, said = build(box, *args, "--time-report", **settings)
    if any(line.split()[-1:] == ["compile"] for line in said.splitlines()):
        return False
    *made, _ = build(box, *args, "--manifest=m.json", **settings)
    expect(found == made, True, f"{args}: the bytes of a product")
    return True


def expect_new(box, what, *args, **settings):
    """What is different is made, and found after that."""
    expect([is_hit(box, *args, **settings) for _ in range(2)], [False, True], what)


def check_libraries(box):
    """Objects and libraries, as long as the C compiler, its options and what it reads are the same."""
    box.write("k")
    for name in ("k.c", "k.o", "k.a", "k.so", "other.so"):
        expect_new(box, name, "k.hds", "-o", name)
    for args in (["--prefix=p_"], ["--sms=7"], ["--cc=cc -DX=1"], ["--cc=cc -O1"]):
        expect_new(box, str(args), "k.hds", "-o", "k.so", *args)
    headers = box.folder / "headers"
    headers.mkdir()
    own = {**box.env, "CPATH": str(headers)}
    expect_new(box, "another CPATH", "k.hds", "-o", "k.o", env=own)
    (headers / "stdint.h").write_text("#include_next <stdint.h>\n")
    box.run("cache", "clear")
    for text in ("#include_next <stdint.h>\n", "#include_next <stdint.h>\nint more;\n"):
        (headers / "stdint.h").write_text(text)
        expect_new(box, "a header that was read", "k.hds", "-o", "k.so", env=own)
    expect([is_hit(box, "k.hds", "-o", "k.o", "--cc=cc -B/usr/bin") for _ in range(2)], [False, False], "other programs")


def check_compilers(box):
    """A C compiler that is replaced; one that does not say what it runs."""
    box.write("k")
    compiler = box.folder / "mine"
    for line in ('exec cc "$@"', 'exec cc -DX "$@"'):
        compiler.write_text(f"#!/bin/sh\n{line}\n")
        compiler.chmod(0o755)
        for name in ("k.o", "k.so"):
            expect_new(box, f"{line}: {name}", "k.hds", "-o", name, "--cc=./mine")
    compiler.write_text('#!/bin/sh\ncase "$1" in -###) exit 1;; esac\nexec cc "$@"\n')
    expect([is_hit(box, "k.hds", "-o", "k.o", "--cc=./mine") for _ in range(2)], [False, False], "it does not say")


# ---- models ---------------------------------------------------------------------------------------------------------

MODEL = """from hidet.lang import f32, weights
from arithmetic import add, multiply

W = weights({name})


@hidet.graph
def model[n: int](x: f32[n, 4]):
    return add(multiply(x, W["scale"]), W["bias"]) if "bias" in W else multiply(x, W["scale"])
"""
REWRITE = """from hidet.lang import dtype
from hidet.lang.rewrite import rewrite
from arithmetic import add, multiply


@rewrite
def own[T: dtype, *S](x: T[*S], y: T[*S]):
    return add(x, y), lambda: {right}
"""


def check_weights(box):
    """Names, types and extents of weights matter, their bytes only where the product has them."""
    (box.folder / "m.hds").write_text(MODEL.format(name='"w.safetensors"'))
    library = box.folder / "library"
    library.mkdir()

    def put(folder, tensors):
        safetensors.write(folder / "w.safetensors", tensors)

    scale, other = ("F32", [4], [1, 2, 3, 4]), ("F32", [4], [4, 3, 2, 1])
    plain, embedded = ("m.hds", "-o", "m.so", "-I", "library"), ("m.hds", "-o", "m.so", "-I", "library", "--embed-weights")
    put(library, {"scale": scale})
    expect_new(box, "weights", *plain)
    expect_new(box, "embedded weights", *embedded)
    put(library, {"scale": other})
    expect(is_hit(box, *plain), True, "other numbers")
    expect_new(box, "other numbers inside", *embedded)
    put(library, {"scale": ("F32", [1, 4], [4, 3, 2, 1])})
    expect_new(box, "another shape", *plain)
    expect_new(box, "another shape inside", *embedded)
    put(library, {"scale": ("F32", [4], [1, 2, 3, 4]), "bias": ("F32", [4], [1, 1, 1, 1])})
    expect_new(box, "another tensor", *plain)
    put(library, {"scale": scale, "left": scale})
    expect_new(box, "a tensor that is left over", *plain)
    expect("HDS0843" in build(box, *plain)[2], True, "the warning of a hit")
    put(box.folder, {"scale": scale})
    expect_new(box, "a file that is found first", *plain)
    (box.folder / "w.safetensors").unlink()
    expect_new(box, "without it", *plain)
    safetensors.write(box.folder / "own.safetensors", {"scale": scale})
    expect_new(box, "--weights=FILE", *plain, "--weights=own.safetensors")
    (box.folder / "own.safetensors").write_bytes(b"none")
    broken = box.run(*plain, "--weights=own.safetensors")
    expect((broken.returncode, "own.safetensors" in broken.stderr), (1, True), "a file that is none")
    expect_new(box, "other precision", *plain, "--precision=f16")
    for right in ("add(multiply(x, 1.0), y)", "add(x, multiply(y, 1.0))"):
        (box.folder / "own.hds").write_text(REWRITE.format(right=right))
        expect_new(box, "a file of rewrites", *plain, "--rewrites=own.hds")


def check_shards(box):
    """Which file a shard is, and what is in it."""
    (box.folder / "m.hds").write_text(MODEL.format(name='"w.safetensors.index.json"'))
    for name, shape in (("a", [4]), ("b", [1, 4]), ("b", [4])):
        safetensors.write(box.folder / f"{name}.safetensors", {"scale": ("F32", shape, [1, 2, 3, 4])})
        index = {"weight_map": {"scale": f"{name}.safetensors"}}
        (box.folder / "w.safetensors.index.json").write_text(json.dumps(index))
        expect_new(box, f"{name} {shape}", "m.hds", "-o", "m.so", "-MD")
        expect(f"{name}.safetensors" in (box.folder / "m.d").read_text(), True, "the depfile")


def put_model(path, shape, values, operator="Mul"):
    """An ONNX file, whose tensor is in a file beside it."""
    data = struct.pack(f"<{len(values)}f", *values)
    path.with_suffix(".bin").write_bytes(data)
    weight = writer.external("w", shape, ("location", path.with_suffix(".bin").name))
    x, y = [writer.value(name, writer.FLOAT, [128, 4]) for name in "xy"]
    path.write_bytes(writer.model(writer.graph([writer.node(operator, ["x", "w"], ["y"])], [x], [y], [weight])))


def check_onnx(box):
    """The key of an ONNX file is what it says, without the bytes of its tensors."""
    path = box.folder / "m.onnx"
    plain, embedded = ("m.onnx", "-o", "m.so"), ("m.onnx", "-o", "m.so", "--embed-weights")
    many = list(range(512))
    put_model(path, [128, 4], many)
    expect_new(box, "a model", *plain)
    expect_new(box, "with its weights", *embedded)
    put_model(path, [128, 4], many[::-1])
    expect(is_hit(box, *plain), True, "other numbers")
    expect_new(box, "other numbers inside", *embedded)
    put_model(path, [128, 4], many, "Add")
    expect_new(box, "another operator", *plain)
    put_model(path, [1, 4], [1, 2, 3, 4])
    expect_new(box, "another shape", *plain)
    put_model(path, [1, 4], [1, 2, 3, 5])
    expect_new(box, "a constant, which is in the text", *plain)
    path.with_suffix(".bin").unlink()
    gone = box.run(*plain)
    expect((gone.returncode, "m.bin" in gone.stderr), (1, True), "without its data")


def main():
    checks = [value for name, value in globals().items() if name.startswith("check_")]
    run_checks(checks, sys.argv[2:], os.path.abspath(sys.argv[1]), os.environ.get("HDS_NVRTC"))


if __name__ == "__main__":
    main()
