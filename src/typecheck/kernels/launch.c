// Launches in host functions, and the captures of their kernels.
#include "typecheck/kernels/kernels.h"

// ---- launches ----------------------------------------------------------------------------------------------------

static ir_expr *tensor_pointer(tc *tx, tc_value v, src_span span)
{
    tc_value p = tc_tensor_address(tx, v.tensor, NULL, 0, span);
    return p.kind == TC_RT ? p.rt : NULL;
}

static const tc_value *strides_of(tc *tx, const ir_tensor *t)
{
    tc_value *strides = ARENA_ARRAY(tx->arena, tc_value, t->rank + 1);
    for (int d = 0; d < t->rank; d++) {
        int64_t known;
        strides[d] = ir_const_int(t->strides[d], &known) ? tc_of_int(known) : tc_rt(t->strides[d]);
    }
    return strides;
}

static bool not_row_major(tc *tx, const ir_var *param, tc_value v, src_span span)
{
    diag *d = tc_error(tx, HDS0781, span, param->name, tc_describe(tx, v));
    diag_label(d, param->span, "the parameter");
    diag_help(d, "let the kernel take any strides: %s: strided(T[…], [ld, 1]), with ld: int among its type parameters",
              param->name);
    return false;
}

// What is known of the tensor when the launch is compiled; the launcher compares the sizes that are not.
static bool check_tensor_argument(tc *tx, const ir_var *param, tc_value v, src_span span)
{
    const ir_tensor *want = param->tensor;
    const char *differs = NULL;
    if (v.kind == TC_TENSOR && v.tensor->base->tensor->elem != want->elem)
        differs = "the element types differ";
    else if (v.kind == TC_TENSOR && v.tensor->rank != want->rank)
        differs = "the ranks differ";
    for (int i = 0; v.kind == TC_TENSOR && !differs && i < want->rank; i++) {
        int64_t extent, given;
        if (ir_const_int(want->shape[i], &extent) && tc_as_int64(v.tensor->shape[i], &given) && extent != given)
            differs = arena_printf(tx->arena, "dimension %d differs", i);
    }
    if (v.kind == TC_TENSOR && !differs && want->is_strided)
        differs = tc_strides_differ(tx, v.tensor, strides_of(tx, want));
    else if (v.kind == TC_TENSOR && !differs && !tc_is_row_major(tx, v.tensor, span))
        return not_row_major(tx, param, v, span);
    if (v.kind == TC_TENSOR && !differs)
        return true;
    tc_value expected = tc_tensor_of_var(tx, (ir_var *)param);
    const char *what = arena_printf(tx->arena, "parameter '%s'", param->name);
    diag *d = tc_error(tx, HDS0185, span, what, tc_describe(tx, expected), tc_describe(tx, v));
    if (differs)
        diag_under(d, "%s", differs);
    diag_label(d, param->span, "the parameter");
    return false;
}

typedef struct launch {
    tc *tx;
    tc_function *f;
    src_span span; // of the call
    tc_scope *scope;
    bool *bound;           // by type parameter
    VEC(tc_arg) given;     // arguments that are no type parameters
    tc_value *values;      // by parameter
    src_span *spans;       // likewise
    VEC(ir_expr *) actual; // arguments of the kernel, with those of sizes and captures
} launch;

// The strides of views and of tensors with open sizes, which only the run compares.
static void check_strides(const launch *l, const ir_func *kernel)
{
    tc *tx = l->tx;
    map arguments;
    map_init(&arguments, tx->arena);
    for (size_t i = 0; i < kernel->params.len; i++)
        if (!kernel->params.at[i]->tensor)
            map_put_ptr(&arguments, kernel->params.at[i], l->actual.at[i]);
    for (size_t i = 0; i < l->f->decl->params.len; i++)
        if (kernel->params.at[i]->tensor)
            tc_check_launch_strides(tx, kernel->params.at[i], l->values[i].tensor, &arguments, l->spans[i]);
}

static tc_value not_in_host_function(tc *tx, const tc_function *f, src_span span)
{
    diag *d = tc_error(tx, HDS0231, span, tc_function_title(tx, f));
    diag_label(d, f->decl->name_span, "a kernel, as it assigns grid_dim and block_dim");
    diag_help(d, "put what both do into a function without these; only host functions launch kernels");
    return tc_poison();
}

