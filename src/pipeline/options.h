// The options of a compilation: one input file, the architectures, and the kinds of output.
#pragma once

#include "cache/cache.h"
#include "frontend/kept.h"
#include "target/gpu.h"
#include "typecheck/typecheck.h"

typedef enum pl_kind {
    PL_NOTHING,  // everything up to the CUDA text is made and thrown away
    PL_TOKENS,   // the lexer's tokens, a line each
    PL_AST,      // the syntax tree
    PL_HDS,      // the program that graphs become; a file without graphs as it is
    PL_GRAPH,    // the graph functions of an ONNX file, and its weights beside it; another file as it is
    PL_HIR,      // the intermediate representation after all passes
    PL_JSON,     // how the kernels are called (docs/interface.md)
    PL_CU,       // CUDA C++
    PL_PTX,
    PL_CUBIN,
    PL_FATBIN,   // the machine code of every architecture and portable PTX
    PL_C,        // C over libhdsrt, with such an image in it
    PL_OBJECT,   // that, compiled
    PL_ARCHIVE,  // a static library of such objects
    PL_SHARED,   // a shared one
    PL_KIND__COUNT
} pl_kind;

const char *pl_kind_name(pl_kind kind);              // "object", for --emit
const char *pl_kind_ending(pl_kind kind);            // "o", of its files
bool pl_kind_find(const char *name, pl_kind *out);   // by name
bool pl_kind_of_path(const char *path, pl_kind *out);  // by the ending of a file name
bool pl_kind_is_c(pl_kind kind);                     // PL_C and what is made of it

// What becomes of graphs.
typedef enum pl_graph_form {
    PL_GRAPHS_OPTIMIZED, // all passes
    PL_GRAPHS_SPLIT,     // each node by itself, all of their results are outputs
    PL_GRAPHS_SPLIT_F64, // likewise, and all floats are f64
} pl_graph_form;

struct pl_unit;

// What takes long in a unit, in this order.
typedef enum pl_stage {
    PL_AT_GRAPH,    // graphs are recorded and rewritten
    PL_AT_KERNELS,  // kernels are made of definitions and schedules
    PL_AT_CODE,     // NVRTC compiles them
} pl_stage;

// How far a unit is, for who waits for it. Called by the threads of units: when something is done, and ten times a second while
// NVRTC works. [done] of [count] kernels, of PL_AT_KERNELS launches of graphs; [count] is 0 where that is not known. False: the
// unit is to end, as PL_CANCELLED.
typedef struct pl_progress {
    bool (*show)(void *user, const struct pl_unit *unit, pl_stage stage, size_t done, size_t count);
    void *user;
} pl_progress;

typedef struct pl_options {
    const char *input;  // a path (.hds, or .hir: IR text), or "-"
    pl_kind emit;
    const arch *const *archs;
    int arch_count;  // at least 1
    const gpu_model *const *gpus;  // one for each architecture: what schedules are chosen for; NULL: the usual ones

    // The language
    const tc_define *defines;
    int define_count;
    const char *const *entries;
    int entry_count;
    const tc_operand_type *operand_types; // hdsc run
    int operand_count;
    const char *const *include_folders;
    int include_count;
    const char *stdlib_folder;  // NULL: the library built into the program
    const char *tuned;          // a table of hdsc tune; NULL: the library's only
    const char *tuned_text;     // the text of one; NULL: none
    tc_choice_list *choices;    // gets what host functions choose from, for hdsc tune; NULL: it is not kept
    arena *choice_memory;       // where it lies
    kept_modules *kept;         // what units parse once; NULL: each parses all that it imports
    bool embeds_weights;        // objects have the weights of their models inside
    const char *weights;        // of models: a file, "random" or "random:SEED"; NULL: what the model names
    pl_graph_form graph_form;
    int64_t step_budget;        // 0: the default
    bool keeps_floats;          // arithmetic of float constants is left to the run (hdsc prove)

    // Graphs
    const char *const *rewrite_files; // files whose rewrites are applied besides those of the library and of the model
    int rewrite_file_count;
    const char *const *rewrites;      // "scale_into_weights": also an approximate one; "-scale_into_weights": not applied
    int rewrite_count;
    bool no_rewrites;
    const char *layout;    // as fg_find_image_order takes it; NULL: "auto"
    const char *precision; // as fg_read_precisions reads it; NULL: f32 stays f32

    // The compiler
    const char *dump;           // NULL, "all", "tokens", "ast", "hir", "plan", "cu" or a pass
    const char *const *passes;  // these passes only, then the IR is the output; NULL: the pipeline
    int pass_count;
    bool verify_ir;
    bool no_line;               // leave #line out of the CUDA text
    size_t memory_limit_bytes;  // of each unit; 0: none

    // C, and what is made of it
    const char *header_name;  // what the C header is called: "matmul.h". NULL: none; kinds of C need one
    const char *weights_name; // PL_GRAPH: what the safetensors file beside it is called; NULL: there is none
    const char *prefix;       // before the names of entries; NULL: none
    const char *cc;           // the C compiler's command; NULL: $CC or the usual ones
    const char *library_name; // PL_ARCHIVE, PL_SHARED: what the library of this input is called; NULL: its object is the output

    // Diagnostics
    const char *const *warnings;  // "shadow", "no-shadow", …: groups that exist
    int warning_count;
    bool warnings_are_errors;
    int error_limit;  // 0: the default; -1: none
    // Adds messages as they are shown: products with warnings are kept with this text. [shown_as]: what it depends on beside the
    // messages, such as the terminal's width. NULL: such products are not kept.
    void (*show)(void *user, diag_context *dx, str_buf *out);
    void *show_user;
    const char *shown_as;

    // NVRTC
    cache *cache;            // of what it made; NULL: none
    struct svc_pool *service;      // for batches of kernels; NULL: all is compiled in this process
    bool isolates_nvrtc;           // a single compilation goes to a worker of [service], too
    const pl_progress *progress;   // NULL: no progress is reported
    const char *nvrtc_path;  // NULL: where CUDA is usually installed
    const char *const *nvrtc_options;
    int nvrtc_option_count;
    bool line_info;
    bool device_debug;
    bool resource_usage;
    bool only_checks;     // only the messages are used, not the output: with PL_NOTHING, and no header
    bool looks_at_units;  // the caller needs more than the product: it is always made, not taken from the cache
} pl_options;
