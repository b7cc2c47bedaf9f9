// Python's built-in functions, on compile-time values; min, max, abs and range also on run-time ones.
#include "typecheck/eval/eval.h"
#include "typecheck/values/number.h"
#include "typecheck/values/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tc_value run_range(tc *tx, const tc_native *self, tc_args *args)
{
    tc_range *r = ARENA_NEW(tx->arena, tc_range);
    r->is_static = self->data == 1;
    tc_value parts[3] = {tc_of_int(0), tc_of_int(0), tc_of_int(1)};
    size_t n = args->list.len;
    if (n == 1)
        parts[1] = args->list.at[0].value;
    for (size_t i = 0; n > 1 && i < n; i++)
        parts[i] = args->list.at[i].value;
    bool known = true;
    for (int i = 0; i < 3; i++) {
        parts[i] = tc_as_index(tx, parts[i], args->span);
        if (tc_is_poison(parts[i]))
            return tc_poison();
        if (!tc_is_index(parts[i]))
            return TC_ERR(tx, HDS0113, args->span, tc_describe(tx, parts[i]));
        known &= parts[i].kind != TC_RT;
    }
    if (parts[2].kind == TC_INT && parts[2].i == 0)
        return TC_ERR(tx, HDS0138, args->span);
    if (known) {
        r->start = parts[0].kind == TC_BOOL ? parts[0].b : parts[0].i;
        r->stop = parts[1].kind == TC_BOOL ? parts[1].b : parts[1].i;
        r->step = parts[2].kind == TC_BOOL ? parts[2].b : parts[2].i;
        return (tc_value){.kind = TC_RANGE, .range = r};
    }
    if (r->is_static) {
        tc_help_open_size(tc_error(tx, HDS0280, args->span), parts[1]);
        return tc_poison();
    }
    for (int i = 0; i < 3; i++)
        if (!(r->bounds[i] = tc_default_rt(tx, parts[i], args->span)))
            return tc_poison();
    return (tc_value){.kind = TC_RANGE, .range = r};
}

static tc_value run_len(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value v = args->list.at[0].value;
    bool found = false;
    switch (v.kind) {
    case TC_STR:
        return tc_of_int((tc_int)tc_text_len(v.s));
    case TC_TUPLE:
    case TC_LIST:
    case TC_SET:
        return tc_of_int((tc_int)v.list->len);
    case TC_DICT:
        return tc_of_int((tc_int)v.dict->keys.len);
    case TC_RANGE:
        if (!v.range->bounds[0])
            return tc_of_int(tc_range_len(v.range));
        break;
    case TC_TENSOR:
        if (v.tensor->rank)
            return v.tensor->shape[0];
        break;
    case TC_RECORD: {
        tc_value r = tc_record_dunder(tx, v, "__len__", NULL, 0, args->span, &found);
        if (found)
            return r;
        break;
    }
    default:
        break;
    }
    return TC_ERR(tx, HDS0281, args->list.at[0].span, "len", tc_describe(tx, v));
}

static tc_value *keyword(tc_args *args, const char *name)
{
    for (size_t i = 0; i < args->list.len; i++)
        if (args->list.at[i].name && strcmp(args->list.at[i].name->text, name) == 0)
            return args->list.at[i].value.kind == TC_NONE ? NULL : &args->list.at[i].value;
    return NULL;
}

// min(…, key=f): the items themselves are chosen by the order of their keys.
static tc_value extreme_by_key(tc *tx, const tc_native *self, tc_list *items, tc_value key, src_span span)
{
    size_t best = 0;
    tc_value best_key = tc_poison();
    for (size_t i = 0; i < items->len; i++) {
        tc_value k = tc_call_values(tx, key, &items->at[i], 1, span);
        tc_value better =
            i ? tc_compare(tx, self->data == 1 ? AST_OP_GT : AST_OP_LT, k, best_key, span) : tc_bool(true);
        if (better.kind != TC_BOOL || tc_is_poison(k))
            return better.kind == TC_RT ? TC_ERR(tx, HDS0136, span, tc_describe(tx, better)) : tc_poison();
        if (better.b) {
            best = i;
            best_key = k;
        }
    }
    return items->at[best];
}

