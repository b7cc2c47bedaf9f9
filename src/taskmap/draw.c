#include "taskmap/draw_priv.h"

#include "taskmap/taskmap_priv.h"

static tm_grid grid_of(int rank, const int64_t *shape)
{
    tm_grid g = {.rank = rank, .slices = 1, .rows = 1, .columns = 1};
    for (int d = 0; d < rank; d++) {
        g.shape[d] = shape[d];
        *(d == rank - 1 ? &g.columns : d == rank - 2 ? &g.rows : &g.slices) *= shape[d];
    }
    return g;
}

static int64_t flat_index(const tm_grid *g, const int64_t *index)
{
    int64_t flat = 0;
    for (int d = 0; d < g->rank; d++)
        flat = flat * g->shape[d] + index[d];
    return flat;
}

static bool grid_has(const tm_grid *g, const int64_t *index)
{
    for (int d = 0; d < g->rank; d++)
        if (!is_in(index[d], g->shape[d]))
            return false;
    return true;
}

static void mark_phase(void *context, const tm_phase *phase)
{
    tm_picture *p = context;
    p->banks.accesses += phase->first_of_request;
    p->banks.ideal++;
    p->banks.wavefronts += phase->passes;
    if (phase->passes > p->banks.worst)
        p->banks.worst = phase->passes;
    for (int i = 0; i < phase->lanes; i++) {
        int64_t index[TM_MAX_RANK], end = phase->position + p->vector;
        for (int64_t t = phase->position; phase->active[i] && t < end && t < p->m->tasks_per_worker; t++) {
            tm_task(p->m, phase->first_worker + i, t, index);
            uint8_t *degree = grid_has(&p->elements, index) ? &p->degrees[flat_index(&p->elements, index)] : NULL;
            if (degree && phase->degree[i] > *degree)
                *degree = (uint8_t)phase->degree[i];
        }
    }
}

static void find_conflicts(tm_picture *p, arena *a)
{
    int64_t cells = p->elements.slices * p->elements.rows * p->elements.columns;
    if (!p->m || !p->l || p->element_bytes < 1 || p->m->workers * p->m->tasks_per_worker > TM_DRAW_MOST_CELLS)
        return;
    if (p->vector < 1)
        p->vector = tm_widest_access(p->m, p->l, p->element_bytes < 16 ? 16 / p->element_bytes : 1);
    p->degrees = ARENA_ARRAY(a, uint8_t, cells);
    tm_each_phase(p->m, p->l, p->element_bytes, p->vector, mark_phase, p);
}

tm_picture tm_picture_of(arena *a, const tm_map *m, const tm_layout *l, const tm_draw_options *options)
{
    tm_picture p = {.element_bytes = options->element_bytes, .vector = options->vector};
    p.m = m;
    p.l = l && (!m || m->rank == l->rank) ? l : NULL;
    p.tasks = m ? grid_of(m->rank, m->shape) : grid_of(l->rank, l->shape);
    if (!p.l)
        return p;
    int64_t shape[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        shape[d] = m && m->shape[d] < l->shape[d] ? m->shape[d] : l->shape[d];
    p.elements = grid_of(l->rank, shape);
    find_conflicts(&p, a);
    return p;
}

void tm_grid_index(const tm_grid *g, int64_t slice, int64_t row, int64_t column, int64_t *index)
{
    for (int d = g->rank - 3; d >= 0; d--) {
        index[d] = slice % g->shape[d];
        slice /= g->shape[d];
    }
    if (g->rank > 1)
        index[g->rank - 2] = row;
    if (g->rank > 0)
        index[g->rank - 1] = column;
}

void tm_grid_slice_name(const tm_grid *g, int64_t slice, str_buf *out)
{
    int64_t index[TM_MAX_RANK];
    tm_grid_index(g, slice, 0, 0, index);
    str_addc(out, '[');
    for (int d = 0; d < g->rank - 2; d++)
        str_addf(out, "%lld, ", (long long)index[d]);
    str_adds(out, ":, :]");
}

int64_t tm_picture_worker(const tm_picture *p, const int64_t *index, int64_t *position)
{
    int64_t worker;
    return p->m && tm_owner(p->m, index, &worker, position) ? worker : -1;
}

int tm_picture_bank(const tm_picture *p, const int64_t *index)
{
    return (int)(tm_layout_offset(p->l, index) * p->element_bytes / TM_BANK_BYTES % TM_BANKS);
}

int tm_picture_degree(const tm_picture *p, const int64_t *index)
{
    return p->degrees && grid_has(&p->elements, index) ? p->degrees[flat_index(&p->elements, index)] : 0;
}

void tm_picture_facts(const tm_picture *p, str_buf *out)
{
    if (!p->m) {
        str_adds(out, "shape ");
        tm_print_tuple(p->l->rank, p->l->shape, out);
        str_addf(out, ", %lld elements of storage", (long long)p->l->size);
        return;
    }
    int64_t tasks = 1, all = p->m->workers * p->m->tasks_per_worker;
    for (int d = 0; d < p->m->rank; d++)
        tasks *= p->m->shape[d];
    str_addf(out, "%lld worker%s, shape ", (long long)p->m->workers, p->m->workers == 1 ? "" : "s");
    tm_print_tuple(p->m->rank, p->m->shape, out);
    str_addf(out, ", %lld task%s each", (long long)p->m->tasks_per_worker, p->m->tasks_per_worker == 1 ? "" : "s");
    if (all != tasks)
        str_addf(out, "; each task is done %lld times", (long long)(all / tasks));
}

void tm_picture_bank_facts(const tm_picture *p, str_buf *out)
{
    str_addf(out, "%d-byte elements, %d at a time: ", p->element_bytes, p->vector);
    str_addf(out, "%lld request%s in %lld pass%s", (long long)p->banks.accesses, p->banks.accesses == 1 ? "" : "s",
             (long long)p->banks.wavefronts, p->banks.wavefronts == 1 ? "" : "es");
    if (p->banks.wavefronts == p->banks.ideal)
        str_adds(out, ", no conflicts");
    else
        str_addf(out, ", %lld without conflicts", (long long)p->banks.ideal);
}
