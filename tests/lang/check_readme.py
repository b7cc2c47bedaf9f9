"""What README.md shows is what hdsc prints: the CUDA text of its kernel, and the message for a mistake in it."""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, blocks, finish  # noqa: E402


def output_of(hdsc, source, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "kernel.hds").write_text(source, encoding="utf-8")
        done = subprocess.run([hdsc, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def main():
    hdsc = sys.argv[1]
    found = {block.info: block.text for block in blocks((TOP / "README.md").read_text(encoding="utf-8"))}
    kernel = found["python"]
    shown = (("cuda", output_of(hdsc, kernel, "kernel.hds", "--emit=cu", "-o", "-")),
             ("text", output_of(hdsc, kernel.replace("= blockIdx", "= blokIdx"), "check", "kernel.hds")))
    problems = [f"README.md shows\n{found[name]}\nhdsc prints\n{real}" for name, real in shown if found[name] != real]
    sys.exit(finish(problems, len(shown) - len(problems)))


if __name__ == "__main__":
    main()
