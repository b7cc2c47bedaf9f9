// Models of hidet.lang.testing: fills and copies. They are the host's: it sees all of simulated memory, and what it
// writes is there before the next launch.
#include "sim/check.h"
#include "sim/models/testing_priv.h"
#include "sim/random.h"

// ---- operands ----------------------------------------------------------------------------------------------------

bool sim_testing_ready(sim_warp *w, const sim_use *use)
{
    if (!w->block->launch->is_host) {
        sim_check_no_model(w, use);
        return false;
    }
    bool ok = true;
    for (int i = 0; i < use->intrin->operand_count; i++)
        ok &= sim_require_defined(w, use->site, use->operands[i].cell, w->active, "an argument") == w->active;
    return ok;
}

static uint64_t bits_of(const sim_warp *w, const sim_use *use, const char *name)
{
    const sim_operand *o = sim_operand_named(use, name);
    return o ? sim_element(w, o, 0, sim_first_lane(w->active)) : 0;
}

int64_t sim_testing_int(const sim_warp *w, const sim_use *use, const char *name)
{
    return (int64_t)bits_of(w, use, name);
}

double sim_testing_double(const sim_warp *w, const sim_use *use, const char *name)
{
    return sim_double_of(bits_of(w, use, name));
}

static int64_t numbered(const sim_warp *w, const sim_use *use, const char *letter, int d)
{
    char name[4] = {letter[0], (char)('0' + d), 0};
    return sim_testing_int(w, use, name);
}

sim_testing_shape sim_testing_shape_of(const sim_warp *w, const sim_use *use)
{
    sim_testing_shape shape = {.count = 1};
    for (int d = 0; d < TESTING_DIMS; d++) {
        shape.extents[d] = numbered(w, use, "e", d);
        shape.count *= shape.extents[d] > 0 ? shape.extents[d] : 0;
    }
    return shape;
}

// ---- tensors -----------------------------------------------------------------------------------------------------

static int64_t bytes_up_to(dtype t, int64_t elements)
{
    return (elements * dt_bits(t) + 7) / 8;
}

static void not_inside(sim_warp *w, const sim_use *use, const char *name)
{
    sim_find_at(w, sim_first_lane(w->active), use->site, HDS0602, sim_say(w, "a part of tensor '%s'", name),
                use->intrin->name, NULL, "a view must be inside the tensor that it is a view of");
}

bool sim_testing_tensor_of(sim_warp *w, const sim_use *use, const char *name, const char *type, const char *strides,
                           const sim_testing_shape *shape, sim_testing_tensor *out)
{
    *out = (sim_testing_tensor){.address = bits_of(w, use, name), .type = sim_argument_type(use->intrin, type)};
    int64_t below = 1, last = 0, valid = 0;
    for (int d = TESTING_DIMS - 1; d >= 0; d--) {
        out->strides[d] = strides ? numbered(w, use, strides, d) : below;
        below *= shape->extents[d];
        last += (shape->extents[d] - 1) * out->strides[d];
    }
    if (!shape->count)
        return true;
    sim *s = w->block->launch->device;
    int64_t bytes = bytes_up_to(out->type, last + 1), first;
    out->bytes = sim_bytes(s, out->address, &valid);
    if (out->bytes && valid >= bytes) {
        out->is_written = sim_is_initialised(s, out->address, bytes, &first);
        return true;
    }
    not_inside(w, use, name);
    return false;
}

void sim_testing_index(const sim_testing_shape *shape, int64_t i, int64_t index[TESTING_DIMS])
{
    for (int d = TESTING_DIMS - 1; d >= 0; d--) {
        index[d] = i % shape->extents[d];
        i /= shape->extents[d];
    }
}

int64_t sim_testing_offset(const sim_testing_tensor *t, const sim_testing_shape *shape, int64_t i)
{
    int64_t offset = 0;
    for (int d = TESTING_DIMS - 1; d >= 0 && i; d--) {
        offset += i % shape->extents[d] * t->strides[d];
        i /= shape->extents[d];
    }
    return offset;
}

