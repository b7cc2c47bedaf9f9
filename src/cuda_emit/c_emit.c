// The C text of a file compiled for one architecture or several: the image, its kernels, and a function for each entry.
//
// Each unit's functions are made into text by themselves. Where all units say the same, it stands once; where not, each
// unit's stands under a name of its own, and the entry chooses when the program runs. Functions that only others here
// call bear the architecture in their name as soon as one of them differs.
#include "cuda_emit/c.h"

#include <string.h>

#include "cuda_emit/c_priv.h"

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
    if (s->kind == IR_LAUNCH)
        need_func(n, s->func);
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
    else
        ir_walk((ir_block *)&f->body, need_in_stmt, n);
}

static bool is_entry(const ir_func *f)
{
    return f->is_public && f->kind != IR_DEVICE;
}

static const char *name_of(cu *cx, const ir_func *f, const char *suffix)
{
    const char *name;
    if (is_entry(f)) {
        name = arena_printf(cx->a, "%s%s", cx->c->options->prefix ? cx->c->options->prefix : "", f->name);
        cu_name_reserve(cx, str_of(name));
    } else {
        name = cu_name_global(cx, arena_printf(cx->a, "%s%s", f->name, suffix));
    }
    map_put_ptr(&cx->funcs, f, (void *)name);
    return name;
}

static void add_func(cu *cx, const ir_func *f, const char *suffix)
{
    cu_c_func *c = ARENA_NEW(cx->a, cu_c_func);
    *c = (cu_c_func){.func = f, .kernel = f->kind == IR_KERNEL ? info_of(cx->c->unit, f) : NULL};
    c->name = name_of(cx, f, suffix);
    c->writes = ARENA_ARRAY(cx->a, bool, f->params.len + 1);
    for (size_t i = 0; c->kernel && i < f->params.len; i++)
        c->writes[i] = c->kernel->writes[i];
    VEC_PUSH(cx->a, &cx->c->funcs, *c);
}

static cu_c_func *func_of(const cu *cx, const ir_func *f)
{
    for (size_t i = 0; i < cx->c->funcs.len; i++)
        if (cx->c->funcs.at[i].func == f)
            return &cx->c->funcs.at[i];
    return NULL;
}

// Entries first: they have their names, the others make way.
static void gather(cu *cx, const char *suffix)
{
    map needed;
    map_init(&needed, cx->a);
    need n = {cx, &needed};
    for (size_t i = 0; i < cx->m->funcs.len; i++)
        if (is_entry(cx->m->funcs.at[i]))
            need_func(&n, cx->m->funcs.at[i]);
    for (int entries = 1; entries >= 0; entries--)
        for (size_t i = 0; i < cx->m->funcs.len; i++) {
            const ir_func *f = cx->m->funcs.at[i];
            if (map_get_ptr(&needed, f) && is_entry(f) == entries)
                add_func(cx, f, suffix);
        }
}

// ---- what host functions write ----------------------------------------------------------------------------------

typedef struct writing {
    cu *cx;
    cu_c_func *f;
} writing;

static void mark(writing *w, const ir_expr *e)
{
    const ir_func *f = w->f->func;
    for (size_t i = 0; i < f->params.len; i++) {
        bool is_base = (e->op == IR_OP_VAR || e->op == IR_OP_ADDR) && e->u.var == f->params.at[i];
        w->f->writes[i] |= is_base && e->u.var->type->kind != IR_SCALAR && e->u.var->type->kind != IR_VECTOR;
    }
    for (int i = 0; i < e->arg_count; i++)
        mark(w, e->args[i]);
}

// Arguments of a function that is known; each but those it only reads.
static void mark_arguments(writing *w, const cu_c_func *callee, ir_expr *const *args, int count)
{
    for (int i = 0; i < count; i++)
        if (!callee || callee->writes[i])
            mark(w, args[i]);
}

