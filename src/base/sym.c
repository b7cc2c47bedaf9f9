#include "base/sym.h"

#include <string.h>

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

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
}

// Eight bytes at a time. Names come from the user's own files, so there is no attacker who would make them collide.
static uint32_t hash_of(str text)
{
    uint64_t h = text.len, word;
    const char *at = text.at;
    size_t left = text.len;
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        h = mix(h, word);
    }
    if (left >= 4) {
        uint32_t head, tail;
        memcpy(&head, at, 4);
        memcpy(&tail, at + left - 4, 4);
        h = mix(h, (uint64_t)head << 32 | tail);
    } else if (left) {
        word = (uint64_t)(unsigned char)at[0] << 16 | (uint64_t)(unsigned char)at[left / 2] << 8 |
               (unsigned char)at[left - 1];
        h = mix(h, word);
    }
    return (uint32_t)h;
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
    uint32_t hash = hash_of(text);
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
