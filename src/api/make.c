// Cores that are not in memory: from the disk, or compiled.

#include <string.h>

#include "api/api_priv.h"
#include "base/file.h"
#include "pipeline/nvrtc_preload.h"
#include "pipeline/interface.h"
#include "pipeline/unit.h"
#include "toolchain/nvrtc.h"

// Grows when entries of another form would be misread.
#define ENTRY_FORMAT "3"

typedef struct maker {
    pl_unit unit;           // first: the body of the unit finds the maker by it
    hds_compiler *compiler;
    const api_request *request;
    api_core *core;
    pl_nvrtc_preload preload;
    bool has_unit;
    cache_part inputs[5];
    size_t input_count;     // 0: not for the disk
    cache_ticket ticket;
} maker;

// ---- the disk --------------------------------------------------------------------------------------------------

// What a program on disk was made from, but for the files that it imports.
static void set_inputs(maker *m)
{
    tool_nvrtc_identity nvrtc = {.text = ""};
    const hds_compiler *c = m->compiler;
    if (!c->disk || !c->build || m->request->unreadable)
        return;
    if (m->request->options.emit == PL_CUBIN && !tool_nvrtc_identify(&m->core->memory, c->nvrtc, &nvrtc))
        return;
    cache_part inputs[] = {
        {"format", STR(ENTRY_FORMAT)},
        {"version", STR(HDS_VERSION)},
        {"build", str_of(c->build)},
        {"nvrtc", str_of(nvrtc.text)},
        {"request", m->request->key},
    };
    memcpy(m->inputs, inputs, sizeof inputs);
    m->input_count = sizeof inputs / sizeof *inputs;
}

static const char *const part_names[] = {
    [HDS_CUDA] = "cuda", [HDS_PTX] = "ptx", [HDS_CUBIN] = "cubin", [HDS_INTERFACE] = "interface"};

// Whether the entry is still what compiling would give.
static bool take_entry(api_core *core, const cache_parts *parts)
{
    if (!pl_read_files_parse(&core->memory, cache_part_of(parts, "files"), &core->files) ||
        !pl_read_files_hold(&core->memory, &core->files) ||
        !api_core_read_diagnostics(core, cache_part_of(parts, "messages")))
        return false;
    for (int which = HDS_CUDA; which <= HDS_INTERFACE; which++) {
        str text = cache_part_of(parts, part_names[which]);
        if (!text.at)
            return false;
        if (text.len)
            api_core_set_text(core, (hds_text)which, text);
    }
    core->origin = HDS_FROM_DISK;
    return api_core_finish(core);
}

static bool from_disk(maker *m)
{
    cache_parts parts = {0};
    cache *disk = m->compiler->disk;
    set_inputs(m);
    if (!m->input_count ||
        !cache_get(disk, &m->core->memory, "program", m->inputs, m->input_count, &parts, &m->ticket))
        return false;
    if (take_entry(m->core, &parts))
        return true;
    memset(m->core->texts, 0, sizeof m->core->texts);
    m->core->files = (pl_read_files){0};
    m->core->diagnostic_count = 0;
    m->core->failure = NULL;
    cache_claim(disk, "program", m->inputs, m->input_count, &m->ticket);
    return false;
}

// With what was said about it.
static void to_disk(maker *m)
{
    api_core *core = m->core;
    cache_part outputs[HDS_INTERFACE + 3] = {
        {"files", pl_read_files_write(&core->memory, &core->files)},
        {"messages", api_core_write_diagnostics(core)},
    };
    if (core->status || m->unit.uncacheable) {
        cache_abandon(&m->ticket);
        return;
    }
    for (int which = HDS_CUDA; which <= HDS_INTERFACE; which++)
        outputs[which + 2] = (cache_part){part_names[which], core->texts[which].at ? core->texts[which] : STR("")};
    cache_put(&m->ticket, outputs, sizeof outputs / sizeof *outputs);
}

// ---- compiling -------------------------------------------------------------------------------------------------

// On the unit's own thread. What NVRTC is missing for can still be simulated.
static void compile(pl_unit *u)
{
    const maker *m = (const maker *)u;
    if (m->request->unreadable) {
        diag_report(&u->diags, HDS0490, (src_span){0, 0}, u->input_name, m->request->unreadable);
        return;
    }
    if (m->request->no_onnx) {
        diag_report(&u->diags, HDS0860, (src_span){0, 0}, u->input_name, m->request->no_onnx);
        return;
    }
    pl_compile(u);
    bool is_whole = u->status == PL_OK && !u->diags.shown_errors;
    if (is_whole || (u->status == PL_TOOLCHAIN && u->cuda.at))
        u->text = pl_interface(u);
}

static hds_status status_of(pl_status status)
{
    switch (status) {
    case PL_OK: return HDS_OK;
    case PL_ERRORS: return HDS_ERRORS;
    case PL_TOOLCHAIN: return HDS_NO_TOOLCHAIN;
    case PL_INTERNAL: return HDS_INTERNAL;
    case PL_CANCELLED: return HDS_INTERRUPTED;
    case PL_NO_MEMORY: break;
    }
    return HDS_NO_MEMORY;
}

// The unit's memory goes away: all that lasts is copied.
static void take_results(maker *m)
{
    pl_unit *u = &m->unit;
    api_core *core = m->core;
    u->memory.oom = &core->oom;
    api_core_add_diagnostics(core, &u->diags);
    pl_read_files_add(&core->memory, u, &core->files);
    if (!u->text.at)
        return;
    api_core_set_text(core, HDS_CUDA, u->cuda);
    api_core_set_text(core, HDS_PTX, u->code.ptx);
    api_core_set_text(core, HDS_CUBIN, u->code.cubin);
    api_core_set_text(core, HDS_INTERFACE, u->text);
    if (!api_core_finish(core))
        core->status = HDS_INTERNAL;
}

static void compile_core(maker *m)
{
    api_core *core = m->core;
    pl_unit *u = &m->unit;
    pl_unit_init(u, &core->request.options, core->request.arch, pl_now_us());
    m->has_unit = true;
    u->input_name = core->request.name;
    u->input = core->request.text;
    u->onnx = core->request.onnx.weights ? &core->request.onnx : NULL;
    u->is_first = true;
    pl_nvrtc_preload_start(&m->preload, &core->memory, &core->request.options, core->request.text);
    pl_unit_run_deep(u, compile);
    core->status = status_of(u->status);
    core->request.options.progress = NULL; // the core outlives who watches
    if (core->status == HDS_INTERRUPTED)
        core->failure = "compiling was interrupted";
    else if (core->status != HDS_NO_MEMORY)
        take_results(m);
    if (core->status == HDS_OK)
        pl_nvrtc_preload_expect(&m->preload);
    to_disk(m);
}

static bool make(maker *m)
{
    api_core *core = m->core;
    if (setjmp(core->oom.jump) != 0)
        return false;
    api_request_copy(&core->memory, m->request, &core->request);
    if (from_disk(m))
        core->request.options.progress = NULL;
    else
        compile_core(m);
    return core->status != HDS_NO_MEMORY;
}

api_core *api_make(hds_compiler *compiler, const api_request *request)
{
    maker m = {.compiler = compiler, .request = request, .core = api_core_new()};
    bool ok = m.core && make(&m);
    pl_nvrtc_preload_join(&m.preload);
    cache_abandon(&m.ticket);
    if (m.has_unit)
        pl_unit_free(&m.unit);
    if (ok)
        return m.core;
    api_core_release(m.core);
    api_no_memory();
    return NULL;
}
