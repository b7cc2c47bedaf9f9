// Records: a class is a list of typed fields and methods; its instances are replaced by their fields.
//
// A field annotated with a run-time type lives in a variable of its own; one annotated int, float, … is a constant; one
// whose annotation makes a tensor (shared_tensor(…), register_tensor(…)) is that tensor; others hold what they are
// given.
#include "typecheck/eval/eval.h"

#include <string.h>

// Python would call any '__name__' somewhere: one that is never called here would do something else silently.
static void check_method_name(tc *tx, const ast_function *f)
{
    str name = sym_str(f->name);
    bool is_special = name.len > 4 && memcmp(name.at, "__", 2) == 0 && memcmp(name.at + name.len - 2, "__", 2) == 0;
    if (is_special && !tc_is_special_method(name)) {
        diag *d = tc_error(tx, HDS0301, f->name_span, f->name->text);
        diag_help(d, "see 'Records' in lang/reference.md for those that are; give the method another name and call it");
    }
}

tc_class *tc_class_new(tc *tx, const ast_class *decl, tc_scope *closure, tc_module *module)
{
    tc_class *c = ARENA_NEW(tx->arena, tc_class);
    c->id = tx->next_id++;
    c->name = decl->name;
    c->decl = decl;
    c->module = module;
    c->closure = closure;
    map_init(&c->methods, tx->arena);
    if (decl->bases.len)
        tc_error(tx, HDS0200, decl->bases.at[0].span);
    VEC(tc_field) fields = {0};
    for (size_t i = 0; i < decl->body.len; i++) {
        const ast_stmt *s = decl->body.at[i];
        if (s->kind == AST_FUNCTION) {
            tc_function *f = tc_function_new(tx, (const ast_function *)s, closure, module);
            f->owner = c;
            map_put_ptr(&c->methods, f->name, f);
            if (strcmp(f->name->text, "__init__") == 0)
                c->init = f;
            check_method_name(tx, (const ast_function *)s);
        } else if (s->kind == AST_ANN_ASSIGN && ((const ast_ann_assign *)s)->target->kind == AST_NAME) {
            const ast_ann_assign *a = (const ast_ann_assign *)s;
            VEC_PUSH(tx->arena, &fields,
                     ((tc_field){((const ast_name *)a->target)->name, s->span, a->annotation, a->value}));
        } else if (s->kind != AST_PASS && s->kind != AST_EXPR_STMT && s->kind != AST_UNSUPPORTED) {
            diag *d = tc_error(tx, HDS0201, s->span);
            diag_help(d, "a class holds fields, 'name: type = default', and methods");
        }
    }
    c->fields = fields.at;
    c->field_count = (int)fields.len;
    return c;
}

tc_value tc_class_brackets(tc *tx, tc_value v, tc_value *items, size_t len, src_span span)
{
    const tc_class *c = v.class;
    if (len > c->decl->type_params.len)
        return TC_ERR(tx, HDS0202, span, c->name->text, (long)c->decl->type_params.len, (long)len);
    tc_class *bound = arena_dup(tx->arena, c, sizeof *c);
    bound->generic = v.class;
    bound->bound_count = (int)len;
    bound->bound_names = ARENA_ARRAY(tx->arena, sym, len ? len : 1);
    bound->bound_values = arena_dup(tx->arena, items, len * sizeof *items);
    for (size_t i = 0; i < len; i++)
        bound->bound_names[i] = c->decl->type_params.at[i].name;
    return (tc_value){.kind = TC_CLASS, .class = bound};
}

tc_value *tc_record_field(tc_record *r, sym name, int *index)
{
    for (int i = 0; i < r->class->field_count; i++)
        if (r->class->fields[i].name == name) {
            if (index)
                *index = i;
            return &r->fields[i];
        }
    return NULL;
}

// ---- construction ------------------------------------------------------------------------------------------------

typedef struct construction {
    tc *tx;
    tc_class *class;
    tc_args *args;
    tc_function *init; // its method __init__, or NULL
    bool *taken;
    size_t first_left; // all positional arguments before it are taken
    bool has_keywords;
    tc_scope *scope; // type parameters, then the fields by name
} construction;

// A field that lives in a variable: its value is a read of it.
static tc_value field_variable(tc *tx, const tc_field *f, const ir_type *type, tc_value v, src_span span)
{
    if (!tx->block || tc_wants_run_time(tx))
        return tc_poison();
    ir_expr *init = v.kind == TC_NONE ? NULL : tc_convert(tx, v, type, span, f->name->text);
    if (!init && v.kind != TC_NONE)
        return tc_poison();
    ir_var *var = tc_declare(tx, f->name->text, type, init, span);
    var->is_mutable = true;
    var->role = IR_ROLE_FIELD;
    return tc_rt(ir_read(tx->ir, var, span));
}

