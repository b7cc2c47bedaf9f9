// Arguments of calls: parameters they are matched with, what type parameters are by them, and the scope of the activation.
#include "typecheck/eval/arguments.h"

#include <string.h>

static const ast_params *params_of(const tc_function *f)
{
    return f->decl ? &f->decl->params : &f->lambda->params;
}

// Defaults are evaluated once, where the function is defined. Those over type parameters or run-time values, and those
// that cannot be evaluated there, are evaluated by each call.
void tc_function_defaults(tc *tx, tc_function *f)
{
    const ast_params *params = params_of(f);
    if (f->decl && f->decl->type_params.len)
        return;
    bool muted = tx->diags->muted;
    int errors = tx->diags->error_count;
    f->defaults = ARENA_ARRAY(tx->arena, tc_value, params->len + 1);
    tx->diags->muted = true;
    for (size_t i = 0; i < params->len; i++) {
        const ast_expr *e = params->at[i].default_value;
        tc_value v = e ? tc_eval(tx, e) : tc_poison();
        f->defaults[i] = tc_is_compile_time(v) ? v : tc_poison();
    }
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
}

static const ast_type_params no_type_params;

static const ast_type_params *type_params_of(const tc_function *f)
{
    return f->decl ? &f->decl->type_params : &no_type_params;
}

// f[f16, 128, BM := 64]: by position, then by name. [names]: NULL for positional items.
tc_value tc_function_brackets(tc *tx, tc_value v, tc_value *items, const sym *names, size_t len, src_span span)
{
    const tc_function *f = v.function;
    const ast_type_params *params = type_params_of(f);
    tc_function *bound = arena_dup(tx->arena, f, sizeof *f);
    bound->bound_count = f->bound_count + (int)len;
    bound->bound_names = ARENA_ARRAY(tx->arena, sym, bound->bound_count + 1);
    bound->bound_values = ARENA_ARRAY(tx->arena, tc_value, bound->bound_count + 1);
    for (int i = 0; i < f->bound_count; i++) {
        bound->bound_names[i] = f->bound_names[i];
        bound->bound_values[i] = f->bound_values[i];
    }
    for (size_t i = 0; i < len; i++) {
        size_t at = (size_t)f->bound_count + i;
        size_t known = 0;
        while (names[i] && known < params->len && params->at[known].name != names[i])
            known++;
        if (names[i] ? known == params->len : at >= params->len) {
            if (names[i])
                return TC_ERR(tx, HDS0211, span, tc_function_title(tx, f), names[i]->text);
            return TC_ERR(tx, HDS0202, span, tc_function_title(tx, f), (long)params->len, (long)at + 1);
        }
        bound->bound_names[at] = names[i] ? names[i] : params->at[at].name;
        bound->bound_values[at] = items[i];
    }
    return (tc_value){.kind = TC_FUNCTION, .function = bound};
}
// ---- type parameters ---------------------------------------------------------------------------------------------

static bool class_matches(const tc_class *bound, tc_value v)
{
    return v.kind == TC_CLASS && v.class->decl == bound->decl;
}

static bool is_float_type(const tc_value *v)
{
    return v->kind == TC_TYPE && v->type->kind == IR_SCALAR && dt_is_float(v->type->scalar);
}

// A handler that says what conversions mean takes tensors of one float type for those of another.
static bool stands_for(tc *tx, const tc_value *v, const tc_value *bound)
{
    return is_float_type(v) && is_float_type(bound) && tc_handles(tx, "convert");
}

bool tc_check_bound(tc *tx, const ast_type_param *p, tc_value v, tc_scope *scope, src_span span)
{
    if (!p->bound || p->is_variadic || tc_is_poison(v))
        return !tc_is_poison(v);
    tc_value bound = tc_eval_annotation(tx, p->bound, scope);
    if (tc_is_poison(bound))
        return false;
    bool ok = true;
    if (bound.kind == TC_TUPLE || bound.kind == TC_LIST) {
        ok = false;
        for (size_t i = 0; i < bound.list->len; i++)
            ok |= tc_equal(bound.list->at[i], v) || stands_for(tx, &v, &bound.list->at[i]);
    } else if (bound.kind == TC_KIND) {
        return !tc_is_poison(tc_conform(tx, v, bound, p->name->text, span));
    } else if (bound.kind == TC_TYPE) {
        ok = tc_is_index(v) || tc_is_number(v);
    } else if (bound.kind == TC_AT_LEAST) {
        ok = tc_is_index(v) && (v.kind != TC_INT || v.i >= bound.at_least->least);
    } else if (bound.kind == TC_CLASS) {
        ok = class_matches(bound.class, v) || (v.kind == TC_RECORD && v.record->class->decl == bound.class->decl);
    }
    if (ok)
        return true;
    diag *d = tc_error(tx, HDS0186, span, arena_printf(tx->arena, "'%s'", p->name->text), tc_text(tx, bound), tc_describe(tx, v));
    diag_label(d, p->span, "the type parameter");
    return false;
}

