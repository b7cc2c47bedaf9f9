"""What the checks of this folder share: compiling, cases, comparison, the table of results.

A case is one launch: sizes, scalars, inputs, and for each output its reference in float64 and the error that is allowed
for each element. It passes if every output is within its bound, the guards around all buffers and all inputs that the
interface calls unwritten are untouched, and a second launch gives the same bits (unless it need not).
"""

import argparse
import atexit
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

import numpy as np

from device import Buffer, Device, DriverError, evaluate, load, storage_of
from formats import to_double

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclass
class Output:
    """What an output should be: numbers, and how far it may be away. Both are arrays of its shape, or numbers."""

    reference: np.ndarray
    bound: object = 0.0
    in_any_order: bool = False  # compared after sorting


@dataclass
class Special:
    """A check that is more than a list of cases: run(device, kernel, row)."""

    run: object


@dataclass
class Case:
    label: str
    sizes: dict
    inputs: dict
    outputs: dict
    scalars: dict = field(default_factory=dict)
    repeatable: bool = True  # the same bits each time


@dataclass
class Row:
    """A line of the table: all cases of a kernel."""

    file: str
    kernel: str
    cases: list = field(default_factory=list)
    absolute: float = 0.0
    relative: float = 0.0
    share: float = 0.0  # of the bound that the largest error takes up
    exact: bool = True  # the reference has to be met exactly
    repeatable: str = "-"
    problems: list = field(default_factory=list)


# ---- compiling -------------------------------------------------------------------------------------------------------


def compile_file(hdsc, arch, path, folder, flags=()):
    """cubin and JSON of a file; the paths, or what the compiler said."""
    stem = re.sub(r"\W", "_", str(path.relative_to(TOP).with_suffix("")))
    made = []
    for kind in ("cubin", "json"):
        out = pathlib.Path(folder, f"{stem}.{kind}")
        command = [hdsc, str(path.relative_to(TOP)), f"--arch={arch}", "-o", str(out), *flags]
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode or done.stderr:
            return f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}"
        made.append(out)
    return made


