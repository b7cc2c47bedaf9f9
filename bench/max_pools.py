#!/usr/bin/env python3
"""3 x 3 convolutions with bias, ReLU and max pooling of 2 x 2, as two kernels and as one, beside PyTorch's, in one run: f16, channels
last.

    bench/max_pools.py HDSC [--runtime=libhdsrt.so] [--schedules] [--out=FILE] [LAYER…]

For each layer a line of times in µs: "apart", two kernels; "conv", the first of them; "one", the kernel without the image, and
"both", the one that stores it as well, by the model of cost; "torch", PyTorch's calls with cudnn.benchmark. --schedules: also each
schedule of ops/conv/conv_pooled.hds, "z" before those that store the image, the fastest first. Operands of one image stay in L2,
others do not, and CUDA graphs alternate. Results are compared with f32 arithmetic. --out: a CSV file. LAYER: images, channels,
extent, channels of the result, as in 8_64_224_64. Exit code: 1 if a result is wrong.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import schedules

VGG = ["64_224_64", "128_112_128", "256_56_256", "512_28_512", "512_14_512"]
UNET = ["64_256_64", "128_128_128", "256_64_256", "512_32_512"]
LAYERS = [f"{images}_{layer}" for images in (1, 8, 32) for layer in (*VGG, *UNET)]
KERNELS = ["apart", "conv", "one", "both"]
SCHEDULES = 6  # of ops/conv/conv_pooled.hds
WARM, COLD, MOST = 16 << 20, 96 << 20, 16  # bytes of all sets of operands: in L2, and beyond it; their number


def text_of(layers, indices):
    """The module of all instances; indices: of schedules."""
    lines = ["from conv.conv_pooled import SCHEDULES", "from max_pools import Pooled, apart, bare, chosen, forced", ""]
    for layer in layers:
        of = f"Pooled({layer.replace('_', ', ')})"
        lines += [f"apart_{layer} = apart[{of}]", f"conv_{layer} = bare[{of}]"]
        lines += [f"one_{layer} = chosen[{of}, False]", f"both_{layer} = chosen[{of}, True]"]
        lines += [f"{z}s{n}_{layer} = forced[{of}, SCHEDULES[{n}], {z == 'z'}]" for n in indices for z in ("", "z")]
    return "\n".join(lines) + "\n"


def torch_call(x, w, b, z):
    """By PyTorch, on views of the same memory."""
    import torch

    y = torch.cudnn_convolution_relu(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), b, [1, 1], [1, 1], [1, 1], 1)
    return torch.nn.functional.max_pool2d(y, 2)


def expected(x, w, b):
    """(z, y) in f32."""
    import torch.nn.functional as F

    z = F.conv2d(x.float().permute(0, 3, 1, 2), w.float().permute(0, 3, 1, 2), b.float(), padding=1).relu()
    return z.permute(0, 2, 3, 1), F.max_pool2d(z, 2).permute(0, 2, 3, 1)


def check_images(lib, symbols, tensors, y, wanted):
    """What is wrong with the images that kernels store."""
    import products
    import torch

    problems, z = [], tensors[3]
    for symbol in symbols:
        z.fill_(float("nan"))
        products.ours(lib, symbol, tensors, y)(torch.cuda.current_stream().cuda_stream)
        error = products.off_by(z, wanted)
        if not z.isnan().all() and not error < 0.01:
            problems.append(f"{symbol}: its image is off by {error:.3g}")
    return problems


def measure(lib, layer, indices):
    """{name: µs}, and what is wrong."""
    import torch

    N, C, n, K = map(int, layer.split("_"))
    shapes = [(N, n, n, C), (K, 3, 3, C), (K,), (N, n, n, K)]
    total = WARM if N == 1 else COLD
    count = max(1 if N == 1 else 2, min(MOST, total // (2 * sum(torch.Size(s).numel() for s in shapes))))

    def operands(seed):
        generator = torch.Generator("cuda").manual_seed(seed)
        scales = [1, 0.05, 1, 1]
        return [torch.randn(s, generator=generator, device="cuda").mul_(f).half() for s, f in zip(shapes, scales, strict=True)]

    sets = [operands(seed) for seed in range(count)]
    results = [torch.empty((N, n // 2, n // 2, K), dtype=torch.float16, device="cuda") for _ in sets]
    z, y = expected(*sets[0][:3])
    images = [f"z{name}" for name in (f"s{k}" for k in indices)]
    names = [*KERNELS, *[f"s{k}" for k in indices], *images]
    problems = check_images(lib, [f"{name}_{layer}" for name in ("apart", "both", *images)], sets[0], results[0], z)
    timed, found = schedules.race(lib, {name: f"{name}_{layer}" for name in names}, sets, results, {"torch": torch_call}, y)
    return timed, problems + found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hdsc")
    parser.add_argument("--runtime")
    parser.add_argument("--schedules", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("layers", nargs="*")
    options = parser.parse_intermixed_args()
    import products
    import torch
    from memory import library

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # of the comparison in f32
    layers, rows, problems = options.layers or LAYERS, [], []
    indices = range(SCHEDULES) if options.schedules else []
    with tempfile.TemporaryDirectory() as folder:
        text = text_of(layers, indices)
        lib = library.Libraries([str(schedules.compiled(options.hdsc, text, pathlib.Path(folder)))], options.runtime)
        print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}; µs")
        for layer in layers:
            times, found = measure(lib, layer, indices)
            problems += found
            rows.append({"layer": layer, **{name: f"{t:.2f}" for name, t in times.items()}})
            first = [name for name in (*KERNELS, "torch") if name in times]
            rest = sorted((t, name) for name, t in times.items() if name not in first)
            print(f"{layer:15} " + " ".join(f"{name}:{t:.2f}" for t, name in [*((times[n], n) for n in first), *rest]), flush=True)
    columns = ["layer", *KERNELS, "torch", *(f"{z}s{k}" for k in indices for z in ("", "z"))]
    return products.finish(rows, columns, options.out, problems)


if __name__ == "__main__":
    sys.exit(main())
