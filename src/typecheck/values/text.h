// Text, numbers as text, and methods of containers while compiling.
#pragma once

#include "typecheck/values/values.h"

// native_str.c: text is UTF-8, counted in characters
// Bytes of a text; items of a value, counting those of its parts.
enum { MAX_TEXT = 10000000, MAX_ITEMS = 10000000 };
extern const char *const tc_str_method_names[]; // ends with NULL
size_t tc_char_len(str s);                      // bytes of the first character
size_t tc_text_len(str s);                      // characters
str tc_text_slice(str s, size_t start, size_t stop);
int tc_char_code(str s);                                    // of the first character
tc_value tc_of_char(tc *tx, tc_int code);                   // poison, without an error, if there is none
tc_value tc_converted(tc *tx, tc_value v, char conversion); // 'r', 's', 'a'
tc_value tc_str_method(tc *tx, str s, sym name, tc_args *args, bool *found);
tc_value tc_print(tc *tx, tc_args *args, bool is_printf);

// native_format.c
void tc_float_text(double v, str_buf *out);                   // as Python's repr()
void tc_digits(tc_int v, int base, bool upper, str_buf *out); // of the magnitude
tc_value tc_format_method(tc *tx, str s, tc_args *args);
tc_value tc_format_spec(tc *tx, tc_value v, str spec, src_span span);

// native_data.c: methods of lists, tuples, sets and dicts
extern const char *const tc_list_method_names[], *const tc_tuple_method_names[], *const tc_set_method_names[],
                                                                                     *const tc_dict_method_names[];
tc_value tc_data_method(tc *tx, tc_value self, sym name, tc_args *args, bool *found);
// `old op= v` of lists, dicts and sets, which change in place; false: they do not in this way.
bool tc_data_in_place(tc *tx, ast_op op, tc_value old, tc_value v, src_span span);
