// Expressions: one function per kind of node; names, f-strings, displays, comprehensions, calls.
#include "typecheck/eval/eval.h"
#include "typecheck/eval/reference.h"
#include "typecheck/values/text.h"

#include <string.h>

enum { DEEPEST = 3000 }; // nested expressions and statements over all active calls, a guard for the C stack

// A function of a kind of node: what it needs of the stack, others do not.
#define NODE __attribute__((noinline))

// ---- names -------------------------------------------------------------------------------------------------------

static tc_value maybe_undefined(tc *tx, const tc_binding *b, src_span span)
{
    diag *d = tc_error(tx, HDS0131, span, b->name->text);
    if (b->other.begin)
        diag_label(d, b->other, b->differs ? "one of its values" : "assigned only here");
    diag_help(
        d,
        b->differs
            ? "the branches give it values of different types; numbers of one type can be chosen while the program runs"
            : "assign it before, or in every branch");
    return tc_poison();
}

tc_value tc_binding_value(tc *tx, tc_binding *b, src_span span)
{
    if (b->lazy_module) {
        tc_module *m = b->lazy_module;
        b->value = b->lazy_name ? tc_module_attribute(tx, m, b->lazy_name, span, NULL)
                                : (tc_value){.kind = TC_MODULE, .module = m};
        b->lazy_module = NULL;
    }
    if (b->state == TC_MAYBE_UNDEFINED)
        return maybe_undefined(tx, b, span);
    return b->value;
}

static bool has_run_time_part(tc_value v)
{
    return !tc_is_compile_time(v);
}

// The library's modules whose functions kernels call by name, the likelier ones first.
static const char *const LIBRARY[] = {"cuda",   "math",       "warp", "block", "atomic",
                                      "memory", "async_copy", "mma",  "bits",  "fast"};

// The module of the library that defines the public name [name], or NULL.
static const char *library_module_of(tc *tx, const char *name)
{
    sym wanted = sym_of(tx->syms, name);
    const char *found = NULL;
    bool muted = tx->diags->muted;
    int errors = tx->diags->error_count;
    tx->diags->muted = true; // the name may be missing in the library itself, which is being loaded then
    for (size_t i = 0; !found && i < sizeof LIBRARY / sizeof *LIBRARY; i++) {
        const char *path = arena_printf(tx->arena, "hidet.lang.%s", LIBRARY[i]);
        tc_module *m = tc_module_load(tx, path, 0, NULL, (src_span){0});
        const tc_binding *b = m ? tc_scope_find_here(m->scope, wanted) : NULL;
        if (b && !b->lazy_module && b->value.kind == TC_FUNCTION && b->value.function->module == m)
            found = path;
    }
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
    return found;
}

// Says where an undefined name, or CUDA's spelling of it ('expf', 'atomicAdd', '__syncthreads'), is to be had.
static bool suggest_import(tc *tx, diag *d, sym name)
{
    size_t skip = strspn(name->text, "_");
    char *plain = arena_strdup(tx->arena, name->text + skip);
    const char *path = skip == 1 ? NULL : library_module_of(tx, plain);
    size_t len = strlen(plain);
    if (!path && !skip && len > 6 && strncmp(plain, "atomic", 6) == 0) {
        plain += 6;
        plain[0] |= 0x20;
        path = library_module_of(tx, plain);
    } else if (!path && skip != 1 && len > 2 && plain[len - 1] == 'f') {
        plain[len - 1] = '\0';
        path = library_module_of(tx, plain);
    }
    if (path)
        diag_help(d, "write 'from %s import %s'", path, plain);
    return path != NULL;
}

static NODE tc_value undefined(tc *tx, sym name, src_span span)
{
    diag *d = tc_error(tx, HDS0130, span, name->text);
    const char *close = tc_scope_suggest(tx->frame ? tx->frame->scope : tx->natives, sym_str(name));
    if (suggest_import(tx, d, name))
        return tc_poison();
    if (close) {
        diag_help(d, "did you mean '%s'?", close);
        diag_fix(d, span, close);
    }
    return tc_poison();
}

