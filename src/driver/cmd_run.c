// hdsc run: runs a kernel, or a host function that launches some, on the simulator or a GPU.

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/options.h"
#include "driver/run.h"
#include "pipeline/graphs.h"
#include "planned/planned.h"
#include "tensor/npy.h"
#include "sim/profile.h"

enum {
    KEY_SCHEDULE = CMD_KEY_OWN,
    KEY_PROFILE,
    KEY_NO_CHECKS,
    KEY_NO_RACES,
    KEY_TRACE,
    KEY_BREAK,
    KEY_PRINT,
    KEY_DEVICE,
    KEY_EXPECT,
    KEY_ATOL,
    KEY_RTOL,
    KEY_PRINT_IR,
    KEY_PRINT_BYTECODE,
    KEY_PLAN
};

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What runs:", 1},
    {"entry", CMD_KEY_ENTRY, "NAME", 0, "this kernel, host function or instantiation: 'relu' or 'relu[f16, 1024]'", 1},
    CMD_DEFINE_OPTION("a module constant or a type parameter of the entry, as in -D BM=64 -D T=f16", 1),
    CMD_IMPORT_OPTION(1),
    CMD_WEIGHTS_OPTION(1),
    CMD_REWRITE_OPTIONS(1),
    CMD_PRECISION_OPTION(1),
    CMD_TUNED_OPTION(1),
    CMD_ARCH_OPTION("sm_80, or that of the GPU", 1),
    {"device", KEY_DEVICE, "NAME", 0, "sim: the simulator (the default); cuda: the GPU of this machine", 1},

    {NULL, 0, NULL, 0, "Results:", 2},
    {"expect", KEY_EXPECT, "NAME=@FILE", 0,
     "compare a tensor with FILE after the run; tolerances may follow, as in c=@ref.npy:rtol=1e-3,atol=0; repeatable",
     2},
    {"rtol", KEY_RTOL, "X", 0, "tolerance of --expect relative to the expected value (default: by type)", 2},
    {"atol", KEY_ATOL, "X", 0, "absolute tolerance of --expect (default: by type)", 2},
    {"profile", KEY_PROFILE, "FORMAT", OPTION_ARG_OPTIONAL, "count by source line: text (the default) or json", 2},
    {"verbose", 'v', NULL, 0, "print the kernels that ran and their speed", 2},

    {NULL, 0, NULL, 0, "How it runs:", 3},
    CMD_SEED_OPTION("of random inputs (default: 0)", 3),
    {"schedule", KEY_SCHEDULE, "N", 0,
     "the order in which warps and blocks are scheduled (default: 0, one after the other)", 3},
    {NULL, 'j', "N", 0, "simulator threads, for independent blocks (default: one for each core)", 3},
    CMD_BUDGET_OPTION(3),
    CMD_GPU_TIMEOUT_OPTION("a kernel", 3),
    CMD_TRAP_NAN_OPTION(3),
    CMD_CONTRACT_OPTION(3),
    {"plan", KEY_PLAN, NULL, 0, "run host functions by their launch plans: temporaries share a workspace", 3},
    {"no-races", KEY_NO_RACES, NULL, 0, "do not look for data races", 3},
    {"no-checks", KEY_NO_CHECKS, NULL, 0, "disable all checks: fastest", 3},

    {NULL, 0, NULL, 0, "Debugging:", 4},
    {"trace", KEY_TRACE, "block=B thread=T", 0, "print each line that this thread executes, and the values it assigns",
     4},
    {"break", KEY_BREAK, "FILE:LINE", 0,
     "print the variables whenever a thread (block=0 thread=0, unless given after LINE) reaches LINE; repeatable", 4},
    {"print", KEY_PRINT, "LIST", 0, "only these variables, as in x,acc", 4},

    CMD_MESSAGE_OPTIONS(5),

    {NULL, 0, NULL, 0, "For work on the compiler:", 6},
    CMD_LEVEL_OPTION(6),
    {"print-ir", KEY_PRINT_IR, NULL, 0, "print that IR and run nothing", 6},
    {"print-bytecode", KEY_PRINT_BYTECODE, NULL, 0, "print the simulator's bytecode and run nothing", 6},
    CMD_COMPILER_OPTIONS(6),
    CMD_DEVICE_COMPILER_OPTIONS(6),
    {0},
};

