// Compiling with an open NVRTC.

#include "toolchain/nvrtc_priv.h"
#include "toolchain/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_COMPILATION = 6 };

// One program in work. The thread that compiles it touches nothing else, so no arena is shared between threads.
typedef struct work {
    const tool_nvrtc *nvrtc;
    const tool_compile_job *job;
    const char *const *options; // behind them, MINIMAL
    size_t option_count;
    bool is_minimal; // it is tried with MINIMAL first
    void *program;
    int result;
    double seconds;
    pthread_t thread;
    bool threaded;
} work;

// Under way in all threads: signals are per process.
static atomic_int compilations;

bool tool_nvrtc_is_compiling(void)
{
    return atomic_load(&compilations) > 0;
}

// ---- options ----------------------------------------------------------------------------------------------------

void tool_nvrtc_options(arena *a, const tool_compile_options *o, tool_option_list *out)
{
    *out = (tool_option_list){0};
    const char *bare = o->target->name + strlen("sm_");
    VEC_PUSH(a, out, arena_printf(a, "--gpu-architecture=%s_%s", o->cubin ? "sm" : "compute", bare));
    // The account of spills: see tool_usage_add_log.
    if (o->cubin)
        VEC_PUSH(a, out, "--ptxas-options=-v");
    if (o->line_info)
        VEC_PUSH(a, out, "--generate-line-info");
    if (o->fast_math)
        VEC_PUSH(a, out, "--use_fast_math");
    if (o->max_registers)
        VEC_PUSH(a, out, arena_printf(a, "--maxrregcount=%d", o->max_registers));
    for (size_t i = 0; i < o->extra_len; i++)
        VEC_PUSH(a, out, o->extra[i]);
}

// Without textures, surfaces and the runtime's device functions NVRTC starts in three quarters of the time. What it makes
// of texts that need none of these is the same, so that this is no part of cache keys.
static const char MINIMAL[] = "--minimal";

static bool knows_minimal(const tool_nvrtc *nvrtc)
{
    enum { SINCE_MAJOR = 12, SINCE_MINOR = 8 };
    return nvrtc->major > SINCE_MAJOR || (nvrtc->major == SINCE_MAJOR && nvrtc->minor >= SINCE_MINOR);
}

static bool is_given(const tool_option_list *options, const char *option)
{
    for (size_t i = 0; i < options->len; i++) {
        if (strcmp(options->at[i], option) == 0)
            return true;
    }
    return false;
}

// ---- compiling --------------------------------------------------------------------------------------------------

double tool_now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void prepare(arena *a, const tool_nvrtc *nvrtc, const tool_compile_job *job, work *w)
{
    tool_option_list options;
    tool_nvrtc_options(a, &job->options, &options);
    *w = (work){.nvrtc = nvrtc, .job = job, .option_count = options.len};
    w->is_minimal = knows_minimal(nvrtc) && !is_given(&options, MINIMAL);
    VEC_PUSH(a, &options, MINIMAL); // the last one, if it is counted
    w->options = options.at;
}

static void compile_with(work *w, size_t option_count)
{
    const struct tool_nvrtc_api *api = w->nvrtc->api;
    const char *name = w->job->options.name ? w->job->options.name : "kernel.cu";
    w->result = api->nvrtcCreateProgram(&w->program, w->job->cuda_text, name, 0, NULL, NULL);
    if (w->result != NVRTC_SUCCESS) {
        w->program = NULL;
        return;
    }
    double start = tool_now_seconds();
    atomic_fetch_add(&compilations, 1);
    w->result = api->nvrtcCompileProgram(w->program, (int)option_count, w->options);
    atomic_fetch_sub(&compilations, 1);
    w->seconds += tool_now_seconds() - start;
}

// A text that is rejected may be an author's, and need all that NVRTC has.
static void *compile(void *argument)
{
    work *w = argument;
    compile_with(w, w->option_count + (w->is_minimal ? 1 : 0));
    if (w->is_minimal && w->program && w->result != NVRTC_SUCCESS) {
        w->nvrtc->api->nvrtcDestroyProgram(&w->program);
        compile_with(w, w->option_count);
    }
    return NULL;
}

// ---- results ----------------------------------------------------------------------------------------------------

typedef int size_function(void *program, size_t *size);
typedef int text_function(void *program, char *text);

