// A row: one set of sizes, measured.
#include <string.h>

#include "measure/measure_priv.h"

static const src_span nowhere = {0, 0};
enum { MOST_SAMPLES = 10000 };

// ---- what it does -----------------------------------------------------------------------------------------------

// Bytes of tensors: once if read, and once more if written.
static int64_t bytes_of_tensors(const ms_argument *arguments, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        if (arguments[i].is_tensor)
            sum += arguments[i].bytes * (arguments[i].is_read + arguments[i].is_written);
    }
    return sum;
}

static jit_value value_of(const ms_argument *a)
{
    if (dt_is_float(a->type))
        return (jit_value){.kind = JIT_REAL, .u.real = dt_to_double(a->type, a->value)};
    if (!dt_is_int(a->type) && a->type != DT_BOOL)
        return (jit_value){.kind = JIT_OTHER};
    return (jit_value){.kind = JIT_INTEGER, .u.integer = dt_is_int(a->type) ? dt_wrap_int(a->type, (int64_t)a->value) : a->value != 0};
}

// Tensors have no value there.
const char *ms_evaluate(arena *a, const char *text, const ms_argument *arguments, int count, int64_t *out)
{
    const char **names = ARENA_ARRAY(a, const char *, count + 1), *why = NULL;
    jit_value *values = ARENA_ARRAY(a, jit_value, count + 1);
    for (int i = 0; i < count; i++) {
        names[i] = arguments[i].name;
        values[i] = arguments[i].is_tensor ? (jit_value){.kind = JIT_OTHER} : value_of(&arguments[i]);
    }
    jit_expr expr;
    jit_trouble trouble = JIT_FINE;
    if (jit_expr_compile(a, text, names, count, &expr, &why)) {
        trouble = jit_expr_evaluate(&expr, values, out);
        if (trouble == JIT_FINE && *out >= 0)
            return NULL;
        why = trouble == JIT_FINE ? "it is negative" : jit_trouble_text(trouble);
    }
    return why;
}

// --flops and --bytes.
static bool evaluate(ms_session *s, const char *option, const char *text, const ms_argument *arguments, int count, int64_t *out)
{
    const char *why = ms_evaluate(s->arena, text, arguments, count, out);
    if (!why)
        return true;
    diag *d = diag_report(s->diags, HDS0754, nowhere, option, text, why);
    diag_help(d, "write an integer expression over the sizes and scalars of the kernel, as in 2 * m * n * k");
    return false;
}

static bool count_work(ms_session *s, const ms_argument *arguments, int count, ms_row *row)
{
    int64_t flops = 0;
    row->bytes = bytes_of_tensors(arguments, count);
    row->flops = -1;
    if (s->options.bytes && !evaluate(s, "bytes", s->options.bytes, arguments, count, &row->bytes))
        return false;
    if (s->options.flops && !evaluate(s, "flops", s->options.flops, arguments, count, &flops))
        return false;
    if (s->options.flops)
        row->flops = (double)flops;
    return true;
}

// ---- how it is launched -----------------------------------------------------------------------------------------

// Attributes of the machine code from the driver, and the occupancy.
static void look_at_code(ms_session *s, ms_launch *l)
{
    int64_t threads = l->block[0] * l->block[1] * l->block[2], blocks = l->grid[0] * l->grid[1] * l->grid[2];
    size_t bytes = (size_t)l->dynamic_smem_bytes;
    s->cuda->function_get(&l->registers, MS_FUNCTION_REGISTERS, l->function);
    s->cuda->function_get(&l->local_bytes, MS_FUNCTION_LOCAL, l->function);
    s->cuda->function_get(&l->static_smem_bytes, HDSRT_FUNCTION_SMEM, l->function);
    if (bytes)
        s->cuda->function_set(l->function, HDSRT_FUNCTION_DYNAMIC_SMEM, (int)bytes);
    if (s->cuda->occupancy(&l->blocks_per_sm, l->function, (int)threads, bytes))
        l->blocks_per_sm = 0;
    int64_t at_once = (int64_t)l->blocks_per_sm * s->record.machine.sm_count;
    l->waves = at_once ? (double)blocks / (double)at_once : 0;
}

