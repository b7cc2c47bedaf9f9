// The entries of a file: what -D and --entry say, and which functions are compiled.
#include "typecheck/operators/operators_priv.h"

#include <string.h>

// ---- -D ----------------------------------------------------------------------------------------------------------

static tc_value define_value(tc *tx, int i, src_span *span)
{
    const tc_define *d = &tx->options->defines[i];
    tx->define_used.at[i] = true;
    if (tx->define_wrong.at[i]) // which has been reported
        return tc_poison();
    const char *text = d->value && *d->value ? d->value : "True";
    src_file *file = src_add(tx->diags->sources, arena_printf(tx->lasting, "<-D %s>", d->name),
                             str_of(arena_strdup(tx->lasting, text)));
    parse_context px = {tx->lasting, tx->syms, tx->diags};
    ast_expr *e = file ? parse_expression(&px, file) : NULL;
    if (span && e)
        *span = e->span;
    tc_value v = e ? tc_eval_annotation(tx, e, tx->natives) : tc_poison();
    tx->define_wrong.at[i] = tc_is_poison(v) && !tx->diags->muted;
    return v;
}

bool tc_defined(tc *tx, sym name, tc_value *out)
{
    for (int i = 0; i < tx->options->define_count; i++)
        if (strcmp(tx->options->defines[i].name, name->text) == 0) {
            *out = define_value(tx, i, NULL);
            return true;
        }
    return false;
}

bool tc_check_defines(tc *tx)
{
    bool ok = true;
    for (int i = 0; i < tx->options->define_count; i++)
        if (!tx->define_used.at[i]) {
            tc_error(tx, HDS0235, (src_span){0}, tx->options->defines[i].name);
            ok = false;
        }
    return ok;
}

const tc_operand_type *tc_operand_of_run(const tc *tx, const char *name)
{
    for (int i = 0; i < tx->options->operand_count; i++)
        if (strcmp(tx->options->operand_types[i].name, name) == 0)
            return &tx->options->operand_types[i];
    return NULL;
}

dtype tc_operand_type_of(const tc *tx, const char *name)
{
    const tc_operand_type *given = tc_operand_of_run(tx, name);
    return given ? given->type : DT_NONE;
}

// ---- entries -----------------------------------------------------------------------------------------------------

static void help_with_types(const tc_operator *o, diag *d, str_buf *out)
{
    for (size_t i = 0; i < o->types.len; i++) {
        const op_symbol *t = op_find_symbol(&o->schema, o->types.at[i]->text);
        str_addf(out, "%s'%s' is", out->len ? "; " : "", t->name);
        for (size_t k = 0; k < t->choices.len; k++)
            str_addf(out, "%s %s", k ? "," : "", dt_name(t->choices.at[k]));
        str_adds(out, t->is_any ? " or another type" : "");
    }
    diag_help(d, "%s; of f16, bf16 and f32 there are entries, of other types by -D %s=f64", str_text(out),
              o->types.at[0]->text);
}

static bool is_any_define_wrong(const tc *tx)
{
    for (int i = 0; i < tx->options->define_count; i++)
        if (tx->define_wrong.at[i])
            return true;
    return false;
}

// What 'hdsc ops' knows of an operator that has no such entry. Where a value of -D is wrong, which has been reported, that may
// be the reason.
static tc_value no_entry_of_operator(tc *tx, const tc_operator *o, const char *text, src_span span)
{
    if (is_any_define_wrong(tx))
        return tc_poison();
    diag *d = tc_error(tx, HDS0340, span, o->schema.name, text);
    str_buf out;
    str_buf_init(&out, tx->arena);
    const char *why = o->is_unproven ? tc_many_axes(tx, o) : o->schema.no_entry;
    if (why)
        diag_help(d, "%s", why);
    else
        help_with_types(o, d, &out);
    diag_help(d, "'hdsc ops %s %s' shows its signature", tx->main->file->name, o->schema.name);
    return tc_poison();
}

static ir_func *build_entry(tc *tx, tc_function *f, const char *name, ir_func_kind kind, src_span where)
{
    bool *bound = ARENA_ARRAY(tx->arena, bool, f->decl->type_params.len + 1);
    tc_scope *scope = tc_entry_scope(tx, f, bound);
    tc_builder k;
    tx->steps = 0;
    int errors = tx->diags->error_count;
    ir_func *func = tc_build_kernel(tx, f, scope, bound, name, NULL, kind, &k, where);
    if (f->operator&& f->operator->is_unproven && tx->diags->error_count == errors)
        no_entry_of_operator(tx, f->operator, f->name->text, f->operator->span);
    if (func) {
        func->is_public = true;
        tc_name_operator(func, f);
    }
    return func;
}

