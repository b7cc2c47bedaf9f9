// The elaborator's own declarations: values, scopes, context. Only files of src/typecheck include this.
//
// Elaborating an expression gives a tc_value: a compile-time value (number, text, tuple, type, mapping, function, …) or
// a run-time one (an IR expression, a tensor view, a record with run-time fields). Elaborating a statement appends IR
// to the current block. A poison value stands for something that was reported already and silences what follows from
// it.
#pragma once

#include "typecheck/typecheck.h"

typedef struct tc tc;
typedef struct tc_value tc_value;
typedef struct tc_scope tc_scope;
typedef struct tc_function tc_function;
typedef struct tc_class tc_class;
typedef struct tc_record tc_record;
typedef struct tc_tensor tc_tensor;
typedef struct tc_tensor_type tc_tensor_type;
typedef struct tc_module tc_module;
typedef struct tc_args tc_args;
typedef struct tc_native tc_native;
typedef struct tc_frame tc_frame;
typedef struct tc_generator tc_generator;

typedef __int128 tc_int;

typedef enum tc_kind {
    TC_POISON,
    // compile-time data
    TC_NONE,
    TC_BOOL,
    TC_INT,
    TC_FLOAT,
    TC_STR,
    TC_TUPLE,
    TC_LIST,
    TC_SET,
    TC_DICT,
    TC_RANGE,
    TC_ELLIPSIS,
    // compile-time things
    TC_TYPE,        // scalar, vector, pointer or void type
    TC_TENSOR_TYPE, // T[shape], T[mapping], shared[…]
    TC_KIND,        // int, float, dtype, function, …: what a compile-time parameter may be
    TC_AT_LEAST,    // at_least(n): integers that a compile-time parameter may be
    TC_REFERENCE,   // ref_u32, references: parameters that are written to
    TC_MAP,
    TC_LAYOUT,
    TC_FUNCTION,
    TC_NATIVE,
    TC_METHOD,
    TC_MODULE,
    TC_CLASS,
    TC_NAMESPACE,
    TC_SPACE,
    TC_SCOPE_NAME,
    // run-time
    TC_RT,         // scalar, vector or pointer expression
    TC_TENSOR,     // a tensor or a view of one
    TC_TENSOR_MAP, // one of ir_func.maps
    TC_RECORD,
    TC_TASKS, // mapping.on(worker): only `for` takes it
    TC_GRID,  // grid(m, n): only `for` takes it
} tc_kind;

typedef struct tc_list {
    tc_value *at;
    size_t len, cap;
    int region;     // in which it was made; 0 also where it does not matter
    int attempt;    // the compile-time attempt that made it or has remembered how it was; 0: none
    int depth;      // of items in each other, 1 without any; parts that change later are not counted
    int level;      // how deep it may lie in containers that were changed to hold it
    int64_t weight; // items, those of items included: data that share parts are small, but not for who walks them
} tc_list;

typedef struct tc_dict {
    tc_list keys, values;
    int region;
} tc_dict;

typedef struct tc_tasks {
    const tm_map *map;
    ir_expr *worker;
    bool as_tuple;
} tc_tasks;

typedef struct tc_grid {
    int rank;
    struct tc_value *extents;
    const char *attrs;
    bool as_tuple;
} tc_grid;

typedef struct tc_range {
    tc_int start, stop, step;
    bool is_static;     // static_range(): unrolled also in run-time code
    ir_expr *bounds[3]; // of a run-time range: start, stop, step; else NULL
} tc_range;

// Kinds of compile-time parameters; also Python's conversion functions int(), float(), …
typedef enum tc_kind_name {
    TC_KIND_INT,
    TC_KIND_FLOAT,
    TC_KIND_BOOL,
    TC_KIND_STR,
    TC_KIND_DTYPE,
    TC_KIND_TYPE,
    TC_KIND_LAYOUT,
    TC_KIND_MAPPING,
    TC_KIND_FUNCTION,
    TC_KIND_TUPLE,
    TC_KIND_LIST,
    TC_KIND_DICT,
    TC_KIND_SET,
    TC_KIND_OBJECT,
    TC_KIND__COUNT
} tc_kind_name;

typedef enum tc_namespace {
    TC_NS_ATTRS,
    TC_NS_ATTRS_CUDA,
    TC_NS_ATTR,
    TC_NS_META,
    TC_NS_HIDET,
    TC_NS_CLUSTER, // this_cluster
    TC_NS_TID,
    TC_NS_BID,
    TC_NS_BDIM,
    TC_NS_GDIM,
} tc_namespace;

// Integers from [least] on; open ones have the type.
typedef struct tc_at_least {
    int64_t least;
    dtype type;
} tc_at_least;

