// Options that several commands have: the rows of their argp tables, with one name and one sentence each, and what reads
// them. [group]: of the help text. cmd_parse_with reads those with keys of arguments.h by itself.
#pragma once

#include "driver/arguments.h"
#include "measure/measure.h"

// How messages come.
#define CMD_MESSAGE_OPTIONS(group)                                                                                     \
    {NULL, 0, NULL, 0, "Messages:", group},                                                                            \
    {"diagnostics", CMD_KEY_DIAGNOSTICS, "FORMAT", 0, "text, or json for tools (both to standard error)", group},      \
    {"color", CMD_KEY_COLOR, "WHEN", 0, "auto, always or never", group},                                               \
    {NULL, 'W', "GROUP", 0, "show warnings of GROUP; -Wno-GROUP hides them; -Werror makes all of them errors", group}

// ---- what is compiled -------------------------------------------------------------------------------------------------

#define CMD_DEFINE_OPTION(what, group) {NULL, 'D', "NAME[=VALUE]", 0, "set " what "; NAME alone is NAME=True", group}
#define CMD_IMPORT_OPTION(group)                                                                                       \
    {                                                                                                                  \
        NULL, 'I', "DIR", 0, "also search DIR for imported modules; repeatable", group                                 \
    }
#define CMD_GPU_OPTIONS(gpu, group)                                                                                    \
    {"gpu", CMD_KEY_GPU, "NAME", 0, "compile for " gpu ", as in h200, and choose schedules for it", group},            \
        {"sms", CMD_KEY_SMS, "N", 0, "choose schedules for a GPU with N SMs", group}
#define CMD_WEIGHTS_OPTION(group)                                                                                      \
    {                                                                                                                  \
        "weights", CMD_KEY_WEIGHTS, "FILE", 0,                                                                         \
            "the weights of models, instead of the file that they name; 'random' or 'random:SEED' needs none", group   \
    }
#define CMD_TUNED_OPTION(group)                                                                                        \
    {"tuned", CMD_KEY_TUNED, "FILE", 0, "choose schedules by this table of 'hdsc tune', then by those of the library", group}
#define CMD_ARCH_OPTION(usual, group)                                                                                  \
    {"arch", CMD_KEY_ARCH, "NAME", 0, "compile for this architecture (default: " usual ")", group},                    \
        CMD_GPU_OPTIONS("this GPU", group)
#define CMD_STDLIB_OPTION(group)                                                                                       \
    {                                                                                                                  \
        "stdlib", CMD_KEY_STDLIB, "DIR", 0, "use the standard library in DIR instead of the built-in one", group       \
    }
#define CMD_PRECISION_OPTION(group)                                                                                    \
    {                                                                                                                  \
        "precision", CMD_KEY_PRECISION, "LIST", 0,                                                                     \
            "f16, bf16 or tf32: models compute in it, and keep the types of inputs and outputs; winograd: f32, with "  \
            "3 x 3 convolutions by Winograd's algorithm where that is faster; 'softmax=f32', '19=f32' and "            \
            "'layers.0.*=f32' name operators, lines and weights", group                                                \
    }
#define CMD_REWRITE_OPTIONS(group)                                                                                     \
    {"layout", CMD_KEY_LAYOUT, "ORDER", 0,                                                                             \
     "of images: channels last where that pays (auto, the default), as the model has them (keep), or last wherever "   \
     "operators take that (last)", group},                                                                             \
    {"rewrites", CMD_KEY_REWRITES, "FILE", 0, "also apply the rewrites of FILE to graphs; none: apply none", group},   \
    {                                                                                                                  \
        "rewrite", CMD_KEY_REWRITE, "NAME", 0,                                                                         \
            "apply this rewrite, even if it is approximate or by name only; -NAME: do not", group                      \
    }
#define CMD_STEP_BUDGET_OPTION(group)                                                                                  \
    {                                                                                                                  \
        "step-budget", CMD_KEY_STEP_BUDGET, "N", 0, "limit of compile-time evaluation steps (default: 10000000)",      \
            group                                                                                                      \
    }
#define CMD_VERIFY_OPTION(group) {"verify-ir", CMD_KEY_VERIFY, NULL, 0, "check the IR after each pass", group}
#define CMD_NVRTC_OPTION(when, group)                                                                                  \
    {                                                                                                                  \
        "nvrtc", CMD_KEY_NVRTC, "PATH", 0, "path of the NVRTC library" when ", or of its folder", group                \
    }
