"""Counts the workspace of a launch plan by its text alone: `check_workspace.py MOST_RATIO < plan`.

Lifetimes are those from `allocate` to `free`; none of the temporaries that live at one time may share bytes.
"""

import re
import sys

BYTES = {"bool": 1, "i8": 1, "u8": 1, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "f64": 8}


def main(most: float):
    planned, live, peak, bound, count = None, {}, 0, 0, 0
    for line in sys.stdin:
        line = re.sub(r' # (".*":)?\d+$', "", line.strip())
        if line.startswith("plan @"):
            planned = int(re.search(r" planned (\d+)$", line)[1])
        elif m := re.fullmatch(r"allocate (\S+): (\w+)\[(.*)\] at (\d+)", line):
            size = BYTES[m[2]]
            for extent in m[3].split(", "):
                size *= int(extent.removesuffix("i64"))
            begin, end = int(m[4]), int(m[4]) + size
            for name, (b, e) in live.items():
                assert end <= b or e <= begin, f"{m[1]} and {name} share bytes"
            live[m[1]] = begin, end
            count, peak = count + 1, max(peak, end)
            bound = max(bound, sum(e - b for b, e in live.values()))
        elif line.startswith("allocate "):
            sys.exit(f"no offset: {line}")
        elif line.startswith("free "):
            del live[line.removeprefix("free ")]
    assert peak <= planned <= most * bound, (peak, planned, bound)
    print(f"{count} temporaries, workspace {planned} bytes, {bound} lower bound")


main(float(sys.argv[1]))
