// The units of a file, one for each architecture: which functions are needed and what they are called, their text, and whether
// the units agree on what is seen from outside.
//
// Functions that only others here call bear the architecture in their name as soon as one of them differs.
#include "cuda_emit/c_priv.h"

#include <string.h>

// ---- the units --------------------------------------------------------------------------------------------------

static const cu_kernel_info *info_of(const cu_c_unit *unit, const ir_func *f)
{
    for (size_t i = 0; i < unit->kernels->len; i++)
        if (unit->kernels->at[i].func == f)
            return &unit->kernels->at[i];
    return NULL;
}

typedef struct need {
    cu *cx;
    map *needed;
} need;

static void need_func(need *n, const ir_func *f);

static void need_in_expr(void *user, ir_expr *e)
{
    if (e->op == IR_OP_CALL)
        need_func(user, e->u.func);
}

static void need_in_stmt(void *user, ir_stmt *s)
{
    need *n = user;
    ir_walk_stmt_exprs(n->cx->m, s, need_in_expr, n);
}

// What a host function does, from which everything is printed. False after reporting.
static const plan *plan_of(cu *cx, const ir_func *f, bool *writes)
{
    const plan_kernels kernels = cu_plan_kernels(cx->c->unit->kernels);
    plan *p = ARENA_NEW(cx->a, plan);
    plan_refusal why;
    if (plan_lower(cx->a, cx->m, f, &kernels, p, writes, &why))
        return p;
    const cu_c_func at = {.func = f, .name = f->name};
    cx->c->at = &at;
    cu_c_at(cx, why.span);
    if (why.may_fail)
        cu_c_cannot_fail(cx, why.span);
    else
        cu_c_refuse(cx, why.what);
    cx->c->at = NULL;
    return NULL;
}

static void need_in_plan(need *n, const ir_func *f)
{
    cu_c_func *c = ARENA_NEW(n->cx->a, cu_c_func);
    *c = (cu_c_func){.writes = ARENA_ARRAY(n->cx->a, bool, f->params.len + 1)};
    c->plan = plan_of(n->cx, f, c->writes);
    map_put_ptr(n->needed, f, c);
    for (size_t i = 0; c->plan && i < c->plan->stmts.len; i++) {
        const plan_stmt *s = &c->plan->stmts.at[i];
        for (size_t k = 0; s->kind == PLAN_LAUNCH && k < n->cx->c->unit->kernels->len; k++) {
            const cu_kernel_info *kernel = &n->cx->c->unit->kernels->at[k];
            if (strcmp(kernel->symbol, s->text) == 0)
                need_func(n, kernel->func);
        }
    }
}

// A kernel's extents and shapes are computed on the host, with the device functions that they call.
static void need_in_extents(need *n, const ir_func *f)
{
    for (int i = 0; i < 3; i++) {
        ir_expr *const dims[] = {f->grid[i], f->block[i], f->cluster[i]};
        for (int k = 0; k < 3; k++)
            if (dims[k])
                ir_walk_expr(n->cx->m, dims[k], need_in_expr, n);
    }
    if (f->dynamic_smem_bytes)
        ir_walk_expr(n->cx->m, f->dynamic_smem_bytes, need_in_expr, n);
}

static void need_func(need *n, const ir_func *f)
{
    if (map_get_ptr(n->needed, f))
        return;
    map_put_ptr(n->needed, f, (void *)f);
    if (f->kind == IR_KERNEL)
        need_in_extents(n, f);
    else if (f->kind == IR_HOST_FUNC)
        need_in_plan(n, f);
    else
        ir_walk((ir_block *)&f->body, need_in_stmt, n);
}

bool cu_c_is_entry(const ir_func *f)
{
    return f->is_public && !f->is_launched && f->kind != IR_DEVICE;
}

