"""The consumer with this repository as a part of it (FetchContent with SOURCE_DIR, which is add_subdirectory): its programs
launch what they should, no test of ours is among its own, nothing of ours is installed. Usage: check_subproject.py BUILD"""

import sys
import tempfile
from pathlib import Path

from package import CONSUMER, TOP, Failed, compare_launches, environment, finish, run


def check(build, work):
    env = environment(work, build)
    folder = work / "build"
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if run("sh", "-c", "command -v ccache || true").strip() else []
    run("cmake", "-S", CONSUMER, "-B", folder, "-G", "Ninja", f"-DCONSUMER_HDS={TOP}", "-DCONSUMER_ARGUMENT=launch-only",
        "-DCMAKE_BUILD_TYPE=Debug", *launcher, env=env)
    run("cmake", "--build", folder, "--target", "aot_c", "two", "api", env=env)
    problems = [problem for name in ("aot_c", "two", "api")
                for problem in compare_launches(name, folder / name, env, work / "log")]
    tests = run("ctest", "--test-dir", folder, "-N", env=env)
    if "Total Tests: 6" not in tests:
        problems.append(f"the tests of the consumer are not its own:\n{tests}")
    text = run("cmake", "--install", folder, "--prefix", work / "prefix", env=env)
    if (work / "prefix").exists():
        problems.append(f"something is installed:\n{text}")
    return problems


def main():
    with tempfile.TemporaryDirectory(prefix="hds part ") as name:
        try:
            problems = check(Path(sys.argv[1]).resolve(), Path(name))
        except Failed as why:
            problems = [str(why)]
    sys.exit(finish(problems, int(not problems)))


if __name__ == "__main__":
    main()
