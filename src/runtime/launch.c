// Launches. What comes before the driver's own call is all that generated code costs, so there is little of it: the
// current context's id, a look into a list of mostly one element, and comparisons.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/internal.h"

enum { MAX_BLOCK = 1024, MAX_CLUSTER = 16, CLUSTERS_SINCE = 90 };

// CUDA C++ Programming Guide, "Features and Technical Specifications".
static const int64_t largest_grid[] = {INT32_MAX, 65535, 65535}, largest_block[] = {1024, 1024, 64};

// ---- extents -----------------------------------------------------------------------------------------------------

static hdsrt_status refuse_extents(const hdsrt_kernel *k, const hdsrt_extents *e)
{
    for (int i = 0; i < 3; i++) {
        if (e->grid[i] < 0 || e->grid[i] > largest_grid[i])
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s' cannot be launched: its grid has %" PRId64
                              " blocks along %c, and a grid has at most %" PRId64 " there",
                              k->name, e->grid[i], "xyz"[i], largest_grid[i]);
        if (e->block[i] < 1 || e->block[i] > largest_block[i])
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s' cannot be launched: its blocks have %" PRId64
                              " threads along %c, and a block has 1 to %" PRId64 " there",
                              k->name, e->block[i], "xyz"[i], largest_block[i]);
    }
    int64_t threads = e->block[0] * e->block[1] * e->block[2];
    if (threads > MAX_BLOCK)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s' cannot be launched: its blocks have %" PRId64 " threads, and a block has at most %d",
                          k->name, threads, MAX_BLOCK);
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                      "'%s' cannot be launched: it asks for %" PRId64 " bytes of dynamic shared memory", k->name,
                      e->dynamic_smem_bytes);
}

// Whether the numbers are in range on every GPU. Negative ones are large without a sign.
static bool is_launchable(const hdsrt_extents *e)
{
    bool is = e->dynamic_smem_bytes >= 0;
    for (int i = 0; i < 3; i++)
        is &=
            (uint64_t)e->grid[i] <= (uint64_t)largest_grid[i] && (uint64_t)e->block[i] - 1 < (uint64_t)largest_block[i];
    return is && e->block[0] * e->block[1] * e->block[2] <= MAX_BLOCK;
}

static bool is_empty(const hdsrt_extents *e)
{
    return !e->grid[0] || !e->grid[1] || !e->grid[2];
}

static hdsrt_status refuse_limits(const hdsrt_kernel *k, const hdsrt_extents *e, const hdsrt_prepared *p)
{
    int64_t threads = e->block[0] * e->block[1] * e->block[2];
    if (threads > p->threads)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s' cannot be launched: its blocks have %" PRId64
                          " threads, and its code uses so many registers, or promises "
                          "so few threads, that a block has at most %d",
                          k->name, threads, p->threads);
    return hdsrt_fail(HDSRT_UNSUPPORTED,
                      "'%s' cannot be launched: it asks for %" PRId64 " bytes of dynamic shared memory beside %" PRId64
                      " of its own, and a block of this GPU (sm_%d) has at most %" PRId64,
                      k->name, e->dynamic_smem_bytes, p->static_smem, p->capability, p->dynamic_smem + p->static_smem);
}

static hdsrt_status refuse_division(const hdsrt_kernel *k, int64_t grid, int64_t cluster, int axis)
{
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                      "'%s' cannot be launched: its grid has %" PRId64
                      " blocks along %c, which is not a multiple of its cluster's %" PRId64,
                      k->name, grid, "xyz"[axis], cluster);
}

// ---- clusters ----------------------------------------------------------------------------------------------------

