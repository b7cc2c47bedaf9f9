// Divergence: what lanes do that go different ways, in every nesting, compared with one thread at a time.
#include "rig.h"

#include "../../tools/ireval.h"

static void run_lanes(const char *body, int32_t *out, int per_lane)
{
    rig r;
    int32_t before[32 * 8];
    memset(before, 0xff, sizeof before);
    rig_open(&r, body);
    uint64_t y = rig_tensor(&r, before, (int64_t)sizeof(int32_t) * 32 * per_lane, 4);
    RIG_CALL(&r, "k", y);
    rig_expect_clean(&r);
    memcpy(out, rig_bytes(&r, y), sizeof(int32_t) * 32 * (size_t)per_lane);
    rig_close(&r);
}

#define KERNEL(body)                                                                                                   \
    "public kernel @k(y: i32[32] global layout row_major(32) storage 32) block 32, 1, 1 {\n" body "\n}\n"

static void branches(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes(KERNEL("if tid.x < 8 {\n if tid.x % 2 == 0 {\n y[tid.x] = 1\n } else {\n y[tid.x] = 2\n }\n"
                     "} else if tid.x < 16 {\n y[tid.x] = 3\n} else {\n if tid.x > 40 {\n y[0] = 9\n }\n}"),
              y, 1);
    for (int i = 0; i < 32; i++)
        assert_int_equal(y[i], i < 8 ? 1 + i % 2 : i < 16 ? 3 : -1);
}

static void trip_counts_by_lane(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes(KERNEL("let mut n: i32 = 0\nfor i: i32 in tid.x to 40 step 3 {\n n = n + i\n}\ny[tid.x] = n"), y, 1);
    for (int t = 0; t < 32; t++) {
        int n = 0;
        for (int i = t; i < 40; i += 3)
            n += i;
        assert_int_equal(y[t], n);
    }
}

// The direction is known at run time, and differs by lane.
static void steps_by_lane(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes(
        KERNEL("let mut n: i32 = 0\nlet s: i32 = select(tid.x < 16, 2, -3)\nlet e: i32 = select(tid.x < 16, 40, -5)\n"
               "for i: i32 in tid.x to e step s {\n n = n * 3 + i\n}\ny[tid.x] = n"),
        y, 1);
    for (int t = 0; t < 32; t++) {
        uint32_t n = 0;
        for (int i = t, s = t < 16 ? 2 : -3; s > 0 ? i < 40 : i > -5; i += s)
            n = n * 3 + (uint32_t)i;
        assert_int_equal((uint32_t)y[t], n);
    }
}

static void break_and_continue(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes(KERNEL("let mut n: i32 = 0\nfor i: i32 in 0 to 20 {\n if i % 3 == tid.x % 3 {\n continue\n }\n"
                     " let mut j: i32 = 0\n while true {\n j = j + 1\n if j > tid.x {\n break\n }\n if (i + j) % 2 == "
                     "0 {\n continue\n }\n"
                     " n = n + j\n }\n if n > 200 {\n break\n }\n n = n + 1\n}\ny[tid.x] = n"),
              y, 1);
    for (int t = 0; t < 32; t++) {
        int n = 0;
        for (int i = 0; i < 20; i++) {
            if (i % 3 == t % 3)
                continue;
            for (int j = 0;;) {
                j++;
                if (j > t)
                    break;
                if ((i + j) % 2 == 0)
                    continue;
                n += j;
            }
            if (n > 200)
                break;
            n++;
        }
        assert_int_equal(y[t], n);
    }
}

// Out of a loop and a branch at once, to behind a scope.
static void leaving_scopes(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes(
        KERNEL("let mut n: i32 = 0\nscope 1 {\n scope 2 {\n for i: i32 in 0 to 10 {\n if i == tid.x {\n leave 2\n }\n"
               " if i + 12 == tid.x {\n leave 1\n }\n n = n + 1\n }\n n = n + 100\n }\n n = n + 1000\n}\ny[tid.x] = n"),
        y, 1);
    for (int t = 0; t < 32; t++)
        assert_int_equal(y[t], t < 10 ? t + 1000 : t >= 12 && t < 22 ? t - 12 : 1110);
}

