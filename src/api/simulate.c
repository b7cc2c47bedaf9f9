// hds_simulate: the kernel's source is elaborated again, for the simulator. Tensors are copied into its memory and
// back. Of a host function the plan runs here, and its kernels on the simulator.

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_priv.h"
#include "base/checked.h"
#include "base/strided_span.h"
#include "pipeline/graphs.h"
#include "pipeline/unit.h"
#include "planned/planned.h"
#include "sim/sim.h"

typedef struct simulation {
    pl_unit unit;            // first: the body of the unit finds the simulation by it
    const hds_kernel *kernel;
    const jit_frame *frame;
    const hds_argument *arguments;
    size_t argument_count;
    sim *device;
    const sim_program *program;
    sim_status status;
    unsigned interrupts;       // of the process, when it began
    hdsrt_status plan_status;  // of a host function's plan
    const char *plan_failure;  // what hdsrt_last_error() says then
} simulation;

// ---- the kernel ------------------------------------------------------------------------------------------------

static bool has_title(const ir_func *f, const char *title)
{
    return strcmp(f->title ? f->title : f->name, title) == 0;
}

// Its symbol is the function's name, unless CUDA C++ has another use for that: then the title tells. Titles alone do not:
// instances for two lambdas have the same, and here are still kernels that were joined into another one, which the compiled
// program lacks.
static const ir_func *find_kernel(const simulation *s, const jit_kernel *kernel)
{
    const ir_module *m = s->unit.module;
    const ir_func *titled = NULL;
    for (size_t i = 0; i < m->funcs.len; i++) {
        const ir_func *f = m->funcs.at[i];
        if (!f->is_public || f->kind != IR_KERNEL || !has_title(f, kernel->title))
            continue;
        if (strcmp(f->name, kernel->launch.symbol) == 0)
            return f;
        titled = titled ? titled : f;
    }
    return titled;
}

// ---- tensors ---------------------------------------------------------------------------------------------------

typedef struct buffer {
    void *host;      // NULL: no tensor
    int64_t bytes;
    uint64_t address;
} buffer;

static int64_t bits_of(const jit_parameter *p)
{
    return p->type == DT_NONE ? 64 : dt_bits(p->type);
}

// Those of an element become those of all of them. False for what there is no memory for.
static bool bits_of_all(int64_t *bits, int rank, const int64_t *shape)
{
    bool is_none = false, fits = true;
    for (int d = 0; d < rank; d++) {
        fits = fits && shape[d] >= 0;
        is_none = is_none || shape[d] == 0;
    }
    for (int d = 0; d < rank && fits && !is_none; d++)
        fits = mul_checked(*bits, shape[d], bits);
    *bits = is_none ? 0 : *bits;
    return fits && *bits <= INT64_MAX - 7;
}

// What a pointer points at is known by the tensor that was passed for it.
static buffer buffer_of(const simulation *s, int i)
{
    const jit_parameter *p = &s->kernel->jit->parameters[i];
    const hds_argument *a = (size_t)i < s->argument_count ? &s->arguments[i] : NULL;
    bool is_given = a && a->kind == HDS_ARG_TENSOR && a->value.tensor;
    const int64_t *shape = p->tensor >= 0 ? s->frame->tensors[p->tensor].shape
                           : is_given     ? a->value.tensor->shape
                                          : NULL;
    int rank = p->tensor >= 0 ? p->shown.ndim : is_given ? a->value.tensor->ndim : 0;
    int64_t bits = p->tensor >= 0 || !is_given ? bits_of(p) : a->value.tensor->dtype.bits;
    if (!bits_of_all(&bits, rank, shape))
        bits = 0;
    strided_span whole = {.bits = bits_of(p), .rank = rank, .shape = shape};
    whole.strides = p->strides ? s->frame->tensors[p->tensor].strides : NULL;
    bool is_strided = whole.strides && strided_span_measure(&whole);
    return (buffer){.host = (void *)(uintptr_t)s->frame->bits[i], .bytes = is_strided ? whole.bytes : (bits + 7) / 8};
}

static bool no_room(simulation *s, const char *name, int64_t bytes)
{
    int64_t used = 0, shadow = 0, limit = sim_options_of(s->device)->memory_limit;
    arena *a = &s->unit.memory;
    sim_memory_use(s->device, &used, &shadow);
    diag_report(&s->unit.diags, HDS0621, (src_span){0, 0}, name, arena_printf(a, "%lld", (long long)bytes),
                arena_printf(a, "%lld", (long long)(limit - used)), arena_printf(a, "%lld", (long long)limit));
    return false;
}