tc_value tc_lookup(tc *tx, sym name, src_span span)
{
    tc_binding *b = tc_scope_find(tx->frame ? tx->frame->scope : tx->natives, name);
    if (!b)
        return undefined(tx, name, span);
    bool is_settled = !b->lazy_module && b->state == TC_BOUND;
    if (is_settled && b->value.kind < TC_TUPLE)
        return b->value; // it has no parts
    tc_value v = is_settled ? b->value : tc_binding_value(tx, b, span);
    if (v.kind < TC_TUPLE)
        return v;
    bool is_strict = tx->frame && tx->frame->compile_time && tx->speculating;
    // Containers and records are looked through only where it matters.
    if (v.kind != TC_RT && b->owner == tx->func && !is_strict)
        return v;
    if (!has_run_time_part(v))
        return v;
    if (b->owner != tx->func)
        return tc_capture(tx, b, span);
    if (tx->frame && tx->frame->compile_time && tc_wants_run_time(tx))
        return tc_poison();
    if (v.kind == TC_RT && b->var)
        return tc_rt(ir_read(tx->ir, b->var, span));
    return v;
}

// ---- literals and text -------------------------------------------------------------------------------------------

static tc_value eval_int(tc *tx, const ast_int *e)
{
    if (e->too_large)
        return TC_ERR(tx, HDS0120, e->node.span);
    return tc_of_int((tc_int)e->value); // at most 127 bits
}

static NODE tc_value eval_fstring(tc *tx, const ast_fstring *e)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    for (size_t i = 0; i < e->parts.len; i++) {
        const ast_fstring_part *p = &e->parts.at[i];
        if (!p->value) {
            str_add(&b, p->literal);
            continue;
        }
        tc_value v = tc_eval(tx, p->value);
        if (tc_is_poison(v))
            return v;
        if (!tc_is_compile_time(v) && v.kind != TC_TENSOR && v.kind != TC_RECORD)
            return TC_ERR(tx, HDS0132, p->value->span, tc_describe(tx, v));
        if (p->debug)
            str_adds(&b, p->debug);
        char conversion = p->debug && !p->conversion && !p->spec ? 'r' : (char)p->conversion;
        if (conversion)
            v = tc_converted(tx, v, conversion);
        tc_value spec = p->spec ? tc_eval(tx, p->spec) : tc_str(STR(""));
        if (spec.kind != TC_STR)
            return tc_poison();
        tc_value text = tc_format_spec(tx, v, spec.s, p->value->span);
        if (text.kind != TC_STR)
            return tc_poison();
        str_add(&b, text.s);
    }
    return tc_str((str){str_text(&b), b.len});
}

// ---- logic: the right side is looked at only if the left does not decide -----------------------------------------

// Evaluates [e] into a block of its own. *[block] gets the statements it needed.
static tc_value eval_aside(tc *tx, const ast_expr *e, ir_block *block)
{
    ir_block *saved = tx->block;
    *block = (ir_block){0};
    tx->block = block;
    int region = tc_region_enter(tx);
    tc_value v = tc_eval(tx, e);
    tc_region_leave(tx);
    tx->block = saved;
    tc_close_region(tx, region, e->span);
    return v;
}

static tc_value logical_rt(tc *tx, ast_op op, tc_value left, const ast_expr *right, src_span span)
{
    ir_expr *a = tc_condition(tx, left, span);
    if (!a)
        return tc_poison();
    ir_block aside;
    tc_value r = eval_aside(tx, right, &aside);
    if (tc_is_poison(r))
        return r;
    ir_block *saved = tx->block;
    tx->block = &aside;
    ir_expr *b = tc_condition(tx, r, right->span);
    tx->block = saved;
    if (!b)
        return tc_poison();
    if (aside.stmts.len == 0)
        return tc_rt(ir_binary(tx->ir, op == AST_OP_LOGICAL_AND ? IR_OP_LAND : IR_OP_LOR, a, b, span));
    ir_var *result = tc_declare(tx, "holds", ir_scalar(tx->ir, DT_BOOL), a, span);
    ir_stmt *branch = tc_new_stmt(tx, IR_IF, span);
    ir_expr *value = ir_read(tx->ir, result, span);
    branch->value = op == AST_OP_LOGICAL_AND ? value : ir_unary(tx->ir, IR_OP_NOT, value, span);
    branch->body = aside;
    tx->block = &branch->body;
    tc_assign_var(tx, result, b, span);
    tx->block = saved;
    tc_emit(tx, branch);
    return tc_rt(ir_read(tx->ir, result, span));
}

