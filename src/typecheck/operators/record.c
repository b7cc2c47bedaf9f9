// Graph functions: the main file's records of the class Graph (stdlib/language/graph.hds), recorded as JSON.
#include "typecheck/operators/operators.h"

#include <string.h>

static bool is_graph(tc *tx, const tc_value *v)
{
    return v->kind == TC_RECORD && strcmp(v->record->class->name->text, "Graph") == 0 &&
           tc_record_field(v->record, sym_of(tx->syms, "function"), NULL);
}

// The value of a type parameter: -D, or its default.
static bool bind_parameter(tc *tx, const tc_function *f, const ast_type_param *p, tc_scope *scope)
{
    tc_value v;
    if (!tc_defined(tx, p->name, &v)) {
        if (!p->default_value) {
            diag *d = tc_error(tx, HDS0204, f->decl->name_span, p->name->text, f->name->text);
            diag_label(d, p->span, "the parameter");
            diag_help(d, "-D %s=… gives it a value", p->name->text);
            return false;
        }
        v = tc_eval_annotation(tx, p->default_value, scope);
    }
    tc_scope_bind(tx, scope, p->name, v, p->span);
    return !tc_is_poison(v) && tc_check_bound(tx, p, v, scope, p->span);
}

// The names, types and extents of the parameters, as arguments of Graph.record.
static bool read_parameters(tc *tx, const tc_function *f, tc_value lists[3])
{
    tc_scope *scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    for (size_t i = 0; i < f->decl->type_params.len; i++)
        if (!bind_parameter(tx, f, &f->decl->type_params.at[i], scope))
            return false;
    for (int k = 0; k < 3; k++)
        lists[k] = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (size_t i = 0; i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        tc_value type = p->name && p->annotation ? tc_eval_annotation(tx, p->annotation, scope) : tc_none();
        if (tc_is_poison(type))
            return false;
        if (type.kind != TC_TENSOR_TYPE || type.tensor_type->space != IR_GLOBAL) {
            tc_error(tx, HDS0184, p->span, "a parameter of a graph function", "tensor type", tc_describe(tx, type));
            return false;
        }
        tc_value shape = tc_list_new(tx, TC_TUPLE, NULL, 0);
        for (int d = 0; d < type.tensor_type->rank; d++)
            tc_list_push(tx, shape.list, type.tensor_type->shape[d]);
        tc_list_push(tx, lists[0].list, tc_str(str_of(p->name->text)));
        tc_list_push(tx, lists[1].list, tc_type(type.tensor_type->elem));
        tc_list_push(tx, lists[2].list, shape);
    }
    return true;
}

// Runs Graph.record as a host function whose code is dropped: definitions are analyzed where there may be run-time values.
static const char *record(tc *tx, tc_value graph)
{
    const tc_value *f = tc_record_field(graph.record, sym_of(tx->syms, "function"), NULL);
    tc_value lists[3];
    if (f->kind != TC_FUNCTION || !f->function->decl || !read_parameters(tx, f->function, lists))
        return NULL;
    ir_func *dropped = ir_func_new(tx->ir, IR_HOST_FUNC, "graph", f->function->decl->name_span);
    dropped->result = ir_void(tx->ir);
    bool found = false;
    tc_value method = tc_record_method(tx, graph, sym_of(tx->syms, "record"), &found);
    tc_saved saved = tc_enter(tx, dropped, &dropped->body, NULL);
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    tx->records = true;
    tc_value text = found ? tc_call_values(tx, method, lists, 3, f->function->decl->name_span) : tc_poison();
    tx->records = false;
    tc_leave(tx, saved);
    return text.kind == TC_STR ? arena_strndup(tx->lasting, text.s.at, text.s.len) : NULL;
}

bool tc_record_graphs(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                      tc_text_list *out)
{
    int before = diags->error_count;
    tc *tx = tc_open(a, syms, diags, file, options);
    if (!tx || tx->aborted || diags->error_count != before)
        return false;
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        if (b->lazy_module || !is_graph(tx, &b->value))
            continue;
        const char *text = record(tx, b->value);
        if (text)
            VEC_PUSH(a, out, text);
    }
    bool ok = !out->len || tc_check_defines(tx); // a file without graphs is compiled afterwards, and has defines of its own
    tx->frame = NULL;
    return ok && diags->error_count == before;
}
