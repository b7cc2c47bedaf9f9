// One call of the compiler: an input file, compiled for each architecture, and the output written if all went well.
//
//     pl_job job;
//     pl_job_init(&job, &options, NULL);
//     pl_status status = pl_job_run(&job);
//     … job.diags, job.dump, job.usage …
//     pl_job_free(&job);
//
// Nothing here prints. Several jobs may run at once; [options] must outlive the job.
#pragma once

#include "pipeline/early.h"
#include "pipeline/unit.h"

typedef struct pl_job {
    const pl_options *options;
    arena memory;
    arena_oom oom;       // while the job runs
    arena_oom *caller;   // before and after
    src_map sources;     // every file that some message is about
    diag_context diags;  // of all architectures, in their order, each said once
    pl_unit *units;      // one for each architecture
    int unit_count;
    str input;
    pl_early early;
    str_buf dump;        // what --dump asked for
    str_buf usage;       // the tables of --resource-usage
    pl_times times;      // of what is not a unit's: reading and writing
    double total_us;
} pl_job;

// [oom]: where control goes if memory runs out while the caller works with what the job made; NULL: abort.
void pl_job_init(pl_job *job, const pl_options *options, arena_oom *oom);
pl_status pl_job_run(pl_job *job);
// All tables of --time-report; the events of --time-trace (a whole JSON document).
void pl_job_time_report(pl_job *job, str_buf *out);
void pl_job_time_trace(pl_job *job, str_buf *out);
void pl_job_free(pl_job *job);

// merge.c: adds the messages of [from] that [to] does not have. Files are known by name and text.
void pl_diags_merge(diag_context *to, const diag_context *from);
// output.c: writes what the units made; false after reporting why not.
bool pl_write_output(pl_job *job);
// fatbin.c: all units in one container, in the memory of the job; false after reporting why not.
bool pl_make_fatbin(pl_job *job, str *out);
