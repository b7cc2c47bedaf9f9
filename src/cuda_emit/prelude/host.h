// What C text of host functions needs.

//: int.floordiv
// The quotient rounded down; 0 where there is none.
static int32_t floor_div_i32(int32_t a, int32_t b)
{
    if (b == 0 || (b == -1 && a == INT32_MIN))
        return b ? a : 0;
    int32_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

//: int.floormod
// The remainder that goes with the quotient rounded down: it has the sign of b.
static int32_t floor_mod_i32(int32_t a, int32_t b)
{
    int32_t rest = b == 0 || b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

//: long.floordiv
// The quotient rounded down; 0 where there is none.
static int64_t floor_div_i64(int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return b ? a : 0;
    int64_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

//: long.floormod
// The remainder that goes with the quotient rounded down: it has the sign of b.
static int64_t floor_mod_i64(int64_t a, int64_t b)
{
    int64_t rest = b == 0 || b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

//: fmod
// a - n * b for the largest n with n * |b| <= |a|, exactly, as fmod() gives it. Without libm: programs link kernels with libhdsrt
// alone.
static double exact_fmod(double a, double b)
{
    double rest = a < 0.0 ? -a : a, divisor = b < 0.0 ? -b : b, step = divisor;
    if (rest - rest != 0.0 || divisor != divisor)
        return rest - rest + divisor;
    if (divisor == 0.0)
        return divisor / divisor;
    while (step <= rest / 2.0)
        step += step;
    for (;; step /= 2.0) {
        if (rest >= step)
            rest -= step;
        if (step <= divisor)
            return a < 0.0 ? -rest : rest;
    }
}

//: floor
static double floor_of(double x)
{
    if (!(x > -4503599627370496.0 && x < 4503599627370496.0)) // 2 ** 52: whole numbers from there on
        return x;
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1.0 : whole;
}

//: double.floordiv needs fmod floor
// The quotient rounded down. It is found from the exact remainder, since a / b may round up to the next integer.
static double floor_div_f64(double a, double b)
{
    if (b == 0.0)
        return a / b;
    double rest = exact_fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
        quotient -= 1.0;
    if (quotient == 0.0)
        return __builtin_copysign(0.0, a / b);
    double whole = floor_of(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

//: double.floormod needs fmod
// The remainder that goes with the quotient rounded down: it has the sign of b, also where it is 0.
static double floor_mod_f64(double a, double b)
{
    double rest = exact_fmod(a, b);
    if (rest == 0.0)
        return __builtin_copysign(0.0, b);
    return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

//: float.floordiv needs fmod floor
// As for double, rounded as float at each step.
static float floor_div_f32(float a, float b)
{
    if (b == 0.0f)
        return a / b;
    float rest = (float)exact_fmod(a, b);
    float quotient = (a - rest) / b;
    if (rest != 0.0f && (rest < 0.0f) != (b < 0.0f))
        quotient -= 1.0f;
    if (quotient == 0.0f)
        return __builtin_copysignf(0.0f, a / b);
    float whole = (float)floor_of(quotient);
    return quotient - whole > 0.5f ? whole + 1.0f : whole;
}

//: float.floormod needs fmod
static float floor_mod_f32(float a, float b)
{
    float rest = (float)exact_fmod(a, b);
    if (rest == 0.0f)
        return __builtin_copysignf(0.0f, b);
    return (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}

//: quotient
// What a division by 0 gives, C does not say.
static int64_t quotient(int64_t a, int64_t b)
{
    return b == 0 ? 0 : a / b;
}

//: rest
static int64_t rest(int64_t a, int64_t b)
{
    return b == 0 ? 0 : a % b;
}

//: next_signed
// The counter of a loop in its next turn: the end, where the step leads to it or beyond. No 64 bits are too few.
static int64_t next_signed(int64_t at, int64_t end, int64_t step)
{
    if (step > 0)
        return (uint64_t)end - (uint64_t)at > (uint64_t)step ? at + step : end;
    return (uint64_t)at - (uint64_t)end > 0 - (uint64_t)step ? at + step : end;
}

//: next_unsigned
static uint64_t next_unsigned(uint64_t at, uint64_t end, uint64_t step)
{
    return end - at > step ? at + step : end;
}

//: sum_of
static int64_t sum_of(int64_t a, int64_t b, bool *fails)
{
    *fails |= b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b;
    return *fails ? 0 : a + b;
}

//: difference_of
static int64_t difference_of(int64_t a, int64_t b, bool *fails)
{
    *fails |= b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b;
    return *fails ? 0 : a - b;
}

//: product_of
static int64_t product_of(int64_t a, int64_t b, bool *fails)
{
    if (a > 0 ? b > INT64_MAX / a || b < INT64_MIN / a : a < -1 && (b > INT64_MIN / a || b < INT64_MAX / a))
        *fails = true;
    *fails |= a == -1 && b == INT64_MIN;
    return *fails ? 0 : a * b;
}

//: shifted_of needs product_of
static int64_t shifted_of(int64_t a, int64_t by, bool *fails)
{
    *fails |= by < 0 || (by > 62 && a != 0);
    return by < 0 || by > 62 ? 0 : product_of(a, (int64_t)1 << by, fails);
}

//: quotient_of needs long.floordiv
static int64_t quotient_of(int64_t a, int64_t b, bool *fails)
{
    *fails |= b == 0;
    return floor_div_i64(a, b);
}

//: rest_of needs long.floormod
static int64_t rest_of(int64_t a, int64_t b, bool *fails)
{
    *fails |= b == 0;
    return floor_mod_i64(a, b);
}

//: min_i32
static int32_t min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

//: max_i32
static int32_t max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

//: min_u32
static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

//: max_u32
static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

//: min_i64
static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

//: max_i64
static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

//: min_u64
static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

//: max_u64
static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

//: min_f32
// The number if the other is NaN, as on the GPU; so are its fellows.
static float min_f32(float a, float b)
{
    return a < b || b != b ? a : b;
}

//: max_f32
static float max_f32(float a, float b)
{
    return a > b || b != b ? a : b;
}

//: min_f64
static double min_f64(double a, double b)
{
    return a < b || b != b ? a : b;
}

//: max_f64
static double max_f64(double a, double b)
{
    return a > b || b != b ? a : b;
}

//: tensor_bytes
// Bytes of a tensor that a function makes for itself, rounded up.
static hdsrt_status tensor_bytes(const char *entry, const char *tensor, const int64_t *shape, int rank, int bits,
                                 int64_t *bytes)
{
    int64_t most = (INT64_MAX - 7) / bits, count = 1;
    bool is_empty = false, is_large = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': its tensor '%s' has extent %lld along axis %d", entry,
                              tensor, (long long)shape[i], i);
        is_empty = is_empty || shape[i] == 0;
        is_large = is_large || (shape[i] > 0 && count > most / shape[i]);
        count = is_large || is_empty ? 1 : count * shape[i];
    }
    if (is_large && !is_empty)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': its tensor '%s' is too large for any memory", entry, tensor);
    *bytes = is_empty ? 0 : (count * bits + 7) / 8;
    return HDSRT_OK;
}
