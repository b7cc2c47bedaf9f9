// The intermediate representation: structured, typed, tensor-aware.
//
// A module is a list of functions; a function is a tree of statements over expression trees. Loops and branches stay
// loops and branches; variables keep their source names; tensors keep their shapes and layouts, and a loop over the
// tasks of a mapping is one statement, until passes lower them. Everything lives in the module's arena. Expressions are
// immutable and may be shared (a DAG); statements are owned by exactly one block and may be edited by passes.
//
// Levels. The elaborator emits HIGH level IR. The lowering passes (passes.def) eliminate, in this order: task loops
// (TASKS), register tensors with mappings, guarded accesses, multi-dimensional accesses. LOW level IR has only rank-1
// accesses (flag IR_FLAT) and is what src/cuda_emit prints.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/sym.h"
#include "base/vec.h"
#include "diag/diag.h"
#include "target/arch.h"
#include "target/dtype.h"
#include "taskmap/layout.h"
#include "taskmap/taskmap.h"

typedef struct ir_type ir_type;
typedef struct ir_var ir_var;
typedef struct ir_tensor ir_tensor;
typedef struct ir_tensor_map ir_tensor_map;
typedef struct ir_expr ir_expr;
typedef struct ir_stmt ir_stmt;
typedef struct ir_func ir_func;
typedef struct ir_intrin ir_intrin;
typedef struct ir_module ir_module;

// ---- types (interned per module: equal types are the same pointer) ---------------------------------------------------

typedef enum ir_space { IR_GENERIC, IR_GLOBAL, IR_SHARED, IR_LOCAL, IR_REGISTER, IR_CONSTANT, IR_HOST } ir_space;
const char *ir_space_name(ir_space s);

typedef enum ir_type_kind { IR_VOID, IR_SCALAR, IR_VECTOR, IR_POINTER, IR_TENSOR, IR_STRING, IR_TENSOR_MAP } ir_type_kind;

struct ir_type {
    ir_type_kind kind;
    dtype scalar;         // SCALAR, VECTOR: the element type
    int lanes;            // VECTOR
    ir_space space;       // POINTER, TENSOR
    const ir_type *elem;  // POINTER, TENSOR: SCALAR, VECTOR or POINTER (void pointers: VOID)
    bool is_const;        // POINTER, TENSOR: read-only
};

const ir_type *ir_void(ir_module *m);
const ir_type *ir_scalar(ir_module *m, dtype t);
const ir_type *ir_vector(ir_module *m, dtype t, int lanes);
const ir_type *ir_pointer(ir_module *m, const ir_type *elem, ir_space space);
const ir_type *ir_tensor_type(ir_module *m, const ir_type *elem, ir_space space);
const ir_type *ir_string(ir_module *m);
const ir_type *ir_tensor_map_type(ir_module *m);
const ir_type *ir_const_of(ir_module *m, const ir_type *t);  // the read-only variant of a POINTER or TENSOR
int64_t ir_type_bytes(const ir_type *t);  // size in memory; sub-byte scalars: 1; pointers: 8; shared pointers too
void ir_type_print(const ir_type *t, str_buf *out);  // "f16", "f32x4", "~shared f16"
static inline bool ir_is_scalar(const ir_type *t, dtype d) { return t->kind == IR_SCALAR && t->scalar == d; }
static inline bool ir_is_integer(const ir_type *t) { return t->kind == IR_SCALAR && dt_is_int(t->scalar); }

// ---- variables and tensors --------------------------------------------------------------------------------------------

typedef enum ir_var_kind { IR_VAR_PARAM, IR_VAR_LOCAL, IR_VAR_LOOP, IR_VAR_GLOBAL } ir_var_kind;

// The purpose of a local.
typedef enum ir_role {
    IR_ROLE_NAME,    // the author's name
    IR_ROLE_FIELD,   // a field of a record
    IR_ROLE_RESULT,  // the result of a call, until a name is given to it
    IR_ROLE_KEPT,    // a value as it was at some point: nothing assigns it
} ir_role;

