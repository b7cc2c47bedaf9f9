// Tensors: where they live, and access to their elements.
#include "cuda_emit/printer.h"

// ---- lvalues ----------------------------------------------------------------------------------------------------

// C++ widens an index by itself, so a cast to i64 around the whole of it says nothing.
cu_text cu_index(cu *cx, const ir_expr *e)
{
    if (e->op == IR_OP_INT)
        return cu_int_text(cx, e->type->scalar, e->u.i, true);
    bool widens = e->op == IR_OP_CAST && e->type->scalar == DT_I64 && e->args[0]->type->kind == IR_SCALAR &&
                  dt_is_int(e->args[0]->type->scalar) && e->args[0]->type->scalar != DT_U64;
    return cu_exact(cx, widens ? e->args[0] : e, true);
}

static bool is_flat(cu *cx, const ir_expr *e)
{
    bool fine = e->arg_count == 1 && !(e->flags & IR_GUARDED);
    if (!fine)
        cu_bad_ir(cx, e->span, "an access that is not flat");
    return fine;
}

static dtype elem_ctype(const ir_type *elem)
{
    return elem->kind == IR_SCALAR ? cu_value_dtype(elem->scalar) : DT_NONE;
}

static const char *const_word(const ir_type *pointer)
{
    return pointer->is_const ? "const " : "";
}

// Element [index] behind the pointer text [base].
static cu_text element(cu *cx, const char *base, const ir_type *pointer, const ir_expr *index, int flags)
{
    const ir_type *elem = pointer->elem;
    const char *at = cu_index(cx, index).s;
    if (cu_is_subbyte(elem)) {
        const char *helper = dt_is_signed(elem->scalar) ? "load_sint" : "load_uint";
        cu_use(cx, helper);
        return cu_primary(cx, elem_ctype(elem), "%s<%d>(%s, %s)", helper, dt_bits(elem->scalar), base, at);
    }
    if (!(flags & IR_VOLATILE))
        return cu_primary(cx, elem_ctype(elem), "%s[%s]", base, at);
    if (elem->kind == IR_SCALAR && cu_is_struct(elem->scalar) && elem->scalar != DT_C64) {
        const char *bits = dt_bits(elem->scalar) == 8    ? "unsigned char"
                           : dt_bits(elem->scalar) == 16 ? "unsigned short"
                                                         : "unsigned int";
        return cu_primary(cx, elem->scalar, "%s{((%svolatile %s *)%s)[%s]}", cu_type(cx, elem), const_word(pointer),
                          bits, base, at);
    }
    return cu_primary(cx, elem_ctype(elem), "((%svolatile %s *)%s)[%s]", const_word(pointer), cu_type(cx, elem), base,
                      at);
}

cu_text cu_load(cu *cx, const ir_expr *e)
{
    if (!is_flat(cx, e))
        return cu_primary(cx, DT_NONE, "0");
    return element(cx, cu_var_name(cx, e->u.var), e->u.var->type, e->args[0], e->flags);
}

cu_text cu_pload(cu *cx, const ir_expr *e)
{
    const ir_type *pointer = e->args[0]->type;
    if (!cu_is_subbyte(pointer->elem) && e->args[1]->op == IR_OP_INT && e->args[1]->u.i == 0 &&
        !(e->flags & IR_VOLATILE))
        return cu_text_of(cx, elem_ctype(pointer->elem), CU_UNARY, "*%s", cu_at(cx, e->args[0], CU_UNARY));
    return element(cx, cu_at(cx, e->args[0], CU_POSTFIX), pointer, e->args[1], e->flags);
}

cu_text cu_addr(cu *cx, const ir_expr *e)
{
    if (!is_flat(cx, e))
        return cu_primary(cx, DT_NONE, "0");
    return cx->dialect->address(cx, cu_var_name(cx, e->u.var), e->u.var, e->args[0]);
}

cu_text cu_tile(cu *cx, const ir_expr *e)
{
    return cu_addr(cx, e);
}

// ---- stores -----------------------------------------------------------------------------------------------------

