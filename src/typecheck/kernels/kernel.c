// Functions of the output that are written from a function's own body: kernels and host functions here, device functions
// in device.c. A builder binds the parameters, runs the body and checks what came of it.
#include "typecheck/kernels/kernels.h"

#include <ctype.h>
#include <string.h>

// ---- in and out --------------------------------------------------------------------------------------------------

tc_saved tc_enter(tc *tx, ir_func *func, ir_block *block, tc_captures *captures)
{
    tc_saved s = {tx->func, tx->block, tx->frame, tx->speculating, tx->captures, tx->env};
    tx->func = func;
    tx->block = block;
    tx->captures = captures;
    tx->env = NULL; // what an interpretation means belongs to the function in which it was made
    tx->speculating = 0;
    tc_region_enter_loop(tx); // nothing around it is shared
    return s;
}

void tc_leave(tc *tx, tc_saved s)
{
    tx->func = s.func;
    tx->block = s.block;
    tx->frame = s.frame;
    tx->captures = s.captures;
    tx->env = s.env;
    tx->speculating = s.speculating;
    tc_region_leave(tx);
}

// ---- names -------------------------------------------------------------------------------------------------------

bool tc_name_is_taken(const tc *tx, const char *name, bool is_entry)
{
    size_t len = strlen(name);
    return map_get(&tx->names_used, name, len) || (!is_entry && map_get(&tx->entry_names, name, len));
}

// What an entry is called does not depend on what else the file needs, nor on which comes first.
const char *tc_unique_name(tc *tx, const char *base, bool is_entry)
{
    char *name = arena_strdup(tx->ir->lasting, base);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            *c = '_';
    const char *result = name;
    for (int i = 1; tc_name_is_taken(tx, result, is_entry); i++)
        result = arena_printf(tx->ir->lasting, "%s_%d", name, i);
    map_put(&tx->names_used, result, strlen(result), tx);
    return result;
}

const char *tc_instance_name(tc *tx, const tc_function *f, const tc_scope *scope, bool with_args)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    str_adds(&b, f->name ? f->name->text : "lambda");
    for (size_t i = 0; with_args && f->decl && i < f->decl->type_params.len; i++) {
        tc_binding *p = tc_scope_find_here(scope, f->decl->type_params.at[i].name);
        if (!p || (p->value.kind != TC_TYPE && p->value.kind != TC_INT))
            continue;
        str_addc(&b, '_');
        tc_to_text(tx, p->value, &b);
    }
    return tc_unique_name(tx, str_text(&b), !with_args);
}

const char *tc_instance_title(tc *tx, const tc_function *f, const tc_scope *scope)
{
    str_buf b;
    str_buf_init(&b, tx->ir->lasting);
    str_adds(&b, f->name ? f->name->text : "lambda");
    int shown = 0;
    for (size_t i = 0; f->decl && i < f->decl->type_params.len; i++) {
        const ast_type_param *p = &f->decl->type_params.at[i];
        tc_binding *v = tc_scope_find_here(scope, p->name);
        if (!v || v->value.kind == TC_RT)
            continue;
        str_adds(&b, shown++ ? ", " : "[");
        str_addf(&b, "%s=", p->name->text);
        tc_repr(tx, v->value, &b);
    }
    if (shown)
        str_addc(&b, ']');
    return str_text(&b);
}

// ---- parameters --------------------------------------------------------------------------------------------------

ir_var *tc_size_param(tc *tx, const ast_type_param *p, dtype t, tc_scope *scope)
{
    ir_var *v = ir_var_new(tx->ir, IR_VAR_PARAM, p->name->text, ir_scalar(tx->ir, t), p->span);
    v->is_size = true;
    v->has_range = true;
    v->min = 0;
    tc_value bound = p->bound ? tc_eval_annotation(tx, p->bound, scope) : tc_none();
    if (bound.kind == TC_AT_LEAST) {
        v->min = bound.at_least->least;
        v->may_be_zero = !v->min;
    }
    v->max = t == DT_I64 ? INT64_MAX : INT32_MAX;
    v->divisor = 1;
    return v;
}

