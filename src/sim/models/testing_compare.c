// Models of hidet.lang.testing: comparisons of tensors, in f64, and the report of what differs.
#include <stdlib.h>

#include "sim/models/testing_priv.h"

enum { SHOWN = 3 };

typedef struct comparison {
    sim_warp *w;
    const sim_use *use;
    sim_testing_shape shape;
    sim_testing_tensor x, y;
    int rank;
    bool by_bits;
    double rtol, atol, ulps; // ulps < 0: not asked for
} comparison;

static bool begin(comparison *c, sim_warp *w, const sim_use *use)
{
    *c = (comparison){.w = w, .use = use};
    if (!sim_testing_ready(w, use))
        return false;
    c->shape = sim_testing_shape_of(w, use);
    return sim_testing_tensor_of(w, use, "x", "A", "x", &c->shape, &c->x) &&
           sim_testing_tensor_of(w, use, "y", "B", "y", &c->shape, &c->y);
}

// ---- one element -------------------------------------------------------------------------------------------------

static double value_of(dtype t, uint64_t bits)
{
    if (t == DT_BOOL)
        return (double)(bits & 1);
    if (t == DT_U64)
        return (double)bits;
    return dt_is_int(t) ? (double)(dt_is_signed(t) ? dt_wrap_int(t, (int64_t)bits) : (int64_t)bits)
                        : dt_to_double(t, bits);
}

static __int128 integer_of(dtype t, uint64_t bits)
{
    return t == DT_BOOL ? bits & 1 : dt_is_signed(t) ? (__int128)dt_wrap_int(t, (int64_t)bits) : (__int128)bits;
}

// |a - b|; infinity where a NaN or an infinity faces something else.
static double distance(const comparison *c, uint64_t a, uint64_t b)
{
    if (!dt_is_float(c->x.type) && !dt_is_float(c->y.type)) {
        __int128 d = integer_of(c->x.type, a) - integer_of(c->y.type, b);
        return (double)(d < 0 ? -d : d);
    }
    double x = value_of(c->x.type, a), y = value_of(c->y.type, b);
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    double d = fabs(x - y);
    return isnan(d) ? INFINITY : d;
}

// The distance of neighbouring numbers of [t] around [value].
static double unit(dtype t, double value)
{
    if (!dt_is_float(t))
        return 1;
    int least = 2 - (1 << (dt_exponent_bits(t) - 1)), exponent = least; // of the smallest normal number
    if (value != 0 && isfinite(value))
        exponent = ilogb(value) > least ? ilogb(value) : least;
    return ldexp(1, exponent - dt_mantissa_bits(t));
}

static bool is_same(const comparison *c, uint64_t a, uint64_t b, double error)
{
    if (c->by_bits)
        return a == b;
    if (error == 0)
        return true;
    double expected = value_of(c->y.type, b);
    if (isinf(error) || !isfinite(expected))
        return false;
    return error <= c->atol + c->rtol * fabs(expected) ||
           (c->ulps >= 0 && error <= c->ulps * unit(c->x.type, expected));
}

// ---- the report --------------------------------------------------------------------------------------------------

typedef struct difference {
    int64_t at;
    uint64_t a, b;
    double error;
} difference;

static void print_index(const comparison *c, int64_t i, str_buf *out)
{
    int64_t index[TESTING_DIMS];
    sim_testing_index(&c->shape, i, index);
    str_addc(out, '[');
    for (int d = 0; d < c->rank; d++)
        str_addf(out, d ? ", %lld" : "%lld", (long long)index[d]);
    str_addc(out, ']');
}

static void print_pair(const comparison *c, const difference *d, str_buf *out)
{
    print_index(c, d->at, out);
    str_adds(out, ": ");
    sim_value_print(c->x.type, d->a, out);
    str_adds(out, " instead of ");
    sim_value_print(c->y.type, d->b, out);
    if (c->by_bits)
        str_addf(out, " (bits 0x%llx and 0x%llx)", (unsigned long long)d->a, (unsigned long long)d->b);
}

static const char *compared(const comparison *c)
{
    str_buf out;
    str_buf_init(&out, c->w->block->arena);
    str_addf(&out, "compared: %s[", dt_name(c->x.type));
    for (int d = 0; d < c->rank; d++)
        str_addf(&out, d ? ", %lld" : "%lld", (long long)c->shape.extents[d]);
    str_addf(&out, "] with %s, ", dt_name(c->y.type));
    if (c->by_bits)
        str_adds(&out, "bit by bit");
    else if (c->ulps >= 0)
        str_addf(&out, "ulps=%g", c->ulps);
    else
        str_addf(&out, "rtol=%g, atol=%g", c->rtol, c->atol);
    return str_text(&out);
}