// Binds the arguments that are type parameters by name; the others are the parameters'.
static void take_type_arguments(launch *l, const tc_args *args)
{
    const ast_type_params *types = &l->f->decl->type_params;
    for (size_t a = 0; a < args->list.len; a++) {
        const tc_arg *arg = &args->list.at[a];
        bool is_type = false;
        for (size_t i = 0; arg->name && i < types->len; i++)
            if (types->at[i].name == arg->name) {
                tc_scope_bind(l->tx, l->scope, arg->name, arg->value, arg->span);
                l->bound[i] = is_type = true;
            }
        if (!is_type)
            VEC_PUSH(l->tx->arena, &l->given, *arg);
    }
}

static const tc_arg *argument_of(const launch *l, size_t index)
{
    const tc_arg *found = NULL;
    for (size_t a = 0; a < l->given.len; a++) {
        const tc_arg *arg = &l->given.at[a];
        if (arg->name ? arg->name == l->f->decl->params.at[index].name : a == index)
            found = arg;
    }
    return found;
}

// Finds the argument of each parameter, and infers type parameters from them. False after an error.
static bool match_arguments(launch *l)
{
    tc *tx = l->tx;
    const ast_params *params = &l->f->decl->params;
    const ast_type_params *types = &l->f->decl->type_params;
    l->values = ARENA_ARRAY(tx->arena, tc_value, params->len + 1);
    l->spans = ARENA_ARRAY(tx->arena, src_span, params->len + 1);
    for (size_t i = 0; i < params->len; i++) {
        const tc_arg *found = argument_of(l, i);
        if (!found) {
            tc_error(tx, HDS0213, l->span, tc_function_title(tx, l->f), params->at[i].name->text);
            return false;
        }
        l->values[i] = found->value;
        l->spans[i] = found->span;
        if (params->at[i].annotation)
            tc_infer(tx, params->at[i].annotation, found->value, l->scope, types, l->bound);
    }
    for (size_t i = 0; i < params->len; i++)
        if (params->at[i].annotation)
            tc_infer_idle(tx, params->at[i].annotation, l->values[i], l->scope, types, l->bound);
    return true;
}

// False, and an error: there is an argument that no parameter takes.
static bool no_others(const launch *l)
{
    const ast_params *params = &l->f->decl->params;
    for (size_t a = 0; a < l->given.len; a++) {
        const tc_arg *arg = &l->given.at[a];
        bool known = !arg->name;
        for (size_t i = 0; i < params->len; i++)
            known |= arg->name == params->at[i].name;
        if (!known) {
            tc_error(l->tx, HDS0211, arg->span, l->f->name->text, arg->name->text);
            return false;
        }
    }
    if (l->given.len > params->len)
        tc_error(l->tx, HDS0210, l->given.at[params->len].span, tc_function_title(l->tx, l->f), (long)params->len);
    return l->given.len <= params->len;
}

static tc_captures *captures_from_here(tc *tx)
{
    tc_captures *captures = ARENA_NEW(tx->arena, tc_captures);
    map_init(&captures->vars, tx->arena);
    captures->from = tx->func;
    captures->from_block = tx->block;
    return captures;
}

static ir_func *build_kernel(launch *l, tc_captures *captures, tc_builder *k)
{
    tc *tx = l->tx;
    int64_t steps_here = tx->steps;
    tx->steps = 0; // a kernel has the budget of an entry
    ir_func *kernel = tc_build_kernel(tx, l->f, l->scope, l->bound, NULL, captures, IR_KERNEL, k, l->span);
    tx->steps = steps_here;
    if (kernel)
        kernel->is_public = kernel->is_launched = true;
    return kernel;
}

// The host's values of the kernel's own parameters. False after an error.
static bool pass_arguments(launch *l, const ir_func *kernel)
{
    tc *tx = l->tx;
    for (size_t i = 0; i < l->f->decl->params.len; i++) {
        const ir_var *param = kernel->params.at[i];
        tc_value v = l->values[i];
        if (param->tensor && !check_tensor_argument(tx, param, v, l->spans[i]))
            return false;
        ir_expr *e = v.kind == TC_TENSOR && param->tensor ? tensor_pointer(tx, v, l->spans[i])
                                                          : tc_convert(tx, v, param->type, l->spans[i], param->name);
        if (!e)
            return false;
        VEC_PUSH(tx->ir->arena, &l->actual, e);
    }
    return true;
}

