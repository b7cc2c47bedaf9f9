// hdsc tune of a model: what each of its operators chooses from, measured where it runs, between the kernels before and after it.
//
// Compiling the model says what it chooses from: the line of the launch in its program, search space, sizes and valid candidates
// (tc_choice). Equal ones are one choice. In round i each choice has the i-th of its candidates, by a table that takes the place
// of own_choices.hds; the model is compiled and measured with it, and the time of a choice is that of the operators at its lines.
// So all choices are measured in as many rounds as the longest has candidates. A choice with fewer has in the others what it is
// without measuring: what a round compiles is known before any is measured, and processes compile the rounds ahead.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/bench.h"
#include "driver/tune.h"
#include "onnx/onnx.h"
#include "pipeline/graphs.h"
#include "pipeline/times.h"

static const src_span nowhere = {0, 0};

typedef struct candidate {
    const char *label;
    double cost;    // by the model of costs, µs
    double seconds; // of all launches of the model that choose it; 0: not measured
    const char *failure;
} candidate;

typedef struct choice {
    const char *space, *text; // text: "4096, 512"
    int64_t sm_count, *sizes;
    int size_count, wanted;    // wanted: candidates to have times of, from the first on
    VEC(int) lines;            // of the program: its launches
    VEC(candidate) candidates; // what is taken without measuring, then the cheapest
    VEC(int) order;            // candidates that the rounds measure: the first, and those that the journal has no time of
    bool is_kept, is_done;     // the table has it; it is shown
} choice;

typedef struct tuning {
    tune_request *request;
    bench_request bench;
    tune_table table;
    tc_choice_list found;    // as compiling the model says it
    VEC(choice) choices;
    const char *journal;     // the file beside the table; NULL: there is no table
    tune_times known;        // of the journal
    tune_pool pool;          // compiles the rounds
    int round, rounds;       // round: that is measured; -1: none yet
    int ahead;               // rounds whose code was in the cache when they were to be measured
    VEC(bench_output) first; // outputs of round 0
    bool is_looked;
    double begin_us;
} tuning;

// ---- what a model chooses from --------------------------------------------------------------------------------------

static choice *find(tuning *t, const char *space, int64_t sm_count, const char *text)
{
    for (size_t i = 0; i < t->choices.len; i++) {
        choice *c = &t->choices.at[i];
        if (strcmp(c->space, space) == 0 && c->sm_count == sm_count && strcmp(c->text, text) == 0)
            return c;
    }
    return NULL;
}

static int by_cost(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return (x->cost > y->cost) - (x->cost < y->cost);
}

// What the library's table says stands first.
static void take_candidates(tuning *t, choice *c, const tc_choice *from)
{
    arena *a = &t->request->shared.memory;
    for (size_t i = 0; i < from->candidates.len; i++)
        VEC_PUSH(a, &c->candidates, ((candidate){.label = from->candidates.at[i].label, .cost = from->candidates.at[i].cost}));
    if (c->candidates.len)
        qsort(c->candidates.at, c->candidates.len, sizeof *c->candidates.at, by_cost);
    for (size_t i = 1; i < c->candidates.len; i++) {
        candidate x = c->candidates.at[i];
        if (strcmp(x.label, from->usual) != 0)
            continue;
        memmove(&c->candidates.at[1], &c->candidates.at[0], i * sizeof x);
        c->candidates.at[0] = x;
    }
    int most = t->request->space == 1 ? t->request->candidates : (int)c->candidates.len;
    c->wanted = most < (int)c->candidates.len ? most : (int)c->candidates.len;
}

static void add_line(arena *a, choice *c, int line)
{
    for (size_t i = 0; i < c->lines.len; i++)
        if (c->lines.at[i] == line)
            return;
    VEC_PUSH(a, &c->lines, line);
}

