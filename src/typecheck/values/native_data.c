// Methods of lists, tuples, sets and dicts while compiling, as in Python.
#include "typecheck/values/text.h"

#include <string.h>

typedef struct method method;
typedef struct call {
    tc *tx;
    tc_value self;
    tc_list *list; // of a list, tuple or set
    tc_dict *dict;
    tc_args *args;
    const method *m;
} call;

struct method {
    const char *name;
    tc_value (*run)(call *c);
    int min, max; // max -1: any, keywords too
    enum { READS, GROWS, CHANGES } changes; // GROWS: items are added at the end of a list
    const char *params;
    int data;
};

static tc_value first(const call *c)
{
    return c->args->list.len ? c->args->list.at[0].value : tc_none();
}

static void remove_at(tc_list *list, size_t at)
{
    memmove(list->at + at, list->at + at + 1, (list->len - at - 1) * sizeof *list->at);
    list->len--;
    tc_list_changed(list);
}

static tc_value missing(call *c, tc_value v)
{
    return TC_ERR(c->tx, HDS0141, c->args->span, tc_text(c->tx, v));
}

// The items of the arguments from [from] on, in a list of their own: an argument may be the list itself.
static bool items_of(call *c, size_t from, tc_list *out)
{
    for (size_t i = from; i < c->args->list.len; i++)
        if (!tc_iterate(c->tx, c->args->list.at[i].value, c->args->list.at[i].span, out))
            return false;
    return true;
}

// ---- lists and tuples --------------------------------------------------------------------------------------------

static tc_value run_append(call *c)
{
    if (!tc_may_hold(c->tx, c->self, first(c), c->args->span))
        return tc_poison();
    tc_list_push(c->tx, c->list, tc_freeze(c->tx, first(c), c->args->span));
    return tc_none();
}

static tc_value run_extend(call *c)
{
    tc_list items = {0};
    if (!items_of(c, 0, &items))
        return tc_poison();
    for (size_t i = 0; i < items.len; i++)
        if (!tc_may_hold(c->tx, c->self, items.at[i], c->args->span))
            return tc_poison();
    for (size_t i = 0; i < items.len; i++)
        tc_list_push(c->tx, c->list, tc_freeze(c->tx, items.at[i], c->args->span));
    return tc_none();
}

static tc_value run_insert(call *c)
{
    int64_t at, len = (int64_t)c->list->len;
    if (!tc_as_int64(first(c), &at))
        return TC_ERR(c->tx, HDS0137, c->args->span, tc_describe(c->tx, first(c)));
    if (!tc_may_hold(c->tx, c->self, c->args->list.at[1].value, c->args->span))
        return tc_poison();
    at = at < -len ? 0 : at < 0 ? at + len : at > len ? len : at;
    tc_list_push(c->tx, c->list, tc_none());
    memmove(c->list->at + at + 1, c->list->at + at, (size_t)(len - at) * sizeof *c->list->at);
    tc_list_set(c->list, (size_t)at, tc_freeze(c->tx, c->args->list.at[1].value, c->args->span));
    return tc_none();
}

static tc_value run_pop(call *c)
{
    int64_t at = -1, len = (int64_t)c->list->len;
    if (c->args->list.len && !tc_as_int64(first(c), &at))
        return TC_ERR(c->tx, HDS0137, c->args->span, tc_describe(c->tx, first(c)));
    int64_t from_start = at < 0 ? at + len : at;
    if (from_start < 0 || from_start >= len)
        return TC_ERR(c->tx, HDS0140, c->args->span, tc_text(c->tx, tc_of_int(at)), (long)len);
    tc_value v = c->list->at[from_start];
    remove_at(c->list, (size_t)from_start);
    return v;
}

static tc_value run_index(call *c)
{
    size_t at;
    if (!tc_find_item(c->tx, c->list, first(c), &at))
        return tc_poison();
    return at < c->list->len ? tc_of_int((tc_int)at) : missing(c, first(c));
}

static tc_value run_count(call *c)
{
    tc_int count = 0;
    for (size_t i = 0; i < c->list->len; i++) {
        bool equal;
        if (!tc_items_equal(c->tx, c->list->at[i], first(c), &equal))
            return tc_poison();
        count += equal;
    }
    return tc_of_int(count);
}

static tc_value run_reverse(call *c)
{
    tc_list_changed(c->list);
    for (size_t i = 0, j = c->list->len; i + 1 < j; i++) {
        tc_value swap = c->list->at[i];
        c->list->at[i] = c->list->at[--j];
        c->list->at[j] = swap;
    }
    return tc_none();
}

