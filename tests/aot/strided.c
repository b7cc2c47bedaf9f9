// The kernels of strided.hds with random tensors, three ways: by generated C, by libhds, both on the double of the driver,
// and in the simulator. All accept the same tensors, pass the same values, and compute what the strides say.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hds/hds.h>

#include "fake_cuda.h"
#include "strided.h"

enum { POOL = 4096, MOST = 3, AXES = 3, ROUNDS = 6000 };

typedef hdsrt_status call(const hdsrt_tensor *const *t);

static hdsrt_status call_any(const hdsrt_tensor *const *t)
{
    return any_strides_dlpack(t[0], t[1], t[2], NULL);
}

static hdsrt_status call_rows(const hdsrt_tensor *const *t)
{
    return rows_dlpack(t[0], t[1], NULL);
}

static hdsrt_status call_tied(const hdsrt_tensor *const *t)
{
    return tied_dlpack(t[0], t[1], t[2], NULL);
}

static hdsrt_status call_batches(const hdsrt_tensor *const *t)
{
    return batches_dlpack(t[0], t[1], NULL);
}

static hdsrt_status call_turned(const hdsrt_tensor *const *t)
{
    return turned_dlpack(t[0], t[1], NULL);
}

static const struct {
    const char *name;
    call *run;
    int tensors, axes, sizes;
} kernels[] = {
    {"any_strides", call_any, 3, 2, 8}, {"rows", call_rows, 2, 2, 4},     {"tied", call_tied, 3, 2, 3},
    {"batches", call_batches, 2, 3, 4}, {"turned", call_turned, 2, 2, 2},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct example {
    hdsrt_tensor t[MOST];
    int64_t shape[MOST][AXES], strides[MOST][AXES];
    int64_t at[MOST];  // in the pool
} example;

static uint32_t state = 12345;
static _Alignas(64) float pool[POOL], before[POOL];
static int failures, accepted;

static int below(int n)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)n);
}

// Strides that a kernel may want, and now and then others.
static void random_strides(example *e, int i, int axes, int gap)
{
    int64_t step = 1;
    for (int d = axes - 1; d >= 0; d--) {
        e->strides[i][d] = step;
        step *= e->shape[i][d] > 1 ? e->shape[i][d] : 1;
        if (d == axes - 1 && gap)
            step += gap * (1 + (i == 1 ? step + gap : 0) * (gap == 1 || below(2)));
    }
    if (!below(4)) {
        int64_t last = e->strides[i][axes - 1];
        e->strides[i][axes - 1] = below(2) ? e->shape[i][0] : e->strides[i][0];
        e->strides[i][0] = last;
    }
    if (!below(12))
        e->strides[i][below(axes)] = below(6) - 1;
}

// 0: outside of the pool, where elements would lie.
static int bind_memory(example *e, int i, int axes)
{
    int64_t last = 0;
    for (int d = 0; d < axes; d++) {
        if (e->strides[i][d] < 0)
            return 1;
        last += e->shape[i][d] > 1 ? (e->shape[i][d] - 1) * e->strides[i][d] : 0;
    }
    if (last >= POOL / 4)
        return 0;
    bool is_near = !below(4);
    e->at[i] = is_near && i ? e->at[i - 1] + below(12) : i * (POOL / 4) + (below(3) ? 4 * below(16) : below(64));
    e->t[i].data = pool + e->at[i];
    return 1;
}

