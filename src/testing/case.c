// One case: elaborated, lowered, run under each of its schedules, judged.
#include <string.h>

#include "pipeline/unit.h"
#include "testing/testing_priv.h"

typedef struct case_run {
    const test_options *o;
    test_case *c;
    pl_unit *u;
    int workers;
    str_buf printed;
} case_run;

// ---- compiling ---------------------------------------------------------------------------------------------------

// What an expected error may come from is any pass. A run wants the level at which tensors have shapes, whose every
// index is checked; the passes behind it come when it is over, for their errors.
static const char *level_of(const test_options *o, const tc_test *test)
{
    return test->error ? "low" : o->level ? o->level : PL_SIMULATED_LEVEL;
}

bool test_open_file(const test_case *c, pl_unit *u)
{
    const test_file *file = c->file;
    u->file = src_add(&u->sources, file->path, u->input);
    if (!u->file) {
        diag_report(&u->diags, HDS0492, (src_span){0, 0}, file->path);
        return false;
    }
    pl_finder_add_main(&u->finder, u->file);
    return true;
}

static bool compile(case_run *r)
{
    return test_open_file(r->c, r->u) && pl_module_for_simulation(r->u, level_of(r->o, r->c->test), r->c->test);
}

// ---- running -----------------------------------------------------------------------------------------------------

static void print(void *user, str text)
{
    case_run *r = user;
    str_add(&r->printed, text);
}

static bool run_schedule(case_run *r, const sim_program *program, const sim_device *device, uint64_t seed)
{
    const tc_test *test = r->c->test;
    const sim_options options = {
        .seed = seed,
        .workers = r->workers,
        .trap_nan = r->o->trap_nan || test->finds == HDS0613,
        .contract = r->o->contract,
        .budget = test->budget ? test->budget : r->o->budget,
        .device = device,
        .print = print,
        .print_user = r,
    };
    sim *s = sim_new(&r->u->memory, &options);
    const ir_func *host = VEC_LAST(&r->u->module->funcs);
    int count = (int)r->u->test_weights.len;
    uint64_t result = 0, *weights = ARENA_ARRAY(&r->u->memory, uint64_t, (size_t)count + 1);
    sim_status status = SIM_STOPPED;
    if (test_place_weights(r->u, s, weights))
        status = sim_call(s, program, host, weights, count, &result);
    sim_findings_report(s, &r->u->diags);
    sim_free(s);
    r->c->seed = seed;
    return status == SIM_OK && !r->u->diags.shown_errors;
}

static void run_schedules(case_run *r)
{
    const test_backend *b = r->o->backend;
    const sim_device *device = b ? b->open(b, &r->u->memory, &r->u->diags) : NULL;
    if (b && !device)
        return;
    const sim_translate_options options = {.index_overflow = true};
    const sim_program *program = sim_translate(&r->u->memory, r->u->module, &options);
    for (int i = 0; i < r->c->test->seeds; i++) {
        r->printed.len = 0;
        if (!run_schedule(r, program, device, r->o->seed + (uint64_t)i))
            break;
    }
    if (b)
        b->close(b, device);
}

static const diag *failed_assertion(const diag_context *dx)
{
    for (size_t i = 0; i < dx->all.len; i++) {
        if (dx->all.at[i]->code == HDS0614)
            return dx->all.at[i];
    }
    return NULL;
}

typedef struct find_print {
    src_span span;  // of the assertion's condition
    bool found;
} find_print;

// Before an assertion of the host fails, a statement in front of it prints the values in its condition.
static void look_for_print(void *user, ir_stmt *s)
{
    find_print *f = user;
    f->found |= s->kind == IR_PRINT && s->span.begin <= f->span.begin && s->span.end >= f->span.end;
}

// That line is no output of the test's but belongs to the message.
static void note_values(case_run *r)
{
    const diag *d = failed_assertion(&r->u->diags);
    const ir_func *host = r->u->module && r->u->module->funcs.len ? VEC_LAST(&r->u->module->funcs) : NULL;
    if (!d || !host || !r->printed.len)
        return;
    find_print f = {d->span, false};
    ir_walk((ir_block *)&host->body, look_for_print, &f);
    if (!f.found)
        return;
    size_t end = r->printed.len - (r->printed.at[r->printed.len - 1] == '\n'), start = end;
    while (start > 0 && r->printed.at[start - 1] != '\n')
        start--;
    diag_note((diag *)d, (src_span){0, 0}, "%s", arena_strndup(&r->u->memory, r->printed.at + start, end - start));
    r->printed.len = start;
}

