// Inside the cache: names of files, their bytes, locks.
#pragma once

#include "cache/cache.h"

enum {
    CACHE_GROUPS = 256,        // folders of entries: the first two digits of the key
    CACHE_RANGES = 16,         // number of ranges of groups; each store checks one of them
    CACHE_NAME_LEN = 30,       // digits in a file's name
    CACHE_HEAD = 48,           // bytes of an entry in front of its parts
    CACHE_STALE_SECONDS = 3600,  // an older temporary file is stale
};

struct cache {
    char *folder;        // as given
    char *root;          // folder/v1: this format
    uint64_t limit_bytes;
    bool is_given;       // the folder; else it is the user's own
    int64_t wait_ms;     // for another maker, at most
};

// ---- hash.c: xxHash of entries ---------------------------------------------------------------------------------------------

typedef struct cache_key {
    uint64_t at[2];  // the more significant half first
} cache_key;

cache_key cache_hash_bytes(str bytes);
// Of a kind and the names and bytes of inputs, each with its length.
cache_key cache_hash_parts(const char *kind, const cache_part *inputs, size_t count);

// ---- entry.c: the bytes of a file ---------------------------------------------------------------------------------------

typedef struct cache_record {
    const char *kind;
    cache_key key;
    cache_parts inputs, outputs;
} cache_record;

// The bytes of an entry, in [a].
str cache_record_make(arena *a, const cache_record *r);
// Takes them apart; what [out] holds points into [bytes], except for the lists, which are in [a]. Each part is followed by a
// 0 and begins at a multiple of 16 from the start of [bytes]. NULL, or why these bytes are no entry: in [a] or static.
const char *cache_record_parse(arena *a, str bytes, cache_record *out);
// Whether [head], the first CACHE_HEAD bytes of a file, can be those of an entry of [size_bytes].
bool cache_record_may_be(const char *head, uint64_t size_bytes);
// Whether the record has that kind and exactly these inputs.
bool cache_record_is(const cache_record *r, const char *kind, const cache_part *inputs, size_t count);

// ---- folder.c: names, permissions, whole files --------------------------------------------------------------------------

const char *cache_path_of(const cache *c, arena *a, cache_key key);
// The key that a file in group [group] has by its name; false if it is no name of an entry.
bool cache_key_of_name(int group, const char *name, cache_key *out);
const char *cache_group_path(const cache *c, arena *a, int group);
const char *cache_key_text(arena *a, cache_key key);  // 32 digits
// Makes the folders down to the group of [key], or to the root if it is NULL.
bool cache_make_folders(const cache *c, arena *a, const cache_key *key);
// Opens a file of the root for writing in place, creating it; read-only if it cannot be written. -1: neither works.
int cache_open_shared(const cache *c, arena *a, const char *name, bool *is_writable);
// NULL and the bytes, in [a], 16-byte aligned; or why not, *is_missing where there is no such file.
const char *cache_read_file(arena *a, const char *path, str *out, bool *is_missing);
bool cache_write_file(const cache *c, arena *a, cache_key key, str bytes);

// ---- store.c ------------------------------------------------------------------------------------------------------------

// Calls [body] with memory of its own; false, too, where that runs out.
bool cache_with_memory(bool (*body)(arena *a, void *user), void *user);
// The record at [path] in [a]. NULL, or what is wrong with it; *is_missing as for cache_read_file.
const char *cache_read_record(arena *a, const char *path, cache_record *out, uint64_t *size_bytes, bool *is_missing);

// ---- lock.c -------------------------------------------------------------------------------------------------------------

// An open lock file, to be closed; -1: there is none, and no locks. A file belongs to one key at a time.
int cache_lock_open(const cache *c);
// Takes the lock of [key] in that file, after waiting for it until [is_done] or for as long as the cache waits. False if
// one of these came first, or the file system has no locks.
bool cache_lock_wait(const cache *c, int lock, cache_key key, bool (*is_done)(void *user), void *user);

// ---- shrink.c -----------------------------------------------------------------------------------------------------------

// Removes what was not used for longest from the range of [key], if there is too much, and temporary files of the dead.
void cache_shrink_around(const cache *c, arena *a, cache_key key);

typedef struct cache_file {
    int group;
    char name[48];
    int64_t used_ns;
    uint64_t size_bytes;
    bool is_folder;
} cache_file;

typedef VEC(cache_file) cache_files;

// Adds the entries of a group, in no order; removes stale temporaries and counts them. [a] is one of cache_with_memory.
void cache_scan_group(const cache *c, arena *a, int group, cache_files *out, uint64_t *stale);
