#!/usr/bin/env python3
"""The tests that need PyTorch, by an interpreter that has it: that of the variable HDS_TORCH_PYTHON. Usage: check_torch.py FOLDER

FOLDER is as for run.py. Exits with 77, which skips the test, where the variable is not set: PyTorch is too large for tools/setup."""

import os
import pathlib
import subprocess
import sys

python = os.environ.get("HDS_TORCH_PYTHON")
if not python:
    print("HDS_TORCH_PYTHON is not set: CONTRIBUTING.md says how to install PyTorch")
    sys.exit(77)
run = pathlib.Path(__file__).resolve().parent / "run.py"
sys.exit(subprocess.run([python, run, sys.argv[1], "test_torch", "test_originals", "test_docs"], check=False).returncode)
