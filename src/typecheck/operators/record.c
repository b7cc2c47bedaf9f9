// Graph functions: the main file's records of the class Graph (stdlib/language/graph.hds), recorded as JSON.
// Those that a test calls are recorded for the arguments of the call (graph_call.c).
#include <string.h>

#include "typecheck/operators/operators_priv.h"

static bool is_graph(tc *tx, const tc_value *v)
{
    return v->kind == TC_RECORD && strcmp(v->record->class->name->text, "Graph") == 0 &&
           tc_record_field(v->record, sym_of(tx->syms, "function"), NULL);
}

static bool bind_open(tc *tx, const ast_type_param *p, dtype type, tc_scope *scope)
{
    tc_scope_bind(tx, scope, p->name, tc_rt(ir_read(tx->ir, tc_size_param(tx, p, type, scope), p->span)), p->span);
    return true;
}

// The value of a type parameter: that of the call; -D, or its default.
static bool bind_parameter(tc *tx, const tc_function *f, const ast_type_param *p, const tc_scope *given, tc_scope *scope)
{
    tc_value v;
    if (given) {
        v = tc_scope_find_here((tc_scope *)given, p->name)->value;
        if (v.kind == TC_RT)
            return bind_open(tx, p, v.rt->type->scalar, scope);
    } else if (!tc_defined(tx, p->name, &v)) {
        dtype size = p->default_value ? DT_NONE : tc_size_type(tx, p, scope);
        if (size != DT_NONE)
            return bind_open(tx, p, size, scope);
        if (!p->default_value) {
            diag *d = tc_error(tx, HDS0204, f->decl->name_span, p->name->text, f->name->text);
            diag_label(d, p->span, "the parameter");
            diag_help(d, "-D %s=… gives it a value; '%s: int' leaves a size open", p->name->text, p->name->text);
            return false;
        }
        v = tc_eval_annotation(tx, p->default_value, scope);
    }
    tc_scope_bind(tx, scope, p->name, v, p->span);
    return !tc_is_poison(v) && tc_check_bound(tx, p, v, scope, p->span);
}

// What Graph.record is given.
typedef struct parameters {
    tc_scope *given;                                // by a call; NULL: -D and defaults
    tc_scope *scope;                                // with the values of type parameters
    tc_value function;                              // with these values in brackets
    tc_value names, operands, attributes;           // (dtype, extents) of each tensor; values by name
    tc_value sizes;                                 // names of those that stay open
} parameters;

static bool bind_type_parameters(tc *tx, const tc_function *f, parameters *out)
{
    const ast_type_params *params = &f->decl->type_params;
    tc_value *values = ARENA_ARRAY(tx->arena, tc_value, params->len + 1);
    sym *names = ARENA_ARRAY(tx->arena, sym, params->len + 1);
    size_t given = 0;
    out->scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    for (size_t i = 0; i < params->len; i++) {
        names[i] = params->at[i].name;
        if (!bind_parameter(tx, f, &params->at[i], out->given, out->scope))
            return false;
        values[given] = tc_scope_find_here(out->scope, names[i])->value;
        if (values[given].kind == TC_RT)
            tc_list_push(tx, out->sizes.list, tc_str(str_of(names[i]->text)));
        else
            names[given++] = names[i];
    }
    tc_value open = {.kind = TC_FUNCTION, .function = (tc_function *)f};
    out->function = given ? tc_function_brackets(tx, open, values, names, given, f->decl->name_span) : open;
    return !tc_is_poison(out->function);
}

static void add_operand(tc *tx, const ast_param *p, const tc_tensor_type *type, parameters *out)
{
    tc_value shape = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (int d = 0; d < type->rank; d++)
        tc_list_push(tx, shape.list, type->shape[d]);
    tc_value pair[2] = {tc_type(type->elem), shape};
    tc_list_push(tx, out->names.list, tc_str(str_of(p->name->text)));
    tc_list_push(tx, out->operands.list, tc_list_new(tx, TC_TUPLE, pair, 2));
}

static bool add_given(tc *tx, const tc_function *f, const ast_param *p, tc_value v, parameters *out)
{
    if (!tc_is_compile_time(v)) {
        diag *d = tc_error(tx, HDS0831, tc_asked_at(tx, p->span), p->name->text, f->name->text);
        diag_help(d, v.kind == TC_TENSOR ? "parameters that are tensors say so: '%s: f32[N]'"
                                         : "'%s' is known while compiling, not computed when the test runs", p->name->text);
        return false;
    }
    tc_dict_put(tx, out->attributes.dict, tc_str(str_of(p->name->text)), v);
    return true;
}

// A parameter that is no tensor is known while compiling: by the call, by -D, or by its default.
static bool add_attribute(tc *tx, const tc_function *f, const ast_param *p, tc_value type, parameters *out)
{
    tc_value v;
    if (out->given)
        return add_given(tx, f, p, tc_scope_find_here(out->given, p->name)->value, out);
    if (!tc_defined(tx, p->name, &v)) {
        if (!p->default_value) {
            diag *d = tc_error(tx, HDS0831, p->span, p->name->text, f->name->text);
            diag_help(d, "-D %s=… or a default gives it a value; a tensor has a type such as f16[B, 16]", p->name->text);
            return false;
        }
        v = tc_eval_annotation(tx, p->default_value, out->scope);
    }
    if (type.kind != TC_NONE)
        v = tc_conform(tx, v, type, arena_printf(tx->arena, "parameter '%s'", p->name->text), p->span);
    tc_dict_put(tx, out->attributes.dict, tc_str(str_of(p->name->text)), v);
    return !tc_is_poison(v);
}

