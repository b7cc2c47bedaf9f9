"""bench/memory_ops.py as far as it goes without a GPU: signatures out of headers, arguments out of shapes, races, statistics."""

import ctypes
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "bench"), str(TOP / "tests")]
sys.dont_write_bytecode = True
import memory_ops  # noqa: E402
from compiler import finish  # noqa: E402
from memory import header, operators, report  # noqa: E402

SOURCE = '''
from hidet.lang import attrs, f16, f16x8, f32, f64, i32, i64, strided

@hidet.script
def rows[m: i64, n: i64](x: f16[m, n], weight: f32[n], index: i64[m], y: f16[m, n], eps: f64, sm_count: i32):
    """Says
        x        f32[17], read
    and more."""
    attrs.cuda.grid_dim = sm_count
    attrs.cuda.block_dim = 32
    y[0, 0] = f16(f32(x[0, 0]) + weight[index[0]] + f32(eps))

@hidet.script
def vectors[m: i32, n: i32, pitch: i64](x: f16x8[m, n], y: strided(f32[m, 8 * n], [pitch, 1])):
    attrs.cuda.grid_dim = m
    attrs.cuda.block_dim = 32
    y[0, 0] = f32(x[0, 0][0])

@hidet.script
def halved[n: i32](x: f32[2 * n], y: f32[n // 2 + 1]):
    attrs.cuda.grid_dim = n
    attrs.cuda.block_dim = 32
    y[0] = x[0]
'''


def header_of(hdsc, source):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "k.hds").write_text(source, encoding="utf-8")
        subprocess.run([hdsc, "-I", str(TOP / "ops"), "k.hds", "-h", "k.h"], cwd=folder, check=True)
        return pathlib.Path(folder, "k.h").read_text(encoding="utf-8")


def tensor(dtype, *shape):
    return header.Operand(shape, dtype)


def output(dtype, *shape):
    return header.Operand(shape, dtype, is_output=True)


def refusal(function, operands, scalars=None):
    try:
        header.bind(function, operands, scalars)
    except header.Mismatch as e:
        return str(e)
    return None


# ---- headers ----------------------------------------------------------------------------------------------------

def check_signatures(functions):
    assert sorted(functions) == ["halved", "rows", "vectors"], functions
    rows = functions["rows"].parameters
    assert [p.name for p in rows] == ["x", "weight", "index", "y", "eps", "sm_count", "m", "n"]
    assert [p.dtype for p in rows] == ["f16", "f32", "i64", "f16", "f64", "i32", "i64", "i64"]
    assert [p.is_written for p in rows[:4]] == [False, False, False, True]
    assert rows[0].shape == ("m", "n") and rows[0].ctype is ctypes.c_void_p
    assert [p.ctype for p in rows[4:]] == [ctypes.c_double, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64]
    x, y = functions["vectors"].tensors
    assert (x.dtype, x.lanes, x.shape) == ("f16", 8, ("m", "n"))
    assert (y.shape, y.strides, y.is_written) == (("m", "8 * n"), ("pitch", "1"), True)


def check_binding(functions):
    slots = [header.Slot(i) for i in range(4)]
    operands = [tensor("f16", 6, 40), tensor("f32", 40), tensor("i64", 6), output("f16", 6, 40)]
    scalars = {"eps": 1e-5, "sm_count": 132, "n": 7}
    assert header.bind(functions["rows"], operands, scalars) == [*slots, 1e-5, 132, 6, 40]
    merged = [tensor("f16", 2, 3, 40), operands[1], operands[2], output("f16", 2, 3, 40)]
    assert header.bind(functions["rows"], merged, scalars) == [*slots, 1e-5, 132, 6, 40]
    assert header.bind(functions["vectors"], [tensor("f16", 5, 64), output("f32", 5, 64)]) == [*slots[:2], 5, 8, 64]
    assert header.bind(functions["halved"], [tensor("f32", 12), output("f32", 4)]) == [*slots[:2], 6]


