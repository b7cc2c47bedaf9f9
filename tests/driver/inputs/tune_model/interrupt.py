"""Ctrl-C while hdsc tune is in its third round leaves what two rounds found, and ends those that compile: interrupt.py HDSC TABLE."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time


def rounds_in(log):
    """Each round ends with the outputs being read."""
    if not os.path.exists(log):
        return 0
    with open(log, encoding="utf-8") as file:
        return file.read().count("cuGraphInstantiateWithFlags")


def main(hdsc, table):
    log, cache = table + ".log", table + ".cache"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    command = [hdsc, "tune", "net.hds", "--weights=random", "--space=2", "--samples=3", "--min-time=0.01", "--warm-up=0", "-j1"]
    environment = {**os.environ, "FAKE_CUDA_LOG": log, "HDS_CACHE_DIR": cache}
    process = subprocess.Popen([*command, "-o", table], stdout=subprocess.PIPE, text=True, env=environment)
    while process.poll() is None and rounds_in(log) < 5:  # two graphs a round: of the whole, and of each kernel
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130, (process.returncode, out)
    rounds, compiled = int(re.search(r"in (\d+) rounds", out).group(1)), len(list(pathlib.Path(cache).rglob("*.entry")))
    assert compiled < 2 * rounds, f"{compiled} entries: of {rounds} rounds, each with three kernels, most are still to be compiled"
    with open(table, encoding="utf-8") as file:
        text = file.read()
    assert text.count('("matmul f16 f16 f16 mk nk"') == 1 and "candidates tried" in text and "candidates tried" in out, (text, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
