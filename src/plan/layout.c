// One workspace for all temporaries of a plan. Lifetimes are intervals of its statements, from ALLOCATE to FREE, in the
// order of the text: what is in different branches never lives at one time, and what lives around a loop lives in all of
// it. So that memory may be used again behind a FREE, each kernel waits for those before it (plan_kernels.waits).

#include "plan/build.h"

#include "base/checked.h"

typedef struct layout {
    plan_builder *b;
    plan_block *blocks;  // of each ALLOCATE, in the order of the text
    int *stmts;          // its number
    int count;
    int64_t *sizes;      // by value
} layout;

static int count_temporaries(const plan *p)
{
    int count = 0;
    for (size_t i = 0; i < p->stmts.len; i++)
        count += p->stmts.at[i].kind == PLAN_ALLOCATE;
    return count;
}

// What is not freed may be read until the end: in a loop, also by the turns behind the one that takes it.
static void find_lifetimes(layout *l)
{
    const plan *p = l->b->plan;
    int *block_of = ARENA_ARRAY(l->b->arena, int, p->values.len + 1);
    int depth = 0;
    int64_t outermost = 0;
    for (size_t i = 0; i < p->stmts.len; i++) {
        const plan_stmt *s = &p->stmts.at[i];
        plan_kind opener = s->kind == PLAN_END ? p->stmts.at[s->target].kind : PLAN__COUNT;
        bool is_loop = s->kind == PLAN_FOR || s->kind == PLAN_WHILE;
        outermost = is_loop && !depth ? (int64_t)i : outermost;
        depth += is_loop;
        depth -= opener == PLAN_FOR || opener == PLAN_WHILE;
        if (s->kind == PLAN_FREE) {
            plan_block *b = &l->blocks[block_of[s->value]];
            *b = (plan_block){l->stmts[block_of[s->value]], (int64_t)i, b->bytes, b->offset};
        }
        if (s->kind != PLAN_ALLOCATE)
            continue;
        block_of[s->value] = l->count;
        l->stmts[l->count] = (int)i;
        l->blocks[l->count++] = (plan_block){.begin = depth ? outermost : (int64_t)i, .end = (int64_t)p->stmts.len,
                                             .bytes = l->sizes[s->value], .offset = s->offset};
    }
}

// False if sizes are not known, or there are too many of them.
static bool begin(layout *l, plan_builder *b)
{
    int count = count_temporaries(b->plan);
    *l = (layout){.b = b};
    if (!count || count > PLAN_MOST_PLACED)
        return false;
    l->sizes = ARENA_ARRAY(b->arena, int64_t, b->plan->values.len + 1);
    l->blocks = ARENA_ARRAY(b->arena, plan_block, count);
    l->stmts = ARENA_ARRAY(b->arena, int, count);
    if (!plan_build_sizes(b, l->sizes))
        return false;
    find_lifetimes(l);
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        if (!add_checked(sum, l->blocks[i].bytes, &sum) || sum > INT64_MAX / 4)
            return false;
    }
    return true;
}

void plan_build_layout(plan_builder *b)
{
    layout l;
    if (b->why || !begin(&l, b))
        return;
    b->plan->planned = plan_place(b->arena, l.blocks, l.count);
    b->plan->bound = plan_live_bytes(b->arena, l.blocks, l.count);
    for (int i = 0; i < l.count; i++) {
        plan_stmt *s = &b->plan->stmts.at[l.stmts[i]];
        s->is_placed = true;
        s->offset = l.blocks[i].offset;
    }
}

// ---- offsets that a text gives ----------------------------------------------------------------------------------

static const char *name_at(const layout *l, int block)
{
    const plan *p = l->b->plan;
    return p->values.at[p->stmts.at[l->stmts[block]].value].name;
}

static bool check_block(layout *l, int i)
{
    const plan_block *b = &l->blocks[i];
    int64_t end = 0;
    if (!l->b->plan->stmts.at[l->stmts[i]].is_placed)
        return plan_build_fail(l->b, "'%s' has no offset in the workspace", name_at(l, i)) >= 0;
    if (b->offset % PLAN_PLACE_ALIGNMENT)
        return plan_build_fail(l->b, "the offset of '%s' is no multiple of %d", name_at(l, i), PLAN_PLACE_ALIGNMENT) >= 0;
    if (!add_checked(b->offset, b->bytes, &end) || end > l->b->plan->planned)
        return plan_build_fail(l->b, "'%s' is not within the workspace", name_at(l, i)) >= 0;
    for (int j = 0; j < i; j++) {
        const plan_block *o = &l->blocks[j];
        if (o->begin < b->end && b->begin < o->end && o->offset < end && b->offset < o->offset + o->bytes)
            return plan_build_fail(l->b, "'%s' and '%s' live at one time, and share memory", name_at(l, j), name_at(l, i)) >= 0;
    }
    return true;
}

bool plan_build_check_layout(plan_builder *b)
{
    plan *p = b->plan;
    layout l;
    if (p->planned < 0) {
        for (size_t i = 0; i < p->stmts.len; i++) {
            if (p->stmts.at[i].is_placed)
                return plan_build_fail(b, "'%s' has an offset, and no workspace is planned",
                                       p->values.at[p->stmts.at[i].value].name) >= 0;
        }
        return true;
    }
    if (!count_temporaries(p))
        return plan_build_fail(b, "a workspace is planned, and there are no temporaries") >= 0;
    if (!begin(&l, b))
        return plan_build_fail(b, "a workspace is planned for temporaries whose sizes are not known") >= 0;
    for (int i = 0; i < l.count; i++) {
        if (!check_block(&l, i))
            return false;
    }
    p->bound = plan_live_bytes(b->arena, l.blocks, l.count);
    return true;
}
