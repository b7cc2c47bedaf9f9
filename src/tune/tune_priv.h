// What the files of the module share.
#pragma once

#include "tune/tune.h"

// [text] split at [separator]; "" has no parts.
const char *const *tune_split(arena *a, const char *text, char separator, int *count);

// bind.c: sets arguments, count and perhaps failure of each rival, for these sizes. Tensors get contents by [seed].
void tune_bind(arena *a, uint64_t seed, const tune_space *space, const tune_key *key, ms_rival *rivals);
// Whether each word is for some kernel, where one of them was compiled. False after reporting HDS0826.
bool tune_check_words(tune *t, const tune_space *space, const tune_key *key, const ms_rival *rivals);
