// Does      turns register tensors that a mapping distributes into one array per thread: each access becomes the slot
//           of the element in its owner's list, and is proved to be by the owner. Private arrays with layouts become
//           flat.
// Needs     no task loops: coordinates are declared as sums of digits.
// Gives     REGISTER and LOCAL tensors of rank 1 without mappings, accesses IR_FLAT with slots that are constants or
//           depend on loop variables; loops over such slots are unrolled.
// Why here  after lower-tasks, whose declarations the proofs look through; before form-wide, which copies whole runs of
//           slots.
// See       Note [tiles of fragments]
#include "ir/element.h"
#include "ir/passes/passes.h"

#include "base/checked.h"

// An access that has been lowered, and its slot. Unrolled code repeats the same accesses.
typedef struct known_access {
    const ir_var *tensor;
    ir_expr **index;
    int64_t count;
    bool is_tile;
    uint32_t state; // of the environment, that proofs and slot hold in
    ir_expr *slot;
} known_access;

typedef struct lowering {
    ir_pass_context *px;
    ir_module *module;
    ir_env *env;
    const ir_stmt *stmt;   // under way
    VEC(ir_stmt *) loops;  // around the current statement, outermost first
    VEC(known_access) accesses;
    VEC(ir_var *) tensors; // that were accessed or allocated: they become flat in the end
    bool failed;
} lowering;

static bool is_private(const ir_var *v)
{
    return v && v->tensor && (v->tensor->space == IR_REGISTER || v->tensor->space == IR_LOCAL);
}

static bool is_lowered_here(const ir_var *v)
{
    return is_private(v) && (v->tensor->map || v->tensor->layout);
}

static void remember(lowering *l, ir_var *v)
{
    for (size_t i = 0; i < l->tensors.len; i++)
        if (l->tensors.at[i] == v)
            return;
    VEC_PUSH(l->px->scratch, &l->tensors, v);
}

// ---- digits --------------------------------------------------------------------------------------------------------

static ir_expr *with_constant(lowering *l, ir_op op, ir_expr *e, int64_t value)
{
    return ir_binary(l->module, op, e, ir_int(l->module, e->type->scalar, value), e->span);
}

// floor(e / below) mod extent
static ir_expr *digit_of(lowering *l, ir_expr *e, int64_t below, int64_t extent)
{
    if (below > 1)
        e = with_constant(l, IR_OP_FLOORDIV, e, below);
    return with_constant(l, IR_OP_FLOORMOD, e, extent);
}

static ir_expr *slot_of(lowering *l, const tm_map *mapping, ir_expr **index, src_span span)
{
    const ir_type *i32 = ir_scalar(l->module, DT_I32);
    ir_expr *slot = NULL;
    int64_t below = mapping->tasks_per_worker;
    for (int i = 0; i < mapping->digit_count; i++) {
        const tm_digit *g = &mapping->digits[i];
        if (g->kind != TM_REPEAT || g->extent == 1)
            continue;
        below /= g->extent;
        if (g->dim < 0)
            continue;
        ir_expr *part = ir_cast(l->module, digit_of(l, index[g->dim], g->stride, g->extent), i32, span);
        if (below > 1)
            part = with_constant(l, IR_OP_MUL, part, below);
        slot = slot ? ir_binary(l->module, IR_OP_ADD, slot, part, span) : part;
    }
    return ir_simplify_index(l->env, slot ? slot : ir_int(l->module, DT_I32, 0));
}

// ---- ownership -----------------------------------------------------------------------------------------------------

static bool owns_digit(lowering *l, const ir_tensor *t, ir_expr **index, int at, int64_t below)
{
    const tm_digit *g = &t->map->digits[at];
    ir_expr *mine = digit_of(l, t->worker, below, g->extent);
    return ir_prove_equal_in(l->env, digit_of(l, index[g->dim], g->stride, g->extent), mine, t->worker);
}

static bool is_at_origin(lowering *l, const ir_tensor *t, ir_expr **index, int at)
{
    const tm_digit *g = &t->map->digits[at];
    ir_expr *digit = digit_of(l, index[g->dim], g->stride, g->extent);
    return ir_prove_equal(l->env, digit, ir_int(l->module, digit->type->scalar, 0));
}

