// Modules, libraries, functions and their launches.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

enum { KEPT_LAUNCHES = 64 };

typedef struct kernel_handle {
    char name[200];
    fake_object *library;
    struct kernel_handle *next;
} kernel_handle;

static kernel_handle *handles;
static fake_cuda_launch kept[KEPT_LAUNCHES];
static int launch_count;
static fake_cuda_kernel *on_launch;
static void *on_launch_user;
static int function_attributes[MAX_FUNCTION_ATTRIBUTE] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                          -1, -1, -1, -1, -1, -1, -1, -1};

// ---- loading ----------------------------------------------------------------------------------------------------

static int load(void **handle, const void *bytes, fake_context *c, fake_kind kind)
{
    int error = INVALID_VALUE;
    fake_image *image = bytes ? fake_image_new(bytes, &error) : NULL;
    if (!image)
        return error;
    if (c && !fake_image_choose(image, fake_devices[c->device].arch)) {
        fake_image_free(image);
        return NO_BINARY;
    }
    fake_object *o = fake_object_new(kind, c);
    o->memory = image;
    o->destroy = fake_image_free;
    *handle = o;
    return SUCCESS;
}

static int unload(void *handle, fake_kind kind)
{
    fake_object *o = fake_object_find(handle, kind);
    if (!o)
        return INVALID_HANDLE;
    for (kernel_handle **at = &handles; *at;) {
        kernel_handle *h = *at;
        if (h->library != o) {
            at = &h->next;
            continue;
        }
        *at = h->next;
        free(h);
    }
    fake_object_free(o);
    return SUCCESS;
}

// The function of a kernel in a context: always the same one.
static int function_in(fake_image *image, const char *name, fake_context *c, void **out)
{
    for (fake_function *f = image->functions; f; f = f->next) {
        if (f->context == c && f->context_id == c->id && strcmp(f->kernel.name, name) == 0) {
            *out = f;
            return SUCCESS;
        }
    }
    fake_kernel kernel;
    const fake_code *code = fake_image_choose(image, fake_devices[c->device].arch);
    if (!code)
        return NO_BINARY;
    if (!fake_code_kernel(code, name, &kernel))
        return NOT_FOUND;
    fake_function *f = calloc(1, sizeof *f);
    *f = (fake_function){.kernel = kernel,
                         .arch = code->arch,
                         .is_ptx = code->is_ptx,
                         .context = c,
                         .context_id = c->id,
                         .max_dynamic_smem = 49152 - kernel.static_smem_bytes,
                         .image = image,
                         .next = image->functions};
    image->functions = f;
    *out = f;
    return SUCCESS;
}

int cuModuleLoadData(void **module, const void *image)
{
    fake_context *c;
    int result = fake_begin_in_context("cuModuleLoadData", &c);
    return fake_end("cuModuleLoadData", result ? result : load(module, image, c, FAKE_MODULE), "%p", image);
}

int cuModuleUnload(void *module)
{
    fake_context *c;
    int result = fake_begin_in_context("cuModuleUnload", &c);
    return fake_end("cuModuleUnload", result ? result : unload(module, FAKE_MODULE), "%p", module);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    fake_context *c;
    int result = fake_begin_in_context("cuModuleGetFunction", &c);
    fake_object *o = result ? NULL : fake_object_find(module, FAKE_MODULE);
    if (!result)
        result = o ? function_in(o->memory, name, c, function) : INVALID_HANDLE;
    return fake_end("cuModuleGetFunction", result, "%p, %s", module, name);
}

int cuLibraryLoadData(void **library, const void *image, int *jit_options, void **jit_values, unsigned jit_count,
                      int *options, void **values, unsigned count)
{
    int result = fake_begin_ready("cuLibraryLoadData");
    (void)jit_options, (void)jit_values, (void)options, (void)values;
    if (!result)
        result = load(library, image, NULL, FAKE_LIBRARY);
    return fake_end("cuLibraryLoadData", result, "%p, %u, %u", image, jit_count, count);
}

