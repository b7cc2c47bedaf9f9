// Findings: kept once per code and pair of locations while kernels run, made into diagnostics afterwards.
#include "sim/finding.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cast.h"

enum { KEPT_PER_SHOWN = 8 }; // more are kept than shown, so that what is shown does not depend on actor came first

typedef struct key {
    const sim_program *program;
    uint32_t code, site, other;
} key;

typedef struct kept {
    sim_finding f;
    const sim_program *program;
    sim_site site, other;
    src_span statement;      // of the launch plan that ran, as of sim
    const char *statement_place;  // of one without a span; NULL: not known
    const src_span *origins; // of the statement, where the author did not write it
    size_t origin_count;
    const char *coordinates; // "block 0, thread 5"
    const char *kernel;
    uint64_t launch;
    int64_t count;
} kept;

struct sim_findings {
    arena arena;
    pthread_mutex_t lock;
    VEC(kept *) all;
    map by_key;
    int limit;
    int64_t dropped; // findings of further kinds
};

struct sim_findings *sim_findings_new(arena *a, int limit)
{
    struct sim_findings *fs = ARENA_NEW(a, struct sim_findings);
    arena_init(&fs->arena, a->oom);
    pthread_mutex_init(&fs->lock, NULL);
    map_init(&fs->by_key, &fs->arena);
    fs->limit = limit > 0 ? limit : 20;
    return fs;
}

void sim_findings_free(struct sim_findings *fs)
{
    arena_free(&fs->arena);
    pthread_mutex_destroy(&fs->lock);
}

void sim_findings_clear(sim *s)
{
    struct sim_findings *fs = s->findings;
    arena_oom *oom = fs->arena.oom;
    arena_free(&fs->arena);
    arena_init(&fs->arena, oom);
    map_init(&fs->by_key, &fs->arena);
    fs->all.at = NULL;
    fs->all.len = fs->all.cap = 0;
    fs->dropped = 0;
}

int sim_finding_count(const sim *s)
{
    int count = (int)s->findings->all.len;
    return count < s->findings->limit ? count : s->findings->limit;
}

// ---- keeping -------------------------------------------------------------------------------------------------------

static key key_of(const sim_launch *l, diag_code code, const sim_actor *actor, uint32_t other)
{
    key k;
    memset(&k, 0, sizeof k);
    k.program = l ? l->program : NULL;
    k.code = (uint32_t)code;
    k.site = actor->site;
    k.other = other;
    return k;
}

// Of several findings of a kind, the one in the first block is reported.
static bool comes_before(const sim_launch *l, const sim_actor *actor, const kept *old)
{
    return l && l->number == old->launch && actor->block < old->f.actor.block;
}

