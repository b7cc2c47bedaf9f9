"""--device=cuda against the double of the driver (tests/fake_cuda): what is missing is said, each error of each call is a
diagnostic, and nothing is left behind. What compiles a kernel needs NVRTC. Usage: check_device.py HDSC FAKE_CUDA_FOLDER"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish  # noqa: E402

KERNEL = '''from hidet.lang import attrs, f32, shared_tensor
from hidet.lang.cuda import threadIdx


@hidet.script
def twice[n: int](x: f32[n], y: f32[n]):
    attrs.cuda.grid_dim = 3
    attrs.cuda.block_dim = 64
    attrs.cuda.dynamic_smem_bytes = 65536
    if threadIdx.x < n:
        y[threadIdx.x] = 2.0 * x[threadIdx.x]
'''
SYMBOLS = re.findall(r"HDSRT_DRIVER\(\w+,\s+(\w+),", (TOP / "src" / "runtime" / "driver.def").read_text(encoding="utf-8"))
# The copy engine counts the bytes of what the map says an element is: a barrier that expects others never completes.
BOXES = '''from hidet.lang import attrs, i8, i16, i32, i64
from hidet.lang.tma import prefetch_map, tensor_map


@hidet.script
def boxes(a: i8[4, 64], b: i16[4, 64], c: i32[4, 64], d: i64[4, 64]):
    attrs.cuda.grid_dim = 1
    attrs.cuda.block_dim = 32
    prefetch_map(tensor_map(a, box=[4, 16], swizzle=0, l2_promotion=0))
    prefetch_map(tensor_map(b, box=[4, 16], swizzle=32, l2_promotion=64))
    prefetch_map(tensor_map(c, box=[4, 16], swizzle=64, l2_promotion=128))
    prefetch_map(tensor_map(d, box=[4, 16], swizzle=128))
'''
ENDLESS = '''

from hidet.lang.testing import test, zeros


@test
def first():
    twice(zeros(f32, [64]), zeros(f32, [64]))


@test
def second():
    twice(zeros(f32, [64]), zeros(f32, [64]))
'''
CLUSTER = '''from hidet.lang import attrs, i32
from hidet.lang.cuda import blockIdx, threadIdx


@hidet.script
def wide(x: i32[32]):
    attrs.cuda.grid_dim = 32
    attrs.cuda.cluster_dim = 16
    attrs.cuda.block_dim = 32
    if threadIdx.x == 0:
        x[blockIdx.x] = 1
'''
# What a run calls once the GPU is open, and what the diagnostic says that it was for.
CALLS = {
    "cuModuleLoadData": "loading the code",
    "cuModuleGetFunction": "finding the kernel",
    "cuMemAlloc_v2": "allocating 2304 bytes for 'x'",
    "cuMemcpyHtoD_v2": "copying 'x'",
    "cuFuncSetAttribute": "asking for 65536 bytes of shared memory",
    "cuLaunchKernelEx": "launching 'twice'",
    "cuStreamQuery": "running 'twice'",
    "cuCtxSynchronize": "running 'twice'",
    "cuMemcpyDtoH_v2": "copying '[xy]' back",
}
CODES = {1: "invalid argument", 2: "out of memory", 209: "no kernel image is available", 700: "an illegal memory access",
         719: "unspecified launch failure", 54321: "error 54321"}


class Run:
    """hdsc run --device=cuda with the double; [settings] are its FAKE_CUDA_ variables."""

    WORDS = ("--entry", "twice", "x=ones:[64]", "y=zeros")

    def __init__(self, hdsc, folder, source, words=WORDS, **settings):
        with tempfile.TemporaryDirectory() as work:
            log = pathlib.Path(work, "log")
            environment = {**os.environ, "LD_LIBRARY_PATH": folder, "NO_COLOR": "1", "HDS_CACHE": "off",
                           "FAKE_CUDA_LOG": str(log)}
            for name, value in settings.items():
                environment[name if name.startswith("HDSRT_") else "FAKE_CUDA_" + name] = str(value)
            done = subprocess.run([hdsc, "run", "--device=cuda", source, *words],
                                  capture_output=True, text=True, env=environment, check=False, timeout=300)
            self.status, self.text = done.returncode, done.stdout + done.stderr
            self.log = log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def count(self, symbol):
        """Its calls that succeeded."""
        return sum(f" {symbol}(" in line and line.endswith(" = 0") for line in self.log)

    def left(self):
        """What was not given back, or was given back twice, in words; of a context that failed only the context."""
        pairs = [("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2")]
        if not self.count("cuDevicePrimaryCtxReset_v2"):
            pairs += [("cuMemAlloc_v2", "cuMemFree_v2"), ("cuModuleLoadData", "cuModuleUnload")]
        return [f"{self.count(made)} {made}, {self.count(gone)} {gone}" for made, gone in pairs
                if self.count(made) != self.count(gone)]


def missing(run):
    """Everything that keeps a GPU from being opened: (what, run, expected text)."""
    cases = [("no driver", {"HDSRT_DRIVER": "/nowhere/libcuda.so"},
              "cannot use '--device=cuda': the CUDA driver (/nowhere/libcuda.so) cannot be opened: "),
             ("no GPU", {"DEVICES": 0}, "cannot use '--device=cuda': the CUDA driver finds no GPU"),
             ("an old driver", {"VERSION": 11080}, "the CUDA driver is for CUDA 11.8, and 12.0 or newer is needed"),
             ("an old GPU", {"ARCH": 35}, "compute capability 3.5 of this GPU is unknown to hdsc"),
             ("cuInit", {"FAIL": "cuInit:1:802"}, "starting the CUDA driver: system not yet initialized"),
             ("cuDeviceGet", {"FAIL": "cuDeviceGet:1:999"}, "looking for the first GPU: unknown error"),
             ("cuDeviceGetAttribute", {"FAIL": "cuDeviceGetAttribute:2:999"}, "querying the GPU: unknown error"),
             ("cuDevicePrimaryCtxRetain", {"FAIL": "cuDevicePrimaryCtxRetain:1:46"},
              "making a context on the GPU: CUDA-capable device(s) is/are busy or unavailable")]
    cases += [(f"no {symbol}", {"MISSING": symbol}, f"has no '{symbol}': one for CUDA 12.0 or newer is needed")
              for symbol in SYMBOLS]
    problems = []
    for (what, _, text), done in zip(cases, each(lambda case: run(**case[1]), cases)):
        if done.status != 3 or text not in done.text:
            problems.append(f"{what}: exit code {done.status}, not 3 with \"{text}\":\n{done.text}")
        problems += [f"{what}: {left}" for left in done.left()]
    return problems, len(cases)


def failing(run):
    """Each error of each call of a launch."""
    cases = [(symbol, code) for symbol in CALLS for code in CODES]
    problems = []
    for (symbol, code), done in zip(cases, each(lambda case: run(FAIL=f"{case[0]}:1:{case[1]}"), cases)):
        text = rf"error\[HDS0647\]: {CALLS[symbol]} on the GPU failed: {re.escape(CODES[code])}"
        if done.status != 1 or not re.search(text, done.text):
            problems.append(f"{symbol} with {code}: exit code {done.status}, not 1 with /{text}/:\n{done.text}")
        problems += [f"{symbol} with {code}: {left}" for left in done.left()]
    return problems, len(cases)


def working(run):
    """A run that works, with all that arrives, and contexts that are lost or cannot be had."""
    problems = []
    done = run()
    launch = next((line for line in done.log if "cuLaunchKernelEx" in line), "")
    if done.status or not re.search(r"\(twice, sm_90, grid 3 1 1, block 64 1 1, smem 65536, .*params \w{16} \w{16} 40000000\)", launch):
        problems.append(f"a run that works: exit code {done.status}, {launch}:\n{done.text}")
    problems += done.left()
    done = run(FAIL="cuCtxSynchronize:1:700!")
    if done.status != 1 or "running 'twice' on the GPU failed: an illegal memory access" not in done.text or done.left():
        problems.append(f"a context that is lost: exit code {done.status}, {done.left()}:\n{done.text}")
    done = run(FAIL="cuCtxSetCurrent:1:201")
    if done.status != 1 or "error[HDS0648]" not in done.text or done.left():
        problems.append(f"no current context: exit code {done.status}, {done.left()}:\n{done.text}")
    return problems, 3


def endless(run, hdsc, folder, work):
    """A kernel that does not end: said once, and nothing waits for it, the end of the program neither."""
    problems = []
    done = run(words=(*Run.WORDS, "--gpu-timeout=1"), DURATION="inf")
    if done.status != 1 or "error[HDS0612]: 'twice' does not end: stopped after 1 s on the GPU" not in done.text:
        problems.append(f"a kernel that does not end: exit code {done.status}:\n{done.text}")
    tests = pathlib.Path(work, "endless.hds")
    tests.write_text(KERNEL + ENDLESS, encoding="utf-8")
    environment = {**os.environ, "LD_LIBRARY_PATH": folder, "HDS_CACHE": "off", "FAKE_CUDA_DURATION": "inf"}
    done = subprocess.run([hdsc, "test", "--device=cuda", "--gpu-timeout=1", str(tests)], capture_output=True, text=True,
                          env=environment, check=False, timeout=300)
    text = done.stdout + done.stderr
    if done.returncode != 1 or text.count("error[HDS0612]") != 1 or text.count("error[HDS0648]") != 1 or "0 passed, 2 failed" not in text:
        problems.append(f"tests of a kernel that does not end: exit code {done.returncode}:\n{text}")
    return problems, 2


def maps(hdsc, folder, source):
    """Tensor maps as the driver gets them: CUtensorMapDataType of the elements (u8, u16, i32, i64), swizzle, promotion."""
    words = ["--arch=sm_90", *(f"{name}=zeros" for name in "abcd")]
    done = Run(hdsc, folder, source, words)
    made = [re.sub(r"0x\w+, ", "", line.split("cuTensorMapEncodeTiled")[1]) for line in done.log if "cuTensorMapEncodeTiled" in line]
    expected = [f"(dtype {dtype}, rank 2, interleave 0, swizzle {swizzle}, promotion {promotion}, fill 0) = 0"
                for dtype, swizzle, promotion in ((0, 0, 0), (1, 1, 1), (3, 2, 2), (5, 3, 3))]
    return [f"tensor maps: exit code {done.status}, {made}:\n{done.text}"] if done.status or made != expected else [], 1


def clusters(hdsc, folder, source):
    """More than eight blocks in a cluster are allowed before the launch, and the driver takes them then."""
    done = Run(hdsc, folder, source, ["--arch=sm_90", "x=zeros"])
    is_right = not done.status and done.count("cuFuncSetAttribute")
    return [] if is_right else [f"a cluster of 16: exit code {done.status}:\n{done.text}"], 1


def models(hdsc, folder):
    """A model's kernels: what is done with weights alone comes first, then the run."""
    words = ["x=randn", "out=zeros", "--weights=random", "--arch=sm_90"]
    done = Run(hdsc, folder, str(TOP / "tests/driver/inputs/weights/typed.hds"), words)
    kernels = [re.search(r"cuLaunchKernelEx\((\w+)", line).group(1) for line in done.log if "cuLaunchKernelEx" in line]
    order = [name.split("_")[0] for name in kernels]
    is_right = not done.status and order == ["flat", "matmul"] and not done.left()
    return [] if is_right else [f"a model: exit code {done.status}, {kernels}, {done.left()}:\n{done.text}"], 1