typedef struct tc_method {
    struct tc_value *self;
    sym name;
} tc_method;

struct tc_value {
    tc_kind kind;
    union {
        bool b;
        tc_int i;
        double f;
        str s;
        tc_list *list; // TUPLE, LIST, SET
        tc_dict *dict;
        tc_range *range;
        const ir_type *type; // TYPE; REFERENCE: NULL for any
        tc_tensor_type *tensor_type;
        tc_kind_name kind_name;
        tc_at_least *at_least;
        const tm_map *map;
        const tm_layout *layout;
        tc_function *function;
        const tc_native *native;
        tc_method *method;
        tc_module *module;
        tc_class *class;
        tc_namespace ns;
        ir_space space;
        ir_scope scope_name;
        ir_expr *rt;
        tc_tensor *tensor;
        ir_var *tensor_map;
        tc_record *record;
        tc_tasks *tasks;
        tc_grid *grid;
    };
};

// ---- tensors -----------------------------------------------------------------------------------------------------

struct tc_tensor_type {
    const ir_type *elem;
    ir_space space;                // GLOBAL by default; GENERIC: any
    int rank;                      // -1: unknown (a layout parameter still to be inferred)
    tc_value shape[TM_MAX_RANK];   // INT or RT
    const tm_layout *layout;       // NULL: row-major
    const tm_map *map;             // register tensors distributed by a mapping
    tc_class *record;              // shared_tensor of records; else NULL
    bool is_strided;               // strided(…): parameters
    tc_value strides[TM_MAX_RANK]; // with [is_strided]: INT or RT
    int align;                     // with [is_strided]: of the first element, in bytes
};

// A view: base index d is offset[d] + (dim_of[d] >= 0 ? index of view dimension dim_of[d] : 0).
struct tc_tensor {
    ir_var *base;
    int rank;
    tc_value shape[TM_MAX_RANK];  // INT or RT, of the view
    ir_expr *offset[TM_MAX_RANK]; // by base dimension; NULL: 0
    int dim_of[TM_MAX_RANK];      // by base dimension
    const tm_map *map;            // of the view, for register tensors (the tile's own mapping)
    bool is_view;                 // not the whole tensor as it was declared
    bool is_temporary;            // result of an instruction: the first name bound to it names it
    bool is_const;                // may not be written
};

// ---- functions, classes, modules ---------------------------------------------------------------------------------

// What elements, reductions and nodes mean: interpret.c, Note [interpretations].
typedef struct tc_env {
    tc_value handler; // a record; NONE: no interpretation, whatever is in force around
    const struct tc_env *outer;
} tc_env;

struct tc_function {
    uint32_t id;
    sym name;                 // NULL: lambda
    const ast_function *decl; // NULL: lambda
    const ast_lambda *lambda;
    tc_module *module;
    tc_scope *closure; // where the body's free names are looked up
    tc_value *self;    // bound method: the record; else NULL
    tc_class *owner;   // the class of a method
    sym *bound_names;  // compile-time parameters given in brackets
    tc_value *bound_values;
    int bound_count;
    tc_value *defaults; // by parameter: its known default, as it was where the function was defined; poison: none
    const tc_env *env;  // in force where it was made, and so when it is called; NULL: that of the call
    const tc_operator *operator;   // that it launches, as an entry of the file; else NULL
    const char *operator_types;    // of such an entry: "f16"
    bool is_strided;               // such an entry for tensors with any strides
    const tc_generator *generator; // the elements of a generator by their places, instead of a body; else NULL
    // facts found once per declaration (shared by copies that bind parameters)
    struct tc_function_facts *facts;
};

typedef struct tc_function_facts {
    bool is_kernel, is_script, is_instruction, is_test, is_host;
    bool launches_known, launches; // what makes a function under @hidet.script a host function
    bool has_grid, has_block;
    bool needs_run_time; // compile-time evaluation failed once for want of run-time values
    bool decorators_done;
    bool in_progress;          // its plain check is under way
    const ast_call *test_call; // @test(…); NULL: @test
    // @instruction(…)
    const char *arch_text;
    const arch *arch;
    ir_scope scope;
    int effects;
    bool pure;
    const tc_list *updates; // names of the operands that it changes in place; NULL: none
    map instances;          // device functions and kernels: key text -> ir_func*
} tc_function_facts;

typedef struct tc_field {
    sym name;
    src_span span;
    ast_expr *annotation;
    ast_expr *default_value;
} tc_field;

struct tc_class {
    uint32_t id;
    sym name;
    const ast_class *decl;
    tc_module *module;
    tc_scope *closure; // scope with the type parameters bound, for instances
    sym *bound_names;  // type parameters given
    tc_value *bound_values;
    int bound_count;
    tc_field *fields;
    int field_count;
    map methods;       // sym -> tc_function*
    tc_class *generic; // the declaration this is an instance of
};

