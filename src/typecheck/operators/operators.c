// Operators as programs see them: entries of the main file's operators, host functions that launch them.
//
// Note [operators as entries]. An operator of the main file, `@operator def softmax[T: FLOATS, *S, N: at_least(0)](x: T[*S, N])
// -> T[*S, N]`, is an entry for each type that T may have. Its syntax tree is made of the author's (make_ast.c), as if
// somebody had written
//
//     @hidet.script
//     def softmax_f16[T: dtype, S: at_least(0), N: at_least(0)](x: T[*S, N], out: T[*S, N]):
//         attrs.func_kind = 'public'
//         softmax.launch(x, into=out)
//
// with T bound. `*S` is a tuple of axes of the entry, of which one stands for any number of them (ir_var.joined): C functions
// over DLPack tensors join those. -D S=4 makes it so many axes instead. The names of parameters that are known while compiling,
// and type parameters with a default, mean that there, or the value of -D. An optional operand, `w: T[N] = None`, doubles the
// entries: `norm_f16` takes it, `norm_without_w_f16` does not. All entries of an operator have its name as ir_func.operator,
// under which C has one function for all types.
#include <string.h>

#include "typecheck/operators/operators_priv.h"

// ---- the syntax tree of an entry --------------------------------------------------------------------------------

enum { STRIDED_RANK = 4 };
// Names in the operator's scope; see bind_names.
#define OPERATOR_NAME "the_operator"
#define NEAR_NAME "the_extent"
#define FAR_NAME "the_extent_i64"

static void bind_bound(tc *tx, const tc_operator *o, const char *name, dtype type)
{
    tc_at_least *bound = ARENA_NEW(tx->lasting, tc_at_least);
    *bound = (tc_at_least){0, type};
    tc_scope_bind(tx, o->scope, sym_of(tx->syms, name), (tc_value){.kind = TC_AT_LEAST, .at_least = bound}, o->span);
}

static void bind_names(tc *tx, const tc_operator *o)
{
    tc_scope_bind(tx, o->scope, sym_of(tx->syms, OPERATOR_NAME), o->value, o->span);
    bind_bound(tx, o, NEAR_NAME, DT_I32);
    bind_bound(tx, o, FAR_NAME, DT_I64);
}

typedef struct maker {
    tc *tx;
    const tc_operator *op;
    tc_entry_layout layout;
    ast_function *decl;
} maker;

static ast_expr *name_of(const maker *m, const char *name)
{
    return tc_make_name(m->tx, m->op->span, name);
}

static void add_type_param(maker *m, const char *name, const char *bound)
{
    ast_type_param p = {.name = sym_of(m->tx->syms, name), .span = m->op->span};
    p.bound = bound ? name_of(m, bound) : NULL;
    VEC_PUSH(m->tx->lasting, &m->decl->type_params, p);
}

// Of "x_0", "x_1", …: the strides of a tensor.
static const char *stride_name(const maker *m, const char *tensor, int axis)
{
    return arena_printf(m->tx->lasting, "%s_%d", tensor, axis);
}

static void add_stride_params(maker *m, const char *tensor)
{
    for (int i = 0; m->layout.is_strided && i < STRIDED_RANK; i++)
        add_type_param(m, stride_name(m, tensor, i), FAR_NAME);
}

// The bound of axes that stand for any number of them. Where tensors have no others, one may be all there is of a tensor, and has
// 2 ** 31 elements and more if the operator's kernels do with them.
static const char *axis_bound(const maker *m)
{
    bool is_far = m->op->is_far && m->op->sizes.len == 0;
    for (size_t i = 0; i < m->op->joined.len; i++)
        is_far &= m->layout.is_strided || (m->layout.ranks[i] == 1 && !m->layout.is_given[i]);
    return is_far ? FAR_NAME : NEAR_NAME;
}

