// Files of weights in the safetensors format: names, types and shapes from the header; the bytes where they are in the file.
//
//     wt_file *f = wt_open(&memory, "model.safetensors", &error);      one file; or model.safetensors.index.json: shards
//     const wt_entry *e = wt_find(f, "fc.weight");                      type and shape; no bytes are read yet
//     const uint8_t *bytes = wt_bytes(f, e, &error);                     mapped, by the first that asks
//     wt_close(f);
//
// A file is: the header's length (u64, little-endian), the header (JSON: name -> dtype, shape, data_offsets; maybe a text map
// "__metadata__"), then the bytes of all tensors, one behind the other without gaps. Whatever does not hold exactly is
// refused, so
// an entry can be trusted: its bytes are in the file, belong to no other entry, and are as many as type and shape need.
// Nothing is
// allocated by a number in a file which the file's own size does not back.
//
// Descriptions are in the arena that the file was opened with, mappings and descriptors until wt_close. A file that another
// process shortens while it is mapped ends the process, as for any mapping: files are replaced by renaming.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct wt_entry {
    const char *name;
    const char *dtype;        // as the language calls it, "f16"; NULL: it has no such type
    const char *stored_dtype; // as the file calls it, "F16"
    int rank;
    const int64_t *shape;     // from 0 on
    int64_t offset, bytes;    // in the part's data
    int part;                 // which file of the shards; 0 where there is one
    const uint8_t *at;        // in memory; NULL: in the part
} wt_entry;

// One safetensors file.
typedef struct wt_part {
    const char *path;
    int fd;
    int64_t data_begin, size; // where the tensors' bytes begin; of the whole file
    uint8_t *mapped;          // all of it; NULL: not yet
} wt_part;

typedef struct wt_file {
    arena *memory;
    const char *path;
    VEC(wt_entry) entries; // in the order of their bytes, part by part
    VEC(wt_part) parts;
    map by_name;
    str mapped; // a file that entries' [at] point into, by file_map; wt_close unmaps it
} wt_file;

// NULL, and *[error] (in [a]) says why, if it cannot be read or is no such file. [a] must live until wt_close.
wt_file *wt_open(arena *a, const char *path, const char **error);
// NULL: there is no such tensor.
const wt_entry *wt_find(const wt_file *f, const char *name);
// The bytes of an entry, which stay until wt_close; not aligned. NULL, and *[error] says why, if they cannot be mapped.
const uint8_t *wt_bytes(wt_file *f, const wt_entry *e, const char **error);
// NULL is allowed.
void wt_close(wt_file *f);

// A copy with all descriptions in [a], for another thread, or for when [f] is closed. [with_bytes]: it maps parts by itself, and sees
// what [f] has mapped, as long as that is open; otherwise it has no bytes, and holds no file open.
wt_file *wt_copy(arena *a, const wt_file *f, bool with_bytes);

// Reads the header of a file that is [size] bytes long into [f]'s entries, as part [part]. [header]: the JSON. False, and
// *[error]
// says why. wt_open does this; it is here for tests.
bool wt_read_header(wt_file *f, int part, str header, int64_t data_bytes, const char **error);

// Writes a file with these tensors; [bytes]: of each, which are read as they are written. The other members of entries are
// ignored but name, dtype and shape. False, and *[error] (in [a]) says why.
bool wt_write(arena *a, const char *path, const wt_entry *entries, const uint8_t *const *bytes, size_t count, const char **error);
// The file as pieces, one behind the other: the header, then [bytes] as they are. [count] + 1 of them; NULL as above.
str *wt_pieces(arena *a, const wt_entry *entries, const uint8_t *const *bytes, size_t count, const char **error);
// The same with all entries of an open file, until it is closed.
str *wt_file_pieces(arena *a, wt_file *f, const char **error);

// A file of entries that are not those of a safetensors file: what another reader adds. They need not be apart, or fill anything.
wt_file *wt_new(arena *a, const char *path);
// Adds an entry, whose name no other has. [at] is set, or [part] and [offset] are in a part.
void wt_add(wt_file *f, wt_entry entry);
// Adds a part of [size] bytes, which wt_close closes; the number of it.
int wt_add_part(wt_file *f, const char *path, int fd, int64_t size);

// The language's name of a stored type, and the other way; NULL: there is none.
const char *wt_dtype_of(const char *stored);
const char *wt_stored_dtype_of(const char *dtype);
// The bits of an element of a stored type; 0: there is no such type.
int wt_dtype_bits(const char *stored);
