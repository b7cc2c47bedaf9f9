// Calls: matching arguments with parameters, binding type parameters, and the three ways a call goes: evaluated while
// compiling, inlined into the caller, or a call of a CUDA function of its own.
#include "typecheck/eval/reference.h"

#include <string.h>

enum { DEEPEST_CALLS = 200 };

tc_function *tc_function_new(tc *tx, const ast_function *decl, tc_scope *closure, tc_module *module)
{
    tc_function *f = ARENA_NEW(tx->arena, tc_function);
    f->id = tx->next_id++;
    f->name = decl->name;
    f->decl = decl;
    f->module = module;
    f->closure = closure;
    f->env = tx->env;
    f->facts = ARENA_NEW(tx->arena, tc_function_facts);
    map_init(&f->facts->instances, tx->lasting);
    return f;
}

// "Class.method": most calls have one that was asked for before.
static const char *plain_title(tc *tx, const tc_function *f)
{
    if (!f->owner)
        return f->name->text;
    if (!f->facts->title)
        f->facts->title = arena_printf(tx->lasting, "%s.%s", f->owner->name->text, f->name->text);
    return f->facts->title;
}

const char *tc_function_title(tc *tx, const tc_function *f)
{
    if (!f->name)
        return "a lambda";
    if (!f->bound_count)
        return plain_title(tx, f);
    str_buf b;
    str_buf_init(&b, tx->arena);
    str_adds(&b, plain_title(tx, f));
    for (int i = 0; i < f->bound_count; i++) {
        str_adds(&b, i ? ", " : "[");
        tc_repr(tx, f->bound_values[i], &b);
    }
    str_addc(&b, ']');
    return str_text(&b);
}

const char *tc_frame_title(tc *tx, const tc_frame *f)
{
    return f->title ? f->title : tc_function_title(tx, f->function);
}

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
    diag *d = tc_error(tx, HDS0186, span, p->name->text, tc_text(tx, bound), tc_describe(tx, v));
    diag_label(d, p->span, "the type parameter");
    return false;
}

typedef struct matching {
    tc *tx;
    const tc_function *f;
    tc_args *args;
    bool *taken;      // arguments used up
    int *arg_of;      // by parameter: index of its argument; -1 none
    tc_scope *scope;  // of the activation
    bool *type_bound; // by type parameter
    int taken_last;   // positional arguments that went to parameters behind `*args`
    src_span span;
    int room[24];     // for the three arrays, if they fit
} matching;

static bool take_keyword_types(matching *m)
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
static tc_scope *scope_of_defaults(matching *m)
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