struct tc_record {
    tc_class *class;
    tc_value *fields;    // RT fields: VAR of the field's own variable
    const tc_env *env;   // in force where it was made, and so in its methods; NULL: that of the call
    int depth, level;    // as those of lists
    const ir_type *elem; // of a record that stands for a tensor: the type of its elements, if an annotation has said it
};

struct tc_module {
    const char *path; // dotted name
    src_file *file;
    ast_module *ast;
    tc_scope *scope;
    bool loading;
    bool is_main;
    src_span imported_at;
    tc_module *importer;
};

// ---- scopes ------------------------------------------------------------------------------------------------------

typedef struct tc_binding {
    sym name;
    tc_value value;
    src_span span;  // where it was bound
    ir_var *var;    // run-time scalar variable behind [value], or NULL
    bool is_reference; // a parameter by reference: assignments go to what [value] reads
    ir_func *owner; // function whose IR the run-time value belongs to
    int region;     // control-flow region in which it was bound
    enum { TC_BOUND, TC_MAYBE_UNDEFINED } state;
    src_span other;         // MAYBE_UNDEFINED: the branch
    bool differs;           // MAYBE_UNDEFINED: both branches bind it, to things that have nothing in common
    tc_module *lazy_module; // imports are followed on first use of the name …
    sym lazy_name;
} tc_binding;

struct tc_scope {
    tc_scope *parent;
    tc_module *module;
    enum { TC_SCOPE_NATIVE, TC_SCOPE_MODULE, TC_SCOPE_CLASS, TC_SCOPE_FUNCTION } kind;
    bool is_comprehension; // has the targets of a comprehension; `:=` in there binds in the scope around it
    bool hashed;
    map names;              // of large scopes: sym -> tc_binding*
    VEC(tc_binding *) list; // in order of binding
};

// ---- calls -------------------------------------------------------------------------------------------------------

typedef struct tc_arg {
    sym name; // NULL: positional
    tc_value value;
    src_span span;
} tc_arg;

struct tc_args {
    VEC(tc_arg) list;
    src_span span; // of the call
};

typedef tc_value tc_native_run(tc *tx, const tc_native *self, tc_args *args);
struct tc_native {
    const char *name;
    tc_native_run *run;
    int min_args, max_args; // positional and keyword together; max -1: any
    const char *params;     // names in order, space-separated, for keywords; NULL: positional only
    int data;
};

typedef enum tc_flow { TC_NEXT, TC_BREAK, TC_CONTINUE, TC_RETURN, TC_DEAD, TC_ABORT } tc_flow;

typedef enum tc_loop_kind { TC_LOOP_RT, TC_LOOP_STATIC, TC_LOOP_TASKS } tc_loop_kind;
typedef struct tc_loop {
    tc_loop_kind kind;
    int region;
    int with_depth;
    struct tc_loop *outer;
} tc_loop;

// One function activation: a kernel, a device function, or a function that dissolves in its caller.
struct tc_frame {
    tc_frame *caller;
    const tc_function *function; // NULL: module level
    tc_scope *scope;
    src_span call_span;
    const char *title;
    uint32_t *site;    // of the call that is dissolved, 0 until a statement needs it; NULL: no such call
    bool compile_time; // loops over known bounds run
    bool preparing;    // its arguments are being matched: the frame of the body, if there is one yet, tells the same
    bool dissolved;    // `return` gives a value to the caller instead of a RETURN statement
    int entry_region;
    tc_loop *loop;
    // result of a dissolved function
    bool has_result;
    tc_value result;
    src_span result_span;
    bool result_in_vars;        // some return sits under run-time control flow: [result] holds variables
    int label;                  // of the scope to leave, 0: none yet
    const ir_type *return_type; // of device functions; NULL: none given
    tc_value return_annotation;
    bool in_instruction;
    int with_depth;              // `with` blocks open in this activation
    src_span attributes[9];      // where this kernel's attributes were assigned
    VEC(ir_stmt *) result_decls; // declarations of result variables, put before the scope
};

// One change that a compile-time attempt made to data that outlive it.
typedef struct tc_undo {
    struct tc_value *slot; // this held [value]; or NULL
    tc_list *list;         // this was [before]; or NULL
    struct tc_value value;
    tc_list before;
} tc_undo;

// The shared memory that attrs.cuda.dynamic_smem_bytes of the kernel being written asks for.
typedef struct tc_dynamic_smem {
    const ir_func *func;
    ir_expr *bytes;
    ir_block *block; // the attribute is assigned here …
    size_t position; // … behind so many statements
    tc_tensor *tensor; // NULL: nobody has asked for its address
    ir_stmt *alloc;    // its declaration, which is put in place when the body is written
} tc_dynamic_smem;

