"""A file with many kernels under those who treat it badly: workers that die, Ctrl-C, kills, no room, other numbers of
processes. Usage: check_service.py HDSC FOLDER, where FOLDER has the stand-in for NVRTC.
"""

import fcntl
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import finish

HEAD = """from hidet.lang import attrs, f32
from hidet.lang.cuda import threadIdx
"""
# Long enough that few of them are a batch.
KERNEL = """

@hidet.script
def {name}(x: f32[1024]):
    attrs.cuda.grid_dim = 8
    attrs.cuda.block_dim = 128
"""
KERNELS, LINES = 40, 60


def source(names):
    body = "".join(f"    x[threadIdx.x + {i}] = x[threadIdx.x + {i + 1}] * 2.0\n" for i in range(LINES))
    return HEAD + "".join(KERNEL.format(name=name) + body for name in names)


class Sandbox:
    def __init__(self, hdsc, folder, **settings):
        self.hdsc, self.folder = hdsc, pathlib.Path(folder)
        self.mark = f"HDS_TEST_MARK={os.getpid()}-{folder}"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("HDS_", "XDG_", "FAKE_"))}
        name, value = self.mark.split("=")
        self.env = {**clean, name: value, "HDS_CACHE_DIR": str(self.folder / "cache"),
                    "FAKE_NVRTC_LOG": str(self.folder / "log"), **settings}

    def write(self, names):
        (self.folder / "k.hds").write_text(source(names), encoding="utf-8")

    def command(self, *arguments):
        return [self.hdsc, "k.hds", "--arch=sm_90a", "-o", "k.cubin", *arguments]

    def start(self, *arguments, **options):
        options = {"stderr": subprocess.PIPE, "text": True, "cwd": self.folder, "env": self.env, **options}
        return subprocess.Popen(self.command(*arguments), **options)

    def run(self, *arguments, **options):
        process = self.start(*arguments, **options)
        text = process.communicate(timeout=300)[1]
        return process.returncode, text or ""

    def output(self):
        path = self.folder / "k.cubin"
        return path.read_bytes() if path.exists() else None

    def compilations(self):
        log = self.folder / "log"
        return log.read_text(encoding="utf-8").count("compile") if log.exists() else 0

    def clear(self):
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def processes(self):
        """Those that were started from here, by what is in their environment."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.mark.encode() in (entry / "environ").read_bytes():
                    found.append(entry.name)
            except OSError:
                pass
        return found

    def is_quiet(self):
        """Whether all processes end soon."""
        for _ in range(200):
            if not self.processes():
                return True
            time.sleep(0.05)
        return False

    def rests(self):
        return sorted(p.name for p in self.folder.iterdir() if p.name not in ("k.hds", "k.cubin", "cache", "log", "crashed"))

    def entries(self):
        """Those of the cache that are complete."""
        folder = self.folder / "cache"
        return [p for p in folder.rglob("*") if p.suffix == ".entry"] if folder.exists() else []

    def is_cache_sound(self):
        out = subprocess.run([self.hdsc, "cache", "verify"], env=self.env, capture_output=True, text=True, check=False)
        return out.returncode == 0


def names(special=None, at=17):
    return [special if special and i == at else f"k{i}" for i in range(KERNELS)]


def worker_that_dies(box):
    """Twice over a kernel: an error at its line, no output; the others are in the cache."""
    box.write(names("crash_here"))
    code, text = box.run("-j4")
    line = 1 + source(names("crash_here")).splitlines().index("def crash_here(x: f32[1024]):")
    problems = []
    if code != 3 or "error[HDS0078]" not in text or "signal 9" not in text:
        problems.append(f"exit code {code}\n{text}")
    if f"k.hds:{line}" not in text and f"{line} | def crash_here" not in text:
        problems.append(f"line {line} is not named\n{text}")
    if box.output() is not None or box.rests():
        problems.append(f"there is output, or {box.rests()}")
    if not box.is_cache_sound() or not box.is_quiet():
        problems.append("the cache is damaged, or processes are left")
    before = box.compilations()
    box.run("-j4")
    again = box.compilations() - before
    if again != 2:
        problems.append(f"the second run compiled {again} batches, not the one that fails, twice")
    return problems


def worker_that_dies_once(box):
    """The job is done again, and nothing is said."""
    box.env["FAKE_NVRTC_CRASHED"] = str(box.folder / "crashed")
    box.write(names("crash_once"))
    code, text = box.run("-j4")
    if code or text or not box.output() or not (box.folder / "crashed").exists():
        return [f"exit code {code}\n{text}"]
    return []


def interrupted(box, number):
    """In the middle of all kernels: nothing half-written, no process left, and what was done is done."""
    box.env["FAKE_NVRTC_MS"] = "150"
    box.write(names())
    process = box.start("-j4")
    for _ in range(2000):
        if box.compilations() >= 6 and box.entries():
            break
        time.sleep(0.005)
    process.send_signal(number)
    process.communicate(timeout=60)
    expected = 130 if number == signal.SIGINT else -number
    problems = []
    if process.returncode != expected:
        problems.append(f"exit code {process.returncode}, not {expected}")
    if not box.is_quiet():
        problems.append(f"processes are left: {box.processes()}")
    if box.output() is not None or (number == signal.SIGINT and box.rests()):
        problems.append(f"there is output, or {box.rests()}")
    if not box.is_cache_sound():
        problems.append("the cache is damaged")
    box.env["FAKE_NVRTC_MS"] = "0"
    before = box.compilations()
    code, text = box.run("-j4")
    rest = box.compilations() - before
    if code or not box.output():
        problems.append(f"the next run fails: {text}")
    box.clear()
    box.write(names())
    box.run("-j4")
    if rest >= box.compilations():
        problems.append(f"the next run compiled all again ({rest} of {box.compilations()})")
    return problems


def no_room(box):
    """A cache that cannot be written costs time only."""
    box.write(names())
    code, text = box.run("-j4", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)))
    problems = [] if code == 0 and box.output() else [f"exit code {code}\n{text}"]
    if box.entries() or not box.is_cache_sound():
        problems.append(f"there are entries: {box.entries()}")
    return problems


def on_terminal(box):
    """A line of progress on a terminal, removed at the end; nothing elsewhere."""
    box.env["FAKE_NVRTC_MS"] = "250"
    box.write(names())
    quiet = box.run("-j2")
    shutil.rmtree(box.folder / "cache")
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = box.start("-j2", stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while block := os.read(master, 4096):
            shown += block
    except OSError:
        pass
    process.wait(timeout=60)
    problems = [] if quiet == (0, "") else [f"without a terminal: {quiet}"]
    if process.returncode or b"k.hds for sm_90a, " not in shown or b"/" not in shown:
        problems.append(f"on a terminal: {shown[-300:]!r}")
    if not shown.endswith(b"\r\x1b[K"):
        problems.append(f"the line stays: {shown[-80:]!r}")
    return problems


def same_bytes(box):
    """However many processes there are, with and without a cache: with the real NVRTC, where there is one."""
    box.env.pop("HDS_NVRTC")
    box.write(names())
    results = {}
    for arguments in (["-j1", "--no-cache"], ["-j2", "--no-cache"], ["-j7"], ["-j7"]):
        code, text = box.run(*arguments)
        if code == 3 and "HDS0070" in text:
            return []
        if code:
            return [f"{arguments}: exit code {code}\n{text}"]
        results[" ".join(arguments)] = box.output()
    return [] if len(set(results.values())) == 1 else ["the bytes depend on the number of processes"]


def same_file_by_another_name(box):
    """A file's name is no part of what is compiled, unless line tables name it."""
    box.write(names())
    box.run("-j2")
    before = box.compilations()
    (box.folder / "other.hds").write_text("\n\n# moved\n" + source(names()), encoding="utf-8")
    command = [box.hdsc, "other.hds", "--arch=sm_90a", "-o", "k.cubin"]
    subprocess.run(command, cwd=box.folder, env=box.env, check=True)
    problems = [] if box.compilations() == before else ["the same kernels in another file are compiled again"]
    subprocess.run([*command, "--lineinfo"], cwd=box.folder, env=box.env, check=True)
    if box.compilations() == before:
        problems.append("line tables of another file were taken")
    return problems


