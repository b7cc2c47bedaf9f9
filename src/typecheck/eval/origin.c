// Where functions are defined and called from: what graph functions record of operators.
#include "typecheck/eval/eval.h"

tc_value tc_native_defined_in(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value f = args->list.at[0].value, pair = tc_list_new(tx, TC_TUPLE, NULL, 0);
    (void)self;
    if (f.kind != TC_FUNCTION || !f.function->name)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "what is defined", "function", tc_describe(tx, f));
    const char *module = f.function->module ? tc_module_name(tx, f.function->module) : NULL;
    tc_list_push(tx, pair.list, tc_str(str_of(f.function->name->text)));
    tc_list_push(tx, pair.list, tc_str(str_of(module ? module : "")));
    return pair;
}

tc_value tc_native_call_site(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    (void)args;
    for (const tc_frame *f = tx->frame; f; f = f->caller) {
        src_location at = src_location_of(tx->diags->sources, f->call_span.begin);
        if (at.file && at.file == tx->main->file)
            return tc_of_int(at.line);
    }
    return tc_of_int(0);
}

// A copy of numbers, texts, types, and tuples and lists of them; poison: it is, or holds, something else.
static tc_value copy_of_data(tc *tx, tc_value v)
{
    switch (v.kind) {
    case TC_NONE:
    case TC_BOOL:
    case TC_INT:
    case TC_FLOAT:
    case TC_TYPE:
    case TC_RT: return v;
    case TC_STR: return tc_str((str){arena_strndup(tx->arena, v.s.at, v.s.len), v.s.len});
    case TC_TUPLE:
    case TC_LIST: break;
    default: return tc_poison();
    }
    tc_value copy = tc_list_new(tx, v.kind, NULL, 0);
    for (size_t i = 0; i < v.list->len; i++) {
        tc_value item = copy_of_data(tx, v.list->at[i]);
        if (tc_is_poison(item))
            return item;
        tc_list_push(tx, copy.list, item);
    }
    return copy;
}

// What f() makes is given back, where its result is data: of that, a copy lasts.
static tc_value call_for_data(tc *tx, tc_value f, src_span span)
{
    tc_lifetime lifetime, around;
    tc_lifetime_begin(tx, &lifetime);
    tc_value v = tc_call_apart(tx, f, NULL, 0, span);
    tc_lasting_begin(tx, &around);
    tc_value copy = copy_of_data(tx, v);
    tc_lasting_end(tx, &around);
    lifetime.keeps |= tc_is_poison(copy);
    tc_lifetime_end(tx, &lifetime);
    return tc_is_poison(copy) ? v : copy;
}

tc_value tc_native_within(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value text = args->list.at[0].value;
    (void)self;
    if (text.kind != TC_STR)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "what is done", "str", tc_describe(tx, text));
    const char *before = tx->recorded_call;
    tx->recorded_call = arena_strndup(tx->arena, text.s.at, text.s.len);
    tc_value v = call_for_data(tx, args->list.at[1].value, args->span);
    tx->recorded_call = before;
    return v;
}

bool tc_open_decides(tc *tx, tc_value decides, src_span span, const char *what)
{
    if (!tc_in_graph(tx) || tc_is_poison(decides))
        return false;
    diag *d = tc_error(tx, HDS0833, span, what);
    diag_help(d, "-D NAME=VALUE gives a size a value while compiling");
    return true;
}
