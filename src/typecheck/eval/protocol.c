// Special methods that Python's syntax calls implicitly: truth, comparison, membership, iteration and text of records,
// and equality inside containers. Operators with two operands are in ops.c.
#include "typecheck/eval/eval.h"

#include <string.h>

static bool has_method(tc *tx, tc_value record, const char *name)
{
    return map_get_ptr(&record.record->class->methods, sym_of(tx->syms, name)) != NULL;
}

// ---- which special methods exist -----------------------------------------------------------------------------------

static bool is_one_of(const char *words, const char *name, size_t len)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == len && memcmp(at, name, len) == 0)
            return true;
        at += word;
    }
    return false;
}

bool tc_is_special_method(str name)
{
    static const char arithmetic[] = "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor";
    static const char others[] =
        "init neg pos invert abs int float eq ne lt le gt ge hash getitem setitem call len contains iter bool "
        "index str repr enter exit";
    if (name.len < 5 || memcmp(name.at, "__", 2) != 0 || memcmp(name.at + name.len - 2, "__", 2) != 0)
        return false;
    const char *word = name.at + 2;
    size_t len = name.len - 4;
    bool has_prefix = *word == 'i' || *word == 'r'; // in-last_span, reflected
    return is_one_of(arithmetic, word, len) || is_one_of(others, word, len) ||
           (has_prefix && is_one_of(arithmetic, word + 1, len - 1));
}

// ---- truth ---------------------------------------------------------------------------------------------------------

// What says whether a record is true: a bool, the length, or the integer it stands for; true without these methods.
static tc_value truth_of_record(tc *tx, tc_value record, src_span span)
{
    bool found = false;
    tc_value v = tc_record_dunder(tx, record, "__bool__", NULL, 0, span, &found);
    if (found) {
        bool is_bool = v.kind == TC_BOOL || (v.kind == TC_RT && ir_is_scalar(v.rt->type, DT_BOOL));
        return is_bool || tc_is_poison(v)
                   ? v
                   : TC_ERR(tx, HDS0184, span, "the result of '__bool__'", "bool", tc_describe(tx, v));
    }
    v = tc_record_dunder(tx, record, "__len__", NULL, 0, span, &found);
    if (!found)
        return tc_has_index(tx, record) ? tc_as_index(tx, record, span) : tc_bool(true);
    return tc_is_index(v) || tc_is_poison(v)
               ? v
               : TC_ERR(tx, HDS0184, span, "the result of '__len__'", "int", tc_describe(tx, v));
}

bool tc_truth_of(tc *tx, tc_value *v, src_span span, bool *out)
{
    if (v->kind == TC_RECORD)
        *v = truth_of_record(tx, *v, span);
    return tc_truth(*v, out);
}

// ---- comparison ----------------------------------------------------------------------------------------------------

// One side's answer: its method for the operator, and for != also what its '__eq__' does not hold to be equal.
static bool compare_by(tc *tx, tc_value record, ast_op op, tc_value other, src_span span, tc_value *out)
{
    static const char *const names[AST_OP__COUNT] = {
        [AST_OP_EQ] = "__eq__", [AST_OP_NE] = "__ne__", [AST_OP_LT] = "__lt__",
        [AST_OP_LE] = "__le__", [AST_OP_GT] = "__gt__", [AST_OP_GE] = "__ge__"};
    bool found = false;
    if (record.kind != TC_RECORD || !names[op])
        return false;
    *out = tc_record_dunder(tx, record, names[op], &other, 1, span, &found);
    if (found || op != AST_OP_NE)
        return found;
    *out = tc_record_dunder(tx, record, "__eq__", &other, 1, span, &found);
    if (found)
        *out = tc_unary(tx, AST_OP_NOT, *out, span);
    return found;
}

bool tc_compare_records(tc *tx, ast_op op, tc_value a, tc_value b, src_span span, tc_value *out)
{
    static const ast_op swapped[AST_OP__COUNT] = {
        [AST_OP_EQ] = AST_OP_EQ, [AST_OP_NE] = AST_OP_NE, [AST_OP_LT] = AST_OP_GT,
        [AST_OP_LE] = AST_OP_GE, [AST_OP_GT] = AST_OP_LT, [AST_OP_GE] = AST_OP_LE};
    return compare_by(tx, a, op, b, span, out) || (swapped[op] && compare_by(tx, b, swapped[op], a, span, out));
}

