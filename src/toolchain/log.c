#include "toolchain/log.h"
#include "toolchain/scan.h"

#include <ctype.h>
#include <string.h>

// ---- taking text apart ------------------------------------------------------------------------------------------

static str trim(str s)
{
    s = tool_skip_spaces(s);
    while (s.len && isspace((unsigned char)s.at[s.len - 1]))
        s.len--;
    return s;
}

// ---- the C++ front end ------------------------------------------------------------------------------------------

// 'error', 'warning #177-D', 'catastrophic error' … and the colon.
static bool take_severity(str *s, tool_log_record *r)
{
    static const struct {
        const char *word;
        tool_log_severity severity;
    } words[] = {{"error", TOOL_LOG_ERROR}, {"catastrophic error", TOOL_LOG_ERROR}, {"internal error", TOOL_LOG_ERROR},
                 {"fatal", TOOL_LOG_ERROR}, {"warning", TOOL_LOG_WARNING},          {"remark", TOOL_LOG_INFO},
                 {"info", TOOL_LOG_INFO}};
    str rest = tool_skip_spaces(*s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        str at = rest;
        if (!tool_take(&at, words[i].word))
            continue;
        at = tool_skip_spaces(at);
        uint32_t number = 0;
        if (tool_take(&at, "#") && tool_take_number(&at, &number))
            tool_take(&at, "-D");
        at = tool_skip_spaces(at);
        if (!tool_take(&at, ":"))
            continue;
        r->severity = words[i].severity;
        r->number = (int)number;
        *s = at;
        return true;
    }
    return false;
}

// The '(12)' after a file name that ends at [end], and the colon.
static bool take_parenthesis(str line, size_t end, tool_log_record *r, str *rest)
{
    *rest = tool_after(line, end);
    return tool_take(rest, "(") && tool_take_number(rest, &r->line) && tool_take(rest, ")") && tool_take(rest, ":");
}

// 'FILE(12): …', 'FILE' in double quotes or not, or '"FILE", line 12: …'. File names may hold parentheses.
static bool take_place(arena *a, str line, tool_log_record *r, str *rest)
{
    str name = line;
    if (tool_take(&name, "\"")) {
        const char *quote = memchr(name.at, '"', name.len);
        if (!quote)
            return false;
        name.len = (size_t)(quote - name.at);
        size_t end = name.len + 2;
        *rest = tool_after(line, end);
        bool has_location = (tool_take(rest, ", line ") && tool_take_number(rest, &r->line) && tool_take(rest, ":")) ||
                            take_parenthesis(line, end, r, rest);
        r->file = has_location ? arena_strndup(a, name.at, name.len) : NULL;
        return has_location;
    }
    for (size_t end = 1; end < line.len; end++) {
        if (line.at[end] != '(' || !take_parenthesis(line, end, r, rest))
            continue;
        tool_log_record ignored;
        str severity = *rest;
        if (!take_severity(&severity, &ignored))
            continue;
        r->file = arena_strndup(a, line.at, end);
        return true;
    }
    r->line = 0;
    return false;
}

// ---- ptxas ------------------------------------------------------------------------------------------------------