static tc_value run_min_max(tc *tx, const tc_native *self, tc_args *args)
{
    tc_list items = {0};
    size_t positional = 0;
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        if (a->name && strcmp(a->name->text, "key") != 0 && strcmp(a->name->text, "default") != 0)
            return TC_ERR(tx, HDS0211, a->span, self->name, a->name->text);
        positional += !a->name;
    }
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        if (!a->name && positional > 1)
            tc_list_push(tx, &items, a->value);
        else if (!a->name && !tc_iterate(tx, a->value, a->span, &items))
            return tc_poison();
    }
    tc_value *key = keyword(args, "key"), *other = keyword(args, "default");
    if (!items.len)
        return other ? *other : TC_ERR(tx, HDS0282, args->span, self->name);
    if (key)
        return extreme_by_key(tx, self, &items, *key, args->span);
    tc_value r = items.at[0];
    for (size_t i = 1; i < items.len; i++)
        r = tc_min_max(tx, self->data == 1, r, items.at[i], args->span);
    return r;
}

static tc_value run_abs(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value v = tc_as_index(tx, args->list.at[0].value, args->span);
    if (v.kind == TC_FLOAT)
        return tc_float(fabs(v.f));
    if (v.kind == TC_INT || v.kind == TC_BOOL)
        return tc_unary(tx, v.kind == TC_INT && v.i < 0 ? AST_OP_NEG : AST_OP_POS, v, args->span);
    if (v.kind == TC_RT && v.rt->type->kind == IR_SCALAR && dt_is_int(v.rt->type->scalar)) {
        ir_expr *x = tc_keep(tx, v.rt, NULL, args->span);
        return tc_min_max(tx, true, tc_rt(x), tc_unary(tx, AST_OP_NEG, tc_rt(x), args->span), args->span);
    }
    if (v.kind == TC_RT) {
        tc_value f = tc_library(tx, "hidet.lang.math", "abs", args->span);
        return tc_is_poison(f) ? f : tc_call_values(tx, f, &v, 1, args->span);
    }
    bool found = false;
    tc_value r = tc_record_dunder(tx, v, "__abs__", NULL, 0, args->span, &found);
    return found ? r : TC_ERR(tx, HDS0281, args->list.at[0].span, "abs", tc_describe(tx, v));
}

static tc_value run_sum(tc *tx, const tc_native *self, tc_args *args)
{
    tc_list items = {0};
    if (!tc_iterate(tx, args->list.at[0].value, args->list.at[0].span, &items))
        return tc_poison();
    tc_value *start = tc_arg_get(args, self->params, 1);
    tc_value r = start ? *start : tc_of_int(0);
    if (r.kind == TC_STR)
        return TC_ERR(tx, HDS0281, args->span, "sum", tc_describe(tx, r));
    size_t i = 0;
    // What is not known or is no number is not added to 0, which not everything can be.
    if (!start && items.len && !tc_is_compile_time(items.at[0]))
        r = items.at[i++];
    else if (tc_is_number(r))
        r = tc_number_sum(tx, &items, &i, r, args->span);
    for (; i < items.len; i++)
        r = tc_binary(tx, AST_OP_ADD, r, items.at[i], args->span);
    return r;
}

static tc_value run_any_all(tc *tx, const tc_native *self, tc_args *args)
{
    bool is_all = self->data == 1;
    tc_list items = {0};
    if (!tc_iterate(tx, args->list.at[0].value, args->list.at[0].span, &items))
        return tc_poison();
    tc_value r = tc_bool(is_all);
    for (size_t i = 0; i < items.len; i++) {
        bool truth;
        if (tc_truth_of(tx, &items.at[i], args->span, &truth)) {
            if (truth != is_all)
                return tc_bool(truth);
            continue;
        }
        ir_expr *e = tc_condition(tx, items.at[i], args->span);
        if (!e)
            return tc_poison();
        r = r.kind == TC_RT ? tc_rt(ir_binary(tx->ir, is_all ? IR_OP_LAND : IR_OP_LOR, r.rt, e, args->span)) : tc_rt(e);
    }
    return r;
}

typedef struct sorting {
    tc *tx;
    tc_value *items, *keys;             // sorted together
    tc_value *other_items, *other_keys; // room for merging
    bool down;
    src_span span;
} sorting;