static NODE tc_value eval_logical(tc *tx, const ast_logical *e)
{
    tc_value left = tc_eval(tx, e->operands.at[0]);
    for (size_t i = 1; i < e->operands.len && !tc_is_poison(left); i++) {
        bool truth;
        tc_value decides = left;
        if (tc_truth_of(tx, &decides, e->operands.at[i - 1]->span, &truth)) {
            if (truth == (e->op == AST_OP_LOGICAL_OR))
                return left;
            left = tc_eval(tx, e->operands.at[i]);
        } else {
            left = logical_rt(tx, e->op, decides, e->operands.at[i], e->node.span);
        }
    }
    return left;
}

static NODE tc_value eval_compare(tc *tx, const ast_compare *e)
{
    tc_value left = tc_eval(tx, e->operands.at[0]);
    tc_value all = tc_bool(true);
    for (size_t i = 0; i < e->ops.len; i++) {
        size_t mark = tx->block ? tx->block->stmts.len : 0;
        tc_value right = tc_eval(tx, e->operands.at[i + 1]);
        if (tc_is_poison(left) || tc_is_poison(right))
            return tc_poison();
        size_t before = tx->block ? tx->block->stmts.len : 0;
        all = tc_keep_before(tx, all, mark, e->node.span);
        mark += tx->block ? tx->block->stmts.len - before : 0;
        left = tc_keep_before(tx, left, mark, e->node.span);
        if (i + 1 < e->ops.len)
            right = tc_freeze(tx, right, e->node.span);
        tc_value holds = tc_compare(tx, e->ops.at[i], left, right, e->node.span);
        if (tc_is_poison(holds) || e->ops.len == 1)
            return holds;
        bool truth;
        tc_value decides = holds;
        if (tc_truth_of(tx, &decides, e->node.span, &truth)) {
            if (!truth)
                return all.kind == TC_RT ? tc_bool(false) : holds;
            all = all.kind == TC_RT ? all : holds;
        } else {
            ir_expr *c = tc_condition(tx, decides, e->node.span);
            if (!c)
                return tc_poison();
            all = all.kind == TC_RT ? tc_rt(ir_binary(tx->ir, IR_OP_LAND, all.rt, c, e->node.span)) : tc_rt(c);
        }
        left = right;
    }
    return all;
}

static bool same_type(tc *tx, tc_value a, tc_value b, const ir_type **out)
{
    const ir_type *ta = tc_default_type(tx, a), *tb = tc_default_type(tx, b);
    if (!ta || !tb)
        return false;
    if (ta == tb) {
        *out = ta;
        return true;
    }
    if (ta->kind != IR_SCALAR || tb->kind != IR_SCALAR)
        return false;
    // Literals adapt to the other arm; otherwise the common type of arithmetic.
    if (a.kind != TC_RT && b.kind == TC_RT && (dt_is_float(tb->scalar) || a.kind != TC_FLOAT))
        *out = tb;
    else if (b.kind != TC_RT && a.kind == TC_RT && (dt_is_float(ta->scalar) || b.kind != TC_FLOAT))
        *out = ta;
    else {
        dtype t = dt_promote(ta->scalar, tb->scalar);
        *out = ir_scalar(tx->ir, t);
        return t != DT_NONE;
    }
    return true;
}

