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


class Sandbox:
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

    def entries(self, kind=None):
        """All, or those of one kind: "code", which NVRTC made, or "product", which is found before the front end runs."""
        if kind:
            listed = json.loads(self.run("cache", "ls", "--json").stdout)["entries"]
            return sorted(pathlib.Path(self.folder, e["path"]) for e in listed if e["kind"] == kind)
        return sorted(self.cache.glob("v1/??/*.entry"))

    def temporaries(self):
        return sorted(self.cache.glob("v1/??/*.tmp-*"))


def expect(value, expected, what):
    if value != expected:
        raise AssertionError(f"{what}: {value!r}, and {expected!r} was expected")


# ---- hits -----------------------------------------------------------------------------------------------------------


def check_hit(box):
    """A hit gives the same bytes and messages, and does not even open NVRTC."""
    box.write("warned")
    args = ("warned.hds", "--arch=sm_90", "--resource-usage", "-o", "out.cubin")
    first = box.run(*args)
    made, opened = (box.folder / "out.cubin").read_bytes(), box.count("open")
    second = box.run(*args)
    expect(first.returncode, 0, "exit code")
    expect((second.returncode, second.stdout, second.stderr), (0, first.stdout, first.stderr), "a hit")
    expect("warned.hds:9:" in first.stderr and "warning[HDS0075]" in first.stderr, True, "NVRTC's warning is shown")
    expect((box.folder / "out.cubin").read_bytes(), made, "the output of a hit")
    expect((box.count("open"), box.count("compile")), (opened, 1), "what NVRTC was asked for")
    third = box.run(*args, "-v")
    expect("warned.hds for sm_90: from cache\n" in third.stderr, True, "-v says so")


def check_no_hit(box):
    """What differs is compiled; so is everything with --no-cache and HDS_CACHE=off. What fails is not kept."""
    box.write("k")
    box.compile("k")
    for args in (["-DSCALE=2.0"], ["--nvrtc-option=-DX=1"], ["-G"], ["--lineinfo"], ["--no-cache"]):
        expect(box.compile("k", *args)[1], 1, f"compilations with {args}")
        expect(box.compile("k", *args)[1], int(args == ["--no-cache"]), f"compilations with {args} again")
    off = {"HDS_CACHE": "off", "HDS_CACHE_DIR": None}
    expect(box.compile("k", env=off)[1], 1, "compilations with HDS_CACHE=off")
    expect(box.compile("k", "--nvrtc-option=--include-path=.")[1], 1, "compilations where NVRTC reads files")
    done = box.run("k.hds", "--arch=sm_90", "-v", "-o", "k.cubin", "--nvrtc-option=--include-path=.")
    expect("compiled, not kept: NVRTC may read files because of '--include-path=.'" in done.stderr, True, "-v says why")
    expect([box.compile("k", "--nvrtc-option=-DNOW=__TIME__")[1] for _ in range(2)], [1, 1], "compilations with the time")
    other = box.folder / "other"
    other.mkdir()
    shutil.copy(box.folder / "k.hds", other)
    for args, count in ((["--lineinfo"], 1), (["-G"], 1), ([], 0)):
        before = box.count("compile")
        subprocess.run([box.hdsc, "k.hds", "--arch=sm_90", "-o", "k.cubin", *args], cwd=other, env=box.env, check=True)
        expect(box.count("compile") - before, count, f"compilations in another folder with {args}: line tables name it")
    kept = len(box.entries())
    box.write("rejected")
    expect(box.run("rejected.hds", "--arch=sm_90", "-o", "r.cubin").returncode != 0, True, "it is rejected")
    expect(len(box.entries()), kept, "entries after an error")
    expect(box.compile("k", "--cache-dir=elsewhere")[1], 1, "compilations in another folder")
    expect(box.compile("k", "--cache-dir=elsewhere")[1], 0, "compilations in that folder again")


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


def check_damage(box):
    box.write("k")
    made, _ = box.compile("k")
    [code], [product] = box.entries("code"), box.entries("product")
    for what, damage in list(damages(code)):
        code.unlink()
        damage(code)
        product.unlink()
        expect(box.compile("k"), (made, 1), f"after damage ({what})")
        expect(box.compile("k"), (made, 0), f"after damage ({what}) and a compilation")
    for what, damage in list(damages(product)):
        product.unlink()
        damage(product)
        expect(box.compile("k"), (made, 0), f"after damage ({what}) of a product")
        expect(box.compile("k"), (made, 0), f"after damage ({what}) of a product and a compilation")
    expect(box.run("cache", "verify").stdout, "2 sound, 0 damaged\n", "verify")


