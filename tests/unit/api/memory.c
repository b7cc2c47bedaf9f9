// Memory that runs out: whichever allocation fails, the call says so, nothing is lost, and the next call works.
#include "rig.h"

#include <stdatomic.h>

static atomic_long remaining = -1;  // allocations until one fails; negative: none does

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool fails(void)
{
    return atomic_load(&remaining) >= 0 && atomic_fetch_sub(&remaining, 1) == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

// One whole use of the library. [in_time]: whether the allocation that fails comes before its end.
static hds_status use(const rig *r)
{
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    hds_compiler *c = NULL;
    hds_program *p = NULL, *again = NULL;
    hds_compiler_options options = HDS_COMPILER_OPTIONS_INIT;
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    const hds_source source = {"scale.hds", rig_scale, 0};
    const hds_argument a[] = {hds_int(2), hds_pointer(x), hds_pointer(y), hds_int(4)};
    options.nvrtc = FAKE_NVRTC;
    options.cache_dir = r->cache;
    o.arch = "sm_80";
    hds_status status = hds_compiler_new(&options, &c);
    if (!status)
        status = hds_compile(c, &source, &o, &p);
    if (!status)
        status = hds_compile(c, &source, &o, &again);
    if (!status)
        status = hds_simulate(hds_program_kernel_at(again, 0), a, 4, NULL);
    if (!status)
        assert_true(y[3] == 8);
    hds_program_release(p);
    hds_program_release(again);
    hds_compiler_release(c);
    return status;
}

static void each_allocation_fails(void **state)
{
    const rig *r = *state;
    int refused = 0;
    bool is_over = false;
    assert_int_equal(use(r), HDS_OK);
    for (long n = 0; !is_over; n += 1 + n / 50) {
        atomic_store(&remaining, n);
        hds_status status = use(r);
        is_over = atomic_exchange(&remaining, -1) >= 0;
        if (status != HDS_OK && status != HDS_NO_MEMORY)
            fail_msg("allocation %ld fails: %s, %s", n, hds_status_text(status), hds_last_error());
        refused += status == HDS_NO_MEMORY;
    }
    assert_true(refused > 10);
    assert_int_equal(use(r), HDS_OK);
}

static void a_compilation_fails(void **state)
{
    const rig *r = *state;
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    const hds_source source = {"scale.hds", rig_scale, 0};
    bool is_over = false;
    o.arch = "sm_80";
    for (long n = 0; !is_over; n += 1 + n / 50) {
        hds_program *p = NULL;
        hds_compiler *c = rig_compiler(r, FAKE_NVRTC, "", 0);
        atomic_store(&remaining, n);
        hds_status status = hds_compile(c, &source, &o, &p);
        is_over = atomic_exchange(&remaining, -1) >= 0;
        if (status != HDS_OK && status != HDS_NO_MEMORY && status != HDS_NO_TOOLCHAIN)
            fail_msg("allocation %ld fails: %s, %s", n, hds_status_text(status), hds_last_error());
        if (status == HDS_NO_MEMORY) {
            assert_null(p);
            assert_string_equal(hds_last_error(), "out of memory");
        }
        hds_program_release(p);
        assert_int_equal(hds_compile(c, &source, &o, &p), HDS_OK);
        hds_program_release(p);
        hds_compiler_release(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_allocation_fails, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(a_compilation_fails, rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
