// Builders: modules, functions, variables, expressions, statements.
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

// ---- modules, functions, variables -------------------------------------------------------------------------------

ir_module *ir_module_new(arena *a, sym_table *syms, diag_context *diags, const arch *target, const char *name)
{
    ir_module *m = ARENA_NEW(a, ir_module);
    m->arena = m->lasting = a;
    m->syms = syms;
    m->diags = diags;
    m->arch = target;
    m->name = arena_strdup(a, name);
    map_init(&m->types, a);
    return m;
}

ir_func *ir_func_new(ir_module *m, ir_func_kind kind, const char *name, src_span span)
{
    ir_func *f = ARENA_NEW(m->lasting, ir_func);
    f->id = (uint32_t)m->funcs.len;
    f->kind = kind;
    f->name = arena_strdup(m->lasting, name);
    f->title = f->name;
    f->span = span;
    f->result = ir_void(m);
    if (kind == IR_KERNEL)
        for (int i = 0; i < 3; i++)
            f->grid[i] = f->block[i] = ir_int(m, DT_I32, 1);
    return f;
}

void ir_func_add(ir_module *m, ir_func *f)
{
    f->id = (uint32_t)m->funcs.len;
    VEC_PUSH(m->lasting, &m->funcs, f);
}

ir_var *ir_var_new(ir_module *m, ir_var_kind kind, const char *name, const ir_type *type, src_span span)
{
    ir_var *v = ARENA_NEW(m->arena, ir_var);
    v->id = m->next_var++;
    v->name = name;
    v->type = type;
    v->kind = kind;
    v->span = span;
    v->divisor = 1;
    return v;
}

ir_var *ir_tensor_var(ir_module *m, ir_var_kind kind, const char *name, ir_tensor *tensor, src_span span)
{
    const ir_type *type = ir_tensor_type(m, tensor->elem, tensor->space);
    if (tensor->space == IR_CONSTANT)
        type = ir_const_of(m, type);
    ir_var *v = ir_var_new(m, kind, name, type, span);
    v->tensor = tensor;
    return v;
}

ir_var *ir_map_var(ir_module *m, const char *name, const ir_tensor_map *of, src_span span)
{
    ir_var *v = ir_var_new(m, IR_VAR_PARAM, name, ir_tensor_map_type(m), span);
    v->map = arena_dup(m->arena, of, sizeof *of);
    return v;
}

// ---- expressions -------------------------------------------------------------------------------------------------

ir_expr *ir_new_expr(ir_module *m, ir_op op, const ir_type *type, src_span span, int arg_count)
{
    ir_expr *e = arena_alloc(m->arena, sizeof *e + (size_t)arg_count * sizeof e->args[0]);
    e->op = op;
    e->arg_count = (uint16_t)arg_count;
    e->type = type;
    e->span = span;
    return e;
}

ir_expr *ir_int(ir_module *m, dtype t, int64_t value)
{
    ir_expr *e = ir_new_expr(m, IR_OP_INT, ir_scalar(m, t), (src_span){0}, 0);
    e->u.i = t == DT_BOOL ? value != 0 : dt_wrap_int(t, value);
    return e;
}

static double float_of_type(dtype t, double value)
{
    if (t == DT_F64 || !dt_is_float(t))
        return value;
    return t == DT_F32 ? (double)(float)value : dt_to_double(t, dt_from_double(t, value));
}

ir_expr *ir_float(ir_module *m, dtype t, double value)
{
    ir_expr *e = ir_new_expr(m, IR_OP_FLOAT, ir_scalar(m, t), (src_span){0}, 0);
    e->u.f = float_of_type(t, value);
    return e;
}

ir_expr *ir_text(ir_module *m, const char *text)
{
    ir_expr *e = ir_new_expr(m, IR_OP_TEXT, ir_string(m), (src_span){0}, 0);
    e->u.text = text;
    return e;
}

static const ir_type *base_pointer(ir_module *m, const ir_var *tensor)
{
    const ir_type *t = ir_pointer(m, tensor->type->elem, tensor->type->space);
    return tensor->type->is_const ? ir_const_of(m, t) : t;
}

ir_expr *ir_read(ir_module *m, ir_var *v, src_span span)
{
    const ir_type *type = v->type->kind == IR_TENSOR ? base_pointer(m, v) : v->type;
    ir_expr *e = ir_new_expr(m, IR_OP_VAR, type, span, 0);
    e->u.var = v;
    return e;
}

ir_expr *ir_sreg_read(ir_module *m, ir_sreg r, src_span span)
{
    ir_expr *e = ir_new_expr(m, IR_OP_SREG, ir_scalar(m, DT_I32), span, 0);
    e->u.i = r;
    return e;
}

ir_expr *ir_unary(ir_module *m, ir_op op, ir_expr *a, src_span span)
{
    const ir_type *type = op == IR_OP_NOT ? ir_scalar(m, DT_BOOL) : a->type;
    ir_expr *e = ir_new_expr(m, op, type, span, 1);
    e->args[0] = a;
    return e;
}

static bool gives_bool(ir_op op)
{
    return (ir_op_properties(op) & IR_COMPARE) || op == IR_OP_LAND || op == IR_OP_LOR;
}

ir_expr *ir_binary(ir_module *m, ir_op op, ir_expr *a, ir_expr *b, src_span span)
{
    const ir_type *type = gives_bool(op) ? ir_scalar(m, DT_BOOL) : a->type;
    ir_expr *e = ir_new_expr(m, op, type, span, 2);
    e->args[0] = a;
    e->args[1] = b;
    return e;
}

