// Random modules of well-typed IR, for properties that hold of every module.
#pragma once

#include <string.h>

#include "ir/ir.h"

typedef struct rng {
    uint64_t state;
} rng;

static inline uint32_t rng_next(rng *r)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->state >> 33);
}

static inline int rng_below(rng *r, int n) { return (int)(rng_next(r) % (uint32_t)n); }
static inline bool rng_one_in(rng *r, int n) { return rng_below(r, n) == 0; }

typedef struct gen {
    ir_module *m;
    rng *r;
    ir_func *f;
    VEC(ir_var *) vars;     // in scope
    VEC(ir_func *) devices; // made so far
    int loops, label, budget;
    VEC(int) labels;
} gen;

static const dtype gen_types[] = {DT_BOOL, DT_I8, DT_I32, DT_I64, DT_U8, DT_U32, DT_U64, DT_F16, DT_BF16, DT_F32, DT_F64,
                                  DT_I4, DT_F8E4M3};
enum { GEN_TYPES = sizeof gen_types / sizeof *gen_types };

static inline src_span gen_nowhere(void) { return (src_span){0}; }

static inline const ir_type *gen_scalar_type(gen *g)
{
    return ir_scalar(g->m, gen_types[rng_below(g->r, GEN_TYPES)]);
}

static inline const char *gen_name(gen *g)
{
    static const char *const names[] = {"a", "b", "acc", "if", "f32", "i", "odd name", "x.2", "tid", "let", "back`tick",
                                        "_", "min", "volatile", "A", "true", "at", "size", "count",
                                        "tile", "to", "map", "layout"};
    return names[rng_below(g->r, sizeof names / sizeof *names)];
}

static ir_expr *gen_expr(gen *g, const ir_type *t, int depth);

static inline ir_expr *gen_int32(gen *g, int depth) { return gen_expr(g, ir_scalar(g->m, DT_I32), depth); }

static inline ir_expr *gen_constant(gen *g, dtype t)
{
    int64_t bits = (int64_t)(((uint64_t)rng_next(g->r) << 33) ^ rng_next(g->r));
    if (!dt_is_float(t))
        return ir_int(g->m, t, rng_one_in(g->r, 3) ? bits : rng_below(g->r, 9) - 4);
    double special[] = {0.0, -0.0, 1.0, -1.5, 1e-30, 3.4e38, 0.1, -(double)bits};
    ir_expr *e = ir_float(g->m, t, special[rng_below(g->r, 8)]);
    if (rng_one_in(g->r, 10))
        e->u.f = rng_one_in(g->r, 2) ? (double)__builtin_nan("") : -__builtin_inf();
    return e;
}

static inline ir_var *gen_pick(gen *g, bool (*fits)(const ir_var *v, const void *user), const void *user)
{
    for (int tries = 0; tries < 8 && g->vars.len; tries++) {
        ir_var *v = g->vars.at[rng_below(g->r, (int)g->vars.len)];
        if (fits(v, user))
            return v;
    }
    return NULL;
}

static inline bool gen_has_type(const ir_var *v, const void *type) { return v->type == type; }
static inline bool gen_holds_type(const ir_var *v, const void *type) { return v->tensor && v->type->elem == type; }
static inline bool gen_is_pointer_to(const ir_var *v, const void *type)
{
    return v->type->kind == IR_POINTER && v->type->elem == type;
}

// Indices of an access to [v]; returns how many.
static inline int gen_indices(gen *g, const ir_var *v, bool flat, ir_expr **out)
{
    int rank = flat ? 1 : v->tensor->rank;
    for (int i = 0; i < rank; i++)
        out[i] = gen_int32(g, 2);
    return rank;
}

static inline ir_expr *gen_load(gen *g, const ir_type *t)
{
    ir_expr *indices[8];
    ir_var *v = gen_pick(g, gen_holds_type, t);
    if (!v)
        return NULL;
    bool flat = rng_one_in(g->r, 3);
    int rank = gen_indices(g, v, flat, indices);
    ir_expr *outside = !flat && rng_one_in(g->r, 3) ? gen_expr(g, t, 1) : NULL;
    ir_expr *e = ir_load(g->m, v, indices, rank, outside, gen_nowhere());
    e->flags |= (uint8_t)((flat ? IR_FLAT : 0) | (rng_one_in(g->r, 5) ? IR_VOLATILE : 0));
    return e;
}

