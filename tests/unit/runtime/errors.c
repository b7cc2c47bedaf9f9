// Every error of every entry point, once: the call that meets it says so and changes nothing, the next one works, and
// nothing is left behind.
#include "rig.h"

static const char *const symbols[] = {
#define HDSRT_DRIVER(name, symbol, parameters) #symbol,
#include "runtime/driver.def"
#undef HDSRT_DRIVER
};

static const struct {
    int code;
    hdsrt_status status;
    const char *text;
} codes[] = {
    {1, HDSRT_DRIVER_ERROR, "invalid argument (CUDA_ERROR_INVALID_VALUE)"},
    {2, HDSRT_OUT_OF_MEMORY, "out of memory (CUDA_ERROR_OUT_OF_MEMORY)"},
    {3, HDSRT_DRIVER_ERROR, "initialization error"},
    {4, HDSRT_DRIVER_ERROR, "driver shutting down (CUDA_ERROR_DEINITIALIZED): the process is ending"},
    {34, HDSRT_NO_DRIVER, "stub library"},
    {46, HDSRT_DRIVER_ERROR, "busy or unavailable"},
    {100, HDSRT_NO_DEVICE, ""},
    {101, HDSRT_NO_DEVICE, "invalid device ordinal"},
    {209, HDSRT_NO_CODE, "no kernel image is available"},
    {222, HDSRT_UNSUPPORTED, ": update the driver, or compile for this GPU's architecture"},
    {700, HDSRT_DRIVER_ERROR,
     "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS): the context is lost"},
    {709, HDSRT_DRIVER_ERROR, ": make another context current, or call hdsrt_use_device()"},
    {801, HDSRT_UNSUPPORTED, "operation not supported"},
    {999, HDSRT_DRIVER_ERROR, "unknown error"},
};

typedef struct scene {
    rig r;
    void *memory;
    hdsrt_managed_tensor *tensor;
    hdsrt_tensor_map map;
} scene;

static hdsrt_status use(scene *s)
{
    (void)s;
    return hdsrt_use_device(0);
}
static hdsrt_status count(scene *s)
{
    int n;
    (void)s;
    return hdsrt_device_count(&n);
}
static hdsrt_status capability(scene *s)
{
    int a, b;
    (void)s;
    return hdsrt_capability(&a, &b);
}
static hdsrt_status load(scene *s)
{
    return hdsrt_load(&s->r.library);
}
static hdsrt_status launch(scene *s)
{
    return rig_saxpy(&s->r, &rig_small, NULL);
}
static hdsrt_status synchronize(scene *s)
{
    (void)s;
    return hdsrt_synchronize(NULL);
}
static hdsrt_status fill_bytes(scene *s)
{
    return hdsrt_fill(s->memory, 1, 1, 64, NULL);
}
static hdsrt_status fill_halves(scene *s)
{
    return hdsrt_fill(s->memory, 1, 2, 32, NULL);
}
static hdsrt_status fill_floats(scene *s)
{
    return hdsrt_fill(s->memory, 1, 4, 16, NULL);
}
static hdsrt_status fill_doubles(scene *s)
{
    return hdsrt_fill(s->memory, 1, 8, 8, NULL);
}

static hdsrt_status launch_large(scene *s)
{
    hdsrt_extents e = rig_small;
    e.cluster[0] = 2, e.cluster[1] = e.cluster[2] = 1;
    e.dynamic_smem_bytes = 100000;
    return rig_saxpy(&s->r, &e, NULL);
}

static hdsrt_status allocate(scene *s)
{
    return s->memory ? HDSRT_OK : hdsrt_allocate(&s->memory, 1024, NULL);
}

static hdsrt_status copy(scene *s)
{
    char bytes[64] = {0};
    return hdsrt_copy(s->memory, bytes, sizeof bytes, NULL);
}

static hdsrt_status reach(scene *s)
{
    hdsrt_tensor_rule rule = {"x", {2, 32}, 1, false, 16};
    int64_t n = 16;
    return hdsrt_check_tensors("saxpy", &rule, &(hdsrt_tensor_value){s->memory, &n}, 1);
}

static hdsrt_status make_tensor(scene *s)
{
    return s->tensor ? HDSRT_OK : hdsrt_tensor_new(&s->tensor, (hdsrt_dtype){2, 32}, 1, (int64_t[]){16}, NULL);
}

static hdsrt_status check(scene *s)
{
    hdsrt_tensor_rule rule = {"x", {2, 32}, 1, false, 16};
    const void *data;
    return s->tensor ? hdsrt_check_dlpack("saxpy", &rule, &s->tensor->dl_tensor, &data) : HDSRT_OK;
}

static hdsrt_status map(scene *s)
{
    hdsrt_tiling t = {.dtype = {2, 16}, .ndim = 2, .shape = (int64_t[]){64, 64}, .box = {64, 64}};
    return hdsrt_tensor_map_tiled(&s->map, "gemm", "a", (void *)0x10000, &t);
}

