"""cmake --install puts a program that works, and all that belongs to it, below a prefix of one's own."""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402

FILES = ("bin/hdsc", "share/man/man1/hdsc.1", "share/bash-completion/completions/hdsc",
         "share/zsh/site-functions/_hdsc", "share/fish/vendor_completions.d/hdsc.fish", "share/doc/hdsc/LICENSE",
         "share/hdsc/stdlib/language/lang.hds", "lib/libhdsrt.so", "lib/libhdsrt.a", "lib/libhds.so", "lib/libhds.a",
         "include/hds/hds.h", "include/hds/runtime.h", "lib/cmake/hds/hds-config.cmake", "lib/pkgconfig/hdsrt.pc")


def main():
    build = sys.argv[1]
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        problems = [f"{name} was not installed" for name in FILES if not pathlib.Path(prefix, name).exists()]
        example = TOP / "examples" / "vector_add.hds"
        done = subprocess.run([f"{prefix}/bin/hdsc", "check", str(example)], cwd=prefix, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            problems.append(f"the installed program does not work: {done.stderr}")
    sys.exit(finish(problems, len(FILES) + 1 - len(problems)))


if __name__ == "__main__":
    main()