static bool take_keyword_types(tc_matching *m)
{
    const ast_type_params *types = type_params_of(m->f);
    for (size_t i = 0; i < types->len; i++) {
        const ast_type_param *p = &types->at[i];
        tc_value v = tc_poison();
        bool given = false;
        for (int b = 0; b < m->f->bound_count; b++)
            if (m->f->bound_names[b] == p->name) {
                v = m->f->bound_values[b];
                given = true;
            }
        for (size_t a = 0; a < m->args->list.len; a++)
            if (m->args->list.at[a].name == p->name && !m->taken[a]) {
                m->taken[a] = true;
                v = m->args->list.at[a].value;
                given = true;
            }
        if (!given)
            continue;
        if (tc_is_poison(v))
            return false;
        m->type_bound[i] = true;
        tc_scope_bind(m->tx, m->scope, p->name, v, p->span);
    }
    return true;
}

static bool is_literal(const ast_expr *e)
{
    return e->kind == AST_INT || e->kind == AST_FLOAT || e->kind == AST_STRING || e->kind == AST_TRUE ||
           e->kind == AST_FALSE || e->kind == AST_NONE;
}

// Where defaults of type parameters are evaluated: with the parameters that are known before those are.
static tc_scope *scope_of_defaults(tc_matching *m)
{
    tc *tx = m->tx;
    tc_scope *scope = tc_scope_new(tx, m->scope, m->f->module, TC_SCOPE_FUNCTION);
    for (size_t i = 0; i < params_of(m->f)->len; i++) {
        const ast_param *p = &params_of(m->f)->at[i];
        tc_value v = tc_poison();
        if (m->arg_of[i] >= 0)
            v = m->args->list.at[m->arg_of[i]].value;
        else if (p->default_value && is_literal(p->default_value))
            v = tc_eval_annotation(tx, p->default_value, m->scope);
        if (!tc_is_poison(v) && tc_is_compile_time(v))
            tc_scope_bind(tx, scope, p->name, v, p->span);
    }
    return scope;
}

bool tc_match_types(tc_matching *m)
{
    tc *tx = m->tx;
    const ast_type_params *types = type_params_of(m->f);
    for (size_t i = 0; i < types->len; i++) {
        const ast_type_param *p = &types->at[i];
        if (!m->type_bound[i]) {
            if (!p->default_value) {
                diag *d = tc_error(tx, HDS0204, m->span, p->name->text, tc_function_title(tx, m->f));
                diag_label(d, p->span, "the type parameter");
                return false;
            }
            tc_value v = tc_eval_annotation(tx, p->default_value, scope_of_defaults(m));
            tc_scope_bind(tx, m->scope, p->name, v, p->span);
        }
        if (!tc_check_bound(tx, p, tc_scope_find_here(m->scope, p->name)->value, m->scope, m->span))
            return false;
    }
    return true;
}

// ---- parameters --------------------------------------------------------------------------------------------------

static bool too_many(tc_matching *m, src_span span)
{
    tc *tx = m->tx;
    size_t count = 0;
    for (size_t i = 0; i < params_of(m->f)->len; i++)
        count += params_of(m->f)->at[i].kind == AST_PARAM_PLAIN;
    if (m->f->self || m->f->owner)
        count -= count > 0;
    diag *d = tc_error(tx, HDS0210, span, tc_function_title(tx, m->f), (long)count);
    if (m->f->decl)
        diag_label(d, m->f->decl->name_span, "defined here");
    return false;
}

