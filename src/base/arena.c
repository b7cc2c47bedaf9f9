#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    arena_chunk *older;
    size_t size;
    char data[] __attribute__((aligned(16)));
};

enum { FIRST_CHUNK = 16 * 1024, LARGEST_CHUNK = 1024 * 1024 };

void arena_init(arena *a, arena_oom *oom)
{
    *a = (arena){.oom = oom};
}

static void chunks_free(arena_chunk *from, arena_chunk *until)
{
    while (from != until) {
        arena_chunk *older = from->older;
        free(from);
        from = older;
    }
}

void arena_free(arena *a)
{
    chunks_free(a->head, NULL);
    free(a->spare);
    *a = (arena){.oom = a->oom, .limit_bytes = a->limit_bytes};
}

static _Noreturn void out_of_memory(arena *a)
{
    if (a->oom)
        longjmp(a->oom->jump, 1);
    fputs("out of memory\n", stderr);
    abort();
}

// Chunks double in size up to a limit, so that small compilations stay small and large ones call malloc rarely.
static void chunk_add(arena *a, size_t need)
{
    size_t size = a->head ? a->head->size * 2 : FIRST_CHUNK;
    if (size > LARGEST_CHUNK)
        size = LARGEST_CHUNK;
    if (size < need)
        size = need;
    arena_chunk *chunk = a->spare;
    if (chunk && chunk->size >= size) {
        a->spare = NULL;
        size = chunk->size;
    } else {
        bool over_limit = a->limit_bytes && a->total_bytes + size > a->limit_bytes;
        chunk = over_limit ? NULL : malloc(sizeof *chunk + size);
        if (!chunk)
            out_of_memory(a);
        chunk->size = size;
    }
    chunk->older = a->head;
    a->head = chunk;
    a->next = chunk->data;
    a->end = chunk->data + size;
    a->total_bytes += size;
}

void *arena_alloc(arena *a, size_t size)
{
    if (size > SIZE_MAX - 64)
        out_of_memory(a);
    size = (size + 15) & ~(size_t)15;
    if (size == 0)
        size = 16;
    if (!a->head || size > (size_t)(a->end - a->next))
        chunk_add(a, size);
    void *result = a->next;
    a->next += size;
    return memset(result, 0, size);
}

void *arena_dup(arena *a, const void *data, size_t size)
{
    void *copy = arena_alloc(a, size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_strndup(arena *a, const char *text, size_t len)
{
    char *copy = arena_alloc(a, len + 1);
    memcpy(copy, text, len);
    return copy;
}

char *arena_strdup(arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

char *arena_vprintf(arena *a, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *text = arena_alloc(a, (size_t)(len < 0 ? 0 : len) + 1);
    if (len > 0)
        vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(a, format, args);
    va_end(args);
    return text;
}

arena_mark arena_mark_get(const arena *a)
{
    return (arena_mark){a->head, a->next, a->end};
}

void arena_reset(arena *a, arena_mark mark)
{
    arena_chunk *newest = a->head;
    for (arena_chunk *c = newest; c != mark.head; c = c->older)
        a->total_bytes -= c->size;
    if (newest != mark.head && (!a->spare || a->spare->size < newest->size)) {
        free(a->spare);
        a->spare = newest;
        chunks_free(newest->older, mark.head);
    } else {
        chunks_free(newest, mark.head);
    }
    a->head = mark.head;
    a->next = mark.next;
    a->end = mark.end;
}
