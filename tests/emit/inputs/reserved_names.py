"""A program whose kernels and whose variables have names that C++, CUDA, NVRTC or the C library has already."""

NAMES = """
    std va_list va_start clock clock64 clock_t size_t ptrdiff_t nullptr_t main printf malloc memcpy abs min max sin sinf
    rsqrtf norm3d umin ullmax index half bool2 char4 uint3 float4 ulonglong2 double4_16a dim3 threadIdx blockDim warpSize
    atomicAdd atomicCAS_block tex2D tex1Dfetch surf2Dread texture surfaceReference textureReference cudaStream_t cudaError
    cudaErrorMemoryAllocation CUDA_VERSION CUDART_VERSION CUDARTAPI CUuuid NV_IF_TARGET INT_MAX NULL NAN INFINITY errno linux
    template typename namespace operator new delete this union volatile restrict inline asm signed typeof wchar_t fail
    floor_div bit_cast vec f16 to_float
""".split()
VARIABLES = [*NAMES, *"__LINE__ __FILE__ __global__ __shared__ __device__ __restrict__ __CUDA_ARCH__ __nanosleep _Bool _Pragma __".split()]
ATTRIBUTES = "    attrs.cuda.grid_dim = 1\n    attrs.cuda.block_dim = 32\n"


def kernel(name, body):
    return f"\n\n@hidet.script\ndef {name}(x: f32[128]):\n{ATTRIBUTES}{body}"


# A loop keeps a variable.
KEPT = "    {0} = x[{1}]\n    while {0} > 1.0:\n        {0} *= 0.5\n    x[{1}] = {0}\n"

print("from hidet.lang import attrs, f32")
for name in NAMES:
    print(kernel(name, "    x[0] = 1.0\n"), end="")
print(kernel("variables", "".join(KEPT.format(name, i) for i, name in enumerate(VARIABLES))), end="")
