// Does      replaces loops marked TM_LOOP_UNROLL_FULL by copies of their body, one an iteration, and any loop that runs
//           once by its body; drops loops that run never or do nothing.
// Needs     nothing; bounds count as constant if they are made of constants by + - * // % min max and conversions.
// Gives     no TM_LOOP_UNROLL_FULL: what cannot be unrolled here (bounds unknown, a 'break' or 'continue' of its own) is
//           left to CUDA's unroller as TM_LOOP_UNROLL; what would make more than UNROLL_BUDGET statements stays a plain
//           loop, with a warning (HDS0402). Labels of scopes are unique in each changed function.
// Why here  after lowering, which makes the loops of mappings; before shared memory and flattening, which see constant
//           indices in the copies.
#include "ir/pass.h"

#include "base/checked.h"

#include <stdlib.h>

enum { UNROLL_BUDGET = 4096 };

typedef struct unroller {
    ir_pass_context *px;
    ir_module *module;
    bool changed;  // in the current function
} unroller;

// ---- constant bounds ---------------------------------------------------------------------------------------------

static bool constant_of(const ir_expr *e, int64_t *out);

static bool fold(ir_op op, int64_t a, int64_t b, int64_t *out)
{
    bool divides = b != 0 && !(a == INT64_MIN && b == -1);
    switch (op) {
    case IR_OP_ADD: return add_checked(a, b, out);
    case IR_OP_SUB: return sub_checked(a, b, out);
    case IR_OP_MUL: return mul_checked(a, b, out);
    case IR_OP_FLOORDIV: *out = divides ? floor_div(a, b) : 0; return divides;
    case IR_OP_FLOORMOD: *out = divides ? floor_mod(a, b) : 0; return divides;
    case IR_OP_MIN: *out = a < b ? a : b; return true;
    case IR_OP_MAX: *out = a > b ? a : b; return true;
    default: return false;
    }
}

// Values of u64 beyond int64 are left alone; a result that its type cannot hold has no value here.
static bool constant_of(const ir_expr *e, int64_t *out)
{
    int64_t a, b;
    if (e->type->kind != IR_SCALAR || !dt_is_int(e->type->scalar))
        return false;
    if (ir_const_int(e, out))
        return e->type->scalar != DT_U64 || *out >= 0;
    bool fine = false;
    if (e->op == IR_OP_CAST)
        fine = constant_of(e->args[0], out);
    else if (e->arg_count == 2)
        fine = constant_of(e->args[0], &a) && constant_of(e->args[1], &b) && fold(e->op, a, b, out);
    return fine && dt_holds_int(e->type->scalar, *out);
}

// How often the loop runs; false if that is not known.
static bool trip_count(const ir_stmt *s, int64_t *from, int64_t *step, int64_t *trips)
{
    int64_t to, distance;
    if (!constant_of(s->args[0], from) || !constant_of(s->args[1], &to) || !constant_of(s->args[2], step))
        return false;
    if (*step == 0 || *step == INT64_MIN || !sub_checked(to, *from, &distance))
        return false;
    if (*step < 0 ? distance >= 0 : distance <= 0)
        *trips = 0;
    else
        *trips = (llabs(distance) - 1) / llabs(*step) + 1;
    return true;
}

// ---- the body ----------------------------------------------------------------------------------------------------

static int64_t count_stmts(const ir_block *b)
{
    int64_t count = (int64_t)b->stmts.len;
    for (size_t i = 0; i < b->stmts.len; i++)
        count += count_stmts(&b->stmts.at[i]->body) + count_stmts(&b->stmts.at[i]->or_else);
    return count;
}

// Whether a 'break' or 'continue' below belongs to the loop around [b].
static bool has_own_jump(const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        const ir_stmt *s = b->stmts.at[i];
        if (s->kind == IR_BREAK || s->kind == IR_CONTINUE)
            return true;
        bool is_loop = s->kind == IR_FOR || s->kind == IR_WHILE || s->kind == IR_TASKS;
        if (!is_loop && (has_own_jump(&s->body) || has_own_jump(&s->or_else)))
            return true;
    }
    return false;
}

static bool bounds_are_quiet(const ir_stmt *s)
{
    return !ir_has_effects(s->args[0]) && !ir_has_effects(s->args[1]) && !ir_has_effects(s->args[2]);
}

// ---- unrolling ---------------------------------------------------------------------------------------------------

static bool unroll_block(unroller *u, ir_block *b, int64_t limit);

static void append_copies(unroller *u, const ir_stmt *s, int64_t from, int64_t step, int64_t trips, ir_block *out)
{
    for (int64_t i = 0; i < trips; i++) {
        arena_mark mark = arena_mark_get(u->px->scratch);
        map substitution;
        map_init(&substitution, u->px->scratch);
        map_put_ptr(&substitution, s->var, ir_int(u->module, s->var->type->scalar, from + i * step));
        for (size_t k = 0; k < s->body.stmts.len; k++)
            ir_append(u->module, out, ir_clone_stmt(u->module, s->body.stmts.at[k], &substitution));
        arena_reset(u->px->scratch, mark);
    }
}

