// One compilation of one file for one architecture: its memory, its names, its messages, and what came out.
//
// Units share nothing but the options and the input's text, so several run at once, each on a thread of its own. A
// unit's memory lives until the job that made it is freed; its scratch memory until the unit has run, or as long, if calls of its
// graphs are recorded later.
#pragma once

#include "cuda_emit/emit.h"
#include "graph/graph.h"
#include "ir/pass.h"
#include "pipeline/modules.h"
#include "pipeline/options.h"
#include "pipeline/times.h"
#include "remarks/kernel_facts.h"
#include "toolchain/cubin.h"

// In order of severity. The exit code of the program follows from it.
typedef enum pl_status {
    PL_OK,
    PL_ERRORS,     // the input, the options or the file system: said in the diagnostics
    PL_TOOLCHAIN,  // NVRTC is missing or unusable
    PL_INTERNAL,   // our bug
    PL_NO_MEMORY,
    PL_CANCELLED,  // by who watches its progress; nothing is reported
} pl_status;

// Where machine code came from.
typedef enum pl_origin { PL_NOT_ASKED, PL_COMPILED, PL_FROM_CACHE } pl_origin;

// The results of the CUDA compiler for a unit.
typedef struct pl_code {
    str ptx;
    str cubin;
} pl_code;

// How far the passes are: lower.c.
typedef struct pl_lowering {
    bool by_entry;         // entries go through the passes as soon as they are elaborated
    bool only_checks;      // and through emission, and nothing is left of them but messages
    cu_dry_run dry_run;    // of that emission
    bool waits;            // but no more: the rest goes at the end
    bool failed;
    size_t done;           // functions that have
    map used;              // instructions of [done]
    VEC(ir_pass_time) times;  // of each pass, over all entries
    double total_us, emitted_us;
} pl_lowering;

// An ONNX file: all of it that matters to what is compiled.
typedef struct pl_onnx {
    const char *name;        // what the text calls the file of its weights
    str text;                // the graph function
    struct wt_file *weights;
} pl_onnx;

typedef struct pl_unit {
    const pl_options *options;
    const arch *arch;
    const gpu_model *gpu;          // what schedules are chosen for
    const char *input_name;  // as messages show it
    str input;
    str mapped;              // of it, if it is mapped and the unit's own: pl_unit_free unmaps it
    const pl_onnx *onnx;     // of an input that is an ONNX file, where the caller has read it; it outlives the unit
    double origin_us;        // of the job's clock
    bool goes_on;            // it has more to do: see pl_unit_go_on
    bool records_later;      // passes over its graphs run when it has run
    bool is_cancelled;       // control goes to the recovery point for this, and not for want of memory
    size_t launch_count, launches_done; // of its graphs, as they are lowered
    struct {
        pl_stage stage;
        size_t done, count;
    } shown; // the last that was said of its progress
    bool is_first;           // dumps of what does not depend on the architecture are made by the first unit only

    arena memory, scratch;
    arena ir_scratch;  // of the IR of an entry before it is lowered
    arena_oom oom;
    arena_meter meter; // of these arenas
    src_map sources;
    const kept_state *kept; // modules that are parsed already; NULL: none
    sym_table syms;
    diag_context diags;
    pl_finder finder;
    pl_times times;

    src_file *file;
    struct wt_file *onnx_weights; // of an input that is an ONNX file, and the unit's own
    struct {
        src_file *file;       // NULL: none is open
        tc_elaboration *of;   // NULL: it has errors
    } elaboration;            // that records graphs and rewrites of a file
    bool is_lowered;  // the file is the program that graphs.c made of the input, where -D has been applied
    src_file *model_file; // of such: the input
    map model_lines;      // of such: fg_launch -> span_list, for pl_model_lines
    VEC(fg_model) models; // of such: how its functions are called
    fg_graph_list graphs; // of such, of each model
    VEC(const char *) lowered_entries; // of such: those of the options, and what their models do at load
    tc_test_weight_list test_weights; // of a test: the parameters of its function
    ir_module *module;
    pl_lowering lowering;
    str text;        // the output, where it is text: tokens, ast, hir, json, cu
    str cuda;
    cu_kernel_list kernels;  // those of [cuda]
    const struct pl_nvrtc_text *nvrtc_text; // what NVRTC gets of [cuda]; NULL: it is not asked for code, or not yet
    struct pl_sharing *sharing;  // what is compiled along with other units; NULL: nothing
    pl_code code;
    tool_usage_list costs;   // of the kernels in [code.cubin]
    pl_origin origin;    // of [code]
    const char *uncacheable;  // why the code cache was not used; NULL: it was, if there is one
    const char *not_joined;   // why batches were compiled in vain, and the text as a whole after them; NULL: they were not
    cache_ticket ticket; // while it is made
    bool is_in_cache;    // it was found there, or given to it
    bool is_from_cache;  // it was found there
    str_buf dump;    // the texts of --dump
    str_buf usage;   // the table of --resource-usage
    pl_status status;
} pl_unit;

