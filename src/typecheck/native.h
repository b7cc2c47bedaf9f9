// The compiler's own names, by family; native.c puts them into the outermost scope.
#pragma once

#include "typecheck/tc_priv.h"

// native_map.c
tc_value tc_native_mapping(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_mapping_map(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_auto_map(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_chain(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_layout(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_strided_layout(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_register_layout(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_map_attribute(tc *tx, const tm_map *m, str name, bool *found);
tc_value tc_native_layout_attribute(tc *tx, const tm_layout *l, str name, bool *found);
tc_value tc_native_map_method(tc *tx, const tm_map *m, str name, tc_args *args, bool *found);
tc_value tc_native_layout_method(tc *tx, const tm_layout *l, str name, tc_args *args, bool *found);
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
// native_format.c
void tc_float_text(double v, str_buf *out);                   // as Python's repr()
void tc_digits(tc_int v, int base, bool upper, str_buf *out); // of the magnitude
tc_value tc_format_method(tc *tx, str s, tc_args *args);
// native_data.c: methods of lists, tuples, sets and dicts
extern const char *const tc_list_method_names[], *const tc_tuple_method_names[], *const tc_set_method_names[],
                                                                                     *const tc_dict_method_names[];
tc_value tc_data_method(tc *tx, tc_value self, sym name, tc_args *args, bool *found);
// native_py.c: Python's built-in functions
extern const tc_native tc_native_python[];
// tc_native_gpu.c: tensors, attributes, statements in the form of calls
extern const tc_native tc_native_gpu[];
tc_value tc_native_tensor_method(tc *tx, tc_value self, sym name, tc_args *args);
// native_asm.c, native_pointer.c: what Hidet has beside instructions and views
tc_value tc_native_asm(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_assign(tc *tx, const tc_native *self, tc_args *args);
// strided.c: tensors with strides, bounds of sizes
tc_value tc_native_strided(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_at_least(tc *tx, const tc_native *self, tc_args *args);
// interpret.c: interpretations of definitions, reduce.c: reductions of known sequences
tc_value tc_native_with_handler(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_analyze(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_compute(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_operator(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_reduce(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_prod(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_arg(tc *tx, const tc_native *self, tc_args *args);
// native_tma.c: tensor maps
tc_value tc_native_tensor_map(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_tensor_map_attribute(tc *tx, tc_value v, str name, bool *found);
tc_value tc_tensor_map_check(tc *tx, tc_value self, tc_args *args);
