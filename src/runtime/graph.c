// Launches recorded as a CUDA graph, which are launched at once.
#include <stdlib.h>

#include "runtime/internal.h"

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
    if (!result && *exec)
        cuda->graph_exec_destroy(*exec);
    *exec = result ? *exec : made;
    return result;
}

hdsrt_status hdsrt_graph_end(hdsrt_stream stream, bool keep, hdsrt_graph **graph)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    void *recorded = NULL;
    if (!cuda || !stream)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_graph_end: nothing is being recorded");
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
    return keep ? hdsrt_driver_fail(result, "making a graph") : HDSRT_OK;
}

hdsrt_status hdsrt_graph_launch(const hdsrt_graph *graph, hdsrt_stream stream)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    if (!cuda || !graph)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_graph_launch: graph is a null pointer");
    return hdsrt_driver_fail(cuda->graph_launch(graph->exec, stream), "launching a graph");
}

void hdsrt_graph_free(hdsrt_graph *graph)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    if (graph && cuda)
        cuda->graph_exec_destroy(graph->exec);
    free(graph);
}