// "64,512"
static const char *sizes_text(arena *a, const tc_choice *c)
{
    str_buf out;
    str_buf_init(&out, a);
    for (size_t i = 0; i < c->sizes.len; i++)
        str_addf(&out, "%s%lld", i ? "," : "", (long long)c->sizes.at[i]);
    return str_text(&out);
}

static const tune_row *row_of(const tuning *t, const choice *c)
{
    return tune_table_find(&t->table, c->space, c->sm_count, c->sizes, c->size_count);
}

static bool has_candidate(const choice *c, const char *label)
{
    bool has = false;
    for (size_t i = 0; i < c->candidates.len; i++)
        has = has || strcmp(c->candidates.at[i].label, label) == 0;
    return has;
}

static void take_known_times(const tuning *t, choice *c)
{
    for (size_t i = 0; i < t->known.len; i++) {
        const tune_time *x = &t->known.at[i];
        bool is_it = strcmp(x->space, c->space) == 0 && strcmp(x->sizes, c->text) == 0 && x->sm_count == c->sm_count &&
                     x->launches == (int64_t)c->lines.len;
        for (int k = 0; k < c->wanted && is_it; k++)
            if (strcmp(x->candidate, c->candidates.at[k].label) == 0)
                c->candidates.at[k].seconds = x->seconds;
    }
}

// What is left to measure of each choice. The first candidate is measured again in any case: outputs are compared with its.
static void plan_rounds(tuning *t)
{
    arena *a = &t->request->shared.memory;
    for (size_t i = 0; i < t->choices.len; i++) {
        choice *c = &t->choices.at[i];
        take_known_times(t, c);
        bool has_times = false;
        for (int k = 0; k < c->wanted; k++) {
            has_times = has_times || c->candidates.at[k].seconds > 0;
            if (k == 0 || !(c->candidates.at[k].seconds > 0))
                VEC_PUSH(a, &c->order, k);
        }
        bool is_begun = has_times && c->order.len > 1;
        const tune_row *row = row_of(t, c);
        c->is_kept = !t->request->again && !is_begun && row && has_candidate(c, row->label);
        t->rounds = !c->is_kept && (int)c->order.len > t->rounds ? (int)c->order.len : t->rounds;
    }
}

static void take_choice(tuning *t, const tc_choice *from)
{
    arena *a = &t->request->shared.memory;
    const char *text = sizes_text(a, from);
    choice *known = find(t, from->space, from->sm_count, text);
    if (known) {
        add_line(a, known, from->line);
        return;
    }
    choice added = {.space = from->space, .text = text, .sm_count = from->sm_count, .sizes = from->sizes.at,
                    .size_count = (int)from->sizes.len};
    take_candidates(t, &added, from);
    add_line(a, &added, from->line);
    VEC_PUSH(a, &t->choices, added);
}

// ---- a round --------------------------------------------------------------------------------------------------------

static candidate *best_of(const choice *c)
{
    candidate *best = NULL;
    for (size_t i = 0; i < c->candidates.len; i++) {
        candidate *x = &c->candidates.at[i];
        if (x->seconds > 0 && !x->failure && (!best || x->seconds < best->seconds))
            best = x;
    }
    return best;
}

static bool is_measured_in(const choice *c, int round)
{
    return !c->is_kept && round < (int)c->order.len;
}

// The candidate that a choice has in this round; NULL: what the tables say.
static candidate *candidate_in(const tuning *t, const choice *c)
{
    if (t->round < 0 || c->is_kept || !c->candidates.len)
        return NULL;
    return &c->candidates.at[is_measured_in(c, t->round) ? c->order.at[t->round] : 0];
}

static void add_row(str_buf *out, const char *space, int64_t sm_count, const int64_t *sizes, int count, const char *label)
{
    str_addf(out, "    (\"%s\", %lld, (", space, (long long)sm_count);
    for (int i = 0; i < count; i++)
        str_addf(out, "%lld, ", (long long)sizes[i]);
    str_addf(out, "), \"%s\"),\n", label);
}