void pl_unit_init(pl_unit *u, const pl_options *options, const arch *target, double origin_us);
// Sets the unit up and runs [body] (pl_compile) on it; out of memory is a status, not a crash.
void pl_unit_run(pl_unit *u, void (*body)(pl_unit *u));
// The same of a unit that has run, and whose body said that it goes on (pl_unit.goes_on).
void pl_unit_go_on(pl_unit *u, void (*body)(pl_unit *u));
// As pl_unit_run, on a thread with a stack that the elaborator's recursion fits in; joined before it comes back.
void pl_unit_run_deep(pl_unit *u, void (*body)(pl_unit *u));
void pl_unit_free(pl_unit *u);
// Makes the input its file, the one that imports start from. False after reporting.
bool pl_unit_add_source(pl_unit *u);
// The module of its file, or of one case of its tests. False after reporting.
bool pl_unit_elaborate(pl_unit *u, const tc_test *test);
// The options of the passes: debug builds verify the IR after each, others where --verify-ir asks for it.
ir_pass_options pl_unit_pass_options(pl_unit *u);
// lower.c: decides what of [lowering] follows from the options.
void pl_lowering_init(pl_unit *u);
// The tc_options.settle of a unit that lowers by entry; then the functions that it has left.
void pl_lower_entry(void *unit, ir_module *m, const ir_extent *before);
bool pl_lower_rest(pl_unit *u);  // false after reporting
// progress.c: says how far the unit is; [count] 0: as far as before, if that was said of this stage. False: the unit is to end,
// for which pl_cancel is called where nothing has to be put back.
bool pl_goes_on(pl_unit *u, pl_stage stage, size_t done, size_t count);
_Noreturn void pl_cancel(pl_unit *u);
// Both in one; does not come back from a unit that is to end.
void pl_show_progress(pl_unit *u, pl_stage stage, size_t done, size_t count);
// The tc_options.launched of a unit.
void pl_note_launch(void *unit);
// The options of elaboration, from those of the unit.
tc_options pl_unit_elaboration(pl_unit *u);
bool pl_unit_is_ir_text(const pl_unit *u);  // .hir: IR instead of source
// Options given by the user besides the architecture, for the head of a text; NULL: none.
const char *pl_unit_flags(pl_unit *u);

// pipeline.c: all stages in order; and all but the last, with what that one starts from: then u->goes_on says whether it is asked
// for. emit.c and assemble.c: the last two of them; false after errors.
void pl_compile(pl_unit *u);
void pl_compile_to_text(pl_unit *u);
bool pl_emit(pl_unit *u);
// The same for code that is not output: its text and memory are freed afterwards. True where there are no errors.
bool pl_emit_and_drop(pl_unit *u);
bool pl_assemble(pl_unit *u);
// u->nvrtc_text, of u->cuda.
void pl_take_nvrtc_text(pl_unit *u);
remark_unit pl_remark_unit(pl_unit *u);  // for remarks/remarks.h
// Whether machine code is requested, so that ptxas runs.
bool pl_wants_cubin(const pl_options *o);
// Whether the author wrote ptx(…) or cuda(…) texts, which go into the CUDA text verbatim.
bool pl_has_author_texts(const ir_module *m);

// ---- to a level of the pipeline ----------------------------------------------------------------------------------
//
// The input of the simulator: a source file as a module of IR at some level. `hdsc run`, `hdsc test` and `hdsc prove`
// all load by these:
//
//     pl_unit unit;
//     pl_unit_init(&unit, &options, options.archs[0], pl_now_us());
//     pl_unit_run_deep(&unit, body);      // body: pl_open_source, pl_module_for_simulation, sim_translate, …
//     … unit.status, unit.diags …
//     pl_unit_free(&unit);

// The level where the simulator usually works: the tasks are loops, the guards are branches, nothing is unrolled yet, and
// every tensor still has the author's name and shape.
#define PL_SIMULATED_LEVEL "lower-guards"

// The levels: "hir" (before any pass), the passes (after the first of that name), and "low" (after all passes).
bool pl_level_find(const char *level);

// Reads [path] ("-": standard input) and makes it the unit's file. False after reporting.
bool pl_open_source(pl_unit *u, const char *path);

// Elaborates the unit's file, or one case of its tests, and runs the passes up to and with [level]. The module is u->module
// and verified. False after reporting, also where there are no entries to run.
bool pl_module_for_simulation(pl_unit *u, const char *level, const tc_test *test);

// Runs all passes on u->module, whatever level it is at. False after reporting.
bool pl_finish_passes(pl_unit *u);
// Runs the passes behind [level], for what they find wrong (shared memory beyond the limit, say). The module changes:
// call it after all users of the module. False after reporting.
bool pl_check_passes_after(pl_unit *u, const char *level);

// The machine code of a module that was loaded at level "low", for the unit's architecture; options.emit must be PL_CUBIN.
// It is u->code.cubin then, its kernels u->kernels. False after reporting.
bool pl_code_for_device(pl_unit *u);
