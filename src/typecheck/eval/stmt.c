// Statements without control flow: assignment in all its forms, assertions, nested definitions.
#include "typecheck/eval/reference.h"
#include "typecheck/values/text.h"

#include <string.h>

// ---- binding a local name ----------------------------------------------------------------------------------------

static tc_binding *bind_run_time(tc *tx, sym name, ir_expr *value, src_span span)
{
    ir_block *b = tx->block;
    ir_stmt *last = b->stmts.len ? VEC_LAST(&b->stmts) : NULL;
    ir_var *var;
    bool adopts = value->op == IR_OP_VAR && last && last->kind == IR_DECL && last->var == value->u.var &&
                  value->u.var->role == IR_ROLE_RESULT;
    if (adopts) {
        var = value->u.var; // a temporary made for this value just now takes the name
        var->role = IR_ROLE_NAME;
        var->name = name->text;
        var->span = span;
    } else {
        var = tc_declare(tx, name->text, value->type, value, span);
    }
    tc_binding *binding = tc_scope_bind(tx, tx->frame->scope, name, tc_rt(ir_read(tx->ir, var, span)), span);
    binding->var = var;
    return binding;
}

static bool type_changed(tc *tx, const tc_binding *b, tc_value v, src_span span)
{
    diag *d = tc_error(tx, HDS0150, span, b->name->text, tc_describe(tx, b->value), tc_describe(tx, v));
    diag_label(d, b->span, "declared here");
    if (b->var && ir_is_scalar(b->var->type, DT_I32) && v.kind == TC_RT && dt_is_float(v.rt->type->scalar))
        diag_help(d, "start with a float, or give the type: %s: %s = …", b->name->text, dt_name(v.rt->type->scalar));
    else
        diag_help(d, "use another name, or convert the value");
    return false;
}

static bool converts(tc *tx, tc_value v, const ir_type *want)
{
    if (v.kind == TC_RT && v.rt->type == want)
        return true;
    bool muted = tx->diags->muted;
    int errors = tx->diags->error_count;
    tx->diags->muted = true;
    bool ok = tc_convert(tx, v, want, (src_span){0}, "value") != NULL;
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
    return ok;
}

// The name already stands for a run-time variable that is visible here: assign to it.
static bool assign_existing(tc *tx, tc_binding *b, tc_value v, src_span span)
{
    bool straight = b->region == tx->region;
    // while a graph is recorded a value keeps its definition: open extents are read from it
    if (v.kind == TC_RT && straight && (v.rt->type != b->var->type || tx->records)) {
        bind_run_time(tx, b->name, v.rt, span);
        return true;
    }
    if ((v.kind != TC_RT && !tc_is_number(v)) || !converts(tx, v, b->var->type)) {
        if (!straight)
            return type_changed(tx, b, v, span);
        *b = (tc_binding){.name = b->name, .value = v, .span = span, .owner = tx->func, .region = tx->region};
        return true;
    }
    tc_assign_var(tx, b->var, tc_convert(tx, v, b->var->type, span, "value"), span);
    return true;
}

static bool assign_elementwise(tc *tx, tc_binding *b, tc_value v, src_span span)
{
    tc_list *old = b->value.list;
    if (v.kind != b->value.kind || v.list->len != old->len)
        return type_changed(tx, b, v, span);
    tc_value frozen = tc_freeze(tx, v, span);
    for (size_t i = 0; i < old->len; i++) {
        tc_value to = old->at[i], from = frozen.list->at[i];
        if (to.kind == TC_RT && to.rt->op == IR_OP_VAR && to.rt->u.var->kind == IR_VAR_LOCAL &&
            to.rt->u.var->role == IR_ROLE_NAME) {
            ir_expr *e = tc_convert(tx, from, to.rt->type, span, "value");
            if (!e)
                return false;
            tc_assign_var(tx, to.rt->u.var, e, span);
        } else if (!tc_equal(to, from)) {
            return type_changed(tx, b, v, span);
        }
    }
    return true;
}

// Tensors made by an instruction take the first name they are bound to.
void tc_name_temporary(tc_value v, sym name)
{
    if (v.kind == TC_TENSOR && v.tensor->is_temporary) {
        v.tensor->base->name = name->text;
        v.tensor->is_temporary = false;
    }
    if (v.kind == TC_TENSOR_MAP && v.tensor_map->role == IR_ROLE_RESULT) {
        v.tensor_map->name = name->text;
        v.tensor_map->role = IR_ROLE_NAME;
    }
}

