// When the shared tensors of a function are in use, and which of them may have the same bytes.
//
// Program points are numbered in textual order. A tensor lives from its first to its last use; a use
// inside a loop that the tensor was made outside of makes it live through the loop. A pointer to it that is kept in a
// variable is a use up to the end of the block where the variable lives; one that is kept anywhere else, to the end of
// the function. Tensors that TMA writes or reads, and its mbarriers, are always live.
//
// Two tensors may share bytes if their lives do not overlap and every thread is known to be done with the one before any
// thread begins with the other: a block-wide barrier is certain to be passed in between, also on the way round a loop. So may
// two that are made in the branches of a condition that all blocks of a cluster find the same, always.
#pragma once

#include "ir/pass.h"

typedef struct shared_tensor {
    ir_var *var;
    bool is_used;
    int alloc_block;
    int first, last;        // program points; loops included
    int first_barrier;      // the smallest point of a barrier certainly passed before a use, over all uses; -1: none
    int last_barrier;       // the largest point of a barrier certainly passed after a use, over all uses; or NOWHERE
} shared_tensor;

enum { SHARED_NOWHERE = INT32_MAX };

typedef struct shared_lifetimes shared_lifetimes;

// The shared tensors that [f] allocates, in the order of the text, with their lives; in [scratch]. [leaks] tells, by
// function id, whether a called function may keep an address it is given.
shared_lifetimes *ir_shared_lifetimes_of(ir_module *m, arena *scratch, ir_func *f, const bool *leaks);
int ir_shared_count(const shared_lifetimes *l);
const shared_tensor *ir_shared_at(const shared_lifetimes *l, int index);
bool ir_shared_may_overlay(const shared_lifetimes *l, const shared_tensor *a, const shared_tensor *b);

// Whether [f] may keep an address beyond its own run: it stores pointers in memory, makes numbers of them, passes them
// to TMA, or calls a function that does.
bool ir_shared_leaks_addresses(ir_module *m, ir_func *f, const bool *leaks);
