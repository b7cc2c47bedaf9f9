"""Interrupts tests once the first has passed: interrupt_test.py HDSC FILE. Prints what they said, and the exit code."""

import signal
import subprocess
import sys
import time


def restore():
    """A test that runs in the background may have inherited an ignored signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main():
    command = [sys.argv[1], "test", "-v", "-j", "1", "--budget=1e15", sys.argv[2]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=restore)
    sys.stdout.write(process.stdout.readline())
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    print(out + f"exit code {process.returncode}")


if __name__ == "__main__":
    main()
