// Scopes and errors: names, where they are bound, and what to say when they are not.
#include "typecheck/values/values.h"

#include <string.h>

#include <stdarg.h>

enum { HASH_FROM = 12 }; // scopes with more names than this use a hash table

tc_scope *tc_scope_new(tc *tx, tc_scope *parent, tc_module *module, int kind)
{
    // Field by field: room of the list is not cleared.
    tc_scope *s = arena_raw(tx->arena, sizeof *s);
    s->parent = parent;
    s->module = module;
    s->kind = kind;
    s->is_comprehension = false;
    s->id = ++tx->last_scope;
    s->born = tx->born;
    s->has = 0;
    s->slots = NULL;
    s->slot_mask = 0;
    s->list.at = s->first;
    s->list.len = 0;
    s->list.cap = TC_SCOPE_FIRST;
    return s;
}

// A table of four times as many slots as names, for all of them.
static void hash_again(tc *tx, tc_scope *s)
{
    enum { FIRST_SLOTS = 64, ROOM = 4 };
    s->slot_mask = s->slots ? (s->slot_mask + 1) * ROOM - 1 : FIRST_SLOTS - 1;
    s->slots = ARENA_ARRAY(tx->arena, tc_binding *, s->slot_mask + 1);
    for (size_t i = 0; i < s->list.len; i++)
        *tc_scope_slot(s, s->list.at[i]->name, tc_scope_hash(s->list.at[i]->name)) = s->list.at[i];
}

// A binding of the name, which the caller fills.
static tc_binding *add_name(tc *tx, tc_scope *s, sym name, uint64_t hash)
{
    tc_binding *b = arena_raw(tx->arena, sizeof *b);
    b->name = name;
    VEC_PUSH(tx->arena, &s->list, b);
    s->has |= tc_scope_bit(hash);
    if (s->slots ? s->list.len * 2 > s->slot_mask : s->list.len > HASH_FROM)
        hash_again(tx, s);
    else if (s->slots)
        *tc_scope_slot(s, name, hash) = b;
    return b;
}

tc_binding *tc_scope_bind(tc *tx, tc_scope *s, sym name, tc_value v, src_span span)
{
    tc_binding *b = tc_scope_find_here(s, name);
    tc_changes(tx, s->born);
    if (!b)
        b = add_name(tx, s, name, tc_scope_hash(name));
    *b = (tc_binding){.value = v, .name = name, .owner = tx->func, .span = span, .region = tx->region};
    return b;
}

const char *tc_scope_suggest(const tc_scope *s, str name)
{
    const char *best = NULL;
    int limit = name.len <= 2 ? 0 : name.len <= 4 ? 1 : 2, best_distance = limit + 1;
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
    int limit = name.len <= 4 ? 1 : name.len <= 6 ? 2 : 3, best_distance = limit + 1;
    for (; *names; names++) {
        int d = str_distance(str_of(*names), name, limit);
        if (d < best_distance) {
            best_distance = d;
            best = *names;
        }
    }
    return best;
}

// "gemm[T=f16, BM=64]": a function and what its type parameters stand for, as far as they are bound by now.
static const char *frame_title(tc *tx, const tc_frame *f)
{
    const tc_function *function = f->function;
    if (!function->decl || !f->scope || !function->decl->type_params.len)
        return tc_frame_title(tx, f);
    str_buf b;
    str_buf_init(&b, tx->arena);
    if (function->owner)
        str_addf(&b, "%s.", function->owner->name->text);
    str_adds(&b, function->name->text);
    int shown = 0;
    for (size_t i = 0; i < function->decl->type_params.len; i++) {
        sym name = function->decl->type_params.at[i].name;
        const tc_binding *p = tc_scope_find_here(f->scope, name);
        if (!p || tc_is_poison(p->value) || p->value.kind == TC_RT)
            continue;
        str_addf(&b, "%s%s=", shown++ ? ", " : "[", name->text);
        tc_repr(tx, p->value, &b);
    }
    if (shown)
        str_addc(&b, ']');
    return str_text(&b);
}

static const char *frame_verb(const tc_frame *f)
{
    if (!f->function->facts->is_kernel)
        return "called";
    return f->caller && f->caller->function ? "launched" : "instantiated";
}