static tc_value field_value(construction *k, const tc_field *f, tc_value given, bool has_given, src_span span)
{
    tc *tx = k->tx;
    tc_value annotation = tc_eval_annotation(tx, f->annotation, k->scope);
    if (tc_is_poison(annotation))
        return annotation;
    bool makes_tensor = annotation.kind == TC_TENSOR || annotation.kind == TC_RECORD;
    if (!has_given && makes_tensor)
        return annotation;
    if (!has_given && f->default_value) {
        given = tc_eval_annotation(tx, f->default_value, k->scope);
        has_given = true;
    }
    if (!has_given && annotation.kind == TC_TENSOR_TYPE)
        return tc_tensor_declare(tx, f->name->text, annotation.tensor_type, IR_VAR_LOCAL, tc_none(), 0, NULL, span);
    if (!has_given && annotation.kind == TC_TYPE && k->init)
        return field_variable(tx, f, annotation.type, tc_none(), span);
    if (!has_given) {
        diag *d = tc_error(tx, HDS0203, span, k->class->name->text, f->name->text);
        diag_label(d, f->span, "the field");
        return tc_poison();
    }
    if (tc_is_poison(given) || makes_tensor)
        return given;
    if (annotation.kind == TC_TYPE && annotation.type->kind != IR_VOID)
        return field_variable(tx, f, annotation.type, given, span);
    tc_value v = tc_conform(tx, given, annotation, f->name->text, span);
    return v.kind == TC_RT ? field_variable(tx, f, v.rt->type, v, span) : tc_freeze(tx, v, span);
}

static int next_positional(construction *k)
{
    for (; k->first_left < k->args->list.len; k->first_left++)
        if (!k->args->list.at[k->first_left].name && !k->taken[k->first_left])
            return (int)k->first_left;
    return -1;
}

static int keyword(construction *k, sym name)
{
    for (size_t i = 0; k->has_keywords && i < k->args->list.len; i++)
        if (k->args->list.at[i].name == name && !k->taken[i])
            return (int)i;
    return -1;
}

// Whether all fields get their values from the class itself or by keyword, so that positional arguments are type
// parameters.
static bool fields_are_complete(construction *k)
{
    for (int i = 0; i < k->class->field_count; i++) {
        const tc_field *f = &k->class->fields[i];
        bool given = false;
        for (size_t a = 0; a < k->args->list.len; a++)
            given |= k->args->list.at[a].name == f->name;
        if (!given && !f->default_value && f->annotation->kind != AST_CALL)
            return false;
    }
    return true;
}

static bool bind_type_params(construction *k, const bool *by_field)
{
    tc *tx = k->tx;
    const ast_type_params *params = &k->class->decl->type_params;
    bool positional = fields_are_complete(k) && !by_field;
    for (size_t i = 0; i < params->len; i++) {
        const ast_type_param *p = &params->at[i];
        tc_value v = tc_poison();
        bool given = false;
        for (int b = 0; b < k->class->bound_count; b++)
            if (k->class->bound_names[b] == p->name) {
                v = k->class->bound_values[b];
                given = true;
            }
        int at = given ? -1 : keyword(k, p->name);
        if (at < 0 && !given && positional)
            at = next_positional(k);
        if (at >= 0) {
            v = k->args->list.at[at].value;
            k->taken[at] = true;
            given = true;
        }
        if (!given && tc_scope_find_here(k->scope, p->name))
            continue; // inferred from a field
        if (!given && p->default_value) {
            v = tc_eval_annotation(tx, p->default_value, k->scope);
            given = true;
        }
        if (!given) {
            tc_error(tx, HDS0204, k->args->span, p->name->text, k->class->name->text);
            return false;
        }
        if (!tc_check_bound(tx, p, v, k->scope, k->args->span))
            return false;
        tc_scope_bind(tx, k->scope, p->name, v, p->span);
    }
    return true;
}

// Type parameters that are written as the type of a field are inferred from the value given for it.
static void infer_from_fields(construction *k)
{
    tc *tx = k->tx;
    const ast_type_params *params = &k->class->decl->type_params;
    if (!params->len || fields_are_complete(k))
        return;
    bool *bound = ARENA_ARRAY(tx->arena, bool, params->len);
    size_t position = 0;
    for (int i = 0; i < k->class->field_count; i++) {
        const tc_field *f = &k->class->fields[i];
        const tc_arg *given = NULL;
        for (size_t a = 0; a < k->args->list.len; a++)
            if (k->args->list.at[a].name == f->name)
                given = &k->args->list.at[a];
        while (!given && position < k->args->list.len && k->args->list.at[position].name)
            position++;
        if (!given && position < k->args->list.len)
            given = &k->args->list.at[position++];
        if (given)
            tc_infer(tx, f->annotation, given->value, k->scope, params, bound);
    }
}