// The text of the table: of -o, and of this round.
static const char *table_text(const tuning *t)
{
    str_buf out;
    str_buf_init(&out, &t->request->shared.memory);
    str_adds(&out, "TUNED = [\n");
    for (size_t i = 0; i < t->table.rows.len; i++) {
        const tune_row *r = &t->table.rows.at[i];
        add_row(&out, r->space, r->sm_count, r->sizes, r->size_count, r->label);
    }
    for (size_t i = 0; i < t->choices.len; i++) {
        const choice *c = &t->choices.at[i];
        const candidate *x = candidate_in(t, c);
        if (x)
            add_row(&out, c->space, c->sm_count, c->sizes, c->size_count, x->label);
    }
    str_adds(&out, "]\n");
    return str_text(&out);
}

// Of the operators at the lines of a choice.
static double seconds_of(const bench_run *run, const choice *c)
{
    double sum = 0;
    for (size_t k = 0; k < c->lines.len; k++) {
        int found = fg_launch_at(run->graph, c->lines.at[k]);
        sum += found >= 0 ? run->parts[found].seconds : 0;
    }
    return sum;
}

// How the outputs differ from those of the first round; NULL: they do not.
static const char *difference(tuning *t, const bench_run *run)
{
    arena *a = &t->request->shared.memory;
    for (size_t i = 0; i < run->outputs.len; i++) {
        const bench_output *now = &run->outputs.at[i];
        if (t->round == 0) {
            bench_output kept = *now;
            kept.tensor.data = arena_dup(a, now->tensor.data, (size_t)now->tensor.bytes);
            VEC_PUSH(a, &t->first, kept);
            continue;
        }
        const char *why = tune_differs(a, now->name, now->tensor.type, t->first.at[i].tensor.data, now->tensor.data, now->tensor.bytes);
        if (why)
            return why;
    }
    return NULL;
}

static void take_times(tuning *t, const bench_run *run)
{
    const char *why = difference(t, run);
    for (size_t i = 0; i < t->choices.len; i++) {
        choice *c = &t->choices.at[i];
        if (!is_measured_in(c, t->round))
            continue;
        candidate *x = candidate_in(t, c);
        x->seconds = seconds_of(run, c);
        x->failure = why;
        if (why)
            diag_report(&t->request->diags, HDS0822, nowhere, x->label, c->candidates.at[0].label, c->text, why);
    }
}

typedef struct look {
    bench_state bench; // first
    tuning *tuning;
    bool compiles;     // the round, for another process to measure
} look;

static bool simulate(look *l, bench_run *run, const bench_plan *plan)
{
    bench_state *b = &l->bench;
    const sim_translate_options how = {.index_overflow = true};
    b->run.program = sim_translate(&b->run.unit.memory, b->run.unit.module, &how);
    if (!cmd_bench_simulate(b, plan))
        return false;
    *run = VEC_LAST(&b->runs);
    return true;
}

static bool measure(look *l, bench_run *run, const bench_plan *plan)
{
    bench_state *b = &l->bench;
    if (l->tuning->request->on_simulator)
        return simulate(l, run, plan);
    ms_size *sizes;
    ms_argument *arguments;
    int size_count;
    if (!cmd_bench_row(b, plan, 0, &sizes, &size_count, &arguments) || !cmd_bench_host_open(b))
        return false;
    *run = cmd_bench_run_of(b);
    bool ok = cmd_bench_host_row(b, sizes, size_count, arguments, run);
    dev_cuda_close(b->gpu);
    return ok;
}