struct tc {
    arena *arena;
    sym_table *syms;
    diag_context *diags;
    const tc_options *options;
    ir_module *ir;
    ir_func *func;   // being written; NULL at module level
    ir_block *block; // statements go here
    tc_frame *frame;
    int region; // number of the current run-time control-flow region, unique
    int next_region;
    VEC(int) region_stack;
    int next_label;
    int64_t steps, step_budget;
    VEC(tc_undo) undo; // while speculating: what compile-time data were before they changed
    int depth;         // nested calls
    int eval_depth;    // nested expressions and statements, over all calls
    bool aborted;      // budget gone or too many errors: unwind
    int speculating;   // > 0: inside a compile-time attempt
    int attempt;       // its number, if so
    int last_attempt;
    bool needs_run_time; // the attempt met a run-time value
    tc_scope *natives;
    map modules;      // path -> tc_module*
    map file_modules; // src_file* -> tc_module*
    VEC(tc_module *) loading;
    tc_module *main;
    tc_scope *main_scope;
    map intrins;     // key -> ir_intrin*
    map definitions; // ir_var* -> ir_expr* (initialisers of single-assignment locals)
    map names_used;  // IR function names
    map entry_names; // those that entries have or will have: no other function takes one
    uint32_t next_id;
    bool attrs_allowed;
    tc_dynamic_smem dynamic_smem;
    const ast_comprehension *references; // under way: its items are references, and stay as they are
    const tc_env *env; // the interpretation in force; NULL: none so far
    bool in_test; // host code is a test's: elements can be read and written there
    bool analyzes; // code is looked at as a kernel's, and not kept
    src_span place;      // of the expression evaluated last: where methods are called that no text names
    src_span value_span; // right side of the assignment under way; nowhere outside of one
    // captures of the kernel being written from a host function
    struct tc_captures *captures;
    VEC(bool) define_used;
};

// Whether code is being written that the host runs.
static inline bool tc_on_host(const tc *tx)
{
    return tx->func && tx->func->kind == IR_HOST_FUNC && !tx->analyzes;
}

typedef struct tc_captures {
    map vars;            // host ir_var* -> kernel ir_var*
    VEC(ir_expr *) args; // host expressions, in order of the extra parameters
    ir_func *from;       // the host function
    ir_block *from_block;
} tc_captures;

// value.c
extern const char *const tc_kind_texts[];
// Whether the value known while compiling is of this kind, as isinstance() asks; annotations take more.
bool tc_is_of_kind(tc_kind_name k, tc_value v);
static inline tc_value tc_poison(void)
{
    return (tc_value){.kind = TC_POISON};
}
static inline tc_value tc_none(void)
{
    return (tc_value){.kind = TC_NONE};
}
static inline tc_value tc_bool(bool b)
{
    return (tc_value){.kind = TC_BOOL, .b = b};
}
static inline tc_value tc_of_int(tc_int i)
{
    return (tc_value){.kind = TC_INT, .i = i};
}
static inline tc_value tc_float(double f)
{
    return (tc_value){.kind = TC_FLOAT, .f = f};
}
static inline tc_value tc_str(str s)
{
    return (tc_value){.kind = TC_STR, .s = s};
}
static inline tc_value tc_type(const ir_type *t)
{
    return (tc_value){.kind = TC_TYPE, .type = t};
}
static inline tc_value tc_map_value(const tm_map *m)
{
    return (tc_value){.kind = TC_MAP, .map = m};
}
static inline tc_value tc_layout_value(const tm_layout *l)
{
    return (tc_value){.kind = TC_LAYOUT, .layout = l};
}
static inline tc_value tc_rt(ir_expr *e)
{
    return (tc_value){.kind = TC_RT, .rt = e};
}
static inline bool tc_is_poison(tc_value v)
{
    return v.kind == TC_POISON;
}
tc_value tc_list_new(tc *tx, tc_kind kind, const tc_value *items, size_t len);
tc_value tc_dict_new(tc *tx);
void tc_list_push(tc *tx, tc_list *list, tc_value v);
void tc_remember(tc *tx, tc_value *slot);
void tc_undo_changes(tc *tx, size_t mark);
bool tc_may_change(tc *tx, tc_value container, src_span span); // false, and an error, under run-time control flow
// False, and an error: the container would be a part of itself.
bool tc_may_hold(tc *tx, tc_value container, tc_value item, src_span span);
int64_t tc_weight(tc_value v);
int tc_depth(tc_value v);
tc_value tc_too_deep(tc *tx, src_span span); // reports it and ends the compilation
enum { TC_MAX_DEPTH = 1000 }; // of data in each other: they are walked recursively
tc_value *tc_dict_find(tc *tx, tc_dict *d, tc_value key); // NULL also after an error
void tc_dict_put(tc *tx, tc_dict *d, tc_value key, tc_value value);
bool tc_is_compile_time(tc_value v);               // no run-time part anywhere
bool tc_is_number(tc_value v);                     // INT, FLOAT, BOOL
tc_int tc_range_len(const tc_range *r);            // of a range over known bounds
bool tc_equal(tc_value a, tc_value b);             // the same known value; records only if they are one record
bool tc_truth(tc_value v, bool *out);              // false if it has no compile-time truth
void tc_repr(tc *tx, tc_value v, str_buf *out);    // as Python's repr(), but calls no methods of records
void tc_program_repr(tc *tx, tc_value v, str_buf *out); // what repr() gives in a program
void tc_to_text(tc *tx, tc_value v, str_buf *out); // what str() gives in a program
const char *tc_describe(tc *tx, tc_value v);       // "an int", "a run-time f32", "a tensor f16[64, 64]": for messages
const char *tc_text(tc *tx, tc_value v);           // repr, 0-terminated
void tc_int_text(tc_int i, str_buf *out);
bool tc_as_int64(tc_value v, int64_t *out); // INT or BOOL that fits

