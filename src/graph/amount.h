// Numbers of elements that may depend on open sizes: products of a number and of extents, by their texts. Strides and offsets of
// views are such; a sum of two different products is not representable.
#pragma once

#include "graph/graph.h"

// [n], without extents.
fg_amount fg_amount_of(int64_t n);
// Of one axis: "4 * B * S" is 4 times B times S; another expression is one name.
fg_amount fg_extent_amount(arena *a, const fg_tensor *t, int axis);
// Where the product of the known factors has no int64_t, that is INT64_MAX or INT64_MIN, and more than any memory has.
fg_amount fg_times(arena *a, const fg_amount *x, const fg_amount *y);
// False: the sum is no product.
bool fg_plus(const fg_amount *x, const fg_amount *y, fg_amount *out);
// Whether they are equal for all sizes, as far as texts tell.
bool fg_same_amount(const fg_amount *x, const fg_amount *y);
bool fg_is_amount(const fg_amount *x, int64_t n);
// Whether [y] is [x] times something, and not equal to it. Neither is below 0.
bool fg_is_proper_part(const fg_amount *x, const fg_amount *y);
// "48 * i64(length)", as the language writes it: products of extents may have more than 31 bits. In [a].
const char *fg_amount_text(arena *a, const fg_amount *x);

// Whether the axis is known to have one element: no stride matters there.
bool fg_is_single(const fg_tensor *t, int axis);
// How the tensor lies in memory of its own. Strides of axes of one element are 0.
fg_layout fg_row_major(arena *a, const fg_tensor *t);
// Whether the strides are those of memory row by row, wherever it begins.
bool fg_has_rows_in_order(arena *a, const fg_tensor *t, const fg_layout *layout);
