// Compares kernels for the same work. They run on the same tensors, and their samples are interleaved, so that a change
// of the GPU's clock affects all of them. Normally the kernels take turns with one sample each. Kernels long enough to
// heat the GPU take turns with blocks of samples, so that each runs at the clock that the power limit allows for it,
// not at the clock left by its rivals.
#include <string.h>

#include "measure/measure_priv.h"

static const src_span nowhere = {0, 0};

enum {
    PIECES = 64, PIECE_BYTES = 1 << 18,  // compared ranges of a large tensor: enough to hit a wrong tile
    MOST_ROUNDS = 1000,
    BLOCK_ROUNDS = 9,                    // of kernels that have blocks
};
static const double FAR = 1.25, BEHIND = 1.02;  // times the best
static const double LONG = 20e-6;               // seconds of a launch, from which on a turn is a block …
static const double BLOCK = 0.06;               // … of so many

// ---- compiling --------------------------------------------------------------------------------------------------

static const char *first_error(ms_session *s, const hds_program *p)
{
    for (size_t i = 0; p && i < hds_program_diagnostic_count(p); i++) {
        if (hds_program_diagnostic(p, i)->severity == HDS_ERROR)
            return arena_strdup(s->arena, hds_program_diagnostic(p, i)->message);
    }
    return arena_strdup(s->arena, hds_last_error());
}

bool ms_rival_load(ms_session *s, ms_rival *r)
{
    hds_compiler *compiler = ms_compiler(s);
    if (!compiler)
        return false;
    ms_options own = s->options;
    own.entries = &r->entry;
    own.entry_count = 1;
    const hds_compile_options options = ms_compile_options(&own);
    hds_status status = hds_compile(compiler, &(hds_source){.name = own.source}, &options, &r->program);
    if (status == HDS_NO_TOOLCHAIN) {
        diag_report(s->diags, HDS0753, nowhere, own.source, own.arch->name, first_error(s, r->program));
        return false;
    }
    if (status)
        r->failure = first_error(s, r->program);
    else if (hds_program_kernel_count(r->program) != 1)
        r->failure = "it is not a kernel, and only kernels can be measured";
    else
        r->kernel = hds_program_kernel_at(r->program, 0);
    return true;
}

void ms_rival_free(ms_rival *r)
{
    hds_program_release(r->program);
    r->program = NULL;
    r->kernel = NULL;
}

// ---- their tensors ----------------------------------------------------------------------------------------------

typedef struct entrant {
    ms_rival *rival;
    hds_argument *arguments;  // [sets][count]
    const int *indices;       // of its arguments, among all
    ms_work work;
    VEC(double) times;
    bool is_in;
} entrant;

typedef struct contest {
    ms_session *session;
    const ms_judging *judging;
    VEC(ms_argument) all;  // arguments of all of them, each once
    ms_buffers buffers;    // of those
    entrant *entrants;
    int count, first;      // the contestant that others are compared with; -1: none has run yet
    bool has_blocks;       // a turn is a block
    int *order;
    uint64_t random;
    VEC(const void *) expected;  // what the first wrote, in the order of its arguments
} contest;

static bool is_same(const ms_argument *a, const ms_argument *b)
{
    if (strcmp(a->name, b->name) != 0 || a->is_tensor != b->is_tensor || a->type != b->type)
        return false;
    return a->is_tensor ? a->bytes == b->bytes : a->value == b->value;
}

static int index_of(contest *c, const ms_argument *a)
{
    for (size_t i = 0; i < c->all.len; i++) {
        if (is_same(&c->all.at[i], a))
            return (int)i;
    }
    VEC_PUSH(c->session->arena, &c->all, *a);
    return (int)c->all.len - 1;
}

static void add_entrant(contest *c, entrant *e, ms_rival *r)
{
    int *indices = ARENA_ARRAY(c->session->arena, int, r->count + 1);
    for (int i = 0; i < r->count; i++)
        indices[i] = index_of(c, &r->arguments[i]);
    *e = (entrant){.rival = r, .indices = indices, .is_in = r->kernel && !r->failure};
}

static bool make_buffers(contest *c)
{
    if (!ms_buffers_make(c->session, c->all.at, (int)c->all.len, 0, &c->buffers))
        return false;
    int sets = c->buffers.sets;
    for (int k = 0; k < c->count; k++) {
        entrant *e = &c->entrants[k];
        int count = e->rival->count;
        e->arguments = ARENA_ARRAY(c->session->arena, hds_argument, sets * count + 1);
        for (int i = 0; i < sets * count; i++)
            e->arguments[i] = c->buffers.arguments[i / count * c->buffers.count + e->indices[i % count]];
    }
    return true;
}