uint64_t sim_testing_get(const sim_testing_tensor *t, int64_t offset)
{
    int bits = dt_bits(t->type);
    uint64_t value = 0;
    if (bits < 8)
        return t->bytes[offset * bits / 8] >> (offset * bits % 8) & ((1u << bits) - 1);
    memcpy(&value, t->bytes + offset * (bits / 8), (size_t)bits / 8);
    return value;
}

static void put(const sim_testing_tensor *t, int64_t offset, uint64_t value)
{
    int bits = dt_bits(t->type);
    if (bits >= 8) {
        memcpy(t->bytes + offset * (bits / 8), &value, (size_t)bits / 8);
        return;
    }
    uint8_t *byte = &t->bytes[offset * bits / 8], mask = (uint8_t)(((1u << bits) - 1) << (offset * bits % 8));
    *byte = (uint8_t)((*byte & ~mask) | ((value << (offset * bits % 8)) & mask));
}

static uint64_t address_of(const sim_testing_tensor *t, int64_t offset)
{
    return t->address + (uint64_t)(offset * dt_bits(t->type) / 8);
}

bool sim_testing_is_written(sim_warp *w, const sim_testing_tensor *t, int64_t offset)
{
    int64_t first, bytes = dt_bits(t->type) < 8 ? 1 : dt_bits(t->type) / 8;
    return t->is_written || sim_is_initialised(w->block->launch->device, address_of(t, offset), bytes, &first);
}

// ---- fills -------------------------------------------------------------------------------------------------------

typedef struct fill {
    sim_warp *w;
    const sim_use *use;
    sim_testing_shape shape;
    sim_testing_tensor x;
} fill;

static bool fill_begin(fill *f, sim_warp *w, const sim_use *use)
{
    *f = (fill){w, use, {{0}, 0}, {0}};
    if (!sim_testing_ready(w, use))
        return false;
    f->shape = sim_testing_shape_of(w, use);
    return sim_testing_tensor_of(w, use, "x", "T", NULL, &f->shape, &f->x);
}

static sim_step fill_end(const fill *f)
{
    if (f->shape.count)
        sim_mark_written(f->w->block->launch->device, f->x.address, bytes_up_to(f->x.type, f->shape.count));
    return SIM_NEXT;
}

static sim_step run_fill(sim_warp *w, const sim_use *use)
{
    fill f;
    if (!fill_begin(&f, w, use))
        return SIM_HALT;
    uint64_t value = bits_of(w, use, "value");
    for (int64_t i = 0; i < f.shape.count; i++)
        put(&f.x, i, value);
    return fill_end(&f);
}

static sim_step run_arange(sim_warp *w, const sim_use *use)
{
    fill f;
    if (!fill_begin(&f, w, use))
        return SIM_HALT;
    double start = sim_testing_double(w, use, "start"), step = sim_testing_double(w, use, "step");
    for (int64_t i = 0; i < f.shape.count; i++)
        put(&f.x, i, dt_from_double(f.x.type, start + (double)i * step));
    return fill_end(&f);
}

static sim_step run_arange_integer(sim_warp *w, const sim_use *use)
{
    fill f;
    if (!fill_begin(&f, w, use))
        return SIM_HALT;
    uint64_t value = bits_of(w, use, "start"), step = bits_of(w, use, "step");
    for (int64_t i = 0; i < f.shape.count; i++, value += step)
        put(&f.x, i, value);
    return fill_end(&f);
}

static sim_step run_normal(sim_warp *w, const sim_use *use)
{
    fill f;
    if (!fill_begin(&f, w, use))
        return SIM_HALT;
    double mean = sim_testing_double(w, use, "mean"), deviation = sim_testing_double(w, use, "std");
    uint64_t seed = bits_of(w, use, "seed");
    for (int64_t i = 0; i < f.shape.count; i++)
        put(&f.x, i, dt_from_double(f.x.type, mean + deviation * sim_random_normal(seed, (uint64_t)i)));
    return fill_end(&f);
}

static sim_step run_uniform(sim_warp *w, const sim_use *use)
{
    fill f;
    if (!fill_begin(&f, w, use))
        return SIM_HALT;
    double low = sim_testing_double(w, use, "low"), high = sim_testing_double(w, use, "high");
    uint64_t seed = bits_of(w, use, "seed");
    for (int64_t i = 0; i < f.shape.count; i++)
        put(&f.x, i, dt_from_double(f.x.type, low + (high - low) * sim_random_uniform(seed, (uint64_t)i)));
    return fill_end(&f);
}

