// Launches of operators that are equal to earlier ones: Note [shared launches].
//
// Note [shared launches]. A model launches the same operator on tensors of the same types again and again. What the operator's
// schedule makes of a launch depends on the definition, on attributes, and on what is known of the tensors: types, extents,
// layouts, alignment, and which of them are the same tensor. So the statements that the first such launch gave are copied for the
// others, with their tensors in place of its tensors; kernels, which are functions of the module, are launched again.
//
//   * Only definitions and schedules of modules are shared: others may depend on values of the host function.
//   * Statements may name values that the host function computed before. Those are there wherever the control-flow region of the
//     first launch is around the later one.
//   * Planning that changes data of a module is not repeated, so it is not shared.
//   * The steps of each launch are counted by themselves (tc_call_apart).
#include <string.h>

#include "typecheck/kernels/kernels.h"

// The arguments of launch_once, in their order.
enum { SCHEDULE, DEFINITION, OPERANDS, RESULTS, NAMED, ARGUMENTS };

typedef struct tc_shared_launch {
    tc_value arguments[ARGUMENTS];
    const tc_env *env;
    int region;
    uint32_t site;              // of the call
    VEC(ir_stmt *) statements;  // that it gave
    struct tc_shared_launch *before; // of the same definition
} tc_shared_launch;

static bool same_number(tc_value a, tc_value b)
{
    return a.kind == TC_RT && b.kind == TC_RT ? ir_expr_equal(a.rt, b.rt) : tc_equal(a, b);
}

static bool same_layout(const ir_tensor *a, const ir_tensor *b)
{
    if (!a->layout != !b->layout || (a->layout && !tm_layout_equal(a->layout, b->layout)))
        return false;
    if (!a->strides != !b->strides || a->is_strided != b->is_strided)
        return false;
    for (int d = 0; a->strides && d < a->rank; d++)
        if (!ir_expr_equal(a->strides[d], b->strides[d]))
            return false;
    return true;
}

// Whether as much is known of both tensors.
static bool same_tensor(const tc_tensor *a, const tc_tensor *b)
{
    const ir_tensor *x = a->base->tensor, *y = b->base->tensor;
    bool same = !a->is_view && !b->is_view && a->is_const == b->is_const && x->elem == y->elem && x->space == y->space &&
                x->rank == y->rank && x->align_bytes == y->align_bytes && tc_align_of(a) == tc_align_of(b);
    for (int d = 0; same && d < x->rank; d++)
        same = same_number(a->shape[d], b->shape[d]);
    return same && same_layout(x, y);
}

static bool same_value(tc_value a, tc_value b);

static bool same_values(const tc_list *a, const tc_list *b)
{
    if (a->len != b->len)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (!same_value(a->at[i], b->at[i]))
            return false;
    return true;
}

static bool same_value(tc_value a, tc_value b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case TC_TENSOR: return same_tensor(a.tensor, b.tensor);
    case TC_TUPLE:
    case TC_LIST: return same_values(a.list, b.list);
    case TC_DICT: // its keys are names
        return same_values(&a.dict->keys, &b.dict->keys) && same_values(&a.dict->values, &b.dict->values);
    default: return same_number(a, b);
    }
}

static void add_tensors(tc *tx, tc_value list, tc_list *out)
{
    for (size_t i = 0; i < list.list->len; i++)
        if (list.list->at[i].kind == TC_TENSOR)
            VEC_PUSH(tx->arena, out, list.list->at[i]);
}

// The tensors of a launch: operands, then results.
static tc_list tensors_of(tc *tx, const tc_value *arguments)
{
    tc_list list = {0};
    add_tensors(tx, arguments[OPERANDS], &list);
    add_tensors(tx, arguments[RESULTS], &list);
    return list;
}

// Enters the tensors of the launch under way for those of the earlier one; false if other ones are one tensor.
static bool match_tensors(tc *tx, const tc_list *earlier, const tc_list *now, map *substitution)
{
    for (size_t i = 0; i < now->len; i++)
        for (size_t k = 0; k < i; k++)
            if ((earlier->at[i].tensor->base == earlier->at[k].tensor->base) !=
                (now->at[i].tensor->base == now->at[k].tensor->base))
                return false;
    for (size_t i = 0; i < now->len; i++)
        map_put_ptr(substitution, earlier->at[i].tensor->base, ir_read(tx->ir, now->at[i].tensor->base, (src_span){0}));
    return true;
}

static tc_shared_launch *find_launch(tc *tx, const tc_value *arguments, map *substitution)
{
    tc_list now = tensors_of(tx, arguments);
    tc_shared_launch *found = map_get_ptr(&tx->lifetime->launches, arguments[DEFINITION].function);
    for (; found; found = found->before) {
        bool same = found->env == tx->env && tc_in_region(tx, found->region);
        for (int i = 0; same && i < ARGUMENTS; i++)
            same = same_value(found->arguments[i], arguments[i]);
        tc_list earlier = same ? tensors_of(tx, found->arguments) : (tc_list){0};
        if (same && match_tensors(tx, &earlier, &now, substitution))
            return found;
    }
    return NULL;
}

