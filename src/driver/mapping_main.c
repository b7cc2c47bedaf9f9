// hdsc mapping: reads its command line, evaluates the expressions, prints or draws what cmd_mapping.c says of them.

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "driver/cmd_mapping.h"
#include "pipeline/evaluate.h"

enum { KEY_LAYOUT = 1000, KEY_BYTES, KEY_TABLE };

static const struct argp_option table[] = {
    {"layout", KEY_LAYOUT, "EXPR", 0, "layout of the tensor that the mapping accesses", 0},
    {"bytes", KEY_BYTES, "N", 0, "size of an element, for widths and bank conflicts (default: 1, 2, 4, 8 and 16)", 0},
    {"table", KEY_TABLE, NULL, 0, "list each worker's tasks", 0},
    {NULL, 'o', "FILE", 0, "draw the mapping into an SVG file", 0},
    {0},
};

static const char doc[] =
    "Draw a task mapping or a layout, and show its coverage and the cost of accesses through it.\n"
    "\n"
    "  hdsc mapping 'repeat(2, 1) * spatial(8, 4) * repeat(1, 2)'\n"
    "  hdsc mapping 'spatial(32)' --layout 'row_major(32).swizzle(0)' --bytes 4\n"
    "  hdsc mapping 'spatial(16, 16)' -o mapping.svg\v"
    "Without EXPR the layout alone is drawn.";

typedef struct request {
    const char *mapping, *layout, *output;
    cmd_mapping_options options;
} request;

// 0 where [text] is none of them.
static int element_bytes(const char *text)
{
    static const char *const sizes[] = {"1", "2", "4", "8", "16"};
    for (int i = 0; i < 5; i++) {
        if (strcmp(sizes[i], text) == 0)
            return 1 << i;
    }
    return 0;
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case KEY_LAYOUT: r->layout = arg; break;
    case KEY_TABLE: r->options.table = true; break;
    case 'o': r->output = arg; break;
    case KEY_BYTES:
        r->options.element_bytes = element_bytes(arg);
        if (!r->options.element_bytes)
            argp_error(state, "--bytes takes 1, 2, 4, 8 or 16, not '%s'", arg);
        break;
    case ARGP_KEY_ARG:
        if (r->mapping)
            argp_error(state, "one mapping is expected; put the expression in quotes");
        r->mapping = arg;
        break;
    case ARGP_KEY_END:
        if (!r->mapping && !r->layout)
            argp_usage(state);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int show(pl_evaluation *e, request *r)
{
    str_buf text, svg;
    const char *error = NULL;
    arena *a = &e->unit.memory;
    str_buf_init(&text, a);
    str_buf_init(&svg, a);
    r->options.svg = r->output ? &svg : NULL;
    r->options.colours = cmd_is_colorful(STDOUT_FILENO);
    r->options.columns = cmd_terminal_width(STDOUT_FILENO);
    int code = cmd_mapping_show(e->map, e->layout, &r->options, &text);
    if (!cmd_print((str){text.at, text.len}))
        return CMD_ERRORS;
    if (code == CMD_OK && r->output && !file_write(a, r->output, (str){svg.at, svg.len}, &error)) {
        fprintf(stderr, "hdsc: cannot write '%s': %s\n", r->output, error);
        return CMD_ERRORS;
    }
    return code;
}

int cmd_mapping(int argc, char **argv)
{
    const struct argp parser = {table, take_option, "[EXPR]", doc, NULL, NULL, NULL};
    const arch *target = arch_find(STR("sm_80"));
    const pl_options options = {.archs = &target, .arch_count = 1};
    request r = {0};
    argp_parse(&parser, argc, argv, 0, NULL, &r);
    pl_evaluation e;
    pl_status status = pl_evaluate(&e, &options, r.mapping, r.layout, &cmd_oom);
    int code = CMD_ERRORS;
    if (status == PL_NO_MEMORY)
        fputs("hdsc: out of memory\n", stderr);
    else
        cmd_print_diags(&e.unit.diags, &(cmd_output){0});
    if (status == PL_OK && (e.map || e.layout))
        code = show(&e, &r);
    pl_evaluation_free(&e);
    return code;
}
