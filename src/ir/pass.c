// The runner: passes in order, with timing, dumps and checks between them.
#include "ir/pass.h"

#include <string.h>
#include <time.h>

static const ir_pass passes[] = {
#define IR_PASS(name, function, summary) {name, function, summary},
#include "ir/passes.def"
#undef IR_PASS
};

enum { PASS_COUNT = sizeof passes / sizeof *passes };

// After this pass the IR is at LOW level.
static const char last_lowering[] = "flatten";

const ir_pass *ir_pass_at(int index)
{
    return index >= 0 && index < PASS_COUNT ? &passes[index] : NULL;
}

const ir_pass *ir_pass_find(const char *name)
{
    for (int i = 0; i < PASS_COUNT; i++)
        if (strcmp(passes[i].name, name) == 0)
            return &passes[i];
    return NULL;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool is_called(const char *name, const char *wanted)
{
    return wanted && strcmp(name, wanted) == 0;
}

// The header is a comment of the text form, so that a dump of one pass can be read back.
static void dump(const ir_pass_context *px, const char *title, const char *name, bool changed)
{
    const ir_pass_options *o = px->options;
    bool all = is_called("all", o->dump);
    if (!o->dump_out || (!all && !is_called(name, o->dump)))
        return;
    str_addf(o->dump_out, "; ---- %s%s%s\n", title, name, changed ? "" : " (unchanged)");
    if (changed || !all)
        ir_print(px->module, o->dump_out);
    str_addc(o->dump_out, '\n');
}

static bool run_one(ir_pass_context *px, const ir_pass *pass, double origin)
{
    const ir_pass_options *o = px->options;
    double start = now_us();
    arena_mark mark = arena_mark_get(px->scratch);
    px->changed = false;
    bool fine = pass->run(px);
    arena_reset(px->scratch, mark);
    ir_pass_time time = {pass->name, start - origin, now_us() - start};
    VEC_PUSH(px->module->lasting, &px->times, time);
    if (fine && is_called(pass->name, last_lowering))
        px->module->is_low = true;
    if (o)
        dump(px, "after ", pass->name, px->changed);
    if (fine && o && o->verify_each)
        fine = ir_verify_after(px->module, pass->name);
    return fine;
}

bool ir_run_pass(ir_pass_context *px, const ir_pass *pass)
{
    return run_one(px, pass, now_us());
}

bool ir_run_pipeline(ir_pass_context *px)
{
    const ir_pass_options *o = px->options;
    double origin = now_us();
    if (o)
        dump(px, "", "input", true);
    if (o && o->verify_each && !ir_verify(px->module))
        return false;
    for (int i = 0; i < PASS_COUNT; i++) {
        if (!run_one(px, &passes[i], origin))
            return false;
        if (o && is_called(passes[i].name, o->stop_after))
            break;
    }
    return true;
}
