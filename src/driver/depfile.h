// Depfiles, as GNU make and ninja read them.
#pragma once

#include "diag/diag.h"

// A rule: targets, then the files that they are made from (names, each with its 0). With [phony], also an empty rule for
// each of those but the first, so that make does not mind that one is gone.
typedef struct cmd_rule {
    const char *const *targets;  // written unchanged
    size_t target_count;
    str depends;
    bool phony;
} cmd_rule;

// Appends the rule. False after reporting HDS0715: make cannot read names with line ends.
bool cmd_depfile_add(diag_context *dx, const cmd_rule *rule, str_buf *out);
// [name] with what make would take for something else escaped.
const char *cmd_depfile_name(arena *a, const char *name);
