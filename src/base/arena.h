// Arenas: memory with a lifetime instead of owners.
//
// An arena hands out zeroed, 16-byte aligned memory and frees all of it at once. Allocation never returns NULL:
// when memory (or the arena's byte limit) is exhausted, control jumps to the recovery point in [arena_oom].
// Nothing here is thread-safe; each thread of work has its own arenas.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Where control goes when memory runs out. The API sets one up per compilation.
typedef struct arena_oom {
    jmp_buf jump;
} arena_oom;

// What arenas that belong together hold. It outlives them.
typedef struct arena_meter {
    size_t held_bytes;  // obtained from the system and not given back
    size_t most_bytes;  // the most that was ever held
} arena_meter;

typedef struct arena_chunk arena_chunk;

typedef struct arena {
    arena_chunk *head;   // newest chunk
    arena_chunk *spare;  // chunks that resets gave back, kept for the next need; the newest one first
    char *next;          // first free byte of [head]
    char *end;           // one past the last byte of [head]
    size_t total_bytes;  // obtained from the system, spare ones included
    size_t limit_bytes;  // 0: no limit
    arena_oom *oom;      // NULL: abort, for tests and tools without a recovery point
    arena_meter *meter;  // NULL: not metered
} arena;

typedef struct arena_mark {
    arena_chunk *head;
    char *next;
    char *end;
} arena_mark;

void arena_init(arena *a, arena_oom *oom);
void arena_free(arena *a);

// Zeroed memory of [size] bytes. Size 0 gives a valid unique pointer.
void *arena_alloc(arena *a, size_t size);
// [size] bytes that begin with a copy of [old_size]; the others may be anything.
void *arena_grow(arena *a, const void *old, size_t old_size, size_t size);
void *arena_dup(arena *a, const void *data, size_t size);
char *arena_strdup(arena *a, const char *text);
char *arena_strndup(arena *a, const char *text, size_t len);
char *arena_printf(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(arena *a, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

// As arena_alloc, for sizes that are known where it is called: nodes of trees are small and many, and are no call.
static inline void *arena_new(arena *a, size_t size)
{
#ifndef __SANITIZE_ADDRESS__ // which has to be told what is in use
    size_t room = (size + 15) & ~(size_t)15;
    if (size && room <= (size_t)(a->end - a->next)) {
        char *at = a->next;
        a->next += room;
        return memset(at, 0, room);
    }
#endif
    return arena_alloc(a, size);
}

// The same, but what is there may be anything: for what is filled at once.
static inline void *arena_raw(arena *a, size_t size)
{
#ifndef __SANITIZE_ADDRESS__
    size_t room = (size + 15) & ~(size_t)15;
    if (size && room <= (size_t)(a->end - a->next)) {
        char *at = a->next;
        a->next += room;
        return at;
    }
#endif
    return arena_grow(a, NULL, 0, size);
}

// Everything allocated after the mark is given back; memory taken before it stays valid.
arena_mark arena_mark_get(const arena *a);
void arena_reset(arena *a, arena_mark mark);

#define ARENA_NEW(a, type) ((type *)arena_new((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (size_t)(count)))
