// The items that a loop which runs while compiling visits, one by one.
//
// A list is queried again for each item, as in Python: what the body appends is visited, too. A dict or set whose size
// changes meanwhile is an error. Run-time items are those of before the first iteration.
#include "typecheck/eval/eval.h"

static size_t size_of(tc_value v)
{
    return v.kind == TC_DICT ? v.dict->keys.len : v.list->len;
}

static bool is_sized(tc_value v)
{
    return v.kind == TC_DICT || v.kind == TC_SET;
}

static bool may_freeze(const tc_list *items)
{
    for (size_t i = 1; i < items->len; i++)
        if (tc_may_be_unsettled(items->at[i].kind))
            return true;
    return false;
}

bool tc_walk_begin(tc *tx, tc_walk *w, tc_value of, src_span span)
{
    *w = (tc_walk){.of = of, .span = span};
    if (of.kind == TC_TUPLE)
        w->items = (tc_list){.at = of.list->at, .len = of.list->len}; // they stay as they are
    else if (!tc_iterate(tx, of, span, &w->items))
        return false;
    w->size = is_sized(of) ? size_of(of) : 0;
    // The first iteration takes its item right away.
    w->frozen = w->items.at;
    if (tx->block && may_freeze(&w->items)) {
        w->frozen = arena_dup(tx->arena, w->items.at, w->items.len * sizeof *w->items.at);
        for (size_t i = 1; i < w->items.len; i++)
            w->frozen[i] = tc_freeze(tx, w->items.at[i], span);
    }
    return true;
}

// Item [i] of a list that may have changed since.
static tc_value present_item(const tc_walk *w, size_t i)
{
    tc_value now = w->of.list->at[i];
    bool same = i < w->items.len && now.kind == TC_RT && w->items.at[i].kind == TC_RT && now.rt == w->items.at[i].rt;
    return same ? w->frozen[i] : now;
}

bool tc_walk_next(tc *tx, tc_walk *w, tc_value *item)
{
    size_t i = w->next++;
    if (is_sized(w->of) && size_of(w->of) != w->size) {
        tc_error(tx, HDS0323, w->span, tc_describe(tx, w->of));
        w->failed = true;
        return false;
    }
    bool is_list = w->of.kind == TC_LIST;
    if (i >= (is_list ? w->of.list->len : w->items.len))
        return false;
    *item = is_list ? present_item(w, i) : w->frozen[i];
    return true;
}
