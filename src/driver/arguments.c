#include "driver/arguments.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "device/device.h"
#include "driver/cmd.h"
#include "driver/depfile.h"
#include "driver/options.h"
#include "graph/graph.h"
#include "graph/precision.h"
#include "ir/pass.h"
#include "pipeline/weights.h"
#include "tensor/spec.h"

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "Output:", 1},
    {NULL, 'o', "FILE", 0,
     "write to FILE; its extension selects the kind: .o .a .so .c (to call from C), .ptx .cubin .fatbin .cu .json "
     ".hir .hds; '-' is "
     "standard output",
     1},
    {"header", 'h', "FILE", 0,
     "write the C header to FILE (default for .o .a .so .c: beside the output); alone, write nothing else", 1},
    {"emit", CMD_KEY_EMIT, "KIND", 0,
     "ptx (the default), cubin, fatbin, object, archive, shared, c, cu, json (the kernels' interface), hds (the program of "
     "graphs), graph (the graph "
     "function and the weights that an ONNX file is), hir, ast or tokens, beside the input unless -o",
     1},
    {"arch", CMD_KEY_ARCH, "LIST", 0,
     "architectures, as in sm_80,sm_90a (default: sm_80); several go into one .fatbin, .o, .a, .so or .c",
     1},
    {"gpu", CMD_KEY_GPU, "LIST", 0,
     "GPUs instead, as in a100,h200: schedules are chosen for them; 'native' is this machine's, here and for --arch", 1},
    {"sms", CMD_KEY_SMS, "N", 0, "choose schedules for GPUs with N SMs (default: those of the GPU, or of a usual one)", 1},
    {"prefix", CMD_KEY_PREFIX, "NAME", 0, "put NAME before the names of the functions in C", 1},
    {"entry", CMD_KEY_ENTRY, "NAME", 0,
     "compile this kernel or instantiation only: 'relu' or 'relu[f16, 1024]'; repeatable (default: the whole file)", 1},
    CMD_DEFINE_OPTION("a module constant or a type parameter of an entry, as in -D BM=64 -D T=f16", 1),
    CMD_IMPORT_OPTION(1),
    CMD_WEIGHTS_OPTION(1),
    {"embed-weights", CMD_KEY_EMBED_WEIGHTS, NULL, 0, "put the weights of models into the .o, .a or .so", 1},
    CMD_REWRITE_OPTIONS(1),
    CMD_PRECISION_OPTION(1),
    CMD_TUNED_OPTION(1),

    {NULL, 0, NULL, 0, "Builds:", 2},
    {"jobs", 'j', "N", 0, "compile N inputs in parallel (default: one for each core)", 2},
    {"-MD", 0, NULL, OPTION_DOC,
     "write the dependencies of the output as a rule for make and ninja, into a .d file beside it", 2},
    {"-MF FILE", 0, NULL, OPTION_DOC, "the same, into FILE", 2},
    {"-MT TARGET", 0, NULL, OPTION_DOC, "the target of the rule (default: the output); repeatable. -MQ escapes it", 2},
    {"-MP", 0, NULL, OPTION_DOC, "an empty rule for each imported file", 2},
    {"-M", 0, NULL, OPTION_DOC, "print the rule and write nothing else", 2},
    {NULL, 'M', "", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 2},
    {"manifest", CMD_KEY_MANIFEST, "FILE", 0, "write inputs, outputs and options of the compilation to FILE, as JSON",
     2},
    {"cc", CMD_KEY_CC, "COMMAND", 0, "the C compiler (default: $CC, else cc, gcc or clang)", 2},

    CMD_MESSAGE_OPTIONS(3),
    {"error-limit", CMD_KEY_ERROR_LIMIT, "N", 0, "stop after N errors (default: 20; 0: never)", 3},
    {"verbose", 'v', NULL, 0, "print the version, the architectures and the path of NVRTC", 3},

    {NULL, 0, NULL, 0, "Performance:", 4},
    {"resource-usage", CMD_KEY_RESOURCE_USAGE, NULL, 0,
     "table of registers, spills, shared memory and occupancy by kernel", 4},
    {"lineinfo", CMD_KEY_LINEINFO, NULL, 0, "keep source line information in the code, for profilers", 4},
    {NULL, 'G', NULL, 0, "compile for the debugger (slow code)", 4},
    {"time-report", CMD_KEY_TIME_REPORT, NULL, 0, "table of the time and memory of stages and passes", 4},
    {"time-trace", CMD_KEY_TIME_TRACE, "FILE", 0, "the same as a trace for chrome://tracing or Perfetto", 4},

    {NULL, 0, NULL, 0, "The CUDA compiler:", 5},
    CMD_NVRTC_OPTION("", 5),
    {"nvrtc-option", CMD_KEY_NVRTC_OPTION, "OPTION", 0, "pass OPTION on to NVRTC; repeatable", 5},
    {"no-cache", CMD_KEY_NO_CACHE, NULL, 0, "neither read nor write the code cache ('hdsc help cache')", 5},
    CMD_CACHE_OPTION(5),
    {"no-line", CMD_KEY_NO_LINE, NULL, 0, "write no #line directives into the CUDA text", 5},

    {NULL, 0, NULL, 0, "For work on the compiler:", 6},
    {"dump", CMD_KEY_DUMP, "STAGE", 0,
     "print tokens, ast, hir, plan, cu, the IR after a pass, or all, or a model's graph after a pass over it, as in "
     "graph:simplify; then only -o writes output", 6},
    {"passes", CMD_KEY_PASSES, "LIST", 0, "run these passes only and print the IR (input: .hds or .hir)", 6},
    CMD_VERIFY_OPTION(6),
    CMD_STEP_BUDGET_OPTION(6),
    CMD_STDLIB_OPTION(6),
    CMD_MEMORY_LIMIT_OPTION(6),
    {"list", CMD_KEY_LIST, "WHAT", OPTION_HIDDEN, NULL, 6},
    {0},
};

