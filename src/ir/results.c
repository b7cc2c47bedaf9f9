#include "ir/results.h"

void ir_results_init(ir_results *results, arena *a)
{
    *results = (ir_results){.arena = a};
}

static size_t slot_of(const ir_results *results, const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(h >> 32) & (results->cap - 1);
    while (results->slots[at].key && results->slots[at].key != key)
        at = (at + 1) & (results->cap - 1);
    return at;
}

void *ir_results_get(const ir_results *results, const void *key, uint32_t state)
{
    if (!results->cap)
        return NULL;
    const ir_result *slot = &results->slots[slot_of(results, key)];
    return slot->key && slot->state == state ? slot->value : NULL;
}

static void grow(ir_results *results)
{
    ir_result *old = results->slots;
    size_t old_cap = results->cap;
    results->cap = old_cap ? old_cap * 2 : 16;
    results->slots = ARENA_ARRAY(results->arena, ir_result, results->cap);
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i].key)
            results->slots[slot_of(results, old[i].key)] = old[i];
    }
}

void ir_results_put(ir_results *results, const void *key, uint32_t state, void *value)
{
    if (results->len * 2 >= results->cap)
        grow(results);
    ir_result *slot = &results->slots[slot_of(results, key)];
    results->len += !slot->key;
    *slot = (ir_result){key, value, state};
}