static void returning_early(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes(KERNEL("y[tid.x] = 1\nfor i: i32 in 0 to 100 {\n if i == tid.x {\n return\n }\n y[tid.x] = y[tid.x] + "
                     "1\n if i == 20 {\n return\n }\n}"),
              y, 1);
    for (int t = 0; t < 32; t++)
        assert_int_equal(y[t], t <= 20 ? 1 + t : 22);
}

static void calls_under_masks(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes("device @f(x: i32) -> i32 {\n let mut n: i32 = 0\n for i: i32 in 0 to x {\n if i == 5 {\n return n * "
              "1000\n }\n n = n + i\n }\n return n\n}\n" KERNEL(
                  "let mut n: i32 = 7\nif tid.x % 2 == 0 {\n n = @f(tid.x) + @f(2)\n}\n"
                  "while n > 100 {\n n = n - @f(4)\n if n % 7 == tid.x % 7 {\n break\n }\n}\ny[tid.x] = n"),
              y, 1);
    for (int t = 0; t < 32; t++) {
        int n = 7;
        if (t % 2 == 0)
            n = (t > 5 ? 10000 : t * (t - 1) / 2) + 1;
        while (n > 100) {
            n -= 6;
            if (n % 7 == t % 7)
                break;
        }
        assert_int_equal(y[t], n);
    }
}

static int32_t fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void recursion(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes("device @fib(n: i32) -> i32 {\n if n < 2 {\n return n\n }\n let a: i32 = @fib(n - 1)\n return a + @fib(n "
              "- 2)\n}\n" KERNEL("y[tid.x] = @fib(tid.x % 13)"),
              y, 1);
    for (int t = 0; t < 32; t++)
        assert_int_equal(y[t], fibonacci(t % 13));
}

// An array with an address in every frame, deeper than the window that is there at first.
static void recursion_with_memory(void **state)
{
    (void)state;
    int32_t y[32];
    run_lanes("device @f(n: i32) -> i32 {\n alloc a: i32[3] local layout row_major(3) storage 3 = 0\n let p: ~i32 = "
              "bitcast[~i32](&a[0])\n"
              " p[n % 3] = n\n if n > 0 {\n let below: i32 = @f(n - 1)\n return below + a[0] + a[1] + a[2]\n }\n "
              "return 0\n}\n" KERNEL("y[tid.x] = @f(tid.x)"),
              y, 1);
    for (int t = 0; t < 32; t++)
        assert_int_equal(y[t], t * (t + 1) / 2);
}

static void endless_recursion(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, "device @f(n: i32) -> i32 {\n return @f(n + 1)\n}\n" KERNEL("y[0] = @f(0)"));
    assert_int_equal(RIG_CALL(&r, "k", rig_tensor(&r, NULL, 128, 4)), SIM_STOPPED);
    rig_expect(&r, HDS0612);
    rig_close(&r);
}

// ---- 64-bit values -------------------------------------------------------------------------------------------------

