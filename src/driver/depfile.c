#include "driver/depfile.h"

#include <string.h>

enum { WIDTH = 100 };

// GNU make, "Rule Syntax" and "Using Wildcard Characters in File Names": a blank, '#' and ':' take a backslash, and so
// do the backslashes before them; '$' is doubled.
const char *cmd_depfile_name(arena *a, const char *name)
{
    str_buf out;
    str_buf_init(&out, a);
    for (const char *c = name; *c; c++) {
        bool is_special = *c == ' ' || *c == '\t' || *c == '#' || *c == ':';
        for (const char *back = c; is_special && back > name && back[-1] == '\\'; back--)
            str_addc(&out, '\\');
        if (is_special)
            str_addc(&out, '\\');
        if (*c == '$')
            str_addc(&out, '$');
        str_addc(&out, *c);
    }
    return str_text(&out);
}

static void add_word(str_buf *out, const char *word, size_t *column)
{
    size_t len = strlen(word);
    if (*column && *column + 1 + len > WIDTH) {
        str_adds(out, " \\\n ");
        *column = 1;
    } else if (*column) {
        str_addc(out, ' ');
        ++*column;
    }
    str_adds(out, word);
    *column += len;
}

bool cmd_depfile_add(diag_context *dx, const cmd_rule *rule, str_buf *out)
{
    size_t column = 0;
    for (size_t i = 0; i < rule->target_count; i++)
        add_word(out, rule->targets[i], &column);
    str_addc(out, ':');
    column++;
    for (size_t at = 0; at < rule->depends.len; at += strlen(rule->depends.at + at) + 1) {
        const char *name = rule->depends.at + at;
        if (strchr(name, '\n')) {
            diag_report(dx, HDS0715, (src_span){0, 0}, name);
            return false;
        }
        add_word(out, cmd_depfile_name(dx->arena, name), &column);
    }
    str_addc(out, '\n');
    bool is_first = true;
    for (size_t at = 0; rule->phony && at < rule->depends.len; at += strlen(rule->depends.at + at) + 1) {
        if (!is_first)
            str_addf(out, "\n%s:\n", cmd_depfile_name(dx->arena, rule->depends.at + at));
        is_first = false;
    }
    return true;
}