def told_of_joins(box):
    """Batches that cannot be joined, as those of the stand-in: -v and --time-report say that all was compiled twice, and why."""
    box.write(names())
    text = box.run("-v", "--time-report")[1]
    problems = []
    if not re.search(r"k\.hds for sm_90a: compiled again as one text, since batches cannot be joined: \w+", text):
        problems.append(f"-v does not say why\n{text}")
    if "\n1 of 1 compilations were done twice\n" not in text or "again, as one text" not in text:
        problems.append(f"they are not counted\n{text}")
    again = box.run("-v", "--time-report")[1]
    if "again" in again or "twice" in again:
        problems.append(f"from the cache nothing is compiled again\n{again}")
    return problems


def main():
    hdsc, nvrtc = sys.argv[1], sys.argv[2]
    checks = [worker_that_dies, worker_that_dies_once, lambda p: interrupted(p, signal.SIGINT),
              lambda p: interrupted(p, signal.SIGKILL), no_room, on_terminal, same_bytes, same_file_by_another_name,
              told_of_joins]
    titles = ["a worker that dies", "a worker that dies once", "Ctrl-C", "killed", "no room", "on a terminal", "same bytes",
              "another name", "joins"]
    problems = []
    for title, check in zip(titles, checks):
        with tempfile.TemporaryDirectory() as folder:
            found = check(Sandbox(hdsc, folder, HDS_NVRTC=nvrtc))
            problems += [f"{title}: {problem}" for problem in found]
    sys.exit(finish(problems, len(checks)))


if __name__ == "__main__":
    main()