def check_refusals(functions):
    rows, right = functions["rows"], [tensor("f16", 6, 40), tensor("f32", 40), tensor("i64", 6), output("f16", 6, 40)]
    assert refusal(rows, right) == "nothing says what 'eps' is (--set eps=…)"
    assert refusal(rows, right[:3]) == "it takes 4 tensors, not 3"
    assert refusal(rows, [tensor("f32", 6, 40), *right[1:]]) == "'x' holds f16, not f32"
    assert "n would be 40 and 41" in refusal(rows, [right[0], tensor("f32", 41), *right[2:]])
    assert "inputs come first" in refusal(rows, [output("f16", 6, 40), *right[1:]])
    assert "has 2 axes, not 1" in refusal(rows, [tensor("f16", 40), *right[1:]])
    assert "no multiple of 8" in refusal(functions["vectors"], [tensor("f16", 5, 60), output("f32", 5, 60)])
    assert "is n / 2 + 1 = 4, not 5" in refusal(functions["halved"], [tensor("f32", 12), output("f32", 5)])
    assert "no multiple of 2" in refusal(functions["halved"], [tensor("f32", 11), output("f32", 4)])


def check_peers(hdsc):
    functions = header.parse(header_of(hdsc, (TOP / "bench/memory/peers.hds").read_text(encoding="utf-8")))
    assert sorted(functions) == ["copy", "copy_256", "copy_pairs", "read_2", "read_4", "read_8"]
    as_bytes = [header.Operand((4096,)), header.Operand((4096,), is_output=True)]
    assert header.bind(functions["copy"], as_bytes)[2] == 256
    assert header.bind(functions["read_4"], [header.Operand((4096,)), header.Operand((4,), is_output=True)])[2] == 256


# ---- operators, races -------------------------------------------------------------------------------------------

REDUCTIONS = {"row_sum", "row_max", "column_sum", "column_max", "argmax", "channel_sum_nchw", "channel_sum_nhwc",
              "spatial_mean_nchw", "spatial_mean_nhwc", "token_sum", "argmax_nchw", "topk", "cross_entropy", "mse"}


def moved(name, shape, dtype):
    return round(sum(operators.Case(name, shape, dtype).traffic()) / 1e6)


def check_cases(_functions):
    found = operators.cases()
    assert len(found) == 12 * 10 + 3 * 2 * 2 + 29 * 2
    assert [c.title for c in operators.cases(["argmax"], ["65536x768"], ["f16"])] == ["argmax_f16_65536x768"]
    assert [c.title for c in operators.cases(["argmax", "embedding"], ["16x8"], ["f16"])] == ["argmax_f16_16x8"]
    assert [moved("softmax", s, "f16") for s in operators.MATRICES] == [34, 134, 201, 537, 268]
    assert moved("bias_gelu_add", (8192, 4096), "f16") == 201 and moved("transpose", (4096, 32768), "f32") == 1074
    assert moved("max_pool", (128, 112, 112, 64), "f16") == 257 and moved("embedding", (16384, 4096), "f16") == 269
    assert moved("topk", (8192, 4096), "f16") == 67 and moved("upsample_nchw", (64, 64, 56, 56), "f16") == 128
    assert moved("cross_entropy", (4096, 32768), "f16") == 268 and moved("channel_sum_nchw", (64, 256, 56, 56), "f16") == 103
    assert all(max(sum(operators.Case(name, s, "f16").traffic()) for s in o.shapes) >= report.LARGE
               for name, o in operators.OPERATORS.items())
    assert all(c.is_reduction == (c.name in REDUCTIONS) for c in found)


