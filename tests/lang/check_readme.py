"""What README.md shows is what hdsc prints: the CUDA text of its first kernel and the message for a mistake in it, what the
simulator finds in its second, what the prover says of a kernel of tests/sim/prove, the model's estimates for a product, a graph, and
how many operators there are."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, blocks, finish  # noqa: E402

LOOP_END = "        step = step // 2\n"


def output_of(command, **files):
    """Of a command in a folder that has these files, NAME.hds each."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            pathlib.Path(folder, f"{name}.hds").write_text(text, encoding="utf-8")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def output_at_top(hdsc, text):
    """Of the command in the first line of a block, in the folder of README.md."""
    command = [hdsc, *shlex.split(text.splitlines()[0])[2:]]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def main():
    hdsc = shutil.which(sys.argv[1]) or sys.argv[1]
    shown = {}
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    for block in blocks(readme):
        shown.setdefault(block.info, []).append(block.text)
    kernel, rows = shown["python"][:2]
    mistake, race, proof = shown["text"][:3]
    proofs = TOP / "tests" / "sim" / "prove"
    pair = {"split_k": (proofs / "wrong_one_k_dropped.hds").read_text(encoding="utf-8"),
            "naive": (proofs / "naive.hds").read_text(encoding="utf-8")}
    command = proof.splitlines()[0].removeprefix("$ hdsc ").split()

    problems = []

    def compare(text, real, same):
        if not same:
            problems.append(f"README.md shows\n{text}\nhdsc prints\n{real}")

    cuda = output_of([hdsc, "kernel.hds", "--emit=cu", "-o", "-"], kernel=kernel)
    compare(shown["cuda"][0], cuda, cuda == shown["cuda"][0])
    said = output_of([hdsc, "check", "kernel.hds"], kernel=kernel.replace("= blockIdx", "= blokIdx"))
    compare(mistake, said, said == mistake)
    said = output_of([hdsc, "test", "rows.hds"], rows=rows)
    compare(race, said, said.startswith(race))
    said = output_of([hdsc, "test", "rows.hds"], rows=rows.replace(LOOP_END, f"        syncthreads()\n{LOOP_END}"))
    compare("3 passed, 0 failed", said, said.splitlines()[-1] == "3 passed, 0 failed")
    said = output_of([hdsc, *command], **pair)
    compare(proof, said, all(line in said.splitlines() for line in proof.splitlines()[1:]))
    (estimates,) = [text for text in shown["text"] if text.startswith("$ hdsc tune")]
    said = output_at_top(hdsc, estimates)
    compare(estimates, said, said.startswith(estimates.split("\n", 1)[1].removesuffix("…\n")))
    (drawn,) = [text for text in shown["text"] if text.startswith("$ hdsc graph")]
    (model,) = [text for text in shown["python"] if "def mlp" in text]
    said = output_of([hdsc, *drawn.splitlines()[0].split()[2:]], mlp=model)
    compare(drawn, said, said.endswith(drawn.split("\n", 1)[1]))
    count = len(json.loads(output_of([hdsc, "ops", "--json"])))
    written = int(re.search(r"some (\d+) operators", readme)[1])
    compare(f"some {written} operators", count, abs(written - count) < 10)
    sys.exit(finish(problems, 8 - len(problems)))


if __name__ == "__main__":
    main()
