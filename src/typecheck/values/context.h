// The state of elaboration: scopes, arguments, activations of functions, and the context that everything takes.
#pragma once

#include "typecheck/values/value.h"

// ---- scopes ------------------------------------------------------------------------------------------------------

typedef struct tc_binding {
    tc_value value;
    sym name;
    ir_var *var;    // run-time scalar variable behind [value], or NULL
    ir_func *owner; // function whose IR the run-time value belongs to
    tc_module *lazy_module; // imports are followed on first use of the name …
    sym lazy_name;
    src_span span;  // where it was bound
    src_span other; // MAYBE_UNDEFINED: the branch
    int region;     // control-flow region in which it was bound
    enum { TC_BOUND, TC_MAYBE_UNDEFINED } state : 8;
    bool differs;      // MAYBE_UNDEFINED: both branches bind it, to things that have nothing in common
    bool is_reference; // a parameter by reference: assignments go to what [value] reads
} tc_binding;

enum { TC_SCOPE_FIRST = 6 }; // names that most activations have at most

struct tc_scope {
    tc_scope *parent;
    tc_module *module;
    enum { TC_SCOPE_NATIVE, TC_SCOPE_MODULE, TC_SCOPE_CLASS, TC_SCOPE_FUNCTION } kind;
    bool is_comprehension; // has the targets of a comprehension; `:=` in there binds in the scope around it
    uint32_t id;            // of this scope alone
    uint32_t born;          // see Note [lifetimes]
    uint64_t has;           // a bit of each name's hash: most scopes of a chain are passed by one look at it
    tc_binding **slots;     // of large scopes: a hash table with open addresses; else NULL
    size_t slot_mask;       // their number, a power of two, minus 1
    VEC(tc_binding *) list; // in order of binding
    tc_binding *first[TC_SCOPE_FIRST]; // room of the list at first
};

// ---- calls -------------------------------------------------------------------------------------------------------

