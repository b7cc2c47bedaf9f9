// libhds on a GPU: kernels compiled while running give right results, and what it costs.
//
//     cc -O2 -Iinclude tests/gpu/api_launch.c BUILD/src/api/libhds.a BUILD/src/runtime/libhdsrt.a -lm -ldl -lpthread -o
//     api_launch
//     ./api_launch        # in the top folder, for ops/
//
// Prints a line for each check and time; exit code 1 if a result is wrong or a time beyond its limit. The program runs
// itself a second time, for the times of a process that finds the kernels in the cache on disk.
#include <hds/hds.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 1 << 20, LAUNCHES = 2000, ROUNDS = 200 };

static const char source[] =
    "from hidet.lang import attrs, ceil_div, f16, f32\n"
    "from hidet.lang.cuda import blockDim, blockIdx, threadIdx\n"
    "\n"
    "@hidet.script\n"
    "def axpy[n: int](s: f32, x: f32[n], y: f32[n]):\n"
    "    attrs.cuda.grid_dim = ceil_div(n, 256)\n"
    "    attrs.cuda.block_dim = 256\n"
    "    i = blockIdx.x * blockDim.x + threadIdx.x\n"
    "    if i < n:\n"
    "        y[i] = s * x[i] + y[i]\n"
    "\n"
    "@hidet.script\n"
    "def scale[m: int, n: int](s: f16, x: f16[m, n], y: f32[n, m]):\n"
    "    attrs.cuda.grid_dim = ceil_div(n, 32), m\n"
    "    attrs.cuda.block_dim = 32\n"
    "    j = blockIdx.x * blockDim.x + threadIdx.x\n"
    "    if j < n:\n"
    "        y[j, blockIdx.y] = f32(s) * f32(x[blockIdx.y, j])\n";

// An operator of the library's, from its definition: run from the top folder.
static const char fused[] =
    "from hidet.lang import f32, operator\n"
    "from arithmetic import add\n"
    "from softmax import softmax\n"
    "\n"
    "@operator\n"
    "def softmax_add[T: (f32,), *S, N: int](x: T[*S, N], r: T[*S, N]) -> T[*S, N]:\n"
    "    return softmax(add(x, r))\n"
    "\n"
    "@hidet.script\n"
    "def long_rows[m: int, n: int](x: f32[m, n], y: f32[m, n]):\n"
    "    softmax.launch(x, into=y)\n";

static int failures;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void report(const char *what, int ok)
{
    printf("%-64s %s\n", what, ok ? "ok" : "FAILED");
    failures += !ok;
}

// [limit] 0: for information only.
static void report_time(const char *what, double us, double limit)
{
    printf("%-64s %10.1f us%s\n", what, us, limit > 0 && us > limit ? " TOO SLOW" : "");
    failures += limit > 0 && us > limit;
}

static void need(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s; %s\n", what, hds_last_error(), hdsrt_last_error());
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// ---- results ---------------------------------------------------------------------------------------------------

static hdsrt_managed_tensor *make(hdsrt_dtype type, int ndim, const int64_t *shape)
{
    hdsrt_managed_tensor *t = NULL;
    need(hdsrt_tensor_new(&t, type, ndim, shape, NULL) == HDSRT_OK, "hdsrt_tensor_new");
    return t;
}

static void check_axpy(const hds_kernel *k)
{
    static float host[COUNT];
    const int64_t shape[] = {COUNT};
    const hdsrt_dtype f32 = {2, 32};
    hdsrt_managed_tensor *x = make(f32, 1, shape), *y = make(f32, 1, shape);
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 1000);
    hdsrt_copy(x->dl_tensor.data, host, sizeof host, NULL);
    hdsrt_copy(y->dl_tensor.data, host, sizeof host, NULL);
    const hds_argument by_tensor[] = {hds_float(2), hds_tensor(&x->dl_tensor), hds_tensor(&y->dl_tensor)};
    const hds_argument by_pointer[] = {hds_int(3), hds_pointer(x->dl_tensor.data), hds_pointer(y->dl_tensor.data),
                                       hds_int(COUNT)};
    need(hds_launch(k, by_tensor, 3, NULL) == HDS_OK && hds_launch(k, by_pointer, 4, NULL) == HDS_OK, "hds_launch");
    hdsrt_copy(host, y->dl_tensor.data, sizeof host, NULL);
    hdsrt_synchronize(NULL);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != (float)(6 * (i % 1000));
    report("axpy by tensors, then by pointers", wrong == 0);
    x->deleter(x);
    y->deleter(y);
}

