// From low IR to CUDA text.

#include "pipeline/unit.h"

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

bool pl_emit(pl_unit *u)
{
    const cu_options options = {
        .lines = !u->options->no_line,
        .sources = &u->sources,
        .host = u->options->emit == PL_CU,
        .header = true,
        .compiler = "hdsc " HDS_VERSION,
        .source_name = u->input_name,
        .flags = pl_unit_flags(u),
        .scratch = &u->scratch,
        .kernels = &u->kernels,
    };
    str_buf text;
    str_buf_init(&text, &u->memory);
    size_t span = pl_span_begin(&u->times, "emit", 0);
    bool ok = cu_emit(u->module, &options, &text);
    pl_span_end(&u->times, span);
    u->cuda = (str){str_text(&text), text.len};
    return ok && !u->diags.shown_errors;
}
