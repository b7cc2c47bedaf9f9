// Shared by the files of this folder: an operator with what its schema says as data of the evaluator, and how entries
// lay its axes out.
#pragma once

#include "schema/schema.h"
#include "typecheck/operators/operators.h"

// record.c: a graph function that was recorded.
typedef struct tc_recorded {
    const char *text;  // as JSON
    tc_value returned; // what the function returned: tensors of the graph
    tc_list names;     // of the parameters that are inputs of the graph, in order
} tc_recorded;

// [given]: the values that a call gives to parameters and type parameters, a size that is open as a run-time value; NULL: those of
// -D, and defaults. False after errors.
bool tc_record_graph(tc *tx, tc_value graph, tc_scope *given, tc_recorded *out);

typedef struct tc_operator_param {
    const ast_param *decl;
    const ast_expr *type; // of a tensor or number, in the operator's scope (tc_operator_scope)
    tc_value value;       // of a choice, where its default or -D is known; else poison
    bool is_default;      // of a choice: its value is that which the definition has anyway
} tc_operator_param;

struct tc_operator {
    op_schema schema;
    tc_value value; // the record
    const tc_function *written; // the author's function: of elementwise operators the function of numbers
    src_span span;              // of the name in its definition
    VEC(tc_operator_param) params; // as schema.params
    VEC(const ast_type_param *) sizes; // type parameters that are extents, or have a default
    VEC(sym) types;                    // those that are types, without those with a default
    VEC(sym) joined;                   // those that stand for any number of axes
    VEC(const ast_expr *) results;     // their types
    VEC(const char *) joined_axes;     // of each of [joined]: the axis of an entry that stands for any number of them
    bool is_by_element;                // all operands are broadcast, elementwise
    bool is_unproven;                  // whether its entries are right for any number of axes is not known
    bool has_array;                    // a parameter that may be a number is an array of the run
    bool is_far;                       // its kernels do with axes of 2 ** 31 elements and more
    tc_scope *scope;                   // that of the author's function, with values for entries: tc_operator_scope
};

// The axes of an operator's entries.
typedef struct tc_entry_layout {
    int ranks[TM_MAX_RANK];     // by variadic parameter: the number of its axes
    int joined[TM_MAX_RANK];    // which of them stands for any number of them; -1: none
    bool is_given[TM_MAX_RANK]; // whether -D says how many, and is no extent
    bool is_strided;            // of elementwise operators: tensors with any strides
    unsigned omitted;           // bit k: the k-th optional operand is omitted
} tc_entry_layout;

// describe.c
// NULL: the value is no operator.
tc_operator *tc_describe_operator(tc *tx, const tc_binding *b);
bool tc_is_operator(tc *tx, tc_value v);
const tc_function *tc_operator_function(tc *tx, tc_value v); // the author's; NULL: it has none
// The schedule that the author has written; NULL: it is one of hidet.lang.compute, which plans.
const tc_function *tc_own_schedule(tc *tx, tc_value v);
const tc_value *tc_operator_field(tc *tx, tc_value v, const char *name);
// The array that the run gives to the parameter; NULL: none.
const tc_operand_type *tc_operand_of_run(const tc *tx, const char *name); // entry.c
// Whether -D names it; then the text is its value's.
bool tc_define_text(tc *tx, const char *name, const char **text);
// The types that entries are made for: what -D says, or the arrays of a run, else the usual ones, else all.
typedef VEC(dtype) tc_dtype_list;
tc_dtype_list tc_wanted_types(tc *tx, const tc_operator *o, const op_symbol *t);
// The dtypes that entries are made for where nothing is said: f16, bf16, f32.
bool tc_is_usual_type(dtype t);

// Whether a parameter that has no type written is a number of the run: its default is a float.
bool tc_is_float_by_default(const ast_expr *default_value);

