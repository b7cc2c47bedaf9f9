// Definitions elaborated aside, to see what they do.
#include "typecheck/operators/operators_priv.h"

#include <string.h>

// What the extent of the axis is known to be; 0: it is open.
static int known_extent(const tc_probe *p, size_t variadic, int axis)
{
    bool is_looked_at = p->collapsing == (int)variadic || p->collapsing == TC_ALL_GROUPS;
    int joined = p->layout->joined[variadic], number = axis - joined;
    if (is_looked_at && joined >= 0 && number >= 0 && number < p->split)
        return number + 2;
    return is_looked_at && axis == joined ? p->collapsed : p->known;
}

// An extent: a known one, or a parameter of the function.
static tc_value extent(tc_probe *p, const char *name, int known)
{
    tc *tx = p->tx;
    if (known)
        return tc_of_int(known);
    ir_var *v = ir_var_new(tx->ir, IR_VAR_PARAM, name, ir_scalar(tx->ir, DT_I32), p->op->span);
    v->is_size = v->has_range = v->may_be_zero = true;
    v->max = INT32_MAX;
    v->divisor = 1;
    VEC_PUSH(tx->ir->arena, &p->k.sizes, v);
    return tc_rt(ir_read(tx->ir, v, p->op->span));
}

static void bind(tc_probe *p, sym name, tc_value v)
{
    tc_scope_bind(p->tx, p->k.scope, name, v, p->op->span)->owner = p->k.func;
}

static void bind_symbols(tc_probe *p)
{
    tc *tx = p->tx;
    const tc_operator *o = p->op;
    for (size_t i = 0; i < o->types.len; i++) {
        dtype first = op_find_symbol(&o->schema, o->types.at[i]->text)->choices.at[0];
        bind(p, o->types.at[i], tc_type(ir_scalar(tx->ir, p->types ? p->types[i] : first)));
    }
    for (size_t i = 0; i < o->joined.len; i++) {
        tc_value axes = tc_list_new(tx, TC_TUPLE, NULL, 0);
        for (int k = 0; k < p->layout->ranks[i]; k++)
            tc_list_push(tx, axes.list, extent(p, tc_axis_name(tx, o, p->layout, i, k), known_extent(p, i, k)));
        bind(p, o->joined.at[i], axes);
    }
    for (size_t i = 0; i < o->sizes.len; i++) {
        const ast_type_param *size = o->sizes.at[i];
        tc_value v;
        if (!tc_defined(tx, size->name, &v))
            v = size->default_value ? tc_eval_annotation(tx, size->default_value, p->k.scope)
                                    : extent(p, size->name->text, p->known);
        bind(p, size->name, v);
    }
}

static bool add_param(tc_probe *p, sym name, const ast_expr *type)
{
    ast_param param = {.name = name, .span = type->span, .name_span = p->op->span, .annotation = (ast_expr *)type};
    return tc_add_param(&p->k, &param);
}

static bool add_params(tc_probe *p)
{
    const tc_operator *o = p->op;
    bool ok = true;
    for (size_t i = 0; ok && i < o->params.len; i++)
        if (tc_is_present(o, p->layout, i))
            ok = add_param(p, o->params.at[i].decl->name, o->params.at[i].type);
    for (size_t i = 0; ok && i < o->results.len; i++)
        ok = add_param(p, sym_of(p->tx->syms, o->schema.results.at[i].name), o->results.at[i]);
    for (size_t i = 0; ok && i < o->params.len; i++)
        if (o->schema.params.at[i].role == OP_NUMBER)
            ok = add_param(p, o->params.at[i].decl->name, o->params.at[i].type);
    return ok;
}

