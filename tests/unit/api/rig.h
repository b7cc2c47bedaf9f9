// What the tests of libhds share: compilers that use the double of NVRTC, folders, and what to expect.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hds/hds.h>

#define FAKE_NVRTC FAKES "/whole"

// A kernel with a size, a scalar and two tensors.
static const char rig_scale[] =
    "from hidet.lang import attrs, ceil_div, f32\n"
    "from hidet.lang.cuda import blockDim, blockIdx, threadIdx\n"
    "\n"
    "\n"
    "@hidet.script\n"
    "def scale[n: int](factor: f32, x: f32[n], y: f32[n]):\n"
    "    \"\"\"y = factor · x\"\"\"\n"
    "    attrs.cuda.grid_dim = ceil_div(n, 256)\n"
    "    attrs.cuda.block_dim = 256\n"
    "    i = blockIdx.x * blockDim.x + threadIdx.x\n"
    "    if i < n:\n"
    "        y[i] = factor * x[i]\n";

// A tensor of f32 in host memory, and an argument that is one. Extents of 0 at the end are not there.
typedef struct rig_tensor {
    hdsrt_tensor dl;
    int64_t shape[3];
} rig_tensor;

static inline hds_argument rig_host(rig_tensor *t, float *data, int64_t a, int64_t b, int64_t c)
{
    *t = (rig_tensor){.shape = {a, b, c}};
    t->dl.data = data;
    t->dl.device.device_type = 1;
    t->dl.ndim = c ? 3 : b ? 2 : 1;
    t->dl.dtype.code = 2;
    t->dl.dtype.bits = 32;
    t->dl.dtype.lanes = 1;
    t->dl.shape = t->shape;
    return hds_tensor(&t->dl);
}

typedef struct rig {
    char folder[64], cache[80], log[80];
    hds_compiler *compiler;
} rig;

// NULL: the NVRTC of this machine, if it has one.
static inline hds_compiler *rig_compiler(const rig *r, const char *nvrtc, const char *cache_dir, size_t memory_programs)
{
    (void)r;
    hds_compiler *compiler = NULL;
    hds_compiler_options options = HDS_COMPILER_OPTIONS_INIT;
    options.nvrtc = nvrtc;
    options.cache_dir = cache_dir;
    options.memory_programs = memory_programs;
    assert_int_equal(hds_compiler_new(&options, &compiler), HDS_OK);
    return compiler;
}

static inline int rig_set_up(void **state)
{
    rig *r = calloc(1, sizeof *r);
    strcpy(r->folder, "/tmp/hds-api-XXXXXX");
    if (!mkdtemp(r->folder))
        return 1;
    snprintf(r->cache, sizeof r->cache, "%s/cache", r->folder);
    snprintf(r->log, sizeof r->log, "%s/log", r->folder);
    unsetenv("HDS_CACHE");
    setenv("FAKE_NVRTC_LOG", r->log, 1);
    r->compiler = rig_compiler(r, FAKE_NVRTC, "", 0);
    *state = r;
    return 0;
}

static inline int rig_tear_down(void **state)
{
    rig *r = *state;
    char command[128];
    hds_compiler_release(r->compiler);
    snprintf(command, sizeof command, "rm -rf '%s'", r->folder);
    int failed = system(command);
    free(r);
    return failed;
}

static inline void rig_write(const rig *r, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

// How often the double of NVRTC has compiled.
static inline int rig_compilations(const rig *r)
{
    char line[32];
    int count = 0;
    FILE *f = fopen(r->log, "r");
    while (f && fgets(line, sizeof line, f))
        count += strcmp(line, "compile\n") == 0;
    if (f)
        fclose(f);
    return count;
}

static inline void rig_expect_error(hds_status status, hds_status expected, const char *text)
{
    if (status != expected)
        fail_msg("%s instead of %s: %s", hds_status_text(status), hds_status_text(expected), hds_last_error());
    if (!strstr(hds_last_error(), text))
        fail_msg("'%s' is not in '%s'", text, hds_last_error());
}

static inline hds_program *rig_compile(hds_compiler *compiler, const char *name, const char *text,
                                       const hds_compile_options *options)
{
    hds_program *program = NULL;
    hds_compile_options usual = HDS_COMPILE_OPTIONS_INIT;
    usual.arch = "sm_80";
    hds_status status = hds_compile(compiler, &(hds_source){name, text, 0}, options ? options : &usual, &program);
    if (status != HDS_OK)
        fail_msg("%s: %s", hds_status_text(status), hds_last_error());
    return program;
}