// Whether every type parameter has a value without being told one: a default, -D, or a run-time size.
static const ast_type_param *open_param(tc *tx, const tc_function *f)
{
    for (size_t i = 0; i < f->decl->type_params.len; i++) {
        const ast_type_param *p = &f->decl->type_params.at[i];
        bool given = p->default_value || tc_size_type(tx, p, f->closure) != DT_NONE;
        for (int k = 0; !given && k < f->bound_count; k++)
            given = f->bound_names[k] == p->name;
        for (int k = 0; !given && k < tx->options->define_count; k++)
            given = strcmp(tx->options->defines[k].name, p->name->text) == 0;
        if (!given)
            return p;
    }
    return NULL;
}

static bool is_name(const ast_expr *e, sym name)
{
    return e && e->kind == AST_NAME && ((const ast_name *)e)->name == name;
}

// The type that an array of the run gives to a parameter x: T[…], or x: ~T; DT_NONE: none does.
static dtype type_from_arrays(tc *tx, const tc_function *f, sym type_param)
{
    dtype found = DT_NONE;
    for (size_t i = 0; i < f->decl->params.len && found == DT_NONE; i++) {
        const ast_param *p = &f->decl->params.at[i];
        const ast_expr *e = p->annotation;
        const ast_expr *elem = !e                         ? NULL
                               : e->kind == AST_SUBSCRIPT ? ((const ast_subscript *)e)->value
                               : e->kind == AST_UNARY     ? ((const ast_unary *)e)->operand
                                                          : NULL;
        if (is_name(elem, type_param))
            found = tc_operand_type_of(tx, p->name->text);
    }
    return found;
}

// The function with the type parameters bound that only the arrays of a run tell.
static tc_function *with_types_of_arrays(tc *tx, tc_function *f)
{
    const ast_type_param *p;
    while (tx->options->operand_count && !f->operator&&(p = open_param(tx, f)) != NULL) {
        dtype found = type_from_arrays(tx, f, p->name);
        if (found == DT_NONE)
            return f;
        tc_value type = tc_type(ir_scalar(tx->ir, found)), bound = {.kind = TC_FUNCTION, .function = f};
        bound = tc_function_brackets(tx, bound, &type, &p->name, 1, f->decl->name_span);
        if (bound.kind != TC_FUNCTION)
            return f;
        f = bound.function;
    }
    return f;
}

// [where]: the name that an instance is bound to, for notes; nowhere for the function itself.
static bool compile_function(tc *tx, tc_function *f, const char *name, src_span where)
{
    tc_function_classify(tx, f);
    if (f->facts->is_kernel)
        return build_entry(tx, f, name, IR_KERNEL, where) != NULL;
    if (f->facts->is_host)
        return build_entry(tx, f, name, IR_HOST_FUNC, where) != NULL;
    if (!f->decl->returns || f->decl->type_params.len > (size_t)f->bound_count)
        return true;
    // A device function is checked even if it is never called.
    bool scalar = true;
    for (size_t i = 0; i < f->decl->params.len; i++) {
        const ast_expr *a = f->decl->params.at[i].annotation;
        scalar = scalar && a && a->kind == AST_NAME && tc_eval_annotation(tx, a, f->closure).kind == TC_TYPE;
    }
    if (!scalar || !f->decl->params.len || tc_eval_annotation(tx, f->decl->returns, f->closure).kind != TC_TYPE)
        return true;
    bool *bound = ARENA_ARRAY(tx->arena, bool, f->decl->type_params.len + 1);
    return tc_device_instance(tx, f, tc_entry_scope(tx, f, bound), (src_span){0}) != NULL;
}

// Kernels and host functions, up to some; ends with NULL.
static const char *const *offered_names(tc *tx)
{
    enum { MOST = 8 };
    VEC(const char *) names = {0};
    for (size_t i = 0; i < tx->main->scope->list.len && names.len < MOST; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        if (b->lazy_module || b->value.kind != TC_FUNCTION || !b->value.function->decl || b->name->text[0] == '_')
            continue;
        tc_function_classify(tx, b->value.function);
        const tc_function_facts *facts = b->value.function->facts;
        if (!facts->is_test && (facts->is_kernel || facts->is_host))
            VEC_PUSH(tx->arena, &names, b->name->text);
    }
    VEC_PUSH(tx->arena, &names, NULL);
    return names.at;
}

