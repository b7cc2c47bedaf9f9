// The device: options, launches, host functions.
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/check.h"
#include "sim/dependent.h"
#include "sim/exec.h"

enum { MOST_WORKERS = 64 };

// ---- options -----------------------------------------------------------------------------------------------------

sim *sim_new(arena *a, const sim_options *options)
{
    sim *s = ARENA_NEW(a, sim);
    *s = (sim){.arena = a, .options = *options};
    if (!s->options.budget)
        s->options.budget = 1000000000;
    if (!s->options.max_findings)
        s->options.max_findings = 20;
    s->memory = sim_memory_new(a, s->options.memory_limit);
    s->findings = sim_findings_new(a, s->options.max_findings);
    s->profile = s->options.profile ? sim_profile_new(a) : NULL;
    map_init(&s->constants, a);
    return s;
}

// ---- memory of what runs -------------------------------------------------------------------------------------------

typedef struct sim_loose {
    arena memory;
    struct sim_loose *next;
    bool is_free;
} sim_loose;

// An arena for a launch or a host function. It is given back at the end, or by sim_free when control has jumped past that.
static sim_loose *take_loose(sim *s)
{
    sim_loose *l = s->loose;
    while (l && !l->is_free)
        l = l->next;
    if (!l) {
        l = ARENA_NEW(s->arena, sim_loose);
        l->next = s->loose;
        s->loose = l;
    }
    l->is_free = false;
    arena_init(&l->memory, s->arena->oom);
    return l;
}

static void give_loose(sim_loose *l)
{
    arena_free(&l->memory);
    l->is_free = true;
}

void sim_free(sim *s)
{
    for (sim_loose *l = s->loose; l; l = l->next)
        give_loose(l);
    if (s->profile)
        sim_profile_free(s->profile);
    sim_findings_free(s->findings);
    sim_memory_free(s->memory);
}

const sim_options *sim_options_of(const sim *s)
{
    return &s->options;
}

int64_t sim_budget_of(const sim *s)
{
    return s->options.budget;
}

int64_t sim_instructions(const sim *s)
{
    return (int64_t)s->instructions;
}

const sim_profile *sim_profile_of(const sim *s)
{
    return s->profile;
}

// Watched and printing kernels run in order.
int sim_worker_count(const sim *s)
{
    if (s->options.watch || s->options.print)
        return 1;
    long count = s->options.workers ? s->options.workers : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MOST_WORKERS ? MOST_WORKERS : (int)count;
}

// ---- constant tensors --------------------------------------------------------------------------------------------

static uint64_t store_constant(sim *s, const ir_var *v, ir_expr *const *values)
{
    const ir_type *elem = v->tensor->elem;
    int64_t count = v->tensor->storage_elems;
    bool is_subbyte = elem->kind == IR_SCALAR && dt_is_subbyte(elem->scalar);
    int bits = is_subbyte ? dt_bits(elem->scalar) : (int)ir_type_bytes(elem) * 8;
    int64_t bytes = (count * bits + 7) / 8, room;
    uint64_t address = sim_allocate(s, bytes, is_subbyte ? 1 : bits / 8, v->name);
    uint8_t *at = sim_bytes(s, address, &room);
    for (int64_t i = 0; at && i < count; i++) {
        const ir_expr *e = values[i];
        uint64_t value = e->op == IR_OP_FLOAT
                             ? dt_from_double(e->type->scalar == DT_TF32 ? DT_F32 : e->type->scalar, e->u.f)
                             : (uint64_t)e->u.i;
        if (is_subbyte)
            at[i * bits / 8] |= (uint8_t)((value & ((1u << bits) - 1)) << (i * bits % 8));
        else
            memcpy(at + i * bits / 8, &value, (size_t)bits / 8);
    }
    sim_mark_written(s, address, bytes);
    sim_memory_protect(s, address);
    return address;
}

static void store_constants(sim *s, const sim_program *p)
{
    const ir_module *m = p->module;
    if (!m->globals.len || map_get_ptr(&s->constants, p))
        return;
    uint64_t *addresses = ARENA_ARRAY(s->arena, uint64_t, m->globals.len);
    for (size_t i = 0; i < m->globals.len; i++)
        addresses[i] = store_constant(s, m->globals.at[i], m->global_values.at[i]);
    map_put_ptr(&s->constants, p, addresses);
}

// ---- code that runs as one lane ----------------------------------------------------------------------------------

typedef struct lone {
    sim_launch launch;
    sim_block block;
    sim_warp warp;
    sim_loose *memory;
} lone;

