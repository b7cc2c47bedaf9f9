// What host functions choose from, for hdsc tune: SearchSpace.facts of hidet.lang.search_space makes the data.
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
