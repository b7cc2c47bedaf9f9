"""The cache under those who treat it badly: kills, damage, many processes at once, no room, no rights.

Usage: check_cache.py HDSC FOLDER, where FOLDER has the stand-in for NVRTC that says what it is asked for.
"""

import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import finish

KERNEL = """from hidet.lang import attrs, f32
from hidet.lang.cuda import threadIdx

SCALE = 1.0
BLOCK = 128


@hidet.script
def {name}(x: f32[1024]):
    attrs.cuda.grid_dim = 1024 // BLOCK
    attrs.cuda.block_dim = BLOCK
    x[threadIdx.x] = x[threadIdx.x] * SCALE
"""
PROCESSES, KERNELS, KILLS = 16, 8, 40


class Place:
    """A folder with kernels, a cache and a log of the stand-in. [settings] are further variables of the environment."""

    def __init__(self, folder, hdsc, nvrtc, **settings):
        self.folder, self.hdsc = pathlib.Path(folder), hdsc
        self.cache, self.log = self.folder / "cache", self.folder / "log"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("HDS_", "XDG_", "FAKE_"))}
        self.env = {**clean, "HDS_CACHE_DIR": str(self.cache), "HDS_NVRTC": nvrtc, "FAKE_NVRTC_LOG": str(self.log), **settings}

    def write(self, name):
        (self.folder / f"{name}.hds").write_text(KERNEL.format(name=name))
        return f"{name}.hds"

    def start(self, *args, **settings):
        env = {**self.env, **settings.pop("env", {})}
        return subprocess.Popen([self.hdsc, *args], cwd=self.folder, env={k: v for k, v in env.items() if v is not None},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)

    def run(self, *args, **settings):
        process = self.start(*args, **settings)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def compile(self, name, *args, **settings):
        """The bytes of the cubin, and the number of compilations that NVRTC was asked for."""
        before = self.count("compile")
        output = self.folder / f"{name}.cubin"
        output.unlink(missing_ok=True)
        done = self.run(f"{name}.hds", "--arch=sm_90", "-o", f"{name}.cubin", *args, **settings)
        if done.returncode:
            raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
        return output.read_bytes(), self.count("compile") - before

    def count(self, word):
        return self.log.read_text().split().count(word) if self.log.exists() else 0

    def entries(self):
        return sorted(self.cache.glob("v1/??/*.entry"))

    def temporaries(self):
        return sorted(self.cache.glob("v1/??/*.tmp-*"))


def expect(value, expected, what):
    if value != expected:
        raise AssertionError(f"{what}: {value!r}, and {expected!r} was expected")


# ---- hits -----------------------------------------------------------------------------------------------------------


def check_hit(place):
    """A hit gives the same bytes and messages, and does not even open NVRTC."""
    place.write("warned")
    args = ("warned.hds", "--arch=sm_90", "--resource-usage", "-o", "out.cubin")
    first = place.run(*args)
    made, opened = (place.folder / "out.cubin").read_bytes(), place.count("open")
    second = place.run(*args)
    expect(first.returncode, 0, "exit code")
    expect((second.returncode, second.stdout, second.stderr), (0, first.stdout, first.stderr), "a hit")
    expect("warned.hds:9:" in first.stderr and "warning[HDS0075]" in first.stderr, True, "NVRTC's warning is shown")
    expect((place.folder / "out.cubin").read_bytes(), made, "the output of a hit")
    expect((place.count("open"), place.count("compile")), (opened, 1), "what NVRTC was asked for")
    third = place.run(*args, "-v")
    expect("warned.hds for sm_90: from cache\n" in third.stderr, True, "-v says so")


