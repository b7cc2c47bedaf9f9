#!/usr/bin/env python3
"""Measures memory-bound operators of a library that hdsc made beside copies, reads, PyTorch and torch.compile, in one process.

    hdsc OPS.hds -o ops.so --arch=sm_90a                        # and ops.h beside it
    hdsc bench/memory/peers.hds -o peers.so --arch=sm_90a       # the copies and reads
    bench/memory_ops.py --library ops.so peers.so --json=memory.json

Needs PyTorch and a GPU. Functions of the libraries are found by name: --name (default '{op}_{dtype}_{shape}', then
'{op}_{dtype}', such as softmax_f16_8192x1024 and softmax_f16). A function gets the inputs of bench/memory/operators.py in their
order, then the output, all contiguous and row-major; open sizes are found from the shapes by what the header says, scalars
(eps, sm_count, …) by their names. Vectors as element types (f16x8[n]) and tensors of fewer axes (leading ones merged) are
welcome. An operator without a function has a row of peers.

Before anything of ours is measured, all of its output is compared with the definition in f64 (moves, maxima and indices: equal),
with poisoned memory before and guards around it, and --checks runs have to give the same bits.

rotate: CUDA graphs of about 1.2 ms over enough buffer sets to exceed 288 MiB, replayed alternately; µs per call.
flush:  a memset of 256 MiB, an event, the call, an event; alternately. Medians of both.

--race=FILE races functions instead. Each line of FILE:
    entry operator shapes dtype [name=value …]      # such as: softmax_t32v4 softmax 8192x1024,65536x768 f16 eps=1e-6
shapes: separated by commas, any extents, or * for all of the table; what follows a # is a comment.
"""

import argparse
import fnmatch
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from memory import header, operators, report  # noqa: E402

