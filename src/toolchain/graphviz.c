#include "toolchain/graphviz.h"

#include <string.h>

#include "base/file.h"
#include "toolchain/process.h"

static bool not_found(diag_context *dx)
{
    diag *d = diag_report(dx, HDS0835, (src_span){0, 0});
    diag_note(d, (src_span){0, 0}, "looked for 'dot' in the folders of PATH");
    diag_help(d,
              "install Graphviz (package 'graphviz' of most systems), or write a file .dot here and draw it elsewhere: "
              "dot -Tsvg model.dot -o model.svg");
    return false;
}

static bool failed(diag_context *dx, const char *program, const char *why, const char *printed)
{
    diag *d = diag_report(dx, HDS0836, (src_span){0, 0}, program, why);
    if (*printed)
        diag_note(d, (src_span){0, 0}, "it said:\n%s", printed);
    diag_help(d, "'hdsc graph' writes the text that it was given with -o model.dot");
    return false;
}

// Without the XML declaration and the document type, which names an address.
static bool take_element(arena *a, const char *path, str *out)
{
    const char *error = NULL;
    str text;
    if (!file_read(a, path, &text, &error))
        return false;
    for (size_t i = 0; i + 4 <= text.len; i++)
        if (memcmp(text.at + i, "<svg", 4) == 0) {
            *out = (str){text.at + i, text.len - i};
            return true;
        }
    return false;
}

static bool draw(arena *a, diag_context *dx, const char *program, const char *folder, str text, str *out)
{
    const char *source = arena_printf(a, "%sgraph.dot", folder), *error = NULL;
    static const char *const words[] = {"-Tsvg", "-o", "graph.svg", "graph.dot"};
    if (!file_write(a, source, text, &error))
        return failed(dx, program, arena_printf(a, "cannot write '%s': %s", source, error), "");
    tool_words command = {0};
    tool_run_result result;
    VEC_PUSH(a, &command.at, program);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        VEC_PUSH(a, &command.at, words[i]);
    if (!tool_run(a, &command, folder, &result))
        return failed(dx, program, result.failure, tool_first_lines(a, result.printed));
    if (take_element(a, arena_printf(a, "%sgraph.svg", folder), out))
        return true;
    return failed(dx, program, "it wrote no SVG", tool_first_lines(a, result.printed));
}

bool tool_dot_svg(arena *a, diag_context *dx, str text, str *out)
{
    int fd = -1;
    const char *error = NULL, *program = tool_program_find(a, "dot");
    if (!program)
        return not_found(dx);
    const char *folder = file_folder_new(a, &fd, &error);
    if (!folder)
        return failed(dx, program, arena_printf(a, "no temporary folder for it: %s", error), "");
    bool ok = draw(a, dx, program, folder, text, out);
    file_folder_remove(folder, fd);
    return ok;
}
