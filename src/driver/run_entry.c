// Which function of the file runs, or is measured.

#include "driver/run.h"

#include <string.h>

// What the file offers: not the kernels that host functions launch, nor the operators' functions for tensors with gaps, nor what
// models do at load.
static bool is_offered(const run_state *r, const ir_func *f)
{
    return f->is_public && !f->is_launched && !f->is_strided && !cmd_run_loads(r, f);
}

static bool no_entry(run_state *r, const char *why)
{
    str_buf names;
    pl_unit *u = &r->unit;
    str_buf_init(&names, &u->memory);
    for (size_t i = 0; i < u->module->funcs.len; i++) {
        const ir_func *f = u->module->funcs.at[i];
        if (is_offered(r, f))
            str_addf(&names, "%s'%s'", names.len ? ", " : "", f->name);
    }
    diag *d = diag_report(&u->diags, HDS0643, (src_span){0, 0}, u->input_name, why);
    if (names.len)
        diag_help(d, "choose one with --entry: %s", str_text(&names));
    r->is_usage_error = true;
    return false;
}

const ir_var *cmd_run_parameter(const ir_func *f, const char *name)
{
    for (size_t i = 0; i < f->params.len; i++) {
        if (f->params.at[i]->name && strcmp(f->params.at[i]->name, name) == 0)
            return f->params.at[i];
    }
    return NULL;
}

// Whether it has the parameters of the words, and those of the types that the words say, as in x=randn:f16[8, 4].
// [*said]: how many say one.
static bool has_words(run_state *r, const ir_func *f, int *said)
{
    for (size_t i = 0; i < r->request->words.len; i++) {
        ten_spec spec = {0};
        const run_word *w = &r->request->words.at[i];
        const ir_var *v = cmd_run_parameter(f, w->name);
        if (!v)
            return false;
        if (v->type->kind != IR_TENSOR || ten_spec_parse(&r->unit.memory, w->value, &spec) || spec.type == DT_NONE)
            continue;
        (*said)++;
        if (v->type->elem->kind != IR_SCALAR || v->type->elem->scalar != spec.type)
            return false;
    }
    return true;
}

// A word that no function of the operator has as a parameter; NULL: there is none.
static const char *unknown_word(run_state *r, const char *operator)
{
    for (size_t i = 0; i < r->request->words.len; i++) {
        const char *name = r->request->words.at[i].name;
        bool is_known = false;
        for (size_t k = 0; k < r->unit.module->funcs.len; k++) {
            const ir_func *f = r->unit.module->funcs.at[k];
            is_known |= f->operator&& strcmp(f->operator, operator) == 0 && cmd_run_parameter(f, name);
        }
        if (!is_known)
            return name;
    }
    return NULL;
}

static bool no_parameter(run_state *r, const char *operator, const char * name)
{
    pl_unit *u = &r->unit;
    const char *why = arena_printf(&u->memory, "has operator '%s' without a parameter '%s'", operator, name);
    diag *d = diag_report(&u->diags, HDS0643, (src_span){0, 0}, u->input_name, why);
    diag_help(d, "an option of the definition is fixed by -D %s=…; a number is a parameter with -D %s=f32", name, name);
    diag_help(d, "'hdsc ops %s %s' shows its signature", u->input_name, operator);
    r->is_usage_error = true;
    return false;
}

// An operator has a function for each type, and some without optional operands: the words select one. Operands that no
// word names are omitted.
static bool choose_by_words(run_state *r, const char *operator)
{
    arena *a = &r->unit.memory;
    int said = 0;
    bool is_clear = false;
    for (size_t i = 0; i < r->unit.module->funcs.len; i++) {
        const ir_func *f = r->unit.module->funcs.at[i];
        if (!is_offered(r, f) || !f->operator || strcmp(f->operator, operator) != 0 || !has_words(r, f, &said))
            continue;
        bool is_first = !r->entry || f->params.len < r->entry->params.len;
        is_clear = is_first || (is_clear && f->params.len > r->entry->params.len);
        r->entry = is_first ? f : r->entry;
    }
    if (is_clear)
        return true;
    const char *unknown = unknown_word(r, operator);
    if (unknown)
        return no_parameter(r, operator, unknown);
    return no_entry(r, said ? arena_printf(a, "has no operator '%s' for these types", operator)
                            : arena_printf(a, "has an operator '%s' for several types", operator));
}

// The operator that all that is offered, or what --entry says, is a function of; NULL: none.
static const char *operator_asked_for(const run_state *r)
{
    const run_request *q = r->request;
    const char *operator = NULL;
    for (size_t i = 0; i < r->unit.module->funcs.len; i++) {
        const ir_func *f = r->unit.module->funcs.at[i];
        if (!is_offered(r, f))
            continue;
        bool is_it = f->operator && (q->shared.entries.len ? strcmp(f->operator, q->shared.entries.at[0]) == 0
                                                         : !operator || strcmp(f->operator, operator) == 0);
        if (!is_it)
            return NULL;
        operator = f->operator;
    }
    return operator;
}

// The function of a model that --entry names, which stands before what the model does at load.
static bool choose_model(run_state *r)
{
    for (size_t i = 0; i < r->unit.models.len && r->request->shared.entries.len == 1; i++)
        if (strcmp(r->unit.models.at[i].run.name, r->request->shared.entries.at[0]) == 0)
            r->entry = cmd_run_function(r, r->unit.models.at[i].run.name);
    return r->entry != NULL;
}

bool cmd_run_choose_entry(run_state *r)
{
    if (choose_model(r))
        return true;
    const ir_module *m = r->unit.module;
    int count = 0;
    const char *operator = operator_asked_for(r);
    for (size_t i = 0; i < m->funcs.len; i++) {
        const ir_func *f = m->funcs.at[i];
        bool is_asked_for = r->request->shared.entries.len > 0 && !cmd_run_loads(r, f);
        if (!f->is_public || !(is_asked_for || is_offered(r, f)))
            continue;
        r->entry = f;
        count++;
    }
    if (!count)
        return no_entry(r, "has nothing that can be run");
    if (operator&& count> 1) {
        r->entry = NULL;
        return choose_by_words(r, operator);
    }
    // What is asked for stands last: callees, such as the kernels that a host function launches, come before callers.
    return count == 1 || r->request->shared.entries.len == 1 ||
           no_entry(r, arena_printf(&r->unit.memory, "has %d entries", count));
}
