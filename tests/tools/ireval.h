// A small interpreter of scalar IR, for tests: one thread, loops, branches, arrays, calls.
//
// It knows nothing of barriers, pointers, vectors and instructions. What it does know, it does by the book, with its own
// arithmetic (not the compiler's folding), so that passes can be compared with it: the same program before and after a
// pass must leave the same values in the same elements.
#pragma once

#include "ir/ir.h"

typedef struct ire_value {
    int64_t i; // integers, bools (u64: the bits)
    double f;  // floats
} ire_value;

typedef struct ire_array {
    ire_value *at;
    int64_t count;
} ire_array;

// One STORE or element of a COPY to a tensor in global or shared memory.
typedef struct ire_event {
    const ir_var *tensor;
    int64_t offset;
    ire_value value;
} ire_event;

typedef enum ire_flow { IRE_NEXT, IRE_BREAK, IRE_CONTINUE, IRE_LEAVE, IRE_RETURN } ire_flow;

typedef struct ire {
    arena *arena;
    const ir_module *module;
    int64_t sregs[IR_SREG__COUNT];
    VEC(ire_value) vars;   // by variable id
    VEC(ire_array) arrays; // by variable id
    VEC(ire_event) events;
    bool record;       // keep [events]
    bool overflowed;   // signed arithmetic of 32 bits or more left its type somewhere
    const char *error; // NULL, or what went wrong first
    int64_t steps;     // statements executed
    int label;         // of the LEAVE under way
    ire_value result;  // of RETURN
} ire;

void ire_init(ire *r, arena *a, const ir_module *m);
void ire_set(ire *r, const ir_var *v, int64_t value);
// The storage of a tensor, made on first use: storage_elems, or [count] for parameters of unknown size.
ire_array *ire_array_of(ire *r, const ir_var *v, int64_t count);
ire_value ire_eval(ire *r, const ir_expr *e);
ire_flow ire_run(ire *r, const ir_block *b);
// Forgets variables and events, keeps arrays.
void ire_restart(ire *r);
