"""`python -m hidet …` is `hdsc …`: the compiler of this package as a command. So are the commands hdsc and hidet."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "bin", "hdsc")
    arguments = sys.argv[1:]
    if arguments[:2] == ["cache", "status"]:  # Hidet's name for it
        arguments[1] = "ls"
    os.execv(program, ["hdsc", *arguments])


if __name__ == "__main__":
    main()
