#include "driver/manifest.h"

#include <string.h>

#include "cache/cache.h"
#include "diag/json_text.h"

static json_t *file_of_pieces(arena *a, const char *name, const str *pieces, size_t count)
{
    size_t bytes = 0;
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        bytes += pieces[i].len;
    json_object_set_new(object, "path", diag_json_text(name));
    json_object_set_new(object, "bytes", json_integer((json_int_t)bytes));
    json_object_set_new(object, "hash", diag_json_text(cache_hash_pieces(a, pieces, count)));
    return object;
}

static json_t *file_of(arena *a, const char *name, str text)
{
    return file_of_pieces(a, name, &text, 1);
}

static str dump(arena *a, json_t *document, size_t flags)
{
    str_buf out;
    str_buf_init(&out, a);
    diag_add_json(&out, document, flags);
    return (str){str_text(&out), out.len};
}

// ---- what a job makes -------------------------------------------------------------------------------------------

// As it was read: it may have changed since.
static str text_of_file(const pl_job *job, const char *name)
{
    for (int i = 0; i < job->unit_count; i++) {
        const src_map *sources = &job->units[i].sources;
        for (size_t k = 0; k < sources->files.len; k++) {
            if (strcmp(sources->files.at[k]->name, name) == 0)
                return sources->files.at[k]->text;
        }
    }
    return (str){"", 0};
}

static json_t *imports_of(pl_job *job)
{
    json_t *list = json_array();
    const char *names = job->product.depends.at;
    for (size_t at = 0; at < job->product.depends.len; at += strlen(names + at) + 1) {
        const char *name = names + at;
        if (strcmp(name, job->options->input) != 0)
            json_array_append_new(list, file_of(&job->memory, name, text_of_file(job, name)));
    }
    return list;
}

// ---- kernels ----------------------------------------------------------------------------------------------------

static json_t *known(int64_t value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

// The costs are null where no machine code was made.
static json_t *kernel_of(pl_unit *u, const cu_kernel_info *info)
{
    const tool_usage *usage = tool_usage_of(&u->costs, info->symbol);
    const ir_func *f = info->func;
    json_t *object = json_object();
    json_object_set_new(object, "name", diag_json_text(info->symbol));
    json_object_set_new(object, "title", diag_json_text(f->title ? f->title : f->name));
    json_object_set_new(object, "arch", diag_json_text(u->arch->name));
    json_object_set_new(object, "registers", usage ? json_integer(usage->registers) : json_null());
    json_object_set_new(object, "stack_bytes", usage ? json_integer(usage->stack_bytes) : json_null());
    json_object_set_new(object, "static_shared_bytes", json_integer(info->static_smem_bytes));
    json_object_set_new(object, "dynamic_shared_bytes", json_integer(info->dynamic_smem_bytes));
    json_object_set_new(object, "spill_store_bytes", usage ? known(usage->spill_store_bytes) : json_null());
    json_object_set_new(object, "spill_load_bytes", usage ? known(usage->spill_load_bytes) : json_null());
    json_object_set_new(object, "code_bytes", usage ? json_integer(usage->code_bytes) : json_null());
    return object;
}

static json_t *kernels_of(pl_job *job)
{
    json_t *list = json_array();
    for (int i = 0; i < job->unit_count; i++) {
        pl_unit *u = &job->units[i];
        for (size_t k = 0; k < u->kernels.len; k++)
            json_array_append_new(list, kernel_of(u, &u->kernels.at[k]));
    }
    return list;
}

// ---- functions in C ---------------------------------------------------------------------------------------------

static bool is_known(const json_t *entries, const char *name)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        if (strcmp(json_string_value(json_object_get(json_array_get(entries, i), "name")), name) == 0)
            return true;
    }
    return false;
}

// As the header has them (cuda_emit/c.h), of any architecture.
static json_t *entries_of(pl_job *job)
{
    const char *prefix = job->options->prefix ? job->options->prefix : "";
    json_t *list = json_array();
    for (int i = 0; i < job->unit_count; i++) {
        const ir_module *m = job->units[i].module;
        for (size_t k = 0; k < m->funcs.len; k++) {
            const ir_func *f = m->funcs.at[k];
            const char *name = arena_printf(&job->memory, "%s%s", prefix, f->name);
            if (!f->is_public || f->is_launched || f->kind == IR_DEVICE || is_known(list, name))
                continue;
            json_t *object = json_object();
            json_object_set_new(object, "name", diag_json_text(name));
            json_object_set_new(object, "title", diag_json_text(f->title ? f->title : f->name));
            json_object_set_new(object, "kind", json_string(f->kind == IR_KERNEL ? "kernel" : "host"));
            json_array_append_new(list, object);
        }
    }
    return list;
}

