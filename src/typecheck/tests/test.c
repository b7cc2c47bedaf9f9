// Tests: functions under @test, their cases, and a case as a module of its own.
//
// `@test(T=[f16, bf16], n=[1, 31])` makes four cases: what is not an option is a parameter of the function, and the
// lists multiply, the last one fastest. `table=[dict(…), …]` gives values of several parameters together. Each case is
// elaborated by itself, from the text on, so that errors in one do not affect another.
#include "typecheck/operators/operators.h"

#include <string.h>

enum { MOST_CASES = 10000, MOST_SEEDS = 10000 };

// One dimension of a test's cases: values of a parameter, or rows of a table.
typedef struct test_axis {
    sym name; // NULL: a table
    src_span span;
    tc_list values;
} test_axis;

typedef struct test_cases {
    tc_function *f;
    tc_test model; // what all cases share
    VEC(test_axis) axes;
    int64_t count;
} test_cases;

// ---- the decorator -----------------------------------------------------------------------------------------------

static bool wrong_option(tc *tx, const ast_arg *a, const char *wanted, tc_value v)
{
    if (!tc_is_poison(v))
        tc_error(tx, HDS0296, a->value->span, a->name->text, wanted, tc_text(tx, v));
    return false;
}

// One code, or a list: the one that must come, and others that may.
static bool set_code(tc *tx, test_cases *t, const ast_arg *a, tc_value v, diag_code *code)
{
    enum { MOST = 1 + sizeof t->model.also / sizeof *t->model.also };
    tc_list one = {.at = &v, .len = 1}, *items = v.kind == TC_LIST || v.kind == TC_TUPLE ? v.list : &one;
    bool ok = items->len >= 1 && items->len <= MOST;
    for (size_t i = 0; ok && i < items->len; i++) {
        tc_value item = items->at[i];
        const char *name = item.kind == TC_STR ? arena_strndup(tx->arena, item.s.at, item.s.len) : "";
        ok = diag_find(name, i ? &t->model.also[i - 1] : code);
    }
    t->model.expected_span = a->span;
    return ok || wrong_option(tx, a, "the code of a message, as in \"HDS0605\", or up to four", v);
}

static bool set_text(tc *tx, const ast_arg *a, tc_value v, const char **text)
{
    if (v.kind != TC_STR || !v.s.len)
        return wrong_option(tx, a, "a text", v);
    *text = arena_strndup(tx->arena, v.s.at, v.s.len);
    return true;
}

static bool set_count(tc *tx, const ast_arg *a, tc_value v, int64_t most, int64_t *count)
{
    if (!tc_as_int64(v, count) || *count < 1 || *count > most)
        return wrong_option(tx, a, arena_printf(tx->arena, "a number from 1 to %lld", (long long)most), v);
    return true;
}

static bool set_skip(tc *tx, test_cases *t, const ast_arg *a, tc_value v)
{
    if (v.kind == TC_NONE || (v.kind == TC_BOOL && !v.b))
        return true;
    return set_text(tx, a, v, &t->model.skip);
}

static bool set_arch(tc *tx, test_cases *t, const ast_arg *a, tc_value v)
{
    t->model.arch = v.kind == TC_STR ? arch_find(v.s) : NULL;
    return t->model.arch || wrong_option(tx, a, "an architecture, as in \"sm_90a\"", v);
}

static bool add_axis(tc *tx, test_cases *t, const ast_arg *a, tc_value v, bool is_table)
{
    test_axis axis = {.name = is_table ? NULL : a->name, .span = a->span};
    if (v.kind == TC_LIST || v.kind == TC_RANGE) {
        if (!tc_iterate(tx, v, a->value->span, &axis.values))
            return false;
    } else {
        tc_list_push(tx, &axis.values, v);
    }
    for (size_t i = 0; i < axis.values.len && is_table; i++)
        if (axis.values.at[i].kind != TC_DICT)
            return wrong_option(tx, a, "a list of dicts", axis.values.at[i]);
    t->count *= (int64_t)axis.values.len;
    if (t->count > MOST_CASES) {
        tc_error(tx, HDS0297, a->span, t->f->name->text, (int)MOST_CASES);
        return false;
    }
    VEC_PUSH(tx->arena, &t->axes, axis);
    return true;
}

static bool has_parameter(const tc_function *f, sym name)
{
    for (size_t i = 0; i < f->decl->type_params.len; i++)
        if (f->decl->type_params.at[i].name == name)
            return true;
    for (size_t i = 0; i < f->decl->params.len; i++)
        if (f->decl->params.at[i].name == name && f->decl->params.at[i].kind == AST_PARAM_PLAIN)
            return true;
    return false;
}

