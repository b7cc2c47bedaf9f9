// The outputs, inputs and options of a compilation, as JSON for --manifest (docs/aot.md describes the format).
#pragma once

#include "pipeline/files.h"
#include "pipeline/job.h"

typedef struct cmd_manifest_parts {
    const pl_options *options;
    const str *inputs;         // cmd_manifest of each
    size_t input_count;
    const pl_file *files;      // what is written
    const char *const *kinds;  // of [files]: "object", "header", …
    size_t file_count;
} cmd_manifest_parts;

// The part about one input that compiled, in the memory of the job.
str cmd_manifest(pl_job *job);

// The document, in [a].
str cmd_manifest_join(arena *a, const cmd_manifest_parts *parts);
