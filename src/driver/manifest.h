// What a run made, as JSON (docs/aot.md describes the format).
#pragma once

#include "pipeline/files.h"
#include "pipeline/options.h"

typedef struct pl_manifest_parts {
    const pl_options *options;
    const str *inputs;         // pl_product.manifest of each
    size_t input_count;
    const pl_file *files;      // what is written
    const char *const *kinds;  // of [files]: "object", "header", …
    size_t file_count;
} pl_manifest_parts;

// The document, in [a].
str pl_manifest_join(arena *a, const pl_manifest_parts *parts);
