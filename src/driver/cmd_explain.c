// hdsc explain CODE: the page of a message (lang/diagnostics/CODE.md), built in, rendered for a terminal.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/cmd.h"

#define BOLD "\033[1m"
#define CYAN "\033[36m"
#define PLAIN "\033[0m"

static const embedded_text *find_page(diag_code code)
{
    const char *name = diag_name(code);
    size_t len = strlen(name);
    for (const embedded_text *page = cmd_pages; page->name; page++) {
        if (strncmp(page->name, name, len) == 0 && strcmp(page->name + len, ".md") == 0)
            return page;
    }
    return NULL;
}

static void add_painted(str_buf *out, bool color, const char *paint, str text)
{
    if (color)
        str_adds(out, paint);
    str_add(out, text);
    if (color)
        str_adds(out, PLAIN);
    str_addc(out, '\n');
}

// Headings lose their marks, code blocks their fences; code is indented.
static void render_line(str_buf *out, str line, bool color, bool *in_code)
{
    if (str_starts(line, STR("```"))) {
        *in_code = !*in_code;
        return;
    }
    if (*in_code) {
        str_adds(out, line.len ? "    " : "");
        add_painted(out, color, CYAN, line);
        return;
    }
    size_t marks = 0;
    while (marks < line.len && line.at[marks] == '#')
        marks++;
    if (marks && marks < line.len && line.at[marks] == ' ')
        add_painted(out, color, BOLD, (str){line.at + marks + 1, line.len - marks - 1});
    else
        add_painted(out, false, "", line);
}

static void render_page(str_buf *out, const embedded_text *page, bool color)
{
    bool in_code = false;
    for (const char *at = page->text; *at;) {
        size_t len = strcspn(at, "\n");
        render_line(out, (str){at, len}, color, &in_code);
        at += len + (at[len] == '\n');
    }
}

static int list_codes(arena *a)
{
    static const char *const severities[] = {"note", "warning", "error"};
    str_buf out;
    str_buf_init(&out, a);
    for (int code = DIAG_NONE + 1; code < DIAG__COUNT; code++) {
        const char *group = diag_group((diag_code)code);
        str_addf(&out, "%s  %-7s  %s", diag_name((diag_code)code), severities[diag_default_severity((diag_code)code)],
                 diag_slug((diag_code)code));
        if (*group)
            str_addf(&out, "  (-W%s)", group);
        str_addc(&out, '\n');
    }
    return cmd_print((str){out.at, out.len}) ? CMD_OK : CMD_ERRORS;
}

// The slug nearest to a mistyped one, or NULL.
static const char *nearest(const char *name)
{
    const char *best = NULL;
    int distance = 4;
    for (int code = DIAG_NONE + 1; code < DIAG__COUNT; code++) {
        const char *slug = diag_slug((diag_code)code);
        int d = str_distance(str_of(name), str_of(slug), 3);
        if (d < distance) {
            best = slug;
            distance = d;
        }
    }
    return best;
}

static int unknown(const char *name)
{
    const char *similar = nearest(name);
    fprintf(stderr, "hdsc: there is no message '%s'", name);
    if (similar)
        fprintf(stderr, "; did you mean '%s'?", similar);
    fputs("\n'hdsc explain --list' shows all of them.\n", stderr);
    return CMD_USAGE;
}

static int explain(arena *a, const char *name)
{
    diag_code code;
    if (!diag_find(name, &code))
        return unknown(name);
    const embedded_text *page = find_page(code);
    if (!page) {
        fprintf(stderr, "hdsc: %s (%s) has no page\n", diag_name(code), diag_slug(code));
        return CMD_INTERNAL;
    }
    str_buf out;
    str_buf_init(&out, a);
    render_page(&out, page, cmd_is_colorful(STDOUT_FILENO));
    return cmd_print((str){out.at, out.len}) ? CMD_OK : CMD_ERRORS;
}

int cmd_explain(int argc, char **argv)
{
    static const char usage[] = "usage: hdsc explain CODE|NAME...\n"
                                "       hdsc explain --list\n"
                                "\n"
                                "Explain a message of the compiler, with an example that causes it and one\n"
                                "that fixes it:\n"
                                "\n"
                                "  hdsc explain HDS0101\n"
                                "  hdsc explain unexpected-token\n";
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? CMD_USAGE : CMD_OK;
    }
    arena memory;
    arena_init(&memory, &cmd_oom);
    int code = CMD_OK;
    for (int i = 1; i < argc && code == CMD_OK; i++)
        code = strcmp(argv[i], "--list") == 0 ? list_codes(&memory) : explain(&memory, argv[i]);
    arena_free(&memory);
    return code;
}
