// Vectors, bits regrouped, private arrays indexed at run time, and operands that must not be evaluated.
#include "rig.h"

static void run_into(const char *text, void *out, int bytes, int elem_bytes)
{
    rig r;
    rig_open(&r, text);
    memset(out, 0xff, (size_t)bytes);
    uint64_t y = rig_tensor(&r, out, bytes, elem_bytes);
    RIG_CALL(&r, "k", y);
    rig_expect_clean(&r);
    memcpy(out, rig_bytes(&r, y), (size_t)bytes);
    rig_close(&r);
}

#define KERNEL(type, count, body)                                                                                      \
    "public kernel @k(y: " type "[" count "] global layout row_major(" count ") storage " count                        \
    ") block 32, 1, 1 {\n" body "\n}\n"

// ---- vectors -------------------------------------------------------------------------------------------------------

static void vectors(void **state)
{
    (void)state;
    float y[128];
    run_into(
        KERNEL("f32", "128",
               "let f: f32 = f32(tid.x)\nlet mut v: f32x4 = vec[f32x4](f, f + 1.0, 2.0, -f)\nlet w: f32x4 = v * v + v\n"
               "if tid.x % 2 == 0 {\nv = w\n}\nlet s: f32x4 = select(tid.x < 5, w, v)\n"
               "for i: i32 in 0 to 1 {\ny[tid.x * 4] = lane[0](s)\ny[tid.x * 4 + 1] = lane[1](s)\ny[tid.x * 4 + 2] = "
               "lane[2](s)\ny[tid.x * 4 + 3] = lane[3](s)\n}"),
        y, sizeof y, 4);
    for (int t = 0; t < 32; t++) {
        float v[4] = {(float)t, (float)t + 1, 2, (float)-t};
        for (int i = 0; i < 4; i++)
            assert_true(y[4 * t + i] == (t % 2 == 0 || t < 5 ? v[i] * v[i] + v[i] : v[i]));
    }
}

// Through memory, and through calls that return them.
static void vectors_pass(void **state)
{
    (void)state;
    double y[64];
    run_into("device @swap(v: f64x2) -> f64x2 {\nreturn vec[f64x2](lane[1](v), lane[0](v))\n}\n" KERNEL(
                 "f64", "64",
                 "alloc a: f64x2[4] register layout row_major(4) storage 4 = vec[f64x2](0.0f64, 0.0f64)\n"
                 "a[tid.x % 4] = vec[f64x2](f64(tid.x), 0.5f64)\nlet p: ~f64x2 = bitcast[~f64x2](&y[0])\n"
                 "if tid.x > 3 {\np[tid.x] = @swap(a[tid.x % 4])\n} else {\np[tid.x] = a[(tid.x + 1) % 4]\n}"),
             y, sizeof y, 8);
    for (int t = 0; t < 32; t++) {
        assert_true(y[2 * t] == (t > 3 ? 0.5 : 0.0));
        assert_true(y[2 * t + 1] == (t > 3 ? (double)t : 0.0));
    }
}

static void bits_regrouped(void **state)
{
    (void)state;
    uint32_t y[32 * 4];
    run_into(KERNEL("u32", "128",
                    "let u: u32 = u32(tid.x) * 2654435761u32\nlet h: i16x2 = bitcast[i16x2](u)\nlet b: i8x4 = "
                    "bitcast[i8x4](u)\n"
                    "y[tid.x * 4] = bitcast[u32](vec[i16x2](lane[1](h), lane[0](h)))\n"
                    "y[tid.x * 4 + 1] = bitcast[u32](i32(lane[3](b)) + i32(lane[0](b)))\n"
                    "let wide: u64 = bitcast[u64](vec[u32x2](u, ~u))\nlet d: u8x8 = bitcast[u8x8](wide)\n"
                    "y[tid.x * 4 + 2] = u32(lane[7](d)) * 256u32 + u32(lane[0](d))\n"
                    "y[tid.x * 4 + 3] = u32(wide >> 20)"),
             y, sizeof y, 4);
    for (uint32_t t = 0; t < 32; t++) {
        uint32_t u = t * 2654435761u;
        uint64_t wide = (uint64_t)~u << 32 | u;
        assert_int_equal(y[4 * t], u << 16 | u >> 16);
        assert_int_equal(y[4 * t + 1], (uint32_t)((int8_t)(u >> 24) + (int8_t)u));
        assert_int_equal(y[4 * t + 2], (uint32_t)(wide >> 56) * 256 + (u & 255));
        assert_int_equal(y[4 * t + 3], (uint32_t)(wide >> 20));
    }
}

// ---- private arrays ------------------------------------------------------------------------------------------------

