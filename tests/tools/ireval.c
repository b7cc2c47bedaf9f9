#include "ireval.h"

#include <math.h>
#include <string.h>

void ire_init(ire *r, arena *a, const ir_module *m)
{
    *r = (ire){.arena = a, .module = m};
    for (int axis = 0; axis < 3; axis++)
        r->sregs[IR_BDIM_X + axis] = r->sregs[IR_GDIM_X + axis] = 1;
}

void ire_restart(ire *r)
{
    r->events.len = 0;
    r->overflowed = false;
    r->error = NULL;
    r->steps = 0;
}

static void fail(ire *r, const char *why)
{
    if (!r->error)
        r->error = why;
}

static ire_value *slot(ire *r, const ir_var *v)
{
    while (r->vars.len <= v->id)
        VEC_PUSH(r->arena, &r->vars, (ire_value){0});
    return &r->vars.at[v->id];
}

void ire_set(ire *r, const ir_var *v, int64_t value)
{
    slot(r, v)->i = value;
}

ire_array *ire_array_of(ire *r, const ir_var *v, int64_t count)
{
    while (r->arrays.len <= v->id)
        VEC_PUSH(r->arena, &r->arrays, (ire_array){0});
    ire_array *a = &r->arrays.at[v->id];
    if (a->at)
        return a;
    const ir_tensor *t = v->tensor;
    a->count = t->map                 ? t->map->tasks_per_worker
               : t->storage_elems > 0 ? t->storage_elems
               : t->layout            ? t->layout->size
                                      : count;
    a->at = ARENA_ARRAY(r->arena, ire_value, a->count + 1);
    return a;
}

// ---- integers ------------------------------------------------------------------------------------------------------

static bool is_unsigned(dtype t)
{
    return dt_kind_of(t) == DT_KIND_UINT || t == DT_BOOL;
}

static ire_value integer(ire *r, dtype t, __int128 v)
{
    ire_value out = {0};
    out.i = t == DT_BOOL ? v != 0 : dt_wrap_int(t, (int64_t)v);
    __int128 back = is_unsigned(t) ? (__int128)(uint64_t)out.i : (__int128)out.i;
    if (t != DT_BOOL && dt_is_signed(t) && dt_bits(t) >= 32 && back != v)
        r->overflowed = true;
    return out;
}

static __int128 wide(const ir_type *t, ire_value v)
{
    bool large = t->kind == IR_SCALAR && is_unsigned(t->scalar);
    return large ? (__int128)(uint64_t)v.i : (__int128)v.i;
}

