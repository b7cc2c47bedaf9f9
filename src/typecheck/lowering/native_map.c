// Task mappings and layouts as the language sees them: constructors and methods.
#include "typecheck/lowering/lowering.h"

#include <string.h>

enum { CTOR_SPATIAL, CTOR_COL_SPATIAL, CTOR_REPEAT, CTOR_COL_REPEAT };

bool tc_int_list(tc *tx, tc_value v, src_span span, int64_t *out, int *len, const char *what)
{
    if (v.kind != TC_TUPLE && v.kind != TC_LIST) {
        tc_error(tx, HDS0184, span, what, "a list of ints", tc_describe(tx, v));
        return false;
    }
    *len = 0;
    for (size_t i = 0; i < v.list->len; i++) {
        if (*len == TM_MAX_RANK) {
            tc_error(tx, HDS0180, span, TM_MAX_RANK);
            return false;
        }
        if (!tc_as_int64(v.list->at[i], &out[(*len)++])) {
            diag *d = tc_error(tx, HDS0184, span, what, "int", tc_describe(tx, v.list->at[i]));
            if (v.list->at[i].kind == TC_RT)
                diag_help(d, "its extents must be known while compiling");
            return false;
        }
    }
    return true;
}

static tc_value reason_error(tc *tx, tm_reason why, src_span span)
{
    return TC_ERR(tx, HDS0124, span, tm_reason_text(why));
}

// [why] is read after the call that sets it, which may stand in the same list of arguments.
static tc_value map_or_error(tc *tx, const tm_map *m, const tm_reason *why, src_span span)
{
    return m ? tc_map_value(m) : reason_error(tx, *why, span);
}

static tc_value layout_or_error(tc *tx, const tm_layout *l, const tm_reason *why, src_span span)
{
    return l ? tc_layout_value(l) : reason_error(tx, *why, span);
}

// Positional integers, or one list of them; keywords are left to the caller.
static bool extents(tc *tx, tc_args *args, int64_t *shape, int *rank, const char *what)
{
    tc_value list = tc_list_new(tx, TC_LIST, NULL, 0);
    for (size_t i = 0; i < args->list.len; i++)
        if (!args->list.at[i].name)
            tc_list_push(tx, list.list, args->list.at[i].value);
    if (list.list->len == 1 && (list.list->at[0].kind == TC_TUPLE || list.list->at[0].kind == TC_LIST))
        list = list.list->at[0];
    return tc_int_list(tx, list, args->span, shape, rank, what);
}

static tc_value *named(tc *tx, tc_args *args, const char *name)
{
    sym s = sym_of(tx->syms, name);
    for (size_t i = 0; i < args->list.len; i++)
        if (args->list.at[i].name == s)
            return &args->list.at[i].value;
    return NULL;
}

// Whether all keywords are among [allowed], a NULL-terminated list.
static bool keywords_known(tc *tx, const char *what, tc_args *args, const char *const *allowed)
{
    for (size_t i = 0; i < args->list.len; i++) {
        sym name = args->list.at[i].name;
        bool known = !name;
        for (int k = 0; !known && allowed[k]; k++)
            known = strcmp(allowed[k], name->text) == 0;
        if (known)
            continue;
        diag *d = tc_error(tx, HDS0211, args->list.at[i].span, what, name->text);
        const char *close = tc_suggest(tx, allowed, sym_str(name));
        if (close)
            diag_help(d, "did you mean '%s'?", close);
        return false;
    }
    return true;
}

static bool ranks_of(tc *tx, tc_value *v, src_span span, int rank, int *ranks, bool *given)
{
    *given = v && v->kind != TC_NONE;
    if (!*given)
        return true;
    int64_t wide[TM_MAX_RANK];
    int n;
    if (!tc_int_list(tx, *v, span, wide, &n, "ranks"))
        return false;
    if (n != rank) {
        reason_error(tx, TM_BAD_RANKS, span);
        return false;
    }
    for (int i = 0; i < n; i++)
        ranks[i] = (int)wide[i];
    return true;
}

