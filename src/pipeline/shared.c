#include "pipeline/shared.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "pipeline/batches.h"
#include "service/service.h"
#include "toolchain/log.h"
#include "toolchain/scan.h"

enum { MOST_UNITS = 16 };

typedef struct shared_batch {
    unsigned units;    // a bit for each that has these kernels
    size_t number, own_bytes, kernel_count;
    str text;
    tool_result ptx;
    tool_result results[MOST_UNITS];
    pl_code_request requests[MOST_UNITS];
    bool is_found, has_failed;
} shared_batch;

struct pl_sharing {
    arena *arena;
    pl_unit *const *units;
    int unit_count, newest;
    tool_ptxas ptxas;
    VEC(shared_batch) batches;
    size_t *batch_of[MOST_UNITS];   // of each kernel of a unit; SIZE_MAX: none
    str text;                       // of all of them
    pthread_mutex_t lock;           // of what follows, and of the batches' results
    bool is_tried, is_made, is_cancelled;
};

// ---- which kernels are alike ------------------------------------------------------------------------------------

// A line of a kernel without what the older architecture does without; false: nothing is left of it.
static bool take_common(arena *a, str line, str *out)
{
    static const char restricted[] = "__restrict__ ";
    if (str_equal(line, STR("griddepcontrol_wait_ptx();")) || str_equal(line, STR("griddepcontrol_launch_dependents_ptx();")))
        return false;
    const char *at = memmem(line.at, line.len, restricted, sizeof restricted - 1);
    if (at) {
        int before = (int)(at - line.at), behind = (int)line.len - before - (int)sizeof restricted + 1;
        const char *text = arena_printf(a, "%.*s%.*s", before, line.at, behind, at + sizeof restricted - 1);
        line = str_of(text);
    }
    *out = line;
    return true;
}

// What has to be the same of kernels that are alike, their names included.
static str_buf *common_texts(arena *a, const pl_unit *u)
{
    const pl_canonical *c = &u->nvrtc_text->canonical;
    str_buf *texts = ARENA_ARRAY(a, str_buf, u->kernels.len + 1);
    for (size_t i = 0; i < u->kernels.len; i++)
        str_buf_init(&texts[i], a);
    for (size_t i = 0; i < c->lines.len; i++) {
        const pl_line *line = &c->lines.at[i];
        str common;
        if (line->kernel < 0 || !take_common(a, line->text, &common))
            continue;
        str_add(&texts[line->kernel], common);
        str_addc(&texts[line->kernel], '\n');
    }
    return texts;
}

// What kernels use besides themselves, as definitions that begin with one of these words.
static bool begins_definition(str line)
{
    return str_starts(line, STR("static ")) || str_starts(line, STR("template ")) || str_starts(line, STR("struct "));
}

// Without what NVRTC skips.
static str definitions(arena *a, const pl_canonical *c)
{
    str_buf out;
    str_buf_init(&out, a);
    int skipped = 0; // conditionals that are open, in one that is for other compilers
    for (size_t i = 0; i < c->lines.len; i++) {
        str line = c->lines.at[i].text;
        bool opens = str_starts(line, STR("#if"));
        skipped += opens && (skipped || str_equal(line, STR("#ifndef __CUDACC_RTC__")));
        if (!skipped && c->lines.at[i].kernel < 0) {
            str_add(&out, line);
            str_addc(&out, '\n');
        }
        skipped -= skipped && str_equal(line, STR("#endif"));
    }
    return (str){str_text(&out), out.len};
}

// Whether [whole] defines the same as [one] does in its first line, but in another way.
static bool is_at_odds(str whole, str one)
{
    const char *end = memchr(one.at, '\n', one.len);
    size_t head = end ? (size_t)(end - one.at) + 1 : one.len;
    return memmem(whole.at, whole.len, one.at, head) && !memmem(whole.at, whole.len, one.at, one.len);
}

typedef VEC(str) name_list;

// "f(" of 'static __device__ __forceinline__ int f(int x)'; empty: no function.
static str called_name(str definition)
{
    const char *paren = memchr(definition.at, '(', definition.len), *at = paren;
    while (at && at > definition.at && at[-1] != ' ' && at[-1] != '*')
        at--;
    bool is_function = str_starts(definition, STR("static ")) && at;
    return is_function ? (str){at, (size_t)(paren - at) + 1} : (str){0};
}

static bool uses_any(const name_list *names, str text)
{
    for (size_t i = 0; i < names->len; i++) {
        if (memmem(text.at, text.len, names->at[i].at, names->at[i].len))
            return true;
    }
    return false;
}