// ---- the compiler of the machine code ---------------------------------------------------------------------------

// "13.0.88" of '// Cuda compilation tools, release 13.0, V13.0.88', which NVRTC writes at the head of its PTX: right
// also where the PTX came from the cache.
static json_t *nvrtc_version(pl_job *job)
{
    static const char mark[] = "// Cuda compilation tools, release ";
    str ptx = job->units[0].code.ptx;
    const char *at = ptx.len ? memmem(ptx.at, ptx.len, mark, sizeof mark - 1) : NULL;
    at = at ? strstr(at, ", V") : NULL;
    return at ? diag_json_text(arena_strndup(&job->memory, at + 3, strspn(at + 3, "0123456789."))) : json_null();
}

// ---- the whole --------------------------------------------------------------------------------------------------

str cmd_manifest(pl_job *job)
{
    json_t *object = file_of(&job->memory, job->units[0].input_name, job->input);
    json_object_set_new(object, "imports", imports_of(job));
    json_object_set_new(object, "nvrtc", nvrtc_version(job));
    json_object_set_new(object, "kernels", kernels_of(job));
    json_object_set_new(object, "entries", job->options->header_name ? entries_of(job) : json_array());
    return dump(&job->memory, object, JSON_COMPACT);
}

// ---- what a run makes -------------------------------------------------------------------------------------------

static json_t *texts_of(const char *const *texts, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, diag_json_text(texts[i]));
    return list;
}

static json_t *options_of(const pl_options *o)
{
    json_t *object = json_object(), *archs = json_array(), *gpus = json_array(), *defines = json_object();
    for (int i = 0; i < o->arch_count; i++)
        json_array_append_new(archs, diag_json_text(o->archs[i]->name));
    for (int i = 0; i < o->arch_count; i++)
        json_array_append_new(gpus, json_pack("{s:s, s:i}", "name", o->gpus[i]->name, "sm_count", o->gpus[i]->sm_count));
    for (int i = 0; i < o->define_count; i++)
        json_object_set_new(defines, o->defines[i].name, diag_json_text(o->defines[i].value));
    json_object_set_new(object, "emit", diag_json_text(pl_kind_name(o->emit)));
    json_object_set_new(object, "archs", archs);
    json_object_set_new(object, "gpus", gpus);
    json_object_set_new(object, "defines", defines);
    json_object_set_new(object, "entries", texts_of(o->entries, o->entry_count));
    json_object_set_new(object, "prefix", diag_json_text(o->prefix ? o->prefix : ""));
    json_object_set_new(object, "nvrtc_options", texts_of(o->nvrtc_options, o->nvrtc_option_count));
    json_object_set_new(object, "lineinfo", json_boolean(o->line_info));
    json_object_set_new(object, "debug", json_boolean(o->device_debug));
    return object;
}

// The version of NVRTC stands once, above what it made.
static json_t *inputs_of(const cmd_manifest_parts *parts, json_t **nvrtc)
{
    json_t *list = json_array();
    for (size_t i = 0; i < parts->input_count; i++) {
        json_t *input = json_loadb(parts->inputs[i].at, parts->inputs[i].len, 0, NULL);
        json_t *version = json_object_get(input, "nvrtc");
        if (!*nvrtc && json_is_string(version))
            *nvrtc = json_incref(version);
        json_object_del(input, "nvrtc");
        json_array_append_new(list, input);
    }
    return list;
}

static json_t *outputs_of(arena *a, const cmd_manifest_parts *parts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < parts->file_count; i++) {
        json_t *object = file_of_pieces(a, parts->files[i].path, parts->files[i].pieces, parts->files[i].piece_count);
        json_object_set_new(object, "kind", diag_json_text(parts->kinds[i]));
        json_array_append_new(list, object);
    }
    return list;
}

str cmd_manifest_join(arena *a, const cmd_manifest_parts *parts)
{
    json_t *document = json_object(), *nvrtc = NULL, *inputs = inputs_of(parts, &nvrtc);
    json_object_set_new(document, "compiler", json_string("hdsc " HDS_VERSION));
    json_object_set_new(document, "nvrtc", nvrtc ? nvrtc : json_null());
    json_object_set_new(document, "options", options_of(parts->options));
    json_object_set_new(document, "inputs", inputs);
    json_object_set_new(document, "outputs", outputs_of(a, parts));
    return dump(a, document, JSON_INDENT(2));
}
