// hdsc tune: which candidate of a SearchSpace (stdlib/schedules/search_space.hds) is the fastest for which sizes on
// this machine's GPU.
//
// For each set of sizes the space estimates the cost of its candidates; the cheapest, or all, are compiled in separate
// processes and measured against each other. Each result is written to the table at once.
#include <string.h>

#include "base/file.h"
#include "driver/options.h"
#include "driver/tune.h"
#include "driver/workers.h"
#include "pipeline/files.h"

enum { KEY_SPACE = CMD_KEY_OWN, KEY_CANDIDATES, KEY_SHAPES, KEY_AGAIN, KEY_CHECK, KEY_DEADLINE, KEY_DEVICE };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What is measured:", 1},
    {"space", KEY_SPACE, "N", 0,
     "0: nothing, show the model's choice; 1: the candidates that the model ranks first (the "
     "default); 2: all that are valid",
     1},
    {"candidates", KEY_CANDIDATES, "N", 0, "with --space=1: the number of candidates (default: 6)", 1},
    {"shapes", KEY_SHAPES, "FILE", 0, "read sizes from FILE: NAME=VALUE words, one set per line", 1},
    {"again", KEY_AGAIN, NULL, 0, "also measure sizes that the table already has", 1},
    CMD_DEFINE_OPTION("a module constant of the file", 1),
    CMD_IMPORT_OPTION(1),
    {"entry", CMD_KEY_ENTRY, "NAME", 0, "of a model: this graph function", 1},
    CMD_WEIGHTS_OPTION(1),
    CMD_REWRITE_OPTIONS(1),
    CMD_PRECISION_OPTION(1),
    CMD_ARCH_OPTION("that of the GPU", 1),
    CMD_SEED_OPTION("of random inputs and of the order of measuring (default: 0)", 1),

    {NULL, 0, NULL, 0, "How:", 2},
    {"device", KEY_DEVICE, "NAME", 0,
     "of a model: measure on the GPU (cuda, the default), or estimate by what the simulator counts (sim)", 2},
    CMD_METHOD_OPTION("flush: one launch at a time, each after a write of twice the L2 cache (the default); rotate: "
                      "consecutive launches that "
                      "cycle through copies of the tensors larger than the L2 cache; of a model: runs follow each other (the "
                      "default), or flush",
                      2),
    CMD_GRAPH_OPTION(", with --method=rotate", 2),
    CMD_MEASURE_OPTIONS("candidate", "each set of sizes", "its candidates", 2),
    {"deadline", KEY_DEADLINE, "SECONDS", 0, "of a model: begin no round after that, and keep the best so far", 2},
    {"jobs", 'j', "N", 0, "compile N candidates, or rounds of a model, in parallel (default: one for each core but one)", 2},

    {NULL, 0, NULL, 0, "Results:", 3},
    {NULL, 'o', "FILE", 0, "add the results to FILE, a table for SearchSpace.choose", 3},
    {"check", KEY_CHECK, "FILE", 0, "measure nothing; check that the table's candidates exist and are valid", 3},
    {"verbose", 'v', NULL, 0, "show each candidate", 3},

    CMD_MESSAGE_OPTIONS(4),
    CMD_NVRTC_OPTION("", 4),
    CMD_MEMORY_LIMIT_OPTION(4),
    {0},
};

static const char doc[] =
    "Find the fastest candidate of a SearchSpace (hidet.lang.search_space) for given sizes, or of all that a model "
    "chooses from.\n"
    "\n"
    "  hdsc tune transpose.hds m=4096 n=4096,8192 --space=0\n"
    "  hdsc tune transpose.hds::SPACE m=4096 n=4096 m=32 n=100000 --space=2 -o tuned.hds\n"
    "  hdsc tune transpose.hds::SPACE --check tuned.hds\n"
    "  hdsc tune mlp.hds --weights=random -D B=64 -o mlp_tuned.hds\n"
    "  hdsc tune mlp.hds --weights=random -D B=64 --gpu=h200 --check mlp_tuned.hds\n"
    "\v"
    "NAME=VALUE sets a size; several values, as in n=1024,2048, are combined with those of the other sizes. A name "
    "that is given "
    "again starts a new set of sizes, which inherits the rest from the previous set. Ctrl-C keeps the results so far; "
    "sizes in "
    "the table are not measured again. With --space=0, --gpu and --sms ask the model about another GPU.\n"
    "Exit code: 0 success; 1 the file has errors, a candidate is wrong, or --check finds something; 2 the command line "
    "is "
    "wrong; 3 there is no GPU or no NVRTC; 130 interrupted.";