// ---- running ----------------------------------------------------------------------------------------------------

static bool launch(ms_session *s, const ms_work *work, int turn)
{
    const entrant *e = work->user;
    if (!hds_launch(e->rival->kernel, e->arguments + turn * e->rival->count, (size_t)e->rival->count, s->stream))
        return true;
    diag_report(s->diags, HDS0647, nowhere, work->what, hds_last_error());
    return false;
}

static void leave(entrant *e, const char *why)
{
    e->is_in = false;
    e->rival->failure = why;
}

// Runs once on fresh tensors, then until the clocks are up. An error of the launch itself concerns this kernel only; a
// later error may have broken the context.
static bool run_once(contest *c, entrant *e)
{
    ms_session *s = c->session;
    for (size_t i = 0; i < c->all.len; i++) {
        const ms_argument *a = &c->all.at[i];
        if (a->is_tensor && a->is_written && !ms_buffer_fill(s, c->buffers.arguments[i].value.pointer, a))
            return ms_failed(s, "filling the tensors");
    }
    e->work = (ms_work){.what = arena_printf(s->arena, "running candidate '%s'", e->rival->name),
                        .launch = launch, .user = e, .turns = c->buffers.sets, .may_capture = true, .batch = 1};
    if (hds_launch(e->rival->kernel, e->arguments, (size_t)e->rival->count, s->stream)) {
        leave(e, arena_strdup(s->arena, hds_last_error()));
        return true;
    }
    return ms_wait(s, &e->work);
}

// ---- comparing --------------------------------------------------------------------------------------------------

static int64_t compared_bytes(const ms_argument *a)
{
    const int64_t most = (int64_t)PIECES * PIECE_BYTES;
    return a->bytes < most ? a->bytes : most;
}

// Evenly spaced ranges that include the first and the last bytes.
static bool download(ms_session *s, const ms_argument *a, const char *from, char *to)
{
    if (a->bytes <= (int64_t)PIECES * PIECE_BYTES)
        return !hdsrt_copy(to, from, a->bytes, s->stream) && !hdsrt_synchronize(s->stream);
    for (int i = 0; i < PIECES; i++) {
        int64_t at = (a->bytes - PIECE_BYTES) / (PIECES - 1) * i / 256 * 256;
        if (i == PIECES - 1)
            at = a->bytes - PIECE_BYTES;
        if (hdsrt_copy(to + (int64_t)i * PIECE_BYTES, from + at, PIECE_BYTES, s->stream))
            return false;
    }
    return !hdsrt_synchronize(s->stream);
}

static const void *expected_of(const contest *c, const char *name, int64_t bytes)
{
    const entrant *first = &c->entrants[c->first];
    for (int i = 0; i < first->rival->count; i++) {
        const ms_argument *a = &first->rival->arguments[i];
        if (a->is_tensor && a->bytes == bytes && strcmp(a->name, name) == 0)
            return c->expected.at[i];
    }
    return NULL;
}

static bool look_at_results(contest *c, entrant *e)
{
    ms_session *s = c->session;
    bool is_first = c->first < 0;
    for (int i = 0; i < e->rival->count && e->is_in; i++) {
        const ms_argument *a = &e->rival->arguments[i];
        bool is_result = a->is_tensor && a->is_written && a->bytes;
        int64_t bytes = is_result ? compared_bytes(a) : 0;
        const void *expected = is_first || !is_result ? NULL : expected_of(c, a->name, a->bytes);
        char *now = expected || (is_first && is_result) ? arena_alloc(s->arena, (size_t)bytes) : NULL;
        if (now && !download(s, a, e->arguments[i].value.pointer, now))
            return ms_failed(s, "reading the results");
        if (is_first)
            VEC_PUSH(s->arena, &c->expected, now);
        const char *why = expected ? c->judging->differs(c->judging->differs_user, a->name, a->type, expected, now, bytes) : NULL;
        e->rival->is_wrong = why != NULL;
        if (why)
            leave(e, why);
    }
    if (is_first)
        c->first = (int)(e - c->entrants);
    return true;
}

static bool try_all(contest *c)
{
    for (int i = 0; i < c->count; i++) {
        entrant *e = &c->entrants[i];
        if (e->is_in && (!ms_goes_on(c->session) || !run_once(c, e)))
            return false;
        if (e->is_in && !look_at_results(c, e))
            return false;
    }
    return true;
}

// ---- measuring --------------------------------------------------------------------------------------------------

