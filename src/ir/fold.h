// Constant folding, bit-exact with the GPU.
#pragma once

#include "ir/ir.h"

// The constant value of [e] if its operands are constants and the result is determined at compile time; else [e]
// itself. Not folded: division by zero, signed overflow, shifts by the width or more, floats that become
// NaN, remainders of floats, arithmetic in fp8 and tf32.
ir_expr *ir_fold(ir_module *m, ir_expr *e);
bool ir_const_float(const ir_expr *e, double *out); // FLOAT?
