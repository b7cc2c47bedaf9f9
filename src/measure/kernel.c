// The session: the GPU, and the code on it.
#include <string.h>
#include <time.h>

#include "measure/measure_priv.h"

static const src_span nowhere = {0, 0};

// Launching something costs time that is not the kernel's: this is how much.
static const char empty_source[] = "from hidet.lang import attrs\n"
                                   "\n"
                                   "\n"
                                   "@hidet.script\n"
                                   "def empty():\n"
                                   "    attrs.cuda.grid_dim = 1\n"
                                   "    attrs.cuda.block_dim = 32\n";

const char *ms_method_name(ms_method m)
{
    static const char *const names[] = {"rotate", "flush"};
    return names[m];
}

double ms_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool ms_failed(ms_session *s, const char *what)
{
    diag_report(s->diags, HDS0647, nowhere, what, hdsrt_last_error());
    return false;
}

bool ms_check(ms_session *s, int result, const char *what)
{
    return hdsrt_driver_fail(result, "%s", what) == HDSRT_OK || ms_failed(s, what);
}

bool ms_goes_on(ms_session *s)
{
    s->is_stopped = s->is_stopped || (s->options.stopped && s->options.stopped(s->options.user));
    return !s->is_stopped;
}

void ms_measure_model(ms_session *s, bool graph)
{
    s->options.graph = graph;
    s->options.one_copy = true;
    s->options.yardstick = false;
}

ms_row ms_take_row(ms_session *s)
{
    return s->record.rows.at[--s->record.rows.len];
}

void ms_forget(ms_session *s)
{
    memset(&s->record.rows, 0, sizeof s->record.rows);
}

bool ms_is_stopped(const ms_session *s)
{
    return s->is_stopped;
}

// ---- opening ----------------------------------------------------------------------------------------------------