tc_value tc_launch(tc *tx, tc_function *f, tc_args *args)
{
    if (!tx->func || tx->func->kind != IR_HOST_FUNC)
        return not_in_host_function(tx, f, args->span);
    if (tc_wants_run_time(tx))
        return tc_poison(); // before a kernel is made for an attempt that fails
    launch l = {.tx = tx, .f = f, .span = args->span};
    l.bound = ARENA_ARRAY(tx->arena, bool, f->decl->type_params.len + 1);
    l.scope = tc_entry_scope(tx, f, l.bound);
    take_type_arguments(&l, args);
    if (!match_arguments(&l) || !no_others(&l))
        return tc_poison();
    tc_captures *captures = captures_from_here(tx);
    tc_builder k;
    ir_func *kernel = build_kernel(&l, captures, &k);
    if (!kernel)
        return tc_poison();
    ir_stmt *s = tc_new_stmt(tx, IR_LAUNCH, args->span);
    s->func = kernel;
    if (!pass_arguments(&l, kernel))
        return tc_poison();
    for (size_t i = 0; i < k.size_args.len; i++)
        VEC_PUSH(tx->ir->arena, &l.actual, k.size_args.at[i]);
    for (size_t i = 0; i < captures->args.len; i++)
        VEC_PUSH(tx->ir->arena, &l.actual, captures->args.at[i]);
    check_strides(&l, kernel);
    s->args = l.actual.at;
    s->arg_count = (int)l.actual.len;
    tc_emit(tx, s);
    return tc_none();
}

// ---- captures ----------------------------------------------------------------------------------------------------

// Run-time values of the host function that the functions given to a kernel use: further parameters of the kernel.

static ir_expr *capture_expr(tc *tx, ir_expr *e, src_span span);

static ir_var *capture_scalar(tc *tx, ir_expr *host, const char *name, src_span span)
{
    tc_captures *c = tx->captures;
    ir_var *var = ir_var_new(tx->ir, IR_VAR_PARAM, name, host->type, span);
    VEC_PUSH(tx->ir->arena, &tx->func->params, var);
    VEC_PUSH(tx->ir->arena, &c->args, host);
    return var;
}

static ir_expr *capture_expr(tc *tx, ir_expr *e, src_span span)
{
    if (e->op == IR_OP_INT || e->op == IR_OP_FLOAT)
        return e;
    const void *key = e->op == IR_OP_VAR ? (const void *)e->u.var : (const void *)e;
    ir_var *var = map_get_ptr(&tx->captures->vars, key);
    if (!var) {
        var = capture_scalar(tx, e, e->op == IR_OP_VAR ? e->u.var->name : "captured", span);
        if (e->op == IR_OP_VAR && e->u.var->is_size) { // what holds of the host function's size holds here
            var->has_range = true;
            var->min = e->u.var->has_range ? e->u.var->min : 0;
            var->max = e->u.var->has_range ? e->u.var->max : (int64_t)dt_max_bits(var->type->scalar);
            var->divisor = e->u.var->divisor;
        }
        map_put_ptr(&tx->captures->vars, key, var);
    }
    return ir_read(tx->ir, var, span);
}

static tc_value capture_size(tc *tx, tc_value v, src_span span)
{
    return v.kind == TC_RT ? tc_rt(capture_expr(tx, v.rt, span)) : v;
}

