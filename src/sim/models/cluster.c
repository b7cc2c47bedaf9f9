// hidet.lang.cluster: ranks, the barrier of a cluster (PTX ISA 9.7.13.4 "barrier.cluster"), pointers to other blocks'
// memory, and stores that arrive with an mbarrier. Arrivals at mbarriers of other blocks are in mbarrier.c.
//
// See Note [phases of a cluster]
#include "sim/models/models_priv.h"

#include "sim/barrier.h"
#include "sim/models/mbarrier.h"

typedef enum stage { AWAY, ARRIVED, WAITING } stage;

struct sim_cluster_barrier {
    uint64_t phase;    // the one under way
    uint64_t *arrived; // by warp of the cluster: the phase that it arrived in last, counted from 1
    stage *stages;     // by warp of the cluster
    bool releases;     // all arrivals of the phase under way did
    sim_sync under_way, complete;
};

static struct sim_cluster_barrier *barrier_of(sim_cluster *c)
{
    if (!c->barrier) {
        int warps = c->count * c->blocks[0]->warp_count;
        c->barrier = ARENA_NEW(c->arena, struct sim_cluster_barrier);
        c->barrier->phase = 1;
        c->barrier->arrived = ARENA_ARRAY(c->arena, uint64_t, warps);
        c->barrier->stages = ARENA_ARRAY(c->arena, stage, warps);
        c->barrier->releases = true;
    }
    return c->barrier;
}

static int number_of(const sim_warp *w)
{
    return w->block->rank * w->block->warp_count + w->index;
}

sim_block *sim_cluster_block(sim_warp *w, const sim_use *use, uint32_t lane, int64_t rank)
{
    int count = sim_cluster_count(w->block);
    if (rank >= 0 && rank < count)
        return w->block->cluster->blocks[rank];
    sim_find_at(w, lane, use->site, HDS0770, use->intrin->name, sim_say(w, "rank %lld", (long long)rank),
                sim_say(w, "%d", count - 1), "the size of a cluster is attrs.cuda.cluster_dim, or cluster_size()");
    return NULL;
}

// ---- the barrier -------------------------------------------------------------------------------------------------

static sim_step misused(sim_warp *w, const sim_use *use, const char *what, const char *help)
{
    sim_find_at(w, sim_first_lane(w->active), use->site, HDS0772, what, NULL, NULL, help);
    return SIM_HALT;
}

// How many warps the phase still waits for; *[met]: all others wait for it, and none has ended.
static int missing_warps(sim_cluster *c, const struct sim_cluster_barrier *r, bool *met)
{
    int missing = 0;
    *met = true;
    for (int rank = 0; rank < c->count; rank++) {
        const sim_block *b = c->blocks[rank];
        for (int i = 0; i < b->warp_count; i++) {
            const sim_warp *w = &b->warps[i];
            bool has_ended = w->state == SIM_END;
            missing += !has_ended && r->arrived[number_of(w)] != r->phase;
            *met &= !has_ended && r->stages[number_of(w)] == WAITING;
        }
    }
    return missing;
}

static void go_on(sim_warp *w, struct sim_cluster_barrier *r, bool met)
{
    if (!met)
        sim_order_acquire_from(w, w->waiting_lanes, &r->complete, true);
    r->stages[number_of(w)] = AWAY;
    w->waiting_for = NULL;
}

// Ends the phase if all have arrived. [self]: the warp that runs, which needs no waking; NULL: none does.
static void advance(sim_cluster *c, const sim_warp *self)
{
    struct sim_cluster_barrier *r = c->barrier;
    bool met;
    if (missing_warps(c, r, &met))
        return;
    met = met && r->releases;
    if (met)
        sim_order_cluster_barrier(c);
    sim_order_clear(c->blocks[0], &r->complete);
    r->complete = r->under_way;
    r->under_way = (sim_sync){0};
    r->releases = true;
    r->phase++;
    for (int rank = 0; rank < c->count; rank++) {
        for (int i = 0; i < c->blocks[rank]->warp_count; i++) {
            sim_warp *w = &c->blocks[rank]->warps[i];
            if (r->stages[number_of(w)] != WAITING)
                continue;
            go_on(w, r, met);
            if (w != self)
                sim_wake(w);
        }
    }
}

void sim_cluster_warp_ended(sim_warp *w)
{
    sim_cluster *c = w->block->cluster;
    if (c && c->barrier && !w->block->launch->halted)
        advance(c, NULL);
}

