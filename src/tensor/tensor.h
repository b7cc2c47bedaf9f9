// Tensors of the host: the inputs and outputs of a run. Row by row without gaps, the bytes as simulated
// and real devices hold them (little-endian; sub-byte integers packed, the lowest element in the lowest bits).
#pragma once

#include "base/arena.h"
#include "target/dtype.h"

enum { TEN_MAX_RANK = 16 };

typedef struct ten_tensor {
    dtype type;
    int rank;
    int64_t shape[TEN_MAX_RANK];
    int64_t count;  // elements
    int64_t bytes;
    uint8_t *data;  // [bytes], in an arena
} ten_tensor;

// A whole tensor of zeros. [t] has type, rank and shape; false if the size is negative or does not fit in 62 bits, or
// more than [limit_bytes] (0: no limit).
bool ten_allocate(arena *a, ten_tensor *t, int64_t limit_bytes);
// Fills in count and bytes of what has type, rank and shape; false as above.
bool ten_measure(ten_tensor *t);

// Element [i], counted row by row, as the bits of its type.
uint64_t ten_bits(const ten_tensor *t, int64_t i);
void ten_set_bits(ten_tensor *t, int64_t i, uint64_t bits);
// The same as a number: integers beyond 2^53 are rounded. Of complex numbers the real part.
double ten_number(const ten_tensor *t, int64_t i);
// Rounded to the type as the language's conversion does; integers wrap, fp8 saturates.
void ten_set_number(ten_tensor *t, int64_t i, double value);
// The imaginary part of a complex element; 0 of others.
double ten_imaginary(const ten_tensor *t, int64_t i);

// "f16[1024, 64]".
void ten_type_print(dtype type, int rank, const int64_t *shape, str_buf *out);
// "(3, 0, 1)": the index of element [i]; "3" where there is one dimension, "()" where there is none.
void ten_index_print(const ten_tensor *t, int64_t i, str_buf *out);
// An element, so that it reads back as the same bits: "0.1", "-7", "true", "inf".
void ten_value_print(dtype type, uint64_t bits, str_buf *out);

// The elements in nested brackets, columns aligned. Where there are more than 200, only the three at both ends of each
// dimension, as NumPy does. [written]: a byte for each element; 0: uninitialized, shown as '?'; NULL: all are written.
void ten_show(const ten_tensor *t, const uint8_t *written, str_buf *out);
