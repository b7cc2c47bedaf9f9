// From low IR to CUDA text.

#include "pipeline/unit.h"
#include "remarks/remarks.h"

const char *pl_unit_flags(pl_unit *u)
{
    const pl_options *o = u->options;
    str_buf flags;
    str_buf_init(&flags, &u->memory);
    for (int i = 0; i < o->define_count; i++) {
        const tc_define *d = &o->defines[i];
        str_addf(&flags, "%s-D %s%s%s", flags.len ? " " : "", d->name, d->value ? "=" : "", d->value ? d->value : "");
    }
    for (int i = 0; i < o->entry_count; i++)
        str_addf(&flags, "%s--entry '%s'", flags.len ? " " : "", o->entries[i]);
    return flags.len ? str_text(&flags) : NULL;
}

static bool emit(pl_unit *u, bool lines, cu_dry_run *dry_run, str_buf *text)
{
    const cu_options options = {
        .lines = lines,
        .sources = &u->sources,
        .host = u->options->emit == PL_CU,
        .header = true,
        .compiler = "hdsc " HDS_VERSION,
        .source_name = u->input_name,
        .flags = pl_unit_flags(u),
        .scratch = &u->scratch,
        .kernels = &u->kernels,
        .dry_run = dry_run,
    };
    return cu_emit(u->module, &options, text) && !u->diags.shown_errors;
}

bool pl_emit(pl_unit *u)
{
    str_buf text;
    str_buf_init(&text, &u->memory);
    size_t span = pl_span_begin(&u->times, "emit", 0);
    bool ok = emit(u, !u->options->no_line, NULL, &text);
    pl_span_end(&u->times, span);
    u->cuda = (str){str_text(&text), text.len};
    return ok;
}

bool pl_emit_and_drop(pl_unit *u)
{
    ir_module *m = u->module;
    double start = pl_now_us();
    arena *ir = m->arena;
    arena_mark mark = arena_mark_get(&u->ir_scratch);
    str_buf text;
    str_buf_init(&text, &u->ir_scratch);
    m->arena = &u->ir_scratch;
    u->lowering.dry_run.memory = &u->memory;
    bool ok = emit(u, false, &u->lowering.dry_run, &text);
    if (ok) {
        const remark_unit unit = pl_remark_unit(u);
        remark_early(&unit);
    }
    m->arena = ir;
    u->kernels = (cu_kernel_list){0};
    arena_reset(&u->ir_scratch, mark);
    u->lowering.emitted_us += pl_now_us() - start;
    return ok && !u->diags.shown_errors;
}
