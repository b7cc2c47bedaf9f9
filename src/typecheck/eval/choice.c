// What host functions choose from, for hdsc tune: SearchSpace.facts of hidet.lang.search_space makes the data.
#include <string.h>

#include "typecheck/eval/eval.h"
#include "typecheck/values/number.h"

enum { LINE, SPACE, SM_COUNT, SIZES, USUAL, LABELS, COSTS, FACTS };

static const char *text_of(const tc *tx, tc_value v)
{
    return v.kind == TC_STR ? arena_strndup(tx->options->choice_memory, v.s.at, v.s.len) : "";
}

static bool is_list(tc_value v)
{
    return v.kind == TC_TUPLE || v.kind == TC_LIST;
}

static void add_choice(tc *tx, const tc_value *facts)
{
    arena *a = tx->options->choice_memory;
    const tc_list *sizes = facts[SIZES].list, *labels = facts[LABELS].list, *costs = facts[COSTS].list;
    tc_choice c = {.space = text_of(tx, facts[SPACE]), .usual = text_of(tx, facts[USUAL])};
    int64_t line = 0, size;
    tc_as_int64(facts[LINE], &line);
    tc_as_int64(facts[SM_COUNT], &c.sm_count);
    c.line = (int)line;
    for (size_t i = 0; i < sizes->len; i++)
        if (tc_as_int64(sizes->at[i], &size))
            VEC_PUSH(a, &c.sizes, size);
    for (size_t i = 0; i < labels->len && i < costs->len; i++)
        VEC_PUSH(a, &c.candidates, ((tc_candidate){text_of(tx, labels->at[i]), tc_to_double(costs->at[i])}));
    VEC_PUSH(a, tx->options->choices, c);
}

// note_choice(f): f() is what a host function chooses from, if somebody asks.
tc_value tc_native_note_choice(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    if (!tx->options->choices)
        return tc_none();
    tc_value facts = tc_call_values(tx, args->list.at[0].value, NULL, 0, args->span);
    bool is_whole = facts.kind == TC_TUPLE && facts.list->len == FACTS;
    if (is_whole && is_list(facts.list->at[SIZES]) && is_list(facts.list->at[LABELS]) && is_list(facts.list->at[COSTS]))
        add_choice(tx, facts.list->at);
    return tc_none();
}

// As tables have it: ("matmul", 132, (4096, 4096), "128x256").
static const char *row_text(tc *tx, const tc_value *row)
{
    int64_t number;
    str_buf out;
    str_buf_init(&out, tx->lasting);
    tc_as_int64(row[1], &number);
    str_addf(&out, "(\"%.*s\", %lld, (", (int)row[0].s.len, row[0].s.at, (long long)number);
    for (size_t i = 0; i < row[2].list->len; i++) {
        tc_as_int64(row[2].list->at[i], &number);
        str_addf(&out, "%s%lld%s", i ? ", " : "", (long long)number, row[2].list->len == 1 ? "," : "");
    }
    str_addf(&out, "), \"%.*s\")", (int)row[3].s.len, row[3].s.at);
    return str_text(&out);
}

static bool is_reported(const diag_context *dx, const char *row)
{
    for (size_t i = 0; i < dx->all.len; i++)
        if (dx->all.at[i]->code == HDS0828 && strstr(dx->all.at[i]->message, row))
            return true;
    return false;
}

static const char *nearest(tc *tx, tc_value label, const tc_list *candidates)
{
    const char **names = ARENA_ARRAY(tx->arena, const char *, candidates->len + 1);
    for (size_t i = 0; i < candidates->len; i++)
        names[i] = arena_strndup(tx->lasting, candidates->at[i].s.at, candidates->at[i].s.len);
    return diag_suggest(tx->lasting, arena_strndup(tx->arena, label.s.at, label.s.len), names, candidates->len);
}

// note_passed_over(row, candidates, why): a row of --tuned=FILE is not taken; said once for each.
tc_value tc_native_note_passed_over(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    const tc_value row = args->list.at[0].value, candidates = args->list.at[1].value, why = args->list.at[2].value;
    bool is_row = is_list(row) && row.list->len == 4 && row.list->at[0].kind == TC_STR && is_list(row.list->at[2]) &&
                  row.list->at[3].kind == TC_STR;
    const char *text = is_row ? row_text(tx, row.list->at) : NULL;
    if (!text || !is_list(candidates) || why.kind != TC_STR || is_reported(tx->diags, text))
        return tc_none();
    diag *d = diag_report(tx->diags, HDS0828, (src_span){0, 0}, text, arena_strndup(tx->lasting, why.s.at, why.s.len));
    const char *hint = nearest(tx, row.list->at[3], candidates.list);
    if (d && hint)
        diag_help(d, "%s", hint);
    return tc_none();
}