// S0, S1, and *S = (S0, S1)
static void add_axes(maker *m, size_t variadic)
{
    ast_expr *axes[TM_MAX_RANK];
    for (int k = 0; k < m->layout.ranks[variadic]; k++) {
        const char *name = tc_axis_name(m->tx, m->op, &m->layout, variadic, k);
        add_type_param(m, name, axis_bound(m));
        axes[k] = name_of(m, name);
    }
    add_type_param(m, m->op->joined.at[variadic]->text, NULL);
    ast_type_param *all = &VEC_LAST(&m->decl->type_params);
    all->is_variadic = true;
    all->default_value = tc_make_sequence(m->tx, m->op->span, AST_TUPLE, axes, (size_t)m->layout.ranks[variadic]);
}

static void add_type_params(maker *m)
{
    const tc_operator *o = m->op;
    for (size_t i = 0; i < o->types.len; i++)
        add_type_param(m, o->types.at[i]->text, NULL);
    for (size_t i = 0; i < o->joined.len; i++)
        add_axes(m, i);
    for (size_t i = 0; i < o->sizes.len; i++)
        VEC_PUSH(m->tx->lasting, &m->decl->type_params, *o->sizes.at[i]);
    for (size_t i = 0; i < o->params.len; i++)
        if (o->schema.params.at[i].role == OP_OPERAND)
            add_stride_params(m, o->schema.params.at[i].name);
    add_stride_params(m, o->schema.results.at[0].name);
}

// x: T[*S], or with strides of its own x: strided(T[*S], [x_0, x_1, x_2, x_3])
static void add_param(maker *m, sym name, const ast_expr *type, bool is_tensor)
{
    ast_param p = {.name = name, .span = m->op->span, .name_span = m->op->span, .annotation = (ast_expr *)type};
    if (is_tensor && m->layout.is_strided) {
        ast_expr *strides[STRIDED_RANK];
        for (int i = 0; i < STRIDED_RANK; i++)
            strides[i] = name_of(m, stride_name(m, name->text, i));
        ast_call *call = tc_make_call(m->tx, name_of(m, "strided"));
        tc_make_argument(m->tx, call, NULL, (ast_expr *)type);
        tc_make_argument(m->tx, call, NULL, tc_make_sequence(m->tx, m->op->span, AST_LIST, strides, STRIDED_RANK));
        p.annotation = &call->node;
    }
    VEC_PUSH(m->tx->lasting, &m->decl->params, p);
}

static sym result_sym(const maker *m, size_t i)
{
    return sym_of(m->tx->syms, m->op->schema.results.at[i].name);
}

static void add_params(maker *m)
{
    const tc_operator *o = m->op;
    for (size_t i = 0; i < o->params.len; i++)
        if (tc_is_present(o, &m->layout, i))
            add_param(m, o->params.at[i].decl->name, o->params.at[i].type, true);
    for (size_t i = 0; i < o->results.len; i++)
        add_param(m, result_sym(m, i), o->results.at[i], true);
    for (size_t i = 0; i < o->params.len; i++)
        if (o->schema.params.at[i].role == OP_NUMBER)
            add_param(m, o->params.at[i].decl->name, o->params.at[i].type, false);
}

static ast_expr *results_expr(maker *m)
{
    size_t count = m->op->results.len;
    ast_expr **results = ARENA_ARRAY(m->tx->arena, ast_expr *, count + 1);
    for (size_t i = 0; i < count; i++)
        results[i] = name_of(m, result_sym(m, i)->text);
    return count == 1 ? results[0] : tc_make_sequence(m->tx, m->op->span, AST_TUPLE, results, count);
}

// the_operator.launch(x, None, into=out, axis=axis)
static ast_stmt *launch_stmt(maker *m)
{
    tc *tx = m->tx;
    const tc_operator *o = m->op;
    ast_call *call = tc_make_call(tx, tc_make_attribute(tx, name_of(m, OPERATOR_NAME), "launch"));
    for (size_t i = 0; i < o->params.len; i++)
        if (o->schema.params.at[i].role == OP_OPERAND)
            tc_make_argument(tx, call, NULL, tc_is_present(o, &m->layout, i) ? name_of(m, o->schema.params.at[i].name)
                                                                            : tc_make_none(tx, o->span));
    tc_make_argument(tx, call, sym_of(tx->syms, "into"), results_expr(m));
    for (size_t i = 0; i < o->params.len; i++) {
        const tc_operator_param *own = &o->params.at[i];
        if (o->schema.params.at[i].role != OP_OPERAND && !own->is_default)
            tc_make_argument(tx, call, own->decl->name, name_of(m, own->decl->name->text));
    }
    return tc_make_expr_stmt(tx, &call->node);
}

