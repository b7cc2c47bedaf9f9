// From sizes to the arguments of a candidate's kernel, which are found by their names.
#include <math.h>
#include <string.h>

#include "tensor/compare.h"
#include "tensor/spec.h"
#include "tune/tune_priv.h"

// Random numbers of large tensors repeat after so many. The number is prime, so that no two tiles of a matrix are alike.
enum { TILE_ELEMENTS = 4194301, MOST_RANK = 16 };

static const char *value_of(const tune_words *words, const char *name)
{
    const char *found = NULL;
    for (size_t i = 0; i < words->len; i++) {
        if (strcmp(words->at[i].name, name) == 0)
            found = words->at[i].value;
    }
    return found;
}

// What the command line says, else the space's values, else its sizes.
static const char *text_of(arena *a, const tune_space *space, const tune_key *key, int candidate, const char *name)
{
    const char *text = value_of(key->words, name);
    if (!text)
        text = value_of(&key->estimates[candidate].values, name);
    for (int i = 0; !text && i < space->size_count; i++) {
        if (strcmp(space->sizes[i], name) == 0)
            text = arena_printf(a, "%lld", (long long)key->sizes[i]);
    }
    // Constants of the language, as it prints them.
    return text && strcmp(text, "True") == 0 ? "true" : text && strcmp(text, "False") == 0 ? "false" : text;
}

static const char *take_scalar(arena *a, const char *text, ms_argument *out)
{
    if (!text)
        return arena_printf(a, "'%s' has no value: give it, or let 'values' of the space return it", out->name);
    const char *why = ten_number_parse(a, text, out->type, &out->value);
    return why ? arena_printf(a, "'%s' cannot be %s: %s", out->name, text, why) : NULL;
}

// ---- tensors ----------------------------------------------------------------------------------------------------

// Elements from the first to the last: all of them, or more where the strides leave gaps.
static const char *count_elements(arena *a, const ms_rival *r, size_t index, const hds_parameter *p, const hds_argument *values,
                                  int64_t *out)
{
    int64_t shape[MOST_RANK];
    if (hds_kernel_shape(r->kernel, values, (size_t)r->count, index, shape))
        return arena_strdup(a, hds_last_error());
    int64_t count = 1, last = 0;
    for (int d = 0; d < p->ndim; d++) {
        int64_t stride = 0;
        const char *why = p->strides && shape[d] > 1 ? ms_evaluate(a, p->strides[d], r->arguments, r->count, &stride) : NULL;
        if (why)
            return arena_printf(a, "the stride %s of '%s' has no value: %s", p->strides[d], p->name, why);
        bool is_large = __builtin_mul_overflow(count, shape[d], &count) || count > INT64_C(1) << 56;
        if (!is_large && p->strides && shape[d] > 1)
            is_large = __builtin_mul_overflow(shape[d] - 1, stride, &stride) || __builtin_add_overflow(last, stride, &last);
        if (is_large || last > INT64_C(1) << 56)
            return arena_printf(a, "'%s' has more than 2^56 elements", p->name);
    }
    *out = p->strides && count ? last + 1 : count;
    return NULL;
}

static const char *fill(arena *a, uint64_t seed, int64_t elements, ms_argument *out)
{
    ten_spec spec;
    ten_tensor tile = {.type = out->type, .rank = 1};
    tile.shape[0] = elements < TILE_ELEMENTS ? elements : dt_bits(out->type) < 8 ? TILE_ELEMENTS + 3 : TILE_ELEMENTS;
    const char *why = ten_spec_parse(a, ten_usual_contents(out->type), &spec);
    if (!why && !ten_allocate(a, &tile, 0))
        why = "there is not enough memory for it";
    why = why ? why : ten_fill(a, &spec, seed, &tile);
    out->data = tile.data;
    out->data_bytes = tile.bytes;
    return why;
}

// The same tensor of a rival before has the same contents.
static bool copy_contents(const ms_rival *rivals, int count, ms_argument *out)
{
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < rivals[k].count; i++) {
            const ms_argument *a = &rivals[k].arguments[i];
            if (a->is_tensor && a->bytes == out->bytes && a->type == out->type && a->data && strcmp(a->name, out->name) == 0) {
                out->data = a->data;
                out->data_bytes = a->data_bytes;
                return true;
            }
        }
    }
    return false;
}

static const char *take_tensor(uint64_t seed, arena *a, const ms_rival *rivals, int rival, size_t index, const hds_parameter *p,
                               const hds_argument *values, ms_argument *out)
{
    int64_t elements = 0;
    if (p->kind == HDS_POINTER)
        return arena_printf(a, "its parameter '%s' is a pointer of unknown extent", p->name);
    const char *why = count_elements(a, &rivals[rival], index, p, values, &elements);
    if (why)
        return why;
    out->is_tensor = out->is_read = true;
    out->is_written = p->is_written;
    out->bytes = (elements * dt_bits(out->type) + 7) / 8;
    if (!out->bytes || copy_contents(rivals, rival, out))
        return NULL;
    return fill(a, seed + index, elements, out);
}

// ---- all of them ------------------------------------------------------------------------------------------------