typedef struct tc_arg {
    tc_value value;
    sym name; // NULL: positional
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

// One function activation: a kernel, a device function, or a function that is inlined into its caller.
struct tc_frame {
    tc_frame *caller;
    const tc_function *function; // NULL: module level
    tc_scope *scope;
    src_span call_span;
    const char *title; // NULL: that of the function
    uint32_t *site;    // of the inlined call, 0 until a statement needs it; NULL: no such call
    bool compile_time; // loops over known bounds run
    bool preparing;    // its arguments are being matched: the frame of the body, if there is one yet, tells the same
    bool dissolved;    // `return` gives a value to the caller instead of a RETURN statement
    int entry_region;
    tc_loop *loop;
    // result of an inlined function
    bool has_result;
    tc_value result;
    src_span result_span;
    bool result_in_vars;        // some return sits under run-time control flow: [result] holds variables
    int label;                  // of the scope to leave, 0: none yet
    const ir_type *return_type; // of device functions; NULL: none given
    tc_value return_annotation;
    bool in_instruction;
    int with_depth;              // `with` blocks open in this activation
    src_span *attributes;        // where this kernel's attributes were assigned, by number; NULL: none was
    VEC(ir_stmt *) result_decls; // declarations of result variables, put before the scope
};

// What is around a control-flow region.
typedef struct tc_region_around {
    int region, loop_region;
} tc_region_around;

// A value of share(function, index…), see Note [shared values].
typedef struct tc_shared {
    const tc_function *function;
    const ir_func *func; // of the output: where it was computed
    tc_list index;
    tc_value value;
    int region;
    uint32_t variables;             // how many there were when it had been computed
    struct tc_shared *before;       // of the same function
} tc_shared;

// One change that a compile-time attempt made to data that outlive it.
typedef struct tc_undo {
    struct tc_value *slot; // this held [value]; or NULL
    tc_list *list;         // this was [before]; or NULL
    struct tc_value value;
    tc_list before;
} tc_undo;

// The shared memory requested by attrs.cuda.dynamic_smem_bytes of the current kernel.
typedef struct tc_dynamic_smem {
    const ir_func *func;
    ir_expr *bytes;
    ir_block *block;   // the attribute is assigned here …
    size_t position;   // … after this number of statements
    tc_tensor *tensor; // NULL: its address was never taken
    ir_stmt *alloc;    // its declaration, which is put in place when the body is written
} tc_dynamic_smem;

// The elaboration of one function of the output: lifetime.c, Note [lifetimes].
typedef struct tc_lifetime {
    struct tc_lifetime *outer;
    arena *arena;    // of what is around it
    arena *ir;       // likewise, of IR
    uint32_t born;   // likewise
    arena_mark mark; // of the scratch arena
    size_t shared;   // as tc_shared_mark gave it
    uint32_t first;  // what was born before is older
    bool keeps;      // something older has changed
    map launches;    // tc_function* of definitions -> the latest tc_shared_launch*, in host functions
    map joined;      // names of kernels, "a b c" -> the kernel that is all of them
} tc_lifetime;

// IR that is made in the scratch arena for it: lifetime.c.
typedef struct tc_ir_lifetime {
    tc_lifetime lifetime;
    arena *arena;    // of what is around it
    arena_mark mark; // of the scratch arena for IR
} tc_ir_lifetime;

struct tc {
    arena *arena;   // of what is made now
    arena *lasting; // of modules
    tc_lifetime *lifetime; // NULL: at the top level of a module
    uint32_t born;         // of what is made now
    uint32_t last_born, last_scope, last_env;
    sym_table *syms;
    diag_context *diags;
    const tc_options *options;
    ir_module *ir;
    ir_func *func;   // being written; NULL at module level
    ir_block *block; // statements go here
    tc_frame *frame;
    int region; // number of the current run-time control-flow region, unique
    int next_region;
    int loop_region; // that of the innermost loop's body; 0: not in a loop
    VEC(tc_region_around) region_stack;
    int next_label;
    int64_t steps, step_budget;
    int apart; // calls under way whose steps are counted by themselves: tc_call_apart
    VEC(tc_undo) undo; // while speculating: what compile-time data were before they changed
    int depth;         // nested calls
    int eval_depth;    // nested expressions and statements, over all calls
    bool aborted;      // budget gone or too many errors: unwind
    int speculating;   // > 0: inside a compile-time attempt
    int attempt;       // its number, if so
    int last_attempt;
    bool needs_run_time; // the attempt met a run-time value
    tc_scope *natives;
    map library_modules; // "hidet.lang.math" -> tc_module*
    map file_modules;    // src_file* -> tc_module*
    VEC(tc_module *) loading;
    tc_module *main;
    tc_scope *main_scope;
    map intrins;     // key -> ir_intrin*
    VEC(tc_shared *) shared; // oldest first
    map shared_by_function;        // tc_function* -> the latest tc_shared*
    map run_time_lambdas;          // const ast_lambda* -> itself: those that needed run-time values, whatever they captured
    map names_used;  // IR function names
    map entry_names; // those that entries have or will have: no other function takes one
    uint32_t next_id;
    bool attrs_allowed;
    tc_dynamic_smem dynamic_smem;
    const ast_comprehension *references; // under way: its items are references, and stay as they are
    const tc_env *env;                   // the interpretation in force; NULL: none so far
    bool in_test;                        // host code is a test's: elements can be read and written there
    map right_tiles;                     // what check_layout has asked of tiles that were found right
    map graph_programs;                  // JSON of a graph -> the tc_module of its program or reference, in tests
    tc_test_weight_list *test_weights;   // what the test takes of weights; NULL: it is no test
    bool analyzes;                       // code is looked at as a kernel's, and not kept
    bool records;  // a graph function is being recorded: errors are shown where it calls, not inside of operators
    const char *recorded_call; // "add(f32[2, 3], f32[4])": the operator being recorded, in the text of errors; NULL: none
    src_span last_span;                  // of the expression evaluated last: the location of implicit method calls
    src_span value_span; // right side of the assignment under way; nowhere outside of one
    // captures of the kernel being written from a host function
    struct tc_captures *captures;
    VEC(bool) define_used, define_wrong;
    bool lacks_weights; // one without a type is missing: what follows from that is not reported, but for other weights
    VEC(struct tc_weights *) weights; // files, in the order in which they were named
};

// Whether a graph function is run, or what it calls, as against a definition of an operator: loops are Python's there.
static inline bool tc_in_graph(const tc *tx)
{
    return tx->records && !tx->analyzes;
}

typedef struct tc_weights tc_weights;

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
