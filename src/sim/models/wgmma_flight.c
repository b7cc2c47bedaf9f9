// Registers of wgmma: what is fenced, what is in flight, and when it has landed.
//
// See Note [registers and fences]
#include "sim/bulk.h"
#include "sim/models/wgmma.h"

// ---- registers ------------------------------------------------------------------------------------------------------

static uint32_t base_of(const sim_warp *w)
{
    return VEC_LAST(&w->frames).base;
}

uint32_t sim_wgmma_cell(const sim_warp *w, const sim_operand *o)
{
    int64_t slot = o->home ? sim_i64(w, o->slot)[0] : 0;
    bool is_inside = slot >= 0 && slot + o->count <= (int64_t)o->home_count;
    return o->home && is_inside ? o->home + (uint32_t)slot : o->cell;
}

static void copy_cells(sim_warp *w, uint32_t to, uint32_t from, int count)
{
    if (to == from)
        return;
    memcpy(sim_u32(w, to), sim_u32(w, from), (size_t)count * SIM_CELL_BYTES);
    memcpy(w->poison + to, w->poison + from, (size_t)count * sizeof *w->poison);
    memcpy(w->why + to, w->why + from, (size_t)count * sizeof *w->why);
    if (w->field)
        sim_field_copy(w, to, from, (uint32_t)count, UINT32_MAX);
}

void sim_wgmma_refresh(sim_warp *w, const sim_operand *o)
{
    copy_cells(w, o->cell, sim_wgmma_cell(w, o), o->count);
}

static bool checks(const sim_warp *w)
{
    return !w->block->launch->device->options.no_checks;
}

static void add_run(sim_block *b, sim_fenced *f, uint32_t first, uint32_t count)
{
    for (size_t i = 0; i < f->first.len; i++)
        if (first >= f->first.at[i] && first + count <= f->first.at[i] + f->count.at[i])
            return;
    VEC_PUSH(b->arena, &f->first, first);
    VEC_PUSH(b->arena, &f->count, count);
}

static void add_operand(sim_block *b, sim_fenced *f, const sim_operand *o)
{
    add_run(b, f, o->home ? o->home : o->cell, o->home ? o->home_count : o->count);
}

// The registers that wgmma uses in the function that the warp is in.
static void find_runs(sim_warp *w, sim_fenced *f)
{
    const sim_program *p = w->block->launch->program;
    uint32_t cells = 0;
    f->first.len = f->count.len = 0;
    for (size_t i = 0; i < w->code->ops.len; i++) {
        const sim_op *op = &w->code->ops.at[i];
        const sim_use *use = op->code == SIM_OP_MODEL ? &p->uses.at[op->a] : NULL;
        if (!use || !sim_is_wgmma(use))
            continue;
        add_operand(w->block, f, sim_wgmma_operand(use, WGMMA_ACC));
        if (use->bound[WGMMA_A_IN_REGISTERS])
            add_operand(w->block, f, sim_wgmma_operand(use, WGMMA_A));
    }
    for (size_t i = 0; i < f->count.len; i++)
        cells += f->count.at[i];
    f->cells = arena_alloc(w->block->arena, (size_t)cells * SIM_CELL_BYTES);
    f->poison = ARENA_ARRAY(w->block->arena, uint32_t, cells + 1);
}

static void note_cells(sim_warp *w, sim_fenced *f, uint32_t at, uint32_t cell, uint32_t count)
{
    memcpy(f->cells + (size_t)at * SIM_CELL_BYTES, sim_u32(w, cell), (size_t)count * SIM_CELL_BYTES);
    memcpy(f->poison + at, w->poison + cell, count * sizeof *w->poison);
}

static void fence_all(sim_warp *w, sim_fenced *f)
{
    if (f->code != w->code)
        find_runs(w, f);
    f->code = w->code;
    f->base = base_of(w);
    for (size_t i = 0, at = 0; i < f->first.len; at += f->count.at[i++])
        note_cells(w, f, (uint32_t)at, f->first.at[i], f->count.at[i]);
}

// Where the cells are among those that were fenced; false: nothing is known of them.
static bool find_fenced(const sim_warp *w, const sim_fenced *f, uint32_t cell, uint32_t count, uint32_t *at)
{
    *at = 0;
    for (size_t i = 0; f->code == w->code && f->base == base_of(w) && i < f->first.len; *at += f->count.at[i++])
        if (cell >= f->first.at[i] && cell + count <= f->first.at[i] + f->count.at[i]) {
            *at += cell - f->first.at[i];
            return true;
        }
    return false;
}

// HDS0627 where registers have changed since the last fence.
static void check_fenced(sim_warp *w, const sim_use *use, uint32_t cell, int count, const char *what)
{
    const sim_fenced *f = &sim_group_of(w)->fenced[sim_group_index(w)];
    uint32_t at;
    bool is_known = find_fenced(w, f, cell, (uint32_t)count, &at);
    if (f->code && !is_known)
        return;
    size_t bytes = (size_t)count * SIM_CELL_BYTES;
    if (is_known && memcmp(f->cells + (size_t)at * SIM_CELL_BYTES, sim_u32(w, cell), bytes) == 0 &&
        memcmp(f->poison + at, w->poison + cell, (size_t)count * sizeof *w->poison) == 0)
        return;
    sim_find_at(w, 0, use->site, HDS0627, use->intrin->name, what, NULL,
                "call fence(acc) behind the last write to the registers and before the first instruction of the batch");
}