static void body(pl_unit *u)
{
    look *l = (look *)u;
    bench_state *b = &l->bench;
    tuning *t = l->tuning;
    bench_plan plan;
    bench_run run = {0};
    const char *level = t->request->on_simulator ? "low" : PL_SIMULATED_LEVEL;
    bool is_compiled = pl_open_source(u, u->options->input) && pl_module_for_simulation(u, level, NULL);
    for (size_t i = 0; i < t->found.len && t->round < 0; i++)
        take_choice(t, &t->found.at[i]);
    if (!is_compiled || !cmd_run_choose_entry(&b->run))
        return;
    cmd_run_find_model(&b->run);
    if (!cmd_run_check_defines(&b->run) || !cmd_bench_plan(b, &plan))
        return;
    if (l->compiles) {
        cmd_bench_host_compile(b, &plan);
        return;
    }
    if (t->round >= 0 && !measure(l, &run, &plan))
        return;
    if (t->round >= 0)
        take_times(t, &run);
    t->ahead += run.was_cached;
    t->is_looked = true;
}

// What is said of the table's rows was said by the first look; --check says it of the lines of the file.
static void hide_warnings_of_rows(arena *a, pl_options *options)
{
    const char **groups = ARENA_ARRAY(a, const char *, options->warning_count + 1);
    for (int i = 0; i < options->warning_count; i++)
        groups[i] = options->warnings[i];
    groups[options->warning_count++] = "no-tune";
    options->warnings = groups;
}

static void begin_look(tuning *t, look *l, pl_options *options)
{
    tune_request *q = t->request;
    *options = q->shared.options;
    if (t->round >= 0 || q->check)
        hide_warnings_of_rows(&q->shared.memory, options);
    options->tuned_text = table_text(t);
    options->choices = t->round < 0 ? &t->found : NULL;
    options->choice_memory = &q->shared.memory;
    *l = (look){.bench = {.run = {.request = &t->bench.run}, .request = &t->bench}, .tuning = t};
    pl_unit_init(&l->bench.run.unit, options, options->archs[0], pl_now_us());
}

// In a process of its own.
static void compile_round(void *user, int round)
{
    tuning *t = user;
    pl_options options;
    look l;
    t->round = round;
    begin_look(t, &l, &options);
    l.compiles = true;
    pl_unit_run_deep(&l.bench.run.unit, body);
    pl_unit_free(&l.bench.run.unit);
}

// Compiles the model with the table of this round, and looks at what it does. The code that says why it failed.
static int look_at(tuning *t)
{
    tune_request *q = t->request;
    pl_options options;
    look l;
    pl_unit *u = &l.bench.run.unit;
    t->is_looked = false;
    begin_look(t, &l, &options);
    if (q->session)
        ms_move(q->session, &u->memory, &u->diags);
    pl_unit_run_deep(u, body);
    u->memory.oom = &cmd_oom;
    if (q->session) {
        ms_forget(q->session);
        ms_move(q->session, &q->shared.memory, &q->diags);
    }
    cmd_print_diags(&u->diags, &q->shared.diagnostics);
    int code = u->status == PL_OK || u->status == PL_ERRORS ? cmd_code_of_errors(&u->diags) : CMD_INTERNAL;
    bool is_usage = l.bench.run.is_usage_error;
    pl_unit_free(u);
    return t->is_looked ? CMD_OK : is_usage ? CMD_USAGE : code;
}

// ---- results --------------------------------------------------------------------------------------------------------

static void show_candidates(const choice *c)
{
    printf("%s (%s): %d of %zu candidates, %zu launch%s\n", c->space, c->text, c->wanted, c->candidates.len, c->lines.len,
           c->lines.len == 1 ? "" : "es");
    for (int i = 0; i < c->wanted; i++)
        printf("  %s  %.2f µs%s\n", c->candidates.at[i].label, c->candidates.at[i].cost, i ? "" : "  without measuring");
}

