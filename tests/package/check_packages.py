"""cpack makes a .deb and a .tar.gz that work: lintian has nothing to say, the .deb is installed by dpkg on a clean Debian 12,
where hdsc runs and a program with kernels is built with nothing but what Debian has; the archive is unpacked and used.

Where no clean Debian can be made (no mmdebstrap, no root, no mirror) the .deb is unpacked into a folder, and what it depends on is
looked for among the installed packages. Usage: check_packages.py BUILD"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from package import CONSUMER, Failed, compare_launches, environment, finish, run

FILES = ("bin/hdsc", "libexec/hds/hds-worker", "lib/libhdsrt.so", "lib/libhdsrt.so.1", "lib/libhdsrt.a",
         "lib/libhds.so", "lib/libhds.a", "include/hds/hds.h", "include/hds/runtime.h", "lib/cmake/hds/hds-config.cmake",
         "lib/cmake/hds/hds-config-version.cmake", "lib/cmake/hds/HdsKernels.cmake", "lib/pkgconfig/hds.pc",
         "lib/pkgconfig/hdsrt.pc", "share/bash-completion/completions/hdsc", "share/zsh/site-functions/_hdsc",
         "share/fish/vendor_completions.d/hdsc.fish", "share/hdsc/stdlib/language/lang.hds", "share/doc/hdsc/README.md",
         "share/doc/hdsc/examples/c/CMakeLists.txt")
DEBIAN_FILES = ("share/man/man1/hdsc.1.gz", "share/doc/hdsc/copyright", "share/doc/hdsc/changelog.gz",
                "share/doc/hdsc/changelog.Debian.gz")
# What a program with kernels needs beside a minimal system.
INCLUDE = "gcc,libc6-dev,make,pkgconf"
# Works without NVRTC: the simulator, C++ text, headers.
SMOKE = "hdsc --version; hdsc test saxpy.hds; hdsc saxpy.hds -o saxpy.cu"


def missing(prefix, files):
    return [f"{prefix.name} has no {name}" for name in files if not (prefix / name).exists()]


def clean_root(build, work):
    """A minimal Debian 12 in a folder, kept as an archive in the build folder; None and why where that cannot be done."""
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        return None, "needs root and mmdebstrap"
    archive = build / "debian12.tar"
    if not archive.exists():
        made = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={INCLUDE}", "bookworm",
                               work / "debian12.tar"], capture_output=True, text=True, check=False, timeout=900)
        if made.returncode:
            return None, "mmdebstrap: " + made.stderr.strip().splitlines()[-1]
        shutil.move(work / "debian12.tar", archive)
    root = work / "root"
    root.mkdir()
    run("tar", "xf", archive, "-C", root)
    return root, None


def nvrtc_files(hdsc, env):
    """The NVRTC that hdsc finds here and what lies beside it, or nothing."""
    found = re.search(r"NVRTC: [\d.]+, '([^']+)'", run(hdsc, "version", env=env))
    if not found:
        return []
    return [path for path in Path(found.group(1)).resolve().parent.glob("libnvrtc*.so*") if "alt" not in path.name]


def in_root(root, command):
    return run("chroot", root, "/usr/bin/env", "-i", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root", "LC_ALL=C.UTF-8",
               "HDS_NVRTC=/opt/nvrtc", "HDS_CACHE=off", "sh", "-ec", command)


def use_in_root(root, deb, nvrtc):
    """Installs, runs, builds, removes."""
    shutil.copy(deb, root / "tmp")
    shutil.copytree(CONSUMER, root / "work")
    in_root(root, f"dpkg -i /tmp/{deb.name}")
    problems = missing(root / "usr", [*FILES, *DEBIAN_FILES])
    in_root(root, f"cd /work && {SMOKE}")
    in_root(root, "cd /work && printf '#include <hds/hds.h>\\nint main(void) { return hdsrt_abi() != HDSRT_ABI || hds_abi() != "
                  "HDS_ABI; }\\n' > abi.c && cc -o abi abi.c -lhds -lhdsrt && ./abi")
    if nvrtc:
        (root / "opt" / "nvrtc").mkdir()
        for path in nvrtc:
            shutil.copy(path, root / "opt" / "nvrtc", follow_symlinks=False)
        in_root(root, "cd /work && make")
        for program in ("aot_shared", "aot_static", "api_shared"):
            said = in_root(root, f"cd /work && ./{program} 2>&1 || true")
            if "libcuda.so.1" not in said:
                problems.append(f"without a driver {program} says: {said}")
    in_root(root, "dpkg --purge hdsc")
    problems += [f"{name} is left behind by a purge" for name in FILES if (root / "usr" / name).exists()]
    return problems


def use_unpacked(deb, work):
    """The .deb as a folder, its dependencies among the packages of this system."""
    folder = work / "unpacked"
    run("dpkg-deb", "-x", deb, folder)
    problems = missing(folder / "usr", [*FILES, *DEBIAN_FILES])
    for clause in run("dpkg-deb", "-f", deb, "Depends").strip().split(", "):
        name, *bound = re.findall(r"[^\s()]+", clause)
        version = run("dpkg-query", "-W", "-f=${Version}", name)
        if bound and subprocess.run(["dpkg", "--compare-versions", version, bound[0], bound[1]], check=False).returncode:
            problems.append(f"{name} is {version} here, the package wants {clause}")
    run(folder / "usr" / "bin" / "hdsc", "test", CONSUMER / "saxpy.hds")
    return problems


def check_lintian(deb):
    if not shutil.which("lintian"):
        print("no lintian here: the package's form was not looked at")
        return []
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", deb],
                          capture_output=True, text=True, check=False)
    return [f"lintian: {done.stdout}{done.stderr}"] if done.returncode else []


def check_archive(archive, build, work):
    """The .tar.gz, unpacked somewhere."""
    folder = work / "archive"
    folder.mkdir()
    run("tar", "xzf", archive, "-C", folder)
    prefix = next(folder.iterdir())
    problems = missing(prefix, [*FILES, "share/man/man1/hdsc.1", "share/doc/hdsc/LICENSE"])
    env = environment(work, build, prefix)
    source = work / "consumer"
    shutil.copytree(CONSUMER, source)
    run("make", "aot_shared", env=env, cwd=source)
    return problems + compare_launches("aot_c", source / "aot_shared", env, work / "log")


def main():
    build = Path(sys.argv[1]).resolve()
    problems = []
    with tempfile.TemporaryDirectory(prefix="hds-packages-") as name:
        work = Path(name)
        out = work / "out"
        try:
            run("cpack", "--config", build / "CPackConfig.cmake", "-B", out, cwd=work)
            deb, archive = next(out.glob("*.deb")), next(out.glob("*.tar.gz"))
            print(f"{deb.name}: {deb.stat().st_size >> 10} KiB, {archive.name}: {archive.stat().st_size >> 10} KiB")
            problems += check_lintian(deb)
            problems += check_archive(archive, build, work)
            root, why = clean_root(build, work)
            if root:
                nvrtc = nvrtc_files(build / "bin" / "hdsc", environment(work))
                print(f"installing on a clean Debian 12, {'with' if nvrtc else 'without'} NVRTC")
                problems += use_in_root(root, deb, nvrtc)
            else:
                print(f"no clean Debian 12 here ({why}): the package is unpacked, its dependencies are compared")
                problems += use_unpacked(deb, work)
        except Failed as why:
            problems.append(str(why))
    sys.exit(finish(problems, int(not problems)))


if __name__ == "__main__":
    main()
