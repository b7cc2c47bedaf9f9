// A stand-in for libnvrtc. FAKE_OLD is version 11.0, FAKE_PARTIAL lacks most entry points, FAKE_WHOLE is complete and
// "compiles" by repeating its options: a text with 'reject' in it is rejected, one with 'fail' makes it fail.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FAKE_OLD
enum { MAJOR = 11, MINOR = 0 };
#else
enum { MAJOR = 12, MINOR = 3 };
#endif

int nvrtcVersion(int *major, int *minor);

int nvrtcVersion(int *major, int *minor)
{
    *major = MAJOR;
    *minor = MINOR;
    return 0;
}

#ifdef FAKE_WHOLE

typedef struct program {
    const char *text;
    char ptx[4096], log[256];
    int has_cubin;
} program;

#define NVRTC_API(result, name, parameters) result name parameters;
#include "../../../../src/toolchain/nvrtc_api.def"
#undef NVRTC_API

const char *nvrtcGetErrorString(int result)
{
    return result == 6 ? "NVRTC_ERROR_COMPILATION" : result == 7 ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" : "other";
}

int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 2;
    return 0;
}

int nvrtcGetSupportedArchs(int *archs)
{
    archs[0] = 80;
    archs[1] = 90;
    return 0;
}

int nvrtcCreateProgram(void **out, const char *text, const char *name, int header_count, const char *const *headers,
                       const char *const *header_names)
{
    (void)name, (void)header_count, (void)headers, (void)header_names;
    program *p = calloc(1, sizeof *p);
    p->text = text;
    *out = p;
    return p ? 0 : 1;
}

int nvrtcDestroyProgram(void **p)
{
    free(*p);
    *p = NULL;
    return 0;
}

int nvrtcCompileProgram(void *handle, int option_count, const char *const *options)
{
    program *p = handle;
    if (strstr(p->text, "fail"))
        return 7;
    if (strstr(p->text, "reject")) {
        snprintf(p->log, sizeof p->log, "kernel.hds(2): error: identifier \"reject\" is undefined\n");
        return 6;
    }
    for (int i = 0; i < option_count; i++) {
        size_t len = strlen(p->ptx);
        snprintf(p->ptx + len, sizeof p->ptx - len, "%s\n", options[i]);
        p->has_cubin |= strstr(options[i], "=sm_") != NULL;
    }
    size_t len = strlen(p->ptx);
    snprintf(p->ptx + len, sizeof p->ptx - len, "%s\n", p->text);
    return 0;
}

int nvrtcGetPTXSize(void *handle, size_t *size)
{
    *size = strlen(((program *)handle)->ptx) + 1;
    return 0;
}

int nvrtcGetPTX(void *handle, char *ptx)
{
    strcpy(ptx, ((program *)handle)->ptx);
    return 0;
}

int nvrtcGetCUBINSize(void *handle, size_t *size)
{
    *size = ((program *)handle)->has_cubin ? 4 : 0;
    return 0;
}

int nvrtcGetCUBIN(void *handle, char *cubin)
{
    (void)handle;
    memcpy(cubin,
           "\x7f"
           "ELF",
           4);
    return 0;
}

int nvrtcGetProgramLogSize(void *handle, size_t *size)
{
    *size = strlen(((program *)handle)->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(void *handle, char *log)
{
    strcpy(log, ((program *)handle)->log);
    return 0;
}

#endif