static bool keep(tuning *t, const choice *c, const char *label, const char *said)
{
    tune_request *q = t->request;
    arena *a = &q->shared.memory;
    const ms_record *record = q->session ? ms_record_of(q->session) : NULL;
    if (!t->table.path)
        return true;
    const char *when = record ? arena_printf(a, ", CUDA %s, %.10s", record->machine.driver, record->date) : "";
    const char *comment = arena_printf(a, "    # %s\n    # %s%s, hdsc %s\n", said, cmd_tune_machine(q), when, HDS_VERSION);
    const tune_row row = {.space = c->space, .sm_count = c->sm_count, .label = label, .sizes = c->sizes, .size_count = c->size_count,
                          .comments = str_of(comment)};
    tune_table_put(&q->library, &t->table, &row);
    return tune_table_write(&q->library, &t->table);
}

static int tried_of(const choice *c)
{
    int tried = 0;
    for (int i = 0; i < c->wanted; i++)
        tried += c->candidates.at[i].seconds > 0;
    return tried;
}

// Of one launch.
static const char *time_text(tuning *t, const choice *c, const candidate *x)
{
    return arena_printf(&t->request->shared.memory, "%.2f µs", x->seconds / (double)c->lines.len * 1e6);
}

static void show_times(tuning *t, const choice *c)
{
    arena *a = &t->request->shared.memory;
    const char *how = t->request->on_simulator ? "estimated" : "measured";
    for (int i = 0; i < c->wanted; i++) {
        const candidate *x = &c->candidates.at[i];
        if (x->seconds > 0)
            printf("  %s  model %.2f µs, %s\n", x->label, x->cost,
                   x->failure ? "wrong" : arena_printf(a, "%s %s", how, time_text(t, c, x)));
    }
}

static bool show_choice(tuning *t, choice *c)
{
    arena *a = &t->request->shared.memory;
    const candidate *best = best_of(c), *usual = &c->candidates.at[0];
    int tried = tried_of(c);
    c->is_done = true;
    if (!best) {
        diag_report(&t->request->diags, HDS0821, nowhere, c->space, c->text, "all that were tried have failed");
        return true;
    }
    const char *how = t->request->on_simulator ? "estimated " : "", *said;
    said = arena_printf(a, "%s %sin '%s'; ", time_text(t, c, best), how, t->bench.run.shared.options.input);
    if (best == usual)
        said = arena_printf(a, "%sthe choice without measuring", said);
    else
        said = arena_printf(a, "%s'%s' without measuring %s", said, usual->label, time_text(t, c, usual));
    if (tried < c->wanted)
        said = arena_printf(a, "%s; %d of %d candidates tried", said, tried, c->wanted);
    printf("%s (%s): '%s' %s\n", c->space, c->text, best->label, said);
    if (t->request->shared.verbose)
        show_times(t, c);
    fflush(stdout);
    return keep(t, c, best->label, said);
}

static void show_progress(const tuning *t)
{
    double spent = (pl_now_us() - t->begin_us) * 1e-6;
    double left = t->round > 0 ? spent / t->round * (t->rounds - t->round) : 0;
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K[%d/%d]", t->round + 1, t->rounds);
    if (t->pool.done < t->pool.count)
        fprintf(stderr, " %d compiled", t->pool.done);
    if (t->round > 0)
        fprintf(stderr, " about %.0f %s left", left < 90 ? left : left / 60, left < 90 ? "s" : "min");
    fflush(stderr);
}

// All times so far.
static bool keep_times(tuning *t)
{
    tune_times times = {0};
    for (size_t i = 0; i < t->choices.len; i++) {
        const choice *c = &t->choices.at[i];
        for (int k = 0; k < c->wanted; k++) {
            const candidate *x = &c->candidates.at[k];
            if (x->seconds > 0 && !x->failure)
                VEC_PUSH(&t->request->shared.memory, &times,
                         ((tune_time){c->space, c->text, x->label, c->sm_count, (int64_t)c->lines.len, x->seconds}));
        }
    }
    return !t->journal || cmd_tune_journal_write(t->request, t->journal, &times);
}

// ---- the command ----------------------------------------------------------------------------------------------------

