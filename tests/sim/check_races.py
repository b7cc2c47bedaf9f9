"""Random kernels against an exact oracle of data races: what the simulator reports must be a race between those two
lines, and a kernel that has a race must be reported, under every schedule and for any number of host threads.

The oracle knows nothing of the simulator. It walks through the kernel for all threads at once; each access of a
statement keeps, for every thread, the set of threads whose access that thread has seen, and a barrier joins the sets of
those who meet. An access that touches an element which an unseen one has touched races, if one of the two writes and
not both are atomic. Two plain writes of one value are no race, but may be taken for one where something else races with them
(docs/simulator.md).

Usage: check_races.py HDSC [--seed=N] [--count=N] [--keep=FILE]
"""

import argparse
import itertools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import finish  # noqa: E402

HEAD = """from hidet.lang import atomic, attrs, f32, i8, i16, i32, shared_tensor
from hidet.lang.cuda import barrier_sync, blockIdx, syncthreads, syncwarp, threadIdx
from hidet.lang.testing import test, zeros
"""
WARP = 32
PER_FILE = 40
SEEDS = (0, 1, 7)
UNIQUE = itertools.count()


# ---- programs ----------------------------------------------------------------------------------------------------------


class Tensor:
    """[count] elements; with [slice], each block has as many of its own in a tensor for all of them."""

    def __init__(self, name, kind, count, shared, slice):
        self.name, self.kind, self.count, self.shared, self.slice = name, kind, count, shared, slice