int cuLibraryUnload(void *library)
{
    int result = fake_begin_ready("cuLibraryUnload");
    return fake_end("cuLibraryUnload", result ? result : unload(library, FAKE_LIBRARY), "%p", library);
}

static int kernel_of(fake_object *library, const char *name, void **out)
{
    fake_image *image = library->memory;
    fake_kernel kernel;
    bool is_there = false;
    for (int i = 0; i < image->count; i++)
        is_there |= fake_code_kernel(&image->codes[i], name, &kernel);
    if (!is_there)
        return NOT_FOUND;
    for (kernel_handle *h = handles; h; h = h->next) {
        if (h->library == library && strcmp(h->name, kernel.name) == 0) {
            *out = h;
            return SUCCESS;
        }
    }
    kernel_handle *h = calloc(1, sizeof *h);
    strcpy(h->name, kernel.name);
    h->library = library;
    h->next = handles;
    handles = h;
    *out = h;
    return SUCCESS;
}

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    int result = fake_begin_ready("cuLibraryGetKernel");
    fake_object *o = result ? NULL : fake_object_find(library, FAKE_LIBRARY);
    if (!result)
        result = o ? kernel_of(o, name, kernel) : INVALID_HANDLE;
    return fake_end("cuLibraryGetKernel", result, "%p, %s", library, name);
}

static kernel_handle *find_handle(const void *kernel)
{
    for (kernel_handle *h = handles; h; h = h->next) {
        if (h == kernel)
            return h;
    }
    return NULL;
}

int cuKernelGetFunction(void **function, void *kernel)
{
    fake_context *c;
    int result = fake_begin_in_context("cuKernelGetFunction", &c);
    kernel_handle *h = result ? NULL : find_handle(kernel);
    if (!result)
        result = h ? function_in(h->library->memory, h->name, c, function) : INVALID_HANDLE;
    return fake_end("cuKernelGetFunction", result, "%s", h ? h->name : "");
}

// ---- attributes -------------------------------------------------------------------------------------------------

void fake_cuda_function_attribute(int attribute, int value)
{
    fake_lock();
    function_attributes[attribute] = value;
    fake_unlock();
}

static int attribute_of(const fake_function *f, int attribute)
{
    if (function_attributes[attribute] >= 0)
        return function_attributes[attribute];
    switch (attribute) {
    case HDSRT_FUNCTION_THREADS:
        return f->kernel.threads;
    case HDSRT_FUNCTION_SMEM:
        return f->kernel.static_smem_bytes;
    case HDSRT_FUNCTION_DYNAMIC_SMEM:
        return f->max_dynamic_smem;
    case HDSRT_FUNCTION_CLUSTER:
    case HDSRT_FUNCTION_CLUSTER + 1:
    case HDSRT_FUNCTION_CLUSTER + 2:
        return f->kernel.cluster[attribute - HDSRT_FUNCTION_CLUSTER];
    case HDSRT_FUNCTION_LARGE_CLUSTER:
        return f->is_large_cluster_allowed;
    case 4: // NUM_REGS
        return 32;
    default:
        return 0;
    }
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    int result = fake_begin_ready("cuFuncGetAttribute");
    fake_function *f = function;
    if (!result && !(result = attribute >= 0 && attribute < MAX_FUNCTION_ATTRIBUTE && f ? SUCCESS : INVALID_VALUE))
        *value = attribute_of(f, attribute);
    return fake_end("cuFuncGetAttribute", result, "%d, %s", attribute, f ? f->kernel.name : "");
}

