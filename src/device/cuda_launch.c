// One launch: allocations there, the kernel, allocations back.

#include <stdlib.h>
#include <string.h>

#include <hds/runtime.h>

#include "device/cuda_priv.h"
#include "sim/memory.h"

enum {
    RED_ZONE = 1024,         // bytes before and behind each allocation; keeps the alignment that the driver gives
    PATTERN = 0xa5,
    STATIC_LIMIT = 48 << 10, // dynamic shared memory beyond it has to be allowed
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    PORTABLE_CLUSTER = 8,    // blocks that every GPU takes for a cluster; more have to be allowed
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

static const cu_kernel_info *info_of(const dev_cuda_image *image, const ir_func *kernel)
{
    const cu_kernel_list *list = &image->unit->kernels;
    for (size_t i = 0; i < list->len; i++) {
        if (strcmp(list->at[i].func->name, kernel->name) == 0)
            return &list->at[i];
    }
    return NULL;
}

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

// A copy does not ask what the bits of an element mean, a store that combines does.
static hdsrt_dtype element_of(const ir_type *elem)
{
    dtype t = elem->kind == IR_SCALAR ? elem->scalar : DT_U8;
    int code = t == DT_BF16          ? DLPACK_BFLOAT
               : dt_is_float(t)      ? DLPACK_FLOAT
               : dt_is_signed(t)     ? DLPACK_INT
                                     : DLPACK_UINT;
    return (hdsrt_dtype){(uint8_t)code, (uint8_t)(8 * ir_type_bytes(elem))};
}

// [values]: of the kernel's parameters.
static bool make_map(launch *l, const sim_tensor_map *m, const uint64_t *values, hdsrt_tensor_map *out)
{
    const ir_tensor_map *of = m->var->map;
    const ir_tensor *t = of->tensor->tensor;
    hdsrt_tiling tiling = {
        .dtype = element_of(t->elem),
        .ndim = (uint8_t)t->rank,
        .swizzle_bytes = (uint8_t)of->swizzle,
        .l2_bytes = (uint16_t)of->l2_promotion,
        .shape = m->extent,
        .strides = t->is_strided ? m->stride : NULL,
    };
    uint64_t address = 0;
    for (size_t i = 0; i < l->kernel->params.len; i++) {
        if (l->kernel->params.at[i] == of->tensor)
            address = values[i];
    }
    for (int i = 0; i < t->rank; i++)
        tiling.box[i] = (uint32_t)of->box[i];
    if (hdsrt_tensor_map_tiled(out, l->info->symbol, of->tensor->name, (const void *)(uintptr_t)address, &tiling) == HDSRT_OK)
        return true;
    diag_report(l->session->diags, HDS0647, (src_span){0, 0}, arena_printf(l->session->arena, "making the tensor map '%s'", m->var->name),
                arena_strdup(l->session->arena, hdsrt_last_error()));
    return false;
}

// Behind the parameters, in [params].
static bool make_maps(launch *l, const sim_program *p, const uint64_t *args, int count, const uint64_t *values, void **params)
{
    size_t map_count = l->kernel->maps.len;
    const sim_tensor_map *from = sim_maps_of(l->sim, p, l->kernel, args, count, l->session->arena);
    char *room = arena_alloc(l->session->arena, (map_count + 1) * sizeof(hdsrt_tensor_map));
    hdsrt_tensor_map *made = (hdsrt_tensor_map *)(void *)(room + (64 - (uintptr_t)room % 64) % 64);
    for (size_t i = 0; i < map_count; i++) {
        if (!make_map(l, &from[i], values, &made[i]))
            return false;
        params[(size_t)count + i] = &made[i];
    }
    return true;
}

static bool is_cluster(const int64_t cluster[3])
{
    return cluster[0] * cluster[1] * cluster[2] > 1;
}

// What is not compiled in.
static unsigned add_attributes(const launch *l, const sim_launch_shape *shape, hdsrt_launch_attribute *attributes)
{
    unsigned count = 0;
    if (is_cluster(shape->cluster) && !is_cluster(l->info->cluster)) {
        for (int i = 0; i < 3; i++)
            attributes[count].value.cluster[i] = (unsigned)shape->cluster[i];
        attributes[count++].id = HDSRT_LAUNCH_CLUSTER;
    }
    if (l->kernel->dependent_launch) {
        attributes[count].value.is_allowed = 1;
        attributes[count++].id = HDSRT_LAUNCH_DEPENDENT;
    }
    return count;
}

static bool start(launch *l, const sim_program *p, void *function, const sim_launch_shape *shape, const uint64_t *args,
                  int count)
{
    hdsrt_launch_attribute attributes[2] = {0};
    hdsrt_launch_config config = {.attributes = attributes, .attribute_count = add_attributes(l, shape, attributes)};
    uint64_t *values = translate(l, args, count);
    void **params = ARENA_ARRAY(l->session->arena, void *, (size_t)count + l->kernel->maps.len + 1);
    for (int i = 0; i < count; i++)
        params[i] = &values[i];
    if (!make_maps(l, p, args, count, values, params))
        return false;
    for (int i = 0; i < 3; i++) {
        config.grid[i] = (unsigned)shape->grid[i];
        config.block[i] = (unsigned)shape->block[i];
    }
    int64_t bytes = l->info->dynamic_smem_bytes + shape->dynamic_smem_bytes;
    config.dynamic_smem_bytes = (unsigned)bytes;
    const char *what = arena_printf(l->session->arena, "launching '%s'", l->info->symbol);
    if (bytes > STATIC_LIMIT &&
        !dev_cuda_check(l->session, arena_printf(l->session->arena, "asking for %lld bytes of shared memory", (long long)bytes),
                        l->cuda->function_set(function, HDSRT_FUNCTION_DYNAMIC_SMEM, (int)bytes)))
        return false;
    if (shape->cluster[0] * shape->cluster[1] * shape->cluster[2] > PORTABLE_CLUSTER &&
        !dev_cuda_check(l->session, "asking for a large cluster", l->cuda->function_set(function, HDSRT_FUNCTION_LARGE_CLUSTER, 1)))
        return false;
    return dev_cuda_check(l->session, what, l->cuda->launch_with(&config, function, params, NULL));
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
    diag_help(d, "without --device=cuda the simulator says where it is; --gpu-timeout gives it more time");
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
    l->info = info_of(image, l->kernel);
    return l->info && dev_cuda_load(l->session, image) && run(l, p, image, args, count);
}

bool dev_cuda_run(void *user, sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count)
{
    dev_cuda_session *session = user;
    launch l = {.session = session, .cuda = session->gpu->cuda, .sim = s, .kernel = kernel};
    dev_cuda_image *image = dev_cuda_image_of(session, p);
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