static void start_lone(lone *h, sim *s, const sim_program *p, const ir_func *f, const sim_code *code,
                       const uint64_t *args, int count)
{
    memset(h, 0, sizeof *h);
    h->memory = take_loose(s);
    h->launch = (sim_launch){
        .device = s,
        .program = p,
        .kernel = f,
        .code = code,
        .args = args,
        .arg_fields = s->arg_fields,
        .arg_count = count,
        .block_count = 1,
        .number = s->launches,
        .is_host = true,
        .arena = &h->memory->memory,
        .shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = {1, 1, 1}},
    };
    h->block = (sim_block){
        .launch = &h->launch,
        .warp_count = 1,
        .thread_count = 1,
        .warps = &h->warp,
        .alive = 1,
        .arena = &h->memory->memory,
    };
    h->warp.block = &h->block;
    h->warp.full = 1;
    h->warp.watches_nan = s->options.trap_nan;
    h->warp.locals = sim_local_start(&h->warp);
    sim_warp_start(&h->warp, code, args, count);
    sim_order_start(&h->block);
}

static bool run_lone(lone *h)
{
    int64_t budget = h->launch.device->options.budget;
    for (;;) {
        sim_step step = sim_execute(&h->warp, budget < INT32_MAX ? budget + 1 : INT32_MAX);
        if (step == SIM_END || step == SIM_HALT)
            return step == SIM_END;
        if ((int64_t)h->warp.steps > budget) {
            sim_check_budget(&h->warp);
            return false;
        }
    }
}

static void end_lone(lone *h)
{
    for (size_t i = 0; i < h->launch.kept.len; i++)
        sim_release(h->launch.device, h->launch.kept.at[i]);
    sim_order_end(&h->block);
    h->launch.device->instructions += h->warp.instructions;
    give_loose(h->memory);
}

void sim_keep_allocation(sim_launch *host, uint64_t address)
{
    VEC_PUSH(host->arena, &host->kept, address);
}

// ---- launches ----------------------------------------------------------------------------------------------------

// The map's tensor is one of the arguments.
static sim_tensor_map map_at(const ir_func *kernel, size_t index, const uint64_t *args, const sim_extents *extents)
{
    sim_tensor_map made = {.var = kernel->maps.at[index]};
    const ir_var *tensor = made.var->map->tensor;
    for (size_t i = 0; i < kernel->params.len; i++) {
        if (kernel->params.at[i] != tensor)
            continue;
        made.address = args[i];
        uint64_t dense = 1;
        for (int d = tensor->tensor->rank - 1; d >= 0; d--) {
            made.extent[d] = extents[i].shape[d];
            made.stride[d] = extents[i].strides ? extents[i].strides[d] : (int64_t)dense;
            dense *= (uint64_t)made.extent[d];
        }
    }
    return made;
}

static const int64_t *take_values(const sim_warp *w, int count, uint32_t *cell, arena *a)
{
    int64_t *values = ARENA_ARRAY(a, int64_t, count + 1);
    for (int d = 0; d < count; d++, *cell += 2)
        values[d] = sim_i64(w, *cell)[0];
    return values;
}

static void take_extents(const sim_warp *w, const ir_func *kernel, uint32_t cell, sim_extents *out, arena *a)
{
    for (size_t i = 0; i < kernel->params.len; i++) {
        const ir_tensor *t = kernel->params.at[i]->tensor;
        out[i] = (sim_extents){0};
        if (t)
            out[i].shape = take_values(w, t->rank, &cell, a);
        if (t)
            out[i].strides = t->is_strided ? take_values(w, t->rank, &cell, a) : ir_layout_strides(t);
    }
}

// Sets the shape of a launch and, if it is not NULL, the extents of each argument, in [a]. False: it cannot be computed.
static bool evaluate_shape(sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count,
                           sim_launch_shape *shape, sim_extents *extents, arena *a)
{
    const sim_code *code = sim_code_of(p, kernel)->shape;
    lone h;
    *shape = (sim_launch_shape){0};
    store_constants(s, p);
    start_lone(&h, s, p, kernel, code, args, count);
    bool is_done = run_lone(&h);
    if (is_done) {
        int64_t *parts[] = {shape->grid, shape->block, shape->cluster};
        for (uint32_t i = 0; i < 9; i++)
            parts[i / 3][i % 3] = sim_i64(&h.warp, code->shape_cell + 2 * i)[0];
        shape->dynamic_smem_bytes = sim_i64(&h.warp, code->shape_cell + 18)[0];
        if (extents)
            take_extents(&h.warp, kernel, code->shape_cell + 20, extents, a);
    }
    end_lone(&h);
    return is_done;
}

