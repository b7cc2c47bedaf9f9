#include <math.h>
#include <string.h>

#include "sim/random.h"
#include "tensor/spec.h"

// ---- numbers ----------------------------------------------------------------------------------------------------

// Digits without the '_' between them; NULL where one stands at an end or beside another.
static const char *without_separators(arena *a, const char *text)
{
    char *out = arena_strdup(a, text), *to = out;
    for (const char *at = text; *at; at++) {
        if (*at != '_')
            *to++ = *at;
        else if (at == text || at[-1] == '_' || !at[1])
            return NULL;
    }
    *to = 0;
    return out;
}

// Decimal, 0x…, 0b…, 0o…; false if it is no integer or has more than 64 bits.
static bool read_integer(const char *text, bool *negative, uint64_t *magnitude)
{
    *negative = *text == '-';
    text += *text == '-' || *text == '+';
    unsigned base = 10;
    if (text[0] == '0' && text[1] && strchr("xXbBoO", text[1])) {
        base = strchr("xX", text[1]) ? 16 : strchr("bB", text[1]) ? 2 : 8;
        text += 2;
    }
    *magnitude = 0;
    for (const char *at = text; *at; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                       : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a' + 10)
                       : *at >= 'A' && *at <= 'F' ? (unsigned)(*at - 'A' + 10)
                                                  : 99;
        if (digit >= base || __builtin_mul_overflow(*magnitude, base, magnitude) ||
            __builtin_add_overflow(*magnitude, digit, magnitude))
            return false;
    }
    return *text != 0;
}

// [sign] digits [. digits] [e [sign] digits], or inf, nan.
static bool read_float(const char *text, double *out)
{
    const char *at = text + (*text == '-' || *text == '+');
    double sign = *text == '-' ? -1 : 1;
    if (!strcmp(at, "inf") || !strcmp(at, "nan")) {
        *out = sign * (*at == 'i' ? INFINITY : NAN);
        return true;
    }
    size_t whole = strspn(at, "0123456789"), part = 0;
    const char *rest = at + whole;
    if (*rest == '.') {
        part = strspn(rest + 1, "0123456789");
        rest += 1 + part;
    }
    if (!whole && !part)
        return false;
    if (*rest == 'e' || *rest == 'E') {
        rest += 1 + (rest[1] == '-' || rest[1] == '+');
        size_t digits = strspn(rest, "0123456789");
        if (!digits)
            return false;
        rest += digits;
    }
    *out = sign * str_to_double(at);
    return !*rest;
}

// Whether a number is beyond the largest of the type, which the conversion has made infinite or cut.
static bool is_too_large(const char *text, dtype type, uint64_t bits, double value)
{
    double stored = fabs(dt_to_double(type, bits));
    if (isinf(value))
        return !strstr(text, "inf");
    return isinf(stored) || (stored >= 1 && fabs(value) > 1.25 * stored);
}

static bool read_bool(const char *text, uint64_t *out)
{
    *out = !strcmp(text, "true") || !strcmp(text, "True") || !strcmp(text, "1");
    return *out || !strcmp(text, "false") || !strcmp(text, "False") || !strcmp(text, "0");
}

static const char *parse_integer(arena *a, const char *text, dtype type, uint64_t *bits)
{
    bool negative;
    uint64_t magnitude;
    if (!read_integer(text, &negative, &magnitude))
        return arena_printf(a, "'%s' is not an integer of at most 64 bits", text);
    uint64_t most = !negative ? dt_max_bits(type) : dt_is_signed(type) ? dt_max_bits(type) + 1 : 0;
    if (magnitude > most)
        return arena_printf(a, "%s does not fit into %s", text, dt_name(type));
    *bits = negative ? 0 - magnitude : magnitude;
    return NULL;
}

const char *ten_number_parse(arena *a, const char *text, dtype type, uint64_t *bits)
{
    const char *digits = without_separators(a, text);
    double value;
    uint64_t integer;
    bool negative;
    if (!digits)
        return arena_printf(a, "'%s' is not a number", text);
    if (dt_kind_of(type) == DT_KIND_BOOL)
        return read_bool(digits, bits) ? NULL : arena_printf(a, "'%s' is neither true nor false", text);
    if (dt_is_int(type))
        return parse_integer(a, digits, type, bits);
    if (!read_float(digits, &value)) {
        if (!read_integer(digits, &negative, &integer))
            return arena_printf(a, "'%s' is not a number", text);
        value = negative ? -(double)integer : (double)integer;
    }
    dtype part = type == DT_C64 ? DT_F32 : type;
    *bits = dt_from_double(part, value);
    return is_too_large(text, part, *bits, value) ? arena_printf(a, "%s does not fit into %s", text, dt_name(type)) : NULL;
}

// ---- tensors ----------------------------------------------------------------------------------------------------

static double argument(arena *a, const ten_spec *s, int index, double otherwise, const char **error)
{
    uint64_t bits;
    if (index >= s->arg_count)
        return otherwise;
    const char *why = ten_number_parse(a, s->args[index], DT_F64, &bits);
    if (why)
        *error = why;
    return why ? 0 : dt_to_double(DT_F64, bits);
}

static int64_t limit(arena *a, const ten_spec *s, int index, const char **error)
{
    uint64_t bits = 0;
    const char *why = ten_number_parse(a, s->args[index], DT_I64, &bits);
    if (why)
        *error = why;
    return (int64_t)bits;
}