static bool is_scalar(const hds_parameter *p)
{
    return p->kind == HDS_SCALAR || p->kind == HDS_SIZE;
}

static hds_argument argument_of(const ms_argument *m)
{
    if (dt_is_float(m->type))
        return hds_float(dt_to_double(m->type, m->value));
    return hds_int(dt_is_int(m->type) ? dt_wrap_int(m->type, (int64_t)m->value) : (int64_t)m->value);
}

// NULL, or why it cannot be launched. Scalars first: extents are made of them.
static const char *bind(uint64_t seed, arena *a, const tune_space *space, const tune_key *key, ms_rival *rivals, int rival)
{
    ms_rival *r = &rivals[rival];
    const char *why = NULL;
    size_t count = hds_kernel_parameter_count(r->kernel);
    ms_argument *arguments = ARENA_ARRAY(a, ms_argument, count + 1);
    hds_argument *values = ARENA_ARRAY(a, hds_argument, count + 1);
    r->arguments = arguments;
    r->count = (int)count;
    for (size_t i = 0; !why && i < count; i++) {
        const hds_parameter *p = hds_kernel_parameter(r->kernel, i);
        arguments[i] = (ms_argument){.name = p->name, .is_size = p->kind == HDS_SIZE};
        values[i] = hds_pointer(NULL);
        if (!dt_find(str_of(p->dtype), &arguments[i].type))
            return arena_printf(a, "its parameter '%s' is a %s, which cannot be given", p->name, p->dtype);
        if (!is_scalar(p))
            continue;
        why = take_scalar(a, text_of(a, space, key, key->chosen[rival], p->name), &arguments[i]);
        values[i] = argument_of(&arguments[i]);
    }
    for (size_t i = 0; !why && i < count; i++) {
        const hds_parameter *p = hds_kernel_parameter(r->kernel, i);
        if (!is_scalar(p))
            why = take_tensor(seed, a, rivals, rival, i, p, values, &arguments[i]);
    }
    return why;
}

void tune_bind(arena *a, uint64_t seed, const tune_space *space, const tune_key *key, ms_rival *rivals)
{
    for (int i = 0; i < key->chosen_count; i++) {
        rivals[i].arguments = NULL;
        rivals[i].count = 0;
        if (rivals[i].kernel && !rivals[i].failure)
            rivals[i].failure = bind(seed, a, space, key, rivals, i);
        if (rivals[i].failure)
            rivals[i].count = 0;
    }
}

static bool has_parameter(const ms_rival *r, const char *name)
{
    for (size_t i = 0; r->kernel && i < hds_kernel_parameter_count(r->kernel); i++) {
        const hds_parameter *p = hds_kernel_parameter(r->kernel, i);
        if (is_scalar(p) && strcmp(p->name, name) == 0)
            return true;
    }
    return false;
}

bool tune_check_words(tune *t, const tune_space *space, const tune_key *key, const ms_rival *rivals)
{
    bool is_known = false;
    for (int k = 0; k < key->chosen_count; k++)
        is_known = is_known || rivals[k].kernel;
    for (size_t i = 0; is_known && i < key->words->len; i++) {
        bool is_taken = false;
        const tune_word *w = &key->words->at[i];
        for (int k = 0; k < key->chosen_count; k++)
            is_taken = is_taken || has_parameter(&rivals[k], w->name);
        if (is_taken)
            continue;
        diag *d = diag_report(t->diags, HDS0826, (src_span){0, 0}, w->text, "is neither a size nor a scalar of the kernels");
        const char *hint = diag_suggest(t->arena, w->name, space->sizes, (size_t)space->size_count);
        if (hint)
            diag_help(d, "%s", hint);
        return false;
    }
    return true;
}

// ---- comparing --------------------------------------------------------------------------------------------------

// Terms of a sum that cancel leave the rounding of the terms, which are as large as elements usually are.
static double typical(const ten_tensor *t)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < t->count; i += 1 + t->count / 65536) {
        double value = ten_number(t, i);
        if (isfinite(value)) {
            sum += value * value;
            count++;
        }
    }
    return count ? sqrt(sum / (double)count) : 0;
}

const char *tune_differs(void *user, const char *name, dtype type, const void *first, const void *now, int64_t bytes)
{
    arena *a = user;
    double rtol, atol;
    ten_comparison c;
    if (memcmp(first, now, (size_t)bytes) == 0)
        return NULL;
    ten_tensor expected = {.type = type, .rank = 1, .shape = {bytes * 8 / dt_bits(type)}, .data = (uint8_t *)first};
    ten_measure(&expected);
    ten_tensor actual = expected;
    actual.data = (uint8_t *)now;
    ten_usual_tolerance(type, &rtol, &atol);
    if (dt_is_float(type))
        atol += 4 * rtol * typical(&expected);
    ten_compare(&actual, NULL, &expected, rtol, atol, &c);
    if (!c.different)
        return NULL;
    const char *hint = isnan(c.worst.error) ? "; sums overflow: try smaller inputs, as in w=uniform'(-0.05,0.05)'" : "";
    return arena_printf(a, "%lld of %lld elements of '%s' differ, by up to %.3g%s", (long long)c.different,
                        (long long)c.compared, name, c.worst.error, hint);
}