// A part of a tensor, or its transpose: a tensor with these strides.
static tc_value capture_view(tc *tx, tc_value v, src_span span)
{
    tc_tensor *t = v.tensor;
    ir_var *known = map_get_ptr(&tx->captures->vars, t);
    if (known)
        return tc_tensor_of_var(tx, known);
    tc_tensor_type type = {.elem = t->base->tensor->elem, .space = IR_GLOBAL, .rank = t->rank, .is_strided = true};
    type.align = (int)ir_type_bytes(type.elem);
    if (t->base->tensor->space != IR_GLOBAL || !tc_strides_of(tx, t, type.strides))
        return TC_ERR(tx, HDS0232, span, t->base->name);
    for (int d = 0; d < t->rank; d++) {
        type.shape[d] = capture_size(tx, t->shape[d], span);
        type.strides[d] = capture_size(tx, type.strides[d], span);
    }
    ir_expr *address = tensor_pointer(tx, v, span);
    tc_value fresh = tc_tensor_declare(tx, t->base->name, &type, IR_VAR_PARAM, tc_none(), 0, NULL, span);
    if (!address || fresh.kind != TC_TENSOR)
        return tc_poison();
    VEC_PUSH(tx->ir->arena, &tx->func->params, fresh.tensor->base);
    VEC_PUSH(tx->ir->arena, &tx->captures->args, address);
    map_put_ptr(&tx->captures->vars, t, fresh.tensor->base);
    return fresh;
}

static tc_value capture_tensor(tc *tx, tc_value v, src_span span)
{
    tc_tensor *t = v.tensor;
    ir_var *known = map_get_ptr(&tx->captures->vars, t->base);
    if (t->is_view)
        return capture_view(tx, v, span);
    if (known)
        return tc_tensor_of_var(tx, known);
    ir_tensor *info = arena_dup(tx->ir->arena, t->base->tensor, sizeof *info);
    info->shape = ARENA_ARRAY(tx->ir->arena, ir_expr *, info->rank + 1);
    for (int i = 0; i < info->rank; i++)
        info->shape[i] = capture_expr(tx, t->base->tensor->shape[i], span);
    if (info->is_strided) {
        info->strides = ARENA_ARRAY(tx->ir->arena, ir_expr *, info->rank + 1);
        for (int i = 0; i < info->rank; i++)
            info->strides[i] = capture_expr(tx, t->base->tensor->strides[i], span);
    } else if (info->strides) {
        tc_tensor_type type = {.elem = info->elem, .space = IR_GLOBAL, .rank = info->rank};
        for (int i = 0; i < info->rank; i++)
            type.shape[i] = tc_rt(info->shape[i]);
        tc_value fresh =
            tc_tensor_declare(tx, t->base->name, &type, IR_VAR_PARAM, tc_none(), tc_align_of_whole(info), NULL, span);
        info = fresh.tensor->base->tensor;
    }
    ir_var *var = ir_tensor_var(tx->ir, IR_VAR_PARAM, t->base->name, info, span);
    VEC_PUSH(tx->ir->arena, &tx->func->params, var);
    ir_expr *zero[TM_MAX_RANK];
    for (int i = 0; i < info->rank; i++)
        zero[i] = ir_int(tx->ir, DT_I32, 0);
    VEC_PUSH(tx->ir->arena, &tx->captures->args, ir_addr(tx->ir, t->base, zero, info->rank, span));
    map_put_ptr(&tx->captures->vars, t->base, var);
    return tc_tensor_of_var(tx, var);
}

tc_value tc_capture(tc *tx, tc_binding *b, src_span span)
{
    if (tc_wants_run_time(tx))
        return tc_poison();
    tc_captures *c = tx->captures;
    if (!c || b->owner != c->from) {
        diag *d = tc_error(tx, HDS0233, span, b->name->text);
        diag_label(d, b->span, "bound here, in another function");
        return tc_poison();
    }
    tc_value v = b->value;
    if (v.kind == TC_TENSOR)
        return capture_tensor(tx, v, span);
    if (v.kind == TC_RT)
        return tc_rt(capture_expr(tx, b->var ? ir_read(tx->ir, b->var, span) : v.rt, span));
    if (v.kind == TC_TUPLE || v.kind == TC_LIST) {
        tc_value copy = tc_list_new(tx, v.kind, v.list->at, v.list->len);
        for (size_t i = 0; i < copy.list->len; i++) {
            tc_binding part = {.name = b->name, .value = copy.list->at[i], .span = b->span, .owner = b->owner};
            if (!tc_is_compile_time(part.value))
                copy.list->at[i] = tc_capture(tx, &part, span);
        }
        return copy;
    }
    return TC_ERR(tx, HDS0232, span, b->name->text);
}