// ---- the command line -------------------------------------------------------------------------------------------

static bool has_word(const tune_words *words, const char *name)
{
    for (size_t i = 0; i < words->len; i++) {
        if (strcmp(words->at[i].name, name) == 0)
            return true;
    }
    return false;
}

// A name that is among the own words of the last set begins another, which goes on from there.
static void add_word(tune_request *q, const tune_word *w)
{
    arena *a = &q->shared.memory;
    if (!q->groups.len)
        VEC_PUSH(a, &q->groups, (tune_words){0});
    if (has_word(&q->own, w->name)) {
        const tune_words before = VEC_LAST(&q->groups);
        tune_words words = {0};
        for (size_t i = 0; i < before.len; i++)
            VEC_PUSH(a, &words, before.at[i]);
        VEC_PUSH(a, &q->groups, words);
        q->own = (tune_words){0};
    }
    VEC_PUSH(a, &q->own, *w);
    VEC_PUSH(a, &VEC_LAST(&q->groups), *w);
}

static void take_argument(struct argp_state *state, const char *text)
{
    tune_request *q = state->input;
    arena *a = &q->shared.memory;
    size_t len = cmd_run_name_length(text);
    if (!len) {
        VEC_PUSH(a, &q->shared.inputs, text);
        return;
    }
    tune_word word = {text, arena_strndup(a, text, len), text + len + 1};
    if (strcmp(word.name, "sm_count") == 0)
        argp_error(state, "'sm_count' is that of the GPU: give --gpu or --sms");
    else
        add_word(q, &word);
}

static void check_arguments(struct argp_state *state)
{
    const tune_request *q = state->input;
    if (!q->shared.inputs.len)
        argp_error(state, "no input file");
    if (q->shared.inputs.len > 1)
        argp_error(state, "expected NAME=VALUE, found '%s'; one space is tuned at a time", q->shared.inputs.at[1]);
    if (q->shared.archs.len > 1)
        argp_error(state, "a measurement is for one architecture");
    if (q->shared.sm_count && q->space != 0)
        argp_error(state, "--sms is for --space=0: what is measured is measured on the SMs that are there");
    if (q->check && (q->groups.len || q->shapes || q->shared.output))
        argp_error(state, "--check takes the sizes from the table");
    if (q->space == 0 && q->shared.output)
        argp_error(state, "--space=0 measures nothing that -o could keep");
}

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    static const char *const spaces[] = {"0", "1", "2", NULL}, *const devices[] = {"cuda", "sim", NULL};
    tune_request *q = state->input;
    switch (key) {
    case KEY_SPACE: q->space = cmd_choose(state, "--space", arg, spaces); break;
    case KEY_CANDIDATES: q->candidates = cmd_count(state, "--candidates", arg, 1); break;
    case KEY_SHAPES: q->shapes = arg; break;
    case KEY_DEVICE: q->on_simulator = cmd_choose(state, "--device", arg, devices) == 1; break;
    case KEY_AGAIN: q->again = true; break;
    case KEY_DEADLINE: q->deadline = cmd_non_negative(state, "--deadline", arg); break;
    case KEY_CHECK:
        q->check = arg;
        break;
    case CMD_KEY_SEED:
        return cmd_take_running(key, arg, state, &(cmd_running){.seed = &q->seed});
    case ARGP_KEY_ARG: take_argument(state, arg); break;
    case ARGP_KEY_END: check_arguments(state); break;
    default:
        return cmd_take_measuring(key, arg, state, &q->measure);
    }
    return 0;
}