// Equal items keep their order. False after an error.
static bool merge_sort(sorting *s, size_t begin, size_t end)
{
    size_t middle = begin + (end - begin) / 2, left = begin, right = middle;
    if (end - begin < 2)
        return true;
    if (!merge_sort(s, begin, middle) || !merge_sort(s, middle, end))
        return false;
    for (size_t to = begin; to < end; to++) {
        bool from_right = left == middle;
        if (left < middle && right < end) {
            tc_value before =
                tc_compare(s->tx, s->down ? AST_OP_GT : AST_OP_LT, s->keys[right], s->keys[left], s->span);
            if (!tc_truth_of(s->tx, &before, s->span, &from_right) && !tc_is_poison(before))
                tc_error(s->tx, HDS0136, s->span, tc_describe(s->tx, before));
            if (!tc_is_compile_time(before) || tc_is_poison(before) || !tc_step(s->tx, s->span))
                return false;
        }
        size_t from = from_right ? right++ : left++;
        s->other_items[to] = s->items[from];
        s->other_keys[to] = s->keys[from];
    }
    memcpy(s->items + begin, s->other_items + begin, (end - begin) * sizeof *s->items);
    memcpy(s->keys + begin, s->other_keys + begin, (end - begin) * sizeof *s->keys);
    return true;
}

static tc_value run_sorted(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    if (!tc_iterate(tx, args->list.at[0].value, args->list.at[0].span, r.list))
        return tc_poison();
    tc_value *key = tc_arg_get(args, self->params, 1), *reverse = tc_arg_get(args, self->params, 2);
    size_t n = r.list->len;
    tc_value *keys = ARENA_ARRAY(tx->arena, tc_value, n + 1);
    for (size_t i = 0; i < n; i++) {
        keys[i] = key && key->kind != TC_NONE ? tc_call_values(tx, *key, &r.list->at[i], 1, args->span) : r.list->at[i];
        if (tc_is_poison(keys[i]))
            return tc_poison();
    }
    bool down = reverse && reverse->kind == TC_BOOL && reverse->b;
    sorting run = {
        tx,   r.list->at, keys, ARENA_ARRAY(tx->arena, tc_value, n + 1), ARENA_ARRAY(tx->arena, tc_value, n + 1),
        down, args->span};
    return merge_sort(&run, 0, n) ? r : tc_poison();
}

static tc_value run_reversed(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_list items = {0};
    if (!tc_iterate(tx, args->list.at[0].value, args->list.at[0].span, &items))
        return tc_poison();
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    for (size_t i = items.len; i-- > 0;)
        tc_list_push(tx, r.list, items.at[i]);
    return r;
}

static tc_value run_enumerate(tc *tx, const tc_native *self, tc_args *args)
{
    tc_list items = {0};
    if (!tc_iterate(tx, args->list.at[0].value, args->list.at[0].span, &items))
        return tc_poison();
    tc_value *start = tc_arg_get(args, self->params, 1);
    tc_int first = start && start->kind == TC_INT ? start->i : 0;
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    for (size_t i = 0; i < items.len; i++) {
        tc_value pair[2] = {tc_of_int(first + (tc_int)i), items.at[i]};
        tc_list_push(tx, r.list, tc_list_new(tx, TC_TUPLE, pair, 2));
    }
    return r;
}

static tc_value run_zip(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    size_t n = args->list.len, shortest = SIZE_MAX;
    tc_list *columns = ARENA_ARRAY(tx->arena, tc_list, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!tc_iterate(tx, args->list.at[i].value, args->list.at[i].span, &columns[i]))
            return tc_poison();
        if (columns[i].len < shortest)
            shortest = columns[i].len;
    }
    for (size_t k = 0; n && k < shortest; k++) {
        tc_value row = tc_list_new(tx, TC_TUPLE, NULL, 0);
        for (size_t i = 0; i < n; i++)
            tc_list_push(tx, row.list, columns[i].at[k]);
        tc_list_push(tx, r.list, row);
    }
    return r;
}

