// What the front end's tests share: a parse context over text given in the test.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/lex.h"
#include "frontend/parse.h"

typedef struct fixture {
    arena memory;
    src_map sources;
    diag_context diags;
    sym_table syms;
    parse_context px;
} fixture;

static inline void fixture_open(fixture *f)
{
    arena_init(&f->memory, NULL);
    src_map_init(&f->sources, &f->memory);
    diag_init(&f->diags, &f->memory, &f->sources);
    sym_init(&f->syms, &f->memory);
    f->px = (parse_context){&f->memory, &f->syms, &f->diags};
}

static inline src_file *fixture_file(fixture *f, str text)
{
    return src_add(&f->sources, "test.hds", text);
}

static inline ast_module *fixture_parse(fixture *f, const char *text)
{
    fixture_open(f);
    return parse_module(&f->px, fixture_file(f, str_of(text)));
}

// The codes reported, as "HDS0001 HDS0013".
static inline const char *fixture_codes(fixture *f)
{
    str_buf out;
    str_buf_init(&out, &f->memory);
    for (size_t i = 0; i < f->diags.all.len; i++)
        str_addf(&out, "%s%s", i ? " " : "", diag_name(f->diags.all.at[i]->code));
    return out.at ? str_text(&out) : "";
}

static inline void fixture_close(fixture *f)
{
    arena_free(&f->memory);
}

// The bytes of [span], to say in a test what a node covers.
static inline const char *fixture_text(fixture *f, src_span span)
{
    src_file *file = src_file_at(&f->sources, span.begin);
    return arena_strndup(&f->memory, file->text.at + (span.begin - file->base), span.end - span.begin);
}
