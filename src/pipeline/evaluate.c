#include "pipeline/evaluate.h"

#include "pipeline/unit.h"

static src_file *add_text(pl_unit *u, const char *name, const char *text)
{
    src_file *file = src_add(&u->sources, name, str_of(text));
    if (!file)
        diag_report(&u->diags, HDS0492, (src_span){0, 0}, name);
    return file;
}

static void evaluate(pl_unit *u)
{
    pl_evaluation *e = (pl_evaluation *)u;
    const tc_options options = {.arch = u->arch, .gpu = u->gpu, .find_module = pl_find_module, .find_user = &u->finder};
    src_file *first = e->map_text ? add_text(u, "<mapping>", e->map_text) : NULL;
    src_file *second = e->layout_text ? add_text(u, "<layout>", e->layout_text) : NULL;
    if (first)
        e->map = tc_eval_mapping(&u->memory, &u->syms, &u->diags, first, &options);
    if (second)
        e->layout = tc_eval_layout(&u->memory, &u->syms, &u->diags, second, &options);
}

pl_status pl_evaluate(pl_evaluation *e, const pl_options *options, const char *map_text, const char *layout_text,
                      arena_oom *oom)
{
    *e = (pl_evaluation){.map_text = map_text, .layout_text = layout_text};
    pl_unit_init(&e->unit, options, options->archs[0], pl_now_us());
    pl_unit_run(&e->unit, evaluate);
    e->unit.memory.oom = oom;
    return e->unit.status;
}

void pl_evaluation_free(pl_evaluation *e)
{
    pl_unit_free(&e->unit);
}

// ---- questions --------------------------------------------------------------------------------------------------

static void ask(pl_unit *u)
{
    pl_asking *q = (pl_asking *)u;
    const char **answers = ARENA_ARRAY(&u->memory, const char *, q->question->call_count + 1);
    if (!pl_open_source(u, u->options->input))
        return;
    const tc_options options = pl_unit_elaboration(u);
    if (tc_ask(&u->memory, &u->syms, &u->diags, u->file, &options, q->question, answers))
        q->answers = answers;
}

pl_status pl_ask(pl_asking *asking, const pl_options *options, const tc_question *question, arena_oom *oom)
{
    *asking = (pl_asking){.question = question};
    pl_unit_init(&asking->unit, options, options->archs[0], pl_now_us());
    pl_unit_run_deep(&asking->unit, ask);
    asking->unit.memory.oom = oom;
    return asking->unit.status;
}

// ---- operators --------------------------------------------------------------------------------------------------

static void list_operators(pl_unit *u)
{
    pl_operators *q = (pl_operators *)u;
    if (!pl_open_source(u, u->options->input))
        return;
    const tc_options options = pl_unit_elaboration(u);
    q->is_read = tc_list_operators(&u->memory, &u->syms, &u->diags, u->file, &options, &q->listing);
}

pl_status pl_list_operators(pl_operators *operators, const pl_options *options, const tc_define *given, int given_count,
                            arena_oom *oom)
{
    *operators = (pl_operators){.listing = {.given = given, .given_count = given_count}};
    pl_unit_init(&operators->unit, options, options->archs[0], pl_now_us());
    pl_unit_run_deep(&operators->unit, list_operators);
    operators->unit.memory.oom = oom;
    return operators->unit.status;
}
