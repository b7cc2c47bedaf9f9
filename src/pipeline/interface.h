// The interface of the compiled kernels and host functions for callers, as JSON (docs/interface.md describes the format).
#pragma once

#include "pipeline/unit.h"

// The document, in the unit's memory. Needs the emitted text (pl_emit): names and sizes are those of the text.
str pl_interface(pl_unit *u);

// The launch plans of the host functions, as text, in the unit's memory. Needs the emitted text.
str pl_plan_text(pl_unit *u);

// python_text.c: [e] as a Python expression over the names that [name_of] gives its variables, without brackets around
// it. Integers are unbounded in Python: the text says nothing of how the kernel's arithmetic would wrap. False, and
// text without use, where there is something that a caller cannot evaluate: memory, calls, instructions.
typedef const char *pl_name_of(const void *user, const ir_var *v);
bool pl_python_text(const ir_expr *e, pl_name_of *name_of, const void *user, str_buf *out);