// Adds the functions that the units define in different ways, or by such: kernels that call them are not alike. What the newer unit
// does not define its kernels do not call. False: types differ.
static bool add_at_odds(arena *a, str whole, str rest, name_list *out)
{
    const char *begin = rest.at;
    str line;
    bool goes_on = true;
    while (goes_on) {
        const char *at = rest.at;
        goes_on = tool_take_line(&rest, &line);
        if (goes_on && !begins_definition(line))
            continue;
        str one = {begin, (size_t)(at - begin)}, name = called_name(one);
        bool is_new = one.len && !(name.len && uses_any(out, name)) && (is_at_odds(whole, one) || uses_any(out, one));
        if (is_new && !name.len)
            return false;
        if (is_new)
            VEC_PUSH(a, out, name);
        begin = at;
    }
    return true;
}

// With what is defined by those that are found; false: no kernels are alike.
static bool find_at_odds(arena *a, const pl_unit *newer, const pl_unit *older, name_list *out)
{
    str whole = definitions(a, &newer->nvrtc_text->canonical), rest = definitions(a, &older->nvrtc_text->canonical);
    size_t before;
    do {
        before = out->len;
        if (!add_at_odds(a, whole, rest, out))
            return false;
    } while (out->len > before);
    return true;
}

// ---- what is compiled once --------------------------------------------------------------------------------------

static bool is_newer(const arch *a, const arch *b)
{
    if (a->major != b->major)
        return a->major > b->major;
    return a->minor != b->minor ? a->minor > b->minor : a->accelerated > b->accelerated;
}

static int newest_of(pl_unit *const *units, int count)
{
    int newest = 0;
    for (int i = 1; i < count; i++)
        newest = is_newer(units[i]->arch, units[newest]->arch) ? i : newest;
    return newest;
}

// The architecture that a batch is compiled for.
static const arch *oldest_of(const pl_sharing *sh, unsigned units)
{
    const arch *oldest = sh->units[sh->newest]->arch;
    for (int i = 0; i < sh->unit_count; i++) {
        if (units >> i & 1 && is_newer(oldest, sh->units[i]->arch))
            oldest = sh->units[i]->arch;
    }
    return oldest;
}

// The other units that have each kernel of the newest one, by bits. Code for one "a" architecture runs on no other.
static unsigned *sharers_of_each(pl_sharing *sh)
{
    arena *a = sh->arena;
    const pl_unit *newest = sh->units[sh->newest];
    const str_buf *own = common_texts(a, newest);
    unsigned *sharers = ARENA_ARRAY(a, unsigned, newest->kernels.len);
    for (int i = 0; i < sh->unit_count; i++) {
        const pl_unit *u = sh->units[i];
        name_list apart = {0};
        if (i == sh->newest || !pl_can_be_joined(u) || u->arch->accelerated || !find_at_odds(a, newest, u, &apart))
            continue;
        map known;
        map_init(&known, a);
        const str_buf *texts = common_texts(a, u);
        for (size_t k = 0; k < u->kernels.len; k++) {
            if (!u->kernels.at[k].prints)
                map_put(&known, texts[k].at, texts[k].len, &sh->batch_of[i][k]);
        }
        for (size_t k = 0; k < newest->kernels.len; k++) {
            size_t *theirs = map_get(&known, own[k].at, own[k].len);
            if (!theirs || newest->kernels.at[k].prints || uses_any(&apart, (str){own[k].at, own[k].len}))
                continue;
            sharers[k] |= 1u << i;
            *theirs = k; // until its batch is known
        }
    }
    return sharers;
}

static size_t *bytes_of_kernels(arena *a, const pl_unit *u)
{
    const pl_canonical *c = &u->nvrtc_text->canonical;
    size_t *bytes = ARENA_ARRAY(a, size_t, u->kernels.len);
    for (size_t i = 0; i < c->lines.len; i++) {
        if (c->lines.at[i].kernel >= 0)
            bytes[c->lines.at[i].kernel] += c->lines.at[i].text.len + 1;
    }
    return bytes;
}

