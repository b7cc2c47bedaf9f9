// Types in C. Tensors of what C has no type for (f16, fp8, complex, sub-byte integers, vectors) are void pointers, and
// scalars of narrow floats their bits in an unsigned integer; complex64 and vectors are short arrays.
#include "cuda_emit/c_priv.h"

#include <string.h>

const char *cu_c_scalar(cu *cx, dtype t)
{
    switch (t) {
    case DT_BOOL: return "bool";
    case DT_I1:
    case DT_I2:
    case DT_I4:
    case DT_I8: return "int8_t";
    case DT_I16: return "int16_t";
    case DT_I32: return "int32_t";
    case DT_I64: return "int64_t";
    case DT_U1:
    case DT_U2:
    case DT_U4:
    case DT_U8:
    case DT_F8E4M3:
    case DT_F8E5M2: return "uint8_t";
    case DT_U16:
    case DT_F16:
    case DT_BF16: return "uint16_t";
    case DT_U32:
    case DT_TF32: return "uint32_t";
    case DT_U64: return "uint64_t";
    case DT_F32: return "float";
    case DT_F64: return "double";
    case DT_NONE:
    case DT_C64:
    case DT__COUNT: break;
    }
    cu_c_refuse(cx, arena_printf(cx->a, "the host has no %s", dt_name(t)));
    return "void";
}

bool cu_c_is_native(const ir_type *elem)
{
    return elem->kind == IR_SCALAR && !cu_is_struct(elem->scalar) && !cu_is_subbyte(elem);
}

const char *cu_c_elem(cu *cx, const ir_type *elem)
{
    return cu_c_is_native(elem) ? cu_c_scalar(cx, elem->scalar) : "void";
}

bool cu_c_is_array(const ir_type *t)
{
    return t->kind == IR_VECTOR || ir_is_scalar(t, DT_C64);
}

// "const float z[2]"
static const char *array_param(cu *cx, const ir_type *t, const char *name, bool in_struct)
{
    bool packs = t->kind == IR_VECTOR && dt_is_int(t->scalar) && dt_is_subbyte(t->scalar);
    int64_t count = t->kind == IR_SCALAR ? 2 : packs ? ir_type_bytes(t) : t->lanes;
    const char *elem = t->kind == IR_SCALAR ? "float" : packs ? "uint8_t" : cu_c_scalar(cx, t->scalar);
    return arena_printf(cx->a, "%s%s %s[%lld]", in_struct ? "" : "const ", elem, name, (long long)count);
}

const char *cu_c_param(cu *cx, const ir_var *v, const char *name, bool is_written, bool in_struct)
{
    const ir_type *t = v->type;
    if (cu_c_is_array(t))
        return array_param(cx, t, name, in_struct);
    bool is_address = t->kind == IR_TENSOR || t->kind == IR_POINTER;
    if (is_address)
        return arena_printf(cx->a, "%s%s *%s", is_written ? "" : "const ", cu_c_elem(cx, t->elem), name);
    return cu_declarator(cx, t, name);
}

int cu_c_lanes(const ir_type *elem)
{
    return elem->kind == IR_VECTOR ? elem->lanes : 0;
}

int cu_c_elem_bits(const ir_type *elem)
{
    bool is_number = elem->kind == IR_SCALAR || elem->kind == IR_VECTOR;
    return is_number ? dt_bits(elem->scalar) : 64;
}

// The codes of DLPack's DLDataTypeCode. It has none for tf32, which is an f32 to those who store it.
static int dlpack_code(dtype t)
{
    switch (t) {
    case DT_BOOL: return 6;
    case DT_BF16: return 4;
    case DT_C64: return 5;
    case DT_F8E4M3: return 10;
    case DT_F8E5M2: return 12;
    default: return dt_is_float(t) ? 2 : dt_is_signed(t) ? 0 : 1;
    }
}

const char *cu_c_dtype(cu *cx, const ir_type *elem)
{
    bool is_number = elem->kind == IR_SCALAR || elem->kind == IR_VECTOR;
    return arena_printf(cx->a, "{%d, %d}", is_number ? dlpack_code(elem->scalar) : 1, cu_c_elem_bits(elem));
}

// A head that is too long for one line goes on under its first parameter.
const char *cu_c_wrapped(arena *a, const char *head)
{
    const size_t most = 120, indent = strcspn(head, "(") + 1;
    str_buf out;
    str_buf_init(&out, a);
    const char *at = head;
    for (size_t column = 0; *at; column = indent) {
        size_t len = strlen(at), room = most - column;
        if (len > room) {
            for (len = room; len > 1 && !(at[len - 1] == ' ' && at[len - 2] == ','); len--)
                continue;
            if (len <= 1)
                len = strlen(at);
        }
        bool is_last = !at[len];
        str_addf(&out, "%.*s", (int)(is_last ? len : len - 1), at);
        if (!is_last)
            str_addf(&out, "\n%*s", (int)indent, "");
        at += len;
    }
    return str_text(&out);
}
