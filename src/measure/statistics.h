// Statistics of a set of measured times.
#pragma once

#include <stddef.h>

typedef struct ms_summary {
    double median, q1, q3;  // quartiles, interpolated between neighbours
    double min, max;
    size_t count;
} ms_summary;

// Summarises [values] and sorts them; all 0 for no values.
ms_summary ms_summarize(double *values, size_t count);
// Half the interquartile range, relative to the median: 0.01 for 1 %. 0 where the median is 0.
double ms_spread(const ms_summary *s);

typedef enum ms_verdict { MS_SAME, MS_FASTER, MS_SLOWER } ms_verdict;
// Whether [now] differs from [before] by more than noise: their interquartile ranges do not overlap.
ms_verdict ms_judge(const ms_summary *before, const ms_summary *now);
