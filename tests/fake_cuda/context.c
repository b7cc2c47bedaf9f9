// Devices and contexts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

enum { MAX_STACK = 16 };

fake_device fake_devices[MAX_DEVICES];
int fake_device_count = 1;
static int driver_version = 13000;
static unsigned long long last_id;
static fake_context *made; // by cuCtxCreate
static _Thread_local fake_context *stack[MAX_STACK];
static _Thread_local int depth;

void fake_cuda_devices(int count)
{
    fake_device_count = count < MAX_DEVICES ? count : MAX_DEVICES;
}

void fake_cuda_arch(int device, int arch)
{
    fake_devices[device].arch = arch;
}

void fake_cuda_version(int version)
{
    driver_version = version;
}

// ---- the driver, errors -----------------------------------------------------------------------------------------

int cuInit(unsigned flags)
{
    int result = fake_begin("cuInit");
    if (!result)
        result = flags ? INVALID_VALUE : fake_initialise();
    return fake_end("cuInit", result, "%u", flags);
}

int cuDriverGetVersion(int *version)
{
    int result = fake_begin("cuDriverGetVersion");
    if (!result)
        *version = driver_version;
    return fake_end("cuDriverGetVersion", result, "%s", "");
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static const char *describe(int code, bool is_name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == code)
            return is_name ? errors[i].name : errors[i].text;
    }
    return NULL;
}

int cuGetErrorString(int code, const char **text)
{
    int result = fake_begin("cuGetErrorString");
    *text = result ? NULL : describe(code, false);
    return fake_end("cuGetErrorString", result ? result : *text ? SUCCESS : INVALID_VALUE, "%d", code);
}

int cuGetErrorName(int code, const char **text)
{
    int result = fake_begin("cuGetErrorName");
    *text = result ? NULL : describe(code, true);
    return fake_end("cuGetErrorName", result ? result : *text ? SUCCESS : INVALID_VALUE, "%d", code);
}

// ---- devices ----------------------------------------------------------------------------------------------------

int fake_device_number(int device)
{
    return device >= 0 && device < fake_device_count ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceGetCount(int *count)
{
    int result = fake_begin_ready("cuDeviceGetCount");
    if (!result)
        *count = fake_device_count;
    return fake_end("cuDeviceGetCount", result, "%s", "");
}

int cuDeviceGet(int *device, int ordinal)
{
    int result = fake_begin_ready("cuDeviceGet");
    if (!result && !(result = fake_device_number(ordinal)))
        *device = ordinal;
    return fake_end("cuDeviceGet", result, "%d", ordinal);
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    int result = fake_begin_ready("cuDeviceGetName");
    if (!result && !(result = fake_device_number(device)))
        snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    return fake_end("cuDeviceGetName", result, "%d", device);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    int result = fake_begin_ready("cuDeviceTotalMem_v2");
    if (!result && !(result = fake_device_number(device)))
        *bytes = (size_t)1 << 36;
    return fake_end("cuDeviceTotalMem_v2", result, "%d", device);
}

int cuDeviceGetPCIBusId(char *id, int bytes, int device)
{
    int result = fake_begin_ready("cuDeviceGetPCIBusId");
    if (!result && !(result = fake_device_number(device)))
        snprintf(id, (size_t)bytes, "0000:%02X:00.0", device + 1);
    return fake_end("cuDeviceGetPCIBusId", result, "%d", device);
}

void fake_cuda_attribute(int device, int attribute, int value)
{
    fake_lock();
    fake_devices[device].attributes[attribute] = value;
    fake_devices[device].is_attribute_set[attribute] = true;
    fake_unlock();
}

// CUdevice_attribute numbers of cuda.h with the values of an H200, and what depends on the architecture.
int fake_device_attribute(int device, int attribute)
{
    const fake_device *d = &fake_devices[device];
    static const int rows[][2] = {
        {1, 1024},    {2, 1024},     {3, 1024}, {4, 64},       {5, INT32_MAX}, {6, 65535},     {7, 65535}, {8, 49152},
        {10, 32},     {13, 1980000}, {16, 132}, {36, 3201000}, {37, 6144},     {38, 62914560}, {39, 2048}, {41, 1},
        {81, 233472}, {82, 65536},   {83, 1},   {88, 0},       {106, 32},      {115, 1},
    };
    bool is_large = d->arch == 90 || d->arch / 10 == 10 || d->arch / 10 == 11;
    if (d->is_attribute_set[attribute])
        return d->attributes[attribute];
    if (attribute == HDSRT_DEVICE_MAJOR || attribute == HDSRT_DEVICE_MINOR)
        return attribute == HDSRT_DEVICE_MAJOR ? d->arch / 10 : d->arch % 10;
    if (attribute == HDSRT_DEVICE_SMEM_LARGE)
        return is_large ? 232448 : d->arch == 80 || d->arch == 87 ? 166912 : d->arch == 75 ? 65536 : 101376;
    if (attribute == 120)
        return d->arch >= 90;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i][0] == attribute)
            return rows[i][1];
    }
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int result = fake_begin_ready("cuDeviceGetAttribute");
    if (!result && !(result = fake_device_number(device)) &&
        !(result = attribute > 0 && attribute < MAX_ATTRIBUTE ? SUCCESS : INVALID_VALUE))
        *value = fake_device_attribute(device, attribute);
    return fake_end("cuDeviceGetAttribute", result, "%d, device %d", attribute, device);
}

