// Modules: finding, parsing and evaluating them, imports, and the entry points of the elaborator.
#include "typecheck/eval/eval.h"
#include "typecheck/eval/original.h"

#include <string.h>

enum { DEFAULT_BUDGET = 10 * 1000 * 1000 };

// ---- loading -----------------------------------------------------------------------------------------------------

static bool is_native_module(const char *path)
{
    static const char *const names[] = {"hidet.lang", "hidet.lang.types", "hidet.lang.mapping", "hidet.lang.layout",
                                        "hidet.lang.cuda"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(path, names[i]) == 0)
            return true;
    return false;
}

// What names of hidet.lang mean does not depend on where they stand.
static bool is_of_library(const char *path, int level)
{
    return !level && (strcmp(path, "hidet.lang") == 0 || strncmp(path, "hidet.lang.", strlen("hidet.lang.")) == 0);
}

static void evaluate_module(tc *tx, tc_module *m)
{
    tc_frame frame = {.scope = m->scope, .compile_time = true}, *saved = tx->frame;
    ir_func *func = tx->func;
    ir_block *block = tx->block;
    int speculating = tx->speculating;
    const tc_env *env = tx->env;
    tx->frame = &frame;
    tx->env = NULL;
    tx->func = NULL;
    tx->block = NULL;
    tx->speculating = 0;
    m->loading = true;
    VEC_PUSH(tx->lasting, &tx->loading, m);
    tc_exec_list(tx, &m->ast->body);
    tx->loading.len--;
    m->loading = false;
    tx->frame = saved;
    tx->func = func;
    tx->block = block;
    tx->speculating = speculating;
    tx->env = env;
}

static tc_module *module_new(tc *tx, const char *path, src_file *file)
{
    tc_module *m = ARENA_NEW(tx->arena, tc_module);
    m->path = path;
    m->file = file;
    m->scope = tc_scope_new(tx, tx->natives, m, TC_SCOPE_MODULE);
    if (file) {
        parse_context px = {tx->arena, tx->syms, tx->diags};
        m->ast = file->tree ? file->tree : parse_module(&px, file);
        if (!m->ast->has_errors)
            file->tree = m->ast;
    }
    return m;
}

static void cycle_error(tc *tx, const tc_module *m, src_span span)
{
    diag *d = tc_error(tx, HDS0250, span, m->path);
    bool inside = false;
    for (size_t i = 0; i < tx->loading.len; i++) {
        const tc_module *step = tx->loading.at[i];
        inside |= step == m;
        if (inside && step != m && step->imported_at.begin)
            diag_note(d, step->imported_at, "which imports '%s'", step->path);
    }
}

// A module that does not exist; the message names those of Hidet as such.
static void not_found(tc *tx, const char *path, int level, const char *looked, src_span span)
{
    bool in_lang = strncmp(path, "hidet.lang.", 11) == 0;
    const tc_original *o = in_lang ? tc_original_find("hidet.lang", path + 11) : NULL;
    bool in_hidet = !level && strncmp(path, "hidet.", 6) == 0 && !in_lang && strcmp(path, "hidet.lang") != 0;
    if (o || in_hidet) {
        diag *d = tc_error(tx, HDS0330, span, path, o ? o->what : "a module of Hidet's compiler");
        diag_help(d, "%s", o ? o->instead : "what kernels use is in hidet.lang and hidet.lang.cuda");
        return;
    }
    diag *d = tc_error(tx, HDS0251, span, path);
    if (looked)
        diag_help(d, "looked in %s", looked);
}

tc_module *tc_module_load(tc *tx, const char *path, int level, tc_module *importer, src_span span)
{
    bool is_library = is_of_library(path, level);
    tc_module *m = is_library ? map_get(&tx->library_modules, path, strlen(path)) : NULL;
    const char *looked = NULL;
    src_file *file = NULL;
    if (!m && tx->options->find_module)
        file = tx->options->find_module(tx->options->find_user, path, level, importer ? importer->file : NULL, &looked);
    if (!m && !file && !is_native_module(path)) {
        not_found(tx, path, level, looked, span);
        return NULL;
    }
    if (file)
        m = map_get_ptr(&tx->file_modules, file);
    if (m && is_library)
        map_put(&tx->library_modules, path, strlen(path), m);
    if (m && m->loading) {
        cycle_error(tx, m, span);
        return NULL;
    }
    if (m)
        return m;
    tc_lifetime around;
    tc_lasting_begin(tx, &around);
    m = module_new(tx, arena_strdup(tx->arena, path), file);
    m->importer = importer;
    m->imported_at = span;
    if (file)
        map_put_ptr(&tx->file_modules, file, m);
    if (is_library)
        map_put(&tx->library_modules, path, strlen(path), m);
    if (m->ast)
        evaluate_module(tx, m);
    tc_lasting_end(tx, &around);
    return m;
}

