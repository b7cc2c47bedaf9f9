// ptxas as a program: found beside NVRTC, run without files on a disk, its code joined with NVRTC's; PTX of other architectures.
#include "fixture.h"

#include <sys/stat.h>

#include "toolchain/cubin.h"
#include "toolchain/cubin_join.h"
#include "toolchain/ptxas.h"

static const char waits[] =
    "extern \"C\" __global__ void waits(const float *x, float *y)\n"
    "{\n"
    "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
    "    y[threadIdx.x] = x[threadIdx.x] / 3.0f;\n"
    "    asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
    "}\n";
static const char other[] = "extern \"C\" __global__ void other(float *x) { x[threadIdx.x] *= 2.0f; }\n";

// A program of that name in [folder], below the fixture's.
static const char *write_program(fixture *f, const char *folder, const char *script)
{
    char *command = arena_printf(&f->arena, "mkdir -p '%s/%s'", f->folder, folder);
    assert_int_equal(system(command), 0);
    const char *path = write_file(f, arena_printf(&f->arena, "%s/ptxas", folder), str_of(script));
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static bool find(fixture *f, const char *nvrtc, tool_ptxas *out)
{
    return tool_ptxas_find(&f->arena, arena_printf(&f->arena, "%s/%s", f->folder, nvrtc), out);
}

static void finds_it_beside_nvrtc(void **state)
{
    fixture *f = *state;
    tool_ptxas found;
    static const char *const libraries[] = {"a/lib64/libnvrtc.so.13", "a/targets/x86_64-linux/lib/libnvrtc.so.13",
                                            "w/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"};
    unsetenv("HDS_PTXAS");
    for (int i = 0; i < 3; i++)
        assert_false(find(f, libraries[i], &found));
    const char *toolkit = write_program(f, "a/bin", "#!/bin/sh\n");
    write_program(f, "w/nvidia/cuda_nvcc/bin", "#!/bin/sh\n");
    char *command = arena_printf(&f->arena, "cd '%s' && mkdir -p a/lib64 a/targets/x86_64-linux/lib w/nvidia/cuda_nvrtc/lib",
                                 f->folder);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 3; i++)
        assert_true(find(f, libraries[i], &found));
    assert_true(find(f, libraries[1], &found));
    assert_string_equal(found.path, toolkit);
    assert_non_null(strstr(found.identity, "ptxas "));
}

static void takes_the_one_that_is_named(void **state)
{
    fixture *f = *state;
    tool_ptxas found;
    const char *path = write_program(f, "named", "#!/bin/sh\n");
    write_program(f, "a/bin", "#!/bin/sh\n");
    assert_int_equal(system(arena_printf(&f->arena, "mkdir -p '%s/a/lib'", f->folder)), 0);
    setenv("HDS_PTXAS", path, 1);
    assert_true(find(f, "a/lib/libnvrtc.so", &found));
    assert_string_equal(found.path, path);
    setenv("HDS_PTXAS", "off", 1);
    assert_false(find(f, "a/lib/libnvrtc.so", &found));
    setenv("HDS_PTXAS", "nowhere/ptxas", 1);
    assert_false(find(f, "a/lib/libnvrtc.so", &found));
    unsetenv("HDS_PTXAS");
}

// What it prints is the log; what it writes is the code.
static void runs_it_on_files_in_memory(void **state)
{
    fixture *f = *state;
    tool_result result;
    const char *path = write_program(f, "p", "#!/bin/sh\n[ $# = 5 ] && echo \"$1 $2\" && cat \"$3\" > \"$5\"\n");
    assert_true(tool_ptxas_run(&f->arena, path, arch_named("sm_90a"), STR(".version 9.0"), &result));
    assert_int_equal(result.status, TOOL_COMPILED);
    assert_true(str_equal(result.cubin, STR(".version 9.0")));
    assert_true(str_equal(result.ptx, STR(".version 9.0")));
    assert_true(str_equal(result.log, STR("-v -arch=sm_90a\n")));
}

