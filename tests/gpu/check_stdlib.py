"""Runs the kernels of tests/gpu/*.hds on the GPU that is there: the standard library and the language against numpy.

    python3 tests/gpu/check_stdlib.py --hdsc build/release/bin/hdsc --out /tmp/results

Where arithmetic is exact or its order is fixed, results are compared bit by bit; else the bound is the documented one
of the function (in units in the last place, ulp) or follows from the number of roundings.
"""

import sys

import check_language
import check_numbers
import check_threads
from harness import parse_arguments, run_files

FILES = {
    "tests/gpu/warp.hds": check_threads.WARP,
    "tests/gpu/block.hds": check_threads.BLOCK,
    "tests/gpu/atomics.hds": check_threads.ATOMICS,
    "tests/gpu/memory.hds": check_threads.MEMORY,
    "tests/gpu/mathematics.hds": check_numbers.MATHEMATICS,
    "tests/gpu/conversions.hds": check_numbers.CONVERSIONS,
    "tests/gpu/numbers.hds": check_numbers.NUMBERS,
    "tests/gpu/matrices.hds": check_language.MATRICES,
    "tests/gpu/language.hds": check_language.LANGUAGE,
    "tests/gpu/large.hds": check_language.LARGE,
}

if __name__ == "__main__":
    sys.exit(run_files(parse_arguments(__doc__), FILES, "stdlib"))
