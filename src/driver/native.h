// The architecture of the GPU in this machine.
#pragma once

#include "target/arch.h"

// That of the first device, asked of the CUDA driver, which is opened for it. NULL where there is none; *[why] then
// says what is missing, in [a].
const arch *cmd_native_arch(arena *a, const char **why);