static inline ir_expr *gen_pload(gen *g, const ir_type *t)
{
    ir_var *v = gen_pick(g, gen_is_pointer_to, t);
    ir_var *tensor = v ? NULL : gen_pick(g, gen_holds_type, t);
    if (!v && !tensor)
        return NULL;
    ir_expr *e = ir_new_expr(g->m, IR_OP_PLOAD, t, gen_nowhere(), 2);
    e->args[0] = ir_read(g->m, v ? v : tensor, gen_nowhere());
    if (rng_one_in(g->r, 3))
        e->args[0] = ir_binary(g->m, IR_OP_ADD, e->args[0], gen_int32(g, 1), gen_nowhere());
    e->args[1] = gen_int32(g, 2);
    e->flags = rng_one_in(g->r, 5) ? IR_VOLATILE : 0;
    return e;
}

static inline ir_expr *gen_bool(gen *g, int depth)
{
    static const ir_op compares[] = {IR_OP_EQ, IR_OP_NE, IR_OP_LT, IR_OP_LE, IR_OP_GT, IR_OP_GE};
    const ir_type *b = ir_scalar(g->m, DT_BOOL);
    if (rng_one_in(g->r, 4))
        return ir_unary(g->m, IR_OP_NOT, gen_expr(g, b, depth), gen_nowhere());
    if (rng_one_in(g->r, 3))
        return ir_binary(g->m, rng_one_in(g->r, 2) ? IR_OP_LAND : IR_OP_LOR, gen_expr(g, b, depth),
                         gen_expr(g, b, depth), gen_nowhere());
    const ir_type *t = gen_scalar_type(g);
    return ir_binary(g->m, compares[rng_below(g->r, 6)], gen_expr(g, t, depth), gen_expr(g, t, depth), gen_nowhere());
}

static inline ir_expr *gen_arithmetic(gen *g, const ir_type *t, int depth)
{
    static const ir_op any[] = {IR_OP_ADD, IR_OP_SUB, IR_OP_MUL, IR_OP_FLOORDIV, IR_OP_FLOORMOD, IR_OP_MIN, IR_OP_MAX};
    static const ir_op ints[] = {IR_OP_TRUNCDIV, IR_OP_TRUNCMOD, IR_OP_SHL, IR_OP_SHR, IR_OP_AND, IR_OP_OR, IR_OP_XOR};
    if (rng_one_in(g->r, 6))
        return ir_unary(g->m, dt_is_int(t->scalar) && rng_one_in(g->r, 2) ? IR_OP_BITNOT : IR_OP_NEG,
                        gen_expr(g, t, depth), gen_nowhere());
    ir_op op = any[rng_below(g->r, 7)];
    if (rng_one_in(g->r, 2))
        op = dt_is_int(t->scalar) ? ints[rng_below(g->r, 7)] : IR_OP_DIV;
    ir_expr *a = gen_expr(g, t, depth), *b = rng_one_in(g->r, 8) ? a : gen_expr(g, t, depth);
    return ir_binary(g->m, op, a, b, gen_nowhere());
}

static inline ir_expr *gen_vector_lane(gen *g, const ir_type *t)
{
    int lanes = 2 + rng_below(g->r, 3), lane = rng_below(g->r, lanes);
    ir_expr *v = ir_new_expr(g->m, IR_OP_VEC, ir_vector(g->m, t->scalar, lanes), gen_nowhere(), lanes);
    for (int i = 0; i < lanes; i++)
        v->args[i] = gen_expr(g, t, 1);
    ir_expr *e = ir_new_expr(g->m, IR_OP_LANE, t, gen_nowhere(), 1);
    e->args[0] = v;
    e->u.i = lane;
    return e;
}

static inline ir_expr *gen_call(gen *g, const ir_type *t)
{
    for (size_t i = 0; i < g->devices.len; i++) {
        ir_func *f = g->devices.at[i];
        if (f->result != t)
            continue;
        ir_expr *e = ir_new_expr(g->m, IR_OP_CALL, t, gen_nowhere(), (int)f->params.len);
        e->u.func = f;
        for (size_t k = 0; k < f->params.len; k++)
            e->args[k] = gen_expr(g, f->params.at[k]->type, 1);
        return e;
    }
    return NULL;
}

static inline ir_expr *gen_leaf(gen *g, const ir_type *t)
{
    ir_var *v = gen_pick(g, gen_has_type, t);
    if (v && !rng_one_in(g->r, 3))
        return ir_read(g->m, v, gen_nowhere());
    if (t->scalar == DT_I32 && rng_one_in(g->r, 3))
        return ir_sreg_read(g->m, (ir_sreg)rng_below(g->r, IR_SREG__COUNT), gen_nowhere());
    return gen_constant(g, t->scalar);
}

