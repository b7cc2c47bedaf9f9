"""Runs a command with a terminal as its standard output: terminal.py COMMAND... Prints what it said, and its exit code."""

import os
import pty
import sys


def main():
    status = pty.spawn(sys.argv[1:])
    print("exit code", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
