// The compiler as a library: a kernel from memory, compiled for the GPU here and launched.
#include <hds/hds.h>

#include "check.h"

static const char text[] = "from hidet.lang import attrs, f32\n"
                           "from hidet.lang.cuda import blockIdx, threadIdx\n"
                           "@hidet.script\n"
                           "def triple[n: int](y: f32[n]):\n"
                           "    attrs.cuda.grid_dim = (n + 127) // 128\n"
                           "    attrs.cuda.block_dim = 128\n"
                           "    i = blockIdx.x * 128 + threadIdx.x\n"
                           "    if i < n:\n"
                           "        y[i] = 3.0 * y[i]\n";

static int launch(hds_compiler *compiler, float *y)
{
    hds_source source = {"triple.hds", text, 0};
    hds_program *program = NULL;
    hds_status status = hds_compile(compiler, &source, NULL, &program);
    for (size_t i = 0; i < hds_program_diagnostic_count(program); i++)
        fputs(hds_program_diagnostic(program, i)->rendered, stderr);
    if (status == HDS_OK)
        status = hds_launch(hds_program_kernel(program, "triple"), (hds_argument[]){hds_pointer(y), hds_int(COUNT)}, 2, NULL);
    if (status != HDS_OK)
        fprintf(stderr, "%s: %s\n", hds_status_text(status), hds_last_error());
    hdsrt_synchronize(NULL);
    hds_program_release(program);
    return status == HDS_OK;
}

int main(int argc, char **argv)
{
    hds_compiler *compiler = NULL;
    float *y = vector_new();
    if (!y || hds_compiler_new(NULL, &compiler) != HDS_OK)
        return 1;
    int launched = launch(compiler, y);
    hds_compiler_release(compiler);
    return !(launched && vector_check(y, 3.0f, argc, argv));
}
