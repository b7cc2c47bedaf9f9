// What ptxas knows of kernels and never says to the author: in his words, at his lines.
#pragma once

#include "remarks/kernel_facts.h"
#include "toolchain/cubin.h"
#include "toolchain/log.h"

// What follows from the IR alone, before NVRTC is asked.
void remark_early(const remark_unit *u);

// Says the messages of ptxas that are known here (log.h has their codes) and marks them as said. Returns how many were
// errors: these are the author's, not ours.
int remark_on_log(const remark_unit *u, const remark_facts_list *facts, tool_log *log);

// Warns of arrays that did not become registers, as the PTX says.
void remark_on_ptx(const remark_unit *u, const remark_facts_list *facts, const tool_ptx_locals *locals);