static int set_attribute(fake_function *f, int attribute, int value, int most)
{
    int own = attribute_of(f, HDSRT_FUNCTION_SMEM);
    if (attribute == HDSRT_FUNCTION_LARGE_CLUSTER)
        f->is_large_cluster_allowed = value;
    else if (attribute != HDSRT_FUNCTION_DYNAMIC_SMEM || value < 0 || value > most - own)
        return INVALID_VALUE;
    else
        f->max_dynamic_smem = value;
    return SUCCESS;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    int result = fake_begin_ready("cuFuncSetAttribute");
    fake_function *f = function;
    if (!result)
        result = set_attribute(f, attribute, value, fake_device_attribute(f->context->device, HDSRT_DEVICE_SMEM_LARGE));
    return fake_end("cuFuncSetAttribute", result, "%s, %d, %d", f->kernel.name, attribute, value);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t smem_bytes)
{
    int result = fake_begin_ready("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (!result && !(result = threads > 0 && threads <= 1024 ? SUCCESS : INVALID_VALUE))
        *blocks = 2048 / threads < 32 ? 2048 / threads : 32;
    return fake_end("cuOccupancyMaxActiveBlocksPerMultiprocessor", result, "%s, %d, %zu",
                    ((fake_function *)function)->kernel.name, threads, smem_bytes);
}

// Rules of cuda.h that every tensor map obeys.
static bool is_mappable(const void *map, unsigned least_rank, unsigned rank, const void *address, const uint64_t *extents,
                        const uint64_t *strides, const unsigned *steps)
{
    bool is_right = rank >= least_rank && rank <= 5 && (uintptr_t)map % 64 == 0 && (uintptr_t)address % 16 == 0;
    for (unsigned i = 0; is_right && i < rank; i++)
        is_right = extents[i] && extents[i] <= (uint64_t)1 << 32 && steps[i] && steps[i] <= 8 &&
                   (i + 1 == rank || (strides[i] % 16 == 0 && strides[i] < (uint64_t)1 << 40));
    return is_right;
}

// The first 11 words of the double's map, which is the arguments, one after the other.
static void write_tensor(uint64_t *words, int dtype, unsigned rank, const void *address, const uint64_t *extents,
                         const uint64_t *strides)
{
    words[0] = (uint64_t)(uintptr_t)address;
    words[1] = (uint64_t)dtype | (uint64_t)rank << 32;
    for (unsigned i = 0; i < rank; i++) {
        words[2 + i] = extents[i];
        words[7 + i] = i + 1 < rank ? strides[i] : 0;
    }
}

int cuTensorMapEncodeTiled(void *map, int dtype, unsigned rank, void *address, const uint64_t *extents,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                           int swizzle, int promotion, int fill)
{
    fake_context *c;
    int result = fake_begin_in_context("cuTensorMapEncodeTiled", &c);
    bool is_right = is_mappable(map, 1, rank, address, extents, strides, steps);
    for (unsigned i = 0; is_right && i < rank; i++)
        is_right = box[i] && box[i] <= 256;
    if (!result)
        result = is_right ? SUCCESS : INVALID_VALUE;
    if (!result) {
        uint64_t words[16] = {0};
        write_tensor(words, dtype, rank, address, extents, strides);
        for (unsigned i = 0; i < rank; i++)
            words[11 + i] = box[i] | (uint64_t)steps[i] << 32;
        memcpy(map, words, sizeof words);
    }
    return fake_end("cuTensorMapEncodeTiled", result,
                    "dtype %d, rank %u, %p, interleave %d, swizzle %d, promotion %d, fill %d", dtype, rank, address,
                    interleave, swizzle, promotion, fill);
}

// Corners are words 11 to 13 of the double's map, steps the bytes of word 15.
int cuTensorMapEncodeIm2col(void *map, int dtype, unsigned rank, void *address, const uint64_t *extents,
                            const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                            unsigned pixels, const unsigned *steps, int interleave, int swizzle, int promotion, int fill)
{
    static const int most[] = {0, 0, 0, 32767, 127, 15};
    fake_context *c;
    int result = fake_begin_in_context("cuTensorMapEncodeIm2col", &c);
    bool is_right = is_mappable(map, 3, rank, address, extents, strides, steps);
    is_right = is_right && channels && channels <= 256 && pixels && pixels <= 1024;
    for (unsigned i = 0; is_right && i + 2 < rank; i++)
        is_right = lower[i] >= -most[rank] - 1 && lower[i] <= most[rank] && upper[i] >= -most[rank] - 1 &&
                   upper[i] <= most[rank] && (int64_t)extents[i + 1] + upper[i] > lower[i];
    if (!result)
        result = is_right ? SUCCESS : INVALID_VALUE;
    if (!result) {
        uint64_t words[16] = {0};
        write_tensor(words, dtype, rank, address, extents, strides);
        for (unsigned i = 0; i < rank; i++)
            words[15] |= (uint64_t)steps[i] << 8 * i;
        for (unsigned i = 0; i + 2 < rank; i++)
            words[11 + i] = (uint32_t)lower[i] | (uint64_t)(uint32_t)upper[i] << 32;
        words[14] = channels | (uint64_t)pixels << 32;
        memcpy(map, words, sizeof words);
    }
    return fake_end("cuTensorMapEncodeIm2col", result,
                    "dtype %d, rank %u, %p, interleave %d, swizzle %d, promotion %d, fill %d", dtype, rank, address,
                    interleave, swizzle, promotion, fill);
}

// ---- launches ---------------------------------------------------------------------------------------------------

static int check_launch(const fake_function *f, const fake_context *c, const fake_cuda_launch *l, void **parameters)
{
    static const unsigned largest_grid[] = {INT32_MAX, 65535, 65535}, largest_block[] = {1024, 1024, 64};
    if (!f)
        return INVALID_HANDLE;
    if (f->context != c || f->context_id != c->id)
        return INVALID_HANDLE;
    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || l->grid[i] > largest_grid[i] || !l->block[i] || l->block[i] > largest_block[i])
            return INVALID_VALUE;
        if (l->cluster[i] && l->grid[i] % l->cluster[i])
            return INVALID_VALUE;
    }
    unsigned threads = l->block[0] * l->block[1] * l->block[2], blocks = l->cluster[0] * l->cluster[1] * l->cluster[2];
    if (threads > 1024 || l->dynamic_smem_bytes > (unsigned)attribute_of(f, HDSRT_FUNCTION_DYNAMIC_SMEM))
        return INVALID_VALUE;
    if (threads > (unsigned)attribute_of(f, HDSRT_FUNCTION_THREADS))
        return 701;
    if (blocks && fake_devices[c->device].arch < 90)
        return NOT_SUPPORTED;
    if (blocks > (f->is_large_cluster_allowed ? 16u : 8u))
        return 912;
    return f->kernel.parameter_count && !parameters ? INVALID_VALUE : fake_check_stream(l->stream, c);
}

