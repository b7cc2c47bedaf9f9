#include "tensor/compare.h"

#include <math.h>
#include <stdio.h>

// How far apart two numbers are: 0 for equal ones, also infinities and NaN; NaN where one is no number and the other not.
static double error_between(double actual, double expected)
{
    if (actual == expected || (isnan(actual) && isnan(expected)))
        return 0;
    return isfinite(actual) && isfinite(expected) ? fabs(actual - expected) : NAN;
}

static double distance(const ten_tensor *actual, const ten_tensor *expected, int64_t i)
{
    double real = error_between(ten_number(actual, i), ten_number(expected, i));
    double imaginary = error_between(ten_imaginary(actual, i), ten_imaginary(expected, i));
    return imaginary == 0 ? real : hypot(real, imaginary);
}

static double magnitude(const ten_tensor *t, int64_t i)
{
    return t->type == DT_C64 ? hypot(ten_number(t, i), ten_imaginary(t, i)) : fabs(ten_number(t, i));
}

static bool is_worse(double error, double than)
{
    return !isnan(than) && (isnan(error) || error > than);
}

static void note(ten_comparison *c, int64_t i, double error)
{
    if (c->first_count < TEN_SHOWN)
        c->first[c->first_count++] = (ten_difference){i, error};
    if (!c->different || is_worse(error, c->worst.error))
        c->worst = (ten_difference){i, error};
    c->different++;
}

void ten_compare(const ten_tensor *actual, const uint8_t *written, const ten_tensor *expected, double rtol, double atol,
                 ten_comparison *out)
{
    bool by_bits = rtol == 0 && atol == 0 && actual->type == expected->type && !dt_is_float(actual->type) &&
                   actual->type != DT_C64;
    *out = (ten_comparison){.compared = actual->count};
    for (int64_t i = 0; i < actual->count; i++) {
        bool is_unwritten = written && !written[i];
        double error = is_unwritten ? NAN : distance(actual, expected, i), size = magnitude(expected, i);
        if (size > 0 && isfinite(size) && error / size > out->worst_relative)
            out->worst_relative = error / size;
        bool is_close = by_bits ? ten_bits(actual, i) == ten_bits(expected, i)
                                : error == 0 || error <= atol + rtol * size;
        if (is_close && !is_unwritten)
            continue;
        out->unwritten += is_unwritten;
        note(out, i, error);
    }
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

ten_error ten_error_of(const ten_tensor *actual, const ten_tensor *expected)
{
    ten_error e = {0};
    int64_t relative_count = 0;
    for (int64_t i = 0; i < actual->count; i++) {
        double error = distance(actual, expected, i), size = magnitude(expected, i);
        bool is_finite = isfinite(error), has_size = size > 0 && isfinite(size);
        error = is_finite ? error : INFINITY;
        e.different += error > 0;
        e.harmonic = larger(e.harmonic, isfinite(size) ? error / (size + 1) : error);
        e.max_absolute = larger(e.max_absolute, error);
        e.mean_absolute += error;
        if (!has_size)
            continue;
        relative_count++;
        e.max_relative = larger(e.max_relative, error / size);
        e.mean_relative += error / size;
    }
    e.mean_absolute /= actual->count ? (double)actual->count : 1;
    e.mean_relative /= relative_count ? (double)relative_count : 1;
    return e;
}

void ten_compare_table(const ten_comparison *c, const ten_tensor *actual, const uint8_t *written,
                       const ten_tensor *expected, str_buf *out)
{
    char line[160];
    snprintf(line, sizeof line, "%16s  %20s  %20s  %12s\n", "index", "actual", "expected", "error");
    str_adds(out, line);
    for (int k = 0; k < c->first_count; k++) {
        int64_t i = c->first[k].index;
        str_buf words[3];
        for (int w = 0; w < 3; w++)
            str_buf_init(&words[w], out->arena);
        ten_index_print(actual, i, &words[0]);
        if (written && !written[i])
            str_adds(&words[1], "not written");
        else
            ten_value_print(actual->type, ten_bits(actual, i), &words[1]);
        ten_value_print(expected->type, ten_bits(expected, i), &words[2]);
        snprintf(line, sizeof line, "%16s  %20s  %20s  %12.3g\n", str_text(&words[0]), str_text(&words[1]),
                 str_text(&words[2]), c->first[k].error);
        str_adds(out, line);
    }
    if (c->different > c->first_count) {
        snprintf(line, sizeof line, "%16s  and %lld more\n", "…", (long long)c->different - c->first_count);
        str_adds(out, line);
    }
}

void ten_usual_tolerance(dtype type, double *rtol, double *atol)
{
    static const double relative[DT__COUNT] = {
        [DT_F64] = 1e-7, [DT_F32] = 1.3e-6, [DT_TF32] = 1e-3, [DT_F16] = 1e-3, [DT_BF16] = 1.6e-2, [DT_C64] = 1.3e-6,
    };
    *rtol = relative[type];
    *atol = type == DT_F64 ? 1e-7 : *rtol > 0 ? 1e-5 : 0;
}
