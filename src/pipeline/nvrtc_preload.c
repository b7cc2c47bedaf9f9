#include "pipeline/nvrtc_preload.h"

#include "diag/diag.h"
#include "toolchain/nvrtc.h"

// The library stays loaded: it would have to be loaded again for the next file.
static void *load(void *argument)
{
    pl_nvrtc_preload *preload = argument;
    arena memory;
    arena_oom oom;
    src_map sources;
    diag_context unheard;
    arena_init(&memory, &oom);
    if (setjmp(oom.jump) == 0) {
        src_map_init(&sources, &memory);
        diag_init(&unheard, &memory, &sources);
        tool_nvrtc_open(&memory, &unheard, preload->options->nvrtc_path);
    }
    arena_free(&memory);
    return NULL;
}

static void add_words(str_buf *out, const char *title, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        str_addf(out, "%s %s\n", title, words[i]);
}

// Most of what the CUDA text follows from. Imported files are not among it: where they change, NVRTC is loaded late.
static str describe(arena *a, const pl_options *o, str input)
{
    str_buf out;
    str_buf_init(&out, a);
    str_addf(&out, "hdsc %s\nnvrtc %s\nkind %d\n", HDS_VERSION, o->nvrtc_path ? o->nvrtc_path : "", (int)o->emit);
    str_addf(&out, "flags %d%d%d%d\ninput %s\n", o->line_info, o->device_debug, o->resource_usage, o->no_line, o->input);
    for (int i = 0; i < o->arch_count; i++)
        str_addf(&out, "arch %s\n", o->archs[i]->name);
    for (int i = 0; o->gpus && i < o->arch_count; i++)
        str_addf(&out, "gpu %d %lld %d\n", o->gpus[i]->sm_count, (long long)o->gpus[i]->l2_bytes, o->gpus[i]->memory_gbps);
    for (int i = 0; i < o->define_count; i++)
        str_addf(&out, "define %s=%s\n", o->defines[i].name, o->defines[i].value ? o->defines[i].value : "");
    add_words(&out, "entry", o->entries, o->entry_count);
    add_words(&out, "include", o->include_folders, o->include_count);
    add_words(&out, "option", o->nvrtc_options, o->nvrtc_option_count);
    str_add(&out, input);
    return (str){str_text(&out), out.len};
}

void pl_nvrtc_preload_start(pl_nvrtc_preload *preload, arena *a, const pl_options *options, str input)
{
    bool is_needed = options->emit > PL_CU || options->resource_usage;
    preload->options = options;
    if (is_needed && options->cache)
        preload->work = describe(a, options, input);
    if (is_needed && !cache_expects(options->cache, preload->work))
        preload->is_running = pthread_create(&preload->thread, NULL, load, preload) == 0;
}

void pl_nvrtc_preload_join(pl_nvrtc_preload *preload)
{
    if (preload->is_running)
        pthread_join(preload->thread, NULL);
    preload->is_running = false;
}

void pl_nvrtc_preload_expect(const pl_nvrtc_preload *preload)
{
    if (preload->work.len)
        cache_expect(preload->options->cache, preload->work);
}
