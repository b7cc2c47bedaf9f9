// Run-time values: conversions, types, tensors and their views, tensor maps; with the algebra of mappings and layouts
// as the language sees it.
#pragma once

#include "typecheck/values/values.h"

// convert.c
ir_expr *tc_convert(tc *tx, tc_value v, const ir_type *want, src_span span,
                    const char *what);                                    // implicit; NULL after an error
ir_expr *tc_cast(tc *tx, tc_value v, const ir_type *want, src_span span); // explicit T(v)
const ir_type *tc_default_type(tc *tx, tc_value v);                       // NULL: not a number
ir_expr *tc_to_index(tc *tx, tc_value v, src_span span);                  // an integer expression
ir_expr *tc_condition(tc *tx, tc_value v, src_span span);                 // a bool expression
bool tc_is_index(tc_value v);
ir_expr *tc_pointer_cast(tc *tx, ir_expr *e, const ir_type *want, src_span span);

// types.c
tc_value tc_eval_annotation(tc *tx, const ast_expr *annotation, tc_scope *scope);
bool tc_infer(tc *tx, const ast_expr *annotation, tc_value actual, tc_scope *scope, const ast_type_params *params,
              bool *bound);
// Strides that only axes of one element tell, once all arguments have been looked at.
void tc_infer_idle(tc *tx, const ast_expr *annotation, tc_value actual, tc_scope *scope, const ast_type_params *params,
                   bool *bound);
tc_value tc_conform(tc *tx, tc_value v, tc_value annotation, const char *what, src_span span);
// Whether tc_conform is sure to give [v] as it is: no text for its messages is needed then.
bool tc_conforms(tc_value v, tc_value annotation);
// Whether a value may be given to a parameter with this annotation, as far as kinds and listed values tell.
bool tc_fits(tc_value v, tc_value annotation);
tc_value tc_type_subscript(tc *tx, tc_value base, tc_value *items, size_t len, src_span span);
tc_value tc_kind_subscript(tc *tx, tc_value kind, tc_value *items, size_t len, src_span span);
const ir_type *tc_value_type(tc_value v); // of RT; NULL otherwise

// tensor.c
void tc_help_open_size(diag *d, tc_value v); // where [v] must be known: says how a size of the kernel is fixed
tc_value tc_tensor_declare(tc *tx, const char *name, const tc_tensor_type *type, ir_var_kind kind, tc_value init,
                           int align, ir_expr *worker, src_span span);
tc_value tc_tensor_of_var(tc *tx, ir_var *v);
ir_expr *tc_size_expr(tc *tx, tc_value v); // of an extent or stride
ir_expr **tc_row_major_strides(tc *tx, ir_expr **shape, int rank, src_span span);
tc_value tc_tensor_load(tc *tx, tc_tensor *t, tc_value *idx, size_t len, tc_value *outside, src_span span);
bool tc_tensor_store(tc *tx, tc_tensor *t, tc_value *idx, size_t len, tc_value v, bool guarded, src_span span);
bool tc_tensor_check_indices(tc *tx, const tc_tensor *t, const ast_subscript *at, const tc_list *items);
tc_value tc_tensor_index(tc *tx, tc_tensor *t, const ast_subscript *at);
// Whether a - b is known, of integers that are evaluated at the same point of the program.
bool tc_known_difference(const tc *tx, tc_value a, tc_value b, int64_t *out);
bool tc_tensor_assign(tc *tx, tc_tensor *t, tc_value v, src_span span); // whole (view) = tensor or scalar
tc_value tc_tensor_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found);
tc_value tc_tensor_address(tc *tx, tc_tensor *t, tc_value *idx, size_t len, src_span span);
ir_expr *tc_tensor_tile(tc *tx, tc_tensor *t, int *count, src_span span);
ir_expr *tc_default_worker(tc *tx, int64_t workers, src_span span);

// strided.c
// The tensor type and the strides in the annotation strided(…); false: it is none.
bool tc_strided_parts(tc *tx, const ast_expr *annotation, tc_scope *scope, const ast_expr **type,
                      const ast_expr **strides);
