// Elaboration: from syntax trees to typed IR.
//
// Generics and compile-time evaluation mean that a body has no single typing: it is walked once per instantiation with
// an environment of compile-time values, and IR is written as the walk goes. Modules are parsed on first import and
// their top levels evaluated; functions are elaborated when something needs them, entries of the main file first.
#pragma once

#include "diag/diag.h"
#include "frontend/ast.h"
#include "frontend/parse.h"
#include "ir/ir.h"
#include "schema/schema.h"
#include "target/gpu.h"

// `-D NAME=VALUE`: VALUE is an expression of the language ("128", "f16", "(1, 2)"); no value means True.
typedef struct tc_define {
    const char *name;
    const char *value;
} tc_define;

// The type of an array that a run gives to a parameter. Type parameters that nothing else fixes are inferred from it, and an
// operator's parameter that may be a number or a tensor is a tensor.
typedef struct tc_operand_type {
    const char *name;
    dtype type;
    bool has_shape;
    int rank;
    const int64_t *shape;
} tc_operand_type;

// Finds the text of an imported module and adds it to the source map. [path]: dotted name ("hidet.lang.cuda",
// "layers.gelu"); [level]: leading dots of a relative import; [importer]: the importing file. Returns NULL if there is
// none; then
// *[looked] may say where it looked (one string, ", "-separated).
typedef src_file *tc_find_module(void *user, const char *path, int level, const src_file *importer,
                                 const char **looked);

// The name by which programs of graphs import the module in [file], for operators are recorded by module and name. NULL: that by
// which it was imported.
typedef const char *tc_name_module(void *user, const src_file *file);

// What a file of weights says of a tensor in it.
typedef struct tc_weight_entry {
    const char *name;
    dtype type;              // DT_NONE: the language has no such type
    const char *stored_type; // as the file calls it
    int rank;
    const int64_t *shape;
} tc_weight_entry;

typedef struct tc_weight_file {
    const char *path;
    const tc_weight_entry *at; // in the file's order
    size_t len;
    bool is_open; // there is no file: weights are what the model says
} tc_weight_file;

// Reads what there is in a file of weights. [name]: as the model says it; NULL: it names none; [importer]: the file that does. What
// it gives lasts as long as the elaboration. False: *[why] is the reason, *[looked] where it looked, as for modules, or NULL.
typedef bool tc_find_weights(void *user, const char *name, const src_file *importer, tc_weight_file *out, const char **why,
                             const char **looked);

// Makes a module of a graph as JSON, whose function _outputs takes the inputs of the graph and returns a tuple of its outputs: by the
// program that the model [model] is compiled to, or operator by operator as definitions in f64. NULL after reporting.
typedef src_file *tc_lower_graph(void *user, const char *json, src_file *model, bool as_reference);

// A candidate of a SearchSpace (hidet.lang.search_space): label, and microseconds by the model of costs.
typedef struct tc_candidate {
    const char *label;
    double cost;
} tc_candidate;

// What a host function chose from while it was elaborated.
typedef struct tc_choice {
    int line;                    // of the main file, where the choice was made
    const char *space, *usual;   // its name; the candidate that the library's table says, "": none
    int64_t sm_count;
    VEC(int64_t) sizes;
    VEC(tc_candidate) candidates; // those that are valid
} tc_choice;

typedef VEC(tc_choice) tc_choice_list;

typedef struct tc_options {
    const tc_define *defines;
    int define_count;
    const char *const
        *entries; // names or instantiations, "matmul" or "matmul[f16, 128]"; none: every entry of the file
    int entry_count;
    const tc_operand_type *operand_types;
    int operand_count;
    const arch *arch;
    const gpu_model *gpu; // what schedules are chosen for; NULL: the usual one of the architecture
    arena *scratch;      // of what is needed while a function of the output is elaborated; NULL: all is kept
    arena *ir_scratch;   // of IR that is not to stay; NULL: all stays
    // Called when an entry stands, with how much there was before it. The functions that came with it, whose variables have
    // numbers from 0 on, are in [ir_scratch], and have to leave it (ir_settle) or be emptied. NULL: all IR stays.
    void (*settle)(void *user, ir_module *m, const ir_extent *before);
    void *settle_user;
    // Called when the launch of an operator stands that is not a part of another one's. It may not come back. NULL: no call.
    void (*launched)(void *user);
    void *launched_user;
    int64_t step_budget; // compile-time steps; 0: the default of 10 million
    tc_choice_list *choices; // gets what is chosen from, in [choice_memory]; NULL: it is not kept
    arena *choice_memory;
    tc_find_module *find_module;
    tc_name_module *name_module; // NULL: modules are called what they were first imported by
    tc_find_weights *find_weights; // NULL: there are no files of weights
    void *find_user;
    tc_lower_graph *lower_graph; // NULL: tests cannot call graph functions
    void *lower_user;
} tc_options;

// Elaborates [file]. NULL after errors, which are in [diags]. A file without entries gives a module without functions
// and a warning. All memory in [a].
ir_module *tc_compile(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options);

// ---- tests: functions under @test -------------------------------------------------------------------------------------

