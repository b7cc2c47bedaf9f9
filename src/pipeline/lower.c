// From the elaborator's IR to low IR: entry by entry as they are elaborated, or all functions at once.
//
// An entry with the kernels that it launches calls nothing of other entries, unless there are device functions, which
// entries share: from the first one on, functions wait for the end of the module. What the passes leave of an entry moves
// to the unit's memory, and the rest of its IR is given back. Where code is only checked, it is emitted at once, and nothing
// is left of it. So memory does not grow with what is tried on the way to a kernel.

#include <string.h>

#include "pipeline/unit.h"
#include "remarks/remarks.h"

static bool prints_ir(const pl_options *o)
{
    const char *dump = o->dump;
    return o->emit == PL_HIR || o->passes ||
           (dump && (strcmp(dump, "all") == 0 || strcmp(dump, "hir") == 0 || ir_pass_find(dump)));
}

void pl_lowering_init(pl_unit *u)
{
    const pl_options *o = u->options;
    u->lowering.by_entry = !pl_unit_is_ir_text(u) && !prints_ir(o);
    u->lowering.only_checks = u->lowering.by_entry && o->only_checks && !o->dump && !o->resource_usage;
}

static void add_times(pl_lowering *l, arena *a, const ir_pass_context *px)
{
    for (size_t i = 0; i < px->times.len; i++) {
        if (i == l->times.len)
            VEC_PUSH(a, &l->times, px->times.at[i]);
        else
            l->times.at[i].duration_us += px->times.at[i].duration_us;
        l->total_us += px->times.at[i].duration_us;
    }
}

static void number_functions(ir_module *m, size_t first)
{
    for (size_t i = first; i < m->funcs.len; i++)
        m->funcs.at[i]->id = (uint32_t)i;
}

// Runs the passes. What they drop of the instructions, other functions may use.
static bool run_passes(pl_unit *u)
{
    pl_lowering *l = &u->lowering;
    ir_module *m = u->module;
    const ir_intrin **all = m->intrins.at;
    size_t count = m->intrins.len;
    m->intrins.at = arena_dup(&u->scratch, all, count * sizeof *all);
    ir_pass_options options = pl_unit_pass_options(u);
    ir_pass_context px = {.module = m, .scratch = &u->scratch, .diags = &u->diags, .options = &options};
    bool ok = ir_run_pipeline(&px) && !u->diags.shown_errors;
    add_times(l, &u->memory, &px);
    for (size_t i = 0; i < m->intrins.len; i++)
        map_put_ptr(&l->used, m->intrins.at[i], (void *)m->intrins.at[i]);
    if (ok && l->only_checks)
        ok = pl_emit_and_drop(u);
    m->intrins.at = all;
    m->intrins.len = count;
    return ok;
}

// Makes the functions from [first] on all that the module has.
static ir_module set_apart(ir_module *m, size_t first)
{
    ir_module whole = *m;
    m->funcs.at += first;
    m->funcs.len -= first;
    m->funcs.cap = m->funcs.len;
    number_functions(m, 0);
    return whole;
}

static void put_back(ir_module *m, const ir_module *whole, size_t first)
{
    m->funcs.at = whole->funcs.at;
    m->funcs.len += first;
    m->funcs.cap = whole->funcs.cap;
    number_functions(m, first);
}

// A name and a location remain of each function.
static void empty_functions(ir_module *m, const ir_extent *before)
{
    for (size_t i = 0; i < m->funcs.len; i++) {
        ir_func *f = m->funcs.at[i];
        *f = (ir_func){.name = f->name, .title = f->title, .kind = f->kind, .span = f->span, .is_public = f->is_public,
                       .is_launched = f->is_launched, .result = f->result};
    }
    m->next_var = before->vars;
    m->sites.len = before->sites;
}

void pl_lower_entry(void *user, ir_module *m, const ir_extent *before)
{
    pl_unit *u = user;
    pl_lowering *l = &u->lowering;
    arena_mark mark = arena_mark_get(&u->scratch);
    for (size_t i = before->funcs; i < m->funcs.len; i++)
        l->waits |= m->funcs.at[i]->kind == IR_DEVICE;
    u->module = m;
    const ir_module whole = set_apart(m, before->funcs);
    if (!l->waits)
        l->failed |= !run_passes(u);
    if (l->only_checks && !l->waits)
        empty_functions(m, before);
    else
        ir_settle(m, before, &u->scratch);
    put_back(m, &whole, before->funcs);
    m->is_low = false;
    if (!l->waits)
        l->done = m->funcs.len;
    arena_reset(&u->scratch, mark);
    if (!u->is_lowered) // of models, launches are counted
        pl_show_progress(u, PL_AT_KERNELS, 0, 0);
}

static void drop_unused_instructions(pl_unit *u)
{
    ir_module *m = u->module;
    size_t kept = 0;
    for (size_t i = 0; i < m->intrins.len; i++) {
        if (map_get_ptr(&u->lowering.used, m->intrins.at[i]))
            m->intrins.at[kept++] = m->intrins.at[i];
    }
    m->intrins.len = kept;
}

bool pl_lower_rest(pl_unit *u)
{
    pl_lowering *l = &u->lowering;
    ir_module *m = u->module;
    if (!l->failed && l->done < m->funcs.len) {
        const ir_module whole = set_apart(m, l->done);
        l->failed = !run_passes(u);
        put_back(m, &whole, l->done);
    }
    drop_unused_instructions(u);
    m->is_low = true;
    if (!l->failed && !l->only_checks)
        ir_unite_equal_kernels(m, &u->scratch);
    return !l->failed;
}
