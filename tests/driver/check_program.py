"""The release program: one file that needs only libc and libm, and that starts in milliseconds opening nothing else."""

import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import finish  # noqa: E402

ALLOWED = re.compile(r"linux-vdso|libc\.so|libm\.so|ld-linux")
LIMIT_MS = 5.0


def libraries(hdsc):
    out = subprocess.run(["ldd", hdsc], capture_output=True, text=True, check=True).stdout
    return [line.strip() for line in out.splitlines() if not ALLOWED.search(line)]


def startup_ms(hdsc):
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        subprocess.run([hdsc, "--version"], stdout=subprocess.DEVNULL, check=True)
        best = min(best, 1000 * (time.perf_counter() - start))
    return best


def main():
    hdsc = sys.argv[1]
    problems = [f"hdsc needs {line}" for line in libraries(hdsc)]
    best = startup_ms(hdsc)
    if best > LIMIT_MS:
        problems.append(f"hdsc --version took {best:.1f} ms at best; {LIMIT_MS} are allowed")
    sys.exit(finish(problems, 2 - min(len(problems), 2)))


if __name__ == "__main__":
    main()
