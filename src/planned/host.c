// Plans of the host functions of a module, made where they are called.
#include "planned/planned.h"

#include <stdlib.h>

typedef struct kernel {
    jit_kernel jit;  // first
    const ir_func *func;
} kernel;

// The plan of a function, or why it has none.
typedef struct made {
    jit_function function;
    const char *why;
} made;

typedef struct host {
    sim_host shown;
    arena *arena;
    ir_module *module;
    map kernels;   // ir_func* -> kernel*
    VEC(kernel *) by_number;
    map made;      // ir_func* -> made*
} host;

// ---- what plan_lower asks about kernels --------------------------------------------------------------------------------------

static kernel *kernel_of(host *h, const ir_func *f)
{
    kernel *k = map_get_ptr(&h->kernels, f);
    if (k)
        return k;
    k = ARENA_NEW(h->arena, kernel);
    k->func = f;
    // Names of kernels need not be unique before they are printed.
    k->jit.launch.symbol = arena_printf(h->arena, "k%zu", h->by_number.len);
    k->jit.launch.name = f->title ? f->title : f->name;
    k->jit.count = (int)f->params.len;
    map_put_ptr(&h->kernels, f, k);
    VEC_PUSH(h->arena, &h->by_number, k);
    return k;
}

static const char *symbol_of(const void *user, const ir_func *f)
{
    return kernel_of((host *)(uintptr_t)user, f)->jit.launch.symbol;
}

static const bool *writes_of(const void *user, const ir_func *f)
{
    (void)user;
    (void)f;
    return NULL;
}

static bool waits(ir_module *m, const ir_func *f)
{
    return !f->dependent_launch || ir_waits_for_kernels(m, f);
}

// ---- plans -------------------------------------------------------------------------------------------------------------------

static made *make(host *h, const ir_func *f)
{
    const plan_kernels kernels = {h, symbol_of, writes_of, waits};
    bool *writes = ARENA_ARRAY(h->arena, bool, f->params.len + 1);
    made *m = ARENA_NEW(h->arena, made);
    jit_function *of = &m->function;
    plan_refusal refusal;
    of->entry.launch.name = f->title ? f->title : f->name;
    m->why = plan_lower(h->arena, h->module, f, &kernels, &of->plan, writes, &refusal) ? NULL : refusal.what;
    of->kernels = ARENA_ARRAY(h->arena, jit_kernel *, of->plan.stmts.len + 1);
    for (size_t i = 0; !m->why && i < of->plan.stmts.len; i++)
        if (of->plan.stmts.at[i].kind == PLAN_LAUNCH)
            of->kernels[i] = &h->by_number.at[atoi(of->plan.stmts.at[i].text + 1)]->jit;
    map_put_ptr(&h->made, f, m);
    return m;
}

static const ir_func *find(void *user, const jit_kernel *k)
{
    (void)user;
    return ((const kernel *)(const void *)k)->func;
}

static sim_status call(void *user, sim *s, const sim_program *p, const ir_func *f, const uint64_t *args, uint64_t *result)
{
    host *h = user;
    made *m = map_get_ptr(&h->made, f);
    m = m ? m : make(h, f);
    planned_device d = {.device = s, .program = p, .user = h, .find = find};
    if (m->why) {
        sim_report_plan(s, m->function.entry.launch.name, m->why);
        return SIM_STOPPED;
    }
    if (!planned_run(&d, &m->function, args, m->function.plan.has_result ? result : NULL))
        return d.status;
    if (d.status != SIM_STOPPED)
        sim_report_plan(s, m->function.entry.launch.name, hdsrt_last_error());
    return SIM_STOPPED;
}

const sim_host *planned_host(arena *a, ir_module *m)
{
    host *h = ARENA_NEW(a, host);
    *h = (host){.shown = {.user = h, .call = call}, .arena = a, .module = m};
    map_init(&h->kernels, a);
    map_init(&h->made, a);
    return &h->shown;
}
