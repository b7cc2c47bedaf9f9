// Values: what elaborating an expression gives.
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
typedef struct tc_operator tc_operator;

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
    int grown;      // the one that has remembered how long it was
    uint32_t born;  // see Note [lifetimes]
    int depth;      // of items in each other, 1 without any; parts that change later are not counted
    int level;      // how deep it may lie in containers that were changed to hold it
    int64_t weight; // items, those of items included: shared parts count each time, as a traversal visits them
    size_t known;   // so many items from the first on are known and keep so, as was found before; see tc_list_set
    struct tc_places *places; // of its texts, once many were looked for; NULL: they are not known. See tc_find_item
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

// The meaning of elements, reductions and nodes: interpret.c, Note [interpretations].
typedef struct tc_env {
    tc_value handler; // a record; NONE: no interpretation, whatever is in force around
    const struct tc_env *outer;
    uint32_t id; // of this environment alone
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
    const tc_generator *generator; // the elements of a generator by index, instead of a body; else NULL
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
    map *results;           // of a function under @cached: arguments -> tc_value; else NULL
    const char *title;      // "Class.method", of functions without brackets; NULL: nobody has asked
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
    tc_function *init; // its method __init__, or NULL
    tc_class *generic; // the declaration this is an instance of
};

struct tc_record {
    tc_class *class;
    tc_value *fields;    // RT fields: VAR of the field's own variable
    const tc_env *env;   // in force where it was made, and so in its methods; NULL: that of the call
    int depth, level;    // as those of lists
    uint32_t born;       // likewise
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
