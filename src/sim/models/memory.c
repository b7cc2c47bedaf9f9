// hidet.lang.memory: loads and stores with hints, volatile, ordered. Hints change nothing here.
#include "sim/models/models_priv.h"

static sim_access access_of(const sim_use *use, const sim_operand *value)
{
    const ir_intrin *in = use->intrin;
    return (sim_access){
        .bytes = (uint8_t)sim_operand_bytes(value),
        .is_signed = dt_is_signed(value->type),
        .is_volatile = use->bound[1] != 0,
        .count = value->count,
        .type = value->type,
        .space = sim_opcode_has(in, "shared")   ? IR_SHARED
                 : sim_opcode_has(in, "global") ? IR_GLOBAL
                                                : IR_GENERIC,
        .site = use->site,
    };
}

static uint32_t addressed(sim_warp *w, const sim_use *use)
{
    return sim_require_defined(w, use->site, use->operands[use->bound[0]].cell, w->active, "the address of an access");
}

// bound[0]: operand p; bound[1]: whether it is volatile; bound[2]: operand value (-1: none); bound[3], bound[4]:
// sim_sem, sim_reach.
static bool bind_access(sim_use *use)
{
    const sim_operand *p = sim_operand_named(use, "p"), *value = sim_operand_named(use, "value");
    if (!p)
        return false;
    use->bound[0] = p - use->operands;
    use->bound[1] = sim_opcode_has(use->intrin, "volatile");
    use->bound[2] = value ? value - use->operands : -1;
    use->bound[3] = sim_sem_of(use->intrin);
    use->bound[4] = sim_reach_of(use->intrin);
    return true;
}

static sim_step run_load(sim_warp *w, const sim_use *use)
{
    sim_access access = access_of(use, &use->result);
    uint32_t lanes = addressed(w, use);
    // The address may be in the result's cells.
    uint64_t address[SIM_LANES];
    memcpy(address, sim_u64(w, use->operands[use->bound[0]].cell), sizeof address);
    SIM_EACH(lane, w->active & ~lanes)
        for (int i = 0; i < use->result.count; i++)
            sim_element_set(w, &use->result, i, lane, 0);
    sim_result_defined(w, use, w->active & ~lanes);
    sim_load(w, &access, lanes, address, use->result.cell);
    return access.is_volatile ? SIM_YIELD : SIM_NEXT;
}

static sim_step run_store(sim_warp *w, const sim_use *use)
{
    const sim_operand *value = &use->operands[use->bound[2]];
    sim_access access = access_of(use, value);
    sim_store(w, &access, addressed(w, use), sim_u64(w, use->operands[use->bound[0]].cell), value->cell);
    return SIM_NEXT;
}

static sim_step run_load_sync(sim_warp *w, const sim_use *use)
{
    const sim_operand *p = &use->operands[use->bound[0]], *r = &use->result;
    uint32_t lanes = addressed(w, use);
    size_t bytes = (size_t)sim_operand_bytes(r);
    uint64_t values[SIM_LANES] = {0}, address[SIM_LANES];
    memcpy(address, sim_u64(w, p->cell), sizeof address);
    SIM_EACH(lane, lanes) {
        const uint8_t *at = sim_atomic(w, use->site, lane, address[lane], (int)bytes, false, (sim_sem)use->bound[3],
                                       (sim_reach)use->bound[4]);
        if (at)
            memcpy(&values[lane], at, bytes);
    }
    SIM_EACH(lane, w->active)
        sim_element_set(w, r, 0, lane, values[lane]);
    sim_result_defined(w, use, w->active);
    if (w->field)
        SIM_EACH(lane, lanes)
            sim_fields_from_memory(w, lane, address[lane], r);
    return SIM_YIELD;
}

static sim_step run_store_sync(sim_warp *w, const sim_use *use)
{
    const sim_operand *value = &use->operands[use->bound[2]];
    const uint64_t *address = sim_u64(w, use->operands[use->bound[0]].cell);
    size_t bytes = (size_t)sim_operand_bytes(value);
    uint32_t lanes = addressed(w, use);
    lanes = sim_require_defined(w, use->site, value->cell, lanes, "a value that other threads read");
    SIM_EACH(lane, lanes) {
        uint8_t *at = sim_atomic_store(w, use->site, lane, address[lane], (int)bytes, (sim_sem)use->bound[3],
                                       (sim_reach)use->bound[4]);
        if (!at)
            continue;
        uint64_t bits = sim_element(w, value, 0, lane);
        memcpy(at, &bits, bytes);
        if (w->field)
            sim_fields_to_memory(w, lane, address[lane], value);
    }
    return SIM_NEXT;
}

static sim_step run_prefetch(sim_warp *w, const sim_use *use)
{
    (void)w, (void)use;
    return SIM_NEXT;
}

// An arbitrary value: cache policies have no effect here.
static sim_step run_policy(sim_warp *w, const sim_use *use)
{
    SIM_EACH(lane, w->active)
        sim_element_set(w, &use->result, 0, lane, (uint64_t)1 << 60);
    sim_result_defined(w, use, w->active);
    return SIM_NEXT;
}

const sim_model sim_models_memory[] = {
    {"load", run_load, bind_access, false},
    {"load_readonly", run_load, bind_access, false},
    {"store", run_store, bind_access, false},
    {"store_evict", run_store, bind_access, false},
    {"prefetch", run_prefetch, NULL, false},
    {"l2_policy", run_policy, NULL, false},
    {"load_policy", run_load, bind_access, false},
    {"load_readonly_policy", run_load, bind_access, false},
    {"store_policy", run_store, bind_access, false},
    {"load_sync", run_load_sync, bind_access, true},
    {"store_sync", run_store_sync, bind_access, true},
    {"load_volatile", run_load, bind_access, true},
    {"store_volatile", run_store, bind_access, true},
    {NULL, NULL, NULL, false},
};
