// What `hdsc bench --json` found about a model, as notes at the launches of its graphs.
#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "driver/graph_bench.h"
#include "measure/measure.h"

typedef struct reading {
    arena *memory;
    diag_context *diags;
    const char *path;
} reading;

static bool wrong(const reading *r, const char *why)
{
    diag *d = diag_report(r->diags, HDS0751, (src_span){0, 0}, r->path, why);
    diag_help(d, "'hdsc bench MODEL --json=FILE' writes one, with the same -D and rewrites");
    return false;
}

// Of a launch, with those that were joined to it.
static double limit_of(const json_t *launches, size_t number)
{
    double seconds = 0;
    for (size_t i = 0; i < json_array_size(launches); i++) {
        const json_t *own = json_array_get(launches, i), *to = json_object_get(own, "joined");
        if (i == number || (json_is_integer(to) && json_integer_value(to) == (json_int_t)number))
            seconds += json_number_value(json_object_get(own, "limit_seconds"));
    }
    return seconds;
}

// "7.00 µs, 2.4 % of limit", or what the simulator counted; of a joined launch, at which one it was counted.
static const char *note_of(const reading *r, const json_t *launches, size_t number)
{
    const json_t *launch = json_array_get(launches, number), *to = json_object_get(launch, "joined");
    double seconds = json_number_value(json_object_get(launch, "seconds"));
    double limit = limit_of(launches, number);
    const char *first = json_is_integer(to) && json_integer_value(to) >= 0
                            ? json_string_value(json_object_get(json_array_get(launches, (size_t)json_integer_value(to)), "operator"))
                            : NULL;
    if (first)
        return arena_printf(r->memory, "one launch with %s", first);
    const json_t *counts = json_object_get(launch, "counts");
    if (seconds > 0)
        return arena_printf(r->memory, "%s, %.1f %% of limit", ms_time_text(r->memory, seconds), 100 * limit / seconds);
    if (!json_is_object(counts))
        return NULL;
    double instructions = (double)json_integer_value(json_object_get(counts, "warp_instructions"));
    int64_t bytes = json_integer_value(json_object_get(counts, "bytes_moved"));
    return arena_printf(r->memory, "%.3g M instructions, %s moved", instructions * 1e-6, fg_bytes_text(r->memory, bytes));
}

static bool note_launches(const reading *r, fg_graph *g, const json_t *launches)
{
    if (json_array_size(launches) != g->launches.len)
        return wrong(r, arena_printf(r->memory, "it has %zu launches of '%s', which has %zu here", json_array_size(launches), g->name,
                                     g->launches.len));
    for (size_t i = 0; i < g->launches.len; i++) {
        const json_t *launch = json_array_get(launches, i);
        const char *name = json_string_value(json_object_get(launch, "operator"));
        if (!name || strcmp(name, g->launches.at[i].name) != 0)
            return wrong(r, arena_printf(r->memory, "its launch %zu of '%s' is '%s', which is '%s' here", i + 1, g->name, name ? name : "",
                                         g->launches.at[i].name));
        g->launches.at[i].note = note_of(r, launches, i);
    }
    return true;
}

static bool note_graphs(const reading *r, fg_graph *const *graphs, size_t count, const json_t *document)
{
    const json_t *model = json_object_get(document, "model");
    const char *name = json_string_value(json_object_get(model, "name"));
    const json_t *run = json_array_get(json_object_get(model, "runs"), 0);
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(graphs[i]->name, name) == 0)
            return note_launches(r, graphs[i], json_object_get(run, "launches"));
    return wrong(r, name ? arena_printf(r->memory, "it is one of the model '%s', which is not here", name) : "it is of no model");
}

bool cmd_graph_bench(arena *a, diag_context *diags, const char *path, fg_graph *const *graphs, size_t count)
{
    const reading r = {a, diags, path};
    const char *why = NULL;
    json_error_t error;
    str text;
    if (!file_read(a, path, &text, &why))
        return wrong(&r, why);
    json_t *document = json_loadb(text.at, text.len, 0, &error);
    bool ok = document ? note_graphs(&r, graphs, count, document) : wrong(&r, error.text);
    json_decref(document);
    return ok;
}
