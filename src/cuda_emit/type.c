// C++ names of types, and comments about shapes.
#include "cuda_emit/printer.h"

#include <string.h>

dtype cu_value_dtype(dtype t)
{
    if (!dt_is_int(t) || !dt_is_subbyte(t))
        return t;
    return dt_is_signed(t) ? DT_I8 : DT_U8;
}

bool cu_is_struct(dtype t)
{
    return t == DT_C64 || (dt_is_float(t) && t != DT_F32 && t != DT_F64);
}

bool cu_is_subbyte(const ir_type *elem)
{
    return elem->kind == IR_SCALAR && dt_is_int(elem->scalar) && dt_is_subbyte(elem->scalar);
}

bool cu_use(cu *cx, const char *snippet)
{
    if (cx->in_comment)
        return true;
    return cx->dialect->use(cx, snippet);
}

void cu_use_of(cu *cx, dtype t, const char *what, src_span span)
{
    if (cx->in_host && cu_is_struct(t)) {
        if (!cx->failed) {
            diag *d = diag_report(cx->m->diags, HDS0471, span, dt_name(t), cx->func->title);
            diag_help(d, "compute it in a kernel, or in f32 on the host");
        }
        cx->failed = true;
        return;
    }
    if (!cu_use(cx, arena_printf(cx->a, "%s.%s", dt_cuda_name(t), what)))
        cu_bad_ir(cx, span, arena_printf(cx->a, "'%s' of %s", what, dt_name(t)));
}

const char *cu_scalar_name(cu *cx, dtype t)
{
    return cx->dialect->scalar(cx, t);
}

static const char *vector_name(cu *cx, const ir_type *t)
{
    cu_use(cx, "vec");
    bool packs = dt_is_int(t->scalar) && dt_is_subbyte(t->scalar);
    int lanes = packs ? (t->lanes * dt_bits(t->scalar) + 7) / 8 : t->lanes;
    return cu_format(cx, "vec<%s, %d>", packs ? "unsigned char" : cu_scalar_name(cx, t->scalar), lanes);
}

const char *cu_elem(cu *cx, const ir_type *t)
{
    return cu_is_subbyte(t) ? "unsigned char" : cu_type(cx, t);
}

const char *cu_type(cu *cx, const ir_type *t)
{
    switch (t->kind) {
    case IR_VOID: return "void";
    case IR_SCALAR: return cu_scalar_name(cx, t->scalar);
    case IR_VECTOR: return vector_name(cx, t);
    case IR_STRING: return "const char *";
    case IR_TENSOR_MAP:
        cu_use(cx, "tensor_map");
        return "const tensor_map *";
    case IR_POINTER:
    case IR_TENSOR: break;
    }
    const char *elem = cx->dialect->elem(cx, t->elem), *gap = elem[strlen(elem) - 1] == '*' ? "" : " ";
    if (t->is_const && *gap)
        return cu_format(cx, "const %s *", elem);
    return cu_format(cx, "%s%s*", elem, t->is_const ? " const " : gap);
}

const char *cu_declarator(cu *cx, const ir_type *t, const char *name)
{
    const char *type = cu_type(cx, t);
    return cu_format(cx, "%s%s%s", type, type[strlen(type) - 1] == '*' ? "" : " ", name);
}

// What a comment names, the text does not use.
static void add_exprs(cu *cx, str_buf *out, ir_expr **exprs, int count)
{
    cx->in_comment = true;
    for (int i = 0; i < count; i++)
        str_addf(out, "%s%s", i ? ", " : "", cu_at(cx, exprs[i], CU_ASSIGN));
    cx->in_comment = false;
}

const char *cu_shape_comment(cu *cx, const ir_var *v)
{
    const ir_tensor *t = v->tensor;
    if (cx->is_dry)
        return "";
    str_buf out;
    str_buf_init(&out, cx->a);
    ir_type_print(v->type->elem, &out);
    if (!t)
        return str_text(&out);
    str_addc(&out, '[');
    add_exprs(cx, &out, t->shape, t->rank);
    str_addc(&out, ']');
    if (t->layout && !tm_layout_is_row_major(t->layout)) {
        str_adds(&out, ", ");
        tm_layout_print(t->layout, &out);
    }
    if (t->is_strided) {
        str_adds(&out, ", strides [");
        add_exprs(cx, &out, t->strides, t->rank);
        str_addc(&out, ']');
    }
    return str_text(&out);
}
