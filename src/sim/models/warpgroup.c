// How the warps of a warpgroup meet; and of hidet.lang.cuda setmaxnreg (PTX ISA 9.7.19.5) and elect.sync (9.7.13.14).
//
// See Note [registers of a block]
#include "sim/models/warpgroup.h"

#include "sim/models/models_priv.h"

enum { FILE_REGISTERS = 65536, MOST_REGISTERS = 256 };

// ---- groups ---------------------------------------------------------------------------------------------------------

static int group_count(const sim_block *b)
{
    return (b->warp_count + SIM_GROUP_WARPS - 1) / SIM_GROUP_WARPS;
}

// A thread's registers at the start: what the compiler may use at most where it knows the block's threads.
static int first_registers(const sim_block *b)
{
    int64_t blocks = b->launch->kernel->min_blocks > 1 ? b->launch->kernel->min_blocks : 1;
    int64_t share = FILE_REGISTERS / (b->warp_count * SIM_LANES * blocks) / 8 * 8;
    return share > MOST_REGISTERS ? MOST_REGISTERS : (int)share;
}

sim_warpgroup *sim_group_of(sim_warp *w)
{
    sim_block *b = w->block;
    if (!b->groups) {
        b->groups = ARENA_ARRAY(b->arena, sim_warpgroup, group_count(b));
        for (int i = 0; i < group_count(b); i++)
            b->groups[i] = (sim_warpgroup){.block = b, .first = i * SIM_GROUP_WARPS, .registers = first_registers(b)};
    }
    return &b->groups[w->index / SIM_GROUP_WARPS];
}

static void find(sim_warp *w, const sim_use *use, const char *what, const sim_use *other, const char *there)
{
    sim_finding f = {.code = HDS0615, .args = {use->intrin->name, what}};
    f.actor = (sim_actor){use->site, w->block->index, sim_thread(w, sim_first_lane(w->active)), w->index};
    if (other) {
        f.other = (sim_actor){other->site, w->block->index, -1, -1};
        f.other_text = there;
    }
    f.help = "all four warps of a warpgroup execute it together; a warpgroup begins at a multiple of 128 threads";
    sim_find(w->block->launch->device, w->block->launch, &f);
}

bool sim_group_is_whole(sim_warp *w, const sim_use *use)
{
    const sim_block *b = w->block;
    int first = w->index / SIM_GROUP_WARPS * SIM_GROUP_WARPS, count = b->warp_count - first;
    if (w->active != UINT32_MAX && !sim_together(w, use, UINT32_MAX))
        return false;
    if (w->active == UINT32_MAX && count >= SIM_GROUP_WARPS)
        return true;
    if (w->active != UINT32_MAX)
        find(w, use, sim_say(w, "the warp has only %s", sim_say_lanes(w, w->active)), NULL, NULL);
    else
        find(w, use,
             sim_say(w, "the warpgroup has %d of 4 warps: the block ends with warp %d", count, b->warp_count - 1), NULL,
             NULL);
    return false;
}

// ---- meeting --------------------------------------------------------------------------------------------------------

static void find_ended(sim_warp *w, const sim_use *use, const sim_warp *ended)
{
    find(w, use, sim_say(w, "warp %d waits for warp %d of its warpgroup, which has ended", w->index, ended->index),
         NULL, NULL);
}

sim_step sim_group_meet(sim_warp *w, const sim_use *use)
{
    if (!sim_group_is_whole(w, use))
        return SIM_HALT;
    sim_warpgroup *g = sim_group_of(w);
    if (g->meeting && g->meeting != use) {
        const sim_warp *first = &w->block->warps[g->first + __builtin_ctz(g->here)];
        find(w, use, sim_say(w, "warps %d and %d of a warpgroup are at different instructions", w->index, first->index),
             g->meeting, sim_say(w, "warp %d is at '%s' here", first->index, g->meeting->intrin->name));
        return SIM_HALT;
    }
    for (int i = 0; i < SIM_GROUP_WARPS; i++) {
        const sim_warp *other = &w->block->warps[g->first + i];
        if (other->state == SIM_END) {
            find_ended(w, use, other);
            return SIM_HALT;
        }
    }
    g->meeting = use;
    g->here |= 1u << sim_group_index(w);
    if (g->here == (1u << SIM_GROUP_WARPS) - 1)
        return SIM_NEXT;
    return SIM_WAIT;
}

void sim_group_go(sim_warpgroup *g, const sim_warp *self)
{
    g->meeting = NULL;
    g->here = 0;
    for (int i = 0; i < SIM_GROUP_WARPS; i++) {
        sim_warp *w = &g->block->warps[g->first + i];
        if (w != self)
            sim_wake(w);
    }
}