static tc_value run_map(tc *tx, const tc_native *self, tc_args *args)
{
    tc_args columns = {.span = args->span};
    for (size_t i = 1; i < args->list.len; i++)
        VEC_PUSH(tx->arena, &columns.list, args->list.at[i]);
    tc_value rows = run_zip(tx, self, &columns), r = tc_list_new(tx, TC_LIST, NULL, 0);
    for (size_t i = 0; rows.kind == TC_LIST && i < rows.list->len; i++) {
        const tc_list *row = rows.list->at[i].list;
        tc_value v = tc_call_values(tx, args->list.at[0].value, row->at, row->len, args->span);
        if (tc_is_poison(v))
            return v;
        tc_list_push(tx, r.list, v);
    }
    return rows.kind == TC_LIST ? r : tc_poison();
}

static tc_value run_filter(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_list items = {0};
    tc_value f = args->list.at[0].value;
    if (!tc_iterate(tx, args->list.at[1].value, args->list.at[1].span, &items))
        return tc_poison();
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    for (size_t i = 0; i < items.len; i++) {
        tc_value v = f.kind == TC_NONE ? items.at[i] : tc_call_values(tx, f, &items.at[i], 1, args->span);
        bool keep = false;
        if (tc_is_poison(v))
            return v;
        if (!tc_truth_of(tx, &v, args->span, &keep))
            return tc_is_poison(v) ? v : TC_ERR(tx, HDS0136, args->span, tc_describe(tx, v));
        if (keep)
            tc_list_push(tx, r.list, items.at[i]);
    }
    return r;
}

static tc_value run_repr(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    str_buf b;
    str_buf_init(&b, tx->arena);
    tc_program_repr(tx, args->list.at[0].value, &b);
    return tc_str((str){str_text(&b), b.len});
}

static bool is_instance(tc_value v, tc_value t)
{
    if (t.kind == TC_TUPLE) {
        for (size_t i = 0; i < t.list->len; i++)
            if (is_instance(v, t.list->at[i]))
                return true;
        return false;
    }
    if (t.kind == TC_TYPE)
        return v.kind == TC_RT && v.rt->type == t.type;
    if (t.kind == TC_CLASS)
        return v.kind == TC_RECORD && v.record->class->decl == t.class->decl;
    return t.kind == TC_KIND && tc_is_of_kind(t.kind_name, v);
}

static tc_value run_isinstance(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    (void)tx;
    return tc_bool(is_instance(args->list.at[0].value, args->list.at[1].value));
}

static tc_value round_int(tc *tx, tc_int v, int64_t digits, src_span span)
{
    tc_int unit = 1;
    for (int64_t i = digits; i < 0; i++)
        if (__builtin_mul_overflow(unit, (tc_int)10, &unit))
            return tc_of_int(0);
    tc_int rest = v % unit, r;
    if (rest < 0)
        rest += unit;
    bool up = rest > unit - rest || (rest == unit - rest && (v - rest) / unit % 2 != 0);
    if (__builtin_add_overflow(v, up ? unit - rest : -rest, &r))
        return TC_ERR(tx, HDS0120, span);
    return tc_of_int(r);
}

static double round_float(double v, int64_t digits)
{
    char text[800];
    if (!isfinite(v) || digits > 323)
        return v;
    if (digits >= 0) {
        // The decimal expansion that C rounds correctly.
        snprintf(text, sizeof text, "%.*f", (int)digits, v);
        return strtod(text, NULL);
    }
    // So many significant digits are left of those in front of the point; with none, it is 0 or the next power of ten.
    int64_t left = snprintf(text, sizeof text, "%.0f", trunc(fabs(v))) + digits;
    if (left > 0) {
        snprintf(text, sizeof text, "%.*e", (int)left - 1, v);
        return strtod(text, NULL);
    }
    snprintf(text, sizeof text, "5e%d", (int)-digits - 1);
    if (left < 0 || fabs(v) <= strtod(text, NULL))
        return copysign(0, v);
    snprintf(text, sizeof text, "1e%d", (int)-digits);
    return copysign(strtod(text, NULL), v);
}