static const char doc[] =
    "Run a kernel, or a host function that launches kernels, and check it while it runs.\n"
    "\n"
    "  hdsc run saxpy.hds s=2 x=randn:f32[1000] y=ones\n"
    "  hdsc run matmul.hds a=@a.npy b=randn:f16[1024,64] c=out:c.npy --expect c=@ref.npy\n"
    "  hdsc run softmax.hds x=uniform'(-1,1)':f32[64,1000] --profile\n"
    "\v"
    "NAME=SPEC sets a parameter: a number; @FILE (.npy); randn, uniform, randint(0, 100), zeros, ones, full(3), "
    "arange or empty, with :TYPE[SIZES] where the parameter does not fix them. Sizes follow from the tensors. NAME=out "
    "prints "
    "a tensor after the run and NAME=out:FILE saves it; tensors that the entry writes are printed in short unless "
    "saved "
    "or compared.\n"
    "Exit code: 0 success; 1 the file has errors, a check found something, or a result is not as expected; 2 the "
    "command line is wrong; 3 there is no GPU or no NVRTC for --device=cuda.";

// ---- the command line -------------------------------------------------------------------------------------------

static const char *copy(run_request *q, const char *text, size_t len)
{
    return arena_strndup(&q->shared.memory, text, len);
}

// The name before '='. ONNX has others than identifiers, which mean the identifiers that they become: *[is_made].
static const char *name_before(run_request *q, const char *text, size_t len, bool *is_made)
{
    const char *name = copy(q, text, len);
    *is_made = cmd_run_name_length(text) != len;
    return *is_made ? str_identifier(&q->shared.memory, name, SIZE_MAX) : name;
}

static double tolerance(struct argp_state *state, const char *text)
{
    uint64_t bits;
    run_request *q = state->input;
    const char *why = ten_number_parse(&q->shared.memory, text, DT_F64, &bits);
    double value = why ? -1 : dt_to_double(DT_F64, bits);
    if (!(value >= 0))
        argp_error(state, "a tolerance is a number from 0 on, not '%s'", text);
    return value;
}

// "rtol=1e-3,atol=0"
static void take_tolerances(struct argp_state *state, run_expectation *e, const char *text)
{
    run_request *q = state->input;
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, ",");
        const char *part = copy(q, at, len);
        if (strncmp(part, "rtol=", 5) == 0)
            e->rtol = tolerance(state, part + 5);
        else if (strncmp(part, "atol=", 5) == 0)
            e->atol = tolerance(state, part + 5);
        else
            argp_error(state, "--expect takes rtol=X and atol=X behind the file, not '%s'", part);
        at += len + (at[len] == ',');
    }
}

// "c=@ref.npy:rtol=1e-3"; a ':' that no tolerance follows belongs to the file's name.
static void add_expectation(struct argp_state *state, const char *text)
{
    run_request *q = state->input;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals[1] != '@' || !equals[2])
        argp_error(state, "--expect takes NAME=@FILE, not '%s'", text);
    run_expectation e = {.text = text, .rtol = -1, .atol = -1};
    e.name = name_before(q, text, (size_t)(equals - text), &e.is_made);
    const char *path = equals + 2, *colon = strrchr(path, ':');
    bool has_tolerances = colon && (strncmp(colon, ":rtol=", 6) == 0 || strncmp(colon, ":atol=", 6) == 0);
    e.path = has_tolerances ? copy(q, path, (size_t)(colon - path)) : path;
    if (has_tolerances)
        take_tolerances(state, &e, colon + 1);
    VEC_PUSH(&q->shared.memory, &q->expectations, e);
}

