// hdsc bench: how fast a kernel, or what a host function launches, is on the GPU of this machine.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "diag/json_text.h"
#include "driver/bench.h"
#include "driver/options.h"
#include "pipeline/files.h"

enum {
    KEY_BYTES = CMD_KEY_OWN,
    KEY_FLOPS,
    KEY_PEAK,
    KEY_YARDSTICK,
    KEY_JSON,
    KEY_COMPARE,
    KEY_FAIL_BELOW,
    KEY_DEVICE,
    KEY_AGAINST,
    KEY_PYTHON
};

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What is measured:", 1},
    {"entry", CMD_KEY_ENTRY, "NAME", 0,
     "this kernel, operator, host function or instantiation: 'relu' or 'relu[f16, 1024]'", 1},
    CMD_DEFINE_OPTION("a module constant or a type parameter of the entry, as in -D BM=64 -D T=f16", 1),
    CMD_IMPORT_OPTION(1),
    CMD_WEIGHTS_OPTION(1),
    CMD_REWRITE_OPTIONS(1),
    CMD_PRECISION_OPTION(1),
    CMD_TUNED_OPTION(1),
    CMD_ARCH_OPTION("that of the GPU", 1),
    CMD_SEED_OPTION("of random inputs (default: 0)", 1),

    {NULL, 0, NULL, 0, "How:", 2},
    {"device", KEY_DEVICE, "NAME", 0, "cuda: measure (the default); sim: count what a model does, on the simulator", 2},
    CMD_METHOD_OPTION("rotate: consecutive launches that cycle through copies of the tensors larger than the L2 cache "
                      "(the default); flush: one "
                      "launch at a time, each after a write of twice the L2 cache",
                      2),
    CMD_GRAPH_OPTION(", for kernels shorter than their launch", 2),
    CMD_MEASURE_OPTIONS("row", "each row", "it", 2),

    {NULL, 0, NULL, 0, "References:", 3},
    {"bytes", KEY_BYTES, "EXPR", 0,
     "bytes moved, a formula over sizes and scalars (default: each tensor once, twice if read and written)", 3},
    {"flops", KEY_FLOPS, "EXPR", 0, "number of operations, as in --flops='2*m*n*k'", 3},
    {"peak", KEY_PEAK, "TYPE", 0,
     "compare with the GPU's rate for this type: f16, tf32, f32, … (default: by the tensors)", 3},
    {"yardstick", KEY_YARDSTICK, "NAME", 0,
     "copy: a copy of the same number of bytes, measured between the samples (the default); none", 3},

    {NULL, 0, NULL, 0, "Results:", 4},
    {"against", KEY_AGAINST, "LIST", 0,
     "of an ONNX file: run it in onnxruntime, torch, or both, with the same inputs; 'torch:MODE' is another mode of torch.compile than "
     "max-autotune, or eager",
     3},
    {"python", KEY_PYTHON, "PATH", 0, "with --against: the Python that has these (default: $HDS_PYTHON, or python3)", 3},
    {"json", KEY_JSON, "FILE", 0, "write all results to FILE ('-': standard output, instead of the table)", 4},
    {"compare", KEY_COMPARE, NULL, 0, "measure nothing; compare two files of --json row by row", 4},
    {"fail-below", KEY_FAIL_BELOW, "RATIO", 0,
     "with --compare: exit code 1 if a row's speed is below RATIO times the earlier one", 4},

    CMD_MESSAGE_OPTIONS(5),
    CMD_NVRTC_OPTION("", 5),
    CMD_MEMORY_LIMIT_OPTION(5),
    {0},
};

