// A core's life, and how its parts get into its memory.

#include <inttypes.h>
#include <stdio.h>
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

enum { KEPT_TEXTS = 4 };  // code, message, file and the whole, each with its 0

// Of each: the numbers, 0, the texts. What is NULL is "".
str api_core_write_diagnostics(api_core *core)
{
    str_buf out;
    str_buf_init(&out, &core->memory);
    for (size_t i = 0; i < core->diagnostic_count; i++) {
        const hds_diagnostic *d = &core->diagnostics[i];
        const char *texts[KEPT_TEXTS] = {d->code, d->message, d->file ? d->file : "", d->rendered};
        str_addf(&out, "%d %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32, (int)d->severity, d->line, d->column, d->end_line,
                 d->end_column);
        str_addc(&out, 0);
        for (int k = 0; k < KEPT_TEXTS; k++)
            str_add(&out, (str){texts[k], strlen(texts[k]) + 1});
    }
    return (str){str_text(&out), out.len};
}

// The text at *[at], behind which that is then; NULL: no 0 ends it.
static const char *next_text(api_core *core, const char **at, const char *end)
{
    const char *begin = *at, *stop = begin < end ? memchr(begin, 0, (size_t)(end - begin)) : NULL;
    *at = stop ? stop + 1 : end;
    return stop ? arena_strdup(&core->memory, begin) : NULL;
}

static bool read_diagnostic(api_core *core, const char **at, const char *end, hds_diagnostic *d)
{
    int severity = 0;
    const char *numbers = next_text(core, at, end), *texts[KEPT_TEXTS] = {0};
    if (!numbers || sscanf(numbers, "%d %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &severity, &d->line, &d->column, &d->end_line,
                           &d->end_column) != 5)
        return false;
    for (int k = 0; k < KEPT_TEXTS; k++)
        if (!(texts[k] = next_text(core, at, end)))
            return false;
    d->severity = (hds_severity)severity;
    d->code = texts[0];
    d->message = texts[1];
    d->file = *texts[2] ? texts[2] : NULL;
    d->rendered = texts[3];
    return true;
}

bool api_core_read_diagnostics(api_core *core, str bytes)
{
    VEC(hds_diagnostic) all = {0};
    const char *at = bytes.at, *end = bytes.at + bytes.len;
    while (at < end) {
        hds_diagnostic d = {0};
        if (!read_diagnostic(core, &at, end, &d))
            return false;
        VEC_PUSH(&core->memory, &all, d);
    }
    core->diagnostics = all.at;
    core->diagnostic_count = all.len;
    return true;
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
