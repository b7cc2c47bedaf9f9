// Queries of a value of a file: `hdsc tune` queries a SearchSpace for its configurations.
#include "typecheck/operators/operators.h"

static ast_expr *parse_text(tc *tx, const char *name, const char *text)
{
    src_file *file = src_add(tx->diags->sources, name, str_of(arena_strdup(tx->lasting, text)));
    parse_context px = {tx->lasting, tx->syms, tx->diags};
    return file ? parse_expression(&px, file) : NULL;
}

static bool has_method(tc *tx, const tc_value *v, const char *method)
{
    return v->kind == TC_RECORD && map_get_ptr(&v->record->class->methods, sym_of(tx->syms, method));
}

// "'A', 'B'": what the file has that could have been meant.
static const char *names_with_method(tc *tx, const char *method)
{
    str_buf out;
    str_buf_init(&out, tx->arena);
    for (size_t i = 0; i < tx->main->scope->list.len; i++) {
        const tc_binding *b = tx->main->scope->list.at[i];
        if (!b->lazy_module && has_method(tx, &b->value, method))
            str_addf(&out, "%s'%s'", out.len ? ", " : "", b->name->text);
    }
    return out.len ? str_text(&out) : NULL;
}

static bool no_subject(tc *tx, const tc_question *q, src_span span, const char *found)
{
    diag *d = tc_error(tx, HDS0820, span, q->subject, found, q->kind);
    const char *names = names_with_method(tx, q->method);
    if (names)
        diag_help(d, "the file has %s", names);
    else
        diag_help(d, "the file has none");
    return false;
}

static bool check_subject(tc *tx, const tc_question *q)
{
    ast_expr *e = parse_text(tx, "<-->", q->subject);
    if (!e)
        return false;
    sym name = e->kind == AST_NAME ? ((const ast_name *)e)->name : NULL;
    if (name && !tc_scope_find(tx->main->scope, name))
        return no_subject(tx, q, e->span, "unknown");
    tc_value v = tc_eval_annotation(tx, e, tx->main->scope);
    if (tc_is_poison(v))
        return false;
    return has_method(tx, &v, q->method) || no_subject(tx, q, e->span, tc_describe(tx, v));
}

static const char *answer(tc *tx, const tc_question *q, const char *call)
{
    ast_expr *e = parse_text(tx, "<question>", arena_printf(tx->arena, "(%s).%s", q->subject, call));
    tc_value v = e ? tc_eval_annotation(tx, e, tx->main->scope) : tc_poison();
    if (v.kind == TC_STR)
        return arena_strndup(tx->arena, v.s.at, v.s.len);
    if (!tc_is_poison(v))
        tc_error(tx, HDS0184, e->span, "the answer", "text", tc_describe(tx, v));
    return NULL;
}

bool tc_ask(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options, const tc_question *q,
            const char **answers)
{
    int before = diags->error_count;
    tc *tx = tc_open(a, syms, diags, file, options);
    if (!tx || tx->aborted || diags->error_count != before)
        return false;
    tc_frame frame = {.scope = tx->main->scope, .compile_time = true};
    tx->frame = &frame;
    bool ok = check_subject(tx, q);
    for (int i = 0; ok && i < q->call_count; i++)
        ok = (answers[i] = answer(tx, q, q->calls[i])) != NULL;
    tx->frame = NULL;
    return ok && diags->error_count == before;
}
