"""Fat binaries as the driver takes them: machine code, and compressed PTX where no machine code fits this GPU.

Usage: check_images.py [--hdsc HDSC]. Kernels of examples/ are compiled for sm_80, of which a newer GPU can use the PTX only,
and for this GPU; both load, and give the same bytes.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from device import Buffer, Device, load

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
N, M, K = 4096, 192, 96


def arguments(name, device):
    """The values of a kernel's parameters and the buffer of its result."""
    rng = np.random.default_rng(1)
    if name == "saxpy":
        x, y = (Buffer(device, [N], np.float32, rng.standard_normal(N).astype(np.float32)) for _ in range(2))
        return {"s": 2.5, "x": x.at, "y": y.at, "n": N}, y
    a = Buffer(device, [M, K], np.float32, rng.standard_normal([M, K]).astype(np.float32))
    b = Buffer(device, [K, N], np.float32, rng.standard_normal([K, N]).astype(np.float32))
    c = Buffer(device, [M, N], np.float32)
    return {"a": a.at, "b": b.at, "c": c.at, "M": M, "N": N, "K": K}, c


def result(hdsc, device, folder, name, arch):
    source, image, interface = TOP / "examples" / f"{name}.hds", f"{folder}/k.fatbin", f"{folder}/k.json"
    entry = f"--entry={name}"
    subprocess.run([hdsc, source, entry, f"--arch={arch}", "-o", image], check=True)
    subprocess.run([hdsc, source, entry, "--arch=sm_80", "-o", interface], check=True)
    kernel = load(device, image, interface)[name]
    values, out = arguments(name, device)
    kernel.launch(values)
    device.synchronize()
    return out.get()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hdsc", type=os.path.abspath, default=TOP / "build" / "release" / "bin" / "hdsc")
    hdsc, device, problems = parser.parse_args().hdsc, Device(), []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("saxpy", "tiled_matmul"):
            ptx, code = (result(hdsc, device, folder, name, arch) for arch in ("sm_80", "native"))
            if not np.isfinite(code).all() or not np.array_equal(ptx, code):
                problems.append(f"{name}: the PTX gives other results than the machine code")
    print("\n".join(problems) or f"2 passed, 0 failed on {device.name}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
