// A host function measured: it runs once on the simulator, whose launches are recorded, and these are repeated on the GPU.
//
// What it launches depends on sizes alone, and what it allocates in between is memory that each call takes anew: on the GPU
// too, all copies of the tensors share it.
#include <string.h>

#include "driver/bench.h"

// Of simulated memory, which takes host memory only where it is written.
static const int64_t MOST_BYTES = (int64_t)1 << 40;

// Memory of the host function's own.
typedef struct block {
    void *address;
    int64_t bytes;
    int last;  // launch that needs it
} block;

// What a row launches, and where the memory is that the launches work on.
typedef struct host_row {
    bench_state *bench;
    dev_cuda_recording *recording;
    uint64_t *bound_addresses; // the addresses that are bound next, one for each allocation on the GPU
    int *arguments;        // that the allocation is, by number; -1: one of the host function's own
    VEC(block) blocks;
    bench_run *run;   // of a model; NULL: it is none
    int first_set;    // of the recording, that is the first copy of the tensors
} host_row;

// ---- on the simulator -------------------------------------------------------------------------------------------

// Memory that is never read or written: only the addresses matter.
static bool allocate(run_state *r, run_argument *a)
{
    int64_t bytes = cmd_run_span(a);
    int elem_bytes = dt_bits(a->tensor.type) < 8 ? 1 : dt_bits(a->tensor.type) / 8;
    a->value = sim_allocate(r->device, bytes ? bytes : 1, elem_bytes, a->name);
    return a->value || cmd_run_no_room(r, a);
}

static bool call(host_row *h, const sim_device *device)
{
    run_state *r = &h->bench->run;
    sim_options options = {.no_checks = true, .workers = 1, .memory_limit = MOST_BYTES, .device = device};
    uint64_t result, *values = ARENA_ARRAY(&r->unit.memory, uint64_t, r->arguments.len + 1);
    if (h->run)
        cmd_bench_note(&options, h->bench, h->run);
    r->device = sim_new(&r->unit.memory, &options);
    for (size_t i = 0; i < r->arguments.len; i++) {
        run_argument *a = &r->arguments.at[i];
        if (a->is_tensor && !allocate(r, a))
            return false;
        values[i] = a->value;
    }
    r->status = sim_call(r->device, r->program, r->entry, values, (int)r->arguments.len, &result);
    sim_findings_report(r->device, &r->unit.diags);
    return r->status == SIM_OK;
}

// ---- on the GPU -------------------------------------------------------------------------------------------------

static int argument_at(const run_state *r, uint64_t base)
{
    for (size_t i = 0; i < r->arguments.len; i++) {
        if (r->arguments.at[i].is_tensor && r->arguments.at[i].value == base)
            return (int)i;
    }
    return -1;
}

static bool failed(run_state *r, const char *what)
{
    diag_report(&r->unit.diags, HDS0647, (src_span){0, 0}, what, hdsrt_last_error());
    return false;
}

// One that is as large, and that no launch of this or a later one needs: as the allocator would give it.
static block *free_block(host_row *h, const dev_cuda_memory *m)
{
    for (size_t i = 0; i < h->blocks.len; i++) {
        if (h->blocks.at[i].bytes == m->bytes && h->blocks.at[i].last < m->first)
            return &h->blocks.at[i];
    }
    return NULL;
}

static bool allocate_block(host_row *h, const dev_cuda_memory *m, uint64_t *address)
{
    run_state *r = &h->bench->run;
    arena *a = &r->unit.memory;
    block *known = free_block(h, m), added = {.bytes = m->bytes};
    if (!known && hdsrt_allocate(&added.address, m->bytes, NULL))
        return failed(r, arena_printf(a, "allocating %lld bytes for '%s'", (long long)m->bytes, m->name));
    if (!known) {
        VEC_PUSH(a, &h->blocks, added);
        known = &VEC_LAST(&h->blocks);
    }
    known->last = m->last;
    *address = (uintptr_t)known->address;
    return true;
}

static bool allocate_own(host_row *h)
{
    run_state *r = &h->bench->run;
    int count;
    const dev_cuda_memory *memory = dev_cuda_recording_memory(h->recording, &count);
    h->bound_addresses = ARENA_ARRAY(&r->unit.memory, uint64_t, count + 1);
    h->arguments = ARENA_ARRAY(&r->unit.memory, int, count + 1);
    for (int i = 0; i < count; i++) {
        h->arguments[i] = argument_at(r, memory[i].base);
        if (h->arguments[i] < 0 && !allocate_block(h, &memory[i], &h->bound_addresses[i]))
            return false;
    }
    return true;
}

static bool bind(void *user, int set, void *const *addresses)
{
    host_row *h = user;
    int count;
    dev_cuda_recording_memory(h->recording, &count);
    for (int i = 0; i < count; i++) {
        if (h->arguments[i] >= 0)
            h->bound_addresses[i] = (uintptr_t)addresses[h->arguments[i]];
    }
    int bound = dev_cuda_recording_bind(h->recording, h->bound_addresses);
    h->first_set = set == 0 ? bound : h->first_set;
    return bound >= 0;
}

static bool launch(void *user, int set, void *stream)
{
    const host_row *h = user;
    return dev_cuda_recording_replay(h->recording, h->first_set + set, stream);
}

static bool launch_at(void *user, int set, int number, void *stream)
{
    const host_row *h = user;
    return dev_cuda_recording_replay_at(h->recording, h->first_set + set, number, stream);
}