static const char *date_of_now(arena *a)
{
    char text[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return arena_strdup(a, text);
}

static bool make_objects(ms_session *s)
{
    void *stream = NULL;
    if (!ms_check(s, s->cuda->stream_create(&stream, MS_STREAM_NON_BLOCKING), "making a stream"))
        return false;
    s->stream = stream;
    return ms_check(s, s->cuda->event_create(&s->begin, 0), "making an event") &&
           ms_check(s, s->cuda->event_create(&s->end, 0), "making an event");
}

bool ms_open(arena *a, diag_context *diags, const ms_options *options, ms_session **session)
{
    ms_session *s = ARENA_NEW(a, ms_session);
    *s = (ms_session){.arena = a, .diags = diags, .options = *options};
    s->record.options = &s->options;
    s->record.date = date_of_now(a);
    s->record.empty_seconds = -1;
    if (hdsrt_driver_open(&s->cuda) || hdsrt_use_device(0) || !ms_machine_read(s)) {
        diag_report(diags, HDS0648, nowhere, hdsrt_last_error());
        return false;
    }
    if (!s->options.arch) {
        s->options.arch = s->record.machine.arch;
        s->options.is_own = true;
    }
    if (!make_objects(s)) {
        ms_close(s);
        return false;
    }
    s->nvml = ms_nvml_open(s->record.machine.bus_id);
    *session = s;
    return true;
}

bool ms_close(ms_session *s)
{
    if (s->is_stuck)
        return false;
    if (s->flush)
        hdsrt_release(s->flush, s->stream);
    if (s->module)
        s->cuda->module_unload(s->module);
    hds_program_release(s->program);
    hds_program_release(s->empty_program);
    hds_compiler_release(s->compiler);
    if (s->begin)
        s->cuda->event_destroy(s->begin);
    if (s->end)
        s->cuda->event_destroy(s->end);
    if (s->stream)
        s->cuda->stream_destroy(s->stream);
    ms_nvml_close(s->nvml);
    return true;
}

// ---- the code ---------------------------------------------------------------------------------------------------

// What the compiler says, as it says it. The front end has run before, so this is about NVRTC or the GPU.
static bool not_compiled(ms_session *s, const hds_program *p)
{
    const char *why = hds_last_error();
    for (size_t i = 0; p && i < hds_program_diagnostic_count(p); i++) {
        if (hds_program_diagnostic(p, i)->severity == HDS_ERROR) {
            why = hds_program_diagnostic(p, i)->message;
            break;
        }
    }
    diag_report(s->diags, HDS0753, nowhere, s->options.source, s->options.arch->name, why);
    return false;
}

static bool compile(ms_session *s, const hds_source *source, const hds_compile_options *options, hds_program **program)
{
    return hds_compile(s->compiler, source, options, program) == HDS_OK || not_compiled(s, *program);
}

hds_compile_options ms_compile_options(const ms_options *o)
{
    hds_compile_options options = HDS_COMPILE_OPTIONS_INIT;
    options.arch = o->arch->name;
    options.gpu = o->gpu ? o->gpu : o->is_own ? "native" : NULL;
    options.sm_count = o->sm_count;
    options.defines = o->defines;
    options.define_count = (size_t)o->define_count;
    options.entries = o->entries;
    options.entry_count = (size_t)o->entry_count;
    options.include_dirs = o->include_folders;
    options.include_dir_count = (size_t)o->include_count;
    return options;
}

static bool compile_file(ms_session *s)
{
    const hds_compile_options options = ms_compile_options(&s->options);
    return compile(s, &(hds_source){.name = s->options.source}, &options, &s->program);
}

static bool compile_empty(ms_session *s)
{
    hds_compile_options options = HDS_COMPILE_OPTIONS_INIT;
    options.arch = s->options.arch->name;
    if (s->empty)
        return true;
    if (!compile(s, &(hds_source){.name = "empty.hds", .text = empty_source}, &options, &s->empty_program))
        return false;
    s->empty = hds_program_kernel(s->empty_program, "empty");
    return true;
}

static bool find_function(ms_session *s)
{
    const void *image = hds_program_text(s->program, HDS_CUBIN, NULL);
    return ms_check(s, s->cuda->module_load(&s->module, image), "loading the code") &&
           ms_check(s, s->cuda->module_function(&s->function, s->module, s->record.subject.symbol), "finding the kernel");
}

void ms_move(ms_session *s, arena *a, diag_context *diags)
{
    s->arena = a;
    s->diags = diags;
}

hds_compiler *ms_compiler(ms_session *s)
{
    hds_compiler_options options = HDS_COMPILER_OPTIONS_INIT;
    options.workers = -1;
    options.nvrtc = s->options.nvrtc;
    options.cache_dir = s->options.cache_dir;
    if (!s->compiler && hds_compiler_new(&options, &s->compiler))
        not_compiled(s, NULL);
    return s->compiler;
}

static dtype peak_of(const ms_session *s, dtype peak)
{
    return s->options.peak_type != DT_NONE ? s->options.peak_type : peak;
}

static bool start(ms_session *s)
{
    return (!hdsrt_use_device(s->record.machine.device) || ms_failed(s, "opening")) && ms_compiler(s) && compile_empty(s);
}

bool ms_load(ms_session *s, const char *name, dtype peak)
{
    if (!start(s) || !compile_file(s))
        return false;
    s->kernel = hds_program_kernel(s->program, name);
    if (!s->kernel) {
        diag_report(s->diags, HDS0643, nowhere, s->options.source, "has no such kernel");
        return false;
    }
    s->record.subject = (ms_subject){.title = hds_kernel_title(s->kernel),
                                     .symbol = hds_kernel_name(s->kernel),
                                     .arch = hds_program_arch(s->program),
                                     .peak_type = peak_of(s, peak)};
    return find_function(s);
}

bool ms_load_host(ms_session *s, const char *title, dtype peak)
{
    s->record.subject = (ms_subject){.title = title, .arch = s->options.arch->name, .peak_type = peak_of(s, peak)};
    return start(s);
}

const ms_record *ms_record_of(const ms_session *s)
{
    return &s->record;
}
