// As much of NVRTC as the tests of emitted text need: the compiler's verdict on a text, without any header or include
// path.
#pragma once

#include <dlfcn.h>

#include "golden.h"

typedef struct nvrtc {
    void *library;
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*destroy)(void **);
    int (*ptx_size)(void *, size_t *);
    int (*ptx)(void *, char *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
} nvrtc;

static inline void *nvrtc_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

// False where there is no NVRTC: then nothing can be said about the text. One and the same all over the test.
static inline bool nvrtc_open(nvrtc *n)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib/libnvrtc.so"};
    memset(n, 0, sizeof *n);
    for (size_t i = 0; i < sizeof names / sizeof *names && !n->library; i++)
        n->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return false;
    *(void **)&n->create = nvrtc_symbol(n->library, "nvrtcCreateProgram");
    *(void **)&n->compile = nvrtc_symbol(n->library, "nvrtcCompileProgram");
    *(void **)&n->destroy = nvrtc_symbol(n->library, "nvrtcDestroyProgram");
    *(void **)&n->ptx_size = nvrtc_symbol(n->library, "nvrtcGetPTXSize");
    *(void **)&n->ptx = nvrtc_symbol(n->library, "nvrtcGetPTX");
    *(void **)&n->log_size = nvrtc_symbol(n->library, "nvrtcGetProgramLogSize");
    *(void **)&n->log = nvrtc_symbol(n->library, "nvrtcGetProgramLog");
    return true;
}

// The PTX of [text] for [target], which ptxas has accepted too; fails the test on any error or warning.
static inline const char *nvrtc_ptx(nvrtc *n, arena *a, const char *name, const char *text, const char *target)
{
    const char *options[] = {arena_printf(a, "--gpu-architecture=%s", target), "--std=c++17"};
    void *program = NULL;
    assert_int_equal(n->create(&program, text, name, 0, NULL, NULL), 0);
    int status = n->compile(program, 2, options);
    size_t size = 0;
    n->log_size(program, &size);
    char *log = arena_alloc(a, size + 1);
    n->log(program, log);
    if (status || strlen(log) > 1)
        fail_msg("%s for %s:\n%s\n%s", name, target, log, text);
    n->ptx_size(program, &size);
    char *ptx = arena_alloc(a, size + 1);
    n->ptx(program, ptx);
    n->destroy(&program);
    return ptx;
}
