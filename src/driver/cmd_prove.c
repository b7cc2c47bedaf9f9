// hdsc prove: whether two kernels compute the same formulas.

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "driver/options.h"
#include "pipeline/unit.h"
#include "prove/prove.h"

enum { KEY_AGAINST = CMD_KEY_OWN, KEY_SEEDS, KEY_VALUE, KEY_OUTPUTS };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What is compared:", 1},
    {"against", KEY_AGAINST, "FILE:ENTRY", 0,
     "the kernel or host function to compare with; ':ENTRY' is in the same file", 1},
    {"entry", CMD_KEY_ENTRY, "NAME", 0,
     "the kernel to prove, as in 'relu' or 'relu[f16, 1024]'; the same as behind the colon", 1},
    CMD_DEFINE_OPTION("a module constant or a type parameter, of either or both sides", 1),
    {"arg", KEY_VALUE, "NAME=VALUE", 0,
     "value of a scalar or of an unknown size, or the range of a tensor's elements, as in x=0.1..2; "
     "repeatable (default: random)",
     1},
    {"outputs", KEY_OUTPUTS, "LIST", 0, "compare these tensors (default: all that are written)", 1},

    {NULL, 0, NULL, 0, "How:", 2},
    {"seeds", KEY_SEEDS, "N", 0, "with N sets of random inputs (default: 3)", 2},
    CMD_SEED_OPTION("start with set N (default: 1)", 2),
    CMD_BUDGET_OPTION(2),
    CMD_ARCH_OPTION("sm_80", 2),
    CMD_LEVEL_OPTION(2),
    CMD_IMPORT_OPTION(2),
    CMD_COMPILER_OPTIONS(2),

    CMD_MESSAGE_OPTIONS(3),
    {0},
};

static const char doc[] =
    "Prove that two kernels compute the same formulas, up to rounding, and show where they do not.\n"
    "\n"
    "  hdsc prove fast.hds:matmul --against naive.hds:matmul -D M=96 -D K=80\n"
    "  hdsc prove 'norm.hds:fast[T=f16]' --against :naive --arg eps=1e-5\v"
    "Both get the same tensors, by name or else by position. They run on the simulator, where each float carries the "
    "value "
    "of its formula at a random point; comparisons and branches follow the floats. The verdict covers the sizes and "
    "paths that "
    "were run.\n"
    "Exit code: 0 equal; 1 not equal, or a file has errors; 2 the command line is wrong.";

typedef struct request {
    cmd_arguments shared;
    prove_options options;
    VEC(const char *) values, outputs;
    bool has_line;
} request;

// ---- the command line ----------------------------------------------------------------------------------------------

static void add_value(struct argp_state *state, request *r, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        argp_error(state, "--arg takes NAME=VALUE, not '%s'", text);
    VEC_PUSH(&r->shared.memory, &r->values, text);
}

static void add_outputs(request *r, const char *list)
{
    for (const char *at = list;;) {
        size_t len = strcspn(at, ",");
        VEC_PUSH(&r->shared.memory, &r->outputs, arena_strndup(&r->shared.memory, at, len));
        if (!at[len])
            return;
        at += len + 1;
    }
}

static void check(struct argp_state *state, request *r)
{
    if (r->shared.inputs.len != 1)
        argp_error(state, "expected one FILE:ENTRY to prove, found %zu", r->shared.inputs.len);
    if (r->shared.entries.len > 1)
        argp_error(state, "one entry is proved at a time, and '--entry' is given %zu times", r->shared.entries.len);
    if (!r->options.against)
        argp_error(state, "--against=FILE:ENTRY is missing: what should '%s' compute?", r->shared.inputs.at[0]);
    if (!strpbrk(r->options.against, ":./") && !file_exists(r->options.against))
        argp_error(state, "there is no file '%s': did you mean '--against=:%s', which is in the same file?", r->options.against,
                   r->options.against);
}

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    const cmd_running to = {.seed = &r->options.seed, .budget = &r->options.budget, .level = &r->options.level};
    switch (key) {
    case KEY_AGAINST: r->options.against = arg; break;
    case KEY_VALUE: add_value(state, r, arg); break;
    case KEY_OUTPUTS: add_outputs(r, arg); break;
    case KEY_SEEDS:
        r->options.seeds = cmd_count(state, "--seeds", arg, 1);
        break;
    case ARGP_KEY_END: check(state, r); break;
    default:
        return cmd_take_running(key, arg, state, &to);
    }
    return 0;
}

// ---- progress ------------------------------------------------------------------------------------------------------

static void clear_line(request *r)
{
    if (r->has_line)
        fputs("\r\033[K", stderr);
    r->has_line = false;
}

static void show_progress(void *user, const char *doing)
{
    request *r = user;
    int width = cmd_terminal_width(STDERR_FILENO);
    clear_line(r);
    fprintf(stderr, "%.*s", width > 1 ? width - 1 : 79, doing);
    fflush(stderr);
    r->has_line = true;
}

// ---- the command ---------------------------------------------------------------------------------------------------

static int run(request *r)
{
    prove p;
    prove_init(&p, &r->options, &cmd_oom);
    bool equal = prove_run(&p);
    clear_line(r);
    bool is_out_of_memory = false;
    for (int side = 0; side < 2; side++)
        is_out_of_memory |= p.sides[side].unit.status == PL_NO_MEMORY;
    if (is_out_of_memory)
        fputs("hdsc: out of memory\n", stderr);
    cmd_print_diags(&p.diags, &r->shared.diagnostics);
    int code = equal ? CMD_OK : is_out_of_memory ? CMD_INTERNAL : cmd_code_of_errors(&p.diags);
    if (equal && !cmd_print(str_of(arena_printf(&p.memory, "%s\n", p.verdict))))
        code = CMD_ERRORS;
    prove_free(&p);
    return code;
}

int cmd_prove(int argc, char **argv)
{
    request r = {.options = {.seeds = 3, .seed = 1}};
    cmd_parse_with(&r.shared, argc, argv, "FILE:ENTRY --against=FILE:ENTRY", doc, table, take_own);
    if (r.shared.archs.len > 1) {
        fputs("hdsc: a proof is for one architecture\n", stderr);
        cmd_arguments_free(&r.shared);
        return CMD_USAGE;
    }
    r.options.compile = &r.shared.options;
    r.options.fast = r.shared.inputs.at[0];
    if (r.shared.entries.len)
        r.options.fast = arena_printf(&r.shared.memory, "%s:%s", r.options.fast, r.shared.entries.at[0]);
    r.options.values = r.values.at;
    r.options.value_count = (int)r.values.len;
    r.options.outputs = r.outputs.at;
    r.options.output_count = (int)r.outputs.len;
    if (isatty(STDERR_FILENO) && !r.shared.diagnostics.json) {
        r.options.progress = show_progress;
        r.options.user = &r;
    }
    int code = run(&r);
    cmd_arguments_free(&r.shared);
    return code;
}
