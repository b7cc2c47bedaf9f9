// Temporaries of launch plans, which share one workspace by their lifetimes (docs/adr/0064-plans-on-the-simulator.md).
//
// Here each is an allocation of its own, so that all around it is a red zone, nothing of what was there before is in it, and
// what is behind its end of life is gone. What sharing adds to that is followed by the places that the plan gives: two that
// live at one time may not share bytes, and what is written to a new one may still be read, of the old one, by a kernel that
// is under way.
#include "sim/dependent.h"
#include "sim/memory_priv.h"

#include <inttypes.h>

// Numbers of temporaries are those of allocations; a released one keeps its place until another one has all of it.
static void leave(sim_memory *m, uint32_t number)
{
    for (size_t i = 0; i < m->places.len; i++) {
        sim_placed *p = &m->places.at[i];
        if (p->number != number)
            continue;
        p->number = 0;
        p->writes = m->table.at[number].writes;
        p->accesses = m->table.at[number].accesses;
    }
}

void sim_place_end(sim *s, uint64_t address)
{
    leave(s->memory, (uint32_t)((address & ~SIM_TAG_MASK) >> SIM_OFFSET_BITS));
}

void sim_workspace(sim *s, int64_t bytes)
{
    s->memory->workspace = bytes;
    s->memory->places.len = 0;
}

void sim_at_statement(sim *s, src_span span, const char *file, uint32_t line)
{
    s->statement = span;
    s->statement_file = file;
    s->statement_line = line;
    s->origin_count = 0;
    if (s->options.origins && (span.begin || file))
        s->origin_count = s->options.origins(s->options.origins_user, span, file, line, &s->origins);
}

void sim_report_plan(sim *s, const char *name, const char *why)
{
    const sim_finding f = {.code = HDS0660, .args = {name, why}};
    sim_find(s, NULL, &f);
}

void sim_at_launch(sim *s, const sim_program *p, uint32_t site)
{
    const sim_site *at = &p->sites.at[site];
    src_span span = at->statement;
    const ir_site *call = ir_site_at(p->module, at->origin);
    s->origin_count = 0;
    while (s->options.origins && !s->origin_count && span.begin) {
        s->origin_count = s->options.origins(s->options.origins_user, span, NULL, 0, &s->origins);
        span = call ? call->span : (src_span){0};
        call = call ? ir_site_at(p->module, call->parent) : NULL;
    }
}

static void report(sim *s, const sim_placed *p, const char *text)
{
    const sim_finding f = {
        .code = HDS0659,
        .other.site = p->number,
        .args = {text},
        .help = "the plan is the compiler's: this is a fault of hdsc, or of who changed the plan",
    };
    sim_find(s, NULL, &f);
}

// What the new one has of a released one: launches that used that one use it.
static void inherit(sim_allocation *made, const sim_placed *old)
{
    if (old->accesses.last > made->accesses.last) {
        made->accesses.last = old->accesses.last;
        made->predecessor = old->name;
    }
    made->writes.last = old->writes.last > made->writes.last ? old->writes.last : made->writes.last;
}

void sim_place(sim *s, uint64_t address, int64_t offset)
{
    sim_memory *m = s->memory;
    uint32_t number = (uint32_t)((address & ~SIM_TAG_MASK) >> SIM_OFFSET_BITS);
    sim_allocation *made = &m->table.at[number];
    sim_placed own = {.number = number, .begin = offset, .end = offset + made->size, .name = made->name};
    if (s->options.no_checks)
        return;
    if (own.end > m->workspace)
        report(s, &own, arena_printf(s->arena, "'%s' ends at byte %" PRId64 " of a workspace of %" PRId64, own.name, own.end,
                               m->workspace));
    size_t kept = 0;
    for (size_t i = 0; i < m->places.len; i++) {
        sim_placed p = m->places.at[i];
        bool meets = p.begin < own.end && own.begin < p.end;
        if (meets && p.number)
            report(s, &own, arena_printf(s->arena,
                                   "'%s' is put at bytes %" PRId64 " to %" PRId64 " of the workspace, and '%s', at %" PRId64
                                   " to %" PRId64 ", is still in use",
                                   own.name, own.begin, own.end - 1, p.name, p.begin, p.end - 1));
        if (meets && !p.number)
            inherit(made, &p);
        if (p.number || p.begin < own.begin || p.end > own.end)
            m->places.at[kept++] = p;
    }
    m->places.len = kept;
    VEC_PUSH(m->arena, &m->places, own);
}

void sim_synchronise(sim *s)
{
    sim_dependent_synchronise(s);
}
