// `hdsc run`: its command line, and the state that its parts share while a file runs.
#pragma once

#include "device/device.h"
#include "driver/cmd.h"
#include "pipeline/unit.h"
#include "sim/sim.h"
#include "tensor/compare.h"
#include "tensor/npy.h"
#include "tensor/spec.h"

// NAME=SPEC of the command line. A name may occur twice: once for the input, once for the output.
typedef struct run_word {
    const char *text;   // "c=out:c.npy"
    const char *name;
    bool is_made;       // the name, of one that is no identifier
    const char *value;  // behind the '='
    const ten_npy *file; // of @FILE, which is read once; NULL: not yet
} run_word;

// --expect c=@ref.npy:rtol=1e-3,atol=0
typedef struct run_expectation {
    const char *text;
    const char *name;
    bool is_made;
    const char *path;
    double rtol, atol;  // negative: not given
} run_expectation;

// --break file:line
typedef struct run_breakpoint {
    const char *text;
    const char *file;  // NULL: the file that is run
    uint32_t line;
    bool is_met;       // some statement is at that line
} run_breakpoint;

typedef enum run_profile { RUN_NO_PROFILE, RUN_PROFILE_TEXT, RUN_PROFILE_JSON } run_profile;

typedef struct run_request {
    cmd_arguments shared;  // first: inputs[0] is the file, the others are words
    VEC(run_word) words;
    VEC(run_expectation) expectations;
    VEC(run_breakpoint) breaks;
    VEC(const char *) watched;  // --print; none: all variables
    double rtol, atol;          // negative: not given
    uint64_t seed, schedule;
    int workers;
    int64_t budget, gpu_seconds;
    run_profile profile;
    const char *level;          // NULL: not given
    const char *trace;          // where --trace and --break look: "block=(1, 0, 0) thread=5"; NULL: not given
    bool traces;
    bool no_checks, no_races, trap_nan, contract;
    bool by_plan;               // --plan
    bool on_device;
    dev_cuda *gpu;              // with --device=cuda
    bool print_ir, print_bytecode;
} run_request;

// A parameter of the entry, with what becomes of it.
typedef struct run_argument {
    const ir_var *var;
    const char *name;
    const ten_spec *spec;   // the input; NULL: not given
    const char *save;       // out:PATH
    bool prints;            // out
    bool is_read, is_written;  // as far as can be seen; both, where it cannot
    bool is_tensor;         // also pointers
    bool is_known;          // a size or scalar whose value is known
    uint64_t value;         // bits of a scalar, address of a tensor
    const char *known_by;   // the word or tensor that determined the size
    ten_tensor tensor;      // type, rank, shape; the data in simulated memory, or of a strided one a copy of it
    const int64_t *strides; // of a strided one, by axis; NULL: row by row without gaps
    bool has_shape;
    const ten_npy *npy;     // of @FILE, if it was read before
    const ten_tensor *file; // of @FILE, or of an operand that is broadcast
    const ten_tensor *given; // the numbers, which become those of its type; NULL: the words say them
    const fg_tensor *bound; // of a model's weight, or what is prepared at load; NULL: the words say what it is
} run_argument;

enum { RUN_MOST_GROUPS = 8 };

// The axes of arrays that are joined into one axis of an operator's entry.
typedef struct run_axes {
    int rank;
    int64_t extents[TEN_MAX_RANK];
    const char *by;  // the argument that says so; NULL: none does
} run_axes;

// A file of --expect, read.
typedef struct run_reference {
    const run_expectation *wanted;
    const run_argument *argument;
    ten_tensor tensor;
} run_reference;

typedef struct run_state {
    pl_unit unit;  // first
    run_request *request;
    const ir_func *entry;
    const fg_model *model; // that [entry] runs; NULL: it is no model's function
    VEC(run_argument) arguments;
    run_axes groups[RUN_MOST_GROUPS];  // by ir_var.join_group
    sim *device;
    const sim_program *program;
    run_reference *references;  // in order of the expectations
    struct run_trace *trace;
    const sim_device *backend;
    sim_status status;
    bool is_usage_error;  // what was reported is about the command line
} run_state;

// ---- cmd_run.c -----------------------------------------------------------------------------------------------------------

