// What reaches NVRTC: CUDA text in canonical form.
//
// Texts that differ only in where they come from compile to the same code. So #line directives, comments, empty lines and
// indentation are dropped, and NVRTC's log names lines of the rest: "kernel.cu(12)". Files and lines of the source
// stay here, and are put into the log when it has been made, or found in the cache.
#pragma once

#include "base/vec.h"
#include "cuda_emit/emit.h"

typedef struct pl_line {
    str text;
    const char *file;  // of the source; NULL: none
    uint32_t line;
    int kernel;        // that it belongs to: an index of the list; -1: what kernels share
} pl_line;

typedef struct pl_canonical {
    VEC(pl_line) lines;
} pl_canonical;

// Indices of lines of the whole text, by lines of a part of it.
typedef VEC(uint32_t) pl_line_numbers;

// [kernels]: where they are in [cuda]. False for text that may depend on its lines or cannot be read line by line (raw
// strings, __LINE__, comments over several lines): that is compiled as it is.
bool pl_canonical_make(arena *a, str cuda, const cu_kernel_list *kernels, pl_canonical *out);

// The text with the kernels k whose [parts][k] is [part], or all of them if [parts] is NULL, and all that is shared,
// 0-terminated; *from: its lines.
str pl_canonical_text(arena *a, const pl_canonical *c, const size_t *parts, size_t part, pl_line_numbers *from);

// The log of such a text, with lines of the whole text; and the log of the whole text, with files and lines of the
// source: "kernel.cu(12)" becomes "matmul.hds(3)". A line without a source location is unchanged.
str pl_canonical_log_of_whole(arena *a, const pl_line_numbers *from, str log);
str pl_canonical_log_of_source(arena *a, const pl_canonical *c, str log);

// The name of the text for NVRTC, with what it calls lines: "kernel.cu(".
#define PL_CANONICAL_NAME "kernel.cu"
