"""Stops the compiler while it waits for its input, and while it compiles: interrupt.py HDSC"""

import signal
import subprocess
import sys
import time

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# As long as the budget: more than anybody waits.
ENDLESS = b"def f(n: int):\n    while True:\n        n += 1\n    return n\n\n\nX = f(1)\n"


def restore():
    """A test that runs in the background may have inherited ignored signals, which the compiler would leave ignored."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def start(hdsc):
    command = [hdsc, "--emit=cu", "-o", "out.cu", "--step-budget=1000000000000", "-"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=restore)


def stop(process, number, delay):
    """130, or dead by the signal where it came before the program had begun."""
    time.sleep(delay)
    process.send_signal(number)
    try:
        code = process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert code in (130, -number), f"signal {number} after {delay} s: exit code {code}"
    return code


def main():
    hdsc = sys.argv[1]
    codes = [stop(start(hdsc), number, 0.5) for number in SIGNALS]
    for delay in (0.05, 0.1, 0.2, 1.0):
        process = start(hdsc)
        process.stdin.write(ENDLESS)
        process.stdin.close()
        codes.append(stop(process, signal.SIGINT, delay))
    assert 130 in codes, "the program never saw a signal"


if __name__ == "__main__":
    main()