static tc_value run_round(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value v = args->list.at[0].value;
    tc_value *ndigits = tc_arg_get(args, self->params, 1);
    int64_t digits = 0;
    bool whole = !ndigits || ndigits->kind == TC_NONE;
    if (!whole && !tc_as_int64(*ndigits, &digits))
        return TC_ERR(tx, HDS0184, args->span, "the number of digits", "int", tc_describe(tx, *ndigits));
    if (v.kind == TC_INT || v.kind == TC_BOOL)
        return round_int(tx, v.kind == TC_BOOL ? (tc_int)v.b : v.i, digits, args->span);
    if (v.kind != TC_FLOAT)
        return TC_ERR(tx, HDS0281, args->list.at[0].span, "round", tc_describe(tx, v));
    if (!whole)
        return tc_float(round_float(v.f, digits));
    double nearest = nearbyint(v.f);
    return fabs(nearest) < 1e38 ? tc_of_int((tc_int)nearest) : TC_ERR(tx, HDS0120, args->span);
}

static tc_value run_callable(tc *tx, const tc_native *self, tc_args *args)
{
    (void)tx;
    (void)self;
    tc_value v = args->list.at[0].value;
    bool found = false;
    if (v.kind == TC_RECORD)
        tc_record_method(tx, v, sym_of(tx->syms, "__call__"), &found);
    return tc_bool(found || v.kind == TC_FUNCTION || v.kind == TC_NATIVE || v.kind == TC_METHOD || v.kind == TC_CLASS ||
                   v.kind == TC_KIND || v.kind == TC_TYPE);
}

static tc_value run_divmod(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value a = args->list.at[0].value, b = args->list.at[1].value;
    tc_value parts[2] = {tc_binary(tx, AST_OP_FLOORDIV, a, b, args->span), tc_binary(tx, AST_OP_MOD, a, b, args->span)};
    if (tc_is_poison(parts[0]) || tc_is_poison(parts[1]))
        return tc_poison();
    return tc_list_new(tx, TC_TUPLE, parts, 2);
}

static bool is_whole(tc_value v)
{
    return v.kind == TC_INT || v.kind == TC_BOOL;
}

static tc_value run_pow(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value base = args->list.at[0].value, exponent = args->list.at[1].value;
    tc_value modulus = args->list.len < 3 ? tc_none() : args->list.at[2].value;
    if (is_whole(base) && is_whole(exponent) && is_whole(modulus))
        return tc_power_modulo(tx, base, exponent, modulus, args->span);
    if (modulus.kind != TC_NONE && (base.kind == TC_FLOAT || exponent.kind == TC_FLOAT || modulus.kind == TC_FLOAT))
        return TC_ERR(tx, HDS0281, args->span, "pow with a modulus", "floats");
    tc_value power = tc_binary(tx, AST_OP_POW, base, exponent, args->span);
    return modulus.kind == TC_NONE ? power : tc_binary(tx, AST_OP_MOD, power, modulus, args->span);
}

static tc_value run_hasattr(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value name = args->list.at[1].value;
    if (name.kind != TC_STR)
        return TC_ERR(tx, HDS0184, args->span, "the name", "str", tc_describe(tx, name));
    sym s = sym_intern(tx->syms, name.s);
    bool has = tc_has_attribute(tx, args->list.at[0].value, s);
    if (self->data == 0)
        return tc_bool(has);
    if (!has && args->list.len == 3)
        return args->list.at[2].value;
    return tc_attribute(tx, args->list.at[0].value, s, args->span, args->span);
}

static tc_value run_ord_chr(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value v = args->list.at[0].value;
    if (self->data == 0 && v.kind == TC_STR && v.s.len && tc_char_len(v.s) == v.s.len)
        return tc_of_int(tc_char_code(v.s));
    tc_value c = self->data == 1 && v.kind == TC_INT ? tc_of_char(tx, v.i) : tc_poison();
    if (c.kind == TC_STR)
        return c;
    return TC_ERR(tx, HDS0281, args->list.at[0].span, self->name, tc_describe(tx, v));
}

static tc_value run_bin_hex(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value v = args->list.at[0].value;
    if (v.kind != TC_INT && v.kind != TC_BOOL)
        return TC_ERR(tx, HDS0281, args->list.at[0].span, self->name, tc_describe(tx, v));
    tc_int i = v.kind == TC_BOOL ? (tc_int)v.b : v.i;
    str_buf b;
    str_buf_init(&b, tx->arena);
    str_addf(&b, "%s0%c", i < 0 ? "-" : "", self->data == 16 ? 'x' : self->data == 8 ? 'o' : 'b');
    tc_digits(i, self->data, false, &b);
    return tc_str((str){str_text(&b), b.len});
}

