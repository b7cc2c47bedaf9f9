// Subscripts, slices, and what a loop goes over.
#include "typecheck/eval/eval.h"
#include "typecheck/values/text.h"

// ---- subscripts and iteration ------------------------------------------------------------------------------------

// The characters of a text as a list, so that they can be counted.
static tc_value characters(tc *tx, str s)
{
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    while (s.len) {
        size_t len = tc_char_len(s);
        tc_list_push(tx, r.list, tc_str((str){s.at, len}));
        s = (str){s.at + len, s.len - len};
    }
    return r;
}

static tc_int clamp(tc_int b, tc_int low, tc_int high)
{
    return b < low ? low : b > high ? high : b;
}

// What start:stop:step means for a sequence of [len] items. False after an error.
static bool slice_bounds(tc *tx, const ast_slice *s, tc_int len, tc_int out[3])
{
    tc_value parts[3];
    const ast_expr *written[3] = {s->start, s->stop, s->step};
    for (int i = 0; i < 3; i++) {
        parts[i] = written[i] ? tc_eval(tx, written[i]) : tc_none();
        if (tc_is_poison(parts[i]))
            return false;
        if (parts[i].kind == TC_BOOL)
            parts[i] = tc_of_int(parts[i].b);
        if (parts[i].kind != TC_NONE && parts[i].kind != TC_INT) {
            tc_error(tx, HDS0137, written[i]->span, tc_describe(tx, parts[i]));
            return false;
        }
    }
    tc_int step = parts[2].kind == TC_INT ? clamp(parts[2].i, -len - 1, len + 1) : 1;
    if (step == 0) {
        tc_error(tx, HDS0138, s->node.span);
        return false;
    }
    tc_int low = step > 0 ? 0 : -1, high = step > 0 ? len : len - 1;
    for (int i = 0; i < 2; i++) {
        tc_int b = (i == 0) == (step > 0) ? low : high;
        if (parts[i].kind == TC_INT)
            b = clamp(parts[i].i < 0 ? parts[i].i + len : parts[i].i, low, high);
        out[i] = b;
    }
    out[2] = step;
    return true;
}

static tc_value ct_slice(tc *tx, tc_value v, const ast_slice *s)
{
    tc_value items = v.kind == TC_STR ? characters(tx, v.s) : v;
    tc_int bounds[3];
    if (!slice_bounds(tx, s, (tc_int)items.list->len, bounds))
        return tc_poison();
    str_buf text;
    str_buf_init(&text, tx->arena);
    tc_value r = v.kind == TC_STR ? v : tc_list_new(tx, v.kind, NULL, 0);
    for (tc_int i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1]; i += bounds[2]) {
        if (v.kind == TC_STR)
            str_add(&text, items.list->at[i].s);
        else
            tc_list_push(tx, r.list, v.list->at[i]);
    }
    return v.kind == TC_STR ? tc_str((str){str_text(&text), text.len}) : r;
}

// A slice of a range is a range.
static tc_value range_slice(tc *tx, const tc_range *r, const ast_slice *s)
{
    tc_int bounds[3];
    if (!slice_bounds(tx, s, tc_range_len(r), bounds))
        return tc_poison();
    tc_range *part = ARENA_NEW(tx->arena, tc_range);
    *part = *r;
    if (__builtin_mul_overflow(bounds[0], r->step, &part->start) ||
        __builtin_add_overflow(part->start, r->start, &part->start) ||
        __builtin_mul_overflow(bounds[1], r->step, &part->stop) ||
        __builtin_add_overflow(part->stop, r->start, &part->stop) ||
        __builtin_mul_overflow(bounds[2], r->step, &part->step))
        return TC_ERR(tx, HDS0120, s->node.span);
    return (tc_value){.kind = TC_RANGE, .range = part};
}

