"""What the checks of cases have in common: each has a folder of its own, and what is wrong is printed."""

import argparse
import pathlib
import tempfile


def arguments():
    """HDSC and --match=TEXT, for names of cases that contain it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("hdsc")
    parser.add_argument("--match", default="")
    return parser.parse_args()


def run(check, hdsc, cases):
    """check(hdsc, case, folder) says what is wrong with a case, as a list. How many of them passed and failed."""
    passed = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            problems = check(hdsc, case, pathlib.Path(folder))
        if problems:
            print("\n".join(problems))
        passed += not problems
    return passed, len(cases) - passed


def finish(*counts):
    """The exit status, after the numbers are printed."""
    passed, failed = (sum(numbers) for numbers in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
