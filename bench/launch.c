// What a launch costs on the host: generated code against the driver's bare call of the same kernel, interleaved in one
// process. Needs a GPU. Usage: launch_bench [FATBIN]; FATBIN is launch.fatbin beside the program, which the build
// makes.
//
//     kernel  way     min ns  median ns  ratio of minima  of medians
//
// Each number is a batch's time by its launches; after each batch the stream is waited for, so that its queue never
// fills. The goal is that flat functions stay within 5 % of the bare call, by the median.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launch_kernels.h"
#include "runtime/driver.h"

enum { BATCH = 8, BATCHES = 3000, WARM = 200, M = 2, N = 1024, TENSORS = 8 };

typedef struct bench {
    const hdsrt_driver *cuda;
    void *functions[3];
    float *data[TENSORS];
    hdsrt_tensor tensors[TENSORS];
    int64_t lengths[2]; // m, n
    hdsrt_stream stream;
    int failures;
} bench;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// ---- ways of launching
// -------------------------------------------------------------------------------------------------

static void bare(bench *b, int kernel, unsigned grid_x, unsigned grid_y, unsigned block, void **parameters)
{
    b->failures +=
        b->cuda->launch(b->functions[kernel], grid_x, grid_y, 1, block, 1, 1, 0, b->stream, parameters, NULL) != 0;
}

static void bare_small(bench *b)
{
    int value = 7;
    bare(b, 0, 1, 1, 32, (void *[]){&value});
}

static void flat_small(bench *b)
{
    b->failures += small(7, b->stream) != HDSRT_OK;
}

static void bare_three(bench *b)
{
    int n = N;
    bare(b, 1, (N + 127) / 128, 1, 128, (void *[]){&b->data[0], &b->data[1], &b->data[7], &n});
}

static void flat_three(bench *b)
{
    b->failures += three(b->data[0], b->data[1], b->data[7], N, b->stream) != HDSRT_OK;
}

static void dlpack_three(bench *b)
{
    b->failures += three_dlpack(&b->tensors[5], &b->tensors[5], &b->tensors[6], b->stream) != HDSRT_OK;
}

static void bare_eight(bench *b)
{
    int m = M, n = N;
    float **d = b->data;
    bare(b, 2, (N + 127) / 128, M, 128, (void *[]){&d[0], &d[1], &d[2], &d[3], &d[4], &d[5], &d[6], &d[7], &m, &n});
}

static void flat_eight(bench *b)
{
    float **d = b->data;
    b->failures += eight(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], M, N, b->stream) != HDSRT_OK;
}

static void dlpack_eight(bench *b)
{
    hdsrt_tensor *t = b->tensors;
    // f has n elements and g m; t[6] has n as well, and is for three.
    hdsrt_tensor g = t[6];
    g.shape = &b->lengths[0];
    b->failures += eight_dlpack(&t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &g, &t[7], b->stream) != HDSRT_OK;
}

typedef struct way {
    const char *kernel, *name;
    void (*launch)(bench *b);
    double times[BATCHES];
} way;

static way ways[] = {
    {"small", "bare", bare_small, {0}},         {"small", "flat", flat_small, {0}},
    {"3 tensors", "bare", bare_three, {0}},     {"3 tensors", "flat", flat_three, {0}},
    {"3 tensors", "DLPack", dlpack_three, {0}}, {"8 tensors", "bare", bare_eight, {0}},
    {"8 tensors", "flat", flat_eight, {0}},     {"8 tensors", "DLPack", dlpack_eight, {0}},
};
enum { WAYS = sizeof ways / sizeof *ways };

// ---- measuring
// -----------------------------------------------------------------------------------------------------------