// Who asks for an entry means one of this file, and not whatever else has a name like that.
static tc_value unknown_entry(tc *tx, const char *name, src_span span)
{
    const char *const *names = offered_names(tx);
    const char *close = tc_suggest(tx, names, str_of(name));
    diag *d = tc_error(tx, HDS0130, span, name);
    if (close) {
        diag_help(d, "did you mean '%s'?", close);
        return tc_poison();
    }
    str_buf list;
    str_buf_init(&list, tx->arena);
    for (int i = 0; names[i]; i++)
        str_addf(&list, "%s'%s'", i ? ", " : "", names[i]);
    if (list.len)
        diag_help(d, "the file has %s", str_text(&list));
    return tc_poison();
}

// "halved_f64", "norm_without_b_f16": whether the name ends in a type, as those of operators' entries do.
static bool ends_in_type(const char *text)
{
    dtype type;
    const char *last = strrchr(text, '_');
    return last && dt_find(str_of(last + 1), &type);
}

static tc_value entry_by_text(tc *tx, const char *text)
{
    src_file *file = src_add(tx->diags->sources, "<--entry>", str_of(arena_strdup(tx->lasting, text)));
    parse_context px = {tx->lasting, tx->syms, tx->diags};
    ast_expr *e = file ? parse_expression(&px, file) : NULL;
    if (!e)
        return tc_poison();
    sym name = e->kind == AST_NAME ? ((const ast_name *)e)->name : NULL;
    const tc_operator *o = name ? tc_operator_of_entry(tx, name->text) : NULL;
    bool is_bound = name && tc_scope_find(tx->main->scope, name);
    if (o &&
        ((!is_bound && ends_in_type(name->text)) || (o->schema.no_entry && strcmp(o->schema.name, name->text) == 0)))
        return no_entry_of_operator(tx, o, name->text, e->span);
    if (name && !is_bound)
        return unknown_entry(tx, name->text, e->span);
    tc_value v = tc_eval_annotation(tx, e, tx->main->scope);
    if (v.kind == TC_FUNCTION && v.function->decl)
        return v;
    if (tc_is_poison(v))
        return v;
    return TC_ERR(tx, HDS0234, e->span, text, tc_describe(tx, v));
}

// A function that is compiled because the file, or --entry, offers it.
typedef struct entry {
    tc_function *function;
    const char *name; // that it is bound to; NULL: its own
    src_span where;   // of that name, for notes; nowhere for the function itself
    bool is_generic;  // instances of it are entries, too
} entry;

typedef VEC(entry) entry_list;

// attrs.func_name may give two the same name. (Instances made for launches get another where the output is written.)
static bool check_names(tc *tx)
{
    map known;
    map_init(&known, tx->arena);
    bool ok = true;
    for (size_t i = 0; i < tx->ir->funcs.len; i++) {
        ir_func *f = tx->ir->funcs.at[i];
        if (!f->is_public || f->is_launched || f->kind == IR_DEVICE)
            continue;
        const ir_func *first = map_get(&known, f->name, strlen(f->name));
        if (first) {
            diag *d = tc_error(tx, HDS0159, f->span, f->name);
            diag_label(d, first->span, "first defined here");
            diag_help(d, "entries have a name each in the output: see attrs.func_name");
            ok = false;
        }
        map_put(&known, f->name, strlen(f->name), f);
    }
    return ok;
}

// Whether the file has a name for an instance of [f], as conv1d_5 = conv1d[5].
static bool has_named_instance(const tc *tx, const tc_function *f)
{
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        if (!b->lazy_module && b->value.kind == TC_FUNCTION && b->name->text[0] != '_' &&
            b->value.function->decl == f->decl && b->value.function->bound_count)
            return true;
    }
    return false;
}

// A kernel with named instances is an entry itself only if it can be compiled with its sizes open. What is wrong in any
// case is said of the instances.
static bool compile_generic(tc *tx, const entry *e)
{
    diag_mark before = diag_here(tx->diags);
    if (!compile_function(tx, e->function, e->name, e->where) && !tx->aborted)
        diag_rewind(tx->diags, before);
    return !tx->aborted;
}

static bool compile_one(tc *tx, const entry *e)
{
    return e->is_generic ? compile_generic(tx, e) : compile_function(tx, e->function, e->name, e->where);
}