static void slots_of(const char *type, int elem_bytes)
{
    arena mem;
    arena_init(&mem, NULL);
    int64_t y[32] = {0};
    const char *text =
        arena_printf(&mem,
                     "public kernel @k(y: %s[32] global layout row_major(32) storage 32) block 32, 1, 1 {\n"
                     "alloc a: %s[2, 4] register layout column_major(2, 4) storage 8 = %s(1)\n"
                     "for i: i32 in 0 to tid.x {\na[i %% 2, (i + tid.x) %% 4] = a[(i + 1) %% 2, i %% 4] + %s(i)\n}\n"
                     "if tid.x > 2 {\na[1, tid.x %% 4] = %s(3)\n}\n"
                     "y[tid.x] = a[0, 0] + a[1, 1] + a[tid.x %% 2, 2] + a[1, tid.x %% 4]\n}\n",
                     type, type, type, type, type);
    run_into(text, y, 32 * elem_bytes, elem_bytes);
    for (int t = 0; t < 32; t++) {
        int64_t a[2][4] = {{1, 1, 1, 1}, {1, 1, 1, 1}}, found = 0;
        for (int i = 0; i < t; i++)
            a[i % 2][(i + t) % 4] = a[(i + 1) % 2][i % 4] + i;
        if (t > 2)
            a[1][t % 4] = 3;
        int64_t expected = a[0][0] + a[1][1] + a[t % 2][2] + a[1][t % 4];
        memcpy(&found, (uint8_t *)y + t * elem_bytes, (size_t)elem_bytes);
        assert_int_equal(found, (int64_t)((uint64_t)expected &
                                          (elem_bytes == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * elem_bytes) - 1)));
    }
    arena_free(&mem);
}

static void slots(void **state)
{
    (void)state;
    slots_of("u8", 1);
    slots_of("u16", 2);
    slots_of("i32", 4);
    slots_of("u64", 8);
}

static void slots_outside(void **state)
{
    (void)state;
    rig r;
    rig_open(&r,
             KERNEL("i32", "32", "alloc a: i32[4] register layout row_major(4) storage 4 = 1\ny[tid.x] = a[+tid.x]"));
    RIG_CALL(&r, "k", rig_tensor(&r, NULL, 128, 4));
    rig_expect(&r, HDS0601);
    rig_close(&r);
}

// More elements than slots have numbers for.
static void large_array(void **state)
{
    (void)state;
    int32_t y[32];
    run_into(
        KERNEL(
            "i32", "32",
            "alloc a: i32[70000] local layout row_major(70000) storage 70000\na[69999 - tid.x] = tid.x\na[tid.x] = 5\n"
            "y[tid.x] = a[69999 - tid.x] + a[tid.x]"),
        y, sizeof y, 4);
    for (int t = 0; t < 32; t++)
        assert_int_equal(y[t], t + 5);
}

// The array is known by its address and by its registers at once.
static void registers_with_an_address(void **state)
{
    (void)state;
    int32_t y[32];
    run_into(
        "intrin mma {\nname \"pack_bytes\"\nmodule \"none\"\nptx \"x\"\noperand a: tensor register i32 count 2 "
        "updated\n}\n" KERNEL(
            "i32", "32",
            "alloc a: i32[4] register layout row_major(4) storage 4 = 7\nlet p: ~i32 = bitcast[~i32](&a[0])\np[tid.x % "
            "4] = tid.x\n"
            "alloc b: i32[4] register layout row_major(4) storage 4 = 1\ncopy tile(b[+2], 2) = tile(a[+0], 2) count 2\n"
            "copy tile(a[+2], 2) = tile(b[+1], 2) count 2\n"
            "if tid.x < 0 {\n!mma(tile(a[+1], 2))\n}\ny[tid.x] = b[2] * 100 + b[3] + a[2] * 10000 + p[3] * 1000000"),
        y, sizeof y, 4);
    for (int t = 0; t < 32; t++) {
        int a[4] = {7, 7, 7, 7};
        a[t % 4] = t;
        assert_int_equal(y[t], a[0] * 100 + a[1] + 1 * 10000 + a[0] * 1000000);
    }
}

// ---- what is not evaluated -----------------------------------------------------------------------------------------

