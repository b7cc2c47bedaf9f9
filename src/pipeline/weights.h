// Files of weights that a unit's sources name: found like modules, their headers read for the elaborator.
#pragma once

#include "pipeline/modules.h"
#include "typecheck/typecheck.h"
#include "weights/weights.h"

// A tc_find_weights with the finder as its [user].
bool pl_find_weights(void *user, const char *name, const src_file *importer, tc_weight_file *out, const char **why,
                     const char **looked);
// The file that a graph calls [name]; NULL: none was read, the weights are what the model says.
wt_file *pl_weights_of(const pl_finder *f, const char *name);
// The bytes of a weight, by the names that the model gives. NULL, and *[why], if they are not there.
const uint8_t *pl_weight_bytes(const pl_finder *f, const char *file, const char *name, const char **why);
// "random", "random:7": tensors of any numbers. [seed]: 0 where none is said. False: [text] is something else, a path.
bool pl_weights_are_random(const char *text, uint64_t *seed);
// Closes the files.
void pl_weights_close(pl_finder *f);
