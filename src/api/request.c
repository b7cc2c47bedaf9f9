// What a call of hds_compile asks for: checked as far as that can be done without compiling.

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "api/api_priv.h"
#include "base/file.h"
#include "graph/precision.h"
#include "pipeline/onnx_input.h"
#include "pipeline/weights.h"
#include "weights/weights.h"

// ---- options that may be older or newer than this library ------------------------------------------------------

hds_status api_read_options(const void *from, size_t least, const char *initialiser, void *to, size_t size)
{
    size_t given;
    if (!from)
        return HDS_OK;
    memcpy(&given, from, sizeof given);
    if (given < least)
        return api_fail(HDS_INVALID_ARGUMENT, "options->size is %zu: initialise options with %s", given, initialiser);
    // What this library does not know must not be asked for.
    for (size_t i = size; i < given; i++) {
        if (((const char *)from)[i])
            return api_fail(HDS_INVALID_ARGUMENT, "options ask for something that hds %s does not know", hds_version());
    }
    memcpy(to, from, given < size ? given : size);
    return HDS_OK;
}

// [count] texts, none of them null.
static hds_status check_list(const char *const *list, size_t count, const char *what)
{
    enum { MOST = 1 << 20 };
    if (count > MOST)
        return api_fail(HDS_INVALID_ARGUMENT, "options->%s has %zu elements", what, count);
    for (size_t i = 0; i < count; i++) {
        if (!list || !list[i])
            return api_fail(HDS_INVALID_ARGUMENT, "options->%s%s is a null pointer", what,
                            list ? " has an element that" : "");
    }
    return HDS_OK;
}

static hds_status check_lists(const hds_compile_options *o)
{
    hds_status status = check_list(o->defines, o->define_count, "defines");
    if (!status)
        status = check_list(o->entries, o->entry_count, "entries");
    if (!status)
        status = check_list(o->include_dirs, o->include_dir_count, "include_dirs");
    if (!status)
        status = check_list(o->rewrites, o->rewrite_count, "rewrites");
    return status ? status : check_list(o->warnings, o->warning_count, "warnings");
}

// "random:x" would be looked for as a file.
static hds_status check_weights(const hds_compile_options *o)
{
    uint64_t seed;
    if (o->weights && strncmp(o->weights, "random:", 7) == 0 && !pl_weights_are_random(o->weights, &seed))
        return api_fail(HDS_INVALID_ARGUMENT, "options->weights is '%s': behind 'random:' stands a number from 0 on", o->weights);
    return HDS_OK;
}

static hds_status check_graph_options(arena *a, const hds_compile_options *o)
{
    const char *error = NULL;
    fg_image_order order;
    if (o->precision && !fg_read_precisions(a, &error, o->precision))
        return api_fail(HDS_INVALID_ARGUMENT, "options->precision: %s", error);
    if (o->layout && !fg_find_image_order(o->layout, &order))
        return api_fail(HDS_INVALID_ARGUMENT, "options->layout is '%s', and none of auto, keep and last", o->layout);
    return HDS_OK;
}

// Files, names, and "none".
static void read_rewrites(arena *a, const hds_compile_options *o, pl_options *out)
{
    const char **files = ARENA_ARRAY(a, const char *, o->rewrite_count), **names = ARENA_ARRAY(a, const char *, o->rewrite_count);
    out->rewrite_files = files;
    out->rewrites = names;
    for (size_t i = 0; i < o->rewrite_count; i++) {
        const char *text = o->rewrites[i];
        if (strcmp(text, "none") == 0)
            out->no_rewrites = true;
        else if (str_ends(str_of(text), STR(".hds")))
            files[out->rewrite_file_count++] = text;
        else
            names[out->rewrite_count++] = text;
    }
}

// "NAME=VALUE", or "NAME" for true.
static hds_status read_defines(arena *a, const hds_compile_options *o, pl_options *out)
{
    tc_define *defines = ARENA_ARRAY(a, tc_define, o->define_count);
    for (size_t i = 0; i < o->define_count; i++) {
        const char *text = o->defines[i], *equals = strchr(text, '=');
        size_t len = equals ? (size_t)(equals - text) : strlen(text);
        if (!len || (equals && !equals[1]))
            return api_fail(HDS_INVALID_ARGUMENT, "options->defines: expected NAME=VALUE, found '%s'", text);
        defines[i] = (tc_define){arena_strndup(a, text, len), equals ? equals + 1 : NULL};
    }
    out->defines = defines;
    out->define_count = (int)o->define_count;
    return HDS_OK;
}

static bool is_group(const char *name)
{
    for (int code = DIAG_NONE + 1; code < DIAG__COUNT; code++) {
        if (*name && strcmp(diag_group((diag_code)code), name) == 0)
            return true;
    }
    return false;
}

