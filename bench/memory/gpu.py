"""Buffers on the GPU, and the two ways to measure: graphs over many buffer sets, and single calls behind a flush."""

import random
import sys

import torch

from memory import header, operators, report

GUARD = 256  # bytes around an output
FLUSH = 256 << 20
PAUSE = 200_000  # clocks for which the GPU waits, so that the host is ahead of it when times are taken


def stream():
    return torch.cuda.current_stream().cuda_stream


# ---- buffers ----------------------------------------------------------------------------------------------------

class Output:
    """A tensor of 0xff bytes (NaN, or -1) between guards."""

    def __init__(self, shape, dtype, device):
        count = 1
        for extent in shape:
            count *= extent
        used = count * operators.BYTES[dtype]
        self.bytes = torch.empty(used + 2 * GUARD, dtype=torch.uint8, device=device)
        self.tensor = self.bytes[GUARD:GUARD + used].view(operators.torch_type(dtype)).view(shape)
        self.poison()

    def poison(self):
        self.bytes.fill_(0xFF)

    def is_guarded(self):
        return bool((self.bytes[:GUARD] == 0xFF).all()) and bool((self.bytes[-GUARD:] == 0xFF).all())


class Set:
    """Inputs of a case, and outputs and other types of inputs as functions ask for them."""

    def __init__(self, case, device, generator):
        self.device, self.tensors = device, case.tensors()
        self.inputs = [operators.filled(t, device, generator) for t in self.tensors[:-1]]
        self.others = {}

    def input(self, index, dtype):
        if dtype == self.tensors[index].dtypes[0]:
            return self.inputs[index]
        key = (index, dtype)
        if key not in self.others:
            self.others[key] = self.inputs[index].to(operators.torch_type(dtype))
        return self.others[key]

    def output(self, dtype):
        if dtype not in self.others:
            self.others[dtype] = Output(self.tensors[-1].shape, dtype, self.device)
        return self.others[dtype]


def chosen_types(function, case):
    """The types that the function wants its tensors in."""
    wanted, tensors = function.tensors, case.tensors()
    if len(wanted) != len(tensors):
        raise header.Mismatch(f"it takes {len(wanted)} tensors, not {len(tensors)}")
    for p, t in zip(wanted, tensors):
        if p.dtype not in t.dtypes:
            raise header.Mismatch(f"'{p.name}' holds {p.dtype}, not {' or '.join(t.dtypes)}")
    return [p.dtype for p in wanted]


# ---- ways to compute --------------------------------------------------------------------------------------------

class Way:
    """`call(i)` puts a call on buffer set i into the current stream; what it returns has to be kept as long as the set. Of ours,
    `output` is the one of set 0, `bits` what has to be in it, `problem` what turned out to be wrong while times were taken."""

    def __init__(self, name, call, sets, output=None):
        self.name, self.call, self.sets, self.output = name, call, sets, output
        self.bits = self.problem = None


def ours(libraries, name, case, sets, scalars):
    """A function of a library, for each set, and the type of its output."""
    types = chosen_types(libraries.functions[name], case)
    calls = []
    for s in sets:
        tensors = [s.input(i, d) for i, d in enumerate(types[:-1])] + [s.output(types[-1]).tensor]
        operands = [header.Operand(tuple(t.shape), d, i == len(types) - 1) for i, (t, d) in enumerate(zip(tensors, types))]
        addresses = [t.data_ptr() for t in tensors]
        calls.append(libraries.call(name, operands, addresses, {**case.operator.scalars, **scalars}))
    return Way(name, lambda i: calls[i](stream()), len(sets), sets[0].output(types[-1])), types[-1]