void tc_bind_local(tc *tx, sym name, tc_value v, src_span span)
{
    tc_binding *b = tc_scope_find_here(tx->frame->scope, name);
    if (b && b->is_reference) {
        tc_store_reference(tx, b->value, v, span);
        return;
    }
    bool is_pointer = v.kind == TC_RT && v.rt->type->kind == IR_POINTER;
    if (b && b->value.kind == TC_TENSOR_TYPE && is_pointer && tx->block)
        v = tc_pointer_view(tx, v, b->value.tensor_type, span); // x = tensor_pointer(…), then x = p
    bool visible = b && b->state == TC_BOUND && b->owner == tx->func && !b->lazy_module && tc_in_region(tx, b->region);
    if (visible && b->var && tx->block) {
        assign_existing(tx, b, v, span);
        return;
    }
    bool deeper = visible && b->region != tx->region && tx->block;
    if (deeper && (b->value.kind == TC_TUPLE || b->value.kind == TC_LIST) && !tc_is_compile_time(b->value)) {
        assign_elementwise(tx, b, v, span);
        return;
    }
    if (deeper && b->value.kind == TC_RECORD && v.kind == TC_RECORD &&
        tc_record_store_all(tx, b->value.record, v.record, span))
        return;
    if (deeper && !tc_equal(b->value, v) && !tc_is_poison(b->value)) {
        diag *d = tc_error(tx, HDS0151, span, name->text, tc_describe(tx, b->value));
        diag_label(d, b->span, "bound here");
        return;
    }
    if (v.kind == TC_RT && tx->block) {
        bind_run_time(tx, name, v.rt, span);
        return;
    }
    tc_name_temporary(v, name);
    tc_scope_bind(tx, tx->frame->scope, name, tc_freeze(tx, v, span), span);
}

// ---- targets -----------------------------------------------------------------------------------------------------

static bool unpack(tc *tx, const ast_list *targets, tc_value v, src_span span)
{
    tc_list items = {0};
    if (v.kind == TC_TUPLE)
        items = (tc_list){.at = v.list->at, .len = v.list->len}; // they stay as they are
    else if (tc_is_poison(v) || !tc_iterate(tx, v, span, &items))
        return false;
    size_t star = targets->len;
    for (size_t i = 0; i < targets->len; i++)
        if (targets->at[i]->kind == AST_STARRED)
            star = i;
    bool has_star = star < targets->len;
    if (has_star ? items.len + 1 < targets->len : items.len != targets->len) {
        tc_error(tx, HDS0152, tx->value_span.begin ? tx->value_span : span, (long)targets->len, (long)items.len);
        return false;
    }
    bool ok = true;
    size_t extra = has_star ? items.len + 1 - targets->len : 0, next = 0;
    for (size_t i = 0; i < targets->len; i++) {
        if (i == star) {
            tc_value rest = tc_list_new(tx, TC_LIST, items.at + next, extra);
            ok &= tc_assign_target(tx, AST_AS(STARRED, starred, targets->at[i])->value, rest, span);
            next += extra;
        } else {
            ok &= tc_assign_target(tx, targets->at[i], items.at[next++], span);
        }
    }
    return ok;
}

static bool store_dict(tc *tx, tc_value base, const tc_list *items, tc_value v, src_span span)
{
    tc_value key = items->len == 1 ? items->at[0] : tc_list_new(tx, TC_TUPLE, items->at, items->len);
    if (!(base.kind == TC_DICT ? tc_may_grow : tc_may_change)(tx, base, span))
        return false;
    if (!tc_may_hold(tx, base, v, span) ||
        !tc_spend(tx, base.kind == TC_DICT ? (int64_t)base.dict->keys.len / 8 : 0, span))
        return false;
    if (base.kind == TC_DICT) {
        tc_dict_put(tx, base.dict, key, tc_freeze(tx, v, span));
        return true;
    }
    int64_t i;
    if (!tc_as_int64(key, &i)) {
        tc_error(tx, HDS0137, span, tc_describe(tx, key));
        return false;
    }
    int64_t len = (int64_t)base.list->len;
    if (i < -len || i >= len) {
        tc_error(tx, HDS0140, span, tc_text(tx, key), (long)len);
        return false;
    }
    tc_list_set(base.list, (size_t)(i < 0 ? i + len : i), tc_freeze(tx, v, span));
    return true;
}

static bool store_pointer(tc *tx, ir_expr *p, const tc_list *items, tc_value v, src_span span)
{
    if (items->len != 1 || p->type->elem->kind == IR_VOID) {
        tc_error(tx, HDS0143, span);
        return false;
    }
    ir_expr *index = tc_to_index(tx, items->at[0], span);
    src_span value_span = tx->value_span.begin ? tx->value_span : span;
    ir_expr *value = index ? tc_convert(tx, v, p->type->elem, value_span, "stored value") : NULL;
    if (!value)
        return false;
    ir_stmt *s = tc_new_stmt(tx, IR_PSTORE, span);
    s->args = ARENA_ARRAY(tx->ir->arena, ir_expr *, 2);
    s->arg_count = 2;
    s->args[0] = p;
    s->args[1] = index;
    s->value = value;
    tc_emit(tx, s);
    return true;
}

