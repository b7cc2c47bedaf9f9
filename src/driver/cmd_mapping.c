#include "driver/cmd_mapping.h"

// Beyond these, everything that visits each task is omitted.
enum { MOST_ENUMERATED = 1 << 22, MOST_LISTED = 1 << 16 };

static void add_row(str_buf *out, const char *name)
{
    str_addf(out, "%-10s", name);
}

static int64_t count_of(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= shape[d];
    return count;
}

static void add_proof(const tm_map *m, const int64_t *shape, str_buf *out)
{
    tm_proof proof = tm_prove(m, shape);
    if (proof.covers) {
        str_adds(out, "every task");
    } else {
        str_adds(out, "not task ");
        tm_print_tuple(m->rank, proof.missing, out);
    }
    str_adds(out, proof.disjoint ? ", none twice" : "; task ");
    if (proof.disjoint)
        return;
    tm_print_tuple(m->rank, proof.doubled, out);
    str_addf(out, " and others %lld times",
             (long long)(m->workers * m->tasks_per_worker / count_of(m->rank, m->shape)));
}

static void show_map(const tm_map *m, str_buf *out)
{
    add_row(out, "mapping");
    tm_print(m, out);
    str_addc(out, '\n');
    add_row(out, "shape");
    tm_print_tuple(m->rank, m->shape, out);
    str_addc(out, '\n');
    add_row(out, "workers");
    str_addf(out, "%lld\n", (long long)m->workers);
    add_row(out, "tasks");
    str_addf(out, "%lld for each worker\n", (long long)m->tasks_per_worker);
    add_row(out, "does");
    add_proof(m, m->shape, out);
    str_addc(out, '\n');
}

static void show_layout(const tm_map *m, const tm_layout *l, str_buf *out)
{
    add_row(out, "layout");
    tm_layout_print(l, out);
    str_addc(out, '\n');
    add_row(out, "shape");
    tm_print_tuple(l->rank, l->shape, out);
    str_addf(out, "%s\n", tm_layout_is_row_major(l) ? ", in row order" : "");
    add_row(out, "storage");
    str_addf(out, "%lld element%s\n", (long long)l->size, l->size == 1 ? "" : "s");
    add_row(out, "injective");
    str_adds(out, tm_layout_is_injective(l) ? "yes\n" : "no: some elements share an offset\n");
    bool same = true;
    for (int d = 0; m && d < m->rank; d++)
        same &= m->shape[d] == l->shape[d];
    if (same)
        return;
    add_row(out, "of these");
    add_proof(m, l->shape, out);
    str_addc(out, '\n');
}

static void add_banks(const tm_map *m, const tm_layout *l, int bytes, int vector, str_buf *out)
{
    tm_banks b = tm_bank_conflicts(m, l, bytes, vector);
    str_buf cell;
    str_buf_init(&cell, out->arena);
    str_addf(&cell, "%lld / %lld", (long long)b.wavefronts, (long long)b.ideal);
    if (b.worst > 1)
        str_addf(&cell, ", worst x%d", b.worst);
    str_addf(out, "  %-26s", str_text(&cell));
}

static void trim(str_buf *out)
{
    while (out->len && out->at[out->len - 1] == ' ')
        out->len--;
    str_addc(out, '\n');
}

static void show_access(const tm_map *m, const tm_layout *l, int bytes, bool countable, str_buf *out)
{
    int widest = tm_widest_access(m, l, bytes < 16 ? 16 / bytes : 1);
    str_buf cell;
    str_buf_init(&cell, out->arena);
    str_addf(&cell, "%d (%d byte%s)", widest, widest * bytes, widest * bytes == 1 ? "" : "s");
    str_addf(out, "%-10d%-14s", bytes, str_text(&cell));
    if (countable) {
        add_banks(m, l, bytes, 1, out);
        add_banks(m, l, bytes, widest, out);
    }
    trim(out);
}

// One row an element width: the widest access, and passes through shared memory beside those without conflicts.
static void show_accesses(const tm_map *m, const tm_layout *l, int element_bytes, str_buf *out)
{
    static const int widths[] = {1, 2, 4, 8, 16};
    bool countable = m->workers * m->tasks_per_worker <= MOST_ENUMERATED;
    str_addf(out, "\n%-10s%-14s", "bytes", "widest");
    if (countable)
        str_addf(out, "  %-26s  %-26s", "passes / ideal, single", "passes / ideal, widest");
    trim(out);
    for (size_t i = 0; i < (element_bytes > 0 ? 1 : sizeof widths / sizeof *widths); i++)
        show_access(m, l, element_bytes > 0 ? element_bytes : widths[i], countable, out);
    if (!countable)
        str_adds(out, "(too many tasks to count bank conflicts)\n");
}

static void show_table(const tm_map *m, str_buf *out)
{
    int64_t left = MOST_LISTED, worker = 0;
    str_addc(out, '\n');
    for (; worker < m->workers && left > 0; worker++) {
        str_addf(out, "T%lld:", (long long)worker);
        for (int64_t p = 0; p < m->tasks_per_worker && left > 0; p++, left--) {
            int64_t task[TM_MAX_RANK];
            tm_task(m, worker, p, task);
            str_addc(out, ' ');
            tm_print_tuple(m->rank, task, out);
        }
        str_addc(out, '\n');
    }
    if (m->workers * m->tasks_per_worker > MOST_LISTED)
        str_addf(out, "(the first %d tasks of %lld)\n", MOST_LISTED, (long long)(m->workers * m->tasks_per_worker));
}

int cmd_mapping_show(const tm_map *map, const tm_layout *layout, const cmd_mapping_options *o, str_buf *out)
{
    if (map && layout && map->rank != layout->rank) {
        str_addf(out, "the mapping has %d dimension%s, but the layout has %d\n", map->rank, map->rank == 1 ? "" : "s",
                 layout->rank);
        return 1;
    }
    if (map)
        show_map(map, out);
    if (map && layout)
        str_addc(out, '\n');
    if (layout)
        show_layout(map, layout, out);
    if (map && layout)
        show_accesses(map, layout, o->element_bytes, out);
    if (map && o->table)
        show_table(map, out);
    str_addc(out, '\n');
    tm_draw_options draw = {.columns = o->columns, .colours = o->colours, .element_bytes = o->element_bytes};
    tm_draw_text(map, layout, &draw, out);
    draw.element_bytes = o->element_bytes > 0 ? o->element_bytes : 4;
    if (o->svg)
        tm_draw_svg(map, layout, &draw, o->svg);
    return 0;
}
