// What calls of an operator give, against its signature: what is wrong is said at the call, not where the definition or a
// schedule comes upon it.
#include "typecheck/operators/operators_priv.h"

typedef struct attribute_check {
    tc *tx;
    const char *name; // of the operator
    const tc_function *f;
    src_span span; // of the call
    bool has_own_schedule, ok;
} attribute_check;

// An annotation that types given by operands decide says nothing of attributes.
static bool is_open(const tc_function *f, const ast_expr *annotation)
{
    bool is = annotation->kind == AST_SUBSCRIPT;
    for (size_t i = 0; i < f->decl->type_params.len; i++)
        is |= tc_expr_mentions(annotation, f->decl->type_params.at[i].name);
    return is;
}

// What the author says that the parameter takes; poison: nothing.
static tc_value wanted_of(const attribute_check *c, const ast_param *p)
{
    bool is_float = !p->annotation && p->default_value && tc_is_float_by_default(p->default_value);
    if (is_float)
        return (tc_value){.kind = TC_KIND, .kind_name = TC_KIND_FLOAT};
    bool is_said = p->annotation && p->kind == AST_PARAM_PLAIN && !is_open(c->f, p->annotation);
    return is_said ? tc_eval_annotation(c->tx, p->annotation, c->f->closure) : tc_poison();
}

static void check_value(attribute_check *c, const ast_param *p, tc_value v)
{
    bool may_be_none = p->default_value && p->default_value->kind == AST_NONE;
    bool is_operand = v.kind == TC_TENSOR || v.kind == TC_RECORD; // which some take in place of a number
    if (is_operand || (v.kind == TC_NONE && may_be_none))
        return;
    tc_value annotation = wanted_of(c, p);
    if (tc_is_poison(annotation) || tc_is_poison(v) || tc_fits(v, annotation))
        return;
    const char *what = arena_printf(c->tx->arena, "'%s' of operator '%s'", p->name->text, c->name);
    const char *wanted = tc_text(c->tx, annotation);
    diag_code code = annotation.kind == TC_TUPLE ? HDS0186 : HDS0184;
    diag *d = tc_error(c->tx, code, c->span, what, wanted, tc_describe(c->tx, v));
    diag_label(d, p->span, "the attribute");
    c->ok = false;
}

// [takes_any]: the name may mean something else, such as a type parameter, or an option of kernels of the author's own.
static const ast_param *find(const attribute_check *c, sym name, bool *takes_any)
{
    const ast_params *params = &c->f->decl->params;
    for (size_t i = 0; i < params->len; i++) {
        if (params->at[i].kind == AST_PARAM_PLAIN && params->at[i].name == name)
            return &params->at[i];
        *takes_any |= params->at[i].kind == AST_PARAM_DOUBLE_STAR;
    }
    for (size_t i = 0; i < c->f->decl->type_params.len; i++)
        *takes_any |= c->f->decl->type_params.at[i].name == name;
    return NULL;
}

static void unknown(attribute_check *c, sym name)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < c->f->decl->params.len; i++)
        VEC_PUSH(c->tx->arena, &names, c->f->decl->params.at[i].name->text);
    VEC_PUSH(c->tx->arena, &names, NULL);
    const char *close = tc_suggest(c->tx, names.at, str_of(name->text));
    diag *d = tc_error(c->tx, HDS0211, c->span, c->name, name->text);
    diag_label(d, c->f->decl->name_span, "defined here");
    if (close)
        diag_help(d, "did you mean '%s'?", close);
    c->ok = false;
}

tc_value tc_native_takes_attributes(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value operator= args->list.at[0].value, given = args->list.at[1].value, named = args->list.at[2].value;
    const tc_function *f = tc_is_operator(tx, operator) ? tc_operator_function(tx, operator) : NULL;
    tc_frame *method = tx->frame;
    if (!f || !f->decl || given.kind != TC_TUPLE || named.kind != TC_DICT || !method->caller)
        return tc_bool(true);
    attribute_check c = {.tx = tx, .name = f->name->text, .f = f, .span = method->call_span, .ok = true};
    c.has_own_schedule = tc_own_schedule(tx, operator) != NULL;
    tx->frame = method->caller;
    for (size_t i = 0; i < given.list->len && i < f->decl->params.len; i++) {
        if (f->decl->params.at[i].kind != AST_PARAM_PLAIN)
            break;
        check_value(&c, &f->decl->params.at[i], given.list->at[i]);
    }
    for (size_t i = 0; i < named.dict->keys.len; i++) {
        sym name = sym_of(tx->syms, arena_strndup(tx->arena, named.dict->keys.at[i].s.at, named.dict->keys.at[i].s.len));
        bool takes_any = c.has_own_schedule;
        const ast_param *p = find(&c, name, &takes_any);
        if (p)
            check_value(&c, p, named.dict->values.at[i]);
        else if (!takes_any)
            unknown(&c, name);
    }
    tx->frame = method;
    return c.ok ? tc_bool(true) : tc_poison();
}

// A default that depends on type parameters is not known without operands.
static tc_value default_of(tc *tx, const tc_function *f, const ast_param *p)
{
    bool muted = tx->diags->muted;
    int errors = tx->diags->error_count;
    tx->diags->muted = true;
    tc_value v = p->default_value ? tc_eval_annotation(tx, p->default_value, f->closure) : tc_poison();
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
    return tc_is_compile_time(v) ? v : tc_poison();
}

tc_value tc_native_attribute_defaults(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value operator= args->list.at[0].value, out = tc_dict_new(tx);
    const tc_function *f = tc_is_operator(tx, operator) ? tc_operator_function(tx, operator) : NULL;
    for (size_t i = 0; f && f->decl && i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        tc_value v = p->kind == AST_PARAM_PLAIN ? default_of(tx, f, p) : tc_poison();
        if (!tc_is_poison(v))
            tc_dict_put(tx, out.dict, tc_str(str_of(p->name->text)), v);
    }
    return out;
}

tc_value tc_native_fits_parameters(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value function = args->list.at[0].value, values = args->list.at[1].value;
    const tc_function *f = function.kind == TC_FUNCTION ? function.function : NULL;
    bool fits = true;
    for (size_t i = 0; f && f->decl && values.kind == TC_DICT && i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        const tc_value *v = p->name ? tc_dict_find(tx, values.dict, tc_str(str_of(p->name->text))) : NULL;
        if (!v || !p->annotation || is_open(f, p->annotation))
            continue;
        tc_value annotation = tc_eval_annotation(tx, p->annotation, f->closure);
        fits &= tc_is_poison(annotation) || tc_fits(*v, annotation);
    }
    return tc_bool(fits);
}

tc_value tc_native_parameter_names(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value operator= args->list.at[0].value;
    const tc_function *f = tc_is_operator(tx, operator) ? tc_operator_function(tx, operator) : NULL;
    VEC(tc_value) names = {0};
    for (size_t i = 0; f && f->decl && i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        if (p->kind != AST_PARAM_PLAIN)
            break;
        VEC_PUSH(tx->arena, &names, tc_str(str_of(p->name->text)));
    }
    return tc_list_new(tx, TC_TUPLE, names.at, names.len);
}