static const char *attrs_of(tc *tx, tc_value *v, src_span span, bool *ok)
{
    if (!v || v->kind == TC_NONE)
        return NULL;
    if (v->kind != TC_STR) {
        tc_error(tx, HDS0184, span, "attrs", "str", tc_describe(tx, *v));
        *ok = false;
        return NULL;
    }
    return arena_strndup(tx->arena, v->s.at, v->s.len);
}

static tc_value construct(tc *tx, int which, tc_args *args)
{
    bool repeats = which == CTOR_REPEAT || which == CTOR_COL_REPEAT;
    static const char *const of_spatial[] = {"ranks", NULL}, *const of_repeat[] = {"ranks", "attrs", NULL};
    if (!keywords_known(tx, repeats ? "repeat" : "spatial", args, repeats ? of_repeat : of_spatial))
        return tc_poison();
    int64_t shape[TM_MAX_RANK];
    int rank, ranks[TM_MAX_RANK];
    bool given, ok = true;
    if (!extents(tx, args, shape, &rank, "an extent"))
        return tc_poison();
    if (!ranks_of(tx, named(tx, args, "ranks"), args->span, rank, ranks, &given))
        return tc_poison();
    if (!given && (which == CTOR_COL_SPATIAL || which == CTOR_COL_REPEAT)) {
        for (int i = 0; i < rank; i++)
            ranks[i] = rank - 1 - i;
        given = true;
    }
    const char *attrs = attrs_of(tx, named(tx, args, "attrs"), args->span, &ok);
    if (!ok)
        return tc_poison();
    tm_reason why = TM_OK;
    const tm_map *m = repeats ? tm_repeat(tx->ir->arena, rank, shape, given ? ranks : NULL, attrs, &why)
                              : tm_spatial(tx->ir->arena, rank, shape, given ? ranks : NULL, &why);
    return map_or_error(tx, m, &why, args->span);
}

tc_value tc_native_mapping(tc *tx, const tc_native *self, tc_args *args)
{
    return construct(tx, self->data, args);
}

// spatial_map(shape, ranks), repeat_map(shape, ranks, attrs)
tc_value tc_native_mapping_map(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value *shape_value = tc_arg_get(args, self->params, 0);
    int64_t shape[TM_MAX_RANK];
    int rank, ranks[TM_MAX_RANK];
    bool given, ok = true;
    if (!tc_int_list(tx, *shape_value, args->span, shape, &rank, "the shape") ||
        !ranks_of(tx, tc_arg_get(args, self->params, 1), args->span, rank, ranks, &given))
        return tc_poison();
    const char *attrs =
        self->data == CTOR_REPEAT ? attrs_of(tx, tc_arg_get(args, self->params, 2), args->span, &ok) : NULL;
    if (!ok)
        return tc_poison();
    tm_reason why = TM_OK;
    const tm_map *m = self->data == CTOR_REPEAT ? tm_repeat(tx->ir->arena, rank, shape, given ? ranks : NULL, attrs, &why)
                                                : tm_spatial(tx->ir->arena, rank, shape, given ? ranks : NULL, &why);
    return map_or_error(tx, m, &why, args->span);
}

