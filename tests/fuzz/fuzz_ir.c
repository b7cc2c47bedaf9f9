// Any bytes at all as IR text: the reader and the verifier must end, with diagnostics or without, and never crash. What
// they accept must read back as it was printed, and be just as good after the passes that need no proofs.
//
// Under HDS_FUZZ this is a libFuzzer target; otherwise replay.c feeds it the files of a folder.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ir/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct session {
    arena memory, scratch;
    src_map sources;
    diag_context diags;
    sym_table syms;
} session;

static ir_module *read_text(session *s, str text)
{
    src_file *file = src_add(&s->sources, "fuzz.hir", text);
    ir_module *m = ir_read_text(&s->memory, &s->syms, &s->diags, file);
    if (!m && !s->diags.error_count)
        __builtin_trap();
    return m;
}

static const char *print_text(session *s, const ir_module *m)
{
    str_buf out;
    str_buf_init(&out, &s->memory);
    ir_print(m, &out);
    return str_text(&out);
}

static void check_round_trip(session *s, const ir_module *m)
{
    const char *first = print_text(s, m);
    ir_module *again = read_text(s, str_of(first));
    if (!again || strcmp(first, print_text(s, again)) != 0)
        __builtin_trap();
}

static void check_passes(session *s, ir_module *m)
{
    static const char *const names[] = {"unroll", "dce", "allocate-shared", "dce"};
    ir_pass_context px = {.module = m, .scratch = &s->scratch, .diags = &s->diags};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!ir_run_pass(&px, ir_pass_find(names[i])))
            return;
        if (!ir_verify_after(m, names[i]))
            __builtin_trap();
    }
    check_round_trip(s, m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    session s;
    arena_init(&s.memory, NULL);
    arena_init(&s.scratch, NULL);
    src_map_init(&s.sources, &s.memory);
    diag_init(&s.diags, &s.memory, &s.sources);
    sym_init(&s.syms, &s.memory);
    // An exact copy, so that the sanitizer sees a read past the end.
    ir_module *m = read_text(&s, (str){arena_dup(&s.memory, data, size), size});
    if (m && ir_verify(m)) {
        check_round_trip(&s, m);
        check_passes(&s, m);
    }
    str_buf messages;
    str_buf_init(&messages, &s.memory);
    diag_render_text(&s.diags, &messages, (diag_style){0});
    arena_free(&s.scratch);
    arena_free(&s.memory);
    return 0;
}
