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
static cu_piece piece_of(str line)
{
    cu_piece piece = {.name = next_word(&line)};
    for (str word = next_word(&line); word.len; word = next_word(&line)) {
        if (str_equal(word, STR("needs")))
            piece.needs.at = line.at;
        else if (str_equal(word, STR("from")))
            piece.from = arch_find(next_word(&line));
        else if (str_equal(word, STR("below")))
            piece.below = arch_find(next_word(&line));
        else
            piece.needs.len = (size_t)(word.at + word.len - piece.needs.at);
    }
    return piece;
}

static const char *line_end(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end : at + strlen(at);
}

// Reads the snippets of a file; fills [out] if it is not NULL. Returns their number.
static int read_pieces(const char *text, cu_piece *out)
{
    int count = 0;
    cu_piece *open = NULL;
    for (const char *at = text; *at;) {
        const char *end = line_end(at), *next = *end ? end + 1 : end;
        if (str_starts((str){at, (size_t)(end - at)}, marker)) {
            if (out) {
                open = &out[count];
                *open = piece_of((str){at + marker.len, (size_t)(end - at) - marker.len});
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

void cu_prelude_init(cu_prelude *p, arena *a, const arch *target, bool is_c)
{
    int total = 0;
    for (const embedded_text *file = cu_prelude_files; file->name; file++)
        total += read_pieces(file->text, NULL);
    *p = (cu_prelude){.arch = target, .pieces = ARENA_ARRAY(a, cu_piece, total)};
    for (const embedded_text *file = cu_prelude_files; file->name; file++) {
        if ((strcmp(file->name, "host.h") == 0) != is_c)
            continue;
        int count = read_pieces(file->text, p->pieces + p->count);
        for (int i = 0; i < count; i++)
            p->pieces[p->count + i].is_host = strcmp(file->name, "host.cuh") == 0;
        p->count += count;
    }
}

static bool fits(const cu_piece *piece, const arch *have)
{
    if (piece->from && !arch_has(have, piece->from))
        return false;
    return !piece->below || !arch_has(have, piece->below);
}

bool cu_prelude_use(cu_prelude *p, str name)
{
    for (int i = 0; i < p->count; i++) {
        cu_piece *piece = &p->pieces[i];
        if (!str_equal(piece->name, name) || !fits(piece, p->arch))
            continue;
        if (piece->is_used && (p->for_host || !piece->is_host_only))
            return true;
        piece->is_used = true;
        piece->is_host_only = p->for_host;
        str rest = piece->needs;
        for (str word = next_word(&rest); word.len; word = next_word(&rest))
            cu_prelude_use(p, word);
        return true;
    }
    return false;
}

void cu_prelude_print(const cu_prelude *p, cu_pieces which, str_buf *out)
{
    for (int i = 0; i < p->count; i++) {
        const cu_piece *piece = &p->pieces[i];
        bool is_host = piece->is_host || piece->is_host_only;
        if (!piece->is_used || is_host != (which == CU_HOST_PIECES))
            continue;
        str text = piece->text;
        while (text.len && text.at[text.len - 1] == '\n')
            text.len--;
        str_add(out, text);
        str_adds(out, "\n\n");
    }
}
