"""What the tests of the package share: an installation somewhere else, the consumer project built in it, launches recorded by
the double of the CUDA driver."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, blocks, finish  # noqa: F401

CONSUMER = TOP / "tests" / "consumer"
# What the programs of the consumer launch: kernel, grid, block.
LAUNCHES = {
    "aot_c": ["saxpy, sm_90a, grid 8 1 1, block 128 1 1"] * 2,
    "aot_cpp": ["scale_f32, sm_90, grid 4 1 1, block 256 1 1", "saxpy, sm_90, grid 8 1 1, block 128 1 1"],
    "two": ["saxpy, PTX of sm_80, grid 8 1 1, block 128 1 1", "saxpy, sm_90, grid 8 1 1, block 128 1 1"],
    "api": ["triple, sm_90, grid 8 1 1, block 128 1 1"],
}


class Failed(Exception):
    """A command that should have worked did not; the text has its output."""


def run(*command, env=None, cwd=None):
    """The output of a command that works."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, check=False,
                          timeout=1500)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))} gave {done.returncode}:\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout + done.stderr


def install(build, folder):
    """Installed, and moved: nothing in it may know where it was. The path has a blank in it."""
    first, prefix = folder / "first", folder / "moved here"
    run("cmake", "--install", build, "--prefix", first, "--strip")
    shutil.move(first, prefix)
    return prefix


def environment(work, build=None, prefix=None):
    """Of a user without anything of ours in it, and a cache of its own. With [build] its double is the CUDA driver."""
    env = {name: value for name, value in os.environ.items()
           if name == "HDS_NVRTC" or not name.startswith(("HDS_", "FAKE_CUDA_", "LD_LIBRARY_PATH"))}
    env["HDS_CACHE_DIR"] = str(work / "cache")
    if (TOP / ".venv").exists():
        env.setdefault("VIRTUAL_ENV", str(TOP / ".venv"))
    if build:
        env["LD_LIBRARY_PATH"] = str(pathlib.Path(build).resolve() / "tests" / "fake_cuda")
    if prefix:
        env["CMAKE_PREFIX_PATH"] = str(prefix)
        env["PKG_CONFIG_PATH"] = str(prefix / "lib" / "pkgconfig")
    return env


def launches(program, env, log, *arguments):
    """What a program launches, as `kernel, arch, grid …, block …`."""
    log.unlink(missing_ok=True)
    run(program, *arguments, env={**env, "FAKE_CUDA_LOG": str(log)})
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return re.findall(r"cuLaunchKernel(?:Ex)?\((.*?, block \d+ \d+ \d+)", text)


def compare_launches(name, program, env, log):
    """A problem, or nothing."""
    found = launches(program, env, log, "launch-only")
    if found == LAUNCHES[name]:
        return []
    return [f"{program} launched {found}, not {LAUNCHES[name]}"]
