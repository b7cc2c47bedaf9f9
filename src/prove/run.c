// One run of one side: sets inputs and their field values, calls the entry, and reads the outputs.

#include <string.h>

#include "base/strided_span.h"
#include "prove/prove_priv.h"
#include "sim/memory.h"

typedef struct run {
    prove *p;
    prove_side *side;
    const prove_request *request;
    arena *arena;
    sim *device;
    uint64_t *addresses;      // by tensor
} run;

// The element type may differ between the sides.
static dtype type_of(const run *r, int tensor)
{
    for (size_t i = 0; i < r->side->func->params.len; i++) {
        if (r->side->params[i].tensor == tensor)
            return r->side->params[i].var->type->elem->scalar;
    }
    return r->p->tensors.at[tensor].type;
}

static const prove_param *param_of(const run *r, int tensor)
{
    for (size_t i = 0; i < r->side->func->params.len; i++) {
        if (r->side->params[i].tensor == tensor)
            return &r->side->params[i];
    }
    return NULL;
}

// Where element [i] of the tensor lies on this side, in elements.
static int64_t offset_of(const run *r, const prove_param *param, int64_t i)
{
    const prove_tensor *t = &r->p->tensors.at[param->tensor];
    return strided_span_offset(t->rank, t->shape, param->strides, i);
}

// ---- inputs --------------------------------------------------------------------------------------------------------

enum { SCALARS = 1 << 30 };  // stands for a tensor of them

// Of element [i] of a tensor, which is input [number] of all.
static sim_field companion_of(const run *r, int64_t number, uint64_t tensor, int64_t i)
{
    const prove_request *q = r->request;
    if (q->degrees)
        return sim_field_degree_input();
    uint64_t stream = r->p->options->seed + q->seed;
    sim_field value = sim_field_random(stream, tensor, (uint64_t)i);
    if (number >= q->begin && number < q->end)
        value = sim_field_add(value, sim_field_random(stream + (q->move << 32), tensor, (uint64_t)i));
    return value;
}

static sim_field companion(const run *r, int tensor, int64_t i)
{
    return companion_of(r, r->p->tensors.at[tensor].first + i, (uint64_t)tensor, i);
}

// Both sides get the same floats, rounded to the narrower type, so that comparisons have the same results.
static uint64_t element(const run *r, int tensor, int64_t i, dtype type)
{
    const prove_tensor *t = &r->p->tensors.at[tensor];
    uint64_t bits = prove_element_bits(r->p, tensor, i, r->request->seed);
    return type == t->type ? bits : dt_from_double(type, dt_to_double(t->type, bits));
}

static void fill(run *r, int tensor)
{
    const prove_tensor *t = &r->p->tensors.at[tensor];
    dtype type = type_of(r, tensor);
    int64_t bytes = dt_bits(type) / 8, room;
    uint8_t *at = sim_bytes(r->device, r->addresses[tensor], &room);
    const prove_param *param = param_of(r, tensor);
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t bits = element(r, tensor, i, type);
        int64_t offset = offset_of(r, param, i) * bytes;
        memcpy(at + offset, &bits, (size_t)bytes);
        if (param->strides)
            sim_mark_written(r->device, r->addresses[tensor] + (uint64_t)offset, bytes);
    }
    if (!param->strides)
        sim_mark_written(r->device, r->addresses[tensor], t->count * bytes);
    sim_field *field = sim_memory_host_field(r->device, r->addresses[tensor]);
    for (int64_t i = 0; field && !prove_is_constant(r->p, tensor) && i < t->count; i++)
        field[offset_of(r, param, i) * bytes] = companion(r, tensor, i);
}

static bool set_up(run *r)
{
    prove *p = r->p;
    r->addresses = ARENA_ARRAY(r->arena, uint64_t, p->tensors.len);
    for (size_t i = 0; i < p->tensors.len; i++) {
        const prove_tensor *t = &p->tensors.at[i];
        int bytes = dt_bits(type_of(r, (int)i)) / 8;
        r->addresses[i] = sim_allocate(r->device, param_of(r, (int)i)->span * bytes, bytes * t->lanes, t->name);
        if (!r->addresses[i])
            return false;
        if (t->is_input)
            fill(r, (int)i);
    }
    return true;
}

// Scalars without a given value are random in the fields too.
static sim_field scalar_companion(const run *r, const prove_param *param)
{
    const prove_scalar *s = &r->p->scalars.at[param->scalar];
    if (!dt_is_float(s->type) || s->given)
        return SIM_FIELD_NOTHING;
    int64_t number = r->p->input_count - (int64_t)r->p->scalars.len + param->scalar;
    return companion_of(r, number, SCALARS, param->scalar);
}

static void set_fields(run *r)
{
    size_t count = r->side->func->params.len;
    sim_field *fields = ARENA_ARRAY(r->arena, sim_field, count);
    for (size_t i = 0; i < count; i++) {
        const prove_param *param = &r->side->params[i];
        fields[i] = param->tensor >= 0 ? SIM_FIELD_NOTHING : scalar_companion(r, param);
    }
    sim_set_argument_fields(r->device, fields);
}