static hds_status read_warnings(const hds_compile_options *o, pl_options *out)
{
    for (size_t i = 0; i < o->warning_count; i++) {
        const char *flag = o->warnings[i], *group = strncmp(flag, "no-", 3) == 0 ? flag + 3 : flag;
        if (!is_group(group))
            return api_fail(HDS_INVALID_ARGUMENT, "options->warnings: there is no group '%s'", group);
    }
    out->warnings = o->warnings;
    out->warning_count = (int)o->warning_count;
    out->warnings_are_errors = o->warnings_are_errors;
    return HDS_OK;
}

// ---- the architecture and the GPU --------------------------------------------------------------------------------

// [attribute] of the current GPU, or [usual] where the driver does not say.
static int attribute_or(int attribute, int usual)
{
    int value = 0;
    return hdsrt_device_attribute(&value, attribute) || value <= 0 ? usual : value;
}

// What the driver says of the current GPU. The architecture-specific variant is the better one where there is one: it has all instructions.
static hds_status ask_own_gpu(arena *a, gpu_model *own)
{
    enum { SMS = 16, MEMORY_CLOCK_KHZ = 36, BUS_BITS = 37, L2_BYTES = 38 };  // CU_DEVICE_ATTRIBUTE_…
    int major = 0, minor = 0;
    hdsrt_status status = hdsrt_capability(&major, &minor);
    if (status)
        return api_fail(HDS_DEVICE, "options->arch is not given and there is no GPU to ask: %s", hdsrt_last_error());
    const arch *found = arch_find(str_of(arena_printf(a, "sm_%d%da", major, minor)));
    if (!found)
        found = arch_find(str_of(arena_printf(a, "sm_%d%d", major, minor)));
    if (!found)
        return api_fail(HDS_DEVICE, "compute capability %d.%d of the current GPU is unknown to hds %s", major, minor,
                        hds_version());
    const gpu_model *usual = gpu_of_arch(found);
    *own = (gpu_model){"native", found->name, attribute_or(SMS, usual->sm_count), attribute_or(L2_BYTES, (int)usual->l2_bytes),
                 (int)(2e-6 * attribute_or(MEMORY_CLOCK_KHZ, 0) * attribute_or(BUS_BITS, 0) / 8)};
    own->memory_gbps = own->memory_gbps ? own->memory_gbps : usual->memory_gbps;
    return HDS_OK;
}

// The current GPU, which the driver is asked for once.
static hds_status read_own_gpu(arena *a, hds_compiler *compiler, const gpu_model **out)
{
    int number = 0;
    gpu_model *own = ARENA_NEW(a, gpu_model);
    *out = own;
    if (hdsrt_current_device(&number) || number < 0 || number >= API_MOST_GPUS)
        return ask_own_gpu(a, own);
    pthread_mutex_lock(&compiler->gpus.lock);
    gpu_model *known = &compiler->gpus.of_device[number];
    hds_status status = known->name ? HDS_OK : ask_own_gpu(a, known);
    *own = *known;
    pthread_mutex_unlock(&compiler->gpus.lock);
    return status;
}

static hds_status find_arch(arena *a, const char *name, const arch **out)
{
    *out = arch_find(str_of(name));
    if (*out)
        return HDS_OK;
    str_buf known;
    str_buf_init(&known, a);
    for (int i = 0; arch_at(i); i++)
        str_addf(&known, "%s%s", i ? ", " : "", arch_at(i)->name);
    return api_fail(HDS_INVALID_ARGUMENT, "options->arch: unknown architecture '%s'; expected one of %s", name,
                    str_text(&known));
}

static hds_status find_gpu(arena *a, const char *name, const gpu_model **out)
{
    *out = gpu_find(str_of(name));
    if (*out)
        return HDS_OK;
    str_buf known;
    str_buf_init(&known, a);
    for (int i = 0; gpu_at(i); i++)
        str_addf(&known, "%s, ", gpu_at(i)->name);
    return api_fail(HDS_INVALID_ARGUMENT, "options->gpu: unknown GPU '%s'; expected one of %snative", name, str_text(&known));
}

// What code is made for, and what schedules are chosen for.
static hds_status find_target(arena *a, hds_compiler *compiler, const hds_compile_options *o, api_request *out)
{
    bool is_own = o->gpu ? strcmp(o->gpu, "native") == 0 : !o->arch;
    hds_status status = o->arch ? find_arch(a, o->arch, &out->arch) : HDS_OK;
    if (!status && is_own)
        status = read_own_gpu(a, compiler, &out->gpu);
    else if (!status && o->gpu)
        status = find_gpu(a, o->gpu, &out->gpu);
    else if (!status)
        out->gpu = gpu_of_arch(out->arch);
    if (!status && o->sm_count < 0)
        status = api_fail(HDS_INVALID_ARGUMENT, "options->sm_count is %d", o->sm_count);
    if (status)
        return status;
    gpu_model *own = ARENA_NEW(a, gpu_model);
    *own = *out->gpu;
    own->sm_count = o->sm_count ? o->sm_count : own->sm_count;
    out->gpu = own;
    out->arch = out->arch ? out->arch : arch_find(str_of(own->arch));
    return HDS_OK;
}

