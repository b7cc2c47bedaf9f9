// Interpretations: what elements, nodes, reductions and conversions of a definition mean while a handler is in force.
// Records that stand for integers, and for tensors. See Note [interpretations].
#include "typecheck/eval/eval.h"

#include <string.h>

const tc_env tc_no_interpretation = {.handler = {.kind = TC_NONE}};

// ---- handlers ----------------------------------------------------------------------------------------------------

bool tc_handler_call(tc *tx, const char *name, const tc_value *args, size_t len, src_span span, tc_value *out)
{
    for (const tc_env *e = tx->env; e && e->handler.kind == TC_RECORD; e = e->outer) {
        bool found = false;
        tc_value method = tc_record_method(tx, e->handler, sym_of(tx->syms, name), &found);
        if (!found)
            continue;
        method.function->env = e->outer ? e->outer : &tc_no_interpretation;
        *out = tc_call_values(tx, method, args, len, span);
        return true;
    }
    return false;
}

bool tc_handles(tc *tx, const char *name)
{
    if (!tx->env)
        return false;
    sym wanted = sym_of(tx->syms, name);
    for (const tc_env *e = tx->env; e && e->handler.kind == TC_RECORD; e = e->outer)
        if (map_get_ptr(&e->handler.record->class->methods, wanted))
            return true;
    return false;
}

bool tc_convert_hook(tc *tx, const ir_type *type, tc_value v, src_span span, tc_value *out)
{
    bool is_number = v.kind == TC_RT ? v.rt->type->kind == IR_SCALAR : tc_is_number(v);
    if (type->kind != IR_SCALAR || !is_number || !tc_handles(tx, "convert"))
        return false;
    tc_value args[2] = {tc_type(type), v};
    tc_handler_call(tx, "convert", args, 2, span, out);
    if (!tc_is_poison(*out) && !tc_default_type(tx, *out)) {
        diag *d = tc_error(tx, HDS0112, span, tc_describe(tx, *out));
        diag_help(d, "the handler's 'convert' returns the converted number");
        *out = tc_poison();
    }
    return true;
}

bool tc_load_hook(tc *tx, tc_tensor *t, const tc_list *items, src_span span, tc_value *out)
{
    if (!tx->env || t->base->tensor->space != IR_GLOBAL || (int)items->len != t->rank)
        return false;
    tc_value args[2] = {{.kind = TC_TENSOR, .tensor = t}, tc_list_new(tx, TC_TUPLE, items->at, items->len)};
    if (!tc_handler_call(tx, "load", args, 2, span, out))
        return false;
    if (!tc_is_poison(*out) && !tc_default_type(tx, *out)) {
        diag *d = tc_error(tx, HDS0112, span, tc_describe(tx, *out));
        diag_help(d, "the handler's 'load' returns the element of the tensor");
        *out = tc_poison();
    }
    return true;
}

// The function that a value is when it is called, with the environment [env] in force; other callables as they are.
static tc_value under(tc *tx, tc_value f, const tc_env *env)
{
    bool found = false;
    if (f.kind == TC_RECORD)
        f = tc_record_method(tx, f, sym_of(tx->syms, "__call__"), &found);
    if (f.kind == TC_FUNCTION) {
        f.function = arena_dup(tx->arena, f.function, sizeof *f.function);
        f.function->env = env;
    }
    return f;
}

static bool is_callable(tc *tx, tc_value v)
{
    bool found = tc_is_of_kind(TC_KIND_FUNCTION, v) || v.kind == TC_CLASS;
    if (v.kind == TC_RECORD)
        tc_record_method(tx, v, sym_of(tx->syms, "__call__"), &found);
    return found;
}

tc_value tc_native_with_handler(tc *tx, const tc_native *self, tc_args *args)
{
    tc_args rest = {.span = args->span};
    tc_value head[2];
    size_t given = 0;
    for (size_t i = 0; i < args->list.len; i++) {
        if (given < 2 && !args->list.at[i].name)
            head[given++] = args->list.at[i].value;
        else
            VEC_PUSH(tx->arena, &rest.list, args->list.at[i]);
    }
    if (given < 2)
        return TC_ERR(tx, HDS0213, args->span, self->name, given ? "f" : "handler");
    if (head[0].kind != TC_RECORD && head[0].kind != TC_NONE)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "the handler", "record", tc_describe(tx, head[0]));
    if (!is_callable(tx, head[1]))
        return TC_ERR(tx, HDS0184, args->list.at[1].span, "what is interpreted", "function", tc_describe(tx, head[1]));
    tc_env *env = ARENA_NEW(tx->arena, tc_env);
    *env = (tc_env){.handler = head[0], .outer = tx->env, .id = ++tx->last_env};
    const tc_env *around = tx->env, *in_force = head[0].kind == TC_NONE ? &tc_no_interpretation : env;
    tx->env = in_force;
    tc_value r = tc_call(tx, under(tx, head[1], in_force), &rest);
    tx->env = around;
    return r;
}

