// Interned names: two symbols with the same text are the same pointer.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"

typedef struct sym_entry {
    uint32_t len;
    char text[]; // 0-terminated
} sym_entry;

typedef const sym_entry *sym;

// An open-addressing table of its own: the parser interns a name for every third token or so.
typedef struct sym_table {
    arena *arena;
    const struct sym_table *shared; // its symbols are this table's, too; nothing is added to it any more. NULL: none
    struct sym_slot *slots;
    uint32_t slot_mask;
    uint32_t count;
} sym_table;

void sym_init(sym_table *table, arena *a);
// A table with the symbols of [from], which stay where they are; what is added to it is in [a].
void sym_copy(sym_table *table, const sym_table *from, arena *a);
sym sym_intern(sym_table *table, str text);
sym sym_of(sym_table *table, const char *text);
str sym_str(sym name);
