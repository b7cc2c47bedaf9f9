// hdsc test: finds tests, runs them, shows what failed.

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "driver/devices.h"
#include "driver/interrupt.h"
#include "driver/options.h"
#include "pipeline/files.h"
#include "pipeline/job.h"
#include "pipeline/unit.h"
#include "testing/testing.h"

enum { KEY_DEVICE = CMD_KEY_OWN, KEY_JUNIT, KEY_LIST_TESTS };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "Which tests:", 1},
    {NULL, 'k', "TEXT", 0, "tests whose 'file::name' contains TEXT; repeatable: tests that contain any of them", 1},
    {"list", KEY_LIST_TESTS, NULL, 0, "list them instead of running them", 1},

    {NULL, 0, NULL, 0, "How they run:", 2},
    {NULL, 'j', "N", 0, "run N tests in parallel (default: one for each core)", 2},
    {NULL, 'x', NULL, 0, "stop after the first failure", 2},
    {"device", KEY_DEVICE, "NAME", 0,
     "where kernels run: sim, the simulator (the default), or cuda, the GPU of this machine", 2},
    CMD_SEED_OPTION("the order in which warps and blocks are scheduled (default: 0, one after the other)", 2),
    CMD_BUDGET_OPTION(2),
    CMD_GPU_TIMEOUT_OPTION("a kernel", 2),
    CMD_TRAP_NAN_OPTION(2),
    CMD_CONTRACT_OPTION(2),
    CMD_ARCH_OPTION("sm_80; a test may require a newer one", 2),
    CMD_LEVEL_OPTION(2),
    CMD_DEFINE_OPTION("a module constant", 2),
    CMD_WEIGHTS_OPTION(2),
    CMD_IMPORT_OPTION(2),
    CMD_COMPILER_OPTIONS(2),
    CMD_DEVICE_COMPILER_OPTIONS(2),

    {NULL, 0, NULL, 0, "Results:", 3},
    {NULL, 'v', NULL, 0, "print a line for each test, and the output of tests", 3},
    {"junit", KEY_JUNIT, "FILE", 0, "write the results to FILE as JUnit XML", 3},
    {"diagnostics", CMD_KEY_DIAGNOSTICS, "FORMAT", 0, "messages as text, or as json for tools (to standard error)", 3},
    {"color", CMD_KEY_COLOR, "WHEN", 0, "auto, always or never", 3},
    {NULL, 'W', "GROUP", 0, "show warnings of GROUP; -Wno-GROUP hides them; -Werror makes all of them errors", 3},
    {0},
};

static const char doc[] = "Run the tests of .hds files: functions under @test, and rewrites of graphs under @rewrite, on the simulator.\n"
                          "\n"
                          "  hdsc test                         all files below the current folder\n"
                          "  hdsc test ops/softmax.hds -k f16  the cases that have f16 in their name\n"
                          "  hdsc test ops/softmax.hds::rows   that test, all of its cases\n"
                          "  hdsc test ops -v --junit=results.xml\v"
                          "The two sides of a rewrite are compared for random shapes, types and attributes, by numbers and as "
                          "'hdsc prove' does. A folder means all .hds files below it. The last line says 'N passed, N failed'.\n"
                          "Exit code: 0 all tests passed; 1 some failed; 2 the command line is wrong, or there are no "
                          "tests; 3 there is no GPU or "
                          "no NVRTC for --device=cuda.";

typedef struct request {
    cmd_arguments shared;
    test_options options;
    VEC(const char *) filters;
    const char *junit;
    const cmd_device *device;
    int64_t gpu_seconds;
    bool list;
    // While the tests run.
    bool rewrites;        // the line of progress, on a terminal
    bool has_line;        // it is there now
    diag_context *diags;  // of the tests that failed, for --diagnostics=json
    const test_file *file;
    int file_passed, file_failed, file_skipped;
    int done;
} request;

// ---- the command line -------------------------------------------------------------------------------------------------