// ---- lists of words ---------------------------------------------------------------------------------------------

static void list_groups(str_buf *out)
{
    for (int code = DIAG_NONE + 1; code < DIAG__COUNT; code++) {
        const char *group = diag_group((diag_code)code);
        bool seen = false;
        for (int earlier = DIAG_NONE + 1; earlier < code && !seen; earlier++)
            seen = strcmp(diag_group((diag_code)earlier), group) == 0;
        if (*group && !seen)
            str_addf(out, "%s\n", group);
    }
}

static void list_passes(str_buf *out)
{
    for (int i = 0; ir_pass_at(i); i++) {
        const char *name = ir_pass_at(i)->name;
        bool seen = false;
        for (int earlier = 0; earlier < i && !seen; earlier++)
            seen = strcmp(ir_pass_at(earlier)->name, name) == 0;
        if (!seen)
            str_addf(out, "%s\n", name);
    }
}

bool cmd_list(const char *name, str_buf *out)
{
    if (strcmp(name, "archs") == 0) {
        for (int i = 0; arch_at(i); i++)
            str_addf(out, "%s\n", arch_at(i)->name);
    } else if (strcmp(name, "gpus") == 0) {
        for (int i = 0; gpu_at(i); i++)
            str_addf(out, "%s\n", gpu_at(i)->name);
    } else if (strcmp(name, "kinds") == 0) {
        for (int kind = PL_TOKENS; kind < PL_KIND__COUNT; kind++)
            str_addf(out, "%s\n", pl_kind_name((pl_kind)kind));
    } else if (strcmp(name, "codes") == 0) {
        for (int code = DIAG_NONE + 1; code < DIAG__COUNT; code++)
            str_addf(out, "%s\n", diag_name((diag_code)code));
    } else if (strcmp(name, "warnings") == 0) {
        list_groups(out);
    } else if (strcmp(name, "passes") == 0) {
        list_passes(out);
    } else {
        return false;
    }
    return true;
}

// "a, b, c" of the lines of a list; for messages.
static const char *words_of(arena *a, const char *list)
{
    str_buf lines, words;
    str_buf_init(&lines, a);
    str_buf_init(&words, a);
    cmd_list(list, &lines);
    for (size_t i = 0; i + 1 < lines.len; i++)
        str_adds(&words, lines.at[i] == '\n' ? ", " : (char[]){lines.at[i], 0});
    return str_text(&words);
}

static bool is_listed(arena *a, const char *list, const char *word)
{
    str_buf lines;
    str_buf_init(&lines, a);
    str_addc(&lines, '\n');
    cmd_list(list, &lines);
    return strstr(str_text(&lines), arena_printf(a, "\n%s\n", word)) != NULL;
}

// ---- single options ---------------------------------------------------------------------------------------------

