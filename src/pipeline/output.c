// What a job writes: nothing unless everything before went well, and whole files only (base/file.h).

#include "pipeline/job.h"

#include "base/file.h"

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
    case PL_HIR:
    case PL_JSON:
    case PL_CU:
    case PL_KIND__COUNT:
        break;
    }
    *out = first->text;
    return true;
}

bool pl_write_output(pl_job *job)
{
    const char *path = job->options->output, *error = NULL;
    if (!path)
        return true;
    str text;
    if (!output_of(job, &text))
        return false;
    size_t span = pl_span_begin(&job->times, "write", 0);
    bool ok = file_write(&job->memory, path, text, &error);
    pl_span_end(&job->times, span);
    if (!ok)
        diag_report(&job->diags, HDS0494, (src_span){0, 0}, path, error);
    return ok;
}
