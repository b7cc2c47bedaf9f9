"""A project outside of the tree builds against an installation that was moved, with each generator and with both kinds of
libraries, with make and pkg-config, and by hand; its programs launch what they should on the double of the CUDA driver, and
say what is missing without a driver. Usage: check_consumer.py BUILD"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from package import (
    CONSUMER,
    LAUNCHES,
    TOP,
    Failed,
    blocks,
    compare_launches,
    environment,
    finish,
    install,
    run,
)

LINE = "-std=c11 -Wall -Wextra -Werror"


class Checks:
    """A folder to work in, the installation in it, and what was found so far."""

    def __init__(self, build, work):
        self.build, self.work = build, work
        self.prefix = install(build, work)
        self.env = environment(work, build, self.prefix)
        self.problems, self.passed = [], 0

    def check(self, name, function, *arguments):
        try:
            found = function(*arguments)
        except (Failed, OSError, subprocess.TimeoutExpired) as why:
            found = [str(why)]
        self.problems += [f"{name}: {problem}" for problem in found]
        self.passed += not found

    def launches(self, programs, ending=""):
        """Problems with the launches of {name in LAUNCHES: path}."""
        return [problem for name, path in programs.items()
                for problem in compare_launches(name, f"{path}{ending}", self.env, self.work / "launches.log")]

    def sources(self, name):
        """A copy of the consumer of its own, to be changed."""
        copy = self.work / f"source of {name}"
        shutil.copytree(CONSUMER, copy)
        return copy

    def cmake(self, name, generator, *options, config="Release"):
        """Configures, builds, runs its ctest, looks at what was launched, changes an import, builds again, and again."""
        source, build = self.sources(name), self.work / name
        multi = "Multi" in generator
        run("cmake", "-S", source, "-B", build, "-G", generator, "-DCONSUMER_ARGUMENT=launch-only",
            *([] if multi else [f"-DCMAKE_BUILD_TYPE={config}"]), *options, env=self.env)
        make = ["cmake", "--build", build, "--config", config]
        run(*make, env=self.env)
        text = run("ctest", "--test-dir", build, "-C", config, "--output-on-failure", "-E", "gpu/", env=self.env)
        problems = [] if "100% tests passed, 0 tests failed out of 5" in text else [text]
        text = run("ctest", "--test-dir", build, "-C", config, "-R", "gpu/", env={**self.env, "FAKE_CUDA_DEVICES": "0"})
        problems += [] if "(Skipped)" in text else [f"a test that needs a GPU is not skipped:\n{text}"]
        folder = build / config if multi else build
        problems += self.launches({name: folder / name for name in LAUNCHES})

        (source / "sizes.hds").write_text((source / "sizes.hds").read_text(encoding="utf-8").replace("128", "256"),
                                          encoding="utf-8")
        text = run(*make, env=self.env)
        if text.count("Compiling kernels") != 4:  # all but scale.hds
            problems.append(f"a changed import compiles {text.count('Compiling kernels')} files anew, not 4:\n{text}")
        if "grid 4 1 1, block 256 1 1" not in str(compare_launches("two", folder / "two", self.env, self.work / "log")):
            problems.append("the change has no effect")
        text = run(*make, env=self.env)
        if "Compiling" in text or "Building" in text:
            problems.append(f"a build with nothing to do does something:\n{text}")
        return problems

    def makefile(self):
        source = self.sources("make")
        run("make", env=self.env, cwd=source)
        problems = self.launches({"aot_c": source / "aot_shared", "api": source / "api_shared"})
        problems += self.launches({"aot_c": source / "aot_static"})
        if "libhds" in run("ldd", source / "aot_static"):
            problems.append("the static program needs a shared library of ours")
        (source / "sizes.hds").touch()
        if "hdsc" not in run("make", env=self.env, cwd=source):
            problems.append("a changed import does not compile anew")
        return problems

    def by_hand(self):
        """An object, an archive and a shared library on the command line."""
        source, prefix = self.sources("hand"), self.prefix
        flags = [*LINE.split(), f"-I{prefix}/include"]
        runtime = [f"-L{prefix}/lib", "-lhdsrt", f"-Wl,-rpath,{prefix}/lib"]
        problems = []
        for output in ("saxpy.o", "libsaxpy.a", "libsaxpy.so"):
            run(prefix / "bin" / "hdsc", "saxpy.hds", "-o", output, "-h", "saxpy.h", "--arch=sm_80,sm_90a", env=self.env,
                cwd=source)
            program = f"aot_{Path(output).suffix[1:]}"
            run("cc", *flags, "-o", program, "aot.c", f"./{output}", *runtime, "-Wl,-rpath,$ORIGIN", env=self.env, cwd=source)
            problems += self.launches({"aot_c": source / program})
        return problems

    def readme(self):
        """The commands of README.md's section about C print what it shows."""
        page = blocks((TOP / "README.md").read_text(encoding="utf-8"))
        shown = {info: [block.text for block in page if block.info == info] for info in ("python", "c", "text")}
        session = next(text for text in shown["text"] if "-o kernel.o" in text)
        folder = self.work / "readme"
        folder.mkdir()
        (folder / "kernel.hds").write_text(shown["python"][0], encoding="utf-8")
        (folder / "main.c").write_text(shown["c"][0], encoding="utf-8")
        lib = f"{self.prefix}/lib"
        env = {**self.env, "PATH": f"{self.prefix}/bin:{self.env['PATH']}", "CPATH": f"{self.prefix}/include",
               "LIBRARY_PATH": lib, "LD_LIBRARY_PATH": f"{lib}:{self.env['LD_LIBRARY_PATH']}"}
        commands = [line.removeprefix("$ ") for line in session.splitlines() if line.startswith("$ ")]
        done = subprocess.run(["sh", "-c", "; ".join(commands)], cwd=folder, env=env, capture_output=True, text=True, check=False)
        expected = "".join(line + "\n" for line in session.splitlines() if not line.startswith("$ "))
        found = done.stdout + done.stderr
        return [] if found == expected else [f"README.md shows\n{expected}\nbut there comes\n{found}"]

    def without_driver(self):
        """The programs start, and say what is missing."""
        env = environment(self.work)
        env["LD_LIBRARY_PATH"] = str(self.work / "nothing")
        done = subprocess.run([self.work / "ninja" / "aot_c"], env={**env, "FAKE_CUDA_DEVICES": "0"}, capture_output=True,
                              text=True, check=False)
        double = subprocess.run([self.work / "ninja" / "aot_c"], env={**self.env, "FAKE_CUDA_DEVICES": "0"},
                                capture_output=True, text=True, check=False)
        problems = []
        if shutil.which("nvidia-smi") is None and (done.returncode != 1 or "libcuda.so.1" not in done.stderr):
            problems.append(f"without a driver: exit code {done.returncode}, '{done.stderr}'")
        if double.returncode != 1 or "no GPU" not in double.stderr:
            problems.append(f"without a GPU: exit code {double.returncode}, '{double.stderr}'")
        return problems

    def cross(self):
        """HDS_HDSC is the compiler of a cross build; without one the functions say so."""
        source, build = self.sources("cross"), self.work / "cross"
        system = ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_PREFIX_PATH={self.prefix}"]
        other = self.work / "other" / "hdsc"
        other.parent.mkdir()
        other.symlink_to(self.prefix / "bin" / "hdsc")
        env = {**self.env, "PATH": "/usr/bin:/bin"}
        text = run("cmake", "-S", source, "-B", build, "-G", "Ninja", *system, f"-DHDS_HDSC={other}", env=env)
        text = run("ninja", "-C", build, "-t", "commands", "aot_c", env=env)
        problems = [] if str(other) in text else [f"HDS_HDSC is not used:\n{text}"]
        done = subprocess.run(["cmake", "-S", source, "-B", self.work / "cross2", "-G", "Ninja", *system], env=env,
                              capture_output=True, text=True, check=False)
        if shutil.which("hdsc", path="/usr/bin:/bin:/usr/local/bin") is None and "to its path" not in done.stderr:
            problems.append(f"a cross build without an hdsc of its own: {done.returncode} {done.stderr}")
        return problems

    def other_version(self):
        """A version that is not this one is not found."""
        folder = self.work / "version"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.21)\nproject(v LANGUAGES C)\n"
                                               "find_package(hds ${WANTED} CONFIG REQUIRED COMPONENTS ${PART})\n",
                                               encoding="utf-8")
        problems = []
        for wanted, part, works in (("0.1", "rt", True), ("0.2", "rt", False), ("1.0", "rt", False), ("0.1", "graph", False)):
            done = subprocess.run(["cmake", "-S", folder, "-B", folder / f"{wanted}{part}", f"-DWANTED={wanted}",
                                   f"-DPART={part}"], env=self.env, capture_output=True, check=False)
            if (done.returncode == 0) != works:
                problems.append(f"version {wanted} with {part} is {'not ' if works else ''}found")
        return problems


def main():
    with tempfile.TemporaryDirectory(prefix="hds package ") as name:
        checks = Checks(Path(sys.argv[1]).resolve(), Path(name))
        checks.check("ninja", checks.cmake, "ninja", "Ninja")
        checks.check("ninja, static", checks.cmake, "static", "Ninja", "-DCONSUMER_STATIC=ON")
        checks.check("makefiles", checks.cmake, "makefiles", "Unix Makefiles")
        checks.check("multi-config", checks.cmake, "multi", "Ninja Multi-Config")
        checks.check("make and pkg-config", checks.makefile)
        checks.check("by hand", checks.by_hand)
        checks.check("README.md", checks.readme)
        checks.check("no driver", checks.without_driver)
        checks.check("cross build", checks.cross)
        checks.check("versions", checks.other_version)
    sys.exit(finish(checks.problems, checks.passed))


if __name__ == "__main__":
    main()