static bool has_slice(const ast_subscript *s)
{
    for (size_t i = 0; i < s->items.len; i++)
        if (s->items.at[i]->kind == AST_SLICE)
            return true;
    return false;
}

static bool assign_items(tc *tx, tc_value base, const tc_list *items, tc_value v, src_span span)
{
    switch (base.kind) {
    case TC_POISON:
        return false;
    case TC_TENSOR:
        if ((int)items->len < base.tensor->rank) {
            tc_value part = tc_tensor_load(tx, base.tensor, items->at, items->len, NULL, span);
            return part.kind == TC_TENSOR && tc_tensor_assign(tx, part.tensor, v, span);
        }
        return tc_tensor_store(tx, base.tensor, items->at, items->len, v, false, span);
    case TC_DICT:
    case TC_LIST:
        return store_dict(tx, base, items, v, span);
    case TC_RT:
        if (base.rt->type->kind == IR_POINTER)
            return store_pointer(tx, base.rt, items, v, span);
        break;
    case TC_RECORD: {
        bool found = false;
        tc_value args[TM_MAX_RANK + 1];
        size_t n = items->len < TM_MAX_RANK ? items->len : TM_MAX_RANK;
        memcpy(args, items->at, n * sizeof *args);
        args[n] = v;
        tc_value r = tc_record_dunder(tx, base, "__setitem__", args, n + 1, span, &found);
        if (found)
            return !tc_is_poison(r);
        break;
    }
    default:
        break;
    }
    tc_error(tx, HDS0153, span, tc_describe(tx, base));
    return false;
}

static bool assign_subscript(tc *tx, const ast_subscript *s, tc_value v, src_span span)
{
    size_t mark = tx->block ? tx->block->stmts.len : 0;
    tc_value base = tc_eval(tx, s->value);
    if (tc_is_poison(base))
        return false;
    if (base.kind == TC_TENSOR && has_slice(s)) {
        tc_value view = tc_tensor_index(tx, base.tensor, s);
        return view.kind == TC_TENSOR && tc_tensor_assign(tx, view.tensor, tc_keep_before(tx, v, mark, span), span);
    }
    tc_list items = {0};
    if (!tc_eval_subscripts(tx, base, &s->items, &items))
        return false;
    v = tc_keep_before(tx, v, mark, span); // the right side comes first
    if (base.kind == TC_TENSOR && !tc_tensor_check_indices(tx, base.tensor, s, &items))
        return false;
    if (base.kind == TC_TENSOR && items.len == 1 && items.at[0].kind == TC_TUPLE)
        items = *items.at[0].list;
    return assign_items(tx, base, &items, v, span);
}

static bool assign_attribute(tc *tx, const ast_attribute *a, tc_value v, src_span span)
{
    bool is_attrs = false;
    bool ok = tc_exec_attribute(tx, a, v, span, &is_attrs);
    if (is_attrs)
        return ok;
    tc_value base = tc_eval(tx, a->value);
    if (tc_is_poison(base))
        return false;
    if (base.kind == TC_RECORD)
        return tc_record_assign_field(tx, base, a->name, v, a->name_span);
    tc_error(tx, HDS0154, a->name_span, a->name->text, tc_describe(tx, base));
    return false;
}

bool tc_assign_target(tc *tx, const ast_expr *target, tc_value v, src_span span)
{
    switch (target->kind) {
    case AST_NAME: {
        sym name = AST_AS(NAME, name, target)->name;
        bool is_constant =
            !tx->frame->function && tx->frame->scope->module == tx->main && tx->frame->scope->kind == TC_SCOPE_MODULE;
        if (is_constant && tx->options->define_count)
            tc_defined(tx, name, &v); // -D NAME=VALUE
        if (tc_is_poison(v))
            tc_scope_bind(tx, tx->frame->scope, name, v, target->span); // silences what follows
        else if (strcmp(name->text, "_") != 0)
            tc_bind_local(tx, name, v, target->span);
        return !tc_is_poison(v);
    }
    case AST_TUPLE:
    case AST_LIST: {
        const ast_sequence *s = (const ast_sequence *)target;
        if (tc_is_poison(v)) {
            for (size_t i = 0; i < s->items.len; i++)
                tc_assign_target(tx, s->items.at[i], v, span);
            return false;
        }
        return unpack(tx, &s->items, v, span);
    }
    case AST_SUBSCRIPT:
        return !tc_is_poison(v) && assign_subscript(tx, AST_AS(SUBSCRIPT, subscript, target), v, target->span);
    case AST_ATTRIBUTE:
        return !tc_is_poison(v) && assign_attribute(tx, AST_AS(ATTRIBUTE, attribute, target), v, span);
    default:
        if (target->kind != AST_BAD)
            tc_error(tx, HDS0155, target->span);
        return false;
    }
}

