// Source files and locations in them.
//
// All files of a compilation share one space of 32-bit positions: a file added to the map gets a range of its own, so a
// location is one number and a span two. Lines and columns are computed on demand. The upper half of the space is
// for files whose syntax trees exist already, with spans that are the same in all maps (frontend/kept.h).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

// Bytes [begin, end) of the position space. {0, 0} is "nowhere".
typedef struct src_span {
    uint32_t begin;
    uint32_t end;
} src_span;

typedef struct src_file {
    const char *name;  // as diagnostics show it
    str text;
    uint32_t base;          // position of the first byte; never 0
    uint32_t order;         // of its map's files
    struct ast_module *tree;  // NULL: not parsed before it was added
    uint32_t *line_starts;  // offsets within [text], made on first use
    uint32_t line_count;
    bool is_builtin;  // a part of the compiler: what can be said of its code is of no use to the author
} src_file;

typedef struct src_map {
    arena *arena;
    VEC(src_file *) files;    // in the order of adding
    VEC(src_file *) by_base;  // the same, by position
    uint32_t next_base;
} src_map;

void src_map_init(src_map *map, arena *a);
// NULL if there are no positions left (2 GiB over all files). [text] must live as long as the map.
src_file *src_add(src_map *map, const char *name, str text);
// Where the upper half begins; src_add stays below.
#define SRC_KEPT_BASE 0x80000000u
// Adds a file whose positions begin at [base]; no other file of the map has these.
src_file *src_add_at(src_map *map, const char *name, str text, uint32_t base);
src_file *src_file_at(const src_map *map, uint32_t position);

typedef struct src_location {
    src_file *file;   // NULL for "nowhere"
    uint32_t line;    // from 1
    uint32_t column;  // from 1, in bytes
} src_location;

src_location src_location_of(const src_map *map, uint32_t position);
// Whether [a] is behind [b]: files are in the order of adding, and nowhere is behind them all.
bool src_is_after(const src_map *map, src_span a, src_span b);
// The text of line [line] (from 1) without its end-of-line bytes.
str src_line(src_map *map, src_file *file, uint32_t line);

static inline src_span src_join(src_span a, src_span b)
{
    if (!a.begin)
        return b;
    if (!b.begin)
        return a;
    return (src_span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}