// scope.c
tc_scope *tc_scope_new(tc *tx, tc_scope *parent, tc_module *module, int kind);
tc_binding *tc_scope_find_here(const tc_scope *s, sym name);
tc_binding *tc_scope_find(const tc_scope *s, sym name, tc_scope **where);
tc_binding *tc_scope_bind(tc *tx, tc_scope *s, sym name, tc_value v, src_span span);
const char *tc_scope_suggest(const tc_scope *s, str name); // a visible name close to [name], or NULL

// errors: report once, with notes through the calls that led here; the value is poison
diag *tc_error(tc *tx, diag_code code, src_span span, ...);
#define TC_ERR(tx, code, span, ...) (tc_error((tx), (code), (span), ##__VA_ARGS__), tc_poison())
// In a compile-time attempt: says that run-time values are needed, so that the call is elaborated again. Elsewhere:
// false.
bool tc_wants_run_time(tc *tx);
bool tc_spend(tc *tx, int64_t steps, src_span span); // the same for many
bool tc_step(tc *tx, src_span span);                 // false: the budget is gone
const char *tc_suggest(tc *tx, const char *const *names, str name);

// emit.c
// A statement of the current function, with its origin.
ir_stmt *tc_new_stmt(tc *tx, ir_stmt_kind kind, src_span span);
void tc_emit(tc *tx, ir_stmt *s);
ir_var *tc_declare(tc *tx, const char *name, const ir_type *type, ir_expr *init, src_span span);
ir_var *tc_declare_result(tc *tx, ir_expr *call, src_span span);
ir_expr *tc_keep(tc *tx, ir_expr *e, const char *name, src_span span); // in a variable, unless it is stable already
bool tc_is_stable(
    const ir_expr *e); // its value cannot change: constants, special registers, single-assignment variables
tc_value tc_freeze(tc *tx, tc_value v, src_span span);
// If statements were appended after [mark], an unstable value made before them is stored before them.
tc_value tc_keep_before(tc *tx, tc_value v, size_t mark, src_span span);
void tc_assign_var(tc *tx, ir_var *v, ir_expr *value, src_span span);
int tc_region_enter(tc *tx);
void tc_region_leave(tc *tx);
void tc_close_region(tc *tx, int region, src_span place); // what was bound in there is not visible any more
bool tc_in_region(const tc *tx, int region);
ir_expr *tc_resolve_definitions(tc *tx, ir_expr *e, bool *ok); // over parameters only

// instr.c: the instance of an instruction that asm() makes
const ir_intrin *tc_intern_asm(tc *tx, ir_intrin *in);

// convert.c
ir_expr *tc_convert(tc *tx, tc_value v, const ir_type *want, src_span span,
                    const char *what);                                    // implicit; NULL after an error
ir_expr *tc_cast(tc *tx, tc_value v, const ir_type *want, src_span span); // explicit T(v)
ir_expr *tc_default_rt(tc *tx, tc_value v, src_span span); // int → i32/i64, float → f32, bool → bool; RT as is
const ir_type *tc_default_type(tc *tx, tc_value v);        // NULL: not a number
ir_expr *tc_to_index(tc *tx, tc_value v, src_span span);   // an integer expression
ir_expr *tc_condition(tc *tx, tc_value v, src_span span);  // a bool expression
bool tc_is_index(tc_value v);
ir_expr *tc_pointer_cast(tc *tx, ir_expr *e, const ir_type *want, src_span span);

