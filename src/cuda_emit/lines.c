// Lines of output, and the source lines that they come from.
//
// A C++ compiler counts lines from a #line directive on, so the state is the number that the next line has by that
// count. A directive is written only where it differs from the line of the statement that comes; a single line too few
// is made up by an empty one, which is shorter and looks like the author's own.
#include "cuda_emit/printer.h"

#include <stdarg.h>
#include <string.h>

static void count_lines(cu *cx)
{
    if (cx->counted == cx->out->len)
        return;
    const char *at = cx->out->at + cx->counted, *end = cx->out->at + cx->out->len;
    for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        cx->line++;
    cx->counted = cx->out->len;
}

static src_location location_of(const cu *cx, src_span span)
{
    if (!cx->options->sources || !span.begin)
        return (src_location){0};
    return src_location_of(cx->options->sources, span.begin);
}

static bool differs(cu *cx, src_location location)
{
    count_lines(cx);
    return location.file && (!cx->file_is_named || location.file != cx->file || location.line != cx->line);
}

bool cu_line_differs(cu *cx, src_span span)
{
    return cx->options->lines && differs(cx, location_of(cx, span));
}

void cu_line(cu *cx, src_span span)
{
    if (!cx->options->lines)
        return;
    src_location location = location_of(cx, span);
    if (!differs(cx, location))
        return;
    bool is_named = cx->file_is_named && location.file == cx->file;
    if (is_named && location.line == cx->line + 1) {
        str_addc(cx->out, '\n');
        return;
    }
    str_addf(cx->out, "#line %u", location.line);
    if (!is_named) {
        str_adds(cx->out, " \"");
        cu_add_literal(cx->out, location.file->name);
        str_addc(cx->out, '"');
    }
    str_addc(cx->out, '\n');
    cx->file = location.file;
    cx->file_is_named = true;
    cx->line = location.line;
    cx->counted = cx->out->len;
}

void cu_put(cu *cx, const char *format, ...)
{
    if (cx->is_dry)
        return;
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(cx->a, format, args);
    va_end(args);
    for (int i = 0; i < cx->indent; i++)
        str_adds(cx->out, "    ");
    str_adds(cx->out, text);
    str_addc(cx->out, '\n');
}

void cu_location_text(cu *cx, src_span span, str_buf *out)
{
    src_location location = location_of(cx, span);
    if (location.file)
        str_addf(out, "%s:%u: ", location.file->name, location.line);
}

// Whether a character stands for itself in a literal, whatever is behind it.
static bool is_plain(unsigned char c)
{
    return c >= ' ' && c != '"' && c != '\\' && c != '?';
}

void cu_add_literal(str_buf *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        const unsigned char *plain = at;
        while (is_plain(*at))
            at++;
        str_add(out, (str){(const char *)plain, (size_t)(at - plain)});
        if (!*at)
            break;
        if (*at == '\n')
            str_adds(out, "\\n");
        else if (*at == '\t')
            str_adds(out, "\\t");
        else if (*at == '"' || *at == '\\')
            str_addf(out, "\\%c", *at);
        else if (*at < ' ' || (*at == '?' && at[1] == '?'))
            str_addf(out, "\\%03o", *at);
        else
            str_addc(out, (char)*at);
    }
}
