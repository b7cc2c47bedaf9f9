// Resource numbers of cubins: against ptxas' own account, against cuobjdump, and on damaged files.
#include "fixture.h"
#include "kernels.h"

#include "toolchain/cubin.h"

static const char *const targets[] = {"sm_80", "sm_89", "sm_90a"};
static const char *const names[] = {"small", "shared", "local", "spill", "calls"};
enum { TARGETS = sizeof targets / sizeof *targets, NAMES = sizeof names / sizeof *names };

static tool_result compile_for(fixture *f, const tool_nvrtc *nvrtc, const char *target)
{
    tool_compile_options options = {.target = arch_named(target), .cubin = true};
    tool_result result;
    assert_true(tool_nvrtc_compile(nvrtc, &f->arena, &options, kernels, &result));
    assert_true(result.cubin.len > 0);
    return result;
}

// The number before or after [words] on the first line with [words] after the line that ends with [heading].
static long number_in(const char *log, const char *heading, const char *before, const char *after)
{
    const char *at = strstr(log, heading);
    assert_non_null(at);
    const char *end = strstr(at + 1, "Function properties"), *found = strstr(at, before);
    if (!found || (end && found > end))
        return 0;
    found += strlen(before);
    if (!*after)
        return strtol(found, NULL, 10);
    const char *unit = strstr(at, after);
    if (!unit || (end && unit > end))
        return 0;
    while (unit[-1] >= '0' && unit[-1] <= '9')
        unit--;
    return strtol(unit, NULL, 10);
}

static void agrees_with_ptxas(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    for (int t = 0; t < TARGETS; t++) {
        tool_result result = compile_for(f, nvrtc, targets[t]);
        tool_usage_list usage;
        assert_true(tool_cubin_usage(&f->arena, result.cubin.at, result.cubin.len, &usage));
        tool_usage_add_log(&usage, result.log);
        assert_int_equal(usage.arch, arch_named(targets[t])->major * 10 + arch_named(targets[t])->minor);
        assert_int_equal(usage.kernels.len, NAMES);
        for (int n = 0; n < NAMES; n++) {
            const tool_usage *u = tool_usage_of(&usage, names[n]);
            const char *heading = arena_printf(&f->arena, "Function properties for %s\n", names[n]);
            assert_non_null(u);
            assert_int_equal(u->registers, number_in(result.log.at, heading, "Used ", ""));
            assert_int_equal(u->stack_bytes, number_in(result.log.at, heading, "", " bytes stack frame"));
            assert_int_equal(u->shared_bytes, number_in(result.log.at, heading, "", " bytes smem"));
            assert_int_equal(u->spill_store_bytes, number_in(result.log.at, heading, "", " bytes spill stores"));
            assert_true(u->code_bytes > 0);
        }
        assert_int_equal(tool_usage_of(&usage, "shared")->shared_bytes, 4000);
        assert_int_equal(tool_usage_of(&usage, "shared")->reserved_bytes, usage.arch >= 90 ? 1024 : 0);
        assert_int_equal(tool_usage_of(&usage, "local")->stack_bytes, 256);
        assert_null(tool_usage_of(&usage, "helper"));
    }
    tool_nvrtc_close(nvrtc);
}

static void agrees_with_cuobjdump(void **state)
{
    fixture *f = *state;
    const char *tool = find_tool(f, "cuobjdump");
    if (!tool)
        skip();
    tool_nvrtc *nvrtc = open_or_skip(f);
    for (int t = 0; t < TARGETS; t++) {
        tool_result result = compile_for(f, nvrtc, targets[t]);
        tool_usage_list usage;
        assert_true(tool_cubin_usage(&f->arena, result.cubin.at, result.cubin.len, &usage));
        const char *path = write_file(f, "k.cubin", result.cubin);
        const char *text = output_of(f, arena_printf(&f->arena, "'%s' -res-usage '%s' 2>&1", tool, path));
        // A newer cuobjdump does not read cubins of CUDA 12.1.
        if (strstr(text, "does not contain device code"))
            skip();
        for (int n = 0; n < NAMES; n++) {
            const tool_usage *u = tool_usage_of(&usage, names[n]);
            const char *at = strstr(text, arena_printf(&f->arena, " Function %s:", names[n]));
            assert_non_null(at);
            unsigned registers, stack, shared;
            assert_int_equal(sscanf(strstr(at, "REG:"), "REG:%u STACK:%u SHARED:%u", &registers, &stack, &shared), 3);
            assert_int_equal(u->registers, registers);
            assert_int_equal(u->stack_bytes, stack);
            assert_int_equal(u->shared_bytes + u->reserved_bytes, shared);
        }
    }
    tool_nvrtc_close(nvrtc);
}

