// irpass: reads a module of IR text, runs passes over it, prints the result.
//
//     irpass [--passes=unroll,dce | --pipeline] [--dump=all|<pass>] [--stop-after=<pass>] [--spans] [--no-verify] file.hir
//
// The verifier runs on what was read and after each pass. Diagnostics go to standard error; the exit status is 1 after
// errors.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "ir/pass.h"

typedef struct settings {
    ir_pass_options options;
    char *passes;
    const char *file;
    bool pipeline, spans;
} settings;

static bool take(const char *argument, const char *name, const char **value)
{
    size_t len = strlen(name);
    if (strncmp(argument, name, len) != 0)
        return false;
    *value = argument + len;
    return true;
}

static bool read_arguments(int argc, char **argv, arena *a, settings *s)
{
    s->options.verify_each = s->options.wide_access = true;
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (take(argv[i], "--passes=", &value))
            s->passes = arena_strdup(a, value);
        else if (take(argv[i], "--dump=", &value))
            s->options.dump = value;
        else if (take(argv[i], "--stop-after=", &value))
            s->options.stop_after = value;
        else if (strcmp(argv[i], "--pipeline") == 0)
            s->pipeline = true;
        else if (strcmp(argv[i], "--spans") == 0)
            s->spans = true;
        else if (strcmp(argv[i], "--no-verify") == 0)
            s->options.verify_each = false;
        else if (argv[i][0] == '-' || s->file)
            return false;
        else
            s->file = argv[i];
    }
    return s->file != NULL;
}

static bool run_list(ir_pass_context *px, char *names)
{
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        const ir_pass *pass = ir_pass_find(name);
        if (!pass) {
            fprintf(stderr, "irpass: no pass is called '%s'\n", name);
            return false;
        }
        if (!ir_run_pass(px, pass))
            return false;
    }
    return true;
}

static bool run(arena *a, arena *scratch, settings *s, diag_context *dx, str text, str_buf *out)
{
    sym_table syms;
    sym_init(&syms, a);
    src_file *file = src_add(dx->sources, s->file, text);
    ir_module *m = file ? ir_read_text(a, &syms, dx, file) : NULL;
    if (!m || (s->options.verify_each && !ir_verify(m)))
        return false;
    s->options.dump_out = out;
    ir_pass_context px = {.module = m, .scratch = scratch, .diags = dx, .options = &s->options};
    if (s->passes && !run_list(&px, s->passes))
        return false;
    if (s->pipeline && !ir_run_pipeline(&px))
        return false;
    if (s->spans)
        ir_print_spans(m, out);
    else if (!s->options.dump)
        ir_print(m, out);
    return dx->error_count == 0;
}

int main(int argc, char **argv)
{
    arena a, scratch;
    arena_init(&a, NULL);
    arena_init(&scratch, NULL);
    settings s = {0};
    if (!read_arguments(argc, argv, &a, &s)) {
        fputs("usage: irpass [--passes=a,b | --pipeline] [--dump=all|<pass>] [--stop-after=<pass>] [--spans] "
              "[--no-verify] file.hir\n", stderr);
        return 2;
    }
    const char *error;
    str text;
    if (!file_read(&a, s.file, &text, &error)) {
        fprintf(stderr, "irpass: %s\n", error);
        return 2;
    }
    src_map sources;
    diag_context dx;
    src_map_init(&sources, &a);
    diag_init(&dx, &a, &sources);
    str_buf out, messages;
    str_buf_init(&out, &a);
    str_buf_init(&messages, &a);
    bool fine = run(&a, &scratch, &s, &dx, text, &out);
    fputs(str_text(&out), stdout);
    diag_render_text(&dx, &messages, (diag_style){0});
    fputs(str_text(&messages), stderr);
    arena_free(&scratch);
    arena_free(&a);
    return fine ? 0 : 1;
}