static ms_launch *launches_of(host_row *h, int *count)
{
    const dev_cuda_recorded *recorded = dev_cuda_recording_launches(h->recording, count);
    ms_launch *launches = ARENA_ARRAY(&h->bench->run.unit.memory, ms_launch, *count + 1);
    for (int i = 0; i < *count; i++) {
        const sim_launch_shape *shape = &recorded[i].shape;
        launches[i] = (ms_launch){.symbol = arena_strdup(&h->bench->run.unit.memory, recorded[i].symbol), .function = recorded[i].function};
        launches[i].dynamic_smem_bytes = shape->dynamic_smem_bytes;
        memcpy(launches[i].grid, shape->grid, sizeof shape->grid);
        memcpy(launches[i].block, shape->block, sizeof shape->block);
        if (shape->cluster[0] * shape->cluster[1] * shape->cluster[2] > 1)
            memcpy(launches[i].cluster, shape->cluster, sizeof shape->cluster);
    }
    return launches;
}

// Results, which hdsc tune compares.
static bool fetch(void *user, void *const *addresses)
{
    host_row *h = user;
    run_state *r = &h->bench->run;
    for (size_t i = 0; i < r->arguments.len; i++) {
        const run_argument *a = &r->arguments.at[i];
        bench_output out = {a->name, a->tensor};
        if (!a->is_tensor || !a->is_written || a->bound || !a->tensor.bytes)
            continue;
        if (!ten_allocate(&r->unit.memory, &out.tensor, 0))
            return failed(r, "reading results");
        if (hdsrt_copy(out.tensor.data, addresses[i], out.tensor.bytes, NULL) || hdsrt_synchronize(NULL))
            return failed(r, "reading results");
        VEC_PUSH(&r->unit.memory, &h->run->outputs, out);
    }
    return true;
}

// A model is measured twice: kernel by kernel, and as a CUDA graph, which is the row that stays.
static bool measure_model(host_row *h, const ms_size *sizes, int size_count, const ms_argument *arguments, ms_host *host)
{
    ms_session *s = h->bench->request->session;
    int count = (int)h->bench->run.arguments.len;
    bool tunes = h->bench->request->tunes;
    ms_measure_model(s, false);
    if (!tunes && !ms_measure(s, sizes, size_count, arguments, count, host))
        return false;
    if (!tunes)
        h->run->launches = ms_take_row(s).time;
    host->ran = tunes ? fetch : NULL;
    host->launch_at = launch_at;
    ms_measure_model(s, true);
    if (!ms_measure(s, sizes, size_count, arguments, count, host))
        return false;
    const ms_row *row = &VEC_LAST(&ms_record_of(s)->rows);
    h->run->graphs = row->time;
    cmd_bench_sum(h->bench, h->run, row->each);
    return true;
}

static bool measure(host_row *h, const ms_size *sizes, int size_count, const ms_argument *arguments)
{
    run_state *r = &h->bench->run;
    if (!call(h, dev_cuda_recording_device(h->recording)) || !dev_cuda_recording_load(h->recording) || !allocate_own(h))
        return false;
    if (h->run)
        h->run->was_cached = dev_cuda_recording_was_cached(h->recording);
    ms_host host = {.user = h, .bind = bind, .launch = launch};
    host.launches = launches_of(h, &host.launch_count);
    if (h->run)
        return measure_model(h, sizes, size_count, arguments, &host);
    return ms_measure(h->bench->request->session, sizes, size_count, arguments, (int)r->arguments.len, &host);
}

bool cmd_bench_host_row(bench_state *b, const ms_size *sizes, int size_count, const ms_argument *arguments,
                        bench_run *run)
{
    run_state *r = &b->run;
    host_row h = {.bench = b, .run = run, .recording = dev_cuda_record(b->gpu, &r->unit.memory, &r->unit.diags)};
    bool ok = measure(&h, sizes, size_count, arguments);
    for (size_t i = 0; i < h.blocks.len; i++)
        hdsrt_release(h.blocks.at[i].address, NULL);
    dev_cuda_recording_free(h.recording);
    if (r->device)
        sim_free(r->device);
    r->device = NULL;
    return ok;
}

static bool record_and_compile(host_row *h)
{
    run_state *r = &h->bench->run;
    for (size_t i = 0; i < r->arguments.len; i++)
        if (r->arguments.at[i].is_tensor && !ten_measure(&r->arguments.at[i].tensor))
            return false; // whoever measures it says that it is too large
    return call(h, dev_cuda_recording_device(h->recording)) && dev_cuda_recording_compile(h->recording);
}

bool cmd_bench_host_compile(bench_state *b, const bench_plan *plan)
{
    run_state *r = &b->run;
    const sim_translate_options how = {0};
    if (!cmd_bench_bind(b, plan, 0))
        return false;
    b->gpu = dev_cuda_absent(&r->unit.memory, r->unit.options, r->unit.arch, r->unit.options->gpus[0]);
    r->program = sim_translate(&r->unit.memory, r->unit.module, &how);
    host_row h = {.bench = b, .recording = dev_cuda_record(b->gpu, &r->unit.memory, &r->unit.diags)};
    bool ok = record_and_compile(&h);
    dev_cuda_recording_free(h.recording);
    if (r->device)
        sim_free(r->device);
    r->device = NULL;
    dev_cuda_close(b->gpu);
    return ok;
}

bool cmd_bench_host_open(bench_state *b)
{
    run_state *r = &b->run;
    const char *why = NULL;
    const sim_translate_options how = {0};
    b->gpu = dev_cuda_open(&r->unit.memory, r->unit.options, b->request->measure.gpu_seconds, &why);
    if (!b->gpu) {
        diag_report(&r->unit.diags, HDS0648, (src_span){0, 0}, why);
        return false;
    }
    r->program = sim_translate(&r->unit.memory, r->unit.module, &how);
    const char *title = r->entry->title ? r->entry->title : r->entry->name;
    return ms_load_host(b->request->session, title, cmd_bench_peak_type(b));
}
