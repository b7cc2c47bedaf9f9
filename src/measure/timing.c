// The clock. See Note [what is measured]
//
// Note [what is measured]
// Device events surround the work. `rotate` puts about a millisecond of launches between two events, so that launch
// latency is hidden behind the previous kernel; each launch gets the next copy of the tensors. `flush` first writes
// twice the size of L2, then puts one launch between the events. The host runs ahead of the GPU, so the events measure
// the kernel plus a constant (the empty kernel's time, which is reported separately and not subtracted).
#include "measure/measure_priv.h"

enum {
    MAX_BATCH = 500,     // launches that the driver queues without blocking; with more, host-bound runs would go unnoticed
    MAX_GRAPH = 2000,
    MAX_QUEUED = 200,    // samples
};
static const double BATCH_SECONDS = 1.2e-3, QUERY_SECONDS = 20e-3;

// ---- graphs -----------------------------------------------------------------------------------------------------

static bool launch_all(ms_session *s, ms_work *work)
{
    for (int i = 0; i < work->batch; i++) {
        if (!work->launch(s, work, work->next))
            return false;
        work->next = (work->next + 1) % work->turns;
    }
    return true;
}

static bool make_graph(ms_session *s, ms_work *work)
{
    void *graph = NULL;
    if (!ms_check(s, s->cuda->capture_begin(s->stream, MS_CAPTURE_RELAXED), "capturing a graph"))
        return false;
    bool launched = launch_all(s, work);
    if (!ms_check(s, s->cuda->capture_end(s->stream, &graph), "capturing a graph") || !launched)
        return false;
    bool ok = ms_check(s, s->cuda->graph_instantiate(&work->graph, graph, 0), "making a graph");
    s->cuda->graph_destroy(graph);
    return ok;
}

void ms_work_free(ms_session *s, ms_work *work)
{
    if (work->graph && !s->is_stuck)
        s->cuda->graph_exec_destroy(work->graph);
    work->graph = NULL;
}

// ---- samples ----------------------------------------------------------------------------------------------------

static bool enqueue(ms_session *s, ms_work *work)
{
    return work->graph ? ms_check(s, s->cuda->graph_launch(work->graph, s->stream), work->what) : launch_all(s, work);
}

static bool flush_cache(ms_session *s)
{
    return s->options.method != MS_FLUSH || !s->flush || !hdsrt_fill(s->flush, 0x5a5a5a5a, 4, s->flush_bytes / 4, s->stream) ||
           ms_failed(s, "flushing the cache");
}

bool ms_wait(ms_session *s, const ms_work *work)
{
    int result = hdsrt_driver_wait(s->cuda, s->stream, s->options.gpu_seconds);
    if (result != HDSRT_CUDA_NOT_READY)
        return ms_check(s, result, work->what);
    diag *d = diag_report(s->diags, HDS0612, (src_span){0, 0}, work->what,
                          arena_printf(s->arena, "%lld s on the GPU", (long long)s->options.gpu_seconds));
    diag_help(d, "hdsc run without --device=cuda shows where; --gpu-timeout allows more time");
    s->is_stuck = true;
    return false;
}

bool ms_sample(ms_session *s, ms_work *work, double *seconds)
{
    float milliseconds = 0;
    if (!flush_cache(s) || !ms_check(s, s->cuda->event_record(s->begin, s->stream), work->what))
        return false;
    double start = ms_now();
    if (!enqueue(s, work))
        return false;
    work->host_seconds += ms_now() - start;
    if (!ms_check(s, s->cuda->event_record(s->end, s->stream), work->what) ||
        !ms_wait(s, work) || !ms_check(s, s->cuda->event_synchronize(s->end), work->what) ||
        !ms_check(s, s->cuda->event_elapsed(&milliseconds, s->begin, s->end), work->what))
        return false;
    work->device_seconds += milliseconds * 1e-3;
    *seconds = work->seconds = milliseconds * 1e-3 / work->batch;
    return true;
}

// ---- warming up -------------------------------------------------------------------------------------------------

static int batch_for(const ms_session *s, const ms_work *work, double seconds)
{
    if (s->options.method == MS_FLUSH)
        return 1;
    bool captures = s->options.graph && work->may_capture;
    int most = captures ? MAX_GRAPH : MAX_BATCH;
    double wanted = seconds > 0 ? BATCH_SECONDS / seconds + 1 : most;
    int batch = wanted > most ? most : (int)wanted;
    // A graph has fixed addresses, so it covers each copy of the tensors once.
    return captures && batch < work->turns ? work->turns : batch;
}

bool ms_warm_up(ms_session *s, ms_work *work, double seconds)
{
    double start = ms_now(), each = 0;
    work->batch = 1;
    do {
        if (!ms_goes_on(s) || !ms_sample(s, work, &each))
            return false;
        work->batch = batch_for(s, work, each);
    } while (ms_now() - start < seconds);
    if (s->options.graph && work->may_capture && (!make_graph(s, work) || !ms_sample(s, work, &each)))
        return false;
    work->host_seconds = work->device_seconds = 0;
    return true;
}

bool ms_state_under(ms_session *s, ms_work *work, ms_state *out)
{
    *out = (ms_state){0};
    if (!s->nvml)
        return true;
    // The query takes milliseconds, during which the GPU must stay busy.
    double each = work->seconds * work->batch;
    int count = each > 0 && QUERY_SECONDS / each < MAX_QUEUED ? (int)(QUERY_SECONDS / each) + 1 : MAX_QUEUED;
    for (int i = 0; i < count; i++) {
        if (!enqueue(s, work))
            return false;
    }
    *out = ms_nvml_state(s->nvml);
    return ms_wait(s, work);
}