// ops.c
tc_value tc_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span);
tc_value tc_unary(tc *tx, ast_op op, tc_value a, src_span span);
tc_value tc_compare(tc *tx, ast_op op, tc_value a, tc_value b, src_span span);
const char *tc_special_name(ast_op op); // "add" of '__add__'; NULL: no such method
tc_value tc_min_max(tc *tx, bool is_max, tc_value a, tc_value b, src_span span);
// a size as arithmetic over INT or RT values
tc_value tc_size_sub(tc *tx, tc_value a, tc_value b, src_span span);

// expr.c
tc_value tc_eval(tc *tx, const ast_expr *e);
tc_value tc_lookup(tc *tx, sym name, src_span span);
tc_value tc_attribute(tc *tx, tc_value v, sym name, src_span span, src_span value_span);
bool tc_has_attribute(tc *tx, tc_value v, sym name);
bool tc_iterate(tc *tx, tc_value v, src_span span, tc_list *out); // compile-time iteration
tc_value tc_index(tc *tx, tc_value v, const ast_subscript *at);
tc_value tc_index_value(tc *tx, tc_value v, tc_value *items, size_t len, src_span span);

// The items of a comprehension, as a list, set or dict; poison after an error.
tc_value tc_comprehension(tc *tx, const ast_comprehension *e);

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

// interpret.c
// Calls the method of the handler in force, or of the next one around it that has such a method; false: there is none.
bool tc_handler_call(tc *tx, const char *name, const tc_value *args, size_t len, src_span span, tc_value *out);
bool tc_load_hook(tc *tx, tc_tensor *t, const tc_list *items, src_span span, tc_value *out);
// What the handler in force makes of T(v), where T is a scalar type; false: there is none.
bool tc_convert_hook(tc *tx, const ir_type *type, tc_value v, src_span span, tc_value *out);
bool tc_handles(tc *tx, const char *name); // whether a handler in force has such a method
extern const tc_env tc_no_interpretation;
// The integer that a record with '__index__' stands for; other values as they are; poison after an error.
tc_value tc_as_index(tc *tx, tc_value v, src_span span);
bool tc_has_index(tc *tx, tc_value v);
// A record with a shape and '__getitem__' as a tensor of that shape, without memory; NULL: it is none. The element type
// is NULL where nothing has told it.
tc_tensor *tc_node_tensor(tc *tx, tc_value v);
tc_value tc_node_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found);
tc_value tc_node_of_type(tc *tx, tc_value v, const ir_type *elem);

// stmt.c
tc_flow tc_exec_list(tc *tx, const ast_list *list);
tc_flow tc_exec(tc *tx, const ast_stmt *s);
bool tc_assign_target(tc *tx, const ast_expr *target, tc_value v, src_span span);
void tc_bind_local(tc *tx, sym name, tc_value v, src_span span);
// `old op= v` of lists, dicts and sets, which change in place; false: they do not in this way.
bool tc_data_in_place(tc *tx, ast_op op, tc_value old, tc_value v, src_span span);
// The items that a loop which runs while compiling visits: walk.c.
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
// tc_assign_target for the next turn of a loop that runs while compiling.
bool tc_take_turn(tc *tx, const ast_expr *target, tc_value v, src_span span);
void tc_name_temporary(tc_value v, sym name); // a tensor made just now takes the first name it is bound to
// control.c
tc_flow tc_exec_if(tc *tx, const ast_if *s);
void tc_silence(tc *tx, const ast_stmt *s); // after an error in [s]: the names it should have bound are poison
tc_flow tc_exec_for(tc *tx, const ast_for *s);
tc_flow tc_exec_while(tc *tx, const ast_while *s);
tc_flow tc_exec_with(tc *tx, const ast_with *s);
tc_flow tc_exec_return(tc *tx, const ast_return *s);
// Start, stop and step of a loop over the range, of one type. [body]: what could change them. False after an error.
bool tc_range_bounds(tc *tx, const tc_range *r, const ast_list *body, src_span span, ir_expr *out[3]);