// Parameters behind `*args` that are neither named nor have defaults take the last positional arguments:
// lambda *i, j: … called as f(0, 1, 2) has j = 2.
static void take_last(tc_matching *m, size_t skip)
{
    const ast_params *params = params_of(m->f);
    size_t star = skip;
    while (star < params->len && params->at[star].kind != AST_PARAM_STAR)
        star++;
    if (star == params->len)
        return;
    int wanted = 0, spare = -(int)(star - skip);
    for (size_t i = star; i < params->len; i++)
        wanted += params->at[i].keyword_only && !params->at[i].default_value && m->arg_of[i] < 0;
    for (size_t a = 0; a < m->args->list.len; a++)
        spare += !m->args->list.at[a].name;
    if (spare < wanted)
        return;
    m->taken_last = wanted;
    size_t arg = m->args->list.len;
    for (size_t i = params->len; i-- > star && wanted;) {
        if (!params->at[i].keyword_only || params->at[i].default_value || m->arg_of[i] >= 0)
            continue;
        do
            arg--;
        while (m->args->list.at[arg].name);
        m->arg_of[i] = (int)arg;
        wanted--;
    }
}

static bool match_args(tc_matching *m, size_t skip)
{
    tc *tx = m->tx;
    const ast_params *params = params_of(m->f);
    size_t next = skip;
    for (size_t i = 0; i < params->len; i++)
        m->arg_of[i] = -1;
    for (size_t a = 0; a < m->args->list.len; a++) {
        if (m->taken[a] || m->args->list.at[a].name)
            continue;
        while (next < params->len && (params->at[next].keyword_only || params->at[next].kind == AST_PARAM_DOUBLE_STAR))
            next = params->len;
        if (next == params->len)
            return too_many(m, m->args->list.at[a].span);
        m->taken[a] = true;
        if (params->at[next].kind == AST_PARAM_STAR)
            continue; // collected below
        m->arg_of[next++] = (int)a;
    }
    for (size_t a = 0; a < m->args->list.len; a++) {
        sym name = m->args->list.at[a].name;
        if (!name || m->taken[a])
            continue;
        size_t i = skip;
        while (i < params->len &&
               (params->at[i].name != name || params->at[i].kind != AST_PARAM_PLAIN || params->at[i].positional_only))
            i++;
        bool has_rest = params->len && VEC_LAST(params).kind == AST_PARAM_DOUBLE_STAR;
        if (i == params->len && has_rest)
            continue;
        if (i == params->len) {
            diag *d =
                tc_error(tx, HDS0211, m->args->list.at[a].span, m->f->name ? m->f->name->text : "a lambda", name->text);
            if (m->f->decl)
                diag_label(d, m->f->decl->name_span, "defined here");
            const char **names = ARENA_ARRAY(tx->arena, const char *, params->len + type_params_of(m->f)->len + 1);
            for (size_t p = 0, n = 0; p < params->len; p++)
                if (params->at[p].name)
                    names[n++] = params->at[p].name->text;
            const char *close = tc_suggest(tx, names, sym_str(name));
            if (close)
                diag_help(d, "did you mean '%s'?", close);
            return false;
        }
        if (m->arg_of[i] >= 0) {
            tc_error(tx, HDS0212, m->args->list.at[a].span, name->text, tc_function_title(tx, m->f));
            return false;
        }
        m->arg_of[i] = (int)a;
        m->taken[a] = true;
    }
    take_last(m, skip);
    return true;
}

// A parameter whose default is None takes None, whatever its annotation says: nothing was given.
bool tc_may_be_none(const ast_param *p)
{
    return p->default_value && p->default_value->kind == AST_NONE;
}

static void infer_types(tc_matching *m)
{
    const ast_type_params *types = type_params_of(m->f);
    if (!types->len)
        return;
    // Run-time arguments first: a literal takes the type that the others fix.
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < params_of(m->f)->len; i++) {
            const ast_param *p = &params_of(m->f)->at[i];
            if (!p->annotation || m->arg_of[i] < 0)
                continue;
            tc_value v = m->args->list.at[m->arg_of[i]].value;
            if (v.kind == TC_NONE && tc_may_be_none(p))
                continue;
            bool run_time = v.kind == TC_TENSOR || v.kind == TC_RT || v.kind == TC_RECORD;
            if (run_time == (pass == 0))
                tc_infer(m->tx, p->annotation, v, m->scope, types, m->type_bound);
        }
    for (size_t i = 0; i < params_of(m->f)->len; i++) {
        const ast_param *p = &params_of(m->f)->at[i];
        if (p->annotation && m->arg_of[i] >= 0)
            tc_infer_idle(m->tx, p->annotation, m->args->list.at[m->arg_of[i]].value, m->scope, types, m->type_bound);
    }
}