static int random_example(example *e, int kernel)
{
    int axes = kernels[kernel].axes, gap = below(2) ? below(6) : 0;
    int64_t shape[AXES];
    memset(e, 0, sizeof *e);
    for (int d = 0; d < axes; d++)
        shape[d] = below(12) ? 1 + below(7) : below(2);
    for (int i = 0; i < kernels[kernel].tensors; i++) {
        hdsrt_tensor *t = &e->t[i];
        memcpy(e->shape[i], shape, sizeof shape);
        if (!below(30))
            e->shape[i][below(axes)] += 1;
        random_strides(e, i, axes, gap);
        t->ndim = axes;
        t->shape = e->shape[i];
        t->strides = e->strides[i];
        t->dtype.code = 2;
        t->dtype.bits = 32;
        t->dtype.lanes = 1;
        t->device.device_type = 2;
        bool is_dense = !below(6);
        if (is_dense) {
            random_strides(e, i, axes, 0);
            for (int64_t d = axes - 1, step = 1; d >= 0; step *= e->shape[i][d], d--)
                e->strides[i][d] = step;
            t->strides = NULL;
        }
        if (!bind_memory(e, i, axes))
            return 0;
    }
    return 1;
}

// ---- what came out -------------------------------------------------------------------------------------------------

static void complain(int kernel, const example *e, const char *what)
{
    failures++;
    printf("%s: %s\n", kernels[kernel].name, what);
    for (int i = 0; i < kernels[kernel].tensors; i++) {
        printf("    at %" PRId64 ":", e->at[i]);
        for (int d = 0; d < kernels[kernel].axes; d++)
            printf(" %" PRId64 "*%" PRId64, e->shape[i][d], e->t[i].strides ? e->strides[i][d] : -99);
        printf("\n");
    }
}

static int64_t offset_of(const example *e, int i, int axes, int64_t element)
{
    int64_t at = e->at[i];
    for (int d = axes - 1; d >= 0; element /= e->shape[i][d], d--)
        at += element % e->shape[i][d] * (e->shape[i][d] > 1 ? e->strides[i][d] : 0);
    return at;
}

static int64_t count_of(const example *e, int axes)
{
    int64_t count = 1;
    for (int d = 0; d < axes; d++)
        count *= e->shape[0][d];
    return count;
}

// The output is the sum, and nothing else has changed.
static const char *check_results(int kernel, const example *e)
{
    static float wanted[POOL];
    int axes = kernels[kernel].axes, last = kernels[kernel].tensors - 1;
    memcpy(wanted, before, sizeof wanted);
    for (int64_t i = 0; i < count_of(e, axes); i++) {
        float sum = 0;
        for (int t = 0; t < last; t++)
            sum += before[offset_of(e, t, axes, i)];
        wanted[offset_of(e, last, axes, i)] = sum;
    }
    return memcmp(wanted, pool, sizeof wanted) == 0 ? NULL : "the simulator computes something else";
}

static const char *same_parameters(const fake_cuda_launch *a, const fake_cuda_launch *b)
{
    bool same = a->parameter_count == b->parameter_count && memcmp(a->grid, b->grid, sizeof a->grid) == 0;
    for (int i = 0; same && i < a->parameter_count; i++)
        same = a->sizes[i] == b->sizes[i] &&
               memcmp(a->parameters + a->offsets[i], b->parameters + b->offsets[i], a->sizes[i]) == 0;
    return same ? NULL : "C and libhds pass different values";
}

// What the simulator is not asked: its own memory is aligned.
static bool is_beside_the_simulator(const char *error)
{
    return strstr(error, "not a multiple of") != NULL;
}

// What is taken for granted is found out as the kernel runs.
static bool has_run(const char *error)
{
    return strstr(error, "an assumption does not hold") != NULL;
}