dtype tc_size_type(tc *tx, const ast_type_param *p, tc_scope *scope)
{
    if (!p->bound || p->is_variadic)
        return DT_NONE;
    tc_value bound = tc_eval_annotation(tx, p->bound, scope);
    if (bound.kind == TC_KIND && bound.kind_name == TC_KIND_INT)
        return DT_I32;
    if (bound.kind == TC_AT_LEAST)
        return bound.at_least->type;
    if (tc_is_poison(bound))
        return DT_I32;
    if (bound.kind == TC_TYPE && bound.type->kind == IR_SCALAR && dt_is_int(bound.type->scalar))
        return bound.type->scalar;
    return DT_NONE;
}

// Binds what the caller left open: -D, defaults, run-time sizes.
static bool bind_open_types(tc_builder *k, const bool *bound, bool is_entry)
{
    tc *tx = k->tx;
    const ast_type_params *types = &k->f->decl->type_params;
    for (size_t i = 0; i < types->len; i++) {
        const ast_type_param *p = &types->at[i];
        tc_value v;
        bool given = bound && bound[i];
        if (given)
            v = tc_scope_find_here(k->scope, p->name)->value;
        else if (is_entry && !(k->f->operator && p->is_variadic) && tc_defined(tx, p->name, &v))
            given = true;
        else if (p->default_value) {
            v = tc_eval_annotation(tx, p->default_value, k->scope);
            given = true;
        }
        if (given && v.kind == TC_RT) {
            // a size that the host knows only at run time
            ir_var *s = tc_size_param(tx, p, v.rt->type->scalar, k->scope);
            VEC_PUSH(tx->ir->arena, &k->sizes, s);
            VEC_PUSH(tx->ir->arena, &k->size_args, v.rt);
            tc_binding *b = tc_scope_bind(tx, k->scope, p->name, tc_rt(ir_read(tx->ir, s, p->span)), p->span);
            b->owner = k->func;
            continue;
        }
        dtype t = given ? DT_NONE : tc_size_type(tx, p, k->scope);
        if (given) {
            if (tc_is_poison(v) || !tc_check_bound(tx, p, v, k->scope, p->span))
                return false;
            tc_binding *b = tc_scope_bind(tx, k->scope, p->name, v, p->span);
            if (v.kind == TC_TENSOR && tx->captures)
                b->owner = tx->captures->from; // a tensor of the host function, which becomes a parameter where it is used
        } else if (t != DT_NONE && !is_entry) {
            diag *d = tc_error(tx, HDS0204, tx->frame->call_span, p->name->text, tc_function_title(tx, k->f));
            diag_label(d, p->span, "the type parameter");
            diag_help(d, "name it: %s(…, %s=…)", k->f->name->text, p->name->text);
            return false;
        } else if (t != DT_NONE) {
            ir_var *s = tc_size_param(tx, p, t, k->scope);
            VEC_PUSH(tx->ir->arena, &k->sizes, s);
            tc_binding *b = tc_scope_bind(tx, k->scope, p->name, tc_rt(ir_read(tx->ir, s, p->span)), p->span);
            b->owner = k->func;
        } else {
            diag *d = tc_error(tx, HDS0227, p->span, p->name->text, k->f->name->text);
            diag_help(d, "give it: -D %s=…, or an entry at module level: name = %s[…]", p->name->text,
                      k->f->name->text);
            return false;
        }
    }
    return true;
}

static const ir_type *kind_type(tc *tx, tc_kind_name k)
{
    switch (k) {
    case TC_KIND_INT:
        return ir_scalar(tx->ir, DT_I32);
    case TC_KIND_FLOAT:
        return ir_scalar(tx->ir, DT_F32);
    case TC_KIND_BOOL:
        return ir_scalar(tx->ir, DT_BOOL);
    default:
        return NULL;
    }
}