static double batch(bench *b, const way *w)
{
    double begin = now_ns();
    for (int i = 0; i < BATCH; i++)
        w->launch(b);
    double each = (now_ns() - begin) / BATCH;
    b->cuda->stream_synchronize(b->stream);
    return each;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(bench *b)
{
    for (int i = -WARM; i < BATCHES; i++) {
        for (int k = 0; k < WAYS; k++) {
            // The order turns, so that none always follows the same one.
            way *w = &ways[(k + i + WARM) % WAYS];
            double each = batch(b, w);
            if (i >= 0)
                w->times[i] = each;
        }
    }
    for (int k = 0; k < WAYS; k++)
        qsort(ways[k].times, BATCHES, sizeof(double), compare);
}

static int report(const bench *b)
{
    const way *base = ways;
    int missed = 0;
    printf("| kernel | way | min ns | median ns | ratio of minima | of medians |\n| --- | --- | ---: | ---: | ---: | "
           "---: |\n");
    for (const way *w = ways; w < ways + WAYS; w++) {
        if (strcmp(w->name, "bare") == 0)
            base = w;
        double least = w->times[0] / base->times[0], middle = w->times[BATCHES / 2] / base->times[BATCHES / 2];
        printf("| %s | %s | %.0f | %.0f | %.3f | %.3f |\n", w->kernel, w->name, w->times[0], w->times[BATCHES / 2],
               least, middle);
        missed += strcmp(w->name, "flat") == 0 && middle > 1.05;
    }
    printf("\n%s; %d launches failed\n",
           missed ? "MISSED: a flat function costs more than 5 %" : "flat functions within 5 %", b->failures);
    return missed || b->failures;
}

// ---- getting ready
// -------------------------------------------------------------------------------------------------------

static void *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    void *bytes = size > 0 ? calloc(1, (size_t)size + 1) : NULL;
    if (bytes && (fseek(f, 0, SEEK_SET) || fread(bytes, 1, (size_t)size, f) != (size_t)size)) {
        free(bytes);
        bytes = NULL;
    }
    if (f)
        fclose(f);
    return bytes;
}

static void beside_program(char path[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[len < 0 ? 0 : len] = 0;
    char *end = strrchr(path, '/');
    if (end && (size_t)(end - path) < PATH_MAX - 20)
        strcpy(end + 1, "launch.fatbin");
}

static int load_bare(bench *b, const char *path)
{
    static const char *const names[] = {"small", "three", "eight"};
    void *library, *kernel, *image = read_file(path);
    if (!image) {
        fprintf(stderr, "launch_bench: cannot read '%s'\n", path);
        return 1;
    }
    int result = b->cuda->library_load(&library, image, NULL, NULL, 0, NULL, NULL, 0);
    for (int i = 0; !result && i < 3; i++) {
        result = b->cuda->library_kernel(&kernel, library, names[i]);
        if (!result)
            result = b->cuda->kernel_function(&b->functions[i], kernel);
    }
    free(image);
    return hdsrt_driver_fail(result, "loading '%s'", path) != HDSRT_OK;
}

static int make_tensors(bench *b)
{
    static int64_t matrix[] = {M, N};
    b->lengths[0] = M;
    b->lengths[1] = N;
    for (int i = 0; i < TENSORS; i++) {
        void *address;
        if (hdsrt_allocate(&address, M * N * 4, b->stream))
            return 1;
        b->data[i] = address;
        hdsrt_tensor *t = &b->tensors[i];
        bool is_vector = i == 5 || i == 6;
        *t = (hdsrt_tensor){.data = address, .ndim = is_vector ? 1 : 2, .shape = is_vector ? &b->lengths[1] : matrix};
        t->device.device_type = 2;
        t->dtype.code = 2;
        t->dtype.bits = 32;
        t->dtype.lanes = 1;
    }
    return hdsrt_synchronize(b->stream) != HDSRT_OK;
}

// A step that happens once, and its time.
static void once(bench *b, const char *what, void (*step)(bench *b))
{
    double begin = now_ns();
    step(b);
    printf("%-60s %8.1f us\n", what, (now_ns() - begin) / 1e3);
}

static void use_device(bench *b)
{
    b->failures += hdsrt_use_device(0) != HDSRT_OK || hdsrt_driver_open(&b->cuda) != HDSRT_OK;
}

int main(int argc, char **argv)
{
    static bench b;
    char path[PATH_MAX];
    beside_program(path);
    once(&b, "opening the driver, a context", use_device);
    if (b.failures || make_tensors(&b)) {
        fprintf(stderr, "launch_bench: %s\n", hdsrt_last_error());
        return 2;
    }
    once(&b, "the first launch: loading the library, one kernel", flat_small);
    once(&b, "the first launch of a second kernel of the library", flat_three);
    once(&b, "the second launch", flat_three);
    if (b.failures || load_bare(&b, argc > 1 ? argv[1] : path)) {
        fprintf(stderr, "launch_bench: %s\n", hdsrt_last_error());
        return 2;
    }
    printf("\n");
    measure(&b);
    return report(&b);
}
