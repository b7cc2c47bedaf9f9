// Whole files: read at once, written beside and renamed so that no reader ever sees half of one.
#pragma once

#include <stdbool.h>

#include "base/str.h"

// Reads [path] ("-" is standard input). On failure returns false and sets *[error] to a text in [a].
bool file_read(arena *a, const char *path, str *out, const char **error);

// Writes [text] to [path] ("-" is standard output) through a temporary file in the same folder and a rename. On any
// failure (disk full included) the old file is untouched and no temporary file stays.
bool file_write(arena *a, const char *path, str text, const char **error);

bool file_exists(const char *path);
// The folder part of [path], "." where it has none.
const char *file_folder(arena *a, const char *path);
const char *file_join(arena *a, const char *folder, const char *name);

// Removes temporary files of writes that are under way; async-signal-safe, for the handler of Ctrl-C.
void file_remove_temporaries(void);
