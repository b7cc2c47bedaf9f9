// The options that compile, check and mapping share, read by argp into one struct.
#pragma once

#include <argp.h>

#include "pipeline/options.h"

typedef enum cmd_color { CMD_COLOR_AUTO, CMD_COLOR_ALWAYS, CMD_COLOR_NEVER } cmd_color;

// How messages are printed.
typedef struct cmd_output {
    cmd_color color;
    bool json;
} cmd_output;

typedef struct cmd_arguments {
    arena memory;  // of everything below
    pl_options options;
    cmd_output diagnostics;
    VEC(const char *) inputs;
    VEC(tc_define) defines;
    VEC(const char *) entries, include_folders, passes, warnings, nvrtc_options;
    VEC(const arch *) archs;
    const char *output;      // of -o
    const char *time_trace;  // path
    const char *list;        // hidden --list=…, for completion
    bool has_emit, time_report, verbose;
} cmd_arguments;

// Reads the arguments of a command that compiles. Ends the program (exit code 2) where they make no sense, as argp
// does.
void cmd_parse(cmd_arguments *args, int argc, char **argv, const char *usage, const char *doc);
void cmd_arguments_free(cmd_arguments *args);

// The words of hidden '--list=NAME': passes, archs, warnings, kinds or codes, a line each. False if there is no such
// list.
bool cmd_list(const char *name, str_buf *out);
