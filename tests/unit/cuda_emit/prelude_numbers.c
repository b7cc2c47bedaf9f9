// The prelude's conversions for architectures without the instructions, compiled as C++ for the host and compared with
// src/target: fp8, bf16 and tf32 from every upper half of an f32 with the lower halves where rounding decides, back
// from every code, and from doubles and integers. Skipped where there is no C++ compiler.
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "cuda_emit/prelude.h"
#include "target/dtype.h"

// What the device has and the host does not.
static const char shim[] =
    "#include <math.h>\n"
    "#include <string.h>\n"
    "#define __device__\n"
    "#define __host__\n"
    "#define __forceinline__ inline __attribute__((unused))\n"
    "static inline float __uint_as_float(unsigned int a) { float f; memcpy(&f, &a, 4); return f; }\n"
    "static inline unsigned int __float_as_uint(float a) { unsigned int u; memcpy(&u, &a, 4); return u; }\n"
    "template <typename T> static float towards_zero(T a, long double exact)\n"
    "{\n"
    "    float f = (float)a;\n"
    "    return fabsl((long double)f) > fabsl(exact) ? nextafterf(f, 0.0f) : f;\n"
    "}\n"
    "static inline float __double2float_rz(double a) { return towards_zero(a, a); }\n"
    "static inline float __ll2float_rz(long long a) { return towards_zero(a, a); }\n"
    "static inline float __ull2float_rz(unsigned long long a) { return towards_zero(a, a); }\n";

typedef struct under_test {
    dtype type;
    const char *name;
    uint32_t (*from_float)(float);
    uint32_t (*from_double)(double);
    uint32_t (*from_sint)(long long);
    uint32_t (*from_uint)(unsigned long long);
    float (*to_float)(uint32_t);
    uint32_t (*add)(uint32_t, uint32_t), (*sub)(uint32_t, uint32_t), (*mul)(uint32_t, uint32_t),
        (*div)(uint32_t, uint32_t);
} under_test;

static under_test types[] = {{.type = DT_F8E4M3, .name = "f8e4m3"},
                             {.type = DT_F8E5M2, .name = "f8e5m2"},
                             {.type = DT_BF16, .name = "bf16"},
                             {.type = DT_TF32, .name = "tf32"}};
enum { TYPES = sizeof types / sizeof *types };

static void *library;

static void add_entries(arena *a, str_buf *text, const char *name)
{
    static const char *const operators[] = {"add", "+", "sub", "-", "mul", "*", "div", "/"};
    static const char *const sources[] = {"float", "float",     "double", "double",
                                          "sint",  "long long", "uint",   "unsigned long long"};
    for (int i = 0; i < 8; i += 2)
        str_addf(text, "extern \"C\" unsigned %s_from_%s(%s a) { return to_%s(a).bits; }\n", name, sources[i],
                 sources[i + 1], name);
    const char *bits = strcmp(name, "tf32") == 0   ? "unsigned int"
                       : strcmp(name, "bf16") == 0 ? "unsigned short"
                                                   : "unsigned char";
    const char *of = arena_printf(a, "%s{(%s)", name, bits);
    str_addf(text, "extern \"C\" float %s_to_float(unsigned a) { return to_float(%sa}); }\n", name, of);
    for (int i = 0; i < 8; i += 2)
        str_addf(text, "extern \"C\" unsigned %s_%s(unsigned a, unsigned b) { return (%sa} %s %sb}).bits; }\n", name,
                 operators[i], of, operators[i + 1], of);
}

static void use_all(arena *a, cu_prelude *p, const char *name)
{
    static const char *const snippets[] = {"from_float", "from_double", "from_sint", "from_uint", "to_float",
                                         "add",        "sub",         "mul",       "div"};
    for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++)
        assert_true(cu_prelude_use(p, str_of(arena_printf(a, "%s.%s", name, snippets[i]))));
}

static void *entry(arena *a, const char *type, const char *what)
{
    void *found = dlsym(library, arena_printf(a, "%s_%s", type, what));
    assert_non_null(found);
    return found;
}