def check_no_hit(place):
    """What differs is compiled; so is everything with --no-cache and HDS_CACHE=off. What fails is not kept."""
    place.write("k")
    place.compile("k")
    for args in (["-DSCALE=2.0"], ["--nvrtc-option=-DX=1"], ["-G"], ["--lineinfo"], ["--no-cache"]):
        expect(place.compile("k", *args)[1], 1, f"compilations with {args}")
        expect(place.compile("k", *args)[1], int(args == ["--no-cache"]), f"compilations with {args} again")
    off = {"HDS_CACHE": "off", "HDS_CACHE_DIR": None}
    expect(place.compile("k", env=off)[1], 1, "compilations with HDS_CACHE=off")
    expect(place.compile("k", "--nvrtc-option=--include-path=.")[1], 1, "compilations where NVRTC reads files")
    done = place.run("k.hds", "--arch=sm_90", "-v", "-o", "k.cubin", "--nvrtc-option=--include-path=.")
    expect("compiled, not kept: NVRTC may read files because of '--include-path=.'" in done.stderr, True, "-v says why")
    expect([place.compile("k", "--nvrtc-option=-DNOW=__TIME__")[1] for _ in range(2)], [1, 1], "compilations with the time")
    other = place.folder / "other"
    other.mkdir()
    shutil.copy(place.folder / "k.hds", other)
    for args, count in ((["--lineinfo"], 1), (["-G"], 1), ([], 0)):
        before = place.count("compile")
        subprocess.run([place.hdsc, "k.hds", "--arch=sm_90", "-o", "k.cubin", *args], cwd=other, env=place.env, check=True)
        expect(place.count("compile") - before, count, f"compilations in another folder with {args}: line tables name it")
    kept = len(place.entries())
    place.write("rejected")
    expect(place.run("rejected.hds", "--arch=sm_90", "-o", "r.cubin").returncode != 0, True, "it is rejected")
    expect(len(place.entries()), kept, "entries after an error")
    expect(place.compile("k", "--cache-dir=elsewhere")[1], 1, "compilations in another folder")
    expect(place.compile("k", "--cache-dir=elsewhere")[1], 0, "compilations in that folder again")


# ---- damage ---------------------------------------------------------------------------------------------------------