def check_shapes(_functions):
    def shapes(name, *shape):
        return [t.shape for t in operators.Case(name, shape, "f16").tensors()]

    assert shapes("batch_norm", 2, 3, 4, 5) == [(2, 3, 4, 5), (3,), (3,), (3,), (3,), (2, 3, 4, 5)]
    assert shapes("channel_sum_nhwc", 2, 4, 5, 3) == [(2, 4, 5, 3), (3,)]
    assert shapes("spatial_mean_nchw", 2, 3, 4, 5) == [(2, 3, 4, 5), (2, 3)]
    assert shapes("argmax_nchw", 2, 3, 4, 5) == [(2, 3, 4, 5), (2, 4, 5)]
    assert shapes("nhwc_to_nchw", 2, 4, 5, 3) == [(2, 4, 5, 3), (2, 3, 4, 5)]
    assert shapes("concat_nchw", 2, 6, 4, 5) == [(2, 3, 4, 5), (2, 3, 4, 5), (2, 6, 4, 5)]
    assert shapes("avg_pool_nhwc", 2, 7, 6, 3) == [(2, 7, 6, 3), (2, 4, 3, 3)]
    assert shapes("topk", 5, 40) == [(5, 40), (5, 8)] and shapes("mse", 5, 40) == [(5, 40), (5, 40), ()]
    target = operators.Case("cross_entropy", (5, 40), "f32").tensors()[1]
    assert (target.shape, target.dtypes, target.fill, target.classes) == ((5,), ("i64", "i32"), "classes", 40)


def check_entries(hdsc):
    """Each case has a function in one of the files of ours, which takes what the case has."""
    functions = {}
    for name in ("ours", "more", "composed"):
        found = header.parse(header_of(hdsc, (TOP / f"bench/memory/{name}.hds").read_text(encoding="utf-8")))
        assert not found.keys() & functions.keys(), "of equal names the first library's counts"
        functions |= found
    for case in operators.cases():
        function, tensors = functions.get(f"{case.name}_{case.dtype}"), case.tensors()
        assert function, f"{case.name}_{case.dtype} is missing"
        assert all(p.dtype in t.dtypes for p, t in zip(function.tensors, tensors)), case.title
        operands = [header.Operand(t.shape, p.dtype) for p, t in zip(function.tensors, tensors)]
        operands[-1].is_output = True
        assert refusal(function, operands, case.operator.scalars) is None, case.title


def check_names(_functions):
    args = memory_ops.arguments(["--ops", "softmax", "--set", "eps=1e-3", "--set", "k=3"])
    assert args.ops == ["softmax"] and args.set == {"eps": 1e-3, "k": 3} and args.dtypes == ["f16", "f32"]
    case = operators.Case("max_pool", (128, 112, 112, 64), "f16")
    names = {"max_pool_f16": 0, "max_pool_f16_wide": 0, "max_pool_nchw_f16": 0, "max_pool_f16_128x112x112x64": 0}
    ours = memory_ops.our_entry(case, names, args)
    assert ours.name == "max_pool_f16_128x112x112x64"
    others = [e.name for e in memory_ops.variants(case, names, ["max_pool*"], ours)]
    assert others == ["max_pool_f16", "max_pool_f16_wide"]
    assert memory_ops.our_entry(case, {}, args).name == "max_pool_f16"


def race_error(line):
    try:
        memory_ops.race_line(line)
    except memory_ops.RaceError as e:
        return str(e)
    return None


def check_races(_functions):
    both = memory_ops.race_line("a softmax 8x32,17x5 f16 eps=0.5 v=4 # as it was")
    assert [(c.label, c.dtype, e.name, e.scalars) for c, e in both] == [(s, "f16", "a", {"eps": 0.5, "v": 4}) for s in ("8x32", "17x5")]
    assert len(memory_ops.race_line("a row_sum * f32")) == 5 and memory_ops.race_line("  # nothing") == []
    assert race_error("a softmax 8x32") == "expected: entry operator shapes dtype [name=value …]"
    assert race_error("a softmaxx 8x32 f16").startswith("'softmaxx' is none of softmax, ")
    assert race_error("a softmax 8x32 f8") == "'f8' is none of f16, bf16, f32"
    assert race_error("a softmax 8x32x4 f16") == "a shape of 'softmax' has 2 extents"
    assert race_error("a softmax 8xn f16") and race_error("a softmax 8x32 f16 eps")