void sim_group_warp_ended(sim_warp *w)
{
    sim_warpgroup *g = sim_group_of(w);
    if (!g->meeting || g->wanted)
        return;
    sim_warp *first = &w->block->warps[g->first + __builtin_ctz(g->here)];
    find_ended(first, g->meeting, w);
    __atomic_store_n(&w->block->launch->halted, true, __ATOMIC_RELAXED);
}

// ---- setmaxnreg -----------------------------------------------------------------------------------------------------

// Registers that the block has, and that its warpgroups hold, by 128 threads.
static int pool_of(const sim_block *b)
{
    return first_registers(b) * b->warp_count / SIM_GROUP_WARPS;
}

static int held(const sim_block *b)
{
    int sum = 0;
    for (int i = 0; i < group_count(b); i++) {
        int warps = b->warp_count - i * SIM_GROUP_WARPS;
        sum += b->groups[i].registers * (warps < SIM_GROUP_WARPS ? warps : SIM_GROUP_WARPS);
    }
    return (sum + SIM_GROUP_WARPS - 1) / SIM_GROUP_WARPS;
}

static bool take(sim_warpgroup *g, int count)
{
    if (held(g->block) - g->registers + count > pool_of(g->block))
        return false;
    g->registers = count;
    return true;
}

// Registers have been given back: a warpgroup that waits for some may get them.
static void serve(sim_block *b)
{
    for (int i = 0; i < group_count(b); i++) {
        sim_warpgroup *g = &b->groups[i];
        if (!g->wanted || !take(g, g->wanted))
            continue;
        g->wanted = 0;
        sim_group_go(g, NULL);
    }
}

// bound[0]: registers; bound[1]: whether they are more.
static bool bind_registers(sim_use *use)
{
    const char *at = strrchr(use->intrin->text, ' ');
    use->bound[0] = at ? strtol(at + 1, NULL, 10) : 0;
    use->bound[1] = strcmp(use->intrin->name, "setmaxnreg_inc") == 0;
    return use->bound[0] > 0;
}

static sim_step run_registers(sim_warp *w, const sim_use *use)
{
    sim_step step = sim_group_meet(w, use);
    if (step != SIM_NEXT)
        return step;
    sim_warpgroup *g = sim_group_of(w);
    int count = (int)use->bound[0];
    if (!use->bound[1] && count > g->registers) {
        sim_find_at(w, 0, use->site, HDS0629, use->intrin->name, sim_say(w, "%d", count),
                    sim_say(w, "the warpgroup has %d", g->registers), "setmaxnreg_inc takes registers");
        return SIM_HALT;
    }
    if (count < g->registers && use->bound[1])
        count = g->registers;
    if (!take(g, count)) {
        g->wanted = count;
        return SIM_WAIT;
    }
    sim_group_go(g, w);
    serve(w->block);
    return SIM_NEXT;
}

bool sim_group_describe(const sim_warp *w, str_buf *out)
{
    const sim_block *b = w->block;
    if (!b->groups || !b->groups[w->index / SIM_GROUP_WARPS].meeting)
        return false;
    const sim_warpgroup *g = &b->groups[w->index / SIM_GROUP_WARPS];
    if (g->wanted)
        str_addf(out, "%s(%d): the warpgroups of the block hold %d registers by threads of each, of %d",
                 g->meeting->intrin->name, g->wanted, held(b), pool_of(b));
    else
        str_addf(out, "%s(), which %d of 4 warps of the warpgroup have reached", g->meeting->intrin->name,
                 __builtin_popcount(g->here));
    return true;
}

// ---- elect.sync -----------------------------------------------------------------------------------------------------

static sim_step run_elect(sim_warp *w, const sim_use *use)
{
    sim_together(w, use, UINT32_MAX);
    uint32_t chosen = sim_first_lane(w->active);
    SIM_EACH(lane, w->active)
        sim_element_set(w, &use->result, 0, lane, lane == chosen);
    sim_result_defined(w, use, w->active);
    return SIM_NEXT;
}

const sim_model sim_models_group[] = {
    {"setmaxnreg_dec", run_registers, bind_registers, false},
    {"setmaxnreg_inc", run_registers, bind_registers, false},
    {"elect_one", run_elect, NULL, false},
    {NULL, NULL, NULL, false},
};

// Note [registers of a block]
//
// A kernel with setmaxnreg is compiled for as many registers a thread as its block dimensions allow, in steps of 8: 168
// for 384 threads, 128 for 512. That times the threads is all that the block has; warpgroups that ask for more wait
// until others have given back as many. A kernel whose roles ask for more in all waits for ever, which is a deadlock
// here, too.
