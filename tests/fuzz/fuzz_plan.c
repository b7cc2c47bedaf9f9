// Any bytes at all as a plan: the reader ends, with a reason or a plan; what it reads prints as text that is read as the
// same plan; and running it ends, whatever its values are.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_STEPS = 2000 };

static hdsrt_status allocate(void *user, const char *name, const plan_stmt *s, int64_t bytes, uint64_t *address)
{
    int64_t *live = user;
    (void)name;
    (void)s;
    *address = 4096;
    ++*live;
    return bytes > 1 << 30 ? --*live, HDSRT_OUT_OF_MEMORY : HDSRT_OK;
}

static hdsrt_status release(void *user, uint64_t address)
{
    int64_t *live = user;
    (void)address;
    --*live;
    return HDSRT_OK;
}

static hdsrt_status fill(void *user, uint64_t to, uint64_t pattern, int element_bytes, int64_t count)
{
    (void)user;
    (void)to;
    return pattern == 77 && count + element_bytes < 0 ? HDSRT_DRIVER_ERROR : HDSRT_OK;
}

static hdsrt_status copy(void *user, uint64_t to, uint64_t from, int64_t bytes)
{
    (void)user;
    return to == from && bytes == 5 ? HDSRT_DRIVER_ERROR : HDSRT_OK;
}

static hdsrt_status launch(void *user, const plan_stmt *s, jit_kernel *kernel, const uint64_t *bits)
{
    (void)user;
    (void)s;
    (void)kernel;
    (void)bits;
    return HDSRT_OK;
}

static void print_text(void *user, str text)
{
    (void)user;
    if (text.len != strlen(text.at))
        abort();
}

static void run(arena *a, const plan *p, uint64_t value, bool has_workspace)
{
    int64_t live = 0;
    const jit_machine machine = {&live, has_workspace, allocate, release, fill, copy, launch, print_text, MOST_STEPS};
    jit_function f = {.plan = *p, .entry.launch.name = "f"};
    uint64_t *values = ARENA_ARRAY(a, uint64_t, p->parameter_count + 1), result = 0;
    f.kernels = ARENA_ARRAY(a, jit_kernel *, p->stmts.len + 1);
    for (int i = 0; i < p->parameter_count; i++)
        values[i] = value;
    jit_run(&f, values, &machine, p->has_result ? &result : NULL);
    if (live)
        __builtin_trap();
}

static str text_of(arena *a, const plan *p)
{
    str_buf out;
    str_buf_init(&out, a);
    plan_print(p, &out);
    return (str){str_text(&out), out.len};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a;
    plan p, again;
    const char *why = NULL;
    arena_init(&a, NULL);
    bool ok = plan_read(&a, (str){(const char *)data, size}, &p, &why);
    if (ok == (why != NULL))
        __builtin_trap();
    if (ok) {
        str text = text_of(&a, &p);
        if (!plan_read(&a, text, &again, &why) || !str_equal(text, text_of(&a, &again)))
            __builtin_trap();
        for (uint64_t value = 0; value < 5; value++)
            run(&a, &p, value == 4 ? UINT64_MAX : value, value % 2);
    }
    arena_free(&a);
    return 0;
}