// The function without its types.
static tc_function *make_template(tc *tx, tc_operator *o, const tc_entry_layout *layout, bool is_strided, unsigned omitted)
{
    maker m = {.tx = tx, .op = o, .layout = *layout, .decl = ARENA_NEW(tx->lasting, ast_function)};
    m.layout.is_strided = is_strided;
    m.layout.omitted = omitted;
    if (is_strided)
        m.layout.ranks[0] = STRIDED_RANK;
    sym name = sym_of(tx->syms, arena_printf(tx->lasting, "%s_entry", o->schema.name));
    *m.decl = (ast_function){.name = name, .name_span = o->span, .doc = o->schema.doc};
    ast_expr *script = tc_make_attribute(tx, name_of(&m, "hidet"), "script");
    m.decl->decorators = tc_make_list(tx, &script, 1);
    add_type_params(&m);
    add_params(&m);
    ast_expr *kind = tc_make_attribute(tx, name_of(&m, "attrs"), "func_kind");
    ast_stmt *body[] = {tc_make_assign(tx, kind, tc_make_string(tx, o->span, "public")), launch_stmt(&m)};
    m.decl->body = tc_make_list(tx, body, 2);
    m.decl->node = (ast_node){AST_FUNCTION, o->span, body[1]->height + 1};
    tc_function *f = tc_function_new(tx, m.decl, o->scope, o->written->module);
    f->operator= o;
    f->is_strided = is_strided;
    return f;
}

// ---- entries ----------------------------------------------------------------------------------------------------

static bool has_type(const tc_value *list, dtype scalar)
{
    if (list->kind == TC_TYPE)
        return list->type->kind == IR_SCALAR && list->type->scalar == scalar;
    if (list->kind == TC_KIND) // what 'hdsc ops' prints, which is Python's name
        return list->kind_name == TC_KIND_BOOL && scalar == DT_BOOL;
    for (size_t i = 0; list->kind == TC_TUPLE && i < list->list->len; i++)
        if (has_type(&list->list->at[i], scalar))
            return true;
    return false;
}

// What the arrays of a run are, for a type parameter.
static dtype type_of_operands(tc *tx, const tc_operator *o, const char *name)
{
    dtype found = DT_NONE;
    for (size_t i = 0; i < o->schema.params.len && found == DT_NONE; i++) {
        const char *type = o->schema.params.at[i].tensor.dtype;
        if (type && strcmp(type, name) == 0)
            found = tc_operand_type_of(tx, o->schema.params.at[i].name);
    }
    return found;
}

tc_dtype_list tc_wanted_types(tc *tx, const tc_operator *o, const op_symbol *t)
{
    tc_dtype_list wanted = {0}, all = {0};
    tc_value given;
    bool is_given = tc_defined(tx, sym_of(tx->syms, t->name), &given);
    dtype of_operands = is_given ? DT_NONE : type_of_operands(tx, o, t->name);
    if (of_operands != DT_NONE) {
        given = tc_type(ir_scalar(tx->ir, of_operands));
        is_given = true;
    }
    for (int i = 0; i < DT__COUNT; i++) {
        bool may_be = t->is_any;
        for (size_t k = 0; k < t->choices.len; k++)
            may_be |= t->choices.at[k] == (dtype)i;
        if (may_be && (is_given ? has_type(&given, (dtype)i) : tc_is_usual_type((dtype)i)))
            VEC_PUSH(tx->arena, &wanted, (dtype)i);
    }
    for (size_t i = 0; i < t->choices.len; i++)
        VEC_PUSH(tx->arena, &all, t->choices.at[i]);
    return wanted.len || is_given ? wanted : all;
}

