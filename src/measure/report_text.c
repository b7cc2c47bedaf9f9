// The table for people.
#include <string.h>

#include "measure/measure_priv.h"

const char *ms_time_text(arena *a, double seconds)
{
    if (seconds < 1e-3)
        return arena_printf(a, "%.2f µs", seconds * 1e6);
    return seconds < 1 ? arena_printf(a, "%.3f ms", seconds * 1e3) : arena_printf(a, "%.3f s", seconds);
}

const char *ms_sizes_text(arena *a, const ms_size *sizes, int count)
{
    str_buf out;
    str_buf_init(&out, a);
    for (int i = 0; i < count; i++)
        str_addf(&out, "%s%s=%s", i ? ", " : "", sizes[i].name, sizes[i].value);
    return str_text(&out);
}

// ---- tables -----------------------------------------------------------------------------------------------------

// In characters: the bytes that begin one.
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static int width_of_column(const ms_table *t, int column)
{
    int width = 0;
    for (size_t i = (size_t)column; i < t->cells.len; i += (size_t)t->columns) {
        int own = width_of(t->cells.at[i]);
        width = own > width ? own : width;
    }
    return width;
}

// The first column holds words.
void ms_table_print(const ms_table *t, str_buf *out)
{
    for (size_t i = 0; i < t->cells.len; i++) {
        int column = (int)(i % (size_t)t->columns);
        int gap = width_of_column(t, column) - width_of(t->cells.at[i]);
        bool is_last = column == t->columns - 1;
        str_addf(out, "%s%*s%s%*s%s", column ? "  " : "", column ? gap : 0, "", t->cells.at[i], column || is_last ? 0 : gap, "",
                 is_last ? "\n" : "");
    }
}

static void cell(ms_table *t, const char *text)
{
    VEC_PUSH(t->arena, &t->cells, text);
}

// ---- rows -------------------------------------------------------------------------------------------------------

static double rate(double amount, const ms_row *row)
{
    return row->time.median > 0 ? amount / row->time.median : 0;
}

static const char *part_text(arena *a, double part, double of)
{
    return of > 0 ? arena_printf(a, "%.1f %%", 100 * part / of) : "–";
}

static const char *dims_text(arena *a, const int64_t *dims)
{
    long long x = (long long)dims[0], y = (long long)dims[1], z = (long long)dims[2];
    if (z != 1)
        return arena_printf(a, "%lldx%lldx%lld", x, y, z);
    return y != 1 ? arena_printf(a, "%lldx%lld", x, y) : arena_printf(a, "%lld", x);
}

static const char *grid_text(arena *a, const ms_launch *l)
{
    return dims_text(a, l->grid);
}

static const char *waves_text(arena *a, const ms_launch *l)
{
    return l->blocks_per_sm ? arena_printf(a, "%.2f", l->waves) : "–";
}

static const char *occupancy_text(arena *a, const ms_launch *l)
{
    return l->blocks_per_sm ? arena_printf(a, "%d", l->blocks_per_sm) : "–";
}

enum { MOST_IN_ROW = 4 };  // more launches are only counted

// "1056 + 1": one launch after the other; "40 launches".
static const char *each_launch(arena *a, const ms_row *row, const char *(*text)(arena *a, const ms_launch *l))
{
    str_buf out;
    str_buf_init(&out, a);
    if (row->launch_count > MOST_IN_ROW)
        return text == grid_text ? arena_printf(a, "%d launches", row->launch_count) : "–";
    for (int i = 0; i < row->launch_count; i++)
        str_addf(&out, "%s%s", i ? " + " : "", text(a, &row->launches[i]));
    return row->launch_count ? str_text(&out) : "–";
}

