"""Launches kernels with planted errors, for compute-sanitizer to find. Says itself nothing of the results.

compute-sanitizer --error-exitcode 9 python3 tests/gpu/check_planted.py --only outside
"""

import sys

import numpy as np

from device import AFTER
from harness import Case, Output, parse_arguments, run_files

ANYTHING = Output(np.float64(0), np.inf)


def outside(rng):
    """Behind the guard, but so near that the device itself does not mind: a fault would end the process."""
    x = rng.standard_normal(64).astype(np.float32)
    far = x.size + AFTER // x.itemsize
    yield Case("outside", {"n": x.size}, {"x": x}, {"y": ANYTHING}, {"far": far}, repeatable=False)


def race(rng):
    x = rng.standard_normal(256).astype(np.float32)
    yield Case("no barrier", {}, {"x": x}, {"y": ANYTHING}, repeatable=False)


FILES = {"tests/gpu/planted/outside.hds": {"outside": outside}, "tests/gpu/planted/race.hds": {"race": race}}

if __name__ == "__main__":
    sys.exit(run_files(parse_arguments(__doc__), FILES, "planted"))