static void try_one(hds_program *program, int kernel)
{
    example e;
    if (!random_example(&e, kernel))
        return;
    const hdsrt_tensor *tensors[MOST] = {&e.t[0], &e.t[1], &e.t[2]};
    hds_argument arguments[MOST];
    const hds_kernel *k = hds_program_kernel(program, kernels[kernel].name);
    fake_cuda_launch by_c = {0}, by_jit = {0};
    char error[600];
    for (int i = 0; i < MOST; i++)
        arguments[i] = hds_tensor(&e.t[i]);
    fake_cuda_forget();
    hdsrt_status c = kernels[kernel].run(tensors);
    int c_launches = fake_cuda_launches();
    fake_cuda_launch_at(0, &by_c);
    snprintf(error, sizeof error, "C: '%s', ", c ? hdsrt_last_error() : "");
    fake_cuda_forget();
    hds_status jit = hds_launch(k, arguments, (size_t)kernels[kernel].tensors, NULL);
    int jit_launches = fake_cuda_launches();
    fake_cuda_launch_at(0, &by_jit);
    snprintf(error + strlen(error), sizeof error - strlen(error), "libhds: '%s'", jit ? hds_last_error() : "");
    if (!c != !jit || c_launches != jit_launches)
        complain(kernel, &e, error);
    const char *problem = c_launches == 1 && jit_launches == 1 ? same_parameters(&by_c, &by_jit) : NULL;
    if (problem)
        complain(kernel, &e, problem);
    for (int i = 0; i < MOST; i++)
        e.t[i].device.device_type = 1;
    for (int i = 0; i < POOL; i++)
        pool[i] = before[i] = (float)below(1000);
    hds_status simulated = hds_simulate(k, arguments, (size_t)kernels[kernel].tensors, NULL);
    snprintf(error + strlen(error), sizeof error - strlen(error), ", simulator: '%s'", simulated ? hds_last_error() : "");
    if (!c != !simulated && !is_beside_the_simulator(error))
        complain(kernel, &e, error);
    bool is_untouched = memcmp(pool, before, sizeof pool) == 0;
    problem = !simulated ? check_results(kernel, &e) : is_untouched || has_run(error) ? NULL : "a refused run has written";
    if (problem)
        complain(kernel, &e, problem), printf("    %s\n", error);
    accepted += !c;
}

// Two launches, whose tensors are where the parts lie.
static void try_host_function(void)
{
    int64_t shape[] = {5, 12}, strides[] = {20, 1}, out_shape[] = {5, 6};
    hdsrt_tensor x = {.data = pool + 3, .device = {2, 0}, .ndim = 2, .shape = shape, .strides = strides};
    x.dtype.code = 2, x.dtype.bits = 32, x.dtype.lanes = 1;
    hdsrt_tensor y = x;
    y.data = pool + 256, y.shape = out_shape, y.strides = NULL;
    fake_cuda_launch first = {0}, second = {0};
    fake_cuda_forget();
    bool ok = hosted_dlpack(&x, &y, NULL) == HDSRT_OK && fake_cuda_launches() == 2 && fake_cuda_launch_at(0, &first) &&
              fake_cuda_launch_at(1, &second);
    const void *right = pool + 3 + 6, *left = pool + 3;
    ok = ok && memcmp(first.parameters + first.offsets[0], &left, 8) == 0 &&
         memcmp(second.parameters + second.offsets[1], &right, 8) == 0;
    y.data = pool + 4;
    ok = ok && hosted_dlpack(&x, &y, NULL) == HDSRT_INVALID_ARGUMENT;
    if (!ok) {
        failures++;
        printf("hosted: the last error is '%s'\n", hdsrt_last_error());
    }
}

static const char *text_of(const char *path)
{
    static char text[8192];
    FILE *f = fopen(path, "r");
    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
    if (f)
        fclose(f);
    return text;
}

int main(int argc, char **argv)
{
    hds_compiler *compiler = NULL;
    hds_program *program = NULL;
    hds_compile_options options = HDS_COMPILE_OPTIONS_INIT;
    options.arch = "sm_90";
    (void)argc;
    hds_status status = hds_compiler_new(NULL, &compiler);
    if (!status)
        status = hds_compile(compiler, &(hds_source){argv[1], text_of(argv[1]), 0}, &options, &program);
    if (status) {
        printf("%s\n", hds_last_error());
        return 1;
    }
    fake_cuda_arch(0, 90);
    for (int round = 0; round < ROUNDS && failures < 5; round++)
        try_one(program, round % KERNELS);
    try_host_function();
    if (accepted < ROUNDS / 10)
        printf("only %d of %d were accepted\n", accepted, (int)ROUNDS);
    hds_program_release(program);
    hds_compiler_release(compiler);
    return failures || accepted < ROUNDS / 10;
}
