// What lives in contexts: streams, events, memory. Work is done at once, so streams and events have nothing to wait
// for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

static fake_object *objects;

fake_object *fake_object_new(fake_kind kind, fake_context *context)
{
    fake_object *o = calloc(1, sizeof *o);
    *o = (fake_object){.kind = kind, .context = context, .context_id = context ? context->id : 0, .next = objects};
    objects = o;
    return o;
}

fake_object *fake_object_find(const void *handle, fake_kind kind)
{
    for (fake_object *o = objects; o; o = o->next) {
        if (o == handle && o->kind == kind)
            return o;
    }
    return NULL;
}

static void unlink_object(fake_object *object)
{
    for (fake_object **at = &objects; *at; at = &(*at)->next) {
        if (*at == object) {
            *at = object->next;
            return;
        }
    }
}

void fake_object_free(fake_object *object)
{
    unlink_object(object);
    if (object->destroy)
        object->destroy(object->memory);
    else
        free(object->memory);
    free(object);
}

void fake_objects_free_of(const fake_context *context)
{
    for (fake_object *o = objects, *next; o; o = next) {
        next = o->next;
        if (o->context == context)
            fake_object_free(o);
    }
}

int fake_objects_count(fake_kind kind)
{
    int count = 0;
    for (const fake_object *o = objects; o; o = o->next)
        count += o->kind == kind;
    return count;
}

int fake_cuda_live(const char *kind)
{
    static const struct {
        const char *word;
        fake_kind kind;
    } rows[] = {
        {"streams", FAKE_STREAM}, {"events", FAKE_EVENT}, {"modules", FAKE_MODULE}, {"libraries", FAKE_LIBRARY}};
    int count = -1;
    fake_lock();
    if (strcmp(kind, "contexts") == 0)
        count = fake_contexts_alive();
    else if (strcmp(kind, "retains") == 0)
        count = fake_contexts_retains();
    else if (strcmp(kind, "memory") == 0)
        count =
            fake_objects_count(FAKE_MEMORY) + fake_objects_count(FAKE_MANAGED) + fake_objects_count(FAKE_HOST_MEMORY);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(kind, rows[i].word) == 0)
            count = fake_objects_count(rows[i].kind);
    }
    fake_unlock();
    return count;
}

// ---- streams, events --------------------------------------------------------------------------------------------

int fake_check_stream(const void *stream, const fake_context *context)
{
    // NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD belong to the current context.
    if ((uintptr_t)stream <= 2)
        return SUCCESS;
    const fake_object *o = fake_object_find(stream, FAKE_STREAM);
    return o && o->context == context ? SUCCESS : INVALID_HANDLE;
}

static int check_event(const void *event)
{
    return fake_object_find(event, FAKE_EVENT) ? SUCCESS : INVALID_HANDLE;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    fake_context *c;
    int result = fake_begin_in_context("cuStreamCreate", &c);
    if (!result)
        *stream = fake_object_new(FAKE_STREAM, c);
    return fake_end("cuStreamCreate", result, "%u", flags);
}

int cuStreamDestroy_v2(void *stream)
{
    int result = fake_begin_ready("cuStreamDestroy_v2");
    fake_object *o = result ? NULL : fake_object_find(stream, FAKE_STREAM);
    if (o)
        fake_object_free(o);
    return fake_end("cuStreamDestroy_v2", result ? result : o ? SUCCESS : INVALID_HANDLE, "%p", stream);
}

int cuStreamSynchronize(void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuStreamSynchronize", &c);
    return fake_end("cuStreamSynchronize", result ? result : fake_check_stream(stream, c), "stream %p", stream);
}

int cuStreamQuery(void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuStreamQuery", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = fake_time_is_endless() ? NOT_READY : SUCCESS;
    return fake_end("cuStreamQuery", result, "stream %p", stream);
}

int cuEventCreate(void **event, unsigned flags)
{
    fake_context *c;
    int result = fake_begin_in_context("cuEventCreate", &c);
    if (!result)
        *event = fake_object_new(FAKE_EVENT, c);
    return fake_end("cuEventCreate", result, "%u", flags);
}

int cuEventDestroy_v2(void *event)
{
    int result = fake_begin_ready("cuEventDestroy_v2");
    fake_object *o = result ? NULL : fake_object_find(event, FAKE_EVENT);
    if (o)
        fake_object_free(o);
    return fake_end("cuEventDestroy_v2", result ? result : o ? SUCCESS : INVALID_HANDLE, "%p", event);
}

int cuEventRecord(void *event, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuEventRecord", &c);
    if (!result && !(result = check_event(event)))
        result = fake_check_stream(stream, c);
    if (!result)
        fake_time_stamp(event);
    return fake_end("cuEventRecord", result, "%p, stream %p", event, stream);
}

