#include "pipeline/json.h"

#include <inttypes.h>

void pl_json_init(pl_json *w, str_buf *out)
{
    *w = (pl_json){.out = out, .is_first = true};
}

// ---- layout ----------------------------------------------------------------------------------------------------

static void begin_line(pl_json *w)
{
    str_addc(w->out, '\n');
    for (int i = 0; i < w->depth; i++)
        str_adds(w->out, "  ");
}

static void add_string(pl_json *w, const char *text);

// What stands before a value.
static void begin(pl_json *w, const char *key)
{
    if (!w->is_first)
        str_addc(w->out, ',');
    if (w->is_inline && !w->is_first)
        str_addc(w->out, ' ');
    if (w->depth && !w->is_inline)
        begin_line(w);
    if (key) {
        add_string(w, key);
        str_adds(w->out, ": ");
    }
    w->is_first = false;
}

void pl_json_open(pl_json *w, const char *key, char bracket)
{
    begin(w, key);
    str_addc(w->out, bracket);
    w->depth++;
    w->is_first = true;
}

void pl_json_open_line(pl_json *w, const char *key)
{
    pl_json_open(w, key, '[');
    w->is_inline = true;
}

void pl_json_close(pl_json *w, char bracket)
{
    w->depth--;
    if (!w->is_first && !w->is_inline)
        begin_line(w);
    str_addc(w->out, bracket);
    w->is_first = w->is_inline = false;
}

// ---- values ----------------------------------------------------------------------------------------------------

// The length of the UTF-8 character at [at]; 0 for what is none (RFC 3629: no overlong forms, no surrogates, at most
// 10FFFF).
static int character(const unsigned char *at)
{
    if (at[0] < 0x80)
        return 1;
    int len = at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    bool is_bad = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) ||
                  (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90);
    return is_bad ? 0 : len;
}

static bool is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        int len = character(at);
        if (!len)
            return false;
        at += len;
    }
    return true;
}

static void add_string(pl_json *w, const char *text)
{
    str_addc(w->out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            str_addf(w->out, "\\%c", *text);
        else if (*text == '\n')
            str_adds(w->out, "\\n");
        else if ((unsigned char)*text < 0x20 || *text == 0x7f)
            str_addf(w->out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            str_addc(w->out, *text);
    }
    str_addc(w->out, '"');
}

void pl_json_integer(pl_json *w, const char *key, int64_t value)
{
    begin(w, key);
    str_addf(w->out, "%" PRId64, value);
}

void pl_json_bool(pl_json *w, const char *key, bool value)
{
    begin(w, key);
    str_adds(w->out, value ? "true" : "false");
}

void pl_json_null(pl_json *w, const char *key)
{
    begin(w, key);
    str_adds(w->out, "null");
}

void pl_json_text(pl_json *w, const char *key, const char *text)
{
    if (!text || !is_utf8(text)) {
        pl_json_null(w, key);
        return;
    }
    begin(w, key);
    add_string(w, text);
}
