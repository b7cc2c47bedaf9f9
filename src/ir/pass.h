// Passes: one transformation each, with a contract at the head of its file; pipelines are named lists in passes.def.
#pragma once

#include "ir/ir.h"

typedef struct ir_pass_options {
    bool verify_each;         // run the verifier after every pass
    const char *dump;         // NULL, "all", or a pass name: text of the IR after it goes to [dump_out]
    str_buf *dump_out;
    const char *stop_after;   // NULL or a pass name
    bool wide_access;         // form wide loads and stores (default on)
    int opt_level;
} ir_pass_options;

typedef struct ir_pass_time {
    const char *name;
    double start_us, duration_us;  // on the steady clock, from the pipeline's start
} ir_pass_time;

typedef struct ir_pass_context {
    ir_module *module;
    arena *scratch;           // reset after each pass
    diag_context *diags;
    const ir_pass_options *options;
    VEC(ir_pass_time) times;  // filled by the runner, in the module's arena
    bool changed;             // set by a pass that changed something ("(unchanged)" in dumps otherwise)
} ir_pass_context;

typedef bool ir_pass_run(ir_pass_context *px);  // false: errors were reported, stop

typedef struct ir_pass {
    const char *name;      // "lower-tasks"
    ir_pass_run *run;
    const char *summary;
} ir_pass;

// Every pass of passes.def, each in a file of its own in passes/.
#define IR_PASS(name, function, summary) bool function(ir_pass_context *px);
#include "ir/passes.def"
#undef IR_PASS

const ir_pass *ir_pass_find(const char *name);
const ir_pass *ir_pass_at(int index);  // all passes, in pipeline order; NULL past the end

// The pipeline from the elaborator's IR to what the emitter takes.
bool ir_run_pipeline(ir_pass_context *px);
// One pass alone (tests, `hdsc --passes=a,b file.hir`).
bool ir_run_pass(ir_pass_context *px, const ir_pass *pass);