// CU_EVENT_RECORD_EXTERNAL is 1.
int cuEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    fake_context *c;
    int result = fake_begin_in_context("cuEventRecordWithFlags", &c);
    if (!result && !(result = check_event(event)))
        result = flags > 1 ? INVALID_VALUE : fake_check_stream(stream, c);
    if (!result && flags)
        fake_time_stamp_in_graph(event);
    else if (!result)
        fake_time_stamp(event);
    return fake_end("cuEventRecordWithFlags", result, "%p, stream %p, %u", event, stream, flags);
}

int cuEventSynchronize(void *event)
{
    fake_context *c;
    int result = fake_begin_in_context("cuEventSynchronize", &c);
    return fake_end("cuEventSynchronize", result ? result : check_event(event), "%p", event);
}

int cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    int result = fake_begin_ready("cuEventElapsedTime");
    if (!result && !(result = check_event(begin)) && !(result = check_event(end)))
        *milliseconds = fake_time_between(begin, end);
    return fake_end("cuEventElapsedTime", result, "%p, %p", begin, end);
}

// ---- memory -----------------------------------------------------------------------------------------------------

static bool is_memory(const fake_object *o)
{
    return o->kind == FAKE_MEMORY || o->kind == FAKE_MANAGED || o->kind == FAKE_HOST_MEMORY;
}

fake_object *fake_memory_at(uint64_t address)
{
    for (fake_object *o = objects; o; o = o->next) {
        if (is_memory(o) && address >= o->address && address < o->address + o->bytes)
            return o;
    }
    return NULL;
}

// A range that touches memory of a device lies in one allocation. Others are the host's own.
static int check_range(uint64_t address, size_t bytes)
{
    const fake_object *o = fake_memory_at(address);
    return !bytes || (o ? bytes <= o->address + o->bytes - address : address != 0) ? SUCCESS : INVALID_VALUE;
}

static int check_device_range(uint64_t address, size_t bytes)
{
    return !bytes || fake_memory_at(address) ? check_range(address, bytes) : INVALID_VALUE;
}

static int allocate(fake_context *c, fake_kind kind, uint64_t *address, size_t bytes)
{
    if (!bytes)
        return INVALID_VALUE;
    if (bytes > (size_t)1 << 36)
        return OUT_OF_MEMORY;
    fake_object *o = fake_object_new(kind, c);
    o->bytes = bytes;
    if (posix_memalign(&o->memory, 512, bytes)) {
        o->memory = NULL;
        fake_object_free(o);
        return OUT_OF_MEMORY;
    }
    memset(o->memory, 0xcd, bytes);
    *address = o->address = (uint64_t)(uintptr_t)o->memory;
    return SUCCESS;
}

static int release(uint64_t address, fake_kind kind, fake_kind other)
{
    fake_object *o = address ? fake_memory_at(address) : NULL;
    if (!address)
        return SUCCESS;
    if (!o || o->address != address || (o->kind != kind && o->kind != other))
        return INVALID_VALUE;
    fake_object_free(o);
    return SUCCESS;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemGetInfo_v2", &c);
    if (!result) {
        *total_bytes = (size_t)1 << 36;
        const char *megabytes = getenv("FAKE_CUDA_MEMORY");
        *free_bytes = megabytes ? strtoull(megabytes, NULL, 10) * 1000000 : (size_t)1 << 35;
    }
    return fake_end("cuMemGetInfo_v2", result, "%s", "");
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemAlloc_v2", &c);
    return fake_end("cuMemAlloc_v2", result ? result : allocate(c, FAKE_MEMORY, address, bytes), "%zu", bytes);
}

int cuMemFree_v2(uint64_t address)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemFree_v2", &c);
    return fake_end("cuMemFree_v2", result ? result : release(address, FAKE_MEMORY, FAKE_MANAGED), "%p",
                    (void *)address);
}

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemAllocManaged", &c);
    return fake_end("cuMemAllocManaged", result ? result : allocate(c, FAKE_MANAGED, address, bytes), "%zu, %u", bytes,
                    flags);
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    fake_context *c;
    uint64_t value = 0;
    int result = fake_begin_in_context("cuMemHostAlloc", &c);
    if (!result && !(result = allocate(c, FAKE_HOST_MEMORY, &value, bytes)))
        *address = (void *)value;
    return fake_end("cuMemHostAlloc", result, "%zu, %u", bytes, flags);
}

int cuMemFreeHost(void *address)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemFreeHost", &c);
    if (!result)
        result = release((uint64_t)(uintptr_t)address, FAKE_HOST_MEMORY, FAKE_HOST_MEMORY);
    return fake_end("cuMemFreeHost", result, "%p", address);
}