ROTATE_ROUNDS, FLUSH_ROUNDS = 9, 31


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", nargs="+", default=[], metavar="FILE.so")
    parser.add_argument("--runtime", metavar="libhdsrt.so", help="where the loader does not find it")
    parser.add_argument("--name", action="append", help="pattern of our functions' names, with {op}, {dtype}, {shape}")
    parser.add_argument("--ops", help=f"of {', '.join(operators.OPERATORS)}")
    parser.add_argument("--shapes", help="such as 8192x1024,65536x768; operators of matrices take any")
    parser.add_argument("--dtypes", default="f16,f32")
    parser.add_argument("--methods", default="rotate,flush")
    parser.add_argument("--seconds", type=float, default=240, help="for measuring, without compiling; fewer rounds if need be")
    parser.add_argument("--variants", metavar="PATTERNS", help="also functions of such names ('softmax_*'), a row each; the "
                        "name has to begin with {op}_{dtype}")
    parser.add_argument("--race", metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a scalar of our functions")
    parser.add_argument("--checks", type=int, default=3)
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    parser.add_argument("--mode", default="max-autotune-no-cudagraphs", help="of torch.compile")
    parser.add_argument("--compile-cache", metavar="FOLDER", help="keeps what torch.compile made and chose for the next run")
    parser.add_argument("--no-retune", action="store_true", help="keep the choices made while others were compiled: faster")
    parser.add_argument("--compile-processes", type=int, default=14)
    parser.add_argument("--compile-part", help=argparse.SUPPRESS)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--markdown", metavar="FILE", help="the tables, which standard output gets as well")
    args = parser.parse_args(given)
    for name, known in (("ops", operators.OPERATORS), ("dtypes", operators.ROUNDING), ("methods", report.METHODS)):
        values = getattr(args, name)
        values = values.split(",") if values else None
        setattr(args, name, values)
        for value in values or []:
            if value not in known:
                parser.error(f"--{name}: '{value}' is none of {', '.join(known)}")
    args.shapes = args.shapes.split(",") if args.shapes else None
    for shape in args.shapes or []:
        if not re.fullmatch(r"\d+(x\d+)*", shape):
            parser.error(f"--shapes: '{shape}' is no shape such as 8192x1024")
    args.set = dict(scalar(text) for text in args.set)
    args.name = args.name or ["{op}_{dtype}_{shape}", "{op}_{dtype}"]
    return args


def scalar(text):
    name, _, value = text.partition("=")
    try:
        return name, int(value)
    except ValueError:
        return name, float(value)


# ---- which functions --------------------------------------------------------------------------------------------

@dataclass
class Entry:
    """A function that is measured in a case: ours, a variant of it, or one of a race."""

    name: str
    scalars: dict = field(default_factory=dict)


def names_of(case, patterns):
    return [p.format(op=case.name, dtype=case.dtype, shape=case.label) for p in patterns]


def our_entry(case, functions, args):
    """The first of the names that is there; the last one where none is."""
    names = names_of(case, args.name)
    return Entry(next((n for n in names if n in functions), names[-1]))


def variants(case, functions, patterns, ours):
    """Functions of the case's operator and type that match."""
    stem = f"{case.name}_{case.dtype}"
    return [Entry(n) for n in functions if n != ours.name and (n == stem or n.startswith(stem + "_"))
            and any(fnmatch.fnmatchcase(n, p) for p in patterns)]


class RaceError(Exception):
    """A line of a race that says nothing sensible."""


def race_line(text):
    """(case, entry) for each shape of a line."""
    words = text.split("#")[0].split()
    if not words:
        return []
    if len(words) < 4:
        raise RaceError("expected: entry operator shapes dtype [name=value …]")
    name, operator, shapes, dtype, *scalars = words
    if operator not in operators.OPERATORS:
        raise RaceError(f"'{operator}' is none of {', '.join(operators.OPERATORS)}")
    if dtype not in ("f16", "bf16", "f32"):
        raise RaceError(f"'{dtype}' is none of f16, bf16, f32")
    try:
        values = dict(scalar(s) for s in scalars)
        known = operators.OPERATORS[operator].shapes
        wanted = known if shapes == "*" else [tuple(int(n) for n in s.split("x")) for s in shapes.split(",")]
    except ValueError as e:
        raise RaceError(str(e)) from e
    if any(len(s) != len(known[0]) or min(s) < 1 for s in wanted):
        raise RaceError(f"a shape of '{operator}' has {len(known[0])} extents")
    return [(operators.Case(operator, s, dtype), Entry(name, values)) for s in wanted]


def race(path):
    """Case → entries, in the order of the file."""
    found = {}
    for number, text in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            for case, entry in race_line(text):
                found.setdefault(case, []).append(entry)
        except RaceError as e:
            sys.exit(f"{path}:{number}: {e}")
    return found


# ---- torch.compile ----------------------------------------------------------------------------------------------
# Compiling is Python's work for most of the time, so processes share it: they leave what they made in the cache, where this
# one finds it. Which of a kernel's configurations is the fastest it finds out by itself, when nothing else runs on the GPU:
# the choices that the processes made meanwhile are thrown away.

def start_compiling(cases, args):
    folder = args.compile_cache or tempfile.mkdtemp(prefix="memory_ops_")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.abspath(folder)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "16")
    count = min(args.compile_processes, len(cases))
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--compile-part"]
    return choices(), [subprocess.Popen([*command, f"{i}/{count}"], env=environment, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL) for i in range(count if count > 1 else 0)]


def choices():
    return set(glob.glob(os.environ["TORCHINDUCTOR_CACHE_DIR"] + "/**/*.best_config", recursive=True))


def finish_compiling(earlier, processes, keep, seconds=200):
    until = time.monotonic() + seconds
    for process in processes:
        try:
            process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for path in set() if keep else choices() - earlier:
        os.unlink(path)


def compiled(case, args, generator):
    """PyTorch's function, compiled and called once; or why not."""
    import torch

    try:
        function = torch.compile(operators.compiled(case), mode=args.mode, dynamic=False)
        function(*(operators.filled(t, "cuda", generator) for t in case.tensors()[:-1]))
        torch.cuda.synchronize()
        return function
    except Exception as e:  # noqa: BLE001 - whatever a compiler throws
        return f"torch.compile: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"


def compile_all(cases, args, generator):
    import torch

    with torch.no_grad():
        return {case: compiled(case, args, generator) for case in cases}


# ---- a case -----------------------------------------------------------------------------------------------------