static void set_device(struct argp_state *state, request *r, const char *name)
{
    for (const cmd_device *d = cmd_devices; d->name; d++)
        if (strcmp(d->name, name) == 0) {
            r->device = d;
            return;
        }
    argp_error(state, "there is no device '%s'", name);
}

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    test_options *o = &r->options;
    const cmd_running to = {&o->seed, &o->budget, &r->gpu_seconds, &o->trap_nan, &o->contract, &o->level};
    switch (key) {
    case 'k': VEC_PUSH(&r->shared.memory, &r->filters, arg); break;
    case 'j': r->options.jobs = cmd_count(state, "-j", arg, 1); break;
    case 'x': r->options.stop_at_failure = true; break;
    case KEY_DEVICE: set_device(state, r, arg); break;
    case KEY_JUNIT:
        r->junit = arg;
        break;
    case KEY_LIST_TESTS: r->list = true; break;
    default:
        return cmd_take_running(key, arg, state, &to);
    }
    return 0;
}

static void set_options(request *r)
{
    cmd_arguments *a = &r->shared;
    bool color = a->diagnostics.color == CMD_COLOR_ALWAYS ||
                 (a->diagnostics.color == CMD_COLOR_AUTO && cmd_is_colorful(STDOUT_FILENO));
    r->options.compile = &a->options;
    r->options.paths = a->inputs.at;
    r->options.path_count = (int)a->inputs.len;
    r->options.filters = r->filters.at;
    r->options.filter_count = (int)r->filters.len;
    r->options.style = (diag_style){color, cmd_terminal_width(STDOUT_FILENO)};
    r->options.keep_units = a->diagnostics.json;
    r->rewrites = isatty(STDOUT_FILENO) && !a->verbose && !a->diagnostics.json;
}

// ---- progress and results -----------------------------------------------------------------------------------------------

static void clear_line(request *r)
{
    if (r->has_line)
        fputs("\r\033[K", stdout);
    r->has_line = false;
}

// What fits into the terminal's line: a longer one could not be taken back.
static void show_line(request *r, const test_suite *s, const test_case *c)
{
    int width = cmd_terminal_width(STDOUT_FILENO);
    char line[256];
    int len = snprintf(line, sizeof line, "[%d/%zu] %d failed  %s", r->done, s->cases.len, s->failed, c->name);
    int room = width > 1 && width < (int)sizeof line ? width - 1 : (int)sizeof line - 1;
    clear_line(r);
    printf("%.*s", len < room ? len : room, line);
    r->has_line = true;
    fflush(stdout);
}

static void print_text(str text)
{
    fwrite(text.at, 1, text.len, stdout);
    if (text.len && text.at[text.len - 1] != '\n')
        putchar('\n');
}

static void print_printed(const test_case *c)
{
    if (!c->printed.len)
        return;
    puts("  it printed:");
    print_text(c->printed);
}

static void show_failure(request *r, const test_case *c)
{
    clear_line(r);
    printf("FAILED %s\n", c->name);
    if (r->shared.diagnostics.json)
        return;
    print_text(c->messages);
    if (c->seed)
        printf("  note: under the schedule of --seed=%llu\n", (unsigned long long)c->seed);
    print_printed(c);
}

static void show_case(const test_case *c)
{
    switch (c->outcome) {
    case TEST_PASSED:
        printf("passed %s\n", c->name);
        print_printed(c);
        break;
    case TEST_SKIPPED:
        printf("skipped %s: %s\n", c->name, c->reason);
        break;
    default:
        break; // failures were shown
    }
}

// Without a terminal, a line for each file says how far it got.
static void end_file(request *r)
{
    if (!r->file || r->rewrites || r->shared.verbose)
        return;
    printf("%s: %d passed, %d failed", r->file->path, r->file_passed, r->file_failed);
    if (r->file_skipped)
        printf(", %d skipped", r->file_skipped);
    putchar('\n');
    fflush(stdout);
}

static void count_file(request *r, const test_case *c)
{
    if (c->file != r->file) {
        end_file(r);
        r->file = c->file;
        r->file_passed = r->file_failed = r->file_skipped = 0;
    }
    r->file_passed += c->outcome == TEST_PASSED;
    r->file_failed += c->outcome == TEST_FAILED;
    r->file_skipped += c->outcome == TEST_SKIPPED;
}