// ---- the source ------------------------------------------------------------------------------------------------

static hds_status read_source(arena *a, const hds_source *source, api_request *out)
{
    if (!source || !source->name || !*source->name)
        return api_fail(HDS_INVALID_ARGUMENT, source ? "source->name is missing: messages need one"
                                                     : "source is a null pointer");
    out->name = source->name;
    if (source->text) {
        out->text = (str){source->text, source->text_bytes ? source->text_bytes : strlen(source->text)};
        return HDS_OK;
    }
    if (source->text_bytes)
        return api_fail(HDS_INVALID_ARGUMENT, "source->text is a null pointer, and source->text_bytes is %zu",
                        source->text_bytes);
    if (strcmp(source->name, "-") == 0)
        return api_fail(HDS_INVALID_ARGUMENT, "source->name: standard input is not read; pass its text");
    pl_read_input(a, source->name, &out->text, &out->mapped, &out->unreadable);
    return HDS_OK;
}

// The text of an ONNX file takes the place of its bytes.
static void read_onnx(arena *a, api_request *r)
{
    if (!onnx_is_path(r->name) || r->unreadable)
        return;
    pl_onnx_read(a, &r->options, r->name, r->text, &r->onnx, &r->no_onnx);
    r->text = r->no_onnx ? r->text : r->onnx.text;
}

// ---- the key ---------------------------------------------------------------------------------------------------

static void add_text(str_buf *out, str text)
{
    uint64_t len = text.len;
    str_add(out, (str){(const char *)&len, sizeof len});
    str_add(out, text);
}

static void add_list(str_buf *out, const char *const *list, int count)
{
    uint64_t len = (uint64_t)count;
    str_add(out, (str){(const char *)&len, sizeof len});
    for (int i = 0; i < count; i++)
        add_text(out, str_of(list[i]));
}

// Line tables name the working folder.
static void add_folder(arena *a, str_buf *out)
{
    char *folder = arena_alloc(a, PATH_MAX);
    add_text(out, str_of(getcwd(folder, PATH_MAX) ? folder : "?"));
}

// Of an ONNX file what is compiled: the text that it is read as, and what there is to know of its tensors but their bytes.
static void add_source(arena *a, str_buf *out, const api_request *r)
{
    add_text(out, r->text);
    if (r->onnx.weights)
        add_text(out, str_of(pl_weights_hash(a, r->onnx.weights, false)));
}

// All that the result follows from, but for the files that are imported, the compiler and NVRTC.
static str key_of(arena *a, const api_request *r, const hds_compile_options *o)
{
    str_buf out;
    str_buf_init(&out, a);
    add_text(&out, str_of(r->arch->name));
    str_addf(&out, "%d %lld %d", r->gpu->sm_count, (long long)r->gpu->l2_bytes, r->gpu->memory_gbps);
    add_text(&out, str_of(r->name));
    add_list(&out, o->defines, (int)o->define_count);
    add_list(&out, o->entries, (int)o->entry_count);
    add_list(&out, o->include_dirs, (int)o->include_dir_count);
    add_list(&out, o->warnings, (int)o->warning_count);
    str_addf(&out, "%d%d%d", o->warnings_are_errors, o->line_info, o->no_code);
    add_text(&out, str_of(o->weights ? o->weights : ""));
    add_text(&out, str_of(o->precision ? o->precision : ""));
    add_text(&out, str_of(o->layout ? o->layout : ""));
    add_text(&out, str_of(o->tuned ? o->tuned : ""));
    add_list(&out, o->rewrites, (int)o->rewrite_count);
    if (o->line_info)
        add_folder(a, &out);
    add_source(a, &out, r);
    return (str){str_text(&out), out.len};
}

// ---- progress ---------------------------------------------------------------------------------------------------

static bool show(void *user, const pl_unit *unit, pl_stage stage, size_t done, size_t count)
{
    static const hds_progress stages[] = {
        [PL_AT_GRAPH] = {.stage = HDS_STAGE_GRAPH, .stage_text = "graph"},
        [PL_AT_KERNELS] = {.stage = HDS_STAGE_KERNELS, .stage_text = "kernels"},
        [PL_AT_CODE] = {.stage = HDS_STAGE_CODE, .stage_text = "machine code"},
    };
    const struct api_watch *watch = user;
    hds_progress p = stages[stage];
    p.name = unit->options->input;
    p.done = done;
    p.count = count;
    return watch->function(watch->user, &p);
}