tc_module *tc_module_of(tc *tx, src_file *file)
{
    tc_lifetime around;
    tc_lasting_begin(tx, &around);
    tc_module *m = module_new(tx, file->name, file);
    if (!m->ast->has_errors)
        evaluate_module(tx, m);
    tc_lasting_end(tx, &around);
    return m->ast->has_errors ? NULL : m;
}

// ---- names of modules --------------------------------------------------------------------------------------------

const char *tc_module_name(tc *tx, const tc_module *m)
{
    const tc_options *o = tx->options;
    const char *name = m->file && o->name_module ? o->name_module(o->find_user, m->file) : NULL;
    return name ? name : m->path;
}

static tc_value sub_module(tc *tx, const tc_module *m, sym name)
{
    const char *path = arena_printf(tx->arena, "%s.%s", m->path, name->text);
    if (strncmp(path, "hidet.lang.", 11) != 0)
        return tc_poison();
    bool muted = tx->diags->muted;
    int errors = tx->diags->error_count;
    const char *looked = NULL;
    src_file *file =
        tx->options->find_module ? tx->options->find_module(tx->options->find_user, path, 0, m->file, &looked) : NULL;
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
    if (!file && !is_native_module(path))
        return tc_poison();
    tc_module *sub = tc_module_load(tx, path, 0, NULL, (src_span){0});
    return sub ? (tc_value){.kind = TC_MODULE, .module = sub} : tc_poison();
}

// A name of the original that the library defines in another module, or that only the original has. [found]: the table
// knows it.
static tc_value original_attribute(tc *tx, const tc_module *m, sym name, src_span span, bool *found)
{
    const tc_original *o = tc_original_find(m->path, name->text);
    *found = o != NULL;
    if (o && o->home)
        return tc_library(tx, o->home, name->text, span);
    if (o) {
        diag *d = tc_error(tx, HDS0330, span, name->text, o->what);
        diag_help(d, "%s", o->instead);
    }
    return tc_poison();
}

static const char *suggest_original(tc *tx, const tc_module *m, sym name)
{
    VEC(const char *) names = {0};
    for (const tc_original *o = NULL; (o = tc_original_next(m->path, o));)
        VEC_PUSH(tx->arena, &names, o->name);
    VEC_PUSH(tx->arena, &names, NULL);
    return tc_suggest(tx, names.at, sym_str(name));
}

tc_value tc_module_attribute(tc *tx, tc_module *m, sym name, src_span span, tc_module *from)
{
    if (is_native_module(m->path)) {
        tc_binding *native = tc_scope_find_here(tx->natives, name);
        if (native)
            return native->value;
    }
    tc_binding *b = tc_scope_find_here(m->scope, name);
    if (b && name->text[0] == '_' && from != m && from) {
        diag *d = tc_error(tx, HDS0252, span, name->text, m->path);
        diag_label(d, b->span, "defined here");
        return tc_poison();
    }
    if (b)
        return tc_binding_value(tx, b, span);
    bool is_original;
    tc_value original = original_attribute(tx, m, name, span, &is_original);
    if (is_original)
        return original;
    tc_value sub = sub_module(tx, m, name);
    if (!tc_is_poison(sub))
        return sub;
    diag *d = tc_error(tx, HDS0253, span, m->path, name->text);
    tc_scope here = *m->scope;
    here.parent = NULL;
    const char *close = tc_scope_suggest(&here, sym_str(name));
    close = close ? close : suggest_original(tx, m, name);
    if (close)
        diag_help(d, "did you mean '%s'?", close);
    return tc_poison();
}

