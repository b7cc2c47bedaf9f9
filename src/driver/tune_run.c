// One set of sizes after the other: measured, shown, kept.
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "driver/tune.h"
#include "pipeline/times.h"

static const src_span nowhere = {0, 0};

typedef struct tuning {
    tune_request *request;
    const tune_space *space;
    tune_keys *keys;
    tune_table *table;   // of -o; without, it has no path
    tune_pool pool;
    int *in_pool;        // of each candidate, in the pool; -1: not compiled
    ms_rival *rivals;    // of each candidate
    bool *is_loaded;
    const tune_key *key; // that is measured
    int number;          // of it, from 1
    int measured, wanted;  // keys that are done, and that are to be
    double begin_us;
    bool shows_progress;
} tuning;

// ---- Ctrl-C and progress ----------------------------------------------------------------------------------------

static volatile sig_atomic_t is_interrupted;

static void interrupted(int number)
{
    (void)number;
    if (is_interrupted)
        cmd_end_interrupted();
    is_interrupted = 1;
}

// The second time it ends the program at once.
void cmd_tune_catch_interrupt(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction action = {.sa_handler = interrupted}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

bool cmd_tune_is_stopped(void *user)
{
    (void)user;
    return is_interrupted;
}

static void show(const tuning *t, const char *text)
{
    if (!t->shows_progress)
        return;
    int width = cmd_terminal_width(STDERR_FILENO);
    fprintf(stderr, "\r\033[K%.*s", width > 1 ? width - 1 : 79, text);
    fflush(stderr);
}

static void clear(const tuning *t)
{
    if (t->shows_progress) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

// "about 4 min left", by how much of all is done.
static void add_time_left(const tuning *t, double part, char *out, size_t room)
{
    double done = t->measured + part, spent = (pl_now_us() - t->begin_us) * 1e-6;
    double left = done > 0 ? spent / done * (t->wanted - done) : 0;
    out[0] = 0;
    if (done > 0 && spent > 1)
        snprintf(out, room, ", about %.0f %s left", left < 90 ? left : left / 60, left < 90 ? "s" : "min");
}

static void show_waiting(const tuning *t, const tune_key *key)
{
    char line[512];
    snprintf(line, sizeof line, "[%d/%zu] %s: %d of %d candidates compiled", t->number, t->keys->len, key->text, t->pool.done,
             t->pool.count);
    show(t, line);
}

static void show_round(void *user, int round, int most)
{
    tuning *t = user;
    char line[512], left[64];
    cmd_tune_pool_poll(&t->pool, 0);
    add_time_left(t, round < most ? (double)round / most : 1, left, sizeof left);
    snprintf(line, sizeof line, "[%d/%zu] %s: round %d%s", t->number, t->keys->len, t->key->text, round + 1, left);
    show(t, line);
}

// ---- what is shown ----------------------------------------------------------------------------------------------

static const char *time_text(arena *a, double microseconds)
{
    return arena_printf(a, microseconds < 1000 ? "%.2f µs" : "%.1f µs", microseconds);
}

static int label_width(const tune_space *space, const tune_key *key)
{
    int width = 0;
    for (int i = 0; i < key->chosen_count; i++) {
        int len = (int)strlen(space->labels[key->chosen[i]]);
        width = len > width ? len : width;
    }
    return width;
}

static void print_model(arena *a, const tune_space *space, const tune_key *key)
{
    printf("%s: %d of %d candidates are valid\n", key->text, key->chosen_count, space->count);
    for (int i = 0; i < key->chosen_count; i++)
        printf("  %-*s  %s%s\n", label_width(space, key), space->labels[key->chosen[i]],
               time_text(a, key->estimates[key->chosen[i]].cost), i ? "" : "  the model's choice");
}

static const char *fate_of(arena *a, const ms_rival *r)
{
    if (r->failure)
        return r->is_wrong ? "wrong" : "failed";
    return arena_printf(a, "%s ± %.1f %%%s", time_text(a, r->time.median * 1e6), 100 * ms_spread(&r->time),
                        r->is_dropped ? ", dropped" : "");
}

static void print_candidates(arena *a, const tune_space *space, const tune_key *key, const ms_rival *rivals)
{
    for (int i = 0; i < key->chosen_count; i++)
        printf("  %-*s  model %s, measured %s\n", label_width(space, key), rivals[i].name,
               time_text(a, key->estimates[key->chosen[i]].cost), fate_of(a, &rivals[i]));
}

// "12.10 µs ± 0.3 %; the model's choice": of the winner, beside what the model would have taken.
static const char *verdict(arena *a, const ms_rival *rivals, int best)
{
    const char *own = fate_of(a, &rivals[best]);
    if (best == 0)
        return arena_printf(a, "%s; the model's choice", own);
    if (rivals[0].failure)
        return arena_printf(a, "%s; the model's choice '%s' %s", own, rivals[0].name, fate_of(a, &rivals[0]));
    return arena_printf(a, "%s; the model's choice '%s' %s", own, rivals[0].name, time_text(a, rivals[0].time.median * 1e6));
}

// ---- a set of sizes ---------------------------------------------------------------------------------------------

static bool keep(const tuning *t, const tune_key *key, const char *label, const char *said)
{
    const tune_request *q = t->request;
    arena *a = &t->request->shared.memory;
    const ms_record *record = ms_record_of(q->session);
    const ms_machine *m = &record->machine;
    const char *comment = arena_printf(a, "    # %s\n    # %s, CUDA %s, %.10s, hdsc %s\n", said, m->gpu, m->driver, record->date,
                                       HDS_VERSION);
    const tune_row row = {.space = t->space->name,
                          .sm_count = q->sm_count,
                          .label = label,
                          .sizes = key->sizes,
                          .size_count = t->space->size_count,
                          .comments = str_of(comment)};
    if (!t->table->path)
        return true;
    tune_table_put(&t->request->library, t->table, &row);
    return tune_table_write(&t->request->library, t->table);
}

static bool show_result(tuning *t, arena *a, const tune_key *key, const ms_rival *rivals, int best)
{
    const char *said = verdict(a, rivals, best);
    printf("%s: '%s' %s\n", key->text, rivals[best].name, said);
    if (t->request->shared.verbose)
        print_candidates(a, t->space, key, rivals);
    fflush(stdout);
    return keep(t, key, rivals[best].name, said);
}

static bool is_compiled(const tuning *t, const tune_key *key)
{
    for (int i = 0; i < key->chosen_count; i++) {
        if (!t->pool.is_ready[t->in_pool[key->chosen[i]]])
            return false;
    }
    return true;
}

// From the cache, where the others have put it.
static bool load(tuning *t, int candidate)
{
    ms_rival *r = &t->rivals[candidate];
    if (t->is_loaded[candidate])
        return true;
    *r = (ms_rival){.name = t->space->labels[candidate],
                    .entry = tune_entry(&t->request->library, t->space, candidate)};
    t->is_loaded[candidate] = true;
    return ms_rival_load(t->request->session, r);
}

static bool measure(tuning *t, arena *a, const tune_key *key)
{
    tune_request *q = t->request;
    ms_rival *rivals = ARENA_ARRAY(a, ms_rival, key->chosen_count + 1);
    for (int i = 0; i < key->chosen_count; i++) {
        if (is_interrupted || !load(t, key->chosen[i]))
            return false;
        rivals[i] = t->rivals[key->chosen[i]];
    }
    const tune_watch watch = {.session = q->session, .seed = q->seed, .order = q->seed + (uint64_t)t->number,
                              .progress = show_round, .user = t};
    int best;
    bool ok = tune_measure(&q->library, a, t->space, key, rivals, &watch, &best);
    clear(t);
    return ok && (best < 0 || show_result(t, a, key, rivals, best));
}

// False where nothing can be measured any more.
static bool do_key(tuning *t, const tune_key *key)
{
    arena memory;
    t->key = key;
    while (!is_interrupted && !is_compiled(t, key)) {
        show_waiting(t, key);
        cmd_tune_pool_poll(&t->pool, 100);
    }
    arena_init(&memory, &cmd_oom);
    bool ok = !is_interrupted && measure(t, &memory, key);
    arena_free(&memory);
    t->measured++;
    return ok;
}

// ---- all of them ------------------------------------------------------------------------------------------------

static bool is_kept(const tuning *t, const tune_key *key)
{
    const tune_request *q = t->request;
    return t->table->path && !q->again &&
           tune_table_find(t->table, t->space->name, q->sm_count, key->sizes, t->space->size_count);
}

// Those that no set of sizes wants are not compiled.
static void start_compiling(tuning *t)
{
    tune_request *q = t->request;
    arena *a = &q->shared.memory;
    VEC(const char *) entries = {0};
    t->in_pool = ARENA_ARRAY(a, int, t->space->count + 1);
    for (int k = 0; k < t->space->count; k++)
        t->in_pool[k] = -1;
    for (size_t i = 0; i < t->keys->len; i++) {
        const tune_key *key = &t->keys->at[i];
        for (int k = 0; k < key->chosen_count && !is_kept(t, key); k++) {
            if (t->in_pool[key->chosen[k]] >= 0)
                continue;
            t->in_pool[key->chosen[k]] = (int)entries.len;
            VEC_PUSH(a, &entries, tune_entry(&q->library, t->space, key->chosen[k]));
        }
    }
    cmd_tune_pool_start_entries(q, &t->pool, entries.at, (int)entries.len);
}

static void none_is_valid(const tuning *t, const tune_key *key)
{
    diag_report(&t->request->diags, HDS0821, nowhere, t->space->name, key->text, "none is valid");
}

static void do_all(tuning *t)
{
    bool ok = true;
    for (size_t i = 0; ok && !is_interrupted && i < t->keys->len; i++) {
        const tune_key *key = &t->keys->at[i];
        t->number = (int)i + 1;
        if (is_kept(t, key))
            continue;
        if (key->chosen_count)
            ok = do_key(t, key);
        else
            none_is_valid(t, key);
    }
}

static void show_models(tuning *t)
{
    arena *a = &t->request->shared.memory;
    printf("%s on %lld SMs, times estimated by the model\n", t->space->name, (long long)t->request->sm_count);
    for (size_t i = 0; i < t->keys->len; i++) {
        const tune_key *key = &t->keys->at[i];
        if (key->chosen_count)
            print_model(a, t->space, key);
        else
            none_is_valid(t, key);
    }
}

static void measure_all(tuning *t)
{
    tune_request *q = t->request;
    const ms_machine *machine = &ms_record_of(q->session)->machine;
    for (size_t i = 0; i < t->keys->len; i++)
        t->wanted += !is_kept(t, &t->keys->at[i]);
    printf("%s on %lld SMs (%s), %s\n", t->space->name, (long long)q->sm_count, machine->gpu, q->measure.arch->name);
    if (t->wanted < (int)t->keys->len)
        printf("%d of %zu sets of sizes are in '%s' already\n", (int)t->keys->len - t->wanted, t->keys->len, t->table->path);
    fflush(stdout);
    start_compiling(t);
    cmd_tune_catch_interrupt();
    do_all(t);
    clear(t);
    cmd_tune_pool_stop(&t->pool);
    for (int k = 0; k < t->space->count; k++)
        ms_rival_free(&t->rivals[k]);
    q->is_interrupted = is_interrupted;
}

pl_status cmd_tune_run(tune_request *q, const tune_space *space, tune_keys *keys, tune_table *table)
{
    arena *a = &q->shared.memory;
    tuning t = {.request = q, .space = space, .keys = keys, .table = table, .begin_us = pl_now_us()};
    t.rivals = ARENA_ARRAY(a, ms_rival, space->count + 1);
    t.is_loaded = ARENA_ARRAY(a, bool, space->count + 1);
    t.shows_progress = isatty(STDERR_FILENO);
    for (size_t i = 0; i < keys->len; i++)
        tune_rank(&q->library, space, &keys->at[i], q->space == 1 ? q->candidates : 0);
    if (q->space == 0)
        show_models(&t);
    else
        measure_all(&t);
    return q->diags.shown_errors ? PL_ERRORS : PL_OK;
}
