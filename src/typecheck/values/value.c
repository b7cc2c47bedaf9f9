// Compile-time values: construction, equality, truth. Their text is in value_text.c.
#include "typecheck/values/number.h"
#include "typecheck/values/text.h"

#include <math.h>
#include <string.h>

const char *const tc_kind_texts[] = {"int",     "float",    "bool",  "str",  "dtype", "type", "layout",
                                     "mapping", "function", "tuple", "list", "dict",  "set",  "object"};

static void add_measures(tc_list *list, tc_value item)
{
    int depth = tc_depth(item);
    list->weight += tc_weight(item);
    list->depth = depth > list->depth ? depth : list->depth;
}

tc_value tc_list_new(tc *tx, tc_kind kind, const tc_value *items, size_t len)
{
    tc_list *list = ARENA_NEW(tx->arena, tc_list);
    list->region = tx->region;
    list->attempt = tx->speculating ? tx->attempt : 0;
    list->born = tx->born;
    if (len) {
        list->at = arena_dup(tx->arena, items, len * sizeof *items);
        list->len = list->cap = len;
    }
    for (size_t i = 0; i < len; i++)
        add_measures(list, items[i]);
    return (tc_value){.kind = kind, .list = list};
}

void tc_list_push_measured(tc *tx, tc_list *list, tc_value v)
{
    add_measures(list, v);
    VEC_PUSH(tx->arena, list, v);
}

void tc_list_extend(tc *tx, tc_list *list, const tc_list *items)
{
    VEC_RESERVE(tx->arena, list, list->len + items->len);
    for (size_t i = 0; i < items->len; i++)
        tc_list_push(tx, list, items->at[i]);
}

tc_value tc_dict_new(tc *tx)
{
    tc_dict *dict = ARENA_NEW(tx->arena, tc_dict);
    dict->region = tx->region;
    dict->keys.attempt = dict->values.attempt = tx->speculating ? tx->attempt : 0;
    dict->keys.born = dict->values.born = tx->born;
    return (tc_value){.kind = TC_DICT, .dict = dict};
}

// Once an attempt; not what it has made itself. Its items stay as they are for the undo: it goes on with a copy of them.
static void remember_list(tc *tx, tc_list *list)
{
    if (list->attempt >= tx->attempt)
        return;
    VEC_PUSH(tx->lasting, &tx->undo, ((tc_undo){.list = list, .before = *list}));
    list->at = list->len ? arena_dup(tx->arena, list->at, list->len * sizeof *list->at) : NULL;
    list->cap = list->len;
    list->attempt = tx->attempt;
}

// What only gets more items needs no copy of those that it has.
static void remember_length(tc *tx, tc_list *list)
{
    if (list->attempt >= tx->attempt || list->grown >= tx->attempt)
        return;
    VEC_PUSH(tx->lasting, &tx->undo, ((tc_undo){.list = list, .before = *list}));
    list->grown = tx->attempt;
}

// Called before [slot] changes: an attempt that fails leaves no trace.
void tc_remember(tc *tx, tc_value *slot)
{
    if (tx->speculating)
        VEC_PUSH(tx->lasting, &tx->undo, ((tc_undo){.slot = slot, .value = *slot}));
}

// Takes back what changed after the first [mark] changes.
void tc_undo_changes(tc *tx, size_t mark)
{
    while (tx->undo.len > mark) {
        tc_undo u = VEC_POP(&tx->undo);
        if (u.slot) {
            *u.slot = u.value;
        } else {
            *u.list = u.before;
            u.list->places = NULL;
        }
    }
}

static bool is_open(tc *tx, tc_value container, src_span span)
{
    int region = container.kind == TC_DICT ? container.dict->region : container.list->region;
    if (!tx->block || !region || region == tx->region || tx->analyzes) // nothing of a dry run happens at run time
        return true;
    diag *d = tc_error(tx, HDS0238, span, tc_describe(tx, container));
    diag_help(
        d,
        "a loop over known values is unrolled with static_range; numbers that change belong into variables or tensors");
    return false;
}

// A walk through what is to become a part of [container], which may not be found in there. Its parts learn how deep
// they will lie.
typedef struct inclusion {
    tc_value container;
    int deepest;
} inclusion;

static bool is_part(inclusion *in, tc_value of, int level);

static bool is_item(inclusion *in, const tc_list *items, int level)
{
    for (size_t i = 0; i < items->len; i++)
        if (is_part(in, items->at[i], level))
            return true;
    return false;
}