static void store_subbyte(cu *cx, const char *base, const ir_type *elem, const ir_expr *index, const ir_expr *value)
{
    cu_use(cx, "store_bits");
    const char *v = cu_paren(cx, cu_exact(cx, value, true), CU_ASSIGN);
    cu_put(cx, "store_bits<%d>(%s, %s, %s);", dt_bits(elem->scalar), base, cu_index(cx, index).s, v);
}

// "+=" where a = a + b is to be said, else NULL.
static const char *compound(const ir_stmt *s, const ir_type *elem)
{
    static const char *const signs[IR_OP__COUNT] = {
        [IR_OP_ADD] = "+=", [IR_OP_SUB] = "-=", [IR_OP_MUL] = "*=", [IR_OP_DIV] = "/=",
        [IR_OP_AND] = "&=", [IR_OP_OR] = "|=",  [IR_OP_XOR] = "^=", [IR_OP_SHL] = "<<=",
    };
    const ir_expr *v = s->value;
    bool is_builtin = elem->kind == IR_SCALAR && !cu_is_struct(elem->scalar) && elem->scalar != DT_BOOL;
    if (!signs[v->op] || !is_builtin || cu_is_subbyte(elem) || (s->flags & IR_VOLATILE))
        return NULL;
    const ir_expr *old = v->args[0];
    bool same = s->kind == IR_ASSIGN ? old->op == IR_OP_VAR && old->u.var == s->var
                                     : old->op == IR_OP_LOAD && old->u.var == s->var && old->arg_count == 1 &&
                                           !(old->flags & IR_VOLATILE) && ir_expr_equal(old->args[0], s->args[0]);
    return same ? signs[v->op] : NULL;
}

static void assign(cu *cx, const ir_stmt *s, const char *lvalue, const ir_type *elem)
{
    const char *sign = compound(s, elem);
    if (!sign) {
        cu_put(cx, "%s = %s;", lvalue, cu_as(cx, s->value, elem));
        return;
    }
    const ir_expr *by = s->value->args[1];
    bool is_negative = by->op == IR_OP_INT && by->u.i < 0 && by->u.i > -INT32_MAX;
    if (is_negative && s->value->op == IR_OP_ADD && dt_is_signed(elem->scalar)) {
        const char *size = arena_printf(cx->a, "%lld", -(long long)by->u.i);
        if (by->u.i == -1)
            cu_put(cx, "%s--;", lvalue);
        else
            cu_put(cx, "%s -= %s;", lvalue, size);
        return;
    }
    bool is_one = by->op == IR_OP_INT && by->u.i == 1 && (s->value->op == IR_OP_ADD || s->value->op == IR_OP_SUB);
    if (is_one)
        cu_put(cx, "%s%s;", lvalue, s->value->op == IR_OP_ADD ? "++" : "--");
    else if (s->value->op == IR_OP_SHL)
        cu_put(cx, "%s %s %s;", lvalue, sign, cu_paren(cx, cu_exact(cx, by, true), CU_ASSIGN));
    else if (s->value->op == IR_OP_DIV || dt_is_float(elem->scalar))
        cu_put(cx, "%s %s %s;", lvalue, sign, cu_at(cx, by, CU_ASSIGN));
    else
        cu_put(cx, "%s %s %s;", lvalue, sign, cu_as(cx, by, elem));
}

// The lvalue of a volatile struct is its bits.
static void store_volatile_struct(cu *cx, const char *base, const ir_type *elem, const ir_expr *index,
                                  const ir_expr *value)
{
    const char *bits = dt_bits(elem->scalar) == 8    ? "unsigned char"
                       : dt_bits(elem->scalar) == 16 ? "unsigned short"
                                                     : "unsigned int";
    cu_put(cx, "((volatile %s *)%s)[%s] = %s.bits;", bits, base, cu_index(cx, index).s, cu_at(cx, value, CU_POSTFIX));
}

