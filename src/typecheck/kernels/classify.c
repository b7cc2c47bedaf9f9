// The kind of a function: a kernel, a host function, a test, an instruction, or none of these; by its decorators, its
// attributes and what it calls.
#include "typecheck/kernels/kernels.h"

#include <string.h>

static const ast_expr *head_of(const ast_expr *d)
{
    return d->kind == AST_CALL ? ((const ast_call *)d)->callee : d;
}

static const char *decorator_name(const ast_expr *d)
{
    const ast_expr *head = head_of(d);
    return head->kind == AST_NAME        ? ((const ast_name *)head)->name->text
           : head->kind == AST_ATTRIBUTE ? ((const ast_attribute *)head)->name->text
                                         : "";
}

static bool is_name(const ast_expr *e, const char *name)
{
    return e->kind == AST_NAME && strcmp(((const ast_name *)e)->name->text, name) == 0;
}

bool tc_is_marker(tc *tx, const tc_scope *scope, const ast_expr *d)
{
    (void)tx;
    const ast_expr *head = head_of(d);
    const char *name = decorator_name(d);
    bool has_name = strcmp(name, "script") == 0 || strcmp(name, "instruction") == 0 || strcmp(name, "test") == 0;
    const tc_binding *b = head->kind == AST_NAME ? tc_scope_find(scope, ((const ast_name *)head)->name) : NULL;
    return has_name && (!b || b->lazy_module || b->value.kind == TC_NATIVE || b->value.kind == TC_POISON);
}

static void unknown_decorator(tc *tx, const ast_expr *d)
{
    diag *e = tc_error(tx, HDS0220, d->span, decorator_name(d));
    diag_help(e, "decorators are @hidet.script, @hidet.graph, @instruction(…), @test, and functions that take the one below them");
}

static void classify_decorator(tc *tx, tc_function *f, const ast_expr *d)
{
    const char *name = decorator_name(d);
    if (!tc_is_marker(tx, f->closure, d)) {
        if (f->owner && !tc_is_property(f->decl)) // others have been called where the function was defined
            unknown_decorator(tx, d);
    } else if (strcmp(name, "script") == 0) {
        f->facts->is_script = true;
    } else if (strcmp(name, "instruction") == 0) {
        f->facts->is_instruction = true;
        if (!tc_instruction_decorator(tx, f, d->kind == AST_CALL ? (const ast_call *)d : NULL))
            f->facts->needs_run_time = true;
    } else {
        f->facts->is_test = true;
        f->facts->test_call = d->kind == AST_CALL ? (const ast_call *)d : NULL;
    }
}

// ---- decorators that are called ----------------------------------------------------------------------------------

static tc_value decorator_value(tc *tx, const ast_expr *d)
{
    const ast_expr *head = head_of(d);
    sym name = head->kind == AST_NAME ? ((const ast_name *)head)->name : NULL;
    bool is_hidet = head->kind == AST_ATTRIBUTE && is_name(((const ast_attribute *)head)->value, "hidet");
    bool is_unknown = (name && !tc_scope_find(tx->frame->scope, name)) ||
                      (is_hidet && strcmp(decorator_name(d), "graph") != 0);
    if (!is_unknown)
        return tc_eval(tx, d);
    unknown_decorator(tx, d);
    return tc_poison();
}

tc_value tc_decorated(tc *tx, tc_function *f)
{
    const ast_list *list = &f->decl->decorators;
    tc_value v = {.kind = TC_FUNCTION, .function = f};
    VEC(tc_value) decorators = {0};
    VEC(src_span) spans = {0};
    for (size_t i = 0; i < list->len; i++) {
        const ast_expr *d = list->at[i];
        if (!tc_is_marker(tx, tx->frame->scope, d)) {
            VEC_PUSH(tx->arena, &decorators, decorator_value(tx, d));
            VEC_PUSH(tx->arena, &spans, d->span);
        } else if (i + 1 < list->len && !tc_is_marker(tx, tx->frame->scope, list->at[i + 1])) {
            tc_error(tx, HDS0278, d->span, decorator_name(d));
            return tc_poison();
        }
    }
    for (size_t i = decorators.len; i-- > 0;)
        v = tc_is_poison(v) ? v : tc_call_values(tx, decorators.at[i], &v, 1, spans.at[i]);
    return v;
}

static bool launches(tc *tx, const tc_function *f);