// Every cut and many changed bytes: nothing is read outside the file, and nothing is asked of the answer.
static void damaged_files(void **state)
{
    fixture *f = *state;
    tool_nvrtc *nvrtc = open_or_skip(f);
    tool_result result = compile_for(f, nvrtc, "sm_80");
    size_t size = result.cubin.len;
    uint64_t random = 7;
    for (int i = 0; i < 4000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t len = i % 2 ? size : (random >> 33) % size;
        char *copy = malloc(len ? len : 1);
        memcpy(copy, result.cubin.at, len);
        for (int k = 0; k < 8 && len; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            // Mostly the headers at both ends, where the offsets are.
            size_t anywhere = (random >> 33) % len, near_begin = anywhere % 64,
                   near_end = len - 1 - anywhere % 2048 % len;
            copy[k % 4 == 0 ? anywhere : k % 4 == 1 ? near_begin : near_end] = (char)(random >> 25);
        }
        arena_mark mark = arena_mark_get(&f->arena);
        tool_usage_list usage;
        tool_cubin_usage(&f->arena, copy, len, &usage);
        arena_reset(&f->arena, mark);
        free(copy);
    }
    tool_nvrtc_close(nvrtc);
}

static void no_cubins(void **state)
{
    fixture *f = *state;
    tool_usage_list usage;
    assert_false(tool_cubin_usage(&f->arena, "", 0, &usage));
    char zeros[256] = {0};
    assert_false(tool_cubin_usage(&f->arena, zeros, sizeof zeros, &usage));
    const char *error;
    str program;
    assert_true(file_read(&f->arena, "/proc/self/exe", &program, &error));
    assert_false(tool_cubin_usage(&f->arena, program.at, program.len, &usage));
}

static void log_of_ptxas(void **state)
{
    fixture *f = *state;
    tool_usage_list usage = {0};
    tool_usage_add(&f->arena, &usage, (tool_usage){.kernel = "a", .spill_store_bytes = -1, .spill_load_bytes = -1});
    tool_usage_add(&f->arena, &usage, (tool_usage){.kernel = "b", .spill_store_bytes = -1, .spill_load_bytes = -1});
    tool_usage_add_log(&usage, STR("ptxas info    : Function properties for helper\n"
                                   "    8 bytes stack frame, 1 bytes spill stores, 1 bytes spill loads\n"
                                   "ptxas info    : Function properties for b\n"
                                   "ptxas         .     504 bytes stack frame, 516 bytes spill stores, 588 bytes spill "
                                   "loads\n"
                                   "ptxas info    : Used 32 registers\n"));
    assert_int_equal(usage.kernels.at[0].spill_store_bytes, -1);
    assert_int_equal(usage.kernels.at[1].spill_store_bytes, 516);
    assert_int_equal(usage.kernels.at[1].spill_load_bytes, 588);
}

static void local_bytes_of_ptx(void **state)
{
    fixture *f = *state;
    str ptx = STR(".visible .entry first_one(\n)\n{\n\tret;\n}\n"
                  ".visible .entry first(\n)\n{\n\t.local .align 16 .b8 \t__local_depot1[144];\n\tret;\n}\n"
                  "\n.func helper(\n)\n{\n\t.local .align 16 .b8 \t__local_depot2[8];\n}\n"
                  ".visible .entry last()\n");
    tool_ptx_locals locals;
    tool_ptx_locals_of(&f->arena, ptx, &locals);
    assert_int_equal(tool_ptx_local_bytes(&locals, "first"), 144);
    assert_int_equal(tool_ptx_local_bytes(&locals, "first_one"), 0);
    assert_int_equal(tool_ptx_local_bytes(&locals, "last"), 0);
    assert_int_equal(tool_ptx_local_bytes(&locals, "none"), 0);
    tool_ptx_locals_of(&f->arena, STR(""), &locals);
    assert_int_equal(tool_ptx_local_bytes(&locals, "first"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(agrees_with_ptxas), TEST(agrees_with_cuobjdump), TEST(damaged_files),
                                       TEST(no_cubins), TEST(log_of_ptxas), TEST(local_bytes_of_ptx)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
