// Axes of the arrays that an operator's entry is given. `*S` is one axis of the entry, and any number of them in
// arrays: they are collapsed here as hdsrt_choose_instance does it for C, and results get them back. Operands of
// elementwise operators are broadcast as in NumPy.

#include "driver/run.h"

#include <string.h>

#include "base/strided_span.h"

static run_axes *group_of(run_state *r, const run_argument *a)
{
    int group = a->var->tensor && a->var->joined ? a->var->join_group : 0;
    return group > 0 && group <= RUN_MOST_GROUPS ? &r->groups[group - 1] : NULL;
}

static int axes_before(const run_argument *a)
{
    return a->var->joined - 1;
}

static int axes_after(const run_argument *a)
{
    return a->var->tensor->rank - a->var->joined;
}

static const char *text_of(run_state *r, int rank, const int64_t *shape)
{
    str_buf out;
    str_buf_init(&out, &r->unit.memory);
    str_addc(&out, '[');
    for (int i = 0; i < rank; i++)
        str_addf(&out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    str_addc(&out, ']');
    return str_text(&out);
}

static bool differ(run_state *r, const run_argument *a, const run_axes *found, const run_axes *known, const char *help)
{
    diag *d = diag_report(&r->unit.diags, HDS0784, a->var->span, a->name, text_of(r, found->rank, found->extents),
                          known->by, text_of(r, known->rank, known->extents));
    diag_help(d, "%s", help);
    r->is_usage_error = true;
    return false;
}

// The axes of the array that are one of the entry.
static run_axes axes_of(const run_argument *a)
{
    run_axes axes = {.rank = a->tensor.rank - axes_before(a) - axes_after(a), .by = a->name};
    memcpy(axes.extents, a->tensor.shape + axes_before(a), sizeof *axes.extents * (size_t)axes.rank);
    return axes;
}

static bool is_given(const run_argument *a)
{
    return a->has_shape && a->tensor.rank >= axes_before(a) + axes_after(a);
}

// ---- elementwise operators -----------------------------------------------------------------------------------------

static bool meet(run_state *r, run_argument *a, run_axes *whole)
{
    const run_axes own = axes_of(a);
    run_axes met = *whole;
    int shift = own.rank - whole->rank;
    if (!whole->by) {
        *whole = own;
        return true;
    }
    if (shift > 0) {
        memmove(met.extents + shift, met.extents, sizeof *met.extents * (size_t)met.rank);
        for (int i = 0; i < shift; i++)
            met.extents[i] = 1;
        met.rank = own.rank;
    }
    for (int i = 0; i < own.rank; i++) {
        int64_t *extent = &met.extents[met.rank - own.rank + i];
        if (*extent != own.extents[i] && *extent != 1 && own.extents[i] != 1)
            return differ(r, a, &own, whole, "operands are broadcast as in NumPy: extents are equal, or one is 1");
        *extent = *extent == 1 ? own.extents[i] : *extent;
    }
    met.by = whole->by;
    *whole = met;
    return true;
}

// Its elements as an array of the whole shape.
static bool broadcast(run_state *r, run_argument *a, const run_axes *whole)
{
    arena *memory = &r->unit.memory;
    ten_tensor *given = ARENA_NEW(memory, ten_tensor), *all = ARENA_NEW(memory, ten_tensor);
    int64_t strides[TEN_MAX_RANK], step = 1;
    *given = a->file ? *a->file : a->tensor;
    *all = (ten_tensor){.type = a->tensor.type, .rank = whole->rank};
    memcpy(all->shape, whole->extents, sizeof all->shape);
    if (!ten_allocate(memory, all, 0) || (!a->file && !ten_allocate(memory, given, 0)))
        return cmd_run_no_room(r, a);
    const char *why =
        a->file ? NULL : ten_fill(memory, a->spec, r->request->seed + (size_t)(a - r->arguments.at), given);
    if (why)
        return cmd_run_cannot_fill(r, a, why);
    for (int i = whole->rank - 1; i >= 0; i--) {
        int own = i - (whole->rank - given->rank);
        bool repeats = own < 0 || given->shape[own] == 1;
        strides[i] = repeats ? 0 : step;
        step *= own < 0 ? 1 : given->shape[own];
    }
    for (int64_t i = 0; i < all->count; i++)
        ten_set_bits(all, i, ten_bits(given, strided_span_offset(all->rank, all->shape, strides, i)));
    a->file = all;
    return true;
}

static bool meet_all(run_state *r)
{
    run_axes *whole = &r->groups[0];
    for (size_t i = 0; i < r->arguments.len; i++) {
        run_argument *a = &r->arguments.at[i];
        if (group_of(r, a) && is_given(a) && !a->var->is_result && !meet(r, a, whole))
            return false;
    }
    for (size_t i = 0; whole->by && i < r->arguments.len; i++) {
        run_argument *a = &r->arguments.at[i];
        if (!group_of(r, a) || !is_given(a))
            continue;
        const run_axes own = axes_of(a);
        bool is_whole =
            own.rank == whole->rank && memcmp(own.extents, whole->extents, sizeof *own.extents * (size_t)own.rank) == 0;
        if (!is_whole && a->var->is_result)
            return differ(r, a, &own, whole, "the result has the axes at which the operands meet");
        if (!is_whole && !broadcast(r, a, whole))
            return false;
        a->tensor.rank = whole->rank;
        memcpy(a->tensor.shape, whole->extents, sizeof a->tensor.shape);
    }
    return true;
}

// ---- all operators -------------------------------------------------------------------------------------------------

static bool agree(run_state *r, const run_argument *a, run_axes *known)
{
    const run_axes own = axes_of(a);
    if (!known->by)
        *known = own;
    if (own.rank == known->rank && memcmp(own.extents, known->extents, sizeof *own.extents * (size_t)own.rank) == 0)
        return true;
    return differ(r, a, &own, known,
                  "operands and results have the same axes where one axis of the entry represents any number of them");
}

static void collapse(run_argument *a)
{
    const run_axes own = axes_of(a);
    int64_t extent = 1;
    for (int i = 0; i < own.rank; i++)
        extent *= own.extents[i];
    int before = axes_before(a), after = axes_after(a);
    memmove(a->tensor.shape + before + 1, a->tensor.shape + a->tensor.rank - after, sizeof extent * (size_t)after);
    a->tensor.shape[before] = extent;
    a->tensor.rank = before + 1 + after;
}

bool cmd_run_collapse(run_state *r)
{
    if (r->entry->is_elementwise && !meet_all(r))
        return false;
    for (size_t i = 0; i < r->arguments.len; i++) {
        run_argument *a = &r->arguments.at[i];
        run_axes *group = a->is_tensor ? group_of(r, a) : NULL;
        if (!group || !is_given(a))
            continue;
        if (!agree(r, a, group))
            return false;
        collapse(a);
    }
    return true;
}

void cmd_run_expand(run_state *r)
{
    for (size_t i = 0; i < r->arguments.len; i++) {
        run_argument *a = &r->arguments.at[i];
        const run_axes *group = a->is_tensor ? group_of(r, a) : NULL;
        ten_tensor *t = &a->tensor;
        if (!group || !group->by)
            continue;
        int before = axes_before(a), after = axes_after(a);
        if (before + group->rank + after > TEN_MAX_RANK)
            continue;
        memmove(t->shape + before + group->rank, t->shape + before + 1, sizeof *t->shape * (size_t)after);
        memcpy(t->shape + before, group->extents, sizeof *t->shape * (size_t)group->rank);
        t->rank = before + group->rank + after;
    }
}