static uint64_t draw(contest *c)
{
    // xorshift64 (Marsaglia, "Xorshift RNGs", 2003): the order only has to change.
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    return c->random;
}

static int shuffle(contest *c)
{
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        if (c->entrants[i].is_in)
            c->order[count++] = i;
    }
    for (int i = count - 1; i > 0; i--) {
        int k = (int)(draw(c) % (uint64_t)(i + 1)), other = c->order[k];
        c->order[k] = c->order[i];
        c->order[i] = other;
    }
    return count;
}

// The samples of a block: four at least.
static int samples_of_block(const entrant *e)
{
    int count = (int)(BLOCK / (e->work.seconds * e->work.batch + 1e-9));
    return count < 4 ? 4 : count;
}

// A sample, or a block of samples whose first quarter only lets the clock settle.
static bool take_samples(contest *c, entrant *e)
{
    int count = c->has_blocks ? samples_of_block(e) : 1;
    for (int i = 0; i < count; i++) {
        double seconds;
        if (!ms_goes_on(c->session) || !ms_sample(c->session, &e->work, &seconds))
            return false;
        if (i >= count / 4)
            VEC_PUSH(c->session->arena, &e->times, seconds);
    }
    return true;
}

static bool take_round(contest *c)
{
    int count = shuffle(c);
    for (int i = 0; i < count; i++) {
        if (!take_samples(c, &c->entrants[c->order[i]]))
            return false;
    }
    return true;
}

static void summarize(contest *c)
{
    for (int i = 0; i < c->count; i++)
        c->entrants[i].rival->time = ms_summarize(c->entrants[i].times.at, c->entrants[i].times.len);
}

// Drops kernels that can no longer be the fastest: at first by their best time, later by their quartiles.
static void drop_slow(contest *c, bool at_first)
{
    const ms_summary *best = NULL;
    summarize(c);
    for (int i = 0; i < c->count; i++) {
        const ms_summary *t = &c->entrants[i].rival->time;
        if (c->entrants[i].is_in && (!best || t->median < best->median))
            best = t;
    }
    for (int i = 0; i < c->count; i++) {
        entrant *e = &c->entrants[i];
        const ms_summary *t = &e->rival->time;
        bool is_slow = at_first ? t->min > FAR * best->median : t->q1 > BEHIND * best->q3;
        if (e->is_in && is_slow) {
            e->is_in = false;
            e->rival->is_dropped = true;
        }
    }
}

static bool warm_up(contest *c)
{
    double each = c->session->options.warm_up_seconds / c->count;
    for (int i = 0; i < c->count; i++) {
        if (c->entrants[i].is_in && !ms_warm_up(c->session, &c->entrants[i].work, each))
            return false;
    }
    return true;
}

static bool race(contest *c)
{
    const ms_options *o = &c->session->options;
    double start = ms_now(), fastest = 0;
    if (!shuffle(c))
        return true;
    for (int i = 0; i < c->count; i++) {
        double seconds = c->entrants[i].work.seconds;
        if (c->entrants[i].is_in && (fastest == 0 || seconds < fastest))
            fastest = seconds;
    }
    c->has_blocks = fastest >= LONG;
    // The rounds, and those after which the slow ones are dropped.
    int least = c->has_blocks ? BLOCK_ROUNDS : o->samples;
    int first_look = c->has_blocks ? 1 : 4, second_look = c->has_blocks ? 4 : 12;
    for (int round = 0; round < MOST_ROUNDS && (round < least || ms_now() - start < o->min_seconds); round++) {
        if (c->judging->progress)
            c->judging->progress(c->judging->user, round, least);
        if (!take_round(c))
            return false;
        if (round + 1 == first_look || round + 1 == second_look)
            drop_slow(c, round + 1 == first_look);
    }
    summarize(c);
    return true;
}

bool ms_contest(ms_session *s, ms_rival *rivals, int count, const ms_judging *judging)
{
    contest c = {.session = s, .judging = judging, .count = count, .first = -1};
    c.random = judging->seed * 2 + 0x9e3779b97f4a7c15u;
    c.entrants = ARENA_ARRAY(s->arena, entrant, count + 1);
    c.order = ARENA_ARRAY(s->arena, int, count + 1);
    for (int i = 0; i < count; i++)
        add_entrant(&c, &c.entrants[i], &rivals[i]);
    bool ok = ms_goes_on(s) && make_buffers(&c) && try_all(&c) && warm_up(&c) && race(&c);
    for (int i = 0; i < count; i++)
        ms_work_free(s, &c.entrants[i].work);
    ms_buffers_free(s, &c.buffers);
    return ok;
}