// Whether a cluster of several blocks is asked for; *status is a failure where that makes no sense.
static bool is_cluster(const hdsrt_kernel *k, const hdsrt_extents *e, hdsrt_status *status)
{
    const int64_t *c = e->cluster;
    if (!(c[0] | c[1] | c[2]))
        return false;
    bool is_right = true;
    for (int i = 0; i < 3; i++)
        is_right &= c[i] >= 1 && c[i] <= MAX_CLUSTER;
    if (!is_right || c[0] * c[1] * c[2] > MAX_CLUSTER) {
        *status = hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                             "'%s' cannot be launched: its cluster is of %" PRId64 " x %" PRId64 " x %" PRId64
                             " blocks, and a cluster has 1 to %d blocks",
                             k->name, c[0], c[1], c[2], MAX_CLUSTER);
        return false;
    }
    return c[0] * c[1] * c[2] > 1;
}

static hdsrt_status check_cluster(const hdsrt_driver *cuda, const hdsrt_kernel *k, const hdsrt_extents *e,
                                  const hdsrt_prepared *p)
{
    if (p->capability < CLUSTERS_SINCE)
        return hdsrt_fail(HDSRT_UNSUPPORTED,
                          "'%s' cannot be launched: it is for clusters of blocks, which GPUs have from sm_%d on, and "
                          "this one is of sm_%d",
                          k->name, CLUSTERS_SINCE, p->capability);
    for (int i = 0; i < 3; i++) {
        if (e->grid[i] % e->cluster[i])
            return refuse_division(k, e->grid[i], e->cluster[i], i);
    }
    if (e->cluster[0] * e->cluster[1] * e->cluster[2] <= HDSRT_PORTABLE_CLUSTER)
        return HDSRT_OK;
    return hdsrt_driver_fail(cuda->function_set(p->function, HDSRT_FUNCTION_LARGE_CLUSTER, 1),
                             "asking for clusters of %d blocks for '%s'",
                             (int)(e->cluster[0] * e->cluster[1] * e->cluster[2]), k->name);
}

static hdsrt_status check_own_cluster(const hdsrt_kernel *k, const hdsrt_extents *e, const hdsrt_prepared *p)
{
    for (int i = 0; i < 3; i++) {
        if (p->cluster[i] && e->grid[i] % p->cluster[i])
            return refuse_division(k, e->grid[i], p->cluster[i], i);
    }
    return HDSRT_OK;
}

// ---- launching ---------------------------------------------------------------------------------------------------

static int launch_with(const hdsrt_driver *cuda, const hdsrt_extents *e, const hdsrt_prepared *p, bool has_cluster,
                       void **parameters, hdsrt_stream stream)
{
    hdsrt_launch_attribute attributes[2] = {0};
    hdsrt_launch_config config = {.stream = stream, .attributes = attributes};
    config.dynamic_smem_bytes = (unsigned)e->dynamic_smem_bytes;
    for (int i = 0; i < 3; i++) {
        config.grid[i] = (unsigned)e->grid[i];
        config.block[i] = (unsigned)e->block[i];
    }
    if (has_cluster) {
        hdsrt_launch_attribute *a = &attributes[config.attribute_count++];
        a->id = HDSRT_LAUNCH_CLUSTER;
        for (int i = 0; i < 3; i++)
            a->value.cluster[i] = (unsigned)e->cluster[i];
    }
    if (p->is_dependent) {
        hdsrt_launch_attribute *a = &attributes[config.attribute_count++];
        a->id = HDSRT_LAUNCH_DEPENDENT;
        a->value.is_allowed = 1;
    }
    return cuda->launch_with(&config, p->function, parameters, NULL);
}

static int launch(const hdsrt_driver *cuda, const hdsrt_extents *e, const hdsrt_prepared *p, void **parameters,
                  hdsrt_stream stream)
{
    return cuda->launch(p->function, (unsigned)e->grid[0], (unsigned)e->grid[1], (unsigned)e->grid[2],
                        (unsigned)e->block[0], (unsigned)e->block[1], (unsigned)e->block[2],
                        (unsigned)e->dynamic_smem_bytes, stream, parameters, NULL);
}

