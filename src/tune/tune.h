// Which candidate of a SearchSpace (stdlib/schedules/search_space.hds) is the fastest for which sizes: what its model of costs
// says, what measurements say, and the tables that keep them. `hdsc tune` is a client (docs/tune.md).
//
//     tune t;
//     tune_init(&t, arena, &sources, &diags, &options, "SPACE");
//     if (tune_describe(&t, &space) == PL_OK && tune_add_keys(&t, &space, &words, &keys) &&
//         tune_survey(&t, &space, keys.at, keys.len, sm_count) == PL_OK) {
//         tune_rank(&t, &space, &keys.at[0], 6);
//         … ms_rival_load for each of keys.at[0].chosen …
//         tune_measure(&t, arena, &space, &keys.at[0], rivals, &watch, &best);
//     }
//     tune_free(&t);
//
// Nothing here prints; errors are reported to the diagnostics. One thread at a time.
#pragma once

#include "measure/measure.h"
#include "pipeline/unit.h"

typedef struct tune {
    arena *arena;               // of all that results
    src_map *sources;
    diag_context *diags;
    const pl_options *options;  // how the file of the space is compiled: options->input
    const char *expression;     // of the space in it: "SPACE"
    VEC(pl_unit *) units;       // that were asked: their messages and results live until tune_free
} tune;

void tune_init(tune *t, arena *a, src_map *sources, diag_context *diags, const pl_options *options, const char *expression);
void tune_free(tune *t);

// ---- space.c: what the space says of itself ---------------------------------------------------------------------------

typedef struct tune_space {
    const char *name;
    const char *const *sizes;   // names
    int size_count;
    const char *const *labels;  // of its candidates
    int count;
} tune_space;

// "M=4096,8192"
typedef struct tune_word {
    const char *text, *name, *value;
} tune_word;

typedef VEC(tune_word) tune_words;

// What the model says of a candidate for some sizes.
typedef struct tune_estimate {
    bool is_valid;
    double cost;         // µs
    tune_words values;   // of the kernel's other scalars
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

// PL_OK, or why not, after reporting; PL_NO_MEMORY is not reported.
pl_status tune_describe(tune *t, tune_space *out);
// Adds the keys of a set of words: all combinations of the values of sizes. Words that are no sizes are for the kernels. False
// after reporting HDS0826.
bool tune_add_keys(tune *t, const tune_space *space, const tune_words *words, tune_keys *out);
// Fills in the estimates of each key, on a GPU with sm_count[i] SMs for the i-th. As tune_describe.
pl_status tune_survey(tune *t, const tune_space *space, tune_key *keys, size_t count, const int64_t *sm_count);
// Fills in key->chosen: the valid ones, the cheapest first, of equal ones the first, as at run time. At most [most]; 0: all.
void tune_rank(tune *t, const tune_space *space, tune_key *key, int most);
// "M=4096 N=8192", in [a]
const char *tune_size_text(arena *a, const tune_space *space, const int64_t *sizes);
// What is compiled for a candidate, as --entry takes it; in the tune's arena.
const char *tune_entry(tune *t, const tune_space *space, int candidate);

// ---- table.c: measured choices -------------------------------------------------------------------------------------------

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

// Reads it; a file that is not there is an empty table unless it [must_exist]. False after reporting HDS0490, HDS0824 or
// HDS0827.
bool tune_table_read(tune *t, const char *path, bool must_exist, tune_table *out);
tune_row *tune_table_find(const tune_table *table, const char *space, int64_t sm_count, const int64_t *sizes, int size_count);
// Inserts a row in order, replacing one with the same key.
void tune_table_put(tune *t, tune_table *table, const tune_row *row);
// Replaces the file. False after reporting HDS0494.
bool tune_table_write(tune *t, const tune_table *table);
// Whether what the table has of the space is still there and valid: reports HDS0825 and HDS0827. *[own]: its rows.
pl_status tune_table_check(tune *t, const tune_space *space, const tune_table *table, int *own);

// NULL, or how they differ: for ms_judging, with an arena as [user].
const char *tune_differs(void *user, const char *name, dtype type, const void *first, const void *now, int64_t bytes);

// ---- search.c: measuring the chosen candidates of a key --------------------------------------------------------------------

typedef struct tune_watch {
    ms_session *session;
    uint64_t seed;                                        // of the contents of tensors
    uint64_t order;                                       // of the order of measuring
    void (*progress)(void *user, int rounds, int most);   // between rounds; NULL: no progress reports
    void *user;
} tune_watch;

// Measures key->chosen: [rivals] are those, in that order, and loaded. *[best] is the fastest of those that are right, or -1
// after reporting HDS0821; failures of others are warnings. Memory of the measurement in [a]. False where nothing can be
// measured any more, or where it was stopped.
bool tune_measure(tune *t, arena *a, const tune_space *space, const tune_key *key, ms_rival *rivals, const tune_watch *watch,
                  int *best);