// bound[0]: whether it arrives; bound[1]: whether it waits; bound[2]: whether the arrival releases.
static bool bind_barrier(sim_use *use)
{
    use->bound[0] = strstr(use->intrin->text, "cluster.arrive") != NULL;
    use->bound[1] = strstr(use->intrin->text, "cluster.wait") != NULL;
    use->bound[2] = strstr(use->intrin->text, ".relaxed") == NULL;
    return use->bound[0] || use->bound[1];
}

static sim_step run_barrier(sim_warp *w, const sim_use *use)
{
    sim_cluster *c = w->block->cluster;
    struct sim_cluster_barrier *r = barrier_of(c);
    int number = number_of(w);
    if (!sim_barrier_whole_warp(w, use, sim_live(w)))
        return SIM_HALT;
    if (use->bound[0] && r->stages[number] != AWAY)
        return misused(w, use, sim_say(w, "warp %d arrives again, and has not waited since it arrived last", w->index),
                       "call cluster_wait() between two arrivals");
    if (!use->bound[0] && r->stages[number] != ARRIVED)
        return misused(w, use, sim_say(w, "warp %d waits, and has not arrived", w->index),
                       "call cluster_arrive() or cluster_arrive_relaxed() before it");
    w->waiting_for = use->bound[1] ? use : NULL;
    w->waiting_lanes = w->active;
    r->stages[number] = use->bound[1] ? WAITING : ARRIVED;
    if (use->bound[0]) {
        r->arrived[number] = r->phase;
        r->releases &= use->bound[2] != 0;
        sim_order_release_at(w, w->active, &r->under_way, use->bound[2]);
        advance(c, w);
    } else if (r->arrived[number] != r->phase) {
        go_on(w, r, false);
    }
    return r->stages[number] == WAITING ? SIM_WAIT : SIM_NEXT;
}

bool sim_cluster_describe(const sim_warp *w, str_buf *out)
{
    const sim_use *use = w->waiting_for;
    sim_cluster *c = w->block->cluster;
    if (!use || !use->model || use->model->run != run_barrier)
        return false;
    bool met;
    int missing = missing_warps(c, c->barrier, &met);
    str_addf(out, "%s(), where %d of %d warps of the cluster have not arrived", use->intrin->name, missing,
             c->count * w->block->warp_count);
    return true;
}

// ---- ranks and pointers ------------------------------------------------------------------------------------------

static sim_step run_number(sim_warp *w, const sim_use *use)
{
    bool is_rank = strcmp(use->intrin->name, "cluster_rank") == 0;
    int value = is_rank ? w->block->rank : sim_cluster_count(w->block);
    SIM_EACH(lane, w->active)
        sim_element_set(w, &use->result, 0, lane, (uint64_t)value);
    sim_result_defined(w, use, w->active);
    return SIM_NEXT;
}

static sim_step run_map(sim_warp *w, const sim_use *use)
{
    const sim_operand *p = sim_operand_named(use, "p"), *rank = sim_operand_named(use, "rank");
    uint32_t lanes = sim_require_defined(w, use->site, p->cell, w->active, "a pointer to map");
    lanes = sim_require_defined(w, use->site, rank->cell, lanes, "a rank");
    uint64_t mapped[SIM_LANES] = {0};
    SIM_EACH(lane, lanes) {
        const sim_block *b = sim_cluster_block(w, use, lane, sim_i32(w, rank->cell)[lane]);
        mapped[lane] = sim_address_in(sim_u64(w, p->cell)[lane], b ? b->rank : w->block->rank);
    }
    SIM_EACH(lane, w->active)
        sim_element_set(w, &use->result, 0, lane, mapped[lane]);
    sim_result_defined(w, use, w->active);
    return SIM_NEXT;
}

// ---- values that arrive by themselves ----------------------------------------------------------------------------

typedef struct parcel {
    sim_block *home;
    sim_async_chunk chunk;
    const sim_use *use;
    uint64_t bits[4];                     // of each element
    sim_field field[4 * SIM_FIELD_PARTS]; // by byte
} parcel;

// bound[0]: operand bar; bound[1]: p; bound[2]: value; bound[3]: rank.
static bool bind_parcel(sim_use *use)
{
    static const char *const names[] = {"bar", "p", "value", "rank"};
    for (int i = 0; i < 4; i++) {
        const sim_operand *o = sim_operand_named(use, names[i]);
        if (!o)
            return false;
        use->bound[i] = o - use->operands;
    }
    return use->operands[use->bound[2]].count <= 4;
}