static bool look_at_kernel(ms_session *s, const ms_buffers *b, ms_launch *l)
{
    hdsrt_extents e = {0};
    if (hds_kernel_extents(s->kernel, b->arguments, (size_t)b->count, &e)) {
        diag_report(s->diags, HDS0647, nowhere, arena_printf(s->arena, "launching '%s'", s->record.subject.title), hds_last_error());
        return false;
    }
    *l = (ms_launch){.symbol = s->record.subject.symbol, .function = s->function, .dynamic_smem_bytes = e.dynamic_smem_bytes};
    memcpy(l->grid, e.grid, sizeof e.grid);
    memcpy(l->block, e.block, sizeof e.block);
    memcpy(l->cluster, e.cluster, sizeof e.cluster);
    return true;
}

static bool look_at_launches(ms_session *s, const ms_buffers *b, ms_row *row)
{
    row->launch_count = b->host ? b->host->launch_count : 1;
    ms_launch *launches = ARENA_ARRAY(s->arena, ms_launch, row->launch_count + 1);
    row->launches = launches;
    if (!b->host && !look_at_kernel(s, b, &launches[0]))
        return false;
    for (int i = 0; i < row->launch_count; i++) {
        if (b->host)
            launches[i] = b->host->launches[i];
        look_at_code(s, &launches[i]);
    }
    return true;
}

static bool bind_host(ms_session *s, const ms_buffers *b)
{
    void **addresses = ARENA_ARRAY(s->arena, void *, b->count + 1);
    for (int set = 0; b->host && set < b->sets; set++) {
        for (int i = 0; i < b->count; i++)
            addresses[i] = b->is_tensor[i] ? b->arguments[set * b->count + i].value.pointer : NULL;
        if (!b->host->bind(b->host->user, set, addresses))
            return false;
    }
    return true;
}

// ---- what is launched -------------------------------------------------------------------------------------------

static bool launch_failed(ms_session *s, const ms_work *work)
{
    diag_report(s->diags, HDS0647, nowhere, work->what, hds_last_error());
    return false;
}

static bool launch_kernel(ms_session *s, const ms_work *work, int turn)
{
    const ms_buffers *b = work->user;
    return !hds_launch(s->kernel, b->arguments + turn * b->count, (size_t)b->count, s->stream) || launch_failed(s, work);
}

static bool launch_host(ms_session *s, const ms_work *work, int turn)
{
    const ms_buffers *b = work->user;
    return b->host->launch(b->host->user, turn, s->stream);
}

static bool launch_copy(ms_session *s, const ms_work *work, int turn)
{
    const ms_buffers *b = work->user;
    char *from = b->pool + 2 * b->half_bytes * turn;
    return !hdsrt_copy(from + b->half_bytes, from, b->half_bytes, s->stream) || ms_failed(s, work->what);
}

static bool launch_empty(ms_session *s, const ms_work *work, int turn)
{
    (void)turn;
    return !hds_launch(s->empty, NULL, 0, s->stream) || launch_failed(s, work);
}

static ms_work kernel_work(ms_session *s, const ms_buffers *b)
{
    const char *what = arena_printf(s->arena, "running '%s'", s->record.subject.title);
    return (ms_work){.what = what, .launch = b->host ? launch_host : launch_kernel, .user = b, .turns = b->sets, .may_capture = true};
}

// Copies of hundreds of megabytes are slower in a graph than in a stream.
static ms_work copy_work(const ms_buffers *b)
{
    bool is_small = b->half_bytes <= (int64_t)256 << 20;
    return (ms_work){.what = "copying", .launch = launch_copy, .user = b, .turns = b->copies, .may_capture = is_small};
}

// ---- measuring --------------------------------------------------------------------------------------------------

