#include "pipeline/simulate.h"

#include <pthread.h>
#include <string.h>

#include "base/file.h"

// As for pl_job: reserved, not used.
enum { STACK_BYTES = 64 << 20 };

bool pl_level_find(const char *level)
{
    return strcmp(level, "hir") == 0 || strcmp(level, "low") == 0 || ir_pass_find(level);
}

// ---- running ----------------------------------------------------------------------------------------------------

typedef struct task {
    pl_unit *unit;
    void (*body)(pl_unit *u);
} task;

static void *run_task(void *argument)
{
    task *t = argument;
    pl_unit_run(t->unit, t->body);
    return NULL;
}

void pl_unit_run_deep(pl_unit *u, void (*body)(pl_unit *u))
{
    task t = {u, body};
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, run_task, &t) == 0)
        pthread_join(thread, NULL);
    else
        run_task(&t);
    pthread_attr_destroy(&attributes);
}

// ---- loading ----------------------------------------------------------------------------------------------------

bool pl_open_source(pl_unit *u, const char *path)
{
    const char *error = NULL;
    if (!file_read(&u->memory, path, &u->input, &error)) {
        diag_report(&u->diags, HDS0490, (src_span){0, 0}, path, error);
        return false;
    }
    u->input_name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    return pl_unit_add_source(u);
}

static bool elaborate(pl_unit *u, const tc_test *test)
{
    tc_options options = pl_unit_elaboration(u);
    if (test)
        u->module = tc_compile_test(&u->memory, &u->syms, &u->diags, u->file, &options, test);
    else if (pl_unit_is_ir_text(u))
        u->module = ir_read_text(&u->memory, &u->syms, &u->diags, u->file);
    else
        u->module = tc_compile(&u->memory, &u->syms, &u->diags, u->file, &options);
    return u->module && !u->diags.shown_errors && ir_verify(u->module);
}

static bool run_passes(pl_unit *u, const char *level)
{
    if (strcmp(level, "hir") == 0 || u->module->is_low)
        return true;
    u->module->keeps_floats = u->options->keeps_floats;
    ir_pass_options options = {
        .verify_each = true,
        .dump_out = &u->dump,
        .stop_after = strcmp(level, "low") == 0 ? NULL : level,
        .wide_access = true,
    };
    ir_pass_context px = {.module = u->module, .scratch = &u->scratch, .diags = &u->diags, .options = &options};
    return ir_run_pipeline(&px) && !u->diags.shown_errors;
}

bool pl_module_for_simulation(pl_unit *u, const char *level, const tc_test *test)
{
    return elaborate(u, test) && run_passes(u, level);
}

bool pl_finish_passes(pl_unit *u)
{
    return run_passes(u, "low");
}

bool pl_check_passes_after(pl_unit *u, const char *level)
{
    int i = 0;
    if (strcmp(level, "low") == 0)
        return true;
    while (strcmp(level, "hir") != 0 && ir_pass_at(i) && strcmp(ir_pass_at(i++)->name, level) != 0)
        continue;
    ir_pass_options options = {.verify_each = true, .wide_access = true};
    ir_pass_context px = {.module = u->module, .scratch = &u->scratch, .diags = &u->diags, .options = &options};
    while (ir_pass_at(i) && ir_run_pass(&px, ir_pass_at(i)))
        i++;
    return !ir_pass_at(i) && !u->diags.shown_errors;
}

bool pl_code_for_device(pl_unit *u)
{
    return pl_emit(u) && pl_assemble(u);
}