// In the order of the newest unit's kernels, those of the same units together.
static void plan(pl_sharing *sh, const unsigned *sharers)
{
    const pl_unit *newest = sh->units[sh->newest];
    const size_t *bytes = bytes_of_kernels(sh->arena, newest);
    size_t *open = ARENA_ARRAY(sh->arena, size_t, (size_t)1 << sh->unit_count), total = 0; // by units: number of the batch, + 1
    for (size_t k = 0; k < newest->kernels.len; k++)
        total += sharers[k] ? bytes[k] : 0;
    size_t enough = pl_bytes_of_batch(newest->options, total);
    for (size_t k = 0; k < newest->kernels.len; k++) {
        if (!sharers[k])
            continue;
        size_t *at = &open[sharers[k]];
        if (!*at) {
            const shared_batch next = {.units = sharers[k] | 1u << sh->newest, .number = sh->batches.len};
            VEC_PUSH(sh->arena, &sh->batches, next);
            *at = sh->batches.len;
        }
        shared_batch *b = &sh->batches.at[*at - 1];
        sh->batch_of[sh->newest][k] = b->number;
        b->own_bytes += bytes[k];
        b->kernel_count++;
        if (b->own_bytes >= enough)
            *at = 0;
    }
    for (int i = 0; i < sh->unit_count; i++) {
        for (size_t k = 0; i != sh->newest && k < sh->units[i]->kernels.len; k++) {
            size_t *at = &sh->batch_of[i][k];
            *at = *at == SIZE_MAX ? SIZE_MAX : sh->batch_of[sh->newest][*at];
        }
    }
}

static void make_texts(pl_sharing *sh)
{
    const pl_unit *newest = sh->units[sh->newest];
    const pl_canonical *c = &newest->nvrtc_text->canonical;
    size_t *all = ARENA_ARRAY(sh->arena, size_t, newest->kernels.len);
    pl_line_numbers from;
    for (size_t k = 0; k < newest->kernels.len; k++)
        all[k] = sh->batch_of[sh->newest][k] != SIZE_MAX;
    sh->text = pl_canonical_text(sh->arena, c, all, true, &from);
    for (size_t i = 0; i < sh->batches.len; i++)
        sh->batches.at[i].text = pl_canonical_text(sh->arena, c, sh->batch_of[sh->newest], i, &from);
}

static bool find_ptxas(pl_sharing *sh)
{
    tool_nvrtc_identity nvrtc;
    return tool_nvrtc_identify(sh->arena, sh->units[0]->options->nvrtc_path, &nvrtc) &&
           tool_ptxas_find(sh->arena, nvrtc.path, &sh->ptxas);
}

static bool is_possible(const pl_sharing *sh)
{
    return sh->unit_count > 1 && sh->unit_count <= MOST_UNITS && pl_can_be_joined(sh->units[sh->newest]);
}

pl_sharing *pl_sharing_new(pl_unit *const *units, int count, arena *a)
{
    pl_sharing *sh = ARENA_NEW(a, pl_sharing);
    *sh = (pl_sharing){.arena = a, .units = units, .unit_count = count, .newest = newest_of(units, count)};
    if (!is_possible(sh) || !find_ptxas(sh))
        return NULL;
    for (int i = 0; i < count; i++) {
        sh->batch_of[i] = ARENA_ARRAY(a, size_t, units[i]->kernels.len + 1);
        memset(sh->batch_of[i], 0xff, units[i]->kernels.len * sizeof *sh->batch_of[i]);
    }
    plan(sh, sharers_of_each(sh));
    if (!sh->batches.len)
        return NULL;
    make_texts(sh);
    pthread_mutex_init(&sh->lock, NULL);
    for (int i = 0; i < count; i++)
        units[i]->sharing = sh;
    return sh;
}

void pl_sharing_free(pl_sharing *sharing)
{
    if (sharing)
        pthread_mutex_destroy(&sharing->lock);
}

// ---- compiling --------------------------------------------------------------------------------------------------

// One round of the work: NVRTC for each batch, then ptxas for each batch and unit.
typedef struct shared_job {
    shared_batch *batch;
    int unit;  // NVRTC: the newest
} shared_job;

typedef struct round_of {
    const pl_sharing *sharing;
    const pl_assembly *s;
    svc_job *jobs;
    shared_job *subjects;
    bool *is_done;
    size_t count, kernels_done;
    bool is_ptx;
} round_of;

static tool_compile_options options_for(const pl_assembly *s, const arch *target, bool cubin)
{
    tool_compile_options o = pl_batch_options(s);
    o.target = target;
    o.cubin = cubin;
    return o;
}

static bool has(const shared_batch *b, int unit)
{
    return b->units >> unit & 1;
}

// What code depends on besides NVRTC and a text: ptxas, and what the PTX is for.
static void add_inputs(const pl_sharing *sh, pl_unit *u, unsigned units, cache_parts *out)
{
    VEC_PUSH(&u->memory, out, ((cache_part){"ptxas", str_of(sh->ptxas.identity)}));
    VEC_PUSH(&u->memory, out, ((cache_part){"ptx", str_of(oldest_of(sh, units)->name)}));
}

