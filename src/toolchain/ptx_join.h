// PTX texts of several kernels as one.
#pragma once

#include "base/str.h"

// The texts have been compiled with the same options. Kernels follow each other; what they declare before them (external
// shared memory, tables) is taken once where it is equal. False where a name stands for two things.
bool tool_ptx_join(arena *a, const str *texts, size_t count, str *out);