static bool is_over(const tuning *t)
{
    double spent = (pl_now_us() - t->begin_us) * 1e-6;
    return cmd_tune_is_stopped(NULL) || (t->request->deadline > 0 && t->round > 0 && spent > t->request->deadline);
}

// Nothing is compiled ahead for the simulator, which runs what the front end makes.
static void start_compiling(tuning *t)
{
    arena *a = &t->request->shared.memory;
    int count = t->request->on_simulator ? 0 : t->rounds;
    const char **names = ARENA_ARRAY(a, const char *, count + 1);
    for (int i = 0; i < count; i++)
        names[i] = arena_printf(a, "round %d", i + 1);
    const tune_jobs jobs = {.names = names, .count = count, .compile = compile_round, .user = t};
    cmd_tune_pool_start(t->request, &t->pool, &jobs);
}

// Until the round is compiled, or it is over.
static void wait_for_round(tuning *t)
{
    do {
        show_progress(t);
        if (t->round >= t->pool.count || t->pool.is_ready[t->round])
            return;
        cmd_tune_pool_poll(&t->pool, 100);
    } while (!is_over(t));
}

// Candidates of a round whose program does not compile or run are skipped. The first round has none: without what is taken
// without measuring there is nothing to compare with.
static void skip_round(tuning *t)
{
    for (size_t i = 0; i < t->choices.len; i++) {
        choice *c = &t->choices.at[i];
        if (!is_measured_in(c, t->round))
            continue;
        candidate *x = candidate_in(t, c);
        x->failure = "the program with it, and what else its round tries, fails as said above";
        diag_report(&t->request->diags, HDS0823, nowhere, x->label, c->text, x->failure);
    }
}

static int measure_round(tuning *t)
{
    int code = look_at(t);
    if (code != CMD_OK && t->round > 0 && !cmd_tune_is_stopped(NULL)) {
        skip_round(t);
        code = CMD_OK;
    }
    if (code == CMD_OK && !keep_times(t))
        code = CMD_ERRORS;
    for (size_t i = 0; i < t->choices.len && code == CMD_OK; i++) {
        choice *c = &t->choices.at[i];
        if (!c->is_kept && !c->is_done && (int)c->order.len == t->round + 1 && !show_choice(t, c))
            code = CMD_ERRORS;
    }
    return code;
}

static int measure_rounds(tuning *t)
{
    int code = CMD_OK;
    t->begin_us = pl_now_us();
    start_compiling(t);
    cmd_tune_catch_interrupt(); // behind it: the processes end by the signal
    for (t->round = 0; t->round < t->rounds && code == CMD_OK; t->round++) {
        wait_for_round(t);
        if (is_over(t))
            break;
        code = measure_round(t);
    }
    cmd_tune_pool_stop(&t->pool);
    if (t->request->shared.verbose && !t->request->on_simulator)
        printf("%d of %d rounds were compiled ahead\n", t->ahead, t->round);
    return code;
}

// What was not measured to the end, with the best so far.
static void show_rest(tuning *t)
{
    for (size_t i = 0; i < t->choices.len; i++) {
        choice *c = &t->choices.at[i];
        if (!c->is_kept && !c->is_done && tried_of(c) > 0)
            show_choice(t, c);
    }
}

static int measure_all(tuning *t)
{
    int kept = 0;
    for (size_t i = 0; i < t->choices.len; i++)
        kept += t->choices.at[i].is_kept;
    printf("%zu choice%s of '%s', in %d rounds\n", t->choices.len, t->choices.len == 1 ? "" : "s",
           t->bench.run.shared.options.input, t->rounds);
    if (kept)
        printf("%d are in '%s' already\n", kept, t->table.path);
    if (t->known.len)
        printf("%zu times are in '%s' already\n", t->known.len, t->journal);
    fflush(stdout);
    int code = measure_rounds(t);
    bool is_stopped = cmd_tune_is_stopped(NULL), is_whole = code == CMD_OK && t->round == t->rounds;
    if (code == CMD_OK || is_stopped)
        show_rest(t);
    if (is_whole && !is_stopped && t->journal)
        unlink(t->journal);
    return is_stopped ? CMD_INTERRUPTED : code;
}