// An entry for each choice of types from parameter [at] on. [f] has those before it bound, which are [chosen], "_f16".
static void bind_entries(tc *tx, tc_operator *o, tc_function *f, const char *name, const char *chosen, size_t at)
{
    if (at == o->types.len) {
        sym bound = sym_of(tx->syms, arena_printf(tx->arena, "%s%s", name, chosen));
        f->name = bound;
        f->operator_types = chosen + (*chosen == '_');
        if (!tc_scope_find_here(tx->main->scope, bound))
            tc_scope_bind(tx, tx->main->scope, bound, (tc_value){.kind = TC_FUNCTION, .function = f}, o->span);
        return;
    }
    const tc_dtype_list types = tc_wanted_types(tx, o, op_find_symbol(&o->schema, o->types.at[at]->text));
    for (size_t i = 0; i < types.len; i++) {
        tc_value type = tc_type(ir_scalar(tx->ir, types.at[i])), next = {.kind = TC_FUNCTION, .function = f};
        next = tc_function_brackets(tx, next, &type, &o->types.at[at], 1, o->span);
        const char *more = arena_printf(tx->arena, "%s_%s", chosen, dt_name(types.at[i]));
        bind_entries(tx, o, next.function, name, more, at + 1);
    }
}

static bool is_of_module(tc *tx, const tc_binding *b, const tc_module *m)
{
    if (b->lazy_module || b->name->text[0] == '_' || !tc_is_operator(tx, b->value))
        return false;
    const tc_function *f = tc_operator_function(tx, b->value);
    return f && f->module == m;
}

// "norm_without_w_b"
static const char *name_without(tc *tx, const tc_operator *o, unsigned omitted)
{
    str_buf out;
    str_buf_init(&out, tx->arena);
    str_addf(&out, "%s%s", o->schema.name, omitted ? "_without" : "");
    for (size_t i = 0; i < o->schema.params.len; i++) {
        const op_param *p = &o->schema.params.at[i];
        if (!p->is_optional)
            continue;
        if (omitted & 1)
            str_addf(&out, "_%s", p->name);
        omitted >>= 1;
    }
    return str_text(&out);
}

// Whether an operand that is there tells what the parameter is.
static bool is_told(const tc_operator *o, const tc_entry_layout *l, sym name)
{
    bool is = false;
    for (size_t i = 0; i < o->params.len; i++)
        is |= tc_is_present(o, l, i) && tc_expr_mentions(o->params.at[i].type, name);
    return is;
}

// An operand that alone tells a type or an extent has to be there.
static bool may_lack(const tc_operator *o, unsigned omitted)
{
    const tc_entry_layout l = {.omitted = omitted};
    bool ok = true;
    for (size_t i = 0; i < o->types.len; i++)
        ok &= is_told(o, &l, o->types.at[i]);
    for (size_t i = 0; i < o->sizes.len; i++)
        ok &= o->sizes.at[i]->default_value || is_told(o, &l, o->sizes.at[i]->name);
    for (size_t i = 0; i < o->joined.len; i++)
        ok &= is_told(o, &l, o->joined.at[i]);
    return ok;
}

// Binds entries for each subset of the optional operands that may be omitted, unless the author's file uses the name.
static void offer(tc *tx, tc_operator *o)
{
    unsigned optional = 0;
    tc_entry_layout l;
    if (!tc_lay_out(tx, o, &l))
        return;
    bind_names(tx, o);
    for (size_t i = 0; i < o->schema.params.len; i++)
        optional += o->schema.params.at[i].is_optional;
    for (unsigned omitted = 0; omitted < 1u << optional; omitted++) {
        const char *name = name_without(tx, o, omitted);
        if (omitted && (!may_lack(o, omitted) || tc_scope_find_here(tx->main->scope, sym_of(tx->syms, name))))
            continue;
        bind_entries(tx, o, make_template(tx, o, &l, false, omitted), name, "", 0);
    }
    if (o->is_by_element) {
        const char *name = arena_printf(tx->arena, "%s_strided", o->schema.name);
        bind_entries(tx, o, make_template(tx, o, &l, true, 0), name, "", 0);
    }
}

