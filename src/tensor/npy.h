// NumPy's file format for one array (numpy.lib.format: versions 1.0, 2.0 and 3.0), read and written.
//
// Types that NumPy has no name for: bf16 is written as '<V2' and the fp8 types as '|V1', as np.save writes
// the types of ml_dtypes (np.load(f).view(ml_dtypes.bfloat16) brings them back); they are read from these or from their
// bits in '<u2' and '|u1'. tf32 is '<f4'. Integers of less than a byte take a byte each, '|i1' or '|u1'.
#pragma once

#include "diag/diag.h"
#include "tensor/tensor.h"

// A file as it was read.
typedef struct ten_npy ten_npy;

// Reads [path], once: it may be a pipe. No more of it than its header and what that promises. What is wrong with it is reported
// by ten_npy_take.
const ten_npy *ten_npy_open(arena *a, const char *path);
// Type and shape, without data. NULL: something is wrong, or the type is one of those that NumPy has no name for.
const ten_tensor *ten_npy_type(arena *a, const ten_npy *n);

// The array: Fortran order and big-endian numbers are converted, so that the tensor is row by row. [wanted]: the type
// that it must have, DT_NONE: whatever it is ([raw], a type of two bytes or one, says what '<V2' and '|V1' mean then).
// False after reporting: HDS0634 (cannot be read), HDS0635 (no .npy file, or a damaged one), HDS0636 (more or less data
// than the header says), HDS0637 (numbers that the language does not have), HDS0638 (another type than [wanted]).
// [what]: for that message, who wants it: "parameter 'a' of 'matmul'".
bool ten_npy_take(arena *a, diag_context *dx, const ten_npy *n, dtype wanted, dtype raw, const char *what, ten_tensor *out);

// Both in one.
bool ten_npy_read(arena *a, diag_context *dx, const char *path, dtype wanted, dtype raw, const char *what, ten_tensor *out);

// The same from the bytes of a file. [path]: for messages.
bool ten_npy_parse(arena *a, diag_context *dx, const char *path, str file, dtype wanted, dtype raw, const char *what,
                   ten_tensor *out);

// The bytes of a file, version 1.0 (as long as the header fits in it, which it does for up to TEN_MAX_RANK dimensions).
str ten_npy_format(arena *a, const ten_tensor *t);
// Writes them to [path], whole or not at all. False after reporting HDS0645.
bool ten_npy_write(arena *a, diag_context *dx, const char *path, const ten_tensor *t);
