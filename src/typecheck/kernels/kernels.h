// Functions of the output: kernels, device and host functions, their attributes, launches, instructions.
#pragma once

#include "typecheck/eval/eval.h"

// classify.c
// Whether the decorator sets the kind of the function (script, instruction, test); others are called.
bool tc_is_marker(tc *tx, const tc_scope *scope, const ast_expr *d);

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
// The state of the elaborator to restore after a nested function.
typedef struct tc_saved {
    ir_func *func;
    ir_block *block;
    tc_frame *frame;
    int speculating;
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
const char *tc_instance_title(tc *tx, const tc_function *f, const tc_scope *scope); // "matmul[T=f16, N=128]"
// i32 for `int`, i64 for `i64`; DT_NONE: not a size, so it must be fixed.
ir_var *tc_size_param(tc *tx, const ast_type_param *p, dtype t, tc_scope *scope); // a size that stays open
dtype tc_size_type(tc *tx, const ast_type_param *p, tc_scope *scope);
bool tc_add_param(tc_builder *k, const ast_param *p);
bool tc_run_own_body(tc_builder *k, const ir_type *result, tc_frame *caller, src_span call_span);
// The function's scope, in which its brackets' values are bound and marked in [bound], by type parameter.
tc_scope *tc_entry_scope(tc *tx, tc_function *f, bool *bound);
// A kernel or host function with parameters; [captures] is NULL for one that is an entry of the file. NULL after
// errors.
ir_func *tc_build_kernel(tc *tx, tc_function *f, tc_scope *scope, const bool *bound, const char *name,
                         tc_captures *captures, ir_func_kind kind, tc_builder *k, src_span call_span);
// [base], with a number where that is taken; entries may have names that the file's other entries will have.
const char *tc_unique_name(tc *tx, const char *base, bool is_entry);
// Whether a function of the output has that name, or an entry will have it, which other functions make way for.
bool tc_name_is_taken(const tc *tx, const char *name, bool is_entry);
// A host function without parameters: the names of [f]'s are bound in [scope]. NULL after errors.
ir_func *tc_host_function(tc *tx, tc_function *f, tc_scope *scope, const char *title);

// instr.c
const arch *tc_arch_of(tc *tx, tc_value v, src_span span); // NULL: no such name, after reporting
tc_value tc_instruction_text(tc *tx, bool is_ptx, tc_args *args);
bool tc_instruction_decorator(tc *tx, tc_function *f, const ast_call *call);
// The instance of an instruction that asm() makes.
const ir_intrin *tc_intern_asm(tc *tx, ir_intrin *in);

// native_asm.c: what Hidet has beside instructions and views
tc_value tc_native_assign(tc *tx, const tc_native *self, tc_args *args);

// native_gpu.c: at the end of a kernel's body
void tc_allocate_dynamic_smem(tc *tx);
