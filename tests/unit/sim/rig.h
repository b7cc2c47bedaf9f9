// Programs given as IR text, run by the simulator: a module, a device, tensors in its memory, findings.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ir/pass.h"
#include "sim/sim.h"

typedef struct rig {
    arena mem;
    src_map sources;
    diag_context diags;
    sym_table syms;
    ir_module *module;
    sim_program *program;
    sim *device;
    str_buf printed;
    sim_status status;
} rig;

static inline void rig_print(void *user, str text)
{
    str_add(&((rig *)user)->printed, text);
}

static inline void rig_open_with(rig *r, const char *text, sim_options options)
{
    memset(r, 0, sizeof *r);
    arena_init(&r->mem, NULL);
    src_map_init(&r->sources, &r->mem);
    diag_init(&r->diags, &r->mem, &r->sources);
    sym_init(&r->syms, &r->mem);
    str_buf_init(&r->printed, &r->mem);
    const char *whole = arena_printf(&r->mem, "module \"t\" sm_90a\n%s", text);
    r->module = ir_read_text(&r->mem, &r->syms, &r->diags, src_add(&r->sources, "t.hir", str_of(whole)));
    if (!r->module || !ir_verify(r->module)) {
        str_buf out;
        str_buf_init(&out, &r->mem);
        diag_render_text(&r->diags, &out, (diag_style){0});
        fail_msg("%s\n%s", str_text(&out), whole);
    }
    if (options.print)
        options.print_user = r;
    r->device = sim_new(&r->mem, &options);
    sim_translate_options translate = {.index_overflow = true};
    r->program = sim_translate(&r->mem, r->module, &translate);
}

static inline void rig_open(rig *r, const char *text)
{
    rig_open_with(r, text, (sim_options){.workers = 1});
}

static inline void rig_close(rig *r)
{
    sim_free(r->device);
    arena_free(&r->mem);
}

// A tensor of [bytes], filled with them; NULL: not initialised.
static inline uint64_t rig_tensor(rig *r, const void *from, int64_t bytes, int elem_bytes)
{
    int64_t room;
    uint64_t address = sim_allocate(r->device, bytes, elem_bytes, "tensor");
    if (from) {
        memcpy(sim_bytes(r->device, address, &room), from, (size_t)bytes);
        sim_mark_written(r->device, address, bytes);
    }
    return address;
}

static inline void *rig_bytes(rig *r, uint64_t address)
{
    int64_t room;
    return sim_bytes(r->device, address, &room);
}

static inline const ir_func *rig_func(const rig *r, const char *name)
{
    for (size_t i = 0; i < r->module->funcs.len; i++)
        if (strcmp(r->module->funcs.at[i]->name, name) == 0)
            return r->module->funcs.at[i];
    return NULL;
}

#define RIG_CALL(r, name, ...) rig_call((r), (name), (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static inline sim_status rig_call(rig *r, const char *name, const uint64_t *args, int count)
{
    r->status = sim_call(r->device, r->program, rig_func(r, name), args, count, NULL);
    return r->status;
}

static inline const char *rig_messages(rig *r)
{
    str_buf out;
    str_buf_init(&out, &r->mem);
    sim_findings_report(r->device, &r->diags);
    diag_render_text(&r->diags, &out, (diag_style){0});
    return str_text(&out);
}

static inline void rig_expect_clean(rig *r)
{
    if (r->status != SIM_OK)
        fail_msg("%s", rig_messages(r));
}

// One finding, or several of the same kind.
static inline void rig_expect(rig *r, diag_code code)
{
    int count = sim_finding_count(r->device);
    const char *messages = rig_messages(r);
    if (!count)
        fail_msg("nothing was found");
    for (size_t i = 0; i < r->diags.all.len; i++)
        if (r->diags.all.at[i]->code != code)
            fail_msg("%s", messages);
}
