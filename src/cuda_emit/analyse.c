// What has to be known before the first line is written: which variables are used, which tensor parameters are only
// read, how far register arrays have to be aligned, and which functions run where.
#include "cuda_emit/printer.h"

#include <string.h>

typedef struct walk {
    cu *cx;
    const ir_func *func;
    int side;
    int round;
} walk;

static void see_expr(walk *w, const ir_expr *e);

static cu_var *info(walk *w, const ir_var *v)
{
    return &w->cx->vars[v->id];
}

static void raise_align(walk *w, const ir_var *v, int64_t bytes)
{
    int64_t size = v->tensor ? v->tensor->storage_elems * ir_type_bytes(v->tensor->elem) : 0;
    while (bytes > size && bytes > 1)
        bytes /= 2;
    if (info(w, v)->align < bytes)
        info(w, v)->align = (int)bytes;
}

// The pointer that [e] goes on from, as one of other elements or some steps away; NULL: it does not.
static const ir_expr *origin(const ir_expr *e)
{
    bool is_step = e->op == IR_OP_BITCAST || e->op == IR_OP_ADD || e->op == IR_OP_SUB;
    return is_step && e->type->kind == IR_POINTER && e->args[0]->type->kind == IR_POINTER ? e->args[0] : NULL;
}

// The tensor that [e] points into; NULL: not known.
static const ir_var *pointed_into(walk *w, const ir_expr *e)
{
    for (const ir_expr *from; (from = origin(e)); e = from) {
    }
    if (e->op != IR_OP_ADDR && e->op != IR_OP_VAR)
        return NULL;
    return e->u.var->type->kind == IR_TENSOR ? e->u.var : info(w, e->u.var)->points_to;
}

// A pointer that is only read through.
static void see_read_pointer(walk *w, const ir_expr *e)
{
    if (!pointed_into(w, e)) {
        see_expr(w, e);
        return;
    }
    bool goes_on = origin(e) != NULL;
    if (goes_on)
        see_read_pointer(w, e->args[0]);
    else
        info(w, e->u.var)->uses++;
    for (int i = goes_on; i < e->arg_count; i++)
        see_expr(w, e->args[i]);
}

// An instruction that gives an address instead of what lies there, from which somebody may go on to write. Nobody
// promises the CUDA compiler that shared memory is only read: there, addresses may go where they like.
static bool gives_address(const ir_intrin *in, const ir_type *t)
{
    bool reads = in->effects & (IR_EFFECT_READS_GLOBAL | IR_EFFECT_READS_SHARED);
    return t->space != IR_SHARED && in->result->kind != IR_VOID && (in->result->kind == IR_POINTER || !reads);
}

bool cu_reads_only(const ir_intrin *in, int operand)
{
    const ir_type *t = in->operands[operand].type;
    int global = IR_EFFECT_WRITES_GLOBAL, shared = IR_EFFECT_WRITES_SHARED;
    if (t->is_const)
        return true;
    if (gives_address(in, t))
        return false;
    int writes = t->space == IR_GLOBAL ? global : t->space == IR_SHARED ? shared : global | shared;
    return !(in->effects & (writes | IR_EFFECT_VOLATILE));
}

static void see_intrin(walk *w, const ir_expr *e)
{
    const ir_intrin *in = e->u.intrin;
    if (in->form == IR_INTRIN_PTX && strstr(in->text, "setmaxnreg"))
        map_put_ptr(&w->cx->setters, w->func, (void *)w->func);
    for (int i = 0; i < e->arg_count; i++) {
        const ir_operand *o = i < in->operand_count ? &in->operands[i] : NULL;
        if (o && o->type->kind == IR_POINTER && cu_reads_only(in, i))
            see_read_pointer(w, e->args[i]);
        else
            see_expr(w, e->args[i]);
        if (e->args[i]->op == IR_OP_TILE)
            raise_align(w, e->args[i]->u.var, 4);
        const ir_tensor_map *of = e->args[i]->op == IR_OP_VAR ? e->args[i]->u.var->map : NULL;
        if (of && (in->effects & IR_EFFECT_WRITES_GLOBAL))
            info(w, of->tensor)->is_written = true;
    }
}