// make_ast.c: syntax trees of entries, with the location of the operator's name
ast_expr *tc_make_name(tc *tx, src_span span, const char *name);
ast_expr *tc_make_attribute(tc *tx, ast_expr *value, const char *name);
ast_expr *tc_make_sequence(tc *tx, src_span span, ast_kind kind, ast_expr *const *items, size_t len);
ast_expr *tc_make_starred(tc *tx, ast_expr *value);
ast_expr *tc_make_int(tc *tx, src_span span, int64_t value); // not negative
ast_expr *tc_make_subscript(tc *tx, ast_expr *value, ast_expr *const *items, size_t len);
ast_expr *tc_make_none(tc *tx, src_span span);
ast_expr *tc_make_string(tc *tx, src_span span, const char *text);
ast_call *tc_make_call(tc *tx, ast_expr *callee);
void tc_make_argument(tc *tx, ast_call *call, sym name, ast_expr *value); // name NULL: positional
ast_stmt *tc_make_assign(tc *tx, ast_expr *target, ast_expr *value);
ast_stmt *tc_make_expr_stmt(tc *tx, ast_expr *value);
ast_list tc_make_list(tc *tx, ast_node *const *items, size_t len);

// layout.c
// Whether the operand is there in entries of the layout.
bool tc_is_present(const tc_operator *o, const tc_entry_layout *l, size_t param);
// "S", or of several "S1".
const char *tc_axis_name(tc *tx, const tc_operator *o, const tc_entry_layout *l, size_t variadic, int axis);
// Whether an entry of the operator may be asked for, by --entry or as an operator to list.
bool tc_is_asked_for(const tc *tx, const tc_operator *o);
// The axes of the operator's entries; false, and why in the schema, if none are right.
bool tc_lay_out(tc *tx, tc_operator *o, tc_entry_layout *l);
const char *tc_many_axes(tc *tx, const tc_operator *o); // why there is no entry

// probe.c: what a definition does with tensors, as elaborated aside
typedef struct tc_probe {
    tc *tx;
    const tc_operator *op;
    const tc_entry_layout *layout;
    int known;      // what extents are; 0: open, as in entries
    int collapsing; // the variadic parameter whose joined axis has [collapsed] elements; TC_ALL_GROUPS, TC_NO_GROUP
    int collapsed;
    int split;      // so many axes from the joined one on have 2, 3, … elements instead; 0: none
    const dtype *types; // of the type parameters; NULL: the first choice of each
    // While it is open:
    tc_builder k;
    tc_saved saved;
    tc_frame frame;
    tc_lifetime lifetime;
} tc_probe;
enum { TC_ALL_GROUPS = -1, TC_NO_GROUP = -2 };
// Opens a function whose parameters are the operands (but for omitted ones), results and numbers. False after errors.
bool tc_probe_open(tc_probe *p);
tc_value tc_probe_definition(tc_probe *p); // with the type parameters that only the results tell
tc_value tc_probe_operands(tc_probe *p); // a tuple
tc_value tc_probe_results(tc_probe *p);  // a tuple
tc_value tc_probe_named(tc_probe *p);    // a dict: the parameters of the definition that are no tensors; poison: one has no value
// What `name` of hidet.lang.[module] gives for these arguments.
tc_value tc_probe_call(tc_probe *p, const char *module, const char *name, const tc_value *args, size_t count);
ir_func *tc_probe_close(tc_probe *p);    // it is no part of the output

// infer.c
// Sets schema.family of an operator that has no kernels of its own, by what the planner makes of it with small operands.
void tc_find_family(tc *tx, tc_operator *o);
// Sets schema.inferred for these operands and attributes, by elaborating the definition. False after errors.
bool tc_infer_results(tc *tx, tc_operator *o, const tc_define *given, int count);

// collapse.c
// Whether any number of axes may be collapsed into the joined ones of the entry; with these types of the type parameters,
// and with [known] as the extent of all other axes: some definitions take only multiples of a number. Unknown: the
// definition cannot be elaborated with them.
typedef enum tc_collapse { TC_COLLAPSE_YES, TC_COLLAPSE_NO, TC_COLLAPSE_UNKNOWN } tc_collapse;
tc_collapse tc_may_collapse(tc *tx, const tc_operator *o, const tc_entry_layout *l, const dtype *types, int known);

// collapse_code.c
void tc_compute_constants(ir_module *m, ir_block *block, arena *scratch);