static uint64_t *arguments(run *r)
{
    size_t count = r->side->func->params.len;
    uint64_t *args = ARENA_ARRAY(r->arena, uint64_t, count);
    for (size_t i = 0; i < count; i++) {
        const prove_param *param = &r->side->params[i];
        if (param->tensor >= 0) {
            args[i] = r->addresses[param->tensor];
            continue;
        }
        const prove_scalar *s = &r->p->scalars.at[param->scalar];
        uint64_t bits = prove_scalar_bits(r->p, param->scalar, r->request->seed);
        dtype type = param->var->type->scalar;
        if (dt_is_float(s->type) && dt_is_float(type) && type != s->type)
            bits = dt_from_double(type, dt_to_double(s->type, bits));
        args[i] = bits;
    }
    return args;
}

// ---- outputs -------------------------------------------------------------------------------------------------------

// By element, whether it was written; NULL: all were.
static bool *written_elements(run *r, int tensor, int64_t bytes)
{
    const prove_tensor *t = &r->p->tensors.at[tensor];
    int64_t first = 0;
    const prove_param *param = param_of(r, tensor);
    bool all = param->strides == NULL;
    if (all && sim_is_initialised(r->device, r->addresses[tensor], t->count * bytes, &first))
        return NULL;
    all = true;
    bool *written = ARENA_ARRAY(r->arena, bool, t->count);
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t offset = (uint64_t)(offset_of(r, param, i) * bytes);
        written[i] = sim_is_initialised(r->device, r->addresses[tensor] + offset, bytes, &first);
        all = all && written[i];
    }
    return all ? NULL : written;
}

static bool is_changed(const run *r, int tensor, const prove_output *out, dtype type)
{
    const prove_tensor *t = &r->p->tensors.at[tensor];
    int64_t bytes = dt_bits(type) / 8;
    if (!t->is_input)
        return true;
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t bits = element(r, tensor, i, type);
        if (memcmp(out->bits + i * bytes, &bits, (size_t)bytes) != 0)
            return true;
        if (!out->values || prove_is_constant(r->p, tensor))
            continue;
        sim_field before = companion(r, tensor, i);
        if (before.p != out->values[i].p)
            return true;
    }
    return false;
}

static prove_output collect(run *r, int tensor)
{
    const prove_tensor *t = &r->p->tensors.at[tensor];
    dtype type = type_of(r, tensor);
    int64_t bytes = dt_bits(type) / 8, room;
    const uint8_t *at = sim_bytes(r->device, r->addresses[tensor], &room);
    const prove_param *param = param_of(r, tensor);
    uint8_t *dense = arena_alloc(r->arena, (size_t)(t->count * bytes));
    for (int64_t i = 0; i < t->count; i++)
        memcpy(dense + i * bytes, at + offset_of(r, param, i) * bytes, (size_t)bytes);
    prove_output out = {.tensor = tensor, .bits = dense};
    out.is_written = written_elements(r, tensor, bytes);
    const sim_field *field = sim_memory_host_field(r->device, r->addresses[tensor]);
    if (dt_is_float(type)) {
        out.values = ARENA_ARRAY(r->arena, sim_field, t->count);
        for (int64_t i = 0; i < t->count; i++) {
            uint64_t bits = 0;
            memcpy(&bits, dense + i * bytes, (size_t)bytes);
            out.values[i] = sim_field_or(field ? field[offset_of(r, param, i) * bytes] : SIM_FIELD_NOTHING,
                                         dt_to_double(type, bits));
        }
    }
    out.is_changed = is_changed(r, tensor, &out, type);
    return out;
}

// ---- all together --------------------------------------------------------------------------------------------------

static prove_outcome execute(run *r)
{
    prove *p = r->p;
    prove_outcome outcome = {.outputs = ARENA_ARRAY(r->arena, prove_output, p->tensors.len)};
    if (!set_up(r)) {
        sim_findings_report(r->device, &r->side->unit.diags);
        return outcome;
    }
    uint64_t *args = arguments(r), result = 0;
    set_fields(r);
    sim_status status = sim_call(r->device, r->side->program, r->side->func, args, (int)r->side->func->params.len, &result);
    outcome.is_complete = status == SIM_OK;
    sim_findings_report(r->device, &r->side->unit.diags);
    for (size_t i = 0; i < p->tensors.len; i++) {
        outcome.outputs[i].tensor = -1;
        if (outcome.is_complete && p->tensors.at[i].is_output)
            outcome.outputs[i] = collect(r, (int)i);
    }
    return outcome;
}

prove_outcome prove_run_side(prove *p, int side, const prove_request *request, arena *a)
{
    const sim_options options = {.seed = request->schedule, .field = true, .budget = p->options->budget};
    run r = {.p = p, .side = &p->sides[side], .request = request, .arena = a};
    r.device = sim_new(a, &options);
    prove_outcome outcome = execute(&r);
    sim_free(r.device);
    p->runs++;
    return outcome;
}
