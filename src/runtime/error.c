// Failures: a status, and the text of the thread's last one.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/internal.h"

static _Thread_local char last_text[1024];
static _Thread_local int last_code;

int hdsrt_abi(void)
{
    return HDSRT_ABI;
}

const char *hdsrt_version(void)
{
    return HDSRT_VERSION;
}

const char *hdsrt_status_text(hdsrt_status status)
{
    static const char *const texts[] = {
        [HDSRT_OK] = "no error",
        [HDSRT_INVALID_ARGUMENT] = "invalid argument",
        [HDSRT_NO_DRIVER] = "no CUDA driver",
        [HDSRT_NO_DEVICE] = "no such GPU",
        [HDSRT_NO_CODE] = "not compiled for this GPU",
        [HDSRT_UNSUPPORTED] = "not supported by this GPU or its driver",
        [HDSRT_OUT_OF_MEMORY] = "out of memory",
        [HDSRT_ASSERTION] = "assertion failed",
        [HDSRT_DRIVER_ERROR] = "error of the CUDA driver",
    };
    return (size_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

const char *hdsrt_last_error(void)
{
    return last_text;
}

int hdsrt_last_driver_error(void)
{
    return last_code;
}

static void one_line(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ')
            *text = ' ';
    }
}

hdsrt_status hdsrt_fail(hdsrt_status status, const char *format, ...)
{
    char text[sizeof last_text]; // arguments may be the last text
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    one_line(text);
    memcpy(last_text, text, sizeof text);
    last_code = 0;
    return status;
}

static hdsrt_status status_of(int result)
{
    switch (result) {
    case HDSRT_CUDA_OUT_OF_MEMORY:
        return HDSRT_OUT_OF_MEMORY;
    case HDSRT_CUDA_STUB_LIBRARY:
        return HDSRT_NO_DRIVER;
    case HDSRT_CUDA_NO_DEVICE:
    case HDSRT_CUDA_INVALID_DEVICE:
        return HDSRT_NO_DEVICE;
    case HDSRT_CUDA_NO_BINARY:
        return HDSRT_NO_CODE;
    case HDSRT_CUDA_UNSUPPORTED_PTX:
    case HDSRT_CUDA_NOT_SUPPORTED:
        return HDSRT_UNSUPPORTED;
    default:
        return HDSRT_DRIVER_ERROR;
    }
}

// CUDA Driver API, CUresult: those after which "the process must be terminated and relaunched", or its context reset.
static bool is_fatal(int result)
{
    static const int codes[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 720};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i] == result)
            return true;
    }
    return false;
}

// What can be done about it.
static const char *advice(int result)
{
    if (result == HDSRT_CUDA_NOT_INITIALIZED && hdsrt_is_forked())
        return ": this process was forked from one that had used the GPU, and cannot use it itself; fork before, or "
               "exec";
    if (result == HDSRT_CUDA_CONTEXT_IS_DESTROYED)
        return ": make another context current, or call hdsrt_use_device()";
    if (result == HDSRT_CUDA_DEINITIALIZED)
        return ": the process is ending";
    if (result == HDSRT_CUDA_UNSUPPORTED_PTX)
        return ": update the driver, or compile for this GPU's architecture";
    return is_fatal(result) ? ": the context is lost and has to be reset" : "";
}

hdsrt_status hdsrt_driver_fail(int result, const char *what, ...)
{
    const hdsrt_driver *cuda = hdsrt_driver_bound();
    const char *text = NULL, *name = NULL;
    char doing[512];
    va_list args;
    if (!result)
        return HDSRT_OK;
    va_start(args, what);
    vsnprintf(doing, sizeof doing, what, args);
    va_end(args);
    if (cuda && cuda->error_text(result, &text))
        text = NULL;
    if (cuda && cuda->error_name(result, &name))
        name = NULL;
    if (text && name)
        hdsrt_fail(status_of(result), "%s: %s (%s)%s", doing, text, name, advice(result));
    else
        hdsrt_fail(status_of(result), "%s: CUDA error %d%s", doing, result, advice(result));
    last_code = result;
    return status_of(result);
}
