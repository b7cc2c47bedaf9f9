// A core's life, and how its parts get into its memory.

#include <stdlib.h>
#include <string.h>

#include "api/api_priv.h"

api_core *api_core_new(void)
{
    api_core *core = calloc(1, sizeof *core);
    if (!core)
        return NULL;
    atomic_init(&core->references, 1);
    arena_init(&core->memory, &core->oom);
    return core;
}

void api_core_retain(api_core *core)
{
    atomic_fetch_add_explicit(&core->references, 1, memory_order_relaxed);
}

void api_core_release(api_core *core)
{
    if (!core || atomic_fetch_sub_explicit(&core->references, 1, memory_order_acq_rel) != 1)
        return;
    if (core->jit.library.image)
        jit_unload(&core->jit);
    arena_free(&core->memory);
    free(core);
}

// ---- diagnostics -----------------------------------------------------------------------------------------------

static hds_severity severity_of(const diag *d)
{
    switch (d->severity) {
    case DIAG_NOTE: return HDS_NOTE;
    case DIAG_WARNING: return HDS_WARNING;
    case DIAG_ERROR: break;
    }
    return HDS_ERROR;
}

static const char *one_line(arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);
    for (char *c = copy; *c; c++) {
        if (*c == '\n')
            *c = ' ';
    }
    return copy;
}

static const char *rendered(api_core *core, const diag_context *dx, diag *d)
{
    str_buf out;
    str_buf_init(&out, &core->memory);
    diag_context alone = *dx;
    alone.all.at = &d;
    alone.all.len = alone.all.cap = 1;
    diag_render_text(&alone, &out, (diag_style){0});
    return str_text(&out);
}

static hds_diagnostic copy_of(api_core *core, const diag_context *dx, diag *d)
{
    src_location begin = src_location_of(dx->sources, d->span.begin), end = src_location_of(dx->sources, d->span.end);
    hds_diagnostic copy = {
        .code = diag_name(d->code),
        .severity = severity_of(d),
        .message = one_line(&core->memory, d->message),
        .rendered = rendered(core, dx, d),
    };
    if (!begin.file)
        return copy;
    copy.file = arena_strdup(&core->memory, begin.file->name);
    copy.line = begin.line;
    copy.column = begin.column;
    copy.end_line = end.file ? end.line : begin.line;
    copy.end_column = end.file ? end.column : begin.column;
    return copy;
}

void api_core_add_diagnostics(api_core *core, diag_context *dx)
{
    diag **all = diag_sorted(dx);
    core->diagnostics = ARENA_ARRAY(&core->memory, hds_diagnostic, dx->all.len);
    for (size_t i = 0; i < dx->all.len; i++)
        core->diagnostics[i] = copy_of(core, dx, all[i]);
    core->diagnostic_count = dx->all.len;
}

// ---- texts -----------------------------------------------------------------------------------------------------

// A 0 follows; memory of the arena is aligned as a cubin wants to be.
void api_core_set_text(api_core *core, hds_text which, str text)
{
    if (text.at)
        core->texts[which] = (str){arena_strndup(&core->memory, text.at, text.len), text.len};
}

static hds_kernel function_of(api_core *core, jit_function *f)
{
    str_buf text;
    str_buf_init(&text, &core->memory);
    if (!f->refused)
        plan_print(&f->plan, &text);
    return (hds_kernel){.core = core, .jit = &f->entry, .function = f, .plan = f->refused ? NULL : str_text(&text)};
}

bool api_core_finish(api_core *core)
{
    const char *why = NULL;
    str image = core->texts[HDS_CUBIN];
    if (!jit_read(&core->memory, core->texts[HDS_INTERFACE], &core->jit, &why)) {
        core->failure = arena_printf(&core->memory, "the interface document cannot be read: %s", why);
        return false;
    }
    core->kernels = ARENA_ARRAY(&core->memory, hds_kernel, core->jit.count);
    for (int i = 0; i < core->jit.count; i++)
        core->kernels[i] = (hds_kernel){.core = core, .jit = &core->jit.kernels[i]};
    core->functions = ARENA_ARRAY(&core->memory, hds_kernel, core->jit.function_count + core->jit.operator_count);
    for (int i = 0; i < core->jit.function_count; i++)
        core->functions[i] = function_of(core, &core->jit.functions[i]);
    for (int i = 0; i < core->jit.operator_count; i++) {
        const jit_operator *o = &core->jit.operators[i];
        core->functions[core->jit.function_count + i] = (hds_kernel){.core = core, .jit = o->entry, .operator = o};
    }
    const arch *target = core->request.arch;
    core->code_arch = (uint16_t)((target->major * 10 + target->minor) | (target->accelerated ? HDSRT_ARCH_ONLY : 0));
    if (image.at)
        jit_set_code(&core->jit, image, &core->code_arch, 1);
    return true;
}