static NODE tc_value eval_if_expr(tc *tx, const ast_if_expr *e)
{
    tc_value c = tc_eval(tx, e->condition);
    if (tc_is_poison(c))
        return c;
    bool truth;
    if (tc_truth_of(tx, &c, e->condition->span, &truth))
        return tc_eval(tx, truth ? e->then : e->or_else);
    ir_expr *condition = tc_open_decides(tx, c, e->condition->span, "branch") ? NULL : tc_condition(tx, c, e->condition->span);
    if (!condition)
        return tc_poison();
    ir_block then_block, else_block;
    tc_value a = eval_aside(tx, e->then, &then_block), b = eval_aside(tx, e->or_else, &else_block);
    if (tc_is_poison(a) || tc_is_poison(b))
        return tc_poison();
    const ir_type *t;
    if (!same_type(tx, a, b, &t)) {
        diag *d = tc_error(tx, HDS0133, e->node.span, tc_describe(tx, a), tc_describe(tx, b));
        diag_help(d, "only numbers, vectors and pointers are chosen while the program runs");
        return tc_poison();
    }
    ir_block *saved = tx->block;
    tx->block = &then_block;
    ir_expr *x = tc_convert(tx, a, t, e->then->span, "value");
    tx->block = &else_block;
    ir_expr *y = tc_convert(tx, b, t, e->or_else->span, "value");
    tx->block = saved;
    if (!x || !y)
        return tc_poison();
    if (!then_block.stmts.len && !else_block.stmts.len)
        return tc_rt(ir_select(tx->ir, condition, x, y, e->node.span));
    ir_var *result = tc_declare(tx, "chosen", t, NULL, e->node.span);
    ir_stmt *branch = tc_new_stmt(tx, IR_IF, e->node.span);
    branch->value = condition;
    branch->body = then_block;
    branch->or_else = else_block;
    tx->block = &branch->body;
    tc_assign_var(tx, result, x, e->then->span);
    tx->block = &branch->or_else;
    tc_assign_var(tx, result, y, e->or_else->span);
    tx->block = saved;
    tc_emit(tx, branch);
    return tc_rt(ir_read(tx->ir, result, e->node.span));
}

static NODE tc_value eval_binary(tc *tx, const ast_binary *e)
{
    tc_value a = tc_eval(tx, e->left);
    size_t mark = tx->block ? tx->block->stmts.len : 0;
    tc_value b = tc_eval(tx, e->right);
    a = tc_keep_before(tx, a, mark, e->left->span);
    return tc_binary(tx, e->op, a, b, e->node.span);
}

static NODE tc_value eval_unary(tc *tx, const ast_unary *e)
{
    if (e->op == AST_OP_INVERT && e->operand->kind == AST_SUBSCRIPT) {
        const ast_subscript *s = AST_AS(SUBSCRIPT, subscript, e->operand);
        tc_value base = tc_eval(tx, s->value);
        if (base.kind == TC_TENSOR) {
            tc_list items = {0};
            if (!tc_eval_items(tx, &s->items, &items))
                return tc_poison();
            if (items.len == 1 && items.at[0].kind == TC_TUPLE)
                items = *items.at[0].list;
            return tc_tensor_address(tx, base.tensor, items.at, items.len, e->node.span);
        }
        if (base.kind == TC_RT && base.rt->type->kind == IR_POINTER && s->items.len == 1)
            return tc_binary(tx, AST_OP_ADD, base, tc_eval(tx, s->items.at[0]), e->node.span);
        return tc_unary(tx, e->op, tc_index(tx, base, s), e->node.span);
    }
    return tc_unary(tx, e->op, tc_eval(tx, e->operand), e->node.span);
}

// ---- displays and comprehensions ---------------------------------------------------------------------------------

// Items that the statements after [mark] could change are stored before them.
static void keep_items_before(tc *tx, tc_list *items, size_t mark, src_span span)
{
    for (size_t i = 0; tx->block && tx->block->stmts.len > mark && i < items->len; i++) {
        size_t before = tx->block->stmts.len;
        tc_list_set(items, i, tc_keep_before(tx, items->at[i], mark, span));
        mark += tx->block->stmts.len - before;
    }
}

bool tc_eval_items(tc *tx, const ast_list *items, tc_list *out)
{
    VEC_RESERVE(tx->arena, out, out->len + items->len);
    for (size_t i = 0; i < items->len; i++) {
        const ast_node *item = items->at[i];
        if (item->kind == AST_STARRED) {
            tc_value v = tc_eval(tx, AST_AS(STARRED, starred, item)->value);
            if (!tc_iterate(tx, v, item->span, out))
                return false;
            continue;
        }
        size_t mark = tx->block ? tx->block->stmts.len : 0;
        tc_value v = tc_eval(tx, item);
        if (tc_is_poison(v))
            return false;
        keep_items_before(tx, out, mark, item->span);
        tc_list_push(tx, out, v);
    }
    return true;
}

