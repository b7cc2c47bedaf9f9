// Whole files: read at once, written beside and renamed so that no reader ever sees half of one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

// Reads [path] ("-" is standard input). On failure returns false and sets *[error] to a text in [a]. What is no regular file may
// be endless (/dev/zero): 2 GiB of it are a failure.
bool file_read(arena *a, const char *path, str *out, const char **error);

// A file that is read in pieces, because it says itself how long it is.
typedef struct file_stream {
    int fd;
    int64_t size;  // of what is left of a regular file; -1: unknown
} file_stream;

// Opens [path] ("-" is standard input), which is no folder. On failure as file_read.
bool file_stream_open(arena *a, const char *path, file_stream *out, const char **error);
// The next [most] bytes, or as many as there are.
bool file_stream_read(arena *a, file_stream *f, size_t most, str *out, const char **error);
// Closes what file_stream_open opened, but for standard input.
void file_stream_close(file_stream *f);

// Maps a regular file for reading, until file_unmap. Nothing of it is in memory before somebody looks at it. As for any mapping,
// the process ends where it reads what has been cut off meanwhile: files are replaced by renaming. On failure as file_read.
bool file_map(arena *a, const char *path, str *out, const char **error);
// What is not mapped is {0} and stays.
void file_unmap(str *mapped);

// Writes [text] to [path] ("-" is standard output) through a temporary file in the same folder and a rename. On any
// failure (disk full included) the old file is untouched and no temporary file stays.
bool file_write(arena *a, const char *path, str text, const char **error);

// The same for a regular file with permissions of its own; whatever else is at [path] stays. False: errno says why.
bool file_write_mode(arena *a, const char *path, str text, unsigned mode);

// A file that is written, under another name beside its own. Several are staged, and committed when all went well, so that
// nothing appears of a work that fails half way. One process at a time has the name "FILE.tmp-hdsc", whose rests after a
// kill the next one takes over; others that write the same file meanwhile use names of their own.
typedef struct file_staged {
    const char *path;
    char *temporary;  // NULL: no regular file (a device, a pipe, standard output), written at the commit
    const str *pieces; // of such; they stay until the commit
    size_t piece_count;
    int fd, slot;
} file_staged;

// [pieces] are written one behind the other: what is mapped, or is in several places, needs no copy.
bool file_stage(arena *a, const char *path, const str *pieces, size_t count, file_staged *out, const char **error);
// Renames it to its final path. After a failure nothing is left.
bool file_commit(arena *a, file_staged *staged, const char **error);
void file_discard(file_staged *staged);

// A new folder below $TMPDIR (/tmp), for files that other programs read and write; its path ends with '/'. Those that killed
// processes left there are removed. The folder is held open by *[fd]. NULL: *error says why.
const char *file_folder_new(arena *a, int *fd, const char **error);
// Removes it with the files in it.
void file_folder_remove(const char *folder, int fd);

bool file_exists(const char *path);
// The folder part of [path], "." where it has none.
const char *file_folder(arena *a, const char *path);
const char *file_join(arena *a, const char *folder, const char *name);

// Before the process ends: whoever makes a temporary file from now on removes it and does not go on. Async-signal-safe.
void file_stop_temporaries(void);
// Removes temporary files of writes that are under way; async-signal-safe, for the handler of Ctrl-C.
void file_remove_temporaries(void);