static void land_store(sim_warp *w, void *of)
{
    parcel *c = of;
    uint64_t offset = c->chunk.to & SIM_SHARED_MASK;
    int each = sim_operand_bytes(&c->use->operands[c->use->bound[2]]);
    sim_async_land(w, &c->chunk);
    if (offset + (uint64_t)c->chunk.bytes > (uint64_t)c->home->shared_bytes)
        return;
    for (int i = 0; i * each < c->chunk.bytes; i++)
        memcpy(c->home->shared + offset + (size_t)(i * each), &c->bits[i], (size_t)each);
    sim_field *to = sim_memory_field(w, c->chunk.lane, c->chunk.to);
    if (to)
        memcpy(to, c->field, (size_t)c->chunk.bytes * sizeof *to);
}

static const char *operation_of(const sim_use *use)
{
    static const char *const names[][2] = {
        {".min.", "min"}, {".max.", "max"}, {".and.", "and"}, {".or.", "or"}, {".xor.", "xor"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(use->intrin->text, names[i][0]))
            return names[i][1];
    return "add";
}

static void land_red(sim_warp *w, void *of)
{
    parcel *c = of;
    const sim_operand *value = &c->use->operands[c->use->bound[2]];
    uint64_t old = 0;
    const sim_async_chunk *p = &c->chunk;
    uint8_t *at = sim_atomic(w, p->site, p->lane, p->to, p->bytes, true, SIM_RELAXED, SIM_CLUSTER);
    if (!at)
        return;
    memcpy(&old, at, (size_t)c->chunk.bytes);
    old = sim_atomic_combine(operation_of(c->use), value->type, old, c->bits[0], false);
    memcpy(at, &old, (size_t)c->chunk.bytes);
    sim_field *to = sim_memory_field(w, c->chunk.lane, c->chunk.to);
    for (int i = 0; to && i < c->chunk.bytes; i++)
        to[i] = SIM_FIELD_NOTHING;
}

static parcel *pack(sim_warp *w, const sim_use *use, uint32_t lane, sim_block *home)
{
    const sim_operand *value = &use->operands[use->bound[2]];
    int bytes = sim_operand_bytes(value) * value->count;
    uint32_t cells = (uint32_t)(value->count * value->cells);
    parcel *c = ARENA_NEW(w->block->arena, parcel);
    *c = (parcel){.home = home, .use = use};
    c->chunk = (sim_async_chunk){.site = use->site, .lane = lane, .bytes = bytes, .align = bytes, .is_tma = true};
    c->chunk.to = sim_address_in(sim_u64(w, use->operands[use->bound[1]].cell)[lane], home->rank);
    for (int i = 0; i < value->count; i++)
        c->bits[i] = sim_element(w, value, i, lane);
    for (uint32_t i = 0; w->field && i < cells; i++)
        memcpy(&c->field[i * SIM_FIELD_PARTS], sim_field_of(w, value->cell + i, (int)lane),
               SIM_FIELD_PARTS * sizeof(sim_field));
    return c;
}

static sim_step run_parcel(sim_warp *w, const sim_use *use)
{
    bool is_store = strcmp(use->intrin->name, "store_async") == 0;
    uint32_t lanes = w->active;
    for (int i = 0; i < use->intrin->operand_count; i++) {
        const sim_operand *o = &use->operands[i];
        for (int k = 0; k < o->count; k++)
            lanes = sim_require_defined(w, use->site, sim_element_cell(o, k), lanes, "an operand of a copy");
    }
    SIM_EACH(lane, lanes) {
        sim_block *home = sim_cluster_block(w, use, lane, sim_i32(w, use->operands[use->bound[3]].cell)[lane]);
        if (!home)
            continue;
        parcel *c = pack(w, use, lane, home);
        if (is_store)
            sim_async_start(w, &c->chunk);
        sim_mbarrier_promise(w, use, lane, home, c->chunk.bytes, is_store ? land_store : land_red, c);
    }
    return SIM_NEXT;
}

const sim_model sim_models_cluster[] = {
    {"cluster_rank", run_number, NULL, false},
    {"cluster_size", run_number, NULL, false},
    {"cluster_sync", run_barrier, bind_barrier, false},
    {"cluster_arrive", run_barrier, bind_barrier, false},
    {"cluster_arrive_relaxed", run_barrier, bind_barrier, false},
    {"cluster_wait", run_barrier, bind_barrier, false},
    {"map_rank", run_map, NULL, false},
    {"store_async", run_parcel, bind_parcel, false},
    {"red_async", run_parcel, bind_parcel, false},
    {NULL, NULL, NULL, false},
};

// Note [phases of a cluster]
//
// A phase is over when every warp has arrived or ended: threads that have ended do not hold up the others (PTX ISA).
// Where all warps wait by then and all arrivals released, the cluster has met like a block at syncthreads, which is
// cheap to remember. Otherwise each warp learns what each knew when it arrived, and no more: what stands between an
// arrival and its wait is not ordered.