static tc_value run_type(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value v = args->list.at[0].value;
    tc_value kind = {.kind = TC_KIND};
    switch (v.kind) {
    case TC_RT:
        return tc_type(v.rt->type);
    case TC_RECORD:
        return (tc_value){.kind = TC_CLASS, .class = v.record->class};
    case TC_BOOL:
        kind.kind_name = TC_KIND_BOOL;
        return kind;
    case TC_INT:
        kind.kind_name = TC_KIND_INT;
        return kind;
    case TC_FLOAT:
        kind.kind_name = TC_KIND_FLOAT;
        return kind;
    case TC_STR:
        kind.kind_name = TC_KIND_STR;
        return kind;
    case TC_TUPLE:
        kind.kind_name = TC_KIND_TUPLE;
        return kind;
    case TC_LIST:
        kind.kind_name = TC_KIND_LIST;
        return kind;
    case TC_DICT:
        kind.kind_name = TC_KIND_DICT;
        return kind;
    case TC_SET:
        kind.kind_name = TC_KIND_SET;
        return kind;
    case TC_TYPE:
    case TC_TENSOR_TYPE:
        kind.kind_name = TC_KIND_TYPE;
        return kind;
    case TC_MAP:
        kind.kind_name = TC_KIND_MAPPING;
        return kind;
    case TC_LAYOUT:
        kind.kind_name = TC_KIND_LAYOUT;
        return kind;
    case TC_FUNCTION:
        kind.kind_name = TC_KIND_FUNCTION;
        return kind;
    default:
        return TC_ERR(tx, HDS0281, args->list.at[0].span, "type", tc_describe(tx, v));
    }
}

const tc_native tc_native_python[] = {
    {"range", run_range, 1, 3, NULL, 0},
    {"static_range", run_range, 1, 3, NULL, 1},
    {"len", run_len, 1, 1, NULL, 0},
    {"min", run_min_max, 1, -1, NULL, 0},
    {"max", run_min_max, 1, -1, NULL, 1},
    {"abs", run_abs, 1, 1, NULL, 0},
    {"sum", run_sum, 1, 2, "iterable start", 0},
    {"any", run_any_all, 1, 1, NULL, 0},
    {"all", run_any_all, 1, 1, NULL, 1},
    {"prod", tc_native_prod, 1, 1, "iterable", 0},
    {"argmin", tc_native_arg, 1, 1, "iterable", 0},
    {"argmax", tc_native_arg, 1, 1, "iterable", 1},
    {"reduce", tc_native_reduce, 3, 3, "combine identity iterable", 0},
    {"sorted", run_sorted, 1, 3, "iterable key reverse", 0},
    {"reversed", run_reversed, 1, 1, NULL, 0},
    {"enumerate", run_enumerate, 1, 2, "iterable start", 0},
    {"zip", run_zip, 0, -1, NULL, 0},
    {"map", run_map, 2, -1, NULL, 0},
    {"filter", run_filter, 2, 2, NULL, 0},
    {"callable", run_callable, 1, 1, NULL, 0},
    {"repr", run_repr, 1, 1, NULL, 0},
    {"isinstance", run_isinstance, 2, 2, NULL, 0},
    {"round", run_round, 1, 2, "number digits", 0},
    {"divmod", run_divmod, 2, 2, NULL, 0},
    {"pow", run_pow, 2, 3, NULL, 0},
    {"hasattr", run_hasattr, 2, 2, NULL, 0},
    {"getattr", run_hasattr, 2, 3, NULL, 1},
    {"ord", run_ord_chr, 1, 1, NULL, 0},
    {"chr", run_ord_chr, 1, 1, NULL, 1},
    {"bin", run_bin_hex, 1, 1, NULL, 2},
    {"oct", run_bin_hex, 1, 1, NULL, 8},
    {"hex", run_bin_hex, 1, 1, NULL, 16},
    {"type", run_type, 1, 1, NULL, 0},
    {0},
};
