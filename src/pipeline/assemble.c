// The last stage: NVRTC compiles the CUDA text to PTX and machine code, unless the code cache has the output.

#include <string.h>

#include "pipeline/batches.h"
#include "pipeline/shared.h"
#include "remarks/remarks.h"
#include "pipeline/usage.h"
#include "service/service.h"
#include "toolchain/log.h"
#include "toolchain/nvrtc.h"

bool pl_wants_cubin(const pl_options *o)
{
    return o->emit >= PL_CUBIN || o->resource_usage;
}

remark_unit pl_remark_unit(pl_unit *u)
{
    return (remark_unit){
        .memory = &u->memory,
        .diags = &u->diags,
        .sources = &u->sources,
        .module = u->module,
        .arch = u->arch,
        .kernels = &u->kernels,
        .nvrtc_options = u->options->nvrtc_options,
        .nvrtc_option_count = u->options->nvrtc_option_count,
        .runs_ptxas = pl_wants_cubin(u->options),
    };
}

static const tool_nvrtc *open_nvrtc(pl_unit *u)
{
    size_t span = pl_span_begin(&u->times, "open NVRTC", 0);
    const tool_nvrtc *nvrtc = tool_nvrtc_open(&u->memory, &u->diags, u->options->nvrtc_path);
    pl_span_end(&u->times, span);
    if (nvrtc && tool_nvrtc_check_arch(nvrtc, &u->diags, u->arch))
        return nvrtc;
    u->status = PL_TOOLCHAIN;
    return NULL;
}

tool_compile_options pl_nvrtc_options(pl_unit *u)
{
    const pl_options *o = u->options;
    const char **extra = ARENA_ARRAY(&u->memory, const char *, o->nvrtc_option_count + 1);
    size_t len = 0;
    for (int i = 0; i < o->nvrtc_option_count; i++)
        extra[len++] = o->nvrtc_options[i];
    if (o->device_debug)
        extra[len++] = "--device-debug";
    return (tool_compile_options){
        .target = u->arch,
        .cubin = pl_wants_cubin(o),
        .line_info = o->line_info && !o->device_debug,
        .extra = extra,
        .extra_len = len,
    };
}

bool pl_has_author_texts(const ir_module *m)
{
    for (size_t i = 0; i < m->intrins.len; i++) {
        const char *module = m->intrins.at[i]->module;
        if (!module || strncmp(module, "hidet.lang", 10) != 0)
            return true;
    }
    return false;
}

// ---- NVRTC ------------------------------------------------------------------------------------------------------

// A compilation by a worker, while it lasts.
typedef struct single {
    pl_unit *unit;
    svc_result result;
} single;

static bool take(void *user, size_t index, const svc_result *result)
{
    single *s = user;
    (void)index;
    if (!result) // it is a part of what is shown, or all of it
        return pl_goes_on(s->unit, PL_AT_CODE, 0, 0);
    s->result = *result;
    return true;
}

void pl_run_nvrtc(const pl_assembly *s, const tool_compile_options *options, str text, tool_result *out, bool *crashed)
{
    pl_unit *u = s->unit;
    const char *folder = options->line_info || !s->text.is_canonical ? pl_working_folder(&u->memory) : NULL;
    const svc_job job = {.options = *options, .nvrtc = s->nvrtc->path, .folder = folder, .text = text};
    single one = {.unit = u};
    svc_status status = SVC_UNAVAILABLE;
    if (u->options->isolates_nvrtc)
        status = svc_compile(u->options->service, &u->memory, &job, 1, take, &one);
    if (status == SVC_CANCELLED)
        pl_cancel(u);
    if (status == SVC_UNAVAILABLE)
        tool_nvrtc_compile(s->nvrtc, &u->memory, options, text.at, &one.result.result);
    *out = one.result.result;
    *crashed = one.result.has_crashed;
}

// ptxas names lines of the PTX. The cached log also names lines of the text, so that later runs can report them.
void pl_locate(const pl_assembly *s, const tool_compile_options *options, str text, tool_result *result)
{
    pl_unit *u = s->unit;
    tool_result lined = *result;
    tool_compile_options again = *options;
    bool crashed;
    again.cubin = false;
    again.line_info = true;
    if (!tool_log_wants_locations(result->log))
        return;
    if (!options->line_info)
        pl_run_nvrtc(s, &again, text, &lined, &crashed);
    if (lined.status != TOOL_COMPILED)
        return;
    src_map own;
    src_map_init(&own, &u->memory);
    src_add(&own, PL_CANONICAL_NAME, text);
    result->log = tool_log_locate(&u->memory, s->text.is_canonical ? &own : &u->sources, result->log, result->ptx, lined.ptx);
}

static bool compile(const pl_assembly *s, tool_result *out)
{
    pl_unit *u = s->unit;
    bool crashed = false;
    size_t span = pl_span_begin(&u->times, s->options.cubin ? "NVRTC and ptxas" : "NVRTC", 0);
    pl_show_progress(u, PL_AT_CODE, 0, u->kernels.len);
    if (!pl_compile_batches(s, out)) {
        size_t again = u->not_joined ? pl_span_begin(&u->times, "again, as one text", 1) : span;
        pl_run_nvrtc(s, &s->options, s->text.text, out, &crashed);
        pl_locate(s, &s->options, s->text.text, out);
        pl_show_progress(u, PL_AT_CODE, u->kernels.len, u->kernels.len);
        if (u->not_joined)
            pl_span_end(&u->times, again);
    }
    pl_span_end(&u->times, span);
    u->origin = PL_COMPILED;
    if (crashed)
        pl_report_crash(u, out->failure, NULL, 0);
    return u->status == PL_OK;
}