static void says_why_it_failed(void **state)
{
    fixture *f = *state;
    tool_result result;
    const char *refuses = write_program(f, "r", "#!/bin/sh\necho 'ptxas fatal   : no'; exit 255\n");
    assert_false(tool_ptxas_run(&f->arena, refuses, arch_named("sm_80"), STR("x"), &result));
    assert_int_equal(result.status, TOOL_FAILED);
    assert_string_equal(result.failure, "exit code 255");
    assert_true(str_equal(result.log, STR("ptxas fatal   : no\n")));
    const char *idle = write_program(f, "i", "#!/bin/sh\n");
    assert_false(tool_ptxas_run(&f->arena, idle, arch_named("sm_80"), STR("x"), &result));
    assert_string_equal(result.failure, "ptxas made no code");
    assert_false(tool_ptxas_run(&f->arena, "/nowhere/ptxas", arch_named("sm_80"), STR("x"), &result));
    assert_non_null(strstr(result.failure, "cannot be started"));
}

static void makes_ptx_of_other_architectures(void **state)
{
    fixture *f = *state;
    const str ptx = STR(".version 9.0\n.target sm_80\n{\n\t// begin inline asm\n\tgriddepcontrol.wait;\n\t// end inline asm\n"
                        "\tgriddepcontrol.launch_dependents;\n\tret;\n}\n");
    assert_string_equal(tool_ptx_for(&f->arena, ptx, arch_named("sm_86")).at,
                        ".version 9.0\n.target sm_86\n{\n\t// begin inline asm\n\t// end inline asm\n\tret;\n}\n");
    assert_string_equal(tool_ptx_for(&f->arena, ptx, arch_named("sm_90a")).at,
                        ".version 9.0\n.target sm_90a\n{\n\t// begin inline asm\n\tgriddepcontrol.wait;\n\t// end inline asm\n"
                        "\tgriddepcontrol.launch_dependents;\n\tret;\n}\n");
}

static tool_result compile(fixture *f, const tool_nvrtc *nvrtc, const char *target, bool cubin, const char *text)
{
    tool_compile_options options = {.target = arch_named(target), .cubin = cubin};
    tool_result result;
    assert_true(tool_nvrtc_compile(nvrtc, &f->arena, &options, text, &result));
    return result;
}

static const tool_usage *usage_of(fixture *f, str cubin, const char *kernel)
{
    tool_usage_list *list = ARENA_NEW(&f->arena, tool_usage_list);
    assert_true(tool_cubin_usage(&f->arena, cubin.at, cubin.len, list));
    return tool_usage_of(list, kernel);
}

// PTX for sm_80 of a kernel that waits for the one before it, which only sm_90a can.
static void makes_what_nvrtc_makes(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    tool_nvrtc_identity file;
    tool_ptxas ptxas;
    unsetenv("HDS_PTXAS");
    assert_true(tool_nvrtc_identity_of(&f->arena, nvrtc, &file));
    if (!tool_ptxas_find(&f->arena, file.path, &ptxas))
        skip();
    tool_result shared = compile(f, nvrtc, "sm_80", false, waits), made;
    const arch *hopper = arch_named("sm_90a"), *ampere = arch_named("sm_80");
    assert_false(tool_ptxas_run(&f->arena, ptxas.path, ampere, shared.ptx, &made));
    assert_true(tool_ptxas_run(&f->arena, ptxas.path, ampere, tool_ptx_for(&f->arena, shared.ptx, ampere), &made));
    assert_non_null(usage_of(f, made.cubin, "waits"));
    assert_non_null(strstr(made.log.at, "Function properties for waits"));
    assert_true(tool_ptxas_run(&f->arena, ptxas.path, hopper, tool_ptx_for(&f->arena, shared.ptx, hopper), &made));
    const tool_result whole = compile(f, nvrtc, "sm_90a", true, waits), beside = compile(f, nvrtc, "sm_90a", true, other);
    assert_int_equal(usage_of(f, made.cubin, "waits")->registers, usage_of(f, whole.cubin, "waits")->registers);
    const str both[] = {made.cubin, beside.cubin};
    const char *why = NULL;
    str joined;
    assert_true(tool_cubin_join(&f->arena, both, 2, &joined, &why));
    assert_non_null(usage_of(f, joined, "waits"));
    assert_non_null(usage_of(f, joined, "other"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_it_beside_nvrtc),      TEST(takes_the_one_that_is_named),      TEST(runs_it_on_files_in_memory),
        TEST(says_why_it_failed),         TEST(makes_ptx_of_other_architectures), TEST(makes_what_nvrtc_makes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
