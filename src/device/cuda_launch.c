// One launch: allocations there, the kernel, allocations back.

#include <stdlib.h>
#include <string.h>

#include "device/cuda_priv.h"
#include "sim/memory.h"

enum {
    RED_ZONE = 1024,         // bytes before and behind each allocation; keeps the alignment that the driver gives
    PATTERN = 0xa5,
};

// An allocation of the simulator, and its copy.
typedef struct buffer {
    uint64_t base;     // simulated
    uint64_t address;  // on the GPU, of the first red zone; 0: none
    const char *name;  // of the first parameter that points into it
    uint8_t *bytes;
    int64_t size;
    bool is_written;
} buffer;

typedef struct launch {
    dev_cuda_session *session;
    const hdsrt_driver *cuda;
    sim *sim;
    const ir_func *kernel;
    const cu_kernel_info *info;
    VEC(buffer) buffers;
    uint8_t *staging;  // of the largest buffer
} launch;

// ---- there ------------------------------------------------------------------------------------------------------

static bool is_address(const ir_var *v)
{
    return v->type->kind == IR_TENSOR || v->type->kind == IR_POINTER;
}

static buffer *find_buffer(launch *l, uint64_t base)
{
    for (size_t i = 0; i < l->buffers.len; i++) {
        if (l->buffers.at[i].base == base)
            return &l->buffers.at[i];
    }
    return NULL;
}

// The allocation that an argument points into, once however many do. Addresses of nothing stay what they are.
static void add_buffer(launch *l, int index, uint64_t address)
{
    int64_t size = 0;
    uint64_t base = address & ~SIM_OFFSET_MASK;
    const ir_var *v = l->kernel->params.at[index];
    uint8_t *bytes = (address & SIM_TAG_MASK) == SIM_TAG_GLOBAL ? sim_bytes(l->sim, base, &size) : NULL;
    if (!bytes)
        return;
    bool is_written = !l->info->writes || l->info->writes[index];
    buffer *known = find_buffer(l, base);
    if (known) {
        known->is_written = known->is_written || is_written;
        return;
    }
    buffer added = {.base = base, .name = v->name ? v->name : "a parameter", .bytes = bytes, .size = size};
    added.is_written = is_written;
    VEC_PUSH(l->session->arena, &l->buffers, added);
}

static bool upload(launch *l, buffer *b)
{
    size_t size = (size_t)b->size + 2 * (size_t)RED_ZONE;
    memset(l->staging, PATTERN, RED_ZONE);
    memcpy(l->staging + RED_ZONE, b->bytes, (size_t)b->size);
    memset(l->staging + RED_ZONE + b->size, PATTERN, RED_ZONE);
    const char *what = arena_printf(l->session->arena, "copying '%s'", b->name);
    return dev_cuda_check(l->session, arena_printf(l->session->arena, "allocating %zu bytes for '%s'", size, b->name),
                          l->cuda->allocate(&b->address, size)) &&
           dev_cuda_check(l->session, what, l->cuda->upload(b->address, l->staging, size));
}

static bool upload_all(launch *l, const uint64_t *args, int count)
{
    int64_t largest = 0;
    for (int i = 0; i < count; i++) {
        if (is_address(l->kernel->params.at[i]))
            add_buffer(l, i, args[i]);
    }
    for (size_t i = 0; i < l->buffers.len; i++)
        largest = l->buffers.at[i].size > largest ? l->buffers.at[i].size : largest;
    l->staging = malloc((size_t)largest + 2 * (size_t)RED_ZONE);
    for (size_t i = 0; l->staging && i < l->buffers.len; i++) {
        if (!upload(l, &l->buffers.at[i]))
            return false;
    }
    return l->staging != NULL;
}

// ---- the kernel -------------------------------------------------------------------------------------------------

// One value for each parameter: addresses become those of the copies.
static uint64_t *translate(launch *l, const uint64_t *args, int count)
{
    uint64_t *values = ARENA_ARRAY(l->session->arena, uint64_t, count + 1);
    for (int i = 0; i < count; i++) {
        buffer *b = is_address(l->kernel->params.at[i]) ? find_buffer(l, args[i] & ~SIM_OFFSET_MASK) : NULL;
        values[i] = b ? b->address + RED_ZONE + (args[i] & SIM_OFFSET_MASK) : args[i];
    }
    return values;
}

static bool start(launch *l, const sim_program *p, void *function, const sim_launch_shape *shape, const uint64_t *args,
                  int count)
{
    const dev_cuda_launch what = {
        .kernel = l->kernel,
        .info = l->info,
        .function = function,
        .shape = *shape,
        .count = count,
        .maps = sim_maps_of(l->sim, p, l->kernel, args, count, l->session->arena),
    };
    dev_cuda_call call;
    return dev_cuda_prepare(l->session, &what, translate(l, args, count), &call) && dev_cuda_start(l->session, &call, NULL);
}

