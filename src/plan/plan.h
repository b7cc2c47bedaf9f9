// Launch plans: what a host function does, as data (docs/adr/0022-launch-plans.md).
//
// A plan is a list of statements over values: it checks, computes sizes, branches, takes and frees temporaries, fills,
// copies, and launches kernels by their symbols. How a kernel is launched (grid, shared memory, tensor maps) is said once,
// with the kernel. Calls are inlined; each value has one type; statements nest as their text does:
//
//     plan @scaled(x: address, y: address, n: i32) workspace i64(truncdiv(n + 7, 8)) * 16i64
//     let t: i32 = truncdiv(n + 7, 8) # "scale.hds":11
//     check n >= 0, "sizes are not negative" # 12
//     if n > 0 { # 13
//         allocate b: f32[t, 8] # 14
//         launch @scale_1(x, b, n) # 15
//         launch @add_1(b, y, n) # 16
//         free b
//     }
//
// One line is one statement, with the author's line behind '#': the file where it is another than that of the statement
// before, nothing where the line is the same. Plans are built by plan_lower (of IR) and plan_read (of text), both through
// plan/build.h, which admits none that is malformed: types agree, names are in scope, blocks are closed, temporaries are freed
// at most once and not used afterwards. Plans are immutable then.
//
// A plan with a result, "plan @blocks(n: i32) -> i32", computes and prints, and that is all: nothing in it can fail but
// divisions by zero. Vectors and complex numbers are the addresses of their bytes, which are passed on as they came.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "target/dtype.h"

// Grows with each change of the text that older readers would misread.
#define PLAN_VERSION 4

// Larger plans are refused.
enum { PLAN_MOST_PARAMETERS = 1024, PLAN_MOST_DEPTH = 200, PLAN_MOST_RANK = 16, PLAN_MOST_NODES = 1 << 20 };

// Temporaries with offsets in one workspace: more of them than this are left as they are. What TMA and vectors need, and
// what the driver's own allocations have.
enum { PLAN_MOST_PLACED = 4096, PLAN_PLACE_ALIGNMENT = 256 };

// The type of a value. DT_NONE: an address. Bits of a value stand in the low end of 64; integers are extended to them.
typedef dtype plan_type;

// A node of an expression: INT (bits of a constant of any type), VAR, INTRIN (a function of <math.h>, see below), and the
// operators on scalars of ir_ops.def, with their meaning there. ADD of an address and an i64 counts bytes. Operands stand
// before their user.
typedef struct plan_node {
    ir_op op;
    plan_type type;
    uint16_t depth;
    int args[3];
    union {
        uint64_t bits;  // INT
        int value;      // VAR
        int function;   // INTRIN: its number
    } u;
    src_span span;      // the author's, for messages of the compiler: of plans that were lowered
} plan_node;

typedef struct plan_value {
    const char *name;  // unique within the plan
    plan_type type;
    bool is_temporary; // an address that ALLOCATE gives
} plan_value;

typedef enum plan_kind {
    PLAN_LET,       // value = args[0]; the value begins here, and ends with the block
    PLAN_SET,       // value = args[0]
    PLAN_CHECK,     // args[0] holds, or the run fails with [text]
    PLAN_IF,        // args[0]; [target]: its ELSE or END
    PLAN_ELSE,      // [target]: the END
    PLAN_FOR,       // value from args[0] to args[1], which it does not reach, by args[2]; [target]: the END
    PLAN_WHILE,     // args[0]; [target]: the END
    PLAN_SCOPE,     // [target]: the END
    PLAN_END,       // of a block; [target]: the statement that opened it
    PLAN_BREAK,     // out of the FOR or WHILE [target]
    PLAN_CONTINUE,  // to its next iteration
    PLAN_LEAVE,     // out of the SCOPE [target]
    PLAN_RETURN,    // with the result args[0], if the plan has one
    PLAN_ALLOCATE,  // value: memory for elements of [elem], in the extents args (i64)
    PLAN_FREE,      // value; what is not freed goes when the run ends, and when its ALLOCATE comes again
    PLAN_FILL,      // [bytes] (1, 2, 4, 8) of the pattern args[1] (u64), args[2] (i64) times, to the address args[0]
    PLAN_COPY,      // args[2] (i64) bytes to args[0] from args[1]
    PLAN_PRINT,     // the format [text], of printf, with args
    PLAN_LAUNCH,    // the kernel [text] with args, one for each of its parameters
    PLAN__COUNT
} plan_kind;

typedef struct plan_stmt {
    plan_kind kind;
    int value;          // -1: none
    int *args;          // nodes
    int arg_count;
    int target;         // -1: none
    int loop;           // FOR: its number among those of the plan
    const char *text;   // CHECK: the message; PRINT: the format; LAUNCH: the kernel
    const char *file;   // the author's; NULL: unknown
    uint32_t line;      // 0: unknown
    src_span span;      // the same for messages of the compiler: of plans that were lowered
    src_span root;      // of what came from another file: the call, in that of the host function
    dtype elem;         // ALLOCATE; DT_NONE: addresses
    int bytes;          // FILL
    bool is_placed;     // ALLOCATE: at [offset] in the workspace
    int64_t offset;
} plan_stmt;

