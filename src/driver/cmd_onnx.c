// hdsc onnx ops: the operators of ONNX that ops/onnx has.

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "driver/options.h"
#include "pipeline/evaluate.h"
#include "pipeline/modules.h"

enum { KEY_MARKDOWN = CMD_KEY_OWN };

static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What is shown:", 1},
    {"markdown", KEY_MARKDOWN, NULL, 0, "a table in Markdown", 1},
    {"stdlib", CMD_KEY_STDLIB, "DIR", 0, "use the standard library in DIR instead of the built-in one", 1},
    CMD_MESSAGE_OPTIONS(2),
    {0},
};

static const char doc[] =
    "List the operators of ONNX that models may call, and the versions of their operator sets.\n"
    "\n"
    "  hdsc onnx ops                  all of them\n"
    "  hdsc onnx ops Resize Pad       these\n"
    "  hdsc onnx ops --markdown       as a table\n"
    "\v"
    "Models in ONNX files are taken wherever .hds files are; 'hdsc model.onnx --emit=graph' prints what they are in the "
    "language.\n"
    "Exit code: 0 they were listed; 1 there is none of these; 2 the command line is wrong.";

typedef struct request {
    cmd_arguments shared;
    bool markdown;
} request;

static error_t take_own(int key, char *text, struct argp_state *state)
{
    request *q = state->input;
    (void)text;
    if (key != KEY_MARKDOWN)
        return ARGP_ERR_UNKNOWN;
    q->markdown = true;
    return 0;
}

// A line of the listing: "ai.onnx\tAdd\t7\t0".
typedef struct row {
    const char *domain, *name, *since, *until;
} row;

static row parse(arena *a, const char *line, size_t len)
{
    char *text = arena_strndup(a, line, len), *rest = text;
    row r = {.domain = strsep(&rest, "\t")};
    r.name = strsep(&rest, "\t");
    r.since = strsep(&rest, "\t");
    r.until = rest;
    return r;
}

// [found]: of each name whether there is such an operator.
static bool is_wanted(const request *q, const row *r, bool *found)
{
    bool is_named = q->shared.inputs.len == 1;
    for (size_t i = 1; i < q->shared.inputs.len; i++) {
        bool is_this = strcmp(q->shared.inputs.at[i], r->name) == 0;
        found[i] |= is_this;
        is_named |= is_this;
    }
    return is_named;
}

static bool are_there(const request *q, const bool *found)
{
    bool all = true;
    for (size_t i = 1; i < q->shared.inputs.len; i++) {
        if (!found[i])
            fprintf(stderr, "hdsc onnx: there is no operator '%s'\n", q->shared.inputs.at[i]);
        all &= found[i];
    }
    return all;
}

static void add_row(str_buf *out, const request *q, const row *r)
{
    const char *to = strcmp(r->until, "0") == 0 ? "newest" : r->until;
    if (q->markdown)
        str_addf(out, "| %s | %s | %s | %s |\n", r->domain, r->name, r->since, to);
    else
        str_addf(out, "%-14s %-28s %3s to %s\n", r->domain, r->name, r->since, to);
}

static int list(const request *q, arena *a, const char *text)
{
    str_buf out;
    bool *found = ARENA_ARRAY(a, bool, q->shared.inputs.len);
    size_t count = 0;
    str_buf_init(&out, a);
    if (q->markdown)
        str_adds(&out, "| domain | operator | from version | to |\n|---|---|---|---|\n");
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        row r = parse(a, text, len);
        if (!is_wanted(q, &r, found))
            continue;
        add_row(&out, q, &r);
        count++;
    }
    bool is_printed = !count || cmd_print((str){str_text(&out), out.len});
    return are_there(q, found) && is_printed ? CMD_OK : CMD_ERRORS;
}

static int ask(request *q)
{
    static const char *const calls[] = {"rows()"};
    const tc_question question = {"LISTING", "the list of operators", "rows", calls, 1};
    arena *a = &q->shared.memory;
    const char *folder = pl_operator_folder(a);
    pl_asking asking;
    if (!folder) {
        fputs("hdsc onnx: cannot find the operators that come with hdsc\n", stderr);
        return CMD_ERRORS;
    }
    q->shared.options.input = file_join(a, folder, "onnx/operators.hds");
    pl_ask(&asking, &q->shared.options, &question, &cmd_oom);
    cmd_print_diags(&asking.unit.diags, &q->shared.diagnostics);
    int code = asking.answers ? list(q, a, asking.answers[0]) : CMD_ERRORS;
    pl_unit_free(&asking.unit);
    return code;
}

int cmd_onnx(int argc, char **argv)
{
    request q = {0};
    cmd_parse_with(&q.shared, argc, argv, "ops [NAME...]", doc, table, take_own);
    int code = CMD_USAGE;
    if (q.shared.inputs.len && strcmp(q.shared.inputs.at[0], "ops") == 0)
        code = ask(&q);
    else
        fputs("hdsc onnx: expected 'ops'; 'hdsc onnx --help' tells more\n", stderr);
    cmd_arguments_free(&q.shared);
    return code;
}
