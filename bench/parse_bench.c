// Lines per second of lexer and parser on a generated file of typical code: parse_bench [LINES]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "frontend/parse.h"

// One kernel's worth of lines, mixed as in stdlib/ and ops/: a quarter of them comments, documentation or blank.
static const char sample[] =
    "@hidet.script\n"
    "def tiled_matmul_%d[M: int, N: int, K: int](a: f32[M, K], b: f32[K, N], c: f32[M, N]):\n"
    "    \"\"\"c = a * b, one block per tile.\n"
    "\n"
    "    Each thread of a warp visits 2 x 2 positions, where the 4 x 8 lanes sit, each with a 4 x 4 patch; reads that\n"
    "    stick out over an edge are masked.\n"
    "    \"\"\"\n"
    "    attrs.cuda.grid_dim = ceil_div(N, BN), ceil_div(M, BM)\n"
    "    attrs.cuda.block_dim = owners.workers\n"
    "\n"
    "    acc = register_tensor(f32, owners, init=0.0)\n"
    "    worker = threadIdx.x  # one of 256\n"
    "    stage = 0\n"
    "\n"
    "    for k0 in range(0, K, BK):\n"
    "        for i, k in auto_map(BM, BK, workers=owners.workers).on(worker):\n"
    "            a_tile[i, k] = a.read([top + i, k0 + k], protected=True)\n"
    "        syncthreads()\n"
    "        # the last round may stick out\n"
    "        if worker < 32 and not done_%d or k0 + BK >= K:\n"
    "            acc[i, j] += a_tile[i, k] * b_tile[k, j]\n"
    "        else:\n"
    "            total = sum(exp(f32(x[i, j]) - peak[i]) for j in range(N))\n"
    "        stage = 1 - stage\n"
    "\n"
    "    return f\"{worker}: {total!r}\", a[m : m + BM, k0 : k0 + BK]\n"
    "\n"
    "\n";
enum { SAMPLE_LINES = 28 };

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Seconds for one parse, the error count in *[errors].
static double parse_once(str text, int *errors)
{
    arena a;
    src_map sources;
    diag_context diags;
    sym_table syms;
    arena_init(&a, NULL);
    src_map_init(&sources, &a);
    diag_init(&diags, &a, &sources);
    sym_init(&syms, &a);
    parse_context px = {&a, &syms, &diags};
    src_file *file = src_add(&sources, "bench.hds", text);
    double begin = now_seconds();
    parse_module(&px, file);
    double seconds = now_seconds() - begin;
    *errors = diags.error_count;
    arena_free(&a);
    return seconds;
}

int main(int argc, char **argv)
{
    long lines = argc > 1 ? atol(argv[1]) : 200000;
    arena a;
    str_buf text;
    arena_init(&a, NULL);
    str_buf_init(&text, &a);
    for (long i = 0; i * SAMPLE_LINES < lines; i++)
        str_addf(&text, sample, (int)i, (int)(i % 100));
    lines = (lines + SAMPLE_LINES - 1) / SAMPLE_LINES * SAMPLE_LINES;
    double best = 1e9;
    int errors = 0;
    for (int i = 0; i < 10; i++) {
        double seconds = parse_once((str){text.at, text.len}, &errors);
        best = seconds < best ? seconds : best;
    }
    printf("%ld lines, %zu bytes: %.1f ms, %.0f lines/s, %.1f MB/s\n", lines, text.len, best * 1e3,
           (double)lines / best, (double)text.len / best * 1e-6);
    arena_free(&a);
    return errors != 0;
}