// The call of a graph function by another one, or by the recorder: a frame of the library that its author has not written. NULL:
// [f] is no graph function's.
static const tc_frame *graph_call(const tc *tx, const tc_frame *f)
{
    const tc_class *of = tx->records && f->caller && f->caller->function ? f->caller->function->owner : NULL;
    return of && strcmp(of->name->text, "Graph") == 0 ? f->caller : NULL;
}

// The calls that led to [from], innermost first, as notes. A recursion is one note; a long chain is cut in the middle. The
// innermost call is omitted where the error is in the text of the call itself.
static void note_frames(tc *tx, diag *d, const tc_frame *from)
{
    enum { FIRST = 5, LAST = 2 };
    VEC(const tc_frame *) chain = {0};
    VEC(src_span) calls = {0};
    VEC(int) repeats = {0};
    for (const tc_frame *f = from; f && f->function; f = f->caller) {
        const tc_frame *title = f, *by = graph_call(tx, f);
        if (by && strcmp(by->function->name->text, "__call__") != 0)
            break; // the recorder
        f = by ? by : f;
        bool tells_nothing = title == from && f->call_span.begin <= d->span.begin && d->span.end <= f->call_span.end;
        if (!f->call_span.begin || tells_nothing || (f->preparing && f != from))
            continue;
        if (calls.len && calls.at[calls.len - 1].begin == f->call_span.begin) {
            VEC_LAST(&repeats)++;
            continue;
        }
        VEC_PUSH(tx->arena, &chain, title);
        VEC_PUSH(tx->arena, &calls, f->call_span);
        VEC_PUSH(tx->arena, &repeats, 1);
    }
    for (size_t i = 0; i < chain.len; i++) {
        const tc_frame *f = chain.at[i];
        if (i == FIRST && chain.len > FIRST + LAST) {
            diag_note(d, (src_span){0}, "and %zu calls between", chain.len - FIRST - LAST);
            i = chain.len - LAST - 1;
        } else if (repeats.at[i] > 1) {
            diag_note(d, calls.at[i], "in %s, called %d times here", tc_frame_title(tx, f), repeats.at[i]);
        } else {
            diag_note(d, calls.at[i], "in %s, %s here", frame_title(tx, f), frame_verb(f));
        }
    }
}

// The frame of the innermost call in the main file, where [span] is in another one; NULL: [span] is the author's own.
static const tc_frame *author_frame(const tc *tx, src_span span)
{
    if (!tx->records || src_file_at(tx->diags->sources, span.begin) == tx->main->file)
        return NULL;
    for (const tc_frame *f = tx->frame; f; f = f->caller)
        if (f->call_span.begin && src_file_at(tx->diags->sources, f->call_span.begin) == tx->main->file)
            return f;
    return NULL;
}

static bool is_about_weights(diag_code code)
{
    return code >= HDS0840 && code <= HDS0845;
}

diag *tc_error(tc *tx, diag_code code, src_span span, ...)
{
    const tc_frame *author = author_frame(tx, span);
    bool muted = tx->diags->muted;
    va_list args;
    va_start(args, span);
    tx->diags->muted = muted || (tx->lacks_weights && !is_about_weights(code));
    diag *d = diag_vreport(tx->diags, code, author ? author->call_span : span, args);
    tx->diags->muted = muted;
    va_end(args);
    if (tx->records && tx->recorded_call)
        diag_note(d, (src_span){0}, "in %s", tx->recorded_call);
    note_frames(tx, d, author ? author->caller : tx->frame);
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

bool tc_spend(tc *tx, int64_t steps, src_span span)
{
    int64_t left = tx->step_budget - tx->steps;
    tx->steps += steps < left ? steps : left > 0 ? left : 0;
    return tc_step(tx, span);
}

bool tc_out_of_steps(tc *tx, src_span span)
{
    if (tx->aborted)
        return false;
    tx->aborted = true;
    diag *d = tc_error(tx, HDS0101, span, tx->step_budget);
    diag_help(d, "look for a loop or recursion that does not end while compiling; --step-budget raises the limit");
    return false;
}