def check_products(box):
    """A product is found as long as all files that were read are as they were, and none appears that would be found first."""
    box.write("k")
    text = (box.folder / "k.hds").read_text()
    (box.folder / "k.hds").write_text(text.replace("SCALE = 1.0", "from scale import SCALE"))
    library = box.folder / "library"
    library.mkdir()
    (library / "scale.hds").write_text("SCALE = 1.0\n")

    def compilations():
        return box.compile("k", "-I", "library")[1]

    expect(compilations(), 1, "compilations")
    [product] = box.entries("product")
    stages = box.run("k.hds", "--arch=sm_90", "-o", "k.cubin", "-I", "library", "--time-report").stderr
    expect(("elaborate" in stages, "look up" in stages), (False, True), "stages of a hit")
    expect(compilations(), 0, "compilations of the same")
    (library / "scale.hds").write_text("SCALE = 2.0\n")
    expect([compilations(), compilations()], [1, 0], "compilations after a change of an imported file")
    (box.folder / "scale.hds").write_text("SCALE = 3.0\n")
    expect([compilations(), compilations()], [1, 0], "compilations with a file that is found first")
    (box.folder / "scale.hds").unlink()
    expect(compilations(), 0, "compilations without it: the code is known")
    expect(box.entries("product"), [product], "entries of products: one for the input and the options")
    made = box.run("k.hds", "--arch=sm_90", "-o", "k.cubin", "-I", "library", "-MD")
    again = box.run("k.hds", "--arch=sm_90", "-o", "k.cubin", "-I", "library", "-MD")
    depends = (box.folder / "k.d").read_text()
    expect((made.returncode, again.returncode, depends), (0, 0, "k.cubin: k.hds library/scale.hds\n"), "the depfile of a hit")


def check_messages(box):
    """Warnings of a product that is found are those of a compilation, in whatever way they are shown."""
    box.write("warned")
    args = ("warned.hds", "--arch=sm_90", "-o", "out.cubin")
    for how in ([], ["--diagnostics=json"], ["--color=always"]):
        first, second, fresh = [box.run(*args, *how, *more) for more in ([], [], ["--no-cache"])]
        expect([p.returncode for p in (first, second, fresh)], [0, 0, 0], f"exit codes {how}")
        expect((first.stderr == second.stderr == fresh.stderr, "HDS0075" in first.stderr), (True, True), f"warnings {how}")
        stages = box.run(*args, *how, "--time-report").stderr
        expect(("elaborate" in stages, "look up" in stages), (False, True), f"stages of a hit {how}")
    expect(len(box.entries("product")), 1, "products")
    expect(box.run(*args, "-Werror").returncode, 1, "exit code with -Werror")
    expect([box.run(*args, "-Wno-cuda").stderr for _ in range(2)], ["", ""], "without the group")


def check_exchanged(box):
    """An entry under the name of another is as good as none."""
    made = [(box.write(name), box.compile(name)[0]) for name in ("k", "other")]
    first, second = box.entries("code")
    shutil.copy(first, second)
    for product in box.entries("product"):
        product.unlink()
    verified = box.run("cache", "verify")
    expect((verified.returncode, "under the key of another" in verified.stdout), (1, True), "verify")
    compiled = [box.compile(name)[1] for name in ("k", "other")]
    expect(sorted(compiled), [0, 1], "compilations")
    expect([box.compile(name) for name in ("k", "other")], [(m, 0) for _, m in made], "afterwards")


def check_verify(box):
    for name in ("a", "b", "c"):
        box.write(name)
        box.compile(name)
    expect((box.run("cache", "verify").returncode, len(box.entries())), (0, 6), "sound entries")
    bad = box.entries()[1]
    bad.write_bytes(bad.read_bytes()[:100])
    done = box.run("cache", "verify")
    expect((done.returncode, done.stdout.splitlines()[-1]), (1, "5 sound, 1 damaged"), "verify")
    expect(str(bad) in done.stdout, True, "verify names the file")
    listed = json.loads(box.run("cache", "ls", "--json").stdout)
    expect([e["path"] for e in listed["entries"] if e["damage"]], [str(bad)], "ls")
    expect(box.run("cache", "verify", "--remove").returncode, 0, "verify --remove")
    expect((box.run("cache", "verify").returncode, len(box.entries())), (0, 5), "what is left")


