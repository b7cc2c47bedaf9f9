// Input values: floats as kernels typically see them, so that branches and maxima behave realistically.

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prove/prove_priv.h"
#include "sim/random.h"

// ---- texts ---------------------------------------------------------------------------------------------------------

typedef struct range {
    double low, high;
    bool is_single;
} range;

static bool read_number(const char *text, size_t len, double *out)
{
    char copy[64];
    if (len == 0 || len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    bool is_word = strcmp(copy, "inf") == 0 || strcmp(copy, "-inf") == 0;
    if (!is_word && strspn(copy, "0123456789+-.eExXabcdefABCDEFpP") != len)
        return false;
    if (!is_word && !isdigit((unsigned char)copy[strcspn(copy, "0123456789")]))
        return false;
    *out = is_word ? (*copy == '-' ? -INFINITY : INFINITY) : str_to_double(copy);
    return true;
}

// "2", "-1..1"; True and False.
static bool read_range(const char *text, range *out)
{
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
        out->low = out->high = *text == 'T';
        out->is_single = true;
        return true;
    }
    const char *dots = strstr(text, "..");
    size_t len = dots ? (size_t)(dots - text) : strlen(text);
    out->is_single = !dots;
    if (!read_number(text, len, &out->low))
        return false;
    out->high = out->low;
    return !dots || (read_number(dots + 2, strlen(dots + 2), &out->high) && out->low <= out->high);
}

bool prove_check_value(const char *text, dtype type, bool is_tensor, const char **why)
{
    range r;
    bool ok = read_range(text, &r);
    if (!ok)
        *why = "expected a number, or a range as in -1..1";
    else if (!r.is_single && !is_tensor)
        ok = false, *why = "a scalar takes one number";
    else if (!dt_is_float(type) && (r.low != rint(r.low) || r.high != rint(r.high) || fabs(r.low) > 0x1p53))
        ok = false, *why = "it is an integer";
    return ok;
}

bool prove_size_of(const char *text, int64_t *out)
{
    range r;
    if (!read_range(text, &r) || !r.is_single || r.low != rint(r.low) || r.low < 1 || r.low > INT32_MAX)
        return false;
    *out = (int64_t)r.low;
    return true;
}

// ---- numbers -------------------------------------------------------------------------------------------------------

static uint64_t bits_of(dtype type, double x)
{
    if (dt_is_float(type))
        return dt_from_double(type, x);
    return (uint64_t)dt_wrap_int(type, (int64_t)x);
}

// Integers are often indices: any extent can take them.
static int64_t smallest_extent(const prove *p)
{
    int64_t least = INT32_MAX;
    for (size_t i = 0; i < p->tensors.len; i++) {
        for (int k = 0; k < p->tensors.at[i].rank; k++)
            least = p->tensors.at[i].shape[k] < least ? p->tensors.at[i].shape[k] : least;
    }
    return least;
}

static uint64_t stream(const prove *p, uint64_t seed, int number)
{
    return (p->options->seed + seed) * 1000003u + (uint64_t)number;
}

uint64_t prove_scalar_bits(const prove *p, int number, uint64_t seed)
{
    const prove_scalar *s = &p->scalars.at[number];
    range r;
    if (s->is_size)
        return bits_of(s->type, (double)s->size);
    if (s->given && read_range(s->given, &r))
        return bits_of(s->type, r.low);
    uint64_t own = stream(p, seed, 500000 + number);
    if (s->type == DT_BOOL)
        return (uint64_t)sim_random_integer(own, 0, 0, 2);
    if (!dt_is_float(s->type))
        return (uint64_t)sim_random_integer(own, 0, 1, smallest_extent(p) + 1);
    // Multiples of 1/64 are exact in every type and coincide with no mathematical constant.
    return bits_of(s->type, (double)sim_random_integer(own, 0, 33, 128) / 64);
}

static double float_in(const range *r, uint64_t seed, uint64_t i)
{
    return r->is_single ? r->low : r->low + (r->high - r->low) * sim_random_uniform(seed, i);
}

static double integer_in(const prove *p, const prove_tensor *t, const range *r, uint64_t seed, uint64_t i)
{
    int64_t low = r ? (int64_t)r->low : 0, high = r ? (int64_t)r->high : t->type == DT_BOOL ? 1 : smallest_extent(p) - 1;
    return (double)sim_random_integer(seed, i, low, high + 1);
}

uint64_t prove_element_bits(const prove *p, int number, int64_t i, uint64_t seed)
{
    const prove_tensor *t = &p->tensors.at[number];
    uint64_t own = stream(p, seed, number), at = (uint64_t)i;
    range r, *given = t->range && read_range(t->range, &r) ? &r : NULL;
    if (!dt_is_float(t->type))
        return bits_of(t->type, integer_in(p, t, given, own, at));
    return bits_of(t->type, given ? float_in(given, own, at) : sim_random_normal(own, at));
}

bool prove_is_constant(const prove *p, int number)
{
    const prove_tensor *t = &p->tensors.at[number];
    range r;
    return !dt_is_float(t->type) || (t->range && read_range(t->range, &r) && r.is_single);
}