static tc_value run_sort(call *c)
{
    tc_args args = {.span = c->args->span};
    VEC_PUSH(c->tx->arena, &args.list, ((tc_arg){.name = NULL, .value = c->self, .span = c->args->span}));
    for (size_t i = 0; i < c->args->list.len; i++)
        VEC_PUSH(c->tx->arena, &args.list, c->args->list.at[i]);
    const tc_binding *sorted = tc_scope_find_here(c->tx->natives, sym_of(c->tx->syms, "sorted"));
    tc_value r = tc_call(c->tx, sorted->value, &args);
    if (r.kind != TC_LIST)
        return tc_poison();
    for (size_t i = 0; i < c->list->len && i < r.list->len; i++)
        tc_list_set(c->list, i, r.list->at[i]);
    return tc_none();
}

static tc_value run_copy(call *c)
{
    return tc_list_new(c->tx, c->self.kind, c->list->at, c->list->len);
}

static tc_value run_clear(call *c)
{
    c->list->len = 0;
    tc_list_changed(c->list);
    return tc_none();
}

// list.remove, set.remove and set.discard, which does not mind a missing item.
static tc_value run_remove(call *c)
{
    size_t at;
    if (!tc_find_item(c->tx, c->list, first(c), &at))
        return tc_poison();
    if (at < c->list->len)
        remove_at(c->list, at);
    else if (!c->m->data)
        return missing(c, first(c));
    return tc_none();
}

// ---- sets --------------------------------------------------------------------------------------------------------

static void add_once(tc *tx, tc_list *set, tc_value v)
{
    size_t at;
    if (tc_find_item(tx, set, v, &at) && at == set->len)
        tc_list_push(tx, set, v);
}

static tc_value run_add(call *c)
{
    if (!tc_may_hold(c->tx, c->self, first(c), c->args->span) ||
        !tc_spend(c->tx, (int64_t)c->list->len / 8, c->args->span))
        return tc_poison();
    add_once(c->tx, c->list, first(c));
    return tc_none();
}

static tc_value run_update(call *c)
{
    tc_list items = {0};
    if (!items_of(c, 0, &items))
        return tc_poison();
    for (size_t i = 0; i < items.len; i++) {
        if (!tc_may_hold(c->tx, c->self, items.at[i], c->args->span) ||
            !tc_spend(c->tx, (int64_t)c->list->len / 8, c->args->span))
            return tc_poison();
        add_once(c->tx, c->list, items.at[i]);
    }
    return tc_none();
}

static tc_value run_set_operation(call *c)
{
    static const ast_op ops[] = {['|'] = AST_OP_OR, ['&'] = AST_OP_AND, ['-'] = AST_OP_SUB, ['^'] = AST_OP_XOR};
    tc_value r = run_copy(c);
    for (size_t i = 0; i < c->args->list.len && r.kind == TC_SET; i++) {
        tc_value other = tc_list_new(c->tx, TC_SET, NULL, 0);
        tc_list items = {0};
        if (!tc_iterate(c->tx, c->args->list.at[i].value, c->args->list.at[i].span, &items))
            return tc_poison();
        for (size_t k = 0; k < items.len; k++)
            add_once(c->tx, other.list, items.at[k]);
        r = tc_binary(c->tx, ops[c->m->data], r, other, c->args->span);
    }
    return r;
}

// issubset, issuperset, isdisjoint
static tc_value run_set_relation(call *c)
{
    tc_list items = {0};
    if (!items_of(c, 0, &items))
        return tc_poison();
    bool reversed = c->m->data == '>', holds = true;
    const tc_list *of = reversed ? &items : c->list, *in = reversed ? c->list : &items;
    for (size_t i = 0; i < of->len; i++) {
        size_t at;
        if (!tc_find_item(c->tx, in, of->at[i], &at))
            return tc_poison();
        holds &= (at < in->len) == (c->m->data != '!');
    }
    return tc_bool(holds);
}

// ---- dicts -------------------------------------------------------------------------------------------------------

static tc_value run_keys(call *c)
{
    const tc_list *l = c->m->data == 'k' ? &c->dict->keys : &c->dict->values;
    return tc_list_new(c->tx, TC_LIST, l->at, l->len);
}

static tc_value run_items(call *c)
{
    tc_value r = tc_list_new(c->tx, TC_LIST, NULL, 0);
    for (size_t i = 0; i < c->dict->keys.len; i++) {
        tc_value pair[2] = {c->dict->keys.at[i], c->dict->values.at[i]};
        tc_list_push(c->tx, r.list, tc_list_new(c->tx, TC_TUPLE, pair, 2));
    }
    return r;
}

