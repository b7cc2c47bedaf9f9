// Shared by the two implementations of a reduction: loops (reduce.c) and a handler's `reduce` (generator.c).
#pragma once

#include "typecheck/eval/eval.h"

// argmax, argmin: elements are pairs of a value and its number.
bool tc_gives_position(tc_reduction kind);
bool tc_is_sequence(tc_value v);
// What is reduced, of an element as it was evaluated: a run-time scalar, or for reduce(…) a tuple of them.
tc_value tc_reduce_element(tc *tx, tc_reduction kind, tc_value v, src_span span);
// The identity of the Reduction [how] for elements like this one, in as many parts; poison after an error.
tc_value tc_reduce_identity(tc *tx, tc_value how, tc_value element, src_span span);
const tc_value *tc_parts_in(const tc_value *v, size_t *count);          // of a tuple; or one
tc_value tc_tuple_or_one(tc *tx, tc_value like, const tc_value *parts); // and back
tc_value tc_wrong_parts(tc *tx, const char *what, tc_value expected, tc_value found, src_span span);
bool tc_is_plain_name(tc *tx, const ast_expr *target); // of a `for`; false after an error
// The combined element, as the handler gives it; poison after an error.
tc_value tc_handled_reduce(tc *tx, const ast_comprehension *e, tc_reduction kind, tc_value how);
