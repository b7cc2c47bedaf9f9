#include "pipeline/times.h"

#include <time.h>

double pl_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

void pl_times_init(pl_times *t, arena *a, double origin_us)
{
    *t = (pl_times){.arena = a, .origin_us = origin_us};
}

size_t pl_span_begin(pl_times *t, const char *name, int depth)
{
    pl_span_add(t, name, depth, pl_now_us() - t->origin_us, 0);
    return t->spans.len - 1;
}

void pl_span_end(pl_times *t, size_t index)
{
    pl_span *s = &t->spans.at[index];
    s->duration_us = pl_now_us() - t->origin_us - s->start_us;
    s->most_bytes = t->memory ? t->memory->most_bytes : 0;
}

void pl_span_add(pl_times *t, const char *name, int depth, double start_us, double duration_us)
{
    VEC_PUSH(t->arena, &t->spans, ((pl_span){name, depth, start_us, duration_us, 0, false}));
}

void pl_span_add_sum(pl_times *t, const char *name, int depth, double duration_us)
{
    VEC_PUSH(t->arena, &t->spans, ((pl_span){.name = name, .depth = depth, .duration_us = duration_us, .is_sum = true}));
}

void pl_times_row(str_buf *out, int depth, const char *name, double us, double total_us, size_t bytes)
{
    str_addf(out, "%10.0f %6.1f%% ", us, total_us > 0 ? 100 * us / total_us : 0);
    if (bytes)
        str_addf(out, "%9.1f", (double)bytes / (1 << 20));
    else
        str_addf(out, "%9s", "");
    str_addf(out, "  %*s%s\n", 2 * depth, "", name);
}

void pl_times_rows(const pl_times *t, int depth, double total_us, str_buf *out)
{
    for (size_t i = 0; i < t->spans.len; i++) {
        const pl_span *s = &t->spans.at[i];
        pl_times_row(out, depth + s->depth, s->name, s->duration_us, total_us, s->most_bytes);
    }
}

static void add_comma(bool *first, str_buf *out)
{
    if (!*first)
        str_adds(out, ",\n");
    *first = false;
}

void pl_times_trace(const pl_times *t, const char *title, int tid, bool *first, str_buf *out)
{
    add_comma(first, out);
    str_addf(out, "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, ", tid);
    str_addf(out, "\"args\": {\"name\": \"%s\"}}", title);
    for (size_t i = 0; i < t->spans.len; i++) {
        const pl_span *s = &t->spans.at[i];
        if (s->is_sum)
            continue;
        add_comma(first, out);
        str_addf(out, "{\"name\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, ", s->name, tid);
        str_addf(out, "\"ts\": %.3f, \"dur\": %.3f}", s->start_us, s->duration_us);
    }
}
