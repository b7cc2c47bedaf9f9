// Text: a view of bytes with a length, and a builder that grows in an arena.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

typedef struct str {
    const char *at;
    size_t len;
} str;

#define STR(literal) ((str){(literal), sizeof(literal) - 1})

str str_of(const char *text);
bool str_equal(str a, str b);
bool str_starts(str text, str prefix);
bool str_ends(str text, str suffix);

// Edit distance with transpositions (Damerau-Levenshtein, restricted), for 'did you mean'. At most [limit] + 1.
int str_distance(str a, str b, int limit);

typedef struct str_buf {
    arena *arena;
    char *at;  // always 0-terminated once anything was added
    size_t len;
    size_t cap;
} str_buf;

void str_buf_init(str_buf *b, arena *a);
void str_add(str_buf *b, str text);
void str_addc(str_buf *b, char c);
void str_adds(str_buf *b, const char *text);
void str_addf(str_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The text so far; 0-terminated, valid until the next addition.
const char *str_text(str_buf *b);

// Letters, digits and underscores of ASCII, of which the first is no digit.
bool str_is_identifier(const char *text);
// What a text that is no identifier is called where one is needed: "/conv1/Conv.0" is conv1_Conv_0, "142" is v142. Letters and
// digits of ASCII, with an underscore for a run of anything else between them, at most [most] bytes.
const char *str_identifier(arena *a, const char *text, size_t most);

// Text of XML or HTML, between tags or in quotes: & < > and quotes as entities, and U+FFFD for characters that XML does not have.
void str_add_xml(str_buf *b, const char *text);

// Shortest decimal text of [value] that reads back the same, always with '.', 'e', 'inf' or 'nan' in it, whatever the
// locale of the host program.
void str_add_double(str_buf *b, double value);
// Reads a decimal or hexadecimal float in C syntax, whatever the locale.
double str_to_double(const char *text);