sim_launch_shape sim_shape_of(sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count)
{
    sim_launch_shape shape;
    evaluate_shape(s, p, kernel, args, count, &shape, NULL, NULL);
    return shape;
}

sim_tensor_map *sim_maps_of(sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count, arena *a)
{
    sim_launch_shape shape;
    sim_tensor_map *maps = ARENA_ARRAY(a, sim_tensor_map, kernel->maps.len + 1);
    sim_extents *extents = ARENA_ARRAY(a, sim_extents, count + 1);
    bool is_done = kernel->maps.len && evaluate_shape(s, p, kernel, args, count, &shape, extents, a);
    for (size_t i = 0; is_done && i < kernel->maps.len; i++)
        maps[i] = map_at(kernel, i, args, extents);
    return maps;
}

// [scratch]: lives as long as the launch; a program may launch for ever.
static sim_status launch_kernel(sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count,
                                uint32_t site, arena *scratch)
{
    int findings = sim_finding_count(s);
    sim_launch l = {
        .device = s,
        .program = p,
        .kernel = kernel,
        .code = sim_code_of(p, kernel),
        .args = args,
        .arg_fields = s->arg_fields,
        .arg_count = count,
        .number = ++s->launches,
    };
    sim_extents *extents = ARENA_ARRAY(scratch, sim_extents, count + 1);
    sim_tensor_map *maps = ARENA_ARRAY(scratch, sim_tensor_map, kernel->maps.len + 1);
    bool is_good = evaluate_shape(s, p, kernel, args, count, &l.shape, extents, scratch);
    for (size_t i = 0; is_good && i < kernel->maps.len; i++)
        maps[i] = map_at(kernel, i, args, extents);
    l.maps = maps;
    is_good = is_good && sim_finding_count(s) == findings &&
              sim_launch_check(&l, extents, site ? site : sim_site_of_function(p, kernel), scratch);
    if (!is_good)
        return SIM_STOPPED;
    l.block_count = l.shape.grid[0] * l.shape.grid[1] * l.shape.grid[2];
    if (!l.block_count)
        return SIM_OK;
    bool is_elsewhere = s->options.device && s->options.device->launch;
    if (is_elsewhere && !s->options.device->launch(s->options.device->user, s, p, kernel, args, count))
        return SIM_STOPPED;
    if (!is_elsewhere && s->profile)
        sim_profile_launch(s->profile, &l);
    if (!is_elsewhere) {
        sim_dependent_begin(&l);
        sim_run_launch(&l);
        sim_dependent_end(&l);
    }
    if (l.halted)
        return SIM_STOPPED;
    if (s->options.launched)
        s->options.launched(s->options.launched_user, s, p, kernel, &l.shape, site);
    return sim_finding_count(s) != findings ? SIM_FOUND : SIM_OK;
}

sim_status sim_launch_kernel(sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count,
                             uint32_t site)
{
    sim_loose *scratch = take_loose(s);
    sim_status status = launch_kernel(s, p, kernel, args, count, site, &scratch->memory);
    give_loose(scratch);
    return status;
}

// ---- calls -------------------------------------------------------------------------------------------------------

static sim_status call_host(sim *s, const sim_program *p, const ir_func *f, const uint64_t *args, int count,
                            uint64_t *result)
{
    const sim_code *code = sim_code_of(p, f);
    int findings = sim_finding_count(s);
    lone h;
    store_constants(s, p);
    start_lone(&h, s, p, f, code, args, count);
    bool ended = run_lone(&h);
    if (ended && result && code->result_cells)
        *result = sim_bits(&h.warp, code->result_cell, code->result_cells, 0);
    end_lone(&h);
    if (!ended)
        return SIM_STOPPED;
    return sim_finding_count(s) != findings ? SIM_FOUND : SIM_OK;
}

sim_status sim_call(sim *s, const sim_program *p, const ir_func *f, const uint64_t *args, int count, uint64_t *result)
{
    const sim_host *host = s->options.host;
    if (host && f->kind == IR_HOST_FUNC)
        return host->call(host->user, s, p, f, args, result);
    return f->kind == IR_KERNEL ? sim_launch_kernel(s, p, f, args, count, 0) : call_host(s, p, f, args, count, result);
}

uint32_t sim_site_of_function(const sim_program *p, const ir_func *f)
{
    for (size_t i = 0; i < p->sites.len; i++)
        if (p->sites.at[i].func == f)
            return (uint32_t)i;
    return 0;
}
