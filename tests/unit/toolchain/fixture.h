// What the toolchain tests share: a diagnostic context, files in a temporary folder, NVIDIA's tools where they are
// installed.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "diag/diag.h"
#include "toolchain/nvrtc.h"

typedef struct fixture {
    arena arena;
    src_map sources;
    diag_context dx;
    char folder[64];
} fixture;

static inline int fixture_setup(void **state)
{
    static fixture f;
    f = (fixture){0};
    arena_init(&f.arena, NULL);
    src_map_init(&f.sources, &f.arena);
    diag_init(&f.dx, &f.arena, &f.sources);
    strcpy(f.folder, "/tmp/hds-unit-XXXXXX");
    *state = &f;
    return mkdtemp(f.folder) ? 0 : -1;
}

static inline int fixture_teardown(void **state)
{
    fixture *f = *state;
    char *command = arena_printf(&f->arena, "rm -r '%s'", f->folder);
    int failed = system(command);
    arena_free(&f->arena);
    return failed;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static inline const char *write_file(fixture *f, const char *name, str bytes)
{
    const char *error, *path = file_join(&f->arena, f->folder, name);
    assert_true(file_write(&f->arena, path, bytes, &error));
    return path;
}

// The tool's path; NULL if this machine does not have it.
static inline const char *find_tool(fixture *f, const char *name)
{
    const char *path = getenv("PATH"), *roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        const char *tool = arena_printf(&f->arena, "%s/bin/%s", roots[i] ? roots[i] : "", name);
        if (roots[i] && access(tool, X_OK) == 0)
            return tool;
    }
    while (path && *path) {
        size_t len = strcspn(path, ":");
        const char *tool = arena_printf(&f->arena, "%.*s/%s", (int)len, path, name);
        if (access(tool, X_OK) == 0)
            return tool;
        path += len + (path[len] == ':');
    }
    return NULL;
}

static inline const char *output_of(fixture *f, const char *command)
{
    str_buf out;
    str_buf_init(&out, &f->arena);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (int c; (c = fgetc(pipe)) != EOF;)
        str_addc(&out, (char)c);
    pclose(pipe);
    return str_text(&out);
}

// A real NVRTC; skips the test without one.
static inline tool_nvrtc *open_or_skip(fixture *f)
{
    tool_nvrtc *nvrtc = tool_nvrtc_open(&f->arena, &f->dx, NULL);
    if (!nvrtc)
        skip();
    return nvrtc;
}

static inline const arch *arch_named(const char *name)
{
    const arch *found = arch_find(str_of(name));
    assert_non_null(found);
    return found;
}

static inline const char *rendered(fixture *f)
{
    str_buf out;
    str_buf_init(&out, &f->arena);
    diag_render_text(&f->dx, &out, (diag_style){0});
    return str_text(&out);
}