static void mark_stmt(void *user, ir_stmt *s)
{
    writing *w = user;
    bool is_call = s->kind == IR_EVAL && s->value->op == IR_OP_CALL;
    if (s->kind == IR_LAUNCH) {
        mark_arguments(w, func_of(w->cx, s->func), s->args, s->arg_count);
    } else if (is_call) {
        mark_arguments(w, func_of(w->cx, s->value->u.func), s->value->args, s->value->arg_count);
    } else if (s->kind == IR_COPY) {
        mark(w, s->args[0]);
    } else {
        if (s->value)
            mark(w, s->value);
        for (int i = 0; i < s->arg_count; i++)
            mark(w, s->args[i]);
        for (size_t i = 0; s->kind == IR_STORE && i < w->f->func->params.len; i++)
            w->f->writes[i] |= w->f->func->params.at[i] == s->var;
    }
}

// Callees stand before callers in the module.
static void find_writes(cu *cx)
{
    for (size_t i = 0; i < cx->m->funcs.len; i++) {
        cu_c_func *f = func_of(cx, cx->m->funcs.at[i]);
        writing w = {cx, f};
        if (f && f->func->kind == IR_HOST_FUNC)
            ir_walk((ir_block *)&f->func->body, mark_stmt, &w);
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
    *cx = (cu){.m = m, .options = options, .a = o->arena, .host = &cu_host_c, .c = ARENA_NEW(o->arena, cu_c)};
    *cx->c = (cu_c){.options = o, .unit = unit};
    str_buf_init(&cx->c->headers, cx->a);
    cu_prelude_init(&cx->prelude, cx->a, m->arch, true);
    cu_names_init(cx);
    cu_analyse(cx);
    gather(cx, has_suffix ? arena_printf(cx->a, "_%s", m->arch->name) : "");
    find_writes(cx);
    return cx;
}

static cu_c_func *func_named(const cu *cx, const char *name)
{
    for (size_t i = 0; i < cx->c->funcs.len; i++)
        if (strcmp(cx->c->funcs.at[i].name, name) == 0)
            return &cx->c->funcs.at[i];
    return NULL;
}

// An entry promises what it does on any architecture.
static void share_writes(cu *const *units, int count)
{
    for (int u = 0; u < count; u++)
        for (int other = 0; other < count; other++)
            for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
                cu_c_func *f = &units[u]->c->funcs.at[i];
                const cu_c_func *g = func_named(units[other], f->name);
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

static bool is_same(const cu_c_func *f, const cu_c_func *g)
{
    return str_equal(f->body, g->body) && strcmp(f->params, g->params) == 0;
}

static bool some_helper_differs(cu *const *units, int count)
{
    for (int u = 1; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
            const cu_c_func *f = &units[u]->c->funcs.at[i];
            const cu_c_func *g = is_entry(f->func) ? NULL : func_named(units[0], f->name);
            if (g && !is_same(f, g))
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
    if (is_plain && !is_same(f, g)) {
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
            for (int first = 0; is_entry(g->func) && first < u; first++) {
                const cu_c_func *f = func_named(units[first], g->name);
                if (f)
                    ok &= check_same(units, first, u, f, g);
            }
        }
    return ok;
}

// NULL after reporting.
static cu **prepare(const cu_c_options *o)
{
    cu **units = make_units(o, false);
    if (!cu_c_check_names(o, units) || !write_functions(units, o->unit_count))
        return NULL;
    if (some_helper_differs(units, o->unit_count)) {
        units = make_units(o, true);
        if (!write_functions(units, o->unit_count))
            return NULL;
    }
    return check_interfaces(units, o->unit_count) ? units : NULL;
}

// ---- each function once -----------------------------------------------------------------------------------------

// Whether no unit before [unit] has the function.
static bool is_first(cu *const *units, int unit, const cu_c_func *f)
{
    for (int u = 0; u < unit; u++)
        if (func_named(units[u], f->name))
            return false;
    return true;
}

static void add_definition(cu *cx, const cu_c_func *f, const char *name, bool is_static, str_buf *out)
{
    const char *before = is_static ? "static " : "", *result = f->result;
    str_addf(out, "%s\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "%s%s%s(%s)", before, result, name, f->params)));
    str_add(out, f->body);
    str_addc(out, '\n');
}

static void add_helpers(cu *const *units, int count, str_buf *out)
{
    for (int u = 0; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
            const cu_c_func *f = &units[u]->c->funcs.at[i];
            if (!is_entry(f->func) && is_first(units, u, f))
                add_definition(units[u], f, f->name, true, out);
        }
}

static bool is_everywhere(cu *const *units, int count, const cu_c_func *f)
{
    for (int u = 0; u < count; u++) {
        const cu_c_func *g = func_named(units[u], f->name);
        if (!g || !is_same(f, g))
            return false;
    }
    return true;
}

static const char *argument_names(cu *cx, const cu_c_func *f, const char *before)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    size_t mark = cu_scope_begin(cx);
    for (size_t i = 0; i < f->func->params.len; i++)
        str_addf(&out, "%s%s, ", before, cu_declare(cx, f->func->params.at[i]));
    cu_scope_end(cx, mark);
    str_adds(&out, "stream");
    return str_text(&out);
}

// The first unit whose function is the same text.
static int same_before(cu *const *units, int unit, const cu_c_func *f)
{
    for (int u = 0; u < unit; u++) {
        const cu_c_func *g = func_named(units[u], f->name);
        if (g && is_same(f, g))
            return u;
    }
    return unit;
}

static const char *variant_name(cu *const *units, int unit, const cu_c_func *f)
{
    return arena_printf(units[unit]->a, "%s_%s", f->name, units[unit]->m->arch->name);
}

static void add_choice(cu *const *units, int count, int first, const cu_c_func *f, str_buf *out)
{
    cu *cx = units[first];
    size_t mark = cu_scope_begin(cx);
    for (size_t i = 0; i < f->func->params.len; i++)
        cu_declare(cx, f->func->params.at[i]);
    const char *variant = cu_name_new(cx, "variant"), *status = cu_name_new(cx, "status");
    cu_scope_end(cx, mark);
    const char *args = argument_names(cx, f, "");
    str_addf(out, "%s\n{\n    int %s;\n",
             cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s(%s)", f->name, f->params)), variant);
    str_addf(out, "    hdsrt_status %s = hdsrt_variant(&hds_library, &%s);\n", status, variant);
    str_addf(out, "    if (%s != HDSRT_OK)\n        return %s;\n    switch (%s) {\n", status, status, variant);
    for (int u = 0; u < count; u++) {
        const cu_c_func *g = func_named(units[u], f->name);
        if (g)
            str_addf(out, "    case %d: return %s(%s);\n", u, variant_name(units, same_before(units, u, g), g), args);
    }
    str_addf(out, "    default: return hdsrt_fail(HDSRT_NO_CODE, \"'%s' was not compiled for this GPU\");\n    }\n}\n\n",
             f->name);
}

static void add_entry(cu *const *units, int count, int first, const cu_c_func *f, str_buf *out)
{
    if (is_everywhere(units, count, f)) {
        add_definition(units[first], f, f->name, false, out);
        return;
    }
    for (int u = first; u < count; u++) {
        const cu_c_func *g = func_named(units[u], f->name);
        if (g && same_before(units, u, g) == u)
            add_definition(units[u], g, variant_name(units, u, g), true, out);
    }
    add_choice(units, count, first, f, out);
}

static bool has_tensor(const ir_func *f)
{
    for (size_t i = 0; i < f->params.len; i++)
        if (f->params.at[i]->type->kind == IR_TENSOR)
            return true;
    return false;
}

static void add_call(cu *cx, const cu_c_func *f, str_buf *out)
{
    str_addf(out, "hdsrt_status %s_call(const %s_args *args, hdsrt_stream stream)\n{\n", f->name, f->name);
    str_addf(out, "    if (!args)\n        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, \"'%s': its arguments are null\");\n",
             f->name);
    str_addf(out, "    return %s(%s);\n}\n", f->name, argument_names(cx, f, "args->"));
    if (has_tensor(f->func)) {
        str_addc(out, '\n');
        cu_c_dlpack(cx, f, out);
    }
}

// Each entry of each unit once, in order; those of the first unit first.
typedef void each_entry(cu *const *units, int count, int first, const cu_c_func *f, str_buf *out);

static void for_entries(cu *const *units, int count, each_entry *each, str_buf *out)
{
    for (int u = 0; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
            const cu_c_func *f = &units[u]->c->funcs.at[i];
            if (is_entry(f->func) && is_first(units, u, f))
                each(units, count, u, f, out);
        }
}

static void add_functions(cu *const *units, int count, int first, const cu_c_func *f, str_buf *out)
{
    add_entry(units, count, first, f, out);
    if (f->func->result->kind == IR_VOID) {
        add_call(units[first], f, out);
        str_addc(out, '\n');
    }
}

// ---- the source -------------------------------------------------------------------------------------------------

static void origin(const cu_c_options *o, str_buf *out)
{
    str_addf(out, "// From %s", o->source_name ? o->source_name : o->units[0].module->name);
    for (int i = 0; i < o->unit_count; i++)
        str_addf(out, "%s%s", i ? ", " : ", for ", o->units[i].module->arch->name);
    if (o->compiler)
        str_addf(out, ", by %s", o->compiler);
    if (o->flags && *o->flags)
        str_addf(out, ", with %s", o->flags);
    str_adds(out, "\n");
}

// Architectures are equal to 90 for sm_90, with a mark where their code runs nowhere else.
static const char *arch_number(const cu *cx)
{
    const arch *a = cx->m->arch;
    return arena_printf(cx->a, a->accelerated ? "%d | HDSRT_ARCH_ONLY" : "%d", a->major * 10 + a->minor);
}

// A word holds eight bytes in the machine's order, which is little-endian on all that CUDA runs on.
static void add_image(const cu_c_options *o, str_buf *out)
{
    if (o->image_symbol) {
        str_addf(out, "extern const uint64_t %s[];\n", o->image_symbol);
        return;
    }
    str_adds(out, "static const uint64_t hds_image[] = {");
    for (size_t i = 0; i < o->image.len || i == 0; i += 8) {
        uint64_t word = 0;
        for (size_t k = 0; k < 8 && i + k < o->image.len; k++)
            word |= (uint64_t)(unsigned char)o->image.at[i + k] << (8 * k);
        str_addf(out, "%s0x%llx,", i % 32 ? " " : "\n    ", (unsigned long long)word);
    }
    str_adds(out, "\n};\n");
}

static void add_library(const cu_c_options *o, cu *const *units, str_buf *out)
{
    str_adds(out, "\nstatic const uint16_t hds_archs[] = {");
    for (int u = 0; u < o->unit_count; u++)
        str_addf(out, "%s%s", u ? ", " : "", arch_number(units[u]));
    str_adds(out, "};\n\nstatic hdsrt_library hds_library = {\n    .name = \"");
    cu_add_literal(out, o->source_name ? o->source_name : o->units[0].module->name);
    const char *image = o->image_symbol ? o->image_symbol : "hds_image";
    str_addf(out, "\",\n    .image = %s,\n    .image_bytes = %zu,\n    .archs = hds_archs,\n", image, o->image.len);
    str_addf(out, "    .arch_count = %d,\n    .ptx_arch = %d,\n};\n\n", o->unit_count, o->ptx_unit);
}

// Shared memory that has to be allowed first: CUDA C++ Programming Guide, "Shared Memory" (48 KiB without).
static bool may_be_large(const cu_c_func *f)
{
    int64_t wish = 0;
    if (f->func->dynamic_smem_bytes && !ir_const_int(f->func->dynamic_smem_bytes, &wish))
        return true;
    int64_t dynamic = f->kernel->dynamic_smem_bytes + wish;
    return dynamic && dynamic + f->kernel->static_smem_bytes > 48 * 1024;
}

static void add_kernel(cu *const *units, int count, const cu_c_func *f, str_buf *out)
{
    bool is_large = false, is_dependent = false;
    for (int u = 0; u < count; u++) {
        const cu_c_func *g = func_named(units[u], f->name);
        is_large |= g && may_be_large(g);
        is_dependent |= g && g->func->dependent_launch;
    }
    str_addf(out, "static hdsrt_kernel hds_kernel_%s = {\n    .library = &hds_library,\n    .symbol = \"%s\",\n"
                  "    .name = \"%s\",\n", f->name, f->kernel->symbol, f->name);
    if (is_large || is_dependent)
        str_addf(out, "    .flags = %s%s%s,\n", is_large ? "HDSRT_LARGE_SHARED" : "",
                 is_large && is_dependent ? " | " : "", is_dependent ? "HDSRT_DEPENDENT_LAUNCH" : "");
    str_adds(out, "};\n\n");
}

static void add_tables(cu *const *units, int count, str_buf *out)
{
    for (int u = 0; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
            const cu_c_func *f = &units[u]->c->funcs.at[i];
            if (!is_first(units, u, f))
                continue;
            if (f->kernel)
                add_kernel(units, count, f, out);
            bool is_checked = f->kernel || (is_entry(f->func) && f->func->result->kind == IR_VOID);
            if (!is_checked || !has_tensor(f->func))
                continue;
            cu_c_rules(units[u], f, out);
            str_addc(out, '\n');
        }
}

// Pieces and headers that some unit uses.
static void add_support(cu *const *units, int count, str_buf *out)
{
    cu_prelude *all = &units[0]->prelude;
    for (int u = 1; u < count; u++)
        for (int i = 0; i < all->count; i++)
            all->pieces[i].is_used |= units[u]->prelude.pieces[i].is_used;
    for (int i = 0; i < all->count; i++)
        all->pieces[i].is_host = true;
    cu_prelude_print(all, CU_HOST_PIECES, out);
}

static void add_headers(cu *const *units, int count, str_buf *out)
{
    static const char *const lines[] = {"#include <math.h>\n", "#include <stdio.h>\n", "#include <stdlib.h>\n"};
    bool any = false;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        bool is_used = false;
        for (int u = 0; u < count; u++)
            is_used |= units[u]->c->headers.len && strstr(str_text(&units[u]->c->headers), lines[i]);
        if (is_used)
            str_addf(out, "%s%s", any ? "" : "\n", lines[i]);
        any |= is_used;
    }
    str_addc(out, '\n');
}

static bool has_kernels(cu *const *units, int count)
{
    for (int u = 0; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
            const cu_c_func *f = &units[u]->c->funcs.at[i];
            if (f->kernel || (is_entry(f->func) && !is_everywhere(units, count, f)))
                return true;
        }
    return false;
}

// The author's lines end with the function; what follows counts as the C file's own again.
static void restore_lines(const cu_c_options *o, str_buf *out)
{
    str_buf made;
    str_buf_init(&made, o->arena);
    size_t stem = strlen(o->header_name);
    stem -= stem > 2 && strcmp(o->header_name + stem - 2, ".h") == 0 ? 2 : 0;
    bool is_foreign = false;
    int line = 1;
    for (const char *at = str_text(out), *next; *at; at = next) {
        const char *end = strchr(at, '\n');
        next = end ? end + 1 : at + strlen(at);
        str_add(&made, (str){at, (size_t)(next - at)});
        line++;
        is_foreign |= str_starts(str_of(at), STR("#line "));
        if (!is_foreign || !str_starts(str_of(at), STR("}\n")))
            continue;
        is_foreign = false;
        str_addf(&made, "#line %d \"%.*s.c\"\n", ++line, (int)stem, o->header_name);
    }
    *out = made;
}

bool cu_emit_c_source(const cu_c_options *o, str_buf *out)
{
    cu **units = prepare(o);
    if (!units)
        return false;
    int count = o->unit_count;
    str_buf functions;
    str_buf_init(&functions, o->arena);
    add_helpers(units, count, &functions);
    for_entries(units, count, add_functions, &functions);
    origin(o, out);
    str_addf(out, "#include \"%s\"\n", o->header_name);
    add_headers(units, count, out);
    if (has_kernels(units, count)) {
        add_image(o, out);
        add_library(o, units, out);
    }
    add_tables(units, count, out);
    add_support(units, count, out);
    str_add(out, (str){functions.at, functions.len});
    while (out->len > 1 && out->at[out->len - 1] == '\n' && out->at[out->len - 2] == '\n')
        out->at[--out->len] = '\0';
    if (o->lines)
        restore_lines(o, out);
    return true;
}

// ---- the header -------------------------------------------------------------------------------------------------

static const char general[] =
    "// Tensors are addresses on the GPU: multiples of 16, row-major without gaps. One that is written overlaps no other.\n"
    "// Of types that C lacks (f16, bf16, fp8, complex64, vectors, fewer than 8 bits) they are void pointers.\n"
    "//\n"
    "// What returns an hdsrt_status checks its arguments, puts its work into the stream and returns. HDSRT_INVALID_ARGUMENT:\n"
    "// what is said below does not hold, and nothing was launched; see <hds/runtime.h> for the other values, and\n"
    "// hdsrt_last_error() for a text. Extents are not negative; a tensor without elements may be NULL. Of each such function\n"
    "// NAME, NAME_call takes the arguments in a struct, and NAME_dlpack takes tensors over DLPack and compares their shapes.\n";

static void add_struct(cu *cx, const cu_c_func *f, str_buf *out)
{
    str_addf(out, "typedef struct %s_args {\n", f->name);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        str_addf(out, "    %s;\n", cu_c_param(cx, v, cu_var_name(cx, v), f->writes[i], true));
    }
    if (!f->func->params.len)
        str_adds(out, "    char unused;\n");
    str_addf(out, "} %s_args;\n\n", f->name);
}

static void declare_entry(cu *const *units, int count, int first, const cu_c_func *f, str_buf *out)
{
    (void)count;
    cu *cx = units[first];
    size_t mark = cu_scope_begin(cx);
    for (size_t i = 0; i < f->func->params.len; i++)
        cu_declare(cx, f->func->params.at[i]);
    str_addc(out, '\n');
    cu_c_describe(cx, f, out);
    bool is_plain = f->func->result->kind != IR_VOID;
    if (!is_plain)
        add_struct(cx, f, out);
    str_addf(out, "%s;\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "%s%s(%s)", f->result, f->name, f->params)));
    if (!is_plain)
        str_addf(out, "hdsrt_status %s_call(const %s_args *args, hdsrt_stream stream);\n", f->name, f->name);
    cu_scope_end(cx, mark);
    mark = cu_scope_begin(cx);
    if (!is_plain && has_tensor(f->func))
        str_addf(out, "%s;\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s_dlpack(%s)", f->name,
                                                           cu_c_dlpack_params(cx, f))));
    cu_scope_end(cx, mark);
}

bool cu_emit_c_header(const cu_c_options *o, str_buf *out)
{
    cu **units = prepare(o);
    if (!units)
        return false;
    // A program may include the headers of one file compiled twice.
    const char *macro = cu_c_macro(arena_printf(o->arena, "%s%s", o->prefix ? o->prefix : "", o->header_name), o->arena);
    origin(o, out);
    str_addf(out, "//\n%s#ifndef %s\n#define %s\n\n#include <hds/runtime.h>\n\n", general, macro, macro);
    str_adds(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for_entries(units, o->unit_count, declare_entry, out);
    str_adds(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return true;
}
