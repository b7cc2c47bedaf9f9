// The order of the text: origin, prelude, constant tables, instructions, functions, host functions. The functions are
// written first, into a text of their own, since they decide what of the rest is needed.
#include "cuda_emit/emit.h"

#include "cuda_emit/emit_priv.h"

static void name_functions(cu *cx, bool kernels, bool reserved)
{
    for (size_t i = 0; i < cx->m->funcs.len; i++) {
        const ir_func *f = cx->m->funcs.at[i];
        if ((f->kind == IR_KERNEL) == kernels && (reserved || cu_name_is_free(cx, f->name)))
            cu_func_name(cx, f);
    }
}

// Kernels first: others look them up by name. Those that can keep their names come before those that cannot, so that
// the name of a kernel is its own whatever else the file has.
static void name_globals(cu *cx)
{
    for (int kernels = 1; kernels >= 0 && !cx->is_dry; kernels--) {
        name_functions(cx, kernels, false);
        name_functions(cx, kernels, true);
    }
    for (size_t i = 0; i < cx->m->globals.len; i++)
        cu_name_table(cx, cx->m->globals.at[i], cx->m->global_values.at[i]);
}

// The words of CUDA text, functions most of them, so that no variable hides one.
static void reserve_text(cu *cx, const char *text)
{
    for (const char *at = text; *at;) {
        str hole = cu_hole_at(at);
        size_t len = hole.len ? hole.len + 2 : cu_word_length(at);
        if (!hole.len && len)
            cu_name_reserve(cx, (str){at, len});
        at += len ? len : 1;
    }
}

// Wrappers' names are taken before any local variable can take them.
static void name_intrins(cu *cx)
{
    for (size_t i = 0; i < cx->m->intrins.len && !cx->is_dry; i++) {
        const ir_intrin *in = cx->m->intrins.at[i];
        if (in->form == IR_INTRIN_PTX)
            map_put_ptr(&cx->wrappers, in, (void *)cu_name_global(cx, in->instance));
        else
            reserve_text(cx, in->text);
    }
}

static void origin(cu *cx, str_buf *out)
{
    const cu_options *o = cx->options;
    const char *source = o->source_name ? o->source_name : cx->m->name;
    str_addf(out, "// %s for %s", cu_on_one_line(cx->a, source), cx->m->arch->name);
    if (o->compiler)
        str_addf(out, ", by %s", o->compiler);
    if (o->flags && *o->flags)
        str_addf(out, ", with %s", cu_on_one_line(cx->a, o->flags));
    str_adds(out, "\n\n");
}

// Names and texts of expressions are needed no longer than their function is written.
static void write_function(cu *cx, ir_func *f, void (*write)(cu *, ir_func *))
{
    arena *scratch = cx->options->scratch ? cx->options->scratch : cx->lasting;
    arena_mark mark = arena_mark_get(scratch);
    cx->a = scratch;
    write(cx, f);
    cx->a = cx->lasting;
    if (scratch != cx->lasting)
        arena_reset(scratch, mark);
}

static void device_functions(cu *cx)
{
    for (size_t i = 0; i < cx->m->funcs.len; i++) {
        ir_func *f = cx->m->funcs.at[i];
        bool is_called = map_get_ptr(&cx->sides, f) != NULL;
        if (f->kind != IR_HOST_FUNC && is_called && !cx->failed)
            write_function(cx, f, cu_function);
    }
}

static void host_functions(cu *cx)
{
    for (size_t i = 0; i < cx->m->funcs.len; i++) {
        ir_func *f = cx->m->funcs.at[i];
        if (f->kind == IR_HOST_FUNC && map_get_ptr(&cx->sides, f) && !cx->failed)
            write_function(cx, f, cu_host_function);
    }
}

// A part of the text that knows nothing of #line directives in the parts before it.
static void begin_part(cu *cx, str_buf *part)
{
    str_buf_init(part, cx->a);
    cx->out = part;
    cx->indent = 0;
    cx->in_host = false;
    cx->file_is_named = false;
    cx->counted = 0;
}

static void add_part(str_buf *out, const str_buf *part)
{
    str_add(out, (str){part->at, part->len});
}

// Kernel offsets were relative to the part with the functions.
static void move_kernels(cu *cx, size_t offset)
{
    cu_kernel_list *kernels = cx->options->kernels;
    for (size_t i = 0; kernels && i < kernels->len; i++) {
        kernels->at[i].text_begin += offset;
        kernels->at[i].text_end += offset;
    }
}

static void add_host_part(cu *cx, str_buf *out, const str_buf *host)
{
    if (!host->len)
        return;
    str_adds(out, "#ifndef __CUDACC_RTC__\n\n");
    cu_prelude_print(&cx->prelude, CU_HOST_SNIPPETS, out);
    add_part(out, host);
    str_adds(out, "#endif\n");
}

static void assemble(cu *cx, str_buf *out, const str_buf *device, const str_buf *host)
{
    str_buf front;
    begin_part(cx, &front);
    cu_globals(cx);
    cu_wrappers(cx);
    if (cx->options->header)
        origin(cx, out);
    if (cx->needs_headers)
        str_adds(out, "#ifndef __CUDACC_RTC__\n#include <math.h>\n#include <stdio.h>\n#endif\n\n");
    cu_prelude_print(&cx->prelude, CU_DEVICE_SNIPPETS, out);
    add_part(out, &front);
    move_kernels(cx, out->len);
    add_part(out, device);
    add_host_part(cx, out, host);
    while (out->len > 1 && out->at[out->len - 1] == '\n' && out->at[out->len - 2] == '\n')
        out->at[--out->len] = '\0';
}

// Of what nobody reads: only tables have expressions that no function has shown yet.
static void check_globals(cu *cx)
{
    str_buf front;
    begin_part(cx, &front);
    cu_globals(cx);
}

static void begin_prelude(cu *cx)
{
    cu_dry_run *dry = cx->options->dry_run;
    if (!dry) {
        cu_prelude_init(&cx->prelude, cx->a, cx->m->arch, false);
        return;
    }
    if (!dry->prelude) {
        dry->prelude = ARENA_NEW(dry->memory, cu_prelude);
        cu_prelude_init(dry->prelude, dry->memory, cx->m->arch, false);
    }
    cx->prelude = *dry->prelude;
}

bool cu_emit(ir_module *m, const cu_options *options, str_buf *out)
{
    cu *cx = ARENA_NEW(m->arena, cu);
    *cx = (cu){.m = m, .options = options, .a = m->arena, .lasting = m->arena, .dialect = &cu_dialect_cuda};
    str_buf device, host;
    cx->is_dry = options->dry_run != NULL;
    begin_prelude(cx);
    cu_names_init(cx);
    cu_analyse(cx);
    name_globals(cx);
    name_intrins(cx);
    begin_part(cx, &device);
    device_functions(cx);
    begin_part(cx, &host);
    host_functions(cx);
    if (!cx->failed && cx->is_dry)
        check_globals(cx);
    else if (!cx->failed)
        assemble(cx, out, &device, &host);
    return !cx->failed;
}
