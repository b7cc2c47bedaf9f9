// The last stage: NVRTC turns the CUDA text into PTX and machine code.

#include <string.h>

#include "pipeline/usage.h"
#include "toolchain/log.h"
#include "toolchain/nvrtc.h"

static bool wants_cubin(const pl_options *o)
{
    return o->emit == PL_CUBIN || o->emit == PL_FATBIN || o->resource_usage;
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

static tool_compile_options options_of(pl_unit *u)
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
        .cubin = wants_cubin(o),
        .line_info = o->line_info && !o->device_debug,
        .extra = extra,
        .extra_len = len,
    };
}

// Whether the author wrote ptx(…) or cuda(…) texts, which go into the CUDA text as they stand.
static bool has_author_texts(const ir_module *m)
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
    if (tool_nvrtc_report(&u->diags, &u->memory, result))
        return true;
    bool is_ours = !has_author_texts(u->module);
    u->status = is_ours || result->status == TOOL_FAILED ? PL_INTERNAL : PL_ERRORS;
    if (u->diags.all.len && is_ours)
        diag_help(VEC_LAST(&u->diags.all), "this is a bug in hdsc: please report it, with the source and the CUDA text "
                                           "that '--emit=cu' writes");
    return false;
}

bool pl_assemble(pl_unit *u)
{
    const tool_nvrtc *nvrtc = open_nvrtc(u);
    if (!nvrtc)
        return false;
    tool_compile_options options = options_of(u);
    tool_result result = {0};
    size_t span = pl_span_begin(&u->times, options.cubin ? "NVRTC and ptxas" : "NVRTC", 0);
    tool_nvrtc_compile(nvrtc, &u->memory, &options, u->cuda.at, &result);
    pl_span_end(&u->times, span);
    if (!report(u, &result))
        return false;
    u->code = (pl_code){.ptx = result.ptx, .cubin = result.cubin};
    if (options.cubin)
        pl_usage(u, result.log);
    return true;
}