#define CMD_CACHE_OPTION(group)                                                                                        \
    {                                                                                                                  \
        "cache-dir", CMD_KEY_CACHE_DIR, "DIR", 0, "the code cache (default: $HDS_CACHE_DIR or ~/.cache/hdsc)", group   \
    }
// Of tests.
#define CMD_MEMORY_LIMIT_OPTION(group) {"memory-limit", CMD_KEY_MEMORY_LIMIT, "MIB", OPTION_HIDDEN, NULL, group}

// Of commands that run kernels on the simulator.
#define CMD_COMPILER_OPTIONS(group)                                                                                    \
    CMD_STDLIB_OPTION(group), CMD_STEP_BUDGET_OPTION(group), CMD_VERIFY_OPTION(group), CMD_MEMORY_LIMIT_OPTION(group)

// Of those that also run them on a GPU.
#define CMD_DEVICE_COMPILER_OPTIONS(group)                                                                             \
    CMD_NVRTC_OPTION(" with --device=cuda", group),                                                                    \
        {"no-cache", CMD_KEY_NO_CACHE, NULL, 0, "with --device=cuda: neither read nor write the code cache", group},   \
        CMD_CACHE_OPTION(group)

// ---- how kernels run ---------------------------------------------------------------------------------------------------

#define CMD_SEED_OPTION(what, group) {"seed", CMD_KEY_SEED, "N", 0, what, group}
#define CMD_BUDGET_OPTION(group)                                                                                       \
    {                                                                                                                  \
        "budget", CMD_KEY_BUDGET, "N", 0, "limit of warp instructions per launch (default: 1000000000)", group         \
    }
#define CMD_TRAP_NAN_OPTION(group)                                                                                     \
    {                                                                                                                  \
        "trap-nan", CMD_KEY_TRAP_NAN, NULL, 0, "report where the first NaN or infinity is computed", group             \
    }
#define CMD_CONTRACT_OPTION(group)                                                                                     \
    {                                                                                                                  \
        "contract", CMD_KEY_CONTRACT, NULL, 0, "fuse products and sums in the simulator, as GPU code does", group      \
    }
#define CMD_LEVEL_OPTION(group)                                                                                        \
    {                                                                                                                  \
        "level", CMD_KEY_LEVEL, "PASS", 0, "run the IR after this pass; hir: before all passes, low: after all", group \
    }
#define CMD_GPU_TIMEOUT_OPTION(what, group)                                                                            \
    {                                                                                                                  \
        "gpu-timeout", CMD_KEY_GPU_TIMEOUT, "SECONDS", 0, "time limit of " what " on the GPU (default: 60)", group     \
    }

// Where a command keeps the values of these; NULL: its table does not have the option.
typedef struct cmd_running {
    uint64_t *seed;
    int64_t *budget, *gpu_seconds;
    bool *trap_nan, *contract;
    const char **level;
} cmd_running;

// For take_own: ARGP_ERR_UNKNOWN for any other option.
error_t cmd_take_running(int key, char *arg, struct argp_state *state, const cmd_running *to);

// ---- how they are measured ----------------------------------------------------------------------------------------------

// [one], [each]: what is measured, as in "row", "each row".
#define CMD_MEASURE_OPTIONS(one, each, it, group)                                                                      \
    {"samples", CMD_KEY_SAMPLES, "N", 0, "take at least N samples of each " one " (default: 25)", group},              \
        {"min-time", CMD_KEY_MIN_TIME, "SECONDS", 0, "measure " each " for at least this time (default: 0.3)", group}, \
        {"warm-up", CMD_KEY_WARM_UP, "SECONDS", 0, "run " it " for this time before measuring (default: 0.1)", group}, \
        CMD_GPU_TIMEOUT_OPTION("a sample", group)
#define CMD_METHOD_OPTION(what, group) {"method", CMD_KEY_METHOD, "NAME", 0, what, group}
#define CMD_GRAPH_OPTION(what, group) {"graph", CMD_KEY_GRAPH, NULL, 0, "launch in CUDA graphs" what, group}

error_t cmd_take_measuring(int key, char *arg, struct argp_state *state, ms_options *to);
