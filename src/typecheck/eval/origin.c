// Where functions are defined and called from: what graph functions record of operators.
#include "typecheck/eval/eval.h"

tc_value tc_native_defined_in(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value f = args->list.at[0].value, pair = tc_list_new(tx, TC_TUPLE, NULL, 0);
    (void)self;
    if (f.kind != TC_FUNCTION || !f.function->name)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "what is defined", "function", tc_describe(tx, f));
    const char *module = f.function->module ? f.function->module->path : NULL;
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

tc_value tc_native_within(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value text = args->list.at[0].value;
    (void)self;
    if (text.kind != TC_STR)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "what is done", "str", tc_describe(tx, text));
    const char *before = tx->recorded_call;
    tx->recorded_call = arena_strndup(tx->arena, text.s.at, text.s.len);
    tc_value v = tc_call_apart(tx, args->list.at[1].value, NULL, 0, args->span);
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