// ---- the file of --shapes ----------------------------------------------------------------------------------------

static bool bad(tune_request *q, const char *text, const char *why)
{
    diag_report(&q->diags, HDS0826, (src_span){0, 0}, text, why);
    return false;
}

// A line of --shapes: words, and a comment behind '#'.
static bool take_line(tune_request *q, const tune_words *common, const char *line)
{
    arena *a = &q->shared.memory;
    tune_words words = {0};
    for (size_t i = 0; i < common->len; i++)
        VEC_PUSH(a, &words, common->at[i]);
    size_t before = words.len;
    for (const char *at = line; *at && *at != '#';) {
        size_t len = strcspn(at, " \t\r#");
        const char *text = arena_strndup(a, at, len);
        size_t name = cmd_run_name_length(text);
        if (len && !name)
            return bad(q, text, arena_printf(a, "is not NAME=VALUE, in '%s'", q->shapes));
        if (len)
            VEC_PUSH(a, &words, ((tune_word){text, arena_strndup(a, text, name), text + name + 1}));
        at += len + (at[len] && at[len] != '#');
    }
    if (words.len > before)
        VEC_PUSH(a, &q->groups, words);
    return true;
}

static bool read_shapes(tune_request *q)
{
    arena *a = &q->shared.memory;
    const char *error = NULL;
    str text;
    if (!file_read(a, q->shapes, &text, &error)) {
        diag_report(&q->diags, HDS0490, (src_span){0, 0}, q->shapes, error);
        return false;
    }
    if (q->groups.len > 1)
        return bad(q, q->shapes, "has the sizes, so the command line cannot have several sets of them");
    const tune_words common = q->groups.len ? q->groups.at[0] : (tune_words){0};
    q->groups.len = 0;
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.at + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.at) - at : text.len - at;
        if (!take_line(q, &common, arena_strndup(a, text.at + at, len)))
            return false;
        at += len + 1;
    }
    return q->groups.len || bad(q, q->shapes, "has no sizes");
}

static bool make_keys(tune_request *q, const tune_space *space, tune_keys *out)
{
    if (q->shapes && !q->are_shapes_read && !read_shapes(q))
        return false;
    q->are_shapes_read = true;
    if (!q->groups.len)
        VEC_PUSH(&q->shared.memory, &q->groups, (tune_words){0});
    for (size_t i = 0; i < q->groups.len; i++) {
        if (!tune_add_keys(&q->library, space, &q->groups.at[i], out))
            return false;
    }
    return true;
}

// ---- the command ------------------------------------------------------------------------------------------------

// What the machine cannot do is no error of the source.
static bool is_about_machine(const diag_context *dx)
{
    static const diag_code codes[] = {HDS0647, HDS0648, HDS0750, HDS0753};
    for (size_t i = 0; i < dx->all.len; i++) {
        bool is_it = dx->all.at[i]->severity != DIAG_ERROR;
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
            is_it = is_it || dx->all.at[i]->code == codes[k];
        if (!is_it)
            return false;
    }
    return dx->shown_errors > 0;
}

static int exit_code(const tune_request *q, pl_status status)
{
    if (status == PL_OK && q->is_interrupted)
        return CMD_INTERRUPTED;
    if (status != PL_OK && status != PL_ERRORS)
        return CMD_INTERNAL;
    if (is_about_machine(&q->diags))
        return CMD_INTERNAL;
    if (q->is_usage_error)
        return CMD_USAGE;
    if (q->diags.shown_errors)
        return cmd_code_of_errors(&q->diags);
    return status == PL_OK ? CMD_OK : CMD_ERRORS;
}