// A loop that runs while compiling binds its target anew in each iteration: known numbers do not become values of the variable
// that an earlier iteration needed for one of the run. Comprehensions take a new variable for those, too: nothing else assigns it.
static void begin_iteration(tc *tx, const ast_expr *target, tc_value v)
{
    if (target->kind == AST_TUPLE || target->kind == AST_LIST) {
        const ast_sequence *s = (const ast_sequence *)target;
        bool fits = (v.kind == TC_TUPLE || v.kind == TC_LIST) && v.list->len == s->items.len;
        for (size_t i = 0; fits && i < s->items.len; i++)
            begin_iteration(tx, s->items.at[i], v.list->at[i]);
    }
    bool is_anew = v.kind == TC_RT ? tx->frame->scope->is_comprehension : tc_is_number(v);
    tc_binding *b = target->kind == AST_NAME && is_anew
                        ? tc_scope_find_here(tx->frame->scope, ((const ast_name *)target)->name)
                        : NULL;
    if (b && b->var && b->state == TC_BOUND && b->owner == tx->func && b->region == tx->region)
        b->var = NULL;
}

bool tc_next_item(tc *tx, const ast_expr *target, tc_value v, src_span span)
{
    begin_iteration(tx, target, v);
    return tc_assign_target(tx, target, v, span);
}

// ---- assignment statements ---------------------------------------------------------------------------------------

// `a, b = b, a`: the right side is a tuple of values that may read the targets. Each is stored first, unless no target
// is read.
static bool reads_any_local(const ir_expr *e, const tc_scope *scope, const ast_sequence *targets)
{
    if (e->op == IR_OP_VAR) {
        for (size_t i = 0; i < targets->items.len; i++) {
            if (targets->items.at[i]->kind != AST_NAME)
                return true;
            tc_binding *b = tc_scope_find_here(scope, AST_AS(NAME, name, targets->items.at[i])->name);
            if (b && b->var == e->u.var)
                return true;
        }
        return false;
    }
    if (e->op == IR_OP_LOAD || e->op == IR_OP_PLOAD) {
        for (size_t i = 0; i < targets->items.len; i++)
            if (targets->items.at[i]->kind != AST_NAME)
                return true;
    }
    for (int i = 0; i < e->arg_count; i++)
        if (reads_any_local(e->args[i], scope, targets))
            return true;
    return false;
}

static tc_value settle_tuple(tc *tx, const ast_expr *target, tc_value v)
{
    if (target->kind != AST_TUPLE || (v.kind != TC_TUPLE && v.kind != TC_LIST))
        return v;
    const ast_sequence *targets = (const ast_sequence *)target;
    tc_value copy = tc_list_new(tx, v.kind, v.list->at, v.list->len);
    for (size_t i = 0; i < copy.list->len; i++) {
        tc_value item = copy.list->at[i];
        if (item.kind == TC_TUPLE || (item.kind == TC_RT && reads_any_local(item.rt, tx->frame->scope, targets)))
            tc_list_set(copy.list, i, tc_freeze(tx, item, target->span));
    }
    return copy;
}

// -D NAME=VALUE stands for the right side of `NAME = …` at the top level of the main file.
static bool is_defined(tc *tx, const ast_expr *target, tc_value *out)
{
    bool is_constant = !tx->frame->function && tx->frame->scope == tx->main_scope && target->kind == AST_NAME;
    return is_constant && tc_defined(tx, AST_AS(NAME, name, target)->name, out);
}

static bool exec_assign(tc *tx, const ast_assign *s)
{
    tc_value v;
    if (s->targets.len != 1 || !is_defined(tx, s->targets.at[0], &v))
        v = tc_eval(tx, s->value);
    if (v.kind == TC_RECORD && s->value->kind != AST_CALL)
        v = tc_record_copy(tx, v, s->node.span);
    if (s->targets.len > 1)
        v = tc_freeze(tx, v, s->node.span);
    tx->value_span = s->value->span;
    bool ok = true;
    for (size_t i = 0; i < s->targets.len; i++)
        ok &= tc_assign_target(tx, s->targets.at[i], settle_tuple(tx, s->targets.at[i], v), s->node.span);
    return ok;
}

