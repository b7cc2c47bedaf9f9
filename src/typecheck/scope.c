// Scopes and errors: names, where they are bound, and what to say when they are not.
#include "typecheck/tc_priv.h"

#include <stdarg.h>

enum { HASH_FROM = 12 };  // scopes with more names than this use a hash table

tc_scope *tc_scope_new(tc *tx, tc_scope *parent, tc_module *module, int kind)
{
    tc_scope *s = ARENA_NEW(tx->arena, tc_scope);
    s->parent = parent;
    s->module = module;
    s->kind = kind;
    return s;
}

tc_binding *tc_scope_find_here(const tc_scope *s, sym name)
{
    if (s->hashed)
        return map_get_ptr(&s->names, name);
    for (size_t i = s->list.len; i-- > 0;)
        if (s->list.at[i]->name == name)
            return s->list.at[i];
    return NULL;
}

tc_binding *tc_scope_find(const tc_scope *s, sym name, tc_scope **where)
{
    for (; s; s = s->parent) {
        tc_binding *b = tc_scope_find_here(s, name);
        if (b) {
            if (where)
                *where = (tc_scope *)s;
            return b;
        }
    }
    return NULL;
}

static void start_hashing(tc *tx, tc_scope *s)
{
    map_init(&s->names, tx->arena);
    for (size_t i = 0; i < s->list.len; i++)
        map_put_ptr(&s->names, s->list.at[i]->name, s->list.at[i]);
    s->hashed = true;
}

tc_binding *tc_scope_bind(tc *tx, tc_scope *s, sym name, tc_value v, src_span span)
{
    tc_binding *b = tc_scope_find_here(s, name);
    if (!b) {
        b = ARENA_NEW(tx->arena, tc_binding);
        b->name = name;
        VEC_PUSH(tx->arena, &s->list, b);
        if (s->hashed)
            map_put_ptr(&s->names, name, b);
        else if (s->list.len > HASH_FROM)
            start_hashing(tx, s);
    }
    *b = (tc_binding){.name = name, .value = v, .span = span, .owner = tx->func, .region = tx->region};
    return b;
}

const char *tc_scope_suggest(const tc_scope *s, str name)
{
    const char *best = NULL;
    int limit = name.len <= 3 ? 1 : 2, best_distance = limit + 1;
    for (; s; s = s->parent)
        for (size_t i = 0; i < s->list.len; i++) {
            int d = str_distance(sym_str(s->list.at[i]->name), name, limit);
            if (d < best_distance && d > 0) {
                best_distance = d;
                best = s->list.at[i]->name->text;
            }
        }
    return best;
}

const char *tc_suggest(tc *tx, const char *const *names, str name)
{
    (void)tx;
    const char *best = NULL;
    int best_distance = 4;
    for (; *names; names++) {
        int d = str_distance(str_of(*names), name, 3);
        if (d < best_distance) {
            best_distance = d;
            best = *names;
        }
    }
    return best;
}

// The calls that led here, innermost first, as notes; a long chain is cut in the middle.
static void note_frames(tc *tx, diag *d)
{
    enum { SHOWN = 6 };
    int shown = 0;
    for (tc_frame *f = tx->frame; f && f->function; f = f->caller) {
        if (!f->call_span.begin)
            continue;
        if (++shown > SHOWN)
            break;
        diag_note(d, f->call_span, "in %s, called here", f->title);
    }
}

diag *tc_error(tc *tx, diag_code code, src_span span, ...)
{
    va_list args;
    va_start(args, span);
    diag *d = diag_vreport(tx->diags, code, span, args);
    va_end(args);
    note_frames(tx, d);
    if (diag_too_many(tx->diags))
        tx->aborted = true;
    return d;
}

bool tc_wants_run_time(tc *tx)
{
    if (!tx->speculating)
        return false;
    tx->needs_run_time = true;
    return true;
}

bool tc_step(tc *tx, src_span span)
{
    if (tx->aborted)
        return false;
    if (tx->steps++ < tx->step_budget)
        return true;
    tx->aborted = true;
    diag *d = tc_error(tx, HDS0101, span, tx->step_budget);
    diag_help(d, "look for a loop or recursion that does not end while compiling; --step-budget raises the limit");
    return false;
}