// ---- reports ----------------------------------------------------------------------------------------------------

void pl_report_crash(pl_unit *u, const char *how, const size_t *parts, size_t part)
{
    diag *d = NULL;
    for (size_t i = 0; i < u->kernels.len; i++) {
        const ir_func *f = u->kernels.at[i].func;
        const char *title = f->title ? f->title : f->name;
        if (parts && parts[i] != part)
            continue;
        if (d)
            diag_note(d, f->span, "it may as well be '%s', which was compiled along with it", title);
        else
            d = diag_report(&u->diags, HDS0078, f->span, title, how);
    }
    if (!d)
        diag_report(&u->diags, HDS0078, (src_span){0, 0}, u->input_name, how);
    u->status = PL_INTERNAL;
}

// What NVRTC complains about is a text of the author, or else our own doing. The messages are mapped to the source.
static bool report(const pl_assembly *s, const tool_result *result)
{
    tool_log log;
    pl_unit *u = s->unit;
    const remark_unit unit = pl_remark_unit(u);
    remark_facts_list facts;
    remark_facts_of(&unit, &facts);
    str text = s->text.is_canonical ? pl_canonical_log_of_source(&u->memory, &s->text.canonical, result->log) : result->log;
    tool_log_parse(&u->memory, text, result->ptx, &log);
    bool is_authors = remark_on_log(&unit, &facts, &log) > 0 || pl_has_author_texts(u->module);
    if (tool_nvrtc_report(&u->diags, result, &log))
        return true;
    u->status = !is_authors || result->status == TOOL_FAILED ? PL_INTERNAL : PL_ERRORS;
    if (u->diags.all.len && !is_authors)
        diag_help(VEC_LAST(&u->diags.all), "this is a bug in hdsc: please report it, with the source and the CUDA text "
                                           "that '--emit=cu' writes");
    return false;
}

// ---- the cache, or NVRTC ----------------------------------------------------------------------------------------

// NVRTC's identity: by its file where that tells, else by opening it.
static bool identify(pl_assembly *s)
{
    pl_unit *u = s->unit;
    if (tool_nvrtc_identify(&u->memory, u->options->nvrtc_path, &s->identity))
        return true;
    s->nvrtc = open_nvrtc(u);
    return s->nvrtc && tool_nvrtc_identity_of(&u->memory, s->nvrtc, &s->identity);
}

static bool is_same_nvrtc(const pl_assembly *s)
{
    tool_nvrtc_identity found;
    return tool_nvrtc_identity_of(&s->unit->memory, s->nvrtc, &found) && strcmp(found.text, s->identity.text) == 0;
}

static bool find(pl_assembly *s, tool_result *out)
{
    pl_unit *u = s->unit;
    pl_code_request request;
    size_t span = pl_span_begin(&u->times, "cache", 0);
    pl_code_request_make(u, &s->options, &s->identity, &s->text, &request);
    pl_shared_add_inputs(u, &request.inputs);
    bool is_found = pl_code_find(u, &request, out);
    pl_span_end(&u->times, span);
    return is_found;
}

// What is found says what it said when it was made. What is kept compiled well, with the NVRTC that it is kept for.
static bool find_or_compile(pl_assembly *s, tool_result *out)
{
    pl_unit *u = s->unit;
    u->uncacheable = u->options->cache ? pl_code_uncacheable(u, &s->options) : NULL;
    s->is_kept = u->options->cache && !u->uncacheable && identify(s);
    if (u->status != PL_OK)
        return false;
    if (s->is_kept && find(s, out)) {
        u->origin = PL_FROM_CACHE;
        return report(s, out);
    }
    s->nvrtc = s->nvrtc ? s->nvrtc : open_nvrtc(u);
    s->is_kept = s->is_kept && s->nvrtc && is_same_nvrtc(s);
    bool ok = s->nvrtc && compile(s, out) && report(s, out);
    if (ok && s->is_kept)
        pl_code_store(u, out);
    cache_abandon(&u->ticket);
    return ok;
}

void pl_take_nvrtc_text(pl_unit *u)
{
    const tool_compile_options options = pl_nvrtc_options(u);
    pl_nvrtc_text *text = ARENA_NEW(&u->memory, pl_nvrtc_text);
    pl_nvrtc_text_of(u, &options, text);
    u->nvrtc_text = text;
}

bool pl_assemble(pl_unit *u)
{
    pl_assembly s = {.unit = u, .options = pl_nvrtc_options(u)};
    tool_result result = {0};
    if (!u->nvrtc_text)
        pl_take_nvrtc_text(u);
    s.text = *u->nvrtc_text;
    if (!find_or_compile(&s, &result))
        return false;
    u->code = (pl_code){.ptx = result.ptx, .cubin = result.cubin};
    const remark_unit unit = pl_remark_unit(u);
    remark_facts_list facts;
    remark_facts_of(&unit, &facts);
    tool_ptx_locals locals;
    tool_ptx_locals_of(&u->memory, result.ptx, &locals);
    remark_on_ptx(&unit, &facts, &locals);
    if (s.options.cubin)
        pl_usage(u, &facts, &locals, result.log);
    return true;
}
