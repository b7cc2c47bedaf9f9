// hdsc tune of a model: what each of its operators chooses from, measured where it runs, between the kernels before and after it.
//
// Compiling the model says what it chooses from: the line of the launch in its program, search space, sizes and valid candidates
// (tc_choice). Equal ones are one choice. In round i each choice has its i-th candidate, by a
// table that takes the place of own_choices.hds; the model is compiled and measured with it, and the time of a choice is that of
// the operators at its lines. So all choices are measured in as many rounds as the longest has candidates.
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
    int size_count, wanted;    // wanted: candidates to measure
    VEC(int) lines;            // of the program: its launches
    VEC(candidate) candidates;        // what is taken without measuring, then the cheapest
    bool is_kept, is_done;            // the table has it; it is shown
} choice;

typedef struct tuning {
    tune_request *request;
    bench_request bench;
    tune_table table;
    tc_choice_list found;    // as compiling the model says it
    VEC(choice) choices;
    int round; // that is measured; -1: none yet
    VEC(bench_output) first; // outputs of round 0
    bool is_looked, is_interrupted;
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
    added.is_kept = t->table.path && !t->request->again &&
                    tune_table_find(&t->table, added.space, added.sm_count, added.sizes, added.size_count);
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

// The candidate that a choice has in this round; NULL: what the tables say.
static candidate *candidate_in(const tuning *t, const choice *c)
{
    if (t->round < 0 || c->is_kept || !c->candidates.len)
        return NULL;
    return t->round < c->wanted ? &c->candidates.at[t->round] : best_of(c);
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
        candidate *x = t->round < c->wanted ? candidate_in(t, c) : NULL;
        if (!x)
            continue;
        x->seconds = seconds_of(run, c);
        x->failure = why;
        if (why)
            diag_report(&t->request->diags, HDS0822, nowhere, x->label, c->candidates.at[0].label, c->text, why);
    }
}

typedef struct look {
    bench_state bench; // first
    tuning *tuning;
} look;

static bool measure(look *l, bench_run *run, const bench_plan *plan)
{
    bench_state *b = &l->bench;
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
    bool is_compiled = pl_open_source(u, u->options->input) && pl_module_for_simulation(u, PL_SIMULATED_LEVEL, NULL);
    for (size_t i = 0; i < t->found.len && t->round < 0; i++)
        take_choice(t, &t->found.at[i]);
    if (!is_compiled || !cmd_run_choose_entry(&b->run))
        return;
    cmd_run_find_model(&b->run);
    if (!cmd_run_check_defines(&b->run) || !cmd_bench_plan(b, &plan))
        return;
    if (t->round >= 0 && !measure(l, &run, &plan))
        return;
    if (t->round >= 0)
        take_times(t, &run);
    t->is_looked = true;
}

// Compiles the model with the table of this round, and looks at what it does. The code that says why it failed.
static int look_at(tuning *t)
{
    tune_request *q = t->request;
    pl_options options = q->shared.options;
    options.tuned_text = table_text(t);
    options.choices = t->round < 0 ? &t->found : NULL;
    options.choice_memory = &q->shared.memory;
    look l = {.bench = {.run = {.request = &t->bench.run}, .request = &t->bench}, .tuning = t};
    pl_unit *u = &l.bench.run.unit;
    t->is_looked = false;
    pl_unit_init(u, &options, options.archs[0], pl_now_us());
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
    const ms_record *record = ms_record_of(q->session);
    const ms_machine *m = &record->machine;
    if (!t->table.path)
        return true;
    const char *comment = arena_printf(&q->shared.memory, "    # %s\n    # %s, CUDA %s, %.10s, hdsc %s\n", said, m->gpu, m->driver,
                                       record->date, HDS_VERSION);
    const tune_row row = {.space = c->space, .sm_count = c->sm_count, .label = label, .sizes = c->sizes, .size_count = c->size_count,
                          .comments = str_of(comment)};
    tune_table_put(&q->library, &t->table, &row);
    return tune_table_write(&q->library, &t->table);
}