static bool is_part(inclusion *in, tc_value of, int level)
{
    in->deepest = level > in->deepest ? level : in->deepest;
    if (level > TC_MAX_DEPTH)
        return false;
    if (of.kind == TC_RECORD) {
        // A list may have records that refer back to it, as a schedule's nodes do.
        if (in->container.kind != TC_RECORD)
            return false;
        if (in->container.record == of.record)
            return true;
        of.record->level = level > of.record->level ? level : of.record->level;
        tc_list fields = {.at = of.record->fields, .len = (size_t)of.record->class->field_count};
        return is_item(in, &fields, level + 1);
    }
    if (of.kind == TC_DICT) {
        tc_dict *d = of.dict;
        d->keys.level = level > d->keys.level ? level : d->keys.level;
        return (in->container.kind == TC_DICT && in->container.dict == d) || is_item(in, &d->keys, level + 1) ||
               is_item(in, &d->values, level + 1);
    }
    if (of.kind != TC_TUPLE && of.kind != TC_LIST && of.kind != TC_SET)
        return false;
    of.list->level = level > of.list->level ? level : of.list->level;
    return (in->container.kind == of.kind && in->container.list == of.list) || is_item(in, of.list, level + 1);
}

bool tc_may_hold(tc *tx, tc_value container, tc_value item, src_span span)
{
    inclusion in = {.container = container};
    int level = container.kind == TC_DICT     ? container.dict->keys.level
                : container.kind == TC_RECORD ? container.record->level
                                              : container.list->level;
    if (is_part(&in, item, level + 1)) {
        bool is_record = container.kind == TC_RECORD;
        tc_error(tx, HDS0239, span, tc_describe(tx, is_record ? container : (tc_value){.kind = container.kind}));
        return false;
    }
    if (in.deepest <= TC_MAX_DEPTH)
        return true;
    tc_too_deep(tx, span);
    return false;
}

tc_value tc_too_deep(tc *tx, src_span span)
{
    tc_error(tx, HDS0309, span, (int)TC_MAX_DEPTH);
    tx->aborted = true;
    return tc_poison();
}

bool tc_may_change(tc *tx, tc_value container, src_span span)
{
    if (!is_open(tx, container, span))
        return false;
    tc_changes(tx, container.kind == TC_DICT ? container.dict->keys.born : container.list->born);
    if (!tx->speculating)
        return true;
    if (container.kind == TC_DICT) {
        remember_list(tx, &container.dict->keys);
        remember_list(tx, &container.dict->values);
    } else {
        remember_list(tx, container.list);
    }
    return true;
}

bool tc_may_grow(tc *tx, tc_value container, src_span span)
{
    bool is_dict = container.kind == TC_DICT;
    if (!is_open(tx, container, span))
        return false;
    tc_changes(tx, is_dict ? container.dict->keys.born : container.list->born);
    if (tx->speculating)
        remember_length(tx, is_dict ? &container.dict->keys : container.list);
    if (tx->speculating && is_dict)
        remember_length(tx, &container.dict->values);
    return true;
}

tc_value *tc_dict_find(tc *tx, tc_dict *d, tc_value key)
{
    size_t at;
    return tc_find_item(tx, &d->keys, key, &at) && at < d->keys.len ? &d->values.at[at] : NULL;
}

void tc_dict_put(tc *tx, tc_dict *d, tc_value key, tc_value value)
{
    tc_value *old = tc_dict_find(tx, d, key);
    if (old) {
        size_t at = (size_t)(old - d->values.at);
        if (tx->speculating)
            remember_list(tx, &d->values);
        tc_list_set(&d->values, at, value);
        return;
    }
    tc_list_push(tx, &d->keys, key);
    tc_list_push(tx, &d->values, value);
}

void tc_list_set(tc_list *list, size_t i, tc_value v)
{
    list->at[i] = v;
    list->known = i < list->known ? i : list->known;
    list->places = NULL;
}

void tc_list_changed(tc_list *list)
{
    list->known = 0;
    list->places = NULL;
}

static bool list_is_compile_time(tc_list *list);

// Whether a value is known while compiling and has no parts that could change.
static bool stays_known(const tc_value *v)
{
    switch (v->kind) {
    case TC_NONE:
    case TC_BOOL:
    case TC_INT:
    case TC_FLOAT:
    case TC_STR:
    case TC_TYPE:
    case TC_CLASS: return true;
    case TC_FUNCTION: return !v->function->self;
    case TC_TUPLE: return list_is_compile_time(v->list) && v->list->known == v->list->len;
    default: return false;
    }
}

// Lists that grow are asked again and again: what has no parts that could change is looked at once.
static bool list_is_compile_time(tc_list *list)
{
    while (list->known < list->len && stays_known(&list->at[list->known]))
        list->known++;
    for (size_t i = list->known; i < list->len; i++)
        if (!tc_is_compile_time(list->at[i]))
            return false;
    return true;
}

