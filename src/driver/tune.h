// `hdsc tune`: its command line, and the state that its parts share.
#pragma once

#include <sys/types.h>

#include "driver/run.h"
#include "measure/measure.h"
#include "pipeline/unit.h"

// A set of words that belong together: "M=4096 N=4096,8192".
typedef VEC(run_word) tune_words;

// The description of a SearchSpace.
typedef struct tune_space {
    const char *file, *expression;  // of FILE::SPACE
    const char *name;               // that it gives itself
    const char *const *sizes;
    int size_count;
    const char *const *labels;      // of its candidates
    int count;
} tune_space;

// Its description of a candidate for some sizes.
typedef struct tune_estimate {
    bool is_valid;
    double cost;         // µs, as the model has it
    tune_words values;   // of scalars
} tune_estimate;

// Sizes to choose a candidate for.
typedef struct tune_key {
    const char *text;          // "M=4096 N=4096"
    int64_t *sizes;            // in the order of the space's
    const tune_words *words;   // that its kernels get besides
    tune_estimate *estimates;  // of each candidate
    int *chosen;               // candidates to measure, the cheapest first
    int chosen_count;
} tune_key;

typedef VEC(tune_key) tune_keys;

typedef struct tune_request {
    cmd_arguments shared;      // first: inputs[0] is FILE::SPACE
    VEC(tune_words) groups;    // of the command line, in order
    tune_words own;            // of the last group, what it does not have from the one before
    const char *shapes;        // file of --shapes; NULL: none
    const char *check;         // file of --check; NULL: none
    int space, candidates;     // of --space; that space 1 measures
    bool again;
    int64_t sm_count;          // of the GPU that is asked about
    uint64_t seed;
    ms_options measure;
    ms_session *session;       // NULL: no GPU is open
    // Messages that are not of the file's compilation.
    src_map sources;
    diag_context diags;
    VEC(pl_unit *) units;      // that were queried: their messages and results live as long
    bool is_usage_error, is_interrupted;
} tune_request;

// Ctrl-C: checked between samples.
bool cmd_tune_is_stopped(void *user);

// ---- tune_space.c -----------------------------------------------------------------------------------------------------

// Splits FILE::SPACE and queries its description. PL_OK, or what the exit code follows from; its messages are among the
// request's.
pl_status cmd_tune_describe(tune_request *q, tune_space *out);
// The keys that the words make. False after reporting.
bool cmd_tune_keys(tune_request *q, const tune_space *space, tune_keys *out);
// Fills in the estimates of each, on a GPU with sm_count[i] SMs for the i-th.
pl_status cmd_tune_survey(tune_request *q, const tune_space *space, tune_key *keys, size_t count, const int64_t *sm_count);
// Fills in which are measured, or of space 0 shown: those that are valid, the cheapest first.
void cmd_tune_choose(tune_request *q, const tune_space *space, tune_key *key);
// "M=4096 N=8192"
const char *cmd_tune_text(arena *a, const tune_space *space, const int64_t *sizes);
// The --entry of a candidate.
const char *cmd_tune_entry(arena *a, const tune_space *space, int candidate);

// ---- tune_table.c -----------------------------------------------------------------------------------------------------

// A row of the file: ("matmul", 132, (4096, 4096, 4096), "128x256"),
typedef struct tune_row {
    const char *space, *label;
    int64_t sm_count;
    int64_t *sizes;
    int size_count;
    str comments;   // whole lines before it
    src_span span;
} tune_row;

typedef struct tune_table {
    const char *path;
    str head, tail;       // of the file, around the rows
    VEC(tune_row) rows;
} tune_table;

// Reads it; a file that is not there is an empty table. False after reporting HDS0824 or HDS0490.
bool cmd_tune_read(tune_request *q, const char *path, bool must_exist, tune_table *out);
tune_row *cmd_tune_find(tune_table *t, const char *space, int64_t sm_count, const int64_t *sizes, int size_count);
// Inserts a row in order, replacing one with the same key.
void cmd_tune_put(arena *a, tune_table *t, const tune_row *row);
// False after reporting.
bool cmd_tune_write(tune_request *q, const tune_table *t);
// Of --check: whether what the table has of the space is still there and valid. Prints how many rows there are.
pl_status cmd_tune_check(tune_request *q, const tune_space *space);

// ---- tune_compile.c ---------------------------------------------------------------------------------------------------

// Processes that compile candidates into the cache, while others are measured.
typedef struct tune_pool {
    pid_t pid;         // of the one that has the workers; 0: none
    int line;          // an index comes for each that is done
    bool *is_ready;    // of each
    int count, done;
} tune_pool;

// Starts compiling entries[i], for all i in that order.
void cmd_tune_pool_start(tune_request *q, tune_pool *p, const char *const *entries, int count);
// Takes what is done, waiting at most so long for some.
void cmd_tune_pool_poll(tune_pool *p, int milliseconds);
void cmd_tune_pool_stop(tune_pool *p);

// ---- tune_measure.c ---------------------------------------------------------------------------------------------------

// Sets arguments, count and perhaps failure of each rival, for these sizes. [rivals] are key->chosen, in that order.
void cmd_tune_bind(tune_request *q, arena *a, const tune_space *space, const tune_key *key, ms_rival *rivals);
// Whether each word is for some kernel, where one of them was compiled. False after reporting.
bool cmd_tune_check_words(tune_request *q, const tune_space *space, const tune_key *key, const ms_rival *rivals);
// NULL, or how they differ: for ms_judging.
const char *cmd_tune_differs(void *user, const char *name, dtype type, const void *first, const void *now, int64_t bytes);

// ---- tune_run.c -------------------------------------------------------------------------------------------------------

// Measures the keys that the table does not have, shows what comes out, and puts it into the table; of space 0 shows what the
// model says. PL_ERRORS after reporting.
pl_status cmd_tune_run(tune_request *q, const tune_space *space, tune_keys *keys, tune_table *table);