static const char *copy(arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

static sim_site site_of(const sim_program *p, uint32_t site)
{
    return p && site < p->sites.len ? p->sites.at[site] : (sim_site){0};
}

static void set(struct sim_findings *fs, kept *k, const sim *s, const sim_launch *l, const sim_finding *f)
{
    arena *a = &fs->arena;
    k->f = *f;
    for (int i = 0; i < 4; i++) {
        k->f.args[i] = copy(a, f->args[i]);
        k->f.notes[i] = copy(a, f->notes[i]);
    }
    k->f.under = copy(a, f->under);
    k->f.other_text = copy(a, f->other_text);
    k->f.help = copy(a, f->help);
    k->program = l ? l->program : NULL;
    k->site = site_of(k->program, f->actor.site);
    k->other = site_of(k->program, f->other.site);
    k->statement = s->statement;
    k->statement_place = s->statement_file ? arena_printf(a, "%s:%" PRIu32, s->statement_file, s->statement_line) : NULL;
    k->origins = s->origins;
    k->origin_count = s->origin_count;
    k->launch = l ? l->number : 0;
    bool has_thread = l && !l->is_host && f->actor.block >= 0;
    k->kernel = has_thread && l->kernel ? copy(a, l->kernel->title ? l->kernel->title : l->kernel->name) : NULL;
    str_buf out;
    str_buf_init(&out, a);
    if (has_thread)
        sim_actor_print(l, &f->actor, &out);
    k->coordinates = has_thread ? str_text(&out) : NULL;
}

void sim_find(sim *s, const sim_launch *l, const sim_finding *f)
{
    struct sim_findings *fs = s->findings;
    key at = key_of(l, f->code, &f->actor, f->other.site);
    pthread_mutex_lock(&fs->lock);
    kept *k = map_get(&fs->by_key, &at, sizeof at);
    if (k) {
        k->count++;
        if (comes_before(l, &f->actor, k))
            set(fs, k, s, l, f);
    } else if (fs->all.len < (size_t)fs->limit * KEPT_PER_SHOWN) {
        k = ARENA_NEW(&fs->arena, kept);
        set(fs, k, s, l, f);
        k->count = 1;
        map_put(&fs->by_key, &at, sizeof at, k);
        VEC_PUSH(&fs->arena, &fs->all, k);
    } else {
        fs->dropped++;
    }
    pthread_mutex_unlock(&fs->lock);
}

bool sim_found_before(sim *s, const sim_launch *l, diag_code code, const sim_actor *actor, uint32_t other_site)
{
    struct sim_findings *fs = s->findings;
    key at = key_of(l, code, actor, other_site);
    pthread_mutex_lock(&fs->lock);
    kept *k = map_get(&fs->by_key, &at, sizeof at);
    bool is_full = fs->all.len >= (size_t)fs->limit * KEPT_PER_SHOWN;
    bool is_known = k ? !comes_before(l, actor, k) : is_full;
    if (is_known && k)
        k->count++;
    else if (is_known)
        fs->dropped++;
    pthread_mutex_unlock(&fs->lock);
    return is_known;
}

void sim_find_at(sim_warp *w, uint32_t lane, uint32_t site, diag_code code, const char *arg0, const char *arg1,
                 const char *arg2, const char *help)
{
    const sim_launch *l = w->block->launch;
    bool is_host = l->is_host;
    sim_finding f = {.code = code, .args = {arg0, arg1, arg2}, .help = help};
    f.actor =
        (sim_actor){site, is_host ? -1 : w->block->index, is_host ? -1 : sim_thread(w, lane), is_host ? -1 : w->index};
    f.other.block = f.other.thread = f.other.warp = -1;
    sim_find(l->device, l, &f);
}

// ---- words ---------------------------------------------------------------------------------------------------------

// A linear index as coordinates: "5", or "(1, 2, 0)" if more than x is used.
static void print_index(const int64_t *extent, int64_t index, str_buf *out)
{
    if (extent[1] <= 1 && extent[2] <= 1) {
        str_addf(out, "%" PRId64, index);
        return;
    }
    int64_t x = extent[0] > 0 ? extent[0] : 1, y = extent[1] > 0 ? extent[1] : 1;
    str_addf(out, "(%" PRId64 ", %" PRId64 ", %" PRId64 ")", index % x, index / x % y, index / x / y);
}

void sim_actor_print(const sim_launch *l, const sim_actor *actor, str_buf *out)
{
    if (actor->block < 0) {
        str_adds(out, "the host");
        return;
    }
    str_adds(out, "block ");
    print_index(l->shape.grid, actor->block, out);
    if (actor->thread >= 0) {
        str_adds(out, ", thread ");
        print_index(l->shape.block, actor->thread, out);
    } else if (actor->warp >= 0) {
        str_addf(out, ", warp %d", actor->warp);
    }
}

void sim_thread_print(const sim_launch *l, const sim_actor *actor, bool with_block, str_buf *out)
{
    if (actor->thread >= 0) {
        str_adds(out, "thread ");
        print_index(l->shape.block, actor->thread, out);
    } else {
        str_adds(out, actor->warp >= 0 ? "a thread of warp " : "a thread");
        if (actor->warp >= 0)
            str_addf(out, "%d", actor->warp);
    }
    if (with_block && actor->block >= 0) {
        str_adds(out, " of block ");
        print_index(l->shape.grid, actor->block, out);
    }
}

// The shortest decimal that reads back as the same value of the type: 0.1 of f32, not 0.10000000149011612.
static void print_float(dtype t, uint64_t bits, str_buf *out)
{
    double value = sim_double_of_bits(t, bits);
    char text[40];
    for (int digits = 1; digits < 17 && isfinite(value); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double read = str_to_double(text);
        if (sim_double_of_bits(t, sim_bits_of_double(t, read)) == value) {
            value = read;
            break;
        }
    }
    str_add_double(out, value);
}

void sim_value_print(dtype t, uint64_t bits, str_buf *out)
{
    if (t == DT_NONE) {
        str_addf(out, "0x%" PRIx64, bits);
    } else if (t == DT_BOOL) {
        str_adds(out, bits & 0xff ? "True" : "False");
    } else if (dt_is_float(t)) {
        print_float(t, bits, out);
    } else if (dt_is_int(t)) {
        int64_t value = dt_wrap_int(t, (int64_t)bits);
        str_addf(out, dt_is_signed(t) ? "%" PRId64 : "%" PRIu64, value);
    } else {
        str_addc(out, '(');
        print_float(DT_F32, bits & UINT32_MAX, out);
        str_adds(out, " + ");
        print_float(DT_F32, bits >> 32, out);
        str_adds(out, "j)");
    }
}

// ---- reporting -----------------------------------------------------------------------------------------------------

// Whether a location is in a source of the standard library: "stdlib/hardware/warp.hds", or a file below such a folder.
static bool in_library(const diag_context *dx, src_span span)
{
    const src_file *file = span.begin ? src_file_at(dx->sources, span.begin) : NULL;
    return file && (strncmp(file->name, "stdlib/", 7) == 0 || strstr(file->name, "/stdlib/"));
}

// The location in the user's file: that of the code, or of the innermost call outside of the library.
// *[call]: that call; NULL if it is the location itself.
static src_span span_of(const diag_context *dx, const sim_program *p, const sim_site *site, const ir_site **call)
{
    *call = NULL;
    if (!in_library(dx, site->span))
        return site->span;
    for (const ir_site *c = ir_site_at(p->module, site->origin); c; c = ir_site_at(p->module, c->parent)) {
        if (!in_library(dx, c->span)) {
            *call = c;
            return c->span;
        }
    }
    return site->span;
}

static void note_calls(diag *d, const kept *k, const ir_site *call)
{
    if (!k->program)
        return;
    if (call) {
        diag_note(d, k->site.span, "in %s, here", call->callee);
        ir_note_sites(k->program->module, d, call->parent);
    } else {
        ir_note_sites(k->program->module, d, k->site.origin);
    }
}

static void note_where(diag *d, const kept *k)
{
    if (!k->coordinates)
        return;
    const char *of = k->kernel ? arena_printf(d->context->arena, " of kernel '%s'", k->kernel) : "";
    if (k->count > 1)
        diag_note(d, (src_span){0}, "in %s%s; %" PRId64 " times in all", k->coordinates, of, k->count);
    else
        diag_note(d, (src_span){0}, "in %s%s", k->coordinates, of);
}

// The launch of a plan through which the kernel ran, or the statement that is at fault itself.
static void note_statement(diag *d, const kept *k)
{
    for (size_t i = 0; i < k->origin_count; i++)
        diag_note(d, k->origins[i], i ? "and for what is computed here" : "launched for what is computed here");
    if (k->origin_count)
        return;
    if (k->program && k->statement.begin)
        diag_note(d, k->statement, "launched here");
    else if (k->statement_place)
        diag_note(d, (src_span){0}, "%s %s", k->program ? "launched at" : "at", k->statement_place);
}

static void report(const kept *k, diag_context *dx)
{
    const sim_finding *f = &k->f;
    const ir_site *call = NULL, *unused = NULL;
    src_span span = k->program ? span_of(dx, k->program, &k->site, &call) : k->origin_count ? k->origins[0] : k->statement;
    const char *args[4];
    for (int i = 0; i < 4; i++)
        args[i] = f->args[i] ? f->args[i] : "";
    diag *d = diag_report(dx, f->code, span, args[0], args[1], args[2], args[3]);
    if (f->under)
        diag_under(d, "%s", f->under);
    if (f->other.site && f->other_text)
        diag_label(d, span_of(dx, k->program, &k->other, &unused), "%s", f->other_text);
    note_where(d, k);
    for (int i = 0; i < 4 && f->notes[i]; i++)
        diag_note(d, (src_span){0}, "%s", f->notes[i]);
    note_calls(d, k, call);
    note_statement(d, k);
    if (f->help)
        diag_help(d, "%s", f->help);
}

static int compare(const void *pa, const void *pb)
{
    const kept *a = *(kept *const *)pa, *b = *(kept *const *)pb;
    uint32_t x[] = {a->site.span.begin, (uint32_t)a->f.code, a->other.span.begin, a->f.actor.site, a->f.other.site};
    uint32_t y[] = {b->site.span.begin, (uint32_t)b->f.code, b->other.span.begin, b->f.actor.site, b->f.other.site};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return a->launch < b->launch ? -1 : a->launch > b->launch;
}

void sim_findings_report(const sim *s, diag_context *dx)
{
    struct sim_findings *fs = s->findings;
    size_t count = fs->all.len, shown = count < (size_t)fs->limit ? count : (size_t)fs->limit;
    if (!count)
        return;
    kept **sorted = arena_dup(&fs->arena, fs->all.at, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; i < shown; i++)
        report(sorted[i], dx);
}