static void look_up(pl_sharing *sh, const pl_assembly *s, shared_batch *b)
{
    const pl_nvrtc_text text = {.text = b->text, .is_canonical = true};
    b->is_found = s->is_kept;
    for (int i = 0; i < sh->unit_count && s->is_kept; i++) {
        if (!has(b, i))
            continue;
        tool_compile_options options = options_for(s, sh->units[i]->arch, true);
        pl_code_request_make(s->unit, &options, &s->identity, &text, &b->requests[i]);
        add_inputs(sh, s->unit, b->units, &b->requests[i].inputs);
        b->is_found = b->is_found && pl_code_peek(s->unit, &b->requests[i], &b->results[i]);
    }
}

// There is something to say of it, which is said of what the units compile by themselves.
static bool has_remarks(const tool_result *result)
{
    return tool_log_wants_locations(result->log);
}

static void take_result(round_of *r, size_t index, const tool_result *result, bool has_crashed)
{
    const shared_job *j = &r->subjects[index];
    shared_batch *b = j->batch;
    b->has_failed |= has_crashed || result->status != TOOL_COMPILED || has_remarks(result) || (r->is_ptx && result->log.len);
    *(r->is_ptx ? &b->ptx : &b->results[j->unit]) = *result;
    r->is_done[index] = true;
    r->kernels_done += !r->is_ptx && r->sharing->units[j->unit] == r->s->unit ? b->kernel_count : 0;
}

static bool goes_on(const round_of *r)
{
    pl_unit *u = r->s->unit;
    return pl_goes_on(u, PL_AT_CODE, r->kernels_done, u->kernels.len);
}

static bool deliver(void *user, size_t index, const svc_result *result)
{
    round_of *r = user;
    if (result)
        take_result(r, index, &result->result, result->has_crashed);
    return goes_on(r);
}

// False: it is cancelled.
static bool do_all(round_of *r)
{
    pl_unit *u = r->s->unit;
    svc_status status = SVC_UNAVAILABLE;
    if (r->count && u->options->service)
        status = svc_compile(u->options->service, &u->memory, r->jobs, r->count, deliver, r);
    for (size_t i = 0; i < r->count && status == SVC_UNAVAILABLE; i++) {
        const svc_job *job = &r->jobs[i];
        tool_result result;
        if (r->is_done[i])
            continue;
        if (job->ptxas)
            tool_ptxas_run(&u->memory, job->ptxas, job->options.target, job->text, &result);
        else
            tool_nvrtc_compile(r->s->nvrtc, &u->memory, &job->options, job->text.at, &result);
        take_result(r, i, &result, false);
        if (!goes_on(r))
            return false;
    }
    return status != SVC_CANCELLED;
}

static void add_job(round_of *r, shared_batch *b, int unit, svc_job job)
{
    r->subjects[r->count] = (shared_job){b, unit};
    r->jobs[r->count++] = job;
}

static round_of round_for(pl_sharing *sh, const pl_assembly *s, bool is_ptx)
{
    arena *a = &s->unit->memory;
    size_t most = sh->batches.len * (size_t)sh->unit_count;
    return (round_of){
        .sharing = sh,
        .s = s,
        .jobs = ARENA_ARRAY(a, svc_job, most),
        .subjects = ARENA_ARRAY(a, shared_job, most),
        .is_done = ARENA_ARRAY(a, bool, most),
        .is_ptx = is_ptx,
    };
}

static bool make_ptx(pl_sharing *sh, const pl_assembly *s)
{
    round_of r = round_for(sh, s, true);
    for (size_t i = 0; i < sh->batches.len; i++) {
        shared_batch *b = &sh->batches.at[i];
        tool_compile_options options = options_for(s, oldest_of(sh, b->units), false);
        if (!b->is_found)
            add_job(&r, b, sh->newest, (svc_job){.options = options, .nvrtc = s->nvrtc->path, .text = b->text});
    }
    return do_all(&r);
}

static bool make_cubins(pl_sharing *sh, const pl_assembly *s)
{
    round_of r = round_for(sh, s, false);
    for (size_t i = 0; i < sh->batches.len; i++) {
        shared_batch *b = &sh->batches.at[i];
        for (int u = 0; u < sh->unit_count && !b->is_found && !b->has_failed; u++) {
            const arch *target = sh->units[u]->arch;
            if (!has(b, u))
                continue;
            str ptx = tool_ptx_for(&s->unit->memory, b->ptx.ptx, target);
            add_job(&r, b, u, (svc_job){.options = {.target = target}, .ptxas = sh->ptxas.path, .text = ptx});
        }
    }
    return do_all(&r);
}

