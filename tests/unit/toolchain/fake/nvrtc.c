// A stand-in for libnvrtc. FAKE_OLD is version 11.0, FAKE_PARTIAL lacks most entry points, FAKE_WHOLE is complete and
// "compiles" by repeating its options: a text with 'reject' in it is rejected, one with 'fail' makes it fail, one with
// 'warned' is warned of; one with 'crash' kills the process, one with 'crash_once' only if it can make the file
// FAKE_NVRTC_CRASHED; one with 'texture' is rejected with --minimal. In the environment, FAKE_NVRTC_LOG is a file that gets
// a line for each time the library is opened ("open") and each compilation ("compile"), FAKE_NVRTC_MS how long that takes,
// FAKE_NVRTC_BYTES the size of cubins, FAKE_NVRTC_MINOR the minor version.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef FAKE_OLD
enum { MAJOR = 11, MINOR = 0 };
#else
enum { MAJOR = 12, MINOR = 3 };
#endif

int nvrtcVersion(int *major, int *minor);

static void record(const char *line)
{
    const char *path = getenv("FAKE_NVRTC_LOG");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd < 0)
        return;
    if (write(fd, line, strlen(line)) < 0)
        abort();
    close(fd);
}

int nvrtcVersion(int *major, int *minor)
{
    const char *given = getenv("FAKE_NVRTC_MINOR");
    record("open\n");
    *major = MAJOR;
    *minor = given ? atoi(given) : MINOR;
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

static void crash(const char *text)
{
    const char *path = getenv("FAKE_NVRTC_CRASHED");
    int fd = strstr(text, "crash_once") ? open(path ? path : "", O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;
    if (fd >= 0 || (strstr(text, "crash") && !strstr(text, "crash_once")))
        kill(getpid(), SIGKILL);
}

int nvrtcCompileProgram(void *handle, int option_count, const char *const *options)
{
    program *p = handle;
    const char *ms = getenv("FAKE_NVRTC_MS");
    long pause = ms ? atol(ms) : 0;
    record("compile\n");
    crash(p->text);
    nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000}, NULL);
    if (strstr(p->text, "warned"))
        snprintf(p->log, sizeof p->log,
                 "warned.hds(9): warning #177-D: variable \"x\" was declared but never referenced\n"
                 "ptxas warning : Stack size for entry function 'warned' cannot be statically determined\n");
    if (strstr(p->text, "fail"))
        return 7;
    if (strstr(p->text, "reject")) {
        snprintf(p->log, sizeof p->log, "kernel.hds(2): error: identifier \"reject\" is undefined\n");
        return 6;
    }
    for (int i = 0; i < option_count; i++) {
        if (strcmp(options[i], "--minimal") == 0 && strstr(p->text, "texture"))
            return 6;
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

static size_t cubin_size(void)
{
    const char *bytes = getenv("FAKE_NVRTC_BYTES");
    size_t size = bytes ? (size_t)atol(bytes) : 4;
    return size < 4 ? 4 : size;
}

int nvrtcGetCUBINSize(void *handle, size_t *size)
{
    *size = ((program *)handle)->has_cubin ? cubin_size() : 0;
    return 0;
}

// What follows the head of the file, which has no sections, depends on the text.
int nvrtcGetCUBIN(void *handle, char *cubin)
{
    unsigned state = 1;
    for (const char *at = ((program *)handle)->text; *at; at++)
        state = state * 31 + (unsigned char)*at;
    for (size_t i = 0; i < cubin_size(); i++) {
        state = state * 1664525 + 1013904223;
        cubin[i] = i < 64 ? 0 : (char)(state >> 24);
    }
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