// An expression of the scalar type [t].
static ir_expr *gen_expr(gen *g, const ir_type *t, int depth)
{
    ir_expr *e = NULL;
    if (depth <= 0 || g->budget-- < 0)
        return gen_leaf(g, t);
    depth--;
    switch (rng_below(g->r, 9)) {
    case 0: e = gen_load(g, t); break;
    case 1: e = gen_pload(g, t); break;
    case 2: e = ir_select(g->m, gen_bool(g, depth), gen_expr(g, t, depth), gen_expr(g, t, depth), gen_nowhere()); break;
    case 3: e = ir_cast(g->m, gen_expr(g, gen_scalar_type(g), depth), t, gen_nowhere()); break;
    case 4: e = gen_vector_lane(g, t); break;
    case 5: e = gen_call(g, t); break;
    default: break;
    }
    if (e)
        return e;
    return t->scalar == DT_BOOL ? gen_bool(g, depth) : gen_arithmetic(g, t, depth);
}

// ---- variables and statements ------------------------------------------------------------------------------------

static void gen_block(gen *g, ir_block *b, int depth);

static inline void gen_facts(gen *g, ir_var *v)
{
    if (v->type->kind != IR_SCALAR || !dt_is_int(v->type->scalar) || !rng_one_in(g->r, 3))
        return;
    v->has_range = true;
    v->min = -(int64_t)rng_below(g->r, 100);
    v->max = rng_below(g->r, 100);
    v->divisor = 1 + rng_below(g->r, 8);
}

static inline ir_stmt *gen_stmt_of(gen *g, ir_block *b, ir_stmt_kind kind)
{
    ir_stmt *s = ir_new_stmt(g->m, kind, gen_nowhere(), 0);
    ir_append(g->m, b, s);
    return s;
}

static inline void gen_decl(gen *g, ir_block *b)
{
    ir_stmt *s = gen_stmt_of(g, b, IR_DECL);
    const ir_type *t = gen_scalar_type(g);
    s->var = ir_var_new(g->m, IR_VAR_LOCAL, gen_name(g), t, gen_nowhere());
    s->var->is_mutable = rng_one_in(g->r, 2);
    gen_facts(g, s->var);
    if (!s->var->is_mutable || !rng_one_in(g->r, 4))
        s->value = gen_expr(g, t, 4);
    VEC_PUSH(g->m->arena, &g->vars, s->var);
}

static inline const tm_layout *gen_layout(gen *g, int rank, const int64_t *shape)
{
    tm_reason why;
    arena *a = g->m->arena;
    const tm_layout *l = rng_one_in(g->r, 2) ? tm_layout_row_major(a, rank, shape, &why)
                                             : tm_layout_column_major(a, rank, shape, &why);
    if (rank == 2 && rng_one_in(g->r, 2))
        l = tm_layout_swizzle(a, l, 1, 0, rng_below(g->r, 2), &why);
    if (rng_one_in(g->r, 4))
        l = tm_layout_xor(a, l, 1, 1, 2, &why);
    return l;
}

static inline const tm_map *gen_map(gen *g, int rank)
{
    tm_reason why;
    arena *a = g->m->arena;
    int64_t outer[2] = {1 + rng_below(g->r, 3), 1 + rng_below(g->r, 3)};
    int64_t inner[2] = {1 << rng_below(g->r, 3), 1 << rng_below(g->r, 3)};
    const int column[2] = {rank - 1, 0};
    const tm_map *m = tm_compose(a, tm_repeat(a, rank, outer, NULL, rng_one_in(g->r, 2) ? "u" : NULL, &why),
                                 tm_spatial(a, rank, inner, rank == 2 && rng_one_in(g->r, 2) ? column : NULL, &why), &why);
    return m;
}

