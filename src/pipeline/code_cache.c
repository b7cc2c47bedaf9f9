#include "pipeline/code_cache.h"

#include <string.h>
#include <unistd.h>

static str text_of(const char *text)
{
    return text ? str_of(text) : (str){0};
}

static void add(pl_unit *u, cache_parts *out, const char *name, str bytes)
{
    VEC_PUSH(&u->memory, out, ((cache_part){name, bytes}));
}

// ---- what the output depends on -----------------------------------------------------------------------------------------

// Options that name no files. What is not among them is not kept: a wrong result is worse than a slow one.
static bool is_self_contained(const char *option)
{
    static const char *const known[] = {
        "-use_fast_math", "-ftz", "-prec-sqrt", "-prec-div", "-fmad", "-maxrregcount", "-extra-device-vectorization",
        "-generate-line-info", "-lineinfo", "-device-debug", "-G", "-dopt", "-Ofast-compile", "-Ofc", "-std", "-restrict",
        "-D", "-define-macro", "-U", "-undefine-macro", "-disable-warnings", "-w", "-diag-", "-display-error-number",
        "-no-display-error-number", "-optimization-info", "-opt-info", "-ptxas-options=", "-Xptxas=", "-minimal",
        "-device-as-default-execution-space", "-default-device", "-split-compile", "-modify-stack-limit", "-gen-opt-lto",
        "-builtin-", "-version-ident", "-extensible-whole-program", "-ewp", "-relocatable-device-code", "-rdc",
    };
    const char *bare = strncmp(option, "--", 2) == 0 ? option + 1 : option;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(bare, known[i], strlen(known[i])) == 0)
            return !strstr(bare, "options-file") && !strstr(bare, "optf");
    }
    return false;
}

// Comments and #line name files without reading them.
static bool is_in_harmless_line(str cuda, const char *at)
{
    while (at > cuda.at && at[-1] != '\n')
        at--;
    str rest = {at, (size_t)(cuda.at + cuda.len - at)};
    return str_starts(rest, STR("//")) || str_starts(rest, STR("#line "));
}

// A directive that reads a file, or a macro that is a time. Our own text has one section with includes, which NVRTC
// skips.
static bool reads_more(str cuda)
{
    static const char ours[] = "#ifndef __CUDACC_RTC__\n#include <math.h>\n#include <stdio.h>\n#endif\n";
    static const char *const words[] = {"include", "embed", "__DATE__", "__TIME"};
    const char *skipped = memmem(cuda.at, cuda.len, ours, strlen(ours)), *end = cuda.at + cuda.len;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = cuda.at;
        for (; (at = memmem(at, (size_t)(end - at), words[i], strlen(words[i]))); at++) {
            bool is_ours = skipped && at >= skipped && at < skipped + strlen(ours);
            if (!is_ours && !is_in_harmless_line(cuda, at))
                return true;
        }
    }
    return false;
}

const char *pl_code_uncacheable(pl_unit *u, const tool_compile_options *options)
{
    for (size_t i = 0; i < options->extra_len; i++) {
        if (!is_self_contained(options->extra[i]))
            return arena_printf(&u->memory, "NVRTC may read files because of '%s'", options->extra[i]);
        if (reads_more(str_of(options->extra[i])))
            return arena_printf(&u->memory, "'%s' may stand for a time or a file", options->extra[i]);
    }
    if (pl_has_author_texts(u->module) && reads_more(u->cuda))
        return "its CUDA text may include files";
    return NULL;
}

const char *pl_working_folder(arena *a)
{
    enum { PATH_BYTES = 4096 };
    char *path = arena_alloc(a, PATH_BYTES);
    return getcwd(path, PATH_BYTES) ? path : "?";
}

void pl_nvrtc_text_of(pl_unit *u, const tool_compile_options *options, pl_nvrtc_text *out)
{
    *out = (pl_nvrtc_text){.text = u->cuda};
    if (options->line_info || options->extra_len || options->name ||
        !pl_canonical_make(&u->memory, u->cuda, &u->kernels, &out->canonical))
        return;
    pl_line_numbers all;
    out->text = pl_canonical_text(&u->memory, &out->canonical, NULL, 0, &all);
    out->is_canonical = true;
}

