#include "cuda_emit/prelude.h"

#include <string.h>

static const str marker = {"//: ", 4};

// The next word of [*rest], without blanks around it.
static str next_word(str *rest)
{
    if (!rest->len)
        return STR("");
    while (rest->len && rest->at[0] == ' ')
        rest->at++, rest->len--;
    size_t len = 0;
    while (len < rest->len && rest->at[len] != ' ')
        len++;
    str word = {rest->at, len};
    rest->at += len;
    rest->len -= len;
    return word;
}

// "name needs a b from sm_89"
static cu_snippet snippet_of(str line)
{
    cu_snippet snippet = {.name = next_word(&line)};
    for (str word = next_word(&line); word.len; word = next_word(&line)) {
        if (str_equal(word, STR("needs")))
            snippet.needs.at = line.at;
        else if (str_equal(word, STR("from")))
            snippet.from = arch_find(next_word(&line));
        else if (str_equal(word, STR("below")))
            snippet.below = arch_find(next_word(&line));
        else
            snippet.needs.len = (size_t)(word.at + word.len - snippet.needs.at);
    }
    return snippet;
}

static const char *line_end(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end : at + strlen(at);
}

// Reads the snippets of a file; fills [out] if it is not NULL. Returns their number.
static int read_snippets(const char *text, cu_snippet *out)
{
    int count = 0;
    cu_snippet *open = NULL;
    for (const char *at = text; *at;) {
        const char *end = line_end(at), *next = *end ? end + 1 : end;
        if (str_starts((str){at, (size_t)(end - at)}, marker)) {
            if (out) {
                open = &out[count];
                *open = snippet_of((str){at + marker.len, (size_t)(end - at) - marker.len});
                open->text.at = next;
            }
            count++;
        } else if (open) {
            open->text.len = (size_t)(next - open->text.at);
        }
        at = next;
    }
    return count;
}

static bool fits(const cu_snippet *snippet, const arch *have)
{
    if (snippet->from && !arch_has(have, snippet->from))
        return false;
    return !snippet->below || !arch_has(have, snippet->below);
}

void cu_prelude_init(cu_prelude *p, arena *a, const arch *target, bool is_c)
{
    int total = 0;
    for (const embedded_text *file = cu_prelude_files; file->name; file++)
        total += read_snippets(file->text, NULL);
    *p = (cu_prelude){.arch = target, .snippets = ARENA_ARRAY(a, cu_snippet, total)};
    for (const embedded_text *file = cu_prelude_files; file->name; file++) {
        if ((strcmp(file->name, "host.h") == 0) != is_c)
            continue;
        int count = read_snippets(file->text, p->snippets + p->count);
        for (int i = 0; i < count; i++)
            p->snippets[p->count + i].is_host = strcmp(file->name, "host.cuh") == 0;
        p->count += count;
    }
    map_init(&p->by_name, a);
    for (int i = p->count; i-- > 0;) // of several that fit, the first one
        if (fits(&p->snippets[i], target))
            map_put(&p->by_name, p->snippets[i].name.at, p->snippets[i].name.len, &p->snippets[i]);
}

bool cu_prelude_use(cu_prelude *p, str name)
{
    cu_snippet *snippet = map_get(&p->by_name, name.at, name.len);
    if (!snippet || (snippet->is_used && (p->for_host || !snippet->is_host_only)))
        return snippet != NULL;
    snippet->is_used = true;
    snippet->is_host_only = p->for_host;
    str rest = snippet->needs;
    for (str word = next_word(&rest); word.len; word = next_word(&rest))
        cu_prelude_use(p, word);
    return true;
}

void cu_prelude_print(const cu_prelude *p, cu_snippet_kind which, str_buf *out)
{
    for (int i = 0; i < p->count; i++) {
        const cu_snippet *snippet = &p->snippets[i];
        bool is_host = snippet->is_host || snippet->is_host_only;
        if (!snippet->is_used || is_host != (which == CU_HOST_SNIPPETS))
            continue;
        str text = snippet->text;
        while (text.len && text.at[text.len - 1] == '\n')
            text.len--;
        str_add(out, text);
        str_adds(out, "\n\n");
    }
}
