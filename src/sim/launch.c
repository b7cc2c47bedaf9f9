// Checks before a kernel runs: its grid and blocks, its shared memory, and its tensors, by the promises of
// lang/reference.md, section 10.1. Limits: CUDA C++ Programming Guide, "Features and Technical Specifications".
#include <inttypes.h>

#include "base/strided_span.h"
#include "sim/finding.h"

enum { LARGEST_BLOCK = 1024, LARGEST_CLUSTER = 16, TENSOR_ALIGN = 16, MAP_ROW = 16 };

typedef struct launching {
    const sim_launch *l;
    const sim_extents *extents;
    strided_span *tensors;  // by argument
    uint32_t site;
    arena *arena;
} launching;

static bool refuse(const launching *x, const char *help, const char *why, ...) __attribute__((format(printf, 3, 4)));

static bool refuse(const launching *x, const char *help, const char *why, ...)
{
    const ir_func *kernel = x->l->kernel;
    va_list args;
    va_start(args, why);
    sim_finding f = {
        .code = HDS0620,
        .actor = {x->site, -1, -1, -1},
        .args = {kernel->title ? kernel->title : kernel->name, arena_vprintf(x->arena, why, args)},
        .help = help,
    };
    va_end(args);
    sim_find(x->l->device, x->l, &f);
    return false;
}

// ---- grid, blocks, shared memory -------------------------------------------------------------------------------------

static bool check_cluster(const launching *x)
{
    const sim_launch_shape *shape = &x->l->shape;
    int64_t blocks = 1;
    for (int i = 0; i < 3; i++) {
        int64_t size = shape->cluster[i];
        blocks = size < 1 || size > LARGEST_CLUSTER ? LARGEST_CLUSTER + 1 : blocks * size;
        if (size >= 1 && shape->grid[i] % size)
            return refuse(x,
                          arena_printf(x->arena, "let the grid be a multiple of %" PRId64 " along %c", size, "xyz"[i]),
                          "its grid has %" PRId64 " blocks along %c, which is not a multiple of its cluster's %" PRId64,
                          shape->grid[i], "xyz"[i], size);
    }
    if (blocks > LARGEST_CLUSTER)
        return refuse(x, "8 blocks run on every GPU that has clusters, and up to 16 on some",
                      "its cluster is of %" PRId64 " x %" PRId64 " x %" PRId64 " blocks, and a cluster has 1 to %d",
                      shape->cluster[0], shape->cluster[1], shape->cluster[2], LARGEST_CLUSTER);
    return true;
}

static bool check_extents(const launching *x)
{
    static const int64_t largest_grid[] = {INT32_MAX, 65535, 65535}, largest_block[] = {1024, 1024, 64};
    const sim_launch_shape *shape = &x->l->shape;
    for (int i = 0; i < 3; i++) {
        if (shape->grid[i] < 0 || shape->grid[i] > largest_grid[i])
            return refuse(x,
                          arena_printf(x->arena, "a grid has at most %" PRId64 " blocks along %c", largest_grid[i], "xyz"[i]),
                          "its grid has %" PRId64 " blocks along %c", shape->grid[i], "xyz"[i]);
        if (shape->block[i] < 1 || shape->block[i] > largest_block[i])
            return refuse(x,
                          arena_printf(x->arena, "a block has 1 to %" PRId64 " threads along %c", largest_block[i], "xyz"[i]),
                          "its blocks have %" PRId64 " threads along %c", shape->block[i], "xyz"[i]);
    }
    int64_t threads = shape->block[0] * shape->block[1] * shape->block[2];
    if (threads > LARGEST_BLOCK)
        return refuse(x, "a block has at most 1024 threads", "its blocks have %" PRId64 " threads", threads);
    return check_cluster(x);
}

// Bytes of the kernel's tensors, without the red zones that the simulator puts between them.
static int64_t own_shared(const sim_code *c)
{
    int64_t bytes = c->shared.len ? 0 : c->shared_bytes;
    for (size_t i = 0; i < c->shared.len; i++)
        bytes += c->shared.at[i].bytes;
    return bytes;
}