static NODE tc_value eval_sequence(tc *tx, const ast_sequence *e, tc_kind kind)
{
    tc_value r = tc_list_new(tx, kind, NULL, 0);
    tc_list items = {0};
    if (!tc_eval_items(tx, &e->items, &items))
        return tc_poison();
    for (size_t i = 0; kind == TC_LIST && i < items.len; i++)
        items.at[i] = tc_freeze(tx, items.at[i], e->node.span);
    if (kind != TC_SET) {
        r.list->at = items.at;
        r.list->len = items.len;
        r.list->cap = items.cap;
        r.list->depth = items.depth;
        r.list->weight = items.weight;
        return r;
    }
    for (size_t i = 0; i < items.len; i++) {
        size_t at = r.list->len;
        if (!tc_find_item(tx, r.list, items.at[i], &at))
            return tc_poison();
        if (at == r.list->len)
            tc_list_push(tx, r.list, items.at[i]);
    }
    return r;
}

static NODE tc_value eval_dict(tc *tx, const ast_dict *e)
{
    tc_value r = tc_dict_new(tx);
    for (size_t i = 0; i < e->items.len; i++) {
        const ast_expr *key_expr = e->items.at[i].key, *value = e->items.at[i].value;
        tc_value key = key_expr ? tc_eval(tx, key_expr) : tc_none(), v = tc_is_poison(key) ? key : tc_eval(tx, value);
        if (tc_is_poison(v))
            return v;
        v = tc_freeze(tx, v, value->span);
        if (!key_expr) {
            if (v.kind != TC_DICT)
                return TC_ERR(tx, HDS0134, value->span, tc_describe(tx, v));
            for (size_t j = 0; j < v.dict->keys.len; j++)
                tc_dict_put(tx, r.dict, v.dict->keys.at[j], v.dict->values.at[j]);
            continue;
        }
        if (!tc_is_compile_time(key))
            return TC_ERR(tx, HDS0135, key_expr->span, tc_describe(tx, key));
        tc_dict_put(tx, r.dict, key, v);
    }
    return r;
}

static bool comprehend(tc *tx, const ast_comprehension *e, size_t clause, tc_value into);

// One iteration of the loop of that clause.
static bool comprehend_item(tc *tx, const ast_comprehension *e, size_t clause, tc_value item, tc_value into)
{
    const ast_comp_for *c = &e->clauses.at[clause];
    if (!tc_step(tx, e->node.span) || !tc_next_item(tx, c->target, item, c->target->span))
        return false;
    bool keep = true;
    for (size_t k = 0; k < c->conditions.len && keep; k++) {
        tc_value v = tc_eval(tx, c->conditions.at[k]);
        if (tc_is_poison(v))
            return false;
        if (!tc_truth_of(tx, &v, c->conditions.at[k]->span, &keep)) {
            tc_error(tx, HDS0136, c->conditions.at[k]->span, tc_describe(tx, v));
            return false;
        }
    }
    return !keep || comprehend(tx, e, clause + 1, into);
}

// Number by number: an attempt that ends at the first one has not made a list of the others.
static bool comprehend_range(tc *tx, const ast_comprehension *e, size_t clause, const tc_range *r, tc_value into)
{
    tc_int at = r->start;
    for (tc_int n = tc_range_len(r); n > 0; n--) {
        if (!comprehend_item(tx, e, clause, tc_of_int(at), into))
            return false;
        at += n > 1 ? r->step : 0;
    }
    return true;
}

