// The functions of <math.h> that plans have: those that stdlib/language/math.hds calls and C has.

#include <math.h>
#include <string.h>

#include "plan/plan.h"

// f64 first, then f32. A test gives 0 or 1.
typedef struct math_function {
    const char *name;
    int operands;
    bool tests;
    union {
        double (*one)(double);
        double (*two)(double, double);
        double (*three)(double, double, double);
    } f64;
    union {
        float (*one)(float);
        float (*two)(float, float);
        float (*three)(float, float, float);
    } f32;
} math_function;

static double is_nan(double x)
{
    return isnan(x) ? 1 : 0;
}

static double is_inf(double x)
{
    return isinf(x) ? 1 : 0;
}

static double is_finite(double x)
{
    return isfinite(x) ? 1 : 0;
}

static float is_nan_f32(float x)
{
    return isnan(x) ? 1 : 0;
}

static float is_inf_f32(float x)
{
    return isinf(x) ? 1 : 0;
}

static float is_finite_f32(float x)
{
    return isfinite(x) ? 1 : 0;
}

#define ONE(name) {#name, 1, false, {.one = name}, {.one = name##f}}
#define TWO(name) {#name, 2, false, {.two = name}, {.two = name##f}}

static const math_function functions[] = {
    ONE(fabs),  ONE(exp),   ONE(exp2),  ONE(expm1), ONE(log),  ONE(log2),   ONE(log10),  ONE(log1p), ONE(sqrt),  ONE(cbrt),
    ONE(sin),   ONE(cos),   ONE(tan),   ONE(asin),  ONE(acos), ONE(atan),   ONE(sinh),   ONE(cosh),  ONE(tanh),  ONE(asinh),
    ONE(acosh), ONE(atanh), ONE(erf),   ONE(erfc),  ONE(tgamma), ONE(lgamma), ONE(floor), ONE(ceil),  ONE(trunc), ONE(rint),
    TWO(pow),   TWO(atan2), TWO(hypot), TWO(fmod),  TWO(copysign), TWO(fdim), TWO(fmin),  TWO(fmax),
    {"fma", 3, false, {.three = fma}, {.three = fmaf}},
    {"isnan", 1, true, {.one = is_nan}, {.one = is_nan_f32}},
    {"isinf", 1, true, {.one = is_inf}, {.one = is_inf_f32}},
    {"isfinite", 1, true, {.one = is_finite}, {.one = is_finite_f32}},
};

int plan_function_named(str name)
{
    for (int i = 0; i < (int)(sizeof functions / sizeof *functions); i++) {
        if (str_equal(name, str_of(functions[i].name)))
            return i;
    }
    return -1;
}

const char *plan_function_name(int function)
{
    return functions[function].name;
}

int plan_function_operands(int function)
{
    return functions[function].operands;
}

bool plan_function_tests(int function)
{
    return functions[function].tests;
}

static double value_f32(const math_function *f, float a, float b, float c)
{
    return (double)(f->operands == 1 ? f->f32.one(a) : f->operands == 2 ? f->f32.two(a, b) : f->f32.three(a, b, c));
}

double plan_function_value(int function, plan_type t, const double *operands)
{
    const math_function *f = &functions[function];
    double a = operands[0], b = operands[1], c = operands[2];
    if (t == DT_F32)
        return value_f32(f, (float)a, (float)b, (float)c);
    return f->operands == 1 ? f->f64.one(a) : f->operands == 2 ? f->f64.two(a, b) : f->f64.three(a, b, c);
}
