#include "pipeline/canonical.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    arena *arena;
    pl_canonical *out;
    const char *file;  // of the next line
    uint32_t line;
    int kernel;
    bool is_continued; // the line before ends with a backslash
    bool is_bad;
} reader;

// ---- one line ---------------------------------------------------------------------------------------------------

static str trimmed(str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
        s.at++, s.len--;
    while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t' || s.at[s.len - 1] == '\r'))
        s.len--;
    return s;
}

// '#line 12 "file"'; without a name the file stays.
static bool read_directive(reader *r, str text)
{
    static const char word[] = "#line ";
    if (!str_starts(text, STR("#line ")))
        return false;
    const char *at = text.at + sizeof word - 1, *end = text.at + text.len;
    r->line = (uint32_t)strtoul(at, NULL, 10);
    const char *quote = memchr(at, '"', (size_t)(end - at));
    if (!quote)
        return true;
    str_buf name;
    str_buf_init(&name, r->arena);
    for (at = quote + 1; at < end && *at != '"'; at++) {
        r->is_bad |= *at == '\\' && at + 1 < end && at[1] >= '0' && at[1] <= '9';
        at += *at == '\\' && at + 1 < end;
        str_addc(&name, *at);
    }
    r->file = str_text(&name);
    return true;
}

// The index behind a string or character that begins at [at].
static size_t behind_literal(str text, size_t at)
{
    char quote = text.at[at];
    for (at++; at < text.len && text.at[at] != quote; at++)
        at += text.at[at] == '\\';
    return at + 1;
}

// Without its comments; false where one goes on.
static bool strip(arena *a, str text, str *out)
{
    str_buf kept;
    str_buf_init(&kept, a);
    for (size_t at = 0, next; at < text.len; at = next) {
        str rest = {text.at + at, text.len - at};
        next = at + 1;
        if (str_starts(rest, STR("//")))
            break;
        if (str_starts(rest, STR("/*"))) {
            const char *end = memmem(rest.at + 2, rest.len - 2, "*/", 2);
            if (!end)
                return false;
            str_addc(&kept, ' ');
            next = (size_t)(end - text.at) + 2;
            continue;
        }
        if (rest.at[0] == '"' || rest.at[0] == '\'')
            next = behind_literal(text, at);
        if (next > text.len || str_starts(rest, STR("R\"")))
            return false;
        str_add(&kept, (str){rest.at, next - at});
    }
    *out = trimmed((str){str_text(&kept), kept.len});
    return true;
}

static bool has(str text, const char *word)
{
    return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

static void read_line(reader *r, str whole)
{
    str text = trimmed(whole), kept = whole;
    bool is_directive = !r->is_continued && read_directive(r, text);
    bool continues = text.len && text.at[text.len - 1] == '\\';
    if (!is_directive) {
        bool is_plain = r->is_continued || continues;
        r->is_bad |= !is_plain && !strip(r->arena, text, &kept);
        r->is_bad |= is_plain && (has(text, "//") || has(text, "/*"));
        if (kept.len)
            VEC_PUSH(r->arena, &r->out->lines, ((pl_line){kept, r->file, r->line, r->kernel}));
        r->line++;
    }
    r->is_continued = continues;
}

// ---- the text ---------------------------------------------------------------------------------------------------

static bool depends_on_lines(str cuda)
{
    static const char *const words[] = {"__LINE__", "__FILE__", "__BASE_FILE__", "__COUNTER__"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has(cuda, words[i]))
            return true;
    }
    return false;
}

bool pl_canonical_make(arena *a, str cuda, const cu_kernel_list *kernels, pl_canonical *out)
{
    *out = (pl_canonical){0};
    reader r = {.arena = a, .out = out, .line = 1};
    size_t kernel = 0, offset = 0;
    if (depends_on_lines(cuda))
        return false;
    while (offset < cuda.len && !r.is_bad) {
        const char *end = memchr(cuda.at + offset, '\n', cuda.len - offset);
        size_t len = end ? (size_t)(end - cuda.at) - offset : cuda.len - offset;
        while (kernel < kernels->len && offset >= kernels->at[kernel].text_end)
            kernel++;
        bool is_inside = kernel < kernels->len && offset >= kernels->at[kernel].text_begin;
        r.kernel = is_inside ? (int)kernel : -1;
        read_line(&r, (str){cuda.at + offset, len});
        offset += len + 1;
    }
    return !r.is_bad;
}

str pl_canonical_text(arena *a, const pl_canonical *c, const size_t *parts, size_t part, pl_line_numbers *from)
{
    str_buf text;
    str_buf_init(&text, a);
    *from = (pl_line_numbers){0};
    for (size_t i = 0; i < c->lines.len; i++) {
        const pl_line *line = &c->lines.at[i];
        if (parts && line->kernel >= 0 && parts[line->kernel] != part)
            continue;
        str_add(&text, line->text);
        str_addc(&text, '\n');
        VEC_PUSH(a, from, (uint32_t)i);
    }
    return (str){str_text(&text), text.len};
}

// ---- logs -------------------------------------------------------------------------------------------------------

typedef struct mapping {
    const pl_line_numbers *from;  // or
    const pl_canonical *source;
} mapping;

static bool add_location(const mapping *m, uint32_t line, str_buf *out)
{
    size_t index = line - 1;
    if (!line || index >= (m->from ? m->from->len : m->source->lines.len))
        return false;
    if (m->from)
        str_addf(out, PL_CANONICAL_NAME "(%u", m->from->at[index] + 1);
    else if (m->source->lines.at[index].file)
        str_addf(out, "%s(%u", m->source->lines.at[index].file, m->source->lines.at[index].line);
    else
        return false;
    return true;
}

static str map_locations(arena *a, const mapping *m, str log)
{
    static const char word[] = PL_CANONICAL_NAME "(";
    if (!log.len)
        return log;
    str_buf out;
    str_buf_init(&out, a);
    const char *at = log.at, *end = log.at + log.len, *found;
    while ((found = memmem(at, (size_t)(end - at), word, sizeof word - 1))) {
        char *behind;
        const char *digits = found + sizeof word - 1;
        unsigned long line = strtoul(digits, &behind, 10);
        str_add(&out, (str){at, (size_t)(found - at)});
        if (behind == digits || *behind != ')' || line > UINT32_MAX || !add_location(m, (uint32_t)line, &out))
            str_add(&out, (str){found, (size_t)(behind - found)});
        at = behind;
    }
    str_add(&out, (str){at, (size_t)(end - at)});
    return (str){str_text(&out), out.len};
}

str pl_canonical_log_of_whole(arena *a, const pl_line_numbers *from, str log)
{
    return map_locations(a, &(mapping){.from = from}, log);
}

str pl_canonical_log_of_source(arena *a, const pl_canonical *c, str log)
{
    return map_locations(a, &(mapping){.source = c}, log);
}