sim_step sim_wgmma_fence(sim_warp *w, const sim_use *use)
{
    if (!sim_group_is_whole(w, use))
        return SIM_HALT;
    if (checks(w))
        fence_all(w, &sim_group_of(w)->fenced[sim_group_index(w)]);
    return SIM_NEXT;
}

// ---- what is in flight ----------------------------------------------------------------------------------------------

sim_flight *sim_flight_new(sim_warpgroup *g, const sim_use *use)
{
    sim_flight *f = g->spare.len ? VEC_POP(&g->spare) : ARENA_NEW(g->block->arena, sim_flight);
    f->use = use;
    f->landed = f->why = 0;
    f->vector_count = 0;
    memcpy(f->group, g->committed, sizeof f->group);
    return f;
}

static const sim_operand *acc_of(const sim_flight *f)
{
    return sim_wgmma_operand(f->use, WGMMA_ACC);
}

// The newest that writes any of these cells of a warp, which is still in flight for it; NULL: none does.
static sim_flight *writer_of(const sim_warpgroup *g, int warp, uint32_t cell, int count, const sim_flight *besides)
{
    for (size_t i = g->flying.len; i-- > 0;) {
        sim_flight *f = g->flying.at[i];
        uint32_t acc = f->parts[warp].acc;
        bool overlaps = cell < acc + acc_of(f)->count && acc < cell + (uint32_t)count;
        if (f != besides && overlaps && !(f->landed >> warp & 1))
            return f;
    }
    return NULL;
}

static void find_flight(sim_warp *w, uint32_t site, const sim_flight *f, const char *what)
{
    sim_finding found = {.code = HDS0626, .args = {what}};
    found.actor = (sim_actor){site, w->block->index, sim_thread(w, 0), w->index};
    found.other = (sim_actor){f->use->site, w->block->index, -1, w->index};
    found.other_text = "it starts here";
    found.help = "commit(), then wait(acc, 0) before the registers are used";
    sim_find(w->block->launch->device, w->block->launch, &found);
}

void sim_flight_mark(sim_warp *w, sim_flight *f)
{
    sim_flight_part *p = &f->parts[sim_group_index(w)];
    uint32_t cell = p->acc - base_of(w);
    for (int e = 0; e < acc_of(f)->count; e++) {
        p->poison[e] = w->poison[cell + (uint32_t)e];
        if (p->poison[e])
            f->why = w->why[cell + (uint32_t)e];
        w->poison[cell + (uint32_t)e] = UINT32_MAX;
        w->why[cell + (uint32_t)e] = f->use->site | SIM_WHY_FLIGHT;
    }
}

static bool is_marked(const sim_warp *w, const sim_flight *f, uint32_t cell)
{
    return w->all_poison[cell] == UINT32_MAX && w->all_why[cell] == (f->use->site | SIM_WHY_FLIGHT);
}

bool sim_flight_writes(const sim_warpgroup *g, const sim_warp *w, uint32_t cell, int count)
{
    return writer_of(g, sim_group_index(w), base_of(w) + cell, count, NULL) != NULL;
}

void sim_flight_claim(sim_warpgroup *g, sim_warp *w, const sim_use *use)
{
    int warp = sim_group_index(w);
    const sim_operand *sums = sim_wgmma_operand(use, WGMMA_ACC), *a = sim_wgmma_operand(use, WGMMA_A);
    uint32_t base = base_of(w), acc = sim_wgmma_cell(w, sums), cell = sim_wgmma_cell(w, a);
    const sim_flight *before = writer_of(g, warp, base + acc, sums->count, NULL);
    if (!before) {
        check_fenced(w, use, acc, sums->count, "its accumulator");
    } else if (before->parts[warp].acc != base + acc || acc_of(before)->count != sums->count ||
               acc_of(before)->type != sums->type) {
        find_flight(w, use->site, before,
                    sim_say(w, "'%s' takes a different slice of an accumulator", use->intrin->name));
    }
    for (int e = 0; before && before->parts[warp].acc == base + acc && e < sums->count && e < acc_of(before)->count;
         e++) {
        if (!is_marked(w, before, base + acc + (uint32_t)e))
            continue;
        w->poison[acc + (uint32_t)e] = before->parts[warp].poison[e];
        w->why[acc + (uint32_t)e] = before->why;
    }
    if (!use->bound[WGMMA_A_IN_REGISTERS] || a->in_memory)
        return;
    const sim_flight *writer = writer_of(g, warp, base + cell, a->count, NULL);
    if (writer)
        find_flight(w, use->site, writer, "the operand 'a' is taken from an accumulator");
    else
        check_fenced(w, use, cell, a->count, "its operand 'a'");
}

// ---- waiting --------------------------------------------------------------------------------------------------------