class Bench:
    def __init__(self, args, libraries, is_racing):
        import torch
        from memory import gpu

        self.args, self.libraries, self.is_racing, self.gpu, self.torch = args, libraries, is_racing, gpu, torch
        self.generator = torch.Generator("cuda").manual_seed(20261122)
        self.filler = torch.empty(gpu.FLUSH, dtype=torch.uint8, device="cuda")
        properties = torch.cuda.get_device_properties(0)
        self.scalars = {"sm_count": properties.multi_processor_count, "sms": properties.multi_processor_count, **args.set}

    def entries(self, case, entries, sets, reference):
        """(entry, way or None, note) of each."""
        found = []
        for entry in entries:
            way, note = None, None
            if entry.name not in self.libraries.functions:
                found.append((entry, None, "missing"))
                continue
            try:
                way, dtype = self.gpu.ours(self.libraries, entry.name, case, sets, {**self.scalars, **entry.scalars})
                note = self.gpu.check(case, way, dtype, reference, self.args.checks)
            except header.Mismatch as e:
                note = f"does not fit: {e}"
            except Exception as e:  # noqa: BLE001 - of the library, of ctypes, of the GPU: the others go on
                note = f"failed: {str(e).splitlines()[0] if str(e) else type(e).__name__}"
            if note:
                print(f"{entry.name} {case.label}: {note}", file=sys.stderr, flush=True)
            found.append((entry, None if note else way, note))
        return found

    def torch_ways(self, case, function, sets, reference):
        """Eager and compiled, and what is to be said about them."""
        ways, notes = [], []
        for name, f in (("eager", case.operator.torch), ("compiled", function)):
            if not callable(f):
                if f:
                    notes.append(f)
                continue
            try:
                is_right = self.gpu.is_about(case, f(*sets[0].inputs), reference)
                ways.append(self.gpu.Way(name, lambda i, f=f: f(*sets[i].inputs), len(sets)))
                if not is_right:
                    notes.append(f"{name} computes something else")
            except Exception as e:  # noqa: BLE001
                notes.append(f"{name}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
        return ways, notes

    def rounds(self, share, count, us):
        """Rounds of both methods that fit into the seconds."""
        budget = share * 1e6 / len(self.args.methods)
        turn = count * max(1200.0, us)  # of which capturing, the first replay and the first calls cost about three
        single = count * (us + 65 + 50)  # with the memset and the pause
        return report.rounds(budget - 3 * turn, turn, 3, ROTATE_ROUNDS), report.rounds(budget, single, 7, FLUSH_ROUNDS)

    def measure(self, case, ways, share):
        slowest = max(self.gpu.quick(lambda w=w: w.call(0), 2) for w in ways)
        rotate, flush = self.rounds(share, len(ways), slowest)
        times = {}
        if "rotate" in self.args.methods:
            times["rotate"] = self.gpu.rotate(ways, rotate)
        if "flush" in self.args.methods:
            times["flush"] = self.gpu.flush(ways, flush, self.filler)
        return times

    def run(self, case, entries, function, share):
        """Rows of a case: one for each entry, the first one ours."""
        gpu, (read, written) = self.gpu, case.traffic()
        sets = [gpu.Set(case, "cuda", self.generator) for _ in range(report.sets_of(read + written))]
        reference = operators.expected(case, sets[0].inputs)
        checked = self.entries(case, entries, sets, reference)
        others, notes = ([], []) if self.is_racing else self.torch_ways(case, function, sets, reference)
        del reference
        peers = gpu.peers(self.libraries, read + written, "cuda", self.generator)
        mine = [w for _, w, _ in checked if w]
        ways = [*mine, *others, *peers]
        times = self.measure(case, ways, share)
        common = {"operator": case.name, "shape": case.label, "dtype": case.dtype, "bytes": read + written,
                  "is_reduction": case.is_reduction, "columns": case.shape[-1]}
        if notes:
            common["torch_notes"] = notes
        rows = []
        for entry, way, note in checked:
            row = {**common, "name": entry.name, "note": note or (way and way.problem)}
            for method, lists in times.items():
                row[method], row[f"{method}_spread"] = summary(way, ways, lists)
            rows.append(row)
        return rows


def summary(ours, ways, lists):
    """Median and spread by way: our one, each peer, the best copy and the best read."""
    medians, spreads = {}, {}
    for way, values in zip(ways, lists):
        is_entry = ":" not in way.name and way.name not in ("eager", "compiled")
        if is_entry and way is not ours:
            continue
        name = "ours" if is_entry else way.name
        medians[name], spreads[name] = report.median(values), report.spread(values)
    for kind in ("copy", "read"):
        best = report.least(v for n, v in medians.items() if n.startswith(kind + ":"))
        if best is not None:
            medians[kind] = best
    return medians, spreads


# ---- all of it --------------------------------------------------------------------------------------------------

def machine():
    import torch

    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                            check=False).stdout.strip().split("\n")[0]
    return {"gpu": torch.cuda.get_device_name(), "driver": driver, "torch": torch.__version__, "cuda": torch.version.cuda,
            "date": time.strftime("%Y-%m-%d")}