tc_value tc_native_perform(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value name = args->list.at[0].value, otherwise = args->list.at[1].value, r;
    if (name.kind != TC_STR)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "the effect's name", "str", tc_describe(tx, name));
    if (!is_callable(tx, otherwise))
        return TC_ERR(tx, HDS0184, args->list.at[1].span, "what is done without a handler", "function",
                      tc_describe(tx, otherwise));
    tc_list rest = {0};
    for (size_t i = 2; i < args->list.len; i++)
        VEC_PUSH(tx->arena, &rest, args->list.at[i].value);
    const char *effect = arena_strndup(tx->arena, name.s.at, name.s.len);
    if (tc_handler_call(tx, effect, rest.at, rest.len, args->span, &r))
        return r;
    (void)self;
    return tc_call_values(tx, otherwise, rest.at, rest.len, args->span);
}

// ---- dry runs ----------------------------------------------------------------------------------------------------

// Whether the value follows from variables that are not [dropped] and from nothing else.
static bool is_of_kept(const ir_expr *e, const map *dropped)
{
    if (e->op == IR_OP_VAR)
        return !map_get_ptr(dropped, e->u.var);
    if (!(ir_op_properties(e->op) & IR_PURE))
        return false;
    for (int i = 0; i < e->arg_count; i++)
        if (!is_of_kept(e->args[i], dropped))
            return false;
    return true;
}

static void drop_assigned(const ir_block *block, map *dropped)
{
    for (size_t i = 0; i < block->stmts.len; i++) {
        ir_stmt *s = block->stmts.at[i];
        if (s->kind == IR_ASSIGN)
            map_put_ptr(dropped, s->var, s);
        drop_assigned(&s->body, dropped);
        drop_assigned(&s->or_else, dropped);
    }
}

// A divisor that may be 0 is 1 then: an extent may be, and what is computed of elements that are not there has no reader.
static ir_expr *divide_by_one(void *user, ir_expr *e)
{
    ir_module *m = user;
    int64_t known;
    if (!(ir_op_properties(e->op) & IR_DIVIDES) || ir_const_int(e->args[1], &known))
        return e;
    ir_expr *args[2] = {e->args[0], e->args[1]}, *one = ir_int(m, e->type->scalar, 1);
    ir_expr *is_zero = ir_binary(m, IR_OP_EQ, args[1], ir_int(m, e->type->scalar, 0), e->span);
    args[1] = ir_select(m, is_zero, one, args[1], e->span);
    return ir_with_args(m, e, args);
}

// Of what a dry run left, numbers that follow from the caller's alone: extents that were noted are such.
static void keep_numbers(tc *tx, const ir_block *aside)
{
    map dropped;
    map_init(&dropped, tx->arena);
    for (size_t i = 0; i < aside->stmts.len; i++) {
        drop_assigned(&aside->stmts.at[i]->body, &dropped);
        drop_assigned(&aside->stmts.at[i]->or_else, &dropped);
    }
    for (size_t i = 0; i < aside->stmts.len; i++) {
        ir_stmt *s = aside->stmts.at[i];
        if (s->kind != IR_DECL && s->kind != IR_ASSIGN)
            continue;
        bool is_kept = !map_get_ptr(&dropped, s->var) && s->value && ir_is_integer(s->var->type);
        if (is_kept && is_of_kept(s->value, &dropped)) {
            ir_rewrite_stmt_exprs(tx->ir, s, divide_by_one, tx->ir);
            ir_append(tx->ir, tx->block, s);
        } else {
            map_put_ptr(&dropped, s->var, s);
        }
    }
}

// The number of the region of control flow that the call is in: code in another one may be under a condition.
tc_value tc_native_control_region(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    (void)args;
    return tc_of_int(tx->region);
}