tc_value tc_match_value(tc_matching *m, const ast_param *p, int arg)
{
    tc *tx = m->tx;
    tc_value v;
    src_span span = m->span;
    if (arg >= 0) {
        v = m->args->list.at[arg].value;
        span = m->args->list.at[arg].span;
    } else if (p->default_value) {
        const tc_value *known = m->f->defaults ? &m->f->defaults[p - params_of(m->f)->at] : NULL;
        v = known && !tc_is_poison(*known) ? *known : tc_eval_annotation(tx, p->default_value, m->scope);
        span = p->span;
    } else {
        diag *d = tc_error(tx, HDS0213, m->span, tc_function_title(tx, m->f), p->name->text);
        diag_label(d, p->span, "the parameter");
        return tc_poison();
    }
    if (p->annotation && !(v.kind == TC_NONE && tc_may_be_none(p))) {
        tc_value annotation = tc_eval_annotation(tx, p->annotation, m->scope);
        if (!tc_conforms(v, annotation))
            v = tc_conform(tx, v, annotation, arena_printf(tx->arena, "parameter '%s'", p->name->text), span);
    }
    if (v.kind == TC_RECORD && m->f->decl && tc_body_changes(v.record->class, p->name, &m->f->decl->body))
        v = tc_record_copy(tx, v, span);
    return v;
}

static bool body_assigns(const ast_list *list, sym name)
{
    for (size_t i = 0; i < list->len; i++) {
        const ast_stmt *s = list->at[i];
        if (s->kind == AST_AUG_ASSIGN && ((const ast_aug_assign *)s)->target->kind == AST_NAME &&
            ((const ast_name *)((const ast_aug_assign *)s)->target)->name == name)
            return true;
        if (s->kind == AST_ASSIGN)
            for (size_t k = 0; k < ((const ast_assign *)s)->targets.len; k++) {
                const ast_expr *t = ((const ast_assign *)s)->targets.at[k];
                if (t->kind != AST_NAME || ((const ast_name *)t)->name == name)
                    return true;
            }
        const ast_list *inner = s->kind == AST_FOR     ? &((const ast_for *)s)->body
                                : s->kind == AST_WHILE ? &((const ast_while *)s)->body
                                : s->kind == AST_WITH  ? &((const ast_with *)s)->body
                                                       : NULL;
        if (inner && body_assigns(inner, name))
            return true;
        if (s->kind == AST_IF &&
            (body_assigns(&((const ast_if *)s)->body, name) || body_assigns(&((const ast_if *)s)->or_else, name)))
            return true;
    }
    return false;
}

// A run-time argument is kept in a variable of the parameter's name, since the body may assign what it reads: through a
// reference, a method, or a function that captured it. The pass "copies" leaves only those that are needed.
static void bind_param(tc_matching *m, const ast_param *p, tc_value v, bool is_by_reference)
{
    tc *tx = m->tx;
    if (is_by_reference) {
        tc_scope_bind(tx, m->scope, p->name, v, p->span)->is_reference = v.kind == TC_RT;
        return;
    }
    bool assigned = m->f->decl && v.kind == TC_RT && body_assigns(&m->f->decl->body, p->name);
    if (assigned && tx->block) {
        ir_var *var = tc_declare(tx, p->name->text, v.rt->type, v.rt, p->span);
        tc_scope_bind(tx, m->scope, p->name, tc_rt(ir_read(tx->ir, var, p->span)), p->span)->var = var;
        return;
    }
    if (v.kind == TC_RT)
        v = tc_rt(tc_keep(tx, v.rt, p->name->text, p->span));
    else if (v.kind == TC_TUPLE)
        v = tc_freeze(tx, v, p->span);
    tc_scope_bind(tx, m->scope, p->name, v, p->span);
}

// The positional arguments that no parameter before this one takes.
static void bind_rest(tc_matching *m, const ast_param *p, size_t positional)
{
    tc_value rest = tc_list_new(m->tx, TC_TUPLE, NULL, 0);
    size_t seen = 0, end = 0;
    for (size_t a = 0; a < m->args->list.len; a++)
        end += !m->args->list.at[a].name;
    end -= (size_t)m->taken_last;
    for (size_t a = 0; a < m->args->list.len; a++)
        if (!m->args->list.at[a].name && seen++ >= positional && seen <= end)
            tc_list_push(m->tx, rest.list, tc_freeze(m->tx, m->args->list.at[a].value, p->span));
    if (p->name)
        tc_scope_bind(m->tx, m->scope, p->name, rest, p->span);
}