// The GPU's own architecture is compiled for, unless the command line says another.
static bool open_gpu(tune_request *q)
{
    const cmd_arguments *shared = &q->shared;
    arena *a = &q->shared.memory;
    const char **defines = ARENA_ARRAY(a, const char *, shared->defines.len + 1);
    for (size_t i = 0; i < shared->defines.len; i++) {
        const tc_define *d = &shared->defines.at[i];
        defines[i] = d->value ? arena_printf(a, "%s=%s", d->name, d->value) : d->name;
    }
    ms_options *m = &q->measure;
    m->source = shared->options.input;
    m->defines = defines;
    m->define_count = (int)shared->defines.len;
    m->include_folders = shared->options.include_folders;
    m->include_count = shared->options.include_count;
    m->nvrtc = shared->options.nvrtc_path;
    bool is_named = shared->has_arch || shared->has_gpu;
    m->arch = is_named ? shared->options.archs[0] : NULL;
    m->gpu = shared->has_gpu ? shared->options.gpus[0]->name : NULL;
    m->is_own = !is_named;
    if (!ms_open(a, &q->diags, m, &q->session))
        return false;
    const ms_machine *machine = &ms_record_of(q->session)->machine;
    m->arch = is_named ? m->arch : machine->arch;
    q->sm_count = machine->sm_count;
    return true;
}

// Splits FILE::SPACE.
static void open_space(tune_request *q)
{
    arena *a = &q->shared.memory;
    const char *target = q->shared.inputs.at[0], *colons = strstr(target, "::");
    q->shared.options.input = colons ? arena_strndup(a, target, (size_t)(colons - target)) : target;
    tune_init(&q->library, a, &q->sources, &q->diags, &q->shared.options, colons ? colons + 2 : "SPACE");
}

static pl_status describe(tune_request *q, tune_space *space)
{
    pl_status status = tune_describe(&q->library, space);
    if (status == PL_NO_MEMORY)
        fprintf(stderr, "hdsc: out of memory while compiling '%s'\n", q->shared.options.input);
    return status;
}

static pl_status check_table(tune_request *q, const tune_space *space)
{
    tune_table t;
    int own = 0;
    if (!tune_table_read(&q->library, q->check, true, &t))
        return PL_ERRORS;
    pl_status status = tune_table_check(&q->library, space, &t, &own);
    if (status == PL_OK || status == PL_ERRORS)
        printf("%s: %d rows of '%s', %d of other spaces\n", t.path, own, space->name, (int)t.rows.len - own);
    return status;
}

// What there is to choose from may depend on the architecture: once more, if it is not the one that the file was read for.
static pl_status describe_for_gpu(tune_request *q, tune_space *space, tune_keys *keys)
{
    const ms_machine *machine = &ms_record_of(q->session)->machine;
    cmd_use_own_gpu(&q->shared, machine->arch, ms_gpu_of(&q->shared.memory, machine));
    pl_status status = describe(q, space);
    *keys = (tune_keys){0};
    return status == PL_OK && !make_keys(q, space, keys) ? PL_ERRORS : status;
}

// Without a GPU, it is asked as of a usual one of the architecture.
static void look_at_processors(tune_request *q)
{
    const cmd_arguments *shared = &q->shared;
    diag_context unheard;
    diag_init(&unheard, &q->shared.memory, &q->sources);
    bool is_named = shared->has_arch || shared->has_gpu || shared->sm_count;
    if (!is_named && ms_open(&q->shared.memory, &unheard, &q->measure, &q->session)) {
        q->sm_count = ms_record_of(q->session)->machine.sm_count;
        ms_close(q->session);
        q->session = NULL;
    }
    q->sm_count = q->sm_count ? q->sm_count : shared->options.gpus[0]->sm_count;
}

static bool check_output(tune_request *q)
{
    const char *path = q->shared.output;
    const pl_file results = {.path = path, .what = "the table"};
    if (!path)
        return true;
    const char *why = cmd_cannot_write(&q->shared.memory, path);
    if (why) {
        diag_report(&q->diags, HDS0494, (src_span){0, 0}, path, why);
        q->is_usage_error = true;
    }
    return !why && pl_files_check(&q->diags, &results, 1, &q->shared.options.input, 1);
}

