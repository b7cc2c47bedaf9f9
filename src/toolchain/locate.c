// From lines of PTX, which ptxas names, to lines of the source.
//
// PTX has source locations only if it was compiled with line information, which makes cubins several times larger. So
// the text is compiled once more where ptxas complains, to PTX only; the two PTX texts differ in .loc lines alone (PTX
// ISA, "Debugging Directives: .loc"), and a line of one is found in the other by omitting these.
#include "toolchain/log.h"
#include "toolchain/scan.h"

#include <string.h>

typedef struct location {
    uint32_t file, line;
    uint32_t caller_file, caller_line; // where the function that holds it was inlined; 0: nowhere
} location;

typedef struct line_table {
    arena *arena;
    const src_map *sources;
    VEC(location) lines;     // of the plain text, from line 1 on
    VEC(const char *) files; // by number; NULL: unknown
} line_table;

// ---- reading ----------------------------------------------------------------------------------------------------

// Behind spaces.
static bool take_spaced_number(str *s, uint32_t *out)
{
    *s = tool_skip_spaces(*s);
    return tool_take_number(s, out);
}

// '.loc 2 13 28, function_name $L__info_string0, inlined_at 1 12 4'
static bool read_loc(str line, location *out)
{
    static const char inlined[] = ", inlined_at ";
    location here = {0};
    if (!tool_take(&line, ".loc") || !take_spaced_number(&line, &here.file) || !take_spaced_number(&line, &here.line))
        return false;
    const char *at = memmem(line.at, line.len, inlined, sizeof inlined - 1);
    if (at) {
        str rest = {at + sizeof inlined - 1, (size_t)(line.at + line.len - at) - (sizeof inlined - 1)};
        if (!take_spaced_number(&rest, &here.caller_file) || !take_spaced_number(&rest, &here.caller_line))
            here.caller_file = here.caller_line = 0;
    }
    // Line 0 is code that belongs to no line: what came before it still says where it stands.
    if (here.line)
        *out = here;
    return true;
}

// '.file 1 "name"'
static void read_file(line_table *t, str line)
{
    enum { MOST_FILES = 4096 };
    uint32_t number;
    if (!tool_take(&line, ".file") || !take_spaced_number(&line, &number) || number >= MOST_FILES)
        return;
    line = tool_skip_spaces(line);
    const char *end = tool_take(&line, "\"") ? memchr(line.at, '"', line.len) : NULL;
    while (end && t->files.len <= number)
        VEC_PUSH(t->arena, &t->files, NULL);
    if (end)
        t->files.at[number] = arena_strndup(t->arena, line.at, (size_t)(end - line.at));
}

// Braces tell nothing: texts of instructions have their own.
static bool begins_function(str line)
{
    return tool_take(&line, ".func") || tool_take(&line, ".entry") || tool_take(&line, ".visible");
}

// Stops where the texts go apart: behind that nothing is known.
static void read_lines(line_table *t, str plain, str lined)
{
    location here = {0};
    str line, other;
    bool is_same = true;
    while (tool_take_line(&lined, &line)) {
        str bare = tool_skip_spaces(line);
        if (begins_function(bare))
            here = (location){0};
        read_file(t, bare);
        if (read_loc(bare, &here) || !is_same)
            continue;
        is_same = tool_take_line(&plain, &other) && str_equal(line, other);
        if (is_same)
            VEC_PUSH(t->arena, &t->lines, here);
    }
}

// ---- the log ----------------------------------------------------------------------------------------------------

// NVRTC puts the working folder before relative names in line tables.
src_file *tool_source_of(const src_map *sources, const char *path)
{
    str whole = str_of(path);
    for (size_t i = 0; i < sources->files.len; i++) {
        str name = str_of(sources->files.at[i]->name);
        if (!str_ends(whole, name))
            continue;
        if (whole.len == name.len || (name.len && whole.at[whole.len - name.len - 1] == '/'))
            return sources->files.at[i];
    }
    return NULL;
}

static const src_file *source(const line_table *t, uint32_t file)
{
    const char *name = file < t->files.len ? t->files.at[file] : NULL;
    return name ? tool_source_of(t->sources, name) : NULL;
}

// A wrong instruction is about the text at that line; a message with a number about how the line that called for the
// text is compiled.
static void add_location(const line_table *t, str_buf *out, uint32_t line, bool is_about_text)
{
    if (!line || line > t->lines.len)
        return;
    const location *at = &t->lines.at[line - 1];
    const src_file *own = source(t, at->file), *caller = source(t, at->caller_file);
    if (caller && (!is_about_text || !own))
        str_addf(out, " of %s(%u)", caller->name, at->caller_line);
    else if (own)
        str_addf(out, " of %s(%u)", own->name, at->line);
}

static void add_line(const line_table *t, str_buf *out, str line)
{
    static const char word[] = " line ";
    const char *at = memmem(line.at, line.len, word, sizeof word - 1);
    str rest = at ? (str){at + sizeof word - 1, (size_t)(line.at + line.len - at) - (sizeof word - 1)} : (str){0};
    uint32_t number;
    if (!str_starts(line, STR("ptxas ")) || !at || !take_spaced_number(&rest, &number)) {
        str_add(out, line);
        return;
    }
    bool is_about_text = memmem(line.at, line.len, "application", 11) && !memmem(line.at, line.len, "(C", 2);
    str_add(out, (str){line.at, (size_t)(rest.at - line.at)});
    add_location(t, out, number, is_about_text);
    str_add(out, rest);
}

bool tool_log_wants_locations(str log)
{
    str line;
    while (tool_take_line(&log, &line)) {
        if (str_starts(line, STR("ptxas ")) && memmem(line.at, line.len, " line ", 6))
            return true;
    }
    return false;
}

str tool_log_locate(arena *a, const src_map *sources, str log, str plain, str lined)
{
    line_table t = {.arena = a, .sources = sources};
    read_lines(&t, plain, lined);
    str_buf out;
    str_buf_init(&out, a);
    str line;
    while (tool_take_line(&log, &line)) {
        add_line(&t, &out, line);
        str_addc(&out, '\n');
    }
    return (str){str_text(&out), out.len};
}
