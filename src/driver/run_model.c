// Models: their weights are bound by name, and what depends on weights alone is computed before the run.

#include "driver/run.h"

#include <string.h>

#include "pipeline/weights.h"

static const src_span nowhere = {0, 0};

bool cmd_run_loads(const run_state *r, const ir_func *f)
{
    for (size_t i = 0; i < r->unit.models.len; i++) {
        const char *load = r->unit.models.at[i].load.name;
        if (load && f->name && strcmp(f->name, load) == 0)
            return true;
    }
    return false;
}

void cmd_run_find_model(run_state *r)
{
    for (size_t i = 0; i < r->unit.models.len; i++)
        if (strcmp(r->unit.models.at[i].run.name, r->entry->name) == 0)
            r->model = &r->unit.models.at[i];
}

const fg_tensor *cmd_run_bound(const run_state *r, const char *name)
{
    for (size_t i = 0; r->model && i < r->model->run.parameters.len; i++) {
        const fg_parameter *p = &r->model->run.parameters.at[i];
        if ((p->role == FG_WEIGHT || p->role == FG_PREPARED) && strcmp(p->tensor->name, name) == 0)
            return p->tensor;
    }
    return NULL;
}

// ---- numbers ---------------------------------------------------------------------------------------------------------------

static bool no_bytes(run_state *r, const fg_tensor *w, const char *why)
{
    diag *d = diag_report(&r->unit.diags, HDS0846, nowhere, w->weight, why);
    diag_help(d, "--weights=FILE says where they are, --weights=random makes some up");
    return false;
}

bool cmd_run_fill_weight(run_state *r, const fg_tensor *w, ten_tensor *t)
{
    uint64_t seed;
    const char *why = NULL;
    if (pl_weights_are_random(r->unit.options->weights, &seed)) {
        why = ten_fill_weight(&r->unit.memory, w->weight, seed, t);
        return !why || no_bytes(r, w, why);
    }
    const uint8_t *bytes = pl_weight_bytes(&r->unit.finder, w->weight_file, w->weight, &why);
    if (!bytes)
        return no_bytes(r, w, why);
    memcpy(t->data, bytes, (size_t)t->bytes);
    return true;
}

// ---- what runs at load -----------------------------------------------------------------------------------------------------

static bool is_same_tensor(const fg_tensor *a, const fg_tensor *b)
{
    if (a->is_prepared || b->is_prepared)
        return a->is_prepared && b->is_prepared && strcmp(a->name, b->name) == 0;
    return a->weight && b->weight && strcmp(a->weight, b->weight) == 0 && strcmp(a->weight_file, b->weight_file) == 0;
}

// The argument of the run function that is the tensor; NULL: it reads no such one.
static const run_argument *argument_of(const run_state *r, const fg_tensor *t)
{
    for (size_t i = 0; i < r->arguments.len; i++)
        if (r->arguments.at[i].bound && is_same_tensor(r->arguments.at[i].bound, t))
            return &r->arguments.at[i];
    return NULL;
}

// A weight that only the load function reads.
static bool place_weight(run_state *r, const fg_tensor *w, uint64_t *address)
{
    ten_tensor t = {.rank = w->rank};
    int64_t room = 0;
    run_argument a = {.name = w->name};
    memcpy(t.shape, w->shape, sizeof w->shape[0] * (size_t)w->rank);
    if (!dt_find(str_of(w->dtype), &t.type) || !ten_measure(&t))
        return no_bytes(r, w, "it is too large");
    *address = sim_allocate(r->device, t.bytes, dt_bits(t.type) < 8 ? 1 : dt_bits(t.type) / 8, w->name);
    a.tensor = t;
    a.var = r->entry->params.at[0];
    if (!*address)
        return cmd_run_no_room(r, &a);
    t.data = sim_bytes(r->device, *address, &room);
    if (!cmd_run_fill_weight(r, w, &t))
        return false;
    sim_mark_written(r->device, *address, t.bytes);
    return true;
}

const ir_func *cmd_run_function(const run_state *r, const char *name)
{
    for (size_t i = 0; i < r->unit.module->funcs.len; i++)
        if (r->unit.module->funcs.at[i]->is_public && strcmp(r->unit.module->funcs.at[i]->name, name) == 0)
            return r->unit.module->funcs.at[i];
    return NULL;
}

bool cmd_run_load(run_state *r)
{
    if (!r->model || !r->model->load.name)
        return true;
    const fg_function *load = &r->model->load;
    const ir_func *f = cmd_run_function(r, load->name);
    uint64_t result = 0, *values = ARENA_ARRAY(&r->unit.memory, uint64_t, load->parameters.len + 1);
    for (size_t i = 0; i < load->parameters.len; i++) {
        const fg_tensor *t = load->parameters.at[i].tensor;
        const run_argument *a = argument_of(r, t);
        if (a)
            values[i] = a->value;
        else if (!place_weight(r, t, &values[i]))
            return false;
    }
    r->status = sim_call(r->device, r->program, f, values, (int)load->parameters.len, &result);
    return r->status != SIM_STOPPED;
}