static const char *fill_constant(arena *a, const char *text, ten_tensor *t)
{
    uint64_t bits = 0;
    const char *why = ten_number_parse(a, text, t->type, &bits);
    for (int64_t i = 0; !why && i < t->count; i++)
        ten_set_bits(t, i, bits);
    return why;
}

// Complex numbers get two draws an element: real part, imaginary part.
static void set_pair(ten_tensor *t, int64_t i, double real, double imaginary)
{
    ten_set_bits(t, i, dt_from_double(DT_F32, real) | dt_from_double(DT_F32, imaginary) << 32);
}

static const char *fill_random(arena *a, const ten_spec *s, uint64_t seed, ten_tensor *t)
{
    const char *error = NULL;
    bool is_normal = s->source == TEN_RANDN;
    double (*draw)(uint64_t, uint64_t) = is_normal ? sim_random_normal : sim_random_uniform;
    double first = argument(a, s, 0, 0, &error), second = argument(a, s, 1, 1, &error);
    double scale = is_normal ? second : second - first;
    if (!dt_is_float(t->type) && t->type != DT_C64)
        return arena_printf(a, "%s generates floats, not %s; randint(0, 100) generates integers",
                            is_normal ? "randn" : "uniform", dt_name(t->type));
    if (!error && scale < 0)
        return is_normal ? arena_printf(a, "the deviation of randn(%s, %s) is negative", s->args[0], s->args[1])
                         : arena_printf(a, "the second limit of uniform(%g, %g) is below the first", first, second);
    for (int64_t i = 0; !error && i < t->count; i++) {
        uint64_t n = (uint64_t)i;
        if (t->type == DT_C64)
            set_pair(t, i, first + scale * draw(seed, 2 * n), first + scale * draw(seed, 2 * n + 1));
        else
            ten_set_number(t, i, first + scale * draw(seed, n));
    }
    return error;
}

static const char *fill_integers(arena *a, const ten_spec *s, uint64_t seed, ten_tensor *t)
{
    const char *error = NULL;
    int64_t low = limit(a, s, 0, &error), high = limit(a, s, 1, &error);
    if (error)
        return error;
    if (high <= low)
        return arena_printf(a, "randint(%s, %s) has no number to choose: the second limit is not one of them", s->args[0],
                            s->args[1]);
    if (dt_is_int(t->type) && (!dt_holds_int(t->type, low) || !dt_holds_int(t->type, high - 1)))
        return arena_printf(a, "the limits of randint(%s, %s) do not fit into %s", s->args[0], s->args[1], dt_name(t->type));
    for (int64_t i = 0; i < t->count; i++) {
        int64_t value = sim_random_integer(seed, (uint64_t)i, low, high);
        if (dt_is_int(t->type))
            ten_set_bits(t, i, (uint64_t)value);
        else
            ten_set_number(t, i, (double)value);
    }
    return NULL;
}

static const char *fill_counted(arena *a, const ten_spec *s, ten_tensor *t)
{
    const char *error = NULL;
    double start = argument(a, s, 0, 0, &error), step = argument(a, s, 1, 1, &error);
    for (int64_t i = 0; !error && i < t->count; i++)
        ten_set_number(t, i, start + (double)i * step);
    return error;
}

const char *ten_fill(arena *a, const ten_spec *spec, uint64_t seed, ten_tensor *t)
{
    switch (spec->source) {
    case TEN_RANDN:
    case TEN_UNIFORM:
        return fill_random(a, spec, seed, t);
    case TEN_RANDINT:
        return fill_integers(a, spec, seed, t);
    case TEN_ZEROS:
        return fill_constant(a, "0", t);
    case TEN_ONES:
        return fill_constant(a, "1", t);
    case TEN_FULL:
        return fill_constant(a, spec->args[0], t);
    case TEN_ARANGE:
        return fill_counted(a, spec, t);
    case TEN_FILE:
    case TEN_NUMBER:
    case TEN_EMPTY:
    case TEN_SOURCE__COUNT:
        break;
    }
    return NULL;
}

// ---- weights of models --------------------------------------------------------------------------------------------------------

// Of the name alone, so that a tensor has the same numbers wherever it stands in the model.
static uint64_t seed_of(const char *name, uint64_t seed)
{
    uint64_t hash = 14695981039346656037u ^ seed; // FNV-1a
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return hash;
}

// Matrices and filters keep the size of what they are applied to: deviation 1 / sqrt(fan-in), where the first axis is the outputs'.
// Scales, offsets and variances are near 1: a variance below 0 has no root.
const char *ten_weight_contents(arena *a, const ten_tensor *t)
{
    double fan_in = 1;
    for (int d = 1; d < t->rank; d++)
        fan_in *= (double)t->shape[d];
    if (t->type == DT_BOOL)
        return "randint(0, 2)";
    if (!dt_is_float(t->type))
        return dt_is_signed(t->type) ? "randint(-8, 8)" : "randint(0, 8)";
    return t->rank < 2 ? "uniform(0.5, 1.5)" : arena_printf(a, "randn(0, %.9g)", 1 / sqrt(fan_in));
}

const char *ten_fill_weight(arena *a, const char *name, uint64_t seed, ten_tensor *t)
{
    ten_spec spec;
    const char *why = ten_spec_parse(a, ten_weight_contents(a, t), &spec);
    return why ? why : ten_fill(a, &spec, seed_of(name, seed), t);
}
