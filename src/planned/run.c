// A plan on the simulator: the machine that jit_run takes.
#include "planned/planned.h"

#include <string.h>

#include "base/checked.h"

enum { MOST_STEPS = 1000000000 };

typedef struct machine {
    planned_device *of;
    const jit_function *function;
} machine;

static void at_statement(const machine *m, const plan_stmt *s)
{
    sim_at_statement(m->of->device, s->root, s->root.begin ? NULL : s->file, s->line);
}

// ---- memory ------------------------------------------------------------------------------------------------------------------

static hdsrt_status take(void *user, const char *name, const plan_stmt *s, int64_t bytes, uint64_t *address)
{
    machine *m = user;
    int bits = s->elem == DT_NONE ? 64 : dt_bits(s->elem);
    at_statement(m, s);
    *address = sim_allocate(m->of->device, bytes ? bytes : 1, bits < 8 ? 1 : bits / 8, name);
    if (*address && bytes && s->is_placed)
        sim_place(m->of->device, *address, s->offset);
    return *address ? HDSRT_OK : hdsrt_fail(HDSRT_OUT_OF_MEMORY, "the simulator has no memory");
}

static hdsrt_status give_back(void *user, uint64_t address)
{
    const machine *m = user;
    sim_place_end(m->of->device, address);
    sim_release(m->of->device, address);
    return HDSRT_OK;
}

// Memory for the host to write, or to read; NULL after failing.
static uint8_t *bytes_at(const machine *m, uint64_t address, int64_t bytes)
{
    int64_t room = 0;
    uint8_t *at = sim_bytes(m->of->device, address, &room);
    if (at && room >= bytes)
        return at;
    hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': it writes or copies beyond the end of a tensor", m->function->entry.launch.name);
    return NULL;
}

static hdsrt_status fill(void *user, uint64_t to, uint64_t pattern, int element_bytes, int64_t count)
{
    machine *m = user;
    int64_t bytes = 0;
    if (!mul_checked(count, element_bytes, &bytes) || !bytes)
        return bytes ? hdsrt_fail(HDSRT_INVALID_ARGUMENT, "it fills more than there is") : HDSRT_OK;
    uint8_t *at = bytes_at(m, to, bytes);
    for (int64_t i = 0; at && i < bytes; i++)
        at[i] = (uint8_t)(pattern >> (8 * (i % element_bytes)));
    if (at)
        sim_mark_written(m->of->device, to, bytes);
    sim_synchronise(m->of->device);
    return at ? HDSRT_OK : HDSRT_INVALID_ARGUMENT;
}

static hdsrt_status copy(void *user, uint64_t to, uint64_t from, int64_t bytes)
{
    machine *m = user;
    uint8_t *target = bytes ? bytes_at(m, to, bytes) : NULL, *source = target ? bytes_at(m, from, bytes) : NULL;
    if (!source)
        return bytes ? HDSRT_INVALID_ARGUMENT : HDSRT_OK;
    memmove(target, source, (size_t)bytes);
    sim_mark_written(m->of->device, to, bytes);
    sim_synchronise(m->of->device);
    return HDSRT_OK;
}

// ---- the rest ----------------------------------------------------------------------------------------------------------------

static hdsrt_status launch(void *user, const plan_stmt *s, jit_kernel *kernel, const uint64_t *bits)
{
    machine *m = user;
    planned_device *d = m->of;
    const ir_func *f = d->find(d->user, kernel);
    uint64_t result = 0;
    if (!f)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the simulator does not know it", kernel->launch.name);
    at_statement(m, s);
    sim_status status = sim_call(d->device, d->program, f, bits, kernel->count, &result);
    d->status = status > d->status ? status : d->status;
    return status == SIM_STOPPED ? hdsrt_fail(HDSRT_ASSERTION, "'%s': it was stopped", kernel->launch.name) : HDSRT_OK;
}

static void print(void *user, str text)
{
    const machine *m = user;
    const sim_options *o = sim_options_of(m->of->device);
    if (o->print)
        o->print(o->print_user, text);
}

hdsrt_status planned_run(planned_device *d, const jit_function *f, const uint64_t *values, uint64_t *result)
{
    machine m = {.of = d, .function = f};
    const jit_machine how = {.user = &m, .allocate = take, .release = give_back, .fill = fill, .copy = copy,
                                 .launch = launch, .print = print, .most_steps = MOST_STEPS};
    sim_workspace(d->device, f->plan.planned);
    hdsrt_status status = jit_run(f, values, &how, result);
    sim_at_statement(d->device, (src_span){0}, NULL, 0);
    return status;
}
