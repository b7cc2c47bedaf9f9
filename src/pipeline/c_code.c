// C from the units of a job: the header, the text, and the object that the C compiler produces from it.

#include <string.h>

#include "cuda_emit/c.h"
#include "pipeline/job.h"
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

// Those of one unit: that others agree follows from the parameters of their functions.
static void add_models(pl_job *job, const pl_unit *u, cu_c_options *o)
{
    cu_c_model *models = ARENA_ARRAY(&job->memory, cu_c_model, u->models.len + 1);
    for (size_t i = 0; i < u->models.len; i++)
        models[i] = (cu_c_model){part_of(&job->memory, &u->models.at[i].load), part_of(&job->memory, &u->models.at[i].run)};
    o->models = models;
    o->model_count = (int)u->models.len;
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
    add_models(job, &job->units[order[0]], &c);
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

static pl_status make_object(pl_job *job, const cu_c_options *c, str text)
{
    pl_unit *first = &job->units[0];
    const tool_c_source source = {
        .stem = pl_stem(&job->memory, first->input_name),
        .header_name = c->header_name,
        .header = job->product.header,
        .text = text,
        .image = c->image,
        .image_symbol = c->image_symbol,
    };
    size_t span = pl_span_begin(&job->times, "C compiler", 1);
    bool ok = tool_cc_object(&job->memory, &first->diags, job->cc, &source, &job->product.output);
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
    str text;
    if (pl_kind_is_c(kind) && !pl_make_fatbin(job, &options.image))
        return PL_INTERNAL;
    if (kind != PL_C && pl_kind_is_c(kind))
        options.image_symbol = IMAGE_SYMBOL;
    if (!emit(cu_emit_c_header, &options, &job->product.header))
        return PL_ERRORS;
    if (!pl_kind_is_c(kind))
        return PL_OK;
    if (!emit(cu_emit_c_source, &options, &text))
        return PL_ERRORS;
    job->product.output = text;
    return kind == PL_C ? PL_OK : make_object(job, &options, text);
}