bool tc_parts_are_compile_time(tc_value v)
{
    switch (v.kind) {
    case TC_TUPLE:
    case TC_LIST:
    case TC_SET:
        return list_is_compile_time(v.list);
    case TC_DICT:
        return list_is_compile_time(&v.dict->keys) && list_is_compile_time(&v.dict->values);
    case TC_RECORD: {
        for (int i = 0; i < v.record->class->field_count; i++)
            if (!tc_is_compile_time(v.record->fields[i]))
                return false;
        return true;
    }
    case TC_RT:
    case TC_TENSOR:
    case TC_TENSOR_MAP:
    case TC_TASKS:
    case TC_GRID:
        return false;
    case TC_RANGE:
        return !v.range->bounds[0];
    case TC_METHOD:
        return tc_is_compile_time(*v.method->self);
    case TC_FUNCTION:
        return !v.function->self || tc_is_compile_time(*v.function->self);
    case TC_TENSOR_TYPE:
        for (int i = 0; i < v.tensor_type->rank; i++)
            if (!tc_is_compile_time(v.tensor_type->shape[i]) ||
                (v.tensor_type->is_strided && !tc_is_compile_time(v.tensor_type->strides[i])))
                return false;
        return true;
    default:
        return true;
    }
}

bool tc_is_number(tc_value v)
{
    return v.kind == TC_INT || v.kind == TC_FLOAT || v.kind == TC_BOOL;
}

static bool lists_equal(const tc_list *a, const tc_list *b)
{
    if (a->len != b->len)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (!tc_equal(a->at[i], b->at[i]))
            return false;
    return true;
}

static bool tensor_types_equal(const tc_tensor_type *a, const tc_tensor_type *b)
{
    if (a->elem != b->elem || a->space != b->space || a->rank != b->rank || a->is_strided != b->is_strided ||
        a->align != b->align)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!tc_equal(a->shape[i], b->shape[i]) || (a->is_strided && !tc_equal(a->strides[i], b->strides[i])))
            return false;
    bool maps = a->map == b->map || (a->map && b->map && tm_equal(a->map, b->map));
    bool layouts = a->layout == b->layout || (a->layout && b->layout && tm_layout_equal(a->layout, b->layout));
    return maps && layouts;
}

tc_int tc_range_len(const tc_range *r)
{
    // Differences of 128-bit numbers may not fit; no range that is used has that many items.
    tc_int distance, up;
    if (r->step > 0 ? r->start >= r->stop : r->start <= r->stop)
        return 0;
    bool huge = r->step > 0 ? __builtin_sub_overflow(r->stop, r->start, &distance)
                            : __builtin_sub_overflow(r->start, r->stop, &distance) ||
                                  __builtin_sub_overflow((tc_int)0, r->step, &up);
    if (huge)
        return (tc_int)1 << 126;
    up = r->step > 0 ? r->step : -r->step;
    return (distance - 1) / up + 1;
}

static bool ranges_equal(const tc_range *a, const tc_range *b)
{
    tc_int len = tc_range_len(a);
    return !a->bounds[0] && !b->bounds[0] && len == tc_range_len(b) && (len < 1 || a->start == b->start) &&
           (len < 2 || a->step == b->step);
}

static bool exprs_equal(const ir_expr *a, const ir_expr *b)
{
    return a == b || (a && b && ir_expr_equal(a, b));
}

// The same elements in the same order: of the same tensor, from the same offsets on, with the same shape.
static bool tensors_equal(const tc_tensor *a, const tc_tensor *b)
{
    if (a == b)
        return true;
    if (a->base != b->base || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        bool known = a->shape[i].kind != TC_RT && b->shape[i].kind != TC_RT;
        bool same = known ? tc_equal(a->shape[i], b->shape[i])
                          : a->shape[i].kind == b->shape[i].kind && exprs_equal(a->shape[i].rt, b->shape[i].rt);
        if (!same)
            return false;
    }
    for (int d = 0; d < a->base->tensor->rank; d++)
        if (a->dim_of[d] != b->dim_of[d] || !exprs_equal(a->offset[d], b->offset[d]))
            return false;
    return true;
}

static size_t index_in(const tc_list *items, tc_value v)
{
    size_t at = 0;
    while (at < items->len && !tc_equal(items->at[at], v))
        at++;
    return at;
}

// Whether all [wanted] keys are among [keys], with the same values if there are values.
static bool dict_holds(const tc_list *keys, const tc_list *values, const tc_list *wanted, const tc_list *wanted_values)
{
    for (size_t i = 0; i < wanted->len; i++) {
        size_t at = index_in(keys, wanted->at[i]);
        if (at == keys->len || (values && !tc_equal(values->at[at], wanted_values->at[i])))
            return false;
    }
    return true;
}