struct ir_var {
    uint32_t id;       // unique within the module, in order of creation
    uint32_t note;     // as of expressions
    const char *name;  // the author's; the emitter makes it unique within its scope
    const ir_type *type;
    ir_var_kind kind;
    ir_role role;
    bool is_mutable;   // assigned after its declaration; others are single-assignment
    bool is_size;      // a dynamic size parameter: 1 <= value (of dimensions) and the facts below
    bool may_be_zero;  // sizes: 0 <= value, also of dimensions
    src_span span;
    ir_tensor *tensor; // of TENSOR type: shape, layout; else NULL
    int joined;        // of an operator's operand: 1 + the axis that represents any number of axes; 0: none
    int join_group;    // operands of one group have the same extents there; from 1
    bool is_result;    // of an operator's entry: what it gives
    const char *default_text; // of a number of an operator's entry: the default, as its author wrote it; NULL: none
    ir_tensor_map *map; // of TENSOR_MAP type: what it describes; else NULL
    ir_expr *definition; // what a local was declared with; holds as long as it is not mutable, and while its function is elaborated
    const void *extent;  // of a local that does not change: what typecheck found its definition to be; NULL: nothing yet
    // Facts about an integer's value, from the declaration (assume(), loop bounds, T % 8 == 0): inclusive bounds and a
    // known divisor. Unknown: the type's own range and 1.
    bool has_range;
    int64_t min, max;
    int64_t divisor;
};

// Shape and placement of a tensor variable. Extents are integer expressions over constants, size parameters and
// single-assignment variables that are in scope at the declaration.
struct ir_tensor {
    const ir_type *elem;
    ir_space space;
    int rank;
    ir_expr **shape;
    // Placement: exactly one of the three.
    const tm_layout *layout;  // static layout (shape constant)
    ir_expr **strides;        // element strides as expressions, for dynamic shapes (row-major unless [is_strided])
    bool is_strided;          // a parameter whose strides its arguments say, not its shape
    const tm_map *map;        // a register tensor distributed over the workers: element -> (worker, slot)
    ir_expr *worker;          // with [map]: the worker that executes, as an expression
    int align_bytes;          // guaranteed alignment of the first element; 0: that of the element type
    int64_t storage_elems;    // static: elements to reserve (per thread for LOCAL and REGISTER); -1: dynamic or a parameter
    int64_t smem_offset;      // SHARED, after shared-memory allocation: byte offset in the block's pool; -1 before
    bool is_dynamic_smem;     // SHARED: lives in the dynamic part at smem_offset
};

// A tensor map for TMA (sm_90): a CUtensorMap, created by the launcher from the address and the extents of a parameter.
// Axes are in the tensor's order, the fastest one last; TMA's order begins with it.
enum { IR_MAP_MAX_RANK = 5, IR_MAP_MAX_BOX = 256, IR_MAP_MAX_PIXELS = 1024, IR_MAP_MAX_STEP = 8 };

struct ir_tensor_map {
    ir_var *tensor;            // a parameter of the same kernel: in global memory, rows without gaps, rank 1 … IR_MAP_MAX_RANK
    int box[IR_MAP_MAX_RANK];  // elements that one copy moves, by axis of the tensor
    int swizzle;               // bytes of the pattern in shared memory: 0, 32, 64, 128
    int l2_promotion;          // bytes around that reads from memory bring to L2: 0, 64, 128, 256
    // Copies in im2col mode, of a tensor [N, …, C]: the box is 1, …, pixels, channels, and the base of the filter visits each
    // [step]th pixel from lower to extent - 1 + upper, by spatial axis.
    bool is_im2col;
    int lower[IR_MAP_MAX_RANK - 2], upper[IR_MAP_MAX_RANK - 2], step[IR_MAP_MAX_RANK - 2];
};
// Corners are from -n - 1 to n, by the rank of the tensor.
static inline int ir_map_most_corner(int rank)
{
    return rank == 3 ? INT16_MAX : rank == 4 ? INT8_MAX : 15;
}

// ---- expressions ------------------------------------------------------------------------------------------------------

// Properties of operators. At most one of LEAF to LOGIC says what an operator looks like.
enum {
    IR_PURE = 1,
    IR_READS = 2,    // reads memory
    IR_EFFECTS = 4,
    IR_LEAF = 8,
    IR_UNARY = 16,
    IR_BINARY = 32,  // both operands are evaluated; the result has their type
    IR_COMPARE = 64,
    IR_LOGIC = 128,  // and, or: the second operand is evaluated where it matters
    IR_DIVIDES = 256,    // of integers: not defined for a second operand of 0
    IR_WRAPS = 512,      // of integers: the exact result may not fit the type and is wrapped to it
    IR_LOW_BITS = 1024,  // the low bits of the result depend on nothing but the low bits of the operands
    IR_INDEX = 2048,     // of integers: an index expression continues through it (analysis_linear.h)
};

