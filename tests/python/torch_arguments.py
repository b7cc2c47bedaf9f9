"""The command line of the scripts that compare with PyTorch: check_models.py and check_opinfo.py."""

import argparse
import sys


def read(*more):
    """FOLDER, from which hidet is imported then, --only, --write, and [more]: (name, what argparse takes of it)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--write")
    for name, how in more:
        parser.add_argument(name, **how)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.folder)
    return arguments