static inline ir_tensor *gen_tensor(gen *g, ir_space space)
{
    ir_tensor *t = ARENA_NEW(g->m->arena, ir_tensor);
    int64_t shape[2];
    t->elem = gen_scalar_type(g);
    t->space = space;
    t->rank = 1 + rng_below(g->r, 2);
    t->shape = ARENA_ARRAY(g->m->arena, ir_expr *, t->rank);
    t->smem_offset = t->storage_elems = -1;
    t->align_bytes = rng_one_in(g->r, 2) ? 0 : 16 << rng_below(g->r, 3);
    const tm_map *over = space == IR_REGISTER && rng_one_in(g->r, 2) ? gen_map(g, t->rank) : NULL;
    for (int i = 0; i < t->rank; i++) {
        shape[i] = over ? over->shape[i] : 1 << rng_below(g->r, 5);
        t->shape[i] = ir_int(g->m, DT_I32, shape[i]);
    }
    if (over) {
        t->map = over;
        t->worker = ir_sreg_read(g->m, IR_TID_X, gen_nowhere());
        t->storage_elems = over->tasks_per_worker;
    } else {
        t->layout = gen_layout(g, t->rank, shape);
        t->storage_elems = t->layout->size;
    }
    return t;
}

static inline void gen_alloc(gen *g, ir_block *b)
{
    static const ir_space spaces[] = {IR_SHARED, IR_REGISTER, IR_LOCAL};
    ir_stmt *s = gen_stmt_of(g, b, IR_ALLOC);
    s->var = ir_tensor_var(g->m, IR_VAR_LOCAL, gen_name(g), gen_tensor(g, spaces[rng_below(g->r, 3)]), gen_nowhere());
    if (rng_one_in(g->r, 3))
        s->value = gen_expr(g, s->var->tensor->elem, 2);
    if (s->var->tensor->space == IR_SHARED && rng_one_in(g->r, 3)) {
        s->var->tensor->smem_offset = 16 * rng_below(g->r, 100);
        s->var->tensor->is_dynamic_smem = rng_one_in(g->r, 2);
    }
    VEC_PUSH(g->m->arena, &g->vars, s->var);
}

static inline bool gen_is_mutable(const ir_var *v, const void *user)
{
    (void)user;
    return v->is_mutable && !v->tensor;
}

static inline bool gen_is_tensor(const ir_var *v, const void *user)
{
    (void)user;
    return v->tensor && !v->type->is_const;
}

static inline void gen_assign(gen *g, ir_block *b)
{
    ir_var *v = gen_pick(g, gen_is_mutable, NULL);
    if (!v)
        return;
    ir_stmt *s = gen_stmt_of(g, b, IR_ASSIGN);
    s->var = v;
    s->value = gen_expr(g, v->type, 4);
}

static inline void gen_store(gen *g, ir_block *b)
{
    ir_var *v = gen_pick(g, gen_is_tensor, NULL);
    if (!v)
        return;
    ir_stmt *s = gen_stmt_of(g, b, IR_STORE);
    bool flat = rng_one_in(g->r, 3);
    s->var = v;
    s->args = ARENA_ARRAY(g->m->arena, ir_expr *, 2);
    s->arg_count = gen_indices(g, v, flat, s->args);
    s->flags = (uint8_t)(flat ? IR_FLAT : rng_one_in(g->r, 3) ? IR_GUARDED : 0);
    if (rng_one_in(g->r, 5))
        s->flags |= IR_VOLATILE;
    s->value = gen_expr(g, v->type->elem, 3);
}

static inline void gen_copy(gen *g, ir_block *b)
{
    ir_var *to = gen_pick(g, gen_is_tensor, NULL), *from = to ? gen_pick(g, gen_holds_type, to->type->elem) : NULL;
    ir_expr *indices[8];
    if (!from)
        return;
    ir_stmt *s = gen_stmt_of(g, b, IR_COPY);
    s->args = ARENA_ARRAY(g->m->arena, ir_expr *, 2);
    s->arg_count = 2;
    s->count = 1 + rng_below(g->r, 8);
    for (int i = 0; i < 2; i++) {
        ir_var *v = i ? from : to;
        int rank = gen_indices(g, v, false, indices);
        s->args[i] = v->tensor->space == IR_REGISTER ? ir_tile(g->m, v, indices, rank, s->count, gen_nowhere())
                                                     : ir_addr(g->m, v, indices, rank, gen_nowhere());
    }
}

static inline void gen_pstore(gen *g, ir_block *b)
{
    ir_var *v = gen_pick(g, gen_is_tensor, NULL);
    if (!v)
        return;
    ir_stmt *s = gen_stmt_of(g, b, IR_PSTORE);
    s->args = ARENA_ARRAY(g->m->arena, ir_expr *, 2);
    s->arg_count = 2;
    s->args[0] = ir_read(g->m, v, gen_nowhere());
    s->args[1] = gen_int32(g, 2);
    s->value = gen_expr(g, v->type->elem, 3);
}

