// CUDA graphs of a function, for the last sets of sizes that it ran with.
//
// Launches of one graph follow each other, whatever their streams, so that they may share its workspace; runs on other streams
// have graphs and workspaces of their own.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

enum { USUAL_LIMIT = 16 };

// Its addresses are those of the last run.
typedef struct recorded {
    uint64_t *words;
    hdsrt_stream stream;
    hdsrt_graph *graph; // NULL: the place is free
    void *workspace;
    uint64_t last_use;
} recorded;

struct hdsrt_graph_cache {
    pthread_mutex_t lock;
    recorded *graphs; // [limit], those in use first
    size_t count, limit, addresses, sizes;
    int64_t workspace_bytes;
    uint64_t clock;
    uint64_t *words; // of all graphs
};

hdsrt_status hdsrt_graph_cache_new(hdsrt_graph_cache **cache, size_t limit, size_t addresses, size_t sizes,
                                   int64_t workspace_bytes)
{
    size_t most = limit ? limit : USUAL_LIMIT, each = addresses + sizes;
    hdsrt_graph_cache *c = calloc(1, sizeof *c);
    recorded *graphs = calloc(most, sizeof *graphs);
    uint64_t *words = calloc(most, (each + 1) * sizeof *words);
    *cache = c;
    if (!c || !graphs || !words) {
        free(c);
        free(graphs);
        free(words);
        *cache = NULL;
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "there is no memory for %zu graphs", most);
    }
    for (size_t i = 0; i < most; i++)
        graphs[i].words = words + i * each;
    *c = (hdsrt_graph_cache){.graphs = graphs, .limit = most, .addresses = addresses, .sizes = sizes,
                             .workspace_bytes = workspace_bytes, .words = words};
    pthread_mutex_init(&c->lock, NULL);
    return HDSRT_OK;
}

// Waits for what is in flight: the workspace is free then.
static void drop(recorded *r)
{
    hdsrt_graph_free(r->graph);
    hdsrt_release(r->workspace, NULL);
    *r = (recorded){.words = r->words};
}

void hdsrt_graph_cache_free(hdsrt_graph_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        drop(&c->graphs[i]);
    pthread_mutex_destroy(&c->lock);
    free(c->graphs);
    free(c->words);
    free(c);
}

static bool is_of(const hdsrt_graph_cache *c, const recorded *r, const uint64_t *words, hdsrt_stream stream)
{
    return r->graph && r->stream == stream &&
           memcmp(r->words + c->addresses, words + c->addresses, c->sizes * sizeof *words) == 0;
}

// The place of the graph for these sizes, or a free one.
static recorded *place_for(hdsrt_graph_cache *c, const uint64_t *words, hdsrt_stream stream)
{
    recorded *oldest = NULL;
    for (size_t i = 0; i < c->count; i++) {
        recorded *r = &c->graphs[i];
        if (is_of(c, r, words, stream))
            return r;
        if (!oldest || r->last_use < oldest->last_use)
            oldest = r;
    }
    if (c->count < c->limit)
        return &c->graphs[c->count++];
    drop(oldest);
    return oldest;
}

static hdsrt_status record(const hdsrt_graph_cache *c, recorded *r, const uint64_t *words, hdsrt_enqueue *enqueue, void *user)
{
    hdsrt_stream stream;
    hdsrt_status status = HDSRT_OK;
    if (c->workspace_bytes > 0 && !r->workspace) {
        status = hdsrt_allocate(&r->workspace, c->workspace_bytes, NULL);
        status = status ? status : hdsrt_synchronize(NULL); // other streams use it
    }
    status = status ? status : hdsrt_graph_begin(&stream);
    if (status)
        return status;
    status = enqueue(user, words, stream, r->workspace);
    hdsrt_status ended = hdsrt_graph_end(stream, !status, &r->graph);
    return status ? status : ended;
}

static hdsrt_status run(hdsrt_graph_cache *c, const uint64_t *words, hdsrt_enqueue *enqueue, void *user, hdsrt_stream stream,
                        bool launches)
{
    recorded *r = place_for(c, words, stream);
    size_t bytes = c->addresses * sizeof *words;
    if (!r->graph || memcmp(r->words, words, bytes) != 0) {
        hdsrt_status status = record(c, r, words, enqueue, user);
        if (status && !r->graph)
            drop(r);
        if (status)
            return status;
    }
    memcpy(r->words, words, bytes + c->sizes * sizeof *words);
    r->stream = stream;
    r->last_use = ++c->clock;
    return launches ? hdsrt_graph_launch(r->graph, stream) : HDSRT_OK;
}

hdsrt_status hdsrt_graph_cache_run(hdsrt_graph_cache *c, const uint64_t *words, hdsrt_enqueue *enqueue, void *user,
                                   hdsrt_stream stream, bool launches)
{
    pthread_mutex_lock(&c->lock);
    hdsrt_status status = run(c, words, enqueue, user, stream, launches);
    pthread_mutex_unlock(&c->lock);
    return status;
}