// The bytes that the first element is known to begin at a multiple of.
int tc_align_of(const tc_tensor *t);
int tc_align_of_whole(const ir_tensor *info);
bool tc_axis_is_idle(const tc_tensor *t, int axis); // known to have at most one element: its stride says nothing
// Why a tensor does not have the strides, as far as both are known; NULL: it may have them.
const char *tc_strides_differ(tc *tx, const tc_tensor *t, const tc_value *want);
// Whether the elements are known to be contiguous in row-major order.
bool tc_is_row_major(tc *tx, const tc_tensor *t, src_span span);
// Checked at run time: that the argument has the strides that the kernel's other arguments give the parameter.
// [arguments]: the kernel's parameters -> the host's values.
void tc_check_launch_strides(tc *tx, const ir_var *param, const tc_tensor *t, const map *arguments, src_span span);
tc_value tc_native_strided(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_at_least(tc *tx, const tc_native *self, tc_args *args);

// native_map.c
bool tc_int_list(tc *tx, tc_value v, src_span span, int64_t *out, int *len, const char *what);
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

// native_tma.c: tensor maps
tc_value tc_native_tensor_map(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_im2col_map(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_tensor_map_attribute(tc *tx, tc_value v, str name, bool *found);
tc_value tc_tensor_map_check(tc *tx, tc_value self, tc_args *args);

// ---- provided by the folders above: expressions in types, and the conversions of the active handler ---------------

// eval/expr.c
tc_value tc_eval(tc *tx, const ast_expr *e);
bool tc_eval_items(tc *tx, const ast_list *items, tc_list *out);
// The same for what stands in the brackets behind [v]: a record gets slices as records 'slice' of hidet.lang.
bool tc_eval_subscripts(tc *tx, tc_value v, const ast_list *items, tc_list *out);
// eval/call.c
tc_value tc_call_values(tc *tx, tc_value callee, const tc_value *values, size_t len, src_span span);
// The same with the whole budget of steps, unless it is part of such a call: of launches and recorded nodes there are as many
// as a program has, which says nothing about whether its evaluation ends.
tc_value tc_call_apart(tc *tx, tc_value callee, const tc_value *values, size_t len, src_span span);
// eval/ops.c
// a size as arithmetic over INT or RT values
tc_value tc_size_sub(tc *tx, tc_value a, tc_value b, src_span span);
// eval/protocol.c
// tc_truth for any value of a program; *[v] of a record becomes what decides, which may be known only at run time.
bool tc_truth_of(tc *tx, tc_value *v, src_span span, bool *out);
// eval/control.c
void tc_close_region(tc *tx, int region, src_span span); // what was bound in there is not visible any more
// eval/module.c
tc_module *tc_module_load(tc *tx, const char *path, int level, tc_module *importer, src_span span);
// The text as a module that nothing imports. NULL: it does not parse.
tc_module *tc_module_of(tc *tx, src_file *file);
// How programs of graphs name it (tc_name_module).
const char *tc_module_name(tc *tx, const tc_module *m);
tc_value tc_library(tc *tx, const char *module, const char *name, src_span span);
// eval/interpret.c
// The integer value of a record with '__index__'; other values as they are; poison after an error.
tc_value tc_record_as_index(tc *tx, tc_value v, src_span span);
static inline tc_value tc_as_index(tc *tx, tc_value v, src_span span)
{
    return v.kind == TC_RECORD ? tc_record_as_index(tx, v, span) : v;
}
bool tc_has_index(tc *tx, tc_value v);
bool tc_handles(tc *tx, const char *name); // whether a handler in force has such a method
bool tc_load_hook(tc *tx, tc_tensor *t, const tc_list *items, src_span span, tc_value *out);
// T(v) by the active handler, where T is a scalar type; false: there is no handler for it.
bool tc_convert_hook(tc *tx, const ir_type *type, tc_value v, src_span span, tc_value *out);
// A record with a shape and '__getitem__' as a tensor of that shape, without memory; NULL: it is none. The element type
// is NULL where nothing has told it.
tc_tensor *tc_node_tensor(tc *tx, tc_value v);
tc_value tc_node_of_type(tc *tx, tc_value v, const ir_type *elem);
// kernels/native_gpu.c
tc_value tc_pointer_view(tc *tx, tc_value p, const tc_tensor_type *type, src_span span);