// What `old op= v` assigns: the result of the record's method for it, or else of the operator.
static tc_value changed(tc *tx, ast_op op, tc_value old, tc_value v, src_span span)
{
    const char *method = arena_printf(tx->arena, "__i%s__", tc_special_name(op));
    bool found = false;
    tc_value r = tc_record_dunder(tx, old, method, &v, 1, span, &found);
    if (!found)
        return tc_binary(tx, op, old, v, span);
    if (r.kind != TC_NONE)
        return r;
    diag *d = tc_error(tx, HDS0300, span, method, old.record->class->name->text);
    diag_help(d, "end the method with 'return self'");
    return tc_poison();
}

static bool is_same_record(tc_value a, tc_value b)
{
    return a.kind == TC_RECORD && b.kind == TC_RECORD && a.record == b.record;
}

// The base and the indices of a target are evaluated once, then read and written.
static bool aug_subscript(tc *tx, const ast_aug_assign *s, const ast_subscript *at)
{
    tc_value base = tc_eval(tx, at->value);
    if (tc_is_poison(base))
        return false;
    if (base.kind == TC_TENSOR && has_slice(at)) {
        tc_value view = tc_tensor_index(tx, base.tensor, at), v = tc_eval(tx, s->value);
        return view.kind == TC_TENSOR &&
               tc_tensor_assign(tx, view.tensor, tc_binary(tx, s->op, view, v, s->node.span), s->node.span);
    }
    tc_list items = {0};
    if (!tc_eval_subscripts(tx, base, &at->items, &items))
        return false;
    for (size_t i = 0; i < items.len; i++)
        items.at[i] = items.at[i].kind == TC_RT && !ir_is_pure(items.at[i].rt)
                          ? tc_freeze(tx, items.at[i], s->node.span)
                          : items.at[i];
    if (base.kind == TC_TENSOR && !tc_tensor_check_indices(tx, base.tensor, at, &items))
        return false;
    if (base.kind == TC_TENSOR && items.len == 1 && items.at[0].kind == TC_TUPLE)
        items = *items.at[0].list;
    tc_value old = tc_index_value(tx, base, items.at, items.len, at->node.span);
    size_t mark = tx->block ? tx->block->stmts.len : 0;
    tc_value v = tc_eval(tx, s->value);
    old = tc_keep_before(tx, old, mark, s->node.span);
    if (tc_is_poison(old) || tc_is_poison(v))
        return false;
    if (tc_data_in_place(tx, s->op, old, v, s->node.span))
        return true;
    tc_value sum = changed(tx, s->op, old, v, s->node.span);
    if (base.kind == TC_TENSOR && is_same_record(sum, old))
        return true;
    return !tc_is_poison(sum) && assign_items(tx, base, &items, sum, s->node.span);
}

static bool exec_aug_assign(tc *tx, const ast_aug_assign *s)
{
    if (s->target->kind == AST_SUBSCRIPT)
        return aug_subscript(tx, s, AST_AS(SUBSCRIPT, subscript, s->target));
    tc_value old = tc_eval(tx, s->target);
    size_t mark = tx->block ? tx->block->stmts.len : 0;
    tc_value v = tc_eval(tx, s->value);
    if (tc_is_poison(old) || tc_is_poison(v))
        return false;
    bool is_own =
        s->target->kind != AST_NAME || tc_scope_find_here(tx->frame->scope, AST_AS(NAME, name, s->target)->name);
    if (is_own && tc_data_in_place(tx, s->op, old, v, s->node.span))
        return true;
    old = tc_keep_before(tx, old, mark, s->node.span);
    tc_value r = changed(tx, s->op, old, v, s->node.span);
    if (is_same_record(r, old)) // its fields have been assigned to
        return true;
    if (old.kind == TC_TENSOR && r.kind == TC_TENSOR)
        return tc_tensor_assign(tx, old.tensor, r, s->node.span);
    return tc_assign_target(tx, s->target, r, s->node.span);
}

static const char *target_name(const ast_expr *target)
{
    return target->kind == AST_NAME ? AST_AS(NAME, name, target)->name->text : "value";
}

