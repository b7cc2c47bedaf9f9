// The counters of a run, for people and for tools.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/json_text.h"
#include "sim/profile_priv.h"

// A line of a source file.
typedef struct row {
    src_file *file;
    uint32_t line;
    sim_counts counts;
} row;

typedef struct report {
    const sim_profile *profile;
    src_map *sources;
    arena *arena;
    VEC(row) rows;
    sim_counts total;
} report;

// ---- by line ----------------------------------------------------------------------------------------------------

// An inlined call into the library counts where the author called it.
static src_location location_of(const report *r, const sim_program *p, const sim_site *site)
{
    src_location location = src_location_of(r->sources, site->span.begin);
    const ir_site *call = ir_site_at(p->module, site->origin);
    while (call && location.file && strncmp(location.file->name, "stdlib/", 7) == 0) {
        location = src_location_of(r->sources, call->span.begin);
        call = ir_site_at(p->module, call->parent);
    }
    return location;
}

static void add(sim_counts *to, const sim_counts *from)
{
    const uint64_t *source = (const uint64_t *)from;
    uint64_t *target = (uint64_t *)to;
    for (size_t i = 0; i < sizeof *to / sizeof *target; i++)
        target[i] += source[i];
}

static row *row_at(report *r, src_location location)
{
    for (size_t i = 0; i < r->rows.len; i++) {
        if (r->rows.at[i].file == location.file && r->rows.at[i].line == location.line)
            return &r->rows.at[i];
    }
    VEC_PUSH(r->arena, &r->rows, ((row){.file = location.file, .line = location.line}));
    return &VEC_LAST(&r->rows);
}

