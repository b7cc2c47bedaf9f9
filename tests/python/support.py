"""What the tests of the Python package share."""

import pathlib
import unittest
import warnings

import hidet

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


class Case(unittest.TestCase):
    """Warnings about performance are not what these tests are about."""

    def run(self, result=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hidet.CompilationWarning)
            return super().run(result)

    def has_nvrtc(self):
        try:
            with hidet.option.context():
                hidet.option.simulate(False)
                hidet.hds.loads("A = 1\n", name="nothing.hds", arch="sm_80")
        except hidet.CompilationError:
            return False
        return True


def torch_or_skip():
    """PyTorch, or a skipped test."""
    try:
        import torch
    except ImportError as error:
        raise unittest.SkipTest("PyTorch is not installed") from error
    return torch
