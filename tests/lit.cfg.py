"""lit: every .hds, .hir and .test file below tests/ and examples/ with RUN lines is a test.

%hdsc is the compiler, %fake_cuda the double of the CUDA driver, %s the file, %t a temporary name.
FileCheck and not are LLVM 14's. Run by ctest, a test per folder
of tests/; by hand: lit.py -sv tests/driver --param hdsc=build/dev/bin/hdsc
"""

import os
import shutil

import lit.formats

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(here)

config.name = "hdsc"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".hds", ".hir", ".test"]
config.excludes = ["unit", "inputs"]
config.test_source_root = here
config.test_exec_root = lit_config.params.get("work", os.path.join(top, "build", "lit"))

hdsc = os.path.abspath(lit_config.params.get("hdsc", os.path.join(top, "build", "dev", "bin", "hdsc")))
python = lit_config.params.get("python", shutil.which("python3"))
llvm = lit_config.params.get("llvm", "/usr/lib/llvm-14/bin")

config.substitutions += [
    ("%hdsc", hdsc),
    ("%python", python),
    ("%top", top),
    ("%fake_cuda", os.path.join(os.path.dirname(os.path.dirname(hdsc)), "tests", "fake_cuda", "libcuda.so.1")),
]
config.environment["PATH"] = os.pathsep.join([llvm, config.environment["PATH"]])
config.environment["LC_ALL"] = "C.UTF-8"
config.environment["NO_COLOR"] = "1"
config.environment["HDS_CACHE"] = "off"  # those about the cache have folders of their own
for name in ("HDS_NVRTC", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "ASAN_OPTIONS", "LSAN_OPTIONS",
             "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

for feature in lit_config.params.get("features", "").split(","):
    if feature:
        config.available_features.add(feature)
if shutil.which("cuobjdump"):
    config.available_features.add("cuobjdump")