tc_value tc_native_auto_map(tc *tx, const tc_native *self, tc_args *args)
{
    int64_t shape[TM_MAX_RANK], workers;
    int rank, ranks[TM_MAX_RANK];
    bool given;
    static const char *const keywords[] = {"workers", "ranks", "on_fail", NULL};
    if (!keywords_known(tx, self->name, args, keywords))
        return tc_poison();
    tc_value *w = named(tx, args, "workers");
    if (!extents(tx, args, shape, &rank, "an extent"))
        return tc_poison();
    if (!w || !tc_as_int64(*w, &workers))
        return TC_ERR(tx, HDS0213, args->span, self->name, "workers");
    if (!ranks_of(tx, named(tx, args, "ranks"), args->span, rank, ranks, &given))
        return tc_poison();
    tm_reason why = TM_OK;
    if (self->data == 0) {
        const tm_map *m = tm_auto(tx->ir->arena, rank, shape, workers, given ? ranks : NULL, &why);
        if (m)
            return tc_map_value(m);
        tc_value *on_fail = named(tx, args, "on_fail");
        if (on_fail && on_fail->kind != TC_NONE) {
            tc_value text = tc_str(str_of(tm_reason_text(why)));
            tc_value r = tc_call_values(tx, *on_fail, &text, 1, args->span);
            return tc_is_poison(r) ? r : tc_none();
        }
        diag *d = tc_error(tx, HDS0124, args->span, tm_reason_text(why));
        if (why == TM_NOT_DIVISIBLE)
            diag_help(d, "use predicated_auto_map, or a number of workers that divides the number of tasks");
        return tc_poison();
    }
    const tm_map *m = tm_auto_predicated(tx->ir->arena, rank, shape, workers, given ? ranks : NULL, &why);
    return map_or_error(tx, m, &why, args->span);
}

tc_value tc_native_chain(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value r = args->list.at[0].value;
    for (size_t i = 1; i < args->list.len; i++)
        r = tc_binary(tx, AST_OP_MUL, r, args->list.at[i].value, args->span);
    return r;
}

// ---- layouts -----------------------------------------------------------------------------------------------------

tc_value tc_native_layout(tc *tx, const tc_native *self, tc_args *args)
{
    int64_t shape[TM_MAX_RANK];
    int rank;
    if (!extents(tx, args, shape, &rank, "an extent"))
        return tc_poison();
    tm_reason why = TM_OK;
    const tm_layout *l = self->data == 0   ? tm_layout_row_major(tx->ir->arena, rank, shape, &why)
                         : self->data == 1 ? tm_layout_column_major(tx->ir->arena, rank, shape, &why)
                                           : tm_layout_local(tx->ir->arena, rank, shape, &why);
    return layout_or_error(tx, l, &why, args->span);
}

tc_value tc_native_strided_layout(tc *tx, const tc_native *self, tc_args *args)
{
    int64_t shape[TM_MAX_RANK], strides[TM_MAX_RANK];
    int rank, n, ranks[TM_MAX_RANK];
    bool given;
    tm_reason why = TM_OK;
    if (!tc_int_list(tx, *tc_arg_get(args, self->params, 0), args->span, shape, &rank, "the shape"))
        return tc_poison();
    tc_value *s = tc_arg_get(args, self->params, 2);
    if (s && s->kind != TC_NONE) {
        if (!tc_int_list(tx, *s, args->span, strides, &n, "strides"))
            return tc_poison();
        if (n != rank)
            return reason_error(tx, TM_RANK_MISMATCH, args->span);
        return layout_or_error(tx, tm_layout_strided(tx->ir->arena, rank, shape, strides, &why), &why, args->span);
    }
    if (!ranks_of(tx, tc_arg_get(args, self->params, 1), args->span, rank, ranks, &given))
        return tc_poison();
    const tm_layout *l = given ? tm_layout_ranked(tx->ir->arena, rank, shape, ranks, &why)
                               : tm_layout_row_major(tx->ir->arena, rank, shape, &why);
    return layout_or_error(tx, l, &why, args->span);
}

// register_layout(mapping): the layout of a register tensor distributed by the mapping.
tc_value tc_native_register_layout(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    if (args->list.at[0].value.kind != TC_MAP)
        return TC_ERR(tx, HDS0184, args->span, "the argument", "mapping", tc_describe(tx, args->list.at[0].value));
    return tc_layout_value(tm_layout_of_map(tx->ir->arena, args->list.at[0].value.map));
}

static tc_value rt_offset(tc *tx, const tm_layout *l, tc_args *args);