class Program:
    """A kernel as nested lists of statements, each a tuple whose first item says what it is."""

    def __init__(self, rng, blocks=None):
        self.rng = rng
        self.blocks = blocks or rng.choice((1, 1, 2, 3))
        self.warps = rng.choice((1, 2, 2, 3, 4))
        self.threads = self.warps * WARP
        self.order = rng.choice((0.2, 0.7, 0.9, 1, 1))
        self.barriers = 0
        self.tensors = []
        for name, shared in (("s", True), ("g", False), ("h", bool(rng.randrange(2)))):
            kind = rng.choice(("i8", "i16", "i32", "i32", "f32"))
            count = rng.choice((WARP, 2 * WARP, 4 * WARP, self.threads, self.threads))
            self.tensors.append(Tensor(name, kind, count, shared, not shared and rng.random() < 0.7))
        self.body = self.statements(rng.randint(3, 8), "block", 0, ())

    # Which threads are here: "block" all of a block, "warps" whole warps, "lanes" some lanes of each warp.
    def statements(self, count, where, depth, loops, sync=None):
        body = []
        for _ in range(count):
            if body and self.rng.random() < self.order:
                body.append(self.synchronise(where, sync))
            body.append(self.statement(where, depth, loops, sync))
        return body

    def synchronise(self, where, sync):
        if where == "block":
            return self.rng.choice((*4 * [("sync",)], ("syncwarp", None)))
        if where == "warps":
            return self.rng.choice((sync, sync, ("syncwarp", None)))
        return sync

    def statement(self, where, depth, loops, sync):
        choice = self.rng.random()
        if depth < 2 and choice < 0.1:
            name = f"k{depth}"
            return ("loop", name, self.rng.randint(2, 3), self.statements(2, where, depth + 1, (*loops, name), sync))
        if depth < 2 and choice < 0.25:
            return self.branch(where, depth, loops, sync)
        return self.access(loops)

    def branch(self, where, depth, loops, sync):
        body = lambda w, s: self.statements(self.rng.randint(1, 3), w, depth + 1, loops, s)  # noqa: E731
        if where == "block" and self.blocks > 1 and self.rng.random() < 0.4:
            b = self.rng.randrange(self.blocks)
            return ("if", f"b == {b}", lambda t, block, b=b: block == b, body("block", None), body("block", None))
        if where == "block" and self.warps > 1 and self.barriers < 12 and self.rng.random() < 0.5:
            first = self.rng.randint(1, self.warps - 1) * WARP
            self.barriers += 2
            low, high = ("named", self.barriers, first), ("named", self.barriers + 1, self.threads - first)
            return ("if", f"t < {first}", lambda t, b: t < first, body("warps", low), body("warps", high))
        if where == "lanes":
            return self.access(loops)
        lanes = self.rng.choice((1, 8, 16, 31))
        mask = (1 << lanes) - 1
        low, high = ("syncwarp", mask), ("syncwarp", 0xFFFFFFFF & ~mask)
        return ("if", f"t % 32 < {lanes}", lambda t, b: t % WARP < lanes, body("lanes", low), body("lanes", high))

    def access(self, loops):
        t = self.rng.choice(self.tensors)
        what = self.rng.choice(("read", "read", "read", "write", "write", "same", "update", "atomic"))
        if what == "atomic" and t.kind in ("i8", "i16"):
            what = "read"
        if what == "update":
            to = self.index(t, loops)
            return ("update", t, to, self.rng.choice((to, self.index(t, loops))))
        return (what, t, self.index(t, loops), self.rng.randrange(64))

    def index(self, tensor, loops):
        n, k = tensor.count, self.rng.choice((1, 1, 2, 16, 32, 33))
        forms = [
            *4 * [(f"t % {n}", lambda t, b, v: t % n)],
            (f"(t + {k}) % {n}", lambda t, b, v: (t + k) % n),
            (f"(t ^ {k}) % {n}", lambda t, b, v: (t ^ k) % n),
            (f"(t + b * 32) % {n}", lambda t, b, v: (t + b * 32) % n),
            (f"t // {k} % {n}", lambda t, b, v: t // k % n),
            (f"{k % n}", lambda t, b, v: k % n),
        ]
        if loops:
            name = loops[-1]
            forms += 2 * [(f"(t + {name}) % {n}", lambda t, b, v: (t + v[name]) % n)]
        text, function = self.rng.choice(forms)
        if not tensor.slice:
            return text, function
        return f"b * {n} + {text}", lambda t, b, v: b * n + function(t, b, v)

    # ---- text --------------------------------------------------------------------------------------------------------

    def text(self, name, first_line):
        """The kernel's lines; fills in the line of each access."""
        self.line_of = {}
        globals_ = [t for t in self.tensors if not t.shared]
        out = ["@hidet.script"]
        given = "".join(f"{t.name}: {t.kind}[{self.size(t)}], " for t in globals_)
        out.append(f"def {name}({given}y: i32[{self.blocks}, {self.threads}]):")
        out.append(f"    attrs.cuda.grid_dim = {self.blocks}")
        out.append(f"    attrs.cuda.block_dim = {self.threads}")
        out += ["    t = threadIdx.x", "    b = blockIdx.x", "    a = i32(0)"]
        for t in self.tensors:
            if t.shared:
                out.append(f"    {t.name} = shared_tensor({t.kind}, [{t.count}])")
                out.append(f"    for i in range(t, {t.count}, {self.threads}):")
                out.append(f"        {t.name}[i] = {t.kind}(0)")
        out.append("    syncthreads()")
        self.emit(self.body, "    ", out, first_line)
        out += ["    y[b, t] = a", "", ""]
        return out

    def size(self, tensor):
        return tensor.count * (self.blocks if tensor.slice else 1)

    def call(self, name):
        given = "".join(f"zeros({t.kind}, [{self.size(t)}]), " for t in self.tensors if not t.shared)
        return f"    {name}({given}zeros(i32, [{self.blocks}, {self.threads}]))"

    def emit(self, body, indent, out, first_line):
        for s in body:
            self.line_of[id(s)] = first_line + len(out)
            if s[0] == "loop":
                out.append(f"{indent}for {s[1]} in range({s[2]}):")
                self.emit(s[3], indent + "    ", out, first_line)
            elif s[0] == "if":
                out.append(f"{indent}if {s[1]}:")
                self.emit(s[3], indent + "    ", out, first_line)
                out.append(f"{indent}else:")
                self.emit(s[4], indent + "    ", out, first_line)
            else:
                out.append(indent + self.line(s))

    def line(self, s):
        if s[0] == "sync":
            return "syncthreads()"
        if s[0] == "syncwarp":
            return "syncwarp()" if s[1] is None else f"syncwarp(0x{s[1]:08x})"
        if s[0] == "named":
            return f"barrier_sync({s[1]}, {s[2]})"
        t, element = s[1], f"{s[1].name}[{s[2][0]}]"
        if s[0] == "read":
            return f"a += i32({element})"
        if s[0] == "write":
            return f"{element} = {t.kind}((t + {s[3]}) % 128)"
        if s[0] == "same":
            return f"{element} = {t.kind}({s[3]})"
        if s[0] == "update":
            return f"{element} = {t.name}[{s[3][0]}] + {t.kind}(1)"
        return f"atomic.add(~{element}, {t.kind}(1))"


# ---- the oracle --------------------------------------------------------------------------------------------------------


class Access:
    """One execution of a statement by some threads."""

    def __init__(self, tensor, kind, line, count):
        self.tensor, self.kind, self.line = tensor, kind, line
        self.element, self.value = {}, {}  # by thread
        self.by_element = {}               # -> set of threads, as bits
        self.seen = [1 << q for q in range(count)]

    def add(self, q, element, value):
        self.element[q], self.value[q] = element, value
        self.by_element[element] = self.by_element.get(element, 0) | 1 << q


class Oracle:
    def __init__(self, program):
        self.p = program
        self.count = program.blocks * program.threads
        self.accesses = []
        self.pairs = set()   # of lines that race
        self.raced, self.repeated = set(), {}  # elements with races; with unordered writes of one value, -> pairs
        self.run(program.body, [(b, t) for b in range(program.blocks) for t in range(program.threads)], {})

    @property
    def must_be_found(self):
        return bool(self.raced - self.repeated.keys())

    @property
    def may_be_found(self):
        return self.pairs.union(*(pairs for e, pairs in self.repeated.items() if e in self.raced))

    def thread(self, who):
        return who[0] * self.p.threads + who[1]

    def run(self, body, who, loops):
        for s in body:
            if not who:
                return
            if s[0] == "loop":
                for k in range(s[2]):
                    self.run(s[3], who, {**loops, s[1]: k})
            elif s[0] == "if":
                self.run(s[3], [(b, t) for b, t in who if s[2](t, b)], loops)
                self.run(s[4], [(b, t) for b, t in who if not s[2](t, b)], loops)
            elif s[0] in ("sync", "named"):
                self.meet(who, lambda w: w[0])
            elif s[0] == "syncwarp":
                self.meet(who, lambda w: (w[0], w[1] // WARP))
            else:
                self.access(s, who, loops)

    def meet(self, who, group):
        for _, members in itertools.groupby(who, group):
            threads = [self.thread(w) for w in members]
            for a in self.accesses:
                seen = 0
                for q in threads:
                    seen |= a.seen[q]
                for q in threads:
                    a.seen[q] = seen

    def access(self, s, who, loops):
        line = self.p.line_of[id(s)]
        if s[0] == "update":
            self.enter(s[1], "read", line, s[3], who, loops, None)
            unknown = s[2] is not s[3]
            self.enter(s[1], "write", line, s[2], who, loops, lambda t: None if unknown else next(UNIQUE))
            return
        values = {"write": lambda t: (t + s[3]) % 128, "same": lambda t: s[3]}
        kind = "write" if s[0] == "same" else s[0]
        self.enter(s[1], kind, line, s[2], who, loops, values.get(s[0]))

    def enter(self, tensor, kind, line, index, who, loops, value):
        now = Access(tensor, kind, line, self.count)
        for b, t in who:
            element = (tensor.name, b if tensor.shared else -1, index[1](t, b, loops))
            now.add(self.thread((b, t)), element, value(t) if value else None)
        for old in self.accesses:
            if old.tensor is tensor:
                self.compare(old, now)
        self.compare(now, now)
        self.accesses.append(now)

    def compare(self, old, now):
        if old.kind == now.kind and now.kind != "write":
            return
        for q, element in now.element.items():
            unseen = old.by_element.get(element, 0) & ~old.seen[q]
            if not unseen:
                continue
            if old.kind == now.kind == "write":
                unseen = self.without_repeated(old, now, q, element, unseen)
            if unseen:
                self.raced.add(element)
                self.pairs.add((min(old.line, now.line), max(old.line, now.line)))

    # Those of [unseen] that write another value.
    def without_repeated(self, old, now, q, element, unseen):
        rest = 0
        while unseen:
            low = unseen & -unseen
            unseen ^= low
            values = (old.value[low.bit_length() - 1], now.value[q])
            if None in values or values[0] == values[1]:
                self.repeated.setdefault(element, set()).add((min(old.line, now.line), max(old.line, now.line)))
            if None in values or values[0] != values[1]:
                rest |= low
        return rest


# ---- what the simulator says -------------------------------------------------------------------------------------------

FAILED = re.compile(r"^FAILED .*::(\w+)")
FINDING = re.compile(r"^[^ ].*?:(\d+):\d+: error\[(HDS\d+)\]: (.*)")
OTHER = re.compile(r"^  at .*:(\d+)$")


def findings(text):
    """Of each finding its test, its code, and its two lines."""
    found, test = [], None
    for line in text.splitlines():
        failed, finding, other = FAILED.match(line), FINDING.match(line), OTHER.match(line)
        if failed:
            test = failed[1]
        elif finding:
            found.append([test, finding[2], int(finding[1]), int(finding[1]), finding[3]])
        elif other and found:
            found[-1][3] = int(other[1])
    return found


def check_file(hdsc, text, oracles, flags, path):
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    done = subprocess.run([hdsc, "test", path, *flags], capture_output=True, text=True, check=False, timeout=600)
    wrong, told = [], {}
    for test, code, a, b, message in findings(done.stdout + done.stderr):
        told.setdefault(test, []).append((code, min(a, b), max(a, b), message))
    for test, oracle in oracles.items():
        found, allowed = told.get(test, []), oracle.may_be_found
        for code, a, b, message in found:
            if code not in ("HDS0605", "HDS0606") or (a, b) not in allowed:
                wrong.append(f"{test} {' '.join(flags)}: lines {a} and {b}: {code}, but that is no race: {message}")
        if oracle.must_be_found and not found:
            wrong.append(f"{test} {' '.join(flags)}: the race of {sorted(oracle.pairs)[:3]} is missed")
    return wrong


def make_file(rng, count, blocks=None):
    """A file of [count] tests of a kernel each: its lines, and what the oracle says of the tests."""
    text, oracles = HEAD.splitlines() + ["", ""], {}
    for k in range(count):
        p = Program(rng, blocks)
        text += p.text(f"kernel_{k}", len(text) + 1)
        text += ["@test", f"def test_{k}():", p.call(f"kernel_{k}"), "", ""]
        oracles[f"test_{k}"] = Oracle(p)
    return text, oracles


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hdsc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--keep")
    a = parser.parse_args()
    wrong, done, raced, number = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(a.keep or os.path.join(folder, "races.hds"))
        while done < a.count and not wrong:
            rng = random.Random(a.seed * 1000003 + number)
            number += 1
            # Most programs with all schedules; a few of several blocks, whose blocks then run on several host threads.
            text, oracles = make_file(rng, min(PER_FILE, a.count - done))
            for seed in SEEDS:
                wrong += check_file(a.hdsc, text, oracles, (f"--seed={seed}", "-j2"), path) if not wrong else []
            done, raced = done + len(oracles), raced + sum(o.must_be_found for o in oracles.values())
            for k in range(3 if not wrong else 0):
                text, oracles = make_file(rng, 1, blocks=2 + k % 2)
                wrong += check_file(a.hdsc, text, oracles, ("-j4",), path) if not wrong else []
                done, raced = done + len(oracles), raced + sum(o.must_be_found for o in oracles.values())
    if wrong:
        wrong.append(f"seed {a.seed}, file {number - 1}")
    print(f"{done} programs, {raced} with races")
    return finish(wrong, done)


if __name__ == "__main__":
    sys.exit(main())
