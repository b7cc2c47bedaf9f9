// Failures: a status for the caller, and a text for each thread.

#include <stdio.h>
#include <stdarg.h>

#include "api/api_priv.h"

enum { LONGEST = 1024 };

static _Thread_local char last_error[LONGEST];

hds_status api_fail(hds_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

hds_status api_fail_runtime(hdsrt_status status)
{
    switch (status) {
    case HDSRT_OK: return HDS_OK;
    case HDSRT_INVALID_ARGUMENT:
    case HDSRT_ASSERTION: return api_fail(HDS_INVALID_ARGUMENT, "%s", hdsrt_last_error());
    case HDSRT_OUT_OF_MEMORY: return api_fail(HDS_NO_MEMORY, "%s", hdsrt_last_error());
    case HDSRT_NO_DRIVER:
    case HDSRT_NO_DEVICE:
    case HDSRT_NO_CODE:
    case HDSRT_UNSUPPORTED:
    case HDSRT_DRIVER_ERROR: break;
    }
    return api_fail(HDS_DEVICE, "%s", hdsrt_last_error());
}

hds_status api_no_memory(void)
{
    return api_fail(HDS_NO_MEMORY, "out of memory");
}

const char *hds_last_error(void)
{
    return last_error;
}

const char *hds_status_text(hds_status status)
{
    switch (status) {
    case HDS_OK: return "no error";
    case HDS_ERRORS: return "errors in the source or in what the kernel does";
    case HDS_INVALID_ARGUMENT: return "invalid argument";
    case HDS_NO_TOOLCHAIN: return "no usable NVRTC";
    case HDS_DEVICE: return "the driver or the GPU refuses";
    case HDS_NO_MEMORY: return "out of memory";
    case HDS_INTERNAL: return "an error in hdsc itself";
    case HDS_INTERRUPTED: return "interrupted";
    }
    return "unknown status";
}

int hds_abi(void)
{
    return HDS_ABI;
}

const char *hds_version(void)
{
    return HDS_VERSION;
}
