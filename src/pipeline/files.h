// Output files of the compiler: a run writes all of them or none.
#pragma once

#include "diag/diag.h"

typedef struct pl_file {
    const char *path;  // "-": standard output
    const str *pieces; // one behind the other
    size_t piece_count;
    const char *what;  // "the C header", for messages
} pl_file;

// Whether the files are different ones, and none of them is one of [inputs]. False after reporting HDS0710 or HDS0711.
bool pl_files_check(diag_context *dx, const pl_file *files, size_t count, const char *const *inputs, size_t input_count);

// Writes them: under other names first, so that a full disk or a folder without permission changes nothing. False after
// reporting HDS0494.
bool pl_files_write(diag_context *dx, const pl_file *files, size_t count);