static void store_at(cu *cx, const ir_stmt *s, const char *base, const ir_type *pointer, const ir_expr *index)
{
    const ir_type *elem = pointer->elem;
    bool is_struct = elem->kind == IR_SCALAR && cu_is_struct(elem->scalar) && elem->scalar != DT_C64;
    if (cu_is_subbyte(elem))
        store_subbyte(cx, base, elem, index, s->value);
    else if ((s->flags & IR_VOLATILE) && is_struct)
        store_volatile_struct(cx, base, elem, index, s->value);
    else if (s->kind == IR_PSTORE && index->op == IR_OP_INT && index->u.i == 0 && !(s->flags & IR_VOLATILE))
        cu_put(cx, "*%s = %s;", cu_at(cx, s->args[0], CU_UNARY), cu_as(cx, s->value, elem));
    else
        assign(cx, s, element(cx, base, pointer, index, s->flags).s, elem);
}

void cu_store(cu *cx, const ir_stmt *s)
{
    if (s->kind == IR_ASSIGN) {
        assign(cx, s, cu_var_name(cx, s->var), s->var->type);
        return;
    }
    if (s->kind == IR_PSTORE) {
        store_at(cx, s, cu_at(cx, s->args[0], CU_POSTFIX), s->args[0]->type, s->args[1]);
        return;
    }
    if (s->arg_count != 1 || (s->flags & IR_GUARDED)) {
        cu_bad_ir(cx, s->span, "a store that is not flat");
        return;
    }
    store_at(cx, s, cu_var_name(cx, s->var), s->var->type, s->args[0]);
}

// ---- copies -----------------------------------------------------------------------------------------------------

static const char *wide_type(const ir_type *elem, int64_t bytes)
{
    dtype t = elem->kind == IR_SCALAR ? elem->scalar : DT_NONE;
    switch (bytes) {
    case 16: return t == DT_F32 ? "float4" : t == DT_I32 ? "int4" : t == DT_F64 ? "double2" : "uint4";
    case 8: return t == DT_F32 ? "float2" : t == DT_I32 ? "int2" : "uint2";
    case 4: return "unsigned int";
    case 2: return "unsigned short";
    default: return "unsigned char";
    }
}

// Element [offset] behind what ADDR or TILE point at.
static const ir_expr *moved(cu *cx, const ir_expr *e, int64_t offset)
{
    const ir_expr *index = e->args[0];
    if (!offset)
        return index;
    if (index->op == IR_OP_INT)
        return ir_int(cx->m, index->type->scalar, index->u.i + offset);
    return ir_binary(cx->m, IR_OP_ADD, (ir_expr *)index, ir_int(cx->m, index->type->scalar, offset), e->span);
}

static const char *wide_lvalue(cu *cx, const ir_expr *e, int64_t offset, const char *type, const char *qualifier)
{
    cu_text at = cx->dialect->address(cx, cu_var_name(cx, e->u.var), e->u.var, moved(cx, e, offset));
    return cu_format(cx, "*(%s%s *)%s", qualifier, type, cu_paren(cx, at, CU_UNARY));
}

static void copy_elements(cu *cx, const ir_stmt *s)
{
    for (int i = 0; i < s->count; i++) {
        const ir_expr *to = s->args[0], *from = s->args[1];
        cu_text left = element(cx, cu_var_name(cx, to->u.var), to->u.var->type, moved(cx, to, i), 0);
        cu_text right = element(cx, cu_var_name(cx, from->u.var), from->u.var->type, moved(cx, from, i), 0);
        cu_put(cx, "%s = %s;", left.s, right.s);
    }
}