static bool upload(simulation *s, int i, buffer *b)
{
    const jit_parameter *p = &s->kernel->jit->parameters[i];
    int64_t room = 0;
    int element_bytes = bits_of(p) < 8 ? 1 : (int)bits_of(p) / 8;
    *b = buffer_of(s, i);
    b->address = sim_allocate(s->device, b->bytes ? b->bytes : 1, element_bytes, p->shown.name);
    uint8_t *bytes = b->address ? sim_bytes(s->device, b->address, &room) : NULL;
    if (!bytes)
        return no_room(s, p->shown.name, b->bytes);
    if (!b->bytes)
        return true;
    memcpy(bytes, b->host, (size_t)b->bytes);
    sim_mark_written(s->device, b->address, b->bytes);
    return true;
}

static bool is_address(const jit_parameter *p)
{
    return p->shown.kind == HDS_TENSOR || p->shown.kind == HDS_POINTER;
}

// The elements alone: what lies between them may be another tensor's.
static void download_elements(const simulation *s, const jit_parameter *p, uint8_t *host, const uint8_t *from)
{
    const hdsrt_strided_value *t = &s->frame->tensors[p->tensor];
    size_t bytes = (size_t)(bits_of(p) / 8);
    int64_t count = 1;
    for (int d = 0; d < p->shown.ndim; d++)
        count *= t->shape[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t at = strided_span_offset(p->shown.ndim, t->shape, t->strides, i) * (int64_t)bytes;
        memcpy(host + at, from + at, bytes);
    }
}

static void download(simulation *s, const buffer *buffers)
{
    for (int i = 0; i < s->kernel->jit->count; i++) {
        const jit_parameter *p = &s->kernel->jit->parameters[i];
        int64_t room = 0;
        if (!is_address(p) || !p->shown.is_written || !buffers[i].bytes)
            continue;
        if (p->strides)
            download_elements(s, p, buffers[i].host, sim_bytes(s->device, buffers[i].address, &room));
        else
            memcpy(buffers[i].host, sim_bytes(s->device, buffers[i].address, &room), (size_t)buffers[i].bytes);
    }
}

// ---- host functions --------------------------------------------------------------------------------------------

static const ir_func *find_planned(void *user, const jit_kernel *kernel)
{
    return find_kernel(user, kernel);
}

static void run_plan(simulation *s, const uint64_t *values)
{
    planned_device d = {.device = s->device, .program = s->program, .user = s, .find = find_planned};
    s->plan_status = planned_run(&d, s->kernel->function, values, NULL);
    s->status = d.status;
    if (s->plan_status)
        s->plan_failure = arena_strdup(&s->unit.memory, hdsrt_last_error());
}

// ---- running ---------------------------------------------------------------------------------------------------

static void call(simulation *s)
{
    int count = s->kernel->jit->count;
    uint64_t *values = ARENA_ARRAY(&s->unit.memory, uint64_t, count), result = 0;
    buffer *buffers = ARENA_ARRAY(&s->unit.memory, buffer, count);
    for (int i = 0; i < count; i++) {
        values[i] = s->frame->bits[i];
        if (!is_address(&s->kernel->jit->parameters[i]))
            continue;
        if (!upload(s, i, &buffers[i]))
            return;
        values[i] = buffers[i].address;
    }
    if (s->kernel->function)
        run_plan(s, values);
    else
        s->status = sim_call(s->device, s->program, find_kernel(s, s->kernel->jit), values, count, &result);
    sim_findings_report(s->device, &s->unit.diags);
    if (s->status != SIM_STOPPED)
        download(s, buffers);
}

// Counts calls of hds_interrupt. A signal handler may write it: it is lock-free.
static _Atomic unsigned interrupts;

void hds_interrupt(void)
{
    atomic_fetch_add_explicit(&interrupts, 1, memory_order_relaxed);
}

static bool is_interrupted(const void *user)
{
    return atomic_load_explicit(&interrupts, memory_order_relaxed) != ((const simulation *)user)->interrupts;
}