typedef enum ir_op {
#define IR_OP(op, mnemonic, n, properties, c, c_prec, python, python_prec, doc) IR_OP_##op,
#include "ir/ir_ops.def"
#undef IR_OP
    IR_OP__COUNT
} ir_op;

// Axis-bearing special registers: TID_X is threadIdx.x (i32), and so on. Cluster registers need sm_90.
typedef enum ir_sreg {
    IR_TID_X, IR_TID_Y, IR_TID_Z, IR_BID_X, IR_BID_Y, IR_BID_Z, IR_BDIM_X, IR_BDIM_Y, IR_BDIM_Z, IR_GDIM_X, IR_GDIM_Y,
    IR_GDIM_Z, IR_SREG__COUNT
} ir_sreg;
const char *ir_sreg_name(ir_sreg r);  // "tid.x"

enum {
    IR_GUARDED = 1,  // LOAD, STORE: indices may be outside the shape; then nothing is touched
    IR_FLAT = 2,     // LOAD, STORE, ADDR: one index, an element offset from the base; TILE: args[0] is the slot
    IR_VOLATILE = 4,
};

struct ir_expr {
    ir_op op;
    uint8_t flags;
    uint16_t arg_count;
    int count;  // TILE: number of registers (slots)
    uint32_t note;  // where the environment under way keeps what it found out, see analysis_range.h
    const ir_type *type;
    src_span span;
    union {
        int64_t i;
        double f;
        const char *text;
        ir_var *var;
        ir_func *func;
        const ir_intrin *intrin;
    } u;
    ir_expr *args[];
};

const char *ir_op_name(ir_op op);
int ir_op_properties(ir_op op);
ir_op ir_op_negated(ir_op op);  // of a comparison: EQ of NE, GE of LT
// Whether the parameter [v], but for conversions of integers, is an extent of a tensor among the function's parameters.
bool ir_is_extent(const ir_func *f, const ir_var *v);
// The strides of a static layout with gaps, or with elements at one place: its memory is not what its extents alone say. NULL: of
// others, and of elements that are no scalars of whole bytes.
const int64_t *ir_layout_strides(const ir_tensor *t);
bool ir_is_pure(const ir_expr *e);  // no effects and no reads, in the whole tree (VARs that are mutable count as reads)
// Whether evaluating [e] has side effects: calls, volatile accesses, instructions that write, order, synchronise or are
// volatile. Expressions without side effects may be removed if the value is unused.
bool ir_has_effects(const ir_expr *e);

// Builders. They check nothing (the verifier does) and fold nothing except as said.
ir_expr *ir_new_expr(ir_module *m, ir_op op, const ir_type *type, src_span span, int arg_count);
ir_expr *ir_int(ir_module *m, dtype t, int64_t value);  // also DT_BOOL
ir_expr *ir_float(ir_module *m, dtype t, double value);
ir_expr *ir_text(ir_module *m, const char *text);
ir_expr *ir_read(ir_module *m, ir_var *v, src_span span);
ir_expr *ir_sreg_read(ir_module *m, ir_sreg r, src_span span);
ir_expr *ir_unary(ir_module *m, ir_op op, ir_expr *a, src_span span);
ir_expr *ir_binary(ir_module *m, ir_op op, ir_expr *a, ir_expr *b, src_span span);  // result type: a's, or bool
ir_expr *ir_select(ir_module *m, ir_expr *c, ir_expr *a, ir_expr *b, src_span span);
ir_expr *ir_cast(ir_module *m, ir_expr *a, const ir_type *type, src_span span);  // [a] itself if it has the type
// [outside] != NULL: guarded.
ir_expr *ir_load(ir_module *m, ir_var *tensor, ir_expr **indices, int rank, ir_expr *outside, src_span span);
ir_expr *ir_addr(ir_module *m, ir_var *tensor, ir_expr **indices, int rank, src_span span);
ir_expr *ir_tile(ir_module *m, ir_var *tensor, ir_expr **indices, int rank, int count, src_span span);
ir_expr *ir_with_args(ir_module *m, const ir_expr *e, ir_expr **args);  // a copy with other operands
bool ir_const_int(const ir_expr *e, int64_t *out);  // INT?
bool ir_same_node(const ir_expr *a, const ir_expr *b);   // the same but for operands; effects and mutable reads make it false
bool ir_expr_equal(const ir_expr *a, const ir_expr *b);  // the same tree; effects and mutable reads make it false

