// Declarations shared by the files of base/file*.c.
#pragma once

#include "base/file.h"

// Registers a path for file_remove_temporaries; one that ends with '/' is a folder. -1: all slots are taken.
int file_slot_take(char *path);
void file_slot_release(int slot);
void file_slot_drop(const char *path);  // by the address that was registered

bool file_write_pieces(int fd, const str *pieces, size_t count);
// Without another file and a rename; "-" is standard output.
bool file_write_in_place(arena *a, const char *path, const str *pieces, size_t count, const char **error);
// Devices and pipes (/dev/null, /dev/full, a FIFO) are written in place: a rename would replace them.
bool file_is_special(const char *path);
// Removes the files of a folder and the folder; async-signal-safe.
void file_folder_empty(const char *folder);