static tc_value rt_offset_args(tc *tx, const tm_layout *l, tc_value *idx, src_span span)
{
    tc_args args = {.span = span};
    for (int i = 0; i < l->rank; i++)
        VEC_PUSH(tx->arena, &args.list, ((tc_arg){.name = NULL, .value = idx[i], .span = span}));
    return rt_offset(tx, l, &args);
}

// The offset as arithmetic over run-time indices, by the same rules as tm_layout_offset.
static tc_value rt_offset(tc *tx, const tm_layout *l, tc_args *args)
{
    src_span span = args->span;
    tc_value idx[TM_MAX_RANK], part[TM_MAX_RANK];
    for (int i = 0; i < l->rank; i++)
        idx[i] = args->list.at[i].value;
    switch (l->kind) {
    case TM_LAYOUT_STRIDED: {
        tc_value sum = tc_of_int(0);
        for (int i = 0; i < l->rank; i++) {
            tc_value term =
                l->strides[i] == 1 ? idx[i] : tc_binary(tx, AST_OP_MUL, idx[i], tc_of_int(l->strides[i]), span);
            bool zero = sum.kind == TC_INT && sum.i == 0;
            sum = l->strides[i] == 0 ? sum : zero ? term : tc_binary(tx, AST_OP_ADD, sum, term, span);
        }
        return sum;
    }
    case TM_LAYOUT_COMPOSE: {
        for (int i = 0; i < l->rank; i++)
            part[i] = tc_binary(tx, AST_OP_FLOORDIV, idx[i], tc_of_int(l->inner->shape[i]), span);
        tc_value outer = rt_offset_args(tx, l->outer, part, span);
        for (int i = 0; i < l->rank; i++)
            part[i] = tc_binary(tx, AST_OP_MOD, idx[i], tc_of_int(l->inner->shape[i]), span);
        tc_value inner = rt_offset_args(tx, l->inner, part, span);
        return tc_binary(tx, AST_OP_ADD, tc_binary(tx, AST_OP_MUL, outer, tc_of_int(l->inner->size), span), inner,
                         span);
    }
    case TM_LAYOUT_CONCAT: {
        tc_value outer = rt_offset_args(tx, l->outer, idx, span),
                 inner = rt_offset_args(tx, l->inner, idx + l->outer->rank, span);
        return tc_binary(tx, AST_OP_ADD, tc_binary(tx, AST_OP_MUL, outer, tc_of_int(l->inner->size), span), inner,
                         span);
    }
    case TM_LAYOUT_XOR: {
        tc_value o = rt_offset_args(tx, l->inner, idx, span);
        tc_value high = tc_binary(tx, AST_OP_AND, tc_binary(tx, AST_OP_SHR, o, tc_of_int(l->shift), span),
                                  tc_of_int((((int64_t)1 << l->bits) - 1) << l->base_bits), span);
        return tc_binary(tx, AST_OP_XOR, o, high, span);
    }
    case TM_LAYOUT_PERMUTE:
        for (int i = 0; i < l->rank; i++)
            part[l->perm[i]] = idx[i];
        return rt_offset_args(tx, l->inner, part, span);
    default:
        return TC_ERR(tx, HDS0260, span);
    }
}

static tc_value layout_call(tc *tx, const tm_layout *l, tc_args *args)
{
    if ((int)args->list.len != l->rank)
        return TC_ERR(tx, HDS0191, args->span, "the layout", l->rank, (long)args->list.len);
    int64_t index[TM_MAX_RANK];
    bool known = true;
    for (int i = 0; i < l->rank; i++)
        known &= tc_as_int64(args->list.at[i].value, &index[i]);
    if (!known)
        return rt_offset(tx, l, args);
    if (!tm_layout_in_bounds(l, index))
        return TC_ERR(tx, HDS0261, args->span);
    return tc_of_int(tm_layout_offset(l, index));
}

// ---- methods -----------------------------------------------------------------------------------------------------

static tc_value int_tuple(tc *tx, const int64_t *values, int n)
{
    tc_value t = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (int i = 0; i < n; i++)
        tc_list_push(tx, t.list, tc_of_int(values[i]));
    return t;
}