static void see_call(walk *w, const ir_expr *e)
{
    const ir_func *callee = e->u.func;
    intptr_t before = (intptr_t)map_get_ptr(&w->cx->sides, callee), after = before | w->side;
    if (after != before)
        map_put_ptr(&w->cx->sides, callee, (void *)after);
    for (int i = 0; i < e->arg_count; i++) {
        bool is_const = (size_t)i < callee->params.len && callee->params.at[i]->type->is_const;
        if (is_const)
            see_read_pointer(w, e->args[i]);
        else
            see_expr(w, e->args[i]);
    }
}

// The pointer whose last bits [e] is: an address in numbers, of which too little is left to go on from. NULL: it is none.
static const ir_expr *last_bits_of(const ir_expr *e)
{
    int64_t d;
    bool is_part = e->op == IR_OP_FLOORMOD || e->op == IR_OP_TRUNCMOD || e->op == IR_OP_AND;
    if (!is_part || !ir_const_int(e->args[1], &d) || d < 0 || d > 4096)
        return NULL;
    const ir_expr *number = e->args[0];
    bool is_number = (number->op == IR_OP_CAST || number->op == IR_OP_BITCAST) && ir_is_integer(number->type);
    return is_number && number->args[0]->type->kind == IR_POINTER ? number->args[0] : NULL;
}

static void see_expr(walk *w, const ir_expr *e)
{
    const ir_expr *pointer = last_bits_of(e);
    if (pointer) {
        see_read_pointer(w, pointer);
        return;
    }
    switch (e->op) {
    case IR_OP_VAR:
        info(w, e->u.var)->uses++;
        info(w, e->u.var)->is_written |= e->u.var->type->kind == IR_TENSOR;
        if (info(w, e->u.var)->points_to)
            info(w, info(w, e->u.var)->points_to)->is_written = true;
        return;
    case IR_OP_ADDR:
        info(w, e->u.var)->is_written = true;
        info(w, e->u.var)->uses++;
        break;
    case IR_OP_LOAD:
    case IR_OP_TILE: info(w, e->u.var)->uses++; break;
    case IR_OP_INTRIN: see_intrin(w, e); return;
    case IR_OP_CALL: see_call(w, e); return;
    case IR_OP_PLOAD:
        see_read_pointer(w, e->args[0]);
        see_expr(w, e->args[1]);
        return;
    default: break;
    }
    for (int i = 0; i < e->arg_count; i++)
        see_expr(w, e->args[i]);
}

// src = &x[i], and src is never assigned again: what happens through src happens to x.
static bool names_an_element(walk *w, const ir_stmt *s)
{
    return s->kind == IR_DECL && s->value && s->var->type->kind == IR_POINTER && !s->var->is_mutable && pointed_into(w, s->value);
}

static void see_copy(walk *w, const ir_stmt *s)
{
    see_expr(w, s->args[0]);
    see_read_pointer(w, s->args[1]);
    if (s->args[1]->op == IR_OP_TILE)
        see_expr(w, s->args[1]);
    int64_t bytes = s->count * ir_type_bytes(s->args[0]->u.var->type->elem);
    for (int i = 0; i < 2; i++)
        if (s->args[i]->op == IR_OP_TILE)
            raise_align(w, s->args[i]->u.var, bytes & -bytes & 31 ? bytes & -bytes & 31 : 16);
}

static bool gives_value(const ir_stmt *s)
{
    return s->kind == IR_DECL || s->kind == IR_ASSIGN || s->kind == IR_STORE;
}

// Whether the emitter omits the statement: it assigns a value that is never read.
static bool is_dead(const walk *w, const ir_stmt *s)
{
    if (w->round == 0 || !gives_value(s) || (s->flags & IR_VOLATILE) || (s->value && ir_has_effects(s->value)))
        return false;
    const cu_var *v = &w->cx->vars[s->var->id];
    return !v->uses_before && (s->kind != IR_STORE || v->is_own);
}