static const char doc[] =
    "Measure a kernel, an operator, a host function or a model on the GPU of this machine.\n"
    "\n"
    "  hdsc bench saxpy.hds --entry saxpy s=2 n=1000000,100000000\n"
    "  hdsc bench softmax.hds --entry softmax x=randn:f16[8192,4096]\n"
    "  hdsc bench matmul.hds --entry 'matmul[f16]' m=4096 n=4096 k=1024,4096 --flops='2*m*n*k' --json=now.json\n"
    "  hdsc bench mlp.hds --weights=random -D B=64\n"
    "  hdsc bench mlp.hds --weights=random -D B=64 --device=sim\n"
    "  hdsc bench resnet50.onnx --precision=f16 --against=onnxruntime,torch\n"
    "  hdsc bench --compare before.json now.json --fail-below=0.97\n"
    "\v"
    "NAME=VALUE sets a size or a scalar; several values, as in n=1024,2048, make a row each. Tensors get random "
    "numbers "
    "unless NAME=SPEC is given, as in hdsc run. Times are medians of device events. Ctrl-C shows the rows that are "
    "done.\n"
    "Exit code: 0 success; 1 the file has errors, or --compare finds it slower; 2 the command line is wrong; 3 there "
    "is "
    "no GPU or no NVRTC.";

// ---- the command line -------------------------------------------------------------------------------------------

static void take_argument(struct argp_state *state, const char *text)
{
    bench_request *q = state->input;
    arena *a = &q->run.shared.memory;
    size_t len = q->compares ? 0 : cmd_run_name_length(text);
    if (len) {
        run_word word = {.text = text, .name = arena_strndup(a, text, len), .value = text + len + 1};
        VEC_PUSH(a, &q->run.words, word);
        return;
    }
    VEC_PUSH(a, &q->run.shared.inputs, text);
}

static void check_arguments(struct argp_state *state)
{
    const bench_request *q = state->input;
    size_t count = q->run.shared.inputs.len;
    if (q->compares && (count != 2 || q->run.words.len))
        argp_error(state, "--compare takes two files of --json");
    if (!q->compares && !count)
        argp_error(state, "no input file");
    if (!q->compares && count > 1)
        argp_error(state, "expected NAME=SPEC, found '%s'; one file is measured at a time", q->run.shared.inputs.at[1]);
    if (q->fail_below > 0 && !q->compares)
        argp_error(state, "--fail-below is for --compare");
    if (q->run.shared.archs.len > 1)
        argp_error(state, "a measurement is for one architecture");
    const char *why = q->compares ? NULL : cmd_bench_check_against(q);
    if (why)
        argp_error(state, "%s", why);
}

static void set_peak(struct argp_state *state, const char *name)
{
    bench_request *q = state->input;
    if (!dt_find(str_of(name), &q->measure.peak_type))
        argp_error(state, "unknown type '%s'; expected f16, bf16, tf32, f32, f64, f8e4m3, i8 or i4", name);
}

// An empty list has one name, which is empty and refused as any other that is unknown.
static void take_against(bench_request *q, const char *list)
{
    arena *a = &q->run.shared.memory;
    const char *at = list;
    do {
        size_t len = strcspn(at, ",");
        VEC_PUSH(a, &q->against, arena_strndup(a, at, len));
        at += len + (at[len] == ',');
    } while (*at);
}

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    static const char *const yardsticks[] = {"none", "copy", NULL};
    static const char *const devices[] = {"cuda", "sim", NULL};
    bench_request *q = state->input;
    switch (key) {
    case KEY_DEVICE: q->on_simulator = cmd_choose(state, "--device", arg, devices) == 1; break;
    case KEY_BYTES: q->measure.bytes = arg; break;
    case KEY_FLOPS: q->measure.flops = arg; break;
    case KEY_PEAK: set_peak(state, arg); break;
    case KEY_YARDSTICK: q->measure.yardstick = cmd_choose(state, "--yardstick", arg, yardsticks) == 1; break;
    case KEY_JSON: q->json = arg; break;
    case KEY_AGAINST: take_against(q, arg); break;
    case KEY_PYTHON: q->python = arg; break;
    case KEY_COMPARE: q->compares = true; break;
    case KEY_FAIL_BELOW: q->fail_below = cmd_non_negative(state, "--fail-below", arg); break;
    case CMD_KEY_ENTRY:
        if (q->run.shared.entries.len)
            argp_error(state, "one entry is measured at a time; '--entry' is given twice");
        return ARGP_ERR_UNKNOWN;
    case CMD_KEY_SEED:
        return cmd_take_running(key, arg, state, &(cmd_running){.seed = &q->run.seed});
    case ARGP_KEY_ARG: take_argument(state, arg); break;
    case ARGP_KEY_END: check_arguments(state); break;
    default:
        return cmd_take_measuring(key, arg, state, &q->measure);
    }
    return 0;
}

