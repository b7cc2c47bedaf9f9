// What the tests of libhdsrt share: a library with kernels that the double of the driver understands, and processes.
//
// The runtime opens the driver once for the process, and a context that is retained stays so: what needs another driver
// runs in a child (rig_child), which may not use what the parent opened, so the parent opens nothing.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "hds/runtime.h"

// ---- code ---------------------------------------------------------------------------------------------------------

static const char rig_text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry saxpy(\n.param .f32 a,\n.param .u64 x,\n.param .u64 y,\n.param .u32 n\n)\n{\n}\n"
    ".visible .entry nothing()\n{\n}\n";

typedef struct rig {
    _Alignas(8) unsigned char image[8192];
    hdsrt_library library;
    hdsrt_kernel saxpy, nothing;
} rig;

static inline void rig_put(unsigned char *at, uint64_t value, int bytes)
{
    memcpy(at, &value, (size_t)bytes);
}

// One entry of a fat binary (src/toolchain/fatbin.h); the bytes used.
static inline size_t rig_entry(unsigned char *at, uint16_t arch, bool is_ptx)
{
    enum { HEADER = 64 };
    size_t payload = (sizeof rig_text + 7) / 8 * 8;
    memset(at, 0, HEADER + payload);
    rig_put(at, is_ptx ? 1 : 2, 2);
    rig_put(at + 2, 0x0101, 2);
    rig_put(at + 4, HEADER, 4);
    rig_put(at + 8, payload, 8);
    rig_put(at + 28, arch & ~HDSRT_ARCH_ONLY, 4);
    rig_put(at + 40, arch & HDSRT_ARCH_ONLY ? 0x100011 : 0x11, 8);
    memcpy(at + HEADER, rig_text, sizeof rig_text);
    return HEADER + payload;
}

// A library for [archs]; ptx: the index of the one that has PTX as well, or -1.
static inline void rig_make(rig *r, const uint16_t *archs, uint32_t count, int ptx)
{
    size_t used = 16;
    memset(r, 0, sizeof *r);
    for (uint32_t i = 0; i < count; i++)
        used += rig_entry(r->image + used, archs[i], false);
    if (ptx >= 0)
        used += rig_entry(r->image + used, archs[ptx], true);
    rig_put(r->image, 0xba55ed50, 4);
    rig_put(r->image + 4, 1, 2);
    rig_put(r->image + 6, 16, 2);
    rig_put(r->image + 8, used - 16, 8);
    r->library = (hdsrt_library){.name = "rig.hds",
                                 .image = r->image,
                                 .image_bytes = used,
                                 .archs = archs,
                                 .arch_count = count,
                                 .ptx_arch = ptx};
    r->saxpy = (hdsrt_kernel){.library = &r->library, .symbol = "saxpy", .name = "saxpy", .flags = HDSRT_LARGE_SHARED};
    r->nothing = (hdsrt_kernel){.library = &r->library, .symbol = "nothing", .name = "nothing"};
}

static inline void rig_usual(rig *r)
{
    static const uint16_t archs[] = {80, 90};
    rig_make(r, archs, 2, 1);
}

static inline void rig_unload(rig *r)
{
    hdsrt_unload(&r->library, (hdsrt_kernel *const[]){&r->saxpy, &r->nothing}, 2);
}

static const hdsrt_extents rig_small = {.grid = {2, 1, 1}, .block = {64, 1, 1}};

static inline hdsrt_status rig_saxpy(rig *r, const hdsrt_extents *extents, hdsrt_stream stream)
{
    float a = 2.0f;
    void *x = (void *)0x1000, *y = (void *)0x2000;
    int n = 100;
    return hdsrt_launch(&r->saxpy, extents, (void *[]){&a, &x, &y, &n}, stream);
}

static inline hdsrt_status rig_nothing(rig *r, const hdsrt_extents *extents)
{
    return hdsrt_launch(&r->nothing, extents, NULL, NULL);
}

// ---- children -----------------------------------------------------------------------------------------------------

static int rig_failures;

// In children, where cmocka's own assertions would jump into the parent's list of tests.
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, hdsrt_last_error());        \
            rig_failures++;                                                                                            \
        }                                                                                                              \
    } while (0)
#define EXPECT_FAILURE(status, call, text)                                                                             \
    do {                                                                                                               \
        EXPECT((call) == (status));                                                                                    \
        EXPECT(strstr(hdsrt_last_error(), text));                                                                      \
    } while (0)

// Runs [body] in a process of its own. It fails by EXPECT; leaks count, too, where the sanitizer looks for them.
static inline void rig_child(void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        body();
        fflush(NULL);
        exit(rig_failures != 0);
    }
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("the child ended with %#x", (unsigned)status);
}

// A test that is one child: RIG_TEST(name) { … }
#define RIG_TEST(name)                                                                                                 \
    static void name##_body(void);                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        rig_child(name##_body);                                                                                        \
    }                                                                                                                  \
    static void name##_body(void)
