// What a run of the compiler leaves on disk: all of its files, or none of them.
#pragma once

#include "diag/diag.h"

typedef struct pl_file {
    const char *path;  // "-": standard output
    str bytes;
    const char *what;  // "the C header", for messages
} pl_file;

// Whether the files are different ones, and none of them is one of [inputs]. False after reporting HDS0710 or HDS0711.
bool pl_files_check(diag_context *dx, const pl_file *files, size_t count, const char *const *inputs, size_t input_count);

// Writes them: under other names first, so that a full disk or a folder without permission changes nothing. False after
// reporting HDS0494.
bool pl_files_write(diag_context *dx, const pl_file *files, size_t count);

// The rule of a depfile, as make reads it: targets, then the files that they are made from (names, each with its 0). With
// [phony], also an empty rule for each of those but the first, so that make does not mind that one is gone.
typedef struct pl_rule {
    const char *const *targets;  // written as they stand
    size_t target_count;
    str depends;
    bool phony;
} pl_rule;

// Appends the rule. False after reporting HDS0715: make cannot read names with line ends.
bool pl_depfile_add(diag_context *dx, const pl_rule *rule, str_buf *out);
// [name] with what make would take for something else escaped.
const char *pl_depfile_name(arena *a, const char *name);
