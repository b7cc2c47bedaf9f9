// Products on disk, found before the front end runs: by the input's text, the options and this build of the compiler. An entry
// has the files that were read or looked for on the way, by their hash, so that it holds as long as these are as they were.
//
// Of files of weights, what can be known while compiling is hashed, the names, types and extents of tensors; the bytes only where
// the product has them. So it is with ONNX files: their key is the text that they are read as, and such a hash.
//
// Warnings are kept as they were shown, and found only where they would be shown in the same way.

#include <string.h>

#include "pipeline/code_cache.h"
#include "pipeline/job.h"
#include "pipeline/onnx_input.h"
#include "pipeline/read_files.h"
#include "toolchain/build_id.h"
#include "toolchain/ptxas.h"
#include "weights/weights.h"

#define PRODUCT_KIND "product"
// Grows when entries of another form would be misread.
#define ENTRY_FORMAT "2"

// ---- the key ----------------------------------------------------------------------------------------------------

static void add_text(str_buf *out, const char *name, const char *text)
{
    str_addf(out, "%s %zu ", name, text ? strlen(text) : (size_t)0);
    str_adds(out, text ? text : "-");
    str_addc(out, '\n');
}

static void add_list(str_buf *out, const char *name, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        add_text(out, name, list[i]);
}

static void add_targets(str_buf *out, const pl_options *o)
{
    for (int i = 0; i < o->arch_count; i++) {
        const gpu_model *gpu = o->gpus ? o->gpus[i] : gpu_of_arch(o->archs[i]);
        add_text(out, "arch", o->archs[i]->name);
        add_text(out, "gpu", gpu->name);
        str_addf(out, "%d %lld %d\n", gpu->sm_count, (long long)gpu->l2_bytes, gpu->memory_gbps);
    }
}

// All that the product follows from, but for the input's text, imported files, the compiler and NVRTC.
static str options_text(arena *a, const pl_options *o)
{
    str_buf out;
    str_buf_init(&out, a);
    add_text(&out, "input", o->input);
    str_addf(&out, "kind %d flags %d%d%d%d%d steps %lld errors %d\n", (int)o->emit, o->keeps_floats, o->no_line, o->line_info,
             o->device_debug, o->warnings_are_errors, (long long)o->step_budget, o->error_limit);
    add_targets(&out, o);
    for (int i = 0; i < o->define_count; i++) {
        add_text(&out, "define", o->defines[i].name);
        add_text(&out, o->defines[i].value ? "value" : "none", o->defines[i].value);
    }
    add_list(&out, "entry", o->entries, o->entry_count);
    add_list(&out, "include", o->include_folders, o->include_count);
    add_list(&out, "warning", o->warnings, o->warning_count);
    add_list(&out, "nvrtc", o->nvrtc_options, o->nvrtc_option_count);
    add_text(&out, "stdlib", o->stdlib_folder);
    add_text(&out, "tuned", o->tuned);
    add_text(&out, "weights", o->weights);
    add_list(&out, "rewrites", o->rewrite_files, o->rewrite_file_count);
    add_list(&out, "rewrite", o->rewrites, o->rewrite_count);
    str_addf(&out, "no-rewrites %d\n", o->no_rewrites);
    add_text(&out, "precision", o->precision);
    add_text(&out, "layout", o->layout);
    add_text(&out, "header", o->header_name);
    add_text(&out, "prefix", o->prefix);
    add_text(&out, "library", o->library_name);
    str_addf(&out, "embeds weights %d\n", o->embeds_weights);
    if (o->line_info || o->device_debug || o->nvrtc_option_count) // NVRTC writes it into line tables
        add_text(&out, "folder", pl_working_folder(a));
    return (str){str_text(&out), out.len};
}

// Machine code, or what contains it, with no option that shows intermediate results.
static bool is_kept(const pl_options *o)
{
    bool is_code = o->emit == PL_PTX || o->emit == PL_CUBIN || o->emit == PL_FATBIN || pl_kind_is_c(o->emit);
    return o->cache && is_code && !o->dump && !o->passes && !o->verify_ir && !o->resource_usage && !o->looks_at_units &&
           !o->memory_limit_bytes && !o->operand_count;
}

static void add(pl_job *job, cache_parts *out, const char *name, str bytes)
{
    VEC_PUSH(&job->memory, out, ((cache_part){name, bytes}));
}

// Of an ONNX file what is compiled, and no bytes of its tensors, which need not be in memory. False: it cannot be read.
static bool add_source(pl_job *job, cache_parts *out)
{
    wt_file *weights = job->onnx.weights;
    const char *hash = weights ? pl_weights_hash(&job->memory, weights, job->options->embeds_weights) : NULL;
    add(job, out, "source", weights ? job->onnx.text : job->input);
    if (weights)
        add(job, out, "weights", str_of(hash ? hash : ""));
    return !weights || hash;
}