static void find_entries(arena *a, under_test *t)
{
    *(void **)&t->from_float = entry(a, t->name, "from_float");
    *(void **)&t->from_double = entry(a, t->name, "from_double");
    *(void **)&t->from_sint = entry(a, t->name, "from_sint");
    *(void **)&t->from_uint = entry(a, t->name, "from_uint");
    *(void **)&t->to_float = entry(a, t->name, "to_float");
    *(void **)&t->add = entry(a, t->name, "add");
    *(void **)&t->sub = entry(a, t->name, "sub");
    *(void **)&t->mul = entry(a, t->name, "mul");
    *(void **)&t->div = entry(a, t->name, "div");
}

static void build(arena *a, const char *folder)
{
    str_buf text;
    str_buf_init(&text, a);
    str_adds(&text, shim);
    cu_prelude p;
    cu_prelude_init(&p, a, arch_find(STR("sm_75")), false);
    for (int i = 0; i < TYPES; i++)
        use_all(a, &p, types[i].name);
    cu_prelude_print(&p, CU_DEVICE_SNIPPETS, &text);
    for (int i = 0; i < TYPES; i++)
        add_entries(a, &text, types[i].name);
    const char *source = file_join(a, folder, "prelude.cpp"), *object = file_join(a, folder, "prelude.so"), *error;
    assert_true(file_write(a, source, (str){text.at, text.len}, &error));
    if (system(arena_printf(a, "c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -o %s %s", object, source)) == 0)
        library = dlopen(object, RTLD_NOW);
    unlink(source);
    unlink(object);
    if (!library)
        fail_msg("the prelude is no C++:\n%s", str_text(&text));
    for (int i = 0; i < TYPES; i++)
        find_entries(a, &types[i]);
}

static int set_up(void **state)
{
    (void)state;
    if (system("c++ --version > /dev/null 2>&1") != 0)
        return 0;
    arena a;
    arena_init(&a, NULL);
    char folder[] = "/tmp/cuda_emit_XXXXXX";
    assert_non_null(mkdtemp(folder));
    build(&a, folder);
    rmdir(folder);
    arena_free(&a);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (library)
        dlclose(library);
    return 0;
}

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static bool is_fp8(dtype t)
{
    return t == DT_F8E4M3 || t == DT_F8E5M2;
}

// NaNs of the wider types may differ in sign and payload.
static void expect(const under_test *t, const char *what, double value, uint32_t got)
{
    uint32_t wanted = (uint32_t)dt_from_double(t->type, value);
    bool both_nan = isnan(value) && !is_fp8(t->type) && isnan(dt_to_double(t->type, got));
    if (got != wanted && !both_nan)
        fail_msg("%s from %s %a: 0x%x, expected 0x%x", t->name, what, value, got, wanted);
}

// Lower halves of an f32 next to the ties of all four types, and the rest of those ties from the upper half.
static const uint32_t lower_halves[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x2fff, 0x3000,
                                        0x3001, 0x7fff, 0x8000, 0x8001, 0xefff, 0xf000, 0xf001, 0xffff};
enum { LOWER_HALVES = sizeof lower_halves / sizeof *lower_halves };

static void test_from_float(void **state)
{
    (void)state;
    if (!library)
        skip();
    for (int i = 0; i < TYPES; i++)
        for (uint32_t upper = 0; upper < 0x10000; upper++)
            for (int k = 0; k < LOWER_HALVES; k++) {
                float value = float_of(upper << 16 | lower_halves[k]);
                expect(&types[i], "float", (double)value, types[i].from_float(value));
            }
}