static bool comprehend(tc *tx, const ast_comprehension *e, size_t clause, tc_value into)
{
    if (clause == e->clauses.len) {
        tc_value key = e->key ? tc_eval(tx, e->key) : tc_none(), v = tc_is_poison(key) ? key : tc_eval(tx, e->element);
        if (tc_is_poison(v))
            return false;
        if (tx->frame->compile_time && !tc_is_compile_time(v) && tc_wants_run_time(tx))
            return false;
        if (!e->key) {
            size_t at = into.list->len;
            if (into.kind == TC_SET && !tc_spend(tx, (int64_t)into.list->len / 8, e->element->span))
                return false;
            if (into.kind == TC_SET && !tc_find_item(tx, into.list, v, &at))
                return false;
            if (at == into.list->len)
                tc_list_push(tx, into.list, e == tx->references ? v : tc_freeze(tx, v, e->element->span));
            return true;
        }
        if (!tc_spend(tx, (int64_t)into.dict->keys.len / 8, e->element->span))
            return false;
        tc_dict_put(tx, into.dict, key, tc_freeze(tx, v, e->element->span));
        return true;
    }
    const ast_comp_for *c = &e->clauses.at[clause];
    tc_value iterable = tc_iterable(tx, tc_eval(tx, c->iterable), c->iterable->span);
    if (iterable.kind == TC_RANGE && !iterable.range->bounds[0])
        return comprehend_range(tx, e, clause, iterable.range, into);
    tc_walk walk;
    tc_value item;
    if (tc_is_poison(iterable) || !tc_walk_begin(tx, &walk, iterable, c->iterable->span))
        return false;
    while (tc_walk_next(tx, &walk, &item))
        if (!comprehend_item(tx, e, clause, item, into))
            return false;
    return !walk.failed;
}

tc_value tc_comprehension(tc *tx, const ast_comprehension *e)
{
    tc_value into =
        e->key ? tc_dict_new(tx) : tc_list_new(tx, e->node.kind == AST_SET_COMP ? TC_SET : TC_LIST, NULL, 0);
    tc_scope *saved = tx->frame->scope;
    tx->frame->scope = tc_scope_new(tx, saved, saved->module, TC_SCOPE_FUNCTION);
    tx->frame->scope->is_comprehension = true;
    bool ok = comprehend(tx, e, 0, into);
    tx->frame->scope = saved;
    return ok ? into : tc_poison();
}

static NODE tc_value eval_lambda(tc *tx, const ast_lambda *e)
{
    tc_function *f = ARENA_NEW(tx->arena, tc_function);
    f->id = tx->next_id++;
    f->lambda = e;
    f->module = tx->frame->scope->module;
    f->closure = tx->frame->scope;
    f->env = tx->env;
    f->facts = ARENA_NEW(tx->arena, tc_function_facts);
    f->facts->needs_run_time = map_get_ptr(&tx->run_time_lambdas, e);
    tc_function_defaults(tx, f);
    return (tc_value){.kind = TC_FUNCTION, .function = f};
}

// ---- calls -------------------------------------------------------------------------------------------------------

static bool eval_star(tc *tx, const ast_arg *a, tc_args *out)
{
    tc_value v = tc_eval(tx, a->value);
    if (tc_is_poison(v))
        return false;
    if (a->kind == AST_ARG_STAR) {
        tc_list items = {0};
        if (!tc_iterate(tx, v, a->span, &items))
            return false;
        for (size_t i = 0; i < items.len; i++)
            VEC_PUSH(tx->arena, &out->list, ((tc_arg){.name = NULL, .value = items.at[i], .span = a->span}));
        return true;
    }
    if (v.kind != TC_DICT) {
        tc_error(tx, HDS0134, a->span, tc_describe(tx, v));
        return false;
    }
    for (size_t i = 0; i < v.dict->keys.len; i++) {
        if (v.dict->keys.at[i].kind != TC_STR) {
            tc_error(tx, HDS0135, a->span, tc_describe(tx, v.dict->keys.at[i]));
            return false;
        }
        VEC_PUSH(tx->arena, &out->list,
                 ((tc_arg){.name = sym_intern(tx->syms, v.dict->keys.at[i].s), .value = v.dict->values.at[i], .span = a->span}));
    }
    return true;
}