static bool check_shared(const launching *x)
{
    const arch *target = x->l->program->module->arch;
    int64_t wish = x->l->shape.dynamic_smem_bytes, own = own_shared(x->l->code);
    for (size_t i = 0; i < x->l->code->shared.len; i++) {
        const sim_shared_tensor *t = &x->l->code->shared.at[i];
        if (t->bytes > (uint32_t)target->smem_per_block)
            return refuse(x, "take smaller tiles or fewer stages",
                          "'%s' is larger than the %d bytes of shared memory that a block of %s can have", t->var->name,
                          target->smem_per_block, target->name);
    }
    // The total size of shared tensors is checked by the compiler, which may overlay tensors with disjoint lifetimes.
    if (wish < 0 || (wish > 0 && own + wish > target->smem_per_block))
        return refuse(x, arena_printf(x->arena, "a block of %s has at most %d bytes", target->name, target->smem_per_block),
                      "it asks for %" PRId64 " bytes of dynamic shared memory beside %" PRId64 " of its own", wish, own);
    return true;
}

// ---- tensors ---------------------------------------------------------------------------------------------------------

static const ir_var *param(const launching *x, int i)
{
    return x->l->kernel->params.at[i];
}

static strided_span strided_span_of(const launching *x, int i)
{
    const ir_type *elem = param(x, i)->tensor->elem;
    bool is_subbyte = elem->kind == IR_SCALAR && dt_is_subbyte(elem->scalar);
    return (strided_span){.address = x->l->args[i],
                    .bits = is_subbyte ? dt_bits(elem->scalar) : 8 * (int)ir_type_bytes(elem),
                    .rank = param(x, i)->tensor->rank,
                    .shape = x->extents[i].shape,
                    .strides = x->extents[i].strides};
}

static bool check_extent_signs(const launching *x, int i, const strided_span *s)
{
    const char *name = param(x, i)->name;
    for (int d = 0; d < s->rank; d++)
        if (s->shape[d] < 0)
            return refuse(x, NULL, "'%s' has a negative extent", name);
    for (int d = 0; s->strides && d < s->rank; d++)
        if (s->strides[d] < 0 && s->shape[d] > 1)
            return refuse(x, NULL, "'%s' has a negative stride", name);
    return refuse(x, NULL, "'%s' has more bytes than 63 bits can count", name);
}

static bool check_alignment(const launching *x, int i)
{
    const ir_tensor *t = param(x, i)->tensor;
    int align = t->align_bytes ? t->align_bytes : TENSOR_ALIGN;
    const char *help = t->is_strided ? "launch with a tensor that begins at a multiple of its 'align='"
                                     : "launch with a tensor that begins at a multiple of 16 bytes, or copy the part";
    if (align < 2 || x->l->args[i] % (unsigned)align == 0)
        return true;
    return refuse(x, help, "'%s' begins at an address that is not a multiple of %d", param(x, i)->name, align);
}

static bool check_tensor(const launching *x, int i)
{
    strided_span *s = &x->tensors[i];
    int64_t room = 0;
    const char *name = param(x, i)->name;
    *s = strided_span_of(x, i);
    if (!strided_span_measure(s))
        return check_extent_signs(x, i, s);
    if (!s->bytes)
        return true;
    if (!sim_bytes(x->l->device, s->address, &room))
        return refuse(x, NULL, "'%s' is not an address of a live tensor", name);
    if (room < s->bytes)
        return refuse(x, NULL, "'%s' has %" PRId64 " bytes, and the memory there ends after %" PRId64, name, s->bytes, room);
    int axis = x->l->code->writes[i] ? strided_span_folded_axis(s) : -1;
    if (axis >= 0)
        return refuse(x, "a tensor whose elements overlap can only be read",
                      "'%s' is written, and its elements overlap: its stride along axis %d is %" PRId64, name, axis,
                      s->strides[axis]);
    return check_alignment(x, i);
}

static bool check_pair(const launching *x, int i, int k)
{
    bool is_written = x->l->code->writes[i] || x->l->code->writes[k];
    if (!is_written || !strided_span_meet(&x->tensors[i], &x->tensors[k]))
        return true;
    return refuse(x, "a kernel may take different tensor parameters to be different memory; write to another tensor",
                  "'%s' and '%s' overlap, and '%s' is written", param(x, i)->name, param(x, k)->name,
                  param(x, x->l->code->writes[k] ? k : i)->name);
}