// ---- contexts ---------------------------------------------------------------------------------------------------

int fake_context_current(fake_context **context)
{
    *context = depth ? stack[depth - 1] : NULL;
    if (!*context)
        return INVALID_CONTEXT;
    return (*context)->is_alive ? (*context)->broken : CONTEXT_IS_DESTROYED;
}

void fake_context_break(int code)
{
    fake_context *c;
    if (!fake_context_current(&c))
        c->broken = code;
}

static unsigned long long id_of(const fake_context *c)
{
    return c ? c->id : 0;
}

static void begin_life(fake_context *c)
{
    c->id = ++last_id;
    c->is_alive = true;
    c->broken = 0;
}

static void end_life(fake_context *c)
{
    fake_objects_free_of(c);
    c->is_alive = false;
}

static bool is_context(const fake_context *c)
{
    for (int i = 0; i < fake_device_count; i++) {
        if (c == &fake_devices[i].primary)
            return true;
    }
    for (const fake_context *m = made; m; m = m->next) {
        if (c == m)
            return true;
    }
    return false;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
    int result = fake_begin_ready("cuDevicePrimaryCtxGetState");
    if (!result && !(result = fake_device_number(device))) {
        *flags = 0;
        *is_active = fake_devices[device].primary.is_alive;
    }
    return fake_end("cuDevicePrimaryCtxGetState", result, "%d", device);
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    int result = fake_begin_ready("cuDevicePrimaryCtxRetain");
    if (!result && !(result = fake_device_number(device))) {
        fake_context *c = &fake_devices[device].primary;
        if (!c->is_alive)
            begin_life(c);
        c->retains++;
        *context = c;
    }
    return fake_end("cuDevicePrimaryCtxRetain", result, "device %d", device);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    int result = fake_begin_ready("cuDevicePrimaryCtxRelease_v2");
    if (!result && !(result = fake_device_number(device))) {
        fake_context *c = &fake_devices[device].primary;
        if (!c->retains)
            result = INVALID_CONTEXT;
        else if (!--c->retains && c->is_alive)
            end_life(c);
    }
    return fake_end("cuDevicePrimaryCtxRelease_v2", result, "device %d", device);
}

