"""Ctrl-C in the middle of `hdsc tune`, and its line of progress: tune.py interrupt|terminal HDSC"""

import os
import pty
import re
import signal
import subprocess
import sys
import time

SIZES = [1000 + 64 * i for i in range(40)]
ROW = re.compile(r'^    \("double", 132, \((\d+),\), "t\d+"\),$')


def rows(path):
    """The sizes in the table, which is whole whenever somebody looks."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert "TUNED = [" in lines and lines[-1] == "]", lines
    inside = lines[lines.index("TUNED = [") + 1:-1]
    assert len(inside) % 3 == 0, inside
    found = [int(ROW.match(line).group(1)) for line in inside[2::3]]
    assert found == sorted(set(found)), found
    return found


def command(hdsc, table, *more):
    sizes = ",".join(map(str, SIZES))
    return [hdsc, "tune", "tune.hds", f"n={sizes}", "-o", table, "--min-time=0.05", "--warm-up=0", "-j", "2", *more]


def restore():
    """A test that runs in the background may have inherited an ignored SIGINT, and is put into a group of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setpgid(0, 0)


def interrupt(hdsc):
    """At different moments, of the whole group as a terminal does it, or of the one process. None: when it has a row more."""
    table, before, interrupted = "interrupted.hds", [], 0
    for turn, delay in enumerate((0.05, None, 0.3, 0.6, None, 0.9)):
        process = subprocess.Popen(command(hdsc, table), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=restore)
        while delay is None and process.poll() is None and len(rows(table)) <= len(before):
            time.sleep(0.01)
        time.sleep(delay or 0)
        os.kill(-process.pid if turn % 2 else process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (130, 0, -signal.SIGINT), (process.returncode, err)
        interrupted += process.returncode == 130
        now = rows(table)
        assert set(before) <= set(now), (before, now)
        before = now
    assert interrupted, "no run was interrupted"
    assert 0 < len(before), before
    subprocess.run([*command(hdsc, table), "--min-time=0"], check=True, stdout=subprocess.DEVNULL)
    assert rows(table) == SIZES
    assert not [name for name in os.listdir(".") if "tmp" in name], os.listdir(".")


def terminal(hdsc):
    master, slave = pty.openpty()
    process = subprocess.Popen(command(hdsc, "terminal.hds"), stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    assert process.wait() == 0
    lines = text.decode().split("\r\033[K")
    assert any(re.fullmatch(r"\[\d+/40\] n=\d+: round \d+.*", line) for line in lines), lines[:20]
    assert any(re.search(r", about \d+ s left", line) for line in lines), lines[-20:]
    assert lines[-1] == "", lines[-1]


if __name__ == "__main__":
    {"interrupt": interrupt, "terminal": terminal}[sys.argv[1]](sys.argv[2])