// One case of a test: the function with one choice of its parameters, and what is expected of it.
typedef struct tc_test {
    const char *function;   // "softmax_matches"
    const char *title;      // "softmax_matches[T=f16, n=31]"
    int number;             // of the case among the function's, from 0
    src_span span;          // of the function's name
    diag_code error;        // compiling it gives this; DIAG_NONE: nothing
    diag_code finds;        // running it finds this
    diag_code also[3];      // and what may come with it; DIAG_NONE: nothing more
    const char *at;         // … at a line that contains this text; NULL: anywhere
    src_span expected_span; // of the finds= or error=
    int seeds;              // runs under this many schedules
    int64_t budget;         // most warp instructions of a launch; 0: the default
    const arch *arch;       // the architecture that it needs; NULL: any
    const char *skip;       // why it is not run; NULL: it is
} tc_test;

typedef VEC(tc_test) tc_test_list;

// A tensor of a file of weights that a test's graph functions read: a parameter of the test's function.
typedef struct tc_test_weight {
    const char *file, *name; // as the model says them
    ir_var *var;
} tc_test_weight;

typedef VEC(tc_test_weight) tc_test_weight_list;

// The cases of [file]'s tests, in order. What is wrong with the file (there are no cases then) or with a decorator (the
// other tests' are there) is in [diags]. [define_used]: for each of the options' defines, set where the file has the
// constant; NULL: each must be there.
void tc_list_tests(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                   tc_test_list *out, bool *define_used);
// Elaborates one case by itself. Its host function is the module's last function; its parameters are [weights], in order. NULL
// after errors.
ir_module *tc_compile_test(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                           const tc_test *test, tc_test_weight_list *weights);

// Evaluates one expression that must be a task mapping (or layout), as `hdsc mapping` takes it. NULL after errors.
const tm_map *tc_eval_mapping(arena *a, sym_table *syms, diag_context *diags, src_file *expression,
                              const tc_options *options);
const tm_layout *tc_eval_layout(arena *a, sym_table *syms, diag_context *diags, src_file *expression,
                                const tc_options *options);

// ---- operators: what @operator and the like make ------------------------------------------------------------------------

typedef struct tc_listing {
    // Operands and attributes, as x=f32[4, 8] and axis=0: what operators that take them give then (op_schema.inferred).
    const tc_define *given;
    int given_count;
    op_schemas list; // the operators that the file defines, in order
    const char *doc; // of the file; NULL: none
} tc_listing;

// False after errors.
bool tc_list_operators(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                       tc_listing *out);

// ---- graph functions: what @hidet.graph makes ---------------------------------------------------------------------------

typedef VEC(const char *) tc_text_list;

// A file whose top level has run. Its graphs and rewrites are recorded by one elaboration: modules are evaluated once, and so is
// what equal calls of operators give.
typedef struct tc tc_elaboration;

// NULL after errors. It lives as long as [a].
tc_elaboration *tc_elaborate(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options);

// The graphs of the file's graph functions, in order, each as the JSON that src/graph reads. Type parameters have the values of
// -D, or their defaults. False after errors.
bool tc_record_graphs(tc_elaboration *e, tc_text_list *out);

// ---- rewrites of graphs: what @rewrite makes ---------------------------------------------------------------------------

typedef struct tc_rewrites tc_rewrites;

typedef struct tc_rule {
    const char *text; // its left side as the JSON that src/graph reads
    bool is_library;  // of one of the modules, not of the file
    src_span span;    // of the function's name
} tc_rule;

typedef VEC(tc_rule) tc_rule_list;

// What a rewrite's function is asked for: what takes the place of the left side, as fg_read_side reads it; or a side as a graph
// by itself, as fg_read_json reads it.
typedef enum tc_side { TC_REPLACEMENT, TC_LEFT, TC_RIGHT } tc_side;

// The rewrites of the file, and of modules by name, in order. NULL after errors. They live as long as the elaboration.
tc_rewrites *tc_open_rewrites(tc_elaboration *e, const char *const *modules, size_t count, tc_rule_list *out);
// What a side is recorded for: [text] as fg_engine.right of src/graph says, with sizes that are open.
typedef struct tc_operands {
    const char *text;
    const char *const *sizes;
    size_t size_count;
} tc_operands;

// A side of a rewrite as JSON. "": its conditions do not hold, or, of open sizes, are not known to hold for all. NULL after errors.
const char *tc_record_side(tc_rewrites *r, size_t number, tc_side side, const tc_operands *operands);

// What the only graph function of [text] records, as JSON, by the elaboration that is open. NULL: it has errors, which are not
// reported: operators say so what they take.
const char *tc_record_again(tc_rewrites *r, const char *text);

// ---- questions to a value of a file -----------------------------------------------------------------------------------

typedef struct tc_question {
    const char *subject;       // an expression over the names of the file: "SPACE"
    const char *kind, *method; // what it has to be, for messages; a method that shows that it is
    const char *const *calls;  // "survey(132, 4096)": calls of its methods, which give texts
    int call_count;
} tc_question;

// Executes the top level of [file] and then the calls; the texts go to [answers], in [a]. False after errors.
bool tc_ask(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
            const tc_question *question, const char **answers);