static void describe(fake_cuda_launch *l, const fake_function *f, void **parameters)
{
    strcpy(l->kernel, f->kernel.name);
    l->context = f->context_id;
    l->device = f->context->device;
    l->arch = f->arch;
    l->is_ptx = f->is_ptx;
    l->parameter_count = f->kernel.parameter_count;
    for (int i = 0; i < l->parameter_count; i++) {
        l->sizes[i] = f->kernel.sizes[i];
        l->offsets[i] = f->kernel.offsets[i];
        if (l->offsets[i] + l->sizes[i] <= sizeof l->parameters)
            memcpy(l->parameters + l->offsets[i], parameters[i], l->sizes[i]);
    }
}

static void text_of(const fake_cuda_launch *l, char *text, size_t room)
{
    int used = snprintf(text, room, "%s, %ssm_%d%s, grid %u %u %u, block %u %u %u, smem %u", l->kernel,
                        l->is_ptx ? "PTX of " : "", l->arch & ~ARCH_ONLY, l->arch & ARCH_ONLY ? "a" : "", l->grid[0],
                        l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->dynamic_smem_bytes);
    if (l->cluster[0])
        used += snprintf(text + used, room - (size_t)used, ", cluster %u %u %u", l->cluster[0], l->cluster[1],
                         l->cluster[2]);
    used += snprintf(text + used, room - (size_t)used, "%s, stream %p, context %llu, params",
                     l->is_dependent ? ", dependent" : "", l->stream, l->context);
    for (int i = 0; i < l->parameter_count; i++) {
        used += snprintf(text + used, room - (size_t)used, " ");
        for (size_t k = 0; k < l->sizes[i] && (size_t)used + 3 < room; k++)
            used += snprintf(text + used, room - (size_t)used, "%02x", l->parameters[l->offsets[i] + k]);
    }
}