static tc_value sequence_item(tc *tx, tc_value v, tc_value index, src_span span)
{
    size_t len = v.kind == TC_STR ? tc_text_len(v.s) : v.list->len;
    index = tc_as_index(tx, index, span);
    if (tc_is_poison(index))
        return index;
    if (index.kind == TC_RT)
        return TC_ERR(tx, HDS0139, span, tc_describe(tx, v));
    if (index.kind != TC_INT && index.kind != TC_BOOL)
        return TC_ERR(tx, HDS0137, span, tc_describe(tx, index));
    tc_int i = index.kind == TC_BOOL ? index.b : index.i;
    if (i < 0)
        i += (tc_int)len;
    if (i < 0 || i >= (tc_int)len)
        return TC_ERR(tx, HDS0140, span, tc_text(tx, index), (long)len);
    return v.kind == TC_STR ? tc_str(tc_text_slice(v.s, (size_t)i, (size_t)i + 1)) : v.list->at[i];
}

static tc_value range_item(tc *tx, tc_range *r, tc_value index, src_span span)
{
    tc_int len = tc_range_len(r);
    if (r->bounds[0])
        return TC_ERR(tx, HDS0142, span, "a range over run-time values");
    if (index.kind != TC_INT)
        return TC_ERR(tx, HDS0137, span, tc_describe(tx, index));
    tc_int i = index.i < 0 ? index.i + len : index.i;
    if (i < 0 || i >= len)
        return TC_ERR(tx, HDS0140, span, tc_text(tx, index), (long)len);
    return tc_of_int(r->start + i * r->step);
}

static tc_value dict_item(tc *tx, tc_dict *d, tc_value key, src_span span)
{
    tc_value *found = tc_dict_find(tx, d, key);
    return found ? *found : TC_ERR(tx, HDS0141, span, tc_text(tx, key));
}

static tc_value record_item(tc *tx, tc_value v, tc_value *items, size_t len, src_span span)
{
    bool found = false;
    tc_value r = tc_record_dunder(tx, v, "__getitem__", items, len, span, &found);
    if (!found)
        return TC_ERR(tx, HDS0142, span, tc_describe(tx, v));
    if (!v.record->elem || (r.kind != TC_RT && !tc_is_number(r)))
        return r;
    ir_expr *element = tc_convert(tx, r, v.record->elem, span, "element of a tensor");
    return element ? tc_rt(element) : tc_poison();
}

static tc_value pointer_item(tc *tx, ir_expr *pointer, tc_value *items, size_t len, src_span span)
{
    if (len != 1)
        return TC_ERR(tx, HDS0143, span);
    ir_expr *i = tc_to_index(tx, items[0], span);
    if (!i)
        return tc_poison();
    if (pointer->type->elem->kind == IR_VOID)
        return TC_ERR(tx, HDS0143, span);
    ir_expr *e = ir_new_expr(tx->ir, IR_OP_PLOAD, pointer->type->elem, span, 2);
    e->args[0] = pointer;
    e->args[1] = i;
    return tc_rt(e);
}

// An element behind a pointer, or a lane of a vector.
static tc_value run_time_item(tc *tx, tc_value v, tc_value *items, size_t len, src_span span)
{
    const ir_type *type = v.rt->type;
    if (type->kind == IR_POINTER)
        return pointer_item(tx, v.rt, items, len, span);
    if (type->kind != IR_VECTOR || len != 1 || items[0].kind != TC_INT || items[0].i < 0 || items[0].i >= type->lanes)
        return TC_ERR(tx, HDS0142, span, tc_describe(tx, v));
    ir_expr *e = ir_new_expr(tx->ir, IR_OP_LANE, ir_scalar(tx->ir, type->scalar), span, 1);
    e->args[0] = v.rt;
    e->u.i = (int64_t)items[0].i;
    return tc_rt(e);
}

tc_value tc_index_value(tc *tx, tc_value v, tc_value *items, size_t len, src_span span)
{
    tc_value key = len == 1 ? items[0] : tc_list_new(tx, TC_TUPLE, items, len);
    switch (v.kind) {
    case TC_POISON:
        return v;
    case TC_STR:
    case TC_TUPLE:
    case TC_LIST:
        return sequence_item(tx, v, key, span);
    case TC_RANGE:
        return range_item(tx, v.range, key, span);
    case TC_DICT:
        return dict_item(tx, v.dict, key, span);
    case TC_TYPE:
    case TC_TENSOR_TYPE:
    case TC_SPACE:
        return tc_type_subscript(tx, v, items, len, span);
    case TC_KIND:
        return tc_kind_subscript(tx, v, items, len, span);
    case TC_FUNCTION:
        return tc_function_brackets(tx, v, items, ARENA_ARRAY(tx->arena, sym, len + 1), len, span);
    case TC_CLASS:
        return tc_class_brackets(tx, v, items, len, span);
    case TC_MAP:
        return tc_call_values(tx, v, items, len, span);
    case TC_TENSOR:
        return tc_tensor_load(tx, v.tensor, items, len, NULL, span);
    case TC_RECORD:
        return record_item(tx, v, items, len, span);
    case TC_RT:
        return run_time_item(tx, v, items, len, span);
    default:
        return TC_ERR(tx, HDS0142, span, tc_describe(tx, v));
    }
}

