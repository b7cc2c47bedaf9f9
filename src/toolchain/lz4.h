// LZ4 blocks (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md), the form in which the CUDA driver takes code
// that is compressed (tool_fatbin_make).
#pragma once

#include "base/str.h"

// [text], any bytes, as one block, in [a]. Equal text gives equal bytes. At most 2 GiB.
str tool_lz4_compress(arena *a, str text);