// A 64-bit value's lanes lie otherwise than those of 32 bits: masks must follow.
static void wide_values_under_masks(void **state)
{
    (void)state;
    rig r;
    int64_t y[32] = {0};
    rig_open(&r, "device @f(x: i64, d: f64) -> i64 {\n if d > 3.5f64 {\n return -x\n }\n return x + i64(d)\n}\n"
                 "public kernel @k(y: i64[32] global layout row_major(32) storage 32) block 32, 1, 1 {\n"
                 "let mut x: i64 = 5000000000i64\nlet mut d: f64 = 0.5f64\nif tid.x % 3 == 0 {\n x = x * i64(tid.x)\n} "
                 "else {\n d = f64(tid.x)\n}\n"
                 "for i: i64 in 0i64 to i64(tid.x) step 2i64 {\n if i % 4i64 == 0i64 {\n continue\n }\n x = x + i\n}\n"
                 "let v: i64 = select(tid.x > 20, @f(x, d), x)\ny[tid.x] = v\n}\n");
    uint64_t at = rig_tensor(&r, y, sizeof y, 8);
    RIG_CALL(&r, "k", at);
    rig_expect_clean(&r);
    memcpy(y, rig_bytes(&r, at), sizeof y);
    for (int t = 0; t < 32; t++) {
        int64_t x = 5000000000;
        double d = 0.5;
        if (t % 3 == 0)
            x *= t;
        else
            d = t;
        for (int64_t i = 0; i < t; i += 2)
            x += i % 4 ? i : 0;
        if (t > 20)
            x = d > 3.5 ? -x : x + (int64_t)d;
        assert_int_equal(y[t], x);
    }
    rig_close(&r);
}

// Blocks of any number of threads: lanes that do not exist do nothing.
static void part_of_a_warp(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 70; threads += 23) {
        rig r;
        int32_t y[80] = {0};
        const char *text =
            "public kernel @k(y: i32[80] global layout row_major(80) storage 80, n: i32) block n, 1, 1 {\n"
            "y[tid.x] = 1 + tid.x\n}\n";
        rig_open(&r, text);
        uint64_t at = rig_tensor(&r, y, sizeof y, 4);
        RIG_CALL(&r, "k", at, (uint64_t)threads);
        rig_expect_clean(&r);
        memcpy(y, rig_bytes(&r, at), sizeof y);
        for (int t = 0; t < 80; t++)
            assert_int_equal(y[t], t < threads ? t + 1 : 0);
        rig_close(&r);
    }
}

// ---- random control flow -------------------------------------------------------------------------------------------

typedef struct writer {
    str_buf out;
    uint64_t random;
    int next, loops, labels[16], label_count, budget;
    bool in_function;
} writer;

static int below(writer *w, int n)
{
    uint64_t z = w->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z >> 33) % (uint64_t)n);
}

static void write_block(writer *w, int depth);

static void write_condition(writer *w)
{
    static const char *const ends[] = {") % 3 == 0", ") % 7 < 4", ") % 16 > 5", ") & 6 != 0"};
    if (below(w, 5))
        str_addf(&w->out, "(x + %d%s", below(w, 16), ends[below(w, 4)]);
    else
        str_addf(&w->out, "h < %du32", below(w, 3) * 1000000000);
}

static void write_jump(writer *w)
{
    if (w->loops && below(w, 2))
        str_adds(&w->out, below(w, 2) ? "break\n" : "continue\n");
    else if (w->label_count && below(w, 4))
        str_addf(&w->out, "leave %d\n", w->labels[below(w, w->label_count)]);
    else if (!below(w, 4))
        str_adds(&w->out, w->in_function ? "return i32(h & 1023u32)\n" : "return\n");
}

static void write_mix(writer *w)
{
    str_addf(&w->out, "h = (h ^ %du32) * 16777619u32 + u32(x)\n", below(w, 1000));
    if (below(w, 3) == 0)
        str_adds(&w->out, "x = x + i32(h % 5u32)\nx = x % 1000\n");
}

static void write_inner(writer *w, int depth)
{
    str_adds(&w->out, " {\n");
    write_block(w, depth - 1);
    write_jump(w);
    str_adds(&w->out, "}\n");
}