tc_value tc_library(tc *tx, const char *module, const char *name, src_span span)
{
    tc_module *m = tc_module_load(tx, module, 0, NULL, span);
    return m ? tc_module_attribute(tx, m, sym_of(tx->syms, name), span, NULL) : tc_poison();
}

// ---- import statements -------------------------------------------------------------------------------------------

static void bind_import(tc *tx, sym name, tc_value v, src_span span)
{
    tc_scope_bind(tx, tx->frame->scope, name, v, span);
}

static bool import_module(tc *tx, const ast_import_name *n)
{
    const char *path = n->path->text;
    bool is_hidet = strcmp(path, "hidet") == 0 || strncmp(path, "hidet.", 6) == 0;
    if (strchr(path, '.') && !n->alias && !is_hidet) {
        // `import a.b` would bind a, which is no module.
        diag *d = tc_error(tx, HDS0254, n->span, path);
        diag_help(d, "write 'import %s as name', or 'from … import …'", path);
        const char *first = arena_strndup(tx->arena, path, strcspn(path, "."));
        bind_import(tx, sym_of(tx->syms, first), tc_poison(), n->span);
        return false;
    }
    tc_module *m = strcmp(path, "hidet") == 0 ? NULL : tc_module_load(tx, path, 0, tx->frame->scope->module, n->span);
    tc_value v = m ? (tc_value){.kind = TC_MODULE, .module = m} : tc_poison();
    if (is_hidet && !n->alias) {
        bind_import(tx, sym_of(tx->syms, "hidet"), (tc_value){.kind = TC_NAMESPACE, .ns = TC_NS_HIDET}, n->span);
        return true;
    }
    if (strcmp(path, "hidet") == 0)
        v = (tc_value){.kind = TC_NAMESPACE, .ns = TC_NS_HIDET};
    bind_import(tx, n->alias ? n->alias : n->path, v, n->span);
    return !tc_is_poison(v);
}

static void import_star(tc *tx, tc_module *m, src_span span)
{
    for (size_t i = 0; i < m->scope->list.len; i++) {
        tc_binding *b = m->scope->list.at[i];
        if (b->name->text[0] != '_')
            bind_import(tx, b->name, tc_binding_value(tx, b, span), span);
    }
    for (const tc_original *o = NULL; (o = tc_original_next(m->path, o));)
        bind_import(tx, sym_of(tx->syms, o->name), tc_library(tx, o->home, o->name, span), span);
}

static bool import_from(tc *tx, const ast_from_import *s)
{
    tc_module *here = tx->frame->scope->module;
    bool ok = true;
    if (s->module && strcmp(s->module->text, "hidet") == 0) {
        for (size_t i = 0; i < s->names.len; i++) {
            const ast_import_name *n = &s->names.at[i];
            tc_value hidet = {.kind = TC_NAMESPACE, .ns = TC_NS_HIDET};
            bind_import(tx, n->alias ? n->alias : n->path, tc_attribute(tx, hidet, n->path, n->span, s->module_span),
                        n->span);
        }
        return true;
    }
    tc_module *m = s->module ? tc_module_load(tx, s->module->text, s->level, here, s->module_span) : NULL;
    for (size_t i = 0; i < s->names.len; i++) {
        const ast_import_name *n = &s->names.at[i];
        if (!s->module) { // from . import name
            m = tc_module_load(tx, n->path->text, s->level, here, n->span);
            bind_import(tx, n->alias ? n->alias : n->path, m ? (tc_value){.kind = TC_MODULE, .module = m} : tc_poison(),
                        n->span);
            ok &= m != NULL;
            continue;
        }
        if (m && strcmp(n->path->text, "*") == 0) {
            import_star(tx, m, n->span);
            continue;
        }
        tc_value v = m ? tc_module_attribute(tx, m, n->path, n->span, here) : tc_poison();
        bind_import(tx, n->alias ? n->alias : n->path, v, n->span);
        ok &= !tc_is_poison(v);
    }
    return ok;
}

bool tc_exec_import(tc *tx, const ast_stmt *s)
{
    if (s->kind == AST_FROM_IMPORT)
        return import_from(tx, (const ast_from_import *)s);
    bool ok = true;
    for (size_t i = 0; i < ((const ast_import *)s)->names.len; i++)
        ok &= import_module(tx, &((const ast_import *)s)->names.at[i]);
    return ok;
}