// Runs a definition for a handler that records its accesses: all other statements go to a block that is discarded.
tc_value tc_native_analyze(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_args none = {.span = args->span};
    tc_value f = args->list.at[0].value;
    if (!is_callable(tx, f))
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "what is run", "function", tc_describe(tx, f));
    if (!tx->func) // while a module is read there is no code anyway
        return tc_call(tx, f, &none);
    ir_block aside = {0}, *kept = tx->block;
    bool around = tx->analyzes;
    tx->block = &aside;
    tx->analyzes = true;
    size_t shared = tc_shared_mark(tx);
    tc_value r = tc_call(tx, f, &none);
    tc_shared_drop(tx, shared);
    tx->block = kept;
    tx->analyzes = around;
    if (!tx->needs_run_time)
        keep_numbers(tx, &aside);
    return tc_is_poison(r) || tc_is_compile_time(r) ? r : tc_none();
}

// ---- nodes -------------------------------------------------------------------------------------------------------

typedef struct loops {
    tc *tx;
    ir_stmt *outer, *inner; // NULL: of rank 0, none
    tc_value indices[TM_MAX_RANK];
    int rank;
} loops;

static bool make_loops(loops *l, const tc_list *shape, src_span span)
{
    tc *tx = l->tx;
    l->rank = (int)shape->len;
    for (int i = 0; i < l->rank; i++) {
        ir_expr *extent = tc_to_index(tx, shape->at[i], span);
        if (!extent)
            return false;
        ir_stmt *loop = tc_new_stmt(tx, IR_FOR, span);
        dtype t = extent->type->scalar;
        ir_expr *bounds[3] = {ir_int(tx->ir, t, 0), extent, ir_int(tx->ir, t, 1)};
        loop->args = arena_dup(tx->ir->arena, bounds, sizeof bounds);
        loop->arg_count = 3;
        loop->unroll = TM_LOOP_PARALLEL;
        loop->var = ir_var_new(tx->ir, IR_VAR_LOOP, arena_printf(tx->ir->arena, "i%d", i), extent->type, span);
        l->indices[i] = tc_rt(ir_read(tx->ir, loop->var, span));
        if (l->inner)
            ir_append(tx->ir, &l->inner->body, loop);
        else
            l->outer = loop;
        l->inner = loop;
    }
    return true;
}

// A tensor of the host, one element at a time. Its type is the element's, so that it is declared when that is
// elaborated, before the loops.
static tc_value filled_tensor(tc *tx, tc_value shape, tc_value f, src_span span)
{
    loops l = {.tx = tx};
    if (tc_wants_run_time(tx) || !make_loops(&l, shape.list, span))
        return tc_poison();
    ir_block *outside = tx->block, scalar = {0}, *inside = l.inner ? &l.inner->body : &scalar;
    int region = tc_region_enter_loop(tx);
    tx->block = inside;
    ir_expr *element = tc_default_rt(tx, tc_call_values(tx, f, l.indices, (size_t)l.rank, span), span);
    tx->block = outside;
    tc_value made = tc_poison();
    if (element) {
        tc_tensor_type type = {.elem = element->type, .space = IR_GLOBAL, .rank = l.rank};
        for (int i = 0; i < l.rank; i++)
            type.shape[i] = shape.list->at[i];
        made = tc_tensor_declare(tx, "node", &type, IR_VAR_LOCAL, tc_none(), 0, NULL, span);
    }
    tx->block = inside;
    bool ok = made.kind == TC_TENSOR &&
              tc_tensor_store(tx, made.tensor, l.indices, (size_t)l.rank, tc_rt(element), false, span);
    tx->block = outside;
    tc_region_leave(tx);
    tc_close_region(tx, region, span);
    if (!ok)
        return tc_poison();
    if (l.outer)
        tc_emit(tx, l.outer);
    for (size_t i = 0; i < scalar.stmts.len; i++)
        tc_emit(tx, scalar.stmts.at[i]);
    made.tensor->is_temporary = true;
    return made;
}