static const char *name_of(cu *cx, const ir_func *f, const char *suffix)
{
    const char *name, *prefix = cx->c->options->prefix ? cx->c->options->prefix : "";
    if (cu_c_is_entry(f)) {
        name = arena_printf(cx->a, "%s%s", prefix, f->name);
        cu_name_reserve(cx, str_of(name));
        if (f->operator)
            cu_name_reserve(cx, str_of(arena_printf(cx->a, "%s%s", prefix, f->operator)));
    } else {
        name = cu_name_global(cx, arena_printf(cx->a, "%s%s", f->name, suffix));
    }
    map_put_ptr(&cx->funcs, f, (void *)name);
    return name;
}

// [needed]: what need_func left; of a host function its plan.
static void add_func(cu *cx, const ir_func *f, const void *needed, const char *suffix)
{
    cu_c_func *c = ARENA_NEW(cx->a, cu_c_func);
    *c = (cu_c_func){.func = f, .kernel = f->kind == IR_KERNEL ? info_of(cx->c->unit, f) : NULL};
    c->name = name_of(cx, f, suffix);
    c->writes = ARENA_ARRAY(cx->a, bool, f->params.len + 1);
    if (f->kind == IR_HOST_FUNC) {
        c->is_model = cu_c_is_entry(f) && cu_c_model_of(cx->c->options, f);
        c->plan = ((const cu_c_func *)needed)->plan;
        c->writes = ((const cu_c_func *)needed)->writes;
    }
    for (size_t i = 0; c->kernel && i < f->params.len; i++)
        c->writes[i] = c->kernel->writes[i];
    VEC_PUSH(cx->a, &cx->c->funcs, *c);
}

// Entries first: they have their names, the others make way.
static void gather(cu *cx, const char *suffix)
{
    map needed;
    map_init(&needed, cx->a);
    need n = {cx, &needed};
    for (size_t i = 0; i < cx->m->funcs.len; i++)
        if (cu_c_is_entry(cx->m->funcs.at[i]))
            need_func(&n, cx->m->funcs.at[i]);
    for (int entries = 1; entries >= 0; entries--)
        for (size_t i = 0; i < cx->m->funcs.len; i++) {
            const ir_func *f = cx->m->funcs.at[i];
            const void *what = map_get_ptr(&needed, f);
            if (what && cu_c_is_entry(f) == entries)
                add_func(cx, f, what, suffix);
        }
}

// ---- text of a unit ---------------------------------------------------------------------------------------------

static cu *new_unit(const cu_c_options *o, int index, bool has_suffix)
{
    const cu_c_unit *unit = &o->units[index];
    ir_module *m = unit->module;
    cu_options *options = ARENA_NEW(o->arena, cu_options);
    *options = (cu_options){.lines = o->lines, .sources = m->diags->sources, .host = true};
    cu *cx = ARENA_NEW(o->arena, cu);
    *cx = (cu){.m = m, .options = options, .a = o->arena, .lasting = o->arena, .dialect = &cu_dialect_c, .c = ARENA_NEW(o->arena, cu_c)};
    *cx->c = (cu_c){.options = o, .unit = unit};
    str_buf_init(&cx->c->headers, cx->a);
    cu_prelude_init(&cx->prelude, cx->a, m->arch, true);
    cu_names_init(cx);
    cu_analyse(cx);
    gather(cx, has_suffix ? arena_printf(cx->a, "_%s", m->arch->name) : "");
    return cx;
}

cu_c_func *cu_c_func_named(const cu *cx, const char *name)
{
    for (size_t i = 0; i < cx->c->funcs.len; i++)
        if (strcmp(cx->c->funcs.at[i].name, name) == 0)
            return &cx->c->funcs.at[i];
    return NULL;
}

const cu_c_func *cu_c_kernel_of(const cu *cx, const char *symbol)
{
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *f = &cx->c->funcs.at[i];
        if (f->kernel && strcmp(f->kernel->symbol, symbol) == 0)
            return f;
    }
    return NULL;
}

