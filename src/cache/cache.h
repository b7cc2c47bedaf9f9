// Results on disk, found by what they were made from.
//
//     cache *c = cache_open(NULL, 0, &why);
//     cache_parts out = {0};
//     cache_ticket ticket;
//     if (!cache_get(c, arena, "code", inputs, input_count, &out, &ticket)) {
//         … make the outputs …
//         cache_put(&ticket, outputs, output_count);      // or cache_abandon(&ticket)
//     }
//
// An entry holds its inputs and its outputs, each a list of named bytes. It is found by the hash of the inputs' names and
// bytes, and only taken where these are equal byte by byte: a hash that collides is a miss. It ends with a checksum; what
// is damaged, cut off or of another format counts as not there and is replaced.
//
// Files are written under another name and renamed, so that a reader finds a complete entry or none, even if a writer
// is killed. On a miss the process locks the key, and others that look it up wait for the entry (the system releases
// the lock if its holder dies; on a file system without locks nothing waits, and work may be done twice). The folder
// may be shared by processes and machines.
//
// A cache is safe for many threads. None of this reports: a cache that cannot be read or written is a slow one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

typedef struct cache cache;

// A named part of an entry.
typedef struct cache_part {
    const char *name;  // "source", "cubin"
    str bytes;
} cache_part;

typedef VEC(cache_part) cache_parts;

// The right and the duty to create an entry; owns no memory. It is filled in before cache_get asks [arena] for
// memory: a caller that recovers from running out of it abandons the ticket.
typedef struct cache_ticket {
    cache *cache;            // NULL: nothing to do, as after a hit
    const char *kind;
    const cache_part *inputs;  // as given to cache_get: they must live until the ticket is used
    size_t input_count;
    uint64_t key[2];
    int lock;                // of the key; -1: none
} cache_ticket;

// [folder]: NULL for $HDS_CACHE_DIR, else $XDG_CACHE_HOME/hdsc, else ~/.cache/hdsc; created when something is stored.
// [limit_bytes]: 0 for $HDS_CACHE_SIZE ("500M", "2G"), else 1 GiB. NULL, and *why in static memory, where there is no such
// folder, where a size is invalid, and where no folder is given here and HDS_CACHE=off asks for none. Functions below
// take NULL for a cache, unless they say otherwise: they find and store nothing.
cache *cache_open(const char *folder, uint64_t limit_bytes, const char **why);
void cache_close(cache *c);

// Looks for the entry of [kind] ("code", "program") with exactly these inputs. True: its outputs are in *out, in [a]. False:
// the caller is to make it, and to end the ticket by cache_put or cache_abandon. May wait for another maker.
bool cache_get(cache *c, arena *a, const char *kind, const cache_part *inputs, size_t input_count, cache_parts *out,
               cache_ticket *ticket);
// After a hit whose outputs turn out to be out of date (files named in them have changed): the right to replace it.
void cache_claim(cache *c, const char *kind, const cache_part *inputs, size_t input_count, cache_ticket *ticket);
void cache_put(cache_ticket *ticket, const cache_part *outputs, size_t output_count);
void cache_abandon(cache_ticket *ticket);
// What one range of groups may hold, in bytes: an entry that is larger is not stored. Not NULL.
uint64_t cache_range_limit(const cache *c);

// The part of that name; empty, with a NULL address, if there is none.
str cache_part_of(const cache_parts *parts, const char *name);
// XXH3, 128 bits, as 32 hexadecimal digits, in [a]: for what an entry remembers of files that it does not hold.
const char *cache_hash(arena *a, str bytes);
// Of pieces that stand one behind the other, the same as of all in one.
const char *cache_hash_pieces(arena *a, const str *pieces, size_t count);

// A hint that may get lost: the cache has all results that the work [what] needs (any text that names the work).
// Callers without this hint start early what only a miss needs.
bool cache_expects(const cache *c, str what);
void cache_expect(const cache *c, str what);

// ---- looking after it ---------------------------------------------------------------------------------------------------

typedef struct cache_entry {
    const char *path;     // of the file
    const char *name;     // the key: 32 hexadecimal digits
    uint64_t size_bytes;
    int64_t used;         // when it was stored or last found, in seconds since 1970, to the hour
    const char *damage;   // NULL: none; else why it is not taken, and nothing below is known
    const char *kind;
    cache_parts inputs, outputs;
} cache_entry;

typedef struct cache_gc_result {
    uint64_t removed, removed_bytes, kept, kept_bytes;
    uint64_t stale;  // temporary files of processes that were killed, removed
} cache_gc_result;

const char *cache_folder(const cache *c);  // not NULL
uint64_t cache_limit(const cache *c);      // in bytes; not NULL
// "500M", "2G", a number of bytes: true and the size.
bool cache_size_parse(const char *text, uint64_t *out);

// Calls [visit] for each file of an entry, damaged or not, ordered by key. What it is given lasts until it returns.
void cache_each(const cache *c, void (*visit)(void *user, const cache_entry *entry), void *user);
// Looks up the entry with these inputs, without waiting or updating it. False: there is no valid one.
bool cache_find(const cache *c, arena *a, const char *kind, const cache_part *inputs, size_t input_count, cache_entry *out);
// Removes one that cache_each has shown.
bool cache_remove(const cache_entry *entry);
// Removes what was not used for longest until [limit_bytes] suffice, and what killed processes left behind.
void cache_gc(cache *c, uint64_t limit_bytes, cache_gc_result *out);
void cache_clear(cache *c, cache_gc_result *out);