// *(uint4 *)&a_tile[i] = *(const uint4 *)&a[j];
void cu_copy(cu *cx, const ir_stmt *s)
{
    const ir_expr *to = s->args[0], *from = s->args[1];
    if (!is_flat(cx, to) || !is_flat(cx, from))
        return;
    const ir_type *elem = to->u.var->type->elem;
    int64_t elem_bits = cu_is_subbyte(elem) ? dt_bits(elem->scalar) : ir_type_bytes(elem) * 8;
    int64_t bytes = s->count * elem_bits / 8, chunk = bytes & -bytes;
    if (bytes * 8 != s->count * elem_bits) {
        cu_bad_ir(cx, s->span, "a copy of part of a byte");
        return;
    }
    if (chunk > 16)
        chunk = 16;
    bool in_registers = to->op == IR_OP_TILE && from->op == IR_OP_TILE && !cu_is_subbyte(elem);
    if (chunk * 8 <= elem_bits || in_registers) {
        copy_elements(cx, s);
        return;
    }
    const char *type = wide_type(elem, chunk), *qualifier = from->op == IR_OP_TILE ? "" : "const ";
    for (int64_t done = 0; done < bytes; done += chunk) {
        int64_t offset = done * 8 / elem_bits;
        const char *left = wide_lvalue(cx, to, offset, type, "");
        cu_put(cx, "%s = %s;", left, wide_lvalue(cx, from, offset, type, qualifier));
    }
}

// ---- allocation -------------------------------------------------------------------------------------------------

static int64_t storage_bytes(const ir_tensor *t)
{
    if (cu_is_subbyte(t->elem))
        return (t->storage_elems * dt_bits(t->elem->scalar) + 7) / 8;
    return t->storage_elems * ir_type_bytes(t->elem);
}

static int64_t storage_count(const ir_tensor *t)
{
    return cu_is_subbyte(t->elem) ? storage_bytes(t) : t->storage_elems;
}

static int alignment_of(const ir_tensor *t)
{
    int64_t elem = ir_type_bytes(t->elem);
    return t->align_bytes > elem ? t->align_bytes : (int)elem;
}

static const char *align_prefix(cu *cx, int align, const ir_tensor *t)
{
    return align > ir_type_bytes(t->elem) ? arena_printf(cx->a, "__align__(%d) ", align) : "";
}

// The shape, unless the declaration shows it already.
static const char *shape_note(cu *cx, const ir_var *v)
{
    const ir_tensor *t = v->tensor;
    bool is_plain = t->rank == 1 && t->layout && tm_layout_is_row_major(t->layout) && !cu_is_subbyte(t->elem);
    return is_plain ? "" : cu_format(cx, "  // %s", cu_shape_comment(cx, v));
}

static void alloc_shared(cu *cx, const ir_var *v)
{
    const ir_tensor *t = v->tensor;
    const char *name = cu_declare(cx, v), *elem = cu_elem(cx, t->elem);
    const char *pool = t->is_dynamic_smem ? cx->dynamic_pool : cx->static_pool;
    if (t->smem_offset < 0 || !pool) {
        int align = alignment_of(t) < 16 && storage_bytes(t) >= 16 ? 16 : alignment_of(t);
        cu_put(cx, "__shared__ %s%s %s[%lld];%s", align_prefix(cx, align, t), elem, name, (long long)storage_count(t),
               shape_note(cx, v));
        return;
    }
    const char *at = t->smem_offset ? arena_printf(cx->a, "%s + %lld", pool, (long long)t->smem_offset) : pool;
    const char *what = cu_declarator(cx, v->type, arena_printf(cx->a, "const %s", name));
    cu_put(cx, "%s = reinterpret_cast<%s>(%s);  // %s", what, cu_type(cx, v->type), at, cu_shape_comment(cx, v));
}

static bool is_zero(const ir_expr *e)
{
    if (e->op == IR_OP_INT)
        return e->u.i == 0;
    return e->op == IR_OP_FLOAT && e->u.f == 0 && !__builtin_signbit(e->u.f);
}

static void fill_registers(cu *cx, const ir_stmt *s, const char *name)
{
    const ir_tensor *t = s->var->tensor;
    size_t mark = cu_scope_begin(cx);
    const char *i = cu_name_new(cx, "i");
    cu_put(cx, "#pragma unroll");
    cu_put(cx, "for (int %s = 0; %s < %lld; %s++)", i, i, (long long)t->storage_elems, i);
    cx->indent++;
    const char *value = cu_as(cx, s->value, t->elem);
    if (cu_is_subbyte(t->elem)) {
        cu_use(cx, "store_bits");
        cu_put(cx, "store_bits<%d>(%s, %s, %s);", dt_bits(t->elem->scalar), name, i, value);
    } else {
        cu_put(cx, "%s[%s] = %s;", name, i, value);
    }
    cx->indent--;
    cu_scope_end(cx, mark);
}

