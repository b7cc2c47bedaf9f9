// The verifier, in two files: expressions (verify_expr.c) and everything around them (verify.c).
#pragma once

#include "ir/ir.h"

enum { VERIFY_MAX_MESSAGES = 8 };

typedef enum var_state { VAR_UNDECLARED, VAR_IN_SCOPE, VAR_GONE } var_state;

typedef struct verifier {
    ir_module *module;
    const char *pass;      // NULL: none to blame
    bool low;              // the rules of LOW level
    ir_func *func;         // NULL: the module's globals
    const ir_stmt *stmt;   // NULL: the function's head
    uint8_t *states;       // var_state by variable id
    bool *known_funcs;     // by function id: defined before the current one
    VEC(ir_var *) scope;   // variables in scope, innermost last
    VEC(int) labels;       // of the SCOPE_OF that are open
    int loops;             // FOR, WHILE and TASKS around
    int messages;
} verifier;

// Reports that [rule] is broken. Returns nothing useful: checks go on as far as they safely can.
void ir_verify_broken(verifier *v, const char *rule, ...) __attribute__((format(printf, 2, 3)));

// Checks [e] and everything below it.
void ir_verify_expr(verifier *v, ir_expr *e);
void ir_verify_index(verifier *v, ir_expr *e, const char *what);  // … which must be an integer
void ir_verify_typed(verifier *v, ir_expr *e, const ir_type *type, const char *what);
// [type] is of a variable: a tensor takes a pointer to its elements.
void ir_verify_passed(verifier *v, const ir_expr *e, const ir_type *type, const char *what);
void ir_verify_access(verifier *v, const ir_var *tensor, ir_expr *const *indices, int count, int flags);
void ir_verify_type(verifier *v, const ir_type *t);
const char *ir_verify_type_text(verifier *v, const ir_type *t);
