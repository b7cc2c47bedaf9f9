// Entries of a file: those that -D and --entry name, and those of its operators.
#pragma once

#include "typecheck/kernels/kernels.h"

// entry.c
bool tc_check_defines(tc *tx);
// The element type of the parameter [name] by -D or by an array of the run; DT_NONE: none.
dtype tc_operand_type_of(const tc *tx, const char *name);

// record.c
// What the only graph function of [text] records, as JSON. NULL: it has errors, which are not reported.
const char *tc_record_module(tc *tx, const char *text);

// operators.c
// Binds entries of the main file's operators in its scope: softmax_f16, ….
void tc_offer_operators(tc *tx);
// The main file's operator that the text is, or has the name of an entry of, as softmax_f16; with why it is no entry.
// NULL: none.
const tc_operator *tc_operator_of_entry(tc *tx, const char *text);
void tc_name_operator(ir_func *func, const tc_function *f); // marks the function of such an entry
