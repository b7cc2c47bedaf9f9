"""Numbers of rows: medians, ratios, goals, and the tables that show them. Times are in µs; a ratio above 1 says ours is faster."""

import math
import statistics

METHODS = ("rotate", "flush")
PEERS = ("copy", "read", "eager", "compiled")
SORTING = ("sort", "topk")  # go over their rows several times: no copy is their measure
LARGE = 64 << 20  # bytes moved, from which on the goals against memory hold
ROW_OPERATORS = ("softmax", "layer_norm", "rms_norm", "row_sum", "row_max", "cumsum", "argmax")


def median(values):
    return statistics.median(values) if values else None


def spread(values):
    """Half of what lies between the quartiles, as a part of the median."""
    if len(values) < 4:
        return None
    quartiles = statistics.quantiles(values, n=4)
    return (quartiles[2] - quartiles[0]) / 2 / statistics.median(values)


def geomean(values):
    values = [v for v in values if v]
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def least(values):
    return min((v for v in values if v is not None), default=None)


def rounds(budget, cost, low, high):
    """How many rounds of `cost` fit into `budget`, an odd number from low to high."""
    count = int(min(high, max(low, budget / max(cost, 1e-9))))
    return max(low, count - 1 + count % 2)


def calls_of_graph(sets, us, target_us=1200.0):
    """Calls of a graph: each buffer set equally often, and about `target_us` in all."""
    return sets * max(1, round(target_us / max(us * sets, 1e-9)))


def sets_of(bytes_moved, beyond=288 << 20):
    """So many buffer sets that together they exceed what a cache could keep."""
    return beyond // max(bytes_moved, 1) + 1


# ---- a row ------------------------------------------------------------------------------------------------------
# {"operator", "shape", "dtype", "bytes", "is_reduction", "columns", "name", "note",
#  "rotate": {way: µs}, "flush": {way: µs}}; ways are "ours", those of PEERS, and "copy:NAME" of each copy.

def ratios(row, method):
    """÷copy, ÷read, ÷the better of PyTorch's: None where one of the two is missing."""
    times = row.get(method) or {}
    ours, torch = times.get("ours"), least([times.get("eager"), times.get("compiled")])
    others = {"copy": times.get("copy"), "read": times.get("read"), "torch": torch}
    return {name: other / ours if ours and other else None for name, other in others.items()}


def goals(row):
    """(method, peer, least ratio) of the goals that a row has."""
    long_rows = row["operator"] in ROW_OPERATORS and row["columns"] >= 32768
    if row["bytes"] < LARGE:
        return [("rotate", "torch", 1 / 1.05)]
    peer = "read" if row["is_reduction"] else "copy"
    rotate = 0.95
    if row["operator"] == "transpose" or long_rows:
        rotate = 0.92
    if long_rows and row["columns"] >= 262144:
        rotate = 0.89
    found = []
    if row["operator"] not in SORTING:
        found = [("rotate", peer, rotate), ("flush", peer, 0.97 if row["is_reduction"] else 0.93)]
    for method in METHODS:
        times = row.get(method) or {}
        copy, compiled = times.get("copy"), times.get("compiled")
        at_copy_speed = copy and compiled and compiled <= 1.02 * copy
        found.append((method, "torch", 0.98 if at_copy_speed else 1.0))
    return found


def missed(row):
    """Texts of the goals that the row measured and did not reach."""
    found = []
    for method, peer, goal in goals(row):
        ratio = ratios(row, method)[peer]
        if ratio is not None and ratio < goal - 0.0005:
            found.append(f"{method} ÷{peer} {ratio:.3f} of {goal:.3f}")
    return found


# ---- tables -----------------------------------------------------------------------------------------------------

def number(value, digits):
    return "–" if value is None else f"{value:.{digits}f}"


def head(methods):
    names = ["operator", "shape", "dtype", "MB"]
    for method in methods:
        names += [f"{method} µs: ours", *PEERS, "÷copy", "÷read", "÷torch"]
    return [f"| {' | '.join(names)} |", "|---|---|---|" + "---:|" * (len(names) - 3)]


def line(row, methods, title=None):
    cells = [title or row["operator"], row["shape"], row["dtype"], f"{row['bytes'] / 1e6:.0f}"]
    for method in methods:
        times, by = row.get(method) or {}, ratios(row, method)
        ours = number(times.get("ours"), 2) if not row.get("note") else row["note"].split(":")[0]
        cells += [ours, *(number(times.get(p), 2) for p in PEERS), *(number(by[k], 3) for k in ("copy", "read", "torch"))]
    return f"| {' | '.join(cells)} |"


def means(rows, methods):
    """Geometric means: of all rows, of rows of at least 64 MiB, of smaller ones; and by operator."""
    out = ["| geometric means | rows | " + " | ".join(f"{m} ÷copy | ÷read | ÷torch" for m in methods) + " |",
           "|---|---:|" + "---:|" * (3 * len(methods))]
    groups = [("all", rows), ("≥ 64 MiB", [r for r in rows if r["bytes"] >= LARGE]),
              ("< 64 MiB", [r for r in rows if r["bytes"] < LARGE])]
    groups += [(name, [r for r in rows if r["operator"] == name]) for name in dict.fromkeys(r["operator"] for r in rows)]
    for name, members in groups:
        measured = [r for r in members if any((r.get(m) or {}).get("ours") for m in methods)]
        if measured:
            cells = [number(geomean([ratios(r, m)[k] for r in measured]), 3) for m in methods for k in ("copy", "read", "torch")]
            out.append(f"| {name} | {len(measured)} | {' | '.join(cells)} |")
    return out


def race_head(methods):
    names = ["entry", "operator", "shape", "dtype", "check"]
    for method in methods:
        names += [f"{method} µs", "÷copy", "÷read"]
    return [f"| {' | '.join(names)} |", "|---|---|---|---|---|" + "---:|" * (3 * len(methods))]


def race_line(row, methods):
    cells = [row["name"], row["operator"], row["shape"], row["dtype"], row.get("note") or "right"]
    for method in methods:
        by = ratios(row, method)
        cells += [number((row.get(method) or {}).get("ours"), 2), number(by["copy"], 3), number(by["read"], 3)]
    return f"| {' | '.join(cells)} |"