bool tc_probe_open(tc_probe *p)
{
    tc *tx = p->tx;
    const tc_operator *o = p->op;
    tx->steps = 0;
    tc_lifetime_begin(tx, &p->lifetime);
    p->k = (tc_builder){.tx = tx, .f = (tc_function *)o->written};
    p->k.scope = tc_scope_new(tx, o->scope, o->written->module, TC_SCOPE_FUNCTION);
    p->k.func = ir_func_new(tx->ir, IR_KERNEL, o->schema.name, o->span);
    p->k.func->result = ir_void(tx->ir);
    for (int i = 0; i < 3; i++)
        p->k.func->grid[i] = p->k.func->block[i] = ir_int(tx->ir, DT_I32, 1);
    p->saved = tc_enter(tx, p->k.func, &p->k.func->body, NULL);
    p->frame = (tc_frame){.caller = p->saved.frame, .function = o->written, .scope = p->k.scope};
    p->frame.entry_region = tx->region;
    tx->frame = &p->frame;
    int before = tx->diags->error_count;
    bind_symbols(p);
    bool ok = tx->diags->error_count == before && add_params(p);
    if (!ok)
        tc_probe_close(p);
    return ok;
}

static tc_value value_of(const tc_probe *p, sym name)
{
    return tc_scope_find_here(p->k.scope, name)->value;
}

static bool is_of_results_alone(const tc_operator *o, sym name)
{
    for (size_t i = 0; i < o->params.len; i++)
        if (o->params.at[i].type && tc_expr_mentions(o->params.at[i].type, name))
            return false;
    for (size_t i = 0; i < o->results.len; i++)
        if (tc_expr_mentions(o->results.at[i], name))
            return true;
    return false;
}

tc_value tc_probe_definition(tc_probe *p)
{
    tc *tx = p->tx;
    const tc_operator *o = p->op;
    tc_value f = *tc_operator_field(tx, o->value, "definition");
    VEC(sym) names = {0};
    VEC(tc_value) values = {0};
    for (size_t i = 0; i < o->types.len + o->sizes.len; i++) {
        sym name = i < o->types.len ? o->types.at[i] : o->sizes.at[i - o->types.len]->name;
        if (f.kind == TC_FUNCTION && is_of_results_alone(o, name)) {
            VEC_PUSH(tx->arena, &names, name);
            VEC_PUSH(tx->arena, &values, value_of(p, name));
        }
    }
    return names.len ? tc_function_brackets(tx, f, values.at, names.at, names.len, o->span) : f;
}

tc_value tc_probe_operands(tc_probe *p)
{
    tc_value list = tc_list_new(p->tx, TC_TUPLE, NULL, 0);
    for (size_t i = 0; i < p->op->params.len; i++)
        if (tc_is_present(p->op, p->layout, i))
            tc_list_push(p->tx, list.list, value_of(p, p->op->params.at[i].decl->name));
        else if (p->op->schema.params.at[i].role == OP_OPERAND)
            tc_list_push(p->tx, list.list, tc_none());
    return list;
}

tc_value tc_probe_results(tc_probe *p)
{
    tc_value list = tc_list_new(p->tx, TC_TUPLE, NULL, 0);
    for (size_t i = 0; i < p->op->results.len; i++)
        tc_list_push(p->tx, list.list, value_of(p, sym_of(p->tx->syms, p->op->schema.results.at[i].name)));
    return list;
}

tc_value tc_probe_named(tc_probe *p)
{
    tc_value named = tc_dict_new(p->tx);
    for (size_t i = 0; i < p->op->params.len; i++) {
        const tc_operator_param *own = &p->op->params.at[i];
        if (p->op->schema.params.at[i].role == OP_OPERAND)
            continue;
        if (own->is_default)
            continue;
        tc_value v = p->op->schema.params.at[i].role == OP_NUMBER ? value_of(p, own->decl->name) : own->value;
        if (tc_is_poison(v))
            return v;
        tc_dict_put(p->tx, named.dict, tc_str(str_of(own->decl->name->text)), v);
    }
    return named;
}

tc_value tc_probe_call(tc_probe *p, const char *module, const char *name, const tc_value *args, size_t count)
{
    tc_value f = tc_library(p->tx, arena_printf(p->tx->lasting, "hidet.lang.%s", module), name, p->op->span);
    return tc_is_poison(f) ? f : tc_call_values(p->tx, f, args, count, p->op->span);
}

ir_func *tc_probe_close(tc_probe *p)
{
    for (size_t i = 0; i < p->k.sizes.len; i++)
        VEC_PUSH(p->tx->ir->arena, &p->k.func->params, p->k.sizes.at[i]);
    tc_leave(p->tx, p->saved);
    tc_lifetime_end(p->tx, &p->lifetime);
    return p->k.func;
}