// A whole number as the language writes it, or with an exponent: "1000", "1_000", "0x10", "1e9".
static bool read_number(arena *a, const char *text, long *out)
{
    uint64_t bits = 0;
    if (!ten_number_parse(a, text, DT_I64, &bits)) {
        *out = (long)bits;
        return true;
    }
    if (!strpbrk(text, ".eE") || ten_number_parse(a, text, DT_F64, &bits))
        return false;
    double value = dt_to_double(DT_F64, bits);
    if (!(fabs(value) < 0x1p62) || value != floor(value))
        return false;
    *out = (long)value;
    return true;
}

long cmd_number(struct argp_state *state, const char *option, const char *text, long least)
{
    cmd_arguments *args = state->input;
    long value = 0;
    if (!read_number(&args->memory, text, &value) || value < least)
        argp_error(state, "%s takes a number of at least %ld, not '%s'", option, least, text);
    return value;
}

double cmd_non_negative(struct argp_state *state, const char *option, const char *text)
{
    cmd_arguments *args = state->input;
    uint64_t bits;
    const char *why = ten_number_parse(&args->memory, text, DT_F64, &bits);
    double value = why ? -1 : dt_to_double(DT_F64, bits);
    if (!(value >= 0 && value < 1e6))
        argp_error(state, "%s takes a non-negative number, not '%s'", option, text);
    return value;
}

int cmd_count(struct argp_state *state, const char *option, const char *text, int least)
{
    long value = cmd_number(state, option, text, least);
    if (value > INT_MAX)
        argp_error(state, "%s takes a number from %d to %d, not '%s'", option, least, INT_MAX, text);
    return (int)value;
}

static const gpu_model *native_gpu(struct argp_state *state, cmd_arguments *args, const char *option, const char *example)
{
    const char *why = NULL;
    const gpu_model *found = dev_native_gpu(&args->memory, &why);
    if (!found)
        argp_error(state, "cannot use '%s=native': %s; %s", option, why, example);
    return found;
}

// [a] once; [g] NULL: its usual GPU.
static void add_target_gpu(struct argp_state *state, cmd_arguments *args, const arch *a, const gpu_model *g)
{
    for (size_t i = 0; i < args->archs.len; i++) {
        if (args->archs.at[i] != a)
            continue;
        if (g && args->gpus.at[i] != g)
            argp_error(state, "'%s' and '%s' are both %s, and output has one code for it", args->gpus.at[i]->name, g->name, a->name);
        return;
    }
    VEC_PUSH(&args->memory, &args->archs, a);
    VEC_PUSH(&args->memory, &args->gpus, g ? g : gpu_of_arch(a));
}

static void add_arch(struct argp_state *state, cmd_arguments *args, const char *name)
{
    const gpu_model *own = NULL;
    if (strcmp(name, "native") == 0)
        own = native_gpu(state, args, "--arch", "name the architecture, as in --arch=sm_90");
    const arch *found = arch_find(str_of(own ? own->arch : name));
    if (!found)
        argp_error(state, "unknown architecture '%s'; expected one of %s or native", name,
                   words_of(&args->memory, "archs"));
    else
        add_target_gpu(state, args, found, own);
    args->has_arch = true;
}

static void add_gpu(struct argp_state *state, cmd_arguments *args, const char *name)
{
    bool is_native = strcmp(name, "native") == 0;
    const gpu_model *found = is_native ? native_gpu(state, args, "--gpu", "name it, as in --gpu=h200") : gpu_find(str_of(name));
    if (!found)
        argp_error(state, "unknown GPU '%s'; expected one of %s or native; of others give --arch and --sms", name,
                   words_of(&args->memory, "gpus"));
    else
        add_target_gpu(state, args, arch_find(str_of(found->arch)), found);
    args->has_gpu = true;
}

// Calls [add] for each word of "a,b,c".
static void split(struct argp_state *state, cmd_arguments *args, const char *list,
                  void (*add)(struct argp_state *, cmd_arguments *, const char *))
{
    for (const char *at = list;;) {
        size_t len = strcspn(at, ",");
        add(state, args, arena_strndup(&args->memory, at, len));
        if (!at[len])
            return;
        at += len + 1;
    }
}

static void add_pass(struct argp_state *state, cmd_arguments *args, const char *name)
{
    if (!ir_pass_find(name))
        argp_error(state, "unknown pass '%s'; expected one of %s", name, words_of(&args->memory, "passes"));
    VEC_PUSH(&args->memory, &args->passes, name);
}