// ---- back -------------------------------------------------------------------------------------------------------

static bool is_whole(const uint8_t *zone)
{
    for (int i = 0; i < RED_ZONE; i++) {
        if (zone[i] != PATTERN)
            return false;
    }
    return true;
}

static bool download(launch *l, buffer *b)
{
    size_t size = (size_t)b->size + 2 * (size_t)RED_ZONE;
    if (!dev_cuda_check(l->session, arena_printf(l->session->arena, "copying '%s' back", b->name),
                        l->cuda->download(l->staging, b->address, size)))
        return false;
    bool before = is_whole(l->staging), behind = is_whole(l->staging + RED_ZONE + b->size);
    if (!before || !behind)
        diag_report(l->session->diags, HDS0649, l->kernel->span, l->kernel->title ? l->kernel->title : l->kernel->name,
                    before ? "behind the end of" : "before the start of", b->name);
    if (b->is_written) {
        memcpy(b->bytes, l->staging + RED_ZONE, (size_t)b->size);
        sim_mark_written(l->sim, b->base, b->size);
    }
    return before && behind;
}

static bool download_all(launch *l)
{
    bool all = true;
    for (size_t i = 0; i < l->buffers.len; i++)
        all = download(l, &l->buffers.at[i]) && all;
    return all;
}

// ---- all together -----------------------------------------------------------------------------------------------

// The buffers went with the context.
static void forget_buffers(launch *l)
{
    for (size_t i = 0; i < l->buffers.len; i++)
        l->buffers.at[i].address = 0;
}

static bool does_not_end(launch *l)
{
    dev_cuda *gpu = l->session->gpu;
    arena *a = l->session->arena;
    diag *d = diag_report(l->session->diags, HDS0612, l->kernel->span, arena_printf(a, "'%s'", l->info->symbol),
                          arena_printf(a, "%lld s on the GPU", (long long)gpu->seconds));
    diag_help(d, "without --device=cuda the simulator shows where; --gpu-timeout allows more time");
    gpu->is_stuck = true;
    return false;
}

static bool wait_for(launch *l)
{
    int result = hdsrt_driver_wait(l->cuda, NULL, l->session->gpu->seconds);
    if (!result)
        result = l->cuda->synchronize();
    if (!result)
        return true;
    forget_buffers(l);
    if (result == HDSRT_CUDA_NOT_READY)
        return does_not_end(l);
    dev_cuda_check(l->session, arena_printf(l->session->arena, "running '%s'", l->info->symbol), result);
    dev_cuda_restart(l->session->gpu);
    return false;
}

static bool run(launch *l, const sim_program *p, const dev_cuda_image *image, const uint64_t *args, int count)
{
    void *function = NULL;
    sim_launch_shape shape = sim_shape_of(l->sim, p, l->kernel, args, count);
    if (!dev_cuda_check(l->session, "finding the kernel", l->cuda->module_function(&function, image->module, l->info->symbol)) ||
        !upload_all(l, args, count) || !start(l, p, function, &shape, args, count))
        return false;
    return wait_for(l) && download_all(l);
}

static bool run_here(launch *l, const sim_program *p, dev_cuda_image *image, const uint64_t *args, int count)
{
    dev_cuda *gpu = l->session->gpu;
    if (gpu->is_stuck) {
        diag_report(l->session->diags, HDS0648, (src_span){0, 0}, "a kernel that ran before does not end");
        return false;
    }
    if (!gpu->context || gpu->cuda->context_set(gpu->context)) {
        diag_report(l->session->diags, HDS0648, (src_span){0, 0}, "it failed before and could not be started again");
        return false;
    }
    l->info = dev_cuda_info_of(image, l->kernel);
    return l->info && dev_cuda_load(l->session, image) && run(l, p, image, args, count);
}

bool dev_cuda_run(void *user, sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count)
{
    dev_cuda_session *session = user;
    launch l = {.session = session, .cuda = session->gpu->cuda, .sim = s, .kernel = kernel};
    dev_cuda_image *image = dev_cuda_image_of(session, p, NULL);
    if (!image)
        return false;
    pthread_mutex_lock(&session->gpu->lock);
    bool ok = run_here(&l, p, image, args, count);
    for (size_t i = 0; i < l.buffers.len; i++) {
        if (l.buffers.at[i].address)
            session->gpu->cuda->release(l.buffers.at[i].address);
    }
    pthread_mutex_unlock(&session->gpu->lock);
    free(l.staging);
    return ok;
}