static void body(pl_unit *u)
{
    simulation *s = (simulation *)u;
    const sim_options options = {.is_interrupted = is_interrupted, .interrupted_user = s, .origins = pl_model_lines, .origins_user = u};
    const sim_translate_options how = {.index_overflow = true};
    if (!pl_unit_add_source(u) || !pl_module_for_simulation(u, PL_SIMULATED_LEVEL, NULL))
        return;
    // What compiling says is in the program.
    u->diags.all.len = 0;
    u->diags.shown_errors = u->diags.shown_warnings = u->diags.error_count = 0;
    bool is_known = s->kernel->function || find_kernel(s, s->kernel->jit);
    s->program = is_known ? sim_translate(&u->memory, u->module, &how) : NULL;
    if (!s->program) {
        u->status = PL_INTERNAL;
        return;
    }
    s->device = sim_new(&u->memory, &options);
    call(s);
}

// ---- what came out ---------------------------------------------------------------------------------------------

static bool take_findings(api_core *core, simulation *s)
{
    if (setjmp(core->oom.jump) != 0)
        return false;
    s->unit.memory.oom = &core->oom;
    api_core_add_diagnostics(core, &s->unit.diags);
    return true;
}

static hds_status report(simulation *s, hds_status status, hds_program **findings)
{
    const char *name = s->kernel->jit->launch.name;
    if (s->unit.status != PL_NO_MEMORY && s->unit.diags.all.len) {
        api_core *core = api_core_new();
        if (!core || !take_findings(core, s)) {
            api_core_release(core);
            return api_no_memory();
        }
        if (status)
            api_fail(status, "'%s': %s", name, core->diagnostics[0].message);
        if (findings)
            *findings = api_program_of(core, HDS_COMPILED);
        else
            api_core_release(core);
        return findings && !*findings ? HDS_NO_MEMORY : status;
    }
    // On the caller's thread, which asks for the last error.
    if (s->plan_status && s->status != SIM_STOPPED)
        return api_fail_runtime(hdsrt_fail(s->plan_status, "%s", s->plan_failure));
    return status == HDS_NO_MEMORY ? api_no_memory()
           : status == HDS_INTERRUPTED ? api_fail(status, "'%s': it was interrupted", name)
           : status                ? api_fail(status, "'%s': it cannot be simulated", name)
                                   : HDS_OK;
}

// Of the simulator's own memory, too.
static bool lacks_memory(const simulation *s)
{
    for (size_t i = 0; s->unit.status != PL_NO_MEMORY && i < s->unit.diags.all.len; i++) {
        if (s->unit.diags.all.at[i]->code == HDS0621)
            return true;
    }
    return s->unit.status == PL_NO_MEMORY;
}

static hds_status status_of(const simulation *s)
{
    if (s->status == SIM_STOPPED && is_interrupted(s))
        return HDS_INTERRUPTED;
    if (lacks_memory(s))
        return HDS_NO_MEMORY;
    if (s->unit.status == PL_INTERNAL || s->unit.status == PL_TOOLCHAIN)
        return HDS_INTERNAL;
    return s->unit.status == PL_ERRORS || s->status != SIM_OK ? HDS_ERRORS : HDS_OK;
}

static hds_status run(simulation *s, hds_program **findings)
{
    const api_core *core = s->kernel->core;
    pl_unit_init(&s->unit, &core->request.options, core->request.arch, pl_now_us());
    s->unit.input_name = core->request.name;
    s->unit.input = core->request.text;
    s->unit.onnx = core->request.onnx.weights ? &core->request.onnx : NULL;
    pl_unit_run_deep(&s->unit, body);
    hds_status status = report(s, status_of(s), findings);
    if (s->device)
        sim_free(s->device);
    pl_unit_free(&s->unit);
    return status;
}

// ---- before ----------------------------------------------------------------------------------------------------

static bool is_row_major(const hdsrt_tensor *t)
{
    int64_t step = 1;
    for (int d = t->ndim - 1; t->strides && d >= 0; d--) {
        if (t->shape[d] != 1 && t->strides[d] != step)
            return false;
        step *= t->shape[d];
    }
    return true;
}

// A tensor that is passed for a pointer; NULL: it can be copied.
static const char *objection(const hdsrt_tensor *t)
{
    enum { HOST = 1, PINNED_HOST = 3, MANAGED = 13 };
    int type = (int)t->device.device_type;
    int64_t bits = t->dtype.bits;
    if (type != HOST && type != PINNED_HOST && type != MANAGED)
        return "is not in host memory, which the simulator works on";
    if (t->dtype.lanes != 1)
        return "has vectors as elements";
    if (t->ndim < 0 || (t->ndim && !t->shape))
        return "is a tensor without a shape";
    if (!bits_of_all(&bits, t->ndim, t->shape))
        return "has a negative extent, or more elements than there are addresses";
    if (bits && !is_row_major(t))
        return "has gaps between its elements, or another order than row by row";
    return bits && !t->data ? "is null" : NULL;
}

