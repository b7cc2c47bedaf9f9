// What printing and reading of plans share.
#pragma once

#include "plan/plan.h"

// The sign of an operator that stands between its operands; NULL: it is written as a call.
const char *plan_sign_of(ir_op op);
bool plan_is_name_char(char c);