static bool classes_equal(const tc_class *a, const tc_class *b)
{
    if (a->decl != b->decl || a->bound_count != b->bound_count)
        return false;
    for (int i = 0; i < a->bound_count; i++)
        if (!tc_equal(a->bound_values[i], b->bound_values[i]))
            return false;
    return true;
}

// Text and containers, of one kind.
static bool data_equal(tc_value a, tc_value b)
{
    switch (a.kind) {
    case TC_NONE:
    case TC_ELLIPSIS:
        return true;
    case TC_STR:
        return str_equal(a.s, b.s);
    case TC_TUPLE:
    case TC_LIST:
        return lists_equal(a.list, b.list);
    case TC_SET:
        return a.list->len == b.list->len && dict_holds(b.list, NULL, a.list, NULL);
    case TC_DICT:
        return a.dict->keys.len == b.dict->keys.len &&
               dict_holds(&b.dict->keys, &b.dict->values, &a.dict->keys, &a.dict->values);
    case TC_RANGE:
        return ranges_equal(a.range, b.range);
    default:
        return false;
    }
}

// Types, mappings and layouts, of one kind.
static bool types_equal(tc_value a, tc_value b)
{
    switch (a.kind) {
    case TC_TYPE:
    case TC_REFERENCE:
        return a.type == b.type;
    case TC_TENSOR_TYPE:
        return tensor_types_equal(a.tensor_type, b.tensor_type);
    case TC_KIND:
        return a.kind_name == b.kind_name;
    case TC_AT_LEAST:
        return a.at_least->least == b.at_least->least && a.at_least->type == b.at_least->type;
    case TC_MAP:
        return tm_equal(a.map, b.map);
    case TC_LAYOUT:
        return tm_layout_equal(a.layout, b.layout);
    default:
        return false;
    }
}

// What is equal only to itself, of one kind.
static bool things_equal(tc_value a, tc_value b)
{
    switch (a.kind) {
    case TC_FUNCTION:
        return a.function->id == b.function->id && a.function->closure == b.function->closure;
    case TC_NATIVE:
        return a.native == b.native;
    case TC_MODULE:
        return a.module == b.module;
    case TC_CLASS:
        return classes_equal(a.class, b.class);
    case TC_NAMESPACE:
        return a.ns == b.ns;
    case TC_SPACE:
        return a.space == b.space;
    case TC_SCOPE_NAME:
        return a.scope_name == b.scope_name;
    case TC_TENSOR:
        return tensors_equal(a.tensor, b.tensor);
    case TC_TENSOR_MAP:
        return a.tensor_map == b.tensor_map;
    case TC_RECORD:
        return a.record == b.record;
    default:
        return false;
    }
}

bool tc_equal(tc_value a, tc_value b)
{
    if (tc_is_number(a) && tc_is_number(b)) {
        bool unordered;
        return tc_number_order(a, b, &unordered) == 0 && !unordered;
    }
    return a.kind == b.kind && (data_equal(a, b) || types_equal(a, b) || things_equal(a, b));
}

bool tc_truth(tc_value v, bool *out)
{
    switch (v.kind) {
    case TC_NONE:
        *out = false;
        return true;
    case TC_BOOL:
        *out = v.b;
        return true;
    case TC_INT:
        *out = v.i != 0;
        return true;
    case TC_FLOAT:
        *out = v.f != 0;
        return true;
    case TC_STR:
        *out = v.s.len != 0;
        return true;
    case TC_TUPLE:
    case TC_LIST:
    case TC_SET:
        *out = v.list->len != 0;
        return true;
    case TC_DICT:
        *out = v.dict->keys.len != 0;
        return true;
    case TC_RANGE:
        *out = tc_range_len(v.range) > 0;
        return !v.range->bounds[0];
    case TC_TYPE:
    case TC_TENSOR_TYPE:
    case TC_KIND:
    case TC_AT_LEAST:
    case TC_REFERENCE:
    case TC_MAP:
    case TC_LAYOUT:
    case TC_FUNCTION:
    case TC_NATIVE:
    case TC_METHOD:
    case TC_MODULE:
    case TC_CLASS:
        *out = true;
        return true;
    default:
        return false;
    }
}

bool tc_as_int64(tc_value v, int64_t *out)
{
    tc_int i = v.kind == TC_BOOL ? (tc_int)v.b : v.i;
    if ((v.kind != TC_INT && v.kind != TC_BOOL) || i < INT64_MIN || i > INT64_MAX)
        return false;
    *out = (int64_t)i;
    return true;
}