// Once for all rows.
static bool measure_empty(ms_session *s)
{
    if (!s->empty || s->record.empty_seconds >= 0)
        return true;
    ms_work work = {.what = "running an empty kernel", .launch = launch_empty, .turns = 1, .may_capture = true};
    double values[15];
    enum { COUNT = sizeof values / sizeof *values };
    bool ok = ms_warm_up(s, &work, 0.01);
    for (int i = 0; ok && i < COUNT; i++)
        ok = ms_sample(s, &work, &values[i]);
    if (ok)
        s->record.empty_seconds = ms_summarize(values, COUNT).median;
    ms_work_free(s, &work);
    return ok;
}

typedef VEC(double) times;

static void show_progress(ms_session *s, const ms_row *row, size_t done)
{
    if (!s->options.progress)
        return;
    const char *sizes = ms_sizes_text(s->arena, row->sizes, row->size_count);
    s->options.progress(s->options.user, arena_printf(s->arena, "%s%s%s: %zu samples", s->record.subject.title, *sizes ? " " : "",
                                                      sizes, done));
}

// Kernel and yardstick alternate, so that both run at the same clocks.
static bool take_samples(ms_session *s, ms_work *kernel, ms_work *copy, ms_row *row, times *kernel_times, times *copy_times)
{
    double start = ms_now(), shown = start, value;
    while (kernel_times->len < MOST_SAMPLES &&
           ((int)kernel_times->len < s->options.samples || ms_now() - start < s->options.min_seconds)) {
        if (!ms_goes_on(s) || !ms_sample(s, kernel, &value))
            return false;
        VEC_PUSH(s->arena, kernel_times, value);
        if (copy && !ms_sample(s, copy, &value))
            return false;
        if (copy)
            VEC_PUSH(s->arena, copy_times, value);
        if (ms_now() - shown > 0.2) {
            show_progress(s, row, kernel_times->len);
            shown = ms_now();
        }
    }
    return true;
}

static bool measure_row(ms_session *s, const ms_buffers *b, ms_row *row)
{
    ms_work kernel = kernel_work(s, b), copy = copy_work(b);
    times kernel_times = {0}, copy_times = {0};
    show_progress(s, row, 0);
    bool ok = measure_empty(s) && (!b->pool || ms_warm_up(s, &copy, 0.02)) && ms_warm_up(s, &kernel, s->options.warm_up_seconds) &&
              ms_state_under(s, &kernel, &row->before) &&
              take_samples(s, &kernel, b->pool ? &copy : NULL, row, &kernel_times, &copy_times) &&
              ms_state_under(s, &kernel, &row->after);
    row->batch = kernel.batch;
    row->is_host_bound = s->options.method == MS_ROTATE && !kernel.graph && kernel.host_seconds > 0.95 * kernel.device_seconds;
    ms_work_free(s, &kernel);
    ms_work_free(s, &copy);
    row->time = ms_summarize(kernel_times.at, kernel_times.len);
    row->copy = ms_summarize(copy_times.at, copy_times.len);
    row->samples = kernel_times.at;
    return ok;
}

// ---- each launch --------------------------------------------------------------------------------------------------

// See Note [launches one by one]
//
// Note [launches one by one]
// One graph has all launches and an event between any two. So each kernel finds in L2 what the ones before it left there. The event
// keeps a kernel from beginning before the one before it has ended, and takes time itself: the sum is more than the call takes.
typedef struct each {
    const ms_host *host;
    void **events; // launch_count + 1
    void *graph;
    double *seconds; // [launch][sample]
} each;

static bool make_events(ms_session *s, each *e)
{
    e->events = ARENA_ARRAY(s->arena, void *, e->host->launch_count + 2);
    for (int i = 0; i <= e->host->launch_count; i++)
        if (!ms_check(s, s->cuda->event_create(&e->events[i], 0), "making an event"))
            return false;
    return true;
}

static bool record_event(ms_session *s, const each *e, int i)
{
    return ms_check(s, s->cuda->event_record_with(e->events[i], s->stream, MS_RECORD_EXTERNAL), "recording an event");
}

