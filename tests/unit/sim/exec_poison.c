// Values that depend on uninitialized memory: through which operations they pass, where they are reported, and where
// they do not matter.
#include "rig.h"

static void run_body(rig *r, const char *body)
{
    rig_open(r, body);
    int32_t zero[64] = {0};
    RIG_CALL(r, "k", rig_tensor(r, zero, sizeof zero, 4));
}

// [u] (i32), [f] (f32), [d] (i64), [b] (bool), [v] and the arrays are uninitialised; [one] is 1.
#define HEAD                                                                                                           \
    "device @id(x: i32) -> i32 {\nreturn x\n}\npublic kernel @k(y: i32[64] global layout row_major(64) storage 64) "   \
    "block 32, 1, 1 {\n"                                                                                               \
    "let mut u: i32\nlet mut f: f32\nlet mut d: i64\nlet mut b: bool\nlet mut v: f32x2\nlet one: i32 = bdim.y\n"       \
    "alloc a: i32[4] register layout row_major(4) storage 4\nalloc m: i32[4] local layout row_major(4) storage "       \
    "4\nlet p: ~i32 = bitcast[~i32](&m[0])\n"                                                                          \
    "alloc s: i32[32] shared layout row_major(32) storage 32\n"

// Each of them must be reported once it is stored to global memory.
static const char *const taints[] = {
    "u",
    "-u",
    "~u",
    "u + one",
    "one - u",
    "u * one",
    "u // one",
    "one % (u | 1)",
    "u & 1",
    "one | u",
    "one ^ u",
    "u << 1",
    "u >> 1",
    "min(u, one)",
    "max(one, u)",
    "i32(u == one)",
    "i32(one < u)",
    "i32(b)",
    "i32(not(b))",
    "i32(f)",
    "i32(f + 1.0)",
    "i32(1.0 / f)",
    "i32(-f)",
    "i32(f < 1.0)",
    "i32(f16(f))",
    "i32(f16(f) * 2.0f16)",
    "i32(bf16(f) - bf16(1.0))",
    "i32(f64(f) + 1.0f64)",
    "i32(d)",
    "i32(d + 1i64)",
    "i32(d * i64(one))",
    "i32(d < 5i64)",
    "i32(u8(u))",
    "i32(i8(u) + 1i8)",
    "bitcast[i32](f)",
    "i32(lane[1](v))",
    "i32(lane[0](v * v))",
    "i32(lane[0](vec[f32x2](f, 1.0)))",
    "i32(lane[1](bitcast[u16x2](u)))",
    "i32(bitcast[u64](vec[u32x2](u32(u), 1u32)) >> 40)",
    "select(one == 1, u, one)",
    "i32(one == 1 and b)",
    "i32(one == 0 or b)",
    "a[0]",
    "a[one]",
    "m[2]",
    "p[one]",
    "@id(u)",
    "@id(a[3]) + one",
    "y[tid.x + 32] + u",
    "i32(f // 2.0)",
    "i32(f % 2.0)",
    "i32(min(f, 1.0))",
};

static void they_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof taints / sizeof *taints; i++) {
        rig r;
        arena mem;
        arena_init(&mem, NULL);
        const char *text =
            arena_printf(&mem, HEAD "if tid.x %% 2 == 0 {\nlet x: i32 = %s\ny[tid.x] = x\n}\n}\n", taints[i]);
        run_body(&r, text);
        if (!sim_finding_count(r.device))
            fail_msg("nothing was found in %s", taints[i]);
        rig_expect(&r, HDS0604);
        rig_close(&r);
        arena_free(&mem);
    }
}

// Values that depend on nothing uninitialised, though something uninitialised stands there.
static const char *const clean[] = {
    "let x: i32 = select(one == 1, 5, u)\ny[tid.x] = x",
    "let x: bool = one == 0 and b\ny[tid.x] = i32(x)",
    "let x: bool = one == 1 or b\ny[tid.x] = i32(x)",
    "let x: bool = one == 1 or u > 5\nif x {\ny[tid.x] = 3\n}",
    "let x: bool = one == 0 and a[2] > 5\nif x {\ny[tid.x] = 3\n}",
    "let x: i32 = u + 1\nlet z: i32 = x * 2\na[1] = z\nm[1] = a[1]\ns[tid.x] = m[1]",
    "a[1] = 4\ny[tid.x] = a[1]",
    "a[one] = 4\ny[tid.x] = a[1]",
    "p[one] = 4\ny[tid.x] = m[1]",
    "u = 4\ny[tid.x] = u",
    "if tid.x < 16 {\nu = 4\n}\nif tid.x < 16 {\ny[tid.x] = u\n}",
    "if tid.x < 16 {\nd = 4i64\n} else {\nd = 5i64\n}\ny[tid.x] = i32(d)",
    "for i: i32 in 0 to 4 {\na[i] = i\n}\nlet mut n: i32 = 0\nfor i: i32 in 0 to 4 {\nn = n + a[i]\n}\ny[tid.x] = n",
    "s[tid.x] = tid.x\ny[tid.x] = s[tid.x]",
    "v = vec[f32x2](1.0, 2.0)\ny[tid.x] = i32(lane[0](v))",
    "let w: f32x2 = vec[f32x2](1.0, f)\ny[tid.x] = i32(lane[0](w))",
    "let x: i32 = y[one * 100 else one]\ny[tid.x] = x",
    "if tid.x < 16 {\nf = 1.0\n}\nlet g: f32 = select(tid.x < 16, f, 0.0)\ny[tid.x] = i32(g)",
};