// A kernel that computes something else than the others, for who compares: FAKE_CUDA_WRONG says how many threads its blocks
// have, and its last parameter that is an address gets other bytes.
static void spoil(const fake_cuda_launch *l)
{
    const char *wrong = getenv("FAKE_CUDA_WRONG");
    if (!wrong || strtoul(wrong, NULL, 10) != l->block[0] * l->block[1] * l->block[2])
        return;
    for (int i = l->parameter_count - 1; i >= 0; i--) {
        uint64_t address = 0;
        if (l->sizes[i] == sizeof address)
            memcpy(&address, l->parameters + l->offsets[i], sizeof address);
        const fake_object *object = address ? fake_memory_at(address) : NULL;
        if (object) {
            memset((void *)(uintptr_t)address, 0x41, (size_t)(object->address + object->bytes - address));
            return;
        }
    }
}

// With the lock held; gives it back.
static int finish(const char *symbol, int result, const fake_context *c, const fake_function *f, fake_cuda_launch *l,
                  void **parameters)
{
    static _Thread_local char text[12288];
    snprintf(text, sizeof text, "%s", "");
    if (!result && !(result = check_launch(f, c, l, parameters))) {
        describe(l, f, parameters);
        text_of(l, text, sizeof text);
        kept[launch_count++ % KEPT_LAUNCHES] = *l;
        fake_time_launch(l->block[0] * l->block[1] * l->block[2]);
        spoil(l);
    }
    fake_cuda_kernel *kernel = result ? NULL : on_launch;
    void *user = on_launch_user;
    fake_end(symbol, result, "%s", text);
    if (kernel)
        kernel(user, l);
    return result;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned smem_bytes, void *stream, void **parameters,
                   void **extra)
{
    fake_context *c = NULL;
    fake_cuda_launch l = {.grid = {grid_x, grid_y, grid_z},
                          .block = {block_x, block_y, block_z},
                          .dynamic_smem_bytes = smem_bytes,
                          .stream = stream};
    int result = fake_begin_in_context("cuLaunchKernel", &c);
    return finish("cuLaunchKernel", result ? result : extra ? INVALID_VALUE : SUCCESS, c, function, &l, parameters);
}

int cuLaunchKernelEx(const hdsrt_launch_config *config, void *function, void **parameters, void **extra)
{
    fake_context *c = NULL;
    fake_cuda_launch l = {
        .dynamic_smem_bytes = config->dynamic_smem_bytes, .stream = config->stream, .is_extended = true};
    int result = fake_begin_in_context("cuLaunchKernelEx", &c);
    memcpy(l.grid, config->grid, sizeof l.grid);
    memcpy(l.block, config->block, sizeof l.block);
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const hdsrt_launch_attribute *a = &config->attributes[i];
        if (a->id == HDSRT_LAUNCH_CLUSTER)
            memcpy(l.cluster, a->value.cluster, sizeof l.cluster);
        else if (a->id == HDSRT_LAUNCH_DEPENDENT)
            l.is_dependent = a->value.is_allowed;
        else
            result = result ? result : INVALID_VALUE;
    }
    return finish("cuLaunchKernelEx", result ? result : extra ? INVALID_VALUE : SUCCESS, c, function, &l, parameters);
}

int fake_cuda_launches(void)
{
    fake_lock();
    int count = launch_count;
    fake_unlock();
    return count;
}

bool fake_cuda_launch_at(int index, fake_cuda_launch *launch)
{
    fake_lock();
    bool is_kept = index >= 0 && index < launch_count && index >= launch_count - KEPT_LAUNCHES;
    if (is_kept)
        *launch = kept[index % KEPT_LAUNCHES];
    fake_unlock();
    return is_kept;
}

void fake_cuda_forget(void)
{
    fake_lock();
    launch_count = 0;
    fake_calls_forget();
    fake_unlock();
}

void fake_cuda_on_launch(fake_cuda_kernel *kernel, void *user)
{
    fake_lock();
    on_launch = kernel;
    on_launch_user = user;
    fake_unlock();
}
