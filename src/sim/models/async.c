// hidet.lang.async_copy: cp.async and its groups (PTX ISA 9.7.9.25). Bytes arrive at the wait that asks for them, no
// sooner: a thread that does not wait reads old bytes, and memory.c reports it.
#include "sim/models/models_priv.h"

#include <stdlib.h>

// Copies that one execution of the instruction started.
typedef struct copy {
    uint32_t pending; // lanes whose bytes are still on their way
    uint32_t group[SIM_LANES]; // groups that the lane had committed before
    sim_async_chunk chunk[SIM_LANES];
} copy;

struct sim_async {
    uint32_t committed[SIM_LANES];
    VEC(copy *) flying; // oldest first
    VEC(copy *) spare;
};

static struct sim_async *async_of(sim_warp *w)
{
    if (!w->async)
        w->async = ARENA_NEW(w->block->arena, struct sim_async);
    return w->async;
}

// bound[0]: bytes; bound[1 … 3]: operands dst, src, present (-1: none).
static bool bind_copy(sim_use *use)
{
    static const char *const names[] = {"dst", "src", "present"};
    for (int i = 0; i < 3; i++) {
        const sim_operand *o = sim_operand_named(use, names[i]);
        use->bound[1 + i] = o ? o - use->operands : -1;
    }
    const char *at = strstr(use->intrin->text, "],");
    at = at ? strstr(at + 2, "], ") : NULL;
    use->bound[0] = at ? strtol(at + 3, NULL, 10) : 0;
    return use->bound[1] >= 0 && use->bound[2] >= 0 && use->bound[0] > 0;
}

static sim_step run_copy(sim_warp *w, const sim_use *use)
{
    struct sim_async *all = async_of(w);
    const sim_operand *dst = &use->operands[use->bound[1]], *src = &use->operands[use->bound[2]];
    const sim_operand *present = use->bound[3] >= 0 ? &use->operands[use->bound[3]] : NULL;
    uint32_t lanes = sim_require_defined(w, use->site, dst->cell, w->active, "address of a copy");
    if (present)
        lanes = sim_require_defined(w, use->site, present->cell, lanes, "number of bytes of a copy");
    int bytes = (int)use->bound[0];
    copy *c = all->spare.len ? VEC_POP(&all->spare) : ARENA_NEW(w->block->arena, copy);
    uint32_t reads = 0;
    SIM_EACH(lane, lanes) {
        int32_t n = present ? sim_i32(w, present->cell)[lane] : bytes;
        n = n < 0 ? 0 : n > bytes ? bytes : n;
        c->chunk[lane] = (sim_async_chunk){.site = use->site, .lane = lane, .bytes = bytes, .present = n, .align = bytes};
        reads |= (uint32_t)(n > 0) << lane;
    }
    lanes = (lanes & ~reads) | sim_require_defined(w, use->site, src->cell, reads, "address of a copy");
    c->pending = lanes;
    SIM_EACH(lane, lanes) {
        c->chunk[lane].to = sim_u64(w, dst->cell)[lane];
        c->chunk[lane].from = sim_u64(w, src->cell)[lane];
        c->group[lane] = all->committed[lane];
        sim_async_start(w, &c->chunk[lane]);
    }
    VEC_PUSH(w->block->arena, &all->flying, c);
    return SIM_NEXT;
}

static sim_step run_commit(sim_warp *w, const sim_use *use)
{
    (void)use;
    struct sim_async *all = async_of(w);
    SIM_EACH(lane, w->active)
        all->committed[lane]++;
    return SIM_NEXT;
}

// Lanes of [c] whose copy belongs to a group that [pending] newer ones have been committed after.
static uint32_t arrived(const struct sim_async *all, const copy *c, uint32_t lanes, uint32_t pending)
{
    uint32_t there = 0;
    SIM_EACH(lane, lanes & c->pending)
        there |= (uint32_t)((uint64_t)c->group[lane] + pending < all->committed[lane]) << lane;
    return there;
}

static void land(sim_warp *w, struct sim_async *all, uint32_t lanes, uint32_t pending)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->flying.len; i++) {
        copy *c = all->flying.at[i];
        uint32_t there = arrived(all, c, lanes, pending);
        SIM_EACH(lane, there)
            sim_async_land(w, &c->chunk[lane]);
        c->pending &= ~there;
        if (c->pending)
            all->flying.at[kept++] = c;
        else
            VEC_PUSH(w->block->arena, &all->spare, c);
    }
    all->flying.len = kept;
}

// bound[0]: groups that may stay on their way.
static bool bind_wait(sim_use *use)
{
    const char *at = strstr(use->intrin->text, "wait_group ");
    use->bound[0] = at ? strtol(at + strlen("wait_group "), NULL, 10) : 0;
    return at != NULL;
}

static sim_step run_wait(sim_warp *w, const sim_use *use)
{
    land(w, async_of(w), w->active, (uint32_t)use->bound[0]);
    return SIM_NEXT;
}

static sim_step run_wait_all(sim_warp *w, const sim_use *use)
{
    run_commit(w, use);
    land(w, async_of(w), w->active, 0);
    return SIM_NEXT;
}

const sim_model sim_models_async[] = {
    {"cp_async", run_copy, bind_copy, false},
    {"commit_group", run_commit, NULL, false},
    {"wait_group", run_wait, bind_wait, false},
    {"wait_all", run_wait_all, NULL, false},
    {NULL, NULL, NULL, false},
};
