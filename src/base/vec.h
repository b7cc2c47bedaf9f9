// Growing arrays in an arena: VEC(type) declares one, the macros below work on any of them.
//
//     VEC(int) numbers = {0};
//     VEC_PUSH(arena, &numbers, 42);
//     for (size_t i = 0; i < numbers.len; i++) use(numbers.at[i]);
#pragma once

#include <stddef.h>

#include "base/arena.h"

#define VEC(type)                                                                                                      \
    struct {                                                                                                           \
        type *at;                                                                                                      \
        size_t len;                                                                                                    \
        size_t cap;                                                                                                    \
    }

// Makes room for at least [need] elements of [size] bytes; new ones are uninitialized.
void *vec_grow(arena *a, void *at, size_t len, size_t *cap, size_t need, size_t size);

#define VEC_RESERVE(a, v, need)                                                                                        \
    ((need) > (v)->cap ? (void)((v)->at = vec_grow((a), (v)->at, (v)->len, &(v)->cap, (need), sizeof *(v)->at))        \
                       : (void)0)
#define VEC_PUSH(a, v, item) (VEC_RESERVE((a), (v), (v)->len + 1), (v)->at[(v)->len++] = (item))
#define VEC_LAST(v) ((v)->at[(v)->len - 1])
#define VEC_POP(v) ((v)->at[--(v)->len])