// ---- equality inside containers ----------------------------------------------------------------------------------

static bool is_plain(tc_value v)
{
    return v.kind != TC_RECORD && v.kind != TC_TUPLE && v.kind != TC_LIST && v.kind != TC_SET && v.kind != TC_DICT;
}

static bool lists_equal(tc *tx, const tc_list *a, const tc_list *b, bool *equal)
{
    *equal = a->len == b->len;
    for (size_t i = 0; *equal && i < a->len; i++)
        if (!tc_items_equal(tx, a->at[i], b->at[i], equal))
            return false;
    return true;
}

static bool records_equal(tc *tx, tc_value a, tc_value b, bool *equal)
{
    *equal = a.kind == b.kind && a.record == b.record;
    if (*equal)
        return true;
    tc_value same = tc_compare(tx, AST_OP_EQ, a, b, tx->last_span);
    if (tc_truth_of(tx, &same, tx->last_span, equal))
        return true;
    if (!tc_is_poison(same) && !tc_wants_run_time(tx))
        tc_error(tx, HDS0302, tx->last_span, tc_describe(tx, a), tc_describe(tx, b));
    return false;
}

static bool dicts_equal(tc *tx, tc_dict *a, tc_dict *b, bool *equal)
{
    *equal = a->keys.len == b->keys.len;
    for (size_t i = 0; *equal && i < a->keys.len; i++) {
        size_t at;
        if (!tc_find_item(tx, &b->keys, a->keys.at[i], &at))
            return false;
        *equal = at < b->keys.len;
        if (*equal && !tc_items_equal(tx, a->values.at[i], b->values.at[at], equal))
            return false;
    }
    return true;
}

bool tc_sets_ordered(tc *tx, const tc_list *small, const tc_list *large, bool *contained)
{
    *contained = true;
    for (size_t i = 0; *contained && i < small->len; i++) {
        size_t at;
        if (!tc_find_item(tx, large, small->at[i], &at))
            return false;
        *contained = at < large->len;
    }
    return true;
}

bool tc_items_equal(tc *tx, tc_value a, tc_value b, bool *equal)
{
    if (is_plain(a) && is_plain(b)) {
        *equal = tc_equal(a, b);
        return true;
    }
    if (a.kind == TC_RECORD || b.kind == TC_RECORD)
        return records_equal(tx, a, b, equal);
    *equal = false;
    if (a.kind != b.kind)
        return true;
    if (a.kind == TC_DICT)
        return dicts_equal(tx, a.dict, b.dict, equal);
    if (a.kind != TC_SET)
        return lists_equal(tx, a.list, b.list, equal);
    return a.list->len != b.list->len || tc_sets_ordered(tx, a.list, b.list, equal);
}

// Where the first ones of equal texts are in a list of texts alone.
typedef struct tc_places {
    const tc_list *of; // a copy of a list has none
    size_t len;        // so many of its items
    map by_text;       // text -> its place + 1
} tc_places;

// Places of a list are kept as long as the list. NULL: it is older than what is made now.
static arena *memory_of_places(const tc *tx, const tc_list *list)
{
    return list->born == 0 ? tx->lasting : list->born == tx->born ? tx->arena : NULL;
}

// The same as looking at each item; false: something else is among the items, or the list is short.
static bool find_text(const tc *tx, tc_list *list, str wanted, size_t *at)
{
    enum { MANY = 32 };
    arena *memory = memory_of_places(tx, list);
    if (list->len < MANY || !memory)
        return false;
    tc_places *places = list->places;
    if (!places || places->of != list || places->len > list->len) {
        list->places = places = ARENA_NEW(memory, tc_places);
        places->of = list;
        map_init(&places->by_text, memory);
    }
    for (; places->len < list->len; places->len++) {
        const tc_value *item = &list->at[places->len];
        if (item->kind != TC_STR)
            return false;
        if (!map_get(&places->by_text, item->s.at, item->s.len))
            map_put(&places->by_text, item->s.at, item->s.len, (void *)(places->len + 1));
    }
    size_t place = (size_t)map_get(&places->by_text, wanted.at, wanted.len);
    *at = place ? place - 1 : list->len;
    return true;
}