# ---- numbers ----------------------------------------------------------------------------------------------------

def row(operator="softmax", moved_bytes=134 << 20, columns=4096, **methods):
    return {"operator": operator, "shape": "8192x4096", "dtype": "f16", "bytes": moved_bytes, "columns": columns, "name": operator,
            "is_reduction": operator.startswith("row_"), "note": None, **methods}


def check_statistics(_functions):
    assert report.median([3, 1, 2]) == 2 and report.median([]) is None
    assert report.spread([1, 1, 1, 1]) == 0 and report.spread([1]) is None
    assert abs(report.geomean([1, 4, None]) - 2) < 1e-12 and report.geomean([]) is None
    assert report.least([None, 3, 2]) == 2 and report.least([]) is None
    assert [report.rounds(b, 1, 3, 9) for b in (0, 4, 5.5, 6.9, 100)] == [3, 3, 5, 5, 9]
    assert report.sets_of(288 << 20) == 2 and report.sets_of(1 << 30) == 1 and report.sets_of(1 << 20) == 289
    assert report.calls_of_graph(9, 9.5) == 126 and report.calls_of_graph(2, 5000) == 2


def check_goals(_functions):
    times = {"ours": 35.0, "copy": 33.0, "read": 30.0, "eager": 40.0, "compiled": 36.0}
    assert report.ratios(row(rotate=times), "rotate") == {"copy": 33 / 35, "read": 30 / 35, "torch": 36 / 35}
    assert report.ratios(row(), "flush") == {"copy": None, "read": None, "torch": None}
    assert report.missed(row(rotate=times)) == ["rotate ÷copy 0.943 of 0.950"]
    assert report.missed(row(columns=32768, rotate=times)) == []
    assert report.missed(row("sort", rotate=times)) == []
    assert report.missed(row("sort", rotate={**times, "compiled": 33.0})) == ["rotate ÷torch 0.943 of 0.980"]
    assert report.missed(row("row_sum", rotate=times)) == ["rotate ÷read 0.857 of 0.950"]
    assert report.missed(row(rotate={**times, "ours": 34.0, "compiled": 33.5})) == []
    assert report.missed(row(moved_bytes=1 << 20, rotate={**times, "compiled": 33.0})) == ["rotate ÷torch 0.943 of 0.952"]


def check_tables(_functions):
    times = {"ours": 35.0, "copy": 33.0, "read": 30.0, "eager": 40.0}
    line = report.line(row(rotate=times), ["rotate"])
    assert line == "| softmax | 8192x4096 | f16 | 141 | 35.00 | 33.00 | 30.00 | 40.00 | – | 0.943 | 0.857 | 1.143 |", line
    missing = report.line({**row(rotate={"copy": 33.0}), "note": "missing"}, ["rotate"])
    assert missing == "| softmax | 8192x4096 | f16 | 141 | missing | 33.00 | – | – | – | – | – | – |", missing
    for lines in (report.head(["rotate", "flush"]), report.means([row(rotate=times)], ["rotate", "flush"]),
                  [*report.race_head(["flush"]), report.race_line(row(flush=times), ["flush"])]):
        assert len({text.count("|") for text in lines}) == 1, lines


def main():
    hdsc = str(pathlib.Path(sys.argv[1]).resolve())
    functions, problems, passed = header.parse(header_of(hdsc, SOURCE)), [], 0
    checks = [check_signatures, check_binding, check_refusals, check_cases, check_shapes, check_names, check_races,
              check_statistics, check_goals, check_tables]
    for check, argument in [*((c, functions) for c in checks), (check_peers, hdsc), (check_entries, hdsc)]:
        try:
            check(argument)
            passed += 1
        except AssertionError as e:
            at = e.__traceback__.tb_next
            problems.append(f"{check.__name__}, line {at.tb_lineno}: {e}")
    sys.exit(finish(problems, passed))


if __name__ == "__main__":
    main()