// matmul[f16, BM := 64]: in the brackets of a function, `name := value` gives a type parameter by name.
static tc_value function_brackets(tc *tx, tc_value v, const ast_subscript *at)
{
    tc_list items = {0};
    VEC(sym) names = {0};
    for (size_t i = 0; i < at->items.len; i++) {
        const ast_expr *item = at->items.at[i];
        if (item->kind == AST_STARRED) {
            if (!tc_iterate(tx, tc_eval(tx, AST_AS(STARRED, starred, item)->value), item->span, &items))
                return tc_poison();
        } else {
            bool named = item->kind == AST_WALRUS;
            tc_value value = tc_eval(tx, named ? AST_AS(WALRUS, walrus, item)->value : item);
            if (tc_is_poison(value))
                return value;
            tc_list_push(tx, &items, value);
            if (named) {
                VEC_PUSH(tx->arena, &names, AST_AS(WALRUS, walrus, item)->name);
                continue;
            }
        }
        while (names.len < items.len)
            VEC_PUSH(tx->arena, &names, NULL);
    }
    return tc_function_brackets(tx, v, items.at, names.at, items.len, at->node.span);
}

// a:b:c as the record 'slice' of hidet.lang; what is missing is None.
static tc_value slice_record(tc *tx, const ast_slice *s)
{
    const ast_expr *given[3] = {s->start, s->stop, s->step};
    tc_value class = tc_library(tx, "hidet.lang", "slice", s->node.span), parts[3];
    for (int i = 0; i < 3; i++) {
        parts[i] = given[i] ? tc_eval(tx, given[i]) : tc_none();
        if (tc_is_poison(parts[i]))
            return parts[i];
    }
    return tc_is_poison(class) ? class : tc_call_values(tx, class, parts, 3, s->node.span);
}

bool tc_eval_subscripts(tc *tx, tc_value v, const ast_list *items, tc_list *out)
{
    bool takes_slices = v.kind == TC_RECORD;
    for (size_t i = 0; takes_slices && i < items->len; i++) {
        const ast_expr *item = items->at[i];
        ast_list one = {.at = &items->at[i], .len = 1};
        if (item->kind != AST_SLICE) {
            if (!tc_eval_items(tx, &one, out))
                return false;
            continue;
        }
        tc_value part = slice_record(tx, AST_AS(SLICE, slice, item));
        if (tc_is_poison(part))
            return false;
        tc_list_push(tx, out, part);
    }
    return takes_slices || tc_eval_items(tx, items, out);
}

tc_value tc_index(tc *tx, tc_value v, const ast_subscript *at)
{
    if (tc_is_poison(v))
        return v;
    if (v.kind == TC_TENSOR)
        return tc_tensor_index(tx, v.tensor, at);
    bool sequence = v.kind == TC_STR || v.kind == TC_TUPLE || v.kind == TC_LIST;
    if (at->items.len == 1 && at->items.at[0]->kind == AST_SLICE && v.kind != TC_RECORD) {
        if (sequence)
            return ct_slice(tx, v, AST_AS(SLICE, slice, at->items.at[0]));
        if (v.kind == TC_RANGE && !v.range->bounds[0])
            return range_slice(tx, v.range, AST_AS(SLICE, slice, at->items.at[0]));
        return TC_ERR(tx, HDS0142, at->node.span, tc_describe(tx, v));
    }
    if (v.kind == TC_FUNCTION)
        return function_brackets(tx, v, at);
    tc_list items = {0};
    if (!tc_eval_subscripts(tx, v, &at->items, &items))
        return tc_poison();
    return tc_index_value(tx, v, items.at, items.len, at->node.span);
}

