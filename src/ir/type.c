// Interned types: equal types of a module are the same pointer.
#include "ir/ir.h"

#include <string.h>

// All types but scalars live in the module's map, keyed by the bytes of the (zero-padded) structure: [elem] is interned
// itself, so that its address stands for its content.
static const ir_type *intern(ir_module *m, ir_type_kind kind, dtype scalar, int lanes, ir_space space,
                             const ir_type *elem, bool is_const)
{
    ir_type key;
    memset(&key, 0, sizeof key);
    key.kind = kind;
    key.scalar = scalar;
    key.lanes = lanes;
    key.space = space;
    key.elem = elem;
    key.is_const = is_const;
    ir_type *found = map_get(&m->types, &key, sizeof key);
    if (!found) {
        found = arena_dup(m->lasting, &key, sizeof key);
        map_put(&m->types, &key, sizeof key, found);
    }
    return found;
}

const ir_type *ir_void(ir_module *m)
{
    return intern(m, IR_VOID, DT_NONE, 0, IR_GENERIC, NULL, false);
}

const ir_type *ir_string(ir_module *m)
{
    return intern(m, IR_STRING, DT_NONE, 0, IR_GENERIC, NULL, false);
}

const ir_type *ir_tensor_map_type(ir_module *m)
{
    return intern(m, IR_TENSOR_MAP, DT_NONE, 0, IR_GENERIC, NULL, false);
}

const ir_type *ir_scalar(ir_module *m, dtype t)
{
    const ir_type **known = &m->scalar_types[t];
    if (!*known)
        *known = intern(m, IR_SCALAR, t, 0, IR_GENERIC, NULL, false);
    return *known;
}

const ir_type *ir_vector(ir_module *m, dtype t, int lanes)
{
    return intern(m, IR_VECTOR, t, lanes, IR_GENERIC, NULL, false);
}

const ir_type *ir_pointer(ir_module *m, const ir_type *elem, ir_space space)
{
    return intern(m, IR_POINTER, DT_NONE, 0, space, elem, false);
}

const ir_type *ir_tensor_type(ir_module *m, const ir_type *elem, ir_space space)
{
    return intern(m, IR_TENSOR, DT_NONE, 0, space, elem, false);
}

const ir_type *ir_const_of(ir_module *m, const ir_type *t)
{
    if (t->is_const || (t->kind != IR_POINTER && t->kind != IR_TENSOR))
        return t;
    return intern(m, t->kind, DT_NONE, 0, t->space, t->elem, true);
}

int64_t ir_type_bytes(const ir_type *t)
{
    switch (t->kind) {
    case IR_VOID: return 0;
    case IR_SCALAR: return (dt_bits(t->scalar) + 7) / 8;
    case IR_VECTOR: return ((int64_t)dt_bits(t->scalar) * t->lanes + 7) / 8;
    case IR_POINTER:
    case IR_TENSOR:
    case IR_STRING: return 8;
    case IR_TENSOR_MAP: return 128;
    }
    return 0;
}

void ir_type_print(const ir_type *t, str_buf *out)
{
    for (; t->kind == IR_POINTER || t->kind == IR_TENSOR; t = t->elem) {
        if (t->kind == IR_POINTER)
            str_addc(out, '~');
        else
            str_adds(out, "tensor ");
        if (t->space != IR_GENERIC)
            str_addf(out, "%s ", ir_space_name(t->space));
        if (t->is_const)
            str_adds(out, "const ");
    }
    switch (t->kind) {
    case IR_VOID: str_adds(out, "void"); break;
    case IR_SCALAR: str_adds(out, dt_name(t->scalar)); break;
    case IR_VECTOR: str_addf(out, "%sx%d", dt_name(t->scalar), t->lanes); break;
    case IR_STRING: str_adds(out, "string"); break;
    case IR_TENSOR_MAP: str_adds(out, "tensor_map"); break;
    case IR_POINTER:
    case IR_TENSOR: break;
    }
}
