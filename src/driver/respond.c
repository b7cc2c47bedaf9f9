// Arguments from files: @FILE is replaced by the words in FILE.

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "driver/cmd.h"

typedef VEC(char *) words;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Reads one word at *[at]; quotes join, a backslash outside single quotes takes the next character as it is.
static char *next_word(arena *a, str text, size_t *at)
{
    str_buf word;
    str_buf_init(&word, a);
    char quote = 0;
    for (; *at < text.len; ++*at) {
        char c = text.at[*at];
        if (!quote && is_blank(c))
            break;
        if (c == quote)
            quote = 0;
        else if (!quote && (c == '"' || c == '\''))
            quote = c;
        else if (c == '\\' && quote != '\'' && *at + 1 < text.len)
            str_addc(&word, text.at[++*at]);
        else
            str_addc(&word, c);
    }
    return arena_strdup(a, str_text(&word));
}

static bool add_file(arena *a, words *out, const char *path)
{
    const char *error = NULL;
    str text;
    if (!file_read(a, path, &text, &error)) {
        fprintf(stderr, "hdsc: cannot read '@%s': %s\n", path, error);
        return false;
    }
    for (size_t at = 0; at < text.len;) {
        if (is_blank(text.at[at]))
            at++;
        else
            VEC_PUSH(a, out, next_word(a, text, &at));
    }
    return true;
}

char **cmd_expand_files(arena *a, int *argc, char **argv)
{
    words out = {0};
    for (int i = 0; i < *argc; i++) {
        if (i == 0 || argv[i][0] != '@')
            VEC_PUSH(a, &out, argv[i]);
        else if (!add_file(a, &out, argv[i] + 1))
            return NULL;
    }
    *argc = (int)out.len;
    VEC_PUSH(a, &out, NULL);
    return out.at;
}
