// Device functions that become functions of the output: one for each set of compile-time arguments.
#include "typecheck/kernels/kernels.h"

#include <string.h>

static void value_key(tc *tx, tc_value v, str_buf *key);

static void values_key(tc *tx, const tc_value *at, size_t len, str_buf *key)
{
    str_addc(key, '(');
    for (size_t i = 0; i < len; i++) {
        value_key(tx, at[i], key);
        str_addc(key, ',');
    }
    str_addc(key, ')');
}

// Text that two values share only if they are the same: what repr() leaves out stands here.
static void value_key(tc *tx, tc_value v, str_buf *key)
{
    switch (v.kind) {
    case TC_FUNCTION: {
        const tc_function *f = v.function;
        str_addf(key, "#%u@%u@%lld", f->id, f->closure->id, f->env ? (long long)f->env->id : -1LL);
        values_key(tx, f->bound_values, (size_t)f->bound_count, key);
        if (f->self)
            value_key(tx, *f->self, key);
        break;
    }
    case TC_CLASS:
        str_addf(key, "class%u", v.class->id);
        values_key(tx, v.class->bound_values, (size_t)v.class->bound_count, key);
        break;
    case TC_RECORD:
        str_addf(key, "record%u", v.record->class->id);
        values_key(tx, v.record->class->bound_values, (size_t)v.record->class->bound_count, key);
        values_key(tx, v.record->fields, (size_t)v.record->class->field_count, key);
        break;
    case TC_TUPLE:
    case TC_LIST:
    case TC_SET:
        str_addf(key, "%d", (int)v.kind);
        values_key(tx, v.list->at, v.list->len, key);
        break;
    case TC_DICT:
        values_key(tx, v.dict->keys.at, v.dict->keys.len, key);
        values_key(tx, v.dict->values.at, v.dict->values.len, key);
        break;
    default:
        tc_repr(tx, v, key);
        break;
    }
}

static const char *instance_key(tc *tx, const tc_function *f, const tc_scope *scope)
{
    str_buf key;
    str_buf_init(&key, tx->arena);
    for (size_t i = 0; i < f->decl->type_params.len; i++) {
        tc_binding *b = tc_scope_find_here(scope, f->decl->type_params.at[i].name);
        if (b)
            value_key(tx, b->value, &key);
        str_addc(&key, ';');
    }
    return str_text(&key);
}

ir_func *tc_device_instance(tc *tx, tc_function *f, tc_scope *types, src_span span)
{
    const char *key = instance_key(tx, f, types);
    ir_func *known = map_get(&f->facts->instances, key, strlen(key));
    if (known)
        return known;
    tc_value result = tc_eval_annotation(tx, f->decl->returns, types);
    if (result.kind != TC_TYPE)
        return NULL;
    tc_scope *scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    for (size_t i = 0; i < f->decl->type_params.len; i++) {
        tc_binding *b = tc_scope_find_here(types, f->decl->type_params.at[i].name);
        if (b)
            tc_scope_bind(tx, scope, b->name, b->value, b->span);
    }
    tc_builder k = {.tx = tx, .f = f, .scope = scope};
    k.func = ir_func_new(tx->ir, IR_DEVICE, tc_instance_name(tx, f, scope, true), f->decl->name_span);
    k.func->result = result.type;
    k.func->doc = f->decl->doc;
    k.func->title = tc_instance_title(tx, f, scope);
    map_put(&f->facts->instances, key, strlen(key), k.func);
    tc_frame *caller = tx->frame;
    tc_saved saved = tc_enter(tx, k.func, &k.func->body, NULL);
    // The block dimensions of the caller are not known in here: thread ids have their general ranges.
    tc_frame frame = {.caller = caller, .function = f, .scope = scope, .call_span = span, .title = k.func->title};
    tx->frame = &frame;
    bool ok = true;
    for (size_t i = 0; ok && i < f->decl->params.len; i++)
        ok = tc_add_param(&k, &f->decl->params.at[i]);
    ok = ok && tc_run_own_body(&k, k.func->result, caller, span);
    tx->frame = &frame;
    tc_leave(tx, saved);
    if (!ok)
        return NULL;
    ir_func_add(tx->ir, k.func);
    return k.func;
}