static __int128 down(__int128 a, __int128 b)
{
    __int128 q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static ire_value binary_int(ire *r, ir_op op, dtype t, __int128 a, __int128 b)
{
    bool divides = op == IR_OP_FLOORDIV || op == IR_OP_FLOORMOD || op == IR_OP_TRUNCDIV || op == IR_OP_TRUNCMOD;
    if (divides && b == 0) {
        fail(r, "division by zero");
        return (ire_value){0};
    }
    switch (op) {
    case IR_OP_ADD:
        return integer(r, t, a + b);
    case IR_OP_SUB:
        return integer(r, t, a - b);
    case IR_OP_MUL:
        return integer(r, t, (__int128)((unsigned __int128)a * (unsigned __int128)b));
    case IR_OP_FLOORDIV:
        return integer(r, t, down(a, b));
    case IR_OP_FLOORMOD:
        return integer(r, t, a - down(a, b) * b);
    case IR_OP_TRUNCDIV:
        return integer(r, t, a / b);
    case IR_OP_TRUNCMOD:
        return integer(r, t, a % b);
    case IR_OP_SHL:
        return (ire_value){.i = dt_wrap_int(t, (int64_t)((uint64_t)(int64_t)a << (int)b))};
    case IR_OP_SHR:
        return integer(r, t, a >> (int)b);
    case IR_OP_AND:
        return integer(r, t, a & b);
    case IR_OP_OR:
        return integer(r, t, a | b);
    case IR_OP_XOR:
        return integer(r, t, a ^ b);
    case IR_OP_MIN:
        return integer(r, t, a < b ? a : b);
    case IR_OP_MAX:
        return integer(r, t, a > b ? a : b);
    default:
        fail(r, "not an integer operation");
        return (ire_value){0};
    }
}

static bool compare_int(ir_op op, __int128 a, __int128 b)
{
    switch (op) {
    case IR_OP_EQ:
        return a == b;
    case IR_OP_NE:
        return a != b;
    case IR_OP_LT:
        return a < b;
    case IR_OP_LE:
        return a <= b;
    case IR_OP_GT:
        return a > b;
    default:
        return a >= b;
    }
}

// ---- floats --------------------------------------------------------------------------------------------------------

static ire_value real(dtype t, double v)
{
    return (ire_value){.f = t == DT_F64 ? v : dt_to_double(t, dt_from_double(t, v))};
}

// As CPython's float_divmod does it, with each step rounded to f64 or f32.
static double floored(ir_op op, dtype t, double a, double b)
{
    dtype step = t == DT_F64 ? t : DT_F32;
    double rest = fmod(a, b), quotient = real(step, real(step, a - rest).f / b).f;
    if (rest == 0) {
        rest = copysign(0, b);
    } else if ((b < 0) != (rest < 0)) {
        rest = real(step, rest + b).f;
        quotient = real(step, quotient - 1).f;
    }
    if (op == IR_OP_FLOORMOD)
        return rest;
    if (b == 0)
        return a / b;
    if (quotient == 0)
        return copysign(0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static ire_value binary_float(ire *r, ir_op op, dtype t, double a, double b)
{
    switch (op) {
    case IR_OP_ADD:
        return real(t, a + b);
    case IR_OP_SUB:
        return real(t, a - b);
    case IR_OP_MUL:
        return real(t, a * b);
    case IR_OP_DIV:
        return real(t, a / b);
    case IR_OP_FLOORDIV:
    case IR_OP_FLOORMOD:
        return real(t, floored(op, t, a, b));
    case IR_OP_MIN:
        return real(t, isnan(a) ? b : isnan(b) || a < b || (a == b && signbit(a)) ? a : b);
    case IR_OP_MAX:
        return real(t, isnan(a) ? b : isnan(b) || a > b || (a == b && !signbit(a)) ? a : b);
    default:
        fail(r, "not a float operation");
        return (ire_value){0};
    }
}

static bool compare_float(ir_op op, double a, double b)
{
    switch (op) {
    case IR_OP_EQ:
        return a == b;
    case IR_OP_NE:
        return a != b;
    case IR_OP_LT:
        return a < b;
    case IR_OP_LE:
        return a <= b;
    case IR_OP_GT:
        return a > b;
    default:
        return a >= b;
    }
}

// ---- memory --------------------------------------------------------------------------------------------------------

// Digits of the worker that holds [index], where the mapping has a dimension for them, against those of [worker].
static bool owns(const tm_map *m, int64_t worker, const int64_t *index)
{
    int64_t below = m->workers;
    for (int i = 0; i < m->digit_count; i++) {
        const tm_digit *g = &m->digits[i];
        if (g->kind != TM_SPATIAL)
            continue;
        below /= g->extent;
        if (g->dim >= 0 && worker / below % g->extent != index[g->dim] / g->stride % g->extent)
            return false;
    }
    return true;
}

static int64_t map_slot(ire *r, const ir_tensor *t, const int64_t *index)
{
    int64_t worker, position;
    if (!tm_owner(t->map, index, &worker, &position)) {
        fail(r, "index outside of a register tensor");
        return 0;
    }
    if (!owns(t->map, ire_eval(r, t->worker).i, index))
        fail(r, "element of another worker");
    return position;
}

// Whether the index is inside the shape; its offset in elements.
static bool locate(ire *r, const ir_tensor *t, int flags, ir_expr *const *args, int64_t *offset)
{
    if (flags & IR_FLAT) {
        *offset = ire_eval(r, args[0]).i;
        return true;
    }
    int64_t index[TM_MAX_RANK] = {0};
    bool inside = true;
    for (int d = 0; d < t->rank; d++) {
        index[d] = ire_eval(r, args[d]).i;
        inside &= index[d] >= 0 && index[d] < ire_eval(r, t->shape[d]).i;
    }
    *offset = 0;
    if (!inside)
        return false;
    if (t->map) {
        *offset = map_slot(r, t, index);
    } else if (t->layout) {
        *offset = tm_layout_offset(t->layout, index);
    } else {
        for (int d = 0; d < t->rank; d++)
            *offset += index[d] * ire_eval(r, t->strides[d]).i;
    }
    return true;
}

static ire_value *element(ire *r, const ir_var *v, int64_t offset)
{
    static ire_value nowhere;
    ire_array *a = ire_array_of(r, v, 0);
    if (offset < 0 || offset >= a->count) {
        fail(r, "access outside of an array");
        return &nowhere;
    }
    return &a->at[offset];
}

static void put(ire *r, const ir_var *v, int64_t offset, ire_value value)
{
    *element(r, v, offset) = value;
    ir_space space = v->tensor->space;
    if (r->record && (space == IR_GLOBAL || space == IR_SHARED || space == IR_GENERIC)) {
        ire_event e = {v, offset, value};
        VEC_PUSH(r->arena, &r->events, e);
    }
}

static ire_value load(ire *r, const ir_expr *e)
{
    int64_t offset;
    if (locate(r, e->u.var->tensor, e->flags, e->args, &offset))
        return *element(r, e->u.var, offset);
    if (e->flags & IR_GUARDED)
        return ire_eval(r, e->args[e->arg_count - 1]);
    fail(r, "index outside of the shape");
    return (ire_value){0};
}

// ---- expressions ---------------------------------------------------------------------------------------------------

static ire_value cast(ire *r, const ir_expr *e)
{
    const ir_type *from = e->args[0]->type;
    dtype to = e->type->scalar;
    ire_value v = ire_eval(r, e->args[0]);
    if (dt_is_float(to))
        return real(to, dt_is_float(from->scalar) ? v.f : (double)wide(from, v));
    if (dt_is_float(from->scalar))
        return to == DT_BOOL ? (ire_value){.i = v.f != 0} : (ire_value){.i = dt_wrap_int(to, (int64_t)v.f)};
    return to == DT_BOOL ? (ire_value){.i = v.i != 0} : (ire_value){.i = dt_wrap_int(to, v.i)};
}

static ire_value same_bits(ire *r, const ir_expr *e)
{
    const ir_type *from = e->args[0]->type, *to = e->type;
    if (from->kind != IR_SCALAR || to->kind != IR_SCALAR) {
        fail(r, "bits of something that is no number");
        return (ire_value){0};
    }
    ire_value v = ire_eval(r, e->args[0]);
    uint64_t bits = dt_is_float(from->scalar) ? dt_from_double(from->scalar, v.f) : (uint64_t)v.i;
    if (dt_bits(to->scalar) < 64)
        bits &= ((uint64_t)1 << dt_bits(to->scalar)) - 1;
    if (dt_is_float(to->scalar))
        return (ire_value){.f = dt_to_double(to->scalar, bits)};
    return (ire_value){.i = dt_wrap_int(to->scalar, (int64_t)bits)};
}

// With variables and private arrays of its own; what the caller has is shared.
static ire_value call(ire *r, const ir_expr *e)
{
    const ir_func *f = e->u.func;
    ire inner = *r;
    memset(&inner.vars, 0, sizeof inner.vars);
    memset(&inner.arrays, 0, sizeof inner.arrays);
    for (size_t i = 0; i < r->arrays.len; i++)
        VEC_PUSH(r->arena, &inner.arrays, r->arrays.at[i]);
    for (size_t i = 0; i < f->params.len; i++) {
        if (f->params.at[i]->type->kind != IR_SCALAR)
            fail(r, "a parameter that the interpreter does not know");
        ire_value v = ire_eval(r, e->args[i]);
        *slot(&inner, f->params.at[i]) = v;
    }
    if (r->error)
        return (ire_value){0};
    ire_run(&inner, &f->body);
    r->error = inner.error;
    r->overflowed = inner.overflowed;
    r->steps = inner.steps;
    r->events.at = inner.events.at;
    r->events.len = inner.events.len;
    r->events.cap = inner.events.cap;
    return inner.result;
}

static ire_value binary(ire *r, const ir_expr *e)
{
    const ir_type *t = e->args[0]->type;
    ire_value a = ire_eval(r, e->args[0]), b = ire_eval(r, e->args[1]);
    bool compares = ir_op_properties(e->op) & IR_COMPARE;
    if (dt_is_float(t->scalar))
        return compares ? (ire_value){.i = compare_float(e->op, a.f, b.f)}
                        : binary_float(r, e->op, t->scalar, a.f, b.f);
    __int128 x = wide(t, a), y = wide(e->args[1]->type, b);
    return compares ? (ire_value){.i = compare_int(e->op, x, y)} : binary_int(r, e->op, e->type->scalar, x, y);
}

static ire_value unary(ire *r, const ir_expr *e)
{
    ire_value a = ire_eval(r, e->args[0]);
    if (e->op == IR_OP_NOT)
        return (ire_value){.i = !a.i};
    if (dt_is_float(e->type->scalar))
        return (ire_value){.f = -a.f};
    __int128 x = wide(e->type, a);
    return e->op == IR_OP_NEG ? integer(r, e->type->scalar, -x) : (ire_value){.i = dt_wrap_int(e->type->scalar, ~a.i)};
}

ire_value ire_eval(ire *r, const ir_expr *e)
{
    switch (e->op) {
    case IR_OP_INT:
        return (ire_value){.i = e->u.i};
    case IR_OP_FLOAT:
        return (ire_value){.f = e->u.f};
    case IR_OP_VAR:
        return *slot(r, e->u.var);
    case IR_OP_SREG:
        return (ire_value){.i = r->sregs[e->u.i]};
    case IR_OP_NEG:
    case IR_OP_BITNOT:
    case IR_OP_NOT:
        return unary(r, e);
    case IR_OP_LAND:
        return ire_eval(r, e->args[0]).i ? ire_eval(r, e->args[1]) : (ire_value){0};
    case IR_OP_LOR:
        return ire_eval(r, e->args[0]).i ? (ire_value){.i = 1} : ire_eval(r, e->args[1]);
    case IR_OP_SELECT:
        return ire_eval(r, e->args[ire_eval(r, e->args[0]).i ? 1 : 2]);
    case IR_OP_CAST:
        return cast(r, e);
    case IR_OP_BITCAST:
        return same_bits(r, e);
    case IR_OP_CALL:
        return call(r, e);
    case IR_OP_LOAD:
        return load(r, e);
    default:
        if (e->arg_count == 2 && (ir_op_properties(e->op) & IR_PURE))
            return binary(r, e);
        fail(r, "an expression that the interpreter does not know");
        return (ire_value){0};
    }
}

// ---- statements ----------------------------------------------------------------------------------------------------

static ire_flow after_body(ire_flow flow)
{
    return flow == IRE_CONTINUE ? IRE_NEXT : flow;
}

static ire_flow run_for(ire *r, const ir_stmt *s)
{
    int64_t lo = ire_eval(r, s->args[0]).i, hi = ire_eval(r, s->args[1]).i, step = ire_eval(r, s->args[2]).i;
    for (int64_t i = lo; step > 0 ? i < hi : i > hi; i += step) {
        slot(r, s->var)->i = i;
        ire_flow flow = after_body(ire_run(r, &s->body));
        if (flow == IRE_BREAK)
            return IRE_NEXT;
        if (flow != IRE_NEXT)
            return flow;
    }
    return IRE_NEXT;
}

static ire_flow run_while(ire *r, const ir_stmt *s)
{
    while (ire_eval(r, s->value).i && !r->error) {
        ire_flow flow = after_body(ire_run(r, &s->body));
        if (flow == IRE_BREAK)
            return IRE_NEXT;
        if (flow != IRE_NEXT)
            return flow;
    }
    return IRE_NEXT;
}

static ire_flow run_tasks(ire *r, const ir_stmt *s)
{
    int64_t worker = ire_eval(r, s->args[0]).i, coords[TM_MAX_RANK];
    if (worker < 0 || worker >= s->map->workers)
        return IRE_NEXT;
    for (int64_t p = 0; p < s->map->tasks_per_worker; p++) {
        tm_task(s->map, worker, p, coords);
        for (int d = 0; d < s->map->rank; d++)
            slot(r, s->vars[d])->i = coords[d];
        ire_flow flow = after_body(ire_run(r, &s->body));
        if (flow == IRE_BREAK)
            return IRE_NEXT;
        if (flow != IRE_NEXT)
            return flow;
    }
    return IRE_NEXT;
}

static void run_alloc(ire *r, const ir_stmt *s)
{
    ire_array *a = ire_array_of(r, s->var, 0);
    a->at = ARENA_ARRAY(r->arena, ire_value, a->count + 1); // that of a caller stays
    ire_value fill = s->value ? ire_eval(r, s->value) : (ire_value){.i = -777777, .f = -777777};
    for (int64_t i = 0; i < a->count; i++)
        a->at[i] = fill;
}

static void run_copy(ire *r, const ir_stmt *s)
{
    const ir_expr *to = s->args[0], *from = s->args[1];
    int64_t dst, src;
    bool fine = locate(r, to->u.var->tensor, to->flags, to->args, &dst);
    fine &= locate(r, from->u.var->tensor, from->flags, from->args, &src);
    if (!fine)
        fail(r, "copy outside of the shape");
    if (dst % s->count || src % s->count)
        fail(r, "copy of unaligned elements");
    for (int i = 0; i < s->count && fine; i++)
        put(r, to->u.var, dst + i, *element(r, from->u.var, src + i));
}

static void run_store(ire *r, const ir_stmt *s)
{
    int64_t offset;
    ire_value value = ire_eval(r, s->value);
    if (locate(r, s->var->tensor, s->flags, s->args, &offset))
        put(r, s->var, offset, value);
    else if (!(s->flags & IR_GUARDED))
        fail(r, "store outside of the shape");
}

static ire_flow run_stmt(ire *r, const ir_stmt *s)
{
    switch (s->kind) {
    case IR_DECL:
        if (s->value)
            *slot(r, s->var) = ire_eval(r, s->value);
        return IRE_NEXT;
    case IR_ASSIGN:
        *slot(r, s->var) = ire_eval(r, s->value);
        return IRE_NEXT;
    case IR_STORE:
        run_store(r, s);
        return IRE_NEXT;
    case IR_COPY:
        run_copy(r, s);
        return IRE_NEXT;
    case IR_EVAL:
        ire_eval(r, s->value);
        return IRE_NEXT;
    case IR_ALLOC:
        run_alloc(r, s);
        return IRE_NEXT;
    case IR_IF:
        return ire_run(r, ire_eval(r, s->value).i ? &s->body : &s->or_else);
    case IR_FOR:
        return run_for(r, s);
    case IR_WHILE:
        return run_while(r, s);
    case IR_TASKS:
        return run_tasks(r, s);
    case IR_BREAK:
        return IRE_BREAK;
    case IR_CONTINUE:
        return IRE_CONTINUE;
    case IR_RETURN:
        if (s->value)
            r->result = ire_eval(r, s->value);
        return IRE_RETURN;
    case IR_SCOPE_OF: {
        ire_flow flow = ire_run(r, &s->body);
        return flow == IRE_LEAVE && r->label == s->count ? IRE_NEXT : flow;
    }
    case IR_LEAVE:
        r->label = s->count;
        return IRE_LEAVE;
    case IR_ASSERT:
    case IR_ASSUME:
        if (!ire_eval(r, s->value).i)
            fail(r, "an assumption does not hold");
        return IRE_NEXT;
    case IR_COMMENT:
        return IRE_NEXT;
    default:
        fail(r, "a statement that the interpreter does not know");
        return IRE_NEXT;
    }
}

ire_flow ire_run(ire *r, const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len && !r->error; i++) {
        r->steps++;
        ire_flow flow = run_stmt(r, b->stmts.at[i]);
        if (flow != IRE_NEXT)
            return flow;
    }
    return IRE_NEXT;
}