static void add_define(struct argp_state *state, cmd_arguments *args, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    if (!len || (equals && !equals[1]))
        argp_error(state, "-D takes NAME=VALUE, not '%s'", text);
    tc_define define = {arena_strndup(&args->memory, text, len), equals ? equals + 1 : NULL};
    VEC_PUSH(&args->memory, &args->defines, define);
}

static void add_warning(struct argp_state *state, cmd_arguments *args, const char *flag)
{
    if (strcmp(flag, "error") == 0) {
        args->options.warnings_are_errors = true;
        return;
    }
    const char *group = strncmp(flag, "no-", 3) == 0 ? flag + 3 : flag;
    if (!is_listed(&args->memory, "warnings", group))
        argp_error(state, "unknown warning group '%s'; expected one of error, %s", group,
                   words_of(&args->memory, "warnings"));
    VEC_PUSH(&args->memory, &args->warnings, flag);
}

static void set_dump(struct argp_state *state, cmd_arguments *args, const char *stage)
{
    static const char *const stages[] = {"all", "tokens", "ast", "hir", "plan", "cu"};
    bool known = ir_pass_find(stage) != NULL;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        known = known || strcmp(stages[i], stage) == 0;
    known = known || (strncmp(stage, "graph:", 6) == 0 && fg_pass_find(stage + 6));
    if (!known)
        argp_error(state, "unknown stage '%s'; expected one of all, tokens, ast, graph:PASS, hir, plan, cu, %s", stage,
                   words_of(&args->memory, "passes"));
    args->options.dump = stage;
}

static void set_emit(struct argp_state *state, cmd_arguments *args, const char *kind)
{
    if (!pl_kind_find(kind, &args->options.emit))
        argp_error(state, "unknown kind '%s'; expected one of %s", kind, words_of(&args->memory, "kinds"));
    args->has_emit = true;
}

int cmd_choose(struct argp_state *state, const char *option, const char *word, const char *const *choices)
{
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], word) == 0)
            return i;
    }
    str_buf known;
    arena memory;
    arena_init(&memory, &cmd_oom);
    str_buf_init(&known, &memory);
    for (int i = 0; choices[i]; i++)
        str_addf(&known, "%s%s", !i ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
    argp_error(state, "%s does not know '%s'; expected %s", option, word, str_text(&known));
    arena_free(&memory);
    return 0;
}

static void add_target(cmd_arguments *args, const char *target)
{
    VEC_PUSH(&args->memory, &args->depfile.targets, target);
}

// [arg] is what follows -M in the same word: "", "D", "F", "Fdep.d" … gcc(1), "Options Controlling the Preprocessor". Files of
// the system, which -MM and -MMD leave out, are those of the built-in library: never listed.
static void take_depfile(struct argp_state *state, cmd_arguments *args, const char *arg)
{
    cmd_depfile *d = &args->depfile;
    const char *letter = *arg == 'M' ? arg + 1 : arg, *value = *letter ? letter + 1 : "";
    bool takes_value = *letter && strchr("FTQ", *letter);
    d->is_wanted = true;
    if (takes_value && !*value) {
        if (state->next >= state->argc)
            argp_error(state, "-M%c takes a word", *letter);
        value = state->argv[state->next++];
    }
    if (!*letter)
        d->only = true;
    else if (*letter == 'F')
        d->path = value;
    else if (*letter == 'T')
        add_target(args, value);
    else if (*letter == 'Q')
        add_target(args, cmd_depfile_name(&args->memory, value));
    else if (strcmp(letter, "P") == 0)
        d->phony = true;
    else if (strcmp(letter, "D") != 0)
        argp_error(state, "there is no option '-M%s'; expected -M, -MD, -MF, -MT, -MQ or -MP", arg);
}

static void check_prefix(struct argp_state *state, const char *prefix)
{
    bool is_name = *prefix && !(*prefix >= '0' && *prefix <= '9');
    for (const char *c = prefix; *c; c++)
        is_name = is_name && ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_');
    if (!is_name)
        argp_error(state, "--prefix takes the beginning of a C name, not '%s'", prefix);
}

// It stands in the C text's #include.
static void check_header(struct argp_state *state, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!*name || strpbrk(name, "\"\\\n"))
        argp_error(state, "-h takes the name of a file that C can include, not '%s'", path);
}

