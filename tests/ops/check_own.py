"""An operator that a user adds is one file: it is found, its tests run, it is compiled, a C program calls it, and it is benchmarked (on
a double of the GPU).

Usage: check_own.py HDSC BUILD CC
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402

OWN = TOP / "tests/ops/own"


class Steps:
    def __init__(self, hdsc, build, folder):
        self.hdsc, self.build, self.folder = os.path.abspath(hdsc), pathlib.Path(build).resolve(), pathlib.Path(folder)
        self.problems, self.passed = [], 0

    def run(self, what, command, expected="", **environment):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, capture_output=True, text=True, check=False,
                              timeout=600, env={**os.environ, **environment})
        if done.returncode == 0 and expected in done.stdout:
            self.passed += 1
        else:
            self.problems.append(f"{what}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def main():
    hdsc, build, cc = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        s = Steps(hdsc, build, folder)
        for name in ("gate.hds", "gate.c"):
            shutil.copy(OWN / name, folder)
        fake = s.build / "tests/fake_cuda"
        s.run("found", [s.hdsc, "ops", "."], "gated_shares(x, gate)[…, j]")
        s.run("tested", [s.hdsc, "test", "gate.hds"], "13 passed, 0 failed")
        s.run("compiled", [s.hdsc, "gate.hds", "-o", "gate.o", "-h", "gate.h", "--arch=sm_90a", "-D", "T=f16",
                           "-Wno-local-memory", "-Wno-spills"])
        s.run("linked", [cc, "-std=c11", "-Wall", "-Werror", f"-I{TOP / 'include'}", "gate.c", "gate.o",
                         s.build / "src/runtime/libhdsrt.a", fake / "libcuda.so.1", f"-Wl,-rpath,{fake}", "-ldl", "-lpthread",
                         "-lm", "-o", "gate"])
        s.run("called", ["./gate"], FAKE_CUDA_LOG="log")
        s.run("benchmarked", [s.hdsc, "bench", "gate.hds", "x=randn:f16[1024,4096]", "scale=0.5", "--min-time=0", "--warm-up=0"],
              "\nscale=0.5, S=1024, N=4096 ", HDSRT_DRIVER=str(fake / "libcuda.so.1"), HDS_CACHE="off",
              FAKE_CUDA_DURATION="10")
        log = s.folder / "log"
        launches = log.read_text(encoding="utf-8").count("cuLaunchKernel") if log.exists() else 0
        if launches == 2:
            s.passed += 1
        else:
            s.problems.append(f"the program launches {launches} kernels instead of two")
    sys.exit(finish(s.problems, s.passed))


if __name__ == "__main__":
    main()
