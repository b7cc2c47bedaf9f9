// Cubins of several kernels as one, as if the kernels had been compiled together.
//
// A kernel of a whole program compilation refers to nothing of another: its code, constants, shared memory and attributes
// are sections of its own, which are copied as they are. What a cubin has once is taken once (notes), or put one behind
// the other (symbols, frames, attributes of all kernels), with indices of symbols and sections changed. The form of the
// file is what ptxas of CUDA 12.4 and 13.0 writes for sm_75 to sm_90a; whatever else is found is refused, as are global
// variables, calls that two kernels might share, and tables of addresses that are not the same in all files.
#pragma once

#include <stdbool.h>

#include "base/str.h"

// The joined file, in [a]. False: *why says what cannot be joined, in static memory or in [a].
bool tool_cubin_join(arena *a, const str *cubins, size_t count, str *out, const char **why);
