// FlowGraph: a model as nodes, which are calls of operators, and tensors between them.
//
//     fg_graph *g = fg_read_json(&memory, &error, text);     what tc_record_graphs says of a graph function
//     fg_run_passes(g);                                      see graph/passes/passes.def
//     str program = fg_lower(&memory, &g, 1);                the same as a program of launches
//
// A graph has inputs, which each run is given, and weights, which are the same in every run. What depends on weights
// alone is computed once, when a program loads: the pass "load" makes it a graph of its own ([load]), whose outputs are
// inputs of this one.
//
// Tensors and nodes are numbered in order; a node reads tensors of lower numbers only. All memory is in the arena that
// the graph was read into, and lives as long. Passes change the graph in place: what they drop is marked, not moved.
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

enum { FG_MAX_RANK = 16 };

#define FG_ANY_STRIDES "*" // in fg_node.exchanges: kernels take a stride for each axis but the last

typedef enum fg_kind {
    FG_ELEMENTWISE, // without reductions: an element for each index
    FG_REDUCTION,   // elements are reductions of rows, columns or windows
    FG_KERNELS,     // the operator has kernels of its own
    FG_EPILOGUE,    // … which take an epilogue: what is done elementwise with the result
    FG_VIEW,        // the operand's memory with other extents
} fg_kind;

// What a graph of lower precision does with a node (Operator.precision of hidet.lang.compute).
typedef enum fg_numerics {
    FG_FOLLOWS, // it computes in the type of what it reads
    FG_PRODUCT, // sums of products: operands are rounded
    FG_WIDE,    // results may be far larger than 16 bits hold, or are wanted more exactly: f32 stays f32
    FG_BITS,    // results follow from the bits of numbers, or from how many there are: no type may change
} fg_numerics;

// How images are stored: where channels last are faster, as the model has them, or with channels last wherever operators take that.
typedef enum fg_image_order { FG_ORDER_AUTO, FG_ORDER_KEEP, FG_ORDER_LAST } fg_image_order;

// How a call of images with channels second becomes one of images with channels last (Operator.channels_last).
typedef struct fg_channels {
    const char *attribute; // that changes: "layout", or one that says axes; "": none. NULL: there is no such call
    const char *initial;   // its value where a call leaves it out
    int images;            // so many operands, the first ones, have their axes in the other order; 0: all
} fg_channels;

typedef VEC(int) fg_number_list;
typedef VEC(const char *) fg_name_list;

// A number of elements: a factor times open extents, by their texts, in order (graph/amount.h).
typedef struct fg_amount {
    int64_t factor;
    fg_name_list names;
} fg_amount;

// Where the elements of a tensor are in the memory of another one, in elements.
typedef struct fg_layout {
    int base; // the tensor that has memory of its own
    fg_amount offset;
    fg_amount strides[FG_MAX_RANK];
} fg_layout;

// Which elements of its first operand a node's result has: one step along an axis is some steps along one axis of the operand.
typedef struct fg_view {
    int64_t starts[FG_MAX_RANK]; // of each axis of the operand: where the first element is
    int axes[FG_MAX_RANK];       // of each axis of the result: that of the operand; -1: it has one element
    int64_t steps[FG_MAX_RANK];  // along that
} fg_view;

typedef struct fg_tensor {
    int number;
    const char *name;  // as programs call it: that of the input, prepared0 … of what is prepared, or t0, t1 …
    const char *dtype; // "f16"
    int rank;
    int64_t shape[FG_MAX_RANK];        // where [extent] has a text, an estimate
    const char *extent[FG_MAX_RANK];   // of an open one: an expression of the graph's sizes; equal ones have equal texts
    int64_t bytes;                     // with estimates
    int maker;               // the node that computes it; -1: an input
    bool is_output;          // of the graph
    const char *output_name; // that the model gives it; NULL: none
    const char *weight;      // of an input: its name in the file of weights; NULL: it is no weight
    const char *weight_file; // as the model names it; "": it names none
    bool is_prepared;        // an output of the graph [load], and an input of the one that has it
    const fg_layout *layout; // after "views": a view of this other tensor; NULL: it has memory of its own
    const struct fg_node *writer; // after fg_lower: the permutation, reshape or concatenation in whose result kernels write it
    const fg_layout *joined;      // after fg_lower: where that is, in the result of a concatenation; NULL: it is no part of one
} fg_tensor;

// An argument of a call: a tensor, or a value that is known while compiling, as the language writes it.
typedef struct fg_argument {
    const char *name; // of a named argument; NULL: by position
    int tensor;       // its number; -1: a value
    const char *value;
} fg_argument;