// `x: T = v` declares a run-time variable of that type; `x: int = v` a constant; `x: T[shape]` a private register
// tensor.
static bool exec_ann_assign(tc *tx, const ast_ann_assign *s)
{
    tc_value annotation = tc_eval_annotation(tx, s->annotation, tx->frame->scope);
    tc_value v = tc_none();
    if (s->value && !is_defined(tx, s->target, &v))
        v = tc_eval(tx, s->value);
    if (tc_is_poison(annotation) || tc_is_poison(v) || s->target->kind != AST_NAME) {
        if (s->target->kind != AST_NAME)
            tc_error(tx, HDS0155, s->target->span);
        else
            tc_scope_bind(tx, tx->frame->scope, AST_AS(NAME, name, s->target)->name, tc_poison(), s->node.span);
        return false;
    }
    sym name = AST_AS(NAME, name, s->target)->name;
    if (annotation.kind == TC_TYPE && tx->block && annotation.type->kind != IR_VOID) {
        if (tx->frame->compile_time && tc_wants_run_time(tx))
            return false;
        tx->value_span = s->value ? s->value->span : (src_span){0};
        const ir_type *type = annotation.type;
        if (s->value && tc_convert_hook(tx, type, v, s->value->span, &v) && tc_default_type(tx, v))
            type = tc_default_type(tx, v);
        ir_expr *init = s->value ? tc_convert(tx, v, type, s->value->span, "value") : NULL;
        if (s->value && !init)
            return false;
        ir_var *var = tc_declare(tx, name->text, type, init, s->node.span);
        if (!init)
            var->is_mutable = true;
        tc_binding *b =
            tc_scope_bind(tx, tx->frame->scope, name, tc_rt(ir_read(tx->ir, var, s->node.span)), s->node.span);
        b->var = var;
        return true;
    }
    if (annotation.kind == TC_TENSOR_TYPE && !s->value) {
        tc_value t =
            tc_tensor_declare(tx, name->text, annotation.tensor_type, IR_VAR_LOCAL, tc_none(), 0, NULL, s->node.span);
        return tc_assign_target(tx, s->target, t, s->node.span);
    }
    if (!s->value) {
        tc_error(tx, HDS0156, s->node.span, target_name(s->target));
        tc_scope_bind(tx, tx->frame->scope, name, tc_poison(), s->node.span);
        return false;
    }
    return tc_assign_target(tx, s->target, tc_conform(tx, v, annotation, target_name(s->target), s->value->span),
                            s->node.span);
}

// ---- the rest ----------------------------------------------------------------------------------------------------

// ---- asserts of tests say what they found: "y[i] is 1.5, x[i] + x[i] is 1.25, i is 3"

typedef struct told {
    str_buf format;
    VEC(ir_expr *) values;
} told;

static const char *exact_conversion(const ir_type *t)
{
    bool is_wide = dt_bits(t->scalar) == 64;
    if (dt_is_float(t->scalar))
        return is_wide ? "%.17g" : dt_bits(t->scalar) == 32 ? "%.9g" : "%.6g";
    return dt_is_signed(t->scalar) ? (is_wide ? "%lld" : "%d") : is_wide ? "%llu" : "%u";
}

static void tell(tc *tx, told *t, str what, ir_expr *value)
{
    str_adds(&t->format, t->values.len ? ", " : "");
    for (size_t i = 0; i < what.len; i++)
        str_adds(&t->format, what.at[i] == '%' ? "%%" : what.at[i] == '\n' ? " " : (char[]){what.at[i], 0});
    str_addf(&t->format, " is %s", exact_conversion(value->type));
    VEC_PUSH(tx->ir->arena, &t->values, value);
}

typedef struct loop_search {
    tc *tx;
    VEC(const ir_var *) found;
} loop_search;

static void find_loop_variable(void *user, ir_expr *e)
{
    loop_search *s = user;
    bool known = e->op != IR_OP_VAR || e->u.var->kind != IR_VAR_LOOP;
    for (size_t i = 0; i < s->found.len; i++)
        known |= s->found.at[i] == e->u.var;
    if (!known)
        VEC_PUSH(s->tx->arena, &s->found, e->u.var);
}

static bool tellable(const ir_expr *e)
{
    return e->type->kind == IR_SCALAR && e->op != IR_OP_INT && e->op != IR_OP_FLOAT &&
           dt_kind_of(e->type->scalar) != DT_KIND_COMPLEX;
}

static str source_text(tc *tx, const ast_expr *e)
{
    const src_file *file = src_file_at(tx->diags->sources, e->span.begin);
    return (str){file->text.at + (e->span.begin - file->base), e->span.end - e->span.begin};
}

// Both sides of a comparison and the loop variables in them; nothing of other conditions.
static void tell_sides(tc *tx, told *t, const ast_expr *condition, const ir_expr *e)
{
    const ast_compare *c = condition->kind == AST_COMPARE ? (const ast_compare *)condition : NULL;
    if (!c || c->operands.len != 2 || !(ir_op_properties(e->op) & IR_COMPARE) || e->arg_count != 2)
        return;
    loop_search loops = {.tx = tx};
    for (int i = 0; i < 2; i++) {
        if (tellable(e->args[i]))
            tell(tx, t, source_text(tx, c->operands.at[i]), e->args[i]);
        ir_walk_expr(tx->ir, e->args[i], find_loop_variable, &loops);
    }
    for (size_t i = 0; i < loops.found.len && t->values.len; i++)
        tell(tx, t, str_of(loops.found.at[i]->name), ir_read(tx->ir, (ir_var *)loops.found.at[i], condition->span));
}