ir_expr *ir_select(ir_module *m, ir_expr *c, ir_expr *a, ir_expr *b, src_span span)
{
    ir_expr *e = ir_new_expr(m, IR_OP_SELECT, a->type, span, 3);
    e->args[0] = c;
    e->args[1] = a;
    e->args[2] = b;
    return e;
}

ir_expr *ir_cast(ir_module *m, ir_expr *a, const ir_type *type, src_span span)
{
    if (a->type == type)
        return a;
    ir_expr *e = ir_new_expr(m, IR_OP_CAST, type, span, 1);
    e->args[0] = a;
    return e;
}

static ir_expr *access(ir_module *m, ir_op op, const ir_type *type, ir_var *tensor, ir_expr **indices, int rank,
                       int extra, src_span span)
{
    ir_expr *e = ir_new_expr(m, op, type, span, rank + extra);
    e->u.var = tensor;
    if (rank)
        memcpy(e->args, indices, (size_t)rank * sizeof *indices);
    return e;
}

ir_expr *ir_load(ir_module *m, ir_var *tensor, ir_expr **indices, int rank, ir_expr *outside, src_span span)
{
    ir_expr *e = access(m, IR_OP_LOAD, tensor->type->elem, tensor, indices, rank, outside != NULL, span);
    if (outside) {
        e->flags = IR_GUARDED;
        e->args[rank] = outside;
    }
    return e;
}

ir_expr *ir_addr(ir_module *m, ir_var *tensor, ir_expr **indices, int rank, src_span span)
{
    return access(m, IR_OP_ADDR, base_pointer(m, tensor), tensor, indices, rank, 0, span);
}

ir_expr *ir_tile(ir_module *m, ir_var *tensor, ir_expr **indices, int rank, int count, src_span span)
{
    const ir_type *type = ir_tensor_type(m, tensor->type->elem, tensor->type->space);
    ir_expr *e = access(m, IR_OP_TILE, type, tensor, indices, rank, 0, span);
    e->count = count;
    return e;
}

ir_expr *ir_with_args(ir_module *m, const ir_expr *e, ir_expr **args)
{
    size_t head = sizeof *e, tail = (size_t)e->arg_count * sizeof *args;
    ir_expr *copy = arena_alloc(m->arena, head + tail);
    memcpy(copy, e, head);
    if (tail)
        memcpy(copy->args, args, tail);
    return copy;
}

bool ir_const_int(const ir_expr *e, int64_t *out)
{
    if (e->op != IR_OP_INT)
        return false;
    *out = e->u.i;
    return true;
}

// ---- statements --------------------------------------------------------------------------------------------------

ir_stmt *ir_new_stmt(ir_module *m, ir_stmt_kind kind, src_span span, uint32_t origin)
{
    ir_stmt *s = ARENA_NEW(m->arena, ir_stmt);
    s->kind = kind;
    s->span = span;
    s->origin = origin;
    return s;
}

// Lists of 8, 16, … statements: that of number [i] has room for 8 << i.
typedef struct ir_spare_list {
    struct ir_spare_list *next;
} ir_spare_list;

enum { SPARE_KINDS = sizeof((ir_module *)0)->spare_lists / sizeof(void *), FIRST_ROOM = 8 };

// The number of the lists with that much room; SPARE_KINDS: they are not kept.
static int kind_of_room(size_t room)
{
    int kind = 0;
    while (kind < SPARE_KINDS && ((size_t)FIRST_ROOM << kind) != room)
        kind++;
    return kind;
}

static void double_room(ir_module *m, ir_block *b)
{
    size_t room = b->stmts.cap ? 2 * b->stmts.cap : FIRST_ROOM;
    int kind = kind_of_room(room);
    ir_spare_list *spare = kind < SPARE_KINDS ? m->spare_lists[kind] : NULL;
    if (spare) {
        m->spare_lists[kind] = spare->next;
        if (b->stmts.len)
            memcpy(spare, b->stmts.at, b->stmts.len * sizeof *b->stmts.at);
        b->stmts.at = (ir_stmt **)spare;
        b->stmts.cap = room;
    } else {
        VEC_RESERVE(m->arena, &b->stmts, room);
    }
}

void ir_append(ir_module *m, ir_block *b, ir_stmt *s)
{
    if (b->stmts.len == b->stmts.cap)
        double_room(m, b);
    b->stmts.at[b->stmts.len++] = s;
}

void ir_append_all(ir_module *m, ir_block *b, ir_block *from)
{
    if (!b->stmts.len) {
        ir_block room = *b;
        *b = *from;
        *from = room;
    } else if (from->stmts.len) {
        while (b->stmts.cap - b->stmts.len < from->stmts.len)
            double_room(m, b);
        memcpy(&b->stmts.at[b->stmts.len], from->stmts.at, from->stmts.len * sizeof *from->stmts.at);
        b->stmts.len += from->stmts.len;
    }
    ir_block_drop(m, from);
}

void ir_block_drop(ir_module *m, ir_block *b)
{
    int kind = kind_of_room(b->stmts.cap);
    if (b->stmts.cap && kind < SPARE_KINDS) {
        ir_spare_list *spare = (ir_spare_list *)b->stmts.at;
        spare->next = m->spare_lists[kind];
        m->spare_lists[kind] = spare;
    }
    *b = (ir_block){0};
}

void ir_forget_spare(ir_module *m)
{
    for (int kind = 0; kind < SPARE_KINDS; kind++)
        m->spare_lists[kind] = NULL;
}