static bool finish_types(matching *m, bool keep_sizes)
{
    tc *tx = m->tx;
    const ast_type_params *types = type_params_of(m->f);
    for (size_t i = 0; i < types->len; i++) {
        const ast_type_param *p = &types->at[i];
        if (!m->type_bound[i]) {
            if (!p->default_value && keep_sizes)
                continue;
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

static bool too_many(matching *m, src_span span)
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
static void take_last(matching *m, size_t skip)
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

static bool match_args(matching *m, size_t skip)
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
static bool may_be_none(const ast_param *p)
{
    return p->default_value && p->default_value->kind == AST_NONE;
}

static void infer_types(matching *m)
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
            if (v.kind == TC_NONE && may_be_none(p))
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

static tc_value param_value(matching *m, const ast_param *p, int arg)
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
    if (p->annotation && !(v.kind == TC_NONE && may_be_none(p))) {
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
static void bind_param(matching *m, const ast_param *p, tc_value v, bool is_by_reference)
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
static void bind_rest(matching *m, const ast_param *p, size_t positional)
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

static void bind_named_rest(matching *m, const ast_param *p)
{
    tc_value rest = tc_dict_new(m->tx);
    for (size_t a = 0; a < m->args->list.len; a++)
        if (m->args->list.at[a].name && !m->taken[a])
            tc_dict_put(m->tx, rest.dict, tc_str(sym_str(m->args->list.at[a].name)), m->args->list.at[a].value);
    tc_scope_bind(m->tx, m->scope, p->name, rest, p->span);
}

// Parameter [i], after those behind it that its annotation names: `target: I[*without(S, axis)], axis: int = -1`.
static bool bind_plain(matching *m, size_t i, bool *bound)
{
    const ast_params *params = params_of(m->f);
    const ast_param *p = &params->at[i];
    bool ok = true;
    bound[i] = true;
    for (size_t k = i + 1; p->annotation && m->f->decl && k < params->len; k++)
        if (!bound[k] && params->at[k].kind == AST_PARAM_PLAIN && tc_expr_mentions(p->annotation, params->at[k].name))
            ok &= bind_plain(m, k, bound);
    tc_value v = param_value(m, p, m->arg_of[i]);
    if (!tc_is_poison(v))
        bind_param(m, p, v, tc_is_reference(m->f, p));
    return ok && !tc_is_poison(v);
}

static bool bind_params(matching *m, size_t skip)
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

// ---- running a body in the caller's code -------------------------------------------------------------------------

// [shared]: the mark of shared values before the body.
static void splice(tc *tx, tc_frame *f, ir_block *body, size_t shared)
{
    for (size_t i = 0; i < f->result_decls.len; i++)
        ir_append(tx->ir, tx->block, f->result_decls.at[i]);
    if (f->label) {
        ir_stmt *scope = tc_new_stmt(tx, IR_SCOPE_OF, f->call_span);
        scope->count = f->label;
        scope->body = *body;
        tc_emit(tx, scope);
        tc_shared_drop(tx, shared); // their variables are those of the scope
        return;
    }
    ir_append_all(tx->ir, tx->block, body);
}

void tc_missing_return(tc *tx, const tc_function *f)
{
    diag *d = tc_error(tx, HDS0172, f->decl->name_span, f->name->text);
    diag_help(d, "put a return at the end, or one into every branch");
}

static tc_value run_body(tc *tx, tc_function *f, tc_scope *scope, uint32_t *site, src_span span, bool compile_time)
{
    tc_frame frame = {.caller = tx->frame, .function = f, .scope = scope, .call_span = span};
    frame.site = site;
    frame.compile_time = compile_time;
    frame.dissolved = true;
    frame.entry_region = tx->region;
    frame.in_instruction = f->facts->is_instruction;
    ir_block *saved = tx->block, body = {0};
    int errors = tx->diags->error_count;
    size_t shared = tc_shared_mark(tx);
    tx->frame = &frame;
    frame.return_annotation = f->decl && f->decl->returns && !tx->needs_run_time
                                  ? tc_eval_annotation(tx, f->decl->returns, scope)
                                  : tc_none();
    if (saved)
        tx->block = &body;
    if (f->lambda) {
        frame.result = tc_eval(tx, f->lambda->body);
        frame.has_result = true;
    } else {
        tc_flow flow = tc_exec_list(tx, &f->decl->body);
        if (flow == TC_NEXT && frame.result_in_vars && frame.result.kind != TC_NONE)
            tc_missing_return(tx, f);
    }
    tx->frame = frame.caller;
    tx->block = saved;
    if (tx->needs_run_time || tx->aborted)
        return tc_poison();
    if (saved)
        splice(tx, &frame, &body, shared);
    // A body with errors that returns nothing might have returned something.
    tc_value result = tx->diags->error_count != errors ? tc_poison() : tc_none();
    if (frame.has_result)
        result = frame.result;
    if (frame.return_annotation.kind != TC_NONE && frame.has_result && !frame.in_instruction)
        result = tc_conform(tx, result, frame.return_annotation, "the result", span);
    return result;
}

static bool prepare(tc *tx, matching *m, tc_function *f, tc_args *args)
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

// The scope of an activation, with type parameters and parameters; NULL after errors.
static tc_scope *bind_arguments(tc *tx, tc_function *f, tc_args *args, uint32_t *site, bool compile_time)
{
    matching m;
    tc_frame *saved = tx->frame;
    tc_frame outer = {.caller = saved, .function = f, .call_span = args->span};
    if (!prepare(tx, &m, f, args))
        return NULL;
    // Defaults, bounds and annotations are evaluated in a frame of the callee, for the notes' sake.
    outer.scope = m.scope;
    outer.site = site;
    outer.compile_time = compile_time;
    outer.preparing = true;
    tx->frame = &outer;
    bool ok = finish_types(&m, false) && bind_params(&m, skipped(f));
    tx->frame = saved;
    return ok ? m.scope : NULL;
}

tc_scope *tc_bind_arguments(tc *tx, tc_function *f, tc_args *args)
{
    uint32_t site = 0;
    return bind_arguments(tx, f, args, &site, false);
}

static tc_value dissolve(tc *tx, tc_function *f, tc_args *args, bool compile_time)
{
    uint32_t site = 0;
    tc_scope *scope = bind_arguments(tx, f, args, &site, compile_time);
    return scope ? run_body(tx, f, scope, &site, args->span, compile_time) : tc_poison();
}

// ---- evaluation while compiling ----------------------------------------------------------------------------------

static bool args_are_compile_time(const tc_function *f, const tc_args *args)
{
    for (size_t i = 0; i < args->list.len; i++)
        if (!tc_is_compile_time(args->list.at[i].value))
            return false;
    return !f->self || tc_is_compile_time(*f->self);
}

void tc_try_begin(tc *tx, tc_try *t)
{
    *t = (tc_try){.block = tx->block, .frame = tx->frame, .mark = tx->undo.len, .attempt = tx->attempt};
    t->shared = tc_shared_mark(tx);
    t->outermost = tx->speculating == 0;
    t->muted = tx->diags->muted;
    tx->block = &t->aside;
    tx->speculating++;
    tx->attempt = ++tx->last_attempt;
}

bool tc_try_end(tc *tx, tc_try *t)
{
    tx->frame = t->frame;
    tx->speculating--;
    tx->attempt = t->attempt;
    tx->block = t->block;
    tx->diags->muted = t->muted;
    if (!tx->needs_run_time) {
        if (t->outermost)
            tx->undo.len = 0;
        return true;
    }
    tc_undo_changes(tx, t->mark);
    tc_shared_drop(tx, t->shared);
    if (t->outermost)
        tx->needs_run_time = false; // an outer attempt fails as a whole
    return false;
}

// Tries the call as compile-time evaluation. False: it needs run-time values; nothing has happened.
static bool attempt(tc *tx, tc_function *f, tc_args *args, tc_value *result)
{
    if (!tx->block) {
        *result = dissolve(tx, f, args, true);
        return true;
    }
    tc_try t;
    tc_try_begin(tx, &t);
    *result = dissolve(tx, f, args, true);
    if (tc_try_end(tx, &t))
        return true;
    f->facts->needs_run_time = true;
    if (f->lambda)
        map_put_ptr(&tx->run_time_lambdas, f->lambda, (void *)f->lambda);
    return !t.outermost;
}

// ---- CUDA functions of their own ---------------------------------------------------------------------------------

static bool run_time_type(tc_value annotation)
{
    return annotation.kind == TC_TYPE;
}

// Whether a function can be a CUDA function, as far as its text tells: most cannot, and their arguments are matched once only.
static bool may_be_scalar_function(const tc_function *f)
{
    if (!f->decl || !f->decl->returns || f->self || f->owner || f->closure->kind == TC_SCOPE_FUNCTION)
        return false;
    for (size_t i = 0; i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        if (!p->annotation || p->kind != AST_PARAM_PLAIN || may_be_none(p))
            return false;
    }
    return true;
}

static bool is_scalar_function(tc *tx, tc_function *f, tc_scope *scope)
{
    for (size_t i = 0; i < f->decl->params.len; i++)
        if (!run_time_type(tc_eval_annotation(tx, f->decl->params.at[i].annotation, scope)))
            return false;
    return run_time_type(tc_eval_annotation(tx, f->decl->returns, scope));
}

// Short straight-line functions are inlined unless they are recursive: they read better and compile as well.
static bool is_small(const tc *tx, const tc_function *f)
{
    for (const tc_frame *frame = tx->frame; frame; frame = frame->caller)
        if (frame->function && frame->function->decl == f->decl)
            return false;
    return f->decl->body.len == 1 && f->decl->body.at[0]->kind == AST_RETURN;
}

static tc_value call_device(tc *tx, tc_function *f, tc_args *args, matching *m)
{
    ir_func *callee = tc_device_instance(tx, f, m->scope, args->span);
    if (!callee)
        return tc_poison();
    ir_expr *call = ir_new_expr(tx->ir, IR_OP_CALL, callee->result, args->span, (int)callee->params.len);
    call->u.func = callee;
    for (size_t i = 0; i < callee->params.len; i++) {
        tc_value v = param_value(m, &f->decl->params.at[i], m->arg_of[i]);
        ir_expr *e = tc_convert(tx, v, callee->params.at[i]->type, args->span, f->decl->params.at[i].name->text);
        if (!e)
            return tc_poison();
        call->args[i] = e;
    }
    if (callee->result->kind == IR_VOID) {
        ir_stmt *s = tc_new_stmt(tx, IR_EVAL, args->span);
        s->value = call;
        tc_emit(tx, s);
        return tc_none();
    }
    return tc_rt(ir_read(tx->ir, tc_declare_result(tx, call, args->span), args->span));
}

static tc_value call_in_force(tc *tx, tc_function *f, tc_args *args)
{
    if (f->generator)
        return tc_generator_call(tx, f, args);
    tc_function_classify(tx, f);
    if (f->facts->is_kernel)
        return tc_launch(tx, f, args);
    if (tx->depth > DEEPEST_CALLS) {
        diag *d = tc_error(tx, HDS0103, args->span, tc_function_title(tx, f), DEEPEST_CALLS);
        diag_help(d, "recursion must end while compiling, or go through functions with run-time types for all "
                     "parameters and the result");
        tx->aborted = true;
        return tc_poison();
    }
    tc_value result;
    if (!f->facts->needs_run_time && !f->facts->is_instruction && args_are_compile_time(f, args) &&
        attempt(tx, f, args, &result))
        return result;
    if (!tx->block)
        return TC_ERR(tx, HDS0104, args->span, tc_function_title(tx, f));
    if (may_be_scalar_function(f) && !f->facts->is_instruction && !is_small(tx, f) && tx->func && !tc_on_host(tx)) {
        matching m;
        if (!prepare(tx, &m, f, args))
            return tc_poison();
        tc_frame outer = {.caller = tx->frame,
                          .function = f,
                          .call_span = args->span,
                          .scope = m.scope,
                          .preparing = true};
        tc_frame *saved = tx->frame;
        tx->frame = &outer;
        bool ok = finish_types(&m, false);
        bool own = ok && is_scalar_function(tx, f, m.scope);
        tc_value r = own ? call_device(tx, f, args, &m) : tc_poison();
        tx->frame = saved;
        if (!ok || own)
            return r;
    }
    return dissolve(tx, f, args, false);
}

tc_value tc_call_uncached(tc *tx, tc_function *f, tc_args *args)
{
    return call_in_force(tx, f, args);
}

static tc_value call_function(tc *tx, tc_function *f, tc_args *args)
{
    tc_value known;
    if (f->facts->results && tc_call_cached(tx, f, args, &known))
        return known;
    const tc_env *around = tx->env;
    if (f->env)
        tx->env = f->env;
    tc_value r = call_in_force(tx, f, args);
    tx->env = around;
    return r;
}

static tc_value call_map(tc *tx, const tm_map *m, tc_args *args)
{
    int64_t worker;
    if (args->list.len != 1 || !tc_as_int64(args->list.at[0].value, &worker))
        return TC_ERR(tx, HDS0215, args->span);
    if (worker < 0 || worker >= m->workers)
        return TC_ERR(tx, HDS0140, args->span, tc_text(tx, args->list.at[0].value), (long)m->workers);
    tc_tasks tasks = {m, ir_int(tx->ir, DT_I32, worker), true};
    tc_value list = tc_list_new(tx, TC_LIST, NULL, 0);
    tc_iterate(tx, (tc_value){.kind = TC_TASKS, .tasks = &tasks}, args->span, list.list);
    return list;
}

static tc_value convert_call(tc *tx, const ir_type *type, tc_args *args)
{
    if (type->kind == IR_VECTOR) {
        ir_expr *e = ir_new_expr(tx->ir, IR_OP_VEC, type, args->span, type->lanes);
        bool splat = args->list.len == 1 &&
                     !(args->list.at[0].value.kind == TC_RT && args->list.at[0].value.rt->type->kind == IR_VECTOR);
        if (args->list.len == 1 && !splat) {
            ir_expr *cast = tc_cast(tx, args->list.at[0].value, type, args->span);
            return cast ? tc_rt(cast) : tc_poison();
        }
        if (!splat && (int)args->list.len != type->lanes)
            return TC_ERR(tx, HDS0216, args->span, tc_text(tx, tc_type(type)), type->lanes, (long)args->list.len);
        for (int i = 0; i < type->lanes; i++) {
            const tc_arg *a = &args->list.at[splat ? 0 : i];
            e->args[i] = tc_convert(tx, a->value, ir_scalar(tx->ir, type->scalar), a->span, "element");
            if (!e->args[i])
                return tc_poison();
        }
        return tc_rt(e);
    }
    if (args->list.len != 1 || args->list.at[0].name)
        return TC_ERR(tx, HDS0216, args->span, tc_text(tx, tc_type(type)), 1, (long)args->list.len);
    tc_value v = tc_as_index(tx, args->list.at[0].value, args->span);
    if (tx->speculating && tc_is_number(v) && tc_wants_run_time(tx))
        return tc_poison();
    tc_value converted;
    if (tc_convert_hook(tx, type, v, args->span, &converted))
        return converted;
    ir_expr *e = tc_cast(tx, v, type, args->span);
    return e ? tc_rt(e) : tc_poison();
}

tc_value tc_call(tc *tx, tc_value callee, tc_args *args)
{
    if (tx->aborted || tx->needs_run_time)
        return tc_poison();
    for (size_t i = 0; i < args->list.len; i++)
        if (tc_is_poison(args->list.at[i].value))
            return tc_poison();
    tx->depth++;
    tc_value r;
    src_span last_span = tx->last_span;
    switch (callee.kind) {
    case TC_POISON:
        r = callee;
        break;
    case TC_FUNCTION:
        r = call_function(tx, callee.function, args);
        break;
    case TC_NATIVE:
        r = tc_args_check(tx, callee.native, args) ? callee.native->run(tx, callee.native, args) : tc_poison();
        break;
    case TC_METHOD:
        r = tc_method_call(tx, *callee.method->self, callee.method->name, args);
        break;
    case TC_CLASS:
        r = tc_construct(tx, callee.class, args);
        break;
    case TC_TYPE:
        r = convert_call(tx, callee.type, args);
        break;
    case TC_MAP:
        r = call_map(tx, callee.map, args);
        break;
    case TC_KIND:
    case TC_LAYOUT: {
        sym name = sym_of(tx->syms, "__call__");
        r = tc_method_call(tx, callee, name, args);
        break;
    }
    case TC_RECORD: {
        bool found = false;
        tc_value method = tc_record_method(tx, callee, sym_of(tx->syms, "__call__"), &found);
        r = found ? tc_call(tx, method, args) : TC_ERR(tx, HDS0217, args->span, tc_describe(tx, callee));
        break;
    }
    default:
        r = TC_ERR(tx, HDS0217, args->span, tc_describe(tx, callee));
        break;
    }
    tx->last_span = last_span;
    tx->depth--;
    return r;
}

tc_value tc_call_apart(tc *tx, tc_value callee, const tc_value *values, size_t len, src_span span)
{
    enum { STEPS = 100 }; // what the caller pays, so that one that never ends has an end
    if (!tc_spend(tx, STEPS, span))
        return tc_poison();
    int64_t before = tx->steps;
    if (!tx->apart++)
        tx->steps = 0;
    tc_value v = tc_call_values(tx, callee, values, len, span);
    if (!--tx->apart)
        tx->steps = before;
    return v;
}

tc_value tc_call_values(tc *tx, tc_value callee, const tc_value *values, size_t len, src_span span)
{
    tc_args args = {.span = span};
    VEC_RESERVE(tx->arena, &args.list, len);
    for (size_t i = 0; i < len; i++)
        VEC_PUSH(tx->arena, &args.list, ((tc_arg){.name = NULL, .value = values[i], .span = span}));
    return tc_call(tx, callee, &args);
}
