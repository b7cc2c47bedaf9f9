// Plans under construction: nothing malformed gets in.
#pragma once

#include "plan/plan.h"

typedef struct plan_open {
    int stmt;         // that opened the block
    size_t visible;   // values that can be seen outside of it
} plan_open;

typedef struct plan_builder {
    arena *arena;
    plan *plan;
    VEC(plan_open) open;
    VEC(int) visible;  // values in scope, by number
    const char *why;   // the first failure; NULL: none
} plan_builder;

void plan_build_begin(plan_builder *b, arena *a, plan *p, const char *name);
// False, with [why] set, if blocks are open.
bool plan_build_end(plan_builder *b);
__attribute__((format(printf, 2, 3))) int plan_build_fail(plan_builder *b, const char *format, ...);  // -1

// The type of the result, behind the parameters and before all else.
void plan_build_result(plan_builder *b, plan_type type);
// A parameter, before all else; or the value that the next LET, FOR or ALLOCATE declares. Its number; -1 after failing.
int plan_build_value(plan_builder *b, const char *name, plan_type type, bool is_parameter);
// The value of that name in scope; -1: none.
int plan_build_find(const plan_builder *b, const char *name, size_t len);
bool plan_build_sees(const plan_builder *b, int value);

// Nodes; -1 after failing, and for operands that are -1.
int plan_build_constant(plan_builder *b, plan_type type, uint64_t bits);
int plan_build_read(plan_builder *b, int value);
// [type]: of CAST and BITCAST; of the others it follows from the operands.
int plan_build_node(plan_builder *b, ir_op op, plan_type type, const int *args, int count);
int plan_build_call(plan_builder *b, int function, const int *args, int count);

// Appends a statement: [s] but for [loop], with its args copied; without a line it has that of the one before. [target]: for
// BREAK, CONTINUE and LEAVE how many blocks of their kind lie between them and the one that they leave. False after failing.
bool plan_build_stmt(plan_builder *b, const plan_stmt *s);

// workspace.c: the expression for plan.workspace, of a plan without open blocks; -1: it is not known.
int plan_build_workspace(plan_builder *b);
// By value: the bytes of each temporary. False if the size of one depends on parameters or on what the plan computes.
bool plan_build_sizes(plan_builder *b, int64_t *sizes);

// layout.c: gives all temporaries offsets in one workspace, if all sizes are known, and there are at least two.
void plan_build_layout(plan_builder *b);
// Checks the offsets that the plan has. False after failing.
bool plan_build_check_layout(plan_builder *b);

const char *plan_type_name(plan_type t);  // "i32", "address"