static inline void gen_inner(gen *g, ir_block *b, int depth)
{
    size_t mark = g->vars.len;
    gen_block(g, b, depth - 1);
    g->vars.len = mark;
}

static inline void gen_for(gen *g, ir_block *b, int depth)
{
    static const dtype types[] = {DT_I32, DT_I64, DT_U32};
    ir_stmt *s = gen_stmt_of(g, b, IR_FOR);
    const ir_type *t = ir_scalar(g->m, types[rng_below(g->r, 3)]);
    s->var = ir_var_new(g->m, IR_VAR_LOOP, gen_name(g), t, gen_nowhere());
    gen_facts(g, s->var);
    s->args = ARENA_ARRAY(g->m->arena, ir_expr *, 3);
    s->arg_count = 3;
    s->args[0] = gen_expr(g, t, 1);
    s->args[1] = gen_expr(g, t, 2);
    s->args[2] = ir_int(g->m, t->scalar, 1 + rng_below(g->r, 3));
    s->unroll = (tm_unroll)rng_below(g->r, 5);
    s->factor = s->unroll == TM_LOOP_UNROLL ? rng_below(g->r, 3) * 2 : 0;
    size_t mark = g->vars.len;
    VEC_PUSH(g->m->arena, &g->vars, s->var);
    g->loops++;
    gen_inner(g, &s->body, depth);
    g->loops--;
    g->vars.len = mark;
}

static inline void gen_tasks(gen *g, ir_block *b, int depth)
{
    ir_stmt *s = gen_stmt_of(g, b, IR_TASKS);
    int rank = 1 + rng_below(g->r, 2);
    s->map = gen_map(g, rank);
    s->vars = ARENA_ARRAY(g->m->arena, ir_var *, rank);
    s->args = ARENA_ARRAY(g->m->arena, ir_expr *, 1);
    s->arg_count = 1;
    s->args[0] = gen_int32(g, 1);
    size_t mark = g->vars.len;
    for (int i = 0; i < rank; i++) {
        s->vars[i] = ir_var_new(g->m, IR_VAR_LOOP, gen_name(g), ir_scalar(g->m, DT_I32), gen_nowhere());
        VEC_PUSH(g->m->arena, &g->vars, s->vars[i]);
    }
    g->loops++;
    gen_inner(g, &s->body, depth);
    g->loops--;
    g->vars.len = mark;
}

static inline void gen_scope(gen *g, ir_block *b, int depth)
{
    ir_stmt *s = gen_stmt_of(g, b, IR_SCOPE_OF);
    s->count = ++g->label;
    VEC_PUSH(g->m->arena, &g->labels, s->count);
    gen_inner(g, &s->body, depth);
    g->labels.len--;
}

static inline void gen_if(gen *g, ir_block *b, int depth)
{
    ir_stmt *s = gen_stmt_of(g, b, IR_IF);
    s->value = gen_bool(g, 3);
    gen_inner(g, &s->body, depth);
    if (rng_one_in(g->r, 2))
        gen_inner(g, &s->or_else, depth);
}

static inline void gen_words(gen *g, ir_block *b)
{
    static const ir_stmt_kind kinds[] = {IR_ASSERT, IR_ASSUME, IR_PRINT, IR_COMMENT, IR_EVAL};
    static const char *const texts[] = {"plain", "with \"quotes\" and \\", "line\nline\ttab\x01", "\xc3\xa9", ""};
    ir_stmt *s = gen_stmt_of(g, b, kinds[rng_below(g->r, 5)]);
    s->text = texts[rng_below(g->r, 5)];
    s->value = gen_bool(g, 3);
    if (s->kind == IR_PRINT) {
        s->args = ARENA_ARRAY(g->m->arena, ir_expr *, 2);
        s->args[s->arg_count++] = gen_expr(g, gen_scalar_type(g), 3);
        s->args[s->arg_count++] = ir_text(g->m, texts[rng_below(g->r, 5)]);
    }
    if (s->kind == IR_PRINT || s->kind == IR_COMMENT)
        s->value = NULL;
    if (s->kind == IR_ASSUME || s->kind == IR_EVAL)
        s->text = NULL;
}

