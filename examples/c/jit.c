// Compiles a kernel from a string while the program runs, launches it on DLPack tensors and checks what came out.
//
//     cc jit.c $(pkg-config --cflags --libs hds) -o jit && ./jit
#include <hds/hds.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "from hidet.lang import attrs, ceil_div, f32\n"
    "from hidet.lang.cuda import blockDim, blockIdx, threadIdx\n"
    "\n"
    "@hidet.script\n"
    "def scale[n: int](factor: f32, x: f32[n], y: f32[n]):\n"
    "    attrs.cuda.grid_dim = ceil_div(n, 256)\n"
    "    attrs.cuda.block_dim = 256\n"
    "    i = blockIdx.x * blockDim.x + threadIdx.x\n"
    "    if i < n:\n"
    "        y[i] = factor * x[i]\n";

enum { COUNT = 1000 };

static void check_runtime(hdsrt_status status)
{
    if (status == HDSRT_OK)
        return;
    fprintf(stderr, "%s: %s\n", hdsrt_status_text(status), hdsrt_last_error());
    exit(1);
}

static void check(hds_status status)
{
    if (status == HDS_OK)
        return;
    fprintf(stderr, "%s: %s\n", hds_status_text(status), hds_last_error());
    exit(1);
}

// Whether y = 3 · x, computed by the kernel.
static int run(const hds_kernel *kernel)
{
    static float host[COUNT];
    const hdsrt_dtype f32 = {2, 32};
    const int64_t shape[] = {COUNT};
    hdsrt_managed_tensor *x, *y;
    check_runtime(hdsrt_tensor_new(&x, f32, 1, shape, NULL));
    check_runtime(hdsrt_tensor_new(&y, f32, 1, shape, NULL));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    check_runtime(hdsrt_copy(x->dl_tensor.data, host, sizeof host, NULL));
    check(hds_launch(kernel, (hds_argument[]){hds_float(3.0), hds_tensor(&x->dl_tensor), hds_tensor(&y->dl_tensor)}, 3,
                     NULL));
    check_runtime(hdsrt_copy(host, y->dl_tensor.data, sizeof host, NULL));
    check_runtime(hdsrt_synchronize(NULL));
    x->deleter(x);
    y->deleter(y);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != 3.0f * (float)i;
    return wrong;
}

int main(void)
{
    hds_compiler *compiler;
    hds_program *program;
    const hds_source scale = {"scale.hds", source, 0};
    check(hds_compiler_new(NULL, &compiler));
    hds_status status = hds_compile(compiler, &scale, NULL, &program);  // for the GPU of this machine
    for (size_t i = 0; i < hds_program_diagnostic_count(program); i++)
        fputs(hds_program_diagnostic(program, i)->rendered, stderr);
    check(status);
    int wrong = run(hds_program_kernel(program, "scale"));
    printf("%s: %d of %d elements are wrong\n", hds_program_arch(program), wrong, COUNT);
    hds_program_release(program);
    hds_compiler_release(compiler);
    return wrong != 0;
}