static pl_status do_request(tune_request *q)
{
    tune_space space;
    tune_keys keys = {0};
    tune_table found = {0};
    open_space(q);
    if (q->on_simulator) {
        fprintf(stderr, "hdsc: --device=sim is for models: a space that is measured by itself needs a GPU\n");
        q->is_usage_error = true;
        return PL_ERRORS;
    }
    pl_status status = describe(q, &space);
    if (status != PL_OK)
        return status;
    if (q->check)
        return check_table(q, &space);
    if (!make_keys(q, &space, &keys) || !check_output(q) ||
        (q->shared.output && !tune_table_read(&q->library, q->shared.output, false, &found)))
        return PL_ERRORS;
    if (q->space == 0)
        look_at_processors(q);
    else if (!open_gpu(q))
        return PL_ERRORS;
    if (q->session && q->measure.is_own && (status = describe_for_gpu(q, &space, &keys)) != PL_OK)
        return status;
    int64_t *sm_count = ARENA_ARRAY(&q->shared.memory, int64_t, keys.len + 1);
    for (size_t i = 0; i < keys.len; i++)
        sm_count[i] = q->sm_count;
    status = tune_survey(&q->library, &space, keys.at, keys.len, sm_count);
    return status == PL_OK ? cmd_tune_run(q, &space, &keys, &found) : status;
}

// By its choices, where the kernels of the model run.
static int tune_model(tune_request *q)
{
    open_space(q);
    if (q->shapes || q->groups.len > 1) {
        fprintf(stderr, "hdsc: a model is tuned for one set of sizes, without --shapes\n");
        return CMD_USAGE;
    }
    bool measures = q->space != 0 && !q->check && !q->on_simulator;
    if (!check_output(q) || (measures && !open_gpu(q)))
        return exit_code(q, PL_ERRORS);
    if (q->session) {
        const ms_machine *machine = &ms_record_of(q->session)->machine;
        cmd_use_own_gpu(&q->shared, q->measure.arch, ms_gpu_of(&q->shared.memory, machine));
    }
    int code = cmd_tune_model(q);
    if (code != CMD_OK || !q->diags.shown_errors)
        return code;
    return is_about_machine(&q->diags) ? CMD_INTERNAL : CMD_ERRORS;
}

static int tune_space_of(tune_request *q)
{
    pl_status status = do_request(q);
    return exit_code(q, status);
}

int cmd_tune(int argc, char **argv)
{
    tune_request q = {
        .space = 1,
        .candidates = 6,
        .measure = {.method = MS_METHOD__COUNT, .min_seconds = 0.3, .warm_up_seconds = 0.1, .samples = 25, .gpu_seconds = CMD_GPU_SECONDS,
                    .stopped = cmd_tune_is_stopped},
    };
    q.measure.argc = argc;
    q.measure.argv = (const char *const *)argv;
    cmd_parse_with(&q.shared, argc, argv, "FILE[::SPACE] [NAME=VALUE...]", doc, table, take_own);
    src_map_init(&q.sources, &q.shared.memory);
    diag_init(&q.diags, &q.shared.memory, &q.sources);
    q.diags.warnings_are_errors = q.shared.options.warnings_are_errors;
    for (int i = 0; i < q.shared.options.warning_count; i++)
        diag_switch_group(&q.diags, q.shared.options.warnings[i]);
    if (!q.shared.jobs)
        q.shared.jobs = cmd_core_count() > 1 ? cmd_core_count() - 1 : 1;
    bool is_model = cmd_tune_has_model(&q);
    if (q.measure.method == MS_METHOD__COUNT)
        q.measure.method = is_model ? MS_ROTATE : MS_FLUSH;
    int code = is_model ? tune_model(&q) : tune_space_of(&q);
    cmd_print_diags(&q.diags, &q.shared.diagnostics);
    if (q.session && !ms_close(q.session))
        cmd_leave(code);
    tune_free(&q.library);
    cmd_arguments_free(&q.shared);
    return code;
}