// Extents and strides of parameters are expressions of sizes alone. Functions in an annotation have variables, which are the
// body's: what its statements from [mark] on leave in them is written out. (Where they branch it stays, and is an error.)
static tc_tensor_type *written_out(tc *tx, const tc_tensor_type *type, size_t mark)
{
    tc_tensor_type *result = arena_dup(tx->arena, type, sizeof *type);
    map values;
    map_init(&values, tx->arena);
    for (size_t i = mark; i < tx->block->stmts.len; i++) {
        const ir_stmt *s = tx->block->stmts.at[i];
        if (s->kind != IR_DECL && s->kind != IR_ASSIGN && s->kind != IR_ASSERT)
            return result;
        if (s->kind != IR_ASSERT && s->value)
            map_put_ptr(&values, s->var, ir_substitute(tx->ir, s->value, &values));
    }
    for (int i = 0; i < type->rank; i++) {
        if (type->shape[i].kind == TC_RT)
            result->shape[i].rt = ir_substitute(tx->ir, type->shape[i].rt, &values);
        if (type->is_strided && type->strides[i].kind == TC_RT)
            result->strides[i].rt = ir_substitute(tx->ir, type->strides[i].rt, &values);
    }
    return result;
}

bool tc_add_param(tc_builder *k, const ast_param *p)
{
    tc *tx = k->tx;
    if (!p->annotation || p->kind != AST_PARAM_PLAIN) {
        tc_error(tx, HDS0228, p->span, p->name ? p->name->text : "*", k->f->name->text);
        return false;
    }
    size_t mark = tx->block->stmts.len;
    tc_value annotation = tc_eval_annotation(tx, p->annotation, k->scope);
    if (tc_is_poison(annotation))
        return false;
    if (annotation.kind == TC_TENSOR_TYPE)
        annotation.tensor_type = written_out(tx, annotation.tensor_type, mark);
    if (annotation.kind == TC_KIND && kind_type(tx, annotation.kind_name))
        annotation = tc_type(kind_type(tx, annotation.kind_name));
    tc_value v;
    ir_var *var;
    if (annotation.kind == TC_TYPE && annotation.type->kind != IR_VOID) {
        var = ir_var_new(tx->ir, IR_VAR_PARAM, p->name->text, annotation.type, p->name_span);
        v = tc_rt(ir_read(tx->ir, var, p->name_span));
    } else if (annotation.kind == TC_TENSOR_TYPE && annotation.tensor_type->space == IR_GLOBAL) {
        v = tc_tensor_declare(tx, p->name->text, annotation.tensor_type, IR_VAR_PARAM, tc_none(), 0, NULL,
                              p->name_span);
        if (tc_is_poison(v))
            return false;
        var = v.tensor->base;
    } else {
        tc_error(tx, HDS0229, p->annotation->span, p->name->text, k->f->name->text, tc_describe(tx, annotation));
        return false;
    }
    VEC_PUSH(tx->ir->arena, &k->func->params, var);
    tc_binding *b = tc_scope_bind(tx, k->scope, p->name, v, p->name_span);
    b->owner = k->func;
    b->var = v.kind == TC_RT ? var : NULL;
    return true;
}

// ---- kernels that start early ------------------------------------------------------------------------------------

static void check_waits(tc_builder *k)
{
    tc *tx = k->tx;
    if (ir_waits_for_kernels(tx->ir, k->func))
        return;
    diag *d = diag_report(tx->diags, HDS0760, k->f->decl->name_span, k->f->name->text);
    diag_help(d, "call griddepcontrol_wait() of hidet.lang.cuda before what an earlier kernel may write or read");
}

// ---- what a finished function must have --------------------------------------------------------------------------