// Arguments before number [end] that the statements after [mark] could change are stored before these. [references]: a bit for
// each argument by reference.
static void keep_args_before(tc *tx, tc_args *args, size_t end, uint64_t references, size_t mark)
{
    for (size_t i = 0; tx->block && tx->block->stmts.len > mark && i < end; i++) {
        size_t before = tx->block->stmts.len;
        if (i < 64 && references >> i & 1)
            continue;
        args->list.at[i].value = tc_keep_before(tx, args->list.at[i].value, mark, args->list.at[i].span);
        mark += tx->block->stmts.len - before;
    }
}

static bool eval_args(tc *tx, tc_value callee, const ast_call *e, tc_args *out)
{
    bool ok = true;
    uint64_t references = 0;
    bool may_refer = callee.kind == TC_FUNCTION || callee.kind == TC_NATIVE;
    if (e->args.len) {
        out->list.at = arena_raw(tx->arena, e->args.len * sizeof *out->list.at);
        out->list.cap = e->args.len;
    }
    for (size_t i = 0; i < e->args.len; i++) {
        const ast_arg *a = &e->args.at[i];
        size_t mark = tx->block ? tx->block->stmts.len : 0, count = out->list.len;
        if (a->kind != AST_ARG_PLAIN) {
            ok &= eval_star(tx, a, out);
        } else {
            bool by_reference = may_refer && tc_takes_reference(tx, callee, e, i);
            if (by_reference && count < 64)
                references |= UINT64_C(1) << count;
            tc_value v = by_reference ? tc_eval_reference(tx, a->value) : tc_eval(tx, a->value);
            VEC_PUSH(tx->arena, &out->list, ((tc_arg){.name = a->name, .value = v, .span = a->span}));
        }
        keep_args_before(tx, out, count, references, mark);
        for (size_t k = count; k < out->list.len; k++)
            ok &= !tc_is_poison(out->list.at[k].value);
    }
    return ok;
}

static NODE tc_value eval_call(tc *tx, const ast_call *e)
{
    tc_value callee = tc_eval(tx, e->callee);
    if (tc_is_poison(callee))
        return callee;
    tc_value reduced;
    if (tc_reduce_call(tx, callee, e, &reduced))
        return reduced;
    tc_args args = {.span = e->node.span};
    if (!eval_args(tx, callee, e, &args))
        return tc_poison();
    return tc_call(tx, callee, &args);
}

static NODE tc_value eval_attribute(tc *tx, const ast_attribute *e)
{
    tc_value v = tc_eval(tx, e->value);
    return tc_is_poison(v) ? v : tc_attribute(tx, v, e->name, e->name_span, e->value->span);
}

static NODE tc_value eval_walrus(tc *tx, const ast_walrus *e)
{
    tc_value v = tc_eval(tx, e->value);
    if (tc_is_poison(v))
        return v;
    tc_scope *saved = tx->frame->scope, *around = saved;
    while (around->is_comprehension)
        around = around->parent;
    tx->frame->scope = around;
    tc_bind_local(tx, e->name, v, e->node.span);
    tc_value bound = tc_lookup(tx, e->name, e->node.span);
    tx->frame->scope = saved;
    return bound;
}

static tc_value eval_float(tc *tx, const ast_float *e)
{
    return e->imaginary ? TC_ERR(tx, HDS0145, e->node.span) : tc_float(e->value);
}

static tc_value eval_string(tc *tx, const ast_string *e)
{
    return e->is_bytes ? TC_ERR(tx, HDS0324, e->node.span) : tc_str(e->value);
}

static NODE tc_value eval_subscript(tc *tx, const ast_subscript *e)
{
    return tc_index(tx, tc_eval(tx, e->value), e);
}