void pl_code_request_make(pl_unit *u, const tool_compile_options *options, const tool_nvrtc_identity *nvrtc,
                          const pl_nvrtc_text *text, pl_code_request *out)
{
    *out = (pl_code_request){.options = *options, .nvrtc = *nvrtc};
    tool_option_list list;
    tool_nvrtc_options(&u->memory, options, &list);
    // NVRTC writes it into line tables.
    bool has_folder = !text->is_canonical && (options->line_info || options->extra_len);
    add(u, &out->inputs, "nvrtc", text_of(nvrtc->text));
    add(u, &out->inputs, "arch", str_of(options->target->name));
    for (size_t i = 0; i < list.len; i++)
        add(u, &out->inputs, "option", str_of(list.at[i]));
    if (has_folder)
        add(u, &out->inputs, "folder", str_of(pl_working_folder(&u->memory)));
    if (options->name)
        add(u, &out->inputs, "name", str_of(options->name));
    add(u, &out->inputs, "cuda", text->text);
}

// ---- finding and keeping ------------------------------------------------------------------------------------------------

static tool_result result_of(const cache_parts *found)
{
    return (tool_result){
        .status = TOOL_COMPILED,
        .ptx = cache_part_of(found, "ptx"),
        .cubin = cache_part_of(found, "cubin"),
        .log = cache_part_of(found, "log"),
    };
}

bool pl_code_find(pl_unit *u, const pl_code_request *q, tool_result *out)
{
    cache_parts found = {0};
    if (!cache_get(u->options->cache, &u->memory, PL_CODE_KIND, q->inputs.at, q->inputs.len, &found, &u->ticket))
        return false;
    u->is_in_cache = u->is_from_cache = true;
    *out = result_of(&found);
    return true;
}

bool pl_code_peek(pl_unit *u, const pl_code_request *q, tool_result *out)
{
    cache_entry found;
    if (!cache_find(u->options->cache, &u->memory, PL_CODE_KIND, q->inputs.at, q->inputs.len, &found))
        return false;
    *out = result_of(&found.outputs);
    return true;
}

void pl_code_about(pl_unit *u, cache_parts *out)
{
    const pl_options *o = u->options;
    add(u, out, PL_ABOUT "file", str_of(u->input_name));
    add(u, out, PL_ABOUT "hdsc", STR(HDS_VERSION));
    for (int i = 0; i < o->define_count; i++) {
        const tc_define *d = &o->defines[i];
        const char *text = d->value ? arena_printf(&u->memory, "%s=%s", d->name, d->value) : d->name;
        add(u, out, PL_ABOUT "define", str_of(text));
    }
    for (int i = 0; i < o->entry_count; i++)
        add(u, out, PL_ABOUT "entry", str_of(o->entries[i]));
    for (size_t i = 0; i < u->kernels.len; i++) {
        const ir_func *f = u->kernels.at[i].func;
        add(u, out, PL_ABOUT "kernel", str_of(f->title ? f->title : f->name));
    }
}

static cache_parts outputs_of(pl_unit *u, const tool_result *result)
{
    cache_parts outputs = {0};
    pl_code_about(u, &outputs);
    add(u, &outputs, "ptx", result->ptx);
    add(u, &outputs, "cubin", result->cubin);
    add(u, &outputs, "log", result->log);
    return outputs;
}

void pl_code_store(pl_unit *u, const tool_result *result)
{
    cache_parts outputs = outputs_of(u, result);
    u->is_in_cache = u->ticket.cache != NULL;
    cache_put(&u->ticket, outputs.at, outputs.len);
}

void pl_code_keep(pl_unit *u, const pl_code_request *q, const tool_result *result)
{
    cache_ticket ticket;
    cache_parts outputs = outputs_of(u, result);
    cache_claim(u->options->cache, PL_CODE_KIND, q->inputs.at, q->inputs.len, &ticket);
    cache_put(&ticket, outputs.at, outputs.len);
}
