// The reader of the interface document: what it takes from a good one, and that no bad one gets past it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jit/jit.h"

#define KERNEL(parameters, rest)                                                                                       \
    "{\"arch\": \"sm_80\", \"source\": \"k.hds\", \"kernels\": [{\"name\": \"k\", \"title\": \"k[n]\", \"doc\": "      \
    "null, "                                                                                                           \
    "\"parameters\": [" parameters "], " rest "}]}"
#define EXTENTS "\"grid\": [1, 1, 1], \"block\": [1, 1, 1], \"cluster\": null, \"dynamic_shared_bytes\": 0"
#define SIZE "{\"name\": \"n\", \"kind\": \"size\", \"dtype\": \"i32\"}"

#define IMAGES(walk)                                                                                                    \
    KERNEL("{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"f16\", \"shape\": [2, 8, 9, 64], \"alignment\": 16}",        \
           "\"tensor_maps\": [{\"tensor\": \"x\", \"box\": [1, 1, 128, 64], \"im2col\": " walk                               \
           ", \"swizzle\": 128, \"l2_promotion\": 256}], " EXTENTS)

static void a_good_document(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    jit_program p;
    const char *why = NULL;
    const char text[] =
        KERNEL("{\"name\": \"s\", \"kind\": \"scalar\", \"dtype\": \"f16\"}, "
               "{\"name\": \"v\", \"kind\": \"scalar\", \"dtype\": \"f32x4\"}, "
               "{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"f32x2\", \"shape\": [\"n\", \"2 * n\"], "
               "\"alignment\": 16, \"written\": true}, "
               "{\"name\": \"p\", \"kind\": \"pointer\", \"dtype\": \"void\", \"written\": false}, " SIZE,
               "\"grid\": [\"n // 2\", 1, null], \"block\": [256, 1, 1], \"cluster\": [2, 1, 1], "
               "\"dynamic_shared_bytes\": 65536, "
               "\"dependent_launch\": true, \"unknown\": [1, {}]");
    assert_true(jit_read(&a, STR(text), &p, &why));
    assert_string_equal(p.arch, "sm_80");
    assert_int_equal(p.count, 1);
    const jit_kernel *k = &p.kernels[0];
    assert_string_equal(k->launch.symbol, "k");
    assert_string_equal(k->title, "k[n]");
    assert_null(k->doc);
    assert_int_equal(k->count, 5);
    assert_int_equal(k->size_count, 1);
    assert_int_equal(k->launch.flags, HDSRT_LARGE_SHARED | HDSRT_DEPENDENT_LAUNCH);
    assert_int_equal(k->parameters[0].bytes, 2);
    assert_int_equal(k->parameters[1].bytes, 16);
    const hds_parameter *x = &k->parameters[2].shown;
    assert_string_equal(x->dtype, "f32");
    assert_int_equal(x->ndim, 3);
    assert_string_equal(x->shape[1], "2 * n");
    assert_string_equal(x->shape[2], "2");
    assert_true(x->is_written);
    assert_int_equal(k->rules[0].dtype.code, 2);
    assert_int_equal(k->rules[0].dtype.bits, 32);
    assert_true(k->has_cluster && k->is_cluster_fixed);
    assert_int_equal(k->grid[2].kind, JIT_EXPR_UNKNOWN);
    arena_free(&a);
}

#define STRIDED(type, strides)                                                                                         \
    "{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"" type "\", \"shape\": [1], \"strides\": " strides ", \"alignment\": 4}"

typedef struct bad {
    const char *text, *reason;
} bad;