static void find_changed(sim_warp *w, uint32_t site, const sim_flight *f, const char *what)
{
    if (!w->told_flight)
        find_flight(w, site, f, what);
    w->told_flight = true;
}

// The results are there for the warp, unless another product adds to them already.
static void land_results(sim_warpgroup *g, sim_warp *w, sim_flight *f, uint32_t site)
{
    const sim_flight_part *p = &f->parts[sim_group_index(w)];
    const sim_operand *acc = acc_of(f);
    if (acc->in_memory || writer_of(g, sim_group_index(w), p->acc, acc->count, f))
        return;
    for (int e = 0; e < acc->count; e++) {
        uint32_t cell = p->acc + (uint32_t)e;
        if (!is_marked(w, f, cell)) {
            find_changed(w, site, f, "an accumulator is written");
            continue;
        }
        w->all_poison[cell] = p->poison[e];
        w->all_why[cell] = f->why;
    }
    sim_fenced *fenced = &g->fenced[sim_group_index(w)];
    uint32_t at, base = base_of(w);
    if (p->acc >= base && find_fenced(w, fenced, p->acc - base, acc->count, &at))
        note_cells(w, fenced, at, p->acc - base, acc->count);
}

static void land_operand(sim_warp *w, const sim_flight *f, uint32_t site)
{
    const sim_flight_part *p = &f->parts[sim_group_index(w)];
    const sim_operand *a = &f->use->operands[f->use->bound[WGMMA_A]];
    int count = a->count;
    if (!f->use->bound[WGMMA_A_IN_REGISTERS] || a->in_memory) // cells of a copy are for others by now
        return;
    if (memcmp(p->a_cells, w->all_cells + (size_t)p->a * SIM_CELL_BYTES, (size_t)count * SIM_CELL_BYTES) != 0)
        find_changed(w, site, f, "the operand 'a' in registers is written");
}

static void read_vectors(sim_warp *w, const sim_flight *f)
{
    for (int i = 0; i < f->vector_count; i += SIM_LANES) {
        uint64_t address[SIM_LANES] = {0};
        int count = f->vector_count - i < SIM_LANES ? f->vector_count - i : SIM_LANES;
        for (int l = 0; l < count; l++)
            address[l] = SIM_TAG_SHARED | (uint64_t)f->vectors[i + l] << 4;
        sim_enter_reads(w, f->use->site, count == SIM_LANES ? UINT32_MAX : (1u << count) - 1, address);
    }
}

// The first of the four to wait tells what the product has read; the others know it from there.
static void land(sim_warpgroup *g, sim_warp *w, sim_flight *f, uint32_t site)
{
    if (!f->landed) {
        read_vectors(w, f);
        sim_bulk_end_reads(g->block, f->vectors, f->vector_count);
        sim_order_warp_barrier(w, UINT32_MAX);
        sim_order_release(w, UINT32_MAX, &f->done);
    } else {
        sim_order_acquire(w, UINT32_MAX, &f->done);
    }
    land_results(g, w, f, site);
    land_operand(w, f, site);
    f->landed |= 1u << sim_group_index(w);
}

static void forget_landed(sim_warpgroup *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->flying.len; i++) {
        if (g->flying.at[i]->landed == (1u << SIM_GROUP_WARPS) - 1)
            VEC_PUSH(g->block->arena, &g->spare, g->flying.at[i]);
        else
            g->flying.at[kept++] = g->flying.at[i];
    }
    g->flying.len = kept;
}

sim_step sim_wgmma_commit(sim_warp *w, const sim_use *use)
{
    if (!sim_group_is_whole(w, use))
        return SIM_HALT;
    sim_group_of(w)->committed[sim_group_index(w)]++;
    return SIM_NEXT;
}

// bound[0]: operand acc; bound[1]: groups that may stay on their way.
bool sim_wgmma_bind_wait(sim_use *use)
{
    const char *at = strrchr(use->intrin->text, ' ');
    const sim_operand *acc = sim_operand_named(use, "acc");
    use->bound[0] = acc ? acc - use->operands : -1;
    use->bound[1] = at ? strtol(at + 1, NULL, 10) : 0;
    return at != NULL;
}

sim_step sim_wgmma_wait(sim_warp *w, const sim_use *use)
{
    if (!sim_group_is_whole(w, use))
        return SIM_HALT;
    sim_warpgroup *g = sim_group_of(w);
    int warp = sim_group_index(w);
    for (size_t i = 0; i < g->flying.len; i++) {
        sim_flight *f = g->flying.at[i];
        if (!(f->landed >> warp & 1) && f->group[warp] + (uint64_t)use->bound[1] < g->committed[warp])
            land(g, w, f, use->site);
    }
    forget_landed(g);
    if (use->bound[0] >= 0) {
        const sim_operand *acc = &use->operands[use->bound[0]];
        copy_cells(w, acc->cell, sim_wgmma_cell(w, acc), acc->count);
    }
    return SIM_NEXT;
}

// Note [registers and fences]
//
// Registers are compared with what they were at the last fence, or after the wait for the product that wrote them. So a
// value that was written again without having changed is not noticed, nor that an accumulator was read between two
// batches without a fence. Products on the same accumulator follow each other without one.
