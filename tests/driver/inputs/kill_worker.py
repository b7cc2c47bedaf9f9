"""Kills the process that compiles one of two inputs, which waits for its text: kill_worker.py HDSC"""

import os
import pathlib
import signal
import subprocess
import sys
import time


def workers(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def sleeps(pid):
    """Whether the process waits: for the pipe's other end, or for something to do."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] == "S"


def main():
    os.mkfifo("waits.hds")
    process = subprocess.Popen([sys.argv[1], "check", "-j2", "waits.hds", "k1.hds"], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(found := workers(process.pid)) < 2 or not all(sleeps(pid) for pid in found):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.kill(found[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    print(errors, end="")
    print("exit code", process.returncode)


if __name__ == "__main__":
    main()
