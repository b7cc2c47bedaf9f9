// Rewrites: where a graph has what a rule looks for, that is replaced by what the rule's function makes of it.
//
//     fg_rule *rule = fg_read_rule(&memory, &error, text);    what tc_open_rewrites says of a function under @rewrite
//     fg_rewrite(g, &rules, &engine);
//
// A rule has a left side: nodes over wildcards, which are tensors with types, and attributes. Extents, types of elements and
// attributes that stand for any are written as values that no model has (fg_symbol.text). The right side is asked for at each
// place: it may depend on the types and attributes that are there.
#pragma once

#include "graph/graph.h"

// Most wildcards, attributes or nodes of a rule.
enum { FG_MAX_RULE = 64 };

// A size, a type of elements, or an attribute of a rule.
typedef struct fg_symbol {
    const char *name;
    const char *text;    // stands for it on the left side
    const char *initial; // of an attribute: its default, which is that of the operator
} fg_symbol;

typedef VEC(fg_symbol) fg_symbol_list;

typedef struct fg_extent {
    enum { FG_FIXED, FG_SIZE, FG_SIZES } kind; // a number; a size; any number of axes
    int64_t value;
    int symbol;
} fg_extent;

typedef struct fg_wildcard {
    const char *name;
    const char *dtype; // NULL: the symbol [type]
    int type;
    VEC(fg_extent) extents;
    bool is_optional;
} fg_wildcard;

// The left side's tensors: wildcards, then what its nodes make, one each.
typedef struct fg_pattern_node {
    const char *op, *module;
    fg_argument_list arguments;
    fg_argument_list defaults; // of the operator's attributes: a call may state or omit them, as the left side may
} fg_pattern_node;

typedef struct fg_rule {
    int number;    // among those that are applied together
    size_t source; // the caller's: where its right side is
    const char *name;
    bool is_approximate;
    bool is_late; // applied behind the pass "precision"
    fg_symbol_list sizes, types, attributes;
    VEC(fg_symbol_list) trials; // what trials take for some of these, in turn: [text] of each; none: all are random
    VEC(fg_wildcard) wildcards;
    VEC(fg_pattern_node) nodes;
    fg_number_list outputs; // tensors
    int depth;              // of the left side, in nodes
} fg_rule;

typedef VEC(fg_rule *) fg_rule_list;

// NULL, and *[error] says why.
fg_rule *fg_read_rule(arena *a, const char **error, const char *text);

// What a size stands for at a place: one extent, or those of several axes.
typedef struct fg_bound {
    int count; // of extents; -1: not known yet
    const fg_tensor *tensor; // whose axes they are, from [first] on
    int first;
} fg_bound;

// match.c: a place that has a rule's left side.
typedef struct fg_match {
    const fg_rule *rule;
    const fg_graph *g;
    const fg_number_list *readers; // of each tensor
    int *tensors;                  // of the graph, for those of the left side; -1: none (yet)
    int *nodes;                    // likewise
    const char **attributes;       // texts
    const char **types;
    fg_bound *sizes;
    uint64_t swaps; // nodes of the left side whose operands are looked for in the other order
} fg_match;

void fg_match_init(fg_match *m, arena *a, const fg_graph *g, const fg_number_list *readers, const fg_rule *rule);
// Whether the first output of the left side is what node [root] makes, and everything else is there too.
bool fg_match_at(fg_match *m, int root);

typedef struct fg_application {
    const char *rule, *graph, *lines; // "12, 14"
    int before, after;                // nodes of the graph
} fg_application;

typedef struct fg_engine {
    // The right side at a place of [g], as the JSON that fg_read_json reads with "wanted", the types of what it replaces; "": the
    // rule's conditions do not hold, or are not known to hold for all sizes that are open. [operands]: "[('x', f16, (4 * B, 8),
    // False)], [('axis', -1)]": wildcards with whether weights alone make them, and attributes. NULL: after errors.
    const char *(*right)(void *user, const fg_rule *rule, const fg_graph *g, const char *operands);
    void *user;
    VEC(fg_application) trace;
    const char *error; // what fg_rewrite says when it is false; NULL: [right] has reported
    int error_line;            // of the model; 0: unknown
    const fg_rule *error_rule; // that it is about
} fg_engine;

// To a fixed point. False after errors: of right sides, and where rules undo each other.
bool fg_rewrite(fg_graph *g, const fg_rule_list *rules, fg_engine *e);
// As fg_read_json, but outputs may be inputs, and the types of "wanted" are compared with those of outputs.
fg_graph *fg_read_side(arena *a, const char **error, const char *text);
