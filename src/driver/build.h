// One run of the compiler over all of its inputs: compiled at the same time, their messages in order, and in the end all
// files or none.
#pragma once

#include "driver/arguments.h"

// [args] must make sense (cmd_compile.c sees to that). With [writes] false (hdsc check) there are no outputs. Returns the
// exit code.
int cmd_build(cmd_arguments *args, bool writes);

// Whether all inputs go into one output.
bool cmd_is_joined(const cmd_arguments *args);
