// Arguments by reference: what ref_u32 parameters, ldmatrix and asm write to.
#pragma once

#include "typecheck/eval/eval.h"

// Whether argument [index] of the call is one: the parameter's annotation is ref_u32 or references, or the built-in
// function writes to it.
bool tc_takes_reference(tc *tx, tc_value callee, const ast_call *e, size_t index);

// Whether the function takes this parameter by reference.
bool tc_is_reference(const tc_function *f, const ast_param *p);

// The value of an argument by reference: an expression that reads the variable or the element, as it is at each use; a
// list of such.
tc_value tc_eval_reference(tc *tx, const ast_expr *e);

// target = v, for a value of tc_eval_reference. False after an error.
bool tc_store_reference(tc *tx, tc_value target, tc_value v, src_span span);
