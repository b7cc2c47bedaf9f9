// Weights of the graph functions that a test calls: tensors in simulated memory, which its function takes as parameters.
#include <string.h>

#include "pipeline/weights.h"
#include "tensor/spec.h"
#include "testing/testing_priv.h"

static bool not_there(pl_unit *u, const tc_test_weight *w, const char *why)
{
    diag *d = diag_report(&u->diags, HDS0846, (src_span){0, 0}, w->name, why);
    diag_help(d, "--weights=FILE says where they are, --weights=random makes some up");
    return false;
}

static bool fill(pl_unit *u, const tc_test_weight *w, ten_tensor *t)
{
    uint64_t seed;
    const char *why = NULL;
    if (pl_weights_are_random(u->options->weights, &seed)) {
        why = ten_fill_weight(&u->memory, w->name, seed, t);
        return !why || not_there(u, w, why);
    }
    const uint8_t *bytes = pl_weight_bytes(&u->finder, w->file, w->name, &why);
    if (!bytes)
        return not_there(u, w, why);
    memcpy(t->data, bytes, (size_t)t->bytes);
    return true;
}

// Extents of weights are known.
static bool place(pl_unit *u, sim *s, const tc_test_weight *w, uint64_t *address)
{
    const ir_tensor *type = w->var->tensor;
    int64_t room = 0;
    ten_tensor t = {.type = type->elem->scalar, .rank = type->rank};
    for (int d = 0; d < t.rank; d++)
        if (!ir_const_int(type->shape[d], &t.shape[d]))
            return not_there(u, w, "its extents are not known");
    *address = ten_measure(&t) ? sim_allocate(s, t.bytes, dt_bits(t.type) < 8 ? 1 : dt_bits(t.type) / 8, w->var->name) : 0;
    if (!*address)
        return not_there(u, w, "there is no memory for them");
    t.data = sim_bytes(s, *address, &room);
    if (!fill(u, w, &t))
        return false;
    sim_mark_written(s, *address, t.bytes);
    return true;
}

bool test_place_weights(pl_unit *u, sim *s, uint64_t *addresses)
{
    for (size_t i = 0; i < u->test_weights.len; i++)
        if (!place(u, s, &u->test_weights.at[i], &addresses[i]))
            return false;
    return true;
}
