"""Stops the compiler while it waits for the rest of its input, and while it compiles."""

import signal
import subprocess
import sys
import time

hdsc, path = sys.argv[1:]
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    waiting = subprocess.Popen([hdsc, "--emit=cu", "-o", "out.cu", "-"], stdin=subprocess.PIPE)
    time.sleep(0.3)
    waiting.send_signal(number)
    assert waiting.wait() == 130, f"signal {number}: exit code {waiting.returncode}"

endless = "def f(n: int):\n    while True:\n        n += 1\n    return n\n\n\nX = f(1)\n"
for delay in (0.05, 0.1, 0.2, 0.4):
    running = subprocess.Popen([hdsc, "--emit=cu", "-o", "out.cu", "--step-budget=1000000000000", "-"],
                               stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    running.stdin.write(endless.encode())
    running.stdin.close()
    time.sleep(delay)
    running.send_signal(signal.SIGINT)
    running.wait()
    assert running.returncode in (130, -signal.SIGINT), f"exit code {running.returncode}"
