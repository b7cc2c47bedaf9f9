// What the files share that make functions of the output: attributes.c, classify.c, kernel.c, launch.c, device.c, entry.c.
#pragma once

#include "typecheck/tc_priv.h"

// attributes.c
typedef enum tc_attr {
    TC_ATTR_GRID,
    TC_ATTR_BLOCK,
    TC_ATTR_CLUSTER,
    TC_ATTR_SMEM,
    TC_ATTR_MIN_BLOCKS,
    TC_ATTR_DEPENDENT,
    TC_ATTR_NAME,
    TC_ATTR_KIND,
    TC_ATTR_LABEL
} tc_attr;
// The value that the body assigns to the attribute, last; NULL: none. [found] is set if there is one, else left alone.
const ast_expr *tc_attribute_value(tc *tx, const ast_list *body, tc_attr id, bool *found);

// kernel.c
// What the elaborator was at before it began a function of its own.
typedef struct tc_saved {
    ir_func *func;
    ir_block *block;
    tc_frame *frame;
    int region, speculating;
    tc_captures *captures;
    const tc_env *env;
} tc_saved;

typedef struct tc_builder {
    tc *tx;
    tc_function *f;
    ir_func *func;
    tc_scope *scope;
    VEC(ir_var *) sizes;
    VEC(ir_expr *) size_args; // launches: the host's values of the sizes
    bool ok;
} tc_builder;

tc_saved tc_enter(tc *tx, ir_func *func, ir_block *block, tc_captures *captures);
void tc_leave(tc *tx, tc_saved s);
// "matmul_f16_128": the function's name and its compile-time arguments, as far as they make a readable identifier.
const char *tc_instance_name(tc *tx, const tc_function *f, const tc_scope *scope, bool with_args);
const char *tc_instance_title(tc *tx, const tc_function *f, const tc_scope *scope);  // "matmul[T=f16, N=128]"
// i32 for `int`, i64 for `i64`; DT_NONE: not a size, so it must be fixed.
dtype tc_size_type(tc *tx, const ast_type_param *p, tc_scope *scope);
bool tc_add_param(tc_builder *k, const ast_param *p);
bool tc_run_own_body(tc_builder *k, const ir_type *result, tc_frame *caller, src_span call_span);
// The function's scope, in which its brackets' values are bound and marked in [bound], by type parameter.
tc_scope *tc_entry_scope(tc *tx, tc_function *f, bool *bound);
// A kernel or host function with parameters; [captures] is NULL for one that is an entry of the file. NULL after errors.
ir_func *tc_build_kernel(tc *tx, tc_function *f, tc_scope *scope, const bool *bound, const char *name,
                         tc_captures *captures, ir_func_kind kind, tc_builder *k, src_span call_span);

// entry.c
// What -D or an array of the run says that the parameter [name] has as element type; DT_NONE: nothing.
dtype tc_operand_type_of(const tc *tx, const char *name);

// operators.c
// Binds entries of the main file's operators in its scope: softmax_f16, ….
void tc_offer_operators(tc *tx);
// The main file's operator that the text is, or has the name of an entry of, as softmax_f16; with why it is no entry. NULL: none.
const tc_operator *tc_operator_of_entry(tc *tx, const char *text);
void tc_name_operator(ir_func *func, const tc_function *f); // marks the function of such an entry
