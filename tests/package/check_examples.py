"""examples/c builds against an installation, and its programs say properly that there is no GPU. Their kernels pass their own
tests on the simulator, and so does the model that graph.c builds. Usage: check_examples.py BUILD"""

import subprocess
import sys
import tempfile
from pathlib import Path

from package import TOP, Failed, environment, finish, install, run

PROGRAMS = ("matmul", "dlpack", "classifier", "jit")


def problems_of(program, env, expected):
    """A program without a GPU ends with 1 and says why on standard error."""
    done = subprocess.run([program], env=env, capture_output=True, text=True, check=False)
    if done.returncode == 1 and expected in done.stderr:
        return []
    return [f"{program.name} without a GPU: exit code {done.returncode}, '{done.stdout}{done.stderr}'; expected '{expected}'"]


def main():
    build = Path(sys.argv[1]).resolve()
    problems, passed = [], 0
    with tempfile.TemporaryDirectory(prefix="hds examples ") as name:
        work = Path(name)
        try:
            env = environment(work, build, install(build, work))
            run("cmake", "-S", TOP / "examples" / "c", "-B", work / "build", "-G", "Ninja", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror",
                env=env)
            run("cmake", "--build", work / "build", env=env)
            run("ctest", "--test-dir", work / "build", "--output-on-failure", "--no-tests=error", env=env)
            found = [problem for program in PROGRAMS
                     for problem in problems_of(work / "build" / program, {**env, "FAKE_CUDA_DEVICES": "0"}, "no GPU")]
        except Failed as why:
            found = [str(why)]
        problems += found
        passed += 1 + len(PROGRAMS) - len(found)
    sys.exit(finish(problems, passed))


if __name__ == "__main__":
    main()
