// What a job delivers: nothing unless everything before went well.

#include "pipeline/job.h"
#include "pipeline/onnx_input.h"

static bool output_of(pl_job *job, str *out)
{
    const pl_unit *first = &job->units[0];
    switch (job->options->emit) {
    case PL_PTX:
        *out = first->code.ptx;
        return true;
    case PL_CUBIN:
        *out = first->code.cubin;
        return true;
    case PL_FATBIN:
        return pl_make_fatbin(job, out);
    case PL_NOTHING:
    case PL_TOKENS:
    case PL_AST:
    case PL_GRAPH:
    case PL_HDS:
    case PL_HIR:
    case PL_JSON:
    case PL_CU:
    case PL_C:
    case PL_OBJECT:
    case PL_ARCHIVE:
    case PL_SHARED:
    case PL_KIND__COUNT:
        break;
    }
    *out = first->text;
    return true;
}

pl_status pl_make_product(pl_job *job)
{
    pl_product *p = &job->product;
    size_t span = pl_span_begin(&job->times, "output", 0);
    pl_status status = PL_OK;
    if (!pl_kind_is_c(job->options->emit) && !output_of(job, &p->output))
        status = PL_INTERNAL;
    if (job->options->header_name && status == PL_OK)
        status = pl_make_c(job);
    if (status == PL_OK)
        p->depends = pl_depends(job);
    else
        *p = (pl_product){0};
    pl_span_end(&job->times, span);
    return status;
}