static void warn_budget(unroller *u, const ir_stmt *s, int64_t trips, int64_t size)
{
    int64_t total;
    const char *text = mul_checked(trips, size, &total) ? arena_printf(u->module->arena, "%lld", (long long)total)
                                                        : "countless";
    diag *d = diag_report(u->px->diags, HDS0402, s->span, text, UNROLL_BUDGET);
    ir_note_sites(u->module, d, s->origin);
    diag_help(d, "take 'u' instead of 'u+', or a factor as in 'u4', and the CUDA compiler unrolls as far as it pays");
}

// What becomes of a loop whose body is done; its copies, if any, are in [out]. [*pending] is set if the loop may be
// unrolled once the bounds that it takes from an outer one are known.
typedef enum loop_fate { LOOP_STAYS, LOOP_GOES } loop_fate;

static loop_fate unroll_loop(unroller *u, ir_stmt *s, int64_t limit, bool inner_pending, ir_block *out, bool *pending)
{
    int64_t from, step, trips;
    bool wanted = s->unroll == TM_LOOP_UNROLL_FULL;
    if (!s->body.stmts.len && bounds_are_quiet(s))
        return LOOP_GOES;
    if (!trip_count(s, &from, &step, &trips)) {
        *pending |= wanted;
        return LOOP_STAYS;
    }
    if (trips == 0)
        return LOOP_GOES;
    if ((!wanted && trips > 1) || has_own_jump(&s->body))
        return LOOP_STAYS;
    int64_t size = count_stmts(&s->body);
    if (trips > 1 && trips > limit / (size ? size : 1)) {
        warn_budget(u, s, trips, size);
        s->unroll = TM_LOOP_DEFAULT;
        s->factor = 0;
        u->changed = true;
        return LOOP_STAYS;
    }
    append_copies(u, s, from, step, trips, out);
    *pending |= inner_pending && unroll_block(u, out, limit / trips);
    return LOOP_GOES;
}

// Inner loops first, so that the budget sees what they become. Returns whether loops with bounds that are not yet
// constant stay behind.
static bool unroll_block(unroller *u, ir_block *b, int64_t limit)
{
    ir_block result = {0};
    bool pending = false, edited = false;
    for (size_t i = 0; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i];
        bool inner = unroll_block(u, &s->body, limit);
        inner |= unroll_block(u, &s->or_else, limit);
        pending |= inner;
        ir_block copies = {0};
        bool goes = s->kind == IR_FOR && unroll_loop(u, s, limit, inner, &copies, &pending) == LOOP_GOES;
        if (goes && !edited)
            for (size_t k = 0; k < i; k++)
                ir_append(u->module, &result, b->stmts.at[k]);
        edited |= goes;
        for (size_t k = 0; k < copies.stmts.len; k++)
            ir_append(u->module, &result, copies.stmts.at[k]);
        if (edited && !goes)
            ir_append(u->module, &result, s);
    }
    if (edited)
        *b = result;
    u->changed |= edited;
    return pending;
}

// ---- afterwards --------------------------------------------------------------------------------------------------

static void settle_loop(void *user, ir_stmt *s)
{
    unroller *u = user;
    if (s->kind != IR_FOR || s->unroll != TM_LOOP_UNROLL_FULL)
        return;
    s->unroll = TM_LOOP_UNROLL;
    s->factor = 0;
    u->changed = true;
}

typedef struct open_label {
    const struct open_label *outer;
    int before, now;
} open_label;

// Copies of a scope have its label: new numbers, in the order of the text.
static void renumber(ir_block *b, const open_label *open, int *next)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i];
        open_label mine = {open, s->count, *next};
        if (s->kind == IR_SCOPE_OF)
            s->count = (*next)++;
        for (const open_label *l = open; s->kind == IR_LEAVE && l; l = l->outer) {
            if (l->before != s->count)
                continue;
            s->count = l->now;
            break;
        }
        renumber(&s->body, s->kind == IR_SCOPE_OF ? &mine : open, next);
        renumber(&s->or_else, open, next);
    }
}

bool ir_pass_unroll(ir_pass_context *px)
{
    unroller u = {.px = px, .module = px->module};
    for (size_t i = 0; i < px->module->funcs.len; i++) {
        ir_func *f = px->module->funcs.at[i];
        u.changed = false;
        unroll_block(&u, &f->body, UNROLL_BUDGET);
        ir_walk(&f->body, settle_loop, &u);
        int next = 1;
        if (u.changed)
            renumber(&f->body, NULL, &next);
        px->changed |= u.changed;
    }
    return true;
}