static bool show_choice(tuning *t, choice *c, int tried)
{
    arena *a = &t->request->shared.memory;
    const candidate *best = best_of(c), *usual = &c->candidates.at[0];
    c->is_done = true;
    if (!best) {
        diag_report(&t->request->diags, HDS0821, nowhere, c->space, c->text, "all that were tried have failed");
        return true;
    }
    double launches = (double)c->lines.len;
    const char *said = arena_printf(a, "%.2f µs in '%s'; ", best->seconds / launches * 1e6, t->bench.run.shared.options.input);
    if (best == usual)
        said = arena_printf(a, "%sthe choice without measuring", said);
    else
        said = arena_printf(a, "%s'%s' without measuring %.2f µs", said, usual->label, usual->seconds / launches * 1e6);
    if (tried < c->wanted)
        said = arena_printf(a, "%s; %d of %d candidates tried", said, tried, c->wanted);
    printf("%s (%s): '%s' %s\n", c->space, c->text, best->label, said);
    for (int i = 0; i < tried && t->request->shared.verbose; i++) {
        const candidate *x = &c->candidates.at[i];
        printf("  %s  model %.2f µs, %s\n", x->label, x->cost,
               x->failure ? "wrong" : arena_printf(a, "measured %.2f µs", x->seconds / (double)c->lines.len * 1e6));
    }
    fflush(stdout);
    return keep(t, c, best->label, said);
}

static void show_progress(const tuning *t, int rounds)
{
    double spent = (pl_now_us() - t->begin_us) * 1e-6, left = t->round > 0 ? spent / t->round * (rounds - t->round) : 0;
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K[%d/%d]", t->round + 1, rounds);
    if (t->round > 0)
        fprintf(stderr, " about %.0f %s left", left < 90 ? left : left / 60, left < 90 ? "s" : "min");
    fflush(stderr);
}

// ---- the command ----------------------------------------------------------------------------------------------------

static bool is_over(const tuning *t)
{
    double spent = (pl_now_us() - t->begin_us) * 1e-6;
    return cmd_tune_is_stopped(NULL) || (t->request->deadline > 0 && t->round > 0 && spent > t->request->deadline);
}

static int measure_all(tuning *t)
{
    int rounds = 0, kept = 0, code = CMD_OK;
    for (size_t i = 0; i < t->choices.len; i++) {
        const choice *c = &t->choices.at[i];
        kept += c->is_kept;
        rounds = !c->is_kept && c->wanted > rounds ? c->wanted : rounds;
    }
    printf("%zu choice%s of '%s', in %d rounds\n", t->choices.len, t->choices.len == 1 ? "" : "s",
           t->bench.run.shared.options.input, rounds);
    if (kept)
        printf("%d are in '%s' already\n", kept, t->table.path);
    fflush(stdout);
    cmd_tune_catch_interrupt();
    t->begin_us = pl_now_us();
    for (t->round = 0; t->round < rounds && code == CMD_OK && !is_over(t); t->round++) {
        show_progress(t, rounds);
        code = look_at(t);
        for (size_t i = 0; i < t->choices.len && code == CMD_OK; i++) {
            choice *c = &t->choices.at[i];
            if (!c->is_kept && !c->is_done && c->wanted == t->round + 1 && !show_choice(t, c, c->wanted))
                code = CMD_ERRORS;
        }
    }
    bool is_stopped = cmd_tune_is_stopped(NULL);
    if (is_stopped)
        code = CMD_INTERRUPTED;
    int tried = is_stopped && t->round > 0 && !t->is_looked ? t->round - 1 : t->round;
    for (size_t i = 0; i < t->choices.len && (code == CMD_OK || is_stopped) && tried > 0; i++) {
        choice *c = &t->choices.at[i];
        if (!c->is_kept && !c->is_done)
            show_choice(t, c, tried < c->wanted ? tried : c->wanted);
    }
    return code;
}

static void take_words(tuning *t)
{
    tune_request *q = t->request;
    const tune_words none = {0}, *words = q->groups.len ? &q->groups.at[0] : &none;
    for (size_t i = 0; i < words->len; i++)
        VEC_PUSH(&q->shared.memory, &t->bench.run.words, ((run_word){words->at[i].text, words->at[i].name, words->at[i].value}));
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
    if (q->shared.output && !tune_table_read(&q->library, q->shared.output, false, &t.table))
        return CMD_ERRORS;
    int code = look_at(&t);
    if (code != CMD_OK)
        return code;
    if (!t.choices.len)
        printf("'%s' chooses nothing from a search space: open sizes need values, as in -D B=64\n", q->shared.options.input);
    for (size_t i = 0; i < t.choices.len && q->space == 0; i++)
        show_candidates(&t.choices.at[i]);
    return q->space == 0 ? CMD_OK : measure_all(&t);
}
