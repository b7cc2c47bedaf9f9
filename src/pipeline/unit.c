#include "pipeline/unit.h"

#include <pthread.h>
#include <string.h>

#include "base/file.h"
#include "pipeline/graphs.h"
#include "pipeline/onnx_input.h"
#include "pipeline/weights.h"

// As for pl_job: reserved, not used.
enum { STACK_BYTES = 64 << 20 };

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
    u->kept = kept_take(u->options->kept);
    src_map_init(&u->sources, &u->memory);
    sym_init(&u->syms, &u->memory);
    u->syms.shared = kept_syms(u->kept);
    set_up_diagnostics(u);
    pl_finder_init(&u->finder, &u->memory, &u->sources);
    u->finder.kept = u->kept;
    u->finder.stdlib_folder = u->options->stdlib_folder;
    u->finder.tuned = u->options->tuned;
    u->finder.tuned_text = u->options->tuned_text;
    u->finder.include_folders = u->options->include_folders;
    u->finder.include_count = u->options->include_count;
    u->finder.weights = u->options->weights;
    pl_times_init(&u->times, &u->memory, u->origin_us);
    u->times.memory = &u->meter;
    str_buf_init(&u->dump, &u->memory);
    str_buf_init(&u->usage, &u->memory);
    map_init(&u->lowering.used, &u->memory);
}

// The GPU of the architecture [target], which is one of the options' unless a test needs a newer one.
static const gpu_model *gpu_for(const pl_options *options, const arch *target)
{
    for (int i = 0; options->gpus && i < options->arch_count; i++) {
        if (options->archs[i] == target)
            return options->gpus[i];
    }
    return gpu_of_arch(target);
}

void pl_unit_init(pl_unit *u, const pl_options *options, const arch *target, double origin_us)
{
    *u = (pl_unit){.options = options, .arch = target, .gpu = gpu_for(options, target), .origin_us = origin_us};
    arena_init(&u->memory, &u->oom);
    arena *const arenas[] = {&u->memory, &u->scratch, &u->ir_scratch};
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++) {
        arena_init(arenas[i], &u->oom);
        arenas[i]->meter = &u->meter;
        arenas[i]->limit_bytes = options->memory_limit_bytes;
    }
}

// The recovery point. What the arenas hold stays valid: the messages so far are still shown.
static void run(pl_unit *u, void (*prepare)(pl_unit *u), void (*body)(pl_unit *u))
{
    u->goes_on = false;
    if (setjmp(u->oom.jump) != 0) {
        cache_abandon(&u->ticket);
        u->goes_on = false;
        u->status = u->is_cancelled ? PL_CANCELLED : PL_NO_MEMORY;
        return;
    }
    if (prepare)
        prepare(u);
    body(u);
    if (u->goes_on)
        return;
    pl_finder_keep(&u->finder, u->options->kept, u->file);
    if (u->diags.shown_errors && u->status == PL_OK)
        u->status = PL_ERRORS;
    if (u->records_later)
        return;
    arena_free(&u->scratch);
    arena_free(&u->ir_scratch);
}

void pl_unit_run(pl_unit *u, void (*body)(pl_unit *u))
{
    run(u, set_up, body);
}

void pl_unit_go_on(pl_unit *u, void (*body)(pl_unit *u))
{
    run(u, NULL, body);
}

void pl_unit_free(pl_unit *u)
{
    pl_weights_close(&u->finder);
    file_unmap(&u->mapped);
    arena_free(&u->scratch);
    arena_free(&u->ir_scratch);
    arena_free(&u->memory);
    kept_release(u->kept);
}

bool pl_unit_add_source(pl_unit *u)
{
    if (onnx_is_path(u->input_name) && !u->onnx_weights && !pl_take_onnx(u))
        return false;
    u->file = src_add(&u->sources, u->input_name, u->input);
    if (!u->file) {
        diag_report(&u->diags, HDS0492, (src_span){0, 0}, u->input_name);
        return false;
    }
    if (u->is_lowered || u->onnx_weights)
        pl_finder_add_program(&u->finder, u->file);
    else
        pl_finder_add_main(&u->finder, u->file);
    return true;
}