// if not condition: print what it is about
static void explain_assert(tc *tx, const ast_assert *s, ir_expr *condition)
{
    told t = {0};
    str_buf_init(&t.format, tx->ir->arena);
    tell_sides(tx, &t, s->condition, condition);
    if (!t.values.len)
        return;
    str_addc(&t.format, '\n');
    ir_stmt *print = tc_new_stmt(tx, IR_PRINT, s->node.span);
    print->text = str_text(&t.format);
    print->args = t.values.at;
    print->arg_count = (int)t.values.len;
    ir_stmt *branch = tc_new_stmt(tx, IR_IF, s->node.span);
    branch->value = ir_unary(tx->ir, IR_OP_NOT, condition, s->condition->span);
    ir_append(tx->ir, &branch->body, print);
    tc_emit(tx, branch);
}

static bool exec_assert(tc *tx, const ast_assert *s)
{
    tc_value c = tc_eval(tx, s->condition);
    if (tc_is_poison(c))
        return false;
    tc_value message = tc_str(STR("the condition does not hold"));
    bool truth;
    if (tc_truth_of(tx, &c, s->condition->span, &truth)) {
        if (truth)
            return true;
        if (s->message)
            message = tc_eval(tx, s->message);
        str_buf b;
        str_buf_init(&b, tx->arena);
        tc_to_text(tx, message, &b);
        tc_error(tx, HDS0157, s->condition->span, str_text(&b));
        return false;
    }
    if (s->message)
        message = tc_eval(tx, s->message);
    ir_expr *condition = tc_condition(tx, c, s->condition->span);
    if (!condition || message.kind != TC_STR) {
        if (condition && !tc_is_poison(message))
            tc_error(tx, HDS0158, s->message->span, tc_describe(tx, message));
        return false;
    }
    if (tx->in_test && tc_on_host(tx) && !tx->speculating)
        explain_assert(tx, s, condition);
    ir_stmt *a = tc_new_stmt(tx, IR_ASSERT, s->node.span);
    a->value = condition;
    a->text = arena_strndup(tx->ir->arena, message.s.at, message.s.len);
    tc_emit(tx, a);
    return true;
}

// A function that is named and not called (a barrier, say, that will be missed), a comparison where an assignment was meant.
// 'y[i] == x[i]': one comparison, of something that can be assigned. Others may be there for what their operands do.
static bool looks_like_assignment(const ast_expr *e)
{
    if (e->kind != AST_COMPARE)
        return false;
    const ast_compare *c = (const ast_compare *)e;
    ast_kind left = c->operands.at[0]->kind;
    return c->ops.len == 1 && c->ops.at[0] == AST_OP_EQ &&
           (left == AST_NAME || left == AST_SUBSCRIPT || left == AST_ATTRIBUTE);
}

static void check_effect(tc *tx, const ast_expr *e, tc_value v)
{
    bool names = e->kind == AST_NAME || e->kind == AST_ATTRIBUTE;
    bool is_function = v.kind == TC_FUNCTION || v.kind == TC_NATIVE || v.kind == TC_METHOD;
    if (names && is_function) {
        diag *d = tc_error(tx, HDS0299, e->span);
        diag_help(d, "call the function");
        diag_fix(d, (src_span){e->span.end, e->span.end}, "()");
    } else if (looks_like_assignment(e) && (v.kind == TC_RT || v.kind == TC_BOOL)) {
        diag *d = tc_error(tx, HDS0299, e->span);
        diag_help(d, "write 'assert' before it, or '=' to assign");
    }
}

static bool exec_expression(tc *tx, const ast_expr_stmt *s)
{
    tc_value v = tc_eval(tx, s->value);
    check_effect(tx, s->value, v);
    if (v.kind == TC_RT && !ir_is_pure(v.rt) && v.rt->op != IR_OP_VAR && v.rt->op != IR_OP_LOAD &&
        v.rt->op != IR_OP_PLOAD) {
        ir_stmt *e = tc_new_stmt(tx, IR_EVAL, s->node.span);
        e->value = v.rt;
        tc_emit(tx, e);
    }
    return !tc_is_poison(v);
}

static bool redefined(tc *tx, sym name, src_span span)
{
    tc_binding *old = tc_scope_find_here(tx->frame->scope, name);
    bool is_definition = old && (old->value.kind == TC_FUNCTION || old->value.kind == TC_CLASS) && !old->lazy_module;
    if (!is_definition || tx->frame->function)
        return false;
    diag *d = tc_error(tx, HDS0159, span, name->text);
    diag_label(d, old->span, "first defined here");
    return true;
}