static const bad documents[] = {
    {"", "line"},
    {"{", "line"},
    {"[]", "'kernels'"},
    {"{\"kernels\": 1}", "'kernels'"},
    {"{\"kernels\": []}", "'arch'"},
    {"{\"arch\": \"sm_80\", \"kernels\": [1]}", "'name'"},
    {"{\"arch\": \"a\\u0000b\", \"kernels\": []}", "line"},
    {KERNEL("1", EXTENTS), "is not text"},
    {KERNEL("{\"name\": \"n\", \"kind\": \"sise\", \"dtype\": \"i32\"}", EXTENTS), "no kind 'sise'"},
    {KERNEL("{\"name\": \"n\", \"kind\": \"size\", \"dtype\": \"f32\"}", EXTENTS), "has the type 'f32'"},
    {KERNEL("{\"name\": \"n\", \"kind\": \"scalar\", \"dtype\": \"f32x\"}", EXTENTS), "unknown type"},
    {KERNEL("{\"name\": \"n\", \"kind\": \"scalar\", \"dtype\": \"f32x1000\"}", EXTENTS), "unknown type"},
    {KERNEL("{\"name\": \"n\", \"kind\": \"size\", \"dtype\": \"i32\", \"multiple_of\": 0}", EXTENTS),
     "'multiple_of' is 0"},
    {KERNEL(SIZE, "\"assumptions\": [1], " EXTENTS), "not text"},
    {KERNEL(SIZE, "\"assumptions\": [\"k\"], " EXTENTS), "not a parameter"},
    {KERNEL(SIZE, "\"tensor_maps\": [{\"tensor\": \"n\"}], " EXTENTS), "one of no tensor"},
    {KERNEL("{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"f32\", \"shape\": 1, \"alignment\": 16}", EXTENTS),
     "shape"},
    {KERNEL("{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"f32\", \"shape\": [\"m\"], \"alignment\": 16}",
            EXTENTS),
     "not a parameter"},
    {KERNEL("{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"f32\", \"shape\": [1], \"alignment\": 12}", EXTENTS),
     "alignment"},
    {KERNEL("{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"f32\", \"shape\": [1], \"alignment\": 0}", EXTENTS),
     "alignment"},
    {KERNEL("{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"f32\", \"shape\": [1.5], \"alignment\": 4}", EXTENTS),
     "neither a number nor a text"},
    {KERNEL(STRIDED("f32", "[1, 1]"), EXTENTS), "the strides of 'x' are not a list of 1"},
    {KERNEL(STRIDED("f32", "1"), EXTENTS), "the strides of 'x' are not a list of 1"},
    {KERNEL(STRIDED("f32", "[\"m\"]"), EXTENTS), "not a parameter"},
    {KERNEL(STRIDED("f32x2", "[1]"), EXTENTS), "the strides of 'x' are not a list of 2"},
    {KERNEL(STRIDED("f32x2", "[2, 1]"), EXTENTS), "the strides of 'x' are not a list of 2"},
    {KERNEL(SIZE, "\"grid\": [1, 1], \"block\": [1, 1, 1], \"dynamic_shared_bytes\": 0"), "list of three"},
    {KERNEL(SIZE, "\"grid\": [1, 1, \"n +\"], \"block\": [1, 1, 1], \"dynamic_shared_bytes\": 0"), "too early"},
    {KERNEL(SIZE, "\"grid\": [1, 1, 1], \"block\": [1, 1, 1], \"cluster\": [1], \"dynamic_shared_bytes\": 0"),
     "list of three"},
    {KERNEL(SIZE, "\"grid\": [1, 1, 1], \"block\": [1, 1, 1]"), "dynamic_shared_bytes"},
    {IMAGES("{\"lower\": [-1], \"upper\": [-3, -4], \"steps\": [2, 3]}"), "not a number for each spatial axis"},
    {IMAGES("{\"lower\": [-1, -2], \"upper\": [-3, -4]}"), "not a number for each spatial axis"},
    {IMAGES("1"), "not a number for each spatial axis"},
    {IMAGES("{\"lower\": [-1, -2], \"upper\": [-3, 99999], \"steps\": [2, 3]}"), "is out of range"},
    {IMAGES("{\"lower\": [-1, -2], \"upper\": [-3, -4], \"steps\": [0, 3]}"), "is out of range"},
};

static void pixels_of_a_map(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    jit_program p;
    const char *why = NULL;
    const char text[] = IMAGES("{\"lower\": [-1, -2], \"upper\": [-3, -4], \"steps\": [2, 3]}");
    assert_true(jit_read(&a, STR(text), &p, &why));
    const jit_map *m = &p.kernels[0].maps[0];
    assert_true(m->is_im2col && m->im2col.pixels == 128 && m->im2col.channels == 64);
    assert_true(m->im2col.lower[0] == -1 && m->im2col.lower[1] == -2);
    assert_true(m->im2col.upper[0] == -3 && m->im2col.upper[1] == -4);
    assert_true(m->tiling.steps[0] == 0 && m->tiling.steps[1] == 2 && m->tiling.steps[2] == 3);
    arena_free(&a);
}

static void bad_documents(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        arena a;
        arena_init(&a, NULL);
        jit_program p;
        const char *why = NULL;
        if (jit_read(&a, str_of(documents[i].text), &p, &why))
            fail_msg("document %d is taken", (int)i);
        if (!strstr(why, documents[i].reason))
            fail_msg("document %d: %s", (int)i, why);
        arena_free(&a);
    }
}

// A good document cut off anywhere, and with one byte changed anywhere, is refused or read, and nothing else happens.
static void damaged_documents(void **state)
{
    (void)state;
    const char text[] = KERNEL(
        "{\"name\": \"x\", \"kind\": \"tensor\", \"dtype\": \"f32\", \"shape\": [\"n\"], \"alignment\": 16}, " SIZE,
        EXTENTS);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (int way = 0; way < 3; way++) {
            arena a;
            arena_init(&a, NULL);
            jit_program p;
            const char *why = NULL;
            char *copy = arena_dup(&a, text, sizeof text - 1);
            copy[i] = way == 1 ? '"' : way == 2 ? '9' : copy[i];
            jit_read(&a, (str){copy, way ? sizeof text - 1 : i}, &p, &why);
            arena_free(&a);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_document),
        cmocka_unit_test(pixels_of_a_map),
        cmocka_unit_test(bad_documents),
        cmocka_unit_test(damaged_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
