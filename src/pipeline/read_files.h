// The files that a result was made from, beside its input: those that were read, by their hash, and those that were looked
// for and not there, since a file that appears there would be found first.
#pragma once

#include "pipeline/unit.h"

// What of a file the result follows from.
typedef enum pl_read_what {
    PL_READ_ALL,
    PL_READ_HEADER,   // of weights: the names, types and extents of tensors, and which files they are in
    PL_READ_WEIGHTS,  // and their bytes
} pl_read_what;

typedef struct pl_read_file {
    const char *path;
    pl_read_what what;
    const char *hash;  // of that; NULL: nothing that can be read is there
} pl_read_file;

typedef VEC(pl_read_file) pl_read_files;

// Adds what the unit looked at, in [a]; not its input, and not the weights that an ONNX file has with it.
void pl_read_files_add(arena *a, const pl_unit *u, pl_read_files *out);
// Adds a file by its path. False: it cannot be read.
bool pl_read_files_add_path(arena *a, const char *path, pl_read_files *out);
// The hash of what a result follows from that was made with these weights, in [a]. NULL: their bytes cannot be read.
const char *pl_weights_hash(arena *a, struct wt_file *file, bool with_bytes);
// Whether all of them are as they were. Takes memory from [scratch].
bool pl_read_files_hold(arena *scratch, const pl_read_files *files);
// As bytes, and back; false for bytes that are none.
str pl_read_files_write(arena *a, const pl_read_files *files);
bool pl_read_files_parse(arena *a, str bytes, pl_read_files *out);