static void report_stale_row(tuning *t, const choice *c, const tune_row *row)
{
    arena *a = &t->request->shared.memory;
    const char **labels = ARENA_ARRAY(a, const char *, c->candidates.len + 1);
    for (size_t i = 0; i < c->candidates.len; i++)
        labels[i] = c->candidates.at[i].label;
    const char *why = arena_printf(a, "is not among the %zu that are valid for (%s)", c->candidates.len, c->text);
    diag *d = diag_report(&t->request->diags, HDS0827, row->span, row->label, c->space, why);
    const char *hint = diag_suggest(a, row->label, labels, c->candidates.len);
    if (d)
        diag_help(d, "%s", hint ? hint : "tune the model again, or remove the row");
}

static int check_table(tuning *t)
{
    int found = 0, stale = 0;
    for (size_t i = 0; i < t->choices.len; i++) {
        const choice *c = &t->choices.at[i];
        const tune_row *row = row_of(t, c);
        bool is_good = row && has_candidate(c, row->label);
        found += is_good;
        stale += row && !is_good;
        if (!row)
            printf("%s: nothing for %s (%s)\n", t->table.path, c->space, c->text);
        else if (!is_good)
            report_stale_row(t, c, row);
    }
    printf("%s: %d of the %zu choices of '%s', %d stale; %zu rows of others\n", t->table.path, found, t->choices.len,
           t->bench.run.shared.options.input, stale, t->table.rows.len - (size_t)(found + stale));
    return CMD_OK;
}

static void take_words(tuning *t)
{
    tune_request *q = t->request;
    const tune_words none = {0}, *words = q->groups.len ? &q->groups.at[0] : &none;
    for (size_t i = 0; i < words->len; i++)
        VEC_PUSH(&q->shared.memory, &t->bench.run.words,
                 ((run_word){.text = words->at[i].text, .name = words->at[i].name, .value = words->at[i].value}));
}

bool cmd_tune_has_model(const tune_request *q)
{
    arena memory;
    const char *error = NULL;
    str text;
    arena_init(&memory, &cmd_oom);
    const char *path = q->shared.inputs.at[0];
    bool is_file = !strstr(path, "::"), is_onnx = is_file && onnx_is_path(path);
    bool has = is_onnx || (is_file && file_read(&memory, path, &text, &error) && memmem(text.at, text.len, "@hidet.graph", 12));
    arena_free(&memory);
    return has;
}

int cmd_tune_model(tune_request *q)
{
    tuning t = {.request = q, .round = -1};
    q->shared.options.input = q->shared.inputs.at[0];
    t.bench = (bench_request){.run = {.shared = q->shared, .rtol = -1, .atol = -1, .seed = q->seed}, .measure = q->measure,
                              .session = q->session, .tunes = true};
    take_words(&t);
    const char *path = q->check ? q->check : q->shared.output;
    if (path && !tune_table_read(&q->library, path, q->check != NULL, &t.table))
        return CMD_ERRORS;
    t.journal = q->shared.output ? arena_printf(&q->shared.memory, "%s.journal.json", q->shared.output) : NULL;
    int code = look_at(&t);
    if (code != CMD_OK)
        return code;
    if (q->check)
        return check_table(&t);
    if (t.journal && q->space != 0 && !q->again)
        cmd_tune_journal_read(q, t.journal, &t.known);
    plan_rounds(&t);
    if (!t.choices.len)
        printf("'%s' chooses nothing from a search space: open sizes need values, as in -D B=64\n", q->shared.options.input);
    for (size_t i = 0; i < t.choices.len && q->space == 0; i++)
        show_candidates(&t.choices.at[i]);
    return q->space == 0 ? CMD_OK : measure_all(&t);
}
