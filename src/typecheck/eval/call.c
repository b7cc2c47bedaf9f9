// Calls: the three ways a call goes once its arguments are matched (arguments.c): evaluated while compiling, inlined into the caller,
// or a call of a CUDA function of its own.
#include "typecheck/eval/arguments.h"

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
static tc_value dissolve(tc *tx, tc_function *f, tc_args *args, bool compile_time)
{
    uint32_t site = 0;
    tc_scope *scope = tc_match_activation(tx, f, args, &site, compile_time);
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
        if (!p->annotation || p->kind != AST_PARAM_PLAIN || tc_may_be_none(p))
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

static tc_value call_device(tc *tx, tc_function *f, tc_args *args, tc_matching *m)
{
    ir_func *callee = tc_device_instance(tx, f, m->scope, args->span);
    if (!callee)
        return tc_poison();
    ir_expr *call = ir_new_expr(tx->ir, IR_OP_CALL, callee->result, args->span, (int)callee->params.len);
    call->u.func = callee;
    for (size_t i = 0; i < callee->params.len; i++) {
        tc_value v = tc_match_value(m, &f->decl->params.at[i], m->arg_of[i]);
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
        tc_matching m;
        if (!tc_match(tx, &m, f, args))
            return tc_poison();
        tc_frame outer = {.caller = tx->frame,
                          .function = f,
                          .call_span = args->span,
                          .scope = m.scope,
                          .preparing = true};
        tc_frame *saved = tx->frame;
        tx->frame = &outer;
        bool ok = tc_match_types(&m);
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
