// A fat binary of all units: machine code for each architecture, and the PTX of the newest for GPUs yet to come.

#include "toolchain/fatbin.h"

#include "pipeline/job.h"

static const pl_unit *newest(const pl_job *job)
{
    const pl_unit *best = &job->units[0];
    for (int i = 1; i < job->unit_count; i++) {
        const arch *a = job->units[i].arch, *b = best->arch;
        if (a->major > b->major || (a->major == b->major && a->minor > b->minor))
            best = &job->units[i];
    }
    return best;
}

bool pl_make_fatbin(pl_job *job, str *out)
{
    tool_image *images = ARENA_ARRAY(&job->memory, tool_image, job->unit_count + 1);
    for (int i = 0; i < job->unit_count; i++)
        images[i] = (tool_image){job->units[i].arch, false, job->units[i].code.cubin};
    const pl_unit *last = newest(job);
    images[job->unit_count] = (tool_image){last->arch, true, last->code.ptx};
    size_t bad;
    if (tool_fatbin_make(&job->memory, images, (size_t)job->unit_count + 1, out, &bad))
        return true;
    diag_report(&job->diags, HDS0495, (src_span){0, 0}, images[bad].arch->name);
    return false;
}
