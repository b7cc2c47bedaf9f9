// Declarations shared by the parts of 'hdsc cache'.
#pragma once

#include "cache/cache.h"
#include "driver/cmd.h"

// "5 min", for a time in seconds since 1970; "16 KiB".
const char *cmd_age_text(arena *a, int64_t when);
const char *cmd_size_text(arena *a, uint64_t bytes);
// The values of all parts of that name, separated by [between].
const char *cmd_parts_text(arena *a, const cache_parts *parts, const char *name, const char *between);

// cache_why.c: hdsc cache why FILE… with the options of a compilation.
int cmd_cache_why(int argc, char **argv);
