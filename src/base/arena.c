#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/format.h"

// A build with the address sanitizer reports what reads memory that a reset has given back.
#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define ARENA_HIDE(at, size) ASAN_POISON_MEMORY_REGION((at), (size))
#define ARENA_REVEAL(at, size) ASAN_UNPOISON_MEMORY_REGION((at), (size))
#else
#define ARENA_HIDE(at, size) ((void)(at), (void)(size))
#define ARENA_REVEAL(at, size) ((void)(at), (void)(size))
#endif

struct arena_chunk {
    arena_chunk *older;
    size_t size;
    char data[] __attribute__((aligned(16)));
};

// The largest ones are a huge page with their header, so that filling one takes one page fault and not 512: these took a fifth of
// the time of compiling a model.
enum { HUGE_PAGE = 2 * 1024 * 1024, FIRST_CHUNK = 16 * 1024, LARGEST_CHUNK = HUGE_PAGE - sizeof(arena_chunk) };

void arena_init(arena *a, arena_oom *oom)
{
    *a = (arena){.oom = oom};
}

static void chunks_free(arena_chunk *from)
{
    while (from) {
        arena_chunk *older = from->older;
        ARENA_REVEAL(from->data, from->size);
        free(from);
        from = older;
    }
}

void arena_free(arena *a)
{
    chunks_free(a->head);
    chunks_free(a->spare);
    if (a->meter)
        a->meter->held_bytes -= a->total_bytes;
    *a = (arena){.oom = a->oom, .meter = a->meter, .limit_bytes = a->limit_bytes};
}

static _Noreturn void out_of_memory(arena *a)
{
    if (a->oom)
        longjmp(a->oom->jump, 1);
    fputs("out of memory\n", stderr);
    abort();
}

static arena_chunk *chunk_memory(size_t size)
{
    if (size != LARGEST_CHUNK)
        return malloc(sizeof(arena_chunk) + size);
    void *page = aligned_alloc(HUGE_PAGE, HUGE_PAGE);
    if (page)
        (void)madvise(page, HUGE_PAGE, MADV_HUGEPAGE); // where there are none, small pages do
    return page;
}

static arena_chunk *chunk_new(arena *a, size_t size)
{
    bool over_limit = a->limit_bytes && a->total_bytes + size > a->limit_bytes;
    arena_chunk *chunk = over_limit ? NULL : chunk_memory(size);
    if (!chunk)
        out_of_memory(a);
    chunk->size = size;
    a->total_bytes += size;
    arena_meter *all = a->meter;
    if (all) {
        all->held_bytes += size;
        all->most_bytes = all->held_bytes > all->most_bytes ? all->held_bytes : all->most_bytes;
    }
    return chunk;
}

// The first spare chunk that is large enough, taken from the list, or NULL.
static arena_chunk *chunk_reuse(arena *a, size_t size)
{
    for (arena_chunk **at = &a->spare; *at; at = &(*at)->older)
        if ((*at)->size >= size) {
            arena_chunk *found = *at;
            *at = found->older;
            ARENA_REVEAL(found->data, found->size);
            return found;
        }
    return NULL;
}

// Chunks double in size up to a limit, so that small compilations stay small and large ones call malloc rarely.
static void chunk_add(arena *a, size_t need)
{
    arena_chunk *chunk = chunk_reuse(a, need);
    if (!chunk) {
        size_t size = a->head ? a->head->size * 2 : FIRST_CHUNK;
        if (size > LARGEST_CHUNK)
            size = LARGEST_CHUNK;
        chunk = chunk_new(a, size < need ? need : size);
    }
    chunk->older = a->head;
    a->head = chunk;
    a->next = chunk->data;
    a->end = chunk->data + chunk->size;
}

static inline void *take(arena *a, size_t size)
{
    if (size > SIZE_MAX - 64)
        out_of_memory(a);
    size = size ? (size + 15) & ~(size_t)15 : 16;
    if (size > (size_t)(a->end - a->next))
        chunk_add(a, size);
    void *result = a->next;
    ARENA_REVEAL(result, size);
    a->next += size;
    return result;
}

void *arena_alloc(arena *a, size_t size)
{
    enum { SMALL = 128 };
    char *at = take(a, size);
    if (size > SMALL)
        return memset(at, 0, size);
    // Nodes of trees are small and many: no call for them.
    for (size_t i = 0; i == 0 || i < size; i += 16)
        memset(at + i, 0, 16);
    return at;
}

void *arena_grow(arena *a, const void *old, size_t old_size, size_t size)
{
    char *grown = take(a, size);
    if (old_size)
        memcpy(grown, old, old_size);
    return grown;
}

void *arena_dup(arena *a, const void *data, size_t size)
{
    void *copy = take(a, size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_strndup(arena *a, const char *text, size_t len)
{
    char *copy = take(a, len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *arena_strdup(arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

// Short texts are put together on the stack, so that one round does.
char *arena_vprintf(arena *a, const char *format, va_list args)
{
    char brief[256];
    int len = str_vformat(brief, sizeof brief, format, args);
    if (len < 0)
        return arena_strndup(a, "", 0);
    if ((size_t)len < sizeof brief)
        return arena_strndup(a, brief, (size_t)len);
    char *text = arena_alloc(a, (size_t)len + 1);
    str_vformat(text, (size_t)len + 1, format, args);
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
    while (a->head != mark.head) {
        arena_chunk *newest = a->head;
        a->head = newest->older;
        newest->older = a->spare;
        a->spare = newest;
        ARENA_HIDE(newest->data, newest->size);
    }
    a->next = mark.next;
    a->end = mark.end;
    if (a->head)
        ARENA_HIDE(a->next, (size_t)(a->end - a->next));
}
