#include "measure/statistics.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The quantile: the value below which a fraction [part] of the others lies.
static double quantile(const double *sorted, size_t count, double part)
{
    double at = part * (double)(count - 1);
    size_t below = (size_t)at;
    double rest = at - (double)below;
    return below + 1 < count ? sorted[below] + rest * (sorted[below + 1] - sorted[below]) : sorted[count - 1];
}

ms_summary ms_summarize(double *values, size_t count)
{
    if (!count)
        return (ms_summary){0};
    qsort(values, count, sizeof *values, by_value);
    return (ms_summary){
        .median = quantile(values, count, 0.5),
        .q1 = quantile(values, count, 0.25),
        .q3 = quantile(values, count, 0.75),
        .min = values[0],
        .max = values[count - 1],
        .count = count,
    };
}

double ms_spread(const ms_summary *s)
{
    return s->median > 0 ? (s->q3 - s->q1) / 2 / s->median : 0;
}

ms_verdict ms_judge(const ms_summary *before, const ms_summary *now)
{
    if (now->q3 < before->q1)
        return MS_FASTER;
    return now->q1 > before->q3 ? MS_SLOWER : MS_SAME;
}
