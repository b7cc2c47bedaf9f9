// What every test of the IR needs: arenas, diagnostics, reading and printing of text.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/pass.h"

typedef struct fixture {
    arena arena, scratch;
    sym_table syms;
    src_map sources;
    diag_context diags;
} fixture;

static inline void fixture_init(fixture *f)
{
    arena_init(&f->arena, NULL);
    arena_init(&f->scratch, NULL);
    sym_init(&f->syms, &f->arena);
    src_map_init(&f->sources, &f->arena);
    diag_init(&f->diags, &f->arena, &f->sources);
}

static inline void fixture_free(fixture *f)
{
    arena_free(&f->scratch);
    arena_free(&f->arena);
}

static inline ir_module *fixture_read(fixture *f, const char *text)
{
    src_file *file = src_add(&f->sources, "test.hir", str_of(text));
    return ir_read_text(&f->arena, &f->syms, &f->diags, file);
}

static inline const char *fixture_print(fixture *f, const ir_module *m)
{
    str_buf out;
    str_buf_init(&out, &f->arena);
    ir_print(m, &out);
    return str_text(&out);
}

static inline const char *fixture_messages(fixture *f)
{
    str_buf out;
    str_buf_init(&out, &f->arena);
    diag_render_text(&f->diags, &out, (diag_style){0});
    return str_text(&out);
}

static inline ir_module *fixture_module(fixture *f)
{
    return ir_module_new(&f->arena, &f->syms, &f->diags, arch_find(STR("sm_90a")), "test");
}