static void bind_named_rest(tc_matching *m, const ast_param *p)
{
    tc_value rest = tc_dict_new(m->tx);
    for (size_t a = 0; a < m->args->list.len; a++)
        if (m->args->list.at[a].name && !m->taken[a])
            tc_dict_put(m->tx, rest.dict, tc_str(sym_str(m->args->list.at[a].name)), m->args->list.at[a].value);
    tc_scope_bind(m->tx, m->scope, p->name, rest, p->span);
}

// Parameter [i], after those behind it that its annotation names: `target: I[*without(S, axis)], axis: int = -1`.
static bool bind_plain(tc_matching *m, size_t i, bool *bound)
{
    const ast_params *params = params_of(m->f);
    const ast_param *p = &params->at[i];
    bool ok = true;
    bound[i] = true;
    for (size_t k = i + 1; p->annotation && m->f->decl && k < params->len; k++)
        if (!bound[k] && params->at[k].kind == AST_PARAM_PLAIN && tc_expr_mentions(p->annotation, params->at[k].name))
            ok &= bind_plain(m, k, bound);
    tc_value v = tc_match_value(m, p, m->arg_of[i]);
    if (!tc_is_poison(v))
        bind_param(m, p, v, tc_is_reference(m->f, p));
    return ok && !tc_is_poison(v);
}

static bool bind_params(tc_matching *m, size_t skip)
{
    const ast_params *params = params_of(m->f);
    enum { USUAL = 32 };
    bool usual[USUAL] = {false};
    bool ok = true, *bound = params->len <= USUAL ? usual : ARENA_ARRAY(m->tx->arena, bool, params->len);
    for (size_t i = skip; i < params->len; i++) {
        const ast_param *p = &params->at[i];
        if (p->kind == AST_PARAM_STAR)
            bind_rest(m, p, i - skip);
        else if (p->kind == AST_PARAM_DOUBLE_STAR)
            bind_named_rest(m, p);
        else if (!bound[i])
            ok &= bind_plain(m, i, bound);
    }
    return ok && !m->tx->needs_run_time;
}
// ---- an activation -----------------------------------------------------------------------------------------------

bool tc_match(tc *tx, tc_matching *m, tc_function *f, tc_args *args)
{
    m->tx = tx;
    m->f = f;
    m->args = args;
    m->span = args->span;
    m->taken_last = 0;
    m->scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    size_t params = params_of(f)->len, types = type_params_of(f)->len;
    size_t size = params * sizeof(int) + (args->list.len + types) * sizeof(bool);
    m->arg_of = size <= sizeof m->room ? m->room : arena_raw(tx->arena, size); // match_args fills it
    m->taken = (bool *)(m->arg_of + params);
    m->type_bound = m->taken + args->list.len;
    for (size_t i = 0; i < args->list.len + types; i++)
        m->taken[i] = false;
    size_t skip = 0;
    if (f->self) {
        if (!params_of(f)->len) {
            tc_error(tx, HDS0214, f->decl->name_span, tc_function_title(tx, f));
            return false;
        }
        tc_scope_bind(tx, m->scope, params_of(f)->at[0].name, *f->self, args->span);
        skip = 1;
    }
    if (!take_keyword_types(m) || !match_args(m, skip))
        return false;
    infer_types(m);
    return true;
}

static size_t skipped(const tc_function *f)
{
    return f->self ? 1 : 0;
}

tc_scope *tc_match_activation(tc *tx, tc_function *f, tc_args *args, uint32_t *site, bool compile_time)
{
    tc_matching m;
    tc_frame *saved = tx->frame;
    tc_frame outer = {.caller = saved, .function = f, .call_span = args->span};
    if (!tc_match(tx, &m, f, args))
        return NULL;
    // Defaults, bounds and annotations are evaluated in a frame of the callee, for the notes' sake.
    outer.scope = m.scope;
    outer.site = site;
    outer.compile_time = compile_time;
    outer.preparing = true;
    tx->frame = &outer;
    bool ok = tc_match_types(&m) && bind_params(&m, skipped(f));
    tx->frame = saved;
    return ok ? m.scope : NULL;
}

tc_scope *tc_bind_arguments(tc *tx, tc_function *f, tc_args *args)
{
    uint32_t site = 0;
    return tc_match_activation(tx, f, args, &site, false);
}
