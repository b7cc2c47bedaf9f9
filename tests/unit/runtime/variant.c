// Which code of a library a GPU runs: the double chooses as the driver does, and the runtime has to say the same.
#include "rig.h"

enum { A = HDSRT_ARCH_ONLY };

static const struct {
    uint16_t archs[6];
    int count, ptx, gpu;
    int expected; // index; -1: no code
} cases[] = {
    {{80, 90, 90 | A}, 3, 1, 90, 2},
    {{80, 90}, 2, 1, 90, 1},
    {{80, 86, 90}, 3, 2, 86, 1},
    {{80, 86, 90}, 3, 2, 89, 1},
    {{80, 86, 90}, 3, 2, 87, 1},
    {{80, 90}, 2, 1, 100, 1},
    {{80, 90}, 2, 0, 100, 0},
    {{80, 90}, 2, -1, 100, -1},
    {{80, 90 | A}, 2, -1, 100, -1},
    {{80, 90 | A}, 2, 0, 100, 0},
    {{80, 90 | A}, 2, 1, 100, -1},
    {{80, 90 | A}, 2, 1, 90, 1},
    {{90}, 1, 0, 80, -1},
    {{86}, 1, -1, 80, -1},
    {{80}, 1, 0, 75, -1},
    {{75, 80}, 2, 0, 75, 0},
    {{75, 80}, 2, 0, 120, 0},
    {{100, 100 | A, 103 | A}, 3, 0, 103, 2},
    {{100, 100 | A}, 2, 0, 103, 0},
    {{100, 120}, 2, 0, 110, 0},
    {{80, 120 | A}, 2, -1, 121, -1},
    {{80}, 1, 0, 90, 0},
    {{0}, 0, -1, 90, -1},
};

static int index_of_case;

static void one_case(void)
{
    rig r;
    int variant = -7, n = cases[index_of_case].count, expected = cases[index_of_case].expected;
    const uint16_t *archs = cases[index_of_case].archs;
    rig_make(&r, archs, (uint32_t)n, cases[index_of_case].ptx);
    fake_cuda_arch(0, cases[index_of_case].gpu);
    hdsrt_status status = hdsrt_variant(&r.library, &variant);
    EXPECT(expected < 0 ? status == HDSRT_NO_CODE && variant == -7 : status == HDSRT_OK && variant == expected);
    EXPECT(hdsrt_load(&r.library) == status);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == status);
    EXPECT(fake_cuda_launches() == !status);
    fake_cuda_launch l;
    if (expected >= 0)
        EXPECT(fake_cuda_launch_at(0, &l) && l.arch == archs[expected]);
    if (rig_failures)
        fprintf(stderr, "… in case %d\n", index_of_case);
    rig_unload(&r);
}

static void choices(void **state)
{
    (void)state;
    for (index_of_case = 0; index_of_case < (int)(sizeof cases / sizeof *cases); index_of_case++)
        rig_child(one_case);
}

RIG_TEST(the_text)
{
    static const uint16_t archs[] = {80, 90 | A};
    rig r;
    rig_make(&r, archs, 2, -1);
    fake_cuda_arch(0, 100);
    EXPECT_FAILURE(
        HDSRT_NO_CODE, hdsrt_load(&r.library),
        "'rig.hds' was compiled for sm_80, sm_90a, and this GPU is of sm_100: compile it with --arch sm_100 as well");
    EXPECT(hdsrt_last_driver_error() == 0 && fake_cuda_calls("cuLibraryLoadData") == 0);
    rig_unload(&r);
}

RIG_TEST(loading_is_done_once)
{
    rig r;
    rig_usual(&r);
    for (int i = 0; i < 3; i++)
        EXPECT(hdsrt_load(&r.library) == HDSRT_OK);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && rig_nothing(&r, &rig_small) == HDSRT_OK);
    EXPECT(fake_cuda_calls("cuLibraryLoadData") == 1 && fake_cuda_live("libraries") == 1);
    rig_unload(&r);
    EXPECT(fake_cuda_live("libraries") == 0);
    rig_unload(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices),
        cmocka_unit_test(the_text),
        cmocka_unit_test(loading_is_done_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