class Printer:
    """Lines for standard output and a file, as they come; the rows as JSON after each case, so that a run that is stopped
    leaves what it had."""

    def __init__(self, args, about):
        self.args, self.about, self.rows = args, about, []
        self.file = open(args.markdown, "w", encoding="utf-8") if args.markdown else None

    def say(self, *lines):
        for text in lines:
            print(text, flush=True)
            if self.file:
                print(text, file=self.file, flush=True)

    def add(self, rows):
        self.rows += rows
        if self.args.json:
            pathlib.Path(self.args.json).write_text(json.dumps({"machine": self.about, "rows": self.rows}, indent=1),
                                                    encoding="utf-8")


def title_of(row, is_first):
    return row["operator"] if is_first else f"– {row['name']}"


def run(args, work, functions, libraries, printer):
    bench = Bench(args, libraries, bool(args.race))
    until = time.monotonic() + args.seconds
    printer.say(*(report.race_head(args.methods) if args.race else report.head(args.methods)))
    for index, (case, entries) in enumerate(work.items()):
        share = max(0.0, until - time.monotonic()) / (len(work) - index)
        with bench.torch.no_grad():
            rows = bench.run(case, entries, functions.get(case), share * 0.7)
        bench.torch.cuda.empty_cache()
        printer.add(rows)
        for i, row in enumerate(rows):
            printer.say(report.race_line(row, args.methods) if args.race
                        else report.line(row, args.methods, title_of(row, i == 0)))


def conclusion(args, printer):
    rows = printer.rows
    if not args.race:
        firsts = list({(r["operator"], r["shape"], r["dtype"]): r for r in reversed(rows)}.values())[::-1]
        printer.say("", *report.means(firsts, args.methods))
        missed = [f"- {r['operator']} {r['shape']} {r['dtype']}: {', '.join(report.missed(r))}" for r in firsts if report.missed(r)]
        printer.say("", f"Below the goals: {len(missed)} of {len(firsts)}", *missed)
    missing = dict.fromkeys(r["name"] for r in rows if r["note"] == "missing")
    if missing:
        printer.say("", f"Missing: {', '.join(missing)}")
    notes = [f"- {r['name']} {r['shape']} {r['dtype']}: {r['note']}" for r in rows if r["note"] not in (None, "missing")]
    notes += sorted({f"- {r['operator']} {r['shape']} {r['dtype']}: {n}" for r in rows for n in r.get("torch_notes", [])})
    if notes:
        printer.say("", "Not measured, or not as it should be:", *notes)
    return 1 if any((r["note"] or "").startswith(("wrong", "failed", "does not fit")) for r in rows) else 0


def main():
    args = arguments()
    work = race(args.race) if args.race else {c: [] for c in operators.cases(args.ops, args.shapes, args.dtypes)}
    if not work:
        sys.exit("memory_ops: there is no such operator, shape and type")
    needs_compiling = not args.no_compile and not args.race
    if needs_compiling and args.compile_part:
        import torch

        part, count = map(int, args.compile_part.split("/"))
        compile_all(list(work)[part::count], args, torch.Generator("cuda").manual_seed(1))
        return 0
    began = time.monotonic()
    earlier, processes = start_compiling(work, args) if needs_compiling else (set(), [])
    import torch
    from memory.library import Libraries

    torch.cuda.init()
    torch.empty(1, device="cuda")  # its context is the one that the libraries find
    libraries = Libraries(args.library, args.runtime)
    if not args.race:
        for case in work:
            ours = our_entry(case, libraries.functions, args)
            work[case] = [ours]
            if args.variants:
                work[case] += variants(case, libraries.functions, args.variants.split(","), ours)
    functions = {}
    if needs_compiling:
        finish_compiling(earlier, processes, args.no_retune)
        functions = compile_all(work, args, torch.Generator("cuda").manual_seed(1))
    about = machine()
    printer = Printer(args, about)
    printer.say(f"{about['gpu']}, driver {about['driver']}, PyTorch {about['torch']}, CUDA {about['cuda']}, {about['date']}"
                f"{f', compiled in {time.monotonic() - began:.0f} s' if needs_compiling else ''}", "")
    run(args, work, functions, libraries, printer)
    return conclusion(args, printer)


if __name__ == "__main__":
    sys.exit(main())
