// The last stage: NVRTC compiles the CUDA text to PTX and machine code, unless the code cache has the output.

#include <string.h>

#include "pipeline/code_cache.h"
#include "remarks/remarks.h"
#include "pipeline/usage.h"
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

// What NVRTC complains about is a text of the author, or else our own doing. The messages are mapped to the source.
static bool report(pl_unit *u, const tool_result *result)
{
    tool_log log;
    const remark_unit unit = pl_remark_unit(u);
    remark_facts_list facts;
    remark_facts_of(&unit, &facts);
    tool_log_parse(&u->memory, result->log, result->ptx, &log);
    bool is_authors = remark_on_log(&unit, &facts, &log) > 0 || pl_has_author_texts(u->module);
    if (tool_nvrtc_report(&u->diags, result, &log))
        return true;
    u->status = !is_authors || result->status == TOOL_FAILED ? PL_INTERNAL : PL_ERRORS;
    if (u->diags.all.len && !is_authors)
        diag_help(VEC_LAST(&u->diags.all), "this is a bug in hdsc: please report it, with the source and the CUDA text "
                                           "that '--emit=cu' writes");
    return false;
}

// ptxas names lines of the PTX. The cached log also names source locations, so that later runs can report them.
static void locate(pl_unit *u, const tool_nvrtc *nvrtc, const tool_compile_options *options, tool_result *result)
{
    tool_result lined = *result;
    tool_compile_options again = *options;
    again.cubin = false;
    again.line_info = true;
    if (!tool_log_wants_places(result->log))
        return;
    if (!options->line_info && !tool_nvrtc_compile(nvrtc, &u->memory, &again, u->cuda.at, &lined))
        return;
    result->log = tool_log_locate(&u->memory, &u->sources, result->log, result->ptx, lined.ptx);
}

static bool compile(pl_unit *u, const tool_nvrtc *nvrtc, const tool_compile_options *options, tool_result *out)
{
    size_t span = pl_span_begin(&u->times, options->cubin ? "NVRTC and ptxas" : "NVRTC", 0);
    tool_nvrtc_compile(nvrtc, &u->memory, options, u->cuda.at, out);
    locate(u, nvrtc, options, out);
    pl_span_end(&u->times, span);
    u->origin = PL_COMPILED;
    return report(u, out);
}

// NVRTC's identity: by its file where that tells, else by opening it.
static bool identify(pl_unit *u, const tool_nvrtc **nvrtc, tool_nvrtc_identity *out)
{
    if (tool_nvrtc_identify(&u->memory, u->options->nvrtc_path, out))
        return true;
    *nvrtc = open_nvrtc(u);
    return *nvrtc && tool_nvrtc_identity_of(&u->memory, *nvrtc, out);
}

static bool is_same_nvrtc(pl_unit *u, const tool_nvrtc *nvrtc, const tool_nvrtc_identity *expected)
{
    tool_nvrtc_identity found;
    return tool_nvrtc_identity_of(&u->memory, nvrtc, &found) && strcmp(found.text, expected->text) == 0;
}

static bool find(pl_unit *u, const tool_compile_options *options, const tool_nvrtc_identity *identity, tool_result *out)
{
    pl_code_request request;
    size_t span = pl_span_begin(&u->times, "cache", 0);
    pl_code_request_make(u, options, identity, &request);
    bool is_found = pl_code_find(u, &request, out);
    pl_span_end(&u->times, span);
    return is_found;
}

// What is found says what it said when it was made. What is kept compiled well, with the NVRTC that it is kept for.
static bool find_or_compile(pl_unit *u, const tool_compile_options *options, tool_result *out)
{
    const tool_nvrtc *nvrtc = NULL;
    tool_nvrtc_identity identity;
    u->uncacheable = u->options->cache ? pl_code_uncacheable(u, options) : NULL;
    bool is_kept = u->options->cache && !u->uncacheable && identify(u, &nvrtc, &identity);
    if (u->status != PL_OK)
        return false;
    if (is_kept && find(u, options, &identity, out)) {
        u->origin = PL_FROM_CACHE;
        return report(u, out);
    }
    nvrtc = nvrtc ? nvrtc : open_nvrtc(u);
    bool ok = nvrtc && compile(u, nvrtc, options, out);
    if (ok && is_kept && is_same_nvrtc(u, nvrtc, &identity))
        pl_code_store(u, out);
    cache_abandon(&u->ticket);
    return ok;
}

bool pl_assemble(pl_unit *u)
{
    tool_compile_options options = pl_nvrtc_options(u);
    tool_result result = {0};
    if (!find_or_compile(u, &options, &result))
        return false;
    u->code = (pl_code){.ptx = result.ptx, .cubin = result.cubin};
    const remark_unit unit = pl_remark_unit(u);
    remark_facts_list facts;
    remark_facts_of(&unit, &facts);
    remark_on_ptx(&unit, &facts, result.ptx);
    if (options.cubin)
        pl_usage(u, &facts, result.log);
    return true;
}
