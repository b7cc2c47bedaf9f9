// A fat binary of all units: machine code for each architecture, and PTX for GPUs yet to come.

#include "toolchain/fatbin.h"

#include "pipeline/job.h"

// PTX of an architecture with an "a" runs on that one only (PTX ISA, ".target"), where there is machine code already.
int pl_ptx_unit(const pl_job *job)
{
    int best = -1;
    for (int i = 0; i < job->unit_count; i++) {
        const arch *a = job->units[i].arch, *b = best >= 0 ? job->units[best].arch : a;
        bool is_newer = best < 0 || a->major > b->major || (a->major == b->major && a->minor > b->minor);
        if (!a->accelerated && is_newer)
            best = i;
    }
    return best;
}

bool pl_make_fatbin(pl_job *job, str *out)
{
    tool_image *images = ARENA_ARRAY(&job->memory, tool_image, job->unit_count + 1);
    for (int i = 0; i < job->unit_count; i++)
        images[i] = (tool_image){job->units[i].arch, false, job->units[i].code.cubin};
    int portable = pl_ptx_unit(job);
    if (portable >= 0)
        images[job->unit_count] = (tool_image){job->units[portable].arch, true, job->units[portable].code.ptx};
    size_t bad, count = (size_t)job->unit_count + (portable >= 0);
    if (tool_fatbin_make(&job->memory, images, count, out, &bad))
        return true;
    diag_report(&job->diags, HDS0495, (src_span){0, 0}, images[bad].arch->name);
    return false;
}