# ---- processes ------------------------------------------------------------------------------------------------------


def check_kills(box):
    """Whenever the compiler is killed, the next one is right. The times are those of a whole run, from a fixed seed."""
    chance = random.Random(1)
    box.write("k")
    box.env["FAKE_NVRTC_BYTES"] = "3000000"
    made, _ = box.compile("k")
    start = time.monotonic()
    shutil.rmtree(box.cache)
    box.compile("k")
    whole = time.monotonic() - start
    for _ in range(KILLS):
        shutil.rmtree(box.cache, ignore_errors=True)
        process = box.start("k.hds", "--arch=sm_90", "-o", "k.cubin")
        time.sleep(chance.uniform(0, whole))
        process.kill()
        process.communicate()
        if box.cache.exists():
            verified = box.run("cache", "verify")
            expect((verified.returncode, verified.stdout.splitlines()[-1][-9:]), (0, "0 damaged"), "after a kill")
        expect(box.compile("k")[0], made, "the output after a kill")
        expect(box.compile("k"), (made, 0), "the one after that")


def has_bytes(path):
    """False for what is renamed meanwhile."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def check_kills_while_writing(box):
    """An entry that is half written is none: the kill comes as soon as there is something of it."""
    box.write("k")
    box.env["FAKE_NVRTC_BYTES"] = "20000000"
    made, _ = box.compile("k")
    for _ in range(4):
        shutil.rmtree(box.cache)
        process = box.start("k.hds", "--arch=sm_90", "-o", "k.cubin")
        while process.poll() is None and not any(map(has_bytes, box.cache.glob("v1/??/*"))):
            pass
        process.kill()
        process.communicate()
        verified = box.run("cache", "verify")
        expect((verified.returncode, verified.stdout[-10:-1]), (0, "0 damaged"), "after a kill")
        expect(box.compile("k")[0] == made, True, "the output is right after a kill")


def check_left_behind(box):
    """Temporary files of killed processes are removed once they are old, by gc and by stores to the same folder."""
    box.write("k")
    box.compile("k")
    [entry] = box.entries("code")
    for command in (["cache", "gc"], ["k.hds", "--arch=sm_90", "-DSCALE=3.0", "-o", "k.cubin"]):
        old, new = entry.with_name(entry.name + ".tmp-aaaaaa"), entry.with_name(entry.name + ".tmp-bbbbbb")
        old.write_bytes(b"half")
        new.write_bytes(b"half")
        os.utime(old, (time.time() - 7200, time.time() - 7200))
        box.run(*command, env={"HDS_CACHE_SIZE": "10M"})
        expect((old.exists(), new.exists()), (False, True), f"temporary files after {command[0]}")


def check_together(box):
    """Sixteen processes, eight kernels each, one cache: no error, and each kernel is compiled once."""
    names = [f"k{i}" for i in range(KERNELS)]
    for name in names:
        box.write(name)
    box.env["FAKE_NVRTC_MS"] = "50"
    processes = []
    for i in range(PROCESSES):
        order = random.Random(i).sample(names, len(names))
        folder = box.folder / f"p{i}"
        folder.mkdir()
        for name in names:
            shutil.copy(box.folder / f"{name}.hds", folder)
        command = [box.hdsc, "-v", "--emit=cubin", "--arch=sm_90", *[f"{name}.hds" for name in order]]
        processes.append((folder, subprocess.Popen(command, cwd=folder, env=box.env, stdout=subprocess.PIPE,
                                                   stderr=subprocess.PIPE, text=True)))
    said = ""
    for _, process in processes:
        said += process.communicate(timeout=300)[1]
        expect(process.returncode, 0, "exit code")
    expect((box.count("compile"), said.count(": compiled\n")), (KERNELS, KERNELS), "compilations")
    expect(said.count(": from cache\n"), (PROCESSES - 1) * KERNELS, "hits")
    for name in names:
        expect(len({(folder / f"{name}.cubin").read_bytes() for folder, _ in processes}), 1, f"outputs of {name}")
    expect((len(box.entries("code")), box.temporaries()), (KERNELS, []), "what is in the cache")


def wait_until(condition):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happens")


def check_dead_maker(box):
    """Who waits for an entry goes on when its maker dies."""
    box.write("k")
    slow = box.start("k.hds", "--arch=sm_90", "-o", "slow.cubin", env={"FAKE_NVRTC_MS": "100000"})
    wait_until(lambda: box.count("compile") == 1)
    waiting = box.start("k.hds", "--arch=sm_90", "-o", "k.cubin", "-v")
    time.sleep(0.3)
    expect(waiting.poll(), None, "the second waits")
    slow.send_signal(signal.SIGKILL)
    slow.communicate()
    said = waiting.communicate(timeout=20)[1]
    expect((waiting.returncode, ": compiled\n" in said), (0, True), "the second compiles")
    expect(box.compile("k")[1], 0, "compilations afterwards")


# ---- no room, no rights ---------------------------------------------------------------------------------------------


def check_no_folder(box):
    """Without a folder, or with one that cannot be, everything is compiled, without a message."""
    box.write("k")
    nowhere = {"HDS_CACHE_DIR": None, "HOME": None}
    expect([box.compile("k", env=nowhere)[1] for _ in range(2)], [1, 1], "compilations without HOME")
    done = box.run("k.hds", "--arch=sm_90", "-v", "-o", "k.cubin", env=nowhere)
    expect("cache: none (neither HDS_CACHE_DIR nor XDG_CACHE_HOME nor HOME says" in done.stderr, True, "-v says so")
    expect(box.run("cache", "ls", env=nowhere).returncode, 2, "ls without a folder")
    file = box.folder / "file"
    file.write_text("")
    for folder in (file, file / "below", pathlib.Path("/proc/nothing"), pathlib.Path("/dev/null/x")):
        done = box.run("k.hds", "--arch=sm_90", "-o", "k.cubin", env={"HDS_CACHE_DIR": str(folder)})
        expect((done.returncode, done.stderr), (0, ""), f"with the cache in {folder}")
    home = box.folder / "home"
    own = {"HDS_CACHE_DIR": None, "HOME": str(home)}
    expect([box.compile("k", env=own)[1] for _ in range(2)], [1, 0], "compilations in one's own folder")
    expect((home / ".cache" / "hdsc").stat().st_mode & 0o777, 0o700, "the mode of one's own folder")
    modes = {entry.stat().st_mode & 0o777 for entry in (home / ".cache" / "hdsc").glob("v1/??/*.entry")}
    expect(modes, {0o600}, "the modes of entries there")


def check_shared_folder(box):
    """Everything in a folder has its permissions, whatever umask who writes it has."""
    box.write("k")
    box.cache.mkdir()
    box.cache.chmod(0o2775)
    box.compile("k", umask=0o077)
    modes = {p.stat().st_mode & 0o7777 for p in box.cache.rglob("*") if p.is_file()}
    folders = {p.stat().st_mode & 0o7777 for p in box.cache.rglob("*") if p.is_dir()}
    expect((modes, folders), ({0o664}, {0o2775}), "the modes of files and folders")


def check_read_only(box):
    """A cache that cannot be written still gives what is in it."""
    box.write("k")
    box.write("other")
    box.compile("k")
    as_user = {}
    if os.geteuid() == 0:
        as_user = {"user": 65534, "group": 65534, "extra_groups": []}
        os.chmod(box.folder, 0o777)
        (box.folder / "k.cubin").unlink()
        box.log.chmod(0o666)
        try:
            if box.run("--version", **as_user).returncode:
                return
        except OSError:
            return  # other users may not run this program
    for path in [box.cache, *box.cache.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        expect(box.compile("k", **as_user)[1], 0, "compilations of what is there")
        expect([box.compile("other", **as_user)[1] for _ in range(2)], [1, 1], "compilations of what is not")
    finally:
        for path in [box.cache, *box.cache.rglob("*")]:
            path.chmod(0o755)


def check_full_disk(box):
    """Where there is no room for the entry the output is made all the same."""
    box.write("k")
    made = box.run("k.hds", "--arch=sm_90", "-o", "-", "--emit=ptx", "--no-cache")
    limit = len(made.stdout) + 64

    def shrink():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = box.run("k.hds", "--arch=sm_90", "-o", "k.ptx", preexec_fn=shrink)
    expect((done.returncode, done.stderr), (0, ""), "with no room")
    expect((box.folder / "k.ptx").read_text(), made.stdout, "the output")
    expect((box.entries(), box.temporaries()), ([], []), "what is in the cache")


def check_limit(box):
    """The cache stays within its limit, and what goes is what was not used for longest."""
    box.env.update(HDS_CACHE_SIZE="200K", FAKE_NVRTC_BYTES="20000")
    for i in range(24):
        name = f"k{i}"
        box.write(name)
        box.compile(name)
        for age, entry in enumerate(sorted(box.entries(), key=lambda p: p.stat().st_mtime_ns)):
            os.utime(entry, (time.time() - 5000 + age, time.time() - 5000 + age))
        total = sum(p.stat().st_size for p in box.entries())
        expect(total <= 200 << 10, True, f"{total} bytes are within the limit")
    expect(len(box.entries()) >= 5, True, "entries are kept")
    expect([box.compile("k23")[1], box.compile("k0")[1]], [0, 1], "compilations of the latest and the oldest")
    expect(box.compile("k23", env={"FAKE_NVRTC_BYTES": "900000"})[1], 0, "compilations")
    box.run("cache", "gc", "--limit=50K")
    expect(0 < sum(p.stat().st_size for p in box.entries()) <= 50 << 10, True, "the size after gc")
    box.write("huge")
    box.compile("huge", env={"FAKE_NVRTC_BYTES": "900000"})
    expect(max(p.stat().st_size for p in box.entries()) < 50 << 10, True, "what is larger than the cache is not kept")
    expect((box.run("cache", "clear").returncode, box.entries()), (0, []), "after clear")


# ---- devices --------------------------------------------------------------------------------------------------------


def check_device(box):
    """Kernels that run on a GPU come from the cache, too."""
    driver = pathlib.Path(box.env["HDS_NVRTC"]).parents[3] / "fake_cuda"
    if not (driver / "libcuda.so.1").exists():
        return
    box.env.update(LD_LIBRARY_PATH=str(driver), FAKE_NVRTC_BYTES="4096")
    box.write("k")
    for _ in range(2):
        done = box.run("run", "k.hds", "x=ones", "--device=cuda")
        expect("loading the code on the GPU failed" in done.stderr, True, "the stand-in's code is none, and gets to the driver")
        expect((box.count("open"), box.count("compile"), len(box.entries())), (1, 1, 1), "what NVRTC was asked for")


# ---- why ------------------------------------------------------------------------------------------------------------


def check_why(box):
    box.write("k")
    ask = ("cache", "why", "k.hds", "-o", "k.cubin")
    done = box.run(*ask, "--arch=sm_90")
    expect((done.returncode, done.stdout), (1, "k.hds for sm_90: not in the cache, and nothing of this file is\n"), "why")
    box.compile("k")
    found = box.run(*ask, "--arch=sm_90")
    expect((found.returncode, "k.hds for sm_90: in the cache" in found.stdout), (0, True), "why it is there")
    expect(box.count("compile"), 1, "compilations")
    other = box.folder / "nvrtc"
    shutil.copytree(pathlib.Path(box.env["HDS_NVRTC"]), other)
    [library] = other.glob("libnvrtc.so")
    library.write_bytes(library.read_bytes() + b"\0" * 16)
    for args, lines in (
        (["--arch=sm_80"], ["  architecture: 'sm_90' there, 'sm_80' here"]),
        (["--arch=sm_90", "--nvrtc-option=-DX=1"], ["  options of NVRTC: none there, '-DX=1' here"]),
        (["--arch=sm_90", "-DBLOCK=64"], ["  -D: none there, 'BLOCK=64' here", "    there: extern", "    here:  extern"]),
        (["--arch=sm_90", f"--nvrtc={other}"], ["  NVRTC: 'libnvrtc.so "]),
    ):
        done = box.run(*ask, *args)
        expect(done.returncode, 1, f"exit code with {args}")
        for line in lines:
            if not any(said.startswith(line) for said in done.stdout.splitlines()):
                raise AssertionError(f"with {args} nothing says '{line}': {done.stdout}")


def run_checks(checks, chosen, hdsc, nvrtc):
    """Runs those of `checks` that are `chosen` by name, all if none is, each in a sandbox of its own, and exits."""
    problems, passed = [], 0
    for check in checks:
        if chosen and check.__name__ not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            stack.callback(os.chmod, folder, 0o755)
            try:
                check(Sandbox(folder, hdsc, nvrtc))
                passed += 1
            except AssertionError as problem:
                problems.append(f"{check.__name__}: {problem}")
    sys.exit(finish(problems, passed))


def main():
    checks = [value for name, value in globals().items() if name.startswith("check_")]
    run_checks(checks, sys.argv[3:], os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))


if __name__ == "__main__":
    main()