// ---- instructions ----------------------------------------------------------------------------------------------------

// A declaration from the standard library, at one instantiation: text with {holes}, operands, effects.
typedef enum ir_intrin_form {
    IR_INTRIN_PTX,   // inline assembly text; {result}, {name}: operands; {T}: already replaced
    IR_INTRIN_CUDA,  // a CUDA C++ expression, or a statement if the result is void
} ir_intrin_form;

typedef enum ir_scope { IR_SCOPE_THREAD, IR_SCOPE_WARP, IR_SCOPE_WARPGROUP, IR_SCOPE_BLOCK, IR_SCOPE_CLUSTER, IR_SCOPE_GPU } ir_scope;

enum {
    IR_EFFECT_NONE = 0,
    IR_EFFECT_READS_GLOBAL = 1, IR_EFFECT_WRITES_GLOBAL = 2,
    IR_EFFECT_READS_SHARED = 4, IR_EFFECT_WRITES_SHARED = 8,
    IR_EFFECT_BARRIER = 16,    // threads of [scope] meet
    IR_EFFECT_FENCE = 32,      // orders memory
    IR_EFFECT_VOLATILE = 64,   // must not be moved, merged or dropped (clock, nanosleep, printf)
    IR_EFFECT_CONVERGENT = 128 // all threads of [scope] must execute it together
};

typedef struct ir_operand {
    const char *name;     // as in the text's {name}
    const ir_type *type;  // SCALAR, VECTOR, POINTER; a register array: TENSOR with space REGISTER
    int count;            // register arrays: elements; else 0
    bool is_immediate;    // must be a constant ("n" constraint)
    bool is_updated;      // a register array that is read and written in place
    bool is_bare;         // its one register is in the text without braces
} ir_operand;

struct ir_intrin {
    const char *name;      // family name, the declaration's own: "mma_m16n8k16"; the simulator's models go by it
    const char *module;    // "hidet.lang.mma"
    const char *instance;  // unique C identifier of this instantiation: "mma_m16n8k16_f16"
    ir_intrin_form form;
    const char *text;
    const arch *needs;     // NULL: any
    const char *needs_text;// "sm_80"
    ir_scope scope;
    int effects;
    const ir_type *result; // VOID, SCALAR, VECTOR, POINTER, or TENSOR REGISTER
    int result_count;      // register array result: elements
    int operand_count;
    ir_operand *operands;
    const char **dtypes;   // names of the compile-time arguments of the instantiation, "T=f16", NULL-terminated (for the simulator)
    src_span span;         // of the declaration
};

// ---- statements -------------------------------------------------------------------------------------------------------

typedef enum ir_stmt_kind {
    IR_DECL,      // var [= value]
    IR_ASSIGN,    // var = value
    IR_STORE,     // tensor var[args] = value (IR_GUARDED: only where inside)
    IR_PSTORE,    // args[0][args[1]] = value
    IR_COPY,      // [count] consecutive elements: args[0] (ADDR or TILE: destination) = args[1] (ADDR or TILE: source)
    IR_EVAL,      // value, for its effects
    IR_INTRIN_TO, // args[0] (TILE) = value (INTRIN with a register array result)
    IR_ALLOC,     // tensor var comes into being here (SHARED, REGISTER, LOCAL; HOST/GLOBAL in host functions); [value]: fill
    IR_IF,        // value ? body : or_else
    IR_FOR,       // for var in [args[0], args[1]) by args[2]: body. The bounds are evaluated once. step may be negative.
    IR_WHILE,     // while value: body
    IR_TASKS,     // for vars in map.on(args[0]): body
    IR_BREAK,     // out of the innermost FOR, WHILE or TASKS
    IR_CONTINUE,  // to its next iteration
    IR_RETURN,    // [value]
    IR_SCOPE_OF,  // body; LEAVE with the same label continues after it
    IR_LEAVE,
    IR_ASSERT,    // value holds, or the program stops with [text]
    IR_ASSUME,    // value holds: the compiler may use it
    IR_PRINT,     // printf(text, args…)
    IR_LAUNCH,    // kernel func on its grid with args… (host functions)
    IR_COMMENT,   // text, carried to the output
    IR_STMT__COUNT
} ir_stmt_kind;
const char *ir_stmt_name(ir_stmt_kind k);
const char *ir_scope_name(ir_scope s);      // "warp"