static const char *worst_text(const comparison *c, const difference *d)
{
    str_buf out;
    str_buf_init(&out, c->w->block->arena);
    double expected = value_of(c->y.type, d->b);
    str_adds(&out, "worst at ");
    print_pair(c, d, &out);
    if (isfinite(d->error)) {
        str_addf(&out, ", off by %.3g", d->error);
        if (expected != 0)
            str_addf(&out, ", a part of %.3g", d->error / fabs(expected));
        if (dt_is_float(c->x.type))
            str_addf(&out, ", %.3g ulp", d->error / unit(c->x.type, expected));
    }
    return str_text(&out);
}

static const char *first_text(const comparison *c, const difference *first, int count)
{
    str_buf out;
    str_buf_init(&out, c->w->block->arena);
    for (int i = 0; i < count; i++) {
        str_adds(&out, i ? "; " : "first at ");
        print_pair(c, &first[i], &out);
    }
    return str_text(&out);
}

static void report(const comparison *c, int64_t differing, const difference *worst, const difference *first)
{
    sim_warp *w = c->w;
    sim_finding f = {.code = HDS0650, .actor = {c->use->site, -1, -1, -1}};
    f.args[0] = sim_say(w, "%lld", (long long)differing);
    f.args[1] = sim_say(w, "%lld", (long long)c->shape.count);
    f.notes[0] = compared(c);
    f.notes[1] = worst_text(c, worst);
    f.notes[2] = first_text(c, first, differing < SHOWN ? (int)differing : SHOWN);
    sim_find(w->block->launch->device, w->block->launch, &f);
}

static void find_unwritten(const comparison *c, const char *what, int64_t i)
{
    str_buf out;
    str_buf_init(&out, c->w->block->arena);
    str_addf(&out, "the %s value at ", what);
    print_index(c, i, &out);
    sim_find_at(c->w, sim_first_lane(c->w->active), c->use->site, HDS0604, str_text(&out), NULL, NULL,
                "this element is uninitialised");
}

static bool is_written(const comparison *c, int64_t i, int64_t x, int64_t y)
{
    if (!sim_testing_is_written(c->w, &c->x, x)) {
        find_unwritten(c, "actual", i);
        return false;
    }
    if (!sim_testing_is_written(c->w, &c->y, y)) {
        find_unwritten(c, "expected", i);
        return false;
    }
    return true;
}

// ---- the models --------------------------------------------------------------------------------------------------

static int number_of(const sim_use *use, const char *name)
{
    const char *text = sim_argument(use->intrin, name);
    return text ? atoi(text) : 0;
}

sim_step sim_testing_compare(sim_warp *w, const sim_use *use)
{
    comparison c;
    if (!begin(&c, w, use))
        return SIM_HALT;
    c.rank = number_of(use, "RANK");
    c.by_bits = number_of(use, "MODE") == 1;
    c.rtol = sim_testing_double(w, use, "rtol");
    c.atol = sim_testing_double(w, use, "atol");
    c.ulps = sim_testing_double(w, use, "ulps");
    int64_t differing = 0;
    difference worst = {.error = -1}, first[SHOWN];
    for (int64_t i = 0; i < c.shape.count; i++) {
        int64_t x = sim_testing_offset(&c.x, &c.shape, i), y = sim_testing_offset(&c.y, &c.shape, i);
        if (!is_written(&c, i, x, y))
            return SIM_HALT;
        difference d = {i, sim_testing_get(&c.x, x), sim_testing_get(&c.y, y), 0};
        d.error = distance(&c, d.a, d.b);
        if (is_same(&c, d.a, d.b, d.error))
            continue;
        if (differing < SHOWN)
            first[differing] = d;
        worst = d.error > worst.error ? d : worst;
        differing++;
    }
    if (!differing)
        return SIM_NEXT;
    report(&c, differing, &worst, first);
    return SIM_HALT;
}

sim_step sim_testing_max_error(sim_warp *w, const sim_use *use)
{
    comparison c;
    if (!begin(&c, w, use))
        return SIM_HALT;
    c.rank = 1;
    while (c.rank < TESTING_DIMS && c.shape.extents[c.rank] > 1)
        c.rank++;
    bool is_relative = number_of(use, "MODE") == 1;
    double worst = 0;
    for (int64_t i = 0; i < c.shape.count && !isnan(worst); i++) {
        int64_t x = sim_testing_offset(&c.x, &c.shape, i), y = sim_testing_offset(&c.y, &c.shape, i);
        if (!is_written(&c, i, x, y))
            return SIM_HALT;
        uint64_t a = sim_testing_get(&c.x, x), b = sim_testing_get(&c.y, y);
        double expected = value_of(c.y.type, b), error = distance(&c, a, b);
        if (isnan(expected) != isnan(value_of(c.x.type, a)))
            error = NAN;
        if (is_relative && expected == 0)
            continue;
        error = is_relative && error != 0 ? error / fabs(expected) : error;
        worst = isnan(error) || error > worst ? error : worst;
    }
    uint32_t lane = sim_first_lane(w->active);
    sim_element_set(w, &use->result, 0, lane, sim_bits_of_double64(worst));
    sim_result_defined(w, use, w->active);
    return SIM_NEXT;
}