static void add_break(struct argp_state *state, const char *text)
{
    run_request *q = state->input;
    const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
    run_breakpoint breakpoint = {.text = text, .file = colon ? copy(q, text, (size_t)(colon - text)) : NULL};
    breakpoint.line = (uint32_t)cmd_count(state, "--break", digits, 1);
    VEC_PUSH(&q->shared.memory, &q->breaks, breakpoint);
}

static void add_watched(run_request *q, const char *list)
{
    for (const char *at = list;;) {
        size_t len = strcspn(at, ",");
        VEC_PUSH(&q->shared.memory, &q->watched, copy(q, at, len));
        if (!at[len])
            return;
        at += len + 1;
    }
}

static bool is_thread_word(const char *word)
{
    return word && (strncmp(word, "block=", 6) == 0 || strncmp(word, "thread=", 7) == 0);
}

// 'block=0 thread=5' may be words of their own behind --trace and --break.
static void take_thread(struct argp_state *state, const char *first)
{
    run_request *q = state->input;
    const char *text = first;
    while (state->next < state->argc && is_thread_word(state->argv[state->next])) {
        const char *word = state->argv[state->next++];
        text = text ? arena_printf(&q->shared.memory, "%s %s", text, word) : word;
    }
    if (text && q->trace && strcmp(text, q->trace) != 0)
        argp_error(state, "one thread is watched at a time, and both '%s' and '%s' are asked for", q->trace, text);
    if (text)
        q->trace = text;
}

size_t cmd_run_name_length(const char *word)
{
    size_t len = strcspn(word, "=");
    bool is_name = word[len] && len && !(*word >= '0' && *word <= '9');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)word[i];
        is_name = is_name && (isalnum(c) || c == '_' || c >= 0x80);
    }
    return is_name ? len : 0;
}

// The file, and NAME=SPEC before or behind it.
void cmd_run_take_argument(struct argp_state *state, const char *text)
{
    run_request *q = state->input;
    size_t len = strcspn(text, "=");
    if (len && text[len] && (cmd_run_name_length(text) || !file_exists(text))) {
        run_word word = {.text = text, .value = text + len + 1};
        word.name = name_before(q, text, len, &word.is_made);
        VEC_PUSH(&q->shared.memory, &q->words, word);
        return;
    }
    if (q->shared.inputs.len)
        argp_error(state, "expected NAME=SPEC, found '%s'; one file runs at a time", text);
    VEC_PUSH(&q->shared.memory, &q->shared.inputs, text);
}

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    static const char *const devices[] = {"sim", "cuda", NULL}, *const formats[] = {"text", "json", NULL};
    run_request *q = state->input;
    const cmd_running to = {&q->seed, &q->budget, &q->gpu_seconds, &q->trap_nan, &q->contract, &q->level};
    switch (key) {
    case 'j':
        q->workers = cmd_count(state, "-j", arg, 1);
        break;
    case KEY_SCHEDULE: q->schedule = (uint64_t)cmd_number(state, "--schedule", arg, 0); break;
    case KEY_PROFILE:
        q->profile = arg && cmd_choose(state, "--profile", arg, formats) ? RUN_PROFILE_JSON : RUN_PROFILE_TEXT;
        break;
    case KEY_NO_CHECKS: q->no_checks = true; break;
    case KEY_NO_RACES:
        q->no_races = true;
        break;
    case KEY_TRACE:
        q->traces = true;
        take_thread(state, arg);
        break;
    case KEY_BREAK:
        add_break(state, arg);
        take_thread(state, NULL);
        break;
    case KEY_PRINT: add_watched(q, arg); break;
    case KEY_DEVICE: q->on_device = cmd_choose(state, "--device", arg, devices) == 1; break;
    case CMD_KEY_ENTRY:
        if (q->shared.entries.len)
            argp_error(state, "one entry runs at a time; '--entry' is given twice");
        return ARGP_ERR_UNKNOWN;
    case KEY_EXPECT: add_expectation(state, arg); break;
    case KEY_RTOL: q->rtol = tolerance(state, arg); break;
    case KEY_ATOL: q->atol = tolerance(state, arg); break;
    case KEY_PLAN: q->by_plan = true; break;
    case KEY_PRINT_IR: q->print_ir = true; break;
    case KEY_PRINT_BYTECODE: q->print_bytecode = true; break;
    case ARGP_KEY_ARG: cmd_run_take_argument(state, arg); break;
    case ARGP_KEY_END:
        if (!q->shared.inputs.len)
            argp_error(state, "no input file");
        if (q->shared.archs.len > 1)
            argp_error(state, "a run is for one architecture");
        if (q->by_plan && (q->on_device || (q->level && strcmp(q->level, "low") != 0)))
            argp_error(state, "--plan is for the simulator, and IR of the level low");
        if (q->watched.len && !q->breaks.len)
            argp_error(state, "--print chooses what --break shows, and there is no --break");
        break;
    default:
        return cmd_take_running(key, arg, state, &to);
    }
    return 0;
}

