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
// native_py.c: Python's built-in functions
extern const tc_native tc_native_python[];
// tc_native_gpu.c: tensors, attributes, statements in the form of calls
extern const tc_native tc_native_gpu[];
tc_value tc_native_tensor_method(tc *tx, tc_value self, sym name, tc_args *args);