// The digits from here on make the [count] slots of a tile. See Note [tiles of fragments].
static int first_tile_digit(const tm_map *mapping, int64_t count)
{
    int at = mapping->digit_count;
    for (int64_t slots = 1; at > 0 && slots < count; at--)
        if (mapping->digits[at - 1].kind == TM_REPEAT)
            slots *= mapping->digits[at - 1].extent;
    return at;
}

// The first spatial digit of which the executing worker has another value, as far as can be proved, or -1.
static int foreign_digit(lowering *l, const ir_expr *access, const ir_tensor *t, ir_expr **index, int64_t count)
{
    bool is_tile = access && access->op == IR_OP_TILE;
    int tile = is_tile ? first_tile_digit(t->map, count) : t->map->digit_count;
    int edge = tile;
    while (is_tile && edge > 0 && (t->map->digits[edge - 1].kind == TM_SPATIAL || t->map->digits[edge - 1].extent == 1))
        edge--;
    int64_t below = t->map->workers;
    for (int i = 0; i < tile; i++) {
        const tm_digit *g = &t->map->digits[i];
        if (g->kind != TM_SPATIAL)
            continue;
        below /= g->extent;
        if (g->dim < 0 || g->extent == 1)
            continue;
        if (!owns_digit(l, t, index, i, below) && !(i >= edge && is_at_origin(l, t, index, i)))
            return i;
    }
    return -1;
}

static const char *indices_text(lowering *l, ir_expr **index, int rank)
{
    str_buf b;
    str_buf_init(&b, l->px->scratch);
    for (int d = 0; d < rank; d++) {
        if (d)
            str_adds(&b, ", ");
        ir_print_expr(index[d], &b);
    }
    return str_text(&b);
}

static const char *map_text(lowering *l, const tm_map *mapping)
{
    str_buf b;
    str_buf_init(&b, l->px->scratch);
    tm_print(mapping, &b);
    return str_text(&b);
}

static void report_foreign(lowering *l, const ir_var *v, ir_expr **index, int at, src_span span)
{
    const ir_tensor *t = v->tensor;
    const tm_digit *g = &t->map->digits[at];
    str_buf worker;
    str_buf_init(&worker, l->px->scratch);
    ir_print_expr(t->worker, &worker);
    diag *d = diag_report(l->px->diags, HDS0430, span, v->name, indices_text(l, index, t->rank));
    diag_under(d, "dimension %d is spread over %lld workers here", g->dim, (long long)g->extent);
    diag_label(d, v->span, "'%s' is distributed by %s, and this worker is %s", v->name, map_text(l, t->map),
               str_text(&worker));
    ir_note_sites(l->module, d, l->stmt->origin);
    diag_help(d,
              "visit the elements that this worker holds with 'for … in %s', or exchange values by a shuffle or "
              "through shared memory",
              v->name);
    l->failed = true;
}

static bool check_inside(lowering *l, const ir_var *v, ir_expr **index, src_span span)
{
    int dim = ir_outside_dim(l->env, v->tensor, index);
    if (dim < 0)
        return true;
    str_buf text, extent;
    str_buf_init(&text, l->px->scratch);
    str_buf_init(&extent, l->px->scratch);
    ir_print_expr(index[dim], &text);
    ir_print_expr(v->tensor->shape[dim], &extent);
    diag *d = diag_report(l->px->diags, HDS0431, span, str_text(&text), dim, v->name, str_text(&extent));
    diag_label(d, v->span, "'%s' is declared here", v->name);
    ir_note_sites(l->module, d, l->stmt->origin);
    l->failed = true;
    return false;
}

// ---- unrolling -----------------------------------------------------------------------------------------------------

// Registers have no addresses: a loop over slots must be unrolled. Where the slot depends on the loop variable modulo
// some number only, and the loop is long, that many copies of the body will do.
enum { LONG_LOOP = 64 };

static int unroll_factor(const ir_linear *slot, const ir_stmt *loop)
{
    int64_t lo, hi, factor = 1;
    if (!ir_const_int(loop->args[0], &lo) || !ir_const_int(loop->args[1], &hi) || hi - lo <= LONG_LOOP)
        return 0;
    for (int i = 0; i < slot->count; i++) {
        const ir_term *t = &slot->terms[i];
        if (!ir_expr_mentions(t->atom, loop->var))
            continue;
        if (t->atom->op != IR_OP_VAR || t->lower != 1 || !t->extent)
            return 0;
        factor = factor / gcd_of(factor, t->extent) * t->extent;
    }
    return factor > 1 && factor <= LONG_LOOP ? (int)factor : 0;
}

