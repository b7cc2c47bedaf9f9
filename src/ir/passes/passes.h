// The passes of passes.def, each in the file of its name, and what two of them share.
#pragma once

#include "ir/analysis_linear.h"
#include "ir/pass.h"

bool ir_pass_simplify(ir_pass_context *px);
bool ir_pass_lower_tasks(ir_pass_context *px);
bool ir_pass_lower_registers(ir_pass_context *px);
bool ir_pass_form_wide(ir_pass_context *px);
bool ir_pass_lower_guards(ir_pass_context *px);
bool ir_pass_flatten(ir_pass_context *px);
