// Extents that are open, as text: equal extents have equal texts, where that can be shown.
//
// An extent is a sum of products of type parameters with known factors, and of what is no such sum: quotients, remainders, and the
// larger or smaller of two. "4 * B * S + 1" and "(B + 1) // 2" are texts of extents.
#include "typecheck/operators/operators.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef VEC(const char *) name_list;

typedef struct term {
    int64_t factor;
    name_list names; // in order; each may be there several times
    const char *key; // the names, joined
} term;

typedef struct sum {
    VEC(term) terms;  // by key, the constant last; no factor is 0
    bool is_unknown;  // no expression of type parameters, or too large
    int64_t estimate; // for type parameters of NOMINAL
} sum;

enum { NOMINAL = 64, MOST_TERMS = 32, DEEPEST = 64 };

static sum unknown(void)
{
    return (sum){.is_unknown = true};
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_term(tc *tx, sum *s, int64_t factor, const name_list *names)
{
    term t = {.factor = factor};
    str_buf key;
    str_buf_init(&key, tx->ir->arena);
    for (size_t i = 0; i < names->len; i++)
        VEC_PUSH(tx->ir->arena, &t.names, names->at[i]);
    if (t.names.len)
        qsort(t.names.at, t.names.len, sizeof *t.names.at, compare_names);
    for (size_t i = 0; i < t.names.len; i++)
        str_addf(&key, "%s%s", i ? " * " : "", t.names.at[i]);
    t.key = str_text(&key);
    size_t at = 0;
    // the constant, whose key is empty, stands last
    while (at < s->terms.len && *s->terms.at[at].key && (!*t.key || strcmp(s->terms.at[at].key, t.key) < 0))
        at++;
    bool is_there = at < s->terms.len && strcmp(s->terms.at[at].key, t.key) == 0;
    if (is_there) {
        s->is_unknown |= __builtin_add_overflow(s->terms.at[at].factor, factor, &s->terms.at[at].factor);
        if (s->terms.at[at].factor)
            return;
        memmove(s->terms.at + at, s->terms.at + at + 1, (s->terms.len - at - 1) * sizeof(term));
        s->terms.len--;
        return;
    }
    if (!factor)
        return;
    VEC_PUSH(tx->ir->arena, &s->terms, t);
    memmove(s->terms.at + at + 1, s->terms.at + at, (s->terms.len - at - 1) * sizeof(term));
    s->terms.at[at] = t;
    s->is_unknown |= s->terms.len > MOST_TERMS;
}

static sum constant(tc *tx, int64_t n)
{
    sum s = {.estimate = n};
    add_term(tx, &s, n, &(name_list){0});
    return s;
}

static sum named(tc *tx, const char *name, int64_t estimate)
{
    sum s = {.estimate = estimate};
    name_list names = {0};
    VEC_PUSH(tx->ir->arena, &names, name);
    add_term(tx, &s, 1, &names);
    return s;
}

static sum plus(tc *tx, const sum *a, const sum *b, int64_t sign)
{
    sum s = {.is_unknown = a->is_unknown || b->is_unknown, .estimate = a->estimate + sign * b->estimate};
    for (size_t i = 0; i < a->terms.len; i++)
        add_term(tx, &s, a->terms.at[i].factor, &a->terms.at[i].names);
    for (size_t i = 0; i < b->terms.len; i++)
        add_term(tx, &s, sign * b->terms.at[i].factor, &b->terms.at[i].names);
    return s;
}

static sum times(tc *tx, const sum *a, const sum *b)
{
    sum s = {.is_unknown = a->is_unknown || b->is_unknown};
    s.is_unknown |= __builtin_mul_overflow(a->estimate, b->estimate, &s.estimate);
    for (size_t i = 0; i < a->terms.len && !s.is_unknown; i++)
        for (size_t k = 0; k < b->terms.len && !s.is_unknown; k++) {
            name_list names = {0};
            int64_t factor;
            for (size_t n = 0; n < a->terms.at[i].names.len; n++)
                VEC_PUSH(tx->ir->arena, &names, a->terms.at[i].names.at[n]);
            for (size_t n = 0; n < b->terms.at[k].names.len; n++)
                VEC_PUSH(tx->ir->arena, &names, b->terms.at[k].names.at[n]);
            s.is_unknown |= __builtin_mul_overflow(a->terms.at[i].factor, b->terms.at[k].factor, &factor);
            add_term(tx, &s, factor, &names);
        }
    return s;
}

static const char *text_of(tc *tx, const sum *s)
{
    str_buf out;
    str_buf_init(&out, tx->ir->arena);
    for (size_t i = 0; i < s->terms.len; i++) {
        const term *t = &s->terms.at[i];
        int64_t size = t->factor < 0 ? -t->factor : t->factor;
        str_adds(&out, i ? t->factor < 0 ? " - " : " + " : t->factor < 0 ? "-" : "");
        if (size != 1 || !*t->key)
            str_addf(&out, "%" PRId64 "%s", size, *t->key ? " * " : "");
        str_adds(&out, t->key);
    }
    return s->terms.len ? str_text(&out) : "0";
}

// Takes the names of [of] out of those of [from]; false: they are not all there.
static bool take_names(tc *tx, const term *from, const term *of, name_list *left)
{
    size_t k = 0;
    for (size_t i = 0; i < from->names.len; i++) {
        if (k < of->names.len && strcmp(from->names.at[i], of->names.at[k]) == 0)
            k++;
        else
            VEC_PUSH(tx->ir->arena, left, from->names.at[i]);
    }
    return k == of->names.len;
}

// a // b where b is one product that divides each one of a.
static bool divides(tc *tx, const sum *a, const sum *b, sum *out)
{
    if (b->terms.len != 1 || b->terms.at[0].factor < 1 || !b->estimate)
        return false;
    *out = (sum){.estimate = a->estimate / b->estimate};
    for (size_t i = 0; i < a->terms.len; i++) {
        name_list left = {0};
        if (a->terms.at[i].factor % b->terms.at[0].factor || !take_names(tx, &a->terms.at[i], &b->terms.at[0], &left))
            return false;
        add_term(tx, out, a->terms.at[i].factor / b->terms.at[0].factor, &left);
    }
    return true;
}

static bool is_known(const sum *s)
{
    return !s->terms.len || (s->terms.len == 1 && !*s->terms.at[0].key);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static sum quotient(tc *tx, const sum *a, const sum *b, bool is_rest)
{
    sum s;
    if (a->is_unknown || b->is_unknown || b->estimate < 1)
        return unknown();
    if (divides(tx, a, b, &s))
        return is_rest ? constant(tx, 0) : s;
    int64_t q = floor_div(a->estimate, b->estimate);
    if (is_known(a) && is_known(b))
        return constant(tx, is_rest ? a->estimate - q * b->estimate : q);
    const char *name = arena_printf(tx->ir->arena, "((%s) %s (%s))", text_of(tx, a), is_rest ? "%" : "//", text_of(tx, b));
    return named(tx, name, is_rest ? a->estimate - q * b->estimate : q);
}

// Whether no size makes it negative: nothing is taken from products of type parameters.
static bool is_not_negative(const sum *s)
{
    for (size_t i = 0; i < s->terms.len; i++) {
        const term *t = &s->terms.at[i];
        if (t->factor < 0 || strchr(t->key, '('))
            return false;
    }
    return true;
}

// One of the two; where they differ by a constant, or by sizes, it is known which one.
static sum extreme(tc *tx, const sum *a, const sum *b, bool is_max)
{
    if (a->is_unknown || b->is_unknown)
        return unknown();
    sum difference = plus(tx, a, b, -1);
    if (is_known(&difference))
        return (difference.estimate >= 0) == is_max ? *a : *b;
    if (is_not_negative(&difference))
        return is_max ? *a : *b;
    difference = plus(tx, b, a, -1);
    if (is_not_negative(&difference))
        return is_max ? *b : *a;
    bool takes_a = (a->estimate >= b->estimate) == is_max;
    const char *x = text_of(tx, a), *y = text_of(tx, b);
    bool swaps = strcmp(x, y) > 0;
    return named(tx, arena_printf(tx->ir->arena, "%s(%s, %s)", is_max ? "max" : "min", swaps ? y : x, swaps ? x : y),
                 takes_a ? a->estimate : b->estimate);
}

static sum sum_of(tc *tx, const ir_expr *e, int depth);

// What it is is found once: extents of a node are those of the nodes before it, and definitions go through all of these.
static sum sum_of_variable(tc *tx, ir_var *v, int depth)
{
    // fields of records are variables that may change: one that has not has its definition
    bool is_fixed = !v->is_mutable || v->role == IR_ROLE_FIELD;
    if (!v->definition || !is_fixed)
        return unknown();
    if (v->extent)
        return *(const sum *)v->extent;
    sum s = sum_of(tx, v->definition, depth + 1);
    if (!s.is_unknown && !v->is_mutable) {
        sum *kept = ARENA_NEW(tx->ir->arena, sum);
        *kept = s;
        v->extent = kept;
    }
    return s;
}

static sum sum_of(tc *tx, const ir_expr *e, int depth)
{
    if (depth > DEEPEST)
        return unknown();
    if (e->op == IR_OP_INT)
        return constant(tx, e->u.i);
    if (e->op == IR_OP_VAR && e->u.var->is_size)
        return named(tx, e->u.var->name, NOMINAL);
    if (e->op == IR_OP_VAR)
        return sum_of_variable(tx, e->u.var, depth);
    if (e->op == IR_OP_CAST)
        return e->type->kind == IR_SCALAR && dt_is_int(e->type->scalar) ? sum_of(tx, e->args[0], depth + 1) : unknown();
    if (e->arg_count < 1 || e->arg_count > 2)
        return unknown();
    sum a = sum_of(tx, e->args[0], depth + 1), b = e->arg_count == 2 ? sum_of(tx, e->args[1], depth + 1) : constant(tx, -1);
    switch (e->op) {
    case IR_OP_ADD:
        return plus(tx, &a, &b, 1);
    case IR_OP_SUB:
        return plus(tx, &a, &b, -1);
    case IR_OP_MUL:
    case IR_OP_NEG:
        return times(tx, &a, &b);
    case IR_OP_FLOORDIV:
    case IR_OP_TRUNCDIV: // of sizes, which are not negative
        return quotient(tx, &a, &b, false);
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCMOD:
        return quotient(tx, &a, &b, true);
    case IR_OP_MIN:
    case IR_OP_MAX:
        return extreme(tx, &a, &b, e->op == IR_OP_MAX);
    default:
        return unknown();
    }
}

static sum sum_of_value(tc *tx, tc_value n)
{
    return n.kind == TC_RT ? sum_of(tx, n.rt, 0) : n.kind == TC_INT ? constant(tx, (int64_t)n.i) : unknown();
}

bool tc_known_order(tc *tx, ast_op op, tc_value a, tc_value b, bool *holds)
{
    sum x = sum_of_value(tx, a), y = sum_of_value(tx, b);
    if (x.is_unknown || y.is_unknown)
        return false;
    sum difference = plus(tx, &x, &y, -1);
    if (!is_known(&difference))
        return false;
    int64_t d = difference.terms.len ? difference.terms.at[0].factor : 0;
    switch (op) {
    case AST_OP_EQ: *holds = d == 0; break;
    case AST_OP_NE: *holds = d != 0; break;
    case AST_OP_LT: *holds = d < 0; break;
    case AST_OP_LE: *holds = d <= 0; break;
    case AST_OP_GT: *holds = d > 0; break;
    case AST_OP_GE: *holds = d >= 0; break;
    default: return false;
    }
    return true;
}

tc_value tc_native_extent(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value n = tc_as_index(tx, args->list.at[0].value, args->list.at[0].span), pair[2];
    (void)self;
    if (tc_is_poison(n))
        return n;
    sum s = sum_of_value(tx, n);
    if (s.is_unknown)
        return tc_none();
    pair[0] = tc_str(str_of(text_of(tx, &s)));
    pair[1] = tc_of_int(s.estimate);
    return tc_list_new(tx, TC_TUPLE, pair, 2);
}
