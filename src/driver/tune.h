// `hdsc tune`: its command line, and the state that its parts share.
#pragma once

#include <sys/types.h>

#include "driver/run.h"
#include "tune/tune.h"

typedef struct tune_request {
    cmd_arguments shared;      // first: inputs[0] is FILE::SPACE
    VEC(tune_words) groups;    // of the command line, in order
    tune_words own;            // of the last group, what it does not have from the one before
    const char *shapes;        // file of --shapes; NULL: none
    const char *check;         // file of --check; NULL: none
    int space, candidates;     // of --space; that space 1 measures
    bool again, are_shapes_read, on_simulator; // on_simulator: --device=sim
    double deadline;           // seconds after which a model's rounds end; 0: none
    int64_t sm_count;          // of the GPU that is asked about
    uint64_t seed;
    ms_options measure;
    ms_session *session;       // NULL: no GPU is open
    // Messages that are not of the file's compilation.
    src_map sources;
    diag_context diags;
    tune library;
    bool is_usage_error, is_interrupted;
} tune_request;

// Ctrl-C: checked between samples.
bool cmd_tune_is_stopped(void *user);
void cmd_tune_catch_interrupt(void);

// ---- tune_compile.c ---------------------------------------------------------------------------------------------------

// What processes of their own compile into the cache.
typedef struct tune_jobs {
    const char *const *names;               // for messages
    int count;
    void (*compile)(void *user, int index); // in such a process; prints nothing
    void *user;
} tune_jobs;

// These processes, while this one measures.
typedef struct tune_pool {
    pid_t pid;         // of the one that has the workers; 0: none
    int line;          // an index comes for each that is done
    bool *is_ready;    // of each
    int count, done;
} tune_pool;

// Starts all of them, in that order.
void cmd_tune_pool_start(tune_request *q, tune_pool *p, const tune_jobs *jobs);
// Likewise: what the file has under these names, as --entry takes them.
void cmd_tune_pool_start_entries(tune_request *q, tune_pool *p, const char *const *entries, int count);
// Takes what is done, waiting at most so long for some.
void cmd_tune_pool_poll(tune_pool *p, int milliseconds);
void cmd_tune_pool_stop(tune_pool *p);

// ---- tune_journal.c ---------------------------------------------------------------------------------------------------

// What a candidate took in a model.
typedef struct tune_time {
    const char *space, *sizes, *candidate; // sizes: "1,1024"
    int64_t sm_count, launches;            // launches: of the model, that choose it
    double seconds;                        // of all these
} tune_time;

typedef VEC(tune_time) tune_times;

// What is measured on, for people: a GPU's name, or the simulator.
const char *cmd_tune_machine(const tune_request *q);
// Times of the same model, on the same GPU and by the same hdsc; none where there is no such file, or after saying why it is
// passed over.
void cmd_tune_journal_read(tune_request *q, const char *path, tune_times *out);
// Replaces the file. False after reporting HDS0494.
bool cmd_tune_journal_write(tune_request *q, const char *path, const tune_times *times);

// ---- tune_model.c -----------------------------------------------------------------------------------------------------

// Whether the file has graph functions, and no space of it is named.
bool cmd_tune_has_model(const tune_request *q);
// Tunes the choices of a model; the GPU is open, but with --space=0. An exit code.
int cmd_tune_model(tune_request *q);

// ---- tune_run.c -------------------------------------------------------------------------------------------------------

// Measures the keys that the table does not have, shows what comes out, and puts it into the table; of space 0 shows what the
// model says. PL_ERRORS after reporting.
pl_status cmd_tune_run(tune_request *q, const tune_space *space, tune_keys *keys, tune_table *table);