def each_at_once(function, items):
    """The results of function(item), in order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


# ---- one case --------------------------------------------------------------------------------------------------------


def buffers_of(device, kernel, case):
    numbers = {**case.sizes, **case.scalars}
    made = {}
    for p in kernel.parameters("tensor", "pointer"):
        name, content = p["name"], case.inputs.get(p["name"])
        if p["kind"] == "tensor":
            shape = tuple(evaluate(extent, numbers) for extent in p["shape"])
        else:
            shape = content.shape if content is not None else np.shape(case.outputs[name].reference)
        made[name] = Buffer(device, shape, storage_of(p), content)
    return made


def launch(device, kernel, case):
    """The outputs of one launch, and what is wrong beyond them."""
    buffers = buffers_of(device, kernel, case)
    kernel.launch({**case.sizes, **case.scalars, **{name: b.at for name, b in buffers.items()}})
    device.synchronize()
    problems = [f"wrote outside of '{name}'" for name, b in buffers.items() if not b.guards_are_intact()]
    for p in kernel.parameters("tensor", "pointer"):
        name, is_input = p["name"], p["name"] in case.inputs and p["name"] not in case.outputs
        if is_input and buffers[name].get().tobytes() != case.inputs[name].tobytes():
            problems.append(f"changed the input '{name}'")
    results = {name: buffers[name].get() for name in case.outputs}
    for b in buffers.values():
        b.free()
    return results, problems


def position(reference, at):
    return ", ".join(str(i) for i in np.unravel_index(at, np.shape(reference)))


def compare(name, got, dtype, output, row):
    """Enters the errors of an output into the row; what is wrong with it, as a list."""
    reference = np.broadcast_to(np.asarray(output.reference), got.shape)
    if output.in_any_order:
        got, reference = np.sort(got, axis=None), np.sort(reference, axis=None)
    if not got.size:
        return []
    if reference.dtype.kind in "iub" and dtype[0] in "iub":
        wrong = got != reference.astype(got.dtype)
        row.absolute = max(row.absolute, float(wrong.any()))
        return mismatch(name, got, reference, wrong)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        value, bound = to_double(got, dtype), np.broadcast_to(np.asarray(output.bound, np.float64), got.shape)
        same = (value == reference) | (np.isnan(value) & np.isnan(reference))
        error = np.where(same, 0.0, np.abs(value - reference))
        wrong = ~(error <= bound)
        finite = np.isfinite(error) & np.isfinite(reference)
        row.exact = row.exact and not bound.any()
        row.absolute = max(row.absolute, float(np.max(error, where=finite, initial=0.0)))
        relative = error / np.abs(reference)
        row.relative = max(row.relative, float(np.max(relative, where=finite & (reference != 0), initial=0.0)))
        row.share = max(row.share, float(np.max(error / bound, where=finite & (bound > 0), initial=0.0)))
    return mismatch(name, value, reference, wrong)


def mismatch(name, value, reference, wrong):
    if not wrong.any():
        return []
    at = int(np.argmax(wrong))
    rows = ""
    if wrong.ndim > 1:
        counts = wrong.reshape(wrong.shape[0], -1).sum(1)
        rows = " (by row: " + ", ".join(f"{r}: {counts[r]}" for r in np.flatnonzero(counts)[:20]) + ")"
    return [
        f"{int(wrong.sum())} of {wrong.size} elements of '{name}' are wrong{rows}, first [{position(reference, at)}]: "
        f"{value.flat[at]} instead of {reference.flat[at]}"
    ]


def run_case(device, kernel, case, row, again):
    """Runs a case, twice if it is to be repeatable, and enters it into the row."""
    first, problems = launch(device, kernel, case)
    dtypes = {p["name"]: p["dtype"] for p in kernel.interface["parameters"]}
    for name, output in case.outputs.items():
        problems += compare(name, first[name], dtypes[name], output, row)
    if case.repeatable and again:
        second, _ = launch(device, kernel, case)
        same = all(first[name].tobytes() == second[name].tobytes() for name in first)
        row.repeatable = "yes" if same and row.repeatable != "NO" else "NO"
        problems += [] if same else ["a second launch gave other bits"]
    row.cases.append(case.label)
    row.problems += [f"{case.label}: {problem}" for problem in problems]


def run_kernel(device, kernel, file, check, most=None):
    row = Row(file, kernel.name)
    try:
        if isinstance(check, Special):
            check.run(device, kernel, row)
        else:
            for case in itertools.islice(check(np.random.default_rng(2026)), most):
                run_case(device, kernel, case, row, again=most is None)
    except DriverError as error:
        # The context is lost with most errors of a kernel: what follows would only repeat it.
        row.problems.append(f"after {', '.join(row.cases) or 'nothing'}: {error}")
        raise LostDevice(row) from error
    return row


class LostDevice(Exception):
    def __init__(self, row):
        super().__init__("the device is lost")
        self.row, self.rows = row, [row]


# ---- the table -------------------------------------------------------------------------------------------------------


def number(value):
    return "0" if value == 0 else f"{value:.1e}"


def table(rows):
    """As Markdown: it is what docs/gpu-results.md shows."""
    lines = [
        "| file | kernel | cases | max abs error | max rel error | of the bound | same bits | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        share = "exact" if r.exact else f"{100 * r.share:.0f} %"
        cells = [
            r.file,
            r.kernel,
            str(len(r.cases)),
            number(r.absolute),
            number(r.relative),
            share,
            r.repeatable,
            "FAILED" if r.problems else "ok",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def report(rows, folder, name, more=""):
    """Prints the table and the problems, and writes both; the exit code."""
    text = table(rows) + ("\n\n" + more if more else "")
    problems = [f"{r.file}: {r.kernel}: {problem}" for r in rows for problem in r.problems]
    if folder:
        records = json.dumps([vars(r) for r in rows], indent=1, default=str)
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        pathlib.Path(folder, f"{name}.md").write_text("\n".join([text, "", *problems, ""]), encoding="utf-8")
        pathlib.Path(folder, f"{name}.json").write_text(records + "\n", encoding="utf-8")
    print(text)
    for problem in problems:
        print(problem)
    failed = sum(bool(r.problems) for r in rows)
    print(f"{len(rows) - failed} kernels passed, {failed} failed")
    return 1 if problems or not rows else 0


def parse_arguments(doc):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hdsc", default="build/release/bin/hdsc", help="the compiler")
    parser.add_argument("--arch", default="native", help="what to compile for (default: the GPU that is there)")
    parser.add_argument("--out", help="folder for the results; without it they are only printed")
    parser.add_argument("--only", default="", help="files whose name holds one of these words, separated by commas")
    parser.add_argument("--cases", type=int, default=None, help="the first N cases of each kernel only, and once each")
    parser.add_argument("--compile-only", action="store_true", help="compile, and make all references, but run nothing")
    parser.add_argument("--bench", action="store_true", help="time the kernels too")
    args = parser.parse_args()
    args.hdsc = os.path.abspath(args.hdsc)
    return args


def run_files(args, files, name, bench=None):
    """Checks files: {path below the repository: {kernel: function of a random generator that gives its cases}}.

    `bench(device, kernels by file)` gives a text that follows the table.
    """
    started = time.monotonic()
    paths = [TOP / path for path in files if any(word in path for word in args.only.split(","))]
    work = tempfile.mkdtemp(prefix="hdsc-gpu-")
    compiled = each_at_once(lambda path: compile_file(args.hdsc, args.arch, path, work), paths)
    print(f"compiled {len(paths)} files in {time.monotonic() - started:.1f} s", flush=True)
    atexit.register(shutil.rmtree, work, ignore_errors=True)
    rows, loaded = [], {}
    device = None if args.compile_only else Device()
    for path, made in zip(paths, compiled, strict=True):
        key = str(path.relative_to(TOP))
        if isinstance(made, str):
            rows.append(Row(key, "(all)", problems=[made]))
            continue
        checks = files[key]
        if device is None:
            rows += rehearse(key, made[1], checks)
            continue
        loaded[key] = load(device, *made)
        try:
            rows += check_kernels(device, key, loaded[key], checks, args.cases)
        except LostDevice as lost:
            rows += lost.rows
            sys.exit(report(rows, args.out, name, "The device was lost: nothing after this was run."))
    text = bench(device, loaded) if device and args.bench and bench else ""
    return report(rows, args.out, name, text)


def is_unchecked(kernel, checks):
    """Instances that only a host function launches have the schedule in their names; check_host.py calls that function."""
    of_a_launch = any(kernel.startswith(f"{name}_") for name in checks if kernel != name)
    return kernel not in checks and not of_a_launch


def check_kernels(device, file, kernels, checks, most):
    rows = [Row(file, kernel, problems=["nothing checks it"]) for kernel in kernels if is_unchecked(kernel, checks)]
    for kernel, cases in checks.items():
        if kernel not in kernels:
            rows.append(Row(file, kernel, problems=["the file has no such kernel"]))
            continue
        try:
            rows.append(run_kernel(device, kernels[kernel], file, cases, most))
        except LostDevice as lost:
            lost.rows = [*rows, lost.row]
            raise
    return rows


def rehearse(file, interface, checks):
    """What can be checked with no GPU: that cases and interface fit together, and that references can be computed."""
    rows = []
    for k in json.loads(interface.read_text(encoding="utf-8"))["kernels"]:
        row = Row(file, k["name"])
        rows.append(row)
        if is_unchecked(k["name"], checks):
            row.problems.append("nothing checks it")
            continue
        if k["name"] not in checks or isinstance(checks[k["name"]], Special):
            continue
        for case in checks[k["name"]](np.random.default_rng(2026)):
            row.cases.append(case.label)
            row.problems += [f"{case.label}: {problem}" for problem in misfits(k, case)]
    missing = set(checks) - {r.kernel for r in rows}
    return rows + [Row(file, kernel, problems=["the file has no such kernel"]) for kernel in sorted(missing)]


def misfits(interface, case):
    numbers = {**case.sizes, **case.scalars}
    names = {p["name"]: p for p in interface["parameters"]}
    for name in [*case.inputs, *case.outputs, *numbers]:
        if name not in names:
            yield f"the kernel has no parameter '{name}'"
    for p in interface["parameters"]:
        if p["kind"] in ("size", "scalar"):
            if p["name"] not in numbers:
                yield f"no value for '{p['name']}'"
        elif p["name"] not in case.inputs and p["name"] not in case.outputs:
            yield f"nothing for '{p['name']}'"
        elif p["kind"] == "tensor":
            yield from misfit_of_tensor(p, case, numbers)
    for dims in ("grid", "block"):
        if any(evaluate(expr, numbers) < 0 for expr in interface[dims]):
            yield f"{dims} is negative"


def misfit_of_tensor(p, case, numbers):
    shape = tuple(evaluate(extent, numbers) for extent in p["shape"])
    content, output = case.inputs.get(p["name"]), case.outputs.get(p["name"])
    if content is not None and (content.shape != shape or content.dtype != storage_of(p)):
        yield f"'{p['name']}' is {content.dtype}{content.shape}, not {storage_of(p)}{shape}"
    if output is not None:
        try:
            np.broadcast_to(output.reference, shape)
            np.broadcast_to(output.bound, shape)
        except ValueError as error:
            yield f"'{p['name']}': {error}"
    if output is not None and not p["written"]:
        yield f"'{p['name']}' is never written"