static void alloc_registers(cu *cx, const ir_stmt *s)
{
    const ir_var *v = s->var;
    const ir_tensor *t = v->tensor;
    bool zeroed = s->value && is_zero(s->value);
    int align = cx->vars[v->id].align > alignment_of(t) ? cx->vars[v->id].align : alignment_of(t);
    // The value is the author's from before the tensor came into being, whatever the tensor's name.
    const char *elem = cu_elem(cx, t->elem), *name = cu_declare(cx, v);
    cu_put(cx, "%s%s %s[%lld]%s;%s", align_prefix(cx, align, t), elem, name, (long long)storage_count(t),
           zeroed ? " = {}" : "", shape_note(cx, v));
    if (s->value && !zeroed)
        fill_registers(cx, s, name);
}

void cu_alloc(cu *cx, const ir_stmt *s)
{
    const ir_tensor *t = s->var->tensor;
    if (cx->in_host) {
        cx->dialect->host->alloc(cx, s);
        return;
    }
    if (t->map || t->storage_elems < 0) {
        cu_bad_ir(cx, s->span, t->map ? "a register tensor with a mapping" : "a tensor of unknown size");
        return;
    }
    if (!cx->vars[s->var->id].uses)
        return;
    if (t->space != IR_SHARED)
        alloc_registers(cx, s);
    else if (s->value)
        cu_bad_ir(cx, s->span, "a shared tensor with an initial value");
    else
        alloc_shared(cx, s->var);
}

// ---- the kernel's pools of shared memory ------------------------------------------------------------------------

typedef struct pools {
    const cu *cx;
    int static_count, dynamic_count, static_align, dynamic_align;
    int64_t static_end;
    bool first_is_whole; // the only static tensor is the whole pool
} pools;

static void see_alloc(void *user, ir_stmt *s)
{
    pools *p = user;
    if (s->kind != IR_ALLOC || s->var->tensor->space != IR_SHARED || s->var->tensor->smem_offset < 0)
        return;
    const ir_tensor *t = s->var->tensor;
    if (!p->cx->vars[s->var->id].uses)
        return;
    if (t->is_dynamic_smem) {
        p->dynamic_count++;
        p->dynamic_align = t->align_bytes > p->dynamic_align ? t->align_bytes : p->dynamic_align;
        return;
    }
    int64_t end = t->smem_offset + storage_bytes(t);
    p->first_is_whole = !p->static_count && t->smem_offset == 0;
    p->static_count++;
    p->static_end = end > p->static_end ? end : p->static_end;
    p->static_align = alignment_of(t) > p->static_align ? alignment_of(t) : p->static_align;
}

void cu_pools(cu *cx, const ir_func *f)
{
    pools p = {.cx = cx, .static_align = 16, .dynamic_align = 16};
    ir_walk((ir_block *)&f->body, see_alloc, &p);
    cx->static_pool = cx->dynamic_pool = NULL;
    int64_t bytes = f->static_smem_bytes > p.static_end ? f->static_smem_bytes : p.static_end;
    if (p.static_count && !(p.static_count == 1 && p.first_is_whole)) {
        cx->static_pool = cu_name_new(cx, "smem");
        cu_put(cx, "__shared__ __align__(%d) unsigned char %s[%lld];", p.static_align, cx->static_pool,
               (long long)bytes);
    }
    if (p.dynamic_count) {
        // All declarations of one name have one alignment, and that of a kernel does not depend on its neighbours.
        const char *name = p.dynamic_align == 16 ? "dynamic_smem" : arena_printf(cx->a, "dynamic_smem_%d", p.dynamic_align);
        cx->dynamic_pool = cu_name_new(cx, name);
        cu_put(cx, "extern __shared__ __align__(%d) unsigned char %s[];", p.dynamic_align, cx->dynamic_pool);
    }
}