def native(hdsc, folder, source):
    """--arch=native: that of the GPU, or why there is none."""
    cases = [({"ARCH": "90"}, 0, "for sm_90a"), ({"ARCH": "86"}, 0, "for sm_86"), ({"ARCH": "12"}, 2, "compute capability 1.2"),
             ({"DEVICES": "0"}, 2, "cannot use '--arch=native': the CUDA driver finds no GPU"),
             ({"MISSING": "cuLaunchKernelEx"}, 2, "cannot use '--arch=native': the CUDA driver (libcuda.so.1) has no"),
             ({"FAIL": "cuDeviceGet:1:999"}, 2, "cannot use '--arch=native': looking for the first GPU: unknown error")]
    problems = []
    for settings, status, text in cases:
        environment = {**os.environ, "LD_LIBRARY_PATH": folder, **{"FAKE_CUDA_" + k: v for k, v in settings.items()}}
        done = subprocess.run([hdsc, "--arch=native", "--emit=cu", "-o", "-", source], capture_output=True, text=True,
                              env=environment, check=False, timeout=300)
        if done.returncode != status or text not in done.stdout + done.stderr:
            problems.append(f"--arch=native, {settings}: exit code {done.returncode}, not {status} with '{text}':\n{done.stderr}")
    return problems, len(cases)


def main():
    hdsc, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    version = subprocess.run([hdsc, "version"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work, "twice.hds")
        source.write_text(KERNEL, encoding="utf-8")

        def run(**settings):
            return Run(hdsc, folder, str(source), **settings)

        results = [missing(run), native(hdsc, folder, str(source))]
        if "NVRTC: error" in version:
            print("NVRTC is not here: what a launch does was not checked")
        else:
            cluster = pathlib.Path(work, "cluster.hds")
            cluster.write_text(CLUSTER, encoding="utf-8")
            boxes = pathlib.Path(work, "boxes.hds")
            boxes.write_text(BOXES, encoding="utf-8")
            results += [failing(run), working(run), endless(run, hdsc, folder, work), maps(hdsc, folder, str(boxes)),
                        clusters(hdsc, folder, str(cluster)), models(hdsc, folder)]
    problems = [problem for found, _ in results for problem in found]
    sys.exit(finish(problems, sum(count for _, count in results) - len(problems)))


if __name__ == "__main__":
    main()
