// What the two renderers share.
#pragma once

#include "diag/diag.h"

// All messages by place: files in the order they were added, then positions, then the order of reporting; messages
// about no place come last. In the arena of [dx].
diag **diag_sorted(const diag_context *dx);
const char *diag_severity_name(diag_severity severity);
