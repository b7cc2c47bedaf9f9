// What launch plans have to know of the kernels of a text.
#pragma once

#include "cuda_emit/emit.h"
#include "plan/plan.h"

// For plan_lower: the kernels as cu_emit listed them. The list has to outlive it.
plan_kernels cu_plan_kernels(const cu_kernel_list *list);