static bool shape_of(tc *tx, tc_value v, src_span span, tc_value *out)
{
    bool is_list = v.kind == TC_TUPLE || v.kind == TC_LIST;
    tc_list one = {.at = &v, .len = 1};
    const tc_list *items = is_list ? v.list : &one;
    *out = tc_list_new(tx, TC_TUPLE, NULL, 0);
    if (items->len > TM_MAX_RANK) {
        tc_error(tx, HDS0180, span, TM_MAX_RANK);
        return false;
    }
    for (size_t i = 0; i < items->len; i++) {
        tc_value n = tc_as_index(tx, items->at[i], span);
        if (!tc_is_index(n)) {
            if (!tc_is_poison(n))
                tc_error(tx, HDS0181, span, tc_describe(tx, n));
            return false;
        }
        tc_list_push(tx, out->list, tc_freeze(tx, n, span));
    }
    return true;
}

tc_value tc_native_compute(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value f = *tc_arg_get(args, self->params, 1), shape, node;
    src_span span = tc_arg_span(args, self->params, 1);
    if (!is_callable(tx, f))
        return TC_ERR(tx, HDS0184, span, "the element", "function", tc_describe(tx, f));
    if (!shape_of(tx, *tc_arg_get(args, self->params, 0), tc_arg_span(args, self->params, 0), &shape))
        return tc_poison();
    tc_value parts[2] = {shape, under(tx, f, f.kind == TC_FUNCTION && f.function->env ? f.function->env : tx->env)};
    if (tc_handler_call(tx, "compute", parts, 2, args->span, &node)) {
        if (tc_is_poison(node) || node.kind == TC_TENSOR || tc_node_tensor(tx, node))
            return node;
        diag *d = tc_error(tx, HDS0281, args->span, self->name, tc_describe(tx, node));
        diag_help(d, "the handler's 'compute' returns a record with the field 'shape' and a method '__getitem__'");
        return tc_poison();
    }
    bool on_host = tx->block && tx->in_test && tc_on_host(tx);
    if (on_host)
        return filled_tensor(tx, shape, parts[1], args->span);
    tc_value lazy = tc_library(tx, "hidet.lang.compute", "Node", args->span);
    return tc_is_poison(lazy) ? lazy : tc_call_values(tx, lazy, parts, 2, args->span);
}

tc_value tc_native_operator(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value class = tc_library(tx, "hidet.lang.compute", "Operator", args->span);
    return tc_is_poison(class) ? class : tc_call(tx, class, args);
}

// The value in variables of its own, also where computing it again would be right.
static tc_value in_variables(tc *tx, tc_value v, src_span span)
{
    if (v.kind == TC_RT && v.rt->arg_count > 0) {
        ir_var *t = tc_declare(tx, "t", v.rt->type, v.rt, span);
        t->role = IR_ROLE_KEPT;
        return tc_rt(ir_read(tx->ir, t, span));
    }
    if (v.kind != TC_TUPLE)
        return tc_freeze(tx, v, span);
    tc_value kept = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (size_t i = 0; i < v.list->len; i++)
        tc_list_push(tx, kept.list, in_variables(tx, v.list->at[i], span));
    return kept;
}

// The function of a call of share(), with the indices in [index]; an error, or poison.
static tc_value shared_function(tc *tx, tc_args *args, tc_list *index)
{
    tc_value f = args->list.at[0].value;
    if (f.kind != TC_FUNCTION)
        return TC_ERR(tx, HDS0184, args->list.at[0].span, "what is shared", "function", tc_describe(tx, f));
    for (size_t i = 1; i < args->list.len; i++)
        VEC_PUSH(tx->arena, index, args->list.at[i].value);
    return f;
}

tc_value tc_native_is_shared(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_list index = {0};
    tc_value f = shared_function(tx, args, &index);
    return tc_is_poison(f) ? f : tc_bool(tc_shared_find(tx, f.function, &index) != NULL);
}

tc_value tc_native_share(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_list index = {0};
    tc_value f = shared_function(tx, args, &index);
    if (tc_is_poison(f))
        return f;
    const tc_value *known = tc_shared_find(tx, f.function, &index);
    if (known)
        return *known;
    if (tx->block)
        f.function->facts->needs_run_time = true; // elements rarely are known: no attempt for each of a chain
    tc_value v = tc_call_values(tx, f, index.at, index.len, args->span);
    if (tc_is_poison(v))
        return v;
    v = in_variables(tx, v, args->span);
    tc_shared_add(tx, f.function, &index, v);
    return v;
}

