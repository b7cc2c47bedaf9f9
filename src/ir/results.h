// A table of results per expression node, valid in one state of the environment (see analysis_range.h).
//
// Keys are addresses; nothing ever iterates over the table, so their order cannot reach the output.
#pragma once

#include <stdint.h>

#include "base/arena.h"

typedef struct ir_result {
    const void *key;
    void *value;
    uint32_t state;
} ir_result;

typedef struct ir_results {
    arena *arena;
    ir_result *slots;
    size_t cap; // a power of two, or 0
    size_t len;
} ir_results;

void ir_results_init(ir_results *results, arena *a);
// NULL if nothing was stored for [key] in [state]. A later state's result replaces an earlier one's.
void *ir_results_get(const ir_results *results, const void *key, uint32_t state);
void ir_results_put(ir_results *results, const void *key, uint32_t state, void *value);
