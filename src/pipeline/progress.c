// How far a unit is, said to who waits for it, and its end where that one waits no more.
//
// A unit that is cancelled ends as one without memory does: wherever it is, control goes to its recovery point (unit.c).

#include "pipeline/unit.h"

bool pl_goes_on(pl_unit *u, pl_stage stage, size_t done, size_t count)
{
    const pl_progress *p = u->options->progress;
    if (count || stage != u->shown.stage) {
        u->shown.stage = stage;
        u->shown.done = done;
        u->shown.count = count;
    }
    return !p || p->show(p->user, u, stage, u->shown.done, u->shown.count);
}

void pl_cancel(pl_unit *u)
{
    u->is_cancelled = true;
    longjmp(u->oom.jump, 1);
}

void pl_show_progress(pl_unit *u, pl_stage stage, size_t done, size_t count)
{
    if (!pl_goes_on(u, stage, done, count))
        pl_cancel(u);
}

void pl_note_launch(void *unit)
{
    pl_unit *u = unit;
    if (!u->is_lowered)
        return;
    u->launches_done += u->launches_done < u->launch_count;
    pl_show_progress(u, PL_AT_KERNELS, u->launches_done, u->launch_count);
}