// get, setdefault, pop
static tc_value run_get(call *c)
{
    tc_value *found = tc_dict_find(c->tx, c->dict, first(c));
    tc_value other = c->args->list.len > 1 ? c->args->list.at[1].value : tc_none();
    if (!found && c->m->data == 'p' && c->args->list.len < 2)
        return missing(c, first(c));
    if (!found && c->m->data == 's' && !tc_may_hold(c->tx, c->self, other, c->args->span))
        return tc_poison();
    if (!found && c->m->data == 's')
        tc_dict_put(c->tx, c->dict, first(c), tc_freeze(c->tx, other, c->args->span));
    if (!found)
        return other;
    tc_value v = *found;
    if (c->m->data == 'p') {
        size_t at = (size_t)(found - c->dict->values.at);
        remove_at(&c->dict->keys, at);
        remove_at(&c->dict->values, at);
    }
    return v;
}

// What dict(…) would make of the arguments is put in.
static tc_value run_dict_update(call *c)
{
    const tc_binding *dict = tc_scope_find_here(c->tx->natives, sym_of(c->tx->syms, "dict"));
    tc_value from = tc_call(c->tx, dict->value, c->args);
    if (from.kind != TC_DICT)
        return tc_poison();
    if (!tc_may_hold(c->tx, c->self, from, c->args->span))
        return tc_poison();
    for (size_t i = 0; i < from.dict->keys.len; i++)
        tc_dict_put(c->tx, c->dict, from.dict->keys.at[i], from.dict->values.at[i]);
    return tc_none();
}

static tc_value run_dict_copy(call *c)
{
    tc_value r = tc_dict_new(c->tx);
    for (size_t i = 0; i < c->dict->keys.len; i++) {
        tc_list_push(c->tx, &r.dict->keys, c->dict->keys.at[i]);
        tc_list_push(c->tx, &r.dict->values, c->dict->values.at[i]);
    }
    return r;
}

static tc_value run_dict_clear(call *c)
{
    c->dict->keys.len = c->dict->values.len = 0;
    tc_list_changed(&c->dict->keys);
    tc_list_changed(&c->dict->values);
    return tc_none();
}

// ---- tables ------------------------------------------------------------------------------------------------------

#define LIST_METHODS(X)                                                                                                \
    X("append", run_append, 1, 1, GROWS, NULL, 0)                                                                      \
    X("extend", run_extend, 1, 1, GROWS, NULL, 0)                                                                      \
    X("insert", run_insert, 2, 2, CHANGES, NULL, 0)                                                                    \
    X("pop", run_pop, 0, 1, CHANGES, NULL, 0)                                                                          \
    X("remove", run_remove, 1, 1, CHANGES, NULL, 0)                                                                    \
    X("clear", run_clear, 0, 0, CHANGES, NULL, 0)                                                                      \
    X("sort", run_sort, 0, 2, CHANGES, "key reverse", 0)                                                               \
    X("reverse", run_reverse, 0, 0, CHANGES, NULL, 0)                                                                  \
    X("index", run_index, 1, 1, READS, NULL, 0)                                                                        \
    X("count", run_count, 1, 1, READS, NULL, 0)                                                                        \
    X("copy", run_copy, 0, 0, READS, NULL, 0)

#define TUPLE_METHODS(X)                                                                                               \
    X("index", run_index, 1, 1, READS, NULL, 0)                                                                        \
    X("count", run_count, 1, 1, READS, NULL, 0)

#define SET_METHODS(X)                                                                                                 \
    X("add", run_add, 1, 1, CHANGES, NULL, 0)                                                                          \
    X("update", run_update, 0, -1, CHANGES, NULL, 0)                                                                   \
    X("remove", run_remove, 1, 1, CHANGES, NULL, 0)                                                                    \
    X("discard", run_remove, 1, 1, CHANGES, NULL, 1)                                                                   \
    X("clear", run_clear, 0, 0, CHANGES, NULL, 0)                                                                      \
    X("copy", run_copy, 0, 0, READS, NULL, 0)                                                                          \
    X("union", run_set_operation, 0, -1, READS, NULL, '|')                                                             \
    X("intersection", run_set_operation, 0, -1, READS, NULL, '&')                                                      \
    X("difference", run_set_operation, 0, -1, READS, NULL, '-')                                                        \
    X("symmetric_difference", run_set_operation, 1, 1, READS, NULL, '^')                                               \
    X("issubset", run_set_relation, 1, 1, READS, NULL, '<')                                                            \
    X("issuperset", run_set_relation, 1, 1, READS, NULL, '>')                                                          \
    X("isdisjoint", run_set_relation, 1, 1, READS, NULL, '!')

