// What kind of function it is: a kernel, a host function, a test, an instruction, or none of these; by its decorators, its
// attributes and what it calls.
#include "typecheck/kernel_priv.h"

#include <string.h>

static void classify_decorator(tc *tx, tc_function *f, const ast_expr *d)
{
    const ast_expr *head = d->kind == AST_CALL ? ((const ast_call *)d)->callee : d;
    const char *name = head->kind == AST_NAME        ? ((const ast_name *)head)->name->text
                       : head->kind == AST_ATTRIBUTE ? ((const ast_attribute *)head)->name->text
                                                     : "";
    if (strcmp(name, "script") == 0) {
        f->facts->is_script = true;
    } else if (strcmp(name, "instruction") == 0) {
        f->facts->is_instruction = true;
        if (!tc_instruction_decorator(tx, f, d->kind == AST_CALL ? (const ast_call *)d : NULL))
            f->facts->needs_run_time = true;
    } else if (strcmp(name, "test") == 0) {
        f->facts->is_test = true;
        f->facts->test_call = d->kind == AST_CALL ? (const ast_call *)d : NULL;
    } else {
        diag *e = tc_error(tx, HDS0220, d->span, name);
        diag_help(e, "decorators are @hidet.script, @instruction(…) and @test");
    }
}

static bool launches(tc *tx, const tc_function *f);

// What a name of the function's surroundings, or module.name, is; poison: something else.
static tc_value named(tc *tx, const tc_function *f, const ast_expr *e)
{
    if (e->kind == AST_ATTRIBUTE) {
        const ast_attribute *at = (const ast_attribute *)e;
        tc_value from = named(tx, f, at->value);
        return from.kind == TC_MODULE ? tc_attribute(tx, from, at->name, e->span, e->span) : tc_poison();
    }
    tc_binding *b = e->kind == AST_NAME ? tc_scope_find(f->closure, ((const ast_name *)e)->name, NULL) : NULL;
    if (!b)
        return tc_poison();
    return b->lazy_module ? tc_binding_value(tx, b, e->span) : b->value;
}

static bool expr_launches(tc *tx, const tc_function *f, const ast_expr *e)
{
    if (!e || e->kind != AST_CALL)
        return false;
    const ast_expr *callee = ((const ast_call *)e)->callee;
    if (callee->kind == AST_SUBSCRIPT)
        callee = ((const ast_subscript *)callee)->value;
    tc_value v = named(tx, f, callee);
    if (v.kind == TC_NATIVE)
        return strcmp(v.native->name, "tensor") == 0;
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