static void check_scale(const hds_kernel *k)
{
    enum { M = 70, N = 90 };
    static unsigned short in[M * N];
    static float out[M * N];
    const int64_t there[] = {M, N}, back[] = {N, M};
    hdsrt_managed_tensor *x = make((hdsrt_dtype){2, 16}, 2, there), *y = make((hdsrt_dtype){2, 32}, 2, back);
    for (int i = 0; i < M * N; i++)
        in[i] = (unsigned short)(0x3c00 + (i & 1023));  // 1 + i / 1024
    hdsrt_copy(x->dl_tensor.data, in, sizeof in, NULL);
    const hds_argument a[] = {hds_float(0.5), hds_tensor(&x->dl_tensor), hds_tensor(&y->dl_tensor)};
    need(hds_launch(k, a, 3, NULL) == HDS_OK, "hds_launch");
    hdsrt_copy(out, y->dl_tensor.data, sizeof out, NULL);
    hdsrt_synchronize(NULL);
    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            wrong += out[j * M + i] != 0.5f * (1 + (float)((i * N + j) & 1023) / 1024);
    report("scale: f16 scalar and tensor, f32 result, transposed", wrong == 0);
    y->dl_tensor.shape[0] = N - 1;
    report("a wrong extent is refused",
           hds_launch(k, a, 3, NULL) == HDS_INVALID_ARGUMENT && strstr(hds_last_error(), "'y'"));
    x->deleter(x);
    y->deleter(y);
}

// ---- host functions and operators --------------------------------------------------------------------------------

static int differs(const float *x, const float *r, const float *out, int rows, int columns)
{
    int wrong = 0;
    for (int i = 0; i < rows; i++) {
        double top = -1e30, sum = 0;
        for (int j = 0; j < columns; j++) {
            double v = (double)x[i * columns + j] + (r ? (double)r[i * columns + j] : 0);
            top = v > top ? v : top;
        }
        for (int j = 0; j < columns; j++)
            sum += exp((double)x[i * columns + j] + (r ? (double)r[i * columns + j] : 0) - top);
        for (int j = 0; j < columns; j++) {
            double e = exp((double)x[i * columns + j] + (r ? (double)r[i * columns + j] : 0) - top) / sum;
            wrong += fabs((double)out[i * columns + j] - e) > 1e-6;
        }
    }
    return wrong;
}

// Short rows by the operator, and long ones by a host function with temporaries and several kernels.
static void check_plan(const hds_kernel *f, int rows, int columns, int has_two)
{
    size_t count = (size_t)rows * (size_t)columns;
    const int64_t shape[] = {rows, columns};
    const hdsrt_dtype f32 = {2, 32};
    float *x = malloc(count * sizeof *x), *out = malloc(count * sizeof *out);
    hdsrt_managed_tensor *tx = make(f32, 2, shape), *tr = make(f32, 2, shape), *to = make(f32, 2, shape);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(i * 37 % 101) / 25;
    hdsrt_copy(tx->dl_tensor.data, x, (int64_t)(count * sizeof *x), NULL);
    hdsrt_copy(tr->dl_tensor.data, x, (int64_t)(count * sizeof *x), NULL);
    const hds_argument two[] = {hds_tensor(&tx->dl_tensor), hds_tensor(&tr->dl_tensor), hds_tensor(&to->dl_tensor)};
    const hds_argument one[] = {hds_tensor(&tx->dl_tensor), hds_tensor(&to->dl_tensor)};
    need(hds_launch(f, has_two ? two : one, has_two ? 3 : 2, NULL) == HDS_OK, "hds_launch");
    hdsrt_copy(out, to->dl_tensor.data, (int64_t)(count * sizeof *out), NULL);
    hdsrt_synchronize(NULL);
    report(has_two ? "softmax(add(x, r)) from a string" : "softmax of long rows, with temporaries",
           differs(x, has_two ? x : NULL, out, rows, columns) == 0);
    tx->deleter(tx);
    tr->deleter(tr);
    to->deleter(to);
    free(x);
    free(out);
}

static void check_plans(void)
{
    static const char *const folders[] = {"ops"};
    hds_compiler_options uncached = HDS_COMPILER_OPTIONS_INIT;
    hds_compile_options options = HDS_COMPILE_OPTIONS_INIT;
    hds_compiler *compiler = NULL;
    hds_program *p = NULL;
    uncached.cache_dir = "";
    need(hds_compiler_new(&uncached, &compiler) == HDS_OK, "hds_compiler_new");
    options.include_dirs = folders;
    options.include_dir_count = 1;
    need(hds_compile(compiler, &(hds_source){"fused.hds", fused, 0}, &options, &p) == HDS_OK, "hds_compile");
    check_plan(hds_program_function(p, "softmax_add"), 64, 200, 1);
    check_plan(hds_program_function(p, "long_rows"), 3, 40001, 0);
    hds_program_release(p);
    hds_compiler_release(compiler);
}

// ---- times -----------------------------------------------------------------------------------------------------

