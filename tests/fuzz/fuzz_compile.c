// Any bytes at all as a source file: elaboration, every pass and the emitter must end, with diagnostics or without, and
// never crash, hang or break the IR. A program that is rejected must say why; an internal error is a crash.
//
// The budget of compile-time steps and the memory are small, so that a file which only asks for much is no finding.
//
// Under HDS_FUZZ this is a libFuzzer target (mutate_lines.c changes its inputs); otherwise replay.c feeds it the files
// of a folder.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STACK_BYTES = 64 << 20, MEMORY_BYTES = 256 << 20, STEPS = 20000, ERRORS = 20 };

static void fail(pl_unit *u, const char *why)
{
    str_buf text;
    str_buf_init(&text, &u->memory);
    diag_render_text(&u->diags, &text, (diag_style){0});
    fprintf(stderr, "%s\n%s\n", why, str_text(&text));
    __builtin_trap();
}

static bool is_internal(diag_code code)
{
    return code == HDS0400 || code == HDS0470 || code == HDS0495;
}

static void check_messages(pl_unit *u)
{
    for (size_t i = 0; i < u->diags.all.len; i++) {
        if (is_internal(u->diags.all.at[i]->code))
            fail(u, "internal error");
    }
    if (u->status == PL_INTERNAL)
        fail(u, "internal status");
    if (u->status == PL_OK && !u->cuda.at)
        fail(u, "rejected without an error");
}

static void render_messages(pl_unit *u)
{
    str_buf text;
    str_buf_init(&text, &u->memory);
    diag_render_text(&u->diags, &text, (diag_style){0});
    diag_render_json(&u->diags, &text);
}

static void compile(pl_unit *u)
{
    pl_compile(u);
    render_messages(u);
}

static void *run(void *unit)
{
    pl_unit *u = unit;
    pl_unit_run(u, compile);
    if (u->status != PL_NO_MEMORY)
        check_messages(u);
    return NULL;
}

// The elaborator recurses with the nesting of the source, as pl_job_run knows: the same stack as there.
static void run_on_large_stack(pl_unit *u)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, run, u) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const arch *target = arch_find(STR("sm_90a"));
    const pl_options options = {
        .input = "fuzz.hds",
        .emit = PL_NOTHING,
        .archs = &target,
        .arch_count = 1,
        .step_budget = STEPS,
        .verify_ir = true,
        .memory_limit_bytes = MEMORY_BYTES,
        .error_limit = ERRORS,
    };
    pl_unit u;
    pl_unit_init(&u, &options, target, 0);
    // An exact copy, so that the sanitizer sees a read past the end.
    char *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    u.input = (str){copy, size};
    u.input_name = options.input;
    u.is_first = true;
    run_on_large_stack(&u);
    pl_unit_free(&u);
    free(copy);
    return 0;
}