static tc_value eval_node(tc *tx, const ast_expr *e)
{
    switch (e->kind) {
    case AST_INT:
        return eval_int(tx, AST_AS(INT, int, e));
    case AST_FLOAT:
        return eval_float(tx, AST_AS(FLOAT, float, e));
    case AST_STRING:
        return eval_string(tx, AST_AS(STRING, string, e));
    case AST_FSTRING:
        return eval_fstring(tx, AST_AS(FSTRING, fstring, e));
    case AST_TRUE:
        return tc_bool(true);
    case AST_FALSE:
        return tc_bool(false);
    case AST_NONE:
        return tc_none();
    case AST_ELLIPSIS:
        return (tc_value){.kind = TC_ELLIPSIS};
    case AST_UNARY:
        return eval_unary(tx, AST_AS(UNARY, unary, e));
    case AST_BINARY:
        return eval_binary(tx, AST_AS(BINARY, binary, e));
    case AST_LOGICAL:
        return eval_logical(tx, AST_AS(LOGICAL, logical, e));
    case AST_COMPARE:
        return eval_compare(tx, AST_AS(COMPARE, compare, e));
    case AST_IF_EXPR:
        return eval_if_expr(tx, AST_AS(IF_EXPR, if_expr, e));
    case AST_LAMBDA:
        return eval_lambda(tx, AST_AS(LAMBDA, lambda, e));
    case AST_CALL:
        return eval_call(tx, AST_AS(CALL, call, e));
    case AST_ATTRIBUTE:
        return eval_attribute(tx, AST_AS(ATTRIBUTE, attribute, e));
    case AST_SUBSCRIPT:
        return eval_subscript(tx, AST_AS(SUBSCRIPT, subscript, e));
    case AST_TUPLE:
        return eval_sequence(tx, AST_AS(TUPLE, sequence, e), TC_TUPLE);
    case AST_LIST:
        return eval_sequence(tx, AST_AS(LIST, sequence, e), TC_LIST);
    case AST_SET:
        return eval_sequence(tx, AST_AS(SET, sequence, e), TC_SET);
    case AST_DICT:
        return eval_dict(tx, AST_AS(DICT, dict, e));
    case AST_LIST_COMP:
    case AST_SET_COMP:
    case AST_GENERATOR:
    case AST_DICT_COMP:
        return tc_comprehension(tx, (const ast_comprehension *)e);
    case AST_WALRUS:
        return eval_walrus(tx, AST_AS(WALRUS, walrus, e));
    case AST_SLICE:
    case AST_STARRED:
        return TC_ERR(tx, HDS0146, e->span);
    default:
        return tc_poison();
    }
}

// Nothing that is too large, or too deep to be walked recursively, is gone on with.
static NODE tc_value checked(tc *tx, tc_value v, src_span span)
{
    if (tc_depth(v) > TC_MAX_DEPTH)
        return tc_too_deep(tx, span);
    if (tc_weight(v) > MAX_ITEMS || (v.kind == TC_STR && v.s.len > MAX_TEXT))
        return TC_ERR(tx, HDS0123, span);
    return v;
}

// Whether it is neither for sure.
static inline bool is_modest(tc_value v)
{
    if (v.kind == TC_TUPLE || v.kind == TC_LIST || v.kind == TC_SET)
        return v.list->depth < TC_MAX_DEPTH && v.list->weight < MAX_ITEMS;
    if (v.kind == TC_STR)
        return v.s.len <= MAX_TEXT;
    return v.kind == TC_RECORD ? v.record->depth < TC_MAX_DEPTH : v.kind != TC_DICT;
}

static tc_value eval_name(tc *tx, const ast_name *e)
{
    tc_value v = tc_lookup(tx, e->name, e->node.span);
    return is_modest(v) ? v : checked(tx, v, e->node.span);
}

static tc_value eval_nested(tc *tx, const ast_expr *e)
{
    if (tx->eval_depth >= DEEPEST) {
        tc_error(tx, HDS0102, e->span);
        tx->aborted = true;
        return tc_poison();
    }
    tx->eval_depth++;
    tc_value v = eval_node(tx, e);
    tx->last_span = e->span;
    tx->eval_depth--;
    return is_modest(v) ? v : checked(tx, v, e->span);
}

// The functions that it ends with make the value where the caller wants it.
tc_value tc_eval(tc *tx, const ast_expr *e)
{
    if (tx->needs_run_time || !tc_step(tx, e->span))
        return tc_poison();
    tx->last_span = e->span;
    // Names are most of what is evaluated, and need nothing of what other nodes keep.
    return e->kind == AST_NAME ? eval_name(tx, (const ast_name *)e) : eval_nested(tx, e);
}