tc_value tc_native_map_attribute(tc *tx, const tm_map *m, str name, bool *found)
{
    *found = true;
    if (str_equal(name, STR("workers")) || str_equal(name, STR("num_workers")))
        return tc_of_int(m->workers);
    if (str_equal(name, STR("shape")) || str_equal(name, STR("task_shape")))
        return int_tuple(tx, m->shape, m->rank);
    if (str_equal(name, STR("rank")))
        return tc_of_int(m->rank);
    if (str_equal(name, STR("tasks_per_worker")))
        return tc_of_int(m->tasks_per_worker);
    *found = false;
    return tc_poison();
}

tc_value tc_native_layout_attribute(tc *tx, const tm_layout *l, str name, bool *found)
{
    *found = true;
    if (str_equal(name, STR("shape")))
        return int_tuple(tx, l->shape, l->rank);
    if (str_equal(name, STR("size")))
        return tc_of_int(l->size);
    if (str_equal(name, STR("rank")))
        return tc_of_int(l->rank);
    *found = false;
    return tc_poison();
}

static bool dim_argument(tc *tx, tc_args *args, int rank, int64_t *dim)
{
    if (args->list.len != 1 || !tc_as_int64(args->list.at[0].value, dim)) {
        tc_error(tx, HDS0184, args->span, "the dimension", "int",
                 args->list.len ? tc_describe(tx, args->list.at[0].value) : "nothing");
        return false;
    }
    if (*dim < 0)
        *dim += rank;
    return true;
}

static tc_value map_on(tc *tx, const tm_map *m, tc_args *args)
{
    static const char *const keywords[] = {"bind_tuple", NULL};
    if (!keywords_known(tx, "on", args, keywords))
        return tc_poison();
    if (args->list.len < 1)
        return TC_ERR(tx, HDS0213, args->span, "on", "worker");
    ir_expr *w = tc_to_index(tx, args->list.at[0].value, args->list.at[0].span);
    if (!w)
        return tc_poison();
    tc_tasks *t = ARENA_NEW(tx->arena, tc_tasks);
    t->map = m;
    t->worker = w;
    tc_value *as_tuple = named(tx, args, "bind_tuple");
    t->as_tuple = as_tuple && as_tuple->kind == TC_BOOL && as_tuple->b;
    int64_t known;
    if (ir_const_int(w, &known) && (known < 0 || known >= m->workers))
        return TC_ERR(tx, HDS0140, args->span, tc_text(tx, tc_of_int(known)), (long)m->workers);
    return (tc_value){.kind = TC_TASKS, .tasks = t};
}

// The only task of a worker, as arithmetic over its number.
static tc_value map_single(tc *tx, const tm_map *m, tc_args *args)
{
    if (m->tasks_per_worker != 1)
        return TC_ERR(tx, HDS0124, args->span, tm_reason_text(TM_NOT_SINGLE));
    if (args->list.len != 1)
        return TC_ERR(tx, HDS0213, args->span, "map", "worker");
    tc_value w = args->list.at[0].value;
    if (!tc_is_index(w))
        return TC_ERR(tx, HDS0113, args->span, tc_describe(tx, w));
    w = tc_freeze(tx, w, args->span);
    tc_value coords = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (int d = 0; d < m->rank; d++)
        tc_list_push(tx, coords.list, tc_of_int(0));
    int64_t below = 1;
    bool top = true;
    int first = 0;
    while (first < m->digit_count && (m->digits[first].kind != TM_SPATIAL || m->digits[first].extent == 1))
        first++;
    for (int k = m->digit_count - 1; k >= 0; k--) {
        const tm_digit *digit = &m->digits[k];
        if (digit->kind != TM_SPATIAL || digit->extent == 1)
            continue;
        tc_value v = below == 1 ? w : tc_binary(tx, AST_OP_FLOORDIV, w, tc_of_int(below), args->span);
        top = k == first;
        if (!top)
            v = tc_binary(tx, AST_OP_MOD, v, tc_of_int(digit->extent), args->span);
        below *= digit->extent;
        if (digit->dim < 0)
            continue;
        if (digit->stride != 1)
            v = tc_binary(tx, AST_OP_MUL, v, tc_of_int(digit->stride), args->span);
        tc_value *at = &coords.list->at[digit->dim];
        *at = at->kind == TC_INT && at->i == 0 ? v : tc_binary(tx, AST_OP_ADD, *at, v, args->span);
    }
    return coords;
}

