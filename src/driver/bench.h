// `hdsc bench`: its command line, and the rows of its result.
#pragma once

#include "driver/run.h"
#include "measure/measure.h"

typedef struct bench_request {
    run_request run;      // first: the file, and NAME=SPEC
    ms_options measure;
    const char *json;     // of --json; NULL: none
    bool compares;        // the inputs are two results
    double fail_below;    // 0: not given
    ms_session *session;
} bench_request;

typedef struct bench_state {
    run_state run;        // first
    bench_request *request;
    dev_cuda *gpu;        // that the launches of a host function are compiled for; NULL: a kernel is measured
    bool is_done;         // every row was measured
} bench_state;

// ---- bench_input.c ----------------------------------------------------------------------------------------------------

// A word with the values it takes, row by row: "n=1024,2048".
typedef struct bench_axis {
    const run_word *word;
    VEC(const char *) values;
} bench_axis;

typedef struct bench_plan {
    VEC(bench_axis) axes;  // in order of the words
    int row_count;         // every value of each with every one of the others; the last changes fastest
} bench_plan;

// Binds the words to the entry's parameters. False after reporting.
bool cmd_bench_plan(bench_state *b, bench_plan *plan);
// Binds and fills the arguments of a row; tensors without a word get one that suits their type. False after reporting.
bool cmd_bench_row(bench_state *b, const bench_plan *plan, int row, ms_size **sizes, int *size_count, ms_argument **arguments);
// The type whose peak rate the kernel is held against: the narrowest that it reads and computes with.
dtype cmd_bench_peak_type(bench_state *b);

// ---- bench_host.c -----------------------------------------------------------------------------------------------------

// Makes ready for rows of a host function. False after reporting.
bool cmd_bench_host_open(bench_state *b);
// Measures one. False after reporting, or where it was stopped.
bool cmd_bench_host_row(bench_state *b, const ms_size *sizes, int size_count, const ms_argument *arguments);
