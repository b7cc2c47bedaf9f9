// Time as events see it, and graphs. A launch takes what FAKE_CUDA_DURATION says (inf: for ever), or FAKE_CUDA_DURATION_OF for
// blocks of so many threads, a copy a microsecond for each 100 kB;
// fills take none. While a stream is captured, time goes into the graph, and passes when that is launched.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

typedef struct stamp {
    const void *event;
    double microseconds;
    struct stamp *next;
} stamp;

// An event that a graph records, so long after its begin.
typedef struct mark {
    const void *event;
    double after;
    struct mark *next;
    struct mark *made_before;
} mark;

typedef struct graph {
    double microseconds;
    mark *marks;
    struct graph *next;
} graph;

static stamp *stamps;
static graph *graphs;
static double now;
static bool is_capturing;
static double captured;
static mark *captured_marks;
static mark *all_marks; // they are never freed, since graphs share them
static const char *durations; // the rest of FAKE_CUDA_DURATION

static stamp *stamp_of(const void *event)
{
    for (stamp *s = stamps; s; s = s->next) {
        if (s->event == event)
            return s;
    }
    stamp *s = calloc(1, sizeof *s);
    *s = (stamp){.event = event, .next = stamps};
    stamps = s;
    return s;
}

void fake_time_stamp(const void *event)
{
    stamp_of(event)->microseconds = now;
}

void fake_time_stamp_in_graph(const void *event)
{
    if (!is_capturing) {
        fake_time_stamp(event);
        return;
    }
    mark *m = calloc(1, sizeof *m);
    *m = (mark){.event = event, .after = captured, .next = captured_marks, .made_before = all_marks};
    captured_marks = all_marks = m;
}

float fake_time_between(const void *begin, const void *end)
{
    return (float)((stamp_of(end)->microseconds - stamp_of(begin)->microseconds) * 1e-3);
}

static void pass(double microseconds)
{
    if (is_capturing)
        captured += microseconds;
    else
        now += microseconds;
}

// "64:30,128:20"
static bool find_duration(unsigned threads, double *microseconds)
{
    const char *at = getenv("FAKE_CUDA_DURATION_OF");
    while (at && *at) {
        char *end;
        bool is_it = strtoul(at, &end, 10) == threads;
        if (*end != ':')
            return false;
        *microseconds = strtod(end + 1, &end);
        if (is_it)
            return true;
        at = *end == ',' ? end + 1 : NULL;
    }
    return false;
}

void fake_time_launch(unsigned threads)
{
    const char *all = getenv("FAKE_CUDA_DURATION");
    double own;
    if (find_duration(threads, &own)) {
        pass(own);
        return;
    }
    if (!all || !*all) {
        pass(10);
        return;
    }
    if (!durations || !*durations)
        durations = all;
    char *end;
    pass(strtod(durations, &end));
    durations = *end == ',' ? end + 1 : "";
}

bool fake_time_is_endless(void)
{
    return isinf(now);
}

void fake_time_copy(size_t bytes)
{
    pass((double)bytes / 1e5);
}

// ---- graphs -----------------------------------------------------------------------------------------------------

enum { STREAM_CAPTURE_INVALIDATED = 901 };

static graph *add_graph(double microseconds, mark *marks)
{
    graph *g = calloc(1, sizeof *g);
    *g = (graph){.microseconds = microseconds, .marks = marks, .next = graphs};
    graphs = g;
    return g;
}

static graph *find_graph(const void *handle)
{
    for (graph *g = graphs; g; g = g->next) {
        if (g == handle)
            return g;
    }
    return NULL;
}

static int free_graph(const void *handle)
{
    for (graph **at = &graphs; *at; at = &(*at)->next) {
        if (*at == handle) {
            graph *dead = *at;
            *at = dead->next;
            free(dead);
            return SUCCESS;
        }
    }
    return INVALID_HANDLE;
}

// The default stream cannot be captured.
int cuStreamBeginCapture_v2(void *stream, int mode)
{
    fake_context *c;
    int result = fake_begin_in_context("cuStreamBeginCapture_v2", &c);
    if (!result && !(result = fake_check_stream(stream, c)))
        result = !stream || is_capturing ? INVALID_VALUE : SUCCESS;
    if (!result) {
        is_capturing = true;
        captured = 0;
        captured_marks = NULL;
    }
    return fake_end("cuStreamBeginCapture_v2", result, "stream %p, %d", stream, mode);
}

int cuStreamEndCapture(void *stream, void **out)
{
    fake_context *c;
    int result = fake_begin_in_context("cuStreamEndCapture", &c);
    if (!result && !is_capturing)
        result = STREAM_CAPTURE_INVALIDATED;
    is_capturing = false;
    if (!result)
        *out = add_graph(captured, captured_marks);
    return fake_end("cuStreamEndCapture", result, "stream %p", stream);
}

int cuGraphInstantiateWithFlags(void **exec, void *handle, unsigned long long flags)
{
    fake_context *c;
    int result = fake_begin_in_context("cuGraphInstantiateWithFlags", &c);
    const graph *g = result ? NULL : find_graph(handle);
    if (g)
        *exec = add_graph(g->microseconds, g->marks);
    return fake_end("cuGraphInstantiateWithFlags",
                    result ? result
                    : g    ? SUCCESS
                           : INVALID_HANDLE,
                    "%p, %llu", handle, flags);
}

int cuGraphExecUpdate_v2(void *exec, void *handle, void *info)
{
    fake_context *c;
    int result = fake_begin_in_context("cuGraphExecUpdate_v2", &c);
    graph *to = result ? NULL : find_graph(exec);
    const graph *from = to ? find_graph(handle) : NULL;
    if (from && info)
        *to = (graph){from->microseconds, from->marks, to->next};
    return fake_end("cuGraphExecUpdate_v2",
                    result         ? result
                    : from && info ? SUCCESS
                                   : INVALID_HANDLE,
                    "%p", handle);
}

int cuGraphLaunch(void *exec, void *stream)
{
    fake_context *c;
    int result = fake_begin_in_context("cuGraphLaunch", &c);
    const graph *g = result ? NULL : find_graph(exec);
    if (!result)
        result = g ? fake_check_stream(stream, c) : INVALID_HANDLE;
    for (const mark *m = result ? NULL : g->marks; m; m = m->next)
        stamp_of(m->event)->microseconds = now + m->after;
    if (!result)
        pass(g->microseconds);
    return fake_end("cuGraphLaunch", result, "%p, stream %p", exec, stream);
}

int cuGraphExecDestroy(void *exec)
{
    int result = fake_begin_ready("cuGraphExecDestroy");
    return fake_end("cuGraphExecDestroy", result ? result : free_graph(exec), "%p", exec);
}

int cuGraphDestroy(void *handle)
{
    int result = fake_begin_ready("cuGraphDestroy");
    return fake_end("cuGraphDestroy", result ? result : free_graph(handle), "%p", handle);
}
