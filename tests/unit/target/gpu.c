// GPUs by name, and the one that stands for an architecture.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "target/gpu.h"

static void by_name(void **state)
{
    (void)state;
    const gpu_model *h200 = gpu_find(STR("h200")), *pcie = gpu_find(STR("h100-pcie"));
    assert_non_null(h200);
    assert_string_equal(h200->arch, "sm_90a");
    assert_int_equal(h200->sm_count, 132);
    assert_int_equal(h200->l2_bytes, 50 << 20);
    assert_int_equal(h200->memory_gbps, 4800);
    assert_int_equal(pcie->sm_count, 114);
    assert_null(gpu_find(STR("h20")));
    assert_null(gpu_find(STR("")));
    assert_null(gpu_at(-1));
}

static void rows_are_whole(void **state)
{
    (void)state;
    for (int i = 0; gpu_at(i); i++) {
        const gpu_model *g = gpu_at(i);
        assert_non_null(arch_find(str_of(g->arch)));
        assert_ptr_equal(gpu_find(str_of(g->name)), g);
        assert_null(arch_find(str_of(g->name)));
        assert_true(g->sm_count > 0 && g->l2_bytes >= 1 << 20 && g->memory_gbps > 100);
    }
}

static void of_architectures(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *gpu;
    } rows[] = {
        {"sm_75", "t4"}, {"sm_80", "a100"}, {"sm_88", "orin"}, {"sm_89", "l40s"}, {"sm_90", "h200"}, {"sm_90a", "h200"},
        {"sm_100", "b200"}, {"sm_103a", "b200"}, {"sm_110", "b200"}, {"sm_120", "rtx5090"}, {"sm_121a", "gb10"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(gpu_of_arch(arch_find(str_of(rows[i].arch)))->name, rows[i].gpu);
    for (int i = 0; arch_at(i); i++)
        assert_non_null(gpu_of_arch(arch_at(i)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_name),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(of_architectures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
