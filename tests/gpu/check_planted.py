"""Launches kernels with planted errors, for compute-sanitizer to find. Says itself nothing of the results.

    compute-sanitizer --error-exitcode 9 python3 tests/gpu/check_planted.py --only outside
"""

import sys

import numpy as np

from harness import Case, Output, parse_arguments, run_files

ANYTHING = Output(np.float64(0), np.inf)


def outside(rng):
    x = rng.standard_normal(64).astype(np.float32)
    yield Case("far outside", {"n": 64}, {"x": x}, {"y": ANYTHING}, {"far": 2**28}, repeatable=False)


def race(rng):
    x = rng.standard_normal(256).astype(np.float32)
    yield Case("no barrier", {}, {"x": x}, {"y": ANYTHING}, repeatable=False)


FILES = {"tests/gpu/planted/outside.hds": {"outside": outside}, "tests/gpu/planted/race.hds": {"race": race}}

if __name__ == "__main__":
    sys.exit(run_files(parse_arguments(__doc__), FILES, "planted"))
