// Reading the text IR of golden/ and emitting it. The first line of a file may say
// '# options: lines host header from sm_90'.
#pragma once

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "cuda_emit/emit.h"

typedef struct golden {
    arena arena;
    sym_table syms;
    src_map sources;
    diag_context diags;
    ir_module *module;
    cu_options options;
    const arch *from; // the first architecture that has what the file uses; NULL: any
    cu_kernel_list kernels;
    str_buf text;
} golden;

static inline const char *golden_folder(arena *a)
{
    return file_join(a, HDS_TEST_FOLDER, "golden");
}

static inline int golden_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The .hir files of the folder, sorted, without their ending; NULL after the last.
static inline const char **golden_names(arena *a)
{
    VEC(const char *) names = {0};
    DIR *folder = opendir(golden_folder(a));
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        str name = str_of(entry->d_name);
        if (str_ends(name, STR(".hir")))
            VEC_PUSH(a, &names, arena_strndup(a, name.at, name.len - 4));
    }
    closedir(folder);
    qsort(names.at, names.len, sizeof *names.at, golden_by_name);
    VEC_PUSH(a, &names, NULL);
    return names.at;
}

static inline void golden_fail(golden *g, const char *name)
{
    str_buf out;
    str_buf_init(&out, &g->arena);
    diag_render_text(&g->diags, &out, (diag_style){0});
    fail_msg("%s:\n%s", name, str_text(&out));
}

// Reads IR text; [target]: an architecture instead of the file's, or NULL.
static inline void golden_read(golden *g, const char *name, str text, const char *target)
{
    memset(g, 0, sizeof *g);
    arena_init(&g->arena, NULL);
    sym_init(&g->syms, &g->arena);
    src_map_init(&g->sources, &g->arena);
    diag_init(&g->diags, &g->arena, &g->sources);
    str_buf_init(&g->text, &g->arena);
    src_file *file = src_add(&g->sources, arena_printf(&g->arena, "%s.hir", name), text);
    g->module = ir_read_text(&g->arena, &g->syms, &g->diags, file);
    if (!g->module || !ir_verify(g->module))
        golden_fail(g, name);
    if (target)
        g->module->arch = arch_find(str_of(target));
    g->options = (cu_options){.sources = &g->sources, .kernels = &g->kernels};
    const char *line =
        str_starts(text, STR("# options:")) ? arena_strndup(&g->arena, text.at, strcspn(text.at, "\n")) : "";
    g->options.lines = strstr(line, "lines") != NULL;
    g->options.host = strstr(line, "host") != NULL;
    if (strstr(line, "header")) {
        g->options.header = true;
        g->options.compiler = "hdsc 1.2.3";
        g->options.source_name = "examples/kernel.hds";
        g->options.flags = "-O2";
    }
    const char *from = strstr(line, "from ");
    g->from = from ? arch_find((str){from + 5, strcspn(from + 5, " ")}) : NULL;
}

static inline void golden_emit(golden *g, const char *name, const char *target)
{
    arena a;
    arena_init(&a, NULL);
    str text;
    const char *error, *path = file_join(&a, golden_folder(&a), arena_printf(&a, "%s.hir", name));
    if (!file_read(&a, path, &text, &error))
        fail_msg("%s: %s", path, error);
    golden_read(g, name, text, target);
    if (!cu_emit(g->module, &g->options, &g->text))
        golden_fail(g, name);
    // The sources' text belongs to [a].
    g->options.sources = NULL;
    arena_free(&a);
}

static inline void golden_free(golden *g)
{
    arena_free(&g->arena);
}
