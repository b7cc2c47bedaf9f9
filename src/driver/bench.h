// `hdsc bench`: its command line, and the rows of its result.
#pragma once

#include "driver/run.h"
#include "graph/graph.h"
#include "measure/measure.h"
#include "sim/profile.h"

// A kernel that ran.
typedef struct bench_kernel {
    const char *title;
    VEC(int) lines; // of the program of the unit's file, where the model's function launches it, and those that were joined to it
    int64_t grid[3], block[3];
    sim_counts before; // counters of the simulator behind the launch, with what ran before it
} bench_kernel;

typedef VEC(bench_kernel) bench_kernel_list;

// An operator that a model launches, with its kernels.
typedef struct bench_part {
    const fg_launch *launch;
    int first, count;  // kernels
    int joined;        // the operator whose kernels compute this one, too, as a part of one launch; -1: it has its own
    double seconds;    // on the GPU; on the simulator, for hdsc tune, an estimate by the counts
    sim_counts counts; // on the simulator
    int64_t bytes;     // of the tensors that it reads and writes
    double operations;
    double limit;      // seconds that bytes or operations take at least; 0: not known
} bench_part;

// What tensors are after a run.
typedef struct bench_output {
    const char *name;
    ten_tensor tensor;
} bench_output;

// What a tensor that is read holds: a SPEC.
typedef struct bench_input {
    const char *name, *contents;
} bench_input;

// Another program on the same model and inputs.
typedef struct bench_rival {
    const char *name;         // "torch:eager", as --against has it
    const char *title, *how;  // "torch 2.11.0", "torch.compile, max-autotune"
    const char *why;          // NULL, or why it did not run
    ms_summary time;          // seconds; count 0: not measured
    double error;             // the largest |ours - its| / (|its| + 1) of all outputs
    bool differs;
} bench_rival;

// A run of a model.
typedef struct bench_run {
    const fg_graph *graph;
    const char *sizes; // "B=64"; "": none is open
    VEC(bench_input) inputs;
    bench_kernel_list kernels;
    bench_part *parts; // one for each of graph->launches
    ms_summary graphs, launches; // seconds of a run, as a CUDA graph and kernel by kernel
    bench_part total;            // what its parts do, and what it takes
    VEC(bench_output) outputs;   // where the request wants them
    VEC(bench_rival) rivals;     // of --against
    bool was_cached;             // the code was in the cache
} bench_run;

typedef VEC(bench_run) bench_run_list;

typedef struct bench_request {
    run_request run;      // first: the file, and NAME=SPEC
    ms_options measure;
    const char *json;     // of --json; NULL: none
    bool compares;        // the inputs are two results
    double fail_below;    // 0: not given
    ms_session *session;
    bool on_simulator;    // --device=sim
    VEC(const char *) against; // "torch:eager"
    const char *python;   // that has them; NULL: $HDS_PYTHON, or python3
    bool tunes;           // of hdsc tune: keeps outputs, and measures graphs only
} bench_request;

typedef struct bench_state {
    run_state run;        // first
    bench_request *request;
    dev_cuda *gpu;        // that the launches of a host function are compiled for; NULL: a kernel is measured
    bool is_done;         // every row was measured
    bench_run_list runs;  // of a model, one for each row
} bench_state;

// ---- bench_input.c ----------------------------------------------------------------------------------------------------

// A word with the values it takes, row by row: "n=1024,2048".
typedef struct bench_axis {
    const run_word *word;
    VEC(const char *) values;
} bench_axis;

typedef struct bench_plan {
    VEC(bench_axis) axes;  // in order of the words
    int row_count;         // every value of each with every one of the others; the last changes fastest
} bench_plan;

// Binds the words to the entry's parameters. False after reporting.
bool cmd_bench_plan(bench_state *b, bench_plan *plan);
// Words of a row: those of the command line, and contents of tensors that have none.
void cmd_bench_words(bench_state *b, const bench_plan *plan, int row, run_request *out);
// Binds the arguments of a row, without contents. False after reporting.
bool cmd_bench_bind(bench_state *b, const bench_plan *plan, int row);
// Binds and fills the arguments of a row; tensors without a word get one that suits their type. False after reporting.
bool cmd_bench_row(bench_state *b, const bench_plan *plan, int row, ms_size **sizes, int *size_count, ms_argument **arguments);
// The type whose peak rate the kernel is held against: the narrowest that it reads and computes with.
dtype cmd_bench_peak_type(bench_state *b);

// ---- bench_host.c -----------------------------------------------------------------------------------------------------

// Makes ready for rows of a host function. False after reporting.
bool cmd_bench_host_open(bench_state *b);
// Compiles the kernels of the first row into the cache, for a GPU that need not be there: this is for another process to measure.
// False after reporting.
bool cmd_bench_host_compile(bench_state *b, const bench_plan *plan);
// Measures one; of a model also what it launches, into [run] (NULL: it is no model). False after reporting, or where it was
// stopped.
bool cmd_bench_host_row(bench_state *b, const ms_size *sizes, int size_count, const ms_argument *arguments, bench_run *run);

// ---- bench_model.c ----------------------------------------------------------------------------------------------------

// The run of the model that the entry is, for sizes that its arguments have: without kernels.
bench_run cmd_bench_run_of(bench_state *b);
// What a parameter of the model has without a word: one that products multiply with is a weight, so that values stay finite.
// NULL: nothing special.
const char *cmd_bench_contents(bench_state *b, const char *name);
// For sim_options: appends to the kernels of a run.
void cmd_bench_note(sim_options *options, bench_state *b, bench_run *run);
// Sums kernels up by operator: [each]: seconds of each kernel; NULL: the simulator's counters.
void cmd_bench_sum(bench_state *b, bench_run *run, const ms_summary *each);
// What the kernels of an operator compute: itself, and the operators whose launches were joined to its own.
bench_part cmd_bench_row_of(const bench_state *b, const bench_run *run, size_t number);
// Runs the model on the simulator for each row, and counts. False after reporting.
bool cmd_bench_simulate(bench_state *b, const bench_plan *plan);
// Adds the tables of all runs; JSON for "model".
void cmd_bench_model_text(const bench_state *b, str_buf *out);
json_t *cmd_bench_model_json(const bench_state *b);

// ---- bench_rivals.c ---------------------------------------------------------------------------------------------------

// Checks --against and the file that it is for; NULL, or what is wrong.
const char *cmd_bench_check_against(const bench_request *q);
// On the GPU: runs the model with the row's inputs, and the rivals with the same. False after reporting.
bool cmd_bench_compete(bench_state *b, const bench_plan *plan, int row, bench_run *run);
// The rivals, with inputs and outputs that the model has on its device now. Outputs that differ are reported; false where nothing
// can be asked, after reporting.
bool cmd_bench_ask_rivals(bench_state *b, bench_run *run);
void cmd_bench_rivals_text(const bench_run *run, str_buf *out);
json_t *cmd_bench_rivals_json(const bench_run *run);