static bool iterate_mapping_tasks(tc *tx, const tc_tasks *tasks, src_span span, tc_list *out)
{
    int64_t worker;
    if (!ir_const_int(tasks->worker, &worker)) {
        tc_error(tx, HDS0144, span, "the tasks of a run-time worker");
        return false;
    }
    if (worker < 0 || worker >= tasks->map->workers)
        return true;
    for (int64_t p = 0; p < tasks->map->tasks_per_worker; p++) {
        if (!tc_spend(tx, 2 + tasks->map->rank, span))
            return false;
        int64_t coords[TM_MAX_RANK];
        tm_task(tasks->map, worker, p, coords);
        tc_value t = tc_list_new(tx, TC_TUPLE, NULL, 0);
        for (int d = 0; d < tasks->map->rank; d++)
            tc_list_push(tx, t.list, tc_of_int(coords[d]));
        tc_list_push(tx, out, tasks->map->rank == 1 && !tasks->as_tuple ? t.list->at[0] : t);
    }
    return true;
}

// The coordinates of a grid with known extents, the last dimension fastest.
static bool iterate_grid(tc *tx, const tc_grid *g, src_span span, tc_list *out)
{
    int64_t extents[TM_MAX_RANK], at[TM_MAX_RANK] = {0};
    for (int d = 0; d < g->rank; d++) {
        if (!tc_as_int64(g->extents[d], &extents[d])) {
            tc_error(tx, HDS0144, span, "a grid over run-time values");
            return false;
        }
        if (extents[d] <= 0)
            return true;
    }
    for (;;) {
        tc_value t = tc_list_new(tx, TC_TUPLE, NULL, 0);
        for (int d = 0; d < g->rank; d++)
            tc_list_push(tx, t.list, tc_of_int(at[d]));
        tc_list_push(tx, out, g->rank == 1 && !g->as_tuple ? t.list->at[0] : t);
        int d = g->rank - 1;
        while (d >= 0 && ++at[d] == extents[d])
            at[d--] = 0;
        if (d < 0)
            return true;
        if (!tc_spend(tx, 2 + g->rank, span))
            return false;
    }
}

bool tc_iterate(tc *tx, tc_value v, src_span span, tc_list *out)
{
    switch (v.kind) {
    case TC_POISON:
        return false;
    case TC_TUPLE:
    case TC_LIST:
    case TC_SET:
        tc_list_extend(tx, out, v.list);
        return true;
    case TC_DICT:
        tc_list_extend(tx, out, &v.dict->keys);
        return true;
    case TC_STR: {
        tc_value all = characters(tx, v.s);
        for (size_t i = 0; i < all.list->len; i++)
            tc_list_push(tx, out, all.list->at[i]);
        return true;
    }
    case TC_RANGE: {
        const tc_range *r = v.range;
        if (r->bounds[0] && tc_wants_run_time(tx))
            return false;
        if (r->bounds[0])
            break;
        tc_int at = r->start;
        for (tc_int n = tc_range_len(r); n > 0; n--) {
            if (!tc_step(tx, span))
                return false;
            tc_list_push(tx, out, tc_of_int(at));
            at += n > 1 ? r->step : 0;
        }
        return true;
    }
    case TC_TASKS:
        return iterate_mapping_tasks(tx, v.tasks, span, out);
    case TC_GRID:
        return iterate_grid(tx, v.grid, span, out);
    case TC_RECORD:
        return tc_iterate_record(tx, v, span, out);
    case TC_RT:
        if (v.rt->type->kind == IR_VECTOR) {
            for (int i = 0; i < v.rt->type->lanes; i++) {
                tc_value index = tc_of_int(i);
                tc_list_push(tx, out, tc_index_value(tx, v, &index, 1, span));
            }
            return true;
        }
        break;
    default:
        break;
    }
    diag *d = tc_error(tx, HDS0144, span, tc_describe(tx, v));
    if (v.kind == TC_MAP)
        diag_help(d, "say whose tasks: 'for … in mapping.on(threadIdx.x)'");
    return false;
}