// A pointer says nothing about what is behind it, and vectors do not fit into what the simulator is given.
static hds_status check_parameters(const hds_kernel *kernel, const hds_argument *arguments)
{
    const char *name = kernel->jit->launch.name;
    if (kernel->function && kernel->function->refused)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s': %s", name, kernel->function->refused);
    if (kernel->function && kernel->function->plan.has_result)
        return api_fail(HDS_INVALID_ARGUMENT, "'%s' gives a result: hds_evaluate computes it", name);
    for (int i = 0; i < kernel->jit->count; i++) {
        const jit_parameter *p = &kernel->jit->parameters[i];
        if (p->shown.kind == HDS_POINTER && arguments[i].kind != HDS_ARG_TENSOR)
            return api_fail(HDS_INVALID_ARGUMENT,
                            "'%s': '%s' is a pointer, and the simulator has to know how much is behind it: "
                            "pass a tensor",
                            name, p->shown.name);
        const char *why = p->shown.kind == HDS_POINTER ? objection(arguments[i].value.tensor) : NULL;
        if (why)
            return api_fail(HDS_INVALID_ARGUMENT, "'%s': '%s' %s", name, p->shown.name, why);
        if (p->bytes > 8)
            return api_fail(HDS_INVALID_ARGUMENT, "'%s': '%s' is %s, which the simulator cannot be given", name,
                            p->shown.name, p->shown.dtype);
    }
    return HDS_OK;
}

static bool files_hold(const api_core *core)
{
    arena scratch;
    arena_oom oom;
    arena_init(&scratch, &oom);
    bool ok = setjmp(oom.jump) == 0 && pl_read_files_hold(&scratch, &core->files);
    arena_free(&scratch);
    return ok;
}

// Complex numbers are given by where they stand.
static void read_by_address(const jit_frame *f)
{
    for (int i = 0; i < f->kernel->count; i++) {
        const jit_parameter *p = &f->kernel->parameters[i];
        if (p->shown.kind == HDS_SCALAR && f->addresses[i] != &f->bits[i])
            memcpy(&f->bits[i], f->addresses[i], (size_t)p->bytes);
    }
}

static hds_status simulate(const hds_kernel *kernel, const hds_argument *arguments, size_t count, void *room,
                           hds_program **findings)
{
    jit_frame frame;
    jit_frame_init(&frame, kernel->jit, room);
    hdsrt_status bound = jit_bind(&frame, arguments, count, JIT_TO_SIMULATE);
    if (bound)
        return api_fail_runtime(bound);
    hds_status status = check_parameters(kernel, arguments);
    if (status)
        return status;
    if (!files_hold(kernel->core))
        return api_fail(HDS_INVALID_ARGUMENT, "'%s': files that '%s' imports have changed; compile it again",
                        kernel->jit->launch.name, kernel->core->request.name);
    read_by_address(&frame);
    simulation s = {.kernel = kernel, .frame = &frame, .arguments = arguments, .argument_count = count,
                    .interrupts = atomic_load_explicit(&interrupts, memory_order_relaxed)};
    return run(&s, findings);
}

static hds_status simulate_one(const hds_kernel *kernel, const hds_argument *arguments, size_t count, hds_program **findings)
{
    void *room = malloc(kernel->jit->frame_bytes + 1);
    hds_status status = room ? simulate(kernel, arguments, count, room, findings) : api_no_memory();
    free(room);
    return status;
}

// By the entry that the tensors are for.
static hds_status simulate_operator(const hds_kernel *kernel, const hds_argument *arguments, size_t count, hds_program **findings)
{
    const api_core *core = kernel->core;
    jit_choice *c = malloc(sizeof *c);
    if (!c)
        return api_no_memory();
    hdsrt_status chosen = jit_choose(kernel->operator, arguments, count, JIT_TO_SIMULATE, NULL, c);
    const hds_kernel *entry = chosen ? NULL : &core->functions[c->function - core->jit.functions];
    hds_status status = entry ? simulate_one(entry, c->arguments, c->count, findings) : api_fail_runtime(chosen);
    free(c);
    return status;
}

hds_status hds_simulate(const hds_kernel *kernel, const hds_argument *arguments, size_t count, hds_program **findings)
{
    if (findings)
        *findings = NULL;
    if (!kernel)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_simulate: kernel is a null pointer");
    return kernel->operator ? simulate_operator(kernel, arguments, count, findings)
                            : simulate_one(kernel, arguments, count, findings);
}