static void lazy(void **state)
{
    (void)state;
    int32_t y[32];
    run_into("device @seven(p: ~i32) -> i32 {\np[0] = p[0] + 1\nreturn 7\n}\n" KERNEL(
                 "i32", "32",
                 "alloc c: i32[1] local layout row_major(1) storage 1 = 0\nlet p: ~i32 = "
                 "bitcast[~i32](&c[0])\ny[tid.x] = 1\n"
                 "let n: i32 = tid.x - 16\nlet a: i32 = select(n != 0, 100 // n, 5)\nlet b: i32 = select(tid.x < 32, "
                 "y[tid.x], y[tid.x * 1000])\n"
                 "let d: bool = tid.x > 3 and @seven(p) == 7\nlet f: bool = n == 0 or 32 % n == 0\n"
                 "y[tid.x] = a * 1000 + b * 100 + i32(d) * 10 + i32(f) + c[0] * 1000000"),
             y, sizeof y, 4);
    for (int t = 0; t < 32; t++) {
        int n = t - 16, q = n ? 100 / n - (100 % n != 0 && n < 0) : 5;
        assert_int_equal(y[t], q * 1000 + 100 + (t > 3) * 10 + (n == 0 || 32 % n == 0) + (t > 3) * 1000000);
    }
}

// Index arithmetic that would overflow without being noticed.
static void lazy_overflow(void **state)
{
    (void)state;
    int32_t y[32];
    run_into(KERNEL("i32", "32",
                    "let k: i32 = tid.x * 100000\ny[select(k < 1, k * 100000, tid.x)] = 3\n"
                    "y[select(tid.x < 1 and k * k < 1, 0, tid.x)] = y[tid.x] + 1"),
             y, sizeof y, 4);
}

static void overflow_is_found(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, KERNEL("i32", "32", "let k: i32 = (tid.x + 1) * 100000\ny[k * k & 31] = 3"));
    RIG_CALL(&r, "k", rig_tensor(&r, NULL, 128, 4));
    int count = sim_finding_count(r.device);
    assert_true(count >= 1);
    assert_non_null(strstr(rig_messages(&r), "HDS0610"));
    rig_close(&r);
}

// An index with effects happens once, however often its value is needed.
static void indices_happen_once(void **state)
{
    (void)state;
    int32_t y[32];
    run_into("device @next(p: ~i32) -> i32 {\np[0] = p[0] + 1\nreturn p[0]\n}\n" KERNEL(
                 "i32", "32",
                 "alloc c: i32[1] local layout row_major(1) storage 1 = 0\nlet p: ~i32 = bitcast[~i32](&c[0])\n"
                 "alloc a: i32[8] register layout row_major(8) storage 8 = 0\na[@next(p)] = 5\nlet x: i32 = a[@next(p) "
                 "- 1 else 9]\n"
                 "y[tid.x] = c[0] * 10 + x"),
             y, sizeof y, 4);
    for (int t = 0; t < 32; t++)
        assert_int_equal(y[t], 25);
}

// Guards: the other value is taken, memory is not touched.
static void guards(void **state)
{
    (void)state;
    int32_t y[32];
    run_into(KERNEL("i32", "32",
                    "y[tid.x] = tid.x\nlet a: i32 = y[tid.x * 40 else -5]\nlet b: i32 = y[-1 - tid.x else a + 1]\n"
                    "y[guarded tid.x * 40] = 7\ny[guarded tid.x] = a * 100 + b"),
             y, sizeof y, 4);
    for (int t = 0; t < 32; t++)
        assert_int_equal(y[t], t ? -504 : 1);
}

static void bounds_are_found(void **state)
{
    (void)state;
    static const char *const bodies[] = {"y[tid.x + 1] = 1", "y[tid.x - 1] = 1", "y[0] = y[tid.x * 2]",
                                         "if tid.x == 9 {\ny[i64(tid.x) << 40] = 1\n}"};
    for (int i = 0; i < 4; i++) {
        rig r;
        arena mem;
        int32_t zero[32] = {0};
        arena_init(&mem, NULL);
        rig_open_with(
            &r,
            arena_printf(
                &mem, "public kernel @k(y: i32[32] global layout row_major(32) storage 32) block 32, 1, 1 {\n%s\n}\n",
                bodies[i]),
            (sim_options){.workers = 1, .no_races = true});
        RIG_CALL(&r, "k", rig_tensor(&r, zero, sizeof zero, 4));
        rig_expect(&r, HDS0601);
        rig_close(&r);
        arena_free(&mem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(vectors_pass),
        cmocka_unit_test(bits_regrouped),
        cmocka_unit_test(slots),
        cmocka_unit_test(slots_outside),
        cmocka_unit_test(large_array),
        cmocka_unit_test(registers_with_an_address),
        cmocka_unit_test(lazy),
        cmocka_unit_test(lazy_overflow),
        cmocka_unit_test(overflow_is_found),
        cmocka_unit_test(indices_happen_once),
        cmocka_unit_test(guards),
        cmocka_unit_test(bounds_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