// An entry promises what it does on any architecture.
static void share_writes(cu *const *units, int count)
{
    for (int u = 0; u < count; u++)
        for (int other = 0; other < count; other++)
            for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
                cu_c_func *f = &units[u]->c->funcs.at[i];
                const cu_c_func *g = cu_c_func_named(units[other], f->name);
                for (size_t p = 0; g && p < f->func->params.len && p < g->func->params.len; p++)
                    f->writes[p] |= g->writes[p];
            }
}

static const char *result_text(cu *cx, const cu_c_func *f)
{
    bool is_plain = f->func->result->kind != IR_VOID;
    const char *type = is_plain ? cu_type(cx, f->func->result) : "hdsrt_status";
    return arena_printf(cx->a, "%s%s", type, type[strlen(type) - 1] == '*' ? "" : " ");
}

static bool write_functions(cu *const *units, int count)
{
    for (int u = 0; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len && !units[u]->failed; i++) {
            cu_c_func *f = &units[u]->c->funcs.at[i];
            cu_c_function(units[u], f);
            f->result = result_text(units[u], f);
        }
    for (int u = 0; u < count; u++)
        if (units[u]->failed)
            return false;
    return true;
}

bool cu_c_is_same(const cu_c_func *f, const cu_c_func *g)
{
    return str_equal(f->body, g->body) && strcmp(f->params, g->params) == 0;
}

static bool some_helper_differs(cu *const *units, int count)
{
    for (int u = 1; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
            const cu_c_func *f = &units[u]->c->funcs.at[i];
            const cu_c_func *g = cu_c_is_entry(f->func) ? NULL : cu_c_func_named(units[0], f->name);
            if (g && !cu_c_is_same(f, g))
                return true;
        }
    return false;
}

static cu **make_units(const cu_c_options *o, bool has_suffix)
{
    cu **units = ARENA_ARRAY(o->arena, cu *, o->unit_count);
    for (int u = 0; u < o->unit_count; u++)
        units[u] = new_unit(o, u, has_suffix);
    share_writes(units, o->unit_count);
    return units;
}

// ---- the same everywhere? ---------------------------------------------------------------------------------------

static const char *interface_text(cu *cx, const cu_c_func *f)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    str_addf(&out, "%s\n", f->params);
    cu_c_rules(cx, f, &out);
    if (f->func->result->kind == IR_VOID)
        cu_c_dlpack(cx, f, &out);
    else
        str_adds(&out, f->result);
    return str_text(&out);
}

static bool check_same(cu *const *units, int a, int b, const cu_c_func *f, const cu_c_func *g)
{
    const char *one = units[a]->m->arch->name, *other = units[b]->m->arch->name;
    if (strcmp(interface_text(units[a], f), interface_text(units[b], g)) != 0) {
        diag_report(units[b]->m->diags, HDS0702, g->func->span, f->name, one, other);
        return false;
    }
    bool is_plain = f->func->result->kind != IR_VOID;
    if (is_plain && !cu_c_is_same(f, g)) {
        diag_report(units[b]->m->diags, HDS0704, g->func->span, f->name, one, other);
        return false;
    }
    return true;
}

static bool check_interfaces(cu *const *units, int count)
{
    bool ok = true;
    for (int u = 1; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
            const cu_c_func *g = &units[u]->c->funcs.at[i];
            for (int first = 0; cu_c_is_entry(g->func) && first < u; first++) {
                const cu_c_func *f = cu_c_func_named(units[first], g->name);
                if (f)
                    ok &= check_same(units, first, u, f, g);
            }
        }
    return ok;
}

cu **cu_c_prepare(const cu_c_options *o)
{
    cu **units = make_units(o, false);
    for (int u = 0; u < o->unit_count; u++) {
        if (units[u]->failed)
            return NULL;
    }
    if (!cu_c_check_names(o, units) || !write_functions(units, o->unit_count))
        return NULL;
    if (some_helper_differs(units, o->unit_count)) {
        units = make_units(o, true);
        if (!write_functions(units, o->unit_count))
            return NULL;
    }
    return check_interfaces(units, o->unit_count) ? units : NULL;
}