typedef struct plan {
    const char *name;
    VEC(plan_value) values;  // the parameters first
    int parameter_count;
    bool has_result;
    plan_type result;
    VEC(plan_node) nodes;
    VEC(plan_stmt) stmts;
    int loop_count;
    int workspace;           // node, i64, over the parameters: the most bytes that temporaries have at one time; -1: unknown
    int64_t planned;         // bytes of one workspace in which all temporaries have offsets; -1: each is taken by itself
    int64_t bound;           // with [planned]: the most bytes that are live at one time, which no layout goes below
} plan;

// ---- text (print.c, read.c) ---------------------------------------------------------------------------------------------

void plan_print(const plan *p, str_buf *out);
// One line of it, without indentation and newline. 0: the head; then the statements.
void plan_print_line(const plan *p, size_t line, str_buf *out);
size_t plan_line_count(const plan *p);
// Reading is the inverse of printing; indentation does not matter. False for what is no plan; *[why] then says what is
// wrong, with the line, in [a]. The text may come from anywhere.
bool plan_read(arena *a, str text, plan *out, const char **why);

// ---- from IR (lower.c) --------------------------------------------------------------------------------------------------

// What the lowering has to know of kernels.
typedef struct plan_kernels {
    const void *user;
    const char *(*symbol)(const void *user, const ir_func *kernel);  // NULL: it is not part of the output
    const bool *(*writes)(const void *user, const ir_func *kernel);  // by parameter
    // When it writes, and when it has ended, all kernels before it in the stream have ended.
    bool (*waits)(ir_module *m, const ir_func *kernel);
} plan_kernels;

// Why a host function has no plan.
typedef struct plan_refusal {
    const char *what;  // "a launch plan has only scalars and addresses"
    src_span span;     // of the author's statement
    bool may_fail;     // it gives a result, and this could fail
} plan_refusal;

// The plan of a host function of low level IR, in [a]. [writes]: by parameter, whether something may be written through
// it. False for what a plan cannot say.
bool plan_lower(arena *a, ir_module *m, const ir_func *f, const plan_kernels *kernels, plan *out, bool *writes,
                plan_refusal *refusal);

// ---- memory (place.c, layout.c; docs/adr/0028-memory-planning.md) -------------------------------------------------------

// Memory that is live from [begin] up to [end], which it does not reach.
typedef struct plan_block {
    int64_t begin, end, bytes, offset;
} plan_block;

// Sets the offsets of [count] blocks so that none overlaps another one that is live at the same time: the best of several
// orders. The bytes of all. The sizes' sum is below 62 bits.
int64_t plan_place(arena *a, plan_block *blocks, int count);
// The most bytes that are live at one time.
int64_t plan_live_bytes(arena *a, const plan_block *blocks, int count);

// ---- functions of <math.h> (functions.c) ---------------------------------------------------------------------------------

enum { PLAN_MOST_OPERANDS = 3 };

// By the name that it has for f64 in C; -1: there is none.
int plan_function_named(str name);
const char *plan_function_name(int function);
int plan_function_operands(int function);
bool plan_function_tests(int function);  // it gives a bool; others the type of their operands, f32 or f64
// Its value, of f32 with the precision of f32.
double plan_function_value(int function, plan_type t, const double *operands);

// ---- evaluation (eval.c) ------------------------------------------------------------------------------------------------

typedef enum plan_trouble {
    PLAN_FINE,
    PLAN_ZERO_DIVISION,  // of integers
    PLAN_TOO_LARGE,      // a size in bytes beyond 63 bits
    PLAN_NEGATIVE,       // an extent
} plan_trouble;

// The value of a node; [values]: the bits of each value of the plan.
plan_trouble plan_evaluate(const plan *p, int node, const uint64_t *values, uint64_t *out);
// The bytes that an ALLOCATE takes.
plan_trouble plan_bytes(const plan *p, const plan_stmt *s, const uint64_t *values, int64_t *out);
// Whether a format of PLAN_PRINT takes values of these types.
bool plan_format_takes(const char *format, const plan_type *types, int count);
// Appends what PLAN_PRINT prints; conversions give at most 511 characters each.
void plan_format(str_buf *out, const char *format, const plan_type *types, const uint64_t *bits);
// The next conversion of a format of C, "%-5s", from *[format] on, which is then behind it; what stands before it goes to
// [before] as it is written. Without text: there is none.
str plan_next_conversion(const char **format, str_buf *before);
// What the conversion "%-5s" makes of a text, in [a]; NULL: it is no conversion of texts, or one that is not taken.
const char *plan_format_text(arena *a, str written, const char *text);
// A value of the plan's types as 64 bits: integers wrapped and extended, others cut.
uint64_t plan_canonical(plan_type t, uint64_t bits);