// With all that it launches; then its IR moves. [is_sound]: there was no error so far; else there is no module in the
// end, and what others may call stays where it is.
static bool compile_and_settle(tc *tx, const entry *e, bool is_sound)
{
    ir_module *m = tx->ir;
    const ir_extent before = {m->funcs.len, m->next_var, (uint32_t)m->sites.len};
    tc_ir_lifetime lifetime;
    tc_ir_begin(tx, &lifetime);
    m->next_var = 0;
    bool ok = compile_one(tx, e);
    if (ok && is_sound && !tx->aborted) {
        tx->options->settle(tx->options->settle_user, m, &before);
    } else {
        m->next_var += before.vars;
        lifetime.lifetime.keeps = true;
    }
    tc_ir_end(tx, &lifetime);
    return ok;
}

static bool compile_entries(tc *tx, const entry_list *entries)
{
    bool ok = true;
    for (size_t i = 0; i < entries->len && !tx->aborted; i++)
        ok &= tx->options->settle ? compile_and_settle(tx, &entries->at[i], ok) : compile_one(tx, &entries->at[i]);
    return ok;
}

static bool compile_all(tc *tx, const entry_list *entries)
{
    for (size_t i = 0; i < entries->len; i++) {
        const entry *e = &entries->at[i];
        const char *name = e->name ? e->name : e->function->name->text;
        tc_function_classify(tx, e->function);
        if (e->function->facts->is_kernel || e->function->facts->is_host)
            map_put(&tx->entry_names, name, strlen(name), tx);
    }
    bool ok = compile_entries(tx, entries);
    return check_names(tx) && ok;
}

// Those of the operator of that name: one for each type, in the order in which they were bound.
static bool add_operator(tc *tx, const char *name, entry_list *entries)
{
    size_t before = entries->len;
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        tc_function *f = !b->lazy_module && b->value.kind == TC_FUNCTION ? b->value.function : NULL;
        if (f && f->operator&& !f->is_strided && strcmp(f->operator->schema.name, name) == 0)
            VEC_PUSH(tx->arena, entries, ((entry){.function = f}));
    }
    return entries->len > before;
}

static bool chosen_entries(tc *tx)
{
    bool ok = true;
    entry_list entries = {0};
    for (int i = 0; i < tx->options->entry_count; i++) {
        if (add_operator(tx, tx->options->entries[i], &entries))
            continue;
        tc_value v = entry_by_text(tx, tx->options->entries[i]);
        ok &= v.kind == TC_FUNCTION;
        if (v.kind == TC_FUNCTION)
            VEC_PUSH(tx->arena, &entries, ((entry){.function = with_types_of_arrays(tx, v.function)}));
    }
    return compile_all(tx, &entries) && ok;
}

bool tc_compile_entries(tc *tx)
{
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    tc_offer_operators(tx);
    if (tx->options->entry_count)
        return chosen_entries(tx) && tc_check_defines(tx);
    bool ok = true;
    int found = 0;
    entry_list entries = {0};
    VEC(const tc_function *) open = {0};
    size_t count = tx->main->scope->list.len;
    for (size_t i = 0; i < count && !tx->aborted; i++) {
        tc_binding *b = tx->main->scope->list.at[i];
        if (b->lazy_module || b->value.kind != TC_FUNCTION || !b->value.function->decl || b->name->text[0] == '_')
            continue;
        tc_function *f = b->value.function;
        bool alias = b->name != f->name || f->bound_count;
        if (f->module != tx->main && !alias)
            continue;
        tc_function_classify(tx, f);
        if (f->facts->is_test || f->facts->is_instruction)
            continue;
        if (f->facts->is_kernel || f->facts->is_host)
            f = with_types_of_arrays(tx, f);
        if (f->facts->is_kernel && open_param(tx, f)) {
            VEC_PUSH(tx->arena, &open, f);
            continue;
        }
        found += f->facts->is_kernel || f->facts->is_host;
        entry e = {f, alias ? b->name->text : NULL, alias ? b->span : (src_span){0},
                   !f->bound_count && f->facts->is_kernel && has_named_instance(tx, f)};
        VEC_PUSH(tx->arena, &entries, e);
    }
    ok &= compile_all(tx, &entries);
    if (!found && open.len && !tx->aborted) {
        const ast_type_param *p = open_param(tx, open.at[0]);
        diag *d = tc_error(tx, HDS0227, p->span, p->name->text, open.at[0]->name->text);
        diag_help(d, "give it: -D %s=…, or an entry at module level: name = %s[…]", p->name->text,
                  open.at[0]->name->text);
        ok = false;
    }
    return tc_check_defines(tx) && ok;
}