static tc_value shared_steps(tc *tx, const tm_map *m, tc_args *args)
{
    int64_t dim;
    if (!dim_argument(tx, args, m->rank, &dim))
        return tc_poison();
    if (dim < 0 || dim >= m->rank)
        return reason_error(tx, TM_BAD_DIM, args->span);
    tm_step steps[TM_MAX_DIGITS];
    int n = tm_shared_steps(m, (int)dim, steps);
    tc_value out = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (int i = 0; i < n; i++) {
        int64_t pair[2] = {steps[i].stride, steps[i].extent};
        tc_list_push(tx, out.list, int_tuple(tx, pair, 2));
    }
    return out;
}

static tc_value projection(tc *tx, const tm_map *m, tc_args *args)
{
    if (args->list.len != 1 || args->list.at[0].value.kind != TC_DICT)
        return TC_ERR(tx, HDS0184, args->span, "the projection", "dict",
                      args->list.len ? tc_describe(tx, args->list.at[0].value) : "nothing");
    const tc_dict *d = args->list.at[0].value.dict;
    tm_reason why = TM_OK;
    for (size_t i = 0; i < d->keys.len; i++) {
        int64_t dim, to;
        if (!tc_as_int64(d->keys.at[i], &dim) || !tc_as_int64(d->values.at[i], &to) || to != 0)
            return reason_error(tx, TM_BAD_DIM, args->span);
        m = tm_project(tx->ir->arena, m, (int)dim, &why);
        if (!m)
            return reason_error(tx, why, args->span);
    }
    return tc_map_value(m);
}

static bool permutation(tc *tx, tc_args *args, int rank, int *perm)
{
    int64_t wide[TM_MAX_RANK];
    int n;
    if (!extents(tx, args, wide, &n, "a dimension"))
        return false;
    if (n != rank) {
        reason_error(tx, TM_BAD_RANKS, args->span);
        return false;
    }
    for (int i = 0; i < n; i++)
        perm[i] = (int)wide[i];
    return true;
}

tc_value tc_native_map_method(tc *tx, const tm_map *m, str name, tc_args *args, bool *found)
{
    *found = true;
    tm_reason why = TM_OK;
    int perm[TM_MAX_RANK];
    if (str_equal(name, STR("on")))
        return map_on(tx, m, args);
    if (str_equal(name, STR("map")) || str_equal(name, STR("single_task_of")))
        return map_single(tx, m, args);
    if (str_equal(name, STR("shared_steps")))
        return shared_steps(tx, m, args);
    if (str_equal(name, STR("projection")))
        return projection(tx, m, args);
    if (str_equal(name, STR("without"))) {
        int64_t dim;
        if (!dim_argument(tx, args, m->rank, &dim))
            return tc_poison();
        return map_or_error(tx, tm_without(tx->ir->arena, m, (int)dim, &why), &why, args->span);
    }
    if (str_equal(name, STR("permute")))
        return permutation(tx, args, m->rank, perm)
                   ? map_or_error(tx, tm_permute(tx->ir->arena, m, perm, &why), &why, args->span)
                   : tc_poison();
    bool spatial = str_equal(name, STR("spatial")), repeat = str_equal(name, STR("repeat"));
    if (spatial || repeat) {
        tc_value inner = construct(tx, spatial ? CTOR_SPATIAL : CTOR_REPEAT, args);
        return tc_binary(tx, AST_OP_MUL, tc_map_value(m), inner, args->span);
    }
    *found = false;
    return tc_poison();
}