static void keep(pl_sharing *sh, const pl_assembly *s)
{
    for (size_t i = 0; i < sh->batches.len && s->is_kept; i++) {
        shared_batch *b = &sh->batches.at[i];
        for (int u = 0; u < sh->unit_count && !b->is_found && !b->has_failed; u++) {
            if (has(b, u))
                pl_code_keep(s->unit, &b->requests[u], &b->results[u]);
        }
    }
}

// Rows of the time report of the unit that asked first.
static void add_times(const pl_sharing *sh, pl_unit *u)
{
    double nvrtc = 0, ptxas = 0;
    size_t batches = 0, runs = 0;
    for (size_t i = 0; i < sh->batches.len; i++) {
        const shared_batch *b = &sh->batches.at[i];
        if (b->is_found)
            continue;
        batches++;
        nvrtc += b->ptx.seconds;
        for (int j = 0; j < sh->unit_count; j++) {
            runs += b->results[j].cubin.len > 0;
            ptxas += b->results[j].seconds;
        }
    }
    if (!batches)
        return;
    const char *plural = batches == 1 ? "" : "es";
    const char *once = arena_printf(&u->memory, "%zu batch%s to PTX for several architectures", batches, plural);
    pl_span_add_sum(&u->times, once, 1, 1e6 * nvrtc);
    pl_span_add_sum(&u->times, arena_printf(&u->memory, "%zu runs of ptxas for these", runs), 1, 1e6 * ptxas);
}

// False: it is cancelled.
static bool make(pl_sharing *sh, const pl_assembly *s)
{
    for (size_t i = 0; i < sh->batches.len; i++)
        look_up(sh, s, &sh->batches.at[i]);
    if (!make_ptx(sh, s) || !make_cubins(sh, s))
        return false;
    keep(sh, s);
    add_times(sh, s->unit);
    return true;
}

// Memory that runs out must not leave the others waiting, which do without then.
static void make_once(pl_sharing *sh, const pl_assembly *s)
{
    arena *a = &s->unit->memory;
    arena_oom oom, *outer = a->oom;
    pthread_mutex_lock(&sh->lock);
    if (setjmp(oom.jump) != 0) {
        a->oom = outer;
        pthread_mutex_unlock(&sh->lock);
        longjmp(outer->jump, 1);
    }
    a->oom = &oom;
    if (!sh->is_tried) {
        sh->is_tried = true;
        sh->is_made = make(sh, s);
        sh->is_cancelled = !sh->is_made;
    }
    a->oom = outer;
    pthread_mutex_unlock(&sh->lock);
}

static int index_of(const pl_sharing *sh, const pl_unit *u)
{
    int i = 0;
    while (sh->units[i] != u)
        i++;
    return i;
}

void pl_shared_find(const pl_assembly *s, pl_shared_code *out)
{
    pl_unit *u = s->unit;
    pl_sharing *sh = u->sharing;
    *out = (pl_shared_code){0};
    if (!sh)
        return;
    make_once(sh, s);
    if (sh->is_cancelled)
        pl_cancel(u);
    int self = index_of(sh, u);
    bool *is_there = ARENA_ARRAY(&u->memory, bool, sh->batches.len);
    for (size_t i = 0; i < sh->batches.len && sh->is_made; i++) {
        const shared_batch *b = &sh->batches.at[i];
        is_there[i] = has(b, self) && !b->has_failed;
        if (is_there[i])
            VEC_PUSH(&u->memory, &out->results, b->results[self]);
    }
    bool *has_code = ARENA_ARRAY(&u->memory, bool, u->kernels.len);
    for (size_t k = 0; k < u->kernels.len; k++) {
        size_t number = sh->batch_of[self][k];
        has_code[k] = number != SIZE_MAX && is_there[number];
        out->kernel_count += has_code[k];
    }
    out->has = has_code;
}

void pl_shared_add_inputs(pl_unit *u, cache_parts *out)
{
    const pl_sharing *sh = u->sharing;
    unsigned along = 0;
    if (!sh)
        return;
    for (size_t i = 0; i < sh->batches.len; i++)
        along |= has(&sh->batches.at[i], index_of(sh, u)) ? sh->batches.at[i].units : 0;
    if (!along)
        return;
    add_inputs(sh, u, along, out);
    for (int i = 0; i < sh->unit_count; i++) {
        if (along >> i & 1)
            VEC_PUSH(&u->memory, out, ((cache_part){"along", str_of(sh->units[i]->arch->name)}));
    }
    VEC_PUSH(&u->memory, out, ((cache_part){"shared", sh->text}));
}
