// Arguments matched with the parameters of a function, for the ways a call goes (call.c).
#pragma once

#include "typecheck/eval/reference.h"

typedef struct tc_matching {
    tc *tx;
    const tc_function *f;
    tc_args *args;
    bool *taken;      // arguments used up
    int *arg_of;      // by parameter: index of its argument; -1 none
    tc_scope *scope;  // of the activation
    bool *type_bound; // by type parameter
    int taken_last;   // positional arguments that went to parameters behind `*args`
    src_span span;
    int room[24];     // for the three arrays, if they fit
} tc_matching;

// Matches the arguments with parameters, and finds the type parameters that they tell. False after errors.
bool tc_match(tc *tx, tc_matching *m, tc_function *f, tc_args *args);
// Type parameters that are left have their defaults, and all of them keep their bounds. In a frame of the callee. False after errors.
bool tc_match_types(tc_matching *m);
// What the parameter is by argument [arg], or by its default (-1).
tc_value tc_match_value(tc_matching *m, const ast_param *p, int arg);
// Whether its default is None, which is an argument then, whatever its annotation says.
bool tc_may_be_none(const ast_param *p);
// The scope of an activation, with type parameters and parameters; NULL after errors.
tc_scope *tc_match_activation(tc *tx, tc_function *f, tc_args *args, uint32_t *site, bool compile_time);