typedef VEC(fg_argument) fg_argument_list;

typedef struct fg_node {
    int number;
    const char *op, *module; // "linear", "matmul": as programs import it
    fg_kind kind;
    fg_numerics numerics;
    fg_channels channels;
    uint32_t constants;    // bits of the positions of operands of which the option "constant" may be said (Operator.constant)
    uint32_t evaluates;    // bit k: kernels evaluate argument k, where elementwise nodes give it (Operator.prologue)
    uint32_t pitched;      // kernels use tensors whose rows are apart (Operator.pitched): bit 0 the first result, k + 1 argument k
    int64_t cost;          // bytes that memory moves in the time of its kernels (Operator.cost); 0: that is not known
    int line;              // of the model, where it is called
    const fg_view *view;   // its result is this view of its first operand; NULL: it is none, or only a FG_VIEW
    const fg_layout
        *written; // after "views": what computes its operand writes it, in this layout; NULL: it does not
    // For each argument by position, of a node whose kernels take matrices (Operator.takes_matrices of
    // hidet.lang.compute): the option that exchanges the operand's last two axes, "", or FG_ANY_STRIDES. Empty: operands
    // and results lie row by row. The result is taken as the first operand is.
    VEC(const char *) exchanges;
    fg_argument_list arguments;
    fg_argument_list types; // attributes that are types and that the call leaves out, with the operator's defaults
    fg_number_list outputs;
    bool is_dropped; // nobody needs it
    int group;       // the kernel, or few kernels, that it is a part of (pass "fuse"); -1: none yet
} fg_node;

typedef VEC(const fg_node *) fg_node_list;

// A call of the program's function: the operator that computes a group.
typedef struct fg_launch {
    int group;
    const char *name;              // of the operator: "fused_linear_relu"
    int line;                      // of the program, where it is called
    int beside;                    // the first of the launches that are launched together, this one included
    const char *note;              // that drawings show with it: its time; NULL: none
    fg_node_list nodes;            // of the group, in order
    fg_number_list inputs, outputs; // tensors that it reads and writes in memory
} fg_launch;

typedef struct fg_check {
    const char *condition, *message; // "B == C", as the language writes it
} fg_check;

// A tensor between two nodes, and what fusion made of it.
typedef struct fg_edge {
    int tensor, reader;
    int64_t bytes;   // that fusing saves
    const char *why; // it is in memory; NULL: it is inside of a group
} fg_edge;

typedef struct fg_graph {
    arena *memory;
    const char *name;
    VEC(fg_tensor) tensors;
    VEC(fg_node) nodes;
    fg_number_list inputs, outputs; // tensors; the inputs of each run stand before weights, and these before what is prepared
    fg_number_list returned;        // after fg_split: what were the outputs
    VEC(fg_check) checks;           // of open sizes, when the program runs
    VEC(const char *) sizes;        // that stay open: type parameters
    struct fg_graph *load;          // after "load": what depends on weights alone; NULL: nothing does
    const struct fg_graph *whole;   // of a [load]: the graph that it is a part of
    const fg_name_list *functions;  // of the program that has this graph and others; NULL: it is alone
    struct fg_taken *taken;         // names that operators do not take in its text; fg_name_in_text makes it
    int group_count;                // after "fuse"; groups are numbered in the order in which they run
    VEC(fg_edge) edges;             // after "fuse": those that save most come first
    struct fg_language *language;   // graph/record.h; NULL: passes change no operands
    struct fg_precisions *precisions; // graph/precision.h; NULL: f32 stays f32
    fg_image_order order;           // of images, for the pass "layout"
    bool has_many_targets;          // programs for several architectures take the same parameters: no order is that of one of them
    size_t steps;                   // that passes have taken in searches and in their order: of tests
    VEC(fg_launch) launches;        // after fg_lower; views take none
} fg_graph;

// Reads and verifies. NULL, and *[error] says why (in [a]), if the text is no graph.
fg_graph *fg_read_json(arena *a, const char **error, const char *text);
// Likewise of a text that is one graph, or a list of graphs. False, and *[error] says why.
typedef VEC(fg_graph *) fg_graph_list;
bool fg_read_json_list(arena *a, fg_graph_list *out, const char **error, const char *text);
// The graphs are of one file, whose program has a function for each: operators of such a name are imported under another one.
// After fg_read_json of each; fg_read_json_list does it.
void fg_join(const fg_graph_list *graphs);
// Elements of a tensor, by the estimates of extents that are open.
double fg_elements(const fg_tensor *t);
// Operations of a node: two for each product and sum of products of matrices and convolutions, one for each element that another
// node reads or writes, whichever are more, none of views. By the extents that tensors have, estimates of open ones included.
double fg_operations(const fg_graph *g, const fg_node *n);
// NULL, or what is wrong: a tensor read before it is made, a tensor that nobody makes, inputs behind weights, outputs
// that are inputs.
const char *fg_verify(const fg_graph *g);