static bool linear_mentions(const ir_linear *slot, const ir_var *v)
{
    for (int i = 0; i < slot->count; i++)
        if (ir_expr_mentions(slot->terms[i].atom, v))
            return true;
    return false;
}

static void unroll_loops_of(lowering *l, const ir_var *v, ir_expr *slot)
{
    int64_t known;
    if (v->tensor->space != IR_REGISTER || ir_const_int(slot, &known))
        return;
    const ir_linear *form = ir_linear_of(l->env, slot);
    for (size_t i = 0; i < l->loops.len; i++) {
        ir_stmt *loop = l->loops.at[i];
        bool open =
            loop->unroll == TM_LOOP_DEFAULT || loop->unroll == TM_LOOP_PLAIN || loop->unroll == TM_LOOP_PARALLEL;
        if (!open || !linear_mentions(form, loop->var))
            continue;
        loop->unroll = TM_LOOP_UNROLL;
        loop->factor = unroll_factor(form, loop);
    }
}

// ---- accesses ------------------------------------------------------------------------------------------------------

enum { ACCESSES_LOOKED_AT = 64 };

static ir_expr *known_slot(const lowering *l, const known_access *wanted)
{
    size_t oldest = l->accesses.len > ACCESSES_LOOKED_AT ? l->accesses.len - ACCESSES_LOOKED_AT : 0;
    for (size_t i = l->accesses.len; i-- > oldest;) {
        const known_access *p = &l->accesses.at[i];
        if (p->state != wanted->state)
            return NULL; // those before it are of other states, mostly
        bool same = p->tensor == wanted->tensor && p->count == wanted->count && p->is_tile == wanted->is_tile;
        for (int d = 0; same && d < p->tensor->tensor->rank; d++)
            same = ir_expr_equal(p->index[d], wanted->index[d]);
        if (same)
            return p->slot;
    }
    return NULL;
}

// The slot, after the proofs; NULL if they failed.
static ir_expr *lower_access(lowering *l, ir_var *v, ir_expr **index, const ir_expr *access, bool guarded,
                             src_span span)
{
    const ir_tensor *t = v->tensor;
    known_access p = {v, index, access ? access->count : 1, access && access->op == IR_OP_TILE, l->env->state, NULL};
    remember(l, v);
    if (!guarded && !check_inside(l, v, index, span))
        return NULL;
    p.slot = known_slot(l, &p);
    if (p.slot)
        return p.slot;
    int foreign = t->map ? foreign_digit(l, access, t, index, p.count) : -1;
    if (foreign >= 0) {
        report_foreign(l, v, index, foreign, span);
        return NULL;
    }
    if (t->map) {
        ir_env_mark mark = ir_env_enter(l->env);
        ir_assume_inside(l->env, t, index);
        p.slot = slot_of(l, t->map, index, span);
        ir_env_leave(l->env, mark);
    } else {
        p.slot = ir_element_offset(l->env, t, index, true, span);
    }
    unroll_loops_of(l, v, p.slot);
    VEC_PUSH(l->px->scratch, &l->accesses, p);
    l->px->changed = true;
    return p.slot;
}

static ir_expr *flat_access(lowering *l, const ir_expr *e, ir_expr *slot)
{
    ir_expr *flat = ir_new_expr(l->module, e->op, e->type, e->span, 1);
    flat->flags = (e->flags & ~IR_GUARDED) | IR_FLAT;
    flat->count = e->count;
    flat->u = e->u;
    flat->args[0] = slot;
    return flat;
}

static ir_expr *lower_expr(void *user, ir_expr *e)
{
    lowering *l = user;
    bool access = e->op == IR_OP_LOAD || e->op == IR_OP_ADDR || e->op == IR_OP_TILE;
    if (!access || (e->flags & IR_FLAT) || !is_lowered_here(e->u.var))
        return e;
    bool guarded = e->flags & IR_GUARDED;
    ir_expr *slot = lower_access(l, e->u.var, e->args, e, guarded, e->span);
    if (!slot)
        return e;
    ir_expr *flat = flat_access(l, e, slot);
    ir_expr *cond = guarded ? ir_inside(l->env, e->u.var->tensor, e->args, e->span) : NULL;
    return cond ? ir_select(l->module, cond, flat, e->args[e->arg_count - 1], e->span) : flat;
}