// ---- the entry --------------------------------------------------------------------------------------------------

static const char *title_of(const ir_func *f)
{
    return f->title ? f->title : f->name;
}

bool cmd_run_check_defines(run_state *r)
{
    const run_request *q = r->request;
    bool ok = true;
    for (size_t i = 0; i < q->shared.defines.len; i++) {
        const tc_define *d = &q->shared.defines.at[i];
        const char *bound = arena_printf(&r->unit.memory, "%s=True", d->name), *at = strstr(title_of(r->entry), bound);
        bool is_parameter = at && (at[-1] == '[' || at[-1] == ' ') && strchr(",]", at[strlen(bound)]);
        if (d->value || !is_parameter)
            continue;
        diag_report(&r->unit.diags, HDS0630, (src_span){0, 0}, arena_printf(&r->unit.memory, "-D %s", d->name),
                    arena_printf(&r->unit.memory, "gives the parameter no value: write -D %s=VALUE", d->name));
        r->is_usage_error = true;
        ok = false;
    }
    return ok;
}

// ---- running ----------------------------------------------------------------------------------------------------

static void print_line(void *user, str text)
{
    (void)user;
    cmd_print(text);
}

static bool is_print(const ir_stmt *s)
{
    return s->kind == IR_PRINT;
}

// Only then: kernels that print run on one thread, so that lines come in order.
static bool prints(const ir_module *m)
{
    for (size_t i = 0; i < m->funcs.len; i++) {
        if (ir_find(&m->funcs.at[i]->body, is_print))
            return true;
    }
    return false;
}

// Of this machine's memory, three quarters.
static int64_t memory_limit(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (int64_t)sysconf(_SC_PAGESIZE);
}