static void default_dims(tc *tx, ir_expr *dims[3])
{
    for (int i = 0; i < 3; i++)
        if (!dims[i])
            dims[i] = ir_int(tx->ir, DT_I32, 1);
}

static bool finish_kernel(tc_builder *k)
{
    tc *tx = k->tx;
    ir_func *func = k->func;
    if (!func->grid[0] || !func->block[0]) {
        diag *d =
            tc_error(tx, HDS0230, k->f->decl->name_span, k->f->name->text, func->grid[0] ? "block_dim" : "grid_dim");
        diag_help(d, "assign attrs.cuda.%s in the body", func->grid[0] ? "block_dim" : "grid_dim");
        return false;
    }
    default_dims(tx, func->grid);
    default_dims(tx, func->block);
    if (func->cluster[0])
        default_dims(tx, func->cluster);
    if (func->dependent_launch)
        check_waits(k);
    return true;
}

// The element of a tensor, or the memory behind a pointer, that host code touches first.
typedef struct touched {
    const char *name;
    src_span span;
} touched;

static void touch(touched *t, const ir_var *v, src_span span)
{
    if (t->name || (v && (!v->tensor || v->tensor->space != IR_GLOBAL)))
        return;
    *t = (touched){v ? v->name : "the pointer", span};
}

static void touch_expr(void *user, ir_expr *e)
{
    if (e->op == IR_OP_LOAD || e->op == IR_OP_PLOAD)
        touch(user, e->op == IR_OP_LOAD ? e->u.var : NULL, e->span);
}

typedef struct touch_search {
    tc *tx;
    touched found;
} touch_search;

static void touch_stmt(void *user, ir_stmt *s)
{
    touch_search *search = user;
    if (s->kind == IR_STORE || s->kind == IR_PSTORE)
        touch(&search->found, s->kind == IR_STORE ? s->var : NULL, s->span);
    ir_walk_stmt_exprs(search->tx->ir, s, touch_expr, &search->found);
}

// Host code runs beside the GPU, whose memory it does not see. (Tests run where all memory is one.)
static bool check_host_code(tc *tx, ir_func *func)
{
    touch_search search = {tx, {0}};
    ir_walk(&func->body, touch_stmt, &search);
    if (!search.found.name)
        return true;
    diag *d = tc_error(tx, HDS0294, search.found.span, search.found.name);
    diag_help(d, "launch a kernel that does it, or say it in a test");
    return false;
}

// ---- building ----------------------------------------------------------------------------------------------------

bool tc_run_own_body(tc_builder *k, const ir_type *result, tc_frame *caller, src_span call_span)
{
    tc *tx = k->tx;
    tc_frame frame = {
        .caller = caller, .function = k->f, .scope = k->scope, .call_span = call_span, .title = k->func->title};
    frame.entry_region = tx->region;
    frame.return_type = result;
    tc_frame *saved = tx->frame;
    tx->frame = &frame;
    int before = tx->diags->error_count;
    tc_flow flow = tc_exec_list(tx, &k->f->decl->body);
    tc_allocate_dynamic_smem(tx);
    tx->frame = saved;
    if (flow == TC_NEXT && result && result->kind != IR_VOID && tx->diags->error_count == before)
        tc_missing_return(tx, k->f);
    return tx->diags->error_count == before && !tx->aborted;
}

// What a kernel, which has none, or a host function says about its result; NULL after reporting.
static const ir_type *annotated_result(tc *tx, const tc_function *f, tc_scope *scope, ir_func_kind kind)
{
    if (!f->decl->returns)
        return ir_void(tx->ir);
    tc_value r = tc_eval_annotation(tx, f->decl->returns, scope);
    if (r.kind == TC_NONE)
        return ir_void(tx->ir);
    if (r.kind == TC_TYPE && (r.type->kind == IR_VOID || kind == IR_HOST_FUNC))
        return r.type;
    if (!tc_is_poison(r)) {
        diag *d = tc_error(tx, HDS0236, f->decl->returns->span, f->name->text, tc_text(tx, r));
        diag_help(d, "a kernel writes its results into tensors");
    }
    return NULL;
}

