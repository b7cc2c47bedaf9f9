// The C text of a file compiled for one architecture or several: the image, its kernels, and a function for each entry.
//
// Each unit's functions are emitted separately (c_unit.c). If the text of all units is the same, it is written once;
// otherwise each unit's has a name of its own, and the entry chooses at run time.
#include "cuda_emit/c.h"

#include <string.h>

#include "cuda_emit/c_priv.h"

// ---- each function once -----------------------------------------------------------------------------------------

// Whether no unit before [unit] has the function.
static bool is_first(cu *const *units, int unit, const cu_c_func *f)
{
    for (int u = 0; u < unit; u++)
        if (cu_c_func_named(units[u], f->name))
            return false;
    return true;
}

// What has the function's body: itself, or of a model's function the one that it calls.
static const char *body_name(const cu *cx, const cu_c_func *f)
{
    return f->is_model ? cu_c_model_body(cx, f) : f->name;
}

static const char *body_params(const cu *cx, const cu_c_func *f)
{
    return f->is_model ? arena_printf(cx->a, "%s, void *%s", f->params, f->given) : f->params;
}

static void add_definition(cu *cx, const cu_c_func *f, const char *name, bool is_static, str_buf *out)
{
    const char *before = is_static ? "static " : "", *result = f->result, *params = body_params(cx, f);
    str_addf(out, "%s\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "%s%s%s(%s)", before, result, name, params)));
    str_add(out, f->body);
    str_addc(out, '\n');
}

static void add_helpers(cu *const *units, int count, str_buf *out)
{
    for (int u = 0; u < count; u++)
        for (size_t i = 0; i < units[u]->c->funcs.len; i++) {
            const cu_c_func *f = &units[u]->c->funcs.at[i];
            if (!cu_c_is_entry(f->func) && is_first(units, u, f))
                add_definition(units[u], f, f->name, true, out);
        }
}

static bool is_everywhere(cu *const *units, int count, const cu_c_func *f)
{
    for (int u = 0; u < count; u++) {
        const cu_c_func *g = cu_c_func_named(units[u], f->name);
        if (!g || !cu_c_is_same(f, g))
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
        const cu_c_func *g = cu_c_func_named(units[u], f->name);
        if (g && cu_c_is_same(f, g))
            return u;
    }
    return unit;
}

static const char *variant_name(cu *const *units, int unit, const cu_c_func *f)
{
    return arena_printf(units[unit]->a, "%s_%s", body_name(units[unit], f), units[unit]->m->arch->name);
}

static void add_choice(cu *const *units, int count, int first, const cu_c_func *f, str_buf *out)
{
    cu *cx = units[first];
    size_t mark = cu_scope_begin(cx);
    for (size_t i = 0; i < f->func->params.len; i++)
        cu_declare(cx, f->func->params.at[i]);
    const char *variant = cu_name_new(cx, "variant"), *status = cu_name_new(cx, "status");
    cu_scope_end(cx, mark);
    const char *args = argument_names(cx, f, ""), *name = body_name(cx, f);
    if (f->is_model)
        args = arena_printf(cx->a, "%s, %s", args, f->given);
    str_addf(out, "%s\n{\n    int %s;\n",
             cu_c_wrapped(cx->a, arena_printf(cx->a, "%shdsrt_status %s(%s)", f->is_model ? "static " : "", name, body_params(cx, f))),
             variant);
    str_addf(out, "    hdsrt_status %s = hdsrt_variant(&hds_library, &%s);\n", status, variant);
    str_addf(out, "    if (%s != HDSRT_OK)\n        return %s;\n    switch (%s) {\n", status, status, variant);
    for (int u = 0; u < count; u++) {
        const cu_c_func *g = cu_c_func_named(units[u], f->name);
        if (g)
            str_addf(out, "    case %d: return %s(%s);\n", u, variant_name(units, same_before(units, u, g), g), args);
    }
    str_addf(out, "    default: return hdsrt_fail(HDSRT_NO_CODE, \"'%s' was not compiled for this GPU\");\n    }\n}\n\n",
             f->name);
}

static void add_entry(cu *const *units, int count, int first, const cu_c_func *f, str_buf *out)
{
    if (is_everywhere(units, count, f)) {
        add_definition(units[first], f, body_name(units[first], f), f->is_model, out);
        return;
    }
    for (int u = first; u < count; u++) {
        const cu_c_func *g = cu_c_func_named(units[u], f->name);
        if (g && same_before(units, u, g) == u)
            add_definition(units[u], g, variant_name(units, u, g), true, out);
    }
    add_choice(units, count, first, f, out);
}

// The function that takes all weights as parameters, and its own workspace.
static void add_model_entry(cu *cx, const cu_c_func *f, str_buf *out)
{
    str_addf(out, "%s\n{\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s(%s)", f->name, f->params)));
    str_addf(out, "    return %s(%s, NULL);\n}\n\n", cu_c_model_body(cx, f), argument_names(cx, f, ""));
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
            if (cu_c_is_entry(f->func) && is_first(units, u, f))
                each(units, count, u, f, out);
        }
}