static int by_location(const void *a, const void *b)
{
    const row *x = a, *y = b;
    uint32_t x_base = x->file ? x->file->base : 0, y_base = y->file ? y->file->base : 0;
    if (x_base != y_base)
        return x_base < y_base ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static void gather(report *r, const sim_profile *p, src_map *sources, arena *a)
{
    *r = (report){.profile = p, .sources = sources, .arena = a};
    for (const sim_profile_page *page = p->pages; page; page = page->next) {
        for (size_t i = 0; i < page->count; i++) {
            const sim_counts *c = &page->counts[i];
            if (!c->warp_instructions && !c->global.requests && !c->shared.requests && !c->local_bytes)
                continue;
            add(&row_at(r, location_of(r, page->program, &page->program->sites.at[i]))->counts, c);
            add(&r->total, c);
        }
    }
    if (r->rows.len)
        qsort(r->rows.at, r->rows.len, sizeof *r->rows.at, by_location);
}

sim_counts sim_profile_total(const sim_profile *p)
{
    sim_counts total = {0};
    for (const sim_profile_page *page = p->pages; page; page = page->next)
        for (size_t i = 0; i < page->count; i++)
            add(&total, &page->counts[i]);
    return total;
}

static uint32_t line_of(const sim_program *p, src_map *sources, const src_file *in, ir_place place)
{
    src_location location = src_location_of(sources, place.span.begin);
    const ir_site *call = ir_site_at(p->module, place.origin);
    while (call && location.file != in) {
        location = src_location_of(sources, call->span.begin);
        call = ir_site_at(p->module, call->parent);
    }
    return location.file == in ? location.line : 0;
}

uint32_t sim_site_line(const sim_program *p, src_map *sources, const src_file *in, uint32_t number)
{
    const sim_site *site = &p->sites.at[number];
    return line_of(p, sources, in, (ir_place){site->span, site->origin});
}

uint32_t sim_joined_line(const sim_program *p, src_map *sources, const src_file *in, uint32_t number, int index)
{
    const ir_stmt *launch = p->sites.at[number].joined;
    return launch && index < launch->count ? line_of(p, sources, in, launch->joined[index]) : 0;
}

// ---- text -------------------------------------------------------------------------------------------------------

// "1234", "12.3k", "4.56M": at most five characters.
static const char *count_text(report *r, uint64_t n)
{
    static const char units[] = " kMGTPE";
    double value = (double)n;
    int unit = 0;
    if (n < 10000)
        return arena_printf(r->arena, "%d", (int)n);
    for (; value >= 999.5; unit++)
        value /= 1000;
    return arena_printf(r->arena, "%.*f%c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
}

static const char *ratio(report *r, uint64_t a, uint64_t b, int digits)
{
    return b ? arena_printf(r->arena, "%.*f", digits, (double)a / (double)b) : "";
}

static const char *some(report *r, uint64_t n)
{
    return n ? count_text(r, n) : "";
}

static void add_head(str_buf *out)
{
    str_addf(out, "%6s %6s %5s | %6s %7s %7s %6s | %6s %6s %6s | %6s  %s\n", "warp", "", "lanes", "global", "sectors", "", "",
             "shared", "passes", "", "", "");
    str_addf(out, "%6s %6s %5s | %6s %7s %7s %6s | %6s %6s %6s | %6s  %s\n", "instr", "share", "of 32", "reqs", "/req", "ideal",
             "bytes", "reqs", "/req", "ideal", "flops", "line");
}

static void add_row(report *r, const row *w, str_buf *out)
{
    const sim_counts *c = &w->counts;
    str_addf(out, "%6s %5s%% %5s | %6s %7s %7s %6s | %6s %6s %6s | %6s  ", count_text(r, c->warp_instructions),
             ratio(r, c->warp_instructions * 100, r->total.warp_instructions ? r->total.warp_instructions : 1, 1),
             ratio(r, c->thread_instructions, c->warp_instructions, 1), some(r, c->global.requests),
             ratio(r, c->global.sectors, c->global.requests, 1), ratio(r, c->global.ideal, c->global.requests, 1),
             some(r, c->global.bytes), some(r, c->shared.requests), ratio(r, c->shared.wavefronts, c->shared.requests, 1),
             ratio(r, c->shared.ideal, c->shared.requests, 1), some(r, c->flops));
    str text = w->file ? src_line(r->sources, w->file, w->line) : STR("");
    str_addf(out, "%4u  ", w->line);
    str_add(out, text);
    str_addc(out, '\n');
}

static int64_t threads_of(const sim_profiled_kernel *k)
{
    return k->shape.block[0] * k->shape.block[1] * k->shape.block[2];
}

static void add_kernel(const sim_profiled_kernel *k, str_buf *out)
{
    const arch *target = k->program->module->arch;
    const char *limit;
    int64_t threads = threads_of(k), warps = (threads + SIM_LANES - 1) / SIM_LANES;
    int blocks = sim_profile_blocks(target, threads, k->shared_bytes, &limit);
    str_addf(out, "%s: %llu block%s of %lld threads", k->kernel->title ? k->kernel->title : k->kernel->name,
             (unsigned long long)k->blocks, k->blocks == 1 ? "" : "s", (long long)threads);
    if (k->launches > 1)
        str_addf(out, " in %llu launches", (unsigned long long)k->launches);
    str_addf(out, ", %lld bytes of shared memory; ", (long long)k->shared_bytes);
    if (!blocks)
        str_addf(out, "a block does not fit on an SM of %s (%s)\n", target->name, limit);
    else
        str_addf(out, "at most %d blocks on an SM of %s, %d%% of its warps (%s; registers not counted)\n", blocks,
                 target->name, (int)(100 * blocks * warps / target->warps_per_sm), limit);
}

static void add_summary(report *r, str_buf *out)
{
    const sim_counts *t = &r->total;
    str_addf(out, "instructions   %s of warps, %s of threads: %s lanes of 32\n", count_text(r, t->warp_instructions),
             count_text(r, t->thread_instructions), ratio(r, t->thread_instructions, t->warp_instructions, 1));
    if (t->global.requests)
        str_addf(out, "global memory  %s requests, %s bytes, in %s sectors of 32 bytes: %s bytes moved; ideal %s sectors (%s%%)\n",
                 count_text(r, t->global.requests), count_text(r, t->global.bytes), count_text(r, t->global.sectors),
                 count_text(r, t->global.sectors * 32), count_text(r, t->global.ideal),
                 ratio(r, t->global.ideal * 100, t->global.sectors, 0));
    if (t->shared.requests)
        str_addf(out, "shared memory  %s requests, %s bytes, in %s passes; ideal %s (%s%%)\n", count_text(r, t->shared.requests),
                 count_text(r, t->shared.bytes), count_text(r, t->shared.wavefronts), count_text(r, t->shared.ideal),
                 ratio(r, t->shared.ideal * 100, t->shared.wavefronts, 0));
    if (t->local_bytes)
        str_addf(out, "local memory   %s bytes\n", count_text(r, t->local_bytes));
    if (t->prefetched_bytes)
        str_addf(out, "prefetches     %s bytes to L2\n", count_text(r, t->prefetched_bytes));
    if (t->flops)
        str_addf(out, "arithmetic     %s flops, %s a byte of global memory\n", count_text(r, t->flops),
                 t->global.sectors ? ratio(r, t->flops, t->global.sectors * 32, 2) : "all without a byte");
}

void sim_profile_table(const sim_profile *p, src_map *sources, str_buf *out)
{
    report r;
    gather(&r, p, sources, out->arena);
    for (size_t i = 0; i < p->kernels.len; i++)
        add_kernel(&p->kernels.at[i], out);
    const src_file *file = NULL;
    for (size_t i = 0; i < r.rows.len; i++) {
        const row *w = &r.rows.at[i];
        if (!i || w->file != file) {
            str_addf(out, "\n%s\n", w->file ? w->file->name : "without a source location");
            add_head(out);
        }
        file = w->file;
        add_row(&r, w, out);
    }
    str_addc(out, '\n');
    add_summary(&r, out);
}

// ---- JSON -------------------------------------------------------------------------------------------------------

static json_t *counts_object(const sim_counts *c)
{
    return json_pack("{s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I, s:I}, s:I, s:I}", "warp_instructions",
                     (json_int_t)c->warp_instructions, "thread_instructions", (json_int_t)c->thread_instructions, "flops",
                     (json_int_t)c->flops, "global", "requests", (json_int_t)c->global.requests, "sectors",
                     (json_int_t)c->global.sectors, "ideal_sectors", (json_int_t)c->global.ideal, "bytes",
                     (json_int_t)c->global.bytes, "shared", "requests", (json_int_t)c->shared.requests, "wavefronts",
                     (json_int_t)c->shared.wavefronts, "ideal_wavefronts", (json_int_t)c->shared.ideal, "bytes",
                     (json_int_t)c->shared.bytes, "local_bytes", (json_int_t)c->local_bytes,
                     "prefetched_bytes", (json_int_t)c->prefetched_bytes);
}

static json_t *kernel_object(const sim_profiled_kernel *k)
{
    const arch *target = k->program->module->arch;
    const int64_t *grid = k->shape.grid, *block = k->shape.block;
    const char *limit;
    int64_t threads = threads_of(k), warps = (threads + SIM_LANES - 1) / SIM_LANES;
    int blocks = sim_profile_blocks(target, threads, k->shared_bytes, &limit);
    return json_pack("{s:s, s:I, s:I, s:[I, I, I], s:[I, I, I], s:I, s:s, s:i, s:f, s:s}", "kernel",
                     k->kernel->title ? k->kernel->title : k->kernel->name, "launches", (json_int_t)k->launches, "blocks",
                     (json_int_t)k->blocks, "grid", (json_int_t)grid[0], (json_int_t)grid[1], (json_int_t)grid[2], "block",
                     (json_int_t)block[0], (json_int_t)block[1], (json_int_t)block[2], "shared_bytes",
                     (json_int_t)k->shared_bytes, "arch", target->name, "blocks_per_multiprocessor", blocks, "occupancy",
                     (double)(blocks * warps) / target->warps_per_sm, "limited_by", limit);
}

void sim_profile_json(const sim_profile *p, src_map *sources, str_buf *out)
{
    report r;
    gather(&r, p, sources, out->arena);
    json_t *document = json_object(), *kernels = json_array(), *lines = json_array();
    for (size_t i = 0; i < p->kernels.len; i++)
        json_array_append_new(kernels, kernel_object(&p->kernels.at[i]));
    for (size_t i = 0; i < r.rows.len; i++) {
        json_t *line = counts_object(&r.rows.at[i].counts);
        json_object_set_new(line, "file", json_string(r.rows.at[i].file ? r.rows.at[i].file->name : ""));
        json_object_set_new(line, "line", json_integer(r.rows.at[i].line));
        json_array_append_new(lines, line);
    }
    json_object_set_new(document, "kernels", kernels);
    json_object_set_new(document, "lines", lines);
    json_object_set_new(document, "total", counts_object(&r.total));
    diag_add_json(out, document, JSON_INDENT(2));
}
