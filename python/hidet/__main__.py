"""`python -m hidet …` is `hdsc …`: the compiler of this package as a command."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "bin", "hdsc")
    os.execv(program, ["hdsc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