static hdsrt_status map_pixels(scene *s)
{
    hdsrt_tiling t = {.dtype = {2, 16}, .ndim = 4, .shape = (int64_t[]){1, 8, 8, 64}};
    hdsrt_im2col walk = {.lower = {-1, -1}, .upper = {-1, -1}, .channels = 64, .pixels = 64};
    return hdsrt_tensor_map_im2col(&s->map, "conv", "x", (void *)0x10000, &t, &walk);
}

static hdsrt_status release(scene *s)
{
    hdsrt_status status = hdsrt_release(s->memory, NULL);
    if (!status)
        s->memory = NULL;
    return status;
}

static hdsrt_status (*const steps[])(scene *) = {
    use,         count,       capability,   load, launch, launch_large, synchronize, allocate, fill_bytes,
    fill_halves, fill_floats, fill_doubles, copy, reach,  make_tensor,  check,       map,      map_pixels,
    release,
};
enum { STEPS = sizeof steps / sizeof *steps };

static const char *symbol;
static int case_index;

// Steps that need what a failed one did not make fail as well, so each is repeated at once until it works.
static int run(scene *s)
{
    int failures = 0;
    for (int i = 0; i < STEPS; i++) {
        hdsrt_status status = steps[i](s);
        if (!status)
            continue;
        failures++;
        EXPECT(status == codes[case_index].status || (status == HDSRT_INVALID_ARGUMENT && codes[case_index].code == 1));
        EXPECT(strstr(hdsrt_last_error(), codes[case_index].text) || status == HDSRT_INVALID_ARGUMENT);
        EXPECT(hdsrt_last_driver_error() == codes[case_index].code || status == HDSRT_INVALID_ARGUMENT);
        EXPECT(strlen(hdsrt_last_error()) > 20 && !strchr(hdsrt_last_error(), '\n'));
        EXPECT(steps[i](s) == HDSRT_OK);
    }
    return failures;
}

static void one_error(void)
{
    scene s = {0};
    rig_usual(&s.r);
    fake_cuda_fail(symbol, 1, codes[case_index].code);
    int failures = run(&s);
    failures += run(&s); // what is called the second time only
    int called = fake_cuda_calls(symbol);
    EXPECT(failures <= 1);
    EXPECT(called || !failures);
    EXPECT(run(&s) == 0);
    if (s.tensor)
        s.tensor->deleter(s.tensor);
    // Failures to release a tensor's memory or a library cannot be reported.
    EXPECT(fake_cuda_live("memory") == (strcmp(symbol, "cuCtxPushCurrent_v2") == 0));
    EXPECT(fake_cuda_live("retains") == 1);
    EXPECT(fake_cuda_live("libraries") == 1);
    EXPECT(fake_cuda_live("modules") == 0);
    rig_unload(&s.r);
    EXPECT(fake_cuda_live("libraries") == (strcmp(symbol, "cuLibraryUnload") == 0));
    if (rig_failures)
        fprintf(stderr, "… in %s with error %d\n", symbol, codes[case_index].code);
}

static void every_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        for (case_index = 0; case_index < (int)(sizeof codes / sizeof *codes); case_index++) {
            symbol = symbols[i];
            rig_child(one_error);
        }
    }
}

// Which entry points the steps reach, so that a new one is not forgotten here.
RIG_TEST(what_is_reached)
{
    static const char *const others[] = {
        // of src/device, the measurements and the tests alone
        "cuDeviceGetName",
        "cuDeviceTotalMem_v2",
        "cuDeviceGetPCIBusId",
        "cuDevicePrimaryCtxReset_v2",
        "cuCtxSynchronize",
        "cuStreamCreate",
        "cuStreamQuery",
        "cuStreamDestroy_v2",
        "cuEventCreate",
        "cuEventDestroy_v2",
        "cuEventRecord",
        "cuEventRecordWithFlags",
        "cuEventSynchronize",
        "cuEventElapsedTime",
        "cuMemGetInfo_v2",
        "cuMemcpyHtoD_v2",
        "cuMemcpyDtoH_v2",
        "cuModuleLoadData",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags",
        "cuGraphExecUpdate_v2",
        "cuGraphLaunch",
        "cuGraphExecDestroy",
        "cuGraphDestroy",
        // where something is unusual: contexts.c, memory.c, driver.c
        "cuDevicePrimaryCtxRelease_v2",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuGetErrorString",
        "cuGetErrorName",
    };
    scene s = {0};
    rig_usual(&s.r);
    EXPECT(run(&s) == 0);
    EXPECT(run(&s) == 0);
    s.tensor->deleter(s.tensor);
    rig_unload(&s.r);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        bool is_other = false;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            is_other |= strcmp(others[k], symbols[i]) == 0;
        if (is_other == (fake_cuda_calls(symbols[i]) > 0)) {
            fprintf(stderr, "%s was %scalled\n", symbols[i], is_other ? "" : "not ");
            rig_failures++;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error),
        cmocka_unit_test(what_is_reached),
    };
    setenv("HDSRT_CHECK", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