static double median_launch(const hds_kernel *k, const hds_argument *a, size_t count)
{
    static double us[LAUNCHES];
    for (int i = 0; i < LAUNCHES; i++) {
        double begin = now_us();
        need(hds_launch(k, a, count, NULL) == HDS_OK, "hds_launch");
        us[i] = now_us() - begin;
        if (i % 64 == 63)
            hdsrt_synchronize(NULL);
    }
    hdsrt_synchronize(NULL);
    qsort(us, LAUNCHES, sizeof *us, by_value);
    return us[LAUNCHES / 2];
}

static void time_launches(const hds_kernel *k)
{
    const int64_t shape[] = {256};
    hdsrt_managed_tensor *x = make((hdsrt_dtype){2, 32}, 1, shape), *y = make((hdsrt_dtype){2, 32}, 1, shape);
    const hds_argument by_tensor[] = {hds_float(2), hds_tensor(&x->dl_tensor), hds_tensor(&y->dl_tensor)};
    const hds_argument by_pointer[] = {hds_float(2), hds_pointer(x->dl_tensor.data), hds_pointer(y->dl_tensor.data),
                                       hds_int(256)};
    report_time("hds_launch by pointers, median", median_launch(k, by_pointer, 4), 0);
    report_time("hds_launch by tensors, median", median_launch(k, by_tensor, 3), 0);
    x->deleter(x);
    y->deleter(y);
}

static void time_memory(hds_compiler *c, const hds_source *s)
{
    static double us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        hds_program *p = NULL;
        double begin = now_us();
        need(hds_compile(c, s, NULL, &p) == HDS_OK, "hds_compile");
        us[i] = now_us() - begin;
        hds_program_release(p);
    }
    qsort(us, ROUNDS, sizeof *us, by_value);
    report_time("hds_compile of what is in memory, median", us[ROUNDS / 2], 50);
}

// Compiler, program and the first launch, in a process that has a context.
static void time_first(const char *cache, int is_second)
{
    const hds_source s = {"axpy.hds", source, 0};
    hds_compiler_options o = HDS_COMPILER_OPTIONS_INIT;
    hds_compiler *c = NULL;
    hds_program *p = NULL;
    void *memory = NULL;
    o.cache_dir = cache;
    need(hdsrt_use_device(0) == HDSRT_OK && hdsrt_allocate(&memory, 1 << 20, NULL) == HDSRT_OK, "no GPU");
    need(hdsrt_synchronize(NULL) == HDSRT_OK, "hdsrt_synchronize");
    const hds_argument a[] = {hds_float(2), hds_pointer(memory), hds_pointer((char *)memory + 4096), hds_int(256)};
    double begin = now_us();
    need(hds_compiler_new(&o, &c) == HDS_OK, "hds_compiler_new");
    hds_status status = hds_compile(c, &s, NULL, &p);
    for (size_t i = 0; i < hds_program_diagnostic_count(p); i++)
        fputs(hds_program_diagnostic(p, i)->rendered, stderr);
    double compiled = now_us();
    need(status == HDS_OK, "hds_compile");
    need(hds_launch(hds_program_kernel(p, "axpy"), a, 4, NULL) == HDS_OK, "hds_launch");
    double launched = now_us();
    need(hdsrt_synchronize(NULL) == HDSRT_OK, "hdsrt_synchronize");
    report(is_second ? "the program comes from the disk" : "the program is compiled",
           hds_program_origin(p) == (is_second ? HDS_FROM_DISK : HDS_COMPILED));
    report_time(is_second ? "from disk: hds_compiler_new, hds_compile" : "fresh: hds_compiler_new, hds_compile",
                compiled - begin, 0);
    report_time(is_second ? "from disk: the first launch" : "fresh: the first launch", launched - compiled, 0);
    report_time(is_second ? "from disk: together" : "fresh: together", launched - begin, is_second ? 2000 : 0);
    if (!is_second) {
        check_axpy(hds_program_kernel(p, "axpy"));
        check_scale(hds_program_kernel(p, "scale"));
        time_launches(hds_program_kernel(p, "axpy"));
        time_memory(c, &s);
    }
    hdsrt_release(memory, NULL);
    hds_program_release(p);
    hds_compiler_release(c);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/hds-api-XXXXXX", command[4096];
    unsetenv("HDS_CACHE");
    if (argc > 1) {
        time_first(argv[1], 1);
        return failures != 0;
    }
    need(mkdtemp(folder) != NULL, "mkdtemp");
    time_first(folder, 0);
    check_plans();
    // A few, since the files are cold in the first.
    fflush(stdout);
    snprintf(command, sizeof command, "'%s' %s; '%s' %s; '%s' %s", argv[0], folder, argv[0], folder, argv[0], folder);
    int failed = system(command);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed || failures != 0;
}