static bool read_parameters(tc *tx, const tc_function *f, parameters *out)
{
    out->names = tc_list_new(tx, TC_TUPLE, NULL, 0);
    out->sizes = tc_list_new(tx, TC_TUPLE, NULL, 0);
    out->operands = tc_list_new(tx, TC_TUPLE, NULL, 0);
    out->attributes = tc_dict_new(tx);
    if (!bind_type_parameters(tx, f, out))
        return false;
    for (size_t i = 0; i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        if (!p->name || p->kind != AST_PARAM_PLAIN) {
            tc_error(tx, HDS0832, p->span, f->name->text);
            return false;
        }
        tc_value type = p->annotation ? tc_eval_annotation(tx, p->annotation, out->scope) : tc_none();
        if (tc_is_poison(type))
            return false;
        bool is_none = out->given && tc_scope_find_here(out->given, p->name)->value.kind == TC_NONE;
        if (type.kind == TC_TENSOR_TYPE && type.tensor_type->space == IR_GLOBAL && !is_none)
            add_operand(tx, p, type.tensor_type, out);
        else if (!add_attribute(tx, f, p, type, out))
            return false;
    }
    return true;
}

// Runs Graph.record as a host function whose code is dropped: definitions are analyzed where there may be run-time values.
bool tc_record_graph(tc *tx, tc_value graph, tc_scope *given, tc_recorded *out)
{
    const tc_value *f = tc_record_field(graph.record, sym_of(tx->syms, "function"), NULL);
    parameters p = {.given = given};
    *out = (tc_recorded){0};
    if (f->kind != TC_FUNCTION || !f->function->decl || !read_parameters(tx, f->function, &p))
        return false;
    f->function->facts->needs_run_time = true; // definitions do: an attempt without would be in vain
    ir_func *dropped = ir_func_new(tx->ir, IR_HOST_FUNC, "graph", f->function->decl->name_span);
    dropped->result = ir_void(tx->ir);
    bool found = false, in_test = tx->in_test;
    tc_value method = tc_record_method(tx, graph, sym_of(tx->syms, "record"), &found);
    tc_saved saved = tc_enter(tx, dropped, &dropped->body, NULL);
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    tx->records = true;
    tx->in_test = false;
    tc_value values[5] = {p.function, p.names, p.operands, p.attributes, p.sizes};
    tc_value pair = found ? tc_call_values(tx, method, values, 5, f->function->decl->name_span) : tc_poison();
    tx->in_test = in_test;
    tx->records = false;
    tc_leave(tx, saved);
    if (pair.kind != TC_TUPLE || pair.list->len != 2 || pair.list->at[0].kind != TC_STR || !pair.list->at[0].s.len)
        return false;
    out->text = arena_strndup(tx->lasting, pair.list->at[0].s.at, pair.list->at[0].s.len);
    out->returned = pair.list->at[1];
    out->names = *p.names.list;
    return true;
}

const char *tc_record_module(tc *tx, const char *text)
{
    const diag_mark before = diag_here(tx->diags);
    bool muted = tx->diags->muted;
    tc_recorded recorded = {0};
    src_file *file = src_add(tx->diags->sources, "<graph>", str_of(text));
    tx->diags->muted = true;
    tx->steps = 0; // as an entry
    tc_frame frame = {.scope = tx->main->scope}, *saved = tx->frame;
    tc_lifetime lifetime;
    tc_lifetime_begin(tx, &lifetime);
    tx->frame = &frame;
    const tc_module *m = file ? tc_module_of(tx, file) : NULL;
    for (size_t i = 0; m && i < m->scope->list.len && !recorded.text; i++)
        if (!m->scope->list.at[i]->lazy_module && is_graph(tx, &m->scope->list.at[i]->value))
            tc_record_graph(tx, m->scope->list.at[i]->value, NULL, &recorded);
    bool failed = tx->diags->error_count != before.errors;
    tc_lifetime_end(tx, &lifetime);
    tx->frame = saved;
    tx->diags->muted = muted;
    diag_rewind(tx->diags, before);
    tx->aborted = false;
    return failed ? NULL : recorded.text;
}

tc_elaboration *tc_elaborate(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options)
{
    int before = diags->error_count;
    tc_options *kept = ARENA_NEW(a, tc_options); // the elaboration outlives this call
    *kept = *options;
    tc *tx = tc_open(a, syms, diags, file, kept);
    return tx && !tx->aborted && diags->error_count == before ? tx : NULL;
}

bool tc_record_graphs(tc_elaboration *tx, tc_text_list *out)
{
    int before = tx->diags->error_count;
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        if (b->lazy_module || !is_graph(tx, &b->value))
            continue;
        tc_recorded recorded;
        if (tc_record_graph(tx, b->value, NULL, &recorded))
            VEC_PUSH(tx->lasting, out, recorded.text);
    }
    bool ok = !out->len || tc_check_defines(tx); // a file without graphs is compiled afterwards, and has defines of its own
    if (ok && out->len && (tx->diags->error_count == before || tx->lacks_weights))
        tc_weights_check_unused(tx);
    tx->frame = NULL;
    return ok && tx->diags->error_count == before;
}