// A pass over graphs: a row of graph/passes/passes.def.
typedef struct fg_pass {
    const char *name;
    void (*run)(fg_graph *g);
    const char *doc; // one line
} fg_pass;

// In the order in which they run; NULL after the last one.
const fg_pass *fg_pass_at(int index);
// NULL: there is none of that name.
const fg_pass *fg_pass_find(const char *name);
// Runs a pass on the graph, and on what it computes at load if that is a graph of its own already. Verifies, in debug builds.
void fg_run_pass(fg_graph *g, const fg_pass *pass);
// The pass "identities", but that products stay as they are: what is done before rewrites, and after each round of them.
void fg_drop_identities(fg_graph *g);
// All passes, in their order.
void fg_run_passes(fg_graph *g);
// Instead of "fuse": each node is a group.
void fg_group_each(fg_graph *g);

// Variants that are compared with what the graph computes (`hdsc report`), instead of the passes. fg_split: each node is
// a group of its own, and all that nodes compute are outputs, of the names of the tensors. fg_widen, before it: floats of
// 16 bits and more are f64, also where arguments, or the defaults of attributes, name a type. Nodes of FG_BITS keep their types,
// between casts.
void fg_split(fg_graph *g);
void fg_widen(fg_graph *g);

// The graph as a graph function of the language, which records the same graph.
str fg_print(const fg_graph *g);
// As one program: an operator for each group, equal ones once, and for each graph a host function of its name that
// launches them: it has the graph's inputs and outputs as parameters. The graph that runs at load becomes NAME_load.
// Tensors between groups are temporaries, whose memory the launch plan shares out by lifetimes. Needs the passes. In
// [a].
str fg_lower(arena *a, fg_graph *const *graphs, size_t count);
// The same of one graph, for functions of the language that call it: it has no entries. In [a].
str fg_lower_called(arena *a, fg_graph *g);
// Gives parts of concatenations that are written in place their [writer] and [joined] (graph/join.c). fg_lower does it.
void fg_find_joins(fg_graph *g);
// The tensors whose concatenation with rows that are apart takes no kernel if groups stay as they are: nothing is set. In [a].
bool *fg_find_free_joins(arena *a, fg_graph *g);
// Modules for tests, whose function _outputs takes the inputs of the graph and returns a tuple of its outputs; weights are those
// that the test has (test_weight of hidet.lang). fg_lower_for_test: by the graph's program; needs the passes. fg_print_reference:
// by the reference of each operator. In [a].
str fg_lower_for_test(arena *a, fg_graph *g);
str fg_print_reference(arena *a, const fg_graph *g);
// As fg_read_json reads it, before the passes "load" and later ones, whose results it does not hold; what is dropped is left
// out. In the graph's memory.
str fg_print_json(const fg_graph *g);
// "elementwise"
const char *fg_kind_name(fg_kind kind);
// Of "auto", "keep" or "last". False: it is none of them.
bool fg_find_image_order(const char *name, fg_image_order *out);
// "product", "wide", "bits"; "" for FG_FOLLOWS
const char *fg_numerics_name(fg_numerics n);
// What became of each edge, launches and bytes before and after, and what is launched together: needs the pass "fuse", and
// fg_lower for the last.
str fg_explain_fusion(const fg_graph *g);
// The graphs, and what they compute at load, as one drawing for Graphviz: clusters are launches, edges have types, extents
// and bytes. Needs fg_lower. In [a].
str fg_print_dot(arena *a, fg_graph *const *graphs, size_t count);
// A page of HTML, which needs no other file: the drawing [svg], which is what Graphviz makes of fg_print_dot, beside a table
// of launches and the text of the program. In [a].
str fg_print_page(arena *a, fg_graph *const *graphs, size_t count, str svg, str program);
// The sum of [numbers]' tensors; -1: one of them has an open size.
int64_t fg_sum_bytes(const fg_graph *g, const fg_number_list *numbers);
// Of the nodes of a launch, in order: "19, 25", their lines in the model, and "linear + relu", their operators.
const char *fg_lines_text(arena *a, const fg_launch *l);
const char *fg_operators_text(arena *a, const fg_launch *l, const char *separator);
// The tensor in whose memory the elements are, after fg_lower.
const fg_tensor *fg_memory_of(const fg_graph *g, const fg_tensor *t);
// The launch at that line of the program, by its number; -1: there is none.
int fg_launch_at(const fg_graph *g, int line);
// "1.5 MiB"; "open" for -1.
const char *fg_bytes_text(arena *a, int64_t bytes);
// "g1_l": in a drawing, before the names of what is in graph [number] of [count], or in its graph "load".
const char *fg_drawing_prefix(arena *a, size_t number, size_t count, bool is_load);