def damages(entry):
    """Names of damages, and functions that do them to the file of an entry."""
    whole = entry.read_bytes()
    for at in [*range(0, 64, 5), *range(64, len(whole), len(whole) // 16), len(whole) - 17, len(whole) - 1]:
        yield f"byte {at}", lambda p, at=at: p.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])
    for size in (0, 1, 8, 47, 48, 64, len(whole) // 2, len(whole) - 16, len(whole) - 1):
        yield f"cut to {size}", lambda p, size=size: p.write_bytes(whole[:size])
    yield "zeros at the end", lambda p: p.write_bytes(whole[:-4096] + bytes(4096))
    yield "bytes behind the end", lambda p: p.write_bytes(whole + b"x")
    yield "a hole behind the end", lambda p: (p.write_bytes(whole), os.truncate(p, 1 << 40))
    yield "another text", lambda p: p.write_text("something else\n" * 100)
    yield "another version", lambda p: p.write_bytes(whole[:8] + b"\2" + whole[9:])
    yield "a folder", lambda p: p.mkdir()
    yield "a link to nowhere", lambda p: p.symlink_to("nowhere")


def check_damage(place):
    place.write("k")
    made, _ = place.compile("k")
    [entry] = place.entries()
    for what, damage in list(damages(entry)):
        entry.unlink()
        damage(entry)
        expect(place.compile("k"), (made, 1), f"after damage ({what})")
        expect(place.compile("k"), (made, 0), f"after damage ({what}) and a compilation")
    expect(place.run("cache", "verify").stdout, "1 sound, 0 damaged\n", "verify")


def check_exchanged(place):
    """An entry under the name of another is as good as none."""
    made = [(place.write(name), place.compile(name)[0]) for name in ("k", "other")]
    first, second = place.entries()
    shutil.copy(first, second)
    verified = place.run("cache", "verify")
    expect((verified.returncode, "under the key of another" in verified.stdout), (1, True), "verify")
    compiled = [place.compile(name)[1] for name in ("k", "other")]
    expect(sorted(compiled), [0, 1], "compilations")
    expect([place.compile(name) for name in ("k", "other")], [(m, 0) for _, m in made], "afterwards")


def check_verify(place):
    for name in ("a", "b", "c"):
        place.write(name)
        place.compile(name)
    expect((place.run("cache", "verify").returncode, len(place.entries())), (0, 3), "sound entries")
    bad = place.entries()[1]
    bad.write_bytes(bad.read_bytes()[:100])
    done = place.run("cache", "verify")
    expect((done.returncode, done.stdout.splitlines()[-1]), (1, "2 sound, 1 damaged"), "verify")
    expect(str(bad) in done.stdout, True, "verify names the file")
    listed = json.loads(place.run("cache", "ls", "--json").stdout)
    expect([e["path"] for e in listed["entries"] if e["damage"]], [str(bad)], "ls")
    expect(place.run("cache", "verify", "--remove").returncode, 0, "verify --remove")
    expect((place.run("cache", "verify").returncode, len(place.entries())), (0, 2), "what is left")


# ---- processes ------------------------------------------------------------------------------------------------------


def check_kills(place):
    """Whenever the compiler is killed, the next one is right. The times are those of a whole run, from a fixed seed."""
    chance = random.Random(1)
    place.write("k")
    place.env["FAKE_NVRTC_BYTES"] = "3000000"
    made, _ = place.compile("k")
    start = time.monotonic()
    shutil.rmtree(place.cache)
    place.compile("k")
    whole = time.monotonic() - start
    for _ in range(KILLS):
        shutil.rmtree(place.cache, ignore_errors=True)
        process = place.start("k.hds", "--arch=sm_90", "-o", "k.cubin")
        time.sleep(chance.uniform(0, whole))
        process.kill()
        process.communicate()
        if place.cache.exists():
            verified = place.run("cache", "verify")
            expect((verified.returncode, verified.stdout.splitlines()[-1][-9:]), (0, "0 damaged"), "after a kill")
        expect(place.compile("k")[0], made, "the output after a kill")
        expect(place.compile("k"), (made, 0), "the one after that")


def check_kills_while_writing(place):
    """An entry that is half written is none: the kill comes as soon as there is something of it."""
    place.write("k")
    place.env["FAKE_NVRTC_BYTES"] = "20000000"
    made, _ = place.compile("k")
    for _ in range(4):
        shutil.rmtree(place.cache)
        process = place.start("k.hds", "--arch=sm_90", "-o", "k.cubin")
        while process.poll() is None and not any(p.stat().st_size for p in place.cache.glob("v1/??/*")):
            pass
        process.kill()
        process.communicate()
        verified = place.run("cache", "verify")
        expect((verified.returncode, verified.stdout[-10:-1]), (0, "0 damaged"), "after a kill")
        expect(place.compile("k")[0] == made, True, "the output is right after a kill")


def check_left_behind(place):
    """Temporary files of killed processes are removed once they are old, by gc and by stores to the same folder."""
    place.write("k")
    place.compile("k")
    [entry] = place.entries()
    for command in (["cache", "gc"], ["k.hds", "--arch=sm_90", "-DSCALE=3.0", "-o", "k.cubin"]):
        old, new = entry.with_name(entry.name + ".tmp-aaaaaa"), entry.with_name(entry.name + ".tmp-bbbbbb")
        old.write_bytes(b"half")
        new.write_bytes(b"half")
        os.utime(old, (time.time() - 7200, time.time() - 7200))
        place.run(*command, env={"HDS_CACHE_SIZE": "10M"})
        expect((old.exists(), new.exists()), (False, True), f"temporary files after {command[0]}")


def check_together(place):
    """Sixteen processes, eight kernels each, one cache: no error, and each kernel is compiled once."""
    names = [f"k{i}" for i in range(KERNELS)]
    for name in names:
        place.write(name)
    place.env["FAKE_NVRTC_MS"] = "50"
    processes = []
    for i in range(PROCESSES):
        order = random.Random(i).sample(names, len(names))
        folder = place.folder / f"p{i}"
        folder.mkdir()
        for name in names:
            shutil.copy(place.folder / f"{name}.hds", folder)
        command = [place.hdsc, "-v", "--emit=cubin", "--arch=sm_90", *[f"{name}.hds" for name in order]]
        processes.append((folder, subprocess.Popen(command, cwd=folder, env=place.env, stdout=subprocess.PIPE,
                                                   stderr=subprocess.PIPE, text=True)))
    said = ""
    for _, process in processes:
        said += process.communicate(timeout=300)[1]
        expect(process.returncode, 0, "exit code")
    expect((place.count("compile"), said.count(": compiled\n")), (KERNELS, KERNELS), "compilations")
    expect(said.count(": from cache\n"), (PROCESSES - 1) * KERNELS, "hits")
    for name in names:
        expect(len({(folder / f"{name}.cubin").read_bytes() for folder, _ in processes}), 1, f"outputs of {name}")
    expect((len(place.entries()), place.temporaries()), (KERNELS, []), "what is in the cache")


def wait_until(condition):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happens")


def check_dead_maker(place):
    """Who waits for an entry goes on when its maker dies."""
    place.write("k")
    slow = place.start("k.hds", "--arch=sm_90", "-o", "slow.cubin", env={"FAKE_NVRTC_MS": "100000"})
    wait_until(lambda: place.count("compile") == 1)
    waiting = place.start("k.hds", "--arch=sm_90", "-o", "k.cubin", "-v")
    time.sleep(0.3)
    expect(waiting.poll(), None, "the second waits")
    slow.send_signal(signal.SIGKILL)
    slow.communicate()
    said = waiting.communicate(timeout=20)[1]
    expect((waiting.returncode, ": compiled\n" in said), (0, True), "the second compiles")
    expect(place.compile("k")[1], 0, "compilations afterwards")


# ---- no room, no rights ---------------------------------------------------------------------------------------------


def check_no_folder(place):
    """Without a folder, or with one that cannot be, everything is compiled, without a message."""
    place.write("k")
    nowhere = {"HDS_CACHE_DIR": None, "HOME": None}
    expect([place.compile("k", env=nowhere)[1] for _ in range(2)], [1, 1], "compilations without HOME")
    done = place.run("k.hds", "--arch=sm_90", "-v", "-o", "k.cubin", env=nowhere)
    expect("cache: none (neither HDS_CACHE_DIR nor XDG_CACHE_HOME nor HOME says" in done.stderr, True, "-v says so")
    expect(place.run("cache", "ls", env=nowhere).returncode, 2, "ls without a folder")
    file = place.folder / "file"
    file.write_text("")
    for folder in (file, file / "below", pathlib.Path("/proc/nothing"), pathlib.Path("/dev/null/x")):
        done = place.run("k.hds", "--arch=sm_90", "-o", "k.cubin", env={"HDS_CACHE_DIR": str(folder)})
        expect((done.returncode, done.stderr), (0, ""), f"with the cache in {folder}")
    home = place.folder / "home"
    own = {"HDS_CACHE_DIR": None, "HOME": str(home)}
    expect([place.compile("k", env=own)[1] for _ in range(2)], [1, 0], "compilations in one's own folder")
    expect((home / ".cache" / "hdsc").stat().st_mode & 0o777, 0o700, "the mode of one's own folder")
    [entry] = (home / ".cache" / "hdsc").glob("v1/??/*.entry")
    expect(entry.stat().st_mode & 0o777, 0o600, "the mode of an entry there")


def check_shared_folder(place):
    """Everything in a folder has its permissions, whatever umask who writes it has."""
    place.write("k")
    place.cache.mkdir()
    place.cache.chmod(0o2775)
    place.compile("k", umask=0o077)
    modes = {p.stat().st_mode & 0o7777 for p in place.cache.rglob("*") if p.is_file()}
    folders = {p.stat().st_mode & 0o7777 for p in place.cache.rglob("*") if p.is_dir()}
    expect((modes, folders), ({0o664}, {0o2775}), "the modes of files and folders")


def check_read_only(place):
    """A cache that cannot be written still gives what is in it."""
    place.write("k")
    place.write("other")
    place.compile("k")
    as_user = {}
    if os.geteuid() == 0:
        as_user = {"user": 65534, "group": 65534, "extra_groups": []}
        os.chmod(place.folder, 0o777)
        (place.folder / "k.cubin").unlink()
        place.log.chmod(0o666)
        try:
            if place.run("--version", **as_user).returncode:
                return
        except OSError:
            return  # nobody else may run this program
    for path in [place.cache, *place.cache.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        expect(place.compile("k", **as_user)[1], 0, "compilations of what is there")
        expect([place.compile("other", **as_user)[1] for _ in range(2)], [1, 1], "compilations of what is not")
    finally:
        for path in [place.cache, *place.cache.rglob("*")]:
            path.chmod(0o755)


def check_full_disk(place):
    """Where there is no room for the entry the output is made all the same."""
    place.write("k")
    made = place.run("k.hds", "--arch=sm_90", "-o", "-", "--emit=ptx", "--no-cache")
    limit = len(made.stdout) + 64

    def shrink():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = place.run("k.hds", "--arch=sm_90", "-o", "k.ptx", preexec_fn=shrink)
    expect((done.returncode, done.stderr), (0, ""), "with no room")
    expect((place.folder / "k.ptx").read_text(), made.stdout, "the output")
    expect((place.entries(), place.temporaries()), ([], []), "what is in the cache")


def check_limit(place):
    """The cache stays within its limit, and what goes is what was not used for longest."""
    place.env.update(HDS_CACHE_SIZE="200K", FAKE_NVRTC_BYTES="20000")
    for i in range(24):
        name = f"k{i}"
        place.write(name)
        place.compile(name)
        for age, entry in enumerate(sorted(place.entries(), key=lambda p: p.stat().st_mtime_ns)):
            os.utime(entry, (time.time() - 5000 + age, time.time() - 5000 + age))
        total = sum(p.stat().st_size for p in place.entries())
        expect(total <= 200 << 10, True, f"{total} bytes are within the limit")
    expect(len(place.entries()) >= 5, True, "entries are kept")
    expect([place.compile("k23")[1], place.compile("k0")[1]], [0, 1], "compilations of the latest and the oldest")
    expect(place.compile("k23", env={"FAKE_NVRTC_BYTES": "900000"})[1], 0, "compilations")
    place.run("cache", "gc", "--limit=50K")
    expect(0 < sum(p.stat().st_size for p in place.entries()) <= 50 << 10, True, "the size after gc")
    place.write("huge")
    place.compile("huge", env={"FAKE_NVRTC_BYTES": "900000"})
    expect(max(p.stat().st_size for p in place.entries()) < 50 << 10, True, "what is larger than the cache is not kept")
    expect((place.run("cache", "clear").returncode, place.entries()), (0, []), "after clear")


# ---- devices --------------------------------------------------------------------------------------------------------


def check_device(place):
    """Kernels that run on a GPU come from the cache, too."""
    driver = pathlib.Path(place.env["HDS_NVRTC"]).parents[3] / "fake_cuda"
    if not (driver / "libcuda.so.1").exists():
        return
    place.env.update(LD_LIBRARY_PATH=str(driver), FAKE_NVRTC_BYTES="4096")
    place.write("k")
    for _ in range(2):
        done = place.run("run", "k.hds", "x=ones", "--device=cuda")
        expect("loading the code on the GPU failed" in done.stderr, True, "the stand-in's code is none, and gets to the driver")
        expect((place.count("open"), place.count("compile"), len(place.entries())), (1, 1, 1), "what NVRTC was asked for")


# ---- why ------------------------------------------------------------------------------------------------------------


def check_why(place):
    place.write("k")
    ask = ("cache", "why", "k.hds", "-o", "k.cubin")
    done = place.run(*ask, "--arch=sm_90")
    expect((done.returncode, done.stdout), (1, "k.hds for sm_90: not in the cache, and nothing of this file is\n"), "why")
    place.compile("k")
    found = place.run(*ask, "--arch=sm_90")
    expect((found.returncode, "k.hds for sm_90: in the cache" in found.stdout), (0, True), "why it is there")
    expect(place.count("compile"), 1, "compilations")
    other = place.folder / "nvrtc"
    shutil.copytree(pathlib.Path(place.env["HDS_NVRTC"]), other)
    [library] = other.glob("libnvrtc.so")
    library.write_bytes(library.read_bytes() + b"\0" * 16)
    for args, lines in (
        (["--arch=sm_80"], ["  architecture: 'sm_90' there, 'sm_80' here"]),
        (["--arch=sm_90", "--nvrtc-option=-DX=1"], ["  options of NVRTC: none there, '-DX=1' here"]),
        (["--arch=sm_90", "-DBLOCK=64"], ["  -D: none there, 'BLOCK=64' here", "    there: extern", "    here:  extern"]),
        (["--arch=sm_90", f"--nvrtc={other}"], ["  NVRTC: 'libnvrtc.so "]),
    ):
        done = place.run(*ask, *args)
        expect(done.returncode, 1, f"exit code with {args}")
        for line in lines:
            if not any(said.startswith(line) for said in done.stdout.splitlines()):
                raise AssertionError(f"with {args} nothing says '{line}': {done.stdout}")


def main():
    hdsc, nvrtc = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    checks = [value for name, value in globals().items() if name.startswith("check_")]
    chosen = sys.argv[3:]
    problems, passed = [], 0
    for check in checks:
        if chosen and check.__name__ not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            stack.callback(os.chmod, folder, 0o755)
            try:
                check(Place(folder, hdsc, nvrtc))
                passed += 1
            except AssertionError as problem:
                problems.append(f"{check.__name__}: {problem}")
    sys.exit(finish(problems, passed))


if __name__ == "__main__":
    main()