// call.c
// An attempt to evaluate something while compiling. It ends with false if that needs run-time values: then nothing has
// happened. Errors are reported as ever.
typedef struct tc_try {
    ir_block aside, *block;
    tc_frame *frame;
    size_t mark;
    int attempt;
    bool muted, outermost;
} tc_try;
void tc_try_begin(tc *tx, tc_try *t);
bool tc_try_end(tc *tx, tc_try *t);
tc_value tc_call(tc *tx, tc_value callee, tc_args *args);
tc_value tc_call_values(tc *tx, tc_value callee, const tc_value *values, size_t len, src_span span);
tc_function *tc_function_new(tc *tx, const ast_function *decl, tc_scope *closure, tc_module *module);
tc_value tc_function_brackets(tc *tx, tc_value f, tc_value *items, const sym *names, size_t len, src_span span);
void tc_function_defaults(tc *tx, tc_function *f); // evaluates them
const char *tc_function_title(tc *tx, const tc_function *f);
void tc_missing_return(tc *tx, const tc_function *f);
bool tc_bind_type_params(tc *tx, const ast_type_params *params, const tc_function *f, tc_scope *scope, tc_args *args,
                         bool *taken, src_span span);
bool tc_check_bound(tc *tx, const ast_type_param *p, tc_value v, tc_scope *scope, src_span span);
// classify.c
void tc_function_classify(tc *tx, tc_function *f);
// Whether the decorator says what kind of function stands below it (script, instruction, test); others are called.
bool tc_is_marker(tc *tx, const tc_scope *scope, const ast_expr *d);
// What the name of a function stands for: what its decorators make of it.
tc_value tc_decorated(tc *tx, tc_function *f);
// attributes.c
bool tc_exec_attribute(tc *tx, const ast_attribute *target, tc_value v, src_span span, bool *is_attrs);
// kernel.c
// Whether a function of the output has that name, or an entry will have it, which other functions make way for.
bool tc_name_is_taken(const tc *tx, const char *name, bool is_entry);
// A host function without parameters: the names of [f]'s are bound in [scope]. NULL after errors.
ir_func *tc_host_function(tc *tx, tc_function *f, tc_scope *scope, const char *title);
// launch.c
tc_value tc_launch(tc *tx, tc_function *f, tc_args *args);
tc_value tc_capture(tc *tx, tc_binding *b, src_span span);
// device.c
ir_func *tc_device_instance(tc *tx, tc_function *f, tc_scope *types, src_span span);
// entry.c
bool tc_compile_entries(tc *tx);
bool tc_check_defines(tc *tx);
bool tc_defined(tc *tx, sym name, tc_value *out); // -D NAME=VALUE
// types.c
tc_value tc_eval_annotation(tc *tx, const ast_expr *annotation, tc_scope *scope);
bool tc_infer(tc *tx, const ast_expr *annotation, tc_value actual, tc_scope *scope, const ast_type_params *params,
              bool *bound);
// Strides that only axes of one element tell, once all arguments have been looked at.
void tc_infer_idle(tc *tx, const ast_expr *annotation, tc_value actual, tc_scope *scope, const ast_type_params *params,
                   bool *bound);
tc_value tc_conform(tc *tx, tc_value v, tc_value annotation, const char *what, src_span span);
tc_value tc_type_subscript(tc *tx, tc_value base, tc_value *items, size_t len, src_span span);
tc_value tc_kind_subscript(tc *tx, tc_value kind, tc_value *items, size_t len, src_span span);
const ir_type *tc_value_type(tc_value v); // of RT; NULL otherwise
// native_gpu.c: at the end of a kernel's body; the memory behind a pointer as a tensor of that type
void tc_place_dynamic_smem(tc *tx);
tc_value tc_pointer_view(tc *tx, tc_value p, const tc_tensor_type *type, src_span span);

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
// Whether a - b is known, of integers that are evaluated at the same place.
bool tc_known_difference(const tc *tx, tc_value a, tc_value b, int64_t *out);
bool tc_tensor_assign(tc *tx, tc_tensor *t, tc_value v, src_span span); // whole (view) = tensor or scalar
tc_value tc_tensor_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found);
tc_value tc_tensor_address(tc *tx, tc_tensor *t, tc_value *idx, size_t len, src_span span);
ir_expr *tc_tensor_tile(tc *tx, tc_tensor *t, int *count, src_span span);
ir_expr *tc_default_worker(tc *tx, int64_t workers, src_span span);
bool tc_eval_items(tc *tx, const ast_list *items, tc_list *out);
void tc_tensor_type_text(tc *tx, const tc_tensor_type *t, str_buf *out);
// strided.c
// The tensor type and the strides in the annotation strided(…); false: it is none.
bool tc_strided_parts(tc *tx, const ast_expr *annotation, tc_scope *scope, const ast_expr **type,
                      const ast_expr **strides);
