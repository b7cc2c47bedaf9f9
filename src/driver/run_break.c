// --break and --print, held against the program before it runs.

#include <string.h>
#include <strings.h>

#include "driver/run.h"
#include "sim/code.h"

static const src_span nowhere = {0, 0};

static const char *title_of(const run_state *r)
{
    return r->entry->title ? r->entry->title : r->entry->name;
}

// ---- breakpoints --------------------------------------------------------------------------------------------------

bool cmd_run_is_in_file(const run_state *r, const run_breakpoint *b, const src_file *file)
{
    if (!file || !b->file)
        return file && file == r->unit.file;
    str name = str_of(file->name);
    size_t len = strlen(b->file);
    return str_ends(name, str_of(b->file)) && (name.len == len || name.at[name.len - len - 1] == '/');
}

// Where the statements of the program are, as far as one breakpoint is concerned.
typedef struct lines {
    bool is_there, has_file;
    uint32_t before, after;  // nearest lines; 0: none
} lines;

static void look_at(const run_state *r, const run_breakpoint *b, src_location location, lines *out)
{
    if (!cmd_run_is_in_file(r, b, location.file))
        return;
    out->has_file = true;
    if (location.line == b->line)
        out->is_there = true;
    else if (location.line < b->line)
        out->before = location.line > out->before ? location.line : out->before;
    else
        out->after = !out->after || location.line < out->after ? location.line : out->after;
}

static lines find_lines(run_state *r, const run_breakpoint *b)
{
    lines found = {0};
    for (size_t f = 0; f < r->unit.module->funcs.len; f++) {
        const sim_code *code = sim_code_of(r->program, r->unit.module->funcs.at[f]);
        for (size_t i = 0; code && i < code->ops.len; i++) {
            const sim_op *op = &code->ops.at[i];
            if (op->code == SIM_OP_STATEMENT)
                look_at(r, b, src_location_of(&r->unit.sources, sim_site_at(r->program, op->site)->span.begin), &found);
        }
    }
    return found;
}

static bool check_break(run_state *r, const run_breakpoint *b)
{
    arena *a = &r->unit.memory;
    lines found = find_lines(r, b);
    if (found.is_there)
        return true;
    const char *why = found.has_file ? arena_printf(a, "'%s' has no statement there", title_of(r))
                                     : arena_printf(a, "'%s' has no statements in that file", title_of(r));
    diag *d = diag_report(&r->unit.diags, HDS0632, nowhere, b->text, why);
    if (found.before && found.after)
        diag_help(d, "the nearest lines with statements are %u and %u", found.before, found.after);
    else if (found.has_file)
        diag_help(d, "the nearest line with a statement is %u", found.before ? found.before : found.after);
    else
        diag_help(d, "the file that runs is '%s'", r->unit.input_name);
    return false;
}

// ---- variables ----------------------------------------------------------------------------------------------------

typedef VEC(const char *) names;

static void add_names(run_state *r, names *out)
{
    for (size_t f = 0; f < r->unit.module->funcs.len; f++) {
        const sim_code *code = sim_code_of(r->program, r->unit.module->funcs.at[f]);
        for (size_t i = 0; code && i < code->locals.len; i++) {
            const ir_var *v = code->locals.at[i].var;
            bool is_named = v->name && v->role == IR_ROLE_NAME;
            for (size_t k = 0; is_named && k < out->len; k++)
                is_named = strcmp(out->at[k], v->name) != 0;
            if (is_named)
                VEC_PUSH(&r->unit.memory, out, v->name);
        }
    }
}

static bool check_watched(run_state *r, const char *name, const names *known)
{
    arena *a = &r->unit.memory;
    for (size_t i = 0; i < known->len; i++) {
        if (strcmp(known->at[i], name) == 0)
            return true;
    }
    diag *d = diag_report(&r->unit.diags, HDS0630, nowhere, arena_printf(a, "--print %s", name),
                          arena_printf(a, "names no variable of '%s'", title_of(r)));
    const char *hint = diag_suggest(a, name, known->at, known->len);
    if (hint)
        diag_help(d, "%s", hint);
    return false;
}

bool cmd_run_check_breaks(run_state *r)
{
    const run_request *q = r->request;
    names known = {0};
    bool ok = true;
    for (size_t i = 0; i < q->breaks.len; i++)
        ok &= check_break(r, &q->breaks.at[i]);
    if (q->watched.len)
        add_names(r, &known);
    for (size_t i = 0; i < q->watched.len; i++)
        ok &= check_watched(r, q->watched.at[i], &known);
    r->is_usage_error = r->is_usage_error || !ok;
    return ok;
}