// ---- the statements of an earlier launch -------------------------------------------------------------------------------

typedef struct relocation {
    tc *tx;
    uint32_t from, to; // sites of both calls
    map known;         // a site's number -> the number of its copy + 1
} relocation;

// The same calls from the launch on.
static uint32_t relocated(relocation *r, uint32_t number)
{
    if (number == r->from || !number)
        return number ? r->to : 0;
    uintptr_t known = (uintptr_t)map_get(&r->known, &number, sizeof number);
    if (known)
        return (uint32_t)(known - 1);
    const ir_site site = *ir_site_at(r->tx->ir, number);
    uint32_t parent = relocated(r, site.parent);
    uint32_t copy = parent == site.parent ? number : ir_site_add(r->tx->ir, site.span, parent, site.callee);
    uint32_t *key = arena_dup(r->tx->arena, &number, sizeof number);
    map_put(&r->known, key, sizeof *key, (void *)((uintptr_t)copy + 1));
    return copy;
}

static void relocate(void *user, ir_stmt *s)
{
    relocation *r = user;
    s->origin = relocated(r, s->origin);
}

static void copy_statements(tc *tx, const tc_shared_launch *l, map *substitution)
{
    relocation r = {.tx = tx, .from = l->site, .to = tc_site(tx)};
    map_init(&r.known, tx->arena);
    ir_block copies = {0};
    for (size_t i = 0; i < l->statements.len; i++)
        ir_append(tx->ir, &copies, ir_clone_stmt(tx->ir, l->statements.at[i], substitution));
    ir_walk(&copies, relocate, &r);
    for (size_t i = 0; i < copies.stmts.len; i++)
        tc_emit(tx, copies.stmts.at[i]);
}

// ---- launches --------------------------------------------------------------------------------------------------------

// Of a module, so that it does not depend on values of the host function.
static bool is_lasting(const tc_value *v)
{
    if (v->kind == TC_RECORD)
        return v->record->born == 0;
    return v->kind == TC_FUNCTION && v->function->closure && v->function->closure->kind == TC_SCOPE_MODULE &&
           !v->function->self;
}

static bool are_tensors(const tc_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        if (list->at[i].kind != TC_NONE && (list->at[i].kind != TC_TENSOR || list->at[i].tensor->is_view))
            return false;
    return true;
}

static bool is_shareable(const tc *tx, const tc_value *arguments)
{
    return tc_on_host(tx) && !tx->speculating && tx->lifetime && tx->block && is_lasting(&arguments[SCHEDULE]) &&
           is_lasting(&arguments[DEFINITION]) && arguments[DEFINITION].kind == TC_FUNCTION &&
           are_tensors(arguments[OPERANDS].list) && are_tensors(arguments[RESULTS].list);
}

static tc_value plan(tc *tx, const tc_value *arguments, src_span span)
{
    return tc_call_apart(tx, arguments[SCHEDULE], arguments + DEFINITION, ARGUMENTS - DEFINITION, span);
}

// What planning makes is given back when the statements stand, unless it changed what is older.
static tc_value plan_and_keep(tc *tx, const tc_value *arguments, src_span span)
{
    ir_block *block = tx->block;
    size_t first = block->stmts.len;
    int errors = tx->diags->error_count;
    tc_lifetime planning;
    tc_lifetime_begin(tx, &planning);
    tc_value v = plan(tx, arguments, span);
    tc_lifetime_end(tx, &planning);
    if (tx->aborted || tx->diags->error_count != errors || tx->block != block || planning.keeps)
        return planning.keeps ? v : tc_none();
    tc_shared_launch *l = ARENA_NEW(tx->arena, tc_shared_launch);
    *l = (tc_shared_launch){.env = tx->env, .region = tx->region, .site = tc_site(tx)};
    memcpy(l->arguments, arguments, sizeof l->arguments);
    for (size_t i = first; i < block->stmts.len; i++)
        VEC_PUSH(tx->arena, &l->statements, block->stmts.at[i]);
    l->before = map_get_ptr(&tx->lifetime->launches, arguments[DEFINITION].function);
    map_put_ptr(&tx->lifetime->launches, arguments[DEFINITION].function, l);
    return tc_none();
}

static tc_value launch_once(tc *tx, const tc_value *arguments, src_span span)
{
    bool is_tuples = arguments[OPERANDS].kind == TC_TUPLE && arguments[RESULTS].kind == TC_TUPLE;
    if (!is_tuples || !is_shareable(tx, arguments))
        return plan(tx, arguments, span);
    map substitution;
    map_init(&substitution, tx->arena);
    const tc_shared_launch *known = find_launch(tx, arguments, &substitution);
    if (!known)
        return plan_and_keep(tx, arguments, span);
    copy_statements(tx, known, &substitution);
    return tc_none();
}

tc_value tc_native_launch_once(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value arguments[ARGUMENTS];
    for (int i = 0; i < ARGUMENTS; i++)
        arguments[i] = args->list.at[i].value;
    tc_value v = launch_once(tx, arguments, args->span);
    if (tx->options->launched && !tx->apart && !tx->speculating && !tx->aborted)
        tx->options->launched(tx->options->launched_user);
    return v;
}