static bool fill_fields(construction *k, tc_record *r)
{
    bool ok = true;
    for (int i = 0; i < k->class->field_count; i++) {
        const tc_field *f = &k->class->fields[i];
        int at = keyword(k, f->name);
        if (at < 0)
            at = k->init ? -1 : next_positional(k);
        if (at >= 0)
            k->taken[at] = true;
        src_span span = at >= 0 ? k->args->list.at[at].span : k->args->span;
        r->fields[i] = field_value(k, f, at >= 0 ? k->args->list.at[at].value : tc_none(), at >= 0, span);
        ok &= !tc_is_poison(r->fields[i]);
        int depth = tc_depth(r->fields[i]);
        r->depth = depth > r->depth ? depth : r->depth;
        tc_name_temporary(r->fields[i], f->name);
        tc_scope_bind(k->tx, k->scope, f->name, r->fields[i], f->span);
    }
    return ok;
}

static tc_value run_init(construction *k, tc_value record)
{
    tc *tx = k->tx;
    tc_function *bound = arena_dup(tx->arena, k->init, sizeof *k->init);
    bound->self = arena_dup(tx->arena, &record, sizeof record);
    bound->closure = record.record->class->closure;
    tc_args rest = {.span = k->args->span};
    for (size_t i = 0; i < k->args->list.len; i++)
        if (!k->taken[i])
            VEC_PUSH(tx->arena, &rest.list, k->args->list.at[i]);
    tc_value result = tc_call(tx, (tc_value){.kind = TC_FUNCTION, .function = bound}, &rest);
    return tc_is_poison(result) ? result : record;
}

// The class with the type parameters of this record.
static tc_class *instance_of(construction *k)
{
    tc *tx = k->tx;
    tc_class *c = k->class, *instance = arena_dup(tx->arena, c, sizeof *c);
    instance->generic = c->generic ? c->generic : c;
    instance->bound_count = (int)c->decl->type_params.len;
    instance->bound_names = ARENA_ARRAY(tx->arena, sym, instance->bound_count + 1);
    instance->bound_values = ARENA_ARRAY(tx->arena, tc_value, instance->bound_count + 1);
    instance->closure = tc_scope_new(tx, c->closure, c->module, TC_SCOPE_CLASS);
    for (int i = 0; i < instance->bound_count; i++) {
        sym name = c->decl->type_params.at[i].name;
        instance->bound_names[i] = name;
        instance->bound_values[i] = tc_scope_find_here(k->scope, name)->value;
        tc_scope_bind(tx, instance->closure, name, instance->bound_values[i], k->args->span);
    }
    return instance;
}

tc_value tc_construct(tc *tx, tc_class *c, tc_args *args)
{
    construction k = {.tx = tx, .class = c, .args = args};
    k.taken = ARENA_ARRAY(tx->arena, bool, args->list.len + 1);
    k.scope = tc_scope_new(tx, c->closure, c->module, TC_SCOPE_CLASS);
    k.init = c->init;
    for (size_t i = 0; i < args->list.len; i++)
        k.has_keywords |= args->list.at[i].name != NULL;
    infer_from_fields(&k);
    if (!bind_type_params(&k, NULL))
        return tc_poison();
    tc_record *r = ARENA_NEW(tx->arena, tc_record);
    r->born = tx->born;
    r->class = c->decl->type_params.len ? instance_of(&k) : c;
    r->env = tx->env;
    r->fields = ARENA_ARRAY(tx->arena, tc_value, c->field_count + 1);
    if (!fill_fields(&k, r))
        return tc_poison();
    tc_value record = {.kind = TC_RECORD, .record = r};
    if (k.init)
        return run_init(&k, record);
    for (size_t i = 0; i < args->list.len; i++)
        if (!k.taken[i])
            return TC_ERR(tx, HDS0205, args->list.at[i].span, c->name->text,
                          args->list.at[i].name ? arena_printf(tx->arena, "argument '%s'", args->list.at[i].name->text)
                                                : "this many arguments");
    return record;
}

// ---- use ---------------------------------------------------------------------------------------------------------

