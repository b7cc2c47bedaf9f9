// Any bytes at all: lexer, parser and printer must end, with diagnostics or without, and never crash.
//
// Under HDS_FUZZ this is a libFuzzer target; otherwise replay.c feeds it the files of a folder.
#include <stddef.h>
#include <stdint.h>

#include "frontend/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a;
    src_map sources;
    diag_context diags;
    sym_table syms;
    arena_init(&a, NULL);
    src_map_init(&sources, &a);
    diag_init(&diags, &a, &sources);
    sym_init(&syms, &a);
    parse_context px = {&a, &syms, &diags};
    // An exact copy, so that the sanitizer sees a read past the end.
    src_file *file = src_add(&sources, "fuzz.hds", (str){arena_dup(&a, data, size), size});
    ast_module *module = parse_module(&px, file);
    if (module->has_errors && !diags.error_count)
        __builtin_trap();
    str_buf out;
    str_buf_init(&out, &a);
    ast_print(module, &sources, &out);
    diag_render_text(&diags, &out, (diag_style){0});
    diag_init(&diags, &a, &sources);
    lex_print(&px, file, &out);
    diag_init(&diags, &a, &sources);
    parse_expression(&px, file);
    arena_free(&a);
    return 0;
}