typedef struct ir_block {
    VEC(ir_stmt *) stmts;
} ir_block;

// A call that the elaborator inlined into its caller. The statements of the callee's body keep their own locations; the
// site records the caller. One site serves all statements of one call; calls that are not inlined have none.
typedef struct ir_site {
    src_span span;       // the call, in the caller
    uint32_t parent;     // the site at which the caller was inlined; 0: the caller is the function itself
    const char *callee;  // as the author would say it: "mma", "Queue.push"
} ir_site;

// Where a statement stands in the text, and the call that it came through (ir_stmt.origin).
typedef struct ir_place {
    src_span span;
    uint32_t origin;
} ir_place;

struct ir_stmt {
    ir_stmt_kind kind;
    uint8_t flags;     // IR_GUARDED, IR_FLAT, IR_VOLATILE
    tm_unroll unroll;  // FOR
    int factor;        // FOR: of UNROLL, 0: all the way as the CUDA compiler likes
    int count;         // COPY: elements; SCOPE_OF, LEAVE: label; LAUNCH: of [joined]
    uint32_t origin;   // number of the site through which the statement came here; 0: the function's own text
    src_span span;
    ir_var *var;       // DECL, ASSIGN, STORE, ALLOC, FOR
    ir_var **vars;     // TASKS: one per dimension of [map]
    const tm_map *map; // TASKS
    ir_expr *value;
    ir_expr **args;
    int arg_count;
    const char *text;  // ASSERT, PRINT, COMMENT
    ir_func *func;     // LAUNCH
    ir_place *joined;  // LAUNCH of a kernel that several launches were joined to: theirs, [count] of them; otherwise NULL
    ir_block body;     // IF (then), FOR, WHILE, TASKS, SCOPE_OF
    ir_block or_else;  // IF
};

// [span] and [origin] belong together: a pass that derives a statement from another one passes on both.
ir_stmt *ir_new_stmt(ir_module *m, ir_stmt_kind kind, src_span span, uint32_t origin);
void ir_append(ir_module *m, ir_block *b, ir_stmt *s);
void ir_append_all(ir_module *m, ir_block *b, ir_block *from); // which is dropped
// Empties the block and recycles its list, which must not be referenced elsewhere.
void ir_block_drop(ir_module *m, ir_block *b);
// Before m->arena is reset or another: what blocks have dropped is not used again.
void ir_forget_spare(ir_module *m);

// ---- functions and modules ---------------------------------------------------------------------------------------------

typedef enum ir_func_kind { IR_KERNEL, IR_DEVICE, IR_HOST_FUNC } ir_func_kind;
const char *ir_func_kind_name(ir_func_kind k);  // "kernel", "device", "host"

struct ir_func {
    uint32_t id;
    const char *name;      // exported or internal C name, unique in the module
    const char *title;     // as the author would say it: "matmul[f16, BM=128]"
    const char *doc;       // docstring or NULL
    const char *operator;  // the operator that this entry launches for some types; NULL: none
    const char *operator_types; // which those are: "f16"
    bool is_elementwise;   // such an entry whose operands are broadcast
    bool is_strided;       // such an entry for tensors with any strides, whose extents all are those of the result
    ir_func_kind kind;
    bool is_public;        // an entry of the output
    bool is_launched;      // a kernel made for a launch in a host function, which it goes with: no entry for C (not in the text)
    src_span span;
    VEC(ir_var *) params;
    VEC(ir_var *) maps;    // kernels: tensor maps, passed behind the parameters; launches do not name them
    const ir_type *result;
    ir_block body;
    // Kernels. Expressions over the parameters; unset: NULL (grid and block always set, three each, 1 where not given).
    ir_expr *grid[3], *block[3], *cluster[3];
    ir_expr *dynamic_smem_bytes;  // the author's wish on top of what the allocator needs; NULL: none
    int64_t min_blocks;    // 0: not given
    bool dependent_launch; // PDL: may start before the previous kernel of the stream has ended; it waits explicitly
    // Set by shared-memory allocation: static part (also of device functions), dynamic part.
    int64_t static_smem_bytes, pool_bytes;
};