bool tc_find_item(tc *tx, const tc_list *items, tc_value wanted, size_t *at)
{
    bool equal = false;
    if (wanted.kind == TC_STR && find_text(tx, (tc_list *)items, wanted.s, at)) // changes nothing but what is known of it
        return true;
    for (*at = 0; *at < items->len; ++*at) {
        if (!tc_items_equal(tx, items->at[*at], wanted, &equal))
            return false;
        if (equal)
            return true;
    }
    return true;
}

// ---- iteration and membership --------------------------------------------------------------------------------------

tc_value tc_iterable(tc *tx, tc_value v, src_span span)
{
    enum { MOST = 8 }; // an '__iter__' may give another record with one
    for (int i = 0; v.kind == TC_RECORD && i < MOST; i++) {
        bool found = false;
        if (!has_method(tx, v, "__iter__") && has_method(tx, v, "__len__") && has_method(tx, v, "__getitem__"))
            return v;
        v = tc_record_dunder(tx, v, "__iter__", NULL, 0, span, &found);
        if (!found)
            return TC_ERR(tx, HDS0144, span, "a record without '__iter__', or '__len__' and '__getitem__'");
    }
    return v.kind == TC_RECORD ? TC_ERR(tx, HDS0144, span, "a record whose '__iter__' returns another record") : v;
}

bool tc_iterate_record(tc *tx, tc_value record, src_span span, tc_list *out)
{
    tc_value v = tc_iterable(tx, record, span);
    if (v.kind != TC_RECORD)
        return !tc_is_poison(v) && tc_iterate(tx, v, span, out);
    bool found = false;
    tc_value length = tc_record_dunder(tx, v, "__len__", NULL, 0, span, &found);
    if (length.kind != TC_INT) {
        if (!tc_is_poison(length) && !tc_wants_run_time(tx))
            tc_error(tx, HDS0144, span,
                     arena_printf(tx->arena, "a record whose length is %s", tc_describe(tx, length)));
        return false;
    }
    for (tc_int i = 0; i < length.i; i++) {
        tc_value index = tc_of_int(i);
        tc_value item = tc_record_dunder(tx, v, "__getitem__", &index, 1, span, &found);
        if (tc_is_poison(item) || !tc_step(tx, span))
            return false;
        tc_list_push(tx, out, item);
    }
    return true;
}

tc_value tc_record_contains(tc *tx, tc_value record, tc_value item, src_span span)
{
    bool found = false, truth;
    tc_value holds = tc_record_dunder(tx, record, "__contains__", &item, 1, span, &found);
    if (!found) {
        tc_value items = tc_list_new(tx, TC_LIST, NULL, 0);
        return tc_iterate_record(tx, record, span, items.list) ? tc_compare(tx, AST_OP_IN, item, items, span)
                                                               : tc_poison();
    }
    if (tc_truth_of(tx, &holds, span, &truth))
        return tc_bool(truth);
    ir_expr *e = tc_condition(tx, holds, span);
    return e ? tc_rt(e) : tc_poison();
}

// ---- text ----------------------------------------------------------------------------------------------------------

bool tc_record_text(tc *tx, tc_value record, bool is_repr, str_buf *out)
{
    bool found = false;
    const char *name = is_repr ? "__repr__" : "__str__";
    tc_value text = tc_record_dunder(tx, record, name, NULL, 0, tx->last_span, &found);
    if (!found && !is_repr)
        return tc_record_text(tx, record, true, out);
    if (text.kind == TC_STR)
        str_add(out, text.s);
    else if (found && !tc_is_poison(text))
        tc_error(tx, HDS0184, tx->last_span, arena_printf(tx->arena, "the result of '%s'", name), "str",
                 tc_describe(tx, text));
    return found;
}