// By dimension of the view, INT or RT; false: its layout has none.
bool tc_strides_of(tc *tx, const tc_tensor *t, tc_value *strides);
// The bytes that the first element is known to begin at a multiple of.
int tc_align_of(const tc_tensor *t);
int tc_align_of_whole(const ir_tensor *info);
bool tc_axis_is_idle(const tc_tensor *t, int axis); // known to have at most one element: its stride says nothing
// Why a tensor does not have the strides, as far as both are known; NULL: it may have them.
const char *tc_strides_differ(tc *tx, const tc_tensor *t, const tc_value *want);
// Whether the elements are known to lie in row-major order without gaps.
bool tc_is_row_major(tc *tx, const tc_tensor *t, src_span span);
// What the run has to see to: that the argument has the strides that the kernel's other arguments give the parameter.
// [arguments]: the kernel's parameters -> the host's values.
void tc_check_launch_strides(tc *tx, const ir_var *param, const tc_tensor *t, const map *arguments, src_span span);
// record.c
tc_class *tc_class_new(tc *tx, const ast_class *decl, tc_scope *closure, tc_module *module);
tc_value tc_class_brackets(tc *tx, tc_value c, tc_value *items, size_t len, src_span span);
tc_value tc_construct(tc *tx, tc_class *c, tc_args *args);
tc_value tc_record_copy(tc *tx, tc_value v, src_span span);
bool tc_body_makes_functions(const ast_function *f);
bool tc_body_changes(const tc_class *c, sym name, const ast_list *body);
bool tc_expr_mentions(const ast_expr *e, sym name); // mentions.c
tc_value tc_record_method(tc *tx, tc_value v, sym name, bool *found);
tc_value *tc_record_field(tc_record *r, sym name, int *index);
bool tc_record_assign_field(tc *tx, tc_value rec, sym name, tc_value v, src_span span);
tc_value tc_record_dunder(tc *tx, tc_value v, const char *name, const tc_value *args, size_t len, src_span span,
                          bool *found);
// protocol.c: what Python's syntax asks of records
bool tc_is_special_method(str name); // '__add__' and the others that are called by operators and statements
// tc_truth for any value of a program; *[v] of a record becomes what decides, which may be known only at run time.
bool tc_truth_of(tc *tx, tc_value *v, src_span span, bool *out);
// a < b by '__lt__' of a or '__gt__' of b, and so on; false: neither has the method.
bool tc_compare_records(tc *tx, ast_op op, tc_value a, tc_value b, src_span span, tc_value *out);
// Equality of items of containers, with the '__eq__' of records. False after an error.
bool tc_items_equal(tc *tx, tc_value a, tc_value b, bool *equal);
bool tc_find_item(tc *tx, const tc_list *items, tc_value wanted, size_t *at); // *[at]: the length if it is not there
bool tc_sets_ordered(tc *tx, const tc_list *small, const tc_list *large, bool *contained);
// What a loop over [v] takes: of a record what its '__iter__' gives, or itself if it is a sequence; poison after an error.
tc_value tc_iterable(tc *tx, tc_value v, src_span span);
bool tc_iterate_record(tc *tx, tc_value record, src_span span, tc_list *out);
tc_value tc_record_contains(tc *tx, tc_value record, tc_value item, src_span span);
bool tc_record_text(tc *tx, tc_value record, bool is_repr, str_buf *out); // false: it has no such method
bool tc_record_store_all(tc *tx, tc_record *to, tc_record *from, src_span span);
// instr.c
const arch *tc_arch_of(tc *tx, tc_value v, src_span span); // NULL: no name of one, which is said
tc_value tc_instruction_text(tc *tx, bool is_ptx, tc_args *args);
bool tc_instruction_decorator(tc *tx, tc_function *f, const ast_call *call);
// module.c
// The context of a file whose top level has been evaluated; NULL after errors.
tc *tc_open(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options);
tc_module *tc_module_load(tc *tx, const char *path, int level, tc_module *importer, src_span span);
bool tc_exec_import(tc *tx, const ast_stmt *s);
tc_value tc_module_attribute(tc *tx, tc_module *m, sym name, src_span span, tc_module *from);
tc_value tc_binding_value(tc *tx, tc_binding *b, src_span span);
tc_value tc_library(tc *tx, const char *module, const char *name, src_span span);
// native*.c
void tc_natives_install(tc *tx);
tc_value tc_native_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found);
tc_value tc_str_method(tc *tx, str s, sym name, tc_args *args, bool *found);
tc_value tc_method_call(tc *tx, tc_value self, sym name, tc_args *args);
tc_value *tc_arg_get(tc_args *args, const char *params, int index);       // by position or keyword; NULL: not given
src_span tc_arg_span(const tc_args *args, const char *params, int index); // of the call where it is not given
bool tc_args_check(tc *tx, const tc_native *n, tc_args *args);
tc_value tc_format_spec(tc *tx, tc_value v, str spec, src_span span);
tc_value tc_print(tc *tx, tc_args *args, bool is_printf);
bool tc_int_list(tc *tx, tc_value v, src_span span, int64_t *out, int *len, const char *what);