static void add_functions(cu *const *units, int count, int first, const cu_c_func *f, str_buf *out)
{
    add_entry(units, count, first, f, out);
    if (f->is_model)
        add_model_entry(units[first], f, out);
    if (f->func->result->kind == IR_VOID) {
        add_call(units[first], f, out);
        str_addc(out, '\n');
    }
}

// Operators of the first unit: all units have the same entries.
typedef void each_operator(cu *cx, const cu_c_func *f, str_buf *out);

static void for_operators(cu *cx, each_operator *each, str_buf *out)
{
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *f = &cx->c->funcs.at[i];
        if (cu_c_is_first_of_operator(cx, f) && cu_c_has_operator(cx, f))
            each(cx, f, out);
    }
}

static void add_operator(cu *cx, const cu_c_func *f, str_buf *out)
{
    cu_c_operator(cx, f, out);
    str_addc(out, '\n');
}

// ---- the source -------------------------------------------------------------------------------------------------

static void origin(const cu_c_options *o, str_buf *out)
{
    str_addf(out, "// From %s", cu_on_one_line(o->arena, o->source_name ? o->source_name : o->units[0].module->name));
    for (int i = 0; i < o->unit_count; i++)
        str_addf(out, "%s%s", i ? ", " : ", for ", o->units[i].module->arch->name);
    if (o->compiler)
        str_addf(out, ", by %s", o->compiler);
    if (o->flags && *o->flags)
        str_addf(out, ", with %s", cu_on_one_line(o->arena, o->flags));
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
    bool is_large = false, is_dependent = false, all_wait = true; // the flag is for all code that can wait
    for (int u = 0; u < count; u++) {
        const cu_c_func *g = cu_c_func_named(units[u], f->name);
        is_large |= g && may_be_large(g);
        is_dependent |= g && g->func->dependent_launch;
        all_wait &= !g || g->func->dependent_launch || units[u]->m->arch->major < 9;
    }
    is_dependent &= all_wait;
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
            bool is_checked = f->kernel || (cu_c_is_entry(f->func) && f->func->result->kind == IR_VOID);
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
            all->snippets[i].is_used |= units[u]->prelude.snippets[i].is_used;
    for (int i = 0; i < all->count; i++)
        all->snippets[i].is_host = true;
    cu_prelude_print(all, CU_HOST_SNIPPETS, out);
}

static void add_headers(cu *const *units, int count, str_buf *out)
{
    static const char *const lines[] = {"#include <math.h>\n", "#include <stdio.h>\n"};
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
            if (f->kernel || (cu_c_is_entry(f->func) && !is_everywhere(units, count, f)))
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
    cu **units = cu_c_prepare(o);
    if (!units)
        return false;
    int count = o->unit_count;
    str_buf functions;
    str_buf_init(&functions, o->arena);
    add_helpers(units, count, &functions);
    for_entries(units, count, add_functions, &functions);
    for_operators(units[0], add_operator, &functions);
    cu_c_models(units, count, &functions);
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
    "// Tensors are addresses on the GPU: multiples of 16, row-major without gaps, if nothing else is said below. One that is\n"
    "// written overlaps no other.\n"
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
    cu **units = cu_c_prepare(o);
    if (!units)
        return false;
    // A program may include the headers of one file compiled twice.
    const char *macro = cu_c_macro(arena_printf(o->arena, "%s%s", o->prefix ? o->prefix : "", o->header_name), o->arena);
    origin(o, out);
    str_addf(out, "//\n%s#ifndef %s\n#define %s\n\n#include <hds/runtime.h>\n\n", general, macro, macro);
    str_adds(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for_operators(units[0], cu_c_declare_operator, out);
    for_entries(units, o->unit_count, declare_entry, out);
    cu_c_declare_models(units[0], out);
    str_adds(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return true;
}
