#include "pipeline/job.h"

#include <pthread.h>
#include <string.h>

#include "base/file.h"
#include "pipeline/onnx_input.h"
#include "pipeline/shared.h"

// The elaborator recurses with the nesting of the source. This much is reserved, not used.
enum { STACK_BYTES = 64 << 20 };

static void set_up(pl_job *job)
{
    const pl_options *o = job->options;
    src_map_init(&job->sources, &job->memory);
    diag_init(&job->diags, &job->memory, &job->sources);
    job->diags.error_limit = 0;  // the units have theirs
    str_buf_init(&job->dump, &job->memory);
    str_buf_init(&job->usage, &job->memory);
    pl_times_init(&job->times, &job->memory, pl_now_us());
    job->units = ARENA_ARRAY(&job->memory, pl_unit, o->arch_count);
    for (int i = 0; i < o->arch_count; i++)
        pl_unit_init(&job->units[i], o, o->archs[i], job->times.origin_us);
    job->unit_count = o->arch_count;
    for (int i = 0; i < job->unit_count; i++) {
        job->units[i].input_name = o->input;
        job->units[i].is_first = i == 0;
    }
}

void pl_job_init(pl_job *job, const pl_options *options, arena_oom *oom)
{
    *job = (pl_job){.options = options, .caller = oom};
    arena_init(&job->memory, &job->oom);
    job->memory.limit_bytes = options->memory_limit_bytes;
}

void pl_job_free(pl_job *job)
{
    pl_nvrtc_preload_join(&job->preload);
    cache_abandon(&job->ticket);
    pl_sharing_free(job->sharing);
    for (int i = 0; i < job->unit_count; i++)
        pl_unit_free(&job->units[i]);
    wt_close(job->onnx.weights);
    file_unmap(&job->mapped);
    arena_free(&job->memory);
}

// ---- before: options that cannot go together, the input ----------------------------------------------------------

static bool check_options(pl_job *job)
{
    const pl_options *o = job->options;
    bool is_for_one = o->emit >= PL_HIR && o->emit <= PL_CUBIN;
    if (!is_for_one || o->arch_count == 1)
        return true;
    const char *name = pl_kind_name(o->emit);
    diag *d = diag_report(&job->diags, HDS0493, (src_span){0, 0}, name, o->arch_count);
    diag_help(d, "choose one with '--arch %s', or ask for all of them with '--emit=fatbin'", o->archs[0]->name);
    return false;
}

// Before the work is done that would be in vain without it.
static bool find_cc(pl_job *job)
{
    pl_kind kind = job->options->emit;
    if (pl_kind_is_c(kind) && kind != PL_C)
        job->cc = tool_cc_find(&job->memory, &job->diags, job->options->cc);
    return job->cc || !pl_kind_is_c(kind) || kind == PL_C;
}

static bool read_onnx(pl_job *job, const char *name, const char **error)
{
    const pl_options *o = job->options;
    if (!pl_onnx_read(&job->memory, o, name, job->input, &job->onnx, error))
        return false;
    if (pl_is_stdin(name) && o->weights_name)
        *error = "its weights cannot be written beside the graph function, because they are read again for that: name the file";
    return !*error;
}

static bool read_input(pl_job *job)
{
    const char *error = NULL, *path = job->options->input;
    size_t span = pl_span_begin(&job->times, "read", 0);
    bool ok = pl_read_input(&job->memory, path, &job->input, &job->mapped, &error);
    const char *name = ok ? pl_input_name(&job->memory, path, job->input) : path;
    for (int i = 0; i < job->unit_count; i++)
        job->units[i].input_name = name;
    if (!ok)
        diag_report(&job->diags, HDS0490, (src_span){0, 0}, path, error);
    else if (onnx_is_path(name) && !read_onnx(job, name, &error))
        diag_report(&job->diags, HDS0860, (src_span){0, 0}, name, error);
    pl_span_end(&job->times, span);
    return ok && !error;
}

// ---- the units ---------------------------------------------------------------------------------------------------

static void finish(pl_unit *u)
{
    (void)pl_assemble(u);
}

static void to_text(pl_unit *u)
{
    pl_unit_run(u, pl_compile_to_text);
}

static void to_code(pl_unit *u)
{
    if (u->goes_on)
        pl_unit_go_on(u, finish);
}

typedef struct unit_work {
    pl_unit *unit;
    void (*run)(pl_unit *u);
} unit_work;

static void *unit_thread(void *work)
{
    const unit_work *w = work;
    w->run(w->unit);
    return NULL;
}

// Each on a thread with a stack of our own choosing; on the caller's where the system gives none.
static void run_units(pl_job *job, void (*run)(pl_unit *u))
{
    pthread_t *threads = ARENA_ARRAY(&job->memory, pthread_t, job->unit_count);
    unit_work *works = ARENA_ARRAY(&job->memory, unit_work, job->unit_count);
    bool *runs = ARENA_ARRAY(&job->memory, bool, job->unit_count);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (int i = 0; i < job->unit_count; i++) {
        works[i] = (unit_work){&job->units[i], run};
        runs[i] = pthread_create(&threads[i], &attributes, unit_thread, &works[i]) == 0;
    }
    pthread_attr_destroy(&attributes);
    for (int i = 0; i < job->unit_count; i++) {
        if (runs[i])
            pthread_join(threads[i], NULL);
        else
            run(&job->units[i]);
    }
}