static bool no_parameter(tc *tx, const test_cases *t, const char *name, src_span span)
{
    diag *d = tc_error(tx, HDS0211, span, t->f->name->text, name);
    diag_label(d, t->f->decl->name_span, "the test");
    diag_help(d, "the other arguments are error, finds, at, seeds, budget, arch, skip, name, table");
    return false;
}

static bool take_argument(tc *tx, test_cases *t, const ast_arg *a)
{
    if (!a->name || a->kind != AST_ARG_PLAIN) {
        diag *d = tc_error(tx, HDS0210, a->span, "test", 0L);
        diag_help(d, "name what is given: @test(n=[1, 2, 3])");
        return false;
    }
    const char *name = a->name->text;
    tc_value v = tc_eval_annotation(tx, a->value, t->f->closure);
    if (tc_is_poison(v))
        return false;
    int64_t count = 0;
    if (strcmp(name, "error") == 0)
        return set_code(tx, t, a, v, &t->model.error);
    if (strcmp(name, "finds") == 0)
        return set_code(tx, t, a, v, &t->model.finds);
    if (strcmp(name, "at") == 0)
        return set_text(tx, a, v, &t->model.at);
    if (strcmp(name, "name") == 0)
        return set_text(tx, a, v, &t->model.title);
    if (strcmp(name, "skip") == 0)
        return set_skip(tx, t, a, v);
    if (strcmp(name, "arch") == 0)
        return set_arch(tx, t, a, v);
    if (strcmp(name, "seeds") == 0) {
        bool ok = set_count(tx, a, v, MOST_SEEDS, &count);
        t->model.seeds = (int)count;
        return ok;
    }
    if (strcmp(name, "budget") == 0)
        return set_count(tx, a, v, INT64_MAX, &t->model.budget);
    if (strcmp(name, "table") == 0)
        return add_axis(tx, t, a, v, true);
    return has_parameter(t->f, a->name) ? add_axis(tx, t, a, v, false) : no_parameter(tx, t, name, a->span);
}

static bool check_together(tc *tx, const test_cases *t)
{
    if (t->model.error && t->model.finds) {
        tc_error(tx, HDS0296, t->model.expected_span, "finds", "a finding of the run, so it does not go with 'error='",
                 diag_name(t->model.finds));
        return false;
    }
    return true;
}

static bool read_cases(tc *tx, tc_function *f, test_cases *t)
{
    *t = (test_cases){.f = f, .count = 1};
    t->model = (tc_test){.function = f->name->text, .title = f->name->text, .span = f->decl->name_span, .seeds = 1};
    const ast_call *call = f->facts->test_call;
    bool ok = true;
    for (size_t i = 0; call && i < call->args.len; i++)
        ok &= take_argument(tx, t, &call->args.at[i]);
    return ok && check_together(tx, t);
}

// ---- one case ----------------------------------------------------------------------------------------------------

typedef bool each_value(tc *tx, void *user, sym name, tc_value v, src_span span);

// Calls [each] for the parameters that the case fixes, in the order of the decorator.
static bool values_of(tc *tx, const test_cases *t, int64_t number, each_value *each, void *user)
{
    int64_t below = t->count;
    for (size_t i = 0; i < t->axes.len; i++) {
        const test_axis *axis = &t->axes.at[i];
        below /= (int64_t)axis->values.len;
        tc_value v = axis->values.at[number / below % (int64_t)axis->values.len];
        if (axis->name) {
            if (!each(tx, user, axis->name, v, axis->span))
                return false;
            continue;
        }
        for (size_t k = 0; k < v.dict->keys.len; k++) {
            tc_value key = v.dict->keys.at[k];
            sym name = key.kind == TC_STR ? sym_intern(tx->syms, key.s) : NULL;
            if (!name || !has_parameter(t->f, name))
                return no_parameter(tx, t, tc_text(tx, key), axis->span);
            if (!each(tx, user, name, v.dict->values.at[k], axis->span))
                return false;
        }
    }
    return true;
}

typedef struct title_text {
    str_buf text;
    int count;
} title_text;

static bool add_to_title(tc *tx, void *user, sym name, tc_value v, src_span span)
{
    (void)span;
    title_text *t = user;
    str_addf(&t->text, "%s%s=", t->count++ ? ", " : "[", name->text);
    tc_repr(tx, v, &t->text);
    return true;
}

static tc_test case_of(tc *tx, const test_cases *t, int64_t number)
{
    tc_test test = t->model;
    title_text title = {0};
    str_buf_init(&title.text, tx->arena);
    str_adds(&title.text, t->model.title);
    values_of(tx, t, number, add_to_title, &title);
    if (title.count)
        str_addc(&title.text, ']');
    test.title = str_text(&title.text);
    test.number = (int)number;
    return test;
}

static bool bind_value(tc *tx, void *user, sym name, tc_value v, src_span span)
{
    tc_scope *scope = user;
    tc_binding *known = tc_scope_find_here(scope, name);
    if (known) {
        tc_error(tx, HDS0212, span, name->text, "test");
        return false;
    }
    tc_scope_bind(tx, scope, name, v, span);
    return true;
}

