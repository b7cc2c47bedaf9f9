// Addressing in tensors: element offsets of index tuples, and whether indices are inside the shape.
#pragma once

#include "ir/analysis_linear.h"

// The element offset of [index] by the tensor's layout or strides, simplified: of i32 where that provably holds every
// offset, else of i64, with operands widened before they are multiplied. [accessed]: the element is read or written
// here, so the indices are inside the shape (anything else is undefined), which the simplification may use.
// Tensors with a mapping are not handled here.
ir_expr *ir_element_offset(ir_env *env, const ir_tensor *t, ir_expr **index, bool accessed, src_span span);
// The form of the offset of an access, of a tensor with dimensions: where no expression is needed.
const ir_linear *ir_element_form(ir_env *env, const ir_tensor *t, ir_expr **index, src_span span);

// In the scope that the caller has entered: 0 <= index < extent for each dimension.
void ir_assume_inside(ir_env *env, const ir_tensor *t, ir_expr **index);
// The comparisons that are not proved, joined with LAND; NULL if the indices are surely inside.
ir_expr *ir_inside(ir_env *env, const ir_tensor *t, ir_expr **index, src_span span);
// A dimension in which the index is always outside, or -1.
int ir_outside_dim(ir_env *env, const ir_tensor *t, ir_expr **index);
// a op b with the narrower operand widened.
ir_expr *ir_compare(ir_env *env, ir_op op, ir_expr *a, ir_expr *b, src_span span);
