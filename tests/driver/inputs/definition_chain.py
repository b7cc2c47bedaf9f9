"""A kernel whose definitions each use earlier ones twice: written out, the last one would have 2^N operators."""

import sys

print("from hidet.lang import attrs, i32\nfrom hidet.lang.cuda import blockIdx, threadIdx\n\n\n@hidet.script")
print("def k(x: i32[1024], n: int):\n    attrs.cuda.grid_dim = 1\n    attrs.cuda.block_dim = 32")
print("    v0 = threadIdx.x\n    v1 = blockIdx.x + n")
for i in range(1, int(sys.argv[1])):
    print(f"    v{i + 1} = v{i} // {2 + i % 5} + v{i - 1} % {3 + i % 7} + v{i} * 3")
print(f"    x[v{sys.argv[1]}] = 0")