def peers(libraries, moved, device, generator):
    """Copies and reads that move as many bytes, each over as many buffer sets."""
    half = max(1024, moved // 2 // 1024 * 1024)
    count = report.sets_of(2 * half)
    memory = torch.randint(0, 2**62, (count * 2 * half // 8,), device=device, generator=generator).view(torch.uint8)
    sink = torch.empty(64, dtype=torch.uint8, device=device)
    parts = [memory[2 * half * i:2 * half * (i + 1)] for i in range(count)]
    found = [Way("copy:memcpy", lambda i: parts[i][half:].copy_(parts[i][:half]), count)]  # cudaMemcpyAsync
    for name in libraries.matching(["copy", "copy_*", "read", "read_*"]):
        is_copy, calls = name.startswith("copy"), []
        try:
            for part in parts:
                base = part.data_ptr()
                pair = [(half,), (half,)] if is_copy else [(2 * half,), (4,)]
                operands = [header.Operand(pair[0]), header.Operand(pair[1], is_output=True)]
                calls.append(libraries.call(name, operands, [base, base + half if is_copy else sink.data_ptr()], {}))
        except header.Mismatch:
            continue  # another function that happens to be called so
        found.append(Way(f"{'copy' if is_copy else 'read'}:{name}", lambda i, c=calls: c[i](stream()), count))
    return found


def quick(call, count=5):
    """µs of a call, about."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(3 * PAUSE)
    start.record()
    kept = [call() for _ in range(count)]
    stop.record()
    stop.synchronize()
    del kept
    return start.elapsed_time(stop) * 1000 / count


# ---- methods ----------------------------------------------------------------------------------------------------

def captured(way, calls):
    """A graph of so many calls, one buffer set after the other, or None where the calls cannot be captured. Results stay as
    long as buffer sets do, so that those of PyTorch too are written to other memory each time."""
    # Not torch.cuda.graph(), which collects garbage first: 0.1 s for each of some thousand graphs.
    graph, kept, aside = torch.cuda.CUDAGraph(), [None] * way.sets, torch.cuda.Stream()
    torch.cuda.synchronize()
    try:
        with torch.cuda.stream(aside):
            graph.capture_begin(capture_error_mode="relaxed")
            try:
                for i in range(calls):
                    kept[i % way.sets] = way.call(i % way.sets)
            finally:
                graph.capture_end()
    except Exception as e:  # noqa: BLE001 - of a library, of PyTorch, of CUDA
        print(f"{way.name} is in no graph: {e}", file=sys.stderr)
        return None
    return graph


def in_turns(lists, run, count, rng):
    """Calls run(i) for each of the ways in random order, `count` times, without waiting for any."""
    order = list(range(len(lists)))
    for _ in range(count):
        torch.cuda._sleep(PAUSE)
        rng.shuffle(order)
        for i in order:
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            run(i, start, stop)
            lists[i].append((start, stop))
        torch.cuda.synchronize()


def elapsed(pairs):
    return [start.elapsed_time(stop) * 1000 for start, stop in pairs]


def rotate(ways, count, seed=1):
    """µs of a call, for each way and round: graphs of about 1.2 ms, replayed alternately."""
    counts, graphs = [], []
    for way in ways:
        counts.append(report.calls_of_graph(way.sets, quick(lambda w=way: w.call(0))))
        graphs.append(captured(way, counts[-1]))

    def run(i, start, stop):
        start.record()
        if graphs[i]:
            graphs[i].replay()
        stop.record()

    first, lists = [[] for _ in ways], [[] for _ in ways]
    in_turns(first, run, 1, random.Random(seed))
    in_turns(lists, run, count, random.Random(seed))
    for way, graph in zip(ways, graphs):
        if way.bits is not None and graph:
            way.output.poison()
            graph.replay()
            torch.cuda.synchronize()
            if not torch.equal(way.bits, way.output.bytes):
                way.problem = "wrong: other bits in a graph of many calls"
    return [[us / n for us in elapsed(pairs)] if graph else [] for pairs, n, graph in zip(lists, counts, graphs)]


def flush(ways, count, filler, seed=2):
    """µs of a single call, for each way and round, after so many bytes were written that the cache holds nothing else."""
    turn = [0] * len(ways)

    def run(i, start, stop):
        torch.cuda._sleep(PAUSE // 2)  # a call through torch.compile takes the host some 30 µs
        filler.zero_()
        start.record()
        kept = ways[i].call(turn[i] % ways[i].sets)
        stop.record()
        turn[i] += 1
        return kept

    first, lists = [[] for _ in ways], [[] for _ in ways]
    in_turns(first, run, 1, random.Random(seed))
    in_turns(lists, run, count, random.Random(seed))
    return [elapsed(pairs) for pairs in lists]


# ---- correctness ------------------------------------------------------------------------------------------------

def check(case, way, dtype, reference, repeats):
    """What is wrong with the way's result on set 0, or None. All of it is compared, and the same bits have to come each time."""
    for turn in range(repeats):
        way.output.poison()
        way.call(0)
        torch.cuda.synchronize()
        if not way.output.is_guarded():
            return "wrong: it writes outside of its output"
        if turn == 0:
            problem = operators.wrong(case, way.output.tensor, reference, dtype)
            if problem:
                return problem
            way.bits = way.output.bytes.clone()
        elif not torch.equal(way.bits, way.output.bytes):
            return f"wrong: other bits in run {turn + 1}"
    return None


def is_about(case, result, reference):
    """Whether PyTorch's own function computes the same operator."""
    if tuple(result.shape) != tuple(reference.shape):
        return False
    difference = (result.double() - reference.double()).norm() / reference.double().norm().clamp_min(1e-30)
    return bool(difference < 1e-2)