static void read_progress(const hds_compile_options *o, api_request *out)
{
    out->watch = (struct api_watch){o->progress, o->progress_user};
    out->progress = (pl_progress){show, &out->watch};
    out->options.progress = o->progress ? &out->progress : NULL;
}

hds_status api_request_read(arena *a, hds_compiler *compiler, const hds_source *source,
                            const hds_compile_options *options, api_request *out)
{
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    *out = (api_request){0};
    hds_status status = api_read_options(options, sizeof o.size + sizeof o.arch, "HDS_COMPILE_OPTIONS_INIT", &o, sizeof o);
    if (!status)
        status = check_lists(&o);
    if (!status)
        status = check_weights(&o);
    if (!status)
        status = check_graph_options(a, &o);
    if (!status)
        status = read_defines(a, &o, &out->options);
    if (!status)
        status = read_warnings(&o, &out->options);
    if (!status)
        status = read_source(a, source, out);
    if (!status)
        status = find_target(a, compiler, &o, out);
    if (status)
        return status;
    pl_options *p = &out->options;
    p->input = out->name;
    p->emit = o.no_code ? PL_JSON : PL_CUBIN;
    p->entries = o.entries;
    p->entry_count = (int)o.entry_count;
    p->include_folders = o.include_dirs;
    p->include_count = (int)o.include_dir_count;
    p->line_info = o.line_info;
    p->weights = o.weights;
    p->precision = o.precision;
    p->layout = o.layout;
    p->tuned = o.tuned;
    read_rewrites(a, &o, p);
    read_progress(&o, out);
    p->nvrtc_path = compiler->nvrtc;
    p->cache = compiler->disk;
    p->kept = compiler->kept;
    p->service = compiler->service;
    p->isolates_nvrtc = compiler->service != NULL;
    read_onnx(a, out);
    out->key = key_of(a, out, &o);
    return HDS_OK;
}

void api_request_close(api_request *request)
{
    wt_close(request->onnx.weights);
    file_unmap(&request->mapped);
}

// ---- copies ----------------------------------------------------------------------------------------------------

static const char *const *copy_list(arena *a, const char *const *list, int count)
{
    const char **copy = ARENA_ARRAY(a, const char *, count);
    for (int i = 0; i < count; i++)
        copy[i] = arena_strdup(a, list[i]);
    return copy;
}

static const tc_define *copy_defines(arena *a, const tc_define *defines, int count)
{
    tc_define *copy = ARENA_ARRAY(a, tc_define, count);
    for (int i = 0; i < count; i++)
        copy[i] =
            (tc_define){arena_strdup(a, defines[i].name), defines[i].value ? arena_strdup(a, defines[i].value) : NULL};
    return copy;
}

void api_request_copy(arena *a, const api_request *from, api_request *to)
{
    const arch **archs = ARENA_NEW(a, const arch *);
    *to = *from;
    pl_options *o = &to->options;
    archs[0] = from->arch;
    o->archs = archs;
    o->arch_count = 1;
    gpu_model *properties = ARENA_NEW(a, gpu_model);
    const gpu_model **gpus = ARENA_NEW(a, const gpu_model *);
    *properties = *from->gpu;
    properties->name = arena_strdup(a, from->gpu->name);
    to->gpu = gpus[0] = properties;
    o->gpus = gpus;
    to->name = o->input = arena_strdup(a, from->name);
    to->text = (str){arena_strndup(a, from->text.at ? from->text.at : "", from->text.len), from->text.len};
    to->unreadable = from->unreadable ? arena_strdup(a, from->unreadable) : NULL;
    to->no_onnx = from->no_onnx ? arena_strdup(a, from->no_onnx) : NULL;
    to->mapped = (str){0};
    to->onnx = (pl_onnx){0};
    if (from->onnx.weights && !from->no_onnx)
        to->onnx = (pl_onnx){arena_strdup(a, from->onnx.name), to->text, wt_copy(a, from->onnx.weights, false)};
    to->key = (str){0};
    o->defines = copy_defines(a, o->defines, o->define_count);
    o->entries = copy_list(a, o->entries, o->entry_count);
    o->include_folders = copy_list(a, o->include_folders, o->include_count);
    o->warnings = copy_list(a, o->warnings, o->warning_count);
    o->rewrites = copy_list(a, o->rewrites, o->rewrite_count);
    o->rewrite_files = copy_list(a, o->rewrite_files, o->rewrite_file_count);
    o->weights = o->weights ? arena_strdup(a, o->weights) : NULL;
    o->precision = o->precision ? arena_strdup(a, o->precision) : NULL;
    o->layout = o->layout ? arena_strdup(a, o->layout) : NULL;
    o->tuned = o->tuned ? arena_strdup(a, o->tuned) : NULL;
    o->nvrtc_path = o->nvrtc_path ? arena_strdup(a, o->nvrtc_path) : NULL;
}
