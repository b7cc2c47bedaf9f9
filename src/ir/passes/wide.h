// Wide accesses: form-wide finds them in a loop (wide_find.c), rewrites the loop (form_wide.c), and hoists them out
// of the enclosing loops (wide_hoist.c).
#pragma once

#include "ir/element.h"
#include "ir/passes/passes.h"

// An access to memory in the body of a loop.
typedef struct wide_access {
    ir_var *tensor;
    ir_expr **index;
    int rank;
    bool is_store, is_guarded;
    bool is_plain;    // executed in each iteration of the loop, by LOAD or STORE, with indices that are no reads
    ir_expr *load;    // LOAD: the node
    ir_stmt *store;   // STORE: the statement
    const ir_stmt *stmt; // that it stands in
    ir_expr *outside; // guarded LOAD
    int group;        // -1: stays as it is
} wide_access;

// Accesses that always mean the same element: they share one array of registers.
typedef struct wide_group {
    ir_var *tensor;
    ir_expr **index;
    int rank;
    int width; // elements a copy
    bool is_read, is_written;
    bool is_guarded; // and the bounds are not proved
    bool is_ragged;  // and they may hold for a part of a copy
    ir_expr *outside;
    const ir_stmt *stmt; // that makes the first access
    src_span span;       // the access itself
    ir_var *registers;
} wide_group;

typedef struct wide_loop {
    ir_pass_context *px;
    ir_env *env; // inside of the loop
    ir_stmt *loop;
    int64_t first, trips;
    bool hopeless; // calls, barriers, jumps: nothing may be moved
    bool reads_pointers;
    const ir_stmt *stmt; // whose accesses are being collected
    const map *pointed; // ir_var* of a tensor that views memory behind a pointer -> its DECL
    VEC(wide_access) accesses;
    VEC(ir_var *) inner; // declared in the body, inner loop variables among them
    VEC(ir_var *) assigned;
    VEC(wide_group) groups;
} wide_loop;

// Whether the loop is a candidate: constant bounds, few iterations.
bool ir_wide_is_candidate(const ir_stmt *loop, int64_t *first, int64_t *trips);
// Whether the tensor is shared memory that this function allocates, so that its alignment is for the compiler to
// choose.
bool ir_wide_owns_storage(const wide_loop *w, const ir_var *v);
// Fills in accesses and groups.
void ir_wide_find(wide_loop *w);
// [e] as it is when the loop variable is [at], for a point before or after the loop; NULL if it depends on what only
// the body knows.
ir_expr *ir_wide_outside_loop(wide_loop *w, ir_expr *e, ir_expr *at);
// The same as a sum (index - first) + rest, if it grows by one per iteration; else NULL.
const ir_linear *ir_wide_unit_form(wide_loop *w, const ir_linear *l);
// Moves loop-invariant copies out of [loop], to the end of [out]. See wide_hoist.c.
void ir_wide_hoist(ir_rewriter *r, ir_stmt *loop, ir_block *out);
