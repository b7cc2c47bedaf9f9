// What a rewrite is tried with.
#pragma once

#include "graph/rewrite.h"

typedef struct test_trial {
    const char *operands; // as tc_record_side takes them
    const char *text;     // "x: f32[3, 5], scale = 0.5"
    const char *open;     // the operands with sizes that are open
    fg_name_list sizes;   // these
    fg_name_list values;  // "S_0=3": what they are in this trial
} test_trial;

// Trial [number]; the same seed and number give the same trial. Texts in [a]. False: its tensors would be too large.
bool test_draw(arena *a, const fg_rule *rule, uint64_t seed, int number, test_trial *out);
