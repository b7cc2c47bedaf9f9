// Occupancy, against figures that CUDA's occupancy calculator gives.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/usage.h"

static void check(const char *target, int64_t registers, int64_t threads, int64_t shared, int blocks, const char *limit)
{
    pl_occupancy o = pl_occupancy_of(arch_find(str_of(target)), registers, threads, shared);
    assert_int_equal(o.blocks, blocks);
    assert_string_equal(o.limit, limit);
}

static void limits(void **state)
{
    (void)state;
    check("sm_80", 32, 32, 0, 32, "blocks");
    check("sm_80", 32, 256, 0, 8, "warps");
    check("sm_80", 64, 256, 0, 4, "registers");
    check("sm_80", 128, 256, 0, 2, "registers");
    check("sm_80", 255, 256, 0, 1, "registers");
    check("sm_80", 32, 256, 48 * 1024, 3, "shared memory");
    check("sm_86", 32, 256, 0, 6, "warps");
    check("sm_90", 32, 128, 227 * 1024, 1, "shared memory");
    check("sm_90", 168, 384, 227 * 1024, 1, "registers");
}

static void what_does_not_fit(void **state)
{
    (void)state;
    check("sm_75", 255, 1024, 0, 0, "registers");
    check("sm_80", 32, 256, 200 * 1024, 0, "shared memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
