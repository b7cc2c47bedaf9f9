// Shared by operators.c and collapse.c: writes entries as texts.
#pragma once

#include "typecheck/operators/operators.h"

typedef struct writer {
    tc *tx;
    tc_operator *op;
    str_buf out;
    int ranks[TM_MAX_RANK];     // by variadic parameter: the number of its axes
    int joined[TM_MAX_RANK];    // which of them stands for any number of them; -1: none
    bool is_given[TM_MAX_RANK]; // whether -D says how many, and is no extent
    bool is_strided;            // of elementwise operators: tensors with any strides
    unsigned left_out;          // bit k: the k-th optional operand is omitted
    // collapse.c: kernels with known extents, which are not kept.
    int known;      // what extents are; 0: this is an entry
    int collapsing; // the variadic parameter that is looked at: its joined axis has [collapsed] elements
    int collapsed;
    bool is_numbered; // whether operands of indices have known elements
} writer;

// "S", or of several "S1".
const char *tc_axis_name(const writer *w, size_t variadic, int axis);
// A type as the operator's author wrote it, with the entry's axes.
const char *tc_type_in_entry(writer *w, const char *type);
const char *tc_choice_text(tc *tx, const tc_operator_param *p);
const char *tc_separated(bool *any);
const char *tc_result_name(writer *w, size_t i);
// Whether the identifier occurs in the text.
bool tc_has_word(const char *text, str word);
// "axis=0, eps=eps": the parameters of the definition that are no tensors. False: one has no value.
bool tc_write_named(writer *w, bool *any);
// The function that the text defines, in a scope of [m] where `the_operator` and [helper] (NULL: none) have their
// values.
tc_function *tc_function_of_text(writer *w, tc_value v, tc_module *m, const char *name, const tc_value *helper);

// collapse.c
// Whether any number of axes may be collapsed into the joined ones of the entry; with the first choice of types.
typedef enum tc_collapse { TC_COLLAPSE_YES, TC_COLLAPSE_NO, TC_COLLAPSE_UNKNOWN } tc_collapse;
tc_collapse tc_may_collapse(const writer *entry, tc_value v);

// collapse_code.c
void tc_compute_constants(ir_module *m, ir_block *block);
