// One input file, compiled for each architecture, and what came of it. Writing that is for the caller (pipeline/files.h).
//
//     pl_job job;
//     pl_job_init(&job, &options, NULL);
//     pl_status status = pl_job_run(&job);
//     … job.diags, job.dump, job.usage, job.product …
//     pl_job_free(&job);
//
// Nothing here prints. Several jobs may run at once; [options] must outlive the job.
#pragma once

#include "pipeline/nvrtc_preload.h"
#include "pipeline/unit.h"
#include "toolchain/cc.h"

// The outputs, in the job's memory. All empty unless the status is PL_OK.
typedef struct pl_product {
    str output;    // of the requested kind; the object of a library without options.library_name
    str header;    // of C, where options.header_name asks for one
    str messages;  // of a product that was found: what options.show wrote when it was made, and [diags] has none
    str depends;   // the files that were read, each name with its 0: the input (unless standard input), then imported ones
} pl_product;

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
    str mapped;          // of it, if it is mapped
    pl_onnx onnx;        // of an input that is an ONNX file
    const tool_cc *cc;   // for kinds that need it
    tool_cc_reads reads; // by it
    pl_nvrtc_preload preload;
    struct pl_sharing *sharing; // what units have alike; NULL: nothing
    pl_product product;
    str_buf dump;        // the texts of --dump
    str_buf usage;       // the tables of --resource-usage
    cache_ticket ticket; // of the product, while it is made
    pl_times times;      // of what is not a unit's: reading and writing
    double total_us;
} pl_job;

// [oom]: where control goes if memory runs out while the caller uses the job's results; NULL: abort.
void pl_job_init(pl_job *job, const pl_options *options, arena_oom *oom);
pl_status pl_job_run(pl_job *job);
// All tables of --time-report; the events of --time-trace (a whole JSON document).
void pl_job_time_report(pl_job *job, str_buf *out);
void pl_job_time_trace(pl_job *job, str_buf *out);
void pl_job_free(pl_job *job);

// product_cache.c: the product, if it was made of the same before; then the units have not run. False: it is to be made.
bool pl_product_find(pl_job *job);
// Keeps it, unless it depends on more than is known.
void pl_product_keep(pl_job *job, pl_status status);
// merge.c: adds the messages of [from] that [to] does not have. Files are known by name and text.
void pl_diags_merge(diag_context *to, const diag_context *from);
// output.c: the product of what the units made; its status.
pl_status pl_make_product(pl_job *job);
// c_code.c: its header, and of kinds of C its output. Reports to the first unit.
pl_status pl_make_c(pl_job *job);
// "matmul" of "dir/matmul.hds", fit for the name of a file and of a member of an archive.
const char *pl_stem(arena *a, const char *input);
// depends.c
str pl_depends(pl_job *job);
// fatbin.c: all units in one container, in the memory of the job; false after reporting why not.
bool pl_make_fatbin(pl_job *job, str *out);
// Of which unit the PTX is for newer GPUs: the newest whose architecture is not the only one that its code runs on; -1: none.
int pl_ptx_unit(const pl_job *job);