// 'random:x' would be looked for as a file.
static void set_weights(struct argp_state *state, pl_options *o, const char *text)
{
    uint64_t seed;
    if (strncmp(text, "random:", 7) == 0 && !pl_weights_are_random(text, &seed))
        argp_error(state, "--weights=random:SEED takes a number from 0 on, not '%s'", text + 7);
    o->weights = text;
}

static void set_precision(struct argp_state *state, cmd_arguments *args, const char *text)
{
    const char *error = NULL;
    if (!fg_read_precisions(&args->memory, &error, text))
        argp_error(state, "--precision: %s", error);
    args->options.precision = text;
}

// A file, or "none".
static void add_rewrites(struct argp_state *state, cmd_arguments *args, const char *text)
{
    if (strcmp(text, "none") == 0)
        args->options.no_rewrites = true;
    else if (str_ends(str_of(text), STR(".hds")))
        VEC_PUSH(&args->memory, &args->rewrite_files, text);
    else
        argp_error(state, "--rewrites takes a .hds file, or none; '%s' is neither", text);
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    static const char *const colors[] = {"auto", "always", "never", NULL};
    static const char *const formats[] = {"text", "json", NULL};
    static const char *const layouts[] = {"auto", "keep", "last", NULL};
    cmd_arguments *args = state->input;
    pl_options *o = &args->options;
    switch (key) {
    case 'o': args->output = arg; break;
    case 'D': add_define(state, args, arg); break;
    case 'I': VEC_PUSH(&args->memory, &args->include_folders, arg); break;
    case 'W': add_warning(state, args, arg); break;
    case 'G': o->device_debug = true; break;
    case 'v': args->verbose = true; break;
    case 'h': check_header(state, arg); args->header = arg; break;
    case 'j': args->jobs = cmd_count(state, "-j", arg, 1); break;
    case 'M': take_depfile(state, args, arg ? arg : ""); break;
    case CMD_KEY_PREFIX: check_prefix(state, arg); o->prefix = arg; break;
    case CMD_KEY_CC: o->cc = arg; break;
    case CMD_KEY_MANIFEST: args->manifest = arg; break;
    case CMD_KEY_EMIT: set_emit(state, args, arg); break;
    case CMD_KEY_ARCH: split(state, args, arg, add_arch); break;
    case CMD_KEY_GPU: split(state, args, arg, add_gpu); break;
    case CMD_KEY_SMS: args->sm_count = cmd_count(state, "--sms", arg, 1); break;
    case CMD_KEY_ENTRY: VEC_PUSH(&args->memory, &args->entries, arg); break;
    case CMD_KEY_DUMP: set_dump(state, args, arg); break;
    case CMD_KEY_PASSES: split(state, args, arg, add_pass); break;
    case CMD_KEY_VERIFY: o->verify_ir = true; break;
    case CMD_KEY_DIAGNOSTICS: args->diagnostics.json = cmd_choose(state, "--diagnostics", arg, formats) == 1; break;
    case CMD_KEY_COLOR: args->diagnostics.color = (cmd_color)cmd_choose(state, "--color", arg, colors); break;
    case CMD_KEY_ERROR_LIMIT: o->error_limit = cmd_count(state, "--error-limit", arg, 0); break;
    case CMD_KEY_RESOURCE_USAGE: o->resource_usage = true; break;
    case CMD_KEY_TIME_REPORT: args->time_report = true; break;
    case CMD_KEY_TIME_TRACE: args->time_trace = arg; break;
    case CMD_KEY_NVRTC: o->nvrtc_path = arg; break;
    case CMD_KEY_NVRTC_OPTION: VEC_PUSH(&args->memory, &args->nvrtc_options, arg); break;
    case CMD_KEY_LINEINFO: o->line_info = true; break;
    case CMD_KEY_NO_CACHE: args->no_cache = true; break;
    case CMD_KEY_CACHE_DIR: args->cache_dir = arg; break;
    case CMD_KEY_NO_LINE: o->no_line = true; break;
    case CMD_KEY_STEP_BUDGET: o->step_budget = cmd_number(state, "--step-budget", arg, 1); break;
    case CMD_KEY_STDLIB: o->stdlib_folder = arg; break;
    case CMD_KEY_TUNED: o->tuned = arg; break;
    case CMD_KEY_WEIGHTS: set_weights(state, o, arg); break;
    case CMD_KEY_EMBED_WEIGHTS: o->embeds_weights = true; break;
    case CMD_KEY_MEMORY_LIMIT: o->memory_limit_bytes = (size_t)cmd_count(state, "--memory-limit", arg, 1) << 20; break;
    case CMD_KEY_PRECISION: set_precision(state, args, arg); break;
    case CMD_KEY_LAYOUT: cmd_choose(state, "--layout", arg, layouts), o->layout = arg; break;
    case CMD_KEY_REWRITES: add_rewrites(state, args, arg); break;
    case CMD_KEY_REWRITE: VEC_PUSH(&args->memory, &args->rewrites, arg); break;
    case CMD_KEY_LIST: args->list = arg; break;
    case ARGP_KEY_ARG: VEC_PUSH(&args->memory, &args->inputs, arg); break;
    case ARGP_KEY_SUCCESS:
        if (args->has_arch && args->has_gpu)
            argp_error(state, "--gpu names the architecture, too: give that or --arch, with --sms for another number of SMs");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (key == CMD_KEY_ERROR_LIMIT && o->error_limit == 0)
        o->error_limit = -1;
    return 0;
}

// ---- all together -----------------------------------------------------------------------------------------------

// [g] with the SMs of --sms.
static const gpu_model *with_sms(cmd_arguments *args, const gpu_model *g)
{
    if (!args->sm_count)
        return g;
    gpu_model *own = ARENA_NEW(&args->memory, gpu_model);
    *own = *g;
    own->name = args->has_gpu ? g->name : g->arch;
    own->sm_count = args->sm_count;
    return own;
}

void cmd_use_own_gpu(cmd_arguments *args, const arch *target, const gpu_model *own)
{
    if (args->has_arch || args->has_gpu)
        return;
    args->archs.at[0] = target;
    args->gpus.at[0] = with_sms(args, own);
}

// The lists end as plain arrays in the options.
static void finish(cmd_arguments *args)
{
    pl_options *o = &args->options;
    if (!args->archs.len) {
        VEC_PUSH(&args->memory, &args->archs, arch_find(STR("sm_80")));
        VEC_PUSH(&args->memory, &args->gpus, gpu_of_arch(args->archs.at[0]));
    }
    for (size_t i = 0; i < args->gpus.len; i++)
        args->gpus.at[i] = with_sms(args, args->gpus.at[i]);
    o->archs = args->archs.at;
    o->gpus = args->gpus.at;
    o->arch_count = (int)args->archs.len;
    o->defines = args->defines.at;
    o->define_count = (int)args->defines.len;
    o->entries = args->entries.at;
    o->entry_count = (int)args->entries.len;
    o->rewrites = args->rewrites.at;
    o->rewrite_count = (int)args->rewrites.len;
    o->rewrite_files = args->rewrite_files.at;
    o->rewrite_file_count = (int)args->rewrite_files.len;
    o->include_folders = args->include_folders.at;
    o->include_count = (int)args->include_folders.len;
    o->passes = args->passes.at;
    o->pass_count = (int)args->passes.len;
    o->warnings = args->warnings.at;
    o->warning_count = (int)args->warnings.len;
    o->nvrtc_options = args->nvrtc_options.at;
    o->nvrtc_option_count = (int)args->nvrtc_options.len;
}

// One for the program; where there is none, everything is done anew.
static void open_cache(cmd_arguments *args)
{
    args->cache_why = "--no-cache";
    if (!args->no_cache)
        args->options.cache = cache_open(args->cache_dir, 0, &args->cache_why);
}

static error_t take_any(int key, char *arg, struct argp_state *state)
{
    const cmd_arguments *args = state->input;
    error_t taken = args->take_own ? args->take_own(key, arg, state) : ARGP_ERR_UNKNOWN;
    return taken == ARGP_ERR_UNKNOWN ? take_option(key, arg, state) : taken;
}

void cmd_parse_with(cmd_arguments *args, int argc, char **argv, const char *usage, const char *doc,
                    const struct argp_option *options, argp_parser_t take_own)
{
    args->take_own = take_own;
    arena_init(&args->memory, &cmd_oom);
    const struct argp parser = {options, take_any, usage, doc, NULL, NULL, NULL};
    argp_parse(&parser, argc, argv, 0, NULL, args);
    finish(args);
    open_cache(args);
}

void cmd_parse(cmd_arguments *args, int argc, char **argv, const char *usage, const char *doc)
{
    *args = (cmd_arguments){0};
    cmd_parse_with(args, argc, argv, usage, doc, table, NULL);
}

void cmd_arguments_free(cmd_arguments *args)
{
    cache_close(args->options.cache);
    arena_free(&args->memory);
}
