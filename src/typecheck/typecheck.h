// Elaboration: from syntax trees to typed IR.
//
// Generics and compile-time evaluation mean that a body has no single typing: it is walked once per instantiation with
// an environment of compile-time values, and IR is written as the walk goes. Modules are parsed on first import and
// their top levels evaluated; functions are elaborated when something needs them, entries of the main file first.
#pragma once

#include "diag/diag.h"
#include "frontend/ast.h"
#include "frontend/parse.h"
#include "ir/ir.h"

// `-D NAME=VALUE`: VALUE is an expression of the language ("128", "f16", "(1, 2)"); no value means True.
typedef struct tc_define {
    const char *name;
    const char *value;
} tc_define;

// Finds the text of an imported module and adds it to the source map. [path]: dotted name ("hidet.lang.cuda",
// "layers.gelu"); [level]: leading dots of a relative import; [importer]: the importing file. Returns NULL if there is
// none; then
// *[looked] may say where it looked (one string, ", "-separated).
typedef src_file *tc_find_module(void *user, const char *path, int level, const src_file *importer,
                                 const char **looked);

typedef struct tc_options {
    const tc_define *defines;
    int define_count;
    const char *const
        *entries; // names or instantiations, "matmul" or "matmul[f16, 128]"; none: every entry of the file
    int entry_count;
    const arch *arch;
    int64_t step_budget; // compile-time steps; 0: the default of 10 million
    tc_find_module *find_module;
    void *find_user;
} tc_options;

// Elaborates [file]. NULL after errors, which are in [diags]. A file without entries gives a module without functions
// and a warning. All memory in [a].
ir_module *tc_compile(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options);

// Evaluates one expression that must be a task mapping (or layout), as `hdsc mapping` takes it. NULL after errors.
const tm_map *tc_eval_mapping(arena *a, sym_table *syms, diag_context *diags, src_file *expression,
                              const tc_options *options);
const tm_layout *tc_eval_layout(arena *a, sym_table *syms, diag_context *diags, src_file *expression,
                                const tc_options *options);