static inline void gen_jump(gen *g, ir_block *b)
{
    if (g->loops && rng_one_in(g->r, 2)) {
        gen_stmt_of(g, b, rng_one_in(g->r, 2) ? IR_BREAK : IR_CONTINUE);
    } else if (g->labels.len) {
        gen_stmt_of(g, b, IR_LEAVE)->count = g->labels.at[rng_below(g->r, (int)g->labels.len)];
    } else if (rng_one_in(g->r, 8)) {
        ir_stmt *s = gen_stmt_of(g, b, IR_RETURN);
        s->value = g->f->result->kind == IR_VOID ? NULL : gen_expr(g, g->f->result, 2);
    }
}

static inline void gen_stmt(gen *g, ir_block *b, int depth)
{
    switch (rng_below(g->r, depth > 0 ? 13 : 8)) {
    case 0:
    case 1: gen_decl(g, b); break;
    case 2: gen_alloc(g, b); break;
    case 3: gen_assign(g, b); break;
    case 4: gen_store(g, b); break;
    case 5: rng_one_in(g->r, 2) ? gen_copy(g, b) : gen_pstore(g, b); break;
    case 6: gen_words(g, b); break;
    case 7: gen_jump(g, b); break;
    case 8: gen_for(g, b, depth); break;
    case 9: gen_if(g, b, depth); break;
    case 10: gen_tasks(g, b, depth); break;
    case 11: gen_scope(g, b, depth); break;
    default: {
        ir_stmt *s = gen_stmt_of(g, b, IR_WHILE);
        s->value = gen_bool(g, 2);
        g->loops++;
        gen_inner(g, &s->body, depth);
        g->loops--;
    }
    }
}

static void gen_block(gen *g, ir_block *b, int depth)
{
    for (int n = rng_below(g->r, 6); n > 0 && g->budget > 0; n--)
        gen_stmt(g, b, depth);
}

static inline ir_func *gen_func(gen *g, ir_func_kind kind, const char *name)
{
    ir_func *f = g->f = ir_func_new(g->m, kind, name, gen_nowhere());
    size_t mark = g->vars.len;
    g->budget = 400;
    f->is_public = kind == IR_KERNEL;
    for (int n = rng_below(g->r, 4); n > 0; n--) {
        ir_var *v = ir_var_new(g->m, IR_VAR_PARAM, gen_name(g), gen_scalar_type(g), gen_nowhere());
        gen_facts(g, v);
        VEC_PUSH(g->m->arena, &f->params, v);
    }
    if (kind == IR_KERNEL) {
        ir_var *v = ir_tensor_var(g->m, IR_VAR_PARAM, gen_name(g), gen_tensor(g, IR_GLOBAL), gen_nowhere());
        v->tensor->storage_elems = -1;
        VEC_PUSH(g->m->arena, &f->params, v);
        f->title = "k[T=f16]";
        f->doc = rng_one_in(g->r, 2) ? "does things\nin two lines" : NULL;
        f->min_blocks = rng_below(g->r, 3);
        f->dependent_launch = rng_one_in(g->r, 4);
        f->dynamic_smem_bytes = rng_one_in(g->r, 3) ? ir_int(g->m, DT_I32, 64) : NULL;
    } else {
        f->result = gen_scalar_type(g);
    }
    for (size_t i = 0; i < f->params.len; i++)
        VEC_PUSH(g->m->arena, &g->vars, f->params.at[i]);
    gen_block(g, &f->body, 4);
    g->vars.len = mark;
    ir_func_add(g->m, f);
    if (kind == IR_DEVICE)
        VEC_PUSH(g->m->arena, &g->devices, f);
    return f;
}

static inline ir_module *gen_module(arena *a, sym_table *syms, diag_context *diags, rng *r)
{
    gen g = {.m = ir_module_new(a, syms, diags, arch_find(STR("sm_90a")), "random"), .r = r};
    ir_tensor *t = gen_tensor(&g, IR_CONSTANT);
    ir_var *global = ir_tensor_var(g.m, IR_VAR_GLOBAL, "table", t, gen_nowhere());
    ir_expr **values = ARENA_ARRAY(a, ir_expr *, t->storage_elems);
    for (int64_t i = 0; i < t->storage_elems; i++)
        values[i] = gen_constant(&g, t->elem->scalar);
    VEC_PUSH(a, &g.m->globals, global);
    VEC_PUSH(a, &g.m->global_values, values);
    VEC_PUSH(a, &g.vars, global);
    gen_func(&g, IR_DEVICE, "first");
    gen_func(&g, IR_DEVICE, "a name");
    gen_func(&g, IR_KERNEL, "kernel");
    return g.m;
}
