// Launches, and what one would need.

#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

hdsrt_status jit_take_room(jit_room *r, const jit_kernel *kernel, jit_frame *f)
{
    r->large = kernel->frame_bytes > JIT_SMALL_FRAME ? malloc(kernel->frame_bytes) : NULL;
    if (kernel->frame_bytes > JIT_SMALL_FRAME && !r->large)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "'%s': no memory for its arguments", kernel->launch.name);
    jit_frame_init(f, kernel, r->large ? r->large : r->small);
    return HDSRT_OK;
}

// ---- extents ---------------------------------------------------------------------------------------------------

static hdsrt_status evaluate(const jit_frame *f, const jit_expr *expr, const char *what, int64_t *out)
{
    jit_trouble trouble = jit_expr_evaluate(expr, f->values, out);
    if (!trouble)
        return HDSRT_OK;
    const char *quote = expr->text ? "'" : "", *name = f->kernel->launch.name;
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the %s cannot be computed%s%s%s%s: %s", name, what,
                      expr->text ? " from " : "", quote, expr->text ? expr->text : "", quote,
                      jit_trouble_text(trouble));
}

static hdsrt_status evaluate_three(const jit_frame *f, const jit_expr *exprs, const char *what, int64_t *out)
{
    hdsrt_status status = HDSRT_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = evaluate(f, &exprs[i], what, &out[i]);
    return status;
}

hdsrt_status jit_frame_extents(const jit_frame *f, hdsrt_extents *out)
{
    const jit_kernel *k = f->kernel;
    *out = (hdsrt_extents){0};
    hdsrt_status status = evaluate_three(f, k->grid, "grid", out->grid);
    if (!status)
        status = evaluate_three(f, k->block, "block", out->block);
    if (!status && k->has_cluster)
        status = evaluate_three(f, k->cluster, "cluster", out->cluster);
    return status ? status : evaluate(f, &k->dynamic_smem_bytes, "dynamic shared memory", &out->dynamic_smem_bytes);
}

// The compiler takes extents for at least 1 where a kernel runs.
static hdsrt_status check_sizes(const jit_frame *f, const hdsrt_extents *extents)
{
    const jit_kernel *k = f->kernel;
    bool is_empty = !extents->grid[0] || !extents->grid[1] || !extents->grid[2];
    for (int i = 0; i < k->count && !is_empty; i++) {
        const jit_parameter *p = &k->parameters[i];
        if (p->shown.kind == HDS_SIZE && p->is_extent && !p->may_be_zero && !f->values[i].u.integer)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s': '%s' is 0, and where a kernel runs its extents are at least 1", k->launch.name,
                              p->shown.name);
    }
    return HDSRT_OK;
}

// ---- tensor maps -----------------------------------------------------------------------------------------------

// A grid without blocks launches nothing, and empty tensors cannot be described.
static hdsrt_status make_maps(jit_frame *f, const hdsrt_extents *extents)
{
    const jit_kernel *k = f->kernel;
    bool is_empty = !extents->grid[0] || !extents->grid[1] || !extents->grid[2];
    for (int i = 0; i < k->map_count; i++) {
        const jit_parameter *p = &k->parameters[k->maps[i].parameter];
        const hdsrt_strided_value *tensor = &f->tensors[p->tensor];
        hdsrt_tiling tiling = k->maps[i].tiling;
        tiling.shape = tensor->shape;
        tiling.strides = tensor->strides;
        f->addresses[k->count + i] = &f->maps[i];
        const char *name = k->maps[i].tensor;
        hdsrt_status status =
            is_empty ? HDSRT_OK
            : k->maps[i].is_im2col
                ? hdsrt_tensor_map_im2col(&f->maps[i], k->launch.name, name, tensor->data, &tiling, &k->maps[i].im2col)
                : hdsrt_tensor_map_tiled(&f->maps[i], k->launch.name, name, tensor->data, &tiling);
        if (status)
            return status;
    }
    return HDSRT_OK;
}

// ---- calls -----------------------------------------------------------------------------------------------------

static hdsrt_status launch(jit_frame *f, jit_kernel *kernel, const hds_argument *arguments, size_t count,
                           hdsrt_stream stream)
{
    hdsrt_extents extents;
    hdsrt_status status = jit_bind(f, arguments, count, JIT_TO_LAUNCH);
    if (!status)
        status = jit_frame_extents(f, &extents);
    if (!status)
        status = check_sizes(f, &extents);
    if (!status)
        status = make_maps(f, &extents);
    if (status)
        return status;
    if (kernel->is_cluster_fixed)
        memset(extents.cluster, 0, sizeof extents.cluster);
    return hdsrt_launch(&kernel->launch, &extents, f->addresses, stream);
}

hdsrt_status jit_launch(jit_kernel *kernel, const hds_argument *arguments, size_t count, hdsrt_stream stream)
{
    jit_room r;
    jit_frame f;
    hdsrt_status status = jit_take_room(&r, kernel, &f);
    if (status)
        return status;
    status = launch(&f, kernel, arguments, count, stream);
    free(r.large);
    return status;
}

hdsrt_status jit_extents(const jit_kernel *kernel, const hds_argument *arguments, size_t count, hdsrt_extents *out)
{
    jit_room r;
    jit_frame f;
    hdsrt_extents extents;
    hdsrt_status status = jit_take_room(&r, kernel, &f);
    if (status)
        return status;
    status = jit_bind(&f, arguments, count, JIT_TO_MEASURE);
    if (!status)
        status = jit_frame_extents(&f, &extents);
    if (!status)
        *out = extents;
    free(r.large);
    return status;
}

hdsrt_status jit_shape(const jit_kernel *kernel, const hds_argument *arguments, size_t count, size_t index,
                       int64_t *shape)
{
    jit_room r;
    jit_frame f;
    const jit_parameter *p = index < (size_t)kernel->count ? &kernel->parameters[index] : NULL;
    if (!p || p->tensor < 0)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': parameter %zu is not a tensor", kernel->launch.name, index);
    hdsrt_status status = jit_take_room(&r, kernel, &f);
    if (status)
        return status;
    status = jit_bind(&f, arguments, count, JIT_TO_MEASURE);
    if (!status)
        memcpy(shape, f.extents + p->first_extent, (size_t)p->shown.ndim * sizeof *shape);
    free(r.large);
    return status;
}

void jit_unload(jit_program *p)
{
    hdsrt_unload(&p->library, p->launches, (size_t)p->count);
}
