// Writes JSON into a text buffer. It takes no memory but the buffer's, so that there is nothing to give back when that
// runs out.
//
//     pl_json w;
//     pl_json_init(&w, &out);
//     pl_json_open(&w, NULL, '{');
//     pl_json_text(&w, "name", "saxpy");
//     pl_json_open(&w, "grid", '[');
//     pl_json_integer(&w, NULL, 1);
//     pl_json_close(&w, ']');
//     pl_json_close(&w, '}');
//
// Members of an object have a key, elements of a list have none. Lists of numbers and texts stay on one line.
#pragma once

#include "base/str.h"

typedef struct pl_json {
    str_buf *out;
    int depth;
    bool is_first;  // in the object or list that is open
    bool is_inline;
} pl_json;

void pl_json_init(pl_json *w, str_buf *out);
void pl_json_open(pl_json *w, const char *key, char bracket);
void pl_json_open_line(pl_json *w, const char *key);  // a list that stays on one line, until it is closed
void pl_json_close(pl_json *w, char bracket);
void pl_json_integer(pl_json *w, const char *key, int64_t value);
void pl_json_bool(pl_json *w, const char *key, bool value);
void pl_json_null(pl_json *w, const char *key);
// NULL, and what is no UTF-8, is null.
void pl_json_text(pl_json *w, const char *key, const char *text);