static void write_statement(writer *w, int depth)
{
    int n = w->next++;
    switch (below(w, depth > 0 ? 8 : 2)) {
    case 0:
    case 1:
        write_mix(w);
        break;
    case 2:
    case 3:
        str_adds(&w->out, "if ");
        write_condition(w);
        write_inner(w, depth);
        if (below(w, 2)) {
            w->out.len--;
            str_adds(&w->out, " else");
            write_inner(w, depth);
        }
        break;
    case 4:
        str_addf(&w->out, "for i%d: i32 in x %% 4 to %d step %d", n, below(w, 8), 1 + below(w, 2));
        w->loops++;
        write_inner(w, depth);
        w->loops--;
        break;
    case 5:
        str_addf(&w->out, "let mut n%d: i32 = x %% 5\nwhile n%d > 0 {\nn%d = n%d - 1\nif true", n, n, n, n);
        w->loops++;
        write_inner(w, depth);
        w->loops--;
        str_adds(&w->out, "}\n");
        break;
    case 6:
        if (w->label_count == 16)
            break;
        w->labels[w->label_count++] = n;
        str_addf(&w->out, "scope %d", n);
        write_inner(w, depth);
        w->label_count--;
        break;
    default:
        if (!w->in_function)
            str_addf(&w->out, "x = @f(x + %d, h) %% 1000\n", n);
        else
            str_adds(&w->out, "if start > 300 {\nh = h + u32(@f(start - 400, h))\n}\n");
    }
}

static void write_block(writer *w, int depth)
{
    for (int n = 1 + below(w, 3); n > 0 && w->budget-- > 0; n--)
        write_statement(w, depth);
}

static const char *write_program(arena *a, uint64_t seed)
{
    writer w = {.random = seed, .budget = 14, .in_function = true};
    str_buf_init(&w.out, a);
    str_adds(&w.out, "device @f(start: i32, seed: u32) -> i32 {\nlet mut x: i32 = start\nlet mut h: u32 = seed\n");
    write_block(&w, 3);
    str_adds(&w.out,
             "return i32(h & 1023u32)\n}\n"
             "public kernel @k(y: i32[64] global layout row_major(64) storage 64) grid 2, 1, 1 block 32, 1, 1 {\n"
             "let mut x: i32 = tid.x\nlet mut h: u32 = u32(bid.x)\n");
    w.in_function = false;
    w.budget = 40;
    for (int i = 0; i < 4; i++) {
        write_block(&w, 4);
        str_adds(&w.out, "y[bid.x * 32 + tid.x] = i32(h & 1048575u32) + x\n");
    }
    str_adds(&w.out, "}\n");
    return str_text(&w.out);
}

static void check_random(uint64_t seed)
{
    rig r;
    arena mem;
    arena_init(&mem, NULL);
    int32_t y[64] = {0};
    const char *text = write_program(&mem, seed);
    rig_open_with(&r, text, (sim_options){.workers = 1, .seed = seed % 3});
    uint64_t at = rig_tensor(&r, y, sizeof y, 4);
    RIG_CALL(&r, "k", at);
    rig_expect_clean(&r);
    memcpy(y, rig_bytes(&r, at), sizeof y);
    const ir_func *kernel = rig_func(&r, "k");
    ire e;
    ire_init(&e, &mem, r.module);
    const ire_array *out = ire_array_of(&e, kernel->params.at[0], 64);
    for (int t = 0; t < 64; t++) {
        e.sregs[IR_TID_X] = t % 32;
        e.sregs[IR_BID_X] = t / 32;
        ire_run(&e, &kernel->body);
        if (e.error || out->at[t].i != y[t])
            fail_msg("seed %llu, thread %d: %s\n%s", (unsigned long long)seed, t, e.error ? e.error : "another value",
                     text);
    }
    rig_close(&r);
    arena_free(&mem);
}

static void random_control_flow(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 1500; seed++)
        check_random(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches),
        cmocka_unit_test(trip_counts_by_lane),
        cmocka_unit_test(steps_by_lane),
        cmocka_unit_test(break_and_continue),
        cmocka_unit_test(leaving_scopes),
        cmocka_unit_test(returning_early),
        cmocka_unit_test(calls_under_masks),
        cmocka_unit_test(recursion),
        cmocka_unit_test(recursion_with_memory),
        cmocka_unit_test(endless_recursion),
        cmocka_unit_test(wide_values_under_masks),
        cmocka_unit_test(part_of_a_warp),
        cmocka_unit_test(random_control_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