static ir_stmt *lower_store(lowering *l, ir_stmt *s)
{
    if ((s->flags & IR_FLAT) || !is_lowered_here(s->var))
        return s;
    bool guarded = s->flags & IR_GUARDED;
    ir_expr **index = s->args;
    ir_expr *slot = lower_access(l, s->var, index, NULL, guarded, s->span);
    if (!slot)
        return s;
    ir_expr *cond = guarded ? ir_inside(l->env, s->var->tensor, index, s->span) : NULL;
    s->args = ARENA_ARRAY(l->module->arena, ir_expr *, 1);
    s->args[0] = slot;
    s->arg_count = 1;
    s->flags = (s->flags & ~IR_GUARDED) | IR_FLAT;
    if (!cond)
        return s;
    ir_stmt *guard = ir_new_stmt(l->module, IR_IF, s->span, s->origin);
    guard->value = cond;
    ir_append(l->module, &guard->body, s);
    return guard;
}

static void lower_stmt(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    lowering *l = r->user;
    l->stmt = s;
    if (s->kind == IR_ALLOC && is_lowered_here(s->var))
        remember(l, s->var);
    ir_env_rewrite_stmt(l->env, s, lower_expr, l);
    ir_stmt *now = s->kind == IR_STORE ? lower_store(l, s) : s;
    if (s->kind == IR_FOR)
        VEC_PUSH(l->px->scratch, &l->loops, s);
    ir_rewrite_nested(r, s);
    if (s->kind == IR_FOR)
        l->loops.len--;
    ir_emit(r, out, now);
}

// ---- tensors -------------------------------------------------------------------------------------------------------

static void make_flat(lowering *l, ir_tensor *t)
{
    tm_reason why;
    int64_t elements = t->map ? t->map->tasks_per_worker : t->layout->size;
    t->rank = 1;
    t->shape = ARENA_ARRAY(l->module->arena, ir_expr *, 1);
    t->shape[0] = ir_int(l->module, elements > INT32_MAX ? DT_I64 : DT_I32, elements);
    t->layout = tm_layout_row_major(l->module->arena, 1, &elements, &why);
    t->map = NULL;
    t->worker = NULL;
    t->strides = NULL;
    t->storage_elems = elements;
}

static bool declares_private(const ir_stmt *s)
{
    return (s->kind == IR_ALLOC || s->kind == IR_DECL) && is_lowered_here(s->var);
}

// Whether there is anything to do: most functions have no arrays of their own.
static bool has_private(const ir_func *f)
{
    for (size_t i = 0; i < f->params.len; i++)
        if (is_lowered_here(f->params.at[i]))
            return true;
    return ir_find(&f->body, declares_private) != NULL;
}

bool ir_pass_lower_registers(ir_pass_context *px)
{
    bool ok = true;
    for (size_t i = 0; i < px->module->funcs.len; i++) {
        ir_func *f = px->module->funcs.at[i];
        if (!has_private(f))
            continue;
        arena_mark mark = arena_mark_get(px->scratch); // what one function needs is gone with it
        lowering l = {.px = px, .module = px->module, .env = ir_env_new(px->module, f, px->scratch)};
        ir_rewriter r = {l.env, lower_stmt, &l};
        ir_rewrite_block(&r, &f->body);
        for (size_t k = 0; k < l.tensors.len; k++)
            make_flat(&l, l.tensors.at[k]->tensor);
        ok &= !l.failed;
        arena_reset(px->scratch, mark);
    }
    return ok;
}

// Note [tiles of fragments]
//
// The indices of a TILE are the origin of a part of the tensor that all workers of a group hold together, such as the
// accumulator of one matrix instruction of a warp. The digits of the part itself (from the innermost on, until their
// repeat extents make up its slots) belong to several workers, and the origin has 0 there; nothing is to be proved of
// them. The digits outside say which group the part belongs to, and must be the worker's own. Spatial digits that stand
// directly before the part's repeat digits may belong to either side: 0 or the worker's own value will do.
