// What ptxas knows of kernels and never says to the author: in his words, at his lines.
#pragma once

#include "pipeline/kernel_facts.h"
#include "toolchain/log.h"

// What follows from the IR alone, before NVRTC is asked.
void pl_remarks_early(pl_unit *u);

// Says the messages of ptxas that are known here (log.h has their codes) and marks them as said. Returns how many were
// errors: these are the author's, not ours.
int pl_remarks_of_log(pl_unit *u, const pl_facts_list *facts, tool_log *log);

// Warns of arrays that did not become registers, as the PTX says.
void pl_remarks_of_ptx(pl_unit *u, const pl_facts_list *facts, str ptx);
