#!/usr/bin/env python3
"""Writes a .hds file of about N lines as a program would have them: constants, small functions, kernels that call them.

Usage: generate.py N > large.hds
"""

import sys

HEADER = '''"""Generated: {count} kernels with their helpers."""

from hidet.lang import attrs, f32, i32, register_tensor, repeat, shared_tensor, spatial
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx

'''

# Three kinds of kernel, each 20 to 40 lines: elementwise with a device function, a stencil, and tiles by task mappings.
ELEMENTWISE = '''
SCALE_{i} = {scale}.0
THREADS_{i} = {threads}


@hidet.script
def activate_{i}(x: f32, bias: f32) -> f32:
    y = x * SCALE_{i} + bias
    if y > 6.0:
        y = 6.0
    elif y < 0.0:
        y = 0.0
    return y * (1.0 / 6.0)


@hidet.script
def elementwise_{i}(x: f32[{n}], bias: f32[{n}], out: f32[{n}]):
    attrs.cuda.grid_dim = ({n} + THREADS_{i} - 1) // THREADS_{i}
    attrs.cuda.block_dim = THREADS_{i}
    at = blockIdx.x * THREADS_{i} + threadIdx.x
    if at < {n}:
        out[at] = activate_{i}(x[at], bias[at])
'''

STENCIL = '''
RADIUS_{i} = {radius}


@hidet.script
def stencil_{i}[n: int](x: f32[n], weights: f32[2 * RADIUS_{i} + 1], out: f32[n]):
    attrs.cuda.grid_dim = (n + 127) // 128
    attrs.cuda.block_dim = 128
    at = blockIdx.x * 128 + threadIdx.x
    total: f32 = 0.0
    for offset in range(2 * RADIUS_{i} + 1):
        index = at + offset - RADIUS_{i}
        if index >= 0 and index < n:
            total += x[index] * weights[offset]
    if at < n:
        out[at] = total
'''

TILES = '''
OWNERS_{i} = spatial(8, 16) * repeat({rows}, 2)
HEIGHT_{i}, WIDTH_{i} = OWNERS_{i}.shape


@hidet.script
def tiles_{i}[M: int, N: int](a: f32[M, N], b: f32[M, N], c: f32[M, N]):
    attrs.cuda.grid_dim = (N + WIDTH_{i} - 1) // WIDTH_{i}, (M + HEIGHT_{i} - 1) // HEIGHT_{i}
    attrs.cuda.block_dim = OWNERS_{i}.workers
    held = register_tensor(f32, OWNERS_{i}, init=0.0)
    staged = shared_tensor(f32, [HEIGHT_{i}, WIDTH_{i}])
    top, left = blockIdx.y * HEIGHT_{i}, blockIdx.x * WIDTH_{i}
    for row, column in OWNERS_{i}.on(threadIdx.x):
        staged[row, column] = a.read([top + row, left + column])
    syncthreads()
    for row, column in OWNERS_{i}.on(threadIdx.x):
        held[row, column] += staged[row, column] * {scale}.0 + b.read([top + row, left + column])
    for row, column in OWNERS_{i}.on(threadIdx.x):
        c.write([top + row, left + column], held[row, column])
'''


def main():
    wanted, parts, lines, i = int(sys.argv[1]), [], HEADER.count("\n"), 0
    while lines < wanted or not parts:
        form = (ELEMENTWISE, STENCIL, TILES)[i % 3]
        text = form.format(i=i, n=1000 + 24 * i, scale=1 + i % 7, threads=64 << i % 4, radius=1 + i % 5, rows=1 + i % 4)
        parts.append(text + "\n")
        lines += text.count("\n") + 1
        i += 1
    sys.stdout.write(HEADER.format(count=i) + "".join(parts))


if __name__ == "__main__":
    main()