// Of kinds that need it. False: it is not known.
static bool add_c_compiler(pl_job *job, cache_parts *out)
{
    const char *identity = job->cc ? tool_cc_identity(&job->memory, job->cc) : "";
    add(job, out, "cc", str_of(identity ? identity : ""));
    return identity != NULL;
}

// False where this build, or a compiler that would be used, is not known.
static bool inputs_of(pl_job *job, cache_parts *out)
{
    arena *a = &job->memory;
    tool_nvrtc_identity nvrtc;
    tool_ptxas ptxas;
    char *build = arena_alloc(a, TOOL_BUILD_ID_LENGTH);
    if (!tool_own_build_id(build) || !tool_nvrtc_identify(a, job->options->nvrtc_path, &nvrtc))
        return false;
    add(job, out, "format", STR(ENTRY_FORMAT));
    add(job, out, "build", str_of(build));
    add(job, out, "nvrtc", str_of(nvrtc.text));
    if (job->unit_count > 1 && tool_ptxas_find(a, nvrtc.path, &ptxas)) // see pipeline/shared.h
        add(job, out, "ptxas", str_of(ptxas.identity));
    add(job, out, "options", options_text(a, job->options));
    return add_c_compiler(job, out) && add_source(job, out);
}

// ---- finding and keeping ----------------------------------------------------------------------------------------

static bool is_shown_alike(const pl_job *job, const cache_parts *found)
{
    const char *as = job->options->shown_as;
    return !cache_part_of(found, "messages").len || (as && str_equal(cache_part_of(found, "shown as"), str_of(as)));
}

static bool take(pl_job *job, const cache_parts *found)
{
    pl_read_files files;
    if (!is_shown_alike(job, found))
        return false;
    if (!pl_read_files_parse(&job->memory, cache_part_of(found, "files"), &files) ||
        !pl_read_files_hold(&job->memory, &files))
        return false;
    job->product = (pl_product){
        .output = cache_part_of(found, "output"),
        .header = cache_part_of(found, "header"),
        .depends = cache_part_of(found, "depends"),
        .messages = cache_part_of(found, "messages"),
    };
    for (int i = 0; i < job->unit_count; i++)
        job->units[i].origin = PL_FROM_CACHE;
    return true;
}

bool pl_product_find(pl_job *job)
{
    cache_parts inputs = {0}, found = {0};
    if (!is_kept(job->options) || !inputs_of(job, &inputs))
        return false;
    size_t span = pl_span_begin(&job->times, "look up", 0);
    bool is_there = cache_get(job->options->cache, &job->memory, PRODUCT_KIND, inputs.at, inputs.len, &found, &job->ticket);
    bool is_taken = is_there && take(job, &found);
    if (is_there && !is_taken)
        cache_claim(job->options->cache, PRODUCT_KIND, inputs.at, inputs.len, &job->ticket);
    pl_span_end(&job->times, span);
    return is_taken;
}

// What would not be stored need not be copied for it: with embedded weights it may be of any size.
static bool is_small(const pl_job *job)
{
    return job->product.output.len <= cache_range_limit(job->options->cache);
}

static bool is_sound(const pl_job *job, pl_status status)
{
    bool is_sound = status == PL_OK && (!job->diags.all.len || job->options->show);
    for (int i = 0; i < job->unit_count; i++)
        is_sound = is_sound && !job->units[i].uncacheable;
    return is_sound;
}

static void add_messages(pl_job *job, cache_parts *out)
{
    str_buf text;
    str_buf_init(&text, &job->memory);
    if (!job->diags.all.len)
        return;
    job->options->show(job->options->show_user, &job->diags, &text);
    add(job, out, "shown as", str_of(job->options->shown_as));
    add(job, out, "messages", (str){str_text(&text), text.len});
}

// False: one of them is not known.
static bool files_of(pl_job *job, pl_read_files *out)
{
    for (int i = 0; i < job->unit_count; i++)
        pl_read_files_add(&job->memory, &job->units[i], out);
    for (size_t i = 0; i < job->reads.at.len; i++)
        if (!pl_read_files_add_path(&job->memory, job->reads.at.at[i], out))
            return false;
    return !job->reads.is_unknown;
}

void pl_product_keep(pl_job *job, pl_status status)
{
    if (!job->ticket.cache)
        return;
    pl_read_files files = {0};
    cache_parts outputs = {0};
    if (!is_sound(job, status) || !is_small(job) || !files_of(job, &files)) {
        cache_abandon(&job->ticket);
        return;
    }
    pl_code_about(&job->units[0], &outputs);
    add(job, &outputs, "files", pl_read_files_write(&job->memory, &files));
    add(job, &outputs, "output", job->product.output);
    add(job, &outputs, "header", job->product.header);
    add(job, &outputs, "depends", job->product.depends);
    add_messages(job, &outputs);
    cache_put(&job->ticket, outputs.at, outputs.len);
}
