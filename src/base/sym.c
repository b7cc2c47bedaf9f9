#include "base/sym.h"

#include <string.h>

#include "base/hash.h"

typedef struct sym_slot {
    sym_entry *entry; // NULL: free
    uint32_t hash;
} sym_slot;

enum { FIRST_SLOTS = 256 };

void sym_init(sym_table *table, arena *a)
{
    *table = (sym_table){.arena = a, .slot_mask = FIRST_SLOTS - 1};
    table->slots = ARENA_ARRAY(a, sym_slot, FIRST_SLOTS);
}

void sym_copy(sym_table *table, const sym_table *from, arena *a)
{
    *table = *from;
    table->arena = a;
    table->slots = arena_dup(a, from->slots, ((size_t)from->slot_mask + 1) * sizeof *from->slots);
}

static void grow(sym_table *table)
{
    sym_slot *old = table->slots;
    uint32_t old_count = table->slot_mask + 1;
    table->slot_mask = old_count * 4 - 1;
    table->slots = ARENA_ARRAY(table->arena, sym_slot, old_count * 4);
    for (uint32_t i = 0; i < old_count; i++) {
        if (!old[i].entry)
            continue;
        uint32_t at = old[i].hash & table->slot_mask;
        while (table->slots[at].entry)
            at = (at + 1) & table->slot_mask;
        table->slots[at] = old[i];
    }
}

// The slot of the text, or the one that is free for it.
static sym_slot *slot_of(const sym_table *table, str text, uint32_t hash)
{
    uint32_t at = hash & table->slot_mask;
    for (sym_slot *slot; (slot = &table->slots[at])->entry; at = (at + 1) & table->slot_mask)
        if (slot->hash == hash && slot->entry->len == text.len && memcmp(slot->entry->text, text.at, text.len) == 0)
            return slot;
    return &table->slots[at];
}

sym sym_intern(sym_table *table, str text)
{
    uint32_t hash = hash_bytes(text.at, text.len);
    const sym_slot *known = table->shared ? slot_of(table->shared, text, hash) : NULL;
    if (known && known->entry)
        return known->entry;
    sym_slot *slot = slot_of(table, text, hash);
    if (slot->entry)
        return slot->entry;
    sym_entry *entry = arena_alloc(table->arena, sizeof *entry + text.len + 1);
    table->count++;
    entry->len = (uint32_t)text.len;
    if (text.len)
        memcpy(entry->text, text.at, text.len);
    *slot = (sym_slot){entry, hash};
    if (table->count * 2 > table->slot_mask)
        grow(table);
    return entry;
}

sym sym_of(sym_table *table, const char *text)
{
    return sym_intern(table, str_of(text));
}

str sym_str(sym name)
{
    return (str){name->text, name->len};
}
