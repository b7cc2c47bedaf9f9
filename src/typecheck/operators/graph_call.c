// Calls of graph functions in tests: Note [graphs in tests].
//
// Note [graphs in tests]. `y = model(x)` in the host code of a test runs the program that the model is compiled to, and
// `model.reference(x)` evaluates the operators of the recorded graph one by one. Both are texts of the language, as is the program of
// a model that is compiled by itself: the graph is recorded for the extents and types of the arguments (a run-time extent stays
// open), src/graph makes the text of it (tc_options.lower_graph), and the text's function _outputs is called with the arguments.
// Weights are parameters of the test's function, for whoever runs it to bind.
#include <string.h>

#include "typecheck/operators/operators_priv.h"

static bool in_test(const tc *tx)
{
    return tx->in_test && tc_on_host(tx) && !tx->records;
}

// in_test_code(): whether what runs here is host code of a test.
tc_value tc_native_in_test_code(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    (void)args;
    return tc_bool(in_test(tx));
}

// The arguments of f(*args, **named).
static bool read_call(tc *tx, const tc_args *args, src_span span, tc_args *out)
{
    tc_value positional = args->list.at[1].value, named = args->list.at[2].value;
    *out = (tc_args){.span = span};
    if (positional.kind != TC_TUPLE || named.kind != TC_DICT)
        return false;
    for (size_t i = 0; i < positional.list->len; i++)
        VEC_PUSH(tx->arena, &out->list, ((tc_arg){.name = NULL, .value = positional.list->at[i], .span = span}));
    for (size_t i = 0; i < named.dict->keys.len; i++) {
        sym name = sym_intern(tx->syms, named.dict->keys.at[i].s);
        VEC_PUSH(tx->arena, &out->list, ((tc_arg){.name = name, .value = named.dict->values.at[i], .span = span}));
    }
    return true;
}

// The module of the graph's program, or of its reference. NULL after errors.
static tc_module *module_of(tc *tx, const tc_function *f, const char *json, bool as_reference)
{
    const tc_options *o = tx->options;
    const char *key = arena_printf(tx->lasting, "%d%s", as_reference, json);
    tc_module *known = map_get(&tx->graph_programs, key, strlen(key));
    if (known || !o->lower_graph)
        return known;
    src_file *file = o->lower_graph(o->lower_user, json, f->module->file, as_reference);
    tc_module *m = file ? tc_module_of(tx, file) : NULL;
    if (m)
        map_put(&tx->graph_programs, key, strlen(key), m);
    return m;
}

static tc_value outputs(tc *tx, tc_module *m, const tc_recorded *r, tc_scope *given, src_span span)
{
    const tc_binding *b = tc_scope_find_here(m->scope, sym_of(tx->syms, "_outputs"));
    tc_args call = {.span = span};
    for (size_t i = 0; i < r->names.len; i++) {
        tc_value v = tc_scope_find_here(given, sym_intern(tx->syms, r->names.at[i].s))->value;
        VEC_PUSH(tx->arena, &call.list, ((tc_arg){.name = NULL, .value = v, .span = span}));
    }
    return b ? tc_call(tx, b->value, &call) : tc_poison();
}

static tc_value run(tc *tx, tc_value graph, tc_function *f, tc_args *call, bool as_reference)
{
    tc_recorded r;
    int before = tx->diags->error_count;
    tc_scope *given = tc_bind_arguments(tx, f, call);
    int64_t steps = tx->steps; // recording has the budget of an entry
    tx->steps = 0;
    bool ok = given && tc_record_graph(tx, graph, given, &r);
    tx->steps = steps;
    tc_module *m = ok ? module_of(tx, f, r.text, as_reference) : NULL;
    tc_value made = m ? outputs(tx, m, &r, given, call->span) : tc_poison();
    if (made.kind != TC_TUPLE || tx->diags->error_count != before)
        return tc_poison();
    tc_value like = tc_library(tx, "hidet.lang.graph", "results_like", call->span), values[2] = {r.returned, made};
    return tc_is_poison(like) ? like : tc_call_values(tx, like, values, 2, call->span);
}

// run_graph(graph, args, named, reference): what the graph function returns, with tensors in place of the graph's.
tc_value tc_native_run_graph(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value graph = args->list.at[0].value, as_reference = args->list.at[3].value;
    const tc_value *f = graph.kind == TC_RECORD ? tc_record_field(graph.record, sym_of(tx->syms, "function"), NULL) : NULL;
    src_span span = tc_asked_at(tx, args->span);
    tc_args call;
    (void)self;
    if (!f || f->kind != TC_FUNCTION || !f->function->decl || !read_call(tx, args, span, &call))
        return TC_ERR(tx, HDS0184, span, "what is run", "graph function", tc_describe(tx, graph));
    if (!in_test(tx)) {
        diag *d = tc_error(tx, HDS0850, span, f->function->name->text);
        diag_help(d, "a test is a function under @test, and 'hdsc test' runs it");
        return tc_poison();
    }
    if (tc_wants_run_time(tx))
        return tc_poison();
    return run(tx, graph, f->function, &call, as_reference.kind == TC_BOOL && as_reference.b);
}

// ---- weights ---------------------------------------------------------------------------------------------------------------

static const char *identifier(tc *tx, const char *name)
{
    char *text = arena_strdup(tx->lasting, name);
    for (char *c = text; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
            *c = '_';
    return arena_printf(tx->lasting, "weight_%s", text);
}

static const char *text_of(tc *tx, const tc_arg *a)
{
    return a->value.kind == TC_STR ? arena_strndup(tx->lasting, a->value.s.at, a->value.s.len) : "";
}

// test_weight(file, name, type): the tensor of that name, as a parameter of the test; one for each name.
tc_value tc_native_test_weight(tc *tx, const tc_native *self, tc_args *args)
{
    const char *file = text_of(tx, &args->list.at[0]), *name = text_of(tx, &args->list.at[1]);
    tc_value type = args->list.at[2].value;
    (void)self;
    if (tc_wants_run_time(tx))
        return tc_poison();
    if (!in_test(tx) || !tx->test_weights || type.kind != TC_TENSOR_TYPE)
        return TC_ERR(tx, HDS0184, args->span, "a weight of a test", "tensor type", tc_describe(tx, type));
    for (size_t i = 0; i < tx->test_weights->len; i++) {
        const tc_test_weight *w = &tx->test_weights->at[i];
        if (strcmp(w->file, file) == 0 && strcmp(w->name, name) == 0)
            return tc_tensor_of_var(tx, w->var);
    }
    tc_value v = tc_tensor_declare(tx, identifier(tx, name), type.tensor_type, IR_VAR_PARAM, tc_none(), 0, NULL, args->span);
    if (v.kind != TC_TENSOR)
        return v;
    VEC_PUSH(tx->ir->arena, &tx->func->params, v.tensor->base);
    VEC_PUSH(tx->lasting, tx->test_weights, ((tc_test_weight){file, name, v.tensor->base}));
    return v;
}
