// Input specifications: how `hdsc run` fills a tensor.
//
//     @a.npy                      a file of NumPy
//     randn:f16[1024, 64]         normally distributed; randn(0, 0.02) has another mean and deviation
//     uniform:f32[8]  uniform(-1, 1)
//     randint:i32[10](0, 100)     0 <= x < 100
//     zeros  ones  full(3)  empty (uninitialized)
//     arange  arange(10)  arange(0, 0.5)    start and step
//     0.5  1000  true  inf        a number, for scalars and sizes
//
// Type and sizes are optional where they are known: randn, randn:f16, randn:[4, 5]. The arguments in brackets may
// precede the ':' or follow the sizes.
#pragma once

#include "tensor/tensor.h"

typedef enum ten_source {
    TEN_FILE, TEN_NUMBER, TEN_RANDN, TEN_UNIFORM, TEN_RANDINT, TEN_ZEROS, TEN_ONES, TEN_FULL, TEN_ARANGE, TEN_EMPTY,
    TEN_SOURCE__COUNT
} ten_source;

typedef struct ten_spec {
    ten_source source;
    const char *text;      // as the user wrote it
    const char *path;      // FILE
    dtype type;            // DT_NONE: not said
    bool has_shape;
    int rank;
    int64_t shape[TEN_MAX_RANK];
    int arg_count;
    const char *args[2];   // texts of numbers, in order
} ten_spec;

// NULL, or what is wrong with [text], in [a]. The strings of *[out] live in [a].
const char *ten_spec_parse(arena *a, const char *text, ten_spec *out);
// The specification of tensors of this type that have none: "randn".
const char *ten_usual_contents(dtype t);

// A number as the language writes it ("-7", "0x1f", "1_000", "0.5", "1e-3", "inf", "true") as the bits of [type]. NULL, or
// why not, in [a].
const char *ten_number_parse(arena *a, const char *text, dtype type, uint64_t *bits);

// Fills [t], which has type, shape and memory, from any source but FILE; random numbers are those of sim/random.h with
// this seed. TEN_EMPTY and TEN_NUMBER leave it alone. NULL, or why it cannot be, in [a].
const char *ten_fill(arena *a, const ten_spec *spec, uint64_t seed, ten_tensor *t);
// Fills a weight of a model with random numbers, which depend on its name and the seed alone: a tensor has the same ones wherever
// it stands in the model. NULL, or why it cannot be, in [a].
// The SPEC of it, by type and extents.
const char *ten_weight_contents(arena *a, const ten_tensor *t);
const char *ten_fill_weight(arena *a, const char *name, uint64_t seed, ten_tensor *t);