// Texts of all of them are there before the first is compiled: what they have alike is compiled once.
static void compile_units(pl_job *job)
{
    pl_unit **units = ARENA_ARRAY(&job->memory, pl_unit *, job->unit_count);
    for (int i = 0; i < job->unit_count; i++) {
        units[i] = &job->units[i];
        job->units[i].input = job->input;
        job->units[i].onnx = job->onnx.weights ? &job->onnx : NULL;
    }
    run_units(job, to_text);
    job->sharing = pl_sharing_new(units, job->unit_count, &job->memory);
    run_units(job, to_code);
}

// ---- after: messages and results of all, in the order of the architectures ---------------------------------------

static pl_status gather(pl_job *job)
{
    pl_status worst = PL_OK;
    for (int i = 0; i < job->unit_count; i++) {
        pl_unit *u = &job->units[i];
        pl_diags_merge(&job->diags, &u->diags);
        if (u->status == PL_NO_MEMORY)
            diag_report(&job->diags, HDS0491, (src_span){0, 0}, u->input_name);
        str_add(&job->dump, (str){u->dump.at, u->dump.len});
        str_add(&job->usage, (str){u->usage.at, u->usage.len});
        worst = u->status > worst ? u->status : worst;
    }
    return worst == PL_NO_MEMORY ? PL_ERRORS : worst;
}

static bool is_all_in_cache(const pl_job *job)
{
    for (int i = 0; i < job->unit_count; i++) {
        if (!job->units[i].is_in_cache)
            return false;
    }
    return true;
}

// What is made of them is made in their memory, on this thread.
static bool is_compiled(pl_job *job)
{
    bool ok = true;
    for (int i = 0; i < job->unit_count; i++) {
        pl_unit *u = &job->units[i];
        ok = ok && u->status == PL_OK;
        u->memory.oom = &job->oom;
    }
    return ok;
}

static pl_status run(pl_job *job)
{
    set_up(job);
    if (!check_options(job) || !read_input(job))
        return PL_ERRORS;
    if (!find_cc(job))
        return PL_TOOLCHAIN;
    if (pl_product_find(job)) {
        job->total_us = pl_now_us() - job->times.origin_us;
        return PL_OK;
    }
    size_t span = pl_span_begin(&job->times, "compile", 0);
    pl_nvrtc_preload_start(&job->preload, &job->memory, job->options, job->onnx.weights ? job->onnx.text : job->input);
    compile_units(job);
    pl_nvrtc_preload_join(&job->preload);
    pl_span_end(&job->times, span);
    pl_status made = is_compiled(job) ? pl_make_product(job) : PL_OK;
    pl_status status = gather(job);
    if (status == PL_OK && is_all_in_cache(job))
        pl_nvrtc_preload_expect(&job->preload);
    status = made > status ? made : status;
    pl_product_keep(job, status);
    job->total_us = pl_now_us() - job->times.origin_us;
    return status;
}

pl_status pl_job_run(pl_job *job)
{
    pl_status status = PL_NO_MEMORY;
    if (setjmp(job->oom.jump) == 0)
        status = run(job);
    job->memory.oom = job->caller;
    job->memory.limit_bytes = 0;
    return status;
}

// ---- times -------------------------------------------------------------------------------------------------------

// read, compile (with the stages of each architecture below it), write.
void pl_job_time_report(pl_job *job, str_buf *out)
{
    str_addf(out, "%10s %7s %9s  %s\n", "us", "share", "MiB", job->options->input);
    for (size_t i = 0; i < job->times.spans.len; i++) {
        const pl_span *s = &job->times.spans.at[i];
        pl_times_row(out, 0, s->name, s->duration_us, job->total_us, 0);
        if (strcmp(s->name, "compile") != 0)
            continue;
        for (int u = 0; u < job->unit_count; u++) {
            if (job->unit_count > 1)
                str_addf(out, "%10s %7s %9s    for %s\n", "", "", "", job->units[u].arch->name);
            pl_times_rows(&job->units[u].times, job->unit_count > 1 ? 2 : 1, job->total_us, out);
        }
    }
    pl_times_row(out, 0, "total", job->total_us, job->total_us, 0);
}

void pl_job_time_trace(pl_job *job, str_buf *out)
{
    bool first = true;
    str_adds(out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
    pl_times_trace(&job->times, "files", 0, &first, out);
    for (int i = 0; i < job->unit_count; i++)
        pl_times_trace(&job->units[i].times, job->units[i].arch->name, i + 1, &first, out);
    str_adds(out, "\n]}\n");
}