static void run(pl_unit *u)
{
    test_case *c = (test_case *)(void *)((char *)u - offsetof(test_case, unit));
    case_run *r = c->run;
    str_buf_init(&r->printed, &u->memory);
    if (c->rewrite) {
        test_run_rewrite(r->o, c, u);
        return;
    }
    bool compiled = compile(r);
    if (compiled && !c->test->error) {
        run_schedules(r);
        note_values(r);
        if (!u->diags.shown_errors)
            pl_check_passes_after(r->u, level_of(r->o, r->c->test));
    }
    c->printed = (str){r->printed.at, r->printed.len};
    c->outcome = test_judge(c, compiled) ? TEST_PASSED : TEST_FAILED;
}

// ---- around it ---------------------------------------------------------------------------------------------------

static const arch *arch_for(const test_options *o, const tc_test *test)
{
    const arch *asked = o->backend ? o->backend->arch : o->compile->archs[0];
    return o->backend || !test || !test->arch || arch_has(asked, test->arch) ? asked : test->arch;
}

static const char *reason_to_skip(const test_options *o, const test_case *c)
{
    const tc_test *test = c->test;
    if (c->rewrite && o->backend)
        return "rewrites are proved on the simulator";
    if (c->rewrite)
        return c->rewrite->is_approximate ? "it is approximate" : NULL;
    if (test->skip)
        return test->skip;
    if (o->backend && test->finds)
        return "findings are the simulator's";
    if (o->backend && test->arch && !arch_has(o->backend->arch, test->arch))
        return "the device is too old";
    return NULL;
}

// The first error, in a line.
static const char *failure(test_case *c)
{
    const diag_context *dx = &c->unit.diags;
    for (size_t i = 0; i < dx->all.len; i++) {
        const diag *d = dx->all.at[i];
        if (d->severity == DIAG_ERROR)
            return arena_printf(dx->arena, "%s: %s", diag_name(d->code), d->message);
    }
    return "it failed";
}

static void report(const test_options *o, test_case *c)
{
    str_buf text;
    str_buf_init(&text, &c->unit.memory);
    diag_render_text(&c->unit.diags, &text, o->style);
    c->messages = (str){text.at, text.len};
    c->reason = failure(c);
}

// Messages about a file that has no cases, or about memory, are those of the unit that met them.
static void no_memory(test_case *c)
{
    if (c->unit.status != PL_NO_MEMORY)
        return;
    c->outcome = TEST_FAILED;
    c->reason = "out of memory";
    c->messages = STR("error: out of memory\n");
}

static void file_failure(const test_options *o, test_case *c)
{
    diag_context *dx = &c->file->unit.diags;
    c->outcome = TEST_FAILED;
    if (c->file->unit.status == PL_NO_MEMORY) {
        c->reason = "out of memory";
        c->messages = STR("error: out of memory\n");
        return;
    }
    str_buf text;
    str_buf_init(&text, dx->arena);
    diag_render_text(dx, &text, o->style);
    c->messages = (str){text.at, text.len};
    c->reason = "the file has errors";
}

const char *test_title(const test_case *c)
{
    return c->test ? c->test->title : c->rewrite ? c->rewrite->name : c->file->path;
}

const diag_context *test_messages(const test_case *c)
{
    return c->test || c->rewrite ? &c->unit.diags : &c->file->unit.diags;
}

void test_run_case(const test_options *o, test_case *c, int workers)
{
    if (!c->test && !c->rewrite) {
        file_failure(o, c);
        return;
    }
    c->reason = reason_to_skip(o, c);
    if (c->reason) {
        c->outcome = TEST_SKIPPED;
        return;
    }
    double start = pl_now_us();
    case_run r = {.o = o, .c = c, .u = &c->unit, .workers = workers};
    c->run = &r;
    pl_unit_init(&c->unit, o->compile, arch_for(o, c->test), start);
    c->unit.input_name = c->file->path;
    c->unit.input = c->file->unit.input;
    pl_unit_run(&c->unit, run);
    if (c->unit.status != PL_NO_MEMORY && c->outcome == TEST_FAILED)
        report(o, c);
    no_memory(c);
    c->run = NULL;
    c->seconds = (pl_now_us() - start) / 1e6;
}
