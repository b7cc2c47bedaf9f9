// Compilers, and the way of a request: memory, disk, compiling.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_priv.h"

enum { DEFAULT_PROGRAMS = 256 };

// ---- compilers -------------------------------------------------------------------------------------------------

// The library stays where it is as long as the process runs, so its identity is found once for each compiler.
static const char *build_identity(void)
{
    char text[TOOL_BUILD_ID_LENGTH];
    return tool_own_build_id(text) ? strdup(text) : NULL;
}

// Where there is no memory for it, as where there is no program for workers: NVRTC runs in this process.
static void start_service(hds_compiler *c, int workers)
{
    arena memory;
    arena_oom oom;
    arena_init(&memory, &oom);
    if (workers >= 0 && setjmp(oom.jump) == 0) {
        const char *path = api_find_worker(&memory);
        c->worker = path ? strdup(path) : NULL;
    }
    arena_free(&memory);
    c->worker_command[0] = c->worker;
    if (c->worker)
        c->service = svc_pool_new(&(svc_pool_options){.command = c->worker_command, .workers = workers});
}

static bool set_up(hds_compiler *c, const hds_compiler_options *o)
{
    const char *why = NULL;
    pthread_mutex_init(&c->gpus.lock, NULL);
    if (!api_table_init(&c->table, o->memory_programs ? o->memory_programs : DEFAULT_PROGRAMS))
        return false;
    c->nvrtc = o->nvrtc ? strdup(o->nvrtc) : NULL;
    c->build = build_identity();
    c->kept = kept_new();
    if (!o->cache_dir || *o->cache_dir)
        c->disk = cache_open(o->cache_dir, o->cache_bytes, &why);
    start_service(c, o->workers);
    return !o->nvrtc || c->nvrtc;
}

hds_status hds_compiler_new(const hds_compiler_options *options, hds_compiler **compiler)
{
    hds_compiler_options o = HDS_COMPILER_OPTIONS_INIT;
    if (!compiler)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_compiler_new: compiler is a null pointer");
    *compiler = NULL;
    hds_status status = api_read_options(options, sizeof o.size + sizeof o.cache_dir, "HDS_COMPILER_OPTIONS_INIT", &o, sizeof o);
    if (status)
        return status;
    hds_compiler *c = calloc(1, sizeof *c);
    if (c && set_up(c, &o)) {
        *compiler = c;
        return HDS_OK;
    }
    hds_compiler_release(c);
    return api_no_memory();
}

void hds_compiler_release(hds_compiler *compiler)
{
    if (!compiler)
        return;
    if (compiler->table.buckets)
        api_table_free(&compiler->table);
    svc_pool_free(compiler->service);
    pthread_mutex_destroy(&compiler->gpus.lock);
    cache_close(compiler->disk);
    kept_free(compiler->kept);
    free(compiler->worker);
    free((char *)compiler->build);
    free(compiler->nvrtc);
    free(compiler);
}

// ---- compiling -------------------------------------------------------------------------------------------------

// Not inlined: the function below comes back twice.
__attribute__((noinline)) static hds_status compile(arena *a, hds_compiler *compiler, const hds_source *source,
                                                    const hds_compile_options *options, api_request *request,
                                                    hds_program **program)
{
    bool is_known = false;
    hds_status status = api_request_read(a, compiler, source, options, request);
    if (status)
        return status;
    api_core *core = api_table_get(&compiler->table, compiler, request, &is_known);
    if (!core)
        return HDS_NO_MEMORY;
    status = core->status;
    if (core->failure)
        api_fail(status, "%s", core->failure);
    else if (status)
        api_fail(status, "%s: %s", request->name,
                 core->diagnostic_count ? core->diagnostics[0].message : hds_status_text(status));
    if (status == HDS_INTERRUPTED) {
        api_core_release(core);
        return status;
    }
    *program = api_program_of(core, is_known ? HDS_FROM_MEMORY : core->origin);
    return *program ? status : HDS_NO_MEMORY;
}

hds_status hds_compile(hds_compiler *compiler, const hds_source *source, const hds_compile_options *options,
                       hds_program **program)
{
    arena scratch;
    arena_oom oom;
    api_request request = {0};
    if (program)
        *program = NULL;
    if (!compiler || !program)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_compile: %s is a null pointer", compiler ? "program" : "compiler");
    arena_init(&scratch, &oom);
    hds_status status = setjmp(oom.jump) != 0 ? api_no_memory() : compile(&scratch, compiler, source, options, &request, program);
    api_request_close(&request);
    arena_free(&scratch);
    return status;
}
