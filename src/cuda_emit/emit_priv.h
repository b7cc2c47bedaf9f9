// Declarations shared by the files of the CUDA back end.
#pragma once

#include "cuda_emit/printer.h"

// cuda.c, host.c
extern const cu_dialect cu_dialect_cuda;
extern const cu_host_dialect cu_host_cuda;

// order.c: barriers, fences, atomics and the like, in the function or in what it calls.
bool cu_orders_memory(cu *cx, const ir_func *f);

// wrapper.c
void cu_wrappers(cu *cx);

// func.c
void cu_function(cu *cx, ir_func *f);
void cu_name_table(cu *cx, const ir_var *v, ir_expr *const *values);
void cu_globals(cu *cx);
void cu_params(cu *cx, const ir_func *f, str_buf *head, const char *more);

// host.c
void cu_host_function(cu *cx, ir_func *f);