static bool capture_each(ms_session *s, each *e)
{
    void *graph = NULL;
    if (!ms_check(s, s->cuda->capture_begin(s->stream, MS_CAPTURE_RELAXED), "capturing a graph"))
        return false;
    bool ok = record_event(s, e, 0);
    for (int i = 0; ok && i < e->host->launch_count; i++)
        ok = e->host->launch_at(e->host->user, 0, i, s->stream) && record_event(s, e, i + 1);
    if (!ms_check(s, s->cuda->capture_end(s->stream, &graph), "capturing a graph") || !ok)
        return false;
    ok = ms_check(s, s->cuda->graph_instantiate(&e->graph, graph, 0), "making a graph");
    s->cuda->graph_destroy(graph);
    return ok;
}

static bool launch_each(ms_session *s, const ms_work *work, int turn)
{
    const each *e = work->user;
    (void)turn;
    return ms_check(s, s->cuda->graph_launch(e->graph, s->stream), work->what);
}

static bool read_each(ms_session *s, const each *e, int sample, int samples)
{
    for (int i = 0; i < e->host->launch_count; i++) {
        float milliseconds = 0;
        if (!ms_check(s, s->cuda->event_elapsed(&milliseconds, e->events[i], e->events[i + 1]), "reading an event"))
            return false;
        e->seconds[i * samples + sample] = milliseconds * 1e-3;
    }
    return true;
}

static bool sample_each(ms_session *s, each *e, ms_summary *out)
{
    enum { WARM = 3 };
    int samples = s->options.samples;
    double seconds;
    ms_work work = {.what = "running a graph of all launches", .launch = launch_each, .user = e, .turns = 1, .batch = 1};
    e->seconds = ARENA_ARRAY(s->arena, double, (size_t)samples * (size_t)e->host->launch_count + 1);
    for (int k = -WARM; k < samples; k++)
        if (!ms_goes_on(s) || !ms_sample(s, &work, &seconds) || (k >= 0 && !read_each(s, e, k, samples)))
            return false;
    for (int i = 0; i < e->host->launch_count; i++)
        out[i] = ms_summarize(e->seconds + i * samples, (size_t)samples);
    return true;
}

static bool measure_each(ms_session *s, const ms_host *host, ms_row *row)
{
    each e = {.host = host};
    ms_summary *out = ARENA_ARRAY(s->arena, ms_summary, host->launch_count + 1);
    bool ok = make_events(s, &e) && capture_each(s, &e) && sample_each(s, &e, out);
    if (e.graph && !s->is_stuck)
        s->cuda->graph_exec_destroy(e.graph);
    for (int i = 0; i <= host->launch_count && !s->is_stuck; i++)
        if (e.events[i])
            s->cuda->event_destroy(e.events[i]);
    row->each = out;
    return ok;
}

static const ms_size *keep_sizes(ms_session *s, const ms_size *sizes, int count)
{
    ms_size *kept = ARENA_ARRAY(s->arena, ms_size, count + 1);
    for (int i = 0; i < count; i++)
        kept[i] = (ms_size){arena_strdup(s->arena, sizes[i].name), arena_strdup(s->arena, sizes[i].value)};
    return kept;
}

bool ms_measure(ms_session *s, const ms_size *sizes, int size_count, const ms_argument *arguments, int count, const ms_host *host)
{
    ms_row row = {.sizes = keep_sizes(s, sizes, size_count), .size_count = size_count};
    ms_buffers buffers = {0};
    bool ok = ms_goes_on(s) && count_work(s, arguments, count, &row) && ms_buffers_make(s, arguments, count, row.bytes, &buffers);
    buffers.host = host;
    ok = ok && bind_host(s, &buffers) && look_at_launches(s, &buffers, &row);
    row.sets = buffers.sets;
    ok = ok && measure_row(s, &buffers, &row) && (!host || !host->launch_at || measure_each(s, host, &row));
    if (ok && host && host->ran) {
        void **addresses = ARENA_ARRAY(s->arena, void *, buffers.count + 1);
        for (int i = 0; i < buffers.count; i++)
            addresses[i] = buffers.is_tensor[i] ? buffers.arguments[i].value.pointer : NULL;
        ok = host->ran(host->user, addresses);
    }
    ms_buffers_free(s, &buffers);
    if (ok)
        VEC_PUSH(s->arena, &s->record.rows, row);
    return ok;
}
