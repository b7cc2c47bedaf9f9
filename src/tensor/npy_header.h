// The header of a .npy file: a Python literal like {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
#pragma once

#include "tensor/tensor.h"

typedef struct ten_npy_header {
    char order;        // '<', '>' or '|'
    char kind;         // 'f', 'i', 'u', 'b', 'c', 'V', …
    int64_t item_bytes;
    bool is_fortran;
    int rank;
    int64_t shape[TEN_MAX_RANK];
    const char *descr; // as it stands in the file, without the quotes
} ten_npy_header;

// NULL, or what is wrong with the text, in [a].
const char *ten_npy_header_parse(arena *a, str text, ten_npy_header *out);