tc_options pl_unit_elaboration(pl_unit *u)
{
    const pl_options *o = u->options;
    return (tc_options){
        .defines = o->defines,
        .define_count = u->is_lowered ? 0 : o->define_count,
        .entries = u->is_lowered ? u->lowered_entries.at : o->entries,
        .entry_count = u->is_lowered ? (int)u->lowered_entries.len : o->entry_count,
        .operand_types = o->operand_types,
        .operand_count = o->operand_count,
        .arch = u->arch,
        .gpu = u->gpu,
        .scratch = &u->scratch,
        .ir_scratch = &u->ir_scratch,
        .settle = u->lowering.by_entry ? pl_lower_entry : NULL,
        .settle_user = u,
        .launched = pl_note_launch,
        .launched_user = u,
        .step_budget = o->step_budget,
        .choices = o->choices,
        .choice_memory = o->choice_memory,
        .find_module = pl_find_module,
        .name_module = pl_name_module,
        .find_weights = pl_find_weights,
        .find_user = &u->finder,
        .lower_graph = pl_lower_for_test,
        .lower_user = u,
    };
}

bool pl_unit_is_ir_text(const pl_unit *u)
{
    return str_ends(str_of(u->input_name), STR(".hir"));
}

// ---- on a thread of its own ---------------------------------------------------------------------------------------

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

// ---- to a level of the pipeline -----------------------------------------------------------------------------------

bool pl_level_find(const char *level)
{
    return strcmp(level, "hir") == 0 || strcmp(level, "low") == 0 || ir_pass_find(level);
}

bool pl_open_source(pl_unit *u, const char *path)
{
    const char *error = NULL;
    if (!pl_read_input(&u->memory, path, &u->input, &u->mapped, &error)) {
        diag_report(&u->diags, HDS0490, (src_span){0, 0}, path, error);
        return false;
    }
    u->input_name = pl_input_name(&u->memory, path, u->input);
    return pl_unit_add_source(u);
}

// Debug builds always do: a broken pass is found where it is, not in the CUDA text or in what the simulator says.
static bool verifies(const pl_unit *u)
{
#ifdef NDEBUG
    return u->options->verify_ir;
#else
    (void)u;
    return true;
#endif
}

bool pl_unit_elaborate(pl_unit *u, const tc_test *test)
{
    bool is_ir = !test && pl_unit_is_ir_text(u);
    if (!test && !is_ir && pl_has_graphs(u) && !pl_lower_graphs(u))
        return false;
    tc_options options = pl_unit_elaboration(u);
    if (test)
        u->module = tc_compile_test(&u->memory, &u->syms, &u->diags, u->file, &options, test, &u->test_weights);
    else if (is_ir)
        u->module = ir_read_text(&u->memory, &u->syms, &u->diags, u->file);
    else
        u->module = tc_compile(&u->memory, &u->syms, &u->diags, u->file, &options);
    pl_point_at_model(u);
    if (!u->module || u->diags.shown_errors)
        return false;
    return u->lowering.by_entry || !(is_ir || verifies(u)) || ir_verify(u->module);
}

ir_pass_options pl_unit_pass_options(pl_unit *u)
{
    return (ir_pass_options){.verify_each = verifies(u), .dump_out = &u->dump, .wide_access = true};
}

static ir_pass_context passes_of(pl_unit *u, const ir_pass_options *options)
{
    return (ir_pass_context){.module = u->module, .scratch = &u->scratch, .diags = &u->diags, .options = options};
}

static bool run_passes(pl_unit *u, const char *level)
{
    if (strcmp(level, "hir") == 0 || u->module->is_low)
        return true;
    u->module->keeps_floats = u->options->keeps_floats;
    ir_pass_options options = pl_unit_pass_options(u);
    options.stop_after = strcmp(level, "low") == 0 ? NULL : level;
    ir_pass_context px = passes_of(u, &options);
    return ir_run_pipeline(&px) && !u->diags.shown_errors;
}

bool pl_module_for_simulation(pl_unit *u, const char *level, const tc_test *test)
{
    return pl_unit_elaborate(u, test) && run_passes(u, level);
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
    ir_pass_options options = pl_unit_pass_options(u);
    ir_pass_context px = passes_of(u, &options);
    while (ir_pass_at(i) && ir_run_pass(&px, ir_pass_at(i)))
        i++;
    return !ir_pass_at(i) && !u->diags.shown_errors;
}

bool pl_code_for_device(pl_unit *u)
{
    return pl_emit(u) && pl_assemble(u);
}
