// Helpers of the diag tests: a context over sources given as literals, and comparison of whole texts.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "diag/diag.h"

typedef struct fixture {
    arena arena;
    src_map sources;
    diag_context dx;
} fixture;

static inline int fixture_setup(void **state)
{
    static fixture f;
    arena_init(&f.arena, NULL);
    src_map_init(&f.sources, &f.arena);
    diag_init(&f.dx, &f.arena, &f.sources);
    *state = &f;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    fixture *f = *state;
    arena_free(&f->arena);
    return 0;
}

static inline src_file *add_source(fixture *f, const char *name, const char *text)
{
    return src_add(&f->sources, name, str_of(text));
}

// The [nth] (from 1) occurrence of [word] in [file].
static inline src_span span_of(const src_file *file, const char *word, int nth)
{
    const char *at = file->text.at - 1;
    for (int i = 0; i < nth; i++) {
        at = strstr(at + 1, word);
        assert_non_null(at);
    }
    uint32_t begin = file->base + (uint32_t)(at - file->text.at);
    return (src_span){begin, begin + (uint32_t)strlen(word)};
}

static inline const char *text_of(fixture *f, diag_style style)
{
    str_buf out;
    str_buf_init(&out, &f->arena);
    diag_render_text(&f->dx, &out, style);
    return str_text(&out);
}

static inline void assert_text(fixture *f, const char *expected)
{
    assert_string_equal(text_of(f, (diag_style){0}), expected);
}
