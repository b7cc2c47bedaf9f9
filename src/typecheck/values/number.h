// Arithmetic of compile-time numbers: bools, integers of 128 bits and doubles.
#pragma once

#include "typecheck/values/values.h"

double tc_to_double(tc_value v);
tc_int tc_to_int(tc_value v); // of a bool or an integer
tc_value tc_number_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span);
// pow(base, exponent, modulus) of integers
tc_value tc_power_modulo(tc *tx, tc_value base, tc_value exponent, tc_value modulus, src_span span);
// -1, 0 or 1, compared exactly; [unordered]: one of them is NaN
int tc_number_order(tc_value a, tc_value b, bool *unordered);
// Adds numbers from items[*at] on to [total], with compensation where Python's sum has it, as far as they are numbers
// that it adds in this way; [*at] is the first that was not added.
tc_value tc_number_sum(tc *tx, const tc_list *items, size_t *at, tc_value total, src_span span);
