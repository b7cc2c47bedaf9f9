"""Killed at any moment, the compiler leaves each output absent, old or whole, and the next run is right. Usage:
check_kill.py HDSC [--kills N]

Kills are spread evenly from the start of the program to its end. What may stay are files NAME.tmp-hdsc, one for each output
and taken over by the next run, and folders hdsc-build-… below TMPDIR, removed by a run that comes a minute later. What is
written is text that needs no NVRTC, and objects where there is one.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402

# What is asked for, and which files it leaves.
TEXT = (["--emit=cu", "-o", "k.cu", "-h", "k.h", "-MF", "k.d", "--manifest=k.json"], ["k.cu", "k.h", "k.d", "k.json"])
CODE = (
    (["-o", "k.o", "-MD"], ["k.o", "k.h", "k.d"]),
    (["-o", "libk.a", "--arch=sm_80,sm_90a", "--manifest=k.json"], ["libk.a", "libk.h", "k.json"]),
    (["-o", "k.ptx"], ["k.ptx"]),
    (["other.hds", "-j2", "-o", "libk.so", "-MD"], ["libk.so", "libk.h", "libk.d"]),
)


class Sandbox:
    """A folder with a kernel in one of two versions, its outputs, and a folder for temporary files."""

    def __init__(self, hdsc, folder, arguments, outputs):
        self.folder, self.outputs = pathlib.Path(folder), outputs
        self.command = [hdsc, "k.hds", *arguments]
        (self.folder / "tmp").mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.folder / "tmp"), "HDS_CACHE": "off"}
        source = (TOP / "tests" / "driver" / "inputs" / "scale.hds").read_text(encoding="utf-8")
        (self.folder / "other.hds").write_text(source.replace("scale", "other"), encoding="utf-8")
        self.versions = [source, source.replace("256", "128")]
        self.whole = [self.reference(version) for version in range(2)]

    def write(self, version):
        (self.folder / "k.hds").write_text(self.versions[version], encoding="utf-8")

    def contents(self):
        paths = [self.folder / name for name in self.outputs]
        return [path.read_bytes() if path.exists() else None for path in paths]

    def run(self):
        subprocess.run(self.command, cwd=self.folder, env=self.environment, check=True, capture_output=True)

    def reference(self, version):
        self.write(version)
        self.run()
        return self.contents()

    def start(self):
        return subprocess.Popen(self.command, cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)

    def seconds(self):
        start = time.perf_counter()
        self.run()
        return time.perf_counter() - start

    def rests(self):
        """Files that are neither input nor output."""
        known = {"k.hds", "other.hds", "tmp", *self.outputs}
        return sorted(path.name for path in self.folder.iterdir() if path.name not in known)


def kill_once(box, number, delay, start_empty):
    """The old version is there, or nothing; the new one is killed after [delay]."""
    if start_empty:
        for name in box.outputs:
            (box.folder / name).unlink(missing_ok=True)
    box.write(number % 2)
    process = box.start()
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()


def problems_after(box, allowed):
    found = []
    for name, text, versions in zip(box.outputs, box.contents(), zip(*box.whole)):
        if text not in ((None, *versions) if allowed else versions):
            found.append(f"{name} is {len(text or b'')} bytes that are neither the old file nor the new one")
    expected = {f"{name}.tmp-hdsc" for name in box.outputs}
    found += [f"{name} was left behind" for name in box.rests() if name not in expected]
    return found


def check_next(box, number):
    """The next run is right, and cleans up beside the outputs."""
    box.run()
    right = box.whole[number % 2]
    found = [f"{name} is wrong after the next run" for name, text, wanted in zip(box.outputs, box.contents(), right)
             if text != wanted]
    return found + [f"{name} is still there after the next run" for name in box.rests()]


def check_folders(box):
    """Folders of killed runs are removed by a run that comes later."""
    temporary = box.folder / "tmp"
    for folder in temporary.iterdir():
        os.utime(folder, (1, 1))
    box.run()
    makes_objects = any(name.endswith((".o", ".a", ".so")) for name in box.outputs)
    return [f"{path.name} is still in TMPDIR" for path in temporary.iterdir()] if makes_objects else []


def check(hdsc, arguments, outputs, kills):
    folder = tempfile.mkdtemp()
    try:
        box = Sandbox(hdsc, folder, arguments, outputs)
        longest, problems = 1.1 * max(box.seconds() for _ in range(3)), []
        for number in range(kills):
            kill_once(box, number, longest * (number + 0.5) / kills, number % 3 == 0)
            problems += problems_after(box, True)
            if number % 4 == 3:
                problems += check_next(box, number)
        problems += check_next(box, kills - 1) + check_folders(box)
        return [f"{' '.join(arguments)}: {problem}" for problem in problems[:10]]
    finally:
        shutil.rmtree(folder)


def has_nvrtc(hdsc):
    version = subprocess.run([hdsc, "version"], capture_output=True, text=True, check=False).stdout
    return "NVRTC: " in version and "NVRTC: error" not in version


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hdsc", type=os.path.abspath)
    parser.add_argument("--kills", type=int, default=40)
    args = parser.parse_args()
    cases = [TEXT, *(CODE if has_nvrtc(args.hdsc) else ())]
    problems = [problem for arguments, outputs in cases for problem in check(args.hdsc, arguments, outputs, args.kills)]
    sys.exit(finish(problems, args.kills * len(cases) - len(problems)))


if __name__ == "__main__":
    main()