// The length of the identifier before a '='; 0 where the word is no NAME=SPEC.
size_t cmd_run_name_length(const char *word);
// The file, and NAME=SPEC before or behind it, of a request that is argp's input.
void cmd_run_take_argument(struct argp_state *state, const char *text);
// Element types that the words say, for type parameters.
void cmd_run_find_operand_types(run_request *q);
sim_options cmd_run_options(run_state *r);
// Calls the entry, and reports what the simulator found. The values of its arguments.
uint64_t *cmd_run_call(run_state *r, uint64_t *result);
int cmd_run_exit_code(const run_state *r);
// 'True' is a value for constants; a parameter of a type or a size requires a value. False after reporting.
bool cmd_run_check_defines(run_state *r);

// ---- run_entry.c ------------------------------------------------------------------------------------------------------

// The one entry of the module, or that of the operator which the words are for. False after reporting.
bool cmd_run_choose_entry(run_state *r);
// The parameter of that name; NULL: it has none.
const ir_var *cmd_run_parameter(const ir_func *f, const char *name);

// ---- run_model.c ------------------------------------------------------------------------------------------------------

// Whether it is what a model does at load.
bool cmd_run_loads(const run_state *r, const ir_func *f);
// The public function of that name; NULL: there is none.
const ir_func *cmd_run_function(const run_state *r, const char *name);
// Sets [model] by [entry].
void cmd_run_find_model(run_state *r);
// The weight or prepared tensor that a parameter of the model is; NULL: it is neither.
const fg_tensor *cmd_run_bound(const run_state *r, const char *name);
// Puts the numbers of a weight into [t], which has type, shape and memory. False after reporting.
bool cmd_run_fill_weight(run_state *r, const fg_tensor *w, ten_tensor *t);
// Runs what the model does at load, if anything, once the tensors are there. False after reporting, or where it stopped.
bool cmd_run_load(run_state *r);

// ---- run_axes.c ---------------------------------------------------------------------------------------------------

// Arrays that an operator's entry is given get the axes that it has. False after reporting.
bool cmd_run_collapse(run_state *r);
// Its tensors get the axes that they have for the user.
void cmd_run_expand(run_state *r);

// ---- run_bind.c ---------------------------------------------------------------------------------------------------

// Whether a name that was made of another, [name] in [text], may be of several parameters; reports it.
bool cmd_run_is_ambiguous(run_state *r, const char *text, const char *name);
// Reads the words into the entry's arguments: types, shapes and sizes, checked against each other. False after reporting.
bool cmd_run_bind(run_state *r);
// Puts the tensors into simulated memory. False after reporting.
bool cmd_run_fill(run_state *r);
// Reports that the tensor cannot be filled as its word says. False.
bool cmd_run_cannot_fill(run_state *r, const run_argument *a, const char *why);
// Reports that simulated memory does not hold the tensor. False.
bool cmd_run_no_room(run_state *r, const run_argument *a);
// Of a strided tensor, what simulated memory holds becomes its data.
void cmd_run_fetch(run_state *r, run_argument *a);
// The bytes from its first element to behind the last; 0: more than 2^62.
int64_t cmd_run_span(const run_argument *a);
// Copies [t]'s elements from their rows to where the strides put them, from [base] on.
void cmd_run_scatter(const ten_tensor *t, const int64_t *strides, uint8_t *base);
// "a: f32[n, 4], b: f32[4]" for messages.
const char *cmd_run_parameter_type(run_state *r, const ir_var *v);
// Whether a function reads or writes through a tensor or pointer parameter (cmd_run_uses.c).
void cmd_run_uses(ir_module *m, const ir_func *f, const ir_var *v, bool *is_read, bool *is_written);

// ---- run_result.c -------------------------------------------------------------------------------------------------

// Reads all files of --expect, before anything runs. False after reporting.
bool cmd_run_read_expected(run_state *r);
// Saves, prints and compares what came out.
void cmd_run_show_results(run_state *r);

// ---- run_break.c --------------------------------------------------------------------------------------------------

// Whether the program has statements at all breakpoints, and the variables of --print. False after reporting.
bool cmd_run_check_breaks(run_state *r);
bool cmd_run_is_in_file(const run_state *r, const run_breakpoint *b, const src_file *file);

// ---- run_trace.c --------------------------------------------------------------------------------------------------

// The watch for --trace and --break, for sim_new.
const sim_watch *cmd_run_watch(run_state *r);
// Points it at the block and thread of the command line, which may be given as coordinates, once the arguments are there.
// False after reporting.
bool cmd_run_aim_watch(run_state *r);
// Reports breakpoints that were never met.
void cmd_run_end_watch(run_state *r);