// ---- Ctrl-C -----------------------------------------------------------------------------------------------------

static volatile sig_atomic_t is_interrupted;

static void interrupted(int number)
{
    (void)number;
    is_interrupted = 1;
}

// The second time it ends the program at once.
static void catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = interrupted, .sa_flags = (int)SA_RESETHAND}, old;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
}

static bool stopped(void *user)
{
    (void)user;
    return is_interrupted;
}

// ---- progress ---------------------------------------------------------------------------------------------------

// One line of the terminal, written over and over.
static void progress(void *user, const char *text)
{
    (void)user;
    int width = cmd_terminal_width(STDERR_FILENO);
    fprintf(stderr, "\r\033[K%.*s", width > 1 ? width - 1 : 79, text);
    fflush(stderr);
}

static void end_progress(const bench_request *q)
{
    if (q->measure.progress) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

// ---- measuring --------------------------------------------------------------------------------------------------

static bool load(bench_state *b)
{
    const ir_func *f = b->run.entry;
    if (f->kind == IR_HOST_FUNC)
        return cmd_bench_host_open(b);
    return ms_load(b->request->session, f->title ? f->title : f->name, cmd_bench_peak_type(b));
}

static bool measure_rows(bench_state *b, const bench_plan *plan)
{
    for (int i = 0; i < plan->row_count; i++) {
        ms_size *sizes;
        ms_argument *arguments;
        int size_count;
        if (!cmd_bench_row(b, plan, i, &sizes, &size_count, &arguments) || (i == 0 && !load(b)))
            return false;
        bench_run run = b->run.model ? cmd_bench_run_of(b) : (bench_run){0};
        bool ok = b->gpu ? cmd_bench_host_row(b, sizes, size_count, arguments, b->run.model ? &run : NULL)
                         : ms_measure(b->request->session, sizes, size_count, arguments, (int)b->run.arguments.len, NULL);
        if (ok && b->request->against.len)
            ok = cmd_bench_compete(b, plan, i, &run);
        if (!ok)
            return false;
        if (b->run.model)
            VEC_PUSH(&b->run.unit.memory, &b->runs, run);
    }
    return true;
}

static bool count_rows(bench_state *b, const bench_plan *plan)
{
    if (b->run.model)
        return cmd_bench_simulate(b, plan);
    diag *d = diag_report(&b->run.unit.diags, HDS0630, (src_span){0, 0}, "--device=sim", "counts what a model does");
    diag_help(d, "'hdsc run --profile' counts for kernels and operators");
    b->run.is_usage_error = true;
    return false;
}

static void body(pl_unit *u)
{
    bench_state *b = (bench_state *)u;
    bench_plan plan;
    bool counts = b->request->on_simulator;
    if (!counts)
        ms_move(b->request->session, &u->memory, &u->diags);
    // Counts are those of the code as a GPU would get it.
    if (!pl_open_source(u, u->options->input) || !pl_module_for_simulation(u, counts ? "low" : PL_SIMULATED_LEVEL, NULL) ||
        !cmd_run_choose_entry(&b->run))
        return;
    cmd_run_find_model(&b->run);
    if (!cmd_run_check_defines(&b->run) || !cmd_bench_plan(b, &plan))
        return;
    if (counts) {
        const sim_translate_options how = {.index_overflow = true};
        b->run.program = sim_translate(&u->memory, u->module, &how);
    }
    b->is_done = counts ? count_rows(b, &plan) : measure_rows(b, &plan);
    if (b->gpu)
        dev_cuda_close(b->gpu);
}

// ---- results ----------------------------------------------------------------------------------------------------

// What was counted has no machine and no rows.
static void add_document(const bench_state *b, const ms_record *record, str_buf *out)
{
    json_t *document = record ? ms_report_document(record) : json_pack("{s:s, s:i, s:s}", "format", "hdsc bench", "version", 2, "compiler",
                                                                       "hdsc " HDS_VERSION);
    if (b->runs.len)
        json_object_set_new(document, "model", cmd_bench_model_json(b));
    diag_add_json(out, document, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

static bool write_results(bench_state *b)
{
    const bench_request *q = b->request;
    const ms_record *record = q->session ? ms_record_of(q->session) : NULL;
    str_buf text, json;
    str_buf_init(&text, &b->run.unit.memory);
    str_buf_init(&json, &b->run.unit.memory);
    if (b->run.model)
        cmd_bench_model_text(b, &text);
    else if (record)
        ms_report_text(record, &text);
    bool is_stdout = q->json && strcmp(q->json, "-") == 0, ok = is_stdout || cmd_print((str){text.at, text.len});
    if (!q->json || !(b->runs.len || (record && record->rows.len)))
        return ok;
    const char *error;
    add_document(b, record, &json);
    if (is_stdout)
        return cmd_print((str){json.at, json.len}) && ok;
    if (file_write(&b->run.unit.memory, q->json, (str){json.at, json.len}, &error))
        return ok;
    diag_report(&b->run.unit.diags, HDS0494, (src_span){0, 0}, q->json, error);
    return false;
}

// What the machine cannot do is no error of the source.
static bool is_about_machine(const diag_context *dx)
{
    for (size_t i = 0; i < dx->all.len; i++) {
        diag_code code = dx->all.at[i]->code;
        if (dx->all.at[i]->severity == DIAG_ERROR && code != HDS0647 && code != HDS0648 && code != HDS0750 && code != HDS0753)
            return false;
    }
    return dx->shown_errors > 0;
}

static int exit_code(const bench_state *b, bool is_written)
{
    if (b->run.unit.status == PL_OK && is_interrupted)
        return CMD_INTERRUPTED;
    if (b->run.unit.status == PL_OK && !b->run.unit.diags.shown_errors)
        return is_written && b->is_done ? CMD_OK : CMD_ERRORS;
    if (b->run.unit.status != PL_OK && b->run.unit.status != PL_ERRORS)
        return CMD_INTERNAL;
    if (is_about_machine(&b->run.unit.diags))
        return CMD_INTERNAL;
    return b->run.is_usage_error ? CMD_USAGE : cmd_code_of_errors(&b->run.unit.diags);
}

static int measure(bench_request *q)
{
    bench_state b = {.run = {.request = &q->run}, .request = q};
    pl_unit *u = &b.run.unit;
    pl_unit_init(u, &q->run.shared.options, q->run.shared.options.archs[0], pl_now_us());
    catch_interrupt();
    pl_unit_run_deep(u, body);
    u->memory.oom = &cmd_oom;
    end_progress(q);
    if (u->status == PL_NO_MEMORY)
        fprintf(stderr, "hdsc: out of memory while measuring '%s'\n", q->run.shared.options.input);
    bool is_written = u->status == PL_NO_MEMORY || write_results(&b);
    cmd_print_diags(&u->diags, &q->run.shared.diagnostics);
    int code = exit_code(&b, is_written);
    pl_unit_free(u);
    return code;
}

// ---- without a source file --------------------------------------------------------------------------------------

typedef struct bare {
    src_map sources;
    diag_context diags;
} bare;

static bare *new_bare(bench_request *q)
{
    arena *a = &q->run.shared.memory;
    bare *b = ARENA_NEW(a, bare);
    src_map_init(&b->sources, a);
    diag_init(&b->diags, a, &b->sources);
    return b;
}

static int compare(bench_request *q)
{
    bare *b = new_bare(q);
    str_buf out;
    ms_comparison result;
    str_buf_init(&out, &q->run.shared.memory);
    bool ok = ms_compare(&q->run.shared.memory, &b->diags, q->run.shared.inputs.at[0], q->run.shared.inputs.at[1], q->fail_below,
                         &out, &result);
    ok = (!out.len || cmd_print((str){out.at, out.len})) && ok;
    cmd_print_diags(&b->diags, &q->run.shared.diagnostics);
    if (!ok)
        return CMD_USAGE;
    return result.failed ? CMD_ERRORS : CMD_OK;
}

// The GPU's own architecture is compiled for, unless the command line says another.
static bool open_gpu(bench_request *q)
{
    const cmd_arguments *shared = &q->run.shared;
    arena *a = &q->run.shared.memory;
    bare *b = new_bare(q);
    const char **defines = ARENA_ARRAY(a, const char *, shared->defines.len + 1);
    for (size_t i = 0; i < shared->defines.len; i++) {
        const tc_define *d = &shared->defines.at[i];
        defines[i] = d->value ? arena_printf(a, "%s=%s", d->name, d->value) : d->name;
    }
    ms_options *m = &q->measure;
    m->source = shared->options.input;
    m->defines = defines;
    m->define_count = (int)shared->defines.len;
    m->entries = shared->options.entries;
    m->entry_count = shared->options.entry_count;
    m->include_folders = shared->options.include_folders;
    m->include_count = shared->options.include_count;
    m->nvrtc = shared->options.nvrtc_path;
    m->arch = shared->has_arch || shared->has_gpu ? shared->options.archs[0] : NULL;
    m->gpu = shared->has_gpu ? shared->options.gpus[0]->name : NULL;
    m->sm_count = shared->sm_count;
    if (!ms_open(a, &b->diags, m, &q->session)) {
        cmd_print_diags(&b->diags, &shared->diagnostics);
        return false;
    }
    const ms_machine *machine = &ms_record_of(q->session)->machine;
    cmd_use_own_gpu(&q->run.shared, machine->arch, ms_gpu_of(a, machine));
    return true;
}

static bool check_output(bench_request *q)
{
    bare *b = new_bare(q);
    const pl_file results = {.path = q->json, .what = "the results"};
    const char *input = q->run.shared.options.input;
    bool ok = !q->json || pl_files_check(&b->diags, &results, 1, &input, 1);
    cmd_print_diags(&b->diags, &q->run.shared.diagnostics);
    return ok;
}

static int bench(bench_request *q)
{
    if (q->compares)
        return compare(q);
    if (!check_output(q))
        return CMD_USAGE;
    const char *why = q->json && strcmp(q->json, "-") != 0 ? cmd_cannot_write(&q->run.shared.memory, q->json) : NULL;
    if (why) {
        fprintf(stderr, "hdsc: cannot write '%s': %s\n", q->json, why);
        return CMD_USAGE;
    }
    if (!q->on_simulator && !open_gpu(q))
        return CMD_INTERNAL;
    int code = measure(q);
    if (q->session && !ms_close(q->session))
        cmd_leave(code);
    return code;
}

int cmd_bench(int argc, char **argv)
{
    bench_request q = {
        .run = {.rtol = -1, .atol = -1},
        .measure = {.min_seconds = 0.3, .warm_up_seconds = 0.1, .samples = 25, .yardstick = true, .gpu_seconds = CMD_GPU_SECONDS,
                    .stopped = stopped},
    };
    q.measure.argc = argc;
    q.measure.argv = (const char *const *)argv;
    cmd_parse_with(&q.run.shared, argc, argv, "FILE [NAME=SPEC...]\n--compare BEFORE NOW", doc, table, take_own);
    q.run.shared.options.input = q.run.shared.inputs.at[0];
    q.measure.progress = isatty(STDERR_FILENO) ? progress : NULL;
    int code = bench(&q);
    cmd_arguments_free(&q.run.shared);
    return code;
}