static int int_argument(tc *tx, tc_args *args, int position, const char *name, int fallback)
{
    sym s = sym_of(tx->syms, name);
    int seen = 0;
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        bool this_one = a->name ? a->name == s : seen++ == position;
        int64_t v;
        if (this_one && tc_as_int64(a->value, &v) && v >= -1 && v < 1 << 20)
            return (int)v;
    }
    return fallback;
}

tc_value tc_native_layout_method(tc *tx, const tm_layout *l, str name, tc_args *args, bool *found)
{
    static const char *const of_swizzle[] = {"dim", "regards_dim", "log_step", NULL}, *const of_xor[] = {"bits", "base",
                                                                                                         "shift", NULL};
    static const char *const none[] = {NULL};
    *found = true;
    bool swizzles = str_equal(name, STR("swizzle")), xors = str_equal(name, STR("xor"));
    if (!keywords_known(tx, arena_strndup(tx->arena, name.at, name.len), args,
                        swizzles ? of_swizzle
                        : xors   ? of_xor
                                 : none))
        return tc_poison();
    for (size_t i = 0; (swizzles || xors) && i < args->list.len; i++) {
        int64_t known;
        if (!tc_as_int64(args->list.at[i].value, &known) && args->list.at[i].value.kind != TC_NONE)
            return TC_ERR(tx, HDS0184, args->list.at[i].span, "an argument", "int",
                          tc_describe(tx, args->list.at[i].value));
    }
    tm_reason why = TM_OK;
    if (str_equal(name, STR("__call__")))
        return layout_call(tx, l, args);
    if (str_equal(name, STR("swizzle"))) {
        int dim = int_argument(tx, args, 0, "dim", -2), regards = int_argument(tx, args, 1, "regards_dim", -1);
        int step = int_argument(tx, args, 2, "log_step", 0);
        if (dim < 0 || dim >= l->rank)
            return reason_error(tx, TM_BAD_DIM, args->span);
        return layout_or_error(tx, tm_layout_swizzle(tx->ir->arena, l, dim, regards, step, &why), &why, args->span);
    }
    if (str_equal(name, STR("xor"))) {
        int bits = int_argument(tx, args, 0, "bits", -1), base = int_argument(tx, args, 1, "base", -1),
            shift = int_argument(tx, args, 2, "shift", -1);
        return layout_or_error(tx, tm_layout_xor(tx->ir->arena, l, bits, base, shift, &why), &why, args->span);
    }
    if (str_equal(name, STR("reshape"))) {
        int64_t shape[TM_MAX_RANK];
        int rank;
        if (!extents(tx, args, shape, &rank, "an extent"))
            return tc_poison();
        return layout_or_error(tx, tm_layout_reshape(tx->ir->arena, l, rank, shape, &why), &why, args->span);
    }
    if (str_equal(name, STR("permute"))) {
        int perm[TM_MAX_RANK];
        return permutation(tx, args, l->rank, perm)
                   ? layout_or_error(tx, tm_layout_permute(tx->ir->arena, l, perm, &why), &why, args->span)
                   : tc_poison();
    }
    if (str_equal(name, STR("within_bound"))) {
        int64_t index[TM_MAX_RANK];
        int n;
        if (!extents(tx, args, index, &n, "an index"))
            return tc_poison();
        return tc_bool(n == l->rank && tm_layout_in_bounds(l, index));
    }
    static const char *const chained[] = {"row_major", "column_major", "local"};
    for (int i = 0; i < 3; i++)
        if (str_equal(name, str_of(chained[i]))) {
            tc_native ctor = {.name = chained[i], .data = i};
            return tc_binary(tx, AST_OP_MUL, tc_layout_value(l), tc_native_layout(tx, &ctor, args), args->span);
        }
    *found = false;
    return tc_poison();
}
