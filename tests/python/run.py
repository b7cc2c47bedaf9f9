#!/usr/bin/env python3
"""Tests of the Python package. Usage: run.py FOLDER [NAME…]

FOLDER has the package, a build's folder python. NAME is a file of this folder, a class or a test: test_hds, test_hds.Errors.
Exits with 77 where NumPy is missing."""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main():
    folder, *names = sys.argv[1:]
    sys.path[:0] = [folder, str(HERE)]
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("NumPy is not installed: 'tools/setup --tests' installs it")
        sys.exit(77)
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names) if names else loader.discover(str(HERE), top_level_dir=str(HERE))
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    reasons = sorted({reason for _, reason in result.skipped})
    for reason in reasons:
        print("skipped:", reason)
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed, {len(result.skipped)} skipped")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
