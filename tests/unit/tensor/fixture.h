// An arena and a diagnostic context, for one test.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diag/diag.h"

typedef struct fixture {
    arena memory;
    src_map sources;
    diag_context diags;
} fixture;

static inline void fixture_open(fixture *f)
{
    arena_init(&f->memory, NULL);
    src_map_init(&f->sources, &f->memory);
    diag_init(&f->diags, &f->memory, &f->sources);
}

static inline void fixture_close(fixture *f)
{
    arena_free(&f->memory);
}
