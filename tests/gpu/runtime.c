// What include/hds/runtime.h says, on a real GPU (or on several): memory, fills, launches, threads, contexts that come and
// go, tensor maps, children. Prints what does not hold; exit code 1 then, 2 without a GPU. With the argument 'double' it takes the
// double of the driver for a GPU, where kernels do not run.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/driver.h"

static int failures, checks;
static bool is_double;

#define HOLDS(condition)                                                                                               \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s; last error: %s\n", __LINE__, #condition, hdsrt_last_error());                         \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

// out[threadIdx.x] += value
static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry add(.param .u64 out, .param .u32 value)\n{\n"
                           ".reg .b32 %r<4>;\n.reg .b64 %rd<5>;\n"
                           "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [value];\ncvta.to.global.u64 %rd2, %rd1;\n"
                           "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"
                           "ld.global.u32 %r3, [%rd4];\nadd.u32 %r3, %r3, %r1;\nst.global.u32 [%rd4], %r3;\nret;\n}\n";
static const uint16_t archs[] = {75};
static hdsrt_library library = {"runtime.c", text, sizeof text, archs, 1, 0, {0}};
static hdsrt_kernel kernel = {&library, "add", "add", HDSRT_LARGE_SHARED | HDSRT_DEPENDENT_LAUNCH, {0}};

static hdsrt_status add(void *out, int value, int64_t smem_bytes, int64_t cluster)
{
    const hdsrt_extents e = {{cluster ? cluster : 1, 1, 1}, {32, 1, 1}, {cluster, !!cluster, !!cluster}, smem_bytes};
    return hdsrt_launch(&kernel, &e, (void *[]){&out, &value}, NULL);
}

static void launches(void)
{
    int out[32] = {0}, major = 0, minor = 0, variant = -1;
    void *p = NULL;
    HOLDS(hdsrt_capability(&major, &minor) == HDSRT_OK && major >= 7);
    HOLDS(hdsrt_variant(&library, &variant) == HDSRT_OK && variant == 0);
    HOLDS(hdsrt_allocate(&p, sizeof out, NULL) == HDSRT_OK && (uintptr_t)p % 256 == 0);
    HOLDS(hdsrt_fill(p, 5, 4, 32, NULL) == HDSRT_OK);
    HOLDS(add(p, 2, 0, 0) == HDSRT_OK && add(p, 2, 64000, 0) == HDSRT_OK);
    HOLDS(add(p, 2, 1 << 20, 0) == HDSRT_UNSUPPORTED && strstr(hdsrt_last_error(), "has at most"));
    HOLDS(add(p, 0, 0, 2) == (major >= 9 ? HDSRT_OK : HDSRT_UNSUPPORTED));
    HOLDS(hdsrt_copy(out, p, sizeof out, NULL) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_OK);
    for (int i = 0; i < 32; i++)
        HOLDS(out[i] == (is_double ? 5 : 9));
    HOLDS(hdsrt_release(p, NULL) == HDSRT_OK);
}

static void fills(void)
{
    enum { COUNT = 100003 };
    static unsigned char bytes[COUNT * 8];
    void *p = NULL;
    HOLDS(hdsrt_allocate(&p, sizeof bytes, NULL) == HDSRT_OK);
    for (int size = 1; size <= 8; size *= 2) {
        uint64_t pattern = 0x3ff0123456789abc;
        HOLDS(hdsrt_fill(p, pattern, size, COUNT, NULL) == HDSRT_OK);
        HOLDS(hdsrt_copy(bytes, p, (int64_t)size * COUNT, NULL) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_OK);
        int wrong = 0;
        for (int i = 0; i < COUNT; i++)
            wrong += memcmp(bytes + (size_t)i * (size_t)size, &pattern, (size_t)size) != 0;
        HOLDS(wrong == 0);
    }
    HOLDS(hdsrt_release(p, NULL) == HDSRT_OK);
}

// With HDSRT_CHECK=1.
static void reach(void)
{
    int64_t n = 25;
    void *p = NULL, *host = aligned_alloc(256, 256);
    hdsrt_tensor_rule rule = {"x", {2, 32}, 1, false, 16};
    hdsrt_tensor_value value = {NULL, &n};
    HOLDS(hdsrt_allocate(&p, 100, NULL) == HDSRT_OK);
    value.data = p;
    HOLDS(hdsrt_check_tensors("f", &rule, &value, 1) == HDSRT_OK);
    n = 26;
    HOLDS(hdsrt_check_tensors("f", &rule, &value, 1) == HDSRT_INVALID_ARGUMENT);
    n = 25;
    value.data = host;
    hdsrt_status status = hdsrt_check_tensors("f", &rule, &value, 1);
    // Some GPUs reach all memory of the process.
    HOLDS(status == HDSRT_OK || strstr(hdsrt_last_error(), "which the current GPU cannot access"));
    HOLDS(hdsrt_release(p, NULL) == HDSRT_OK);
    free(host);
}

// Each map that is refused for a rule of the hardware is refused by the driver as well, and those taken are taken.
static void maps(void)
{
    static const int64_t shape[] = {64, 128};
    hdsrt_tiling t = {.dtype = {2, 16}, .ndim = 2, .swizzle_bytes = 128, .shape = shape, .box = {32, 64}};
    hdsrt_tensor_map map;
    hdsrt_managed_tensor *tensor = NULL;
    int major = 0, minor = 0;
    HOLDS(hdsrt_tensor_new(&tensor, (hdsrt_dtype){2, 16}, 2, shape, NULL) == HDSRT_OK);
    HOLDS(hdsrt_capability(&major, &minor) == HDSRT_OK);
    hdsrt_status good = major >= 9 ? HDSRT_OK : HDSRT_UNSUPPORTED;
    const void *data = tensor->dl_tensor.data;
    HOLDS(hdsrt_tensor_map_tiled(&map, "f", "x", data, &t) == good);
    t.l2_bytes = 256;
    t.is_nan_filled = true;
    t.steps[0] = 8;
    HOLDS(hdsrt_tensor_map_tiled(&map, "f", "x", data, &t) == good);
    t.box[1] = 72;
    HOLDS(hdsrt_tensor_map_tiled(&map, "f", "x", data, &t) == HDSRT_INVALID_ARGUMENT);
    tensor->deleter(tensor);
}

// One of the threads of one of the devices; NULL if all went well.
static void *adds_on(void *device)
{
    enum { LAUNCHES = 200 };
    int out[32] = {0}, number = *(int *)device, current = -1;
    void *p = NULL;
    bool is_right = hdsrt_use_device(number) == HDSRT_OK && hdsrt_allocate(&p, sizeof out, NULL) == HDSRT_OK &&
                    hdsrt_fill(p, (uint64_t)number, 4, 32, NULL) == HDSRT_OK;
    for (int i = 0; is_right && i < LAUNCHES; i++)
        is_right = add(p, 1, 0, 0) == HDSRT_OK;
    is_right = is_right && hdsrt_copy(out, p, sizeof out, NULL) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_OK &&
               hdsrt_current_device(&current) == HDSRT_OK && current == number;
    for (int i = 0; is_right && i < 32; i++)
        is_right = out[i] == number + (is_double ? 0 : LAUNCHES);
    return is_right && hdsrt_release(p, NULL) == HDSRT_OK ? NULL : device;
}

// All devices at once, several threads each, and the tensor of one where another is current.
static void devices(void)
{
    enum { MOST = 8, EACH = 4 };
    pthread_t threads[MOST * EACH];
    int numbers[MOST], count = 0;
    HOLDS(hdsrt_device_count(&count) == HDSRT_OK && count >= 1);
    count = count < MOST ? count : MOST;
    for (int i = 0; i < MOST; i++)
        numbers[i] = i;
    for (int i = 0; i < count * EACH; i++)
        HOLDS(pthread_create(&threads[i], NULL, adds_on, &numbers[i / EACH]) == 0);
    for (int i = 0; i < count * EACH; i++) {
        void *failed = NULL;
        HOLDS(pthread_join(threads[i], &failed) == 0 && !failed);
    }
    hdsrt_managed_tensor *tensor = NULL;
    hdsrt_tensor_rule rule = {"x", {2, 32}, 1, false, 16};
    const void *data;
    HOLDS(hdsrt_use_device(count - 1) == HDSRT_OK &&
          hdsrt_tensor_new(&tensor, rule.dtype, 1, (int64_t[]){100}, NULL) == HDSRT_OK);
    HOLDS(hdsrt_check_dlpack("f", &rule, &tensor->dl_tensor, &data) == HDSRT_OK);
    HOLDS(hdsrt_use_device(0) == HDSRT_OK);
    hdsrt_status expected = count > 1 ? HDSRT_INVALID_ARGUMENT : HDSRT_OK;
    HOLDS(hdsrt_check_dlpack("f", &rule, &tensor->dl_tensor, &data) == expected);
    tensor->deleter(tensor);
    printf("%d devices\n", count);
}

static unsigned long long context_id(const hdsrt_driver *cuda)
{
    unsigned long long id = 0;
    HOLDS(cuda->context_id(NULL, &id) == 0);
    return id;
}

static void contexts(const hdsrt_driver *cuda)
{
    void *p = NULL;
    hdsrt_managed_tensor *tensor = NULL;
    unsigned long long before = context_id(cuda);
    HOLDS(hdsrt_tensor_new(&tensor, (hdsrt_dtype){2, 32}, 1, (int64_t[]){100}, NULL) == HDSRT_OK);
    HOLDS(cuda->primary_reset(0) == 0);
    HOLDS(hdsrt_synchronize(NULL) == HDSRT_DRIVER_ERROR &&
          hdsrt_last_driver_error() == HDSRT_CUDA_CONTEXT_IS_DESTROYED);
    HOLDS(add(NULL, 0, 0, 0) == HDSRT_DRIVER_ERROR && strstr(hdsrt_last_error(), "or call hdsrt_use_device()"));
    HOLDS(hdsrt_use_device(0) == HDSRT_OK && context_id(cuda) != before);
    tensor->deleter(tensor);
    HOLDS(hdsrt_allocate(&p, 128, NULL) == HDSRT_OK && add(p, 1, 0, 0) == HDSRT_OK &&
          hdsrt_synchronize(NULL) == HDSRT_OK);
    HOLDS(hdsrt_release(p, NULL) == HDSRT_OK);
    if (is_double)
        return;
    HOLDS(add((void *)0x100, 1, 0, 0) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_DRIVER_ERROR);
    HOLDS(strstr(hdsrt_last_error(), "the context is lost and has to be reset"));
}

static void children(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        _exit(hdsrt_use_device(0) != HDSRT_DRIVER_ERROR || !strstr(hdsrt_last_error(), "was forked from one"));
    int status = -1;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    const hdsrt_driver *cuda;
    is_double = argc > 1 && strcmp(argv[1], "double") == 0;
    setenv("HDSRT_CHECK", "1", 1);
    if (hdsrt_use_device(0) || hdsrt_driver_open(&cuda)) {
        printf("%s\n", hdsrt_last_error());
        return 2;
    }
    launches();
    fills();
    reach();
    maps();
    devices();
    children();
    contexts(cuda);
    printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
