// What the driver wants to know of a launch: code, extents, attributes, parameters, tensor maps.

#include <string.h>

#include <hds/runtime.h>

#include "device/cuda_priv.h"

enum {
    STATIC_LIMIT = 48 << 10, // dynamic shared memory beyond it has to be allowed
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    PORTABLE_CLUSTER = 8,    // blocks that every GPU takes for a cluster; more have to be allowed
};

const cu_kernel_info *dev_cuda_info_of(const dev_cuda_image *image, const ir_func *kernel)
{
    const cu_kernel_list *list = &image->unit->kernels;
    for (size_t i = 0; i < list->len; i++) {
        if (strcmp(list->at[i].func->name, kernel->name) == 0)
            return &list->at[i];
    }
    return NULL;
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

// ---- tensor maps ------------------------------------------------------------------------------------------------

static uint64_t address_of(const dev_cuda_launch *l, const ir_var *tensor, const uint64_t *values)
{
    for (int i = 0; i < l->count; i++) {
        if (l->kernel->params.at[i] == tensor)
            return values[i];
    }
    return 0;
}

static bool make_map(dev_cuda_session *s, const dev_cuda_launch *l, const sim_tensor_map *m, const uint64_t *values,
                     hdsrt_tensor_map *out)
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
    hdsrt_im2col walk = {.channels = (uint32_t)of->box[t->rank - 1]};
    for (int i = 0; i < t->rank; i++)
        tiling.box[i] = (uint32_t)of->box[i];
    for (int i = 0; of->is_im2col && i < t->rank - 2; i++) {
        walk.pixels = (uint32_t)of->box[t->rank - 2];
        walk.lower[i] = of->lower[i];
        walk.upper[i] = of->upper[i];
        tiling.steps[i + 1] = (uint32_t)of->step[i];
    }
    const void *address = (const void *)(uintptr_t)address_of(l, of->tensor, values);
    const char *symbol = l->info->symbol, *name = of->tensor->name;
    if ((of->is_im2col ? hdsrt_tensor_map_im2col(out, symbol, name, address, &tiling, &walk)
                       : hdsrt_tensor_map_tiled(out, symbol, name, address, &tiling)) == HDSRT_OK)
        return true;
    diag_report(s->diags, HDS0647, (src_span){0, 0}, arena_printf(s->arena, "making the tensor map '%s'", m->var->name),
                arena_strdup(s->arena, hdsrt_last_error()));
    return false;
}

// Behind the parameters.
static bool make_maps(dev_cuda_session *s, const dev_cuda_launch *l, const uint64_t *values, void **params)
{
    size_t count = l->kernel->maps.len;
    char *room = arena_alloc(s->arena, (count + 1) * sizeof(hdsrt_tensor_map));
    hdsrt_tensor_map *made = (hdsrt_tensor_map *)(void *)(room + (64 - (uintptr_t)room % 64) % 64);
    for (size_t i = 0; i < count; i++) {
        if (!make_map(s, l, &l->maps[i], values, &made[i]))
            return false;
        params[(size_t)l->count + i] = &made[i];
    }
    return true;
}

// ---- extents and attributes -------------------------------------------------------------------------------------

static int64_t blocks_of(const int64_t cluster[3])
{
    return cluster[0] * cluster[1] * cluster[2];
}

// What is not compiled in.
static void add_attributes(const dev_cuda_launch *l, dev_cuda_call *call)
{
    unsigned count = 0;
    if (blocks_of(l->shape.cluster) > 1 && blocks_of(l->info->cluster) <= 1) {
        for (int i = 0; i < 3; i++)
            call->attributes[count].value.cluster[i] = (unsigned)l->shape.cluster[i];
        call->attributes[count++].id = HDSRT_LAUNCH_CLUSTER;
    }
    if (l->kernel->dependent_launch) {
        call->attributes[count].value.is_allowed = 1;
        call->attributes[count++].id = HDSRT_LAUNCH_DEPENDENT;
    }
    call->config.attributes = call->attributes;
    call->config.attribute_count = count;
}

// What functions have to be asked for before.
static bool allow(dev_cuda_session *s, const dev_cuda_launch *l, int64_t bytes)
{
    const hdsrt_driver *cuda = s->gpu->cuda;
    if (bytes > STATIC_LIMIT && !dev_cuda_check(s, arena_printf(s->arena, "asking for %lld bytes of shared memory", (long long)bytes),
                                                cuda->function_set(l->function, HDSRT_FUNCTION_DYNAMIC_SMEM, (int)bytes)))
        return false;
    return blocks_of(l->shape.cluster) <= PORTABLE_CLUSTER ||
           dev_cuda_check(s, "asking for a large cluster", cuda->function_set(l->function, HDSRT_FUNCTION_LARGE_CLUSTER, 1));
}

bool dev_cuda_prepare(dev_cuda_session *s, const dev_cuda_launch *l, uint64_t *values, dev_cuda_call *out)
{
    int64_t bytes = l->info->dynamic_smem_bytes + l->shape.dynamic_smem_bytes;
    *out = (dev_cuda_call){.function = l->function, .symbol = l->info->symbol};
    out->params = ARENA_ARRAY(s->arena, void *, (size_t)l->count + l->kernel->maps.len + 1);
    for (int i = 0; i < l->count; i++)
        out->params[i] = &values[i];
    for (int i = 0; i < 3; i++) {
        out->config.grid[i] = (unsigned)l->shape.grid[i];
        out->config.block[i] = (unsigned)l->shape.block[i];
    }
    out->config.dynamic_smem_bytes = (unsigned)bytes;
    add_attributes(l, out);
    return make_maps(s, l, values, out->params) && allow(s, l, bytes);
}

bool dev_cuda_start(dev_cuda_session *s, dev_cuda_call *call, void *stream)
{
    call->config.stream = stream;
    int result = s->gpu->cuda->launch_with(&call->config, call->function, call->params, NULL);
    return !result || dev_cuda_check(s, arena_printf(s->arena, "launching '%s'", call->symbol), result);
}