static bool exec_function(tc *tx, const ast_function *f)
{
    if (redefined(tx, f->name, f->name_span))
        return false;
    tc_function *value = tc_function_new(tx, f, tx->frame->scope, tx->frame->scope->module);
    tc_function_defaults(tx, value);
    tc_value made = tc_decorated(tx, value);
    tc_scope_bind(tx, tx->frame->scope, f->name, made, f->name_span);
    return !tc_is_poison(made);
}

static bool exec_class(tc *tx, const ast_class *c)
{
    if (redefined(tx, c->name, c->name_span))
        return false;
    tc_class *value = tc_class_new(tx, c, tx->frame->scope, tx->frame->scope->module);
    tc_scope_bind(tx, tx->frame->scope, c->name, (tc_value){.kind = TC_CLASS, .class = value}, c->name_span);
    return true;
}

// `break` and `continue`.
static tc_flow exec_jump(tc *tx, const ast_stmt *s)
{
    tc_loop *loop = tx->frame->loop;
    const char *word = s->kind == AST_BREAK ? "break" : "continue";
    if (!loop) {
        tc_error(tx, HDS0161, s->span, word);
        return TC_NEXT;
    }
    if (tx->frame->with_depth > loop->with_depth && loop->kind != TC_LOOP_STATIC) {
        tc_error(tx, HDS0163, s->span, word);
        return TC_NEXT;
    }
    if (loop->kind == TC_LOOP_RT) {
        tc_emit(tx, tc_new_stmt(tx, s->kind == AST_BREAK ? IR_BREAK : IR_CONTINUE, s->span));
        return TC_DEAD;
    }
    if (loop->kind == TC_LOOP_TASKS || loop->region != tx->region) {
        diag *d = tc_error(tx, HDS0162, s->span, word,
                           loop->kind == TC_LOOP_TASKS ? "a loop over the tasks of a mapping"
                                                       : "a loop that is unrolled while compiling");
        diag_help(d, "use an if, or a loop over range()");
        return TC_NEXT;
    }
    return s->kind == AST_BREAK ? TC_BREAK : TC_CONTINUE;
}

static tc_flow exec_node(tc *tx, const ast_stmt *s)
{
    switch (s->kind) {
    case AST_FUNCTION:
        exec_function(tx, (const ast_function *)s);
        break;
    case AST_CLASS:
        exec_class(tx, (const ast_class *)s);
        break;
    case AST_RETURN:
        return tc_exec_return(tx, (const ast_return *)s);
    case AST_ASSIGN:
        exec_assign(tx, (const ast_assign *)s);
        break;
    case AST_AUG_ASSIGN:
        exec_aug_assign(tx, (const ast_aug_assign *)s);
        break;
    case AST_ANN_ASSIGN:
        exec_ann_assign(tx, (const ast_ann_assign *)s);
        break;
    case AST_FOR:
        return tc_exec_for(tx, (const ast_for *)s);
    case AST_WHILE:
        return tc_exec_while(tx, (const ast_while *)s);
    case AST_IF:
        return tc_exec_if(tx, (const ast_if *)s);
    case AST_WITH:
        return tc_exec_with(tx, (const ast_with *)s);
    case AST_ASSERT:
        exec_assert(tx, (const ast_assert *)s);
        break;
    case AST_IMPORT:
    case AST_FROM_IMPORT:
        tc_exec_import(tx, s);
        break;
    case AST_EXPR_STMT:
        exec_expression(tx, (const ast_expr_stmt *)s);
        break;
    case AST_BREAK:
    case AST_CONTINUE:
        return exec_jump(tx, s);
    default:
        break; // PASS; UNSUPPORTED and BAD were reported by the parser
    }
    return TC_NEXT;
}

tc_flow tc_exec(tc *tx, const ast_stmt *s)
{
    if (tx->aborted || tx->needs_run_time || !tc_step(tx, s->span))
        return TC_ABORT;
    int errors = tx->diags->error_count;
    src_span outer_value = tx->value_span;
    tx->value_span = (src_span){0};
    tx->eval_depth++;
    tc_flow flow = exec_node(tx, s);
    tx->eval_depth--;
    tx->value_span = outer_value;
    if (tx->diags->error_count != errors && !tx->needs_run_time)
        tc_silence(tx, s);
    return tx->aborted || tx->needs_run_time ? TC_ABORT : flow;
}

tc_flow tc_exec_list(tc *tx, const ast_list *list)
{
    for (size_t i = 0; i < list->len; i++) {
        tc_flow flow = tc_exec(tx, list->at[i]);
        if (flow != TC_NEXT)
            return flow;
    }
    return TC_NEXT;
}