// ---- the elaborator's entry points -------------------------------------------------------------------------------

static void tc_init(tc *tx, arena *a, sym_table *syms, diag_context *diags, const tc_options *options, const char *name)
{
    *tx = (tc){.arena = a, .lasting = a, .syms = syms, .diags = diags, .options = options};
    tx->ir = ir_module_new(a, syms, diags, options->arch ? options->arch : arch_find(STR("sm_80")), name);
    tx->step_budget = options->step_budget ? options->step_budget : DEFAULT_BUDGET;
    map_init(&tx->library_modules, a);
    map_init(&tx->file_modules, a);
    map_init(&tx->intrins, a);
    map_init(&tx->shared_by_function, a);
    map_init(&tx->run_time_lambdas, a);
    map_init(&tx->names_used, a);
    map_init(&tx->entry_names, a);
    map_init(&tx->right_tiles, a);
    map_init(&tx->graph_programs, a);
    for (int i = 0; i < options->define_count; i++) {
        VEC_PUSH(a, &tx->define_used, false);
        VEC_PUSH(a, &tx->define_wrong, false);
    }
    tx->natives = tc_scope_new(tx, NULL, NULL, TC_SCOPE_NATIVE);
    tc_natives_install(tx);
}

static const char *stem(arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return arena_strndup(a, base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

tc *tc_open(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options)
{
    tc *tx = ARENA_NEW(a, tc);
    tc_init(tx, a, syms, diags, options, stem(a, file->name));
    tx->main = module_new(tx, stem(a, file->name), file);
    tx->main->is_main = true;
    tx->main_scope = tx->main->scope;
    map_put_ptr(&tx->file_modules, file, tx->main);
    if (tx->main->ast->has_errors)
        return NULL;
    evaluate_module(tx, tx->main);
    return tx;
}

ir_module *tc_compile(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options)
{
    int before = diags->error_count;
    arena_mark mark = options->scratch ? arena_mark_get(options->scratch) : (arena_mark){0};
    tc *tx = tc_open(a, syms, diags, file, options);
    if (tx && !tx->aborted)
        tc_compile_entries(tx);
    if (options->scratch)
        arena_reset(options->scratch, mark); // what lifetimes have kept
    return tx && diags->error_count == before ? tx->ir : NULL;
}

static tc_value eval_text(arena *a, sym_table *syms, diag_context *diags, src_file *file, const tc_options *options,
                          tc **out)
{
    tc *tx = *out = ARENA_NEW(a, tc);
    tc_init(tx, a, syms, diags, options, "expression");
    parse_context px = {a, syms, diags};
    ast_expr *e = parse_expression(&px, file);
    if (!e)
        return tc_poison();
    tc_frame frame = {.scope = tc_scope_new(tx, tx->natives, NULL, TC_SCOPE_FUNCTION), .compile_time = true};
    tx->frame = &frame;
    tc_value v = tc_eval(tx, e);
    tx->frame = NULL;
    return v;
}

const tm_map *tc_eval_mapping(arena *a, sym_table *syms, diag_context *diags, src_file *expression,
                              const tc_options *options)
{
    tc *tx;
    tc_value v = eval_text(a, syms, diags, expression, options, &tx);
    if (v.kind != TC_MAP && !tc_is_poison(v))
        tc_error(tx, HDS0184, (src_span){expression->base, expression->base + (uint32_t)expression->text.len},
                 "the expression", "mapping", tc_describe(tx, v));
    return v.kind == TC_MAP ? v.map : NULL;
}

const tm_layout *tc_eval_layout(arena *a, sym_table *syms, diag_context *diags, src_file *expression,
                                const tc_options *options)
{
    tc *tx;
    tc_value v = eval_text(a, syms, diags, expression, options, &tx);
    if (v.kind != TC_LAYOUT && !tc_is_poison(v))
        tc_error(tx, HDS0184, (src_span){expression->base, expression->base + (uint32_t)expression->text.len},
                 "the expression", "layout", tc_describe(tx, v));
    return v.kind == TC_LAYOUT ? v.layout : NULL;
}
