"""What the compiler holds grows with what it writes, not with what it thinks: counted by its arenas (--time-report).

Kernels that work much while compiling and write little leave little behind. A file of operators that is checked is held
entry by entry: what it needs depends on the largest entry, and hardly on their number. Where code is made of it, low IR and
text remain of each kernel. So it is with a model, however many calls are recorded and launches planned.

What it thinks is counted as well: the steps in which schedules are evaluated for the kernels of an entry.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402

THINKING = """
def digits(n: int):
    return [[(i * k) % 10 for i in range(30)] for k in range(n)]

"""
KERNEL = """
@hidet.script
def kernel_{0}(x: f32[4]):
    attrs.cuda.grid_dim = 1
    attrs.cuda.block_dim = 1
    x[0] = f32(sum(digits({0} % 7 + 20)[3]))

"""
MOST_A_KERNEL = 12 << 10   # bytes that a kernel of one statement may leave: its syntax tree and its name
MOST_CHECKED = 32 << 20    # bytes for a file of the library that is checked, of which no text is made
MOST_LOOKED_AT = 300 << 20 # bytes for a file whose definitions are only looked at
MOST_MADE = 512 << 10      # bytes a kernel of the library of which code is made
MOST_OF_MODEL = 130 << 20  # bytes for ResNet-18, of which code is made
MOST_A_NODE = 64 << 10     # bytes that a node of a graph may take until its program is printed
MOST_STEPS = 68_000        # of evaluating an operator for one type, with its 14 kernels


def held(hdsc, path, stage, command=("check",)):
    done = subprocess.run([hdsc, *command, "--time-report", "-I", str(TOP / "ops"), str(path)], capture_output=True,
                          text=True, check=False, timeout=600)
    found = re.search(rf"% +([\d.]+) +{stage}$", done.stdout + done.stderr, re.MULTILINE)
    if done.returncode or not found:
        sys.exit(f"{path}: {done.stderr}{done.stdout}")
    return float(found[1]) * 2**20


def kernels_of(hdsc, path):
    done = subprocess.run([hdsc, "--emit=cu", "-o", "-", "-I", str(TOP / "ops"), str(path)], capture_output=True,
                          check=True, timeout=600)
    return done.stdout.count(b"__global__ ")


def check_growth(hdsc, folder):
    few, many = 20, 120
    sizes = []
    for count in (few, many):
        path = folder / f"thinking_{count}.hds"
        path.write_text("import hidet\nfrom hidet.lang import attrs, f32\n" + THINKING
                        + "".join(KERNEL.format(i) for i in range(count)))
        sizes.append(held(hdsc, path, "elaborate"))
    each = (sizes[1] - sizes[0]) / (many - few)
    return [] if each <= MOST_A_KERNEL else [f"a kernel of one statement leaves {each:.0f} bytes, more than {MOST_A_KERNEL}"]


def check_library(hdsc, path):
    checked = held(hdsc, path, "emit")
    each = held(hdsc, path, "emit", ("--emit=cu", "-o", "/dev/null")) / kernels_of(hdsc, path)
    problems = []
    if checked > MOST_CHECKED:
        problems.append(f"{path}: {checked:.0f} bytes to check it, more than {MOST_CHECKED}")
    if each > MOST_MADE:
        problems.append(f"{path}: {each:.0f} bytes a kernel, more than {MOST_MADE}")
    return problems


def check_axes(hdsc):
    """To see which axes of an operator are one, reductions are written element by element: some of their elements."""
    path = TOP / "ops/selection.hds"
    most = held(hdsc, path, "emit")
    return [] if most <= MOST_LOOKED_AT else [f"{path}: {most:.0f} bytes to look at axes, more than {MOST_LOOKED_AT}"]


def check_steps(hdsc):
    """Vectors of rows are described once for each type and number of elements, lines once for each schedule."""
    done = subprocess.run([hdsc, "check", f"--step-budget={MOST_STEPS}", "--entry=rms_norm_f16", str(TOP / "ops/norm.hds")],
                          capture_output=True, text=True, check=False, timeout=600)
    return [f"rms_norm_f16: {done.stderr}{done.stdout}"] if done.returncode else []


def check_model(hdsc):
    """Of a call that is recorded, what its operator gives remains; of a launch that is planned, its statements."""
    path = TOP / "examples/models/resnet18.hds"
    most = held(hdsc, path, "emit", ("--emit=cu", "-o", "/dev/null", "--weights=random", "--precision=f16"))
    return [] if most <= MOST_OF_MODEL else [f"{path}: {most:.0f} bytes, more than {MOST_OF_MODEL}"]


CHAIN = """from hidet.lang import f32
from activation import relu, sigmoid


@hidet.graph
def chain(x: f32[4, 8]):
    for i in range({}):
        x = relu(sigmoid(x))
    return x
"""


def check_nodes(hdsc, folder):
    """What a node takes does not depend on how many there are."""
    sizes = []
    for count in (250, 500, 1000):
        path = folder / f"chain_{count}.hds"
        path.write_text(CHAIN.format(count))
        sizes.append(held(hdsc, path, "elaborate", ("--emit=hds", "-o", "/dev/null")))
    few, many = (sizes[1] - sizes[0]) / 500, (sizes[2] - sizes[1]) / 1000
    if few > MOST_A_NODE or many > 1.2 * few:
        return [f"a node takes {few:.0f} bytes, and {many:.0f} where there are more"]
    return []


def main():
    hdsc = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        problems = check_growth(hdsc, pathlib.Path(folder)) + check_nodes(hdsc, pathlib.Path(folder))
    problems += check_axes(hdsc) + check_model(hdsc) + check_steps(hdsc)
    files = [TOP / "ops" / name for name in ("softmax.hds", "rope.hds", "reduction.hds")]
    for path in files:
        problems += check_library(hdsc, path)
    sys.exit(finish(problems, 5 + 2 * len(files) - len(problems)))


if __name__ == "__main__":
    main()