static void see_stmt(void *user, ir_stmt *s)
{
    walk *w = user;
    if (s->kind == IR_ALLOC)
        info(w, s->var)->is_own = w->side != CU_HOST;
    if (gives_value(s))
        info(w, s->var)->is_given = true;
    if (is_dead(w, s))
        return;
    if (s->kind == IR_COPY) {
        see_copy(w, s);
        return;
    }
    if (s->kind == IR_STORE) {
        info(w, s->var)->is_written = true;
        info(w, s->var)->uses += !info(w, s->var)->is_own || (s->flags & IR_VOLATILE);
    }
    if (s->kind == IR_INTRIN_TO && s->args[0]->op == IR_OP_TILE)
        raise_align(w, s->args[0]->u.var, 4);
    if (s->kind == IR_ALLOC && s->var->tensor->storage_elems < 0)
        for (int i = 0; i < s->var->tensor->rank; i++)
            see_expr(w, s->var->tensor->shape[i]);
    if (names_an_element(w, s)) {
        info(w, s->var)->points_to = pointed_into(w, s->value);
        see_read_pointer(w, s->value);
    } else if (s->value) {
        see_expr(w, s->value);
    }
    for (int i = 0; i < s->arg_count; i++)
        see_expr(w, s->args[i]);
}

static void see_func(walk *w, const ir_func *f, int side)
{
    w->func = f;
    w->side = side;
    ir_walk((ir_block *)&f->body, see_stmt, w);
    for (int i = 0; i < 3 && f->kind == IR_KERNEL; i++) {
        const ir_expr *dims[] = {f->grid[i], f->block[i], f->cluster[i]};
        for (int k = 0; k < 3; k++)
            if (dims[k])
                see_expr(w, dims[k]);
    }
}

// Who runs where: kernels and public functions by themselves, others by their callers.
static void mark_roots(cu *cx)
{
    for (size_t i = 0; i < cx->m->funcs.len; i++) {
        const ir_func *f = cx->m->funcs.at[i];
        intptr_t side = f->kind == IR_KERNEL ? CU_DEVICE : f->kind == IR_DEVICE && f->is_public ? CU_DEVICE : 0;
        if (f->kind == IR_HOST_FUNC && cx->options->host && f->is_public)
            side = CU_HOST;
        map_put_ptr(&cx->sides, f, (void *)side);
    }
}

// One round; returns the number of variables found whose values are never read.
static uint32_t count_all(walk *w)
{
    cu *cx = w->cx;
    for (uint32_t i = 0; i < cx->m->next_var; i++)
        cx->vars[i] = (cu_var){.uses_before = cx->vars[i].uses};
    // Callers stand after callees.
    for (size_t i = cx->m->funcs.len; i-- > 0;) {
        const ir_func *f = cx->m->funcs.at[i];
        int side = (int)(intptr_t)map_get_ptr(&cx->sides, f);
        if (side)
            see_func(w, f, side);
    }
    w->round++;
    uint32_t unread = 0;
    for (uint32_t i = 0; i < cx->m->next_var; i++)
        unread += cx->vars[i].is_given && !cx->vars[i].uses;
    return unread;
}

void cu_analyse(cu *cx)
{
    walk w = {.cx = cx};
    cx->var_room = cx->m->next_var + cx->m->next_var / 16 + 64;
    cx->vars = ARENA_ARRAY(cx->a, cu_var, cx->var_room);
    map_init(&cx->setters, cx->a);
    map_init(&cx->sides, cx->a);
    map_init(&cx->orders, cx->a);
    mark_roots(cx);
    // A variable that only dead statements read is dead itself, so this goes on till there are no more of them. What a
    // round counts depends on nothing else.
    for (uint32_t before = 0, unread = count_all(&w); unread != before;) {
        before = unread;
        unread = count_all(&w);
    }
}

ir_var *cu_var_new(cu *cx, const char *name, const ir_type *type, src_span span)
{
    ir_var *v = ir_var_new(cx->m, IR_VAR_LOCAL, name, type, span);
    if (v->id >= cx->var_room) {
        cu_var *grown = ARENA_ARRAY(cx->lasting, cu_var, 2 * v->id);
        memcpy(grown, cx->vars, sizeof *grown * cx->var_room);
        cx->vars = grown;
        cx->var_room = 2 * v->id;
    }
    return v;
}
