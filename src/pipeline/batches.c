#include "pipeline/batches.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/shared.h"
#include "service/service.h"
#include "toolchain/cubin_join.h"
#include "toolchain/ptx_join.h"

// A batch ends with the kernel that makes its own text this long. NVRTC takes 14 ms for an empty text and 9 ms more for a
// kilobyte of small kernels: smaller batches waste more, larger ones leave some of 16 processes without work
// (docs/performance.md). Of a library there are more batches than processes anyway, so that its batches are larger. The units of
// a job have as many together as one alone has.
enum { LEAST_BATCH_BYTES = 6 << 10, MOST_BATCHES = 32 };

typedef struct batch {
    size_t number, kernel_count;
    size_t own_bytes;
    str text;
    pl_line_numbers from;
    pl_code_request request;
    tool_result result;
    bool is_done, has_crashed;
} batch;

typedef struct work {
    const pl_assembly *s;
    tool_compile_options options;
    pl_shared_code shared; // of kernels that are in no batch
    VEC(batch) batches;
    size_t *batch_of; // of each kernel
    size_t *pending;  // indices, the largest first
    size_t pending_count;
    size_t kernels_done;
    bool is_cancelled;
} work;

// ---- which kernels are a batch ----------------------------------------------------------------------------------

static bool has_shared_symbols(const ir_module *m)
{
    for (size_t i = 0; i < m->funcs.len; i++) {
        const ir_func *f = m->funcs.at[i];
        if (f->kind != IR_KERNEL && f->kind != IR_HOST_FUNC && f->is_public)
            return true;
    }
    return false;
}

// Blackwell's cubins cannot be joined; texts of the author may define what kernels share.
bool pl_can_be_joined(const pl_unit *u)
{
    enum { FIRST_MAJOR_NOT_JOINED = 10 };
    return u->nvrtc_text && u->nvrtc_text->is_canonical && pl_wants_cubin(u->options) &&
           u->arch->major < FIRST_MAJOR_NOT_JOINED && !pl_has_author_texts(u->module) && !has_shared_symbols(u->module);
}

size_t pl_bytes_of_batch(const pl_options *o, size_t total)
{
    size_t enough = total * (size_t)o->arch_count / MOST_BATCHES;
    return enough > LEAST_BATCH_BYTES ? enough : LEAST_BATCH_BYTES;
}

static bool is_shared(const work *w, size_t kernel)
{
    return w->shared.has && w->shared.has[kernel];
}

// Of the text of each kernel.
static size_t *bytes_of(const work *w, size_t *total)
{
    const pl_canonical *c = &w->s->text.canonical;
    size_t *bytes = ARENA_ARRAY(&w->s->unit->memory, size_t, w->s->unit->kernels.len);
    for (size_t i = 0; i < c->lines.len; i++) {
        size_t length = c->lines.at[i].text.len + 1;
        if (c->lines.at[i].kernel < 0 || is_shared(w, (size_t)c->lines.at[i].kernel))
            continue;
        bytes[c->lines.at[i].kernel] += length;
        *total += length;
    }
    return bytes;
}

// In their order, batches of [enough] bytes of those kernels that print, or of those that do not.
static void plan_those(work *w, const size_t *bytes, size_t enough, bool prints)
{
    const pl_unit *u = w->s->unit;
    batch next = {.number = w->batches.len};
    for (size_t i = 0; i < u->kernels.len; i++) {
        if (u->kernels.at[i].prints != prints || is_shared(w, i))
            continue;
        w->batch_of[i] = next.number;
        next.kernel_count++;
        next.own_bytes += bytes[i];
        if (next.own_bytes < enough)
            continue;
        VEC_PUSH(&w->s->unit->memory, &w->batches, next);
        next = (batch){.number = w->batches.len};
    }
    if (next.kernel_count)
        VEC_PUSH(&w->s->unit->memory, &w->batches, next);
}

