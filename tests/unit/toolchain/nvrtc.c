// Looking for libnvrtc (with stand-ins), and compiling with a stand-in and with the real one.
#include "fixture.h"
#include "kernels.h"

#include <sys/stat.h>

#include "toolchain/log.h"

static void clear_environment(void)
{
    static const char *const names[] = {"HDS_NVRTC", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

static tool_nvrtc *open_whole(fixture *f)
{
    tool_nvrtc *nvrtc = tool_nvrtc_open(&f->arena, &f->dx, FAKES "/whole");
    assert_non_null(nvrtc);
    return nvrtc;
}

static void only_message(fixture *f, diag_code code)
{
    assert_int_equal(f->dx.all.len, 1);
    assert_int_equal(f->dx.all.at[0]->code, code);
}

static void missing(void **state)
{
    fixture *f = *state;
    assert_null(tool_nvrtc_open(&f->arena, &f->dx, "/nonexistent"));
    only_message(f, HDS0070);
    assert_string_equal(rendered(f),
                        "error[HDS0070]: cannot find NVRTC, which turns CUDA into PTX\n"
                        "  note: looked in:\n"
                        "    /nonexistent\n"
                        "  help: install the CUDA Toolkit 12.0 or newer, or the Python package "
                        "'nvidia-cuda-nvrtc', or give the library or its folder with '--nvrtc=PATH' or the "
                        "environment's HDS_NVRTC\n");
}

static void empty_folder(void **state)
{
    fixture *f = *state;
    assert_null(tool_nvrtc_open(&f->arena, &f->dx, f->folder));
    only_message(f, HDS0070);
    assert_non_null(strstr(rendered(f), f->folder));
}

static void too_old(void **state)
{
    fixture *f = *state;
    assert_null(tool_nvrtc_open(&f->arena, &f->dx, FAKES "/old/libnvrtc.so"));
    only_message(f, HDS0071);
    assert_non_null(strstr(rendered(f),
                           "error[HDS0071]: NVRTC 11.0 in '" FAKES "/old/libnvrtc.so' is too old: expected "
                           "12.0 or newer\n"));
}

static void unusable(void **state)
{
    fixture *f = *state;
    assert_null(tool_nvrtc_open(&f->arena, &f->dx, FAKES "/partial"));
    only_message(f, HDS0072);
    assert_non_null(strstr(rendered(f), "cannot be used as NVRTC: it has no nvrtcGetErrorString"));
}

static void no_library_at_all(void **state)
{
    fixture *f = *state;
    const char *path = write_file(f, "libnvrtc.so", STR("text"));
    assert_null(tool_nvrtc_open(&f->arena, &f->dx, path));
    only_message(f, HDS0072);
}

static void by_environment(void **state)
{
    fixture *f = *state;
    setenv("HDS_NVRTC", FAKES "/whole/libnvrtc.so", 1);
    tool_nvrtc *nvrtc = tool_nvrtc_open(&f->arena, &f->dx, NULL);
    assert_non_null(nvrtc);
    assert_int_equal(nvrtc->major, 12);
    assert_int_equal(nvrtc->minor, 3);
    assert_int_equal(nvrtc->archs.len, 2);
    tool_nvrtc_close(nvrtc);
    // The option wins over the environment.
    assert_null(tool_nvrtc_open(&f->arena, &f->dx, "/nonexistent"));
    clear_environment();
}

// CUDA_HOME's library is passed over because it is old; the wheel of the virtual environment comes later, after
// whatever real toolkit this machine has.
static void search_goes_on(void **state)
{
    fixture *f = *state;
    const char *root = arena_printf(&f->arena, "%s/lib/python3.11/site-packages/nvidia/cu13/lib", f->folder);
    assert_int_equal(system(arena_printf(&f->arena, "mkdir -p '%s' '%s/lib64'", root, f->folder)), 0);
    assert_int_equal(symlink(FAKES "/whole/libnvrtc.so", arena_printf(&f->arena, "%s/libnvrtc.so.13", root)), 0);
    assert_int_equal(symlink(FAKES "/old/libnvrtc.so", arena_printf(&f->arena, "%s/lib64/libnvrtc.so.11.2", f->folder)),
                     0);
    setenv("CUDA_HOME", f->folder, 1);
    setenv("VIRTUAL_ENV", f->folder, 1);
    tool_nvrtc *nvrtc = tool_nvrtc_open(&f->arena, &f->dx, NULL);
    assert_non_null(nvrtc);
    assert_int_equal(f->dx.all.len, 0);
    assert_true(nvrtc->major >= 12);
    tool_nvrtc_close(nvrtc);
    clear_environment();
}

// Among several versions in a folder the newest counts: 12.10 before 12.9 before 11.
static void newest_in_folder(void **state)
{
    fixture *f = *state;
    static const char *const links[][2] = {
        {"old", "libnvrtc.so.11.2"}, {"old", "libnvrtc.so.12.9"}, {"whole", "libnvrtc.so.12.10"}};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(symlink(arena_printf(&f->arena, FAKES "/%s/libnvrtc.so", links[i][0]),
                                 arena_printf(&f->arena, "%s/%s", f->folder, links[i][1])),
                         0);
    tool_nvrtc *nvrtc = tool_nvrtc_open(&f->arena, &f->dx, f->folder);
    assert_non_null(nvrtc);
    assert_true(str_ends(str_of(nvrtc->path), STR("libnvrtc.so.12.10")));
    tool_nvrtc_close(nvrtc);
}

static void architectures(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_whole(f);
    assert_true(tool_nvrtc_check_arch(nvrtc, &f->dx, arch_named("sm_90a")));
    assert_false(tool_nvrtc_check_arch(nvrtc, &f->dx, arch_named("sm_120")));
    only_message(f, HDS0073);
    assert_non_null(strstr(rendered(f), "NVRTC 12.3 does not know the architecture 'sm_120'\n"));
    assert_non_null(strstr(rendered(f), "knows sm_80, sm_90\n"));
    tool_nvrtc_close(nvrtc);
}

static void options(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_whole(f);
    static const char *const extra[] = {"-DX=1"};
    tool_compile_options o = {.target = arch_named("sm_90a"),
                              .cubin = true,
                              .line_info = true,
                              .fast_math = true,
                              .max_registers = 64,
                              .extra = extra,
                              .extra_len = 1};
    tool_result r;
    assert_true(tool_nvrtc_compile(nvrtc, &f->arena, &o, "text", &r));
    assert_string_equal(r.ptx.at,
                        "--gpu-architecture=sm_90a\n--ptxas-options=-v\n--generate-line-info\n--use_fast_math\n"
                        "--maxrregcount=64\n-DX=1\ntext\n");
    assert_int_equal(r.ptx.len, strlen(r.ptx.at));
    assert_int_equal(r.cubin.len, 4);
    o = (tool_compile_options){.target = arch_named("sm_80")};
    assert_true(tool_nvrtc_compile(nvrtc, &f->arena, &o, "text", &r));
    assert_string_equal(r.ptx.at, "--gpu-architecture=compute_80\ntext\n");
    assert_int_equal(r.cubin.len, 0);
    tool_nvrtc_close(nvrtc);
}

// From 12.8 on texts are tried without what they rarely need, and those that are rejected once more with it.
static void minimal(void **state)
{
    fixture *f = *state;
    static const char *const given[] = {"--minimal"};
    tool_compile_options o = {.target = arch_named("sm_80")};
    tool_result r;
    setenv("FAKE_NVRTC_MINOR", "8", 1);
    tool_nvrtc *nvrtc = open_whole(f);
    unsetenv("FAKE_NVRTC_MINOR");
    assert_true(tool_nvrtc_compile(nvrtc, &f->arena, &o, "text", &r));
    assert_string_equal(r.ptx.at, "--gpu-architecture=compute_80\n--minimal\ntext\n");
    assert_true(tool_nvrtc_compile(nvrtc, &f->arena, &o, "texture", &r));
    assert_string_equal(r.ptx.at, "--gpu-architecture=compute_80\ntexture\n");
    assert_false(tool_nvrtc_compile(nvrtc, &f->arena, &o, "reject", &r));
    assert_int_equal(r.status, TOOL_REJECTED);
    o.extra = given;
    o.extra_len = 1;
    assert_false(tool_nvrtc_compile(nvrtc, &f->arena, &o, "texture", &r));
    tool_nvrtc_close(nvrtc);
}

static bool reported(fixture *f, const tool_result *r)
{
    tool_log log;
    tool_log_parse(&f->arena, r->log, r->ptx, &log);
    return tool_nvrtc_report(&f->dx, r, &log);
}

static void rejection_and_failure(void **state)
{
    fixture *f = *state;
    src_add(&f->sources, "kernel.hds", STR("def f():\n    reject\n"));
    tool_nvrtc *nvrtc = open_whole(f);
    tool_compile_options o = {.target = arch_named("sm_80")};
    tool_result r;
    assert_false(tool_nvrtc_compile(nvrtc, &f->arena, &o, "reject", &r));
    assert_int_equal(r.status, TOOL_REJECTED);
    assert_false(reported(f, &r));
    only_message(f, HDS0074);
    assert_int_equal(src_location_of(&f->sources, f->dx.all.at[0]->span.begin).line, 2);
    assert_false(tool_nvrtc_compile(nvrtc, &f->arena, &o, "fail", &r));
    assert_int_equal(r.status, TOOL_FAILED);
    assert_false(reported(f, &r));
    assert_non_null(strstr(rendered(f), "error[HDS0077]: NVRTC failed: NVRTC_ERROR_BUILTIN_OPERATION_FAILURE\n"));
    tool_nvrtc_close(nvrtc);
}

static void many_at_once(void **state)
{
    fixture *f = *state;
    enum { COUNT = 40 };
    tool_nvrtc *nvrtc = open_whole(f);
    tool_compile_job jobs[COUNT];
    tool_result results[COUNT];
    for (int i = 0; i < COUNT; i++)
        jobs[i] = (tool_compile_job){{.target = arch_named("sm_80")}, arena_printf(&f->arena, "job %d", i)};
    assert_true(tool_nvrtc_compile_many(nvrtc, &f->arena, jobs, COUNT, results));
    for (int i = 0; i < COUNT; i++)
        assert_non_null(strstr(results[i].ptx.at, arena_printf(&f->arena, "\njob %d\n", i)));
    jobs[7].cuda_text = "reject";
    assert_false(tool_nvrtc_compile_many(nvrtc, &f->arena, jobs, COUNT, results));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(results[i].status, i == 7 ? TOOL_REJECTED : TOOL_COMPILED);
    assert_true(tool_nvrtc_compile_many(nvrtc, &f->arena, jobs, 0, results));
    tool_nvrtc_close(nvrtc);
}

// ---- with the real library --------------------------------------------------------------------------------------

static void real_compile(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    static const char *const targets[] = {"sm_80", "sm_89", "sm_90a", "sm_90"};
    tool_compile_job jobs[4];
    tool_result results[4], again;
    for (int i = 0; i < 4; i++) {
        assert_true(tool_nvrtc_check_arch(nvrtc, &f->dx, arch_named(targets[i])));
        jobs[i] = (tool_compile_job){{.target = arch_named(targets[i]), .cubin = i < 3}, kernels};
    }
    assert_true(tool_nvrtc_compile_many(nvrtc, &f->arena, jobs, 4, results));
    for (int i = 0; i < 4; i++) {
        const char *target = arena_printf(&f->arena, ".target %s\n", targets[i]);
        assert_non_null(strstr(results[i].ptx.at, target));
        assert_int_equal(results[i].cubin.len > 0, i < 3);
        assert_true(results[i].seconds > 0);
    }
    // Alone or beside others: the same bytes. (PTX of NVRTC 12.1 differs in a comment that numbers the calls.)
    assert_true(tool_nvrtc_compile(nvrtc, &f->arena, &jobs[1].options, kernels, &again));
    assert_true(str_equal(again.cubin, results[1].cubin));
    tool_nvrtc_close(nvrtc);
}

static void real_rejections(void **state)
{
    fixture *f = *state;
    src_add(&f->sources, "kernel.hds", STR("def f():\n    asm('bogus.s32')\n    y = x\n"));
    tool_nvrtc *nvrtc = open_or_skip(f);
    tool_compile_options o = {.target = arch_named("sm_80"), .cubin = true, .line_info = true};
    tool_result r;
    // ptxas complains about a line of the PTX, which leads back to the source.
    assert_false(tool_nvrtc_compile(nvrtc, &f->arena, &o,
                                    "extern \"C\" __global__ void f(int *x) {\n"
                                    "#line 2 \"kernel.hds\"\n"
                                    "    asm(\"bogus.s32 %0, 1;\" : \"=r\"(x[0]));\n}\n",
                                    &r));
    assert_int_equal(r.status, TOOL_REJECTED);
    assert_false(reported(f, &r));
    only_message(f, HDS0074);
    assert_int_equal(src_location_of(&f->sources, f->dx.all.at[0]->span.begin).line, 2);
    assert_false(tool_nvrtc_compile(nvrtc, &f->arena, &o,
                                    "extern \"C\" __global__ void f(int *x) {\n"
                                    "#line 3 \"kernel.hds\"\n"
                                    "    x[0] = y;\n}\n",
                                    &r));
    assert_false(reported(f, &r));
    assert_int_equal(f->dx.all.len, 2);
    assert_int_equal(src_location_of(&f->sources, f->dx.all.at[1]->span.begin).line, 3);
    static const char *const extra[] = {"--no-such-option"};
    o.extra = extra;
    o.extra_len = 1;
    assert_false(tool_nvrtc_compile(nvrtc, &f->arena, &o, kernels, &r));
    assert_int_equal(r.status, TOOL_FAILED);
    assert_false(reported(f, &r));
    assert_int_equal(f->dx.all.at[2]->code, HDS0077);
    tool_nvrtc_close(nvrtc);
}

// The tests of looking want an empty environment; those with a real library take the one that HDS_NVRTC named at first.
static int group_setup(void **state)
{
    (void)state;
    if (getenv("HDS_NVRTC"))
        setenv("HDS_UNIT_NVRTC", getenv("HDS_NVRTC"), 1);
    clear_environment();
    return 0;
}

static int use_real(void **state)
{
    const char *library = getenv("HDS_UNIT_NVRTC");
    if (library)
        setenv("HDS_NVRTC", library, 1);
    return fixture_setup(state);
}

#define REAL(name) cmocka_unit_test_setup_teardown(name, use_real, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing),        TEST(empty_folder),          TEST(too_old),
        TEST(unusable),       TEST(no_library_at_all),     TEST(by_environment),
        TEST(search_goes_on), TEST(newest_in_folder),      TEST(architectures),
        TEST(options),        TEST(minimal),               TEST(rejection_and_failure),
        TEST(many_at_once),   REAL(real_compile),          REAL(real_rejections),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
