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

// Keys of the options without a letter. Commands with a table of their own use them too, and number what is theirs alone
// from CMD_KEY_OWN on.
enum {
    CMD_KEY_EMIT = 1000, CMD_KEY_ARCH, CMD_KEY_ENTRY, CMD_KEY_DUMP, CMD_KEY_PASSES, CMD_KEY_VERIFY, CMD_KEY_DIAGNOSTICS,
    CMD_KEY_COLOR, CMD_KEY_ERROR_LIMIT, CMD_KEY_RESOURCE_USAGE, CMD_KEY_TIME_REPORT, CMD_KEY_TIME_TRACE, CMD_KEY_NVRTC,
    CMD_KEY_NVRTC_OPTION, CMD_KEY_LINEINFO, CMD_KEY_NO_LINE, CMD_KEY_STEP_BUDGET, CMD_KEY_STDLIB, CMD_KEY_MEMORY_LIMIT,
    CMD_KEY_LIST, CMD_KEY_NO_CACHE, CMD_KEY_CACHE_DIR, CMD_KEY_PREFIX, CMD_KEY_CC, CMD_KEY_MANIFEST,
    CMD_KEY_SEED, CMD_KEY_BUDGET, CMD_KEY_TRAP_NAN, CMD_KEY_CONTRACT, CMD_KEY_LEVEL, CMD_KEY_GPU_TIMEOUT, CMD_KEY_METHOD,
    CMD_KEY_SAMPLES, CMD_KEY_MIN_TIME, CMD_KEY_WARM_UP, CMD_KEY_GRAPH, CMD_KEY_GPU, CMD_KEY_SMS, CMD_KEY_WEIGHTS, CMD_KEY_REWRITES,
    CMD_KEY_REWRITE, CMD_KEY_TUNED, CMD_KEY_EMBED_WEIGHTS, CMD_KEY_PRECISION, CMD_KEY_LAYOUT,
    CMD_KEY_OWN = 2000
};

// The options that begin with -M, as in C compilers.
typedef struct cmd_depfile {
    bool is_wanted;
    bool only;         // -M: nothing is compiled
    bool phony;        // -MP
    const char *path;  // of -MF; NULL: beside the output, or standard output with -M
    VEC(const char *) targets;  // as written in the rule
} cmd_depfile;

typedef struct cmd_arguments {
    arena memory;  // of everything below
    argp_parser_t take_own;  // sees each option first; NULL: the command has none of its own
    pl_options options;
    cmd_output diagnostics;
    VEC(const char *) inputs;
    VEC(tc_define) defines;
    VEC(const char *) entries, include_folders, passes, warnings, nvrtc_options, rewrites, rewrite_files;
    VEC(const arch *) archs;
    VEC(const gpu_model *) gpus;   // of each: what schedules are chosen for
    int sm_count;            // of --sms; 0: those of the GPUs
    const char *output;      // of -o
    const char *header;      // of -h
    const char *manifest;    // path
    cmd_depfile depfile;
    int jobs;                // of -j; 0: as many as there are cores
    const char *time_trace;  // path
    const char *list;        // hidden --list=…, for completion
    const char *cache_dir;   // of --cache-dir
    const char *cache_why;   // NULL, or why there is no cache in [options]
    bool has_emit, time_report, verbose, no_cache;
    bool has_arch, has_gpu;  // of --arch, of --gpu
} cmd_arguments;

// Reads the arguments of a command that compiles. Ends the program (exit code 2) where they make no sense, as argp
// does.
void cmd_parse(cmd_arguments *args, int argc, char **argv, const char *usage, const char *doc);
// The same for a command with its own table of options: [take_own] returns ARGP_ERR_UNKNOWN for those that are read as
// everywhere. [args] may be the first member of the command's own struct, which the caller has zeroed.
void cmd_parse_with(cmd_arguments *args, int argc, char **argv, const char *usage, const char *doc,
                    const struct argp_option *options, argp_parser_t take_own);
// For take_own: a number ("1000", "0x10", "1e9") that is at least [least], and one that fits into an int; the index of
// [word] in a list that ends with NULL.
long cmd_number(struct argp_state *state, const char *option, const char *text, long least);
// One that need not be whole, from 0 to a million: seconds, ratios.
double cmd_non_negative(struct argp_state *state, const char *option, const char *text);
int cmd_count(struct argp_state *state, const char *option, const char *text, int least);
int cmd_choose(struct argp_state *state, const char *option, const char *word, const char *const *choices);
// Compiles for [own], which is there, unless the command line names an architecture or a GPU.
void cmd_use_own_gpu(cmd_arguments *args, const arch *target, const gpu_model *own);
void cmd_arguments_free(cmd_arguments *args);

// The words of hidden '--list=NAME': passes, archs, gpus, warnings, kinds or codes, a line each. False if there is no such
// list.
bool cmd_list(const char *name, str_buf *out);
