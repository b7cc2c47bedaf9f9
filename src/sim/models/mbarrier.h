// What other models need of mbarriers.
#pragma once

#include "sim/machine.h"

// Says what a warp waits for, if it waits for an mbarrier.
bool sim_mbarrier_describe(const sim_warp *w, str_buf *out);
