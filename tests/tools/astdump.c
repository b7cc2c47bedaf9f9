// Prints what the front end makes of a file: astdump tokens|ast|check FILE
// Diagnostics go to standard error; the exit code is 1 if there were errors.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "frontend/parse.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: astdump tokens|ast|check FILE\n");
        return 2;
    }
    arena a;
    arena_init(&a, NULL);
    str text;
    const char *error;
    if (!file_read(&a, argv[2], &text, &error)) {
        fprintf(stderr, "%s: %s\n", argv[2], error);
        return 2;
    }
    src_map sources;
    diag_context diags;
    sym_table syms;
    src_map_init(&sources, &a);
    diag_init(&diags, &a, &sources);
    sym_init(&syms, &a);
    parse_context px = {&a, &syms, &diags};
    src_file *file = src_add(&sources, argv[2], text);
    str_buf out;
    str_buf_init(&out, &a);
    if (strcmp(argv[1], "tokens") == 0) {
        lex_print(&px, file, &out);
    } else {
        ast_module *module = parse_module(&px, file);
        if (strcmp(argv[1], "ast") == 0)
            ast_print(module, &sources, &out);
    }
    fwrite(str_text(&out), 1, out.len, stdout);
    str_buf messages;
    str_buf_init(&messages, &a);
    diag_render_text(&diags, &messages, (diag_style){0});
    if (messages.len)
        fwrite(str_text(&messages), 1, messages.len, stderr);
    int failed = diags.error_count > 0;
    arena_free(&a);
    return failed;
}