static void they_do_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++) {
        rig r;
        arena mem;
        arena_init(&mem, NULL);
        run_body(&r, arena_printf(&mem, HEAD "%s\n}\n", clean[i]));
        if (r.status != SIM_OK)
            fail_msg("%s\n%s", clean[i], rig_messages(&r));
        rig_close(&r);
        arena_free(&mem);
    }
}

// Where it is reported besides stores.
static const char *const uses[] = {
    "if b {\ny[0] = 1\n}",
    "if u > 3 {\ny[0] = 1\n}",
    "while u > 3 {\nu = 0\n}",
    "for i: i32 in 0 to u & 1 {\ny[tid.x] = 1\n}",
    "y[u & 1] = 1",
    "let x: i32 = y[u & 31]\na[0] = x",
    "a[u & 3] = 1",
    "s[u & 31] = 1",
    "p[u & 3] = 1",
    "assert u == u, \"same\"",
    "print \"%d\\n\", u",
    "y[tid.x] = select(b, 1, 2)",
};

static void uses_are_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        rig r;
        arena mem;
        arena_init(&mem, NULL);
        int32_t zero[64] = {0};
        rig_open_with(&r, arena_printf(&mem, HEAD "%s\n}\n", uses[i]),
                      (sim_options){.workers = 1, .no_races = true, .print = rig_print});
        RIG_CALL(&r, "k", rig_tensor(&r, zero, sizeof zero, 4));
        if (!sim_finding_count(r.device))
            fail_msg("nothing was found in %s", uses[i]);
        rig_expect(&r, HDS0604);
        rig_close(&r);
        arena_free(&mem);
    }
}

// A variable comes into being anew in each iteration of a loop.
static void fresh_in_every_turn(void **state)
{
    (void)state;
    rig r;
    run_body(&r, HEAD
             "for i: i32 in 0 to 3 {\nlet mut x: i32\nif i == 0 {\nx = 5\n}\nif i == 2 {\ny[tid.x] = x\n}\n}\n}\n");
    rig_expect(&r, HDS0604);
    rig_close(&r);
    run_body(&r, HEAD "for i: i32 in 0 to 3 {\nalloc z: i32[2] register layout row_major(2) storage 2\nif i == 0 "
                      "{\nz[0] = 5\n}\nif i == 2 {\ny[tid.x] = z[0]\n}\n}\n}\n");
    rig_expect(&r, HDS0604);
    rig_close(&r);
    run_body(&r, HEAD "for i: i32 in 0 to 3 {\nalloc z: i32[2] local layout row_major(2) storage 2\nlet q: ~i32 = "
                      "bitcast[~i32](&z[0])\n"
                      "if i == 0 {\nq[0] = 5\n}\nif i == 2 {\ny[tid.x] = q[0]\n}\n}\n}\n");
    rig_expect(&r, HDS0604);
    rig_close(&r);
}

// An array of a function's frame is fresh in every call, also where the last call's was.
static void fresh_in_every_call(void **state)
{
    (void)state;
    rig r;
    const char *function = "device @f(n: i32) -> i32 {\nalloc z: i32[2] local layout row_major(2) storage 2\nlet q: "
                           "~i32 = bitcast[~i32](&z[0])\n"
                           "if n == 0 {\nq[1] = 7\n}\nreturn q[1]\n}\n";
    arena mem;
    arena_init(&mem, NULL);
    rig_open(&r, arena_printf(&mem,
                              "%spublic kernel @k(y: i32[64] global layout row_major(64) storage 64) block 32, 1, 1 {\n"
                              "let a: i32 = @f(0)\ny[tid.x] = a\nlet b: i32 = @f(1)\ny[tid.x] = b\n}\n",
                              function));
    RIG_CALL(&r, "k", rig_tensor(&r, NULL, 256, 4));
    rig_expect(&r, HDS0604);
    rig_close(&r);
    arena_free(&mem);
}

// One mistake is one finding: what was reported counts as good from there on.
static void reported_once(void **state)
{
    (void)state;
    rig r;
    run_body(&r, HEAD "y[tid.x] = u\ny[tid.x + 32] = 5\n}\n");
    assert_int_equal(sim_finding_count(r.device), 1);
    rig_close(&r);
}

static void without_checks(void **state)
{
    (void)state;
    rig r;
    int32_t zero[64] = {0};
    rig_open_with(&r, HEAD "y[tid.x] = u\nif b {\ny[tid.x] = a[u & 3]\n}\n}\n",
                  (sim_options){.workers = 1, .no_checks = true});
    assert_int_equal(RIG_CALL(&r, "k", rig_tensor(&r, zero, sizeof zero, 4)), SIM_OK);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_pass),           cmocka_unit_test(they_do_not_matter),
        cmocka_unit_test(uses_are_reported),   cmocka_unit_test(fresh_in_every_turn),
        cmocka_unit_test(fresh_in_every_call), cmocka_unit_test(reported_once),
        cmocka_unit_test(without_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