struct ir_module {
    arena *arena;          // of statements, expressions and variables that are made now
    arena *lasting;        // of all else, and of what ir_settle has moved there; the same arena unless somebody sets another
    sym_table *syms;
    diag_context *diags;
    const char *name;      // of the source file, without folder and ending
    const arch *arch;      // the architecture compiled for; never NULL
    VEC(ir_func *) funcs;  // callees before callers
    VEC(const ir_intrin *) intrins;  // each instance once, in order of first use
    VEC(ir_var *) globals; // module-level constant tensors
    VEC(ir_expr **) global_values; // initialisers, storage_elems each
    VEC(ir_site) sites;    // by number - 1; callers before callees
    uint32_t next_var;
    map types;             // interning
    const ir_type *scalar_types[DT__COUNT];  // the fast way to the commonest types
    struct ir_spare_list *spare_lists[8]; // of statements that dropped blocks had, by capacity
    struct ir_memo *memos; // idle tables of the walkers (walk.c)
    bool is_low;           // the lowering passes have run
    bool keeps_floats;     // arithmetic of float constants is not folded: its rounding would hide what they stand for
};

// Both arenas are [a].
ir_module *ir_module_new(arena *a, sym_table *syms, diag_context *diags, const arch *target, const char *name);
ir_func *ir_func_new(ir_module *m, ir_func_kind kind, const char *name, src_span span);  // appended by ir_func_add
void ir_func_add(ir_module *m, ir_func *f);
ir_var *ir_var_new(ir_module *m, ir_var_kind kind, const char *name, const ir_type *type, src_span span);
ir_var *ir_tensor_var(ir_module *m, ir_var_kind kind, const char *name, ir_tensor *tensor, src_span span);
ir_var *ir_map_var(ir_module *m, const char *name, const ir_tensor_map *of, src_span span);  // for ir_func.maps

// How much there was in a module at some point.
typedef struct ir_extent {
    size_t funcs;
    uint32_t vars, sites;
} ir_extent;

// Moves the functions from m->arena to m->lasting: their variables, statements and expressions are copied, so that nothing
// of theirs is left in m->arena, which may be reset. Their variables, and the sites behind before->sites that they have, get
// numbers behind those of [before], without gaps; globals stay. [scratch] is as it was afterwards.
void ir_settle(ir_module *m, const ir_extent *before, arena *scratch);

// ---- sites --------------------------------------------------------------------------------------------------------------

uint32_t ir_site_add(ir_module *m, src_span span, uint32_t parent, const char *callee);  // its number, from 1
// The site of that number, NULL for 0. From the innermost call to the author's line:
//     for (const ir_site *site = ir_site_at(m, s->origin); site; site = ir_site_at(m, site->parent)) …
const ir_site *ir_site_at(const ir_module *m, uint32_t number);
// Adds to [d] a note for each inlined call in the chain of that origin, innermost first; a long chain is cut in the
// middle.
void ir_note_sites(const ir_module *m, diag *d, uint32_t origin);

// ---- walking ------------------------------------------------------------------------------------------------------------