static void add_head(const ms_record *r, ms_table *t)
{
    static const char *const first[] = {"sizes", "time", "±", "GB/s", "of peak"}, *const last[] = {"grid", "waves", "blocks/SM"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        cell(t, first[i]);
    if (r->options->yardstick)
        cell(t, "of copy");
    if (r->options->flops) {
        cell(t, "TFLOP/s");
        cell(t, "of peak");
    }
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        cell(t, last[i]);
    t->columns = (int)t->cells.len;
}

static void add_row(const ms_record *r, const ms_row *row, ms_table *t)
{
    arena *a = t->arena;
    double bandwidth = rate((double)row->bytes, row), ops = rate(row->flops, row);
    cell(t, row->size_count ? ms_sizes_text(a, row->sizes, row->size_count) : "all");
    cell(t, ms_time_text(a, row->time.median));
    cell(t, arena_printf(a, "%.1f %%", 100 * ms_spread(&row->time)));
    cell(t, arena_printf(a, bandwidth < 1e10 ? "%.2f" : "%.0f", bandwidth * 1e-9));
    cell(t, part_text(a, bandwidth, ms_peak_bandwidth(&r->machine)));
    if (r->options->yardstick)
        cell(t, row->copy.count && row->time.median > 0 ? arena_printf(a, "%.3f", row->copy.median / row->time.median) : "–");
    if (r->options->flops) {
        cell(t, arena_printf(a, ops < 1e12 ? "%.3f" : "%.1f", ops * 1e-12));
        cell(t, part_text(a, ops, ms_peak_ops(&r->machine, r->subject.peak_type)));
    }
    cell(t, each_launch(a, row, grid_text));
    cell(t, each_launch(a, row, waves_text));
    cell(t, each_launch(a, row, occupancy_text));
}

// ---- around them ------------------------------------------------------------------------------------------------

static void add_code(const ms_launch *l, str_buf *out)
{
    str_addf(out, "%d registers", l->registers);
    if (l->local_bytes)
        str_addf(out, ", %d bytes of local memory", l->local_bytes);
    str_addf(out, ", %d bytes of static shared memory", l->static_smem_bytes);
}

void ms_report_machine(const ms_record *r, str_buf *out)
{
    const ms_machine *m = &r->machine;
    str_addf(out, "%s, %d SMs, CUDA %s; limits: %.0f GB/s", m->gpu, m->sm_count, m->driver, ms_peak_bandwidth(m) * 1e-9);
}

static void add_machine(const ms_record *r, str_buf *out)
{
    const ms_machine *m = &r->machine;
    const ms_subject *k = &r->subject;
    str_addf(out, "%s (%s): ", k->title, k->arch);
    if (k->symbol)
        add_code(&r->rows.at[0].launches[0], out);
    else
        str_adds(out, "a host function");
    str_addc(out, '\n');
    ms_report_machine(r, out);
    if (r->options->flops && ms_peak_ops(m, k->peak_type) > 0)
        str_addf(out, ", %.0f TFLOP/s of %s at %d MHz", ms_peak_ops(m, k->peak_type) * 1e-12, dt_name(k->peak_type), m->clock_khz / 1000);
    str_addc(out, '\n');
}

static bool is_known(const ms_record *r, size_t row, int launch)
{
    const char *symbol = r->rows.at[row].launches[launch].symbol;
    for (size_t i = 0; i <= row; i++) {
        for (int k = 0; k < (i == row ? launch : r->rows.at[i].launch_count); k++) {
            if (strcmp(r->rows.at[i].launches[k].symbol, symbol) == 0)
                return true;
        }
    }
    return false;
}

// Each kernel that the host function launched, once.
static void add_launched(const ms_record *r, str_buf *out)
{
    for (size_t i = 0; !r->subject.symbol && i < r->rows.len; i++) {
        for (int k = 0; k < r->rows.at[i].launch_count; k++) {
            const ms_launch *l = &r->rows.at[i].launches[k];
            if (is_known(r, i, k))
                continue;
            str_addf(out, "launched: %s, %s threads a block, ", l->symbol, dims_text(out->arena, l->block));
            add_code(l, out);
            str_addc(out, '\n');
        }
    }
}

static const char *clocks_text(arena *a, const ms_state *s)
{
    return arena_printf(a, "%d MHz, %d °C, %d W", s->sm_mhz, s->celsius, s->milliwatts / 1000);
}

static void add_clocks(const ms_record *r, str_buf *out)
{
    uint64_t reasons = 0;
    char slow[160];
    const ms_row *first = &r->rows.at[0], *last = &VEC_LAST(&r->rows);
    if (!first->before.is_known)
        return;
    for (size_t i = 0; i < r->rows.len; i++)
        reasons |= r->rows.at[i].before.reasons | r->rows.at[i].after.reasons;
    str_addf(out, "clocks: %s before, %s after", clocks_text(out->arena, &first->before), clocks_text(out->arena, &last->after));
    ms_nvml_slowdown(reasons, slow, sizeof slow);
    str_addf(out, *slow ? "; limited by: %s\n" : "\n", slow);
}

static void add_method(const ms_record *r, str_buf *out)
{
    const ms_options *o = r->options;
    const ms_row *row = &r->rows.at[0];
    str_addf(out, "method: %s, ", ms_method_name(o->method));
    if (o->method == MS_ROTATE)
        str_addf(out, "%d launches a sample%s over %d cop%s of the tensors", row->batch, o->graph ? " in a graph" : "", row->sets,
                 row->sets == 1 ? "y" : "ies");
    else
        str_addf(out, "a launch a sample%s, L2 overwritten before", o->graph ? " in a graph" : "");
    str_addf(out, "; medians of at least %zu samples, ± half the interquartile range\n", row->time.count);
    if (r->empty_seconds >= 0)
        str_addf(out, "launch overhead: an empty kernel measures %s; it is not subtracted\n",
                 ms_time_text(out->arena, r->empty_seconds));
}

static void add_notes(const ms_record *r, str_buf *out)
{
    int bound = 0, unlike = 0;
    for (size_t i = 0; i < r->rows.len; i++) {
        bound += r->rows.at[i].is_host_bound;
        unlike += r->options->yardstick && !r->rows.at[i].copy.count && r->rows.at[i].bytes > 0;
    }
    if (bound)
        str_addf(out, "note: the GPU waited for launches in %d row%s: --graph measures without them\n", bound, bound == 1 ? "" : "s");
    if (unlike)
        str_addf(out, "note: there was no memory for a copy to compare with in %d row%s\n", unlike, unlike == 1 ? "" : "s");
}

void ms_report_text(const ms_record *r, str_buf *out)
{
    if (!r->rows.len)
        return;
    ms_table t = {.arena = out->arena};
    add_machine(r, out);
    str_addc(out, '\n');
    add_head(r, &t);
    for (size_t i = 0; i < r->rows.len; i++)
        add_row(r, &r->rows.at[i], &t);
    ms_table_print(&t, out);
    str_addc(out, '\n');
    add_launched(r, out);
    add_method(r, out);
    add_clocks(r, out);
    add_notes(r, out);
}
