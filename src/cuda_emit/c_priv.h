// Declarations shared by the files of the C back end. It uses the printer of expressions and statements in printer.h,
// to which cu_dialect_c (c_expr.c) answers where C differs from C++.
#pragma once

#include "cuda_emit/c.h"
#include "cuda_emit/launches.h"
#include "cuda_emit/printer.h"
#include "plan/plan.h"

// A function of one unit, on its way into C.
typedef struct cu_c_func {
    const ir_func *func;
    const cu_kernel_info *kernel;  // NULL: no kernel
    const plan *plan;              // what a host function does; NULL: it is none
    const char *name;              // in C
    bool *writes;                  // by parameter: a tensor or pointer through which something may be written
    const char *result;            // "hdsrt_status ", or the type of the value
    const char *params;            // "float s, const float *x", as declared and as defined
    bool is_model;                 // the run function of a model: its body may be given the workspace
    const char *given;             // of such: the name of this parameter
    str body;                      // from "{" to "}"
} cu_c_func;

// The dialect's part of struct cu: one unit, and the function under way.
typedef struct cu_c {
    const cu_c_options *options;
    const cu_c_unit *unit;
    VEC(cu_c_func) funcs;          // that are called from outside or by one of these; callees first
    str_buf headers;               // "<math.h>\n", those that the text needs
    // the function under way
    const cu_c_func *at;
    const char *status, *end;      // names: of the variable, and of the label that releases memory; NULL: nothing to release
    const char *memory;            // name of the array of temporaries' addresses
    const char *fails;             // name of the flag of arithmetic that has no result; NULL: arithmetic is as it is
    bool used_fails;
    bool wraps;                    // integers of 64 bits wrap around, as those of plans
    src_span span;                 // of the statement under way
    bool is_device;                // a device function that extents call: it computes, and nothing else
} cu_c;

// c_names.c: the names of entries. False after reporting.
bool cu_c_check_names(const cu_c_options *o, cu *const *units);
const char *cu_c_macro(const char *header_name, arena *a);  // "MATMUL_H"

extern const cu_dialect cu_dialect_c;     // c_expr.c
extern const cu_host_dialect cu_host_c;  // c_host.c

// The values of a host function's plan.
typedef struct cu_c_plan {
    cu *cx;
    const plan *plan;
    const cu_c_func *func;
    ir_var **vars;         // by value: what stands for it in expressions
    bool *is_read;         // by value: some effect depends on it
    bool *is_set;          // by value: it is assigned after its declaration
} cu_c_plan;

// c_plan.c
void cu_c_plan_begin(cu_c_plan *s, cu *cx, const cu_c_func *f);
ir_expr *cu_c_plan_expr(cu_c_plan *s, int node);
ir_expr *cu_c_plan_named(cu_c_plan *s, int node, const char *text);  // the node as [text], which needs no brackets
const char *cu_c_plan_address(cu_c_plan *s, int node, cu_prec prec);

// c_expr.c
const char *cu_c_scalar(cu *cx, dtype t);
const char *cu_c_elem(cu *cx, const ir_type *elem);     // behind a pointer: "void" where C has no such type
void cu_c_cannot_fail(cu *cx, src_span span);           // reports that a function with a result could fail here
cu_text cu_c_offset(cu *cx, const char *base, const ir_var *v, const ir_expr *index);
void cu_c_refuse(cu *cx, const char *why);              // reports it at the statement under way
void cu_c_at(cu *cx, src_span span);                    // the statement under way
void cu_c_needs(cu *cx, const char *header);            // "math.h"

// c_type.c
bool cu_c_is_native(const ir_type *elem);        // C has a type for it
const char *cu_c_param(cu *cx, const ir_var *v, const char *name, bool is_written, bool in_struct);
bool cu_c_is_array(const ir_type *t);            // passed as a short array: complex64, vectors
const char *cu_c_dtype(cu *cx, const ir_type *elem);  // "{2, 32}": the hdsrt_dtype
int cu_c_lanes(const ir_type *elem);             // of a vector, which counts as one more axis; else 0
int cu_c_elem_bits(const ir_type *elem);
const char *cu_c_wrapped(arena *a, const char *head);  // a head that is too long for one line on several

// c_wide.c
typedef struct cu_c_range {
    int64_t min, max;
} cu_c_range;
cu_c_range cu_c_range_of(const ir_expr *e);
bool cu_c_may_overflow(const ir_expr *e);        // this operator, in its own type
bool cu_c_is_narrow(const cu *cx, const ir_expr *e);  // this one or one below, in a type of fewer than 64 bits
ir_expr *cu_c_wide(cu *cx, const ir_expr *e);    // in i64, where it cannot have wrapped around before
const char *cu_c_extent(cu *cx, const ir_expr *e);  // an extent as an int64_t, by cu_c_wide