int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemAllocAsync", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = allocate(c, FAKE_MEMORY, address, bytes);
    return fake_end("cuMemAllocAsync", result, "%zu, stream %p", bytes, stream);
}

int cuMemFreeAsync(uint64_t address, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemFreeAsync", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = release(address, FAKE_MEMORY, FAKE_MEMORY);
    return fake_end("cuMemFreeAsync", result, "%p, stream %p", (void *)address, stream);
}

static int copy(uint64_t to, uint64_t from, size_t bytes)
{
    int result = check_range(to, bytes);
    if (!result)
        result = check_range(from, bytes);
    if (!result && bytes)
        memmove((void *)to, (const void *)from, bytes);
    return result;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemcpyHtoD_v2", &c);
    if (!result && !(result = check_device_range(to, bytes)))
        result = copy(to, (uint64_t)(uintptr_t)from, bytes);
    return fake_end("cuMemcpyHtoD_v2", result, "%p, %p, %zu", (void *)to, from, bytes);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemcpyDtoH_v2", &c);
    if (!result && !(result = check_device_range(from, bytes)))
        result = copy((uint64_t)(uintptr_t)to, from, bytes);
    return fake_end("cuMemcpyDtoH_v2", result, "%p, %p, %zu", to, (void *)from, bytes);
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemcpyAsync", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = copy(to, from, bytes);
    if (!result)
        fake_time_copy(bytes);
    return fake_end("cuMemcpyAsync", result, "%p, %p, %zu, stream %p", (void *)to, (void *)from, bytes, stream);
}

static int fill(uint64_t to, const void *value, size_t size, size_t pitch, size_t width, size_t height)
{
    int result = to % size ? INVALID_VALUE : check_device_range(to, height ? (height - 1) * pitch + width * size : 0);
    for (size_t i = 0; !result && i < height; i++) {
        for (size_t k = 0; k < width; k++)
            memcpy((char *)to + i * pitch + k * size, value, size);
    }
    return result;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemsetD8Async", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = fill(to, &value, sizeof value, 0, count, 1);
    return fake_end("cuMemsetD8Async", result, "%p, %#x, %zu, stream %p", (void *)to, value, count, stream);
}

int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemsetD16Async", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = fill(to, &value, sizeof value, 0, count, 1);
    return fake_end("cuMemsetD16Async", result, "%p, %#x, %zu, stream %p", (void *)to, value, count, stream);
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemsetD32Async", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = fill(to, &value, sizeof value, 0, count, 1);
    return fake_end("cuMemsetD32Async", result, "%p, %#x, %zu, stream %p", (void *)to, value, count, stream);
}

int cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuMemsetD2D32Async", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = pitch % 4 ? INVALID_VALUE : fill(to, &value, sizeof value, pitch, width, height);
    return fake_end("cuMemsetD2D32Async", result, "%p, pitch %zu, %#x, %zu, %zu, stream %p", (void *)to, pitch, value,
                    width, height, stream);
}

// What is asked about memory that the driver does not know is 0.
static int pointer_attribute(const fake_object *o, const fake_context *current, int attribute, uint64_t address,
                             void *value)
{
    bool is_reachable = o && (o->kind != FAKE_MEMORY || (current && o->context->device == current->device));
    switch (attribute) {
    case 2: // MEMORY_TYPE: 1 host, 2 device
        memcpy(value, &(unsigned){!o ? 0 : o->kind == FAKE_HOST_MEMORY ? 1 : 2}, sizeof(unsigned));
        return SUCCESS;
    case 8: // IS_MANAGED
        memcpy(value, &(unsigned char){o && o->kind == FAKE_MANAGED}, 1);
        return SUCCESS;
    case 9: // DEVICE_ORDINAL
        memcpy(value, &(int){o ? o->context->device : -2}, sizeof(int));
        return SUCCESS;
    case HDSRT_POINTER_DEVICE:
        memcpy(value, &(uint64_t){is_reachable ? address : 0}, sizeof(uint64_t));
        return SUCCESS;
    case HDSRT_POINTER_START:
        memcpy(value, &(uint64_t){o ? o->address : 0}, sizeof(uint64_t));
        return SUCCESS;
    case HDSRT_POINTER_SIZE:
        memcpy(value, &(size_t){o ? o->bytes : 0}, sizeof(size_t));
        return SUCCESS;
    default:
        return INVALID_VALUE;
    }
}

int cuPointerGetAttributes(unsigned count, int *attributes, void **values, uint64_t address)
{
    fake_context *c = NULL;
    int result = fake_begin_in_context("cuPointerGetAttributes", &c);
    for (unsigned i = 0; !result && i < count; i++)
        result = pointer_attribute(fake_memory_at(address), c, attributes[i], address, values[i]);
    return fake_end("cuPointerGetAttributes", result, "%p", (void *)address);
}