// What NVRTC has of one kind; empty if it has none.
static str fetch(arena *a, void *program, size_function *size_of, text_function *text_of)
{
    size_t size = 0;
    if (size_of(program, &size) != NVRTC_SUCCESS || !size)
        return (str){"", 0};
    char *text = arena_alloc(a, size + 1);
    if (text_of(program, text) != NVRTC_SUCCESS)
        return (str){"", 0};
    return (str){text, size};
}

// PTX and log come with their final 0 counted.
static str without_zero(str text)
{
    while (text.len && text.at[text.len - 1] == '\0')
        text.len--;
    return text;
}

static bool finish(arena *a, work *w, tool_result *out)
{
    const struct tool_nvrtc_api *api = w->nvrtc->api;
    *out = (tool_result){.seconds = w->seconds};
    if (w->result != NVRTC_SUCCESS) {
        out->status = w->result == NVRTC_ERROR_COMPILATION ? TOOL_REJECTED : TOOL_FAILED;
        out->failure = arena_strdup(a, api->nvrtcGetErrorString(w->result));
    }
    if (w->program) {
        out->ptx = without_zero(fetch(a, w->program, api->nvrtcGetPTXSize, api->nvrtcGetPTX));
        out->log = without_zero(fetch(a, w->program, api->nvrtcGetProgramLogSize, api->nvrtcGetProgramLog));
        if (w->job->options.cubin)
            out->cubin = fetch(a, w->program, api->nvrtcGetCUBINSize, api->nvrtcGetCUBIN);
        api->nvrtcDestroyProgram(&w->program);
    }
    return out->status == TOOL_COMPILED;
}

bool tool_nvrtc_compile(const tool_nvrtc *nvrtc, arena *a, const tool_compile_options *options, const char *cuda_text,
                        tool_result *out)
{
    tool_compile_job job = {*options, cuda_text};
    work w;
    prepare(a, nvrtc, &job, &w);
    compile(&w);
    return finish(a, &w, out);
}

bool tool_nvrtc_compile_many(const tool_nvrtc *nvrtc, arena *a, const tool_compile_job *jobs, size_t count,
                             tool_result *out)
{
    // The host program's default may be small; NVRTC recurses over expressions.
    enum { STACK_BYTES = 16 << 20 };
    work *works = ARENA_ARRAY(a, work, count);
    pthread_attr_t attributes;
    bool sized = pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0;
    for (size_t i = 0; i < count; i++)
        prepare(a, nvrtc, &jobs[i], &works[i]);
    for (size_t i = 0; i < count; i++) {
        // The last job runs here, and so does any for which there is no thread.
        works[i].threaded =
            i + 1 < count && pthread_create(&works[i].thread, sized ? &attributes : NULL, compile, &works[i]) == 0;
        if (!works[i].threaded)
            compile(&works[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (works[i].threaded)
            pthread_join(works[i].thread, NULL);
    }
    pthread_attr_destroy(&attributes);
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        ok = finish(a, &works[i], &out[i]) && ok;
    return ok;
}

// ---- reports ----------------------------------------------------------------------------------------------------

bool tool_nvrtc_check_arch(const tool_nvrtc *nvrtc, diag_context *dx, const arch *target)
{
    str_buf known;
    str_buf_init(&known, dx->arena);
    for (size_t i = 0; i < nvrtc->archs.len; i++) {
        if (nvrtc->archs.at[i] == target->major * 10 + target->minor)
            return true;
        str_addf(&known, "%ssm_%d", i ? ", " : "", nvrtc->archs.at[i]);
    }
    diag *d = diag_report(dx, HDS0073, (src_span){0, 0}, nvrtc->major, nvrtc->minor, target->name);
    diag_note(d, (src_span){0, 0}, "'%s' knows %s", nvrtc->path, str_text(&known));
    diag_help(d, "choose one of these, or another NVRTC with '--nvrtc=PATH'");
    return false;
}

bool tool_nvrtc_report(diag_context *dx, const tool_result *result, const tool_log *log)
{
    int errors = tool_log_report(dx, log);
    if (result->status != TOOL_COMPILED && !errors)
        diag_report(dx, HDS0077, (src_span){0, 0}, result->failure);
    return result->status == TOOL_COMPILED && !errors;
}
