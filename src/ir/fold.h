// Constants of operators on constants, with the bits that the GPU would get.
#pragma once

#include "ir/ir.h"

// [e] computed, if its operands are constants and the result does not depend on anything that is only decided at run
// time; else [e] itself. Left alone: division by zero, signed overflow, shifts by the width or more, floats that become
// NaN, remainders of floats, arithmetic in fp8 and tf32.
ir_expr *ir_fold(ir_module *m, ir_expr *e);
bool ir_const_float(const ir_expr *e, double *out); // FLOAT?
