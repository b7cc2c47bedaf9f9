// The kernels of one unit, compiled by NVRTC in batches: several processes at a time, and those again only that have
// changed since they were put into the code cache. What comes out does not depend on how many processes there are: which
// kernels are a batch follows from the text alone.
#pragma once

#include "pipeline/assemble.h"

// True: *out is what compiling the whole text would give, but for the order of kernels in the code. Also true after a
// failure, which *out has, or which is reported (out->status is TOOL_FAILED then, and u->status is set).
// False: the unit is too small, or of a kind that cannot be taken apart or put together; nothing was reported. Where the batches
// were compiled before that was known, u->not_joined says why.
bool pl_compile_batches(const pl_assembly *s, tool_result *out);

// Of kernels of [total] bytes, the text that makes a batch complete.
size_t pl_bytes_of_batch(const pl_options *o, size_t total);
// Whether machine code of the unit's kernels may be joined: it is in canonical form, and none of them refers to what is not its own.
bool pl_can_be_joined(const pl_unit *u);
// NVRTC's options for a batch.
tool_compile_options pl_batch_options(const pl_assembly *s);