void tc_offer_operators(tc *tx)
{
    size_t count = tx->main->scope->list.len;
    for (size_t i = 0; i < count && !tx->aborted; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        tc_operator *o = is_of_module(tx, b, tx->main) ? tc_describe_operator(tx, b) : NULL;
        if (o && !o->schema.no_entry)
            offer(tx, o);
    }
}

// What is known of the operator, with why it is no entry; NULL: there is none.
static tc_operator *describe_entry(tc *tx, const tc_binding *b)
{
    tc_entry_layout l;
    tc_operator *o = b && is_of_module(tx, b, tx->main) ? tc_describe_operator(tx, b) : NULL;
    if (o && !o->schema.no_entry && tx->options->entry_count)
        tc_lay_out(tx, o, &l);
    return o;
}

const tc_operator *tc_operator_of_entry(tc *tx, const char *text)
{
    const tc_binding *found = NULL;
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        size_t len = b->name->len;
        bool is_it = strncmp(text, b->name->text, len) == 0 && (!text[len] || text[len] == '_');
        if (is_it && is_of_module(tx, b, tx->main) && (!found || len > found->name->len))
            found = b;
    }
    return describe_entry(tx, found);
}

// The number, from 1, of the variadic parameter that the extent stands for; 0: none.
static int group_of(const tc_operator *o, const ir_expr *extent)
{
    for (size_t i = 0; extent->op == IR_OP_VAR && i < o->joined_axes.len; i++)
        if (strcmp(extent->u.var->name, o->joined_axes.at[i]) == 0)
            return (int)i + 1;
    return 0;
}

// A tensor with two of them has the axes that it has: nothing says where the first ends.
static void join_axes(const tc_operator *o, ir_var *v)
{
    int found = 0;
    for (int axis = 0; axis < v->tensor->rank; axis++) {
        int group = group_of(o, v->tensor->shape[axis]);
        if (!group)
            continue;
        v->joined = axis + 1;
        v->join_group = group;
        found++;
    }
    if (found > 1)
        v->joined = v->join_group = 0;
}

// Results stand behind the operands.
static void mark_results(ir_func *func, size_t results)
{
    for (size_t i = func->params.len; i-- > 0 && results > 0;) {
        ir_var *v = func->params.at[i];
        v->is_result = v->tensor;
        results -= v->is_result;
    }
}

// What hdsc run takes where nothing is said.
static void mark_defaults(ir_func *func, const tc_operator *o)
{
    for (size_t i = 0; i < func->params.len; i++)
        for (size_t k = 0; k < o->schema.params.len; k++) {
            const op_param *p = &o->schema.params.at[k];
            if (p->role == OP_NUMBER && strcmp(func->params.at[i]->name, p->name) == 0)
                func->params.at[i]->default_text = p->default_text;
        }
}

void tc_name_operator(ir_func *func, const tc_function *f)
{
    if (!f->operator)
        return;
    func->operator = f->operator->schema.name;
    func->operator_types = f->operator_types;
    func->title = func->name;
    func->is_strided = f->is_strided;
    func->is_elementwise = f->operator->is_by_element && !f->is_strided;
    mark_defaults(func, f->operator);
    mark_results(func, f->operator->results.len);
    for (size_t i = 0; !f->is_strided && i < func->params.len; i++)
        if (func->params.at[i]->tensor)
            join_axes(f->operator, func->params.at[i]);
}

// ---- the table ---------------------------------------------------------------------------------------------------

bool tc_list_operators(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                       tc_listing *out)
{
    int before = diags->error_count;
    tc *tx = tc_open(a, syms, diags, file, options);
    if (!tx || tx->aborted || diags->error_count != before)
        return false;
    tc_frame frame = {.scope = tx->main->scope, .compile_time = true};
    tx->frame = &frame;
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        tc_operator *o = describe_entry(tx, tx->main->scope->list.at[i]);
        if (!o)
            continue;
        tc_find_family(tx, o);
        if (out->given_count && tc_is_asked_for(tx, o))
            tc_infer_results(tx, o, out->given, out->given_count);
        VEC_PUSH(a, &out->list, &o->schema);
    }
    tx->frame = NULL;
    out->doc = tx->main->ast->doc;
    return diags->error_count == before;
}
