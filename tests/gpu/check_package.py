"""The consumer project and the examples of C, built against an installation, run on the GPU for real.

Usage: check_package.py --hdsc PREFIX/bin/hdsc"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROJECTS = {"consumer": (TOP / "tests" / "consumer", ("-DCONSUMER_STATIC=OFF", "-DCONSUMER_STATIC=ON"),
                         ("aot_c", "aot_cpp", "two", "api")),
            "examples": (TOP / "examples" / "c", ("-DCMAKE_BUILD_TYPE=Release",), ("matmul", "dlpack", "jit"))}


def run(*command, env):
    """Whether it works; its output is shown."""
    done = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, check=False, timeout=300)
    text = (done.stdout + done.stderr).strip()
    print(f"{pathlib.Path(command[0]).name}: exit code {done.returncode}: {text[-1500:] if done.returncode else text.splitlines()[-1:]}")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hdsc", required=True)
    hdsc = pathlib.Path(parser.parse_args().hdsc).resolve()
    env = {**os.environ, "CMAKE_PREFIX_PATH": str(hdsc.parent.parent)}
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as work:
        for name, (source, variants, programs) in PROJECTS.items():
            for number, options in enumerate(variants):
                build = pathlib.Path(work, f"{name}{number}")
                if not (run("cmake", "-S", source, "-B", build, options, env=env) and
                        run("cmake", "--build", build, "-j", os.cpu_count(), env=env)):
                    failed += 1
                    continue
                # Twice: what is compiled while running comes from the cache then.
                results = [run(build / program, env=env) for program in programs * 2]
                results.append(run("ctest", "--test-dir", build, "--output-on-failure", env=env))
                passed, failed = passed + results.count(True), failed + results.count(False)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