#define DICT_METHODS(X)                                                                                                \
    X("keys", run_keys, 0, 0, READS, NULL, 'k')                                                                        \
    X("values", run_keys, 0, 0, READS, NULL, 'v')                                                                      \
    X("items", run_items, 0, 0, READS, NULL, 0)                                                                        \
    X("get", run_get, 1, 2, READS, NULL, 'g')                                                                          \
    X("setdefault", run_get, 1, 2, CHANGES, NULL, 's')                                                                 \
    X("pop", run_get, 1, 2, CHANGES, NULL, 'p')                                                                        \
    X("update", run_dict_update, 0, -1, CHANGES, NULL, 0)                                                              \
    X("clear", run_dict_clear, 0, 0, CHANGES, NULL, 0)                                                                 \
    X("copy", run_dict_copy, 0, 0, READS, NULL, 0)

#define ROW(name, run, min, max, changes, params, data) {name, run, min, max, changes, params, data},
static const method list_methods[] = {LIST_METHODS(ROW){0}};
static const method tuple_methods[] = {TUPLE_METHODS(ROW){0}};
static const method set_methods[] = {SET_METHODS(ROW){0}};
static const method dict_methods[] = {DICT_METHODS(ROW){0}};
#undef ROW

#define ROW(name, run, min, max, changes, params, data) name,
const char *const tc_list_method_names[] = {LIST_METHODS(ROW) NULL};
const char *const tc_tuple_method_names[] = {TUPLE_METHODS(ROW) NULL};
const char *const tc_set_method_names[] = {SET_METHODS(ROW) NULL};
const char *const tc_dict_method_names[] = {DICT_METHODS(ROW) NULL};
#undef ROW

tc_value tc_data_method(tc *tx, tc_value self, sym name, tc_args *args, bool *found)
{
    const method *m = self.kind == TC_LIST    ? list_methods
                      : self.kind == TC_TUPLE ? tuple_methods
                      : self.kind == TC_SET   ? set_methods
                                              : dict_methods;
    while (m->name && strcmp(m->name, name->text) != 0)
        m++;
    *found = m->name != NULL;
    if (!*found)
        return tc_poison();
    tc_native checked = {.name = m->name, .min_args = m->min, .max_args = m->max, .params = m->params};
    if (!tc_args_check(tx, &checked, args) || (m->changes && !(m->changes == GROWS ? tc_may_grow : tc_may_change)(tx, self, args->span)))
        return tc_poison();
    for (size_t i = 0; m->max >= 0 && !m->params && i < args->list.len; i++)
        if (args->list.at[i].name)
            return TC_ERR(tx, HDS0211, args->list.at[i].span, m->name, args->list.at[i].name->text);
    bool is_dict = self.kind == TC_DICT;
    call c = {tx, self, is_dict ? NULL : self.list, is_dict ? self.dict : NULL, args, m};
    return m->run(&c);
}

// ---- assignments in place ----------------------------------------------------------------------------------------

static void call_method(tc *tx, tc_value self, const char *name, tc_value v, src_span span)
{
    tc_args args = {.span = span};
    bool found;
    VEC_PUSH(tx->arena, &args.list, ((tc_arg){.name = NULL, .value = v, .span = span}));
    tc_data_method(tx, self, sym_of(tx->syms, name), &args, &found);
}

bool tc_data_in_place(tc *tx, ast_op op, tc_value old, tc_value v, src_span span)
{
    bool is_set = old.kind == TC_SET && v.kind == TC_SET && op >= AST_OP_AND && op <= AST_OP_XOR;
    is_set |= old.kind == TC_SET && v.kind == TC_SET && op == AST_OP_SUB;
    bool repeats = old.kind == TC_LIST && op == AST_OP_MUL && v.kind == TC_INT;
    if (old.kind == TC_LIST && op == AST_OP_ADD && v.kind != TC_RECORD && v.kind != TC_TENSOR) {
        call_method(tx, old, "extend", v, span);
        return true;
    }
    if (old.kind == TC_DICT && op == AST_OP_OR) {
        call_method(tx, old, "update", v, span);
        return true;
    }
    if (!is_set && !repeats)
        return false;
    tc_value r = tc_binary(tx, op, old, v, span);
    if (r.kind != old.kind || !tc_may_change(tx, old, span))
        return true;
    old.list->len = 0;
    tc_list_changed(old.list);
    old.list->weight = 0;
    for (size_t i = 0; i < r.list->len; i++)
        tc_list_push(tx, old.list, r.list->at[i]);
    return true;
}