static void show_done(void *user, const test_suite *s, const test_case *c)
{
    request *r = user;
    r->done++;
    count_file(r, c);
    if (c->outcome == TEST_FAILED)
        show_failure(r, c);
    if (c->outcome == TEST_FAILED && r->shared.diagnostics.json)
        pl_diags_merge(r->diags, test_messages(c));
    if (r->shared.verbose)
        show_case(c);
    if (r->rewrites)
        show_line(r, s, c);
}

// ---- the command ---------------------------------------------------------------------------------------------------------

static int list(const test_suite *s)
{
    str_buf out;
    str_buf_init(&out, s->diags.arena);
    for (size_t i = 0; i < s->cases.len; i++)
        str_addf(&out, "%s\n", s->cases.at[i]->name);
    return cmd_print((str){out.at, out.len}) ? CMD_OK : CMD_ERRORS;
}

static bool write_junit(request *r, test_suite *s)
{
    str_buf out;
    const char *error = NULL;
    str_buf_init(&out, &s->memory);
    test_junit(s, &out);
    if (file_write(&s->memory, r->junit, (str){out.at, out.len}, &error))
        return true;
    fprintf(stderr, "hdsc: cannot write '%s': %s\n", r->junit, error);
    return false;
}

static int run(request *r, test_suite *s)
{
    r->diags = &s->diags;
    cmd_interrupt watch;
    cmd_interrupt_begin(&watch, s, r->rewrites);
    test_run(s, show_done, r);
    cmd_interrupt_end(&watch);
    clear_line(r);
    end_file(r);
    int code = s->failed ? CMD_ERRORS : CMD_OK;
    if (r->junit && !write_junit(r, s))
        code = CMD_ERRORS;
    if (r->shared.diagnostics.json)
        cmd_print_diags(&s->diags, &r->shared.diagnostics);
    printf("%d passed, %d failed", s->passed, s->failed);
    if (s->skipped)
        printf(", %d skipped", s->skipped);
    putchar('\n');
    if (fflush(stdout) == 0)
        return code;
    fprintf(stderr, "hdsc: cannot write to standard output: %s\n", strerror(errno));
    return CMD_ERRORS;
}

// The results do not overwrite a file with tests.
static bool check_junit(const request *r, test_suite *s)
{
    const pl_file results = {.path = r->junit, .what = "the results"};
    for (size_t i = 0; r->junit && i < s->files.len; i++) {
        if (!pl_files_check(&s->diags, &results, 1, &s->files.at[i]->path, 1))
            return false;
    }
    return true;
}

static bool open_device(request *r)
{
    const char *why = "";
    if (!r->device || !r->device->open)
        return true;
    r->options.backend = r->device->open(&r->shared.memory, &r->shared.options, r->gpu_seconds, &why);
    if (!r->options.backend)
        fprintf(stderr, "hdsc: cannot use '--device=%s': %s\n", r->device->name, why);
    return r->options.backend != NULL;
}

static int test(request *r)
{
    if (r->shared.archs.len > 1) {
        fputs("hdsc: tests are compiled for one architecture\n", stderr);
        return CMD_USAGE;
    }
    const char *why = r->junit ? cmd_cannot_write(&r->shared.memory, r->junit) : NULL;
    if (why) {
        fprintf(stderr, "hdsc: cannot write '%s': %s\n", r->junit, why);
        return CMD_USAGE;
    }
    if (!open_device(r))
        return CMD_INTERNAL;
    test_suite s;
    test_suite_init(&s, &r->options, &cmd_oom);
    int code = CMD_USAGE;
    if (test_collect(&s) && check_junit(r, &s))
        code = r->list ? list(&s) : run(r, &s);
    else
        cmd_print_diags(&s.diags, &r->shared.diagnostics);
    test_suite_free(&s);
    if (r->options.backend && !r->device->close(r->options.backend))
        cmd_leave(code);
    return code;
}

int cmd_test(int argc, char **argv)
{
    request r = {.gpu_seconds = CMD_GPU_SECONDS};
    cmd_parse_with(&r.shared, argc, argv, "[FILE, FILE::TEST or FOLDER...]", doc, table, take_own);
    r.shared.options.kept = kept_new();
    set_options(&r);
    setvbuf(stdout, NULL, _IOLBF, 0);  // what was said has arrived, whatever ends the run
    int code = test(&r);
    kept_free(r.shared.options.kept);
    cmd_arguments_free(&r.shared);
    return code;
}