static bool check_tensors(const launching *x)
{
    for (int i = 0; i < x->l->arg_count; i++) {
        if (!param(x, i)->tensor)
            continue;
        if (!check_tensor(x, i))
            return false;
        for (int k = 0; k < i; k++)
            if (param(x, k)->tensor && !check_pair(x, k, i))
                return false;
    }
    return true;
}

// ---- sizes -----------------------------------------------------------------------------------------------------------

// The compiler takes extents for at least 1 where a kernel runs (lang/reference.md, 4.1).
static bool check_sizes(const launching *x)
{
    const int64_t *grid = x->l->shape.grid;
    for (int i = 0; grid[0] && grid[1] && grid[2] && i < x->l->arg_count; i++) {
        const ir_var *v = param(x, i);
        if (v->is_size && !v->may_be_zero && ir_is_extent(x->l->kernel, v) && !x->l->args[i])
            return refuse(x, "let the grid have no blocks then",
                          "'%s' is 0, and where a kernel runs its extents are at least 1", v->name);
    }
    return true;
}

// ---- tensor maps -----------------------------------------------------------------------------------------------------

static bool is_empty(const sim_tensor_map *m, int rank)
{
    for (int d = 0; d < rank; d++)
        if (!m->extent[d])
            return true;
    return false;
}

// CUDA Driver API, cuTensorMapEncodeIm2col.
static bool check_corners(const launching *x, const sim_tensor_map *m)
{
    const ir_tensor_map *of = m->var->map;
    for (int d = 1; of->is_im2col && d < of->tensor->tensor->rank - 1; d++)
        if (m->extent[d] + of->upper[d - 1] <= of->lower[d - 1])
            return refuse(x, "the filter is larger than the padded image",
                          "the corners %d and %d leave no pixel of axis %d of '%s', which has %" PRId64, of->lower[d - 1],
                          of->upper[d - 1], d, of->tensor->name, m->extent[d]);
    return true;
}

// CUDA Driver API, cuTensorMapEncodeTiled. The map of an empty tensor copies nothing.
static bool check_map(const launching *x, const sim_tensor_map *m)
{
    const ir_tensor *t = m->var->map->tensor->tensor;
    const char *name = m->var->map->tensor->name;
    int64_t each = ir_type_bytes(t->elem);
    if (is_empty(m, t->rank))
        return true;
    if (m->address % MAP_ROW)
        return refuse(x, NULL, "'%s' begins at an address that is not a multiple of %d, which a tensor map wants", name,
                      MAP_ROW);
    for (int d = 0; d < t->rank; d++)
        if (m->extent[d] < 1 || m->extent[d] > (int64_t)1 << 32)
            return refuse(x, NULL, "'%s' has an extent of %" PRId64 ", and a tensor map takes 1 to 4294967296", name,
                          m->extent[d]);
    for (int d = 0; d < t->rank - 1; d++) {
        if (m->stride[d] < 0 || m->stride[d] >= ((int64_t)1 << 40) / each)
            return refuse(x, NULL, "'%s' is too large for a tensor map: its strides are below 2^40 bytes", name);
        if (m->stride[d] * each % MAP_ROW)
            return refuse(x, arena_printf(x->arena, "let strides be multiples of %" PRId64 " elements, or copy without a tensor map",
                                          MAP_ROW / each),
                          "the rows of '%s' have %" PRId64 " bytes, and a tensor map wants multiples of %d", name,
                          m->stride[d] * each, MAP_ROW);
    }
    return check_corners(x, m);
}

static bool check_maps(const launching *x)
{
    const int64_t *grid = x->l->shape.grid;
    bool all = true;
    for (size_t i = 0; grid[0] && grid[1] && grid[2] && i < x->l->kernel->maps.len; i++)
        all = all && check_map(x, &x->l->maps[i]);
    return all;
}

bool sim_launch_check(const sim_launch *l, const sim_extents *extents, uint32_t site, arena *scratch)
{
    launching x = {l, extents, ARENA_ARRAY(scratch, strided_span, l->arg_count + 1), site, scratch};
    return check_extents(&x) && check_shared(&x) && check_tensors(&x) && check_sizes(&x) && check_maps(&x);
}