static bool is_symbol(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

// "(C7510) … in the function 'k'", '(C7602) … at line 304 in function k. Try …': number and function of a message.
static void read_remark(arena *a, str text, tool_log_record *r)
{
    static const char *const before[] = {" in the function ", " in function "};
    uint32_t number;
    str rest = tool_skip_spaces(text);
    if (tool_take(&rest, "(C") && tool_take_number(&rest, &number) && tool_take(&rest, ")"))
        r->number = (int)number;
    for (size_t i = 0; i < 2 && !r->function; i++) {
        const char *at = memmem(text.at, text.len, before[i], strlen(before[i]));
        if (!at)
            continue;
        str name = tool_after(text, (size_t)(at - text.at) + strlen(before[i]));
        tool_take(&name, "'");
        size_t len = 0;
        while (len < name.len && is_symbol(name.at[len]))
            len++;
        r->function = len ? arena_strndup(a, name.at, len) : NULL;
    }
}

// ' of kernel.hds(12)' behind a line of the PTX, which tool_log_locate writes. File names may hold parentheses.
static void take_source(arena *a, str *rest, tool_log_record *r)
{
    str name = *rest;
    if (!tool_take(&name, " of "))
        return;
    for (size_t end = 1; end < name.len; end++) {
        str at = tool_after(name, end);
        uint32_t line;
        bool is_location = tool_take(&at, "(") && tool_take_number(&at, &line) && tool_take(&at, ")");
        if (!is_location || (at.len && *at.at != ' ' && *at.at != ';'))
            continue;
        r->file = arena_strndup(a, name.at, end);
        r->line = line;
        r->in_ptx = false;
        *rest = at;
        return;
    }
}

static bool take_ptx_line(arena *a, str *s, tool_log_record *r)
{
    static const char word[] = " line ";
    const char *found = memmem(s->at, s->len, word, sizeof word - 1);
    str rest = found ? tool_after(*s, (size_t)(found - s->at) + sizeof word - 1) : (str){0};
    r->in_ptx = found && tool_take_number(&rest, &r->line);
    if (!r->in_ptx)
        return false;
    take_source(a, &rest, r);
    *s = rest;
    return true;
}

// [s] is what follows 'ptxas '. 'application ptx input, line 64; error   : …', 'error   : …', or, with a dot, a line
// that continues the one before.
static bool parse_ptxas(arena *a, str s, tool_log_record *r)
{
    str rest = tool_skip_spaces(s);
    if (tool_take(&rest, ".")) {
        *r = (tool_log_record){.severity = TOOL_LOG_INFO, .text = rest.at};
        return true;
    }
    if (take_severity(&rest, r)) {
        r->text = rest.at;
        str text = rest;
        read_remark(a, text, r);
        if (r->number)
            take_ptx_line(a, &text, r);
        return true;
    }
    if (!take_ptx_line(a, &rest, r) || !tool_take(&rest, ";") || !take_severity(&rest, r))
        return false;
    r->text = rest.at;
    read_remark(a, rest, r);
    return true;
}

// ---- from PTX to the source -------------------------------------------------------------------------------------

typedef struct location {
    uint32_t file, line;
} location;

// The .loc in force at a line of the PTX: the last one before it. A function's body begins a new sequence.
static bool loc_at(str ptx, uint32_t line, location *out)
{
    bool found = false;
    str text;
    for (uint32_t n = 1; n <= line && tool_take_line(&ptx, &text); n++) {
        text = tool_skip_spaces(text);
        location here;
        if (tool_take(&text, ".func") || tool_take(&text, ".entry") || tool_take(&text, ".visible"))
            found = false;
        if (!tool_take(&text, ".loc"))
            continue;
        text = tool_skip_spaces(text);
        if (!tool_take_number(&text, &here.file))
            continue;
        text = tool_skip_spaces(text);
        if (tool_take_number(&text, &here.line) && here.line) {
            *out = here;
            found = true;
        }
    }
    return found;
}

// The name in '.file 1 "name"'.
static const char *file_name(arena *a, str ptx, uint32_t file)
{
    str text;
    while (tool_take_line(&ptx, &text)) {
        text = tool_skip_spaces(text);
        uint32_t number;
        if (!tool_take(&text, ".file"))
            continue;
        text = tool_skip_spaces(text);
        if (!tool_take_number(&text, &number) || number != file)
            continue;
        text = tool_skip_spaces(text);
        const char *end = tool_take(&text, "\"") ? memchr(text.at, '"', text.len) : NULL;
        if (end)
            return arena_strndup(a, text.at, (size_t)(end - text.at));
    }
    return NULL;
}

static void map_ptx_line(arena *a, str ptx, tool_log_record *r)
{
    location at = {0};
    const char *name = loc_at(ptx, r->line, &at) ? file_name(a, ptx, at.file) : NULL;
    if (!name)
        return;
    r->file = name;
    r->line = at.line;
    r->in_ptx = false;
}

// ---- all together -----------------------------------------------------------------------------------------------

// [r->text] is left pointing into [line].
static bool parse_line(arena *a, str line, tool_log_record *r)
{
    *r = (tool_log_record){0};
    str rest = line;
    if (tool_take(&rest, "ptxas "))
        return parse_ptxas(a, rest, r);
    // Excerpts of the source and carets are indented.
    if (line.len && isspace((unsigned char)*line.at))
        return false;
    if (!tool_take(&rest, "nvrtc:") && !tool_take(&rest, "nvrtc-fatal:") && !take_place(a, line, r, &rest))
        rest = line;
    if (!take_severity(&rest, r))
        return false;
    r->text = rest.at;
    return true;
}

// ptxas' last word repeats that there were errors.
static bool is_total(const tool_log *log, const tool_log_record *r)
{
    return log->records.len && strncmp(r->text, "Ptx assembly aborted", 20) == 0;
}

void tool_log_parse(arena *a, str log, str ptx, tool_log *out)
{
    *out = (tool_log){0};
    str line;
    while (tool_take_line(&log, &line)) {
        tool_log_record r;
        if (!parse_line(a, line, &r))
            continue;
        str text = trim((str){r.text, (size_t)(line.at + line.len - r.text)});
        r.text = arena_strndup(a, text.at, text.len);
        if (r.in_ptx && ptx.len)
            map_ptx_line(a, ptx, &r);
        if (!is_total(out, &r))
            VEC_PUSH(a, &out->records, r);
    }
}

// ---- diagnostics ------------------------------------------------------------------------------------------------

src_span tool_log_span(diag_context *dx, const tool_log_record *r)
{
    src_file *file = r->file ? tool_source_of(dx->sources, r->file) : NULL;
    str line = file ? src_line(dx->sources, file, r->line) : (str){0};
    str text = trim(line);
    if (!line.len)
        return (src_span){0, 0};
    uint32_t begin = file->base + (uint32_t)(text.at - file->text.at);
    return (src_span){begin, begin + (uint32_t)text.len};
}

static bool is_performance_remark(const tool_log_record *r)
{
    return r->severity == TOOL_LOG_INFO && strstr(r->text, "Potential Performance Loss") != NULL;
}

int tool_log_report(diag_context *dx, const tool_log *log)
{
    int errors = 0;
    for (size_t i = 0; i < log->records.len; i++) {
        const tool_log_record *r = &log->records.at[i];
        src_span span = tool_log_span(dx, r);
        errors += r->severity == TOOL_LOG_ERROR;
        if (r->is_said)
            continue;
        if (r->severity == TOOL_LOG_ERROR) {
            diag_report(dx, span.begin ? HDS0074 : HDS0077, span, r->text);
        } else if (r->severity == TOOL_LOG_WARNING || is_performance_remark(r)) {
            diag_report(dx, HDS0075, span, r->text);
        }
    }
    return errors;
}
