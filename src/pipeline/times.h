// Times of compilation: spans on the steady clock, for --time-report and --time-trace.
#pragma once

#include "base/str.h"
#include "base/vec.h"

typedef struct pl_span {
    const char *name;
    int depth;         // 0: a stage; 1: a pass inside the stage before it
    double start_us;   // since pl_clock_start
    double duration_us;
    size_t most_bytes; // the most memory that the arenas of a unit held until its end; 0: not counted
    bool is_sum;       // of what is done at the same time: it has no place in a trace
} pl_span;

typedef struct pl_times {
    arena *arena;
    double origin_us;  // of the steady clock
    const arena_meter *memory; // what the spans count memory of; NULL: none
    VEC(pl_span) spans;
} pl_times;

// Microseconds of the steady clock.
double pl_now_us(void);
void pl_times_init(pl_times *t, arena *a, double origin_us);
// Opens a span; its index goes to pl_span_end.
size_t pl_span_begin(pl_times *t, const char *name, int depth);
void pl_span_end(pl_times *t, size_t index);
void pl_span_add(pl_times *t, const char *name, int depth, double start_us, double duration_us);
// A row of the table alone.
void pl_span_add_sum(pl_times *t, const char *name, int depth, double duration_us);

// Rows of the --time-report table: microseconds, share of [total_us], mebibytes unless they are 0, name indented by [depth]
// more than its own depth.
void pl_times_row(str_buf *out, int depth, const char *name, double us, double total_us, size_t bytes);
void pl_times_rows(const pl_times *t, int depth, double total_us, str_buf *out);
// The spans as events of the Chrome trace format, one thread [tid] named [title]; *[first] says whether a comma is due.
void pl_times_trace(const pl_times *t, const char *title, int tid, bool *first, str_buf *out);