static bool missing(tc *tx, const tc_function *f, diag_code code, const char *first, const char *second, src_span span)
{
    diag *d = tc_error(tx, code, f->decl->name_span, first, second);
    diag_label(d, span, "the parameter");
    diag_help(d, "give its values in the decorator: @test(%s=[…])", code == HDS0204 ? first : second);
    return false;
}

static bool finish_types(tc *tx, const tc_function *f, tc_scope *scope)
{
    for (size_t i = 0; i < f->decl->type_params.len; i++) {
        const ast_type_param *p = &f->decl->type_params.at[i];
        tc_binding *b = tc_scope_find_here(scope, p->name);
        if (!b && !p->default_value)
            return missing(tx, f, HDS0204, p->name->text, f->name->text, p->span);
        if (!b)
            b = tc_scope_bind(tx, scope, p->name, tc_eval_annotation(tx, p->default_value, scope), p->span);
        if (!tc_check_bound(tx, p, b->value, scope, b->span))
            return false;
    }
    return true;
}

static bool finish_params(tc *tx, const tc_function *f, tc_scope *scope)
{
    for (size_t i = 0; i < f->decl->params.len; i++) {
        const ast_param *p = &f->decl->params.at[i];
        tc_binding *b = p->name ? tc_scope_find_here(scope, p->name) : NULL;
        if (!b && !p->default_value)
            return missing(tx, f, HDS0213, f->name->text, p->name ? p->name->text : "*", p->span);
        if (!b)
            b = tc_scope_bind(tx, scope, p->name, tc_eval_annotation(tx, p->default_value, scope), p->span);
        if (!p->annotation || tc_is_poison(b->value)) {
            if (tc_is_poison(b->value))
                return false;
            continue;
        }
        tc_value annotation = tc_eval_annotation(tx, p->annotation, scope);
        tc_value v =
            tc_conform(tx, b->value, annotation, arena_printf(tx->arena, "parameter '%s'", p->name->text), b->span);
        if (tc_is_poison(v))
            return false;
        if (tc_is_compile_time(v)) // a number stays a known number, whatever type it is to have
            b->value = v;
    }
    return true;
}

static ir_func *elaborate(tc *tx, tc_function *f, const tc_test *test)
{
    test_cases t;
    if (!read_cases(tx, f, &t))
        return NULL;
    tc_scope *scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    if (!values_of(tx, &t, test->number, bind_value, scope) || !finish_types(tx, f, scope) ||
        !finish_params(tx, f, scope))
        return NULL;
    tx->in_test = true;
    return tc_host_function(tx, f, scope, arena_strdup(tx->arena, test->title));
}

// ---- all of them -------------------------------------------------------------------------------------------------

// The test that a name of the main file stands for, or NULL.
static tc_function *test_of(tc *tx, const tc_binding *b)
{
    if (b->lazy_module || b->value.kind != TC_FUNCTION || !b->value.function->decl)
        return NULL;
    tc_function *f = b->value.function;
    if (f->module != tx->main || f->name != b->name || f->bound_count)
        return NULL;
    tc_function_classify(tx, f);
    return f->facts->is_test ? f : NULL;
}

void tc_list_tests(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                   tc_test_list *out, bool *define_used)
{
    int before = diags->error_count;
    tc *tx = tc_open(a, syms, diags, file, options);
    if (!tx || diags->error_count != before)
        return; // every case would say the same
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    size_t count = tx->main->scope->list.len;
    for (size_t i = 0; i < count && !tx->aborted; i++) {
        tc_function *f = test_of(tx, tx->main->scope->list.at[i]);
        test_cases t;
        if (!f || !read_cases(tx, f, &t))
            continue;
        for (int64_t k = 0; k < t.count; k++) {
            tc_test test = case_of(tx, &t, k);
            VEC_PUSH(a, out, test);
        }
    }
    for (int i = 0; define_used && i < options->define_count; i++)
        define_used[i] |= tx->define_used.at[i];
    if (!define_used)
        tc_check_defines(tx);
}

ir_module *tc_compile_test(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                           const tc_test *test, tc_test_weight_list *weights)
{
    int before = diags->error_count;
    tc *tx = tc_open(a, syms, diags, file, options);
    if (!tx || tx->aborted || diags->error_count != before)
        return NULL;
    tx->test_weights = weights;
    tc_frame frame = {.scope = tx->main->scope};
    tx->frame = &frame;
    tc_binding *b = tc_scope_find_here(tx->main->scope, sym_of(syms, test->function));
    tc_function *f = b ? test_of(tx, b) : NULL;
    ir_func *func = f ? elaborate(tx, f, test) : NULL;
    return func && diags->error_count == before ? tx->ir : NULL;
}
