// Kernels that start before their predecessors have ended (attrs.cuda.dependent_launch, programmatic dependent launch).
//
// The launches of a device are those of one stream. A dependent kernel starts when each block of its predecessor has executed
// griddepcontrol_launch_dependents() or has ended; what the predecessor has written is visible behind griddepcontrol_wait() only
// (CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization"). Its accesses before that, of global memory,
// must therefore not meet those of launches that may still be under way:
//
//     complete   launches up to this number have ended when the kernel starts: all those before its predecessor, if that is
//                an ordinary kernel, or if a block of it waited before it let dependents start; else what the predecessor
//                itself could rely on
//
// Memory is compared by allocation. Kernels run one after another here, so values do not show the overlap.
#include "sim/dependent.h"

#include "sim/memory_priv.h"

static uint64_t load(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

// ---- launches ------------------------------------------------------------------------------------------------------

static bool starts_early(const sim_launch *l)
{
    return l->complete < l->place - 1;
}

void sim_dependent_begin(sim_launch *l)
{
    sim_stream *s = &l->device->stream;
    l->place = ++s->count;
    s->recent[l->place % SIM_RECENT] = l->kernel;
    if (!l->kernel->dependent_launch)
        s->complete = l->place - 1;
    l->complete = s->complete;
}

void sim_dependent_end(sim_launch *l)
{
    sim_stream *s = &l->device->stream;
    bool is_checked = !l->device->options.no_checks && !l->device->options.no_races && !l->halted;
    if (!l->kernel->dependent_launch || __atomic_load_n(&l->waits_first, __ATOMIC_RELAXED))
        s->complete = l->place - 1;
    if (!is_checked || !starts_early(l) || __atomic_load_n(&l->has_waited, __ATOMIC_RELAXED))
        return;
    sim_finding f = {.code = HDS0658,
                     .actor = {sim_site_of_function(l->program, l->kernel), -1, -1, -1},
                     .args = {l->kernel->title ? l->kernel->title : l->kernel->name},
                     .help = "call griddepcontrol_wait(), or pdl_sync(), in each block"};
    sim_find(l->device, l, &f);
}

void sim_dependent_synchronise(sim *s)
{
    s->stream.complete = s->stream.count;
}

// ---- waiting -------------------------------------------------------------------------------------------------------

void sim_dependent_wait(sim_warp *w)
{
    sim_block *b = w->block;
    sim_launch *l = b->launch;
    if (!b->order->tracks)
        return;
    __atomic_store_n(&l->has_waited, true, __ATOMIC_RELAXED);
    if (!b->lets_dependents_start)
        __atomic_store_n(&l->waits_first, true, __ATOMIC_RELAXED);
    if (!(w->active & ~w->has_waited))
        return;
    sim_party wait = {
        .note = {.local = sim_order_tick(b), .packed = (uint32_t)w->index},
        .block = b->index,
        .lane = (uint32_t)__builtin_ctz(w->active),
    };
    w->has_waited |= w->active;
    VEC_PUSH(b->cluster->arena, &b->cluster->waits, wait);
}

void sim_dependent_let_start(sim_warp *w)
{
    w->block->lets_dependents_start = true;
}

// Whether the lane's accesses are behind a wait, its own or one of a thread that it has synchronised with.
static bool is_behind_wait(sim_warp *w, uint32_t lane)
{
    const sim_cluster *c = w->block->cluster;
    bool is_behind = w->has_waited >> lane & 1;
    for (size_t i = 0; i < c->waits.len && !is_behind; i++)
        is_behind = sim_order_knows(w, lane, &c->waits.at[i]);
    w->has_waited |= (uint32_t)is_behind << lane;
    return is_behind;
}

// ---- accesses ------------------------------------------------------------------------------------------------------

// The last launch before [place] in the record.
static uint64_t before(const sim_usage *u, uint64_t place)
{
    uint64_t last = load(&u->last);
    return last == place ? load(&u->before) : last;
}

static void record(sim_memory *m, sim_usage *u, uint64_t place)
{
    if (load(&u->last) == place)
        return;
    pthread_mutex_lock(&m->lock);
    if (u->last != place) {
        __atomic_store_n(&u->before, u->last, __ATOMIC_RELEASE);
        __atomic_store_n(&u->last, place, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&m->lock);
}

static void check(sim_touch *t)
{
    const sim_launch *l = t->w->block->launch;
    const sim_allocation *a = t->allocation;
    bool writes = t->kind & SIM_NOTE_WRITE;
    uint64_t other = before(&a->writes, l->place), reader = writes ? before(&a->accesses, l->place) : 0;
    bool wrote = other > l->complete;
    if (!wrote && reader <= l->complete)
        return;
    SIM_EACH(lane, t->lanes & ~t->w->has_waited) {
        if (!is_behind_wait(t->w, lane)) {
            uint64_t place = wrote ? other : reader;
            const ir_func *kernel = l->place - place < SIM_RECENT ? t->device->stream.recent[place % SIM_RECENT] : NULL;
            sim_report_early(t, lane, kernel, wrote);
            return;
        }
    }
}

void sim_dependent_access(sim_touch *t)
{
    sim_launch *l = t->w->block->launch;
    if (l->is_host) {
        sim_dependent_synchronise(t->device);
        return;
    }
    if (!l->place || !t->w->block->order->tracks)
        return;
    if (starts_early(l) && (t->lanes & ~t->w->has_waited))
        check(t);
    record(t->device->memory, &t->allocation->accesses, l->place);
    if (t->kind & SIM_NOTE_WRITE)
        record(t->device->memory, &t->allocation->writes, l->place);
}
