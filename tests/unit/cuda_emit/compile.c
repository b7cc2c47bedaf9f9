// What NVRTC and nvcc say about emitted text: nothing. Skipped where there is none.
#include "nvrtc.h"

#include "cuda_emit/prelude.h"

#include <unistd.h>

static const char *const targets[] = {"sm_80", "sm_89", "sm_90a"};
enum { TARGETS = sizeof targets / sizeof *targets };

// Goldens with instructions that not all architectures have say so.
static bool runs_on(const golden *g, const char *target)
{
    return !g->from || arch_has(arch_find(str_of(target)), g->from);
}

// The head of a kernel (not of a function called by it: printf takes its arguments in memory) that has local memory.
static const char *local_kernel(const char *ptx)
{
    const char *kernel = NULL;
    for (const char *at = ptx; *at; at++) {
        if (strncmp(at, ".entry ", 7) == 0)
            kernel = at;
        else if (strncmp(at, ".func ", 6) == 0)
            kernel = NULL;
        else if (kernel && strncmp(at, "__local_depot", 13) == 0)
            return kernel;
    }
    return NULL;
}

static void compile_golden(nvrtc *n, const char *name, const char *target)
{
    golden g;
    golden_emit(&g, name, NULL);
    bool fits = runs_on(&g, target);
    golden_free(&g);
    if (!fits)
        return;
    golden_emit(&g, name, target);
    const char *ptx = nvrtc_ptx(n, &g.arena, name, str_text(&g.text), target);
    // Register arrays with constant indices have become registers.
    const char *kernel = strcmp(name, "checks") == 0 ? NULL : local_kernel(ptx);
    if (kernel)
        fail_msg("%s for %s keeps something in local memory:\n%s", name, target, kernel);
    golden_free(&g);
}

static void test_goldens_compile(void **state)
{
    (void)state;
    nvrtc n;
    if (!nvrtc_open(&n))
        skip();
    arena a;
    arena_init(&a, NULL);
    for (const char **name = golden_names(&a); *name; name++)
        for (int t = 0; t < TARGETS; t++)
            compile_golden(&n, *name, targets[t]);
    arena_free(&a);
}

// Each snippet with what it needs, and nothing else.
static void test_prelude_pieces_compile(void **state)
{
    (void)state;
    nvrtc n;
    if (!nvrtc_open(&n))
        skip();
    static const char *const all[] = {"sm_75", "sm_80", "sm_89", "sm_90a"};
    for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
        arena a;
        arena_init(&a, NULL);
        str_buf text;
        str_buf_init(&text, &a);
        cu_prelude base;
        cu_prelude_init(&base, &a, arch_find(str_of(all[t])), false);
        for (int i = 0; i < base.count; i++) {
            if (base.snippets[i].is_host)
                continue;
            cu_prelude one;
            cu_prelude_init(&one, &a, base.arch, false);
            if (!cu_prelude_use(&one, base.snippets[i].name))
                fail_msg("%.*s is not there for %s", (int)base.snippets[i].name.len, base.snippets[i].name.at, all[t]);
            // A namespace each, so that one compilation sees them all.
            str_addf(&text, "namespace piece_%d {\n", i);
            cu_prelude_print(&one, CU_DEVICE_SNIPPETS, &text);
            str_adds(&text, "}\n");
        }
        // Unused static functions are what these texts consist of.
        const char *quiet = arena_printf(&a, "#pragma nv_diag_suppress 177\n%s", str_text(&text));
        nvrtc_ptx(&n, &a, "prelude", quiet, all[t]);
        arena_free(&a);
    }
}

// Host functions are nvcc's.
static void test_host_functions_compile(void **state)
{
    (void)state;
    const char *nvcc = "/usr/local/cuda/bin/nvcc";
    if (access(nvcc, X_OK) != 0)
        skip();
    golden g;
    golden_emit(&g, "host", NULL);
    char folder[] = "/tmp/cuda_emit_XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *source = file_join(&g.arena, folder, "host.cu"), *object = file_join(&g.arena, folder, "host.o"),
               *error;
    const char *log_path = file_join(&g.arena, folder, "log");
    assert_true(file_write(&g.arena, source, (str){g.text.at, g.text.len}, &error));
    int status =
        system(arena_printf(&g.arena, "%s -std=c++17 -Wno-deprecated-gpu-targets -arch=sm_90 -c -o %s %s > %s 2>&1",
                            nvcc, object, source, log_path));
    str log;
    assert_true(file_read(&g.arena, log_path, &log, &error));
    if (status || log.len)
        fail_msg("%.*s\n%s", (int)log.len, log.at, str_text(&g.text));
    unlink(source);
    unlink(object);
    unlink(log_path);
    rmdir(folder);
    golden_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens_compile),
        cmocka_unit_test(test_prelude_pieces_compile),
        cmocka_unit_test(test_host_functions_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