int cuDevicePrimaryCtxReset_v2(int device)
{
    int result = fake_begin_ready("cuDevicePrimaryCtxReset_v2");
    if (!result && !(result = fake_device_number(device)) && fake_devices[device].primary.is_alive)
        end_life(&fake_devices[device].primary);
    return fake_end("cuDevicePrimaryCtxReset_v2", result, "device %d", device);
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    int result = fake_begin_ready("cuCtxCreate_v2");
    if (!result && !(result = fake_device_number(device)) && !(result = depth < MAX_STACK ? SUCCESS : INVALID_VALUE)) {
        fake_context *c = calloc(1, sizeof *c);
        c->device = device;
        c->next = made;
        made = c;
        begin_life(c);
        stack[depth++] = c;
        *context = c;
    }
    return fake_end("cuCtxCreate_v2", result, "%u, device %d", flags, device);
}

int cuCtxDestroy_v2(void *context)
{
    fake_context *c = context;
    int result = fake_begin_ready("cuCtxDestroy_v2");
    if (!result && (!is_context(c) || c->is_primary || !c->is_alive))
        result = INVALID_CONTEXT;
    if (!result) {
        end_life(c);
        if (depth && stack[depth - 1] == c)
            depth--;
    }
    return fake_end("cuCtxDestroy_v2", result, "context %llu", id_of(c));
}

int cuCtxSetCurrent(void *context)
{
    int result = fake_begin_ready("cuCtxSetCurrent");
    if (!result && context && !is_context(context))
        result = INVALID_CONTEXT;
    if (!result) {
        depth = depth ? depth - 1 : 0;
        if (context)
            stack[depth++] = context;
    }
    return fake_end("cuCtxSetCurrent", result, "context %llu", id_of(context));
}

int cuCtxPushCurrent_v2(void *context)
{
    int result = fake_begin_ready("cuCtxPushCurrent_v2");
    if (!result && (!is_context(context) || !((fake_context *)context)->is_alive || depth == MAX_STACK))
        result = INVALID_CONTEXT;
    if (!result)
        stack[depth++] = context;
    return fake_end("cuCtxPushCurrent_v2", result, "context %llu", id_of(context));
}

int cuCtxPopCurrent_v2(void **context)
{
    int result = fake_begin_ready("cuCtxPopCurrent_v2");
    if (!result && !depth)
        result = INVALID_CONTEXT;
    if (!result) {
        depth--;
        if (context)
            *context = stack[depth];
    }
    return fake_end("cuCtxPopCurrent_v2", result, "%s", "");
}

int cuCtxGetCurrent(void **context)
{
    int result = fake_begin_ready("cuCtxGetCurrent");
    if (!result)
        *context = depth ? stack[depth - 1] : NULL;
    return fake_end("cuCtxGetCurrent", result, "%s", "");
}

int cuCtxGetId(void *context, unsigned long long *id)
{
    fake_context *c = context;
    int result = fake_begin_ready("cuCtxGetId");
    if (!result && !c)
        c = depth ? stack[depth - 1] : NULL;
    if (!result && !(result = !c || !is_context(c) ? INVALID_CONTEXT : c->is_alive ? SUCCESS : CONTEXT_IS_DESTROYED))
        *id = c->id;
    return fake_end("cuCtxGetId", result, "context %llu", id_of(c));
}

int cuCtxGetDevice(int *device)
{
    fake_context *c = NULL;
    int result = fake_begin_ready("cuCtxGetDevice");
    if (!result) {
        result = fake_context_current(&c);
        if (c && c->is_alive) {
            *device = c->device;
            result = SUCCESS;
        }
    }
    return fake_end("cuCtxGetDevice", result, "%s", "");
}

int cuCtxSynchronize(void)
{
    fake_context *c;
    int result = fake_begin_in_context("cuCtxSynchronize", &c);
    return fake_end("cuCtxSynchronize", result, "%s", "");
}

int fake_contexts_alive(void)
{
    int count = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        count += fake_devices[i].primary.is_alive;
    for (const fake_context *m = made; m; m = m->next)
        count += m->is_alive;
    return count;
}

int fake_contexts_retains(void)
{
    int count = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        count += fake_devices[i].primary.retains;
    return count;
}