// c_unit.c
cu **cu_c_prepare(const cu_c_options *o);        // the units with the text of their functions; NULL after reporting
bool cu_c_is_entry(const ir_func *f);
cu_c_func *cu_c_func_named(const cu *cx, const char *name);    // NULL: the unit has none
const cu_c_func *cu_c_kernel_of(const cu *cx, const char *symbol);
bool cu_c_is_same(const cu_c_func *f, const cu_c_func *g);     // the same text

// c_check.c
static inline bool cu_c_is_tensor(const ir_var *v)
{
    return v->type->kind == IR_TENSOR;
}
const ir_expr *cu_c_uncast(const ir_expr *e);    // without casts to integers
bool cu_c_is_deduced(const ir_func *f, const ir_var *v, int *tensor, int *axis);  // a size that a tensor's extent tells
// The same by strides: the [index]-th axis of a strided tensor whose stride it is.
bool cu_c_is_stride(const ir_func *f, const ir_var *v, int index, int *tensor, int *axis);
bool cu_c_has_strided(const ir_func *f);
int cu_c_alignment(const ir_var *v);             // that the address of a tensor has to have
// Leaves with HDSRT_INVALID_ARGUMENT. [values]: ", (long long)n" for the conversions in [message], or nothing.
void cu_c_fail_if(cu *cx, const char *condition, const char *message, const char *values);
void cu_c_check_facts(cu *cx, const ir_func *f);
void cu_c_check_assumptions(cu *cx, const ir_func *f, bool *has_flag);
// The kernel's assumptions on its parameters, from statement [*next] on; NULL after the last.
ir_expr *cu_c_assumption(cu *cx, const ir_func *f, size_t *next);
// The names of the arrays of extents and of strides of a tensor.
typedef struct cu_c_arrays {
    const char *shape, *strides;  // NULL strides: row-major
} cu_c_arrays;
// By parameter; NULL: no tensors.
const cu_c_arrays *cu_c_check_tensors(cu *cx, const ir_func *f, bool *has_flag);
void cu_c_begin_fails(cu *cx);                   // names the flag of arithmetic that has no result
// Text that may set the flag, behind its declaration.
void cu_c_put_with_flag(cu *cx, const str_buf *text, bool *is_declared);
void cu_c_rules(cu *cx, const cu_c_func *f, str_buf *out);

// c_entry.c
void cu_c_begin_function(cu *cx, const cu_c_func *f, str_buf *body);
void cu_c_function(cu *cx, cu_c_func *f);        // fills [body]

// c_dlpack.c
void cu_c_dlpack(cu *cx, const cu_c_func *f, str_buf *out);  // the definition
const char *cu_c_dlpack_params(cu *cx, const cu_c_func *f);  // declares the parameters' names
// The same of NAME_run_dlpack, whose function is [f], a model's: [given] by parameter, whether a run is given it.
void cu_c_dlpack_run(cu *cx, const cu_c_func *f, const bool *given, str_buf *out);
const char *cu_c_dlpack_run_params(cu *cx, const cu_c_func *f, const bool *given);

// c_model.c
const cu_c_model *cu_c_model_of(const cu_c_options *o, const ir_func *f);  // whose run function it is; NULL: none
// The run function with a last parameter "void *workspace": NULL, or the memory of its temporaries.
const char *cu_c_model_body(const cu *cx, const cu_c_func *f);
void cu_c_declare_models(cu *cx, str_buf *out);
void cu_c_models(cu *const *units, int count, str_buf *out);     // the definitions

// c_host.c
void cu_c_host_body(cu *cx, const cu_c_func *f);
void cu_c_checked(cu *cx, const char *call);     // puts a call that gives a status, and what follows on failure
void cu_c_failed(cu *cx, const char *call);      // the same for one that always fails

// c_doc.c: the comment above an entry of the header.
void cu_c_describe(cu *cx, const cu_c_func *f, str_buf *out);

// c_operator.c: the first entry of an operator represents all of them.
bool cu_c_is_first_of_operator(const cu *cx, const cu_c_func *f);
bool cu_c_has_operator(cu *cx, const cu_c_func *f);          // C has one function for them
const char *cu_c_operator_name(const cu *cx, const cu_c_func *f);
void cu_c_operator(cu *cx, const cu_c_func *f, str_buf *out); // the definition
void cu_c_declare_operator(cu *cx, const cu_c_func *f, str_buf *out);
