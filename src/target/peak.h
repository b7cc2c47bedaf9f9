// The most arithmetic that a GPU can do, for comparison with what a kernel does.
#pragma once

#include "target/arch.h"
#include "target/dtype.h"

// Operations per clock of one SM on operands of type [t]; 0: not known, or none. See peak.def.
int arch_peak_ops(const arch *a, dtype t);
