// The widest vector access of a mapping over a layout.

#include "base/checked.h"
#include "taskmap/layout.h"
#include "taskmap/taskmap_priv.h"

static int64_t largest_power(int64_t limit)
{
    int64_t power = 1;
    while (power * 2 <= limit)
        power *= 2;
    return power;
}

// The largest power of two, at most [limit], that divides [value]; [limit] for 0.
static int64_t power_in(int64_t value, int64_t limit)
{
    while (value % limit)
        limit /= 2;
    return limit;
}

// Positions 0, 1, … lie at offsets 0, 1, … as far as the innermost terms continue each other. A run cannot go beyond,
// nor end elsewhere than at a divisor of that length, and every other term must move it by multiples of its length.
static int64_t widest_linear(const tm_linear *terms, int64_t limit)
{
    int64_t run = 1;
    int i = terms->step_count - 1;
    for (; i >= 0 && terms->steps[i].stride == run; i--)
        run *= terms->steps[i].extent;
    limit = power_in(run, limit);
    for (; i >= 0; i--)
        limit = power_in(terms->steps[i].stride, limit);
    for (i = 0; i < terms->worker_count; i++)
        limit = power_in(terms->workers[i].stride, limit);
    return limit;
}

// Whether the run of [width] tasks from [first] on is one access: all outside the layout, or all inside, at consecutive
// offsets from a multiple of the width on.
static bool is_access(const tm_map *m, const tm_layout *l, int64_t worker, int64_t first, int64_t width)
{
    int64_t coords[TM_MAX_RANK];
    tm_task(m, worker, first, coords);
    bool inside = tm_layout_in_bounds(l, coords);
    int64_t start = inside ? tm_layout_offset(l, coords) : 0;
    if (start % width)
        return false;
    for (int64_t i = 1; i < width; i++) {
        tm_task(m, worker, first + i, coords);
        if (tm_layout_in_bounds(l, coords) != inside || (inside && tm_layout_offset(l, coords) != start + i))
            return false;
    }
    return true;
}

static bool all_are_accesses(const tm_map *m, const tm_layout *l, int64_t width)
{
    for (int64_t worker = 0; worker < m->workers; worker++)
        for (int64_t first = 0; first < m->tasks_per_worker; first += width)
            if (!is_access(m, l, worker, first, width))
                return false;
    return true;
}

int tm_widest_access(const tm_map *m, const tm_layout *l, int max_elements)
{
    enum { MOST_TASKS = 1 << 22 };
    if (max_elements < 1 || m->rank != l->rank)
        return 1;
    int64_t limit = power_in(m->tasks_per_worker, largest_power(max_elements));
    tm_linear terms;
    if (tm_linear_offsets(m, l, &terms))
        return (int)widest_linear(&terms, limit);
    if (m->workers * m->tasks_per_worker > MOST_TASKS)
        return 1;
    while (limit > 1 && !all_are_accesses(m, l, limit))
        limit /= 2;
    return (int)limit;
}