static uint64_t of_integer(dtype t, int64_t value)
{
    return dt_is_float(t) ? dt_from_double(t, (double)value) : t == DT_BOOL ? value != 0 : (uint64_t)value;
}

static sim_step run_integer(sim_warp *w, const sim_use *use)
{
    fill f;
    if (!fill_begin(&f, w, use))
        return SIM_HALT;
    int64_t low = sim_testing_int(w, use, "low"), high = sim_testing_int(w, use, "high");
    uint64_t seed = bits_of(w, use, "seed");
    for (int64_t i = 0; i < f.shape.count; i++)
        put(&f.x, i, of_integer(f.x.type, sim_random_integer(seed, (uint64_t)i, low, high)));
    return fill_end(&f);
}

// ---- copies ------------------------------------------------------------------------------------------------------

static int64_t integer_of(dtype t, uint64_t bits)
{
    if (t == DT_BOOL)
        return bits & 1;
    return dt_is_signed(t) ? dt_wrap_int(t, (int64_t)bits) : (int64_t)bits;
}

// T(x), as the language converts.
static uint64_t converted(dtype to, dtype from, uint64_t bits)
{
    if (to == from)
        return bits;
    if (!dt_is_float(from) && !dt_is_float(to))
        return to == DT_BOOL ? bits != 0 : (uint64_t)integer_of(from, bits);
    if (from == DT_U64 && bits > INT64_MAX)
        return dt_from_double(to, (double)bits);
    double value = dt_is_float(from) ? dt_to_double(from, bits) : (double)integer_of(from, bits);
    return to == DT_BOOL ? value != 0 : dt_from_double(to, value);
}

static sim_step run_copy(sim_warp *w, const sim_use *use)
{
    if (!sim_testing_ready(w, use))
        return SIM_HALT;
    sim_testing_shape shape = sim_testing_shape_of(w, use);
    sim_testing_tensor to, from;
    if (!sim_testing_tensor_of(w, use, "to", "T", NULL, &shape, &to) ||
        !sim_testing_tensor_of(w, use, "x", "S", "s", &shape, &from))
        return SIM_HALT;
    int64_t written = 0; // elements up to here are, since [run]
    int64_t run = 0;
    for (int64_t i = 0; i < shape.count; i++) {
        int64_t offset = sim_testing_offset(&from, &shape, i);
        if (sim_testing_is_written(w, &from, offset)) {
            put(&to, i, converted(to.type, from.type, sim_testing_get(&from, offset)));
            written = i + 1;
            continue;
        }
        if (written > run)
            sim_mark_written(w->block->launch->device, address_of(&to, run), bytes_up_to(to.type, written - run));
        run = written = i + 1;
    }
    if (written > run)
        sim_mark_written(w->block->launch->device, address_of(&to, run), bytes_up_to(to.type, written - run));
    return SIM_NEXT;
}

// ---- the table ---------------------------------------------------------------------------------------------------

// Complex numbers are not among the types that these functions know.
static bool bind(sim_use *use)
{
    static const char *const names[] = {"T", "S", "A", "B"};
    for (int i = 0; i < 4; i++) {
        const char *text = sim_argument(use->intrin, names[i]);
        dtype t = sim_argument_type(use->intrin, names[i]);
        if (text && !dt_is_float(t) && !dt_is_int(t) && t != DT_BOOL)
            return false;
    }
    return true;
}

const sim_model sim_models_testing[] = {
    {"testing_fill", run_fill, bind, false},
    {"testing_arange", run_arange, bind, false},
    {"testing_arange_integer", run_arange_integer, bind, false},
    {"testing_fill_normal", run_normal, bind, false},
    {"testing_fill_uniform", run_uniform, bind, false},
    {"testing_fill_integer", run_integer, bind, false},
    {"testing_copy", run_copy, bind, false},
    {"testing_compare", sim_testing_compare, bind, false},
    {"testing_max_error", sim_testing_max_error, bind, false},
    {0},
};
