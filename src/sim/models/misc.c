// hidet.lang.cuda: fences, clocks, sleep, trap. Times are counted, not measured, so that the same seed gives the same
// run: one tick for each warp instruction of the block.
#include "sim/dependent.h"
#include "sim/models/models_priv.h"

// bound[0]: sim_reach
static bool bind_fence(sim_use *use)
{
    const char *name = use->intrin->name;
    if (strcmp(name, "threadfence_block") == 0)
        use->bound[0] = SIM_CTA;
    else if (strcmp(name, "threadfence_system") == 0)
        use->bound[0] = SIM_SYS;
    else
        use->bound[0] = strcmp(name, "threadfence") == 0 ? SIM_GPU : sim_reach_of(use->intrin);
    return true;
}

static sim_step run_fence(sim_warp *w, const sim_use *use)
{
    sim_order_fence(w, w->active, (sim_reach)use->bound[0]);
    return SIM_NEXT;
}

static sim_step give(sim_warp *w, const sim_use *use, uint64_t value)
{
    SIM_EACH(lane, w->active)
        sim_element_set(w, &use->result, 0, lane, value);
    sim_result_defined(w, use, w->active);
    return SIM_NEXT;
}

static sim_step run_clock(sim_warp *w, const sim_use *use)
{
    return give(w, use, w->block->clock);
}

// Blocks are assigned round-robin to as many SMs as an H100 has.
static sim_step run_sm_id(sim_warp *w, const sim_use *use)
{
    return give(w, use, (uint64_t)w->block->index % 132);
}

static sim_step run_nano_sleep(sim_warp *w, const sim_use *use)
{
    (void)w, (void)use;
    return SIM_YIELD;
}

static sim_step run_dependent_wait(sim_warp *w, const sim_use *use)
{
    (void)use;
    sim_dependent_wait(w);
    return SIM_NEXT;
}

static sim_step run_let_dependents_start(sim_warp *w, const sim_use *use)
{
    (void)use;
    sim_dependent_let_start(w);
    return SIM_NEXT;
}

static sim_step run_trap(sim_warp *w, const sim_use *use)
{
    sim_find_at(w, sim_first_lane(w->active), use->site, HDS0617, NULL, NULL, NULL, NULL);
    return SIM_HALT;
}

const sim_model sim_models_misc[] = {
    {"threadfence_block", run_fence, bind_fence, false},
    {"threadfence", run_fence, bind_fence, true},
    {"threadfence_system", run_fence, bind_fence, true},
    {"fence", run_fence, bind_fence, true},
    {"griddepcontrol_wait", run_dependent_wait, NULL, false},
    {"griddepcontrol_launch_dependents", run_let_dependents_start, NULL, false},
    {"clock", run_clock, NULL, false},
    {"clock64", run_clock, NULL, false},
    {"globaltimer", run_clock, NULL, false},
    {"nano_sleep", run_nano_sleep, NULL, false},
    {"trap", run_trap, NULL, false},
    {"sm_id", run_sm_id, NULL, false},
    {NULL, NULL, NULL, false},
};