tc_value tc_record_copy(tc *tx, tc_value v, src_span span)
{
    const tc_record *from = v.record;
    tc_record *r = ARENA_NEW(tx->arena, tc_record);
    r->born = tx->born;
    r->class = from->class;
    r->env = from->env;
    r->elem = from->elem;
    r->depth = from->depth;
    r->fields = ARENA_ARRAY(tx->arena, tc_value, from->class->field_count + 1);
    for (int i = 0; i < from->class->field_count; i++) {
        tc_value f = from->fields[i];
        bool is_variable = f.kind == TC_RT && f.rt->op == IR_OP_VAR && f.rt->u.var->is_mutable;
        if (is_variable) {
            ir_var *copy = tc_declare(tx, from->class->fields[i].name->text, f.rt->type, f.rt, span);
            copy->is_mutable = true;
            copy->role = IR_ROLE_FIELD;
            f = tc_rt(ir_read(tx->ir, copy, span));
        } else if (f.kind == TC_RECORD) {
            f = tc_record_copy(tx, f, span);
        }
        r->fields[i] = f;
    }
    return (tc_value){.kind = TC_RECORD, .record = r};
}

static bool store_field(tc *tx, tc_record *record, tc_value *field, sym name, tc_value v, src_span span)
{
    if (field->kind == TC_RT && field->rt->op == IR_OP_VAR) {
        ir_expr *e = tc_convert(tx, v, field->rt->type, span, name->text);
        if (e)
            tc_assign_var(tx, field->rt->u.var, e, span);
        return e != NULL;
    }
    bool same_class =
        field->kind == TC_RECORD && v.kind == TC_RECORD && field->record->class->decl == v.record->class->decl;
    if (same_class)
        return field->record == v.record || tc_record_store_all(tx, field->record, v.record, span);
    if (field->kind == TC_TENSOR)
        return tc_tensor_assign(tx, field->tensor, v, span);
    if (tx->frame->compile_time || field->kind == TC_NONE || !tx->block) {
        if (!tc_may_hold(tx, (tc_value){.kind = TC_RECORD, .record = record}, v, span))
            return false;
        tc_changes(tx, record->born);
        tc_remember(tx, field);
        *field = v;
        return true;
    }
    if (tc_equal(*field, v))
        return true;
    tc_error(tx, HDS0206, span, name->text, tc_describe(tx, *field));
    return false;
}

bool tc_record_store_all(tc *tx, tc_record *to, tc_record *from, src_span span)
{
    if (to->class->decl != from->class->decl)
        return false;
    tc_value frozen = tc_record_copy(tx, (tc_value){.kind = TC_RECORD, .record = from}, span);
    bool ok = true;
    for (int i = 0; i < to->class->field_count; i++)
        ok &= store_field(tx, to, &to->fields[i], to->class->fields[i].name, frozen.record->fields[i], span);
    return ok;
}

bool tc_record_assign_field(tc *tx, tc_value rec, sym name, tc_value v, src_span span)
{
    tc_value *field = tc_record_field(rec.record, name, NULL);
    if (!field) {
        diag *d = tc_error(tx, HDS0154, span, name->text, tc_describe(tx, rec));
        const char **names = ARENA_ARRAY(tx->arena, const char *, rec.record->class->field_count + 1);
        for (int i = 0; i < rec.record->class->field_count; i++)
            names[i] = rec.record->class->fields[i].name->text;
        const char *close = tc_suggest(tx, names, sym_str(name));
        if (close)
            diag_help(d, "did you mean '%s'?", close);
        return false;
    }
    return store_field(tx, rec.record, field, name, v, span);
}

bool tc_is_property(const ast_function *f)
{
    for (size_t i = 0; i < f->decorators.len; i++) {
        const ast_expr *d = f->decorators.at[i];
        if (d->kind == AST_NAME && strcmp(((const ast_name *)d)->name->text, "property") == 0)
            return true;
    }
    return false;
}

tc_value tc_record_method(tc *tx, tc_value v, sym name, bool *found)
{
    tc_function *f = map_get_ptr(&v.record->class->methods, name);
    *found = f != NULL;
    if (!f)
        return tc_poison();
    tc_function *bound = arena_dup(tx->arena, f, sizeof *f);
    bound->self = arena_dup(tx->arena, &v, sizeof v);
    bound->closure = v.record->class->closure;
    bound->env = v.record->env;
    return (tc_value){.kind = TC_FUNCTION, .function = bound};
}

tc_value tc_record_dunder(tc *tx, tc_value v, const char *name, const tc_value *args, size_t len, src_span span,
                          bool *found)
{
    *found = false;
    if (v.kind != TC_RECORD)
        return tc_poison();
    tc_value method = tc_record_method(tx, v, sym_of(tx->syms, name), found);
    return *found ? tc_call_values(tx, method, args, len, span) : method;
}
