// C from the units of a job: the header, the text, and the object that the C compiler produces from it.

#include <string.h>

#include "cuda_emit/c.h"
#include "pipeline/job.h"
#include "pipeline/weights.h"
#include "toolchain/cc.h"
#include "weights/weights.h"

// Seen by the object's text alone: many objects have it.
#define IMAGE_SYMBOL "hds_image"

// ---- the units, ascending by architecture -----------------------------------------------------------------------

static bool comes_before(const arch *a, const arch *b)
{
    if (a->major != b->major)
        return a->major < b->major;
    return a->minor != b->minor ? a->minor < b->minor : !a->accelerated && b->accelerated;
}

// Their indices.
static const int *sorted(pl_job *job)
{
    int *order = ARENA_ARRAY(&job->memory, int, job->unit_count);
    for (int i = 0; i < job->unit_count; i++) {
        int at = i;
        for (; at > 0 && comes_before(job->units[i].arch, job->units[order[at - 1]].arch); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

// ---- models -----------------------------------------------------------------------------------------------------

typedef VEC(const fg_tensor *) weight_list;
typedef VEC(tool_blob) blob_list;

static cu_c_tensor tensor_of(arena *a, const fg_parameter *p)
{
    const fg_tensor *t = p->tensor;
    cu_c_role role = p->role == FG_WEIGHT ? CU_C_WEIGHT : p->role == FG_PREPARED ? CU_C_PREPARED : CU_C_GIVEN;
    cu_c_tensor out = {.role = role, .name = t->name, .rank = t->rank, .shape = t->shape, .bytes = t->bytes};
    if (role != CU_C_WEIGHT)
        return out;
    const char *stored = wt_stored_dtype_of(t->dtype);
    out.weight = t->weight;
    out.stored_dtype = stored ? stored : ""; // no file has one
    out.type = fg_type_text(a, t);
    return out;
}

static cu_c_model_part part_of(arena *a, const fg_function *f)
{
    cu_c_tensor *tensors = ARENA_ARRAY(a, cu_c_tensor, f->parameters.len + 1);
    for (size_t i = 0; i < f->parameters.len; i++)
        tensors[i] = tensor_of(a, &f->parameters.at[i]);
    return (cu_c_model_part){f->name, tensors, (int)f->parameters.len};
}

// The weights that a model reads, each once.
static void add_weights(pl_job *job, const fg_function *f, weight_list *out)
{
    for (size_t i = 0; i < f->parameters.len; i++) {
        const fg_tensor *t = f->parameters.at[i].tensor;
        bool is_new = f->parameters.at[i].role == FG_WEIGHT;
        for (size_t k = 0; k < out->len && is_new; k++)
            is_new = strcmp(out->at[k]->weight, t->weight) != 0;
        if (is_new)
            VEC_PUSH(&job->memory, out, t);
    }
}

static bool no_bytes(pl_job *job, const char *weight, const char *why)
{
    diag *d = diag_report(&job->units[0].diags, HDS0846, (src_span){0, 0}, weight, why);
    diag_help(d, "--embed-weights takes them from the file that the model or --weights=FILE names");
    return false;
}

// A safetensors file of them, whatever files they were in. False after reporting.
static bool embed_weights(pl_job *job, const pl_unit *u, const fg_model *m, cu_c_model *out, tool_blob *blob)
{
    arena *a = &job->memory;
    weight_list weights = {0};
    const char *why = NULL;
    uint64_t seed;
    add_weights(job, &m->load, &weights);
    add_weights(job, &m->run, &weights);
    if (!weights.len)
        return true;
    wt_entry *entries = ARENA_ARRAY(a, wt_entry, weights.len + 1);
    const uint8_t **bytes = ARENA_ARRAY(a, const uint8_t *, weights.len + 1);
    for (size_t i = 0; i < weights.len; i++) {
        const fg_tensor *t = weights.at[i];
        if (pl_weights_are_random(job->options->weights, &seed))
            return no_bytes(job, t->weight, "random ones are in no file");
        bytes[i] = pl_weight_bytes(&u->finder, t->weight_file, t->weight, &why);
        if (!bytes[i])
            return no_bytes(job, t->weight, why);
        entries[i] = (wt_entry){.name = t->weight, .dtype = t->dtype, .rank = t->rank, .shape = t->shape};
    }
    blob->pieces = wt_pieces(a, entries, bytes, weights.len, &why);
    if (!blob->pieces)
        return no_bytes(job, m->run.name, why);
    blob->count = weights.len + 1;
    blob->symbol = out->weights_symbol = arena_printf(a, "hds_weights_%s", m->run.name);
    for (size_t i = 0; i < blob->count; i++)
        out->weights_bytes += blob->pieces[i].len;
    return true;
}

// Those of one unit: that others agree follows from the parameters of their functions.
static bool add_models(pl_job *job, const pl_unit *u, cu_c_options *o, blob_list *blobs)
{
    cu_c_model *models = ARENA_ARRAY(&job->memory, cu_c_model, u->models.len + 1);
    for (size_t i = 0; i < u->models.len; i++) {
        const fg_model *m = &u->models.at[i];
        tool_blob blob = {0};
        models[i] = (cu_c_model){.load = part_of(&job->memory, &m->load), .run = part_of(&job->memory, &m->run)};
        if (job->options->embeds_weights && !embed_weights(job, u, m, &models[i], &blob))
            return false;
        if (blob.symbol)
            VEC_PUSH(&job->memory, blobs, blob);
    }
    o->models = models;
    o->model_count = (int)u->models.len;
    return true;
}

static cu_c_options options_of(pl_job *job)
{
    const pl_options *o = job->options;
    const int *order = sorted(job);
    int portable = pl_kind_is_c(o->emit) ? pl_ptx_unit(job) : -1, ptx_unit = -1;
    cu_c_unit *units = ARENA_ARRAY(&job->memory, cu_c_unit, job->unit_count);
    for (int i = 0; i < job->unit_count; i++) {
        pl_unit *u = &job->units[order[i]];
        units[i] = (cu_c_unit){u->module, &u->kernels};
        ptx_unit = order[i] == portable ? i : ptx_unit;
    }
    cu_c_options c = {
        .units = units,
        .unit_count = job->unit_count,
        .ptx_unit = ptx_unit,
        .prefix = o->prefix ? o->prefix : "",
        .header_name = o->header_name,
        .compiler = "hdsc " HDS_VERSION,
        .source_name = job->units[0].input_name,
        .flags = pl_unit_flags(&job->units[0]),
        .lines = o->emit == PL_C && !o->no_line,
        .diags = &job->units[0].diags,
        .arena = &job->memory,
    };
    return c;
}

// ---- the object -------------------------------------------------------------------------------------------------

// In letters that no program takes for something else.
const char *pl_stem(arena *a, const char *input)
{
    const char *slash = strrchr(input, '/'), *base = slash ? slash + 1 : input, *dot = strrchr(base, '.');
    if (strcmp(base, "-") == 0 || strcmp(base, "<stdin>") == 0)
        return "stdin";
    size_t len = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    char *stem = arena_strndup(a, base, len);
    for (char *c = stem; *c; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_' ||
                        (c > stem && (*c == '-' || *c == '.'));
        *c = is_plain ? *c : '_';
    }
    return stem;
}

static pl_status make_object(pl_job *job, const cu_c_options *c, str text, const blob_list *blobs)
{
    pl_unit *first = &job->units[0];
    const tool_c_source source = {
        .stem = pl_stem(&job->memory, first->input_name),
        .header_name = c->header_name,
        .header = job->product.header,
        .text = text,
        .blobs = blobs->at,
        .blob_count = (int)blobs->len,
    };
    size_t span = pl_span_begin(&job->times, "C compiler", 1);
    bool ok = tool_cc_object(&job->memory, &first->diags, job->cc, &source, &job->reads, &job->product.output);
    pl_span_end(&job->times, span);
    return ok ? PL_OK : PL_TOOLCHAIN;
}

// A library of this input alone. Others are made of the objects of several jobs.
static pl_status make_library(pl_job *job)
{
    const pl_options *o = job->options;
    const tool_member member = {arena_printf(&job->memory, "%s.o", pl_stem(&job->memory, o->input)), job->product.output};
    tool_link_kind kind = o->emit == PL_ARCHIVE ? TOOL_LINK_ARCHIVE : TOOL_LINK_SHARED;
    size_t span = pl_span_begin(&job->times, "link", 1);
    bool ok = tool_cc_link(&job->memory, &job->units[0].diags, job->cc, kind, o->library_name, &member, 1, &job->reads,
                           &job->product.output);
    pl_span_end(&job->times, span);
    return ok ? PL_OK : PL_TOOLCHAIN;
}

// ---- all of it --------------------------------------------------------------------------------------------------

static bool emit(bool emit_one(const cu_c_options *, str_buf *), const cu_c_options *options, str *out)
{
    str_buf text;
    str_buf_init(&text, options->arena);
    bool ok = emit_one(options, &text) && !options->diags->shown_errors;
    *out = (str){str_text(&text), text.len};
    return ok;
}

pl_status pl_make_c(pl_job *job)
{
    pl_kind kind = job->options->emit;
    cu_c_options options = options_of(job);
    blob_list blobs = {0};
    str text;
    if (!add_models(job, &job->units[*sorted(job)], &options, &blobs))
        return PL_ERRORS;
    if (pl_kind_is_c(kind) && !pl_make_fatbin(job, &options.image))
        return PL_INTERNAL;
    if (kind != PL_C && pl_kind_is_c(kind)) {
        options.image_symbol = IMAGE_SYMBOL;
        VEC_PUSH(&job->memory, &blobs, ((tool_blob){IMAGE_SYMBOL, &options.image, 1}));
    }
    if (!emit(cu_emit_c_header, &options, &job->product.header))
        return PL_ERRORS;
    if (!pl_kind_is_c(kind))
        return PL_OK;
    if (!emit(cu_emit_c_source, &options, &text))
        return PL_ERRORS;
    job->product.output = text;
    pl_status status = kind == PL_C ? PL_OK : make_object(job, &options, text, &blobs);
    return status == PL_OK && kind != PL_C && kind != PL_OBJECT && job->options->library_name ? make_library(job) : status;
}
