// Any bytes at all as an interface document: the reader ends, with a reason or a program; what it reads can be measured
// with any sizes, and evaluating ends, too.
//
// The bytes up to the first 0 are a single expression, the rest (or all, where there is no 0) a document.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "jit/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"n", "m", "x"};

static void evaluate(arena *a, const char *text)
{
    static const int64_t numbers[] = {0, 1, -1, 7, 4096, INT64_MAX, INT64_MIN};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    jit_expr expr;
    const char *why = NULL;
    int64_t out = 0;
    bool ok = jit_expr_compile(a, text, names, 3, &expr, &why);
    if (ok == (why != NULL))
        __builtin_trap();
    for (size_t i = 0; ok && i < COUNT * COUNT; i++) {
        const jit_value values[] = {
            {.kind = JIT_INTEGER, .u.integer = numbers[i % COUNT]},
            {.kind = JIT_INTEGER, .u.integer = numbers[i / COUNT]},
            {.kind = JIT_REAL, .u.real = (double)numbers[i % COUNT] / 3},
        };
        jit_expr_evaluate(&expr, values, &out);
    }
}

// Arguments of the right kinds: all numbers [value].
static void measure(arena *a, const jit_kernel *k, int64_t value)
{
    hds_argument *arguments = ARENA_ARRAY(a, hds_argument, k->count);
    hdsrt_extents extents;
    for (int i = 0; i < k->count; i++) {
        hds_parameter_kind kind = k->parameters[i].shown.kind;
        bool is_address = kind == HDS_TENSOR || kind == HDS_POINTER;
        arguments[i] = is_address ? hds_pointer(NULL) : hds_int(value);
    }
    jit_extents(k, arguments, (size_t)k->count, &extents);
    jit_extents(k, arguments, (size_t)(k->count - k->size_count), &extents);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a;
    arena_init(&a, NULL);
    const uint8_t *stop = size ? memchr(data, 0, size) : NULL;
    size_t len = stop ? (size_t)(stop - data) : 0;
    if (stop)
        evaluate(&a, arena_strndup(&a, (const char *)data, len));
    str document = {arena_dup(&a, data + len + (stop != NULL), size - len - (stop != NULL)),
                    size - len - (stop != NULL)};
    jit_program *p = ARENA_NEW(&a, jit_program);
    const char *why = NULL;
    bool ok = jit_read(&a, document, p, &why);
    if (ok == (why != NULL))
        __builtin_trap();
    for (int i = 0; ok && i < p->count; i++) {
        for (int64_t value = -1; value < 1000; value = value * 10 + 11)
            measure(&a, &p->kernels[i], value);
    }
    arena_free(&a);
    return 0;
}