// What a name of the function's surroundings, module.name, record.method or, in a method, self.field is; poison: something else.
static tc_value named(tc *tx, const tc_function *f, const ast_expr *e)
{
    if (e->kind == AST_ATTRIBUTE) {
        const ast_attribute *at = (const ast_attribute *)e;
        tc_value from = named(tx, f, at->value);
        bool found = false;
        if (from.kind == TC_RECORD) {
            const tc_value *field = tc_record_field(from.record, at->name, NULL);
            return field ? *field : tc_record_method(tx, from, at->name, &found);
        }
        return from.kind == TC_MODULE ? tc_attribute(tx, from, at->name, e->span, e->span) : tc_poison();
    }
    if (f->self && f->decl->params.len && e->kind == AST_NAME && ((const ast_name *)e)->name == f->decl->params.at[0].name)
        return *f->self;
    tc_binding *b = e->kind == AST_NAME ? tc_scope_find(f->closure, ((const ast_name *)e)->name) : NULL;
    if (!b)
        return tc_poison();
    return b->lazy_module ? tc_binding_value(tx, b, e->span) : b->value;
}

static bool expr_launches(tc *tx, const tc_function *f, const ast_expr *e)
{
    if (e && e->kind == AST_IF_EXPR) {
        const ast_if_expr *either = (const ast_if_expr *)e;
        return expr_launches(tx, f, either->then) || expr_launches(tx, f, either->or_else);
    }
    if (!e || e->kind != AST_CALL)
        return false;
    const ast_expr *callee = ((const ast_call *)e)->callee;
    if (callee->kind == AST_SUBSCRIPT)
        callee = ((const ast_subscript *)callee)->value;
    tc_value v = named(tx, f, callee);
    if (v.kind == TC_NATIVE)
        return strcmp(v.native->name, "tensor") == 0 || strcmp(v.native->name, "launch_once") == 0;
    if (v.kind != TC_FUNCTION)
        return false;
    tc_function_classify(tx, v.function);
    return v.function->facts->is_kernel || launches(tx, v.function);
}

static bool calls_kernel(tc *tx, const tc_function *f, const ast_list *body)
{
    for (size_t i = 0; i < body->len; i++) {
        const ast_stmt *s = body->at[i];
        bool hit = false;
        switch (s->kind) {
        case AST_EXPR_STMT:
            hit = expr_launches(tx, f, ((const ast_expr_stmt *)s)->value);
            break;
        case AST_ASSIGN:
            hit = expr_launches(tx, f, ((const ast_assign *)s)->value);
            break;
        case AST_FUNCTION: // which is called, if not by name
            hit = calls_kernel(tx, f, &((const ast_function *)s)->body);
            break;
        case AST_FOR:
            hit = calls_kernel(tx, f, &((const ast_for *)s)->body);
            break;
        case AST_WHILE:
            hit = calls_kernel(tx, f, &((const ast_while *)s)->body);
            break;
        case AST_IF:
            hit = calls_kernel(tx, f, &((const ast_if *)s)->body) ||
                  calls_kernel(tx, f, &((const ast_if *)s)->or_else);
            break;
        default:
            break;
        }
        if (hit)
            return true;
    }
    return false;
}

// Whether it launches a kernel or allocates, itself or by what it calls.
static bool launches(tc *tx, const tc_function *f)
{
    tc_function_facts *facts = f->facts;
    if (!facts->launches_known && f->decl) {
        facts->launches_known = true; // a function that calls itself does not find out by that
        facts->launches = calls_kernel(tx, f, &f->decl->body);
    }
    return facts->launches;
}

void tc_function_classify(tc *tx, tc_function *f)
{
    tc_function_facts *facts = f->facts;
    if (facts->decorators_done || !f->decl)
        return;
    facts->decorators_done = true;
    tc_frame frame = {.caller = NULL, .scope = f->closure}, *saved = tx->frame;
    tx->frame = &frame;
    for (size_t i = 0; i < f->decl->decorators.len; i++)
        classify_decorator(tx, f, f->decl->decorators.at[i]);
    tc_attribute_value(tx, &f->decl->body, TC_ATTR_GRID, &facts->has_grid);
    tc_attribute_value(tx, &f->decl->body, TC_ATTR_BLOCK, &facts->has_block);
    bool has_kind = false;
    const ast_expr *kind = tc_attribute_value(tx, &f->decl->body, TC_ATTR_KIND, &has_kind);
    bool says_host = kind && kind->kind == AST_STRING &&
                     (str_equal(((const ast_string *)kind)->value, STR("public")) ||
                      str_equal(((const ast_string *)kind)->value, STR("host")));
    facts->is_kernel = facts->has_grid || facts->has_block;
    facts->is_host = !facts->is_kernel && (says_host || (facts->is_script && launches(tx, f)));
    tx->frame = saved;
}
