// The files that a result was made from, beside its input: those that were read, by their hash, and those that were looked
// for and not there, since a file that appears there would be found first.
#pragma once

#include "pipeline/modules.h"

typedef struct pl_read_file {
    const char *path;
    const char *hash;  // of its text; NULL: nothing that can be read is there
} pl_read_file;

typedef VEC(pl_read_file) pl_read_files;

// Adds what the finder looked at, in [a].
void pl_read_files_add(arena *a, const pl_finder *finder, pl_read_files *out);
// Whether all of them are as they were. Takes memory from [scratch].
bool pl_read_files_hold(arena *scratch, const pl_read_files *files);
// As bytes, and back; false for bytes that are none.
str pl_read_files_write(arena *a, const pl_read_files *files);
bool pl_read_files_parse(arena *a, str bytes, pl_read_files *out);