tc_tensor *tc_node_tensor(tc *tx, tc_value v)
{
    if (v.kind != TC_RECORD || !map_get_ptr(&v.record->class->methods, sym_of(tx->syms, "__getitem__")))
        return NULL;
    const tc_value *shape = tc_record_field(v.record, sym_of(tx->syms, "shape"), NULL);
    const tc_value *type = tc_record_field(v.record, sym_of(tx->syms, "dtype"), NULL);
    if (!shape || (shape->kind != TC_TUPLE && shape->kind != TC_LIST) || shape->list->len > TM_MAX_RANK)
        return NULL;
    ir_tensor *info = ARENA_NEW(tx->arena, ir_tensor);
    info->space = IR_GLOBAL;
    info->rank = (int)shape->list->len;
    info->elem = v.record->elem ? v.record->elem : type && type->kind == TC_TYPE ? type->type : NULL;
    ir_var *base = ARENA_NEW(tx->arena, ir_var);
    base->name = "a node";
    base->tensor = info;
    tc_tensor *t = ARENA_NEW(tx->arena, tc_tensor);
    t->base = base;
    t->rank = info->rank;
    for (int i = 0; i < t->rank; i++) {
        if (!tc_is_index(shape->list->at[i]))
            return NULL;
        t->shape[i] = shape->list->at[i];
        t->dim_of[i] = i;
    }
    return t;
}

tc_value tc_node_of_type(tc *tx, tc_value v, const ir_type *elem)
{
    v.record = arena_dup(tx->arena, v.record, sizeof *v.record);
    v.record->born = tx->born;
    v.record->elem = elem;
    return v;
}

tc_value tc_node_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found)
{
    const tc_tensor *t = tc_node_tensor(tx, v);
    str n = sym_str(name);
    *found = t != NULL;
    if (t && str_equal(n, STR("rank")))
        return tc_of_int(t->rank);
    if (t && str_equal(n, STR("dtype")) && t->base->tensor->elem)
        return tc_type(t->base->tensor->elem);
    if (t && str_equal(n, STR("size"))) {
        tc_value size = tc_of_int(1);
        for (int i = 0; i < t->rank; i++)
            size = tc_binary(tx, AST_OP_MUL, size, t->shape[i], span);
        return size;
    }
    *found = false;
    return tc_poison();
}

// ---- records that stand for integers -------------------------------------------------------------------------------

bool tc_has_index(tc *tx, tc_value v)
{
    return v.kind == TC_RECORD && map_get_ptr(&v.record->class->methods, sym_of(tx->syms, "__index__"));
}

tc_value tc_record_as_index(tc *tx, tc_value v, src_span span)
{
    if (!tc_has_index(tx, v))
        return v;
    bool found = false;
    tc_value i = tc_record_dunder(tx, v, "__index__", NULL, 0, span, &found);
    if (tc_is_index(i) || tc_is_poison(i))
        return i;
    diag *d = tc_error(tx, HDS0113, span, tc_describe(tx, i));
    diag_help(d, "'__index__' of '%s' returns it", v.record->class->name->text);
    return tc_poison();
}

/* Note [interpretations]
 *
 * A definition says what an operator computes: elements of tensors, x[i, j], nodes, compute(shape, f), and reductions
 * over generators. with_handler(handler, f, …) elaborates f with other meanings of these: the methods load, compute,
 * reduce and convert of a record. A method that the handler does not have is looked for in the one around it; where
 * none has it, the meaning is the ordinary one.
 *
 * perform("name", f, …) makes any other function an effect: the handler's method of that name, or else f. Calls of
 * operators that have kernels of their own are such effects ("call").
 *
 * What is in force is the context's [env]. Elaboration of a definition and of its handler go back and forth: the
 * definition's generator calls the handler's reduce, which calls the generator's element, which loads, which calls the
 * handler's load. So functions remember what was in force where they were made (an element is under the handler
 * wherever the handler calls it), and a handler's method runs with what is around the handler; so do the functions and
 * records that it makes, such as nodes and indices. That is why "no interpretation" (tc_no_interpretation, remembered)
 * and "none so far" (NULL, which says nothing: a function made there is interpreted as its caller is) are two things.
 * Functions of modules are made where nothing is in force, so a definition may call any of them.
 *
 * CUDA functions and kernels are elaborated under no interpretation: their text is shared by all who call them.
 */