// Rewrites bottom-up: [visit] gets each expression with its operands already rewritten and returns it or another.
typedef ir_expr *ir_expr_visit(void *user, ir_expr *e);
ir_expr *ir_rewrite_expr(ir_module *m, ir_expr *e, ir_expr_visit *visit, void *user);
// Applies [visit] to every expression that a statement (not its nested statements) holds: value, args and, of an
// ALLOC or a DECL of a tensor, shape, strides and worker.
void ir_rewrite_stmt_exprs(ir_module *m, ir_stmt *s, ir_expr_visit *visit, void *user);
// Calls [each] for every statement below [b], outer before inner.
typedef void ir_stmt_each(void *user, ir_stmt *s);
void ir_walk(ir_block *b, ir_stmt_each *each, void *user);
// The first statement below [b] that passes, or NULL.
typedef bool ir_stmt_test(const ir_stmt *s);
ir_stmt *ir_find(const ir_block *b, ir_stmt_test *test);
// The same for every statement below [b], outer before inner.
void ir_rewrite_block_exprs(ir_module *m, ir_block *b, ir_expr_visit *visit, void *user);
// Calls [each] for every expression node below [e], operands before their user; each distinct node of a large tree once.
typedef void ir_expr_each(void *user, ir_expr *e);
void ir_walk_expr(ir_module *m, ir_expr *e, ir_expr_each *each, void *user);
// Calls [each] for every expression node that a statement (not its nested statements) holds.
void ir_walk_stmt_exprs(ir_module *m, ir_stmt *s, ir_expr_each *each, void *user);
// Whether a value is the same, as long as the kernel [f] runs, for all threads of a block and all blocks of its cluster.
bool ir_is_common(const ir_func *f, const ir_expr *e);
// Whether a kernel, or a function that it calls, waits for the kernels before it (griddepcontrol.wait).
bool ir_waits_for_kernels(ir_module *m, const ir_func *kernel);
// Deep copy of a statement; variables declared inside are renewed and entered in [substitution] (old ir_var* ->
// ir_expr*, its arena lives as long as the caller likes), which is applied. A tensor or an assigned variable may only
// be replaced by a VAR. Labels of SCOPE_OF stay: they are unique only along the path from the function's root.
ir_stmt *ir_clone_stmt(ir_module *m, const ir_stmt *s, map *substitution);
ir_var *ir_renew_var(ir_module *m, ir_var *from, map *substitution); // the copy of a variable, which is entered
void ir_clone_block(ir_module *m, const ir_block *from, ir_block *to, map *substitution);
ir_expr *ir_substitute(ir_module *m, ir_expr *e, const map *substitution);

// ---- kernels side by side -----------------------------------------------------------------------------------------------

// Whether one launch can run the blocks of both kernels: they have clusters of the same known size, blocks of the same known size
// or of lines of warps, no shared memory of an extent of the author's, and know their place by the block's index alone. In larger
// blocks than its own, a kernel's text is executed by its first threads; the other warps end. Then none of them sets a number of
// registers. The launch of both starts before its predecessor ends if that of each would.
bool ir_can_join(ir_module *m, const ir_func *a, const ir_func *b);
// How many blocks a launch has, by the numbers that it passes; -1: it is not known.
int64_t ir_blocks_of(ir_module *m, const ir_stmt *launch);
// A kernel for [count] launches, of whose kernels each two can be joined: its parameters are those of the first one, then those of
// the second one, …, but for numbers that the launches pass, which are constants of it. Before passes have run. Appended to the
// module.
ir_func *ir_join_kernels(ir_module *m, ir_stmt *const *launches, int count, const char *name, src_span span);
// Its arguments. [key] gets a text that is equal where the kernel is.
typedef VEC(ir_expr *) ir_expr_list;
ir_expr_list ir_joined_arguments(ir_module *m, ir_stmt *const *launches, int count, str_buf *key);

// Of kernels that were made for launches and are equal but for their names, the first one remains, and is launched for all.
// After the passes; functions have numbers by their places. Nothing is done where there are constant tensors. [scratch] is
// as it was afterwards.
void ir_unite_equal_kernels(ir_module *m, arena *scratch);

// ---- text ---------------------------------------------------------------------------------------------------------------

// The textual form: read(print(m)) equals m. docs/ir.md describes it.
void ir_print(const ir_module *m, str_buf *out);
// With a comment after each statement: '; file:line', and ' from file:line' for each of its sites, innermost first.
void ir_print_spans(const ir_module *m, str_buf *out);
void ir_print_stmt(const ir_stmt *s, str_buf *out);  // with its nested statements
void ir_print_func(const ir_func *f, str_buf *out);
void ir_print_expr(const ir_expr *e, str_buf *out);
ir_module *ir_read_text(arena *a, sym_table *syms, diag_context *diags, src_file *file);  // NULL after errors

// Checks the module against the rules of its level; false after reporting what is broken (an internal error of the
// compiler, or of hand-written IR text).
bool ir_verify(ir_module *m);
// The same, blaming [pass] in the message.
bool ir_verify_after(ir_module *m, const char *pass);