ir_func *tc_build_kernel(tc *tx, tc_function *f, tc_scope *scope, const bool *bound, const char *name,
                         tc_captures *captures, ir_func_kind kind, tc_builder *k, src_span call_span)
{
    tc_lifetime lifetime;
    tc_lifetime_begin(tx, &lifetime);
    scope->born = tx->born; // it is not read afterwards
    *k = (tc_builder){.tx = tx, .f = f, .scope = scope};
    k->func = ir_func_new(tx->ir, kind, name ? name : f->name->text, f->decl->name_span);
    k->func->doc = f->decl->doc;
    k->func->result = ir_void(tx->ir);
    for (int i = 0; i < 3; i++)
        k->func->grid[i] = k->func->block[i] = NULL; // set by the attributes, or missing
    tc_frame *caller = tx->frame;
    tc_saved saved = tc_enter(tx, k->func, &k->func->body, captures);
    tc_frame frame = {.caller = caller, .function = f, .scope = scope, .call_span = call_span};
    frame.entry_region = tx->region;
    tx->frame = &frame;
    bool ok = bind_open_types(k, bound, captures == NULL);
    for (size_t i = 0; ok && i < f->decl->params.len; i++)
        ok = tc_add_param(k, &f->decl->params.at[i]);
    for (size_t i = 0; i < k->sizes.len; i++)
        VEC_PUSH(tx->ir->arena, &k->func->params, k->sizes.at[i]);
    k->func->title = tc_instance_title(tx, f, scope);
    k->func->name = name ? tc_unique_name(tx, name, true) : tc_instance_name(tx, f, scope, captures != NULL);
    const ir_type *result = ok ? annotated_result(tx, f, scope, kind) : NULL;
    if (result)
        k->func->result = result;
    ok = result && tc_run_own_body(k, result, caller, call_span);
    if (ok)
        ok = kind == IR_KERNEL ? finish_kernel(k) : check_host_code(tx, k->func);
    tx->frame = &frame;
    tc_leave(tx, saved);
    tc_lifetime_end(tx, &lifetime);
    if (!ok)
        return NULL;
    ir_func_add(tx->ir, k->func);
    return k->func;
}

// A host function without parameters: the names of [f]'s are bound in [scope]. NULL after errors.
ir_func *tc_host_function(tc *tx, tc_function *f, tc_scope *scope, const char *title)
{
    tc_builder k = {.tx = tx, .f = f, .scope = scope};
    k.func = ir_func_new(tx->ir, IR_HOST_FUNC, tc_unique_name(tx, f->name->text, true), f->decl->name_span);
    k.func->doc = f->decl->doc;
    k.func->title = title;
    k.func->result = ir_void(tx->ir);
    k.func->is_public = true;
    for (int i = 0; i < 3; i++)
        k.func->grid[i] = k.func->block[i] = NULL;
    tc_saved saved = tc_enter(tx, k.func, &k.func->body, NULL);
    bool ok = tc_run_own_body(&k, k.func->result, NULL, (src_span){0});
    tc_leave(tx, saved);
    if (!ok)
        return NULL;
    ir_func_add(tx->ir, k.func);
    return k.func;
}

tc_scope *tc_entry_scope(tc *tx, tc_function *f, bool *bound)
{
    tc_scope *scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    for (int i = 0; i < f->bound_count; i++) {
        tc_scope_bind(tx, scope, f->bound_names[i], f->bound_values[i], f->decl->name_span);
        for (size_t k = 0; k < f->decl->type_params.len; k++)
            if (f->decl->type_params.at[k].name == f->bound_names[i])
                bound[k] = true;
    }
    return scope;
}