sim_options cmd_run_options(run_state *r)
{
    const run_request *q = r->request;
    return (sim_options){
        .seed = q->schedule,
        .workers = q->workers,
        .no_checks = q->no_checks,
        .no_races = q->no_races,
        .trap_nan = q->trap_nan,
        .contract = q->contract,
        .profile = q->profile != RUN_NO_PROFILE,
        .budget = q->budget,
        .memory_limit = memory_limit(),
        .device = r->backend,
        .host = q->by_plan ? planned_host(&r->unit.memory, r->unit.module) : NULL,
        .origins = pl_model_lines,
        .origins_user = &r->unit,
        .watch = q->traces || q->breaks.len ? cmd_run_watch(r) : NULL,
        .print = prints(r->unit.module) ? print_line : NULL,
    };
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_summary(run_state *r, const uint64_t *values, double seconds)
{
    double count = (double)sim_instructions(r->device);
    if (r->entry->kind == IR_KERNEL) {
        sim_launch_shape s = sim_shape_of(r->device, r->program, r->entry, values, (int)r->arguments.len);
        int64_t blocks = s.grid[0] * s.grid[1] * s.grid[2];
        fprintf(stderr, "%s: %lld block%s of %lld threads", title_of(r->entry), (long long)blocks, blocks == 1 ? "" : "s",
                (long long)(s.block[0] * s.block[1] * s.block[2]));
    } else {
        fprintf(stderr, "%s", title_of(r->entry));
    }
    if (r->backend)
        fprintf(stderr, ", %.3f s on the GPU, transfers included\n", seconds);
    else
        fprintf(stderr, ", %.0f thread instructions in %.3f s (%.0f million a second)\n", count, seconds,
                seconds > 0 ? count / seconds * 1e-6 : 0);
    int64_t simulated, shadow;
    sim_memory_use(r->device, &simulated, &shadow);
    fprintf(stderr, "%lld bytes of simulated memory, %lld of shadow state\n", (long long)simulated, (long long)shadow);
}

static void print_profile(run_state *r)
{
    str_buf out;
    str_buf_init(&out, &r->unit.memory);
    if (r->request->profile == RUN_PROFILE_JSON)
        sim_profile_json(sim_profile_of(r->device), &r->unit.sources, &out);
    else
        sim_profile_table(sim_profile_of(r->device), &r->unit.sources, &out);
    cmd_print((str){out.at, out.len});
}

static void print_result(run_state *r, uint64_t result)
{
    const ir_type *t = r->entry->result;
    if (!t || t->kind != IR_SCALAR)
        return;
    str_buf out;
    str_buf_init(&out, &r->unit.memory);
    uint64_t mask = dt_bits(t->scalar) < 64 ? ((uint64_t)1 << dt_bits(t->scalar)) - 1 : UINT64_MAX;
    str_addf(&out, "%s returns ", title_of(r->entry));
    ten_value_print(t->scalar, result & mask, &out);
    str_addc(&out, '\n');
    cmd_print((str){out.at, out.len});
}

uint64_t *cmd_run_call(run_state *r, uint64_t *result)
{
    uint64_t *values = ARENA_ARRAY(&r->unit.memory, uint64_t, r->arguments.len);
    for (size_t i = 0; i < r->arguments.len; i++)
        values[i] = r->arguments.at[i].value;
    r->status = sim_call(r->device, r->program, r->entry, values, (int)r->arguments.len, result);
    sim_findings_report(r->device, &r->unit.diags);
    return values;
}

static void run_entry(run_state *r)
{
    uint64_t result = 0;
    double start = seconds_now();
    const uint64_t *values = cmd_run_call(r, &result);
    double seconds = seconds_now() - start;
    cmd_run_end_watch(r);
    if (r->status != SIM_STOPPED) {
        print_result(r, result);
        cmd_run_show_results(r);
    }
    if (r->request->profile != RUN_NO_PROFILE)
        print_profile(r);
    if (r->request->shared.verbose)
        print_summary(r, values, seconds);
}

static bool print_only(run_state *r)
{
    str_buf out;
    str_buf_init(&out, &r->unit.memory);
    if (r->request->print_ir)
        ir_print(r->unit.module, &out);
    if (r->request->print_bytecode)
        sim_print(r->program, &out);
    return (r->request->print_ir || r->request->print_bytecode) && cmd_print((str){out.at, out.len});
}

static void body(pl_unit *u)
{
    run_state *r = (run_state *)u;
    const run_request *q = r->request;
    // Counts are those of the code as a GPU would get it.
    const char *level = q->level ? q->level : q->profile != RUN_NO_PROFILE || q->by_plan ? "low" : PL_SIMULATED_LEVEL;
    if (!pl_open_source(u, u->options->input) || !pl_module_for_simulation(u, level, NULL))
        return;
    const sim_translate_options how = {.mark_statements = q->traces || q->breaks.len, .index_overflow = !q->no_checks};
    r->program = sim_translate(&u->memory, u->module, &how);
    if (print_only(r) || !cmd_run_choose_entry(r))
        return;
    cmd_run_find_model(r);
    if (!cmd_run_check_defines(r) || !cmd_run_check_breaks(r) ||
        !cmd_run_bind(r) || !cmd_run_read_expected(r))
        return;
    if (q->gpu)
        r->backend = dev_cuda_attach(q->gpu, &u->memory, &u->diags);
    sim_options options = cmd_run_options(r);
    r->device = sim_new(&u->memory, &options);
    if (cmd_run_fill(r) && cmd_run_aim_watch(r)) {
        if (cmd_run_load(r))
            run_entry(r);
        else
            sim_findings_report(r->device, &u->diags);
    }
    if (u->status == PL_OK && !u->diags.shown_errors)
        pl_check_passes_after(u, level);
    sim_free(r->device);
    if (r->backend)
        dev_cuda_detach(r->backend);
}

int cmd_run_exit_code(const run_state *r)
{
    switch (r->unit.status) {
    case PL_OK:
        return CMD_OK;
    case PL_ERRORS:
        return r->is_usage_error ? CMD_USAGE : cmd_code_of_errors(&r->unit.diags);
    case PL_TOOLCHAIN:
    case PL_INTERNAL:
    case PL_NO_MEMORY:
    case PL_CANCELLED:
        break;
    }
    return CMD_INTERNAL;
}

// The type that a word says, or that the file it names has; DT_NONE: neither.
static tc_operand_type type_of_word(arena *a, run_word *w)
{
    ten_spec spec = {0};
    tc_operand_type none = {.name = w->name, .type = DT_NONE}, said = none;
    if (ten_spec_parse(a, w->value, &spec) || spec.source == TEN_NUMBER)
        return none;
    if (spec.source != TEN_FILE) {
        said.type = spec.type;
        said.has_shape = spec.has_shape;
        said.rank = spec.rank;
        said.shape = arena_dup(a, spec.shape, sizeof spec.shape);
        return said;
    }
    w->file = ten_npy_open(a, spec.path);
    const ten_tensor *t = ten_npy_type(a, w->file);
    return t ? (tc_operand_type){.name = w->name, .type = t->type, .has_shape = true, .rank = t->rank, .shape = t->shape} : none;
}

void cmd_run_find_operand_types(run_request *q)
{
    VEC(tc_operand_type) types = {0};
    for (size_t i = 0; i < q->words.len; i++) {
        tc_operand_type found = type_of_word(&q->shared.memory, &q->words.at[i]);
        if (found.type != DT_NONE)
            VEC_PUSH(&q->shared.memory, &types, found);
    }
    q->shared.options.operand_types = types.at;
    q->shared.options.operand_count = (int)types.len;
}

static int run(run_request *q)
{
    run_state r = {.request = q};
    cmd_run_find_operand_types(q);
    pl_unit_init(&r.unit, &q->shared.options, q->shared.options.archs[0], pl_now_us());
    pl_unit_run_deep(&r.unit, body);
    r.unit.memory.oom = &cmd_oom;
    if (r.unit.status == PL_NO_MEMORY)
        fprintf(stderr, "hdsc: out of memory while running '%s'\n", q->shared.options.input);
    cmd_print_diags(&r.unit.diags, &q->shared.diagnostics);
    int code = cmd_run_exit_code(&r);
    pl_unit_free(&r.unit);
    return code;
}

// The GPU's own architecture is compiled for, unless the command line says another.
static bool open_gpu(run_request *q)
{
    const char *why = NULL;
    q->gpu = dev_cuda_open(&q->shared.memory, &q->shared.options, q->gpu_seconds, &why);
    if (!q->gpu) {
        fprintf(stderr, "hdsc: cannot use '--device=cuda': %s\n", why);
        return false;
    }
    cmd_use_own_gpu(&q->shared, dev_cuda_arch(q->gpu), dev_cuda_gpu(q->gpu));
    return true;
}

int cmd_run(int argc, char **argv)
{
    run_request q = {.rtol = -1, .atol = -1, .gpu_seconds = CMD_GPU_SECONDS};
    cmd_parse_with(&q.shared, argc, argv, "FILE [NAME=SPEC...]", doc, table, take_own);
    q.shared.options.input = q.shared.inputs.at[0];
    int code = CMD_INTERNAL;
    if (!q.on_device || open_gpu(&q))
        code = run(&q);
    if (q.gpu && !dev_cuda_close(q.gpu))
        cmd_leave(code);
    cmd_arguments_free(&q.shared);
    return code;
}
