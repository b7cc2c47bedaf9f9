// Findings of a run's checks. Kept once per code and pair of locations, with the first coordinates and a count;
// sim_findings_report makes diagnostics of them. Any thread may report.
#pragma once

#include "sim/machine.h"

// One side of a finding: the thread, its action, and the location.
typedef struct sim_actor {
    uint32_t site;
    int64_t block;    // linear; -1: the host
    int thread;       // linear in the block; -1: unknown or the whole warp [warp]
    int warp;         // -1: unknown
} sim_actor;

typedef struct sim_finding {
    diag_code code;
    sim_actor actor;         // the primary location
    sim_actor other;       // the second location; site 0: none
    const char *args[4];   // of the code's text (diag.def), already words; NULL behind the last. Copied.
    const char *under;     // a few words under the caret, or NULL
    const char *other_text; // label of the second location: "thread 3 wrote 1.5 here"
    const char *help;
    const char *notes[4];
} sim_finding;

// [limit]: options.max_findings. sim_findings_free gives back what sim_findings_new took from the system.
struct sim_findings *sim_findings_new(arena *a, int limit);
void sim_findings_free(struct sim_findings *f);

// Copies. [count] is how often it was reported; the words are those of the first (in order of block, then time).
void sim_find(sim *s, const sim_launch *l, const sim_finding *f);
// The same for a lane of a warp, at an operation's site: fills in [actor].
void sim_find_at(sim_warp *w, uint32_t lane, uint32_t site, diag_code code, const char *arg0, const char *arg1,
                 const char *arg2, const char *help);
// "block (1, 0, 0), thread (3, 0, 0)", in the launch's own dimensions: "block 1, thread 3" where they are one.
void sim_actor_print(const sim_launch *l, const sim_actor *actor, str_buf *out);
// "thread 5", with its block "thread 5 of block 0".
void sim_thread_print(const sim_launch *l, const sim_actor *actor, bool with_block, str_buf *out);
// If this was reported before, counts it and returns true: a cheap test before formatting a finding that occurs a
// million times.
bool sim_found_before(sim *s, const sim_launch *l, diag_code code, const sim_actor *actor, uint32_t other_site);
// A value of a type as the language writes it.
void sim_value_print(dtype t, uint64_t bits, str_buf *out);
