#include "pipeline/unit.h"

static void set_up_diagnostics(pl_unit *u)
{
    const pl_options *o = u->options;
    diag_init(&u->diags, &u->memory, &u->sources);
    u->diags.warnings_are_errors = o->warnings_are_errors;
    if (o->error_limit)
        u->diags.error_limit = o->error_limit > 0 ? o->error_limit : 0;
    for (int i = 0; i < o->warning_count; i++)
        diag_switch_group(&u->diags, o->warnings[i]);
}

static void set_up(pl_unit *u)
{
    src_map_init(&u->sources, &u->memory);
    sym_init(&u->syms, &u->memory);
    set_up_diagnostics(u);
    pl_finder_init(&u->finder, &u->memory, &u->sources);
    u->finder.stdlib_folder = u->options->stdlib_folder;
    u->finder.include_folders = u->options->include_folders;
    u->finder.include_count = u->options->include_count;
    pl_times_init(&u->times, &u->memory, u->origin_us);
    str_buf_init(&u->dump, &u->memory);
    str_buf_init(&u->usage, &u->memory);
}

void pl_unit_init(pl_unit *u, const pl_options *options, const arch *target, double origin_us)
{
    *u = (pl_unit){.options = options, .arch = target, .origin_us = origin_us};
    arena_init(&u->memory, &u->oom);
    arena_init(&u->scratch, &u->oom);
    u->memory.limit_bytes = u->scratch.limit_bytes = options->memory_limit_bytes;
}

// The recovery point. What the arenas hold stays valid: the messages so far are still shown.
void pl_unit_run(pl_unit *u, void (*body)(pl_unit *u))
{
    if (setjmp(u->oom.jump) != 0) {
        cache_abandon(&u->ticket);
        u->status = PL_NO_MEMORY;
        return;
    }
    set_up(u);
    body(u);
    if (u->diags.shown_errors && u->status == PL_OK)
        u->status = PL_ERRORS;
    arena_free(&u->scratch);
}

void pl_unit_free(pl_unit *u)
{
    arena_free(&u->scratch);
    arena_free(&u->memory);
}

bool pl_unit_add_source(pl_unit *u)
{
    u->file = src_add(&u->sources, u->input_name, u->input);
    if (!u->file) {
        diag_report(&u->diags, HDS0492, (src_span){0, 0}, u->input_name);
        return false;
    }
    pl_finder_add_main(&u->finder, u->file);
    return true;
}

tc_options pl_unit_elaboration(pl_unit *u)
{
    const pl_options *o = u->options;
    return (tc_options){
        .defines = o->defines,
        .define_count = o->define_count,
        .entries = o->entries,
        .entry_count = o->entry_count,
        .arch = u->arch,
        .step_budget = o->step_budget,
        .find_module = pl_find_module,
        .find_user = &u->finder,
    };
}

bool pl_unit_is_ir_text(const pl_unit *u)
{
    return str_ends(str_of(u->input_name), STR(".hir"));
}