hdsrt_status hdsrt_launch(hdsrt_kernel *kernel, const hdsrt_extents *extents, void **parameters, hdsrt_stream stream)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    const hdsrt_prepared *p = NULL;
    unsigned long long context;
    hdsrt_status status = HDSRT_OK;
    if (!is_launchable(extents))
        return refuse_extents(kernel, extents);
    bool has_cluster = is_cluster(kernel, extents, &status);
    if (status || is_empty(extents))
        return status;
    if (cuda && !cuda->context_id(NULL, &context))
        p = hdsrt_prepared_in(kernel, context);
    if (!p) {
        status = hdsrt_prepare(kernel, &p);
        cuda = hdsrt_driver_get();
    }
    if (status)
        return status;
    if (extents->block[0] * extents->block[1] * extents->block[2] > p->threads ||
        extents->dynamic_smem_bytes > p->dynamic_smem)
        return refuse_limits(kernel, extents, p);
    if (has_cluster)
        status = check_cluster(cuda, kernel, extents, p);
    else if (p->cluster[0])
        status = check_own_cluster(kernel, extents, p);
    if (status)
        return status;
    int result = has_cluster || p->is_dependent ? launch_with(cuda, extents, p, has_cluster, parameters, stream)
                                                : launch(cuda, extents, p, parameters, stream);
    return result ? hdsrt_driver_fail(result, "launching '%s'", kernel->name) : HDSRT_OK;
}

// ---- graphs ---------------------------------------------------------------------------------------------------

enum { CAPTURE_RELAXED = 2 }; // CU_STREAM_CAPTURE_MODE_RELAXED: other threads may allocate meanwhile

struct hdsrt_graph {
    void *exec; // CUgraphExec
};

hdsrt_status hdsrt_graph_begin(hdsrt_stream *stream)
{
    const hdsrt_driver *cuda;
    int device;
    hdsrt_status status = hdsrt_driver_open(&cuda);
    status = status ? status : hdsrt_current_device(&device);
    if (status)
        return status;
    void *made = NULL;
    int result = cuda->stream_create(&made, 1); // CU_STREAM_NON_BLOCKING
    if (!result && (result = cuda->capture_begin(made, CAPTURE_RELAXED)))
        cuda->stream_destroy(made);
    *stream = result ? NULL : made;
    return hdsrt_driver_fail(result, "recording a graph");
}

// The launches that were recorded, in place of those of [exec] where the driver can. *exec is the new one.
static int make(const hdsrt_driver *cuda, void *recorded, void **exec)
{
    struct { // CUgraphExecUpdateResultInfo
        int result;
        void *from, *to;
    } info;
    if (*exec && !cuda->graph_update(*exec, recorded, &info))
        return 0;
    void *made = NULL;
    int result = cuda->graph_instantiate(&made, recorded, 0);
    if (!result && *exec) {
        cuda->synchronize(); // launches of one graph follow each other, those of two do not
        cuda->graph_exec_destroy(*exec);
    }
    *exec = result ? *exec : made;
    return result;
}

hdsrt_status hdsrt_graph_end(hdsrt_stream stream, bool keep, hdsrt_graph **graph)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    void *recorded = NULL;
    if (!cuda || !stream)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "nothing is being recorded");
    int result = cuda->capture_end(stream, &recorded);
    cuda->stream_destroy(stream);
    hdsrt_graph *made = *graph;
    if (!result && keep && !made && !(made = calloc(1, sizeof *made))) {
        cuda->graph_destroy(recorded);
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "no memory for a graph");
    }
    if (!result && keep)
        result = make(cuda, recorded, &made->exec);
    if (recorded)
        cuda->graph_destroy(recorded);
    if (keep && result && !*graph)
        free(made);
    else if (keep)
        *graph = made;
    return keep ? hdsrt_driver_fail(result, "recording a graph") : HDSRT_OK;
}

hdsrt_status hdsrt_graph_launch(const hdsrt_graph *graph, hdsrt_stream stream)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    if (!cuda || !graph)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "nothing was recorded");
    return hdsrt_driver_fail(cuda->graph_launch(graph->exec, stream), "launching a graph");
}

void hdsrt_graph_free(hdsrt_graph *graph)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    if (graph && cuda) {
        cuda->synchronize();
        cuda->graph_exec_destroy(graph->exec);
    }
    free(graph);
}