static void test_to_float(void **state)
{
    (void)state;
    if (!library)
        skip();
    for (int i = 0; i < TYPES; i++) {
        int bits = dt_bits(types[i].type), pad = types[i].type == DT_TF32 ? 13 : 0;
        for (uint64_t code = 0; code < (uint64_t)1 << (bits - pad); code++) {
            uint32_t stored = (uint32_t)(code << pad);
            double wanted = dt_to_double(types[i].type, stored), got = (double)types[i].to_float(stored);
            if (memcmp(&wanted, &got, sizeof got) != 0 && !(isnan(wanted) && isnan(got)))
                fail_msg("%s 0x%x: %a, expected %a", types[i].name, stored, got, wanted);
        }
    }
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ *seed >> 29;
}

// Doubles just off the ties, where rounding to f32 first would go wrong.
static void test_from_double(void **state)
{
    (void)state;
    if (!library)
        skip();
    for (int i = 0; i < TYPES; i++)
        for (uint32_t upper = 0; upper < 0x10000; upper++)
            for (int k = 0; k < LOWER_HALVES; k += 3) {
                double value = (double)float_of(upper << 16 | lower_halves[k]);
                double near[] = {value, nextafter(value, 0.0), nextafter(value, (double)INFINITY), value * 0x1p-60};
                for (int n = 0; n < 4; n++)
                    expect(&types[i], "double", near[n], types[i].from_double(near[n]));
            }
    expect(&types[2], "double", 1e300, types[2].from_double(1e300));
    expect(&types[2], "double", -1e-300, types[2].from_double(-1e-300));
}

static void test_from_integers(void **state)
{
    (void)state;
    if (!library)
        skip();
    uint64_t seed = 1;
    for (int i = 0; i < TYPES; i++)
        for (int n = 0; n < 200000; n++) {
            int64_t value = (int64_t)(next_random(&seed) >> (11 + n % 50));
            if (n % 3 == 0)
                value &= (int64_t)(UINT64_MAX << (n % 40));
            expect(&types[i], "sint", (double)value, types[i].from_sint(value));
            expect(&types[i], "sint", (double)-value, types[i].from_sint(-value));
            expect(&types[i], "uint", (double)value, types[i].from_uint((uint64_t)value));
        }
    // One more than a tie, too small to be seen in a double.
    uint64_t above_tie = ((uint64_t)0x101 << 55) + 1;
    assert_int_equal(types[2].from_uint(above_tie), dt_from_double(DT_BF16, 0x1.02p63));
    assert_int_equal(types[2].from_sint((int64_t)(above_tie >> 1)), dt_from_double(DT_BF16, 0x1.02p62) - 1);
    assert_int_equal(types[2].from_sint((int64_t)(above_tie >> 1) + 1), dt_from_double(DT_BF16, 0x1.02p62));
}

static bool is_subnormal_result(dtype t, double value)
{
    return t == DT_BF16 && value != 0 && fabs(value) < 0x1p-126;
}

// The operation in f64, whose result is exact or far more precise than any of the types.
static void test_arithmetic(void **state)
{
    (void)state;
    if (!library)
        skip();
    uint64_t seed = 7;
    for (int i = 0; i < TYPES; i++) {
        const under_test *t = &types[i];
        if (t->type == DT_TF32)
            continue;
        for (int n = 0; n < 400000; n++) {
            uint32_t a = (uint32_t)next_random(&seed) & ((1u << dt_bits(t->type)) - 1),
                     b = (uint32_t)(next_random(&seed) >> 20) & ((1u << dt_bits(t->type)) - 1);
            double x = dt_to_double(t->type, a), y = dt_to_double(t->type, b);
            if (isnan(x) || isnan(y))
                continue;
            expect(t, "sum", x + y, t->add(a, b));
            expect(t, "difference", x - y, t->sub(a, b));
            if (!is_subnormal_result(t->type, x * y))
                expect(t, "product", x * y, t->mul(a, b));
            if (!is_subnormal_result(t->type, x / y) && y != 0)
                expect(t, "quotient", x / y, t->div(a, b));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_float),    cmocka_unit_test(test_to_float),   cmocka_unit_test(test_from_double),
        cmocka_unit_test(test_from_integers), cmocka_unit_test(test_arithmetic),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