// Kernels that print have texts and the address of vprintf in tables by number. There is one in a file: they are one batch.
static void plan(work *w)
{
    size_t total = 0;
    const size_t *bytes = bytes_of(w, &total);
    size_t enough = pl_bytes_of_batch(w->s->unit->options, total);
    w->batch_of = ARENA_ARRAY(&w->s->unit->memory, size_t, w->s->unit->kernels.len);
    memset(w->batch_of, 0xff, w->s->unit->kernels.len * sizeof *w->batch_of); // those that are shared: of none
    plan_those(w, bytes, enough, false);
    plan_those(w, bytes, SIZE_MAX, true);
}

// What one batch uses of the shared text, another may not: that is no reason for a warning.
tool_compile_options pl_batch_options(const pl_assembly *s)
{
    tool_compile_options o = s->options;
    const char **extra = ARENA_ARRAY(&s->unit->memory, const char *, o.extra_len + 1);
    memcpy(extra, o.extra, o.extra_len * sizeof *extra);
    extra[o.extra_len++] = "--diag-suppress=177";
    o.extra = extra;
    return o;
}

// ---- one batch --------------------------------------------------------------------------------------------------

static int larger_first(const void *x, const void *y)
{
    const batch *a = *(batch *const *)x, *b = *(batch *const *)y;
    if (a->own_bytes != b->own_bytes)
        return a->own_bytes < b->own_bytes ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

static void find(work *w)
{
    pl_unit *u = w->s->unit;
    for (size_t i = 0; i < w->batches.len; i++) {
        batch *b = &w->batches.at[i];
        b->text = pl_canonical_text(&u->memory, &w->s->text.canonical, w->batch_of, i, &b->from);
        if (!w->s->is_kept)
            continue;
        const pl_nvrtc_text text = {.text = b->text, .is_canonical = true};
        pl_code_request_make(u, &w->options, &w->s->identity, &text, &b->request);
        b->is_done = pl_code_peek(u, &b->request, &b->result);
    }
}

static bool show(work *w)
{
    pl_unit *u = w->s->unit;
    w->is_cancelled |= !pl_goes_on(u, PL_AT_CODE, w->kernels_done, u->kernels.len);
    return !w->is_cancelled;
}

// Each is kept as soon as it is there, so that what was done before an interruption is done.
static bool take(work *w, batch *b, const tool_result *result, bool has_crashed)
{
    b->result = *result;
    b->has_crashed = has_crashed;
    b->is_done = true;
    if (result->status == TOOL_COMPILED) {
        pl_locate(w->s, &w->options, b->text, &b->result);
        if (w->s->is_kept)
            pl_code_keep(w->s->unit, &b->request, &b->result);
    }
    w->kernels_done += b->kernel_count;
    return show(w);
}

static bool deliver(void *user, size_t index, const svc_result *result)
{
    work *w = user;
    return result ? take(w, &w->batches.at[w->pending[index]], &result->result, result->has_crashed) : show(w);
}

static void list_pending(work *w)
{
    arena *a = &w->s->unit->memory;
    batch **order = ARENA_ARRAY(a, batch *, w->batches.len);
    w->pending = ARENA_ARRAY(a, size_t, w->batches.len);
    for (size_t i = 0; i < w->batches.len; i++) {
        batch *b = &w->batches.at[i];
        if (b->is_done)
            w->kernels_done += b->kernel_count;
        else
            order[w->pending_count++] = b;
    }
    qsort(order, w->pending_count, sizeof *order, larger_first);
    for (size_t i = 0; i < w->pending_count; i++)
        w->pending[i] = (size_t)(order[i] - w->batches.at);
}

static void compile_all(work *w)
{
    pl_unit *u = w->s->unit;
    svc_job *jobs = ARENA_ARRAY(&u->memory, svc_job, w->pending_count);
    for (size_t i = 0; i < w->pending_count; i++) {
        const batch *b = &w->batches.at[w->pending[i]];
        jobs[i] = (svc_job){.options = w->options, .nvrtc = w->s->nvrtc->path, .text = b->text};
    }
    if (show(w) && u->options->service && w->pending_count)
        svc_compile(u->options->service, &u->memory, jobs, w->pending_count, deliver, w);
    for (size_t i = 0; i < w->pending_count && !w->is_cancelled; i++) {
        batch *b = &w->batches.at[w->pending[i]];
        tool_result result;
        bool has_crashed;
        if (b->is_done)
            continue;
        pl_run_nvrtc(w->s, &w->options, b->text, &result, &has_crashed);
        take(w, b, &result, has_crashed);
    }
    if (w->is_cancelled)
        pl_cancel(u);
}

// ---- all of them ------------------------------------------------------------------------------------------------

static str whole_log(const work *w)
{
    arena *a = &w->s->unit->memory;
    str_buf log;
    str_buf_init(&log, a);
    for (size_t i = 0; i < w->shared.results.len; i++)
        str_add(&log, w->shared.results.at[i].log);
    for (size_t i = 0; i < w->batches.len; i++) {
        const batch *b = &w->batches.at[i];
        str_add(&log, pl_canonical_log_of_whole(a, &b->from, b->result.log));
        if (log.len && log.at[log.len - 1] != '\n')
            str_addc(&log, '\n');
    }
    return (str){str_text(&log), log.len};
}

// The first failure, in the order of kernels. False: there is none.
static bool has_failed(const work *w, tool_result *out)
{
    bool failed = false;
    for (size_t i = 0; i < w->batches.len; i++) {
        const batch *b = &w->batches.at[i];
        if (b->has_crashed)
            pl_report_crash(w->s->unit, b->result.failure, w->batch_of, i);
        if (b->result.status == TOOL_COMPILED || failed)
            continue;
        *out = (tool_result){.status = b->result.status, .failure = b->result.failure};
        failed = true;
    }
    return failed;
}

static bool join(const work *w, tool_result *out)
{
    arena *a = &w->s->unit->memory;
    const char *why = "PTX of different forms";
    size_t shared = w->shared.results.len, count = shared + w->batches.len;
    str *cubins = ARENA_ARRAY(a, str, count), *texts = ARENA_ARRAY(a, str, count);
    *out = (tool_result){.status = TOOL_COMPILED};
    for (size_t i = 0; i < count; i++) {
        const tool_result *r = i < shared ? &w->shared.results.at[i] : &w->batches.at[i - shared].result;
        cubins[i] = r->cubin;
        texts[i] = r->ptx;
        out->seconds += r->seconds;
    }
    bool is_joined = tool_cubin_join(a, cubins, count, &out->cubin, &why) && tool_ptx_join(a, texts, count, &out->ptx);
    w->s->unit->not_joined = is_joined ? NULL : why;
    return is_joined;
}

// Rows of the time report.
static void add_times(const work *w)
{
    pl_unit *u = w->s->unit;
    const batch *longest = NULL;
    double seconds = 0;
    for (size_t i = 0; i < w->pending_count; i++) {
        const batch *b = &w->batches.at[w->pending[i]];
        seconds += b->result.seconds;
        longest = longest && longest->result.seconds >= b->result.seconds ? longest : b;
    }
    if (!longest)
        return;
    size_t kernel = 0;
    while (w->batch_of[kernel] != longest->number)
        kernel++;
    const char *all = arena_printf(&u->memory, "%zu batches, one after the other", w->pending_count);
    const char *one = arena_printf(&u->memory, "the longest batch: %zu kernel%s, %.1f KiB, '%s'", longest->kernel_count,
                                   longest->kernel_count == 1 ? "" : "s", (double)longest->own_bytes / 1024,
                                   u->kernels.at[kernel].symbol);
    pl_span_add_sum(&u->times, all, 1, 1e6 * seconds);
    pl_span_add_sum(&u->times, one, 1, 1e6 * longest->result.seconds);
}

bool pl_compile_batches(const pl_assembly *s, tool_result *out)
{
    work w = {.s = s};
    if (!pl_can_be_joined(s->unit))
        return false;
    pl_shared_find(s, &w.shared);
    w.kernels_done = w.shared.kernel_count;
    plan(&w);
    if (w.batches.len + w.shared.results.len < (w.shared.results.len ? 1 : 2))
        return false;
    w.options = pl_batch_options(s);
    find(&w);
    list_pending(&w);
    compile_all(&w);
    add_times(&w);
    if (!has_failed(&w, out) && !join(&w, out))
        return false;
    out->log = whole_log(&w);
    return true;
}
