// Evaluation: names, expressions, statements, calls, records, modules. One walker evaluates while compiling and writes
// IR for what is known only at run time (docs/adr/0002).
#pragma once

#include "typecheck/lowering/lowering.h"

// ops.c
tc_value tc_unary(tc *tx, ast_op op, tc_value a, src_span span);
tc_value tc_compare(tc *tx, ast_op op, tc_value a, tc_value b, src_span span);
const char *tc_special_name(ast_op op); // "add" of '__add__'; NULL: no such method
tc_value tc_min_max(tc *tx, bool is_max, tc_value a, tc_value b, src_span span);

// expr.c
tc_value tc_lookup(tc *tx, sym name, src_span span);
bool tc_has_attribute(tc *tx, tc_value v, sym name);

// The items of a comprehension, as a list, set or dict; poison after an error.
tc_value tc_comprehension(tc *tx, const ast_comprehension *e);

// subscript.c
tc_value tc_index(tc *tx, tc_value v, const ast_subscript *at);

// reduce.c
typedef enum tc_reduction {
    TC_REDUCE_SUM,
    TC_REDUCE_PROD,
    TC_REDUCE_MAX,
    TC_REDUCE_MIN,
    TC_REDUCE_ANY,
    TC_REDUCE_ALL,
    TC_REDUCE_ARGMAX,
    TC_REDUCE_ARGMIN,
    TC_REDUCE_CUSTOM, // reduce(combine, identity, …)
} tc_reduction;
// A call of sum(…), reduce(…) and their kin with a generator whose elements are run-time values; false: it is none.
bool tc_reduce_call(tc *tx, tc_value callee, const ast_call *e, tc_value *out);
tc_value tc_generator_call(tc *tx, tc_function *f, tc_args *args);
tc_value tc_native_reduce(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_prod(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_arg(tc *tx, const tc_native *self, tc_args *args);

// cached.c
tc_value tc_native_cached(tc *tx, const tc_native *self, tc_args *args);
// A call of a function under @cached; false: it is evaluated as any, and nothing has happened.
bool tc_call_cached(tc *tx, tc_function *f, tc_args *args, tc_value *result);
tc_value tc_call_uncached(tc *tx, tc_function *f, tc_args *args); // call.c

// origin.c
tc_value tc_native_defined_in(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_call_site(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_within(tc *tx, const tc_native *self, tc_args *args); // errors in the call of f have the text as a note

// Reports a branch or a loop of a graph function that depends on an open size; false: it is not in one, or the value is poison.
bool tc_open_decides(tc *tx, tc_value decides, src_span span, const char *what);

// operators/extent.c
// (text, estimate) of an extent: an expression of type parameters, equal ones with equal texts; None: it is no such expression.
// Whether [a op b] holds for all values of the sizes that are open, or for none; false: that is not known.
bool tc_known_order(tc *tx, ast_op op, tc_value a, tc_value b, bool *holds);
tc_value tc_native_extent(tc *tx, const tc_native *self, tc_args *args);

// call.c
// A scope with the values of type parameters and parameters that a call with [args] gives; NULL after errors.
tc_scope *tc_bind_arguments(tc *tx, tc_function *f, tc_args *args);

// operators/graph_call.c: what calls of graph functions in tests are made of
tc_value tc_native_in_test_code(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_run_graph(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_test_weight(tc *tx, const tc_native *self, tc_args *args);

// weights.c
// Where the author asks: the innermost call in the main file, which the library's own calls stand behind; else [span].
src_span tc_asked_at(const tc *tx, src_span span);
tc_value tc_native_weights(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_find_weight(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_weight_names(tc *tx, const tc_native *self, tc_args *args);
void tc_weights_check_unused(tc *tx); // warns of tensors that no graph function asked for

// interpret.c
// Calls the method of the handler in force, or of the next one around it that has such a method; false: there is none.
bool tc_handler_call(tc *tx, const char *name, const tc_value *args, size_t len, src_span span, tc_value *out);
extern const tc_env tc_no_interpretation;
tc_value tc_node_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found);
tc_value tc_native_with_handler(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_perform(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_analyze(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_control_region(tc *tx, const tc_native *self, tc_args *args);
// Of launches that are alike, the first is planned: kernels/shared_launch.c.
tc_value tc_native_launch_once(tc *tx, const tc_native *self, tc_args *args);
// What SearchSpace.choose chooses from: eval/choice.c.
tc_value tc_native_note_choice(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_note_passed_over(tc *tx, const tc_native *self, tc_args *args);
// Launches that do not depend on each other: kernels/launch_together.c.
tc_value tc_native_launch_together(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_share(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_is_shared(tc *tx, const tc_native *self, tc_args *args); // whether share() of the same would find a value
tc_value tc_native_compute(tc *tx, const tc_native *self, tc_args *args);
tc_value tc_native_operator(tc *tx, const tc_native *self, tc_args *args);

// stmt.c
tc_flow tc_exec_list(tc *tx, const ast_list *list);
tc_flow tc_exec(tc *tx, const ast_stmt *s);
bool tc_assign_target(tc *tx, const ast_expr *target, tc_value v, src_span span);
void tc_bind_local(tc *tx, sym name, tc_value v, src_span span);
// tc_assign_target for the next iteration of a loop that runs while compiling.
bool tc_next_item(tc *tx, const ast_expr *target, tc_value v, src_span span);
void tc_name_temporary(tc_value v, sym name); // a tensor made just now takes the first name it is bound to

// walk.c: the items that a loop which runs while compiling visits
typedef struct tc_walk {
    tc_value of;
    src_span span;
    tc_list items;    // as they were at the beginning
    tc_value *frozen; // the same, run-time ones as they were then
    size_t size, next;
    bool failed;
} tc_walk;
bool tc_walk_begin(tc *tx, tc_walk *w, tc_value of, src_span span); // false after an error
bool tc_walk_next(tc *tx, tc_walk *w, tc_value *item);              // false at the end, and [failed] after an error

// control.c. See Note [regions] there.
typedef VEC(sym) tc_names;

void tc_assigned_in(tc *tx, const ast_list *list, tc_names *out); // the names that the statements bind
void tc_materialize(tc *tx, const ast_list *list);                // before run-time control flow whose text is [list]
tc_flow tc_exec_if(tc *tx, const ast_if *s);
void tc_silence(tc *tx, const ast_stmt *s); // after an error in [s]: the names it should have bound are poison
tc_flow tc_exec_with(tc *tx, const ast_with *s);

// loops.c
tc_flow tc_exec_for(tc *tx, const ast_for *s);
tc_flow tc_exec_while(tc *tx, const ast_while *s);
// Start, stop and step of a loop over the range, of one type. [body]: what could change them. False after an error.
bool tc_range_bounds(tc *tx, const tc_range *r, const ast_list *body, src_span span, ir_expr *out[3]);

// return.c
tc_flow tc_exec_return(tc *tx, const ast_return *s);

// call.c
// An attempt to evaluate something while compiling. It ends with false if that needs run-time values: then nothing has
// happened. Errors are reported as ever.
typedef struct tc_try {
    ir_block aside, *block;
    tc_frame *frame;
    size_t mark, shared;
    int attempt;
    bool muted, outermost;
} tc_try;
void tc_try_begin(tc *tx, tc_try *t);
bool tc_try_end(tc *tx, tc_try *t);
tc_function *tc_function_new(tc *tx, const ast_function *decl, tc_scope *closure, tc_module *module);
tc_value tc_function_brackets(tc *tx, tc_value f, tc_value *items, const sym *names, size_t len, src_span span);
void tc_function_defaults(tc *tx, tc_function *f); // evaluates them
void tc_missing_return(tc *tx, const tc_function *f);
bool tc_bind_type_params(tc *tx, const ast_type_params *params, const tc_function *f, tc_scope *scope, tc_args *args,
                         bool *taken, src_span span);
bool tc_check_bound(tc *tx, const ast_type_param *p, tc_value v, tc_scope *scope, src_span span);

// record.c
tc_class *tc_class_new(tc *tx, const ast_class *decl, tc_scope *closure, tc_module *module);
tc_value tc_class_brackets(tc *tx, tc_value c, tc_value *items, size_t len, src_span span);
tc_value tc_construct(tc *tx, tc_class *c, tc_args *args);
tc_value tc_record_copy(tc *tx, tc_value v, src_span span);
bool tc_body_changes(const tc_class *c, sym name, const ast_list *body);
tc_value tc_record_method(tc *tx, tc_value v, sym name, bool *found);
bool tc_is_property(const ast_function *f); // a method under @property: 'r.name' calls it
tc_value *tc_record_field(tc_record *r, sym name, int *index); // NULL: it has no such field; [index] may be NULL
bool tc_record_assign_field(tc *tx, tc_value rec, sym name, tc_value v, src_span span);
tc_value tc_record_dunder(tc *tx, tc_value v, const char *name, const tc_value *args, size_t len, src_span span,
                          bool *found);

// protocol.c: the protocols of Python's syntax for records
bool tc_is_special_method(str name); // '__add__' and the others that are called by operators and statements
// a < b by '__lt__' of a or '__gt__' of b, and so on; false: neither has the method.
bool tc_compare_records(tc *tx, ast_op op, tc_value a, tc_value b, src_span span, tc_value *out);
bool tc_sets_ordered(tc *tx, const tc_list *small, const tc_list *large, bool *contained);
// The iterable of a loop over [v]: the result of a record's '__iter__', or the record itself if it is a sequence;
// poison after an error.
tc_value tc_iterable(tc *tx, tc_value v, src_span span);
bool tc_iterate_record(tc *tx, tc_value record, src_span span, tc_list *out);
tc_value tc_record_contains(tc *tx, tc_value record, tc_value item, src_span span);
bool tc_record_store_all(tc *tx, tc_record *to, tc_record *from, src_span span);

// module.c
// The context of a file whose top level has been evaluated; NULL after errors.
tc *tc_open(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options);
bool tc_exec_import(tc *tx, const ast_stmt *s);
tc_value tc_module_attribute(tc *tx, tc_module *m, sym name, src_span span, tc_module *from);
tc_value tc_binding_value(tc *tx, tc_binding *b, src_span span);

// mentions.c: whether a name occurs in an expression
bool tc_expr_mentions(const ast_expr *e, sym name);

// native.c: the outermost scope, attributes of values, methods of built-in kinds
void tc_natives_install(tc *tx);
tc_value tc_native_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found);
tc_value tc_method_call(tc *tx, tc_value self, sym name, tc_args *args);

// native_py.c: Python's built-in functions
extern const tc_native tc_native_python[];

// ---- provided by the folders above: kinds of functions, and calls that become functions of the output -------------

// kernels/classify.c
void tc_function_classify(tc *tx, tc_function *f);
// The value of the name of a function: the result of its decorators.
tc_value tc_decorated(tc *tx, tc_function *f);
// kernels/attributes.c
bool tc_exec_attribute(tc *tx, const ast_attribute *target, tc_value v, src_span span, bool *is_attrs);
// kernels/launch.c
tc_value tc_launch(tc *tx, tc_function *f, tc_args *args);
tc_value tc_capture(tc *tx, tc_binding *b, src_span span);
// kernels/device.c
ir_func *tc_device_instance(tc *tx, tc_function *f, tc_scope *types, src_span span);
// kernels/native_asm.c
tc_value tc_native_asm(tc *tx, const tc_native *self, tc_args *args);
// kernels/native_gpu.c: tensors, attributes, statements in the form of calls
extern const tc_native tc_native_gpu[];
tc_value tc_native_tensor_method(tc *tx, tc_value self, sym name, tc_args *args);
// operators/attributes.c
// Whether the operator takes what a call of one of its methods gives; else it has been reported at the call.
tc_value tc_native_takes_attributes(tc *tx, const tc_native *self, tc_args *args);
// attribute_defaults(operator): a dict of the defaults of parameters that are known without operands.
tc_value tc_native_attribute_defaults(tc *tx, const tc_native *self, tc_args *args);
// fits_parameters(function, values): whether the dict's values are what the parameters of these names take.
tc_value tc_native_fits_parameters(tc *tx, const tc_native *self, tc_args *args);
// parameter_names(operator): the names of the parameters in front of *rest, as a tuple.
tc_value tc_native_parameter_names(tc *tx, const tc_native *self, tc_args *args);
// operators/schedule.c
// Whether a function can be the schedule of an operator that takes an epilogue, or none; else it has been reported at the decorator.
tc_value tc_native_is_schedule(tc *tx, const tc_native *self, tc_args *args);
// operators/entry.c
bool tc_compile_entries(tc *tx);
bool tc_defined(tc *tx, sym name, tc_value *out); // -D NAME=VALUE