// How the functions of the program that fg_lower makes are called: fg_describe, after fg_lower, in [a].
typedef enum fg_role {
    FG_INPUT,    // given in each run
    FG_WEIGHT,   // the tensor [weight] of a file
    FG_PREPARED, // written by the function [load], read by the function [run]
    FG_OUTPUT,
} fg_role;

typedef struct fg_parameter {
    fg_role role;
    const fg_tensor *tensor;
} fg_parameter;

typedef struct fg_function {
    const char *name;
    VEC(fg_parameter) parameters; // all of them, in order
} fg_function;

typedef struct fg_model {
    fg_function load; // runs once, before the other; its name is NULL: there is none
    fg_function run;
} fg_model;

fg_model fg_describe(arena *a, const fg_graph *g);
// "weight"
const char *fg_role_name(fg_role role);

// [name], or with underscores behind it if an input has that name.
const char *fg_free_name(const fg_graph *g, const char *name);
// The name of output [number] as a parameter: what the model calls it, as an identifier that no input and no output before has.
const char *fg_output_name(const fg_graph *g, size_t number);
// The nodes that read each tensor; in [a].
fg_number_list *fg_all_readers(arena *a, const fg_graph *g);
// Whether the extents of two axes are known to be equal, whether a tensor has one that is open, and whether it is known to have no
// elements, since an extent is 0: nothing is launched for it.
bool fg_same_extent(const fg_tensor *a, int axis_a, const fg_tensor *b, int axis_b);
bool fg_is_open(const fg_tensor *t);
bool fg_is_empty(const fg_tensor *t);

// Whether the node's kernels write a result with strides: products, and those that take any strides.
bool fg_writes_views(const fg_node *n);

// Whether the node's kernels evaluate each of its arguments that is tensor [t], if elementwise nodes give it.
bool fg_evaluates(const fg_node *n, int t);
// Whether the node's kernels write a result, or read each of its arguments that is tensor [t], whose rows are apart: elements of
// a row are neighbours, rows begin at multiples of 16 bytes, and at equal distances.
bool fg_writes_rows_apart(const fg_node *n);
bool fg_reads_rows_apart(const fg_node *n, int t);
// "784", "4 * B"
const char *fg_extent_text(arena *a, const fg_tensor *t, int axis);
// Whether a text of the language has the name as a word.
bool fg_mentions(const char *text, const char *name);
// "[B: int, S: int]" of those sizes that [text] has; "" for none.
const char *fg_size_parameters(const fg_graph *g, const char *text);
// Whether a node calls this operator.
bool fg_is_op(const fg_node *n, const char *module, const char *op);
// Whether the node reads a tensor. One that reads none is a constant.
bool fg_has_operands(const fg_node *n);
// Whether all extents are known to be equal.
bool fg_is_same_shape(const fg_tensor *a, const fg_tensor *b);
// "f16[2, 3]"
const char *fg_type_text(arena *a, const fg_tensor *t);
// What the text of a graph calls an operator, or another name that it imports: its name, with underscores where the
// graph function or a parameter has it.
const char *fg_name_in_text(const fg_graph *g, const char *name);
// The call as the language writes it, "linear(x, w, b)"; a tensor that is [NULL] in [names] has its own name. fg_print_method: a
// method of the operator, "linear.reference(x, w, b)".
void fg_print_method(str_buf *out, const fg_graph *g, const fg_node *n, const char *method, const char *const *names);
// A text in quotes, as the language writes it.
void fg_print_quoted(str_buf *out, const char *text);
void fg_print_call(str_buf *out, const fg_graph *g, const fg_node *n, const char *const *names);
// The imports of the operators, and of the types of tensors with [more] names of hidet.lang.
void fg_print_imports(str_buf *out, const fg_graph *g, const char *more);
