"""Stops the compiler while a C compiler works for it, and while NVRTC does: interrupt_cc.py HDSC KERNEL

Each C compiler is a script: one that sleeps, and one that ignores signals and goes on writing into its folder. They are stopped by
themselves and as a group, which is what Ctrl-C does. Nothing may stay in $TMPDIR, and the exit code is always 130."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SLOW = """#!/bin/sh
case "$*" in *"-o hds/object"*) sleep 2 ;; esac
exec cc "$@"
"""
STUBBORN = """#!/bin/sh
case "$*" in
*"-o hds/object"*)
    trap '' INT TERM
    i=0
    while [ $i -lt 3000 ]; do i=$((i + 1)); echo > hds/part$i || exit 1; done 2> /dev/null ;;
esac
exec cc "$@"
"""


def restore():
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(command, **environment):
    return subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.PIPE, preexec_fn=restore)


def end(process, send, number, what):
    send(process.pid, number)
    out, code = process.communicate(timeout=60)[1], process.returncode
    assert code == 130, f"{what}: exit code {code}: {out.decode()}"


def stop_cc(hdsc, kernel, folder, text, send, number, delay):
    cc, there = folder / "cc.sh", folder / "tmp"
    cc.write_text(text)
    cc.chmod(0o755)
    there.mkdir(exist_ok=True)
    process = start([hdsc, kernel, "-o", str(folder / "k.o")], CC=str(cc), TMPDIR=str(there))
    late = time.monotonic() + 60
    while not list(there.glob("hdsc-build-*/hds/*.c")) and time.monotonic() < late and process.poll() is None:
        time.sleep(0.001)
    assert process.poll() is None, process.communicate()[1].decode()
    time.sleep(delay)
    end(process, send, number, f"signal {number} after {delay} s")
    time.sleep(0.1)
    left = sorted(str(path.relative_to(there)) for path in there.glob("hdsc-build-*/**"))
    assert not left, f"signal {number} after {delay} s left {left[:5]}"


def wait_until_caught(process):
    """Until the compiler has its handler: before, a signal ends it as any program."""
    late = time.monotonic() + 60
    while time.monotonic() < late and process.poll() is None:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1:
            return
        time.sleep(0.001)


def stop_nvrtc(hdsc, kernel, folder):
    """NVRTC has a handler of its own for a part of a compilation, which some of the steps meet; later ones come too late."""
    stopped = 0
    for step in range(24):
        process = start([hdsc, kernel, "--no-cache", "-o", str(folder / "k.ptx")])
        wait_until_caught(process)
        time.sleep(0.003 * step)
        process.send_signal(signal.SIGINT)
        out, code = process.communicate(timeout=60)[1], process.returncode
        assert code in (0, 130), f"step {step}: exit code {code}: {out.decode()}"
        stopped += code == 130
    assert stopped, "no step stopped the compiler"


def main():
    hdsc, kernel = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for text, number in ((SLOW, signal.SIGINT), (STUBBORN, signal.SIGINT), (STUBBORN, signal.SIGTERM)):
            for send in (os.killpg, os.kill):
                stop_cc(hdsc, kernel, folder, text, send, number, 0.05)
        stop_nvrtc(hdsc, kernel, folder)


if __name__ == "__main__":
    main()
